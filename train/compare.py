"""The encoder's readings beside a language model's, on the same passages that nothing was trained or tuned on."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from disputatio.config import read_settings
from disputatio.errors import DisputatioError
from disputatio.kit import Kit
from disputatio.parts import build_kit
from disputatio.store.in_memory import InMemory
from disputatio.strategies.disputation.reading import (
    MAX_TOKENS,
    PassageReading,
    extract,
    extract_or_read,
    read_passages,
)
from disputatio.trace import Trace
from disputatio.types import Passage
from train.measure import (
    Asked,
    conflictnq_passages,
    nq_passages,
    ramdocs_passages,
    realtimeqa_passages,
)
from train.measure_pairs import evenly
from train.scores import contains, exact

Read = Callable[[str, Sequence[Passage], Kit], list[PassageReading]]
CORPORA: dict[str, Callable[[Path], list[Asked]]] = {
    "ramdocs": lambda data: ramdocs_passages(data, "report"),
    "nq": lambda data: nq_passages(data, "report"),
    "conflictnq": conflictnq_passages,
    "realtimeqa": realtimeqa_passages,
}


def _both(question: str, passages: Sequence[Passage], kit: Kit) -> list[PassageReading]:
    return extract_or_read(question, passages, kit, turn=1, max_tokens=MAX_TOKENS)


READERS: dict[str, Read] = {"encoder": extract, "llm": read_passages, "both": _both}


def compare(
    data: Path, *, model: str, encoder: str, journal: str, limit: int | None, only: Sequence[str]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """By corpus what each reader reads as it is written, what noise it refuses, and the seconds a passage.

    A passage that a reader could not read, for a fault of the model, is counted and scored for none of them.
    """
    kit = build_kit(read_settings(model=model, encoder=encoder, journal=journal))
    for name in only:
        asked_passages = evenly(CORPORA[name](data), limit)
        readings: dict[str, list[tuple[str, bool]]] = {}
        seconds: dict[str, float] = {}
        for reader, read in READERS.items():
            readings[reader], seconds[reader] = _readings(asked_passages, read, kit)
        whole = [
            number
            for number in range(len(asked_passages))
            if not any(readings[reader][number][1] for reader in READERS)
        ]
        yield (
            name,
            {
                "passages": len(asked_passages),
                "failed": len(asked_passages) - len(whole),
                **{
                    reader: _scores([(asked_passages[n], readings[reader][n][0]) for n in whole])
                    | {"seconds_a_passage": round(seconds[reader] / len(asked_passages), 3)}
                    for reader in READERS
                },
                "either": _either(
                    [(asked_passages[n], readings["encoder"][n][0], readings["llm"][n][0]) for n in whole]
                ),
            },
        )


def _readings(asked_passages: Sequence[Asked], read: Read, kit: Kit) -> tuple[list[tuple[str, bool]], float]:
    """Return each passage's answer, empty where it was refused, and whether the reader failed; the seconds of
    all.
    """
    found: list[tuple[str, bool]] = []
    seconds = 0.0
    for number, asked in enumerate(asked_passages):
        passage = replace(asked.passage, id=f"p{number}")
        own = replace(kit, retriever=InMemory([passage]), trace=Trace())
        start = time.perf_counter()
        try:
            [reading] = read(asked.question, [passage], own)
            found.append((reading.answer, bool(reading.reply.fault)))
        except DisputatioError:
            found.append(("", True))
        # A call that came from the journal of calls counts for what it took when it was made.
        seconds += max(time.perf_counter() - start, own.trace.usage().seconds)
    return found, seconds


def _scores(read: Sequence[tuple[Asked, str]]) -> dict[str, Any]:
    kinds = {
        kind: [pair for pair in read if pair[0].kind == kind] for kind in ("right", "misinformation", "noise")
    }
    scores: dict[str, Any] = {}
    for kind, pairs in kinds.items():
        if kind == "noise" and pairs:
            scores[kind] = {"n": len(pairs), "refused": _share([not answer for _, answer in pairs])}
        elif pairs:
            scores[kind] = {
                "n": len(pairs),
                "equal": _share([bool(answer and exact(answer, asked.answers)) for asked, answer in pairs]),
                "as_written": _share([_as_written(asked, answer) for asked, answer in pairs]),
                "declined": _share([not answer for _, answer in pairs]),
            }
    return scores


def _either(read: Sequence[tuple[Asked, str, str]]) -> dict[str, Any]:
    """Return how often one of two readers is right, and how often each is where they agree and where not."""
    right = [row for row in read if row[0].kind == "right"]
    agree = [row for row in right if row[1] and row[2] and contains(row[1], [row[2]])]
    apart = [row for row in right if row not in agree]
    return {
        "one_is_right": _share([_as_written(asked, a) or _as_written(asked, b) for asked, a, b in right]),
        "agree": _share([row in agree for row in right]),
        "llm_right_where_they_agree": _share([_as_written(asked, b) for asked, _, b in agree]),
        "llm_right_where_not": _share([_as_written(asked, b) for asked, _, b in apart]),
        "encoder_right_where_not": _share([_as_written(asked, a) for asked, a, _ in apart]),
    }


def _as_written(asked: Asked, answer: str) -> bool:
    return bool(answer) and (bool(exact(answer, asked.answers)) or contains(answer, asked.answers))


def _share(values: Sequence[bool]) -> float | None:
    return round(sum(values) / len(values), 4) if values else None
