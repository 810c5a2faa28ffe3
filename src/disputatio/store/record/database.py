"""The system of record: one SQLite file with the documents, their passages, the files read and the manifest.

A commit is one transaction in write-ahead mode, flushed to the disk before it is acknowledged. The text of a
passage is a part of its document's and is stored once. SQLite has no checksums of pages, so every row carries
one of its own, which `check` and copies compare. An index may come from a stranger: a file whose schema is
not exactly ours is refused.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import astuple
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from disputatio import platforms
from disputatio.databases import Database, is_full
from disputatio.errors import IndexVersion, StoreError
from disputatio.store.ingesting.ingest import Fingerprint
from disputatio.store.ingesting.prepare import PreparedDocument
from disputatio.store.ingesting.statements import read_metadata
from disputatio.store.record.layout import refuse_link
from disputatio.store.record.manifest import RECORD, Manifest, check_command, parse, report_faults, written
from disputatio.types import Passage

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

ABOUT = ("title", "url", "date", "date_origin", "source", "owner", "metadata")
COLUMNS = {
    "documents": ("key", "id", *ABOUT, "text"),
    "entries": ("key", "file", "path", "row", "document"),
    "passages": ("key", "id", "document", "start", "end", "metadata", "vector"),
    "files": ("key", "path", "size", "mtime_ns", "seen_ns", "hash", "settings", "documents"),
    "descriptions": ("key", "file", "member", "row", "document", "by", "at", "fields"),
}
"""The columns of each table in the order of their checksum, which is the column `sum`."""
_BATCH = 4096
_CACHE = 64 << 10  # KiB
_WAL = 64 << 20  # bytes of the log that stay on the disk between commits
_PAGE = 16384  # bytes; a page holds several texts of some kilobytes
_PAGES = 1000  # of the log before it is brought into the file
_MOST_KEYS = 2**40
_MOST_TRIES = 20_000
_PLACE = "e.path, e.row, e.key"
_JOINED = "JOIN documents d ON d.key = e.document"
_DESCRIBED = 3  # the version from which a file has the table of descriptions


# --- migrations -----------------------------------------------------------------------------------------
def create_tables(database: sqlite3.Connection) -> None:
    """Make the tables; an entry is a file, or a row of one, that holds a document."""
    texts = ", ".join(f"{name} TEXT NOT NULL" for name in ABOUT)
    for statement in (
        f"CREATE TABLE documents (key INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, {texts}, "
        "sum INTEGER NOT NULL, text TEXT NOT NULL)",
        "CREATE TABLE entries (key INTEGER PRIMARY KEY, file TEXT NOT NULL, path TEXT NOT NULL, "
        "row INTEGER NOT NULL, document INTEGER NOT NULL, sum INTEGER NOT NULL)",
        "CREATE INDEX entries_by_document ON entries (document)",
        "CREATE TABLE passages (key INTEGER PRIMARY KEY, id TEXT NOT NULL, document INTEGER NOT NULL, "
        'start INTEGER NOT NULL, "end" INTEGER NOT NULL, metadata TEXT, vector BLOB, sum INTEGER NOT NULL)',
        "CREATE INDEX passages_by_document ON passages (document)",
        "CREATE TABLE files (key INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, size INTEGER NOT NULL, "
        "mtime_ns INTEGER NOT NULL, seen_ns INTEGER NOT NULL, hash TEXT NOT NULL, settings TEXT NOT NULL, "
        "documents INTEGER NOT NULL, sum INTEGER NOT NULL)",
        "CREATE TABLE manifest (key INTEGER PRIMARY KEY, body BLOB NOT NULL)",
    ):
        database.execute(statement)


def add_order(database: sqlite3.Connection) -> None:
    """Make the indexes by which a page of documents is read, of all or of one source."""
    database.execute("CREATE INDEX entries_by_path ON entries (path, row)")
    database.execute("CREATE INDEX documents_by_source ON documents (source)")


def create_descriptions(database: sqlite3.Connection) -> None:
    """Make the table of what people state about documents; rows are added and never changed."""
    database.execute(
        "CREATE TABLE descriptions (key INTEGER PRIMARY KEY, file TEXT NOT NULL, member TEXT NOT NULL, "
        "row INTEGER NOT NULL, document TEXT NOT NULL, by TEXT NOT NULL, at TEXT NOT NULL, "
        "fields TEXT NOT NULL, sum INTEGER NOT NULL)"
    )


MIGRATIONS: tuple[Callable[[sqlite3.Connection], None], ...] = (
    create_tables,
    add_order,
    create_descriptions,
)
"""One function a version of the file, in order: `PRAGMA user_version` counts those that were applied."""


def migrate(database: sqlite3.Connection) -> None:
    """Apply the migrations that a file lacks, in one transaction."""
    done = int(database.execute("PRAGMA user_version").fetchone()[0])
    if done >= len(MIGRATIONS):
        return
    database.execute("BEGIN IMMEDIATE")
    for migration in MIGRATIONS[done:]:
        migration(database)
    database.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")
    database.execute("COMMIT")


@cache
def _schema(version: int) -> frozenset[tuple[Any, ...]]:
    with contextlib.closing(sqlite3.connect(":memory:", isolation_level=None)) as database:
        for migration in MIGRATIONS[:version]:
            migration(database)
        return _schema_of(database)


def _schema_of(database: sqlite3.Connection) -> frozenset[tuple[Any, ...]]:
    return frozenset(database.execute("SELECT type, name, tbl_name, sql FROM sqlite_schema"))


# --- opening --------------------------------------------------------------------------------------------
def _connect(file: Path, mode: str = "rw", *, whole: bool = True) -> sqlite3.Connection:
    """Open a database; `mode` is `rwc` to make it, and `immutable` for one that cannot be written to.

    One that need not be `whole` may lack its end: what is there can be read.
    """
    for name in (file, log_of(file), file.with_name(f"{file.name}-shm")):
        refuse_link(name)
    options = "mode=ro&immutable=1" if mode == "immutable" else f"mode={mode}"
    uri = f"{file.absolute().as_uri()}?{options}"
    database = sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False, factory=Database)
    try:
        for setting in (
            f"writable_schema = {'OFF' if whole else 'ON'}",  # ON is how SQLite reads a file that was cut
            "trusted_schema = OFF", "cell_size_check = ON", "synchronous = FULL", "busy_timeout = 30000",
            f"cache_size = -{_CACHE}", f"wal_autocheckpoint = {_PAGES}", f"journal_size_limit = {_WAL}",
        ):  # fmt: skip
            database.execute(f"PRAGMA {setting}")
        database.execute("SELECT count(*) FROM sqlite_schema").fetchone()  # opens the file
    except BaseException:
        database.close()
        raise
    return database


def _connect_reader(file: Path, *, whole: bool = True) -> sqlite3.Connection:
    try:
        database = _connect(file, whole=whole)
    except sqlite3.OperationalError as error:
        log = log_of(file)
        takes_log = os.access(file.parent, os.W_OK) and not is_full(error)
        if not file.is_file() or takes_log or (log.exists() and log.stat().st_size):
            raise
        # A folder that is full or cannot be written to takes no log; without one the file is whole by itself.
        database = _connect(file, "immutable", whole=whole)
    database.execute("PRAGMA query_only = ON")
    return database


def log_of(file: Path) -> Path:
    return file.with_name(f"{file.name}-wal")


def remove_record(file: Path) -> None:
    """Remove a database with its log: a log must never meet another file of the same name."""
    for name in (log_of(file), file.with_name(f"{file.name}-shm"), file):
        name.unlink(missing_ok=True)


class PassageBatch(NamedTuple):
    """Passages with their vectors, shape (passages, dimension); None in an index of keywords."""

    passages: list[Passage]
    vectors: NDArray[np.float32] | None


class RecordFile:
    """The record, open, with a writer's counts of rows; what is written is one transaction until `commit`."""

    def __init__(self, path: Path, file: Path, database: sqlite3.Connection) -> None:
        self._path, self._file, self._database = path, file, database
        self.counts = dict.fromkeys(("entries", "passages", "files"), 0)

    @classmethod
    def make(cls, path: Path, manifest: Manifest, name: str = RECORD) -> Self:
        """Make the file with a first manifest, in place of one that a kill left unfinished."""
        file = path / name
        with report_faults(path, "making the index"):
            remove_record(file)
            database = _connect(file, "rwc")
            database.execute(f"PRAGMA page_size = {_PAGE}")
            # What is made beside the record is thrown away after a kill, and needs no journal.
            database.execute(f"PRAGMA journal_mode = {'WAL' if name == RECORD else 'MEMORY'}")
            migrate(database)
            record = cls(path, file, database)
            record.commit(manifest)
        return record

    @classmethod
    def open(cls, path: Path) -> Self:
        """Open the file for its one writer, and apply the migrations that it lacks."""
        with report_faults(path, "opening the index"):
            database = _connect(path / RECORD)
            record = cls(path, path / RECORD, database)
            try:
                record._check_version()
                record._check_schema()
                migrate(database)
                database.execute("PRAGMA journal_mode = WAL")
                manifest = record.manifest()
            except BaseException:
                database.close()
                raise
        record.counts = {
            "entries": manifest.documents, "passages": manifest.passages, "files": manifest.files
        }  # fmt: skip
        return record

    def close(self) -> None:
        self._database.close()

    def _check_version(self) -> None:
        version = self._pragma("user_version")
        if version > len(MIGRATIONS):
            if _schema_of(self._database) == _schema(len(MIGRATIONS)):  # a later version has other tables
                raise StoreError(
                    f"{self._path}: {RECORD} has a damaged version ({version}); "
                    f"repair it with: {check_command(self._path)}"
                )
            raise IndexVersion(
                f"{self._path}: {RECORD} is of version {version}, this program reads version "
                f"{len(MIGRATIONS)}; use the program that wrote it, or ingest the documents into a new folder"
            )

    def _check_schema(self) -> None:
        if _schema_of(self._database) != _schema(self._pragma("user_version")):
            raise StoreError(
                f"{self._path}: {RECORD} has other tables than an index; copy the whole index again, "
                f"or repair it with: {check_command(self._path)}"
            )

    # --- writing --------------------------------------------------------------------------------------
    def add(
        self,
        documents: Sequence[PreparedDocument],
        passages: Sequence[Passage],
        metadata: Sequence[str],
        vectors: NDArray[np.float32] | None,
    ) -> None:
        """Add rows; `metadata` has one JSON text a passage, `vectors` one row a passage."""
        keys: dict[str, int] = {}
        about: dict[str, str] = {}
        with report_faults(self._path, "writing to the index"):
            self._begin()
            following = self._last("documents")
            fresh, entries = [], []
            for prepared in documents:
                document = prepared.document
                key = keys.get(document.id) or self._key(document.id)
                if not key:
                    key = following = following + 1
                    fields = [getattr(document, name) for name in ABOUT[:-1]]
                    fresh.append((key, document.id, *fields, prepared.metadata, document.text))
                keys[document.id], about[document.id] = key, prepared.metadata
                entries.append((None, prepared.file, document.path, document.row, key))
            self.insert("documents", fresh)
            self.insert("entries", entries)
            raw = None if vectors is None else vectors.astype("<f4", copy=False)
            rows = []
            for number, passage in enumerate(passages):
                own = metadata[number]
                rows.append((
                    None, passage.id, keys.get(passage.document) or self._key(passage.document),
                    passage.start, passage.end, None if own == about.get(passage.document) else own,
                    None if raw is None else raw[number].tobytes(),
                ))  # fmt: skip
            self.insert("passages", rows)

    def insert(self, table: str, rows: Iterable[tuple[Any, ...]]) -> None:
        rows = [(*row, row_sum(row)) for row in rows]
        names = ", ".join(f'"{name}"' for name in (*COLUMNS[table], "sum"))
        marks = ", ".join("?" * (len(COLUMNS[table]) + 1))
        with report_faults(self._path, "writing to the index"):
            self._begin()
            self._database.executemany(f"INSERT INTO {table} ({names}) VALUES ({marks})", rows)
        if table in self.counts:
            self.counts[table] += len(rows)

    def drop(self, entries: Sequence[tuple[str, str]]) -> None:
        """Take entries out, by file and id; a document that has no other entry goes with its passages."""
        with report_faults(self._path, "writing to the index"):
            self._begin()
            for file, identity in entries:
                key = self._key(identity)
                self.counts["entries"] -= self._count(
                    "DELETE FROM entries WHERE document = ? AND file = ?", key, file
                )
                if self._database.execute("SELECT 1 FROM entries WHERE document = ?", (key,)).fetchone():
                    continue
                self.counts["passages"] -= self._count("DELETE FROM passages WHERE document = ?", key)
                self._count("DELETE FROM documents WHERE key = ?", key)

    def note_files(self, prints: Sequence[Fingerprint], gone: Sequence[str]) -> None:
        """Put fingerprints in the place of what was known of their paths; take those of `gone` out."""
        with report_faults(self._path, "writing to the index"):
            self._begin()
            for path in (*gone, *(fingerprint.path for fingerprint in prints)):
                self.counts["files"] -= self._count("DELETE FROM files WHERE path = ?", path)
        self.insert("files", [(None, *astuple(fingerprint)) for fingerprint in prints])

    def set_vectors(self, batch: Sequence[tuple[Any, ...]], vectors: NDArray[np.float32] | None) -> None:
        raw = None if vectors is None else vectors.astype("<f4", copy=False)
        rows = []
        for number, row in enumerate(batch):
            vector = None if raw is None else raw[number].tobytes()
            rows.append((vector, row_sum((*row[:-1], vector)), row[0]))
        with report_faults(self._path, "writing to the index"):
            self._begin()
            self._database.executemany("UPDATE passages SET vector = ?, sum = ? WHERE key = ?", rows)

    def commit(self, manifest: Manifest) -> None:
        """Commit what was written together with the manifest; it is on the disk when this returns."""
        with report_faults(self._path, "writing to the index"):
            self._begin()
            body = written(manifest)
            self._database.execute("INSERT OR REPLACE INTO manifest (key, body) VALUES (1, ?)", (body,))
            self._database.execute("COMMIT")

    def vacuum(self) -> None:
        """Write the file anew without what was deleted, where there is any."""
        with report_faults(self._path, "compacting the index"):
            if self.free():
                self._database.execute("VACUUM")
            self._database.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def free(self) -> int:
        """Return how many bytes of the file hold nothing."""
        with report_faults(self._path, "reading the index"):
            return self._pragma("freelist_count") * self._pragma("page_size")

    @property
    def is_writing(self) -> bool:
        """True if something is written that waits for a commit."""
        return self._database.in_transaction

    def _begin(self) -> None:
        if not self._database.in_transaction:
            self._database.execute("BEGIN IMMEDIATE")

    def _count(self, statement: str, *values: object) -> int:
        return self._database.execute(statement, values).rowcount

    def _key(self, identity: str) -> int:
        row = self._database.execute("SELECT key FROM documents WHERE id = ?", (identity,)).fetchone()
        return int(row[0]) if row else 0

    def _last(self, table: str) -> int:
        return int(self._database.execute(f"SELECT max(key) FROM {table}").fetchone()[0] or 0)

    def _pragma(self, name: str) -> int:
        return int(self._database.execute(f"PRAGMA {name}").fetchone()[0])

    # --- reading --------------------------------------------------------------------------------------
    def manifest(self) -> Manifest:
        """Return the manifest of the last commit; raises `StoreError` when it is damaged."""
        with report_faults(self._path, "reading the index"):
            row = self._database.execute("SELECT body FROM manifest").fetchone()
        if row is None or not isinstance(row[0], bytes):
            raise StoreError(f"{self._path / RECORD}: has no manifest; run: {check_command(self._path)}")
        return parse(row[0], self._file)

    def fingerprints(self) -> dict[str, Fingerprint]:
        rows = self.rows(f"SELECT {', '.join(COLUMNS['files'][1:])} FROM files")
        names = COLUMNS["files"][1:]
        return {row[0]: Fingerprint(**dict(zip(names, row, strict=True))) for row in rows}

    def ids(self, table: str) -> Iterator[tuple[int, str]]:
        yield from self.rows(f"SELECT key, id FROM {table}")

    def identities(self) -> Iterator[tuple[str, str]]:
        ids = dict(self.ids("documents"))  # which reads the index of ids alone
        for file, document in self.rows("SELECT file, document FROM entries"):
            yield file, ids[document]

    def find_matching(self, condition: str, values: Sequence[object]) -> list[tuple[str, str]]:
        """Return file and id of the entries that meet a condition on `d` (document) and `e` (entry)."""
        return list(self.rows(f"SELECT e.file, d.id FROM entries e {_JOINED} WHERE {condition}", values))

    def documents(self, *, text: bool = True) -> Iterator[dict[str, Any]]:
        yield from self.documents_of("entries", "ORDER BY e.key", text=text)

    def page(self, offset: int, limit: int, source: str | None) -> tuple[int, list[dict[str, Any]]]:
        """Return the number of documents (of one source), and some of them by path and row, without texts."""
        if source is None:
            total = next(self.rows("SELECT count(*) FROM entries"))[0]
            some = "(SELECT * FROM entries ORDER BY path, row, key LIMIT ? OFFSET ?)"
            return total, list(self.documents_of(some, f"ORDER BY {_PLACE}", limit, offset, text=False))
        counted = "SELECT count(*) FROM documents d JOIN entries e ON e.document = d.key WHERE d.source = ?"
        total = next(self.rows(counted, (source,)))[0]
        where = f"WHERE d.source = ? ORDER BY {_PLACE} LIMIT ? OFFSET ?"
        return total, list(self.documents_of("entries", where, source, limit, offset, text=False))

    def documents_of(self, entries: str, rest: str, *values: object, text: bool) -> Iterator[dict[str, Any]]:
        """Yield entries with their documents; `rest` is the statement after its tables."""
        names = ("id", *ABOUT[:-1], *(("text",) if text else ()), "path", "row", "metadata")
        columns = ", ".join(f"e.{name}" if name in ("path", "row") else f"d.{name}" for name in names)
        for row in self.rows(f"SELECT {columns} FROM {entries} e {_JOINED} {rest}", values):
            yield {**dict(zip(names, row, strict=True)), **self._parse_metadata(row[-1])}

    def sources(self) -> Iterator[tuple[str, str, str, int]]:
        """Yield the source, owner and id of every document with the number of its passages."""
        yield from self.rows(
            "SELECT d.source, d.owner, d.id, count(p.key) FROM documents d "
            "JOIN passages p ON p.document = d.key GROUP BY d.key"
        )

    def source_counts(self) -> Iterator[tuple[str, str, int, int]]:
        """Yield every source with its first owner, its documents and its passages, by name."""
        count = "(SELECT count(*) FROM passages p WHERE p.document = d.key) AS count"
        documents = (
            f"(SELECT source, owner, nullif(key, key * (owner = '')) AS owned, {count} FROM documents d)"
        )
        counted = f"SELECT source, owner, count(*), sum(count), min(owned) FROM {documents} WHERE count > 0"
        for row in self.rows(f"{counted} GROUP BY source ORDER BY source"):
            yield row[:4]

    def passages(self, size: int = _BATCH) -> Iterator[PassageBatch]:
        for rows in self.passage_rows(size):
            yield self.batch_of(rows)

    def passage_rows(self, size: int = _BATCH) -> Iterator[list[tuple[Any, ...]]]:
        """Yield the rows of all passages in batches; they may be changed between two of them."""
        names = ", ".join(f'"{name}"' for name in COLUMNS["passages"])
        last = -1
        while True:
            statement = f"SELECT {names} FROM passages WHERE key > ? ORDER BY key LIMIT ?"
            rows = list(self.rows(statement, (last, size)))
            if not rows:
                return
            yield rows
            last = rows[-1][0]

    def batch_of(self, rows: Sequence[tuple[Any, ...]]) -> PassageBatch:
        import numpy as np

        known: dict[int, tuple[dict[str, Any], str, dict[str, Any]]] = {}
        passages = []
        for _, name, key, start, end, own, _ in rows:
            if key not in known:
                known = {key: self._document(key)}  # the passages of a document follow one another
            fields, text, metadata = known[key]
            passages.append(
                Passage(
                    **fields, id=name, text=text[start:end], start=start, end=end,
                    **(metadata if own is None else self._parse_metadata(own)),
                )
            )  # fmt: skip
        vectors = None
        if rows and rows[0][-1] is not None:
            with report_faults(self._path, "reading the index"):
                raw = b"".join(row[-1] for row in rows)
                vectors = np.frombuffer(raw, dtype="<f4").reshape(len(rows), -1).astype(np.float32)
        return PassageBatch(passages, vectors)

    def _document(self, key: int) -> tuple[dict[str, Any], str, dict[str, Any]]:
        names = ("id", *ABOUT, "text")
        row = next(self.rows(f"SELECT {', '.join(names)} FROM documents WHERE key = ?", (key,)), None)
        if row is None:
            raise StoreError(f"{self._path}: a document is missing; run: {check_command(self._path)}")
        fields = dict(zip(names, row, strict=True))
        fields["document"] = fields.pop("id")
        text, metadata = fields.pop("text"), self._parse_metadata(fields.pop("metadata"))
        return fields, text, metadata

    def _parse_metadata(self, metadata: str) -> dict[str, Any]:
        with report_faults(self._path, "reading the index"):
            return read_metadata(metadata)

    def rows(self, statement: str, values: Sequence[object] = ()) -> Iterator[Any]:
        with report_faults(self._path, "reading the index"):
            yield from self._database.execute(statement, values)

    # --- what people state ----------------------------------------------------------------------------
    def descriptions(self) -> list[tuple[Any, ...]]:
        """Return the rows of `descriptions`, the oldest first; none where the file is of an older version."""
        if self._pragma("user_version") < _DESCRIBED:
            return []
        names = ", ".join(COLUMNS["descriptions"])
        return list(self.rows(f"SELECT {names} FROM descriptions ORDER BY key"))

    def places(self) -> Iterator[tuple[str, str, int, str]]:
        yield from self.rows(
            "SELECT e.file, e.path, e.row, d.id FROM entries e JOIN documents d ON d.key = e.document"
        )

    def about(self, document: str) -> dict[str, str] | None:
        """Return the fields of a document as they are stored (`ABOUT`); None where there is none."""
        statement = f"SELECT {', '.join(ABOUT)} FROM documents WHERE id = ?"
        row = next(self.rows(statement, (document,)), None)
        return None if row is None else dict(zip(ABOUT, row, strict=True))

    def rows_of(self, document: str) -> list[tuple[Any, ...]]:
        names = ", ".join(f'"{name}"' for name in COLUMNS["passages"])
        statement = f"SELECT {names} FROM passages WHERE document = ? ORDER BY key"
        return list(self.rows(statement, (self._key(document),)))

    def restate(
        self,
        document: str,
        about: Mapping[str, str],
        rows: Sequence[tuple[Any, ...]],
        metadata: Sequence[str],
    ) -> None:
        """Give a document other fields, and those of its passages' `rows` that have metadata theirs."""
        with report_faults(self._path, "writing to the index"):
            self._begin()
            key = self._key(document)
            [text] = self._database.execute("SELECT text FROM documents WHERE key = ?", (key,)).fetchone()
            values = (key, document, *(about[name] for name in ABOUT), text)
            marks = ", ".join(f"{name} = ?" for name in ABOUT)
            self._database.execute(
                f"UPDATE documents SET {marks}, sum = ? WHERE key = ?", (*values[2:-1], row_sum(values), key)
            )
            at = COLUMNS["passages"].index("metadata")
            changed = [
                (*row[:at], own, *row[at + 1 :])
                for row, own in zip(rows, metadata, strict=True)
                if row[at] is not None
            ]
            self._database.executemany(
                "UPDATE passages SET metadata = ?, sum = ? WHERE key = ?",
                [(row[at], row_sum(row), row[0]) for row in changed],
            )

    def passage_ids(self) -> Iterator[list[str]]:
        names = (name for _, name in self.ids("passages"))
        while batch := list(itertools.islice(names, _BATCH)):
            yield batch

    # --- checking -------------------------------------------------------------------------------------
    def problems(self) -> list[str]:
        """Return what is wrong: of the structure of the file, of its rows, and of their number."""
        try:
            self._check_schema()
            found = [str(row[0]) for row in self._database.execute("PRAGMA integrity_check(3)")]
            if found != ["ok"]:
                return [f"its structure is damaged ({found[0].splitlines()[-1][:100]})"]
            manifest = self.manifest()
            rows = {"entries": manifest.documents, "passages": manifest.passages, "files": manifest.files}
            for table in self.tables():
                count = 0
                for row in self.table_rows(table):
                    if row_sum(row[:-1]) != row[-1]:
                        return ["has rows that are not what was written"]
                    count += 1
                if count != rows.get(table, count):
                    return [f"has {count} rows of {table}, not {rows[table]}"]
            for table in ("entries", "passages"):
                lost = f"SELECT 1 FROM {table} WHERE document NOT IN (SELECT key FROM documents)"
                if self._database.execute(lost).fetchone():
                    return [f"has {table} without their document"]
        except (sqlite3.Error, StoreError) as error:
            return [f"cannot be read ({str(error).rpartition('failed: ')[2].partition(';')[0][:100]})"]
        return []

    def table_rows(self, table: str, first: int = 0, last: int = _MOST_KEYS) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a table with their checksums, by key; raises `sqlite3.Error` as it is read."""
        names = ", ".join(f'"{name}"' for name in (*COLUMNS[table], "sum"))
        yield from self._database.execute(
            f"SELECT {names} FROM {table} WHERE key BETWEEN ? AND ? ORDER BY key", (first, last)
        )

    def good_rows(self, table: str) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a damaged table that can be read and are what was written, without checksums.

        A range of keys that cannot be read is halved until what is left is one row, or too much was tried.
        """
        ranges, tries = [(0, _MOST_KEYS)], 0
        while ranges and tries < _MOST_TRIES:
            first, last = ranges.pop()
            try:
                for row in self.table_rows(table, first, last):
                    if row[0] < first:  # a search for a key whose page is missing begins anywhere
                        continue
                    first = row[0] + 1
                    if row_sum(row[:-1]) == row[-1]:
                        yield row[:-1]
            except (sqlite3.Error, UnicodeError):
                tries += 1
                middle = (first + last) // 2
                ranges += [(middle + 1, last), (first, middle)] if first < last else []

    def tables(self) -> list[str]:
        named = {str(row[0]) for row in self._database.execute("SELECT name FROM sqlite_schema")}
        return [table for table in COLUMNS if table in named]

    def incomplete(self) -> Iterator[tuple[str, str, str]]:
        """Yield id, path and a reason of documents without an entry, or with text in no passage."""
        for key, identity, text in self.rows("SELECT key, id, text FROM documents"):
            spans = self.rows('SELECT start, "end" FROM passages WHERE document = ?', (key,))
            visible = sum(_visible(text[start:end]) for start, end in spans)
            entry = next(self.rows("SELECT path FROM entries WHERE document = ?", (key,)), None)
            if entry is None:
                yield identity, "", "the file that it is of is not known"
            elif visible != _visible(text):
                yield identity, entry[0], "some of its passages cannot be verified"

    def remove_documents(self, ids: Iterable[str]) -> None:
        entries = self.rows("SELECT d.id, e.file FROM entries e JOIN documents d ON d.key = e.document")
        files: dict[str, list[str]] = {}
        for identity, file in entries:
            files.setdefault(identity, []).append(file)
        self.drop([(file, identity) for identity in ids for file in files.get(identity, [""])])

    def copy_to(self, file: Path) -> None:
        """Write the state of the last commit to another file, consistent while others write."""
        remove_record(file)
        with (
            report_faults(self._path, "copying the index"),
            contextlib.closing(sqlite3.connect(file, isolation_level=None)) as target,
        ):
            self._database.backup(target)
            target.execute("PRAGMA journal_mode = DELETE")  # one file, without a log


def find_cut(file: Path) -> str:
    """Return what is wrong with a database that is shorter than its header says; empty if it is not."""
    with file.open("rb") as raw:
        head = raw.read(32)
    size = file.stat().st_size
    pages, page = int.from_bytes(head[28:32]), int.from_bytes(head[16:18])
    whole = pages * (65_536 if page == 1 else page)
    if size >= max(whole, 100):
        return ""
    return f"is cut short ({size:,} bytes are left{f' of {whole:,}' if whole > size else ''})"


def replace_record(fresh: Path, file: Path) -> None:
    """Put a database in the place of another, whose log goes first; both are closed."""
    with fresh.open("rb") as raw:
        os.fsync(raw.fileno())
    log_of(file).unlink(missing_ok=True)
    file.with_name(f"{file.name}-shm").unlink(missing_ok=True)
    platforms.replace(fresh, file)
    platforms.sync_folder(file.parent)


@contextmanager
def open_record(path: Path, name: str = RECORD, *, checked: bool = True) -> Iterator[RecordFile]:
    """Open the record for reading, at one commit; raises `StoreError`, if `checked` also for other tables."""
    with report_faults(path, "opening the index"):
        if not (path / name).exists():
            raise FileNotFoundError(f"{name} is missing; copy the whole index again, or repair it with: "
                                    f"{check_command(path)}")  # fmt: skip
        database = _connect_reader(path / name, whole=checked)
        record = RecordFile(path, path / name, database)
    with contextlib.closing(database):
        with report_faults(path, "opening the index"):
            database.execute("BEGIN")
            if checked:
                record._check_version()
                record._check_schema()
        yield record


def row_sum(fields: Iterable[object]) -> int:
    """Return a 64-bit checksum of a row but its key: BLAKE2b over its fields, in order."""
    _, *values = fields
    last = values[-1] if values else None
    vector = last if isinstance(last, bytes) else b""
    if vector:
        values.pop()
    digest = blake2b("\x1f".join(map(str, values)).encode("utf-8", "surrogatepass"), digest_size=8)
    digest.update(vector)
    return int.from_bytes(digest.digest(), "little", signed=True)


def _visible(text: str) -> int:
    return len("".join(text.split()))
