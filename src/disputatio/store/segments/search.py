"""Hybrid search as pure functions on arrays: normalise, fuse, take the best of all or of each source."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from disputatio.protocols import Fusion

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]
    Rows = NDArray[np.int64]

CANDIDATES = 100
RRF_K = 60
_FEW = 512  # numbers that are sorted as they are; more are sorted as whole numbers, which is faster


class Ranking(NamedTuple):
    """Rows, best first, with their fused score and both scorers' (`dense` may be None), each in [0, 1]."""

    rows: Rows
    scores: Floats
    sparse: Floats
    dense: Floats | None


def normalise(scores: Floats) -> Floats:
    """Return scores stretched to [0, 1] (min-max); all equal: 1 where positive, else 0.

    >>> normalise(np.array([1, 2, 5], dtype=np.float32)).tolist()
    [0.0, 0.25, 1.0]
    >>> normalise(np.array([3, 3], dtype=np.float32)).tolist()
    [1.0, 1.0]
    """
    if scores.size == 0:
        return scores
    low, high = scores.min(), scores.max()
    if high > low:
        return np.asarray((scores - low) / (high - low), dtype=np.float32)
    return (scores > 0).astype(np.float32)


def best(scores: Floats, n: int, allowed: NDArray[np.bool_]) -> Rows:
    """Return the rows of the `n` best scores among those allowed, best first; ties by row.

    >>> best(np.array([1, 3, 2], dtype=np.float32), 2, np.array([True, False, True])).tolist()
    [2, 0]
    """
    rows = np.flatnonzero(allowed)
    if rows.size > n:
        cut = np.partition(scores[rows], rows.size - n)[rows.size - n]
        above, level = rows[scores[rows] > cut], rows[scores[rows] == cut]
        rows = np.concatenate([above, level[: n - above.size]])
    return rows[sort_falling(scores[rows])]


def sort_falling(scores: Floats) -> Rows:
    """Return positions by falling score, equal ones by position; no score is NaN.

    >>> sort_falling(np.array([1, 3, 0, 3], dtype=np.float32)).tolist()
    [1, 3, 0, 2]
    """
    if scores.size < _FEW:
        return np.argsort(-scores, kind="stable")
    # The bits of a float, those of a negative one turned round, are in the order of the floats.
    bits = (np.float32(0) - scores).view(np.int32)
    ranks = np.where(bits < 0, ~bits, bits | np.int32(-(2**31))).view(np.uint32)
    keys = (ranks.astype(np.uint64) << np.uint64(32)) | np.arange(scores.size, dtype=np.uint64)
    keys.sort()
    return (keys & np.uint64(0xFFFFFFFF)).astype(np.int64)


def first_of_groups(groups: NDArray[np.integer], n: int) -> Rows:
    """Return positions, rising, of the first `n` of every group.

    >>> first_of_groups(np.array([4, 0, 4, 4, 0]), 2).tolist()
    [0, 1, 2, 4]
    """
    if groups.size == 0 or n <= 0:
        return np.zeros(0, dtype=np.int64)
    if groups.size >= _FEW and groups.min() >= 0 and groups.max() <= np.iinfo(np.uint16).max:
        groups = groups.astype(np.uint16)  # numpy sorts 16 bits by counting
    order = np.argsort(groups, kind="stable")
    ordered = groups[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    rank = np.arange(groups.size) - np.repeat(starts, np.diff(np.r_[starts, groups.size]))
    return np.sort(order[rank < n])


def reciprocal_ranks(scores: Floats, matching: NDArray[np.bool_]) -> Floats:
    """Return 1 / (60 + rank) for the rows that match by a scorer, else 0; ties by position.

    Cormack, Clarke and Büttcher, Reciprocal Rank Fusion (SIGIR 2009).

    >>> (1 / reciprocal_ranks(np.array([2, 3], dtype=np.float32), np.array([True, True]))).round().tolist()
    [62.0, 61.0]
    """
    order = sort_falling(scores)
    order = order[matching[order]]
    result = np.zeros(scores.size, dtype=np.float32)
    result[order] = 1 / np.arange(RRF_K + 1, RRF_K + 1 + order.size, dtype=np.float32)
    return result


def fuse(
    sparse: Floats, dense: Floats | None, rows: Rows, alpha: float, fusion: Fusion = "weighted"
) -> Ranking:
    """Return candidate `rows` ranked by alpha sparse + (1 - alpha) dense, both normalised over them, or by
    the sparse score alone (RAGentA, hybrid retrieval); `rrf` adds the reciprocal ranks by each scorer
    instead.
    """
    keyword = normalise(sparse[rows])
    meaning = None if dense is None else normalise(dense[rows])
    if fusion == "rrf":
        total = reciprocal_ranks(sparse[rows], sparse[rows] > 0)
        if dense is not None:
            total = total + reciprocal_ranks(dense[rows], np.ones(rows.size, dtype=np.bool_))
    elif meaning is None:
        total = keyword
    else:
        total = np.float32(alpha) * keyword + np.float32(1 - alpha) * meaning
    order = sort_falling(total)
    return Ranking(rows[order], total[order], keyword[order], None if meaning is None else meaning[order])


def candidates(
    sparse: Floats,
    dense: Floats | None,
    *,
    many: int,
    allowed: NDArray[np.bool_],
    groups: NDArray[np.integer] | None = None,
) -> Rows:
    """Return the union of the `many` best of each scorer (of the sparse one, those that match), or all rows
    of groups that have one of these or a match.
    """
    matching = allowed & (sparse > 0)
    best_rows = [best(sparse, many, matching)]
    if dense is not None:
        best_rows.append(best(dense, many, allowed))
    rows = np.unique(np.concatenate(best_rows))
    if groups is None:
        return rows
    matched = np.zeros(int(groups.max(initial=-1)) + 1, dtype=np.bool_)
    matched[groups[matching]] = True
    matched[groups[rows]] = True
    return np.flatnonzero(matched[groups] & (matching if dense is None else allowed))


def cut(ranking: Ranking, k: int, groups: NDArray[np.integer] | None, per_group: int | None) -> Ranking:
    """Return the best `k` of a ranking, or the best `per_group` of each group that its rows are of."""
    if groups is None or per_group is None:
        best = np.arange(min(k, ranking.rows.size))
    else:
        best = first_of_groups(groups[ranking.rows], per_group)
    dense = None if ranking.dense is None else ranking.dense[best]
    return Ranking(ranking.rows[best], ranking.scores[best], ranking.sparse[best], dense)


def name_scores(ranking: Ranking, bm25: Floats, cosine: Floats | None) -> list[dict[str, float]]:
    """Return the scores of each row of a ranking by name: in [0, 1] and raw, of one scorer or both."""
    sparse = zip(ranking.sparse.tolist(), bm25.tolist(), strict=True)
    if ranking.dense is None or cosine is None:
        return [{"sparse": share, "bm25": raw} for share, raw in sparse]
    dense = zip(ranking.dense.tolist(), cosine.tolist(), strict=True)
    return [
        {"sparse": share, "bm25": raw, "dense": near, "cosine": angle}
        for (share, raw), (near, angle) in zip(sparse, dense, strict=True)
    ]
