"""The readings of the encoder, of a language model and of one that was trained to read, on the same passages.

Nothing was trained or tuned on these. Where a reader says how likely a passage answers (the encoder its probability, the
trained one log P of "unknown"), noise is also counted as refused at the threshold that keeps 93 % of the right passages.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

from bench.lib.agreement import resampled, roc_auc
from disputatio.agents.trained_reader import UNKNOWN, read_prompt
from disputatio.config import read_settings
from disputatio.errors import DisputatioError
from disputatio.eval.builders.multisource import build, pick
from disputatio.eval.builders.origins import read_material
from disputatio.eval.builders.substitution import substitute
from disputatio.events import ModelCall
from disputatio.kit import TRAINED_READER, Kit
from disputatio.parts import build_kit
from disputatio.store.in_memory import InMemory
from disputatio.strategies.disputation.reading import (
    PassageReading,
    extract,
    read_briefly,
    read_passages,
)
from disputatio.trace import Trace
from disputatio.types import Passage
from train.measure import (
    KEPT,
    Asked,
    conflictnq_passages,
    nq_passages,
    ramdocs_passages,
    realtimeqa_passages,
    squad2_questions,
)
from train.measure_pairs import evenly
from train.scores import contains, exact, keeping

Read = Callable[[str, Sequence[Passage], Kit], list[PassageReading]]
Row = tuple[Asked, str, float | None]  # what was asked, the answer, and how likely the passage answers
BUILT, SEED = 60, 1  # questions of the builders
IN_FLIGHT = 8  # passages read at once, as those of one question are
WARMING = Asked(
    question="Who designed the lighthouse?",
    passage=Passage(text="Ingrid Vasmer designed it."),
    answers=("Ingrid Vasmer",),
    kind="right",
)


def built_passages(data: Path) -> list[Asked]:
    """Return what the builders make of ConflictNQ: right and false passages, and those of other questions as noise."""
    materials = substitute(read_material(f"conflictnq:{data / 'conflictnq' / 'val.jsonl'}"), seed=SEED)
    kinds = {"factual": "right", "misinformation": "misinformation", "irrelevant": "noise"}
    found: dict[tuple[str, str], Asked] = {}
    for one in build(pick([materials], estimate=0, test=BUILT, seed=SEED), seed=SEED).examples:
        for passage, kind, answer in zip(
            one.passages, one.metadata["types"], one.metadata["answers"], strict=True
        ):
            right = one.gold if kind == "factual" else (answer,) if answer else ()
            asked = Asked(
                question=one.question, passage=Passage(text=passage.text), answers=right, kind=kinds[kind]
            )
            found[one.question, passage.text] = asked
    return list(found.values())


CORPORA: dict[str, Callable[[Path], list[Asked]]] = {
    "ramdocs": lambda data: ramdocs_passages(data, "report"),
    "nq": lambda data: nq_passages(data, "report"),
    "squad2": lambda data: squad2_questions(data, "test"),
    "built": built_passages,
    "conflictnq": conflictnq_passages,
    "realtimeqa": realtimeqa_passages,
}


READERS: dict[str, Read] = {"encoder": extract, "llm": read_passages, "trained": read_briefly}


def compare(
    data: Path, *, model: str, encoder: str, limit: int | None, only: Sequence[str], journal: str = "none"
) -> Iterator[tuple[str, dict[str, Any]]]:
    """By corpus what each reader reads as it is written, what noise it refuses, and the seconds a passage.

    A passage that a reader could not read, for a fault of the model, is counted and scored for none of them. With a
    journal a run goes on where it stopped, and a reader has seconds only where none of its calls was kept.
    """
    kit = build_kit(read_settings(model=model, encoder=encoder, journal=journal))
    for name in only:
        asked_passages = evenly(CORPORA[name](data), limit)
        rows: dict[str, list[Row | None]] = {}
        seconds: dict[str, float | None] = {}
        for reader in READERS:
            rows[reader], seconds[reader] = _rows(asked_passages, reader, kit)
        whole = [n for n in range(len(asked_passages)) if all(some[n] is not None for some in rows.values())]
        scores = {
            reader: _scores([row for n in whole if (row := some[n]) is not None])
            | ({} if (took := seconds[reader]) is None else {"seconds_a_passage": round(took, 3)})
            for reader, some in rows.items()
        }
        yield name, {"passages": len(asked_passages), "failed": len(asked_passages) - len(whole), **scores}


def _rows(asked_passages: Sequence[Asked], reader: str, kit: Kit) -> tuple[list[Row | None], float | None]:
    """Return what a reader reads in each passage, None where it failed; the seconds a passage, some in flight,
    None where a call was in the journal.
    """
    traces: list[Trace] = []

    def one(passage: Passage, asked: Asked) -> PassageReading | None:
        own = replace(kit, retriever=InMemory([passage]), trace=Trace())
        traces.append(own.trace)
        try:
            [reading] = READERS[reader](asked.question, [passage], own)
        except DisputatioError:
            return None
        return None if reading.reply.fault else reading

    passages = [replace(asked.passage, id=f"p{number}") for number, asked in enumerate(asked_passages)]
    READERS[reader](WARMING.question, [WARMING.passage], kit.with_trace(Trace()))  # loads the model
    start = time.perf_counter()
    with ThreadPoolExecutor(IN_FLIGHT) as pool:
        readings = list(pool.map(one, passages, asked_passages))
    seconds = (time.perf_counter() - start) / len(asked_passages)
    calls = (event for trace in traces for event in trace.events if isinstance(event, ModelCall))
    is_fresh = not any(call.journalled for call in calls)
    likely = _likely(reader, asked_passages, readings, kit)
    return [
        None if reading is None else (asked, reading.answer, chance)
        for asked, reading, chance in zip(asked_passages, readings, likely, strict=True)
    ], seconds if is_fresh else None


def _likely(
    reader: str, asked_passages: Sequence[Asked], readings: Sequence[PassageReading | None], kit: Kit
) -> list[float | None]:
    """Return how likely each passage answers as its reader has it, the higher the likelier; None where it says nothing."""
    if reader != "trained":
        return [None if reading is None else reading.answered for reading in readings]
    prompts = [read_prompt(asked.question, asked.passage) for asked in asked_passages]
    return [
        -choice.logprobs[0] for choice in kit.with_trace(Trace()).choose(TRAINED_READER, prompts, (UNKNOWN,))
    ]


def _scores(read: Sequence[Row]) -> dict[str, Any]:
    """Return shares of each kind of passage with 95 % intervals over resampled questions."""
    scores: dict[str, Any] = {}
    for kind in ("right", "misinformation", "noise"):
        rows = [row for row in read if row[0].kind == kind]
        if rows:
            refused = _share(rows, lambda row: not row[1])
            scores[kind] = {"n": len(rows), "declined": refused} | (
                {}
                if kind == "noise"
                else {
                    "equal": _share(rows, lambda row: bool(row[1] and exact(row[1], row[0].answers))),
                    "as_written": _share(rows, _as_written),
                }
            )
    if all(likely is not None for *_, likely in read) and {"right", "noise"} <= scores.keys():
        rows = [row for row in read if row[0].kind != "misinformation"]
        scores["noise"] |= {
            "auc": _over_questions(rows, _auc),
            "refused_keeping_93": _over_questions(rows, _refused),
        }
    return scores


def _as_written(row: Row) -> bool:
    asked, answer, _ = row
    return bool(answer) and (bool(exact(answer, asked.answers)) or contains(answer, asked.answers))


def _auc(rows: Sequence[Row]) -> float | None:
    return roc_auc([likely or 0.0 for *_, likely in rows], [asked.kind == "right" for asked, *_ in rows])


def _refused(rows: Sequence[Row]) -> float | None:
    """Return the share of noise below the threshold that keeps 93 % of the right passages; None where one is missing."""
    right, noise = (
        [likely or 0.0 for asked, _, likely in rows if asked.kind == kind] for kind in ("right", "noise")
    )
    if not right or not noise:
        return None
    least = keeping(right, KEPT)
    return sum(likely < least for likely in noise) / len(noise)


def _share(rows: Sequence[Row], is_so: Callable[[Row], bool]) -> list[float | None]:
    return _over_questions(rows, lambda some: sum(map(is_so, some)) / len(some) if some else None)


def _over_questions(
    rows: Sequence[Row], statistic: Callable[[Sequence[Row]], float | None]
) -> list[float | None]:
    """Return a statistic and its interval: passages of one question are not apart."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(row[0].question, []).append(row)
    found = resampled(list(groups.values()), lambda some: statistic([row for group in some for row in group]))
    return [None if value is None else round(value, 4) for value in (found.mean, found.low, found.high)]
