"""The journal of an evaluation: one append-only SQLite file, acknowledged after commit.

`records.sqlite` holds what was asked of whom (manifest, entrants, examples) and what came of it
(records). A record is one transaction: a kill leaves it whole or absent. Nothing is ever updated
or deleted; a fault is a record too, and trying again adds another. At most one record of an
(example, entrant) pair is `done`, whatever happens. Reports are pure functions of this file.
"""

from __future__ import annotations

import fcntl
import json
import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import IO, Any, Literal

from disputatio.errors import InputError
from disputatio.text import content_id
from disputatio.types import Answer, Example, Record, Usage

State = Literal["done", "fault", "bug"]

FILE = "records.sqlite"
_SCHEMA_VERSION = 1
_SCHEMA = """
CREATE TABLE manifest (one INTEGER PRIMARY KEY CHECK (one = 1), body TEXT NOT NULL);
CREATE TABLE runs (n INTEGER PRIMARY KEY, body TEXT NOT NULL);
CREATE TABLE entrants (n INTEGER PRIMARY KEY, label TEXT NOT NULL UNIQUE, body TEXT NOT NULL);
CREATE TABLE examples (id TEXT PRIMARY KEY, dataset TEXT NOT NULL, row INTEGER NOT NULL, body TEXT NOT NULL);
CREATE TABLE records (
  n INTEGER PRIMARY KEY,
  example TEXT NOT NULL REFERENCES examples (id),
  entrant TEXT NOT NULL REFERENCES entrants (label),
  state TEXT NOT NULL CHECK (state IN ('done', 'fault', 'bug')),
  body TEXT NOT NULL,
  answer TEXT NOT NULL,
  detail TEXT NOT NULL
);
CREATE UNIQUE INDEX done_once ON records (example, entrant) WHERE state = 'done';
CREATE TRIGGER records_stay BEFORE UPDATE ON records
BEGIN SELECT RAISE(ABORT, 'records are never changed'); END;
CREATE TRIGGER records_last BEFORE DELETE ON records
BEGIN SELECT RAISE(ABORT, 'records are never deleted'); END;
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entrant:
    """A strategy with its options, under the label that tables show.

    `prompts` is the hash of the strategy's prompts: with other prompts it is another entrant.
    """

    label: str
    strategy: str
    options: Mapping[str, Any] = field(default_factory=dict)
    prompts: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What all records of one journal share; a resumed run must have the same.

    `datasets` maps a data set's name to the SHA-256 of its file, `metrics` to the metrics it
    defines, `roles` a role to the model cast for it; `metrics_version` is that of the definitions. `judge`
    names who grades the answers and by which prompts, `index` what was searched in place of each row's own
    passages; empty where there is none.
    """

    datasets: Mapping[str, str]
    metrics: Mapping[str, Sequence[str]]
    metrics_version: int
    model: str
    engine: str = ""
    roles: Mapping[str, str] = field(default_factory=dict)
    seed: int = 0
    verify: bool = False
    judge: str = ""
    index: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One line of the journal: the newest word on an (example, entrant) pair."""

    entrant: str
    dataset: str
    state: State
    record: Record


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """A whole journal, as a report reads it. `examples` maps an id to its dataset, row and strata;
    `entries` holds the newest entry of each pair, in the order of dataset, row and entrant."""

    manifest: Manifest
    entrants: tuple[Entrant, ...]
    runs: tuple[Mapping[str, Any], ...]
    examples: Mapping[str, Mapping[str, Any]]
    entries: tuple[Entry, ...]


class Journal:
    """The journal of one directory, open for writing by one process; see `open_journal`."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database

    def done(self) -> set[tuple[str, str]]:
        """The (example id, entrant label) pairs that need no further work."""
        rows = self._database.execute("SELECT example, entrant FROM records WHERE state = 'done'")
        return {(example, entrant) for example, entrant in rows}

    def append(
        self, entrant: str, record: Record, *, state: State, answer: Answer | None = None, detail: str = ""
    ) -> None:
        """Add a record in one transaction; on return it is on disk.

        `answer` is kept without its passages, `detail` holds the traceback of a bug.
        """
        word = "{}"
        if answer is not None:
            passages = [passage.id for passage in answer.passages]
            word = json.dumps({**asdict(replace(answer, passages=())), "passages": passages}, sort_keys=True)
        row = (record.example, entrant, state, _dump(asdict(record)), word, _printable(detail))
        with _transaction(self._database):
            self._database.execute(
                "INSERT INTO records (example, entrant, state, body, answer, detail) "
                "VALUES (?, ?, ?, ?, ?, ?)",
                row,
            )


@contextmanager
def open_journal(
    out: Path,
    manifest: Manifest,
    entrants: Sequence[Entrant],
    examples: Sequence[Example],
    *,
    run: Mapping[str, Any] | None = None,
) -> Iterator[Journal]:
    """The journal of a directory, made when it is not there; one writer at a time.

    `run` is kept beside the records: what this invocation asked for, and by which versions.
    Raises `InputError` when another process is writing there, when the file is no journal, and,
    naming the difference, when it was begun with other data, prompts, options or models.
    """
    _check_labels(entrants)
    try:
        out.mkdir(parents=True, exist_ok=True)
        lock = (out / "records.lock").open("a", encoding="utf-8")
    except OSError as error:
        raise InputError(f"{out}: {error.strerror or error}") from error
    with lock:
        _lock(lock, out)
        with closing(_connect(out / FILE)) as database:
            _agree(database, out, manifest, entrants=entrants, examples=examples, run=run or {})
            yield Journal(database)


def read_journal(out: Path) -> Contents:
    """Everything a report needs; raises `InputError` when there is no journal in `out`."""
    path = out / FILE
    if not path.is_file():
        raise InputError(f"{out}: no evaluation here ({FILE} is missing)")
    # Reading a write-ahead log needs a writable folder; without one there is no log to miss.
    mode = "mode=ro" if os.access(out, os.W_OK) else "mode=ro&immutable=1"
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?{mode}", uri=True)) as database:
            return _contents(database, out)
    except sqlite3.DatabaseError as error:
        raise InputError(f"{path}: not a journal that can be read ({error})") from error


def options_hash(entrant: Entrant) -> str:
    """The name of an entrant's settings: strategy and options.

    >>> one = Entrant(label="a", strategy="concat", options={"x": 1, "y": 2})
    >>> options_hash(one) == options_hash(Entrant(label="b", strategy="concat", options={"y": 2, "x": 1}))
    True
    """
    return content_id("o", entrant.strategy, _dump(dict(entrant.options)))


# --- agreement with what is there ---------------------------------------------------------------
def _agree(
    database: sqlite3.Connection,
    out: Path,
    manifest: Manifest,
    *,
    entrants: Sequence[Entrant],
    examples: Sequence[Example],
    run: Mapping[str, Any],
) -> None:
    """Make the journal or check that it may go on, and note this run, in one transaction."""
    with _transaction(database):
        if database.execute("PRAGMA user_version").fetchone()[0] == 0:
            for statement in _statements(_SCHEMA):
                database.execute(statement)
            database.execute(f"PRAGMA user_version = {_SCHEMA_VERSION}")
            database.execute("INSERT INTO manifest VALUES (1, ?)", (_dump(asdict(manifest)),))
        else:
            _check_version(database, out)
            _compare(asdict(_manifest(database)), json.loads(_dump(asdict(manifest))), f"{out}: begun with")
        known = {entrant.label: entrant for entrant in _entrants(database)}
        for entrant in entrants:
            body = _dump(asdict(entrant))
            if entrant.label in known:
                before = asdict(known[entrant.label])
                _compare(before, json.loads(body), f"{out}: strategy {entrant.label} was begun with")
            else:
                database.execute("INSERT INTO entrants (label, body) VALUES (?, ?)", (entrant.label, body))
        for example in examples:
            strata = example.metadata.get("strata", {})
            body = _dump({"gold": example.gold, "wrong": example.wrong, "strata": strata})
            database.execute(
                "INSERT OR IGNORE INTO examples VALUES (?, ?, ?, ?)",
                (example.id, example.metadata.get("dataset", ""), example.row, body),
            )
        database.execute("INSERT INTO runs (body) VALUES (?)", (_dump(dict(run)),))


def _compare(before: Mapping[str, Any], now: Mapping[str, Any], lead: str) -> None:
    for key, was in before.items():
        if was != now[key]:
            name = key.replace("_", " ")
            raise InputError(
                f"{lead} {name} {_dump(was)}, now it is {_dump(now[key])}: "
                "give another --out, or ask as before"
            )


def _check_labels(entrants: Sequence[Entrant]) -> None:
    labels = [entrant.label for entrant in entrants]
    for label in labels:
        if labels.count(label) > 1:
            raise InputError(f"strategy {label} is named twice")


def _check_version(database: sqlite3.Connection, out: Path) -> None:
    version = database.execute("PRAGMA user_version").fetchone()[0]
    if version == 0:
        raise InputError(f"{out}: no evaluation here ({FILE} was never begun)")
    if version != _SCHEMA_VERSION:
        raise InputError(f"{out / FILE}: a journal of version {version}, this is version {_SCHEMA_VERSION}")


# --- the file -----------------------------------------------------------------------------------
def _connect(path: Path) -> sqlite3.Connection:
    database = sqlite3.connect(path, isolation_level=None)
    try:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = FULL")
        database.execute("PRAGMA foreign_keys = ON")
    except sqlite3.DatabaseError as error:
        database.close()
        raise InputError(f"{path}: not a journal that can be written ({error})") from error
    return database


@contextmanager
def _transaction(database: sqlite3.Connection) -> Iterator[None]:
    database.execute("BEGIN IMMEDIATE")
    committed = False
    try:
        yield
        database.execute("COMMIT")
        committed = True
    finally:
        if not committed and database.in_transaction:
            database.execute("ROLLBACK")


def _lock(lock: IO[str], out: Path) -> None:
    """Hold the directory until the file is closed, which the end of the process does too."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise InputError(f"{out}: another evaluation is writing there") from error


def _statements(script: str) -> Iterator[str]:
    statement = ""
    for line in script.splitlines():
        statement += line + "\n"
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""


def _contents(database: sqlite3.Connection, out: Path) -> Contents:
    database.execute("BEGIN")
    _check_version(database, out)
    examples = {
        name: {"dataset": dataset, "row": row, **json.loads(body)}
        for name, dataset, row, body in database.execute("SELECT * FROM examples ORDER BY dataset, row, id")
    }
    # The newest entry of each pair: its done record where there is one, else its last fault.
    newest = database.execute(
        "SELECT r.entrant, x.dataset, r.state, r.body FROM records r JOIN examples x ON x.id = r.example "
        "JOIN entrants e ON e.label = r.entrant WHERE r.n = (SELECT n FROM records WHERE example = r.example "
        "AND entrant = r.entrant ORDER BY state = 'done' DESC, n DESC LIMIT 1) "
        "ORDER BY x.dataset, x.row, x.id, e.n"
    )
    return Contents(
        manifest=_manifest(database),
        entrants=_entrants(database),
        runs=tuple(json.loads(body) for (body,) in database.execute("SELECT body FROM runs ORDER BY n")),
        examples=examples,
        entries=tuple(
            Entry(entrant=entrant, dataset=dataset, state=state, record=_record(body))
            for entrant, dataset, state, body in newest
        ),
    )


def _manifest(database: sqlite3.Connection) -> Manifest:
    return Manifest(**json.loads(database.execute("SELECT body FROM manifest").fetchone()[0]))


def _entrants(database: sqlite3.Connection) -> tuple[Entrant, ...]:
    bodies = database.execute("SELECT body FROM entrants ORDER BY n")
    return tuple(Entrant(**json.loads(body)) for (body,) in bodies)


def _record(body: str) -> Record:
    fields = json.loads(body)
    return Record(
        **{**fields, "answers": tuple(fields["answers"]), "usage": Usage(**fields["usage"])},
    )


def _dump(value: Any) -> str:
    """Canonical JSON in ASCII, so that any text of a model can be stored."""
    return json.dumps(value, sort_keys=True, allow_nan=False, separators=(",", ":"))


def _printable(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
