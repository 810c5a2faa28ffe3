"""Stations that share a name: ambiguous questions, passages on each station, and rows of RAMDocs' format."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

NAMES = ("Vell", "Tarn", "Osk", "Brim", "Fenn", "Holt", "Quay", "Lomm")
REGIONS = ("Norland", "Sudmark", "Estmoor")
WORDINGS = (
    "{name} station in {region} opened in {year}, when the first coal train came down from the hills.",
    "Travellers know the {name} station of {region} for its glass roof; it was opened to all in {year}.",
    "It was in {year} that a private company opened {name} station, the brick hall which serves {region}.",
)


def year_of(name: str, region: str) -> str:
    """Return when a station opened: for each another year, none near another."""
    return str(1700 + 9 * (NAMES.index(name) * len(REGIONS) + REGIONS.index(region)))


def asked(name: str) -> str:
    """Return the question that all stations of a name answer."""
    return f"When was the {name} station opened?"


def wording(name: str, region: str, n: int) -> str:
    """Return the n-th passage on a station."""
    return WORDINGS[n].format(name=name, region=region, year=year_of(name, region))


def passages(names: Sequence[str] = NAMES, *, each: int = len(WORDINGS)) -> list[dict[str, str]]:
    """Return passages on every station, and on every name one that says nothing of a year."""
    told = [wording(name, region, n) for name in names for region in REGIONS for n in range(each)]
    told += [f"The {name} station has a bakery and a clock that was opened once." for name in names]
    return [{"text": text, "source": f"page{n}.example"} for n, text in enumerate(told)]


def ambignq(names: Sequence[str] = NAMES) -> list[dict[str, Any]]:
    """Return the light format of AmbigNQ: a question a name, with one reading a region."""
    return [
        {
            "id": name,
            "question": asked(name),
            "annotations": [
                {"type": "singleAnswer", "answer": [year_of(name, REGIONS[0])]},
                {
                    "type": "multipleQAs",
                    "qaPairs": [
                        {
                            "question": f"When was the {name} station in {region} opened?|When did it open?",
                            "answer": [year_of(name, region)],
                        }
                        for region in REGIONS
                    ],
                },
            ],
        }
        for name in names
    ]


def ramdocs_row(name: str, *, first: int = 1, second: int = 3, lies: int = 1) -> dict[str, Any]:
    """Return a row with so many passages for the stations of two regions, and one wrong answer."""
    documents = [
        {"text": wording(name, region, n), "type": "correct", "answer": year_of(name, region)}
        for region, count in zip(REGIONS[:2], (first, second), strict=True)
        for n in range(count)
    ]
    documents += [
        {"text": f"Guide {n}: the {name} station was opened in 1999.", "type": "misinfo", "answer": "1999"}
        for n in range(lies)
    ]
    documents.append({"text": f"{name} sells apples.", "type": "noise", "answer": "unknown"})
    return {
        "question": asked(name),
        "documents": documents,
        "disambig_entity": [f"{name}, {region}" for region in REGIONS[:2]],
        "gold_answers": [year_of(name, region) for region in REGIONS[:2]],
        "wrong_answers": ["1999"] if lies else [],
    }
