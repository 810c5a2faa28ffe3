"""Searching further: for what no answer stands of, and for what bears on a contradiction."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import zip_longest

from disputatio.agents.explainer import explain_term
from disputatio.agents.translator import other_languages, translate
from disputatio.events import FollowedUp
from disputatio.kit import Kit
from disputatio.strategies.disputation.reading import HOPELESS
from disputatio.strategies.disputation.resolve import ResolvedSide
from disputatio.text import one_line
from disputatio.types import Passage

FOLLOW_K = 5  # passages that one follow-up brings
DEEP = 100  # passages among which other languages are looked for
OTHERS = 2  # other languages that are searched
WIDE_K = 20  # passages that one search beyond the first ones brings
CANDIDATES = 4  # answers that are searched for with the question


def search_on(question: str, read_ids: Collection[str], kit: Kit) -> list[Passage]:
    """Return unread passages that the question finds in the other languages of the index, else its explanation.

    Asks nothing if no passage is left.
    """
    known = tuple(sorted(read_ids))
    nearest = [hit.passage.text for hit in kit.search(question, k=DEEP, exclude=known)]
    if not nearest:
        return []
    queries = [
        translate(question, each, kit, "resolver") for each in other_languages(question, nearest)[:OTHERS]
    ]
    found: dict[str, Passage] = {}
    for query in queries or [explain_term(one_line(question), kit, "resolver")]:
        passages = [hit.passage for hit in kit.search(query, k=FOLLOW_K, exclude=known)]
        kit.emit(FollowedUp(question=question, query=query, passages=[passage.id for passage in passages]))
        found |= {passage.id: passage for passage in passages}
    return list(found.values())


def search_wider(
    question: str, disputed: Sequence[ResolvedSide], read_ids: Collection[str], kit: Kit, most: int
) -> tuple[list[Passage], int]:
    """Return at most so many unread passages that bear on a contradiction, and the number of searches.

    The question is searched again, and the question with each answer, the same number of passages for every
    one, so that no answer is favoured.
    """
    known = tuple(sorted(read_ids))
    first = [hit.passage for hit in kit.search(question, k=WIDE_K, exclude=known)]
    if not first:
        return [], 1
    strongest = sorted(disputed, key=lambda each: each.side.log_odds, reverse=True)[:CANDIDATES]
    queries = [f"{one_line(question)} {one_line(each.side.answer)}" for each in strongest]
    searches = [
        first,
        *([hit.passage for hit in kit.search(query, k=WIDE_K, exclude=known)] for query in queries),
    ]
    distinct = {
        passage.id: passage for rank in zip_longest(*searches) for passage in rank if passage is not None
    }
    return _drop_hopeless(question, list(distinct.values()), kit)[:most], 1 + len(queries)


def _drop_hopeless(question: str, passages: Sequence[Passage], kit: Kit) -> list[Passage]:
    """Return the passages that may answer by the trained encoder; all if there is none."""
    if kit.reader is None:
        return list(passages)
    extractions = kit.extract(question, passages)
    return [
        passage
        for passage, extraction in zip(passages, extractions, strict=True)
        if extraction.probability >= HOPELESS
    ]
