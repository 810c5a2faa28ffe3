"""Searches of an index in PostgreSQL, as SQL: conditions, BM25 by postings, and vectors by pgvector."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from disputatio.protocols import Search
from disputatio.store.options import K1, B
from disputatio.store.remote.postgres_copy import fetch_rows
from disputatio.store.remote.served import Candidate, fact, numbers_of
from disputatio.store.segments.days import bounds

if TYPE_CHECKING:
    from numpy.typing import NDArray

_SIGN = 1 << 63
_NO_ROWS = np.zeros(0, dtype=np.int64)


class Condition(NamedTuple):
    """The filters of a search: SQL over the passages `p`, empty for nothing, and its values."""

    sql: str
    values: tuple[Any, ...]

    @property
    def both(self) -> str:
        """The condition as it follows another one."""
        return f" AND {self.sql}" if self.sql else ""


def condition_of(search: Search) -> Condition:
    """Return the filters of a search; raises `InputError` for a date that is none.

    >>> condition_of(Search(sources=("a",), exclude=("p1",))).sql
    'p.source = ANY(%s) AND NOT (p.id = ANY(%s) OR p.document = ANY(%s))'
    """
    parts: list[str] = []
    values: list[Any] = []

    def limit(sql: str, *given: Any) -> None:
        parts.append(sql)
        values.extend(given)

    if search.sources is not None:
        limit("p.source = ANY(%s)", sorted(search.sources))
    for name, value in (search.where or {}).items():
        if name == "source":
            limit("p.source = %s", value)
        else:
            limit("p.facts @> %s", [fact(name, value)])
    if (days := bounds(search.after, search.before)) is not None:
        limit("p.day BETWEEN %s AND %s", int(days[0]), int(days[1]))
    if search.exclude:
        limit("NOT (p.id = ANY(%s) OR p.document = ANY(%s))", *[list(search.exclude)] * 2)
    return Condition(" AND ".join(parts), tuple(values))


class Terms(NamedTuple):
    """The terms of a query as the postings name them, the weight of each, and BM25's length norm."""

    hashes: list[int]
    weights: list[float]
    k1: float
    b: float
    mean: float

    @property
    def score(self) -> str:
        """BM25 in Lucene's form, over `w` (the weights) and `o` (the postings)."""
        # As float8: a bare number is a numeric, whose arithmetic takes ten times as long.
        base, slope = self.k1 * (1 - self.b), self.k1 * self.b / self.mean
        norm = f"{base!r}::float8 + {slope!r}::float8 * o.length"
        return f"sum(w.weight * o.frequency / (o.frequency + {norm}))"


def weigh_terms(connection: Any, terms: Mapping[int, int], search: Search) -> Terms | None:
    """Return the terms with their rarity over all passages, None if no passage has any of them."""
    signed = {key - 2 * _SIGN if key >= _SIGN else key: times for key, times in terms.items()}
    counted = dict(
        connection.execute(
            "SELECT term, count(*) FROM postings WHERE term = ANY(%s) GROUP BY term", (list(signed),)
        ).fetchall()
    )
    if not counted:
        return None
    total, length = connection.execute("SELECT passages, terms FROM disputatio_index").fetchone()
    weights = {
        term: signed[term] * math.log(1 + (total - passages + 0.5) / (passages + 0.5))
        for term, passages in counted.items()
    }
    return Terms(
        list(weights),
        list(weights.values()),
        K1 if search.k1 is None else float(search.k1),
        B if search.b is None else float(search.b),
        max(length / max(total, 1), 1e-9),
    )


def _scored(terms: Terms, condition: Condition, rows: Sequence[int] | None = None) -> tuple[str, list[Any]]:
    """Return the query for the row and BM25 of every passage that has a term, or of those `rows` that do."""
    weights = "unnest(%s::bigint[], %s::float8[]) AS w(term, weight) "
    values: list[Any] = [terms.hashes, terms.weights]
    if rows is None:
        scored = f"SELECT o.row, {terms.score} AS score FROM {weights}JOIN postings o ON o.term = w.term "
    else:  # each looked up by itself (OFFSET 0): the planner would read all postings of the rows
        scored = (
            f"SELECT o.row, {terms.score} AS score FROM {weights}CROSS JOIN unnest(%s::bigint[]) AS r(row) "
            "CROSS JOIN LATERAL (SELECT o.row, o.frequency, o.length FROM postings o "
            "WHERE o.term = w.term AND o.row = r.row OFFSET 0) o "
        )
        values.append(list(rows))
    if condition.sql:
        scored += f"JOIN passages p ON p.row = o.row WHERE {condition.sql} "
        values += condition.values
    return scored + "GROUP BY o.row", values


def by_words(
    connection: Any, terms: Terms, condition: Condition, most: int | None, rows: Sequence[int] | None = None
) -> list[tuple[int, str, float]]:
    """Return row, source and BM25 of the best passages that have a term, or of those `rows` that do."""
    scored, values = _scored(terms, condition, rows)
    if most is not None:
        scored += f" ORDER BY score DESC, o.row LIMIT {int(most)}"
    return [
        (row, source, float(score))
        for row, score, source in connection.execute(
            f"SELECT s.row, s.score, g.source FROM ({scored}) s JOIN passages g ON g.row = s.row "
            "ORDER BY s.score DESC, s.row",
            values,
        )
    ]


def by_meaning(
    connection: Any, vector: str, condition: Condition, most: int | None, rows: Sequence[int] | None = None
) -> list[tuple[int, str, float]]:
    """Return row, source and cosine of the nearest passages, or of all `rows`."""
    where = condition.sql or "true"
    values: list[Any] = [vector, *condition.values]
    if rows is not None:
        where, values = "p.row = ANY(%s)", [vector, list(rows)]
    order = ""
    if most is not None:
        order = f" ORDER BY p.vector <#> %s::vector LIMIT {int(most)}"
        values.append(vector)
    scored = connection.execute(
        f"SELECT p.row, p.source, -(p.vector <#> %s::vector) FROM passages p WHERE {where}{order}", values
    )
    return [(row, source, float(score)) for row, source, score in scored]


class Candidates(NamedTuple):
    """The passages that compete, by rising row: a number for the source of each, and its raw scores."""

    rows: NDArray[np.int64]
    sources: NDArray[np.int64]
    bm25: NDArray[np.float32]
    cosine: NDArray[np.float32] | None


def candidates_of(
    connection: Any, terms: Terms | None, vector: str | None, condition: Condition, most: int
) -> Candidates:
    """Return the union of the best by each scorer, each with its score by both."""
    candidates: dict[int, Candidate] = {}

    def keep(scorer: str, scored: Sequence[tuple[int, str, float]]) -> None:
        for row, source, score in scored:
            candidates.setdefault(row, Candidate(source, row, {})).scores[scorer] = score

    if terms is not None:
        keep("sparse", by_words(connection, terms, condition, most))
    if vector is not None:
        keep("dense", by_meaning(connection, vector, condition, most))
        missing = [row for row, candidate in candidates.items() if "dense" not in candidate.scores]
        keep("dense", by_meaning(connection, vector, condition, None, missing) if missing else [])
    if terms is not None:
        missing = [row for row, candidate in candidates.items() if "sparse" not in candidate.scores]
        nothing = Condition("", ())
        keep("sparse", by_words(connection, terms, nothing, None, missing) if missing else [])
    rows = sorted(candidates)
    bm25, cosine = (
        np.array([candidates[row].scores.get(scorer, 0.0) for row in rows], dtype=np.float32)
        for scorer in ("sparse", "dense")
    )
    sources = numbers_of([candidates[row].source for row in rows])
    return Candidates(np.array(rows, dtype=np.int64), sources, bm25, None if vector is None else cosine)


def candidates_by_source(
    connection: Any, terms: Terms | None, vector: str | None, condition: Condition, most: int
) -> Candidates:
    """Return all passages of every source that matches, with their scores, in one query.

    A source matches that has a passage with a term of the query, or one of the `most` best by meaning.
    Without vectors only the passages with a term compete.
    """
    tables: list[str] = []
    values: list[Any] = []
    matching: list[str] = []
    if terms is not None:
        scored, given = _scored(terms, condition)
        tables.append(f"scored AS MATERIALIZED ({scored})")
        values += given
        matching.append("SELECT p.source FROM scored s JOIN passages p ON p.row = s.row")
    columns = f"p.row, hashtextextended(p.source, 0), {'0' if terms is None else 'coalesce(s.score, 0)'}"
    if vector is None:
        query = f"SELECT {columns}::float8 FROM scored s JOIN passages p ON p.row = s.row"
    else:
        tables.append(
            f"near AS MATERIALIZED (SELECT p.source FROM passages p WHERE {condition.sql or 'true'} "
            f"ORDER BY p.vector <#> %s::vector LIMIT {int(most)})"
        )
        matching.append("SELECT source FROM near")
        joined = "" if terms is None else "LEFT JOIN scored s ON s.row = p.row "
        query = (
            f"SELECT {columns}::float8, -(p.vector <#> %s::vector) FROM passages p {joined}"
            f"WHERE p.source IN ({' UNION '.join(matching)}){condition.both}"
        )
        values += [*condition.values, vector, vector, *condition.values]
    if not tables:
        return Candidates(_NO_ROWS, _NO_ROWS, _NO_ROWS.astype(np.float32), None)
    types = ("i8", "i8", "f8", "f8")[: 3 if vector is None else 4]
    candidate_rows = fetch_rows(connection, f"WITH {', '.join(tables)} {query}", values, types)
    candidate_rows = candidate_rows[np.argsort(candidate_rows["value0"], kind="stable")]
    return Candidates(
        candidate_rows["value0"].astype(np.int64),
        np.unique(candidate_rows["value1"], return_inverse=True)[1].astype(np.int64),
        candidate_rows["value2"].astype(np.float32),
        None if vector is None else candidate_rows["value3"].astype(np.float32),
    )
