"""One state of an index, mapped for searching: the segments that a manifest names.

Reading takes no lock. A reader keeps its view until the manifest changes, and maps only the segments that
are new to it. A commit is in the record a moment before `manifest.json` names it: a reader that opens the
index, or that reads rows of the record, takes the newer of the two, so that searches and rows agree.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from disputatio.errors import InputError, StoreError
from disputatio.store.contract import Sketches, nearest
from disputatio.store.record import manifest as manifests
from disputatio.store.record.database import reading
from disputatio.store.record.manifest import SEGMENTS, Manifest
from disputatio.types import Unsearched

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from disputatio.store.segments.array_files import Hashed, Verification
    from disputatio.store.segments.searcher import Searcher
    from disputatio.store.segments.segment import Segment
    from disputatio.types import Passage

_TRIES = 50
_MOST_NEARBY = 1_000  # passages of a document in one segment that are read to find those nearby
WAITED_FOR = 512 << 20  # bytes of arrays that are compared with their hashes before a search is answered


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """A manifest with what it names: marks of dead rows, and of several indexes `parts` and `unsearched`."""

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
            rows = segment.of_documents([passage.document])
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
            return _opened(path, stamp, manifest, last)
        except StoreError:
            if manifests.stamp(path) == stamp:
                raise
            time.sleep(0.001)
    raise StoreError(f"{path}: changes too fast to be read; try again")


def _newer(path: Path, manifest: Manifest) -> Manifest:
    """Return the manifest of the record where it is newer; a damaged record does not stop a search."""
    with contextlib.suppress(StoreError), reading(path) as record:
        return max(manifest, record.manifest(), key=lambda known: known.number)
    return manifest


def advance(view: View, committed: Manifest) -> View:
    """Return a newer commit of the same index; raises `StoreError` where it is gone already."""
    return _opened(view.path, view.stamp, committed, view)


def _opened(path: Path, stamp: tuple[int, int, int], manifest: Manifest, last: View | None) -> View:
    from disputatio.store.record.transaction import read_dead, stemming
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
        searcher=Searcher(segments, dead_rows, language=stemming(manifest.language)),
        verification=Verification(
            [file for segment in segments for file in segment.unverified if file not in verified]
        ),
    )
