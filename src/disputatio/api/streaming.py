"""Streams of a question's events, and answers for `await`."""

from __future__ import annotations

import inspect
import weakref
from collections.abc import AsyncGenerator, Callable
from concurrent.futures import Future
from contextlib import ExitStack, aclosing, suppress
from queue import SimpleQueue
from types import TracebackType
from typing import Any, ParamSpec, Self, TypeVar, cast

from disputatio.api.asking import ask, in_thread, prepare_arguments
from disputatio.api.request import Prepared
from disputatio.arguments import check_arguments
from disputatio.errors import Cancelled
from disputatio.events import Answered, Event, SideFormed, events_of_answer
from disputatio.protocols import Cancel
from disputatio.trace import Trace
from disputatio.types import Answer, Usage

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")


class _End:
    """The end of a stream, with the fault that ended it, if any."""

    def __init__(self, fault: BaseException | None = None) -> None:
        self.fault = fault


_Put = Callable[[Event | _End], None]


def _with_parameters_of(
    other: Callable[_Parameters, object],
) -> Callable[[Callable[..., _Result]], Callable[_Parameters, _Result]]:
    """Give a function the parameters of another one, for readers and type checkers."""

    def decorate(function: Callable[..., _Result]) -> Callable[_Parameters, _Result]:
        returns = inspect.signature(function).return_annotation
        signature = inspect.signature(other).replace(return_annotation=returns)
        described: Any = function
        described.__signature__ = signature  # what inspect looks at first
        return cast("Callable[_Parameters, _Result]", described)

    return decorate


class Stream:
    """The events of one question, as they happen; made by `stream`.

    An iterator: it raises what answering raises, and `Cancelled` after `cancel`. As a context it ends the
    question when it is left; so does dropping it. Answering runs in a thread of its own.
    """

    def __init__(
        self, question: str, prepared: Prepared, *, trace: Trace | None = None, cancel: Cancel | None = None
    ) -> None:
        """Start to answer."""
        self.trace: Trace = trace or Trace()
        self._answer: Answer | None = None
        self._over = False
        self._ends = ends = Cancel()
        self._items: SimpleQueue[Event | _End] = SimpleQueue()
        put = self._items.put  # the thread must not hold on to this object
        self._until_over = ExitStack()
        self._until_over.enter_context(ends.calling(lambda: put(_End())))
        if cancel is not None:
            self._until_over.enter_context(cancel.calling(ends.cancel))
        log = self.trace
        future = in_thread(lambda: _run(prepared, question, log, ends, put), "disputatio stream")
        future.add_done_callback(lambda done: put(_End(done.exception())))
        weakref.finalize(self, ends.cancel)

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Event:
        if self._over:
            raise StopIteration
        item = self._items.get()
        if self._ends.cancelled:
            self._finish()
            raise Cancelled
        if isinstance(item, _End):
            self._finish()
            if item.fault is not None:
                raise item.fault
            raise StopIteration
        if isinstance(item, Answered):
            self._answer = item.answer
        return item

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def answer(self) -> Answer | None:
        """Return the answer; None before its event."""
        return self._answer

    @property
    def usage(self) -> Usage:
        """Return the usage so far."""
        return self.trace.usage()

    def cancel(self) -> None:
        """End the question and its pending model calls, from any thread: the iterator raises `Cancelled`."""
        self._ends.cancel()

    def close(self) -> None:
        """End the question, if it is not over: the iterator stops."""
        self._finish()
        self._ends.cancel()

    def _finish(self) -> None:
        self._over = True
        self._until_over.close()


@_with_parameters_of(ask)
def stream(question: str, **arguments: Any) -> Stream:
    """Answer a question, and yield typed events (`disputatio.events`) as they happen.

    Each finished model call is one event. It takes what `ask` takes, and can be cancelled from another
    thread at once: by `Stream.cancel`, by leaving its context, or by `cancel=`. Raises `DisputatioError` for
    unfit arguments; the iterator raises faults of answering.
    """
    check_arguments(ask, {"question": question, **arguments})
    trace, cancel = arguments.pop("trace", None), arguments.pop("cancel", None)
    return Stream(question, prepare_arguments(arguments, question), trace=trace, cancel=cancel)


@_with_parameters_of(ask)
async def aask(question: str, **arguments: Any) -> Answer:
    """Await `ask`, which runs in a thread of its own; a cancelled task ends its model calls."""
    import asyncio

    check_arguments(ask, {"question": question, **arguments})
    ends = Cancel()
    outer: Cancel | None = arguments.pop("cancel", None)
    with ExitStack() as stack:
        if outer is not None:
            stack.enter_context(outer.calling(ends.cancel))
        answer = in_thread(lambda: ask(question, cancel=ends, **arguments), "disputatio aask")
        try:
            return await asyncio.wrap_future(answer)
        except asyncio.CancelledError:
            ends.cancel()
            raise


@_with_parameters_of(ask)
async def astream(question: str, **arguments: Any) -> AsyncGenerator[Event, None]:
    """Yield the events of `stream`; leaving the loop, or a cancelled task, ends its model calls."""
    check_arguments(ask, {"question": question, **arguments})
    outer: Cancel | None = arguments.pop("cancel", None)
    log: Trace = arguments.pop("trace", None) or Trace()
    stream_events = events_of(
        question, lambda: prepare_arguments(arguments, question), trace=log, cancel=outer
    )
    async with aclosing(stream_events) as events:
        async for event in events:
            yield event


async def events_of(
    question: str, prepared: Callable[[], Prepared], *, trace: Trace, cancel: Cancel | None = None
) -> AsyncGenerator[Event, None]:
    """Yield the events of one question; leaving the loop ends it.

    `prepared` is called in the thread of the question. Raises its errors, those of answering, and
    `Cancelled`.
    """
    import asyncio

    loop = asyncio.get_running_loop()
    items: asyncio.Queue[Event | _End] = asyncio.Queue()
    ends = Cancel()

    def put(item: Event | _End) -> None:
        with suppress(RuntimeError):  # the loop was closed
            loop.call_soon_threadsafe(items.put_nowait, item)

    def on_end(run: Future[None]) -> None:
        put(_End(run.exception()))

    with ExitStack() as stack:
        stack.enter_context(ends.calling(lambda: put(_End(Cancelled()))))
        if cancel is not None:
            stack.enter_context(cancel.calling(ends.cancel))
        work = in_thread(lambda: _run(prepared(), question, trace, ends, put), "disputatio astream")
        work.add_done_callback(on_end)
        try:
            while not isinstance(item := await items.get(), _End):
                yield item
            if item.fault is not None:
                raise item.fault
        finally:
            ends.cancel()


def _run(prepared: Prepared, question: str, log: Trace, ends: Cancel, put: _Put) -> None:
    """Answer a question, and put its public events; a side that has not changed is left out."""
    sides: dict[str, SideFormed] = {}

    def tell(event: Event) -> None:
        if not event.kind:
            return
        if isinstance(event, SideFormed):
            if sides.get(event.answer) == event:
                return
            sides[event.answer] = event
        put(event)

    with log.listening(tell):
        answer = prepared.answer(question, log, ends)
    for event in events_of_answer(answer):
        tell(event)
