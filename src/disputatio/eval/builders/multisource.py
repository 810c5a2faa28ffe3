"""The multi-source benchmark of RA-RAG: sources of known reliability, made from questions, truths and lies.

Source i covers a question with probability r (0.6). What it covers it answers rightly with probability p_i,
by three of the nine factual texts, else it gives one of the nine wrong answers, by all three of its texts
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
from typing import Any

from disputatio.errors import InputError
from disputatio.eval.builders.material import TEXTS, Material, bears_any, write_lines
from disputatio.eval.simulate import PRIORS, Prior
from disputatio.store.in_memory import InMemory
from disputatio.text import content_id
from disputatio.types import Example, Passage, Source

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
    """Return the probability that each source is right; more sources keep the first ones' values.

    Raises `InputError` for numbers that cannot be.

    >>> true_reliabilities(3, "adversary-hammer", adversaries=1).count(0.1)
    1
    """
    if prior not in PRIORS:
        raise InputError(f"prior {prior!r}: take one of {', '.join(PRIORS)}")
    if sources < 1 or not 0 <= adversaries <= sources:
        raise InputError(f"{adversaries} adversaries of {sources} sources: that cannot be")
    if prior == "beta":
        if adversaries:
            raise InputError("adversaries are of the prior adversary-hammer; beta has none")
        return [random.Random(f"{seed}/source {n}").betavariate(3, 2) for n in range(sources)]
    bad = set(random.Random(f"{seed}/adversaries").sample(range(sources), adversaries))
    return [ADVERSARY if n in bad else HAMMER for n in range(sources)]


def pick(origins: Sequence[Sequence[Material]], *, estimate: int, test: int, seed: int = 0) -> list[Material]:
    """Return the questions to estimate on and then those to test on, of each origin in an order of chance.

    Origins are used up one after the other, for the test first. Raises `InputError` where there are too few.
    """
    line: dict[str, Material] = {}
    for n, origin in enumerate(origins):
        for material in random.Random(f"{seed}/origin {n}").sample(origin, len(origin)):
            line.setdefault(material.id, material)
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
    """Return sources that tell of these questions; the first `estimate` ones are to estimate on.

    `nearest` is how many passages on other questions each source adds to a question. The same for a seed.
    Raises `InputError` for numbers that cannot be, and for material that is not whole.
    """
    if not 0 < coverage <= 1 or nearest < 0 or not 0 <= estimate <= len(materials):
        raise InputError(
            f"coverage {coverage:g}, {nearest} nearest and {estimate} of {len(materials)} questions to "
            "estimate on: coverage lies above 0 and up to 1, the others are not negative"
        )
    for material in materials:
        if not material.factual or not material.lies or material.faults():
            raise InputError(
                f"{material.question}: {'; '.join(material.faults()) or 'no texts of both kinds'}"
            )
    truths = true_reliabilities(sources, prior, adversaries=adversaries, seed=seed)
    made = tuple(
        Source(name=f"source{n:02}", owner=f"source{n:02}", reliability=p) for n, p in enumerate(truths, 1)
    )
    by_question: dict[str, dict[str, list[tuple[Passage, str]]]] = {
        material.id: {source.name: _passages_of(material, source, coverage, seed) for source in made}
        for material in materials
    }
    everything = [
        passage
        for by_source in by_question.values()
        for stated in by_source.values()
        for passage, _ in stated
    ]
    distinct = tuple({passage.id: passage for passage in everything}.values())
    retriever = InMemory(distinct)
    examples = [
        _example(
            material, row, by_question[material.id], retriever, nearest, ESTIMATE if row < estimate else TEST
        )
        for row, material in enumerate(materials)
    ]
    return MultiSource(sources=made, passages=distinct, examples=tuple(examples))


def _passages_of(material: Material, source: Source, coverage: float, seed: int) -> list[tuple[Passage, str]]:
    """Draw the passages of a source on a question, each with the answer it bears; there may be none."""
    chance = random.Random(f"{seed}/{source.name}/{material.id}")
    covers, honest = chance.random() < coverage, chance.random() < (source.reliability or 0.0)
    if not covers:
        return []
    if honest:
        answer, texts = "", chance.sample(material.factual, min(TEXTS, len(material.factual)))
    else:
        lie = chance.choice(material.lies)
        answer, texts = lie.answer, [*lie.texts]
    return [
        (
            Passage(
                text=text,
                id=content_id("p", source.name, material.id, text),
                source=source.name,
                owner=source.owner,
                title=material.title,
                metadata={TRUE: f"{source.reliability}"},
            ),
            answer or next(gold for gold in material.gold if bears_any(text, [gold])),
        )
        for text in texts
    ]


def _example(
    material: Material,
    row: int,
    by_source: Mapping[str, Sequence[tuple[Passage, str]]],
    retriever: InMemory,
    nearest: int,
    split: str,
) -> Example:
    """Return a question with what each source has on it and, after that, what else it would find."""
    answers = {passage.id: answer for stated in by_source.values() for passage, answer in stated}
    false = {
        passage.id
        for stated in by_source.values()
        for passage, answer in stated
        if answer not in material.gold
    }
    passages: list[Passage] = [passage for stated in by_source.values() for passage, _ in stated]
    if nearest:
        hits = retriever.search(material.question, per_source=nearest, exclude=[*answers])
        passages += [hit.passage for hit in hits if not bears_any(hit.passage.text, material.gold)]
    order = {name: n for n, name in enumerate(by_source)}
    passages.sort(key=lambda passage: order[passage.source])
    types = [
        "misinformation" if p.id in false else "factual" if p.id in answers else "irrelevant"
        for p in passages
    ]
    return Example(
        id=material.id,
        row=row,
        question=material.question,
        gold=material.gold,
        wrong=tuple(lie.answer for lie in material.lies),
        passages=tuple(replace(passage, document="", start=0, end=0) for passage in passages),
        metadata={
            "dataset": "multisource",
            "types": tuple(types),
            "answers": tuple(answers.get(passage.id, "") for passage in passages),
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
        write_lines(folder / "passages.jsonl", [_passage_row(passage) for passage in built.passages])
        for split in (ESTIMATE, TEST):
            rows = [example_row(example) for example in built.examples if example.metadata["split"] == split]
            write_lines(folder / f"{split}.jsonl", rows)
        content = {**about, "reliabilities": {source.name: source.reliability for source in built.sources}}
        (folder / "about.json").write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise InputError(f"{folder}: {error.strerror or error}") from error


def example_row(example: Example) -> dict[str, Any]:
    return {
        "id": example.id,
        "question": example.question,
        "gold": [*example.gold],
        "wrong": [*example.wrong],
        "split": example.metadata["split"],
        "passages": [
            {**_passage_row(passage), "type": kind, "answer": answer}
            for passage, kind, answer in zip(
                example.passages, example.metadata["types"], example.metadata["answers"], strict=True
            )
        ],
    }


def _passage_row(passage: Passage) -> dict[str, Any]:
    row: dict[str, Any] = {
        "id": passage.id,
        "source": passage.source,
        "owner": passage.owner,
        "text": passage.text,
    }
    if passage.title:
        row["title"] = passage.title
    return {**row, "metadata": dict(passage.metadata)}
