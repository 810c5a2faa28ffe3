"""The multi-source benchmark of RA-RAG: sources of known reliability, made from questions, truths and lies.

Source i covers a question with probability r (0.6). What it covers it tells rightly with probability p_i, by
three of the nine factual texts, else it tells one of the nine wrong answers, by all three of its texts
(Hwang et al. 2024, appendix G). Whoever covers nothing still has passages about other questions, which
a retrieval within it finds. The p_i come from a prior: `beta` is Beta(2w/(1-w), 2) with w = 0.6, that is
Beta(3, 2); `adversary-hammer` is 0.1 for so many adversaries and 0.9 for the rest.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

from disputatio.errors import InputError
from disputatio.eval.builders.material import TEXTS, Material, bears_any
from disputatio.eval.builders.row_file import write_lines
from disputatio.store.in_hand import InHand
from disputatio.text import content_id
from disputatio.types import Example, Passage, Source

Prior = Literal["beta", "adversary-hammer"]
Kind = Literal["factual", "misinformation", "irrelevant"]
ADVERSARY, HAMMER = 0.1, 0.9
COVERAGE = 0.6
TRUE = "true_reliability"  # the field of a passage's metadata that the oracle reads
ESTIMATE, TEST = "estimate", "test"


@dataclass(frozen=True, slots=True, kw_only=True)
class MultiSource:
    """A built benchmark: sources with their true reliability, all their passages, and the questions.

    An example's passages are those of each source that a search for its question can find: its own on
    the question, and as many others that are nearest to it. `metadata` has, for each, its `types` (factual,
    misinformation, irrelevant) and the answer it bears, and the example's `split`.
    """

    sources: tuple[Source, ...]
    passages: tuple[Passage, ...]
    examples: tuple[Example, ...]


def true_reliabilities(sources: int, prior: Prior, *, adversaries: int = 0, seed: int = 0) -> list[float]:
    """The probability that each source tells the truth; under beta the first ones stay when there are more.

    Raises `InputError` for numbers that cannot be.

    >>> true_reliabilities(3, "adversary-hammer", adversaries=1).count(0.1)
    1
    """
    if prior not in get_args(Prior):
        raise InputError(f"prior {prior!r}: take one of {', '.join(get_args(Prior))}")
    if sources < 1 or not 0 <= adversaries <= sources:
        raise InputError(f"{adversaries} adversaries of {sources} sources: that cannot be")
    if prior == "beta":
        if adversaries:
            raise InputError("adversaries are of the prior adversary-hammer; beta has none")
        return [random.Random(f"{seed}/source {n}").betavariate(3, 2) for n in range(sources)]
    bad = set(random.Random(f"{seed}/adversaries").sample(range(sources), adversaries))
    return [ADVERSARY if n in bad else HAMMER for n in range(sources)]


def pick(origins: Sequence[Sequence[Material]], *, estimate: int, test: int, seed: int = 0) -> list[Material]:
    """The questions to estimate on and then those to test on, of each origin in an order of chance.

    Origins are used up one after the other, for the test first. Raises `InputError` where there are too few.
    """
    line: dict[str, Material] = {}
    for n, origin in enumerate(origins):
        for one in random.Random(f"{seed}/origin {n}").sample(origin, len(origin)):
            line.setdefault(one.id, one)
    chosen = list(line.values())
    if len(chosen) < estimate + test:
        raise InputError(
            f"{len(chosen)} questions will do, fewer than {estimate} to estimate on and {test} to test on: "
            "ask for fewer, or name another origin"
        )
    return [*chosen[test : test + estimate], *chosen[:test]]


def build(
    materials: Sequence[Material],
    *,
    sources: int = 9,
    prior: Prior = "adversary-hammer",
    adversaries: int = 0,
    coverage: float = COVERAGE,
    estimate: int = 0,
    nearest: int = TEXTS,
    seed: int = 0,
) -> MultiSource:
    """Sources that tell of these questions; the first `estimate` questions are the ones to estimate on.

    `nearest` is how many passages on other questions each source adds to a question. The same for a seed.
    Raises `InputError` for numbers that cannot be, and for material that is not whole.
    """
    if not 0 < coverage <= 1 or nearest < 0 or not 0 <= estimate <= len(materials):
        raise InputError(
            f"coverage {coverage:g}, {nearest} nearest and {estimate} of {len(materials)} questions to "
            "estimate on: coverage lies above 0 and up to 1, the others are not negative"
        )
    for one in materials:
        if not one.factual or not one.lies or one.faults():
            raise InputError(f"{one.question}: {'; '.join(one.faults()) or 'no texts of both kinds'}")
    truths = true_reliabilities(sources, prior, adversaries=adversaries, seed=seed)
    made = tuple(
        Source(name=f"source{n:02}", owner=f"source{n:02}", reliability=p) for n, p in enumerate(truths, 1)
    )
    told: dict[str, dict[str, list[tuple[Passage, str]]]] = {
        one.id: {source.name: _told(one, source, coverage, seed) for source in made} for one in materials
    }
    everything = [one for by_source in told.values() for said in by_source.values() for one, _ in said]
    distinct = tuple({one.id: one for one in everything}.values())
    held = InHand(distinct)
    examples = [
        _example(one, row, told[one.id], held, nearest, ESTIMATE if row < estimate else TEST)
        for row, one in enumerate(materials)
    ]
    return MultiSource(sources=made, passages=distinct, examples=tuple(examples))


def _told(one: Material, source: Source, coverage: float, seed: int) -> list[tuple[Passage, str]]:
    """What a source has on a question: passages, each with the answer it bears; maybe none."""
    chance = random.Random(f"{seed}/{source.name}/{one.id}")
    covers, honest = chance.random() < coverage, chance.random() < (source.reliability or 0.0)
    if not covers:
        return []
    if honest:
        answer, texts = "", chance.sample(one.factual, min(TEXTS, len(one.factual)))
    else:
        lie = chance.choice(one.lies)
        answer, texts = lie.answer, [*lie.texts]
    return [
        (
            Passage(
                text=text,
                id=content_id("p", source.name, one.id, text),
                source=source.name,
                owner=source.owner,
                title=one.title,
                metadata={TRUE: f"{source.reliability}"},
            ),
            answer or next(gold for gold in one.gold if bears_any(text, [gold])),
        )
        for text in texts
    ]


def _example(
    one: Material,
    row: int,
    told: Mapping[str, Sequence[tuple[Passage, str]]],
    held: InHand,
    nearest: int,
    split: str,
) -> Example:
    """A question with what each source has on it and, after that, what else it would find."""
    own = {passage.id: answer for said in told.values() for passage, answer in said}
    false = {passage.id for said in told.values() for passage, answer in said if answer not in one.gold}
    found: list[Passage] = [passage for said in told.values() for passage, _ in said]
    if nearest:
        hits = held.search(one.question, per_source=nearest, exclude=[*own])
        found += [hit.passage for hit in hits if not bears_any(hit.passage.text, one.gold)]
    order = {name: n for n, name in enumerate(told)}
    found.sort(key=lambda passage: order[passage.source])
    types = ["misinformation" if p.id in false else "factual" if p.id in own else "irrelevant" for p in found]
    return Example(
        id=one.id,
        row=row,
        question=one.question,
        gold=one.gold,
        wrong=tuple(lie.answer for lie in one.lies),
        passages=tuple(replace(passage, document="", start=0, end=0) for passage in found),
        metadata={
            "dataset": "multisource",
            "types": tuple(types),
            "answers": tuple(own.get(passage.id, "") for passage in found),
            "split": split,
            "strata": {"split": split},
        },
    )


# --- files --------------------------------------------------------------------------------------
def write(built: MultiSource, folder: Path, *, about: Mapping[str, Any]) -> None:
    """Write `passages.jsonl` (to ingest), `estimate.jsonl` and `test.jsonl` (data sets) and `about.json`.

    Each file is whole or not there; `about.json` comes last, so that a folder with it is complete.
    Raises `InputError` where the folder cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "about.json").unlink(missing_ok=True)
        write_lines(folder / "passages.jsonl", [_passage_row(one) for one in built.passages])
        for split in (ESTIMATE, TEST):
            rows = [example_row(one) for one in built.examples if one.metadata["split"] == split]
            write_lines(folder / f"{split}.jsonl", rows)
        told = {**about, "reliabilities": {one.name: one.reliability for one in built.sources}}
        (folder / "about.json").write_text(json.dumps(told, indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise InputError(f"{folder}: {error.strerror or error}") from error


def example_row(one: Example) -> dict[str, Any]:
    """An example as a row of the format `multisource`."""
    return {
        "id": one.id,
        "question": one.question,
        "gold": [*one.gold],
        "wrong": [*one.wrong],
        "split": one.metadata["split"],
        "passages": [
            {**_passage_row(passage), "type": kind, "answer": answer}
            for passage, kind, answer in zip(
                one.passages, one.metadata["types"], one.metadata["answers"], strict=True
            )
        ],
    }


def _passage_row(one: Passage) -> dict[str, Any]:
    row: dict[str, Any] = {"id": one.id, "source": one.source, "owner": one.owner, "text": one.text}
    if one.title:
        row["title"] = one.title
    return {**row, "metadata": dict(one.metadata)}
