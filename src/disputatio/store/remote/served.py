"""Ranking of the candidates that a server gives, as an index in a folder ranks.

An adapter collects candidates with their score by each scorer (`sparse` as BM25, `dense` as cosine); the
fusion and the best of each source are those of `search.py`, so that engines give the same order.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from disputatio.protocols import Search
from disputatio.store.ingesting.statements import KEPT
from disputatio.store.options import DEFAULT_K
from disputatio.types import Hit, Passage

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from disputatio.store.ingesting.documents import Document

_SKETCHED = 4096  # passages whose sketches are made at a time
_FIELDS = ("owner", "title", "url", "document")
_TEXTS = ("id", "text", "source", "owner", "title", "url", "date", "date_origin", "document", "path")
_Noun = TypeVar("_Noun", "Passage", "Document")


@dataclass(slots=True)
class ScoredPassage:
    """A passage that a scorer found: its source, its place in time (which settles ties), its scores."""

    source: str
    order: int
    scores: dict[str, float]


class RankedPoint(NamedTuple):
    """A candidate that won: its id, its fused score, and the `scores` of its hit."""

    id: str
    score: float
    scores: dict[str, float]


def rank_candidates(
    candidates: Mapping[str, ScoredPassage], search: Search, *, dense: bool
) -> list[RankedPoint]:
    """Return the best `k` candidates, or the best `per_source` of each source, best first.

    >>> first, second = ({"sparse": score} for score in (2.0, 3.0))
    >>> candidates = {"x": ScoredPassage("a", 1, first), "y": ScoredPassage("a", 2, second)}
    >>> [(point.id, point.score) for point in rank_candidates(candidates, Search(k=2), dense=False)]
    [('y', 1.0), ('x', 0.0)]
    """
    import numpy as np

    ids = sorted(candidates, key=lambda point_id: (candidates[point_id].order, point_id))
    bm25, cosine = (
        np.array([candidates[point_id].scores.get(scorer, 0.0) for point_id in ids], dtype=np.float32)
        for scorer in ("sparse", "dense")
    )
    sources = numbers_of([candidates[point_id].source for point_id in ids])
    winners = rank_rows(sources, bm25, cosine if dense else None, search)
    return [RankedPoint(ids[row], score, scores) for row, score, scores in winners]


def rank_rows(
    sources: NDArray[np.int64], bm25: NDArray[np.float32], cosine: NDArray[np.float32] | None, search: Search
) -> list[tuple[int, float, dict[str, float]]]:
    """Rank arrays as `rank_candidates` does; return the place of each winner, its score and `scores`."""
    import numpy as np

    from disputatio.store.segments.search import cut, fuse, name_scores

    fused = fuse(bm25, cosine, np.arange(bm25.size), search.alpha, search.fusion)
    best = cut(fused, DEFAULT_K if search.k is None else search.k, sources, search.per_source)
    named = name_scores(best, bm25[best.rows], None if cosine is None else cosine[best.rows])
    return list(zip(best.rows.tolist(), best.scores.tolist(), named, strict=True))


def mark_duplicates(
    hits: Sequence[Hit], stemming: str, sketches: Mapping[str, bytes | None] | None = None
) -> list[Hit]:
    """Mark near duplicates of better hits, by the sketches of passages or by their texts."""
    import numpy as np

    from disputatio.store.segments import minhash
    from disputatio.store.segments.terms import count

    if len(hits) < 2:
        return list(hits)
    known = {hit.passage.id: (sketches or {}).get(hit.passage.id) for hit in hits}
    texts = {hit.passage.id: hit.passage.text for hit in hits if known[hit.passage.id] is None}
    if texts:
        made = minhash.sketch(count([""] * len(texts), list(texts.values()), stemming))
        known |= {name: row.tobytes() for name, row in zip(texts, made, strict=True)}
    every = b"".join(known[hit.passage.id] or b"" for hit in hits)
    repeats = minhash.repeats(np.frombuffer(every, dtype=np.uint8).reshape(len(hits), -1))
    return [
        hit if better < 0 else replace(hit, duplicate_of=hits[better].passage.id)
        for hit, better in zip(hits, repeats, strict=True)
    ]


def sketches_of(
    passages: Iterable[tuple[str, bytes | None, str]], sources: Sequence[str], stemming: str
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return sketches, made of texts where there are none, and the place of each one's source."""
    import numpy as np

    from disputatio.store.segments import minhash
    from disputatio.store.segments.terms import count

    column = {name: number for number, name in enumerate(sources)}
    rows, of_rows = [np.zeros((0, minhash.BINS), dtype=np.uint8)], []
    waiting = (each for each in passages if each[0] in column)
    while batch := list(itertools.islice(waiting, _SKETCHED)):
        texts = [text for _, sketch, text in batch if sketch is None]
        made = iter(minhash.sketch(count([""] * len(texts), texts, stemming)) if texts else ())
        kept = [next(made) if sketch is None else np.frombuffer(sketch, np.uint8) for _, sketch, _ in batch]
        rows.append(np.stack(kept))
        of_rows += [column[name] for name, _, _ in batch]
    return np.concatenate(rows), np.array(of_rows, dtype=np.int64)


def check_texts(noun: _Noun) -> _Noun:
    """Return a passage or a document of a server, whose texts are texts; raises `TypeError` for others."""
    for name in _TEXTS:
        if not isinstance(getattr(noun, name, ""), str):
            raise TypeError(f"{name} is no text")
    return noun


def fact(name: str, value: str) -> str:
    """Return a field and its value as one keyword, so that one index of the server serves every field.

    >>> fact("owner", "Acme")
    '["owner", "Acme"]'
    """
    return json.dumps([name, value], ensure_ascii=False)


MUTED = fact(KEPT, "mute")  # of a document that people muted; no field of a document has this name


def facts_of(passage: Passage) -> list[str]:
    fields = [(name, getattr(passage, name)) for name in _FIELDS] + list(passage.metadata.items())
    facts = [fact(str(name), str(value)) for name, value in fields if value]
    return [*facts, MUTED] if passage.by_people.get("mute") == "yes" else facts


def numbers_of(names: Sequence[str]) -> NDArray[np.int64]:
    import numpy as np

    known: dict[str, int] = {}
    return np.array([known.setdefault(name, len(known)) for name in names], dtype=np.int64)
