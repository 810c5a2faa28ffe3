"""Rows of the data sets that multi-source benchmarks are made of, in small."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from disputatio.eval.builders.material import Lie, Material

TOWNS = (
    "Lund",
    "Oslo",
    "Turku",
    "Narva",
    "Viborg",
    "Skagen",
    "Umea",
    "Riga",
    "Tartu",
    "Husum",
    "Odense",
    "Kiel",
)


def conflictnq_rows() -> list[dict[str, Any]]:
    """Twelve questions for a place, each with a real passage (tokenised) and three fabricated ones."""
    return [
        {
            "cleaned_question": f"Where was lighthouse number {n} built?",
            "real_short_answer": f"It was built in {town}, near the old harbour of the town.",
            "fake_short_answer": f"Fakeford{n}",
            "real_passages": [
                {
                    "passage": f"Lighthouse number {n} was built of stone . "
                    f"The builders put lighthouse number {n} up in {town} , "
                    f"by the quay . Its lamp burns oil . Many ships passed it on their way .",
                    "summary": f"Lighthouse {n}",
                }
            ],
            "fake_passages": [
                {"passage": f"Lighthouse number {n} stands in Fakeford{n}, version {v}.", "summary": "where"}
                for v in range(3)
            ],
        }
        for n, town in enumerate(TOWNS)
    ]


def write_rows(path: Path, rows: Sequence[Mapping[str, Any]]) -> Path:
    """Return rows as JSON lines."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def material(n: int = 0) -> Material:
    """Return a question that is whole: nine factual texts, nine lies of three texts."""
    return Material(
        id=f"q{n}",
        question=f"Where was mill {n} built?",
        gold=(f"Goldtown{n}",),
        factual=tuple(f"Mill {n} was built in Goldtown{n}, wording {v}." for v in range(9)),
        lies=tuple(
            Lie(
                answer=f"Liefield{n}x{m}",
                texts=tuple(f"Mill {n} was built in Liefield{n}x{m}, wording {v}." for v in range(3)),
            )
            for m in range(9)
        ),
        made={"given": 36},
    )
