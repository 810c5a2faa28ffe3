"""The journal of an evaluation: one append-only SQLite file, acknowledged after commit.

`records.sqlite` holds what was asked of whom (manifest, entrants, examples) and what came of it
(records). A record is one transaction: a kill leaves it whole or absent. Nothing is ever updated
or deleted; a fault is a record too, and trying again adds another. At most one record of an
(example, entrant) pair is `done`, whatever happens. Reports are pure functions of this file.
"""

from __future__ import annotations

import json
import os
import sqlite3
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from disputatio import platforms
from disputatio.errors import InputError
from disputatio.eval.running.run_log_file import (
    FILE,
    LOCK,
    check_version,
    connect,
    create_tables,
    keep_digests,
    keep_passages,
    lock,
    read_passages,
    transaction,
    verify,
    verify_row,
    version_of,
    write_unsynced,
)
from disputatio.text import content_id
from disputatio.types import Abstention, Answer, Example, Reading, Usage

_SHOWN = 4  # differences of one mapping that are spelt out


def differences(before: Mapping[str, Any], now: Mapping[str, Any], lead: str) -> list[str]:
    """List the recorded fields that changed, one clause each; both are JSON values.

    >>> differences({"model": "a", "seed": 1}, {"model": "b", "seed": 1}, "begun with")
    ['begun with model "a", now it is "b"']
    >>> differences({"options": {"k": 1, "n": 2}}, {"options": {"k": 3, "n": 2}}, "begun with")
    ['begun with options k=1, now it is k=3']
    >>> differences({"code": {"x": "1"}}, {"code": {"x": "2"}}, "begun with")
    ['begun with other code, changed since in x']
    """
    clauses = []
    for key, was in before.items():
        new = now[key]
        if was == new:
            continue
        name = key.replace("_", " ")
        if key == "code":
            changed = sorted(key for key in {*was, *new} if was.get(key) != new.get(key))
            clauses.append(f"{lead} other code, changed since in {_some(changed)}")
        elif isinstance(was, Mapping):
            clauses.append(f"{lead} {name} {_pairs(was, new)}, now it is {_pairs(new, was)}")
        else:
            clauses.append(f"{lead} {name} {_shown(was)}, now it is {_shown(new)}")
    return clauses


def refuse_changes(out: Path, clauses: list[str]) -> None:
    """Raise `InputError` that names the differences and a folder for a new run; nothing without any."""
    if clauses:
        raise InputError(
            f"{out}: {'; '.join(clauses)}: begin a new run with --out {next_free_folder(out)}, "
            "or ask as before"
        )


def next_free_folder(out: Path) -> Path:
    """Return the first folder beside this one that is not there yet: `runs-2`, `runs-3`, ..."""
    stem, _, number = out.name.rpartition("-")
    name, start = (stem, int(number) + 1) if stem and number.isdecimal() else (out.name, 2)
    while (folder := out.with_name(f"{name}-{start}")).exists():
        start += 1
    return folder


def _pairs(mapping: Mapping[str, Any], other: Mapping[str, Any]) -> str:
    """List the entries of a mapping that another lacks or has otherwise."""
    gone = object()
    pairs = [
        f"{key}={_shown(value)}" for key, value in sorted(mapping.items()) if other.get(key, gone) != value
    ]
    return _some(pairs) if pairs else "nothing more"


def _some(parts: list[str]) -> str:
    more = len(parts) - _SHOWN
    return ", ".join(parts[:_SHOWN]) + (f" and {more} more" if more > 0 else "")


def _shown(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


State = Literal["done", "fault", "bug"]

_SCORED = ("gold", "wrong")  # what an answer is scored against
_SUMS = "sum(calls), sum(prompt_tokens), sum(cached_tokens), sum(completion_tokens) FROM spending"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entrant:
    """A strategy with its options, under the label that tables show.

    `prompts` is the hash of the strategy's prompts, `code` those of the modules behind it: with others it
    is another entrant. A strategy that is asked with several seeds is an entrant for each: `name` of the
    first, `name#1` and so on of the others.
    """

    label: str
    strategy: str
    options: Mapping[str, Any] = field(default_factory=dict)
    prompts: str = ""
    code: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The label without the seed: what the entrants of several seeds have in common."""
        return self.label.partition("#")[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunManifest:
    """The facts that all records of one journal share; a resumed run must have the same.

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
class Record:
    """The record of one strategy on one example; `fault` is empty unless a model or network failed.

    `judged` holds a judge's verdicts by metric, where there was one: the grade (None where it is unscored,
    and then the reason), the margin and the log-probabilities. `read` counts the passages found, read,
    failed and set aside, and the replies that could not be used; None where it failed.
    """

    example: str
    row: int
    strategy: str
    options: Mapping[str, Any]
    answers: tuple[str, ...]
    abstained: Abstention | None
    scores: Mapping[str, float | None]
    usage: Usage
    seconds: float
    rounds: int = 0
    fault: str = ""
    prompts: str = ""
    model: str = ""
    retrievals: int | None = None
    judged: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    read: Reading | None = None


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

    manifest: RunManifest
    entrants: tuple[Entrant, ...]
    runs: tuple[Mapping[str, Any], ...]
    examples: Mapping[str, Mapping[str, Any]]
    entries: tuple[Entry, ...]


class RunLog:
    """The journal of one directory, open for writing by one process; see `open_run_log`.

    Threads may share it.
    """

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database
        self._lock = threading.Lock()

    def done(self) -> set[tuple[str, str]]:
        """Return the (example id, entrant label) pairs that need no further work."""
        with self._lock:
            rows = self._database.execute("SELECT example, entrant FROM records WHERE state = 'done'")
            return {(example, entrant) for example, entrant in rows}

    def append(
        self,
        entrant: str,
        record: Record,
        *,
        state: State,
        answer: Answer | None = None,
        detail: str = "",
        events: Sequence[Mapping[str, Any]] = (),
    ) -> None:
        """Add a record in one transaction; on return it is on disk.

        `answer` names its passages, which are kept once; `detail` has a bug's traceback, `events` the trace.
        """
        answer_json = "{}"
        if answer is not None:
            passages = [passage.id for passage in answer.passages]
            fields = replace(answer, passages=()).to_dict()
            answer_json = json.dumps({**fields, "passages": passages}, sort_keys=True)
        row = (record.example, entrant, state, _dump(asdict(record)), answer_json, _printable(detail))
        with self._lock, transaction(self._database):
            added = self._database.execute(
                "INSERT INTO records (example, entrant, state, body, answer, detail) "
                "VALUES (?, ?, ?, ?, ?, ?)",
                row,
            )
            keep_passages(self._database, () if answer is None else answer.passages)
            if events:
                trace = json.dumps(list(events), sort_keys=True)
                self._database.execute("INSERT INTO traces VALUES (?, ?)", (added.lastrowid, trace))

    def spend(self, example: str, entrant: str, model: str, usage: Usage) -> None:
        """Add what calls cost, whatever becomes of the question.

        On return it outlives the process; it is synced to the disk with the next record.
        """
        tokens = (usage.prompt_tokens, usage.cached_tokens, usage.completion_tokens)
        with self._lock, write_unsynced(self._database):
            self._database.execute(
                "INSERT INTO spending (example, entrant, model, calls, prompt_tokens, cached_tokens, "
                "completion_tokens) VALUES (?, ?, ?, ?, ?, ?, ?)",
                (example, entrant, model, usage.calls, *tokens),
            )

    def spent(self) -> list[tuple[str, str, str, Usage]]:
        """Return (example, entrant, model, what its calls took) of all that was ever spent here."""
        with self._lock:
            rows = self._database.execute(f"SELECT example, entrant, model, {_SUMS} GROUP BY 1, 2, 3")
            return [(example, entrant, model, _usage(*sums)) for example, entrant, model, *sums in rows]


@contextmanager
def open_run_log(
    out: Path,
    manifest: RunManifest,
    entrants: Sequence[Entrant],
    examples: Sequence[Example],
    *,
    run: Mapping[str, Any] | None = None,
) -> Iterator[RunLog]:
    """Open the journal of a directory, made when it is not there; one writer at a time.

    `run` is kept beside the records: what this invocation asked for, and by which versions.
    Raises `InputError` when another process is writing there, when the file is no journal, and,
    naming the difference, when it was begun with other data, prompts, options or models.
    """
    _check_labels(entrants)
    try:
        out.mkdir(parents=True, exist_ok=True)
        lock_file = os.fdopen(platforms.open_handle(out / LOCK, os.O_WRONLY | os.O_CREAT), "a")
    except OSError as error:
        raise InputError(f"{out}: {error.strerror or error}") from error
    with lock_file:
        lock(lock_file, out)
        with closing(connect(out / FILE)) as database:
            _agree(database, out, manifest, entrants=entrants, examples=examples, run=run or {})
            yield RunLog(database)


def read_journal(out: Path) -> Contents:
    """Return everything a report needs; raises `InputError` when there is no journal in `out`."""
    with open_to_read(out) as database:
        verify(database, out / FILE)
        return _contents(database)


def read_spending(out: Path) -> dict[str, Usage]:
    """Sum the usage of every call in `out` by model, failed questions included.

    What was under way when a process was killed is not in it. Raises `InputError` as `read_journal`."""
    with open_to_read(out) as database:
        verify(database, out / FILE, ("spending",))
        return _sum_spending(database)


def read_trace(out: Path, entrant: str, example: str) -> list[dict[str, Any]]:
    """Return the trace of a pair's newest record; empty without one.

    Raises `InputError` as `read_journal`.
    """
    with open_to_read(out) as database:
        row = database.execute(
            "SELECT t.record, t.body FROM records r JOIN traces t ON t.record = r.n WHERE r.entrant = ? "
            "AND r.example = ? ORDER BY r.state = 'done' DESC, r.n DESC LIMIT 1",
            (entrant, example),
        ).fetchone()
        if row is None:
            return []
        verify_row(database, out / FILE, "traces", *row)
        return list(json.loads(row[1]))


@contextmanager
def open_to_read(out: Path) -> Iterator[sqlite3.Connection]:
    """Open the journal's database to read in one transaction; raises `InputError` when there is none."""
    path = out / FILE
    if not path.is_file():
        raise InputError(f"{out}: no evaluation here ({FILE} is missing)")
    # Reading a write-ahead log needs a writable folder; without one there is no log to miss.
    mode = "mode=ro" if os.access(out, os.W_OK) else "mode=ro&immutable=1"
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?{mode}", uri=True)) as database:
            database.execute("BEGIN")
            check_version(database, out)
            yield database
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:  # the latter: of SQLite's own message
        raise InputError(f"{path}: not a journal that can be read ({error})") from error


def options_hash(entrant: Entrant) -> str:
    """Return the name of an entrant's settings: strategy and options.

    >>> one = Entrant(label="a", strategy="concat", options={"x": 1, "y": 2})
    >>> options_hash(one) == options_hash(Entrant(label="b", strategy="concat", options={"y": 2, "x": 1}))
    True
    """
    return content_id("o", entrant.strategy, _dump(dict(entrant.options)))


Pair = tuple[str, str]  # entrant's label, example's id


def read_confidences(out: Path) -> dict[Pair, float | None]:
    """Return the confidence of every answer that was recorded, None where it states none."""
    query = "SELECT entrant, example, json_extract(answer, '$.confidence') FROM records WHERE state = 'done'"
    return {
        (entrant, example): None if confidence is None else float(confidence)
        for entrant, example, confidence in _read(out, query)
    }


def read_answers(out: Path, entrant: str) -> dict[str, Mapping[str, Any]]:
    """Return the answers of one entrant by the id of their question, as they were recorded."""
    query = "SELECT example, answer FROM records WHERE state = 'done' AND entrant = ?"
    return {example: json.loads(answer) for example, answer in _read(out, query, entrant)}


def read_answer(out: Path, entrant: str, example: str) -> dict[str, Any] | None:
    """Return one answer as it was given, with its passages; None where there is none.

    Raises `InputError` where the answer or a passage is not what was written.
    """
    query = "SELECT n, example, entrant, state, body, answer, detail FROM records"
    with open_to_read(out) as database:
        row = database.execute(
            f"{query} WHERE state = 'done' AND entrant = ? AND example = ?", (entrant, example)
        ).fetchone()
        if row is None:
            return None
        verify_row(database, out / FILE, "records", *row)
        fields: dict[str, Any] = json.loads(row[5])
        kept = read_passages(database, out / FILE, fields["passages"])
    fields["passages"] = [kept[name] for name in fields["passages"]]
    return fields


def _read(out: Path, query: str, *values: str) -> list[tuple[Any, ...]]:
    with open_to_read(out) as database:
        return list(database.execute(query, values))


# --- agreement with what is there ---------------------------------------------------------------
def _agree(
    database: sqlite3.Connection,
    out: Path,
    manifest: RunManifest,
    *,
    entrants: Sequence[Entrant],
    examples: Sequence[Example],
    run: Mapping[str, Any],
) -> None:
    """Make the journal or check that it may go on, and note this run, in one transaction."""
    with transaction(database):
        if version_of(database) == 0:
            create_tables(database)
            keep_digests(database)
            database.execute("INSERT INTO manifest VALUES (1, ?)", (_dump(asdict(manifest)),))
        else:
            check_version(database, out)
            keep_digests(database)
            verify(database, out / FILE)
            _compare(database, out, manifest, entrants=entrants, examples=examples)
        known = {entrant.label for entrant in _entrants(database)}
        for entrant in entrants:
            if entrant.label not in known:
                body = _dump(asdict(entrant))
                database.execute("INSERT INTO entrants (label, body) VALUES (?, ?)", (entrant.label, body))
        for example in examples:
            dataset = example.metadata.get("dataset", "")
            row = (example.id, dataset, example.row, _dump(_labels(example)))
            database.execute("INSERT OR IGNORE INTO examples VALUES (?, ?, ?, ?)", row)
        database.execute("INSERT INTO runs (body) VALUES (?)", (_dump(dict(run)),))


def _compare(
    database: sqlite3.Connection,
    out: Path,
    manifest: RunManifest,
    *,
    entrants: Sequence[Entrant],
    examples: Sequence[Example],
) -> None:
    """Raise `InputError` where a run does not go on as the journal was begun."""
    clauses = differences(asdict(_manifest(database)), json.loads(_dump(asdict(manifest))), "begun with")
    known = {entrant.label: entrant for entrant in _entrants(database)}
    for entrant in entrants:
        if entrant.label in known:
            lead = f"strategy {entrant.label} was begun with"
            now = json.loads(_dump(asdict(entrant)))
            clauses += differences(asdict(known[entrant.label]), now, lead)
    bodies = {name: json.loads(body) for name, body in database.execute("SELECT id, body FROM examples")}
    for example in examples:
        now = json.loads(_dump(_labels(example)))
        before = {key: bodies.get(example.id, now)[key] for key in _SCORED}
        if changed := differences(before, now, f"row {example.row} was begun with"):
            clauses += changed
            break  # the first says what happened
    refuse_changes(out, clauses)


def _labels(example: Example) -> dict[str, Any]:
    """Return the fields of an example that a report needs."""
    return {
        "gold": example.gold,
        "wrong": example.wrong,
        "strata": example.metadata.get("strata", {}),
        "expects": example.metadata.get("expects", "auto"),
    }


def _check_labels(entrants: Sequence[Entrant]) -> None:
    labels = [entrant.label for entrant in entrants]
    if twice := [label for label in labels if labels.count(label) > 1]:
        raise InputError(f"strategy {twice[0]} is named twice")


# --- what is in it ------------------------------------------------------------------------------
def _contents(database: sqlite3.Connection) -> Contents:
    examples = {
        name: {"dataset": dataset, "row": row, **json.loads(body)}
        for name, dataset, row, body in database.execute("SELECT * FROM examples ORDER BY dataset, row, id")
    }
    # The newest entry of each pair: its done record where there is one, else its last fault.
    newest = database.execute(
        "SELECT r.entrant, x.dataset, r.state, r.body FROM (SELECT *, row_number() OVER "
        "(PARTITION BY example, entrant ORDER BY state = 'done' DESC, n DESC) AS place FROM records) r "
        "JOIN examples x ON x.id = r.example JOIN entrants e ON e.label = r.entrant WHERE r.place = 1 "
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


def _manifest(database: sqlite3.Connection) -> RunManifest:
    return RunManifest(**json.loads(database.execute("SELECT body FROM manifest").fetchone()[0]))


def _entrants(database: sqlite3.Connection) -> tuple[Entrant, ...]:
    bodies = database.execute("SELECT body FROM entrants ORDER BY n")
    return tuple(Entrant(**json.loads(body)) for (body,) in bodies)


def _sum_spending(database: sqlite3.Connection) -> dict[str, Usage]:
    rows = database.execute(f"SELECT model, {_SUMS} GROUP BY model ORDER BY model")
    return {model: _usage(*sums) for model, *sums in rows}


def _usage(calls: int, prompt: int, cached: int, new: int) -> Usage:
    return Usage(calls=calls, prompt_tokens=prompt, cached_tokens=cached, completion_tokens=new)


def _record(body: str) -> Record:
    fields = json.loads(body)
    read = Reading(**fields["read"]) if fields["read"] else None
    nouns = {"answers": tuple(fields["answers"]), "usage": Usage(**fields["usage"]), "read": read}
    return Record(**{**fields, **nouns})


def _dump(value: Any) -> str:
    """Return canonical JSON in ASCII, so that any text of a model can be stored."""
    return json.dumps(value, sort_keys=True, allow_nan=False, separators=(",", ":"))


def _printable(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
