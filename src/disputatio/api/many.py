"""Many questions over one engine, at the same time."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sized
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import Any

from disputatio.api.asking import ask, prepare_arguments, until_cancelled
from disputatio.api.ray_asking import arguments_for_workers, ask_on_workers
from disputatio.api.request import Prepared
from disputatio.arguments import check_arguments, check_calls
from disputatio.databases import Database, open_private, tables_of
from disputatio.errors import (
    UNREADABLE,
    BudgetSpent,
    Cancelled,
    ConfigError,
    DamagedFile,
    InputError,
    NotAsked,
    StoreError,
)
from disputatio.pipeline import strategy_name
from disputatio.protocols import Cancel
from disputatio.serialisation import Serialisable
from disputatio.spending import Budget, Meter, Spent, charge_to_thread
from disputatio.store.addresses import is_served
from disputatio.store.contract import Index
from disputatio.store.filtered import Filtered
from disputatio.store.in_memory import InMemory
from disputatio.text import content_id
from disputatio.trace import Trace
from disputatio.types import Answer, Usage

_AHEAD = 4  # times `in_flight`: questions that are begun or finished before the one whose turn it is


@dataclass(frozen=True, slots=True, kw_only=True)
class AskResult(Serialisable):
    """The result of one of many questions: an `answer`, or the `error` that stood in its way."""

    question: str
    answer: Answer | None = None
    error: Exception | None = None

    def get(self) -> Answer:
        """Return the answer; raises the error where there is none."""
        if self.answer is None:
            raise self.error or Cancelled()
        return self.answer

    def to_dict(self) -> dict[str, Any]:
        """Return the question with its answer, or its error's kind and message, as JSON values."""
        error = None
        if self.error is not None:
            error = {"kind": type(self.error).__name__, "message": str(self.error)}
        answer = None if self.answer is None else self.answer.to_dict()
        return {"question": self.question, "answer": answer, "error": error}


OnResult = Callable[[int, int | None, AskResult], None]


@check_calls
def ask_many(
    questions: Iterable[str],
    *,
    in_flight: int = 8,
    ordered: bool = True,
    keep: str | Path | None = None,
    budget: Budget | None = None,
    ray: str | None = None,
    workers: int | None = None,
    progress: OnResult | None = None,
    cancel: Cancel | None = None,
    **arguments: Any,
) -> Generator[AskResult, None, None]:
    """Answer many questions, `in_flight` at a time over one engine; the results come in the questions' order.

    `questions` may be endless: some more than are in flight are taken, and no more than those are held. With
    `ordered=False` results come as they are there. `keep` is a file of the answers, each on the disk before
    it is given: the same call with it asks only what it lacks (a question that failed is asked again). `ray`
    is the address of a cluster, or `local`: then `workers` (by default one a core) have `in_flight` questions
    each, with an engine each or a shared endpoint; one journal, here, keeps the calls of all.

    `budget` is the most that all questions may take together, wherever they are asked; with `keep` also those
    of earlier calls with that file. A call that may exceed it is not made: the result of its question, and of
    each that is not begun any more, has the error `NotAsked`. With a larger budget the same call goes on.

    It takes what `ask` takes, but for `trace`. An error is the result of its question and ends no other; a
    question that is cancelled has `Cancelled`, one that three workers died at `WorkerLost`.
    `progress(done, total, result)` is called for each question when it is finished, by one thread at a time
    (`total` is None where the questions cannot be counted). Dropping the iterator ends what is not finished.
    Raises what is wrong with the arguments before anything is asked; the first result raises `ClusterFault`
    where workers cannot be had.
    """
    if in_flight < 1:
        raise InputError("in_flight is at least 1")
    if "trace" in arguments:
        raise ConfigError("ask_many takes no trace: several questions cannot share one")
    if ray == "" or (workers is not None and (ray is None or workers < 1)):
        raise InputError("workers, at least 1, are those of a cluster: give ray its address, or local")
    check_arguments(ask, arguments)
    total = len(questions) if isinstance(questions, Sized) else None
    arguments = arguments_for_workers(arguments) if ray is not None else arguments
    prepared = prepare_arguments(arguments)
    kept = None if keep is None else KeptAnswers(Path(keep), ask_settings(prepared))
    count = workers or os.cpu_count() or 1
    meter = Meter(budget)
    if kept is not None:
        meter.begin(kept.spent(), kept.spend)
    sender = None if ray is None else partial(ask_on_workers, arguments, meter, ray, count, in_flight)
    hands = in_flight if ray is None else in_flight * count
    many = _Many(prepared, progress, total, meter=meter, kept=kept, sender=sender, ordered=ordered)
    return many.results(iter(questions), hands, cancel)


class _Many:
    """The walk over many questions: what answers them, and where results go."""

    def __init__(
        self,
        prepared: Prepared,
        progress: OnResult | None,
        total: int | None,
        *,
        meter: Meter,
        kept: KeptAnswers | None,
        sender: Callable[[], AbstractContextManager[Callable[[str], Answer]]] | None,
        ordered: bool,
    ) -> None:
        self._prepared = replace(prepared, kit=meter.wrap(prepared.kit))
        self._progress, self._total, self._meter = progress, total, meter
        self._kept, self._sender, self._ordered = kept, sender, ordered
        self._send: Callable[[str], Answer] | None = None
        self._done = 0
        self._lock, self._begins = threading.Lock(), threading.Lock()

    def results(
        self, questions: Iterator[str], in_flight: int, cancel: Cancel | None
    ) -> Generator[AskResult, None, None]:
        """Yield the results, with as many questions in flight and some more ahead."""
        ends = Cancel()
        waiting: deque[Future[AskResult]] = deque()
        with ExitStack() as stack:
            if self._kept is not None:
                stack.callback(self._kept.close)
            if self._sender is not None:
                self._send = stack.enter_context(self._sender())
            pool = ThreadPoolExecutor(in_flight, thread_name_prefix="disputatio ask_many")
            if cancel is not None:
                stack.enter_context(cancel.calling(ends.cancel))
            try:
                while True:
                    for question in islice(questions, _AHEAD * in_flight - len(waiting)):
                        waiting.append(pool.submit(self._result, question, ends))
                    if not waiting:
                        return
                    if not self._ordered:
                        first = next(iter(wait(waiting, return_when=FIRST_COMPLETED).done))
                        waiting.remove(first)
                        waiting.appendleft(first)
                    yield waiting.popleft().result()
            finally:
                ends.cancel()
                # What is kept, and who is asked, is closed only when no thread uses it.
                pool.shutdown(wait=self._kept is not None or self._send is not None, cancel_futures=True)

    def _result(self, question: str, ends: Cancel) -> AskResult:
        try:
            ends.check()
            answer = self._kept.get(question) if self._kept is not None else None
            if answer is None:
                answer = until_cancelled(lambda cancel: self._ask_one(question, cancel), ends)
                if self._kept is not None:
                    self._kept.keep(question, answer)
            result = AskResult(question=question, answer=answer)
        except Exception as error:  # noqa: BLE001 (it is the result of its question)
            result = AskResult(question=question, error=error)
        with self._lock:
            self._done += 1
            if self._progress is not None:
                self._progress(self._done, self._total, result)
        return result

    def _ask_one(self, question: str, cancel: Cancel) -> Answer:
        with self._within_budget(question):
            if self._send is not None:
                return self._send(question)
            prepared = replace(self._prepared, kit=charge_to_thread(self._prepared.kit))
            return prepared.answer(question, Trace(), cancel)

    @contextmanager
    def _within_budget(self, question: str) -> Iterator[None]:
        """Charge the calls of this thread to the question; raises `NotAsked` where none may be made."""
        with ExitStack() as stack:
            with self._begins:  # so that two do not begin with what is left for one
                if self._meter.stopped or not self._meter.admits(""):
                    raise NotAsked(f"not asked: {self._meter.stopped}")
                stack.enter_context(self._meter.question(question, ""))
            try:
                yield
            except BudgetSpent as error:
                raise NotAsked(f"not asked to the end: {error}") from error


# --- kept answers ---------------------------------------------------------------------------------
# Answers of a long list of questions, kept in a file as they come: what was answered is not asked again.
#
# What the calls took is kept with them, so that a budget holds over all that is asked with one file.

_APPLICATION = 0x4450414B  # in the header of the file
_TABLES = (
    "CREATE TABLE settings (one INTEGER PRIMARY KEY CHECK (one = 1), body TEXT NOT NULL)",
    "CREATE TABLE answers (question TEXT PRIMARY KEY, answer TEXT NOT NULL, digest TEXT NOT NULL)",
)
_SPENDING = (
    "CREATE TABLE IF NOT EXISTS spending (question TEXT NOT NULL, model TEXT NOT NULL, "
    "calls INTEGER NOT NULL, prompt_tokens INTEGER NOT NULL, cached_tokens INTEGER NOT NULL, "
    "completion_tokens INTEGER NOT NULL)"
)


class KeptAnswers:
    """The answers of one file, made by one way to ask; threads may share it.

    An answer is on the disk when `keep` returns; an error is not kept. Raises `StoreError` where the file
    cannot be used, `InputError` where it holds the answers of another way to ask.
    """

    def __init__(self, path: Path, settings: Mapping[str, Any]) -> None:
        self._path, self._lock, self._closed = path, threading.Lock(), False
        with self._report_faults():
            path.parent.mkdir(parents=True, exist_ok=True)
            open_private(path, "file of answers", _is_ours, keep_rights=True)
            self._db = self._connect()
        try:
            with self._report_faults():
                before = self._open_settings(json.dumps(settings, sort_keys=True, default=str))
            if changed := [name for name in settings if before.get(name) != _plain(settings[name])]:
                raise InputError(
                    f"{path}: holds answers that were asked for with another {' and '.join(changed)}; "
                    "keep these in another file"
                )
        except BaseException:
            self._db.close()
            raise

    def _connect(self) -> sqlite3.Connection:
        return sqlite3.connect(
            self._path, timeout=10, isolation_level=None, check_same_thread=False, factory=Database
        )

    def _open_settings(self, settings: str) -> dict[str, Any]:
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = FULL")
        self._db.execute("BEGIN IMMEDIATE")
        try:
            if not tables_of(self._db):
                for table in _TABLES:
                    self._db.execute(table)
                self._db.execute(f"PRAGMA application_id = {_APPLICATION}")
                self._db.execute("INSERT INTO settings VALUES (1, ?)", (settings,))
            self._db.execute(_SPENDING)  # files of before there were budgets lack it
            [body] = self._db.execute("SELECT body FROM settings").fetchone()
            self._db.execute("COMMIT")
        except BaseException:
            with contextlib.suppress(sqlite3.Error):
                self._db.execute("ROLLBACK")
            raise
        try:
            before: dict[str, Any] = json.loads(body)
        except UNREADABLE as error:
            raise DamagedFile(f"{self._path}: is damaged at its settings") from error
        return before

    def get(self, question: str) -> Answer | None:
        """Return the stored answer to a question; raises `DamagedFile` where it has changed."""
        with self._lock, self._report_faults():
            row = self._db.execute(
                "SELECT answer, digest FROM answers WHERE question = ?", (question,)
            ).fetchone()
        if row is None:
            return None
        damaged = DamagedFile(f"{self._path}: is damaged at the question {question[:60]!r}")
        if not isinstance(row[0], str) or _digest(row[0]) != row[1]:
            raise damaged
        try:
            return Answer.from_dict(json.loads(row[0]))
        except (*UNREADABLE, InputError) as error:
            raise damaged from error

    def keep(self, question: str, answer: Answer) -> None:
        """Keep an answer; the first of a question stays."""
        body = answer.to_json()
        with self._lock, self._report_faults():
            self._db.execute(
                "INSERT OR IGNORE INTO answers VALUES (?, ?, ?)", (question, body, _digest(body))
            )

    def spend(self, question: str, _: str, model: str, usage: Usage) -> None:
        """Keep what calls of a question took; it outlives the process, and is synced with the next answer.

        A call that ends after `close`, because its question was given up, is kept too.
        """
        tokens = (usage.prompt_tokens, usage.cached_tokens, usage.completion_tokens)
        with self._lock, self._report_faults(), self._for_spending() as database:
            database.execute("PRAGMA synchronous = NORMAL")
            try:
                database.execute(
                    "INSERT INTO spending VALUES (?, ?, ?, ?, ?, ?)", (question, model, usage.calls, *tokens)
                )
            finally:
                database.execute("PRAGMA synchronous = FULL")

    def _for_spending(self) -> AbstractContextManager[sqlite3.Connection]:
        return closing(self._connect()) if self._closed else nullcontext(self._db)

    def spent(self) -> list[Spent]:
        """Sum the usage of all calls so far, by question and model."""
        with self._lock, self._report_faults():
            rows = self._db.execute(
                "SELECT question, model, sum(calls), sum(prompt_tokens), sum(cached_tokens), "
                "sum(completion_tokens) FROM spending GROUP BY question, model"
            ).fetchall()
        return [
            (
                question,
                "",
                model,
                Usage(calls=calls, prompt_tokens=read, cached_tokens=cached, completion_tokens=written),
            )
            for question, model, calls, read, cached, written in rows
        ]

    def close(self) -> None:
        with self._lock:
            self._closed = True
            self._db.close()

    @contextmanager
    def _report_faults(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            raise StoreError(f"{self._path}: cannot keep answers: {error}") from error


def ask_settings(prepared: Prepared) -> dict[str, Any]:
    """Return all settings that change an answer, beside the question, as JSON values."""
    strategy = prepared.strategy if isinstance(prepared.strategy, str) else strategy_name(prepared.strategy)
    kit, retriever = prepared.kit, prepared.searched
    limited = kit.retriever if isinstance(kit.retriever, Filtered) else None
    limits = None if limited is None else limited.limits()
    searched = None if retriever is None else type(retriever).__name__
    if isinstance(retriever, Index):
        searched = retriever.shown if is_served(retriever.path) else str(retriever.path.absolute())
    elif isinstance(retriever, InMemory):
        searched = content_id("m", *(f"{p.id} {p.text}" for p in retriever.passages))
    return {
        "strategy": strategy,
        "options": {name: _plain(value) for name, value in prepared.options.items()},
        "model": kit.model.name,
        "roles": {role: model.name for role, model in sorted(kit.roles.items())},
        "index or passages": searched,
        "limits": _plain(limits),
        **({"mute": list(limited.mute)} if limited is not None and limited.mute else {}),
        **({"each_source": True} if prepared.each_source else {}),
        "checks": [prepared.verify, prepared.strict, prepared.min_confidence],
    }


def _is_ours(database: sqlite3.Connection) -> bool:
    [owner] = database.execute("PRAGMA application_id").fetchone()
    return bool(owner == _APPLICATION or not (owner or tables_of(database)))


def _plain(value: Any) -> Any:
    return json.loads(json.dumps(value, sort_keys=True, default=str))


def _digest(body: str) -> str:
    return blake2b(body.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
