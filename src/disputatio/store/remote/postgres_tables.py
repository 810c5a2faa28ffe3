"""The tables of an index in PostgreSQL: connecting to a server, and making them.

An index is a schema of the database. Words are a table of our own (term, row, frequency), because the ranks
of PostgreSQL's full text search know no word rarity; vectors are pgvector's. Whoever writes holds an advisory
lock of the transaction, so that writers take turns batch by batch and readers never wait.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit, urlunsplit

from disputatio.errors import IndexServerFault, InputError, StoreError, require_package

FORMAT = 4
SCHEMA = "disputatio"
OLDEST_SERVER, OLDEST_VECTOR = 140000, (0, 5)
SECONDS = 10  # to have a connection
LONGEST = 600_000  # milliseconds of one statement
_INLINE = 1000  # numbers of a vector up to which it is kept in its row, not beside it
_NAME = re.compile(r"[a-z_][a-z0-9_]{0,62}\Z")
_ADDRESS = re.compile(r"postgres(?:ql)?://?(.*)\Z", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class PostgresAddress:
    """The address of an index: `server` with the password, for the driver; `shown` without it, for messages.

    `secrets` are the forms in which the password may appear in messages of the driver.
    """

    server: str
    schema: str
    shown: str
    secrets: tuple[str, ...]


def address_of(path: str | Path) -> PostgresAddress | None:
    """Parse the address that `--index` names, None for a folder; raises `InputError` for a wrong one.

    >>> address_of("postgresql://ada:secret@db.example/town?schema=news").shown
    'postgresql://ada@db.example/town?schema=news'
    >>> address_of("my.index") is None
    True
    """
    parsed = _ADDRESS.match(str(path))
    if parsed is None:
        return None
    try:
        parts = urlsplit(f"postgresql://{parsed[1]}")
    except ValueError as error:
        raise InputError("an index named postgresql://...: its host is no host") from error
    if "@" in parsed[1] and "@" not in parts.netloc and ":" in parts.netloc:
        raise InputError(
            "an index named postgresql://...: in a password, / ? # and @ are written as %2F %3F %23 and %40"
        )
    options = parse_qsl(parts.query, keep_blank_values=True)
    if parts.path in ("", "/") and any(name == "host" for name, _ in options) and "@" not in parts.netloc:
        parts = parts._replace(netloc="", path=f"/{parts.netloc}")  # of `postgresql:///town?host=...`
    schema = next((value for name, value in options if name == "schema"), SCHEMA)
    raw = parts.password or ""
    secrets = {raw, unquote(raw), *(value for name, value in options if name == "password")}
    user = parts.netloc.rpartition("@")[0].partition(":")[0]
    host = parts.netloc.rpartition("@")[2]
    named = [(name, value) for name, value in options if name in ("host", "port", "schema")]
    shown = urlunsplit(
        ("postgresql", f"{user}@{host}" if user else host, parts.path, urlencode(named, safe="/"), "")
    )
    if not host and not any(name == "host" for name, _ in options):
        raise InputError(f"{shown}: names no host")
    if not _NAME.match(schema):
        raise InputError(f"{shown}: a schema is named by small letters, digits and _")
    rest = [(name, value) for name, value in options if name != "schema"]
    server = urlunsplit(("postgresql", parts.netloc, parts.path, urlencode(rest), ""))
    masked = tuple(sorted((each for each in secrets if each), key=len, reverse=True))
    return PostgresAddress(server=server, schema=schema, shown=shown, secrets=masked)


def connect(address: PostgresAddress) -> Any:
    """Return a connection; raises `StoreError` in one line without the password, `MissingDependency`."""
    with require_package("psycopg", "postgres"):
        import psycopg
    with report_faults(address, "connecting"):
        connection = psycopg.connect(
            address.server,
            autocommit=True,
            connect_timeout=SECONDS,
            options=f"-c search_path={address.schema},public -c statement_timeout={LONGEST} -c jit=off",
            application_name="disputatio",
        )
    version = connection.info.server_version
    if version < OLDEST_SERVER:
        connection.close()
        raise IndexServerFault(
            f"{address.shown}: the server is PostgreSQL {version // 10000}, it is to be 14 or newer"
        )
    return connection


@contextmanager
def report_faults(address: PostgresAddress, doing: str) -> Iterator[None]:
    """Turn faults of the server or the network into a `StoreError` of one line without the password."""
    import psycopg

    try:
        yield
    except (psycopg.Error, OSError) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        for secret in address.secrets:
            reason = reason.replace(secret, "***")
        raise IndexServerFault(f"{address.shown}: {doing} failed: {reason[:300]}") from None


def settings_of(address: PostgresAddress, connection: Any) -> dict[str, Any] | None:
    """Return the settings of the index, None without one; raises `StoreError` for tables of others."""
    import psycopg

    columns = f"SELECT version, embedder, dimension, language FROM {address.schema}.disputatio_index"
    with report_faults(address, "opening the index"):
        try:
            settings = connection.execute(columns).fetchone()
        except (psycopg.errors.UndefinedTable, psycopg.errors.InvalidSchemaName):
            settings = None
        if settings is None:
            used = "SELECT bool_or(tablename = 'disputatio_index') FROM pg_tables WHERE schemaname = %s"
            (is_ours,) = connection.execute(used, (address.schema,)).fetchone()
            if is_ours is None:
                return None
            if is_ours:  # another writer has made it meanwhile
                settings = connection.execute(columns).fetchone()
        if settings is None:
            raise StoreError(f"{address.shown}: the schema holds tables of another program")
    version, embedder, dimension, language = settings
    if version > FORMAT:
        raise StoreError(
            f"{address.shown}: is of version {version}, this program reads up to version {FORMAT}"
        )
    return {"version": version, "embedder": embedder, "dimension": dimension, "language": language}


def make(address: PostgresAddress, connection: Any, *, embedder: str, dimension: int, language: str) -> None:
    """Make the tables in one transaction, unless another writer has; raises `StoreError`."""
    with report_faults(address, "making the index"), connection.transaction():
        lock(connection, address)
        # Ask the catalogue: the connection may have cached the name before it had the lock.
        if connection.execute(
            "SELECT 1 FROM pg_tables WHERE schemaname = %s AND tablename = 'disputatio_index'",
            (address.schema,),
        ).fetchone():
            return
        if dimension:
            _check_vector(address, connection)
        # Made by an administrator it is there, and who may not make schemas can use it.
        if connection.execute("SELECT to_regnamespace(%s)", (address.schema,)).fetchone()[0] is None:
            connection.execute(f"CREATE SCHEMA {address.schema}")
        vector = f", vector vector({int(dimension)})" if dimension else ""
        for statement in _TABLES:
            connection.execute(statement.replace("{vector}", vector))
        _keep_vectors_inline(connection, dimension)
        connection.execute(
            "INSERT INTO disputatio_index (version, embedder, dimension, language) VALUES (%s, %s, %s, %s)",
            (FORMAT, embedder, dimension, language),
        )


def lock(connection: Any, address: PostgresAddress) -> None:
    """Wait for other writers of the index, however long; the lock ends with the transaction."""
    connection.execute("SET LOCAL statement_timeout = 0")
    connection.execute(
        "SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", (f"disputatio {address.schema}",)
    )
    connection.execute(f"SET LOCAL statement_timeout = {LONGEST}")


def add_index(connection: Any, address: PostgresAddress, index: tuple[str, str], *, megabytes: int) -> None:
    """Make an index (name, what it is of) if it is not there; writers wait meanwhile, readers do not."""
    name, of = index
    is_there = "SELECT to_regclass(%s) IS NOT NULL"
    if connection.execute(is_there, (f"{address.schema}.{name}",)).fetchone()[0]:
        return
    with connection.transaction():
        lock(connection, address)
        connection.execute(
            f"SET LOCAL maintenance_work_mem = '{megabytes}MB'; SET LOCAL statement_timeout = 0"
        )
        connection.execute(f"CREATE INDEX IF NOT EXISTS {name} ON {of}")


def _check_vector(address: PostgresAddress, connection: Any) -> None:
    """Raise `StoreError` unless the extension pgvector is there, or can be made."""
    import psycopg

    version = "SELECT extversion FROM pg_extension WHERE extname = 'vector'"
    version_row = connection.execute(version).fetchone()
    if version_row is None:
        try:
            with connection.transaction():
                connection.execute("CREATE EXTENSION vector WITH SCHEMA public")
        except psycopg.Error as error:
            raise IndexServerFault(
                f"{address.shown}: the server has no pgvector: install the extension, let an administrator "
                "run CREATE EXTENSION vector, or ingest with --embedder none"
            ) from error
        version_row = connection.execute(version).fetchone()
    if tuple(int(part) for part in version_row[0].split(".")[:2]) < OLDEST_VECTOR:
        raise IndexServerFault(f"{address.shown}: pgvector is {version_row[0]}, it is to be 0.5 or newer")


def _keep_vectors_inline(connection: Any, dimension: int) -> None:
    """Have vectors in the rows of their passages: fetching each from beside them takes most of a scan."""
    if 0 < dimension <= _INLINE:
        connection.execute("ALTER TABLE passages ALTER COLUMN vector SET STORAGE PLAIN")


_CALIBRATION = "CREATE TABLE IF NOT EXISTS calibration (line bigserial PRIMARY KEY, entry text NOT NULL)"
STATED = "file, member, row_number, document, by, at, fields"
DESCRIPTIONS = (  # made when something is first stated: indexes that were made before have none
    "CREATE TABLE IF NOT EXISTS descriptions (key bigserial PRIMARY KEY, file text NOT NULL, "
    "member text NOT NULL, row_number int NOT NULL, document text NOT NULL, by text NOT NULL, "
    "at text NOT NULL, fields text NOT NULL)"
)
OF_TERM = ("postings_of_term", "postings (term, row) INCLUDE (frequency, length)")
BY_VECTOR = ("passages_by_vector", "passages USING hnsw (vector vector_ip_ops)")
_TABLES = (
    "CREATE TABLE disputatio_index (version int NOT NULL, embedder text NOT NULL, dimension int NOT NULL, "
    "language text NOT NULL, passages bigint NOT NULL DEFAULT 0, terms bigint NOT NULL DEFAULT 0)",
    "CREATE TABLE documents (id text PRIMARY KEY, title text NOT NULL, url text NOT NULL, "
    "date text NOT NULL, date_origin text NOT NULL, source text NOT NULL, "
    "owner text NOT NULL, metadata text NOT NULL, text text NOT NULL)",
    "CREATE TABLE entries (file text NOT NULL, document text NOT NULL REFERENCES documents (id), "
    "path text NOT NULL, row_number int, PRIMARY KEY (file, document))",
    "CREATE INDEX ON entries (document)",
    "CREATE TABLE passages (row bigserial PRIMARY KEY, id text NOT NULL UNIQUE, document text NOT NULL, "
    "source text NOT NULL, first int NOT NULL, past int NOT NULL, metadata text, text text NOT NULL, "
    "day int, length int NOT NULL, facts text[] NOT NULL, sketch bytea{vector})",
    "CREATE INDEX ON passages (source)",
    "CREATE INDEX ON passages (document)",
    "CREATE INDEX ON passages USING gin (facts)",
    "CREATE TABLE postings (term bigint NOT NULL, row bigint NOT NULL, frequency int NOT NULL, "
    "length int NOT NULL)",
    "CREATE INDEX ON postings (row)",
    "CREATE TABLE estimates (source text PRIMARY KEY, fields text NOT NULL, state text)",
    _CALIBRATION,
)
