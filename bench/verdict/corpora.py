"""The corpora on which the verdict is fitted and tried: questions with their passages, shuffled, and what is right.

Nothing is measured here. Passages have no source, title or date where a corpus gives none for all of them, and come in
an order that tells nothing. Rows with an odd number are for fitting, those with an even one for reporting. Of RAMDocs,
only the odd rows that the trained encoder has not seen serve for fitting.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Literal

from bench.verdict.conflict_examples import (
    SETTINGS,
    NewsRow,
    conflictnq,
    example,
    poisonedrag,
    read_realtimeqa,
)
from bench.verdict.invented import invented
from disputatio.eval.builders.ambiguity import pool, read_ambiguous
from disputatio.eval.builders.material import bears_any, write_lines
from disputatio.eval.builders.mixture import mix
from disputatio.eval.data.datasets import load
from disputatio.store.in_memory import InMemory
from disputatio.types import Example, Passage

SEED = 0
REAL, MOST_FABRICATED = 10, 5  # passages of a question of RealtimeQA
CONFLICTS = (
    *("conflictnq-1r1f", "conflictnq-1r3f", "conflictnq-2r1f", "conflictnq-2r3f"),
    *("poisonedrag-1f", "poisonedrag-3f", "poisonedrag-5f"),
)
WIDE = "realtimeqa-wide"
RAMDOCS = "ramdocs"
INVENTED = "invented"
AMBIGNQ = "ambignq"
UNSEEN = 8  # one odd row of RAMDocs in so many / 2 was kept from the encoder: 7, 15, ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Corpus:
    """Questions of one kind of disagreement; `expect` is how many answers its task takes for right."""

    name: str
    expect: Literal["one", "several"]
    examples: tuple[Example, ...]

    def to_fit(self) -> list[Example]:
        """Return the rows that weights may be fitted on."""
        odd = [example for example in self.examples if example.row % 2]
        return (
            [one for one in odd if one.row % UNSEEN == UNSEEN - 1] if self.name.startswith(RAMDOCS) else odd
        )

    def to_report(self) -> list[Example]:
        """Return the rows that nothing is fitted or chosen on."""
        return [example for example in self.examples if example.row % 2 == 0]


def ramdocs(data: Path) -> Corpus:
    """RAMDocs' development file, the passages of each row shuffled."""
    published = ramdocs_published(data)
    return Corpus(name=RAMDOCS, expect="several", examples=tuple(map(shuffled, published.examples)))


def ramdocs_published(data: Path) -> Corpus:
    """RAMDocs' development file in its own order, in which a right passage stands first in nearly all rows."""
    rows = load(f"ramdocs:{data / 'ramdocs' / 'dev.jsonl'}")
    return Corpus(name=f"{RAMDOCS}-published", expect="several", examples=tuple(rows))


def nq(data: Path) -> Corpus:
    """Return the NQ questions with passages of Wikipedia, one of which at least bears the answer: nothing is planted."""
    every = load(f"nq_with_passages:{data / 'nq_with_passages' / 'nq.jsonl'}")
    bearing = [one for one in every if any(bears_any(f"{p.title} {p.text}", one.gold) for p in one.passages)]
    return Corpus(name="nq", expect="one", examples=tuple(map(shuffled, bearing)))


def nq_unanswerable(data: Path) -> Corpus:
    """Return the same questions with those of their passages that state no right answer: to decline is right."""
    examples = []
    for one in nq(data).examples:
        silent = [p for p in one.passages if not bears_any(f"{p.title} {p.text}", one.gold)]
        if silent:
            examples.append(replace(one, passages=tuple(silent)))
    return Corpus(name="nq-unanswerable", expect="one", examples=tuple(examples))


def conflicts(data: Path, setting: str) -> Corpus:
    """ConflictNQ or PoisonedRAG in one of the settings of `bench.robustness.conflicts`."""
    asked = SETTINGS[setting]
    chosen = conflictnq(data, questions=120, seed=SEED) if asked.corpus == "conflictnq" else poisonedrag(data)
    return Corpus(
        name=setting, expect="one", examples=tuple(example(row, asked, SEED) for row in chosen.of(asked))
    )


def realtimeqa(data: Path, fabricated: int) -> Corpus:
    """RealtimeQA: the ten real passages that BM25 ranks first, one of which bears the answer, and so many fabricated ones.

    With one fabricated passage it is the control: an honest majority of news that often are alike.
    No passage has its title, domain or address, since fabricated ones have none.
    """
    examples = _news(data, lambda row: row.example.passages[:REAL], fabricated)
    return Corpus(name=f"realtimeqa-{fabricated}f", expect="one", examples=examples)


def realtimeqa_wide(data: Path) -> Corpus:
    """RealtimeQA as an index: all its real passages of a question and five fabricated ones, searched and not all read."""
    return Corpus(name=WIDE, expect="one", examples=_news(data, lambda row: row.found, MOST_FABRICATED))


def _news(data: Path, real: Callable[[NewsRow], Sequence[Passage]], fabricated: int) -> tuple[Example, ...]:
    """Return questions of RealtimeQA with these real passages and so many fabricated ones, all of text alone."""
    examples = []
    for row in read_realtimeqa(data / "realtimeqa" / "realtimeqa.json"):
        if not row.bearing or len(row.poison) < MOST_FABRICATED:
            continue
        texts = [
            f"{passage.title}. {passage.text}" if passage.title else passage.text for passage in real(row)
        ]
        texts += [passage.text for passage in row.poison[:fabricated]]
        bare = replace(row.example, passages=tuple(Passage(text=text) for text in texts))
        examples.append(shuffled(bare))
    return tuple(examples)


def ambignq(data: Path) -> Corpus:
    """Return a set of RAMDocs' kind from AmbigNQ's questions and NQ's passages of Wikipedia: several
    readings, lies and noise.
    """
    ambiguous = read_ambiguous(f"ambignq:{data / 'ambignq' / 'dev_light.json'}")
    whole = InMemory(pool([f"nq_with_passages:{data / 'nq_with_passages' / 'nq.jsonl'}"]))
    built = mix(ambiguous, lambda _: whole, seed=SEED)
    with tempfile.TemporaryDirectory() as folder:
        rows = Path(folder) / "ambignq.jsonl"
        write_lines(rows, built.rows)
        examples = load(f"ramdocs:{rows}")
    return Corpus(name=AMBIGNQ, expect="several", examples=tuple(map(shuffled, examples)))


def made_up(_: Path) -> Corpus:
    """Invented names, two accounts against one: the control of what a model holds without knowing anything."""
    return Corpus(name=INVENTED, expect="one", examples=invented())


def shuffled(one: Example) -> Example:
    """Return an example with its passages in an order drawn from its row; what metadata says of passages goes
    along.
    """
    places = list(range(len(one.passages)))
    random.Random(f"{SEED} {one.row}").shuffle(places)
    kinds = {
        key: tuple(one.metadata[key][at] for at in places)
        for key in ("types", "answers")
        if key in one.metadata
    }
    return replace(one, passages=tuple(one.passages[at] for at in places), metadata={**one.metadata, **kinds})


CORPORA: Mapping[str, Callable[[Path], Corpus]] = {
    RAMDOCS: ramdocs,
    f"{RAMDOCS}-published": ramdocs_published,
    "nq": nq,
    **{name: partial(conflicts, setting=name) for name in CONFLICTS},
    WIDE: realtimeqa_wide,
    INVENTED: made_up,
    AMBIGNQ: ambignq,
    **{f"realtimeqa-{count}f": partial(realtimeqa, fabricated=count) for count in (0, 1, 3, 5)},
}
