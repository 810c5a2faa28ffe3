"""The folders of an index: one, or several whose segments make one searcher; one that cannot be read is left
out and reported (`Folders.unsearched`), and tried again by the next search.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from disputatio.errors import InputError, StoreError
from disputatio.store.contract import Sketches, nearest
from disputatio.store.record import manifest as manifests
from disputatio.store.record.database import RecordFile, open_record
from disputatio.store.record.manifest import SEGMENTS, Manifest, read_note
from disputatio.store.reliabilities import (
    estimates_with_staleness,
    get_change_time,
    pool_estimates,
    read_reliabilities,
)
from disputatio.types import Source, Unsearched

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from disputatio.store.segments.array_files import Hashed, Verification
    from disputatio.store.segments.searcher import Searcher
    from disputatio.store.segments.segment import Segment
    from disputatio.types import Passage

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
        """Return the newest state, None where nothing is; raises where no folder can be searched or two
        differ.
        """
        with self._lock:
            if len(self.paths) == 1:
                self._view = open_view(self.paths[0], self._view)
            else:
                self._view = self._open_all()
            return self._view

    def check_view(self) -> View | None:
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
                    self._damaged[part.path] = part, get_change_time(part.path), error
                    break
            else:
                return view

    def records(self) -> Iterator[RecordFile]:
        """Yield the record of each folder, open for reading; raises `StoreError` where one is damaged.

        Later searches show the commit that it is read at, or a newer one.
        """
        view = self.view()
        for part in () if view is None else view.parts or (view,):
            with open_record(part.path) as record:
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
                self._damaged[part.path] = part, get_change_time(part.path), error
        return pool_estimates(known)

    def reliabilities(self) -> dict[str, float]:
        if len(self.paths) == 1:
            return read_reliabilities(self.paths[0])
        known = self.estimates().items()
        return {name: source.reliability for name, source in known if source.reliability is not None}

    def _open_all(self) -> View:
        parts, unsearched = [], []
        for path in self.paths:
            try:
                part = open_view(path, self._parts.get(path))
                if part is None:
                    raise StoreError(f"{path}: {_NOTHING}")
                damaged = self._damaged.get(path)
                self._parts[path] = part
                if damaged is not None and damaged[0] is part and damaged[1] == get_change_time(path):
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
    from disputatio.store.record.transaction import choose_stemmer
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
    dead = tuple(_mark_repeated(parts))
    return View(
        path=path,
        stamp=first.stamp,
        manifest=_sum_manifests([part.manifest for part in parts]),
        segments=segments,
        dead=dead,
        searcher=Searcher(segments, dead, language=choose_stemmer(first.manifest.language)),
        verification=Verification(()),
        parts=tuple(parts),
        unsearched=unsearched,
    )


def _sum_manifests(manifests: list[Manifest]) -> Manifest:
    return replace(
        manifests[0],
        number=sum(each.number for each in manifests),
        documents=sum(each.documents for each in manifests),
        passages=sum(each.passages for each in manifests),
        files=sum(each.files for each in manifests),
        segments=tuple(entry for each in manifests for entry in each.segments),
    )


def _mark_repeated(parts: list[View]) -> Iterator[NDArray[np.bool_] | None]:
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
    import numpy as np

    ids = [np.zeros(0, dtype=np.uint64)]
    for segment, dead in zip(part.segments, part.dead, strict=True):
        hashes, rows = segment.ids
        ids.append(hashes if dead is None else hashes[~dead[rows]])
    return np.concatenate(ids)


# --- One state ----------------------------------------------------------------------------------------
_TRIES = 50
_MOST_NEARBY = 1_000  # passages of a document in one segment that are read to find those nearby
WAITED_FOR = 512 << 20  # bytes of arrays that are compared with their hashes before a search is answered


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """A manifest with what it names: marks of dead rows, and of several indexes `parts` and `unsearched`.

    Reading takes no lock. A commit is in the record a moment before `manifest.json` names it: a reader that
    opens the index, or that reads rows of the record, takes the newer of the two, so that searches and rows
    agree.
    """

    path: Path
    stamp: tuple[int, int, int]
    manifest: Manifest
    segments: tuple[Segment, ...]
    dead: tuple[NDArray[np.bool_] | None, ...]
    searcher: Searcher
    verification: Verification
    parts: tuple[View, ...] = ()
    unsearched: tuple[Unsearched, ...] = ()

    def check(self) -> None:
        """Raise `StoreError` for a changed file, once it is known: at once where there are few bytes."""
        self.verification.check(wait=self.verification.bytes <= WAITED_FOR)

    def passage(self, passage_id: str) -> Passage:
        for segment, dead in zip(self.segments, self.dead, strict=True):
            row = int(segment.find([passage_id])[0])
            if row >= 0 and (dead is None or not dead[row]):
                passage = segment.passage(row)
                if passage.id == passage_id:
                    return passage
        raise InputError(f"{self.path}: there is no passage {passage_id!r}")

    def around(self, passage: Passage, count: int) -> tuple[list[Passage], list[Passage]]:
        """Return up to `count` passages before and after one, in the order of its document."""
        if not passage.document or not count:
            return [], []
        passages: list[Passage] = []
        for segment, dead in zip(self.segments, self.dead, strict=True):
            rows = segment.find_by_field("document", [passage.document])
            rows = rows if dead is None else rows[~dead[rows]]
            if len(rows) > _MOST_NEARBY:  # a document's passages were put in its order
                own = int(segment.find([passage.id])[0])
                at = int(rows.searchsorted(max(own, 0)))
                rows = rows[max(0, at - _MOST_NEARBY // 2) : at + _MOST_NEARBY // 2]
            passages += segment.passages(rows) if len(rows) else []
        return nearest(passages, passage, count)

    def counts(self) -> dict[str, int]:
        import numpy as np

        counts: dict[str, int] = {}
        for segment, dead in zip(self.segments, self.dead, strict=True):
            rows = segment.source_of if dead is None else segment.source_of[~dead]
            counts_here = np.bincount(rows, minlength=len(segment.sources)).tolist()
            for name, count in zip(segment.sources, counts_here, strict=True):
                if count:
                    counts[name] = counts.get(name, 0) + count
        return counts

    def draw(self, sources: Sequence[str], per_source: int, salt: int) -> list[Passage]:
        """Draw up to `per_source` passages of each source at random, source by source; a salt fixes them."""
        import numpy as np

        rows_of: dict[str, list[tuple[int, int, int]]] = {name: [] for name in sources}
        for segment_number, (segment, dead) in enumerate(zip(self.segments, self.dead, strict=True)):
            hashes = (segment.stored.sums.astype(np.uint64) + np.uint64(1)) * np.uint64(salt)
            hashes = (hashes ^ (hashes >> np.uint64(31))) * np.uint64(0x9E3779B97F4A7C15)
            for number, name in enumerate(segment.sources):
                if name in rows_of:
                    mine = segment.source_of == number
                    rows = np.flatnonzero(mine if dead is None else mine & ~dead)
                    best = rows[np.argsort(hashes[rows], kind="stable")[:per_source]]
                    rows_of[name] += [(int(hashes[row]), segment_number, int(row)) for row in best.tolist()]
        return [
            self.segments[segment_number].passage(row)
            for name in sources
            for _, segment_number, row in sorted(rows_of[name])[:per_source]
        ]

    def sketches(self, sources: Sequence[str]) -> Sketches:
        import numpy as np

        from disputatio.store.segments.minhash import BINS

        column = {name: number for number, name in enumerate(sources)}
        rows = [np.zeros((0, BINS), dtype=np.uint8)]
        of_rows = [np.zeros(0, dtype=np.int64)]
        for segment, dead in zip(self.segments, self.dead, strict=True):
            table = np.array([column.get(name, -1) for name in segment.sources], dtype=np.int64)
            of = table[segment.source_of]
            included = of >= 0 if dead is None else (of >= 0) & ~dead
            rows.append(segment.sketches[included])
            of_rows.append(of[included])
        return Sketches(np.concatenate(rows), np.concatenate(of_rows))

    def states(self) -> dict[str, str]:
        """Return one word a source that changes with its passages, whatever their order or segments."""
        import numpy as np

        sums: dict[str, int] = {}
        for segment, dead in zip(self.segments, self.dead, strict=True):
            hashes = segment.stored.sums.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
            hashes = (hashes ^ (hashes >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
            rows = segment.source_of if dead is None else segment.source_of[~dead]
            totals = np.zeros(len(segment.sources), dtype=np.uint64)
            np.add.at(totals, rows, hashes if dead is None else hashes[~dead])
            for name, total in zip(segment.sources, totals.tolist(), strict=True):
                sums[name] = (sums.get(name, 0) + total) % 2**64
        return {name: f"{count}-{sums[name]:016x}" for name, count in self.counts().items()}


def open_view(path: Path, last: View | None = None) -> View | None:
    """Return the index as it is now: `last` if nothing has changed, None without one; raises `StoreError`."""
    for _ in range(_TRIES):
        stamp = manifests.stamp(path)
        if stamp is not None and last is not None and stamp == last.stamp:
            return last
        manifest = manifests.read(path)
        if manifest is None or stamp is None:
            return None
        if last is None:
            manifest = _newer(path, manifest)
        try:
            return _open_state(path, stamp, manifest, last)
        except StoreError:
            if manifests.stamp(path) == stamp:
                raise
            time.sleep(0.001)
    raise StoreError(f"{path}: changes too fast to be read; try again")


def _newer(path: Path, manifest: Manifest) -> Manifest:
    """Return the manifest of the record where it is newer; a damaged record does not stop a search."""
    with contextlib.suppress(StoreError), open_record(path) as record:
        return max(manifest, record.manifest(), key=lambda known: known.number)
    return manifest


def advance(view: View, committed: Manifest) -> View:
    """Return a newer commit of the same index; raises `StoreError` where it is gone already."""
    return _open_state(view.path, view.stamp, committed, view)


def _open_state(path: Path, stamp: tuple[int, int, int], manifest: Manifest, last: View | None) -> View:
    from disputatio.store.record.transaction import choose_stemmer, read_dead
    from disputatio.store.segments.array_files import Verification
    from disputatio.store.segments.searcher import Searcher
    from disputatio.store.segments.segment import Segment

    manifests.check_whole(path, manifest)
    known: dict[str, Segment] = {}
    marks: dict[str, NDArray[np.bool_] | None] = {}
    if last is not None:
        for entry, segment, dead in zip(last.manifest.segments, last.segments, last.dead, strict=True):
            known[entry.name], marks[f"{entry.name}/{entry.dead}"] = segment, dead
    verified: frozenset[Hashed] = frozenset() if last is None else last.verification.verified
    segments, dead_rows = [], []
    for entry in manifest.segments:
        folder = path / SEGMENTS / entry.name
        segment = known.get(entry.name) or Segment.open(folder, entry.files)
        if segment.rows != entry.rows:
            raise StoreError(
                f"{folder}: does not fit the manifest; run: disputatio index check --index {path}"
            )
        segments.append(segment)
        key = f"{entry.name}/{entry.dead}"
        dead_rows.append(marks[key] if key in marks else read_dead(path, entry))
    return View(
        path=path,
        stamp=stamp,
        manifest=manifest,
        segments=tuple(segments),
        dead=tuple(dead_rows),
        searcher=Searcher(segments, dead_rows, language=choose_stemmer(manifest.language)),
        verification=Verification(
            [file for segment in segments for file in segment.unverified if file not in verified]
        ),
    )
