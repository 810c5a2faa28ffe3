"""A thread with an event loop, in which an endpoint's calls run.

Callers are plain threads and stay so. The loop is what lets a deadline, or Ctrl-C, end a call at
once wherever it waits; a pool of blocking threads cannot be interrupted in a read.
"""

from __future__ import annotations

import asyncio
import queue
import threading
import weakref
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager
from typing import Any, Generic, TypeVar

from disputatio.cancel import Cancel

_Client = TypeVar("_Client")
_Result = TypeVar("_Result")
_Report = TypeVar("_Report")


class Loop(Generic[_Client]):
    """Runs coroutines over one client, which is opened and closed inside the loop's thread.

    The thread ends with `close()`, when the loop is no longer referred to, or at exit.
    """

    def __init__(self, opens: Callable[[], AbstractAsyncContextManager[_Client]], name: str) -> None:
        ready: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event, _Client]] = Future()
        thread = threading.Thread(target=_serve, args=(opens, ready), name=name, daemon=True)
        thread.start()
        self._loop, stop, self.client = ready.result()
        self.close = weakref.finalize(self, _stop, self._loop, stop, thread)

    def run(
        self,
        work: Callable[[Callable[[_Report], None]], Coroutine[Any, Any, _Result]],
        on_report: Callable[[_Report], None],
        cancel: Cancel,
    ) -> _Result:
        """Return what the coroutine returns that `work` makes; it is cancelled when the wait for it is
        interrupted.

        `work` gets a function that may be called with reports, which `on_report` hears in the caller's
        thread. Raises `Cancelled`.
        """
        reports: queue.SimpleQueue[tuple[_Report] | None] = queue.SimpleQueue()
        future = asyncio.run_coroutine_threadsafe(work(lambda report: reports.put((report,))), self._loop)
        future.add_done_callback(lambda _: reports.put(None))
        try:
            with cancel.calling(lambda: reports.put(None)):
                while (report := reports.get()) is not None:
                    on_report(*report)
                cancel.check()
                return future.result()
        finally:
            future.cancel()


def _serve(
    opens: Callable[[], AbstractAsyncContextManager[_Client]],
    ready: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event, _Client]],
) -> None:
    async def main() -> None:
        stop = asyncio.Event()
        async with opens() as client:
            ready.set_result((asyncio.get_running_loop(), stop, client))
            await stop.wait()

    try:
        asyncio.run(main())
    except Exception as error:  # handed to the thread that waits for `ready`, never dropped
        if ready.done():
            raise
        ready.set_exception(error)


def _stop(loop: asyncio.AbstractEventLoop, stop: asyncio.Event, thread: threading.Thread) -> None:
    loop.call_soon_threadsafe(stop.set)
    if threading.current_thread() is not thread:
        thread.join(timeout=5.0)
