"""Versions of a document: of each section one is read first, the others where that one answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from disputatio.kit import Kit
from disputatio.reliability.succession import best_claim
from disputatio.strategies.disputation.details import Record
from disputatio.strategies.disputation.reading import PassageReading
from disputatio.text import bare_words, one_line
from disputatio.types import Passage
from disputatio.versions.asked import find_asked, product_version
from disputatio.versions.families import family_names, is_version

DEEP = 100  # passages among which other versions are looked for
LONGEST_QUERY = 1_000  # characters
MOST = 4  # passages of other versions of what answers
MOST_FIRST = 50  # passages to read first, from which they are not compared with each other
_ALIKE = 0.3  # of the words of two passages, from which they are one section in two versions


@dataclass(frozen=True, slots=True)
class Sections:
    """Passages by section, the version that is read first ahead, and how many are read first."""

    passages: Sequence[Sequence[Passage]]
    most: int

    @property
    def first(self) -> list[Passage]:
        """Return the passages to read first."""
        return [section[0] for section in self.passages] + self._others[: self._missing]

    @property
    def waiting(self) -> list[Passage]:
        """Return the other versions of sections that are among the first."""
        return self._others[self._missing :]

    @property
    def _others(self) -> list[Passage]:
        return [passage for section in self.passages for passage in section[1:]]

    @property
    def _missing(self) -> int:
        return max(0, self.most - len(self.passages))

    def to_record(self) -> dict[str, Any]:
        """Return the fields of a `Record`: none where no section is in several versions."""
        if not self._others:
            return {}
        sections = [[passage.id for passage in section] for section in self.passages]
        return {"sections": sections, "searched": self.most}


def search_sections(question: str, kit: Kit, k: int | None, *, as_of: str = "") -> Sections:
    """Search for passages; of a section in several versions the one that is asked for is first, else the newest.

    What is found next takes the places of the others. All are read where the question is about a day or the past,
    where nothing else is left, and where very many are read first.
    """
    found = kit.passages(question, k=k)
    asked, most = find_asked(question), len(found)
    every = Sections([[passage] for passage in found], most)
    if kit.recorded:
        return _find_again(question, kit, found) or every
    of_past = as_of or asked.day or asked.previous
    sections = [] if of_past or most > MOST_FIRST else by_section(found)
    if len(sections) in (0, most):
        return every
    further = _search_further(question, kit, found, most)
    if not further:
        return every
    sections = by_section([*found, *further])[:most]
    version = asked.version or product_version(question, found)
    return Sections([_put_ahead(_of_version(section, version), section) for section in sections], most)


def _search_further(question: str, kit: Kit, found: Sequence[Passage], most: int) -> list[Passage]:
    hits = kit.search(question, k=2 * most, exclude=tuple(passage.id for passage in found))
    return [hit.passage for hit in hits]


def _put_ahead(first: Passage, section: Sequence[Passage]) -> list[Passage]:
    return [first, *(passage for passage in section if passage is not first)]


def _find_again(question: str, kit: Kit, found: Sequence[Passage]) -> Sections | None:
    """Return the sections of an answer that is decided again: nothing takes the place of what was removed."""
    record = Record.from_details(kit.recorded)
    if not record.sections:
        return None
    further = _search_further(question, kit, found, record.searched)
    known = {passage.id: passage for passage in (*found, *further)}
    recorded = [name for section in record.sections for name in section]
    sections = [[known[name] for name in section if name in known] for section in record.sections]
    removed = sum(name not in known for name in recorded)
    return Sections(list(filter(None, sections)), record.searched - removed)


def by_section(passages: Sequence[Passage]) -> list[list[Passage]]:
    """Return passages by section, its versions together, in the order of the first of each."""
    sections: list[list[Passage]] = []
    words = {passage.id: frozenset(bare_words(passage.text)) for passage in passages}

    def is_one(first: Passage, second: Passage) -> bool:
        ours, theirs = words[first.id], words[second.id]
        is_alike = len(ours & theirs) >= _ALIKE * len(ours | theirs)
        return is_alike and _are_versions(first, second)

    for passage in passages:
        same = (each for each in sections if all(is_one(passage, other) for other in each))
        section = next(same, None)
        if section is None:
            sections.append([passage])
        else:
            section.append(passage)
    return sections


def _are_versions(first: Passage, second: Passage) -> bool:
    """Return whether one of two passages under the same heading is of a later version of the other's document."""
    if first.metadata.get("heading") != second.metadata.get("heading"):
        return False
    is_family = bool(family_names(first) & family_names(second))
    return is_family and (_is_replaced(first, [second]) or _is_replaced(second, [first]))


def _is_replaced(passage: Passage, others: Sequence[Passage]) -> bool:
    """Return whether others take the place of a passage, and may: a stranger's file only says so."""
    claim = best_claim(passage, others)
    return claim is not None and claim.believed


def _of_version(section: Sequence[Passage], version: str) -> Passage:
    """Return the passage of a version, else the newest."""
    asked = [each for each in section if version and is_version(version, each.version)]
    newest = [each for each in section if not _is_replaced(each, section)]
    return [*asked, *newest, *section][0]


def find_versions(question: str, readings: Sequence[PassageReading], kit: Kit) -> list[Passage]:
    """Return unread passages of other versions of the documents that answer, where these are versions.

    Nothing is searched where two versions were read already.
    """
    answering = [reading.passage for reading in readings if reading.answer]
    answering = [passage for passage in answering if passage.version or passage.relations]
    alone = [
        side for side in answering if best_claim(side, answering) is None and not _succeeds(side, answering)
    ]
    families = frozenset[str]().union(*map(family_names, alone))
    if not families:
        return []
    query = one_line(f"{question} {' '.join(sorted(families))}")[:LONGEST_QUERY]
    read = tuple(sorted(reading.passage.id for reading in readings))
    found = [hit.passage for hit in kit.search(query, k=DEEP, exclude=read)]
    found = [passage for passage in found if family_names(passage) & families]
    headings = {heading for side in alone if (heading := side.metadata.get("heading"))}
    found.sort(key=lambda passage: passage.metadata.get("heading") not in headings)  # the same section first
    documents = {passage.document for passage in answering if passage.document}
    new = [passage for passage in found if passage.document not in documents]
    return [passage for passage in new if best_claim(passage, alone) or _succeeds(passage, alone)][:MOST]


def _succeeds(passage: Passage, others: Sequence[Passage]) -> bool:
    return any(best_claim(other, [passage]) is not None for other in others)
