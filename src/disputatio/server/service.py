"""The server without HTTP: questions over one index and one engine, and their answers."""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack, aclosing, suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

from disputatio.api.indexing import Index
from disputatio.api.request import Prepared, Request, prepare
from disputatio.api.streaming import events_of
from disputatio.config import Settings
from disputatio.errors import BudgetSpent, Cancelled, DisputatioError, InputError, StoreError, UnknownName
from disputatio.events import Answered
from disputatio.kit import Kit
from disputatio.parts import build_kit
from disputatio.pipeline import DEFAULT_STRATEGY, load_strategy, strategy_names
from disputatio.protocols import Deadline
from disputatio.server.answer_store import AnswerStore
from disputatio.server.audit_log import AuditLog
from disputatio.server.changes import ChangeLog, What
from disputatio.server.faults import Full, NotAllowed, NotFound, shown
from disputatio.server.jobs import Jobs
from disputatio.server.metrics import Metrics
from disputatio.server.options import Access, Limits, StorageOptions
from disputatio.server.running import Running
from disputatio.server.suggestions import Suggestions
from disputatio.server.turns import Turns
from disputatio.server.uploads import Uploads
from disputatio.spending import Prices, read_prices
from disputatio.trace import Trace
from disputatio.types import Answer

_RAISE = "raise the budget of this question, or read fewer passages"
_READING = 0.9  # of the seconds that a question may take, after which it is answered from what was read
LOG = logging.getLogger("disputatio.server")
_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True, kw_only=True)
class AskRequest(Request):
    """One question of a client; a field that is None has the value that the server was started with.

    `strategy` and `model` are among those that the service offers. `passages` are read in place of the index.
    `calls`, `tokens` and `seconds` bound what it may cost, within the server's own limits. `asked` and
    `follows` are as in `Running`; `note` says why a follow-up could not be made to stand alone.
    """

    question: str
    strategy: str | None = None
    model: str | None = None
    calls: int | None = None
    tokens: int | None = None
    seconds: float | None = None
    asked: str = ""
    follows: str | None = None
    note: str = ""


class Service:
    """Questions over one index and one engine, in fair turns; answers are stored.

    Start it in the loop that it is used in (`async with service`), or let `create_app` do so.
    """

    def __init__(
        self,
        *,
        kit: Kit,
        index: Index | None,
        settings: Settings,
        limits: Limits | None = None,
        access: Access | None = None,
        keeping: StorageOptions | None = None,
        kits: Mapping[str, Kit] | None = None,
        prices: Prices | None = None,
    ) -> None:
        """Create the service; `kits` has the other models that a client may choose, by name."""
        self.index, self.settings = index, settings
        self.limits, self.access = limits or Limits(), access or Access()
        self.keeping = keeping or StorageOptions()
        self.kits = {kit.model.name: kit, **(kits or {})}
        self.kit = kit
        self.prices = prices or read_prices()
        self.answers = AnswerStore(self.keeping.answers, days=self.keeping.days, most=self.keeping.most)
        self.changes = self._open_changes()
        self.turns = Turns(
            at_once=self.limits.in_flight, waiting=self.limits.waiting, waiting_each=self.limits.waiting_each
        )
        self.suggestions = Suggestions(self.kit, self.answers, self.turns, self.limits.suggestions)
        self.readings = Turns(
            "searches and lists",
            guess=1.0,
            at_once=self.limits.reading,
            waiting=self.limits.waiting,
            waiting_each=self.limits.waiting_each,
        )
        self.closing = False
        self.jobs = Jobs()
        folder = self.keeping.uploads if self.access.writing else None
        self.uploads = None if folder is None else Uploads(folder, self.keeping.upload_bytes)
        self.staging = asyncio.Lock()  # one upload at a time is written to the folder
        self.metrics = Metrics(self.turns)
        self.audit = None if self.keeping.audit is None else AuditLog(self.keeping.audit)
        self.notice: dict[str, Any] | None = None
        self._running: dict[str, Running] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def _open_changes(self) -> ChangeLog:
        """Open the record of changes; a server that does not write reads what the command line refused."""
        path = self.keeping.changes
        if self.access.writing:
            return ChangeLog(path)
        try:
            return ChangeLog(path if path is not None and path.exists() else None)
        except StoreError as error:
            LOG.warning("what was refused cannot be shown: %s", shown(str(error)))
            return ChangeLog(None)

    @classmethod
    def open(
        cls,
        settings: Settings,
        *,
        limits: Limits | None = None,
        access: Access | None = None,
        keeping: StorageOptions | None = None,
        models: tuple[str, ...] = (),
        prices: Prices | None = None,
    ) -> Service:
        """Create the service that settings describe; `models` are others that a client may choose.

        Raises `StoreError` if there is no index and writing is not allowed, `ConfigError` for an unknown
        model.
        """
        load_strategy(settings.strategy)
        notices = _Notices()
        kits = {name: build_kit(settings.model_copy(update={"model": name})) for name in models}
        create = access is not None and access.writing
        service = cls(
            kit=build_kit(settings, say=notices.say, progress=notices.progress),
            kits=kits,
            index=Index.open(settings.index, create=create),
            settings=settings,
            limits=limits,
            access=access,
            keeping=keeping,
            prices=prices,
        )
        notices.send = service.note
        return service

    def note(self, message: str, done: int | None = None, total: int | None = None) -> None:
        """Record a notice for clients that wait, such as the progress of a download.

        An empty message, and the last byte of a download, end it.
        """
        over = not message or (total is not None and done is not None and done >= total)
        self.notice = None if over else {"message": shown(message), "done": done, "total": total}

    def require_index(self) -> Index:
        """Return the index; raises `StoreError` if the server has none."""
        if self.index is None:
            raise StoreError("this server has no index")
        return self.index

    def check_writing(self) -> None:
        """Raise `NotAllowed` unless the server may write to its index."""
        if not self.access.writing:
            raise NotAllowed("this server does not write to its index: start it with --allow-writing")

    def note_change(
        self,
        what: What,
        *,
        client: str,
        document: str = "",
        title: str = "",
        detail: str = "",
        undo: Mapping[str, Any] | None = None,
    ) -> int:
        """Record a change that a client made, in the audit log too where there is one; return its number."""
        if self.audit is not None:
            self.audit.write(what, client=client, document=document, title=title, detail=detail)
        return self.changes.add(what, client=client, document=document, title=title, detail=detail, undo=undo)

    async def read(self, work: Callable[[], _Result], *, client: str = "") -> _Result:
        """Do in a thread what takes long, such as a search, when it is its turn; raises `Full`."""
        async with self.readings.turn(client):
            return await asyncio.to_thread(work)

    async def sweep_uploads(self) -> None:
        """End the uploads that a kill cut off; on an error of the index the next start tries again."""
        if self.uploads is None or self.index is None:
            return
        try:
            await asyncio.to_thread(self.uploads.sweep, self.index)
        except (DisputatioError, OSError) as error:
            LOG.error("uploads that were cut off stay for the next start: %s", shown(str(error)))

    # --- asking ---------------------------------------------------------------------------------
    async def ask(self, request: AskRequest, *, client: str = "") -> Running:
        """Start to answer a question; see `Running.follow` and `Running.result`.

        Questions of one `client` share turns. Raises `DisputatioError` for an unfit question, and `Full`.
        """
        prepared = await self.prepare_apart(request, client=client)
        if self.closing:
            raise Full("the server is being stopped: ask again in a moment", 5.0)
        self.turns.check(client)
        running = Running(
            id=f"a{secrets.token_hex(12)}",
            question=request.question,
            strategy=str(prepared.strategy),
            client=client,
            abandoned=self.limits.abandoned,
            asked=request.asked or request.question,
            follows=request.follows,
            deadline=prepared.deadline,
        )
        self.suggestions.stop()
        self._write_audit("asked", running)  # a question that cannot be logged is not asked
        self._running[running.id] = running
        running.add("asked", {"id": running.id, "waiting": self.turns.waiting, **_show_rewriting(request)})
        task = asyncio.create_task(
            self._answer(
                running,
                prepared,
                self.limits.within(request.calls, request.tokens, request.seconds),
                own_limit=request.seconds is None,
            )
        )
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return running

    def find_running(self, name: str) -> Running:
        if name not in self._running:
            raise NotFound(f"no question {name!r} is running")
        return self._running[name]

    def stop(self, name: str) -> Running:
        """Stop a question, and end its model calls; raises `NotFound`."""
        running = self.find_running(name)
        running.cancel.cancel()
        return running

    def finish(self, name: str) -> Running:
        """Have a question answered from what was read by now; raises `NotFound` and `InputError`."""
        running = self.find_running(name)
        if running.deadline is None:
            raise InputError("this question has no deadline that could be moved: ask it with within")
        running.deadline.end()
        return running

    def prepare(self, request: AskRequest) -> Prepared:
        """Return the parts that answer a question; raises what is wrong with it, before anything is asked."""
        request = replace(request, strategy=self.strategy(request.strategy))
        return prepare(request, self.settings, lambda: self.kit_of(request.model), search=lambda: self.index)

    async def prepare_apart(self, request: AskRequest, *, client: str = "") -> Prepared:
        """Prepare in a thread, when it is its turn, where there is much to read for it; raises `Full`."""
        if request.passages is None and request.sources is None:
            return self.prepare(request)
        self.turns.check(client)
        return await self.read(lambda: self.prepare(request), client=client)

    def strategy(self, name: str | None) -> str:
        """Return a strategy that a client may choose, or the server's own; raises `UnknownName`."""
        if name is None or name == self.settings.strategy:
            return self.settings.strategy
        if name not in strategy_names():
            raise UnknownName("strategy", name, strategy_names())
        return name

    def kit_of(self, model: str | None) -> Kit:
        """Return the parts with a model that a client may choose; raises `UnknownName` for another."""
        if model is None:
            return self.kit
        if model not in self.kits:
            raise UnknownName("model", model, self.kits)
        return self.kits[model]

    async def _answer(self, running: Running, prepared: Prepared, limits: Limits, *, own_limit: bool) -> None:
        """Wait for a turn, answer, and store the answer; the question ends whatever happens.

        Its seconds are the server's own limit, or what the client allows.
        """
        loop = asyncio.get_running_loop()
        task = asyncio.current_task()

        def end_wait() -> None:
            loop.call_soon_threadsafe(_cancel, task, running)

        late = None if prepared.deadline is None else prepared.deadline.left
        try:
            async with AsyncExitStack() as turn:
                with running.cancel.calling(end_wait), suppress(TimeoutError):
                    async with asyncio.timeout(late):
                        in_turn = self.turns.turn(running.client, running.add_place)
                        running.waited = await turn.enter_async_context(in_turn)
                running.state = "running"
                if prepared.deadline is None and prepared.strategy == DEFAULT_STRATEGY and own_limit:
                    # What was read is not thrown away at the server's own limit.
                    prepared = replace(prepared, deadline=Deadline(limits.seconds * _READING))
                await self._add_events(running, prepared, limits)
            running.finish("answered")
        except Cancelled as error:
            running.finish("stopped", error)
        except asyncio.CancelledError:
            running.finish("stopped", Cancelled())
            if not running.cancel.cancelled:
                raise
        except DisputatioError as error:
            running.finish("failed", error)
        except Exception as error:
            LOG.exception("a question failed: unexpected error")
            running.finish("failed", error)
        finally:
            self.metrics.count_ended(running, time.perf_counter() - running.began)
            try:
                self._write_audit("ended", running)
            except StoreError as error:
                LOG.error("the end of a question could not be logged: %s", shown(str(error)))
            loop.call_later(self.limits.linger, self._running.pop, running.id, None)

    async def _add_events(self, running: Running, prepared: Prepared, limits: Limits) -> None:
        """Answer, and add a frame for each event; the answer is stored before its frame is added."""
        meter = limits.meter()
        counted = replace(prepared, kit=meter.wrap(prepared.kit))
        events = events_of(
            running.question, lambda: counted, trace=Trace(keep_text=True), cancel=running.cancel
        )
        try:
            async with asyncio.timeout(limits.seconds), aclosing(events):
                async for event in events:
                    if meter.stopped:
                        raise BudgetSpent(meter.stopped)
                    if isinstance(event, Answered):
                        await self._keep(running, event.answer)
                    running.add_event(event)
        except BudgetSpent as error:
            raise BudgetSpent(f"{error}: {_RAISE}") from error
        except TimeoutError as error:
            late = f"this question may take {limits.seconds:g} s, and was not answered by then"
            raise BudgetSpent(f"{late}: {_RAISE}") from error
        if running.answer is None:
            raise Cancelled

    async def _keep(self, running: Running, answer: Answer) -> None:
        """Store an answer; if that fails, clients get it all the same, and a frame that says so."""
        try:
            await asyncio.to_thread(self.answers.keep, running.id, answer)
            if running.follows is not None:
                turn = {"follows": running.follows, "asked": running.asked, "client": running.client}
                await asyncio.to_thread(partial(self.answers.keep_turn, running.id, **turn))
            running.kept = True
        except StoreError as error:
            LOG.error("an answer could not be kept: %s", shown(str(error)))
            running.add("unkept", {"message": shown(str(error))})

    def _write_audit(self, what: str, running: Running) -> None:
        if self.audit is not None:
            fields = {"id": running.id, "client": running.client, "question": running.question}
            self.audit.write(what, **fields, strategy=running.strategy, state=running.state)

    # --- shutdown -------------------------------------------------------------------------------
    async def close(self) -> None:
        """Refuse new questions, wait for running ones within the grace period, and stop the others."""
        self.closing = True
        self.suggestions.stop()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=self.limits.grace)
        for running in list(self._running.values()):
            running.cancel.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=1.0)
        await self.jobs.close(5.0)
        if self.uploads is not None:
            self.uploads.close()
        self.answers.close()
        self.changes.close()
        if self.audit is not None:
            self.audit.close()


def _show_rewriting(request: AskRequest) -> dict[str, str]:
    """Return the question as it is asked, where that is another than the user wrote, and the note."""
    stated = {"question": request.question} if request.asked not in ("", request.question) else {}
    return {**stated, **({"note": request.note} if request.note else {})}


class _Notices:
    """Notices of a kit, passed on to the service that is created after it."""

    def __init__(self) -> None:
        self.send: Callable[[str, int | None, int | None], None] = lambda *_: None

    def say(self, message: str) -> None:
        self.send(message, None, None)

    def progress(self, done: int, total: int, what: str) -> None:
        """Pass on the bytes of a download."""
        self.send(what, done, total or None)


def _cancel(task: asyncio.Task[None] | None, running: Running) -> None:
    """Cancel the wait for a turn; a running question is stopped by its own `Cancel`."""
    if task is not None and running.state == "waiting":
        task.cancel()
