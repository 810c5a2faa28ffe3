"""An index open for writing: rows and segments are written, and one commit of the record puts them in force.

Segments are flushed to the disk before the commit that names them; what the commit replaced goes once
`manifest.json` names the new state. Until then readers see neither new rows nor new segments.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import secrets
import shutil
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from disputatio import platforms
from disputatio.errors import MissingDependency, StoreError
from disputatio.store.record import manifest as manifests
from disputatio.store.record.database import RecordFile
from disputatio.store.record.layout import MERGE_MEMORY
from disputatio.store.record.manifest import (
    RECORD,
    SEGMENTS,
    Manifest,
    SegmentEntry,
    after,
    check_command,
    hash_file,
    report_faults,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from disputatio.store.ingesting.ingest import Fingerprint
    from disputatio.store.ingesting.prepare import PreparedDocument
    from disputatio.store.segments.segment import Segment
    from disputatio.types import Passage

FAN = 8
"""So many segments of one tier are merged into one; tiers grow by the same factor."""
SMALLEST_TIER = 1024
_MOSTLY_DEAD = 0.3
_HEADER = 4096  # bytes that a file of dead rows may have beside its rows


class Transaction:
    """New rows and dropped documents of one index, until they are committed; hold the index's lock."""

    def __init__(
        self, path: Path, manifest: Manifest, record: RecordFile, *, memory: int = MERGE_MEMORY
    ) -> None:
        """`record` is at the state of the manifest; `memory` bounds the bytes that merges hold."""
        self.path, self.manifest, self.record = path, manifest, record
        self.memory = memory
        self._segments: dict[str, Segment] = {}
        self._new_entries: list[SegmentEntry] = []

    @classmethod
    def make(
        cls, path: Path, *, embedder: str, dimension: int, language: str, memory: int = MERGE_MEMORY
    ) -> Transaction:
        """Make an index in an empty folder, or in one where a kill left the beginning of an index."""
        check_installed()
        with report_faults(path, "making the index"):
            (path / SEGMENTS).mkdir(exist_ok=True)
        manifest = Manifest(number=1, embedder=embedder, dimension=dimension, language=language)
        transaction = cls(path, manifest, RecordFile.make(path, manifest), memory=memory)
        manifests.publish(path, manifest)
        transaction.clear()
        return transaction

    @classmethod
    def open(cls, path: Path, manifest: Manifest, *, memory: int = MERGE_MEMORY) -> Transaction:
        """Open the index; what a killed writer had begun is undone, what it had committed is shown."""
        check_installed()
        record = RecordFile.open(path)
        try:
            committed = record.manifest()
            if committed.number < manifest.number:
                raise StoreError(
                    f"{path}: {manifests.RECORD} is older than {manifests.NAME}; copy the whole index again, "
                    f"or repair it with: {check_command(path)}"
                )
            if committed != manifest:
                manifests.publish(path, committed)
            manifests.check_whole(path, committed)
            transaction = cls(path, committed, record, memory=memory)
            transaction.clear()
        except BaseException:
            record.close()
            raise
        return transaction

    def close(self) -> None:
        self.record.close()

    # --- new rows -----------------------------------------------------------------------------------
    def add(
        self,
        documents: Sequence[PreparedDocument],
        passages: Sequence[Passage],
        metadata: Sequence[str],
        vectors: NDArray[np.float32] | None,
    ) -> None:
        """Add rows and a segment of the passages, which no reader sees yet."""
        from disputatio.store.segments.segment import Segment

        self.record.add(documents, passages, metadata, vectors)
        if passages:
            self.stage(Segment.build(passages, vectors, language=choose_stemmer(self.manifest.language)))

    def stage(self, segment: Segment) -> None:
        self._new_entries.append(self.save(segment))

    def save(self, segment: Segment) -> SegmentEntry:
        """Write a segment to the disk under a new name."""
        folder = self._new_folder()
        with report_faults(self.path, "writing to the index"):
            files = segment.save(folder)
            platforms.sync_folder(folder.parent)
        self._segments[folder.name] = self._open_segment(folder.name)
        return SegmentEntry(name=folder.name, rows=segment.rows, files=files)

    def _new_folder(self) -> Path:
        return self.path / SEGMENTS / f"{self.manifest.number + 1:08d}-{secrets.token_hex(4)}"

    def segment(self, name: str) -> Segment:
        if name not in self._segments:
            self._segments[name] = self._open_segment(name)
        return self._segments[name]

    def taken(self, ids: Sequence[str], but: Collection[str]) -> list[str]:
        """Return which of some passage ids are in use, by passages of other documents than those in `but`."""
        taken, wanted = [], set(ids)
        for entry in (*self.manifest.segments, *self._new_entries):
            segment, dead = self.segment(entry.name), self.dead(entry)
            rows = segment.find(ids)
            for row in rows[rows >= 0].tolist():
                if dead is None or not dead[row]:
                    passage = segment.passage(row)
                    if passage.document not in but and passage.id in wanted:
                        taken.append(passage.id)
        return taken

    def dead(self, entry: SegmentEntry) -> NDArray[np.bool_] | None:
        return read_dead(self.path, entry)

    # --- commits ------------------------------------------------------------------------------------
    def switch(
        self,
        *,
        drop_entries: Sequence[tuple[str, str]] = (),
        drop_documents: Collection[str] = (),
        prints: Sequence[Fingerprint] = (),
        unknown: Sequence[str] = (),
    ) -> None:
        """Commit what is new, fingerprints of whole files, and what is dropped or no longer known."""
        if drop_entries:
            self.record.drop(drop_entries)
        if prints or unknown:
            self.record.note_files(prints, unknown)
        entries = [*self.manifest.segments, *self._new_entries]
        if drop_documents:
            entries = [self.without(entry, drop_documents) for entry in entries]
        self.put_in_force(entries)

    def make_next_manifest(self, entries: Sequence[SegmentEntry], **changes: object) -> Manifest:
        """Return the manifest of the next commit, with these segments and other changes."""
        counts = self.record.counts
        return after(
            self.manifest,
            segments=tuple(entry for entry in entries if entry.live),
            documents=counts["entries"],
            passages=counts["passages"],
            files=counts["files"],
            **changes,
        )

    def put_in_force(self, entries: Sequence[SegmentEntry], **changes: object) -> None:
        """Commit with these segments and other changes of the manifest; what it no longer names goes."""
        following = self.make_next_manifest(entries, **changes)
        self.record.commit(following)
        manifests.publish(self.path, following)
        before, self.manifest, self._new_entries = self.manifest, following, []
        now = {entry.name: entry for entry in following.segments}
        for entry in before.segments:
            folder = self.path / SEGMENTS / entry.name
            if entry.name not in now:
                self._segments.pop(entry.name, None)
                self._remove(folder)
            elif entry.dead and entry.dead != now[entry.name].dead:
                with contextlib.suppress(OSError):
                    (folder / entry.dead).unlink()

    def merge_due(self) -> bool:
        """Merge segments where a tier is full, and rewrite one that is mostly dead, each as a commit."""
        merged = False
        while group := due(self.manifest.segments):
            self.merge(group)
            merged = True
        return merged

    def merge(self, group: Sequence[SegmentEntry]) -> None:
        names = {entry.name for entry in group}
        entry = self.merge_group(group)
        position = [entry.name for entry in self.manifest.segments].index(group[0].name)
        others = [entry for entry in self.manifest.segments if entry.name not in names]
        others.insert(position, entry)
        self.put_in_force(others)

    def merge_group(self, group: Sequence[SegmentEntry]) -> SegmentEntry:
        """Write one segment of the live rows of several, which no manifest names yet."""
        from disputatio.store.segments.merging import merge

        segments = [self.segment(entry.name) for entry in group]
        folder = self._new_folder()
        with report_faults(self.path, "merging segments"):
            try:
                merged = merge(segments, [self.dead(entry) for entry in group], folder, memory=self.memory)
            except BaseException:
                self._remove(folder)  # at once, for it may be what has filled the disk
                raise
            platforms.sync_folder(folder.parent)
        self._segments[folder.name] = self._open_segment(folder.name)
        return SegmentEntry(name=folder.name, rows=merged.rows, files=merged.files)

    def discard(self, names: Collection[str]) -> None:
        for name in names:
            self._segments.pop(name, None)
            self._remove(self.path / SEGMENTS / name)

    def compact(self, planned: Planned = lambda _: None) -> None:
        """Merge all segments and vacuum the record, if the disk has room for the plan; else `StoreError`."""
        plan = plan_of(self)
        planned(plan)
        if plan.disk > plan.free:
            raise StoreError(
                f"{self.path}: compacting needs up to {gigabytes(plan.disk)} of the disk while it runs, and "
                f"{gigabytes(plan.free)} are free; make room and run it again"
            )
        entries = self.manifest.segments
        if len(entries) > 1 or any(entry.dead_rows for entry in entries):
            self.merge(entries)
        self.record.vacuum()

    # --- what is no longer named --------------------------------------------------------------------
    def clear(self) -> None:
        """Remove what the manifest does not name: a killed writer left it."""
        named = {entry.name: entry for entry in self.manifest.segments}
        with report_faults(self.path, "clearing the index"):
            root = self.path / SEGMENTS
            root.mkdir(exist_ok=True)
            for folder in root.iterdir():
                if folder.name not in named:
                    self._remove(folder)
                    continue
                for file in folder.glob("dead-*"):
                    if file.name != named[folder.name].dead:
                        file.unlink()
            for part in self.path.glob("*.part"):
                if part.is_dir():
                    shutil.rmtree(part, ignore_errors=True)
                else:
                    part.unlink()

    def _remove(self, folder: Path) -> None:
        """Take a folder away at once, so that a reader finds it whole or not at all."""
        gone = self.path / f"gone-{secrets.token_hex(6)}.part"
        with contextlib.suppress(OSError):
            os.replace(folder, gone)  # noqa: PTH105 - of a folder
            shutil.rmtree(gone)

    def _open_segment(self, name: str) -> Segment:
        from disputatio.store.segments.segment import Segment

        with report_faults(self.path, "reading the index"):
            return Segment.open(self.path / SEGMENTS / name, self._hashes(name))

    def _hashes(self, name: str) -> Mapping[str, str]:
        entries = (*self.manifest.segments, *self._new_entries)
        return next((entry.files for entry in entries if entry.name == name), {})

    def without(self, entry: SegmentEntry, documents: Collection[str]) -> SegmentEntry:
        """Return the entry with the passages of some documents marked dead."""
        import numpy as np

        segment = self.segment(entry.name)
        # Rows are found by hashes, and metadata may hold a field that is called document.
        found = segment.find_by_field("document", documents).tolist()
        rows = [row for row in found if segment.passage(row).document in documents]
        if not rows:
            return entry
        known = self.dead(entry)
        dead = np.zeros(segment.rows, dtype=np.bool_) if known is None else np.array(known)
        dead[rows] = True
        count = int(dead.sum())
        if count == entry.dead_rows:
            return entry
        folder, name = self.path / SEGMENTS / entry.name, f"dead-{self.manifest.number + 1:08d}.npy"
        with report_faults(self.path, "writing to the index"):
            with (folder / name).open("wb") as out:
                np.save(out, dead, allow_pickle=False)
                out.flush()
                os.fsync(out.fileno())
            platforms.sync_folder(folder)
            digest = hash_file(folder / name)
        return replace(entry, dead=name, dead_rows=count, dead_hash=digest)


def check_installed() -> None:
    """Raise `MissingDependency` for the first package without which no segment can be made."""
    for module, package in (("Stemmer", "PyStemmer"), ("numba", "numba")):
        if importlib.util.find_spec(module) is None:
            raise MissingDependency(package, "store")


def choose_stemmer(language: str) -> str:
    return "" if language == "none" else language


def read_dead(path: Path, entry: SegmentEntry) -> NDArray[np.bool_] | None:
    """Return which rows of a segment are dead, None for none; raises `StoreError` for damage."""
    import numpy as np

    from disputatio.store.segments.array_files import array_of, read_whole

    if not entry.dead:
        return None
    file = path / SEGMENTS / entry.name / entry.dead
    # Hashed whatever its size: a mark that is lost brings back what was deleted.
    raw = read_whole(file, entry.dead_hash, entry.rows + _HEADER)
    dead: NDArray[np.bool_] = array_of(raw, file, "bool", [entry.rows])
    if int(np.count_nonzero(dead)) != entry.dead_rows:
        raise StoreError(f"{file}: does not fit the manifest; run: {check_command(path)}")
    return dead


def due(entries: Sequence[SegmentEntry]) -> list[SegmentEntry]:
    """Return the segments to merge next: of a full tier, or mostly dead; a row is rewritten once a tier."""
    tiers: dict[int, list[SegmentEntry]] = {}
    for entry in entries:
        if entry.dead_rows > _MOSTLY_DEAD * entry.rows:
            return [entry]
        tiers.setdefault(tier_of(entry.live), []).append(entry)
    full = [tier for tier, entries_of_tier in tiers.items() if len(entries_of_tier) >= FAN]
    if not full:
        return []
    # What a full tier merges into may fill the next one: merge both at once.
    group, tier = list(tiers[min(full)]), min(full)
    while len(above := tiers.get(tier + 1, [])) == FAN - 1 and tier_of(sum(x.live for x in group)) > tier:
        group, tier = [*above, *group], tier + 1
    names = {entry.name for entry in group}
    return [entry for entry in entries if entry.name in names]


def tier_of(rows: int) -> int:
    """Return the tier of a segment: 0 below 1,024 rows, then one more for each factor of eight.

    >>> [tier_of(rows) for rows in (10, 1023, 1024, 8191, 8192)]
    [0, 0, 1, 1, 2]
    """
    tier = 0
    while rows >= SMALLEST_TIER * FAN**tier:
        tier += 1
    return tier


# --- compaction ---------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionPlan:
    """A compaction in figures: it takes so many bytes of `disk` and `memory` at most; `free` are there."""

    segments: int
    passages: int
    disk: int
    free: int
    memory: int


Planned = Callable[[CompactionPlan], None]


def plan_of(transaction: Transaction) -> CompactionPlan:
    """Return what compacting takes: a copy of the segments, and two of the record where rows were deleted."""
    path, manifest = transaction.path, transaction.manifest
    entries = manifest.segments
    merges = len(entries) > 1 or any(entry.dead_rows for entry in entries)
    disk = 0
    with report_faults(path, "reading the index"):
        if merges:
            signs = 8 * -(-manifest.dimension // 64)  # of a row, kept until they are put in order
            for entry in entries:
                size = sum(file.stat().st_size for file in (path / SEGMENTS / entry.name).iterdir())
                disk += size * entry.live // max(entry.rows, 1) + signs * entry.live
        if free_pages := transaction.record.free():
            disk += 2 * max((path / RECORD).stat().st_size - free_pages, 0)
        free = shutil.disk_usage(path).free
    return CompactionPlan(
        segments=len(entries), passages=manifest.live, disk=disk, free=free, memory=transaction.memory
    )


def gigabytes(size: int) -> str:
    """
    >>> gigabytes(4_600_000_000), gigabytes(12_000_000)
    ('4.6 GB', '12 MB')
    """
    return f"{size / 1e9:,.1f} GB" if size >= 1e9 else f"{-(-size // 1_000_000):,} MB"
