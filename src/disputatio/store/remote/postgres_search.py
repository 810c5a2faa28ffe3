"""Searches of an index in PostgreSQL, as SQL: conditions, BM25 by postings, and vectors by pgvector."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from disputatio.protocols import Search
from disputatio.store.options import K1, B
from disputatio.store.remote.served import Candidate, fact
from disputatio.store.segments.days import bounds

_SIGN = 1 << 63


class Condition(NamedTuple):
    """What limits a search: SQL over the passages `p`, empty for nothing, and its values."""

    sql: str
    values: tuple[Any, ...]

    @property
    def both(self) -> str:
        """The condition to follow another one."""
        return f" AND {self.sql}" if self.sql else ""


def condition_of(search: Search) -> Condition:
    """The filters of a search; raises `InputError` for a date that is none.

    >>> condition_of(Search(sources=("a",), exclude=("p1",))).sql
    'p.source = ANY(%s) AND NOT p.id = ANY(%s)'
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
        limit("NOT p.id = ANY(%s)", list(search.exclude))
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
        norm = f"{self.k1!r} * ({1 - self.b!r} + {self.b!r} * o.length / {self.mean!r})"
        return f"sum(w.weight * o.frequency / (o.frequency + {norm}))"


def weighed(connection: Any, terms: Mapping[int, int], search: Search) -> Terms | None:
    """The terms with their rarity over all passages, None if no passage has any of them."""
    signed = {key - 2 * _SIGN if key >= _SIGN else key: times for key, times in terms.items()}
    counted = dict(
        connection.execute(
            "SELECT term, count(*) FROM postings WHERE term = ANY(%s) GROUP BY term", (list(signed),)
        ).fetchall()
    )
    if not counted:
        return None
    total, mean = connection.execute("SELECT count(*), coalesce(avg(length), 1) FROM passages").fetchone()
    weights = {
        term: signed[term] * math.log(1 + (total - found + 0.5) / (found + 0.5))
        for term, found in counted.items()
    }
    return Terms(
        list(weights),
        list(weights.values()),
        K1 if search.k1 is None else float(search.k1),
        B if search.b is None else float(search.b),
        max(float(mean), 1e-9),
    )


def by_words(
    connection: Any, terms: Terms, condition: Condition, most: int | None, rows: Sequence[int] | None = None
) -> list[tuple[int, str, float]]:
    """Row, source and BM25 of the best passages that have a term, or of those `rows` that do."""
    of_rows = "AND o.row = ANY(%s)" if rows is not None else ""
    scored = (
        f"SELECT o.row, {terms.score} AS score "
        "FROM unnest(%s::bigint[], %s::float8[]) AS w(term, weight) "
        f"JOIN postings o ON o.term = w.term {of_rows} "
    )
    values: list[Any] = [terms.hashes, terms.weights, *([list(rows)] if rows is not None else [])]
    if condition.sql:
        scored += f"JOIN passages p ON p.row = o.row WHERE {condition.sql} "
        values += condition.values
    scored += "GROUP BY o.row"
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
    """Row, source and cosine of the nearest passages, or of all `rows`."""
    where = condition.sql or "true"
    values: list[Any] = [vector, *condition.values]
    if rows is not None:
        where, values = "p.row = ANY(%s)", [vector, list(rows)]
    order = ""
    if most is not None:
        order = f" ORDER BY p.vector <#> %s::vector LIMIT {int(most)}"
        values.append(vector)
    found = connection.execute(
        f"SELECT p.row, p.source, -(p.vector <#> %s::vector) FROM passages p WHERE {where}{order}", values
    )
    return [(row, source, float(score)) for row, source, score in found]


def candidates_of(
    connection: Any,
    terms: Terms | None,
    vector: str | None,
    condition: Condition,
    most: int,
    per_source: int | None,
) -> dict[str, Candidate]:
    """The passages that compete, by their row: the best of each scorer, each with its score by both.

    With `per_source` all passages of every source that matches: one that has a passage with a term of the
    query, or one of the `most` best by meaning.
    """
    found: dict[int, Candidate] = {}

    def keep(scorer: str, scored: Sequence[tuple[int, str, float]]) -> None:
        for row, source, score in scored:
            found.setdefault(row, Candidate(source, row, {})).scores[scorer] = score

    if terms is not None:
        keep("sparse", by_words(connection, terms, condition, None if per_source else most))
    if vector is not None:
        keep("dense", by_meaning(connection, vector, condition, most))
        if per_source:
            sources = sorted({candidate.source for candidate in found.values()})
            mine = Condition(f"p.source = ANY(%s){condition.both}", (sources, *condition.values))
            keep("dense", by_meaning(connection, vector, mine, None))
        else:
            missing = [row for row, candidate in found.items() if "dense" not in candidate.scores]
            keep("dense", by_meaning(connection, vector, condition, None, missing) if missing else [])
    if terms is not None and not per_source:
        missing = [row for row, candidate in found.items() if "sparse" not in candidate.scores]
        nothing = Condition("", ())
        keep("sparse", by_words(connection, terms, nothing, None, missing) if missing else [])
    return {str(row): candidate for row, candidate in found.items()}
