"""Passages on towns whose mills were finished in a year, true or false, and a model that reads them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path

from disputatio.agents.source_reader import SOURCE_SCHEMA
from disputatio.calibration.questions import WRITER_SYSTEM
from disputatio.kit import Kit
from disputatio.llm.scripted import Line, Scripted
from disputatio.store.contract import Index
from disputatio.store.opening import open_index
from disputatio.types import Passage

TOWNS = ("Aldwick", "Brenholm", "Caswick", "Dunmore", "Elsby", "Farrow", "Garlick", "Hexham")
YEARS = {town: 1801 + 7 * number for number, town in enumerate(TOWNS)}
_FACT = re.compile(r"The harbour mill of (\w+) town was finished in the year (\d{4})\.")
_ASKED = re.compile(r"the harbour mill of (\w+) town finished")


def passage_on(town: str, year: int, source: str) -> Passage:
    """Return a passage of a source on one town; its other words are in no other source."""
    filler = " ".join(f"{letter}o{source}" for letter in "bcdfghklmnprstvwz")
    fact = f"The harbour mill of {town} town was finished in the year {year}."
    text = f"Of {town} {filler}. {fact} As {filler} say."
    return Passage(text=text, source=source, title=f"{town} by {source}")


def index_of(path: Path | str, lies: Mapping[str, int], *, towns: tuple[str, ...] = TOWNS) -> Index:
    """Return an index in which each source is wrong by `lies[source]` years in every town."""
    index = open_index(path)
    index.add([passage_on(town, YEARS[town] + by, source) for source, by in lies.items() for town in towns])
    return index


def question(town: str) -> str:
    """Return the question that the model writes about a town."""
    return f"In which year was the harbour mill of {town} town finished?"


def say(prompt: str) -> Line:
    """Return the reply of a model that writes questions and reads passages without mistakes."""
    if prompt.startswith(WRITER_SYSTEM):
        fact = _FACT.search(prompt.rsplit("<sentence", maxsplit=1)[-1])
        if fact is None:
            return json.dumps({"question": "What is it?", "answer": "unknown"})
        return json.dumps({"question": question(fact[1]), "answer": fact[2]})
    towns_asked = _ASKED.findall(prompt)
    facts = dict(_FACT.findall(prompt))
    year = facts.get(towns_asked[-1]) if towns_asked else None
    quote = f"was finished in the year {year}" if year else ""
    return source_said(year or "", quote)


def source_said(answer: str, quote: str = "") -> str:
    """Return the reply of an agent that reads one source; an empty answer is "I don't know"."""
    fields = {"answered": "yes" if answer else "no", "answer": answer or "I don't know", "quote": quote}
    return json.dumps({name: fields[name] for name in SOURCE_SCHEMA["properties"]})


def kit(model: Scripted | None = None) -> Kit:
    """Return a kit with that model, whose judge affirms everything."""
    return Kit(model=model or Scripted(say, choices={"": {"Yes": 0.9, "No": 0.1}}))
