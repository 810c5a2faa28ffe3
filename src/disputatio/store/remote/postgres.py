"""An index in a PostgreSQL database with pgvector, with the calls of one in a folder.

The same as in `FolderIndex`: ids, terms, BM25 in Lucene's form with the rarity of words over all passages,
the fusion, filters, and the best of each source. Different: vectors have 32 bits a number and not 16; from
`GRAPH` passages on, the best by meaning come from pgvector's HNSW graph, which is approximate; there are no
checksums of our own (the server's are), and files that have not changed are read again before they are left
alone. Any number of writers take turns.
"""

from __future__ import annotations

import contextlib
import math
import threading
import weakref
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np

from disputatio.errors import InputError, StoreError
from disputatio.protocols import Embedder, Search
from disputatio.store.contract import DocumentPage, SourceCount
from disputatio.store.ingesting.documents import Document
from disputatio.store.ingesting.history import Place
from disputatio.store.ingesting.history import Row as StatementRow
from disputatio.store.ingesting.prepare import PreparedDocument
from disputatio.store.ingesting.statements import read_metadata
from disputatio.store.options import K1, B
from disputatio.store.remote import postgres_tables as tables
from disputatio.store.remote.postgres_writer import PostgresWriter, fetch_rows, put_anew, remove, vector_text
from disputatio.store.remote.served import MUTED, ScoredPassage, check_texts, fact, numbers_of, rank_rows
from disputatio.store.remote.served_index import (
    ServedIndex,
    ServerQuery,
    check_settings,
    choose_stemmer,
    reads_rows,
)
from disputatio.store.segments.days import bounds
from disputatio.types import Hit, Passage

if TYPE_CHECKING:
    from numpy.typing import NDArray

GRAPH = 20_000  # passages from which the vectors have a graph; fewer are compared one by one
_SIGN = 1 << 63
_SORTED_MB = 512  # of the server's memory to sort the words in
MOST_MB = 4096  # of the server's memory to build it in

_OF_A_PASSAGE = (
    "text", "id", "source", "owner", "title", "url", "date", "date_origin", "document", "start", "end",
    "metadata",
)  # fmt: skip
_OF_A_DOCUMENT = (
    "id", "path", "row", "title", "url", "date", "date_origin", "source", "owner", "metadata", "text",
)  # fmt: skip
_PASSAGES = (
    "SELECT p.row, p.text, p.id, p.source, d.owner, d.title, d.url, d.date, d.date_origin, p.document, "
    "p.first, p.past, coalesce(p.metadata, d.metadata) FROM passages p JOIN documents d ON d.id = p.document"
)
_SOURCES = (
    "SELECT p.source, max(d.owner), count(DISTINCT p.document), count(*) FROM passages p "
    "JOIN documents d ON d.id = p.document GROUP BY p.source"
)
_MISFITS = {
    "passages without their document": "passages x WHERE NOT EXISTS "
    "(SELECT 1 FROM documents d WHERE d.id = x.document)",
    "documents that no file stands for": "documents x WHERE NOT EXISTS "
    "(SELECT 1 FROM entries e WHERE e.document = x.id)",
    "terms without their passage": "postings x WHERE NOT EXISTS "
    "(SELECT 1 FROM passages p WHERE p.row = x.row)",
    "passages that differ from their document": "passages x JOIN documents d ON d.id = x.document "
    "WHERE x.text <> substr(d.text, x.first + 1, x.past - x.first)",
    "passages without their terms": "passages x WHERE length > 0 AND NOT EXISTS "
    "(SELECT 1 FROM postings o WHERE o.row = x.row)",
}


class PostgresIndex(ServedIndex):
    """Passages in a schema of a PostgreSQL database (`Retriever`); faults of the server are `StoreError`."""

    format: ClassVar[int] = tables.FORMAT

    def __init__(
        self, address: tables.PostgresAddress, embedder: Embedder | None, language: str | None = None
    ) -> None:
        super().__init__(address.shown, embedder, language)
        self._address = address
        self._local = threading.local()
        self._open: list[Any] = []
        weakref.finalize(self, _close_all, self._open)

    @classmethod
    def at(cls, path: str | Path, embedder: Embedder | None = None, language: str | None = None) -> Self:
        address = tables.address_of(path)
        if address is None:
            raise InputError("--index: an index in a database is named postgresql://user@host/database")
        return cls(address, embedder, language)

    def close(self) -> None:
        _close_all(self._open)

    # --- writing ------------------------------------------------------------------------------------
    @reads_rows
    def delete(
        self,
        *,
        sources: Collection[str] = (),
        paths: Collection[str | Path] = (),
        documents: Collection[str] = (),
    ) -> int:
        if not (sources or paths or documents) or self._settings() is None:
            return 0
        with tables.report_faults(self._address, "deleting"), self._connection().transaction():
            tables.lock(self._connection(), self._address)
            return remove(self._connection(), sources, map(str, paths), documents)

    @reads_rows
    def compact(self, *, keep: float = 300.0) -> None:  # noqa: ARG002 - the server keeps nothing
        """Purge deleted rows, build indexes that an interrupted ingest did not, and count anew."""
        if self._settings() is None:
            return
        self._grow()
        with tables.report_faults(self._address, "clearing"):
            for table in ("passages", "postings", "documents", "entries"):
                self._connection().execute(f"VACUUM ANALYZE {table}")

    @reads_rows
    def check(self) -> list[str]:
        """Find rows that do not fit together, such as terms without a passage; return a line a kind."""
        if self._settings() is None:
            return []
        with tables.report_faults(self._address, "checking"):
            return _misfits(self._connection())

    # --- reading ------------------------------------------------------------------------------------
    @reads_rows
    def list_documents(self, *, offset: int = 0, limit: int = 100, source: str | None = None) -> DocumentPage:
        if self._settings() is None:
            return DocumentPage(0, [])
        where, values = ("", []) if source is None else ("WHERE d.source = %s", [source])
        place = 'e.path COLLATE "C", coalesce(e.row_number, 0), d.id'
        counted = f"SELECT count(*) FROM entries e JOIN documents d ON d.id = e.document {where}"
        with tables.report_faults(self._address, "reading"):
            (total,) = self._connection().execute(counted, values).fetchone()
            some = f"{where} ORDER BY {place} LIMIT %s OFFSET %s"
            page = _entries_of(self._connection(), some, [*values, limit, offset], text=False)
        return DocumentPage(int(total), [each for _, each in page])

    # --- what this engine does ----------------------------------------------------------------------
    def _connection(self) -> Any:
        connection = getattr(self._local, "connection", None)
        if connection is None or connection.closed:
            connection = self._local.connection = tables.connect(self._address)
            self._open.append(connection)
        return connection

    def _settings(self) -> dict[str, Any] | None:
        settings = tables.settings_of(self._address, self._connection())
        return None if settings is None else check_settings(settings)

    def _hits(self, asked: ServerQuery) -> list[Hit]:
        connection, search = self._connection(), asked.search
        vector = None if asked.vector is None else vector_text(asked.vector)
        collect = candidates_of if search.per_source is None else candidates_by_source
        with tables.report_faults(self._address, "searching"), self._snapshot(connection, asked.most):
            terms = weigh_terms(connection, asked.terms, search) if asked.terms else None
            found = collect(connection, terms, vector, condition_of(search), asked.most)
            winners = rank_rows(found.sources, found.bm25, found.cosine, search)
            rows_of = [int(found.rows[place]) for place, _, _ in winners]
            passages = _passages_of(connection, "p.row = ANY(%s)", rows_of)
        return [
            Hit(passage=passages[row], score=score, scores=scores)
            for row, (_, score, scores) in zip(rows_of, winners, strict=True)
        ]

    def _sketches(self, hits: Sequence[Hit]) -> dict[str, bytes | None]:
        names = [hit.passage.id for hit in hits]
        with tables.report_faults(self._address, "reading"):
            return dict(
                self._connection()
                .execute("SELECT id, sketch FROM passages WHERE id = ANY(%s)", (names,))
                .fetchall()
            )

    def _passage(self, passage_id: str) -> Passage | None:
        with tables.report_faults(self._address, "reading"):
            found = _passages_of(self._connection(), "p.id = %s", passage_id)
        return next(iter(found.values()), None)

    def _passages_of(self, documents: Sequence[str]) -> Iterable[Passage]:
        with tables.report_faults(self._address, "reading"):
            return _passages_of(self._connection(), "p.document = ANY(%s)", list(documents)).values()

    def _entries_of(self, documents: list[str] | None, *, text: bool = True) -> list[tuple[str, Document]]:
        if self._settings() is None:
            return []
        which = "" if documents is None else "WHERE d.id = ANY(%s) ORDER BY e.file"
        with tables.report_faults(self._address, "reading"):
            return _entries_of(self._connection(), which, [documents] if which else (), text=text)

    def _files_of(self, documents: Sequence[str]) -> Iterable[tuple[str, str, int]]:
        return self._query(
            "SELECT document, file, (SELECT count(*) FROM passages p WHERE p.document = e.document) "
            "FROM entries e WHERE document = ANY(%s)",
            (list(documents),),
        )

    def places(self) -> Iterable[Place]:
        return self._query(
            "SELECT file, path, coalesce(row_number, 0), document FROM entries ORDER BY file, document"
        )

    # --- what people state --------------------------------------------------------------------------
    def _statements(self) -> list[StatementRow]:
        if not self._query("SELECT to_regclass(%s)", (f"{self._address.schema}.descriptions",))[0][0]:
            return []
        return self._query(f"SELECT key, {tables.STATED} FROM descriptions ORDER BY key")

    def _keep_statements(self, rows: Sequence[StatementRow]) -> None:
        if rows:
            with tables.report_faults(self._address, "writing"):
                connection = self._connection()
                connection.execute(tables.DESCRIPTIONS)
                marks = ", ".join(["%s"] * len(rows[0][1:]))
                connection.cursor().executemany(
                    f"INSERT INTO descriptions ({tables.STATED}) VALUES ({marks})", [row[1:] for row in rows]
                )

    def _put_anew(self, prepared: Sequence[PreparedDocument]) -> None:
        settings = self._settings() or {}
        with tables.report_faults(self._address, "writing"):
            put_anew(self._connection(), prepared, choose_stemmer(settings))

    def _find_muted(self) -> list[str]:
        muted = "SELECT DISTINCT document FROM passages WHERE facts @> %s"
        return [name for (name,) in self._query(muted, ([MUTED],))]

    @contextmanager
    def _begin_changes(self) -> Iterator[None]:
        with tables.report_faults(self._address, "writing"), self._connection().transaction():
            tables.lock(self._connection(), self._address)
            yield

    def _sources(self) -> list[SourceCount]:
        return [
            SourceCount(name=name, owner=owner, documents=documents, passages=passages)
            for name, owner, documents, passages in self._query(_SOURCES)
        ]

    def _count_all(self) -> tuple[int, int, int, int]:
        counted = self._query(  # the last is the transaction that changed passages last
            "SELECT (SELECT count(*) FROM entries), count(*), count(DISTINCT source), "
            "(SELECT xmin::text::bigint FROM disputatio_index) FROM passages"
        )
        documents, passages, sources, commit = counted[0]
        return documents, passages, sources, commit

    def _estimates(self) -> list[tuple[str, str, str | None]]:
        return self._query("SELECT source, fields, state FROM estimates")

    def _keep_estimates(self, rows: list[tuple[str, str, str | None]]) -> None:
        connection = self._connection()
        with tables.report_faults(self._address, "writing"), connection.transaction():
            tables.lock(connection, self._address)
            connection.execute("DELETE FROM estimates")
            connection.cursor().executemany("INSERT INTO estimates VALUES (%s, %s, %s)", rows)

    @reads_rows
    def draw(self, sources: Sequence[str], per_source: int, salt: int) -> list[Passage]:
        chosen = self._query(
            "SELECT source, array_agg(row ORDER BY place) FROM (SELECT source, row, row_number() OVER "
            "(PARTITION BY source ORDER BY hashtextextended(id, %s), row) AS place FROM passages "
            "WHERE source = ANY(%s)) p WHERE place <= %s GROUP BY source",
            (salt - _SIGN, list(sources), per_source),
        )
        rows_of = dict(chosen)
        every = [row for name in sources for row in rows_of.get(name, ())]
        with tables.report_faults(self._address, "reading"):
            passages = _passages_of(self._connection(), "p.row = ANY(%s)", every)
        return [passages[row] for row in every if row in passages]

    def _read_sketches(self) -> Iterable[tuple[str, bytes | None, str]]:
        return self._query(
            "SELECT source, sketch, CASE WHEN sketch IS NULL THEN text ELSE '' END FROM passages ORDER BY row"
        )

    def _read_log(self) -> Iterable[str]:
        return [entry for (entry,) in self._query("SELECT entry FROM calibration ORDER BY line")]

    @contextmanager
    def _open_log(self) -> Iterator[Callable[[str], None]]:
        connection = tables.connect(self._address)  # of its own: the lock lasts as long as it does
        with contextlib.closing(connection):
            with tables.report_faults(self._address, "opening the calibration"):
                [(alone,)] = connection.execute(
                    "SELECT pg_try_advisory_lock(hashtextextended(%s, 0))",
                    (f"disputatio calibration {self._address.schema}",),
                )
                # Fails before a question is asked where writing is not allowed.
                connection.execute("INSERT INTO calibration (entry) SELECT '' WHERE false")
            if not alone:
                raise StoreError(
                    f"{self.shown}: another process is estimating reliabilities here; try again later"
                )

            def append(entry: str) -> None:
                with tables.report_faults(self._address, "writing to the calibration"):
                    connection.execute("INSERT INTO calibration (entry) VALUES (%s)", (entry,))

            yield append

    def _query(self, sql: str, values: tuple[Any, ...] = ()) -> list[Any]:
        if self._settings() is None:
            return []
        with tables.report_faults(self._address, "reading"):
            return list(self._connection().execute(sql, values or None))

    @contextmanager
    def _snapshot(self, connection: Any, most: int) -> Iterator[None]:
        """Hold one state of the database for several queries, with room for a search of `most` candidates."""
        with connection.transaction():
            connection.execute(
                "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY; SET LOCAL work_mem = '64MB'; "
                f"SET LOCAL hnsw.ef_search = {min(max(2 * most, 100), 1000)}"
            )
            yield

    def _states(self) -> dict[str, str]:
        found = self._query(
            "SELECT source, count(*), bit_xor(hashtextextended(id || text, 0)) FROM passages GROUP BY source"
        )
        return {name: f"{count}:{mixed}" for name, count, mixed in found}

    def _writer(self, on_commit: Callable[[int], None] = lambda _: None) -> PostgresWriter:
        settings = self._settings()
        if settings is None:
            wanted = self._make_settings()
            del wanted["version"]
            tables.make(self._address, self._connection(), **wanted)
            settings = self._settings() or {}
        self._check_writing(settings)
        return PostgresWriter(
            self._address, self._connection(), self._embedder, choose_stemmer(settings), on_commit
        )

    def _grow(self) -> None:
        """Give the words an index, sorted at once, many vectors a graph, and the server new counts."""
        connection = self._connection()
        with tables.report_faults(self._address, "making the index of words"):
            tables.add_index(connection, self._address, tables.OF_TERM, megabytes=_SORTED_MB)
        with tables.report_faults(self._address, "making the graph of vectors"):
            many = connection.execute("SELECT passages FROM disputatio_index").fetchone()[0]
            if self._embedder is not None and many >= GRAPH:
                # A graph that outgrows the memory for it is built many times slower.
                room = min(64 + many * 3 * self._embedder.dimension * 4 // 2**20, MOST_MB)
                tables.add_index(connection, self._address, tables.BY_VECTOR, megabytes=room)
            # Also notes which pages all readers see: words are then read from their index alone.
            connection.execute("VACUUM (ANALYZE, SKIP_LOCKED) passages, postings")


def _close_all(connections: list[Any]) -> None:
    while connections:
        connections.pop().close()


def _passages_of(connection: Any, where: str, value: Any) -> dict[int, Passage]:
    return {
        row: check_texts(
            Passage(**{**dict(zip(_OF_A_PASSAGE, fields, strict=True)), **read_metadata(fields[-1])})
        )
        for row, *fields in connection.execute(f"{_PASSAGES} WHERE {where}", (value,))
    }


def _entries_of(
    connection: Any, which: str, values: Sequence[object], *, text: bool
) -> list[tuple[str, Document]]:
    column = "d.text" if text else "''"
    rows = connection.execute(
        "SELECT e.file, d.id, e.path, e.row_number, d.title, d.url, d.date, d.date_origin, d.source, "
        f"d.owner, d.metadata, {column} FROM entries e JOIN documents d ON d.id = e.document {which}",
        values,
    )
    entries = []
    for file, *row in rows:
        fields = dict(zip(_OF_A_DOCUMENT, row, strict=True))
        entries.append((file, check_texts(Document(**{**fields, **read_metadata(fields["metadata"])}))))
    return entries


def _misfits(connection: Any) -> list[str]:
    """Count the rows of the tables that do not fit together, a line for each kind."""
    wrong = []
    for kind, sql in _MISFITS.items():
        (many,) = connection.execute(f"SELECT count(*) FROM {sql}").fetchone()
        if many:
            wrong.append(f"{many} {kind}")
    return wrong


# --- search ---------------------------------------------------------------------------------------
# Searches of an index in PostgreSQL, as SQL: conditions, BM25 by postings, and vectors by pgvector.

_NO_ROWS = np.zeros(0, dtype=np.int64)


class SqlFilter(NamedTuple):
    """The filters of a search: SQL over the passages `p`, empty for nothing, and its values."""

    sql: str
    values: tuple[Any, ...]

    @property
    def both(self) -> str:
        """The condition as it follows another one."""
        return f" AND {self.sql}" if self.sql else ""


def condition_of(search: Search) -> SqlFilter:
    """Return the filters of a search; raises `InputError` for what is no date.

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
    return SqlFilter(" AND ".join(parts), tuple(values))


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


def _build_score_query(
    terms: Terms, condition: SqlFilter, rows: Sequence[int] | None = None
) -> tuple[str, list[Any]]:
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
    connection: Any, terms: Terms, condition: SqlFilter, most: int | None, rows: Sequence[int] | None = None
) -> list[tuple[int, str, float]]:
    """Return row, source and BM25 of the best passages that have a term, or of those `rows` that do."""
    scored, values = _build_score_query(terms, condition, rows)
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
    connection: Any, vector: str, condition: SqlFilter, most: int | None, rows: Sequence[int] | None = None
) -> list[tuple[int, str, float]]:
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


class ScoredRows(NamedTuple):
    """The passages that compete, by rising row: a number for the source of each, and its raw scores."""

    rows: NDArray[np.int64]
    sources: NDArray[np.int64]
    bm25: NDArray[np.float32]
    cosine: NDArray[np.float32] | None


def candidates_of(
    connection: Any, terms: Terms | None, vector: str | None, condition: SqlFilter, most: int
) -> ScoredRows:
    candidates: dict[int, ScoredPassage] = {}

    def keep(scorer: str, scored: Sequence[tuple[int, str, float]]) -> None:
        for row, source, score in scored:
            candidates.setdefault(row, ScoredPassage(source, row, {})).scores[scorer] = score

    if terms is not None:
        keep("sparse", by_words(connection, terms, condition, most))
    if vector is not None:
        keep("dense", by_meaning(connection, vector, condition, most))
        missing = [row for row, candidate in candidates.items() if "dense" not in candidate.scores]
        keep("dense", by_meaning(connection, vector, condition, None, missing) if missing else [])
    if terms is not None:
        missing = [row for row, candidate in candidates.items() if "sparse" not in candidate.scores]
        nothing = SqlFilter("", ())
        keep("sparse", by_words(connection, terms, nothing, None, missing) if missing else [])
    rows = sorted(candidates)
    bm25, cosine = (
        np.array([candidates[row].scores.get(scorer, 0.0) for row in rows], dtype=np.float32)
        for scorer in ("sparse", "dense")
    )
    sources = numbers_of([candidates[row].source for row in rows])
    return ScoredRows(np.array(rows, dtype=np.int64), sources, bm25, None if vector is None else cosine)


def candidates_by_source(
    connection: Any, terms: Terms | None, vector: str | None, condition: SqlFilter, most: int
) -> ScoredRows:
    """Return, in one query, all passages of every source with a term or one of the `most` best."""
    tables: list[str] = []
    values: list[Any] = []
    matching: list[str] = []
    if terms is not None:
        scored, given = _build_score_query(terms, condition)
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
        return ScoredRows(_NO_ROWS, _NO_ROWS, _NO_ROWS.astype(np.float32), None)
    types = ("i8", "i8", "f8", "f8")[: 3 if vector is None else 4]
    candidate_rows = fetch_rows(connection, f"WITH {', '.join(tables)} {query}", values, types)
    candidate_rows = candidate_rows[np.argsort(candidate_rows["value0"], kind="stable")]
    return ScoredRows(
        candidate_rows["value0"].astype(np.int64),
        np.unique(candidate_rows["value1"], return_inverse=True)[1].astype(np.int64),
        candidate_rows["value2"].astype(np.float32),
        None if vector is None else candidate_rows["value3"].astype(np.float32),
    )
