"""What an engine of others found, ranked as we rank: for adapters of served engines.

An adapter collects candidates with the score of each leg (`sparse` as BM25, `dense` as cosine); the
fusion and the best of each source are those of `search.py`, so that engines give the same order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from disputatio.protocols import Reranker
from disputatio.types import Hit

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from disputatio.store.segments.search import Fusion


@dataclass(slots=True)
class Candidate:
    """A passage that a leg found: its source, its place in time (which settles ties), its score on
    each leg; none on the sparse leg when it has no term of the query."""

    source: str
    order: int
    legs: dict[str, float]


class Won(NamedTuple):
    """A candidate that won: its id, its fused score, and the `scores` of its hit."""

    id: str
    score: float
    scores: dict[str, float]


def ranked(
    found: Mapping[str, Candidate],
    *,
    dense: bool,
    k: int,
    alpha: float,
    per_source: int | None = None,
    fusion: Fusion = "weighted",
) -> list[Won]:
    """The best `k` candidates, or the best `per_source` of each source, best first.

    >>> one, two = Candidate("a", 1, {"sparse": 2.0}), Candidate("a", 2, {"sparse": 3.0})
    >>> [(won.id, won.score) for won in ranked({"x": one, "y": two}, dense=False, k=2, alpha=1)]
    [('y', 1.0), ('x', 0.0)]
    """
    import numpy as np

    from disputatio.store.segments.search import best_per_group, fuse

    ids = sorted(found, key=lambda one: (found[one].order, one))
    bm25, cosine = (
        np.array([found[one].legs.get(leg, 0.0) for one in ids], dtype=np.float32)
        for leg in ("sparse", "dense")
    )
    ranking = fuse(bm25, cosine if dense else None, np.arange(len(ids)), alpha, fusion)
    kept: NDArray[np.int64] = np.arange(min(k, len(ids)))
    if per_source is not None:
        names = [found[ids[row]].source for row in ranking.rows.tolist()]
        kept = best_per_group(ranking.scores, _numbers(names), per_source)
    won = []
    for at in kept.tolist():
        row = int(ranking.rows[at])
        scores = {"sparse": float(ranking.sparse[at]), "bm25": float(bm25[row])}
        if ranking.dense is not None:
            scores |= {"dense": float(ranking.dense[at]), "cosine": float(cosine[row])}
        won.append(Won(ids[row], float(ranking.scores[at]), scores))
    return won


def reranked(
    reranker: Reranker, query: str, hits: Sequence[Hit], k: int, per_source: int | None
) -> list[Hit]:
    """The best hits by a reranker's scores, which become their own; raises what `Searcher.search` does."""
    import numpy as np

    from disputatio.store.segments.search import best_per_group
    from disputatio.store.segments.searcher import _reranked

    ordered = _reranked(reranker, query, hits)[0]
    if per_source is None:
        return ordered[:k]
    ranks = -np.arange(len(ordered), dtype=np.float32)
    kept = best_per_group(ranks, _numbers([one.passage.source for one in ordered]), per_source)
    return [ordered[at] for at in kept.tolist()]


def marked(hits: Sequence[Hit], stemming: str) -> list[Hit]:
    """Hits with near duplicates of better ones marked, by their texts."""
    from disputatio.store.segments import minhash
    from disputatio.store.segments.words import count

    if len(hits) < 2:
        return list(hits)
    texts = [one.passage.text for one in hits]
    repeats = minhash.repeats(minhash.sketch(count([""] * len(texts), texts, stemming)))
    return [
        one if better < 0 else replace(one, duplicate_of=hits[better].passage.id)
        for one, better in zip(hits, repeats, strict=True)
    ]


def _numbers(names: Sequence[str]) -> NDArray[np.int64]:
    """A number for each name, the same for the same."""
    import numpy as np

    known: dict[str, int] = {}
    return np.array([known.setdefault(name, len(known)) for name in names], dtype=np.int64)
