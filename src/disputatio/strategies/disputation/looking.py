"""Looking further: for what no side answers, and for what settles a contradiction whose lead is short.

For a contradiction the question is searched again, and the question with each answer that stands, the same number of
passages for every one, so that no answer is favoured. Only what was not read yet is read, and what the trained
encoder holds hopeless is not put to a language model.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import zip_longest

from disputatio.agents.explainer import explained
from disputatio.events import FollowedUp
from disputatio.kit import Kit
from disputatio.strategies.disputation.extracting import HOPELESS
from disputatio.strategies.disputation.resolve import Ruling
from disputatio.text import one_line
from disputatio.types import Passage

FOLLOW_K = 5  # passages that one follow-up brings
WIDE_K = 20  # passages that one search beyond the first ones brings
CANDIDATES = 4  # answers that are searched for with the question
LEAD = 2  # independent accounts by which an answer must lead for a contradiction to count as settled


def unread(question: str, read: Collection[str], kit: Kit) -> list[Passage]:
    """Return passages that an explanation of the question finds and that are not `read` yet; no call where
    none is left.
    """
    known = tuple(sorted(read))
    if not kit.search(question, k=1, exclude=known):
        return []
    query = explained(one_line(question), kit, "resolver")
    found = [hit.passage for hit in kit.search(query, k=FOLLOW_K, exclude=known)]
    kit.emit(FollowedUp(question=question, query=query, passages=[passage.id for passage in found]))
    return found


def disputed(rulings: Sequence[Ruling]) -> list[Ruling]:
    """Return the rulings of sides that contradict each other where none leads by two independent accounts."""
    open_to_doubt = []
    for ruling in rulings:
        if ruling.verdict == "rejected" or not ruling.rivals:
            continue
        best = max(rival.groups for rival in ruling.rivals)
        if ruling.verdict == "unresolved" or ruling.side.groups - best < LEAD:
            rivals = [other for other in rulings if any(other.side is rival for rival in ruling.rivals)]
            open_to_doubt += [ruling, *rivals]
    return list({id(ruling): ruling for ruling in open_to_doubt}.values())


def look_wider(
    question: str, rulings: Sequence[Ruling], read: Collection[str], kit: Kit, most: int
) -> tuple[list[Passage], int]:
    """At most so many passages that bear on a contradiction and are not `read` yet, and how many searches that took."""
    known = tuple(sorted(read))
    first = [hit.passage for hit in kit.search(question, k=WIDE_K, exclude=known)]
    if not first:
        return [], 1
    strongest = sorted(rulings, key=lambda ruling: ruling.side.log_odds, reverse=True)[:CANDIDATES]
    queries = [f"{one_line(question)} {one_line(ruling.side.answer)}" for ruling in strongest]
    found = [
        first,
        *([hit.passage for hit in kit.search(query, k=WIDE_K, exclude=known)] for query in queries),
    ]
    distinct = {
        passage.id: passage for turn in zip_longest(*found) for passage in turn if passage is not None
    }
    return _hopeful(question, list(distinct.values()), kit)[:most], 1 + len(queries)


def _hopeful(question: str, passages: Sequence[Passage], kit: Kit) -> list[Passage]:
    """Return the passages without those that the trained encoder holds hopeless; all where there is none."""
    if kit.reader is None:
        return list(passages)
    extractions = kit.extract(question, passages)
    return [
        passage
        for passage, extraction in zip(passages, extractions, strict=True)
        if extraction.probability >= HOPELESS
    ]
