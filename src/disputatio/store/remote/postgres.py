"""An index in a PostgreSQL database with pgvector, behind the same calls as one in a folder.

The same as in `Index`: ids, terms, BM25 in Lucene's form with the rarity of words over all passages, the
fusion, filters, and the best of each source. Different: vectors have 32 bits a number and not 16; from
`GRAPH` passages on, the best by meaning come from pgvector's HNSW graph, which is approximate; there are no
checksums of our own (the server's are), and files that have not changed are read again before they are left
alone. Any number of writers take turns.
"""

from __future__ import annotations

import json
import threading
import time
import weakref
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, NoReturn, Self, Unpack

from disputatio.errors import InputError, StoreError
from disputatio.protocols import Embedder, Reranker, Search, SearchOptions
from disputatio.store.index import DEFAULT_LANGUAGE, Index, IndexInfo, SourceCount
from disputatio.store.ingesting.document_writer import put_items
from disputatio.store.ingesting.documents import Document
from disputatio.store.ingesting.ingest import IngestSummary, Run, find_all, put_files, summary_of
from disputatio.store.ingesting.options import ReadOptions, check_options
from disputatio.store.options import DEFAULT_K, check_search, search_of
from disputatio.store.reliabilities import reliable
from disputatio.store.remote import postgres_rows as rows
from disputatio.store.remote import postgres_tables as tables
from disputatio.store.remote.postgres_search import candidates_by_source, candidates_of, condition_of, weighed
from disputatio.store.remote.postgres_writer import PostgresWriter, remove, vector_text
from disputatio.store.remote.served import best_reranked, ranked_rows, with_duplicates_marked
from disputatio.store.segments.terms import query_terms, stemmer
from disputatio.types import Hit, Passage, Source

GRAPH = 20_000  # passages from which the vectors have a graph; fewer are compared one by one
MOST_MB = 4096  # of the server's memory to build it in
_NOT_KEPT = ("name", "stale")


class PostgresIndex(Index):
    """Passages in a schema of a PostgreSQL database (`Retriever`); faults of the server are `StoreError`."""

    def __init__(
        self, address: tables.Address, embedder: Embedder | None, language: str | None = None
    ) -> None:
        """Use `Index.open`."""
        self.path = Path(address.shown)
        self._address, self._embedder, self._language = address, embedder, language
        self._local = threading.local()
        self._open: list[Any] = []
        weakref.finalize(self, _closed, self._open)

    @classmethod
    def open(
        cls,
        path: str | Path,
        *,
        embedder: Embedder | None = None,
        create: bool = True,
        language: str | None = None,
        **_: object,
    ) -> Self:
        """Open the index at `postgresql://user:password@host/database?schema=name`, or promise a new one.

        Raises `StoreError` when the server cannot be reached, refuses or is older than PostgreSQL 14, for an
        index of another embedder or language, or none and not `create`.
        """
        address = tables.address_of(path)
        if address is None:
            raise InputError(f"{path}: an index in a database is named postgresql://user@host/database")
        if language not in (None, "none"):
            stemmer(language or "")
        index = cls(address, embedder, language)
        settings = index._settings()
        if settings is None and not create:
            raise StoreError(f"{address.shown}: there is no index here; make one by: disputatio ingest PATH")
        if settings is not None:
            if embedder is not None and embedder.name != settings["embedder"]:
                other = f"the embedder {settings['embedder']}" if settings["embedder"] else "no embedder"
                raise StoreError(
                    f"{address.shown}: was made with {other}, not with {embedder.name}; open it with its "
                    "own, or ingest into a new schema"
                )
            if settings["version"] < tables.FORMAT:
                tables.migrate(address, index._connection())
        return index

    @property
    def paths(self) -> tuple[Path, ...]:
        """The address, without its password."""
        return (self.path,)

    def close(self) -> None:
        """Close the connections; the next call opens one anew."""
        _closed(self._open)

    # --- writing ------------------------------------------------------------------------------------
    def ingest(
        self,
        *paths: str | Path,
        source_by: str | None = None,
        columns: Mapping[str, str] | None = None,
        exclude: Sequence[str] = (),
        unverified: bool = False,
        progress: Callable[[int, int, int], None] | None = None,
    ) -> IngestSummary:
        """Read files and folders and put their documents in, as `Index.ingest` does."""
        options = ReadOptions(
            source_by=source_by, columns=columns or {}, exclude=tuple(exclude), unverified=unverified
        )
        check_options(options)
        start, run = time.perf_counter(), Run(unverified=unverified)
        files = find_all(paths, run, options)

        def report(passages: int) -> None:
            if progress is not None:
                progress(run.done, run.total, passages)

        writer = self._writer(report)
        put_files(writer, files, run, options, lambda: report(writer.counts["passages"]))
        writer.finish()
        self._grow()
        return summary_of(writer.counts, start, run)

    def add(self, items: Iterable[Document | Passage]) -> IngestSummary:
        """Put documents or passages in that the caller holds, as `Index.add` does."""
        start, writer = time.perf_counter(), self._writer()
        put_items(writer, items)
        self._grow()
        return summary_of(writer.counts, start, Run())

    def delete(
        self,
        *,
        sources: Collection[str] = (),
        paths: Collection[str | Path] = (),
        documents: Collection[str] = (),
    ) -> int:
        """Take documents out, as `Index.delete` does."""
        if not (sources or paths or documents) or self._settings() is None:
            return 0
        with tables.reported(self._address, "deleting"), self._connection().transaction():
            tables.lock(self._connection(), self._address)
            return remove(self._connection(), sources, map(str, paths), documents)

    def compact(self, *, keep: float = 300.0, **_: object) -> None:  # noqa: ARG002 - the server keeps nothing
        """Clear away what was deleted, and count anew what the server plans by."""
        with tables.reported(self._address, "clearing"):
            for table in ("passages", "postings", "documents", "entries"):
                self._connection().execute(f"VACUUM ANALYZE {table}")

    def check(self) -> list[str]:
        """What does not fit together, a line each: passages without a document, terms without a passage."""
        if self._settings() is None:
            return []
        with tables.reported(self._address, "checking"):
            return rows.misfits(self._connection())

    def reembed(
        self, embedder: Embedder | None, *, progress: Callable[[int, int], None] | None = None
    ) -> int:
        """Not for an index in a database; raises `InputError`."""
        del embedder, progress
        self._refused("give new vectors")

    def writer(self, on_commit: Callable[[int], None] = lambda _: None, *, adding: bool = True) -> NoReturn:
        """Not for an index in a database; raises `InputError`."""
        del on_commit, adding
        self._refused("write from elsewhere")

    def view(self) -> NoReturn:
        """Not for an index in a database; raises `InputError`."""
        self._refused("read at length (as calibrate, export and compare do)")

    def _refused(self, doing: str) -> NoReturn:
        raise InputError(f"{self._address.shown}: an index in a database cannot be used to {doing}")

    # --- reading ------------------------------------------------------------------------------------
    def search(
        self,
        query: str,
        search: Search | None = None,
        *,
        reranker: Reranker | None = None,
        **options: Unpack[SearchOptions],
    ) -> list[Hit]:
        """The best `k` passages, or the best `per_source` of every source that matches, as `Index.search`."""
        from disputatio.store.segments.search import CANDIDATES
        from disputatio.store.segments.searcher import RERANKED

        search = search_of(search, options)
        check_search(query, search)
        settings = self._settings()
        if search.min_reliability is not None:
            names = reliable(self.reliabilities(), search.min_reliability, search.sources)
            search = replace(search, sources=names)
        if settings is None or (search.sources is not None and not search.sources):
            return []
        condition, k = condition_of(search), DEFAULT_K if search.k is None else search.k
        pool = replace(search, k=k)
        if reranker is not None:
            twice = search.per_source and 2 * search.per_source
            pool = replace(search, k=max(RERANKED, 2 * k), per_source=twice)
        language = _stemming(settings)
        sought, vector = query_terms(query, language), None
        if self._embedder is not None and settings["dimension"]:
            vector = vector_text(self._embedder.embed([query], query=True)[0])
        connection = self._connection()
        most = max(pool.k or k, CANDIDATES)
        collect = candidates_of if pool.per_source is None else candidates_by_source
        with tables.reported(self._address, "searching"), self._snapshot(connection, most):
            terms = weighed(connection, sought, search) if sought else None
            found = collect(connection, terms, vector, condition, most)
            winners = ranked_rows(found.sources, found.bm25, found.cosine, pool)
            rows_of = [int(found.rows[place]) for place, _, _ in winners]
            held = rows.passages_of(connection, "p.row = ANY(%s)", rows_of)
        hits = [
            Hit(passage=held[row].passage, score=score, scores=scores)
            for row, (_, score, scores) in zip(rows_of, winners, strict=True)
        ]
        if reranker is not None and hits:
            hits = best_reranked(reranker, query, hits, replace(search, k=k))
        sketches = {each.passage.id: each.sketch for each in held.values()}
        return with_duplicates_marked(hits, language, sketches)

    def passage(self, passage_id: str) -> Passage:
        """The passage of an id; raises `InputError` when there is none."""
        if self._settings() is not None:
            with tables.reported(self._address, "reading"):
                for found in rows.passages_of(self._connection(), "p.id = %s", passage_id).values():
                    return found.passage
        raise InputError(f"{self._address.shown}: there is no passage {passage_id!r}")

    def documents(self, *, text: bool = True) -> list[Document]:
        """Every document, by path and row; `text=False` leaves the texts in the database."""
        if self._settings() is None:
            return []
        with tables.reported(self._address, "reading"):
            return rows.documents_of(self._connection(), text=text)

    def sources(self) -> list[SourceCount]:
        """Every source with its owner and what it holds, by name."""
        found = self._query(rows.SOURCES)
        return [
            SourceCount(name=name, owner=owner, documents=documents, passages=passages)
            for name, owner, documents, passages in sorted(found)
        ]

    def info(self) -> IndexInfo:
        """The index in figures."""
        settings = self._settings() or {"version": tables.FORMAT, "embedder": "", "dimension": 0}
        counted = self._query(
            "SELECT (SELECT count(*) FROM entries), count(*), count(DISTINCT source) FROM passages"
        )
        documents, passages, sources = counted[0] if counted else (0, 0, 0)
        return IndexInfo(
            path=self._address.shown,
            format=settings["version"],
            embedder=settings["embedder"],
            dimension=settings["dimension"],
            language=settings.get("language", self._language or DEFAULT_LANGUAGE),
            documents=documents,
            passages=passages,
            sources=sources,
            segments=0,
            dead=0,
            commit=0,
        )

    def estimates(self) -> dict[str, Source]:
        """How reliable each source was found to be, by name; as `Index.estimates`."""
        kept = self._query("SELECT source, fields, state FROM estimates")
        if not kept:
            return {}
        states = self._states()
        found = {name: Source(name=name) for name in states}
        for name, fields, state in kept:
            source = Source(name=name, **json.loads(fields))
            found[name] = replace(source, stale=states.get(name) != state)
        return found

    def set_estimates(
        self, estimates: Mapping[str, Source], *, states: Mapping[str, str] | None = None
    ) -> None:
        """Replace the estimates, whole or not at all; raises `InputError`, `StoreError`."""
        if self._settings() is None:
            raise StoreError(
                f"{self._address.shown}: there is no index here; make one with: disputatio ingest PATH"
            )
        states = self._states() if states is None else states
        new = []
        for name, source in sorted(estimates.items()):
            if source.reliability is not None and not 0 <= source.reliability <= 1:
                raise InputError(f"{name}: a reliability lies between 0 and 1, not at {source.reliability:g}")
            kept = {key: value for key, value in asdict(source).items() if key not in _NOT_KEPT}
            new.append((name, json.dumps(kept), states.get(name)))
        connection = self._connection()
        with tables.reported(self._address, "writing"), connection.transaction():
            tables.lock(connection, self._address)
            connection.execute("DELETE FROM estimates")
            connection.cursor().executemany("INSERT INTO estimates VALUES (%s, %s, %s)", new)

    def reliabilities(self) -> dict[str, float]:
        """The probability of being right of each source that has an estimate."""
        found = {
            name: json.loads(fields)["reliability"]
            for name, fields in self._query("SELECT source, fields FROM estimates")
        }
        return {name: value for name, value in found.items() if value is not None}

    # --- how it is done -----------------------------------------------------------------------------
    def _connection(self) -> Any:
        """The connection of this thread, opened anew when it was lost."""
        connection = getattr(self._local, "connection", None)
        if connection is None or connection.closed:
            connection = self._local.connection = tables.connect(self._address)
            self._open.append(connection)
        return connection

    def _settings(self) -> dict[str, Any] | None:
        return tables.settings_of(self._address, self._connection())

    def _query(self, sql: str) -> list[Any]:
        if self._settings() is None:
            return []
        with tables.reported(self._address, "reading"):
            return list(self._connection().execute(sql))

    @contextmanager
    def _snapshot(self, connection: Any, most: int) -> Iterator[None]:
        """One state of the database for several queries, with room for a search of `most` candidates."""
        with connection.transaction():
            connection.execute(
                "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY; SET LOCAL work_mem = '64MB'; "
                f"SET LOCAL hnsw.ef_search = {min(max(2 * most, 100), 1000)}"
            )
            yield

    def _states(self) -> dict[str, str]:
        """What each source holds, in a few characters."""
        found = self._query(
            "SELECT source, count(*), bit_xor(hashtextextended(id || text, 0)) FROM passages GROUP BY source"
        )
        return {name: f"{count}:{mixed}" for name, count, mixed in found}

    def _writer(self, on_commit: Callable[[int], None] = lambda _: None) -> PostgresWriter:
        settings = self._settings()
        if settings is None:
            tables.make(
                self._address,
                self._connection(),
                embedder="" if self._embedder is None else self._embedder.name,
                dimension=0 if self._embedder is None else self._embedder.dimension,
                language=self._language or DEFAULT_LANGUAGE,
            )
            settings = self._settings() or {}
        if self._language is not None and self._language != settings["language"]:
            raise StoreError(
                f"{self._address.shown}: was made for {settings['language']}, not for {self._language}"
            )
        if settings["embedder"] != ("" if self._embedder is None else self._embedder.name):
            made_with = settings["embedder"] or "none"
            raise StoreError(f"{self._address.shown}: open it with its embedder {made_with} to write to it")
        return PostgresWriter(
            self._address, self._connection(), self._embedder, _stemming(settings), on_commit
        )

    def _grow(self) -> None:
        """Give the vectors a graph once there are many, and the server new counts to plan by."""
        connection = self._connection()
        with tables.reported(self._address, "making the graph of vectors"):
            many = connection.execute("SELECT passages FROM disputatio_index").fetchone()[0]
            if self._embedder is not None and many >= GRAPH:
                # A graph that outgrows the memory for it is built many times slower.
                room = min(64 + many * 3 * self._embedder.dimension * 4 // 2**20, MOST_MB)
                with connection.transaction():
                    connection.execute(
                        f"SET LOCAL maintenance_work_mem = '{room}MB'; SET LOCAL statement_timeout = 0; "
                        "CREATE INDEX IF NOT EXISTS passages_by_vector ON passages "
                        "USING hnsw (vector vector_ip_ops)"
                    )
            # Also notes which pages all readers see: words are then read from their index alone.
            connection.execute("VACUUM (ANALYZE, SKIP_LOCKED) passages, postings")


def _closed(connections: list[Any]) -> None:
    while connections:
        connections.pop().close()


def note_of(path: str | Path) -> dict[str, Any] | None:
    """Embedder and dimension of the index in a database, None where there is none; raises `StoreError`."""
    address = tables.address_of(path)
    if address is None:
        return None
    connection = tables.connect(address)
    with connection:
        return tables.settings_of(address, connection)


def _stemming(settings: Mapping[str, Any]) -> str:
    """The language as the stemmer takes it, empty for none."""
    return "" if settings["language"] == "none" else str(settings["language"])
