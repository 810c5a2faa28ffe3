"""Files and folders looked after: the root that holds a change is ingested again, so a file gets the same
source, and meets the same checks, as in a first ingest; what goes leaves the index.
"""

from __future__ import annotations

import importlib.util
import queue
import threading
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from disputatio.errors import IndexBusy, IngestError, InputError, MissingDependency
from disputatio.store.ingesting.files import display_path, find_files, is_gone
from disputatio.store.ingesting.options import DEFAULT, ReadOptions

if TYPE_CHECKING:
    from disputatio.store.contract import Index
    from disputatio.store.ingesting.ingest import IngestSummary, Refusal

_TICK = 0.25  # seconds at most until a stop is noticed
_WILD = frozenset("*?[")


def watch(
    index: Index,
    paths: Sequence[str | Path],
    *,
    options: ReadOptions = DEFAULT,
    debounce: float = 1.0,
    retry: float = 2.0,
    on_summary: Callable[[IngestSummary], None] = lambda _: None,
    on_refused: Callable[[Sequence[Refusal], Sequence[Path]], None] = lambda *_: None,
    stop: threading.Event,
) -> None:
    """Ingest files, folders and patterns, and again whatever changes in them, until `stop` is set.

    A change waits until nothing has changed for `debounce` seconds, ten times that at most. While
    another process writes to the index, it is tried again every `retry` seconds. `on_summary` is called with
    the summary of the first ingest and of every later one that did something; a refusal is told once, and
    again when its file has changed. `on_refused` is called at first and whenever that changes, with all that
    is now refused of some paths, and these. Documents of a file that goes are removed; not so when a whole
    root goes, which may be a disk that was unplugged.

    Raises `InputError` for a path that is not there or cannot be watched, `StoreError` as
    `Index.ingest` does, but for a busy writer.
    """
    if importlib.util.find_spec("watchfiles") is None:
        raise MissingDependency("watchfiles", "store")
    roots = [_Root(Path(path), index.path, options) for path in paths]
    if not roots:
        raise InputError("name a file or a folder to watch")
    reported: frozenset[tuple[str, str, str]] = frozenset()
    waiting: set[Path] = set()
    due, first = list(roots), True
    with _Watcher(roots) as watcher:
        while not stop.is_set():
            changed = watcher.changes(0 if first else debounce, stop, wait=not due)
            due = [root for root in roots if root in due or any(root.holds(path) for path in changed)]
            waiting |= changed
            if not due:
                continue
            try:
                summary = _ingest(index, due, options)
            except IndexBusy:
                stop.wait(retry)
                continue
            now = frozenset(refusal[:3] for refusal in summary.refused)
            news = [
                refusal
                for refusal in summary.refused
                if refusal[:3] not in reported or _is_of(refusal.path, waiting)
            ]
            others = {
                known for known in reported if not any(root.holds(Path(known[0]).resolve()) for root in due)
            }
            if first or now | others != reported:
                on_refused(summary.refused, [root.path for root in due])
            reported, summary = now | others, replace(summary, refused=tuple(news))
            if first or summary.added or summary.replaced or summary.removed or summary.refused:
                on_summary(summary)
            due, first, waiting = [], False, set()


class _Root:
    """A path that is watched: what holds it, and the files that were seen in it."""

    def __init__(self, path: Path, index: Path, options: ReadOptions) -> None:
        self.path, self._index, self._exclude = path, index.resolve(), options.exclude
        wild = next((at for at, part in enumerate(path.parts) if _WILD & set(part)), None)
        if path.exists() or wild is None:
            self.base = path.resolve()
        else:
            self.base = Path(*path.parts[:wild]).resolve()
        if not self.base.exists():
            raise InputError(f"{path}: no such file or folder")
        self.is_folder = self.base.is_dir()
        self._seen = self._files()

    def holds(self, path: Path) -> bool:
        """Return whether a change at a path may concern this root; hidden files and the index do not."""
        if path.is_relative_to(self._index) or not path.is_relative_to(self.base):
            return False
        return not any(part.startswith(".") for part in path.relative_to(self.base).parts)

    def look(self) -> set[str]:
        """Return the files that were seen and are no more, as the index names them; see `forget`."""
        if self.is_folder and not self.base.is_dir():
            return set()
        now = self._files()
        missing = {name: path for name, path in self._seen.items() if name not in now}
        self._seen |= now
        return {name for name, path in missing.items() if is_gone(path)}

    def forget(self, gone: Collection[str]) -> None:
        """Stop missing files that the index has let go of."""
        self._seen = {name: path for name, path in self._seen.items() if name not in gone}

    def _files(self) -> dict[str, Path]:
        try:
            files = [path.resolve() for path, _ in find_files(self.path, [], exclude=self._exclude)]
        except IngestError:
            return {}
        return {display_path(path): path for path in files}


def _ingest(index: Index, due: Sequence[_Root], options: ReadOptions) -> IngestSummary:
    """Return one ingest of the roots in which something changed; what went from them goes from the index."""
    summary = index.ingest_as([root.path for root in due], options)
    gone = {path for root in due for path in root.look()}
    if gone:
        removed = index.delete(paths=sorted(gone))
        summary = replace(summary, removed=summary.removed + removed)
        for root in due:
            root.forget(gone)
    return summary


def _is_of(name: str, paths: Collection[Path]) -> bool:
    """Return whether a refusal's name (a file, or a row or member of it) is that of one of the paths."""
    return any(
        name == (shown_path := display_path(path)) or name.startswith((f"{shown_path}:", f"{shown_path}/"))
        for path in paths
    )


class _Watcher:
    """Threads that collect changes, from before the first ingest on, also while one runs."""

    def __init__(self, roots: Sequence[_Root]) -> None:
        folders = {root.base for root in roots if root.is_folder}
        # A file is watched through its folder: editors put a new file in the old one's place.
        parents = {root.base.parent for root in roots if not root.is_folder}
        self._sets = [(paths, recursive) for paths, recursive in ((folders, True), (parents, False)) if paths]
        self._news: queue.Queue[set[Path] | Exception] = queue.Queue()
        self._stop = threading.Event()
        self._threads: list[threading.Thread] = []

    def __enter__(self) -> _Watcher:
        for paths, recursive in self._sets:
            ready = threading.Event()
            thread = threading.Thread(
                target=self._collect, args=(paths, recursive, ready), daemon=True, name="watch"
            )
            thread.start()
            self._threads.append(thread)
            ready.wait()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def changes(self, debounce: float, stop: threading.Event, *, wait: bool) -> set[Path]:
        """Return what changed since the last call, something if it is to `wait`; raises `InputError`."""
        folders: set[Path] = set()
        while wait and not folders and not stop.is_set():
            folders |= self._next(_TICK)
        last = start = time.monotonic()
        while not stop.is_set() and time.monotonic() < min(last + debounce, start + 10 * debounce):
            more = self._next(min(_TICK, debounce))
            folders |= more
            if more:
                last = time.monotonic()
        return folders

    def _next(self, seconds: float) -> set[Path]:
        try:
            news = self._news.get(timeout=seconds)
        except queue.Empty:
            return set()
        if isinstance(news, Exception):
            raise InputError(f"the files cannot be watched ({str(news)[:200]})") from news
        return news

    def _collect(self, paths: Collection[Path], recursive: bool, ready: threading.Event) -> None:
        import watchfiles

        try:
            for changes in watchfiles.watch(
                *paths,
                watch_filter=None,
                debounce=200,
                step=50,
                rust_timeout=200,
                yield_on_timeout=True,  # so that the first turn says that the system listens
                recursive=recursive,
                ignore_permission_denied=True,
                stop_event=self._stop,
            ):
                if changes:
                    self._news.put({Path(path) for _, path in changes})
                ready.set()
        except Exception as error:  # noqa: BLE001  (raised again by the thread that waits for changes)
            self._news.put(error)
        finally:
            ready.set()
