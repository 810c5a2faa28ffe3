"""The day or the version that a question is about: which readings count then, and which are of later documents.

A day that the user gives (`as_of`) holds for all documents; words of a question ("in 2021", "before the change") only
choose among versions of one document, since a text of 2023 may tell of 2021.
"""

from __future__ import annotations

from collections.abc import Sequence

from disputatio.reliability.succession import best_claim
from disputatio.strategies.disputation.reading import PassageReading
from disputatio.types import Passage
from disputatio.versions.asked import asked_of
from disputatio.versions.dates import is_later, known_day


def divided(
    question: str, readings: Sequence[PassageReading], as_of: str
) -> tuple[list[PassageReading], list[PassageReading]]:
    """Return the readings that count for what is asked, and those of documents that are later."""
    if as_of:
        later = {reading.passage.id for reading in readings if _is_after(reading.passage, as_of)}
    else:
        later = _later_versions(question, readings)
    kept = [reading for reading in readings if reading.passage.id not in later]
    return kept, [reading for reading in readings if reading.passage.id in later]


def _is_after(passage: Passage, day: str) -> bool:
    return is_later(known_day(passage), day)


def _later_versions(question: str, readings: Sequence[PassageReading]) -> set[str]:
    """Return the ids of the passages of other versions than the one that the words of a question choose."""
    asked = asked_of(question)
    if not asked:
        return set()
    answering = [reading.passage for reading in readings if reading.answer]
    older: dict[str, list[Passage]] = {}  # by id, what it takes the place of
    newer: set[str] = set()
    for passage in answering:
        for other in answering:
            claim = best_claim(other, [passage]) if other is not passage else None
            if claim is not None and claim.believed:
                older.setdefault(passage.id, []).append(other)
                newer.add(other.id)
    if asked.day:
        return {
            passage.id
            for passage in answering
            if _is_after(passage, asked.day)
            and any(not _is_after(other, asked.day) for other in older.get(passage.id, ()))
        }
    if asked.version:
        family = {passage.id for passage in answering if passage.id in older or passage.id in newer}
        named = {passage.id for passage in answering if passage.version == asked.version}
        return family - named if named & family else set()
    return {passage.id for passage in answering if passage.id in older and passage.id not in newer}
