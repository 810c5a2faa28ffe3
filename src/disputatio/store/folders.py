"""The folders of an index: one, or several whose segments make one searcher; one that cannot be read is left
out and reported (`Folders.unsearched`), and tried again by the next search.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from disputatio.errors import InputError, StoreError
from disputatio.store.record.database import RecordFile, reading
from disputatio.store.record.manifest import Manifest, read_note
from disputatio.store.reliabilities import (
    changed_at,
    estimates_with_staleness,
    pool_estimates,
    read_reliabilities,
)
from disputatio.store.segments.view import View, advance, open_view
from disputatio.types import Source, Unsearched

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_NOTHING = "there is no index here; make one with: disputatio ingest PATH"


class Folders:
    """One state of one or of several folders at a time; may be used by several threads."""

    def __init__(self, paths: tuple[Path, ...]) -> None:
        self.paths = paths
        self._name = Path(",".join(map(str, paths)))
        self._lock = threading.Lock()
        self._view: View | None = None
        self._parts: dict[Path, View] = {}
        self._damaged: dict[Path, tuple[View, int, StoreError]] = {}  # found after a folder was opened

    def note(self) -> dict[str, Any] | None:
        """Return embedder and dimension of the first folder that can be read; raises where none can."""
        fault: StoreError | None = None
        for folder in self.paths:
            try:
                note = read_note(folder)
            except StoreError as error:
                fault = fault or error
            else:
                if note is not None:
                    return note
        if fault is not None:
            raise fault
        return None

    @property
    def unsearched(self) -> tuple[Unsearched, ...]:
        """Those of several folders that the state last opened leaves out."""
        return () if self._view is None else self._view.unsearched

    def view(self) -> View | None:
        """Return the newest state, None where nothing is; raises where no folder can be searched, or two do
        not fit.
        """
        with self._lock:
            if len(self.paths) == 1:
                self._view = open_view(self.paths[0], self._view)
            else:
                self._view = self._joined()
            return self._view

    def checked(self) -> View | None:
        """Return the newest state, compared with the hashes of its files (`View.check`); raises as `view`."""
        while True:
            view = self.view()
            if view is None or not view.parts:
                if view is not None:
                    view.check()
                return view
            for part in view.parts:
                try:
                    part.check()
                except StoreError as error:
                    self._damaged[part.path] = part, changed_at(part.path), error
                    break
            else:
                return view

    def records(self) -> Iterator[RecordFile]:
        """Yield the record of each folder, open for reading; raises `StoreError` where one is damaged.

        Later searches show the commit that it is read at, or a newer one.
        """
        view = self.view()
        for part in () if view is None else view.parts or (view,):
            with reading(part.path) as record:
                self._advance(part, record.manifest())
                yield record

    def _advance(self, part: View, committed: Manifest) -> None:
        with self._lock, contextlib.suppress(StoreError):  # what is gone again is published by now
            last = self._view if len(self.paths) == 1 else self._parts.get(part.path)
            if last is not None and last.manifest.number < committed.number:
                newer = advance(last, committed)
                if len(self.paths) == 1:
                    self._view = newer
                else:
                    self._parts[part.path] = newer

    def estimates(self) -> dict[str, Source]:
        """Return the estimates of each source (`estimates_with_staleness`), pooled over several folders."""
        view = self.view()
        if view is None or not view.parts:
            return estimates_with_staleness(self.paths[0], lambda: {} if view is None else view.states())
        known: list[Mapping[str, Source]] = []
        for part in view.parts:
            try:
                known.append(estimates_with_staleness(part.path, part.states))
            except StoreError as error:
                self._damaged[part.path] = part, changed_at(part.path), error
        return pool_estimates(known)

    def reliabilities(self) -> dict[str, float]:
        if len(self.paths) == 1:
            return read_reliabilities(self.paths[0])
        known = self.estimates().items()
        return {name: source.reliability for name, source in known if source.reliability is not None}

    def _joined(self) -> View:
        parts, unsearched = [], []
        for path in self.paths:
            try:
                part = open_view(path, self._parts.get(path))
                if part is None:
                    raise StoreError(f"{path}: {_NOTHING}")
                damaged = self._damaged.get(path)
                self._parts[path] = part
                if damaged is not None and damaged[0] is part and damaged[1] == changed_at(path):
                    raise damaged[2]
                self._damaged.pop(path, None)
            except StoreError as error:
                reason = str(error).removeprefix(f"{path}: ")
                unsearched.append(Unsearched(index=str(path), reason=reason))
            else:
                parts.append(part)
        if not parts:
            first = unsearched[0]
            raise StoreError(
                f"{self._name}: none of these {len(self.paths)} indexes can be searched; "
                f"{first.index}: {first.reason}"
            )
        last = self._view
        same = last is not None and list(map(id, last.parts)) == list(map(id, parts))
        if last is None or not same or last.unsearched != tuple(unsearched):
            return _join(self._name, parts, tuple(unsearched))
        return last


def _join(path: Path, parts: list[View], unsearched: tuple[Unsearched, ...]) -> View:
    """Join several states into one; raises `InputError` for different embedders or languages."""
    from disputatio.store.record.transaction import stemming
    from disputatio.store.segments.array_files import Verification
    from disputatio.store.segments.searcher import Searcher

    first = parts[0]
    for part in parts[1:]:
        for kind in ("embedder", "language"):
            ours, its = getattr(first.manifest, kind), getattr(part.manifest, kind)
            if ours != its:
                raise InputError(
                    f"{first.path} and {part.path} cannot be searched as one: the {kind} of one is "
                    f"{ours or 'none'}, of the other {its or 'none'}"
                )
    segments = tuple(segment for part in parts for segment in part.segments)
    dead = tuple(_repeated(parts))
    return View(
        path=path,
        stamp=first.stamp,
        manifest=_summed([part.manifest for part in parts]),
        segments=segments,
        dead=dead,
        searcher=Searcher(segments, dead, language=stemming(first.manifest.language)),
        verification=Verification(()),
        parts=tuple(parts),
        unsearched=unsearched,
    )


def _summed(manifests: list[Manifest]) -> Manifest:
    """Add up several manifests, for figures."""
    return replace(
        manifests[0],
        number=sum(each.number for each in manifests),
        documents=sum(each.documents for each in manifests),
        passages=sum(each.passages for each in manifests),
        files=sum(each.files for each in manifests),
        segments=tuple(entry for each in manifests for entry in each.segments),
    )


def _repeated(parts: list[View]) -> Iterator[NDArray[np.bool_] | None]:
    """Yield the dead rows of each segment, with passages that an earlier part holds as well."""
    import numpy as np

    known = [_live_ids(part) for part in parts]
    everything = np.sort(np.concatenate(known))
    twice = np.unique(everything[1:][everything[1:] == everything[:-1]])
    before = np.zeros(0, dtype=np.uint64)
    for part, ids in zip(parts, known, strict=True):
        for segment, dead in zip(part.segments, part.dead, strict=True):
            hashes, rows = segment.ids
            again = rows[np.isin(hashes, before)] if before.size else rows[:0]
            if not again.size:
                yield dead
                continue
            marks = np.zeros(segment.rows, dtype=np.bool_) if dead is None else dead.copy()
            marks[again] = True
            yield marks
        before = np.union1d(before, twice[np.isin(twice, ids)])


def _live_ids(part: View) -> NDArray[np.uint64]:
    """Return the hashes of the ids of a part's passages."""
    import numpy as np

    ids = [np.zeros(0, dtype=np.uint64)]
    for segment, dead in zip(part.segments, part.dead, strict=True):
        hashes, rows = segment.ids
        ids.append(hashes if dead is None else hashes[~dead[rows]])
    return np.concatenate(ids)
