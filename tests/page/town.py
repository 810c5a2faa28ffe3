"""An index whose sources disagree about a town, and a model that reads them by rule."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

from disputatio.eval.reporting.run_folders import RunFolders
from disputatio.llm.scripted import Scripted
from disputatio.protocols import LLM
from disputatio.server.options import Access, Limits, StorageOptions
from disputatio.server.service import Service
from disputatio.types import Passage
from tests.server.ferry import ferry, ferry_index

QUESTION = "Who designed the lighthouse?"
COPIED = (
    "Strange but true: the lighthouse was designed by Barnaby Croll, "
    "a pirate who drew it on a napkin in one night"
)
PASSAGES = (
    Passage(
        id="museum1",
        text="\U0001f3db Our museum \u2014 caf\u00e9 open. "
        "The lighthouse was designed by Ingrid Vasmer in 1881. Her letters survive.",
        source="museum.example",
        owner="City",
        title="The tower and its maker",
        url="https://museum.example/tower",
        date="2021-08-09",
        date_origin="stated",
    ),
    Passage(
        id="keepers1",
        text="The lighthouse was designed by Ingrid Vasmer. The society keeps her drawings.",
        source="keepers.example",
        title="Lights of the coast",
        url="https://keepers.example/lights",
        date="2016-05-21",
        date_origin="file",
    ),
    Passage(
        id="times1",
        text="A plaque says that the lighthouse was designed by Ingrid Vasmer, engineer of the harbour.",
        source="times.example",
        date="2023-06-27",
        date_origin="stated",
        metadata={"page": "4", "hidden": "12"},
    ),
    Passage(id="buzz1", text=f"{COPIED}.", source="buzz.example", date="2023-10-05"),
    Passage(id="facts1", text=f"{COPIED}!", source="facts.example", date="2023-10-07"),
    Passage(id="hebrew1", text="\u05de\u05d2\u05d3\u05dc\u05d5\u05e8 lighthouse", source="hebrew.example"),
)


def says(prompt: str) -> str:
    """Return what a reader of one passage replies: whom it names."""
    if "explanation" in prompt and '"answers"' in prompt:
        return json.dumps({"explanation": "", "answers": ["Barnaby Croll"]})  # one prompt holds all passages
    passage = prompt.partition("<passage")[2]
    named = re.search(r"designed by (\w+ \w+)", passage)
    return json.dumps({"subject": "", "answer": named[1] if named else "unknown"})


def reader(delay: float = 0.0) -> Scripted:
    """Return a model that reads by rule; each call takes `delay` seconds."""
    return Scripted(says, choices=lambda _: {"Yes": 0.9, "No": 0.1}, name="script", delay=delay)


def town(
    folder: Path,
    *,
    passages: Sequence[Passage] = PASSAGES,
    delay: float = 0.0,
    model: LLM | None = None,
    writing: bool = True,
    limits: Limits | None = None,
) -> Service:
    """Return a service over the passages."""
    (folder / "runs").mkdir(exist_ok=True)
    return ferry(
        folder,
        model=model or reader(delay),
        index=ferry_index(folder, passages),
        limits=limits,
        access=Access(writing=writing),
        keeping=StorageOptions(uploads=folder / "uploads", runs=RunFolders(folder / "runs")),
    )
