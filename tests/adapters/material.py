"""A ferry of which sources disagree: an index of it, and a function that reads a passage as a model would."""

from __future__ import annotations

import json
from pathlib import Path

import disputatio as d

QUESTION = "When did the ferry first cross?"
PASSAGES = [
    d.Passage(text="The ferry first crossed in 1887.", source="museum.example", title="The ferry", id="p1"),
    d.Passage(
        text="The ferry first crossed in 1887, in May.",
        source="almanac.example",
        url="https://almanac.example/ferry",
        date="1925-03-01",
        metadata={"page": "4"},
        id="p2",
    ),
    d.Passage(text="They say the ferry first crossed in 1901.", source="buzz.example", id="p3"),
]


def made_index(folder: Path) -> Path:
    """Return an index of the passages, searched by keywords."""
    d.Index.open(folder / "ferry.index", embedder="none").add(PASSAGES)
    return folder / "ferry.index"


def read(prompt: str) -> str:
    """Return what a model reads in the passage of a prompt."""
    passage = prompt.partition("<passage")[2]
    year = next((year for year in ("1887", "1901") if year in passage), "unknown")
    return json.dumps({"subject": "the ferry", "answer": year})
