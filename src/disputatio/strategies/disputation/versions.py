"""Versions of a document: of each section one is read first, the others where that one answers."""

from __future__ import annotations

from collections.abc import Sequence

from disputatio.kit import Kit
from disputatio.reliability.succession import best_claim
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


def search_sections(
    question: str, kit: Kit, k: int | None, *, as_of: str = ""
) -> tuple[list[Passage], list[Passage]]:
    """Return the passages to read first, and those that wait: other versions of sections that are among the first.

    Of a section in several versions the one that is asked for is read, else the newest; what is found next takes the
    places of the others. All are read where the question is about a day or the past, where nothing else is left, and
    where very many are read first.
    """
    found = kit.passages(question, k=k)
    asked, most = find_asked(question), len(found)
    of_past = as_of or asked.day or asked.previous
    sections = [] if of_past or most > MOST_FIRST else by_section(found)
    if len(sections) in (0, most):
        return found, []
    further = kit.search(question, k=2 * most, exclude=tuple(passage.id for passage in found))
    if not further:
        return found, []
    sections = by_section([*found, *(hit.passage for hit in further)])[:most]
    version = asked.version or product_version(question, found)
    first = [_of_version(section, version) for section in sections]
    waiting = [passage for section in sections for passage in section if passage not in first]
    missing = most - len(first)
    return first + waiting[:missing], waiting[missing:]


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
