"""What stands before and after a passage in its document."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from disputatio.types import Passage

if TYPE_CHECKING:
    from disputatio.store.segments.view import View

_MOST = 1_000  # passages of a document in one segment that are read to find those nearby


def neighbours(view: View, passage: Passage, count: int) -> tuple[list[Passage], list[Passage]]:
    """Return up to `count` passages before and after one, in the order of its document.

    Raises `StoreError` where the bytes of one are damaged.
    """
    if not passage.document or not count:
        return [], []
    found: list[Passage] = []
    for segment, dead in zip(view.segments, view.dead, strict=True):
        rows = segment.of_documents([passage.document])
        rows = rows if dead is None else rows[~dead[rows]]
        if len(rows) > _MOST:  # a document's passages were put in its order
            own = int(segment.find([passage.id])[0])
            at = int(rows.searchsorted(max(own, 0)))
            rows = rows[max(0, at - _MOST // 2) : at + _MOST // 2]
        found += segment.passages(rows) if len(rows) else []
    return nearest(found, passage, count)


def nearest(passages: Iterable[Passage], passage: Passage, count: int) -> tuple[list[Passage], list[Passage]]:
    """Of some passages, up to `count` before and after one in the order of its document."""
    found = {
        (other.start, other.end): other
        for other in passages
        if other.document == passage.document and other.id != passage.id
    }
    place = (passage.start, passage.end)
    before = [found[key] for key in sorted(found) if key < place]
    after = [found[key] for key in sorted(found) if key > place]
    return before[-count:], after[:count]
