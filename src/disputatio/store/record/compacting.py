"""Compaction of a whole index, refused before it begins where the disk has too little room."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from disputatio.errors import StoreError
from disputatio.store.record.manifest import RECORD, SEGMENTS, reported, writing

if TYPE_CHECKING:
    from disputatio.store.record.transaction import Transaction


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionPlan:
    """A compaction in figures: it takes at most `disk` more bytes while it runs; `free` are there.

    The old files go once the new ones are committed, or when the last reader has left them. `memory` bounds
    the bytes that merging holds.
    """

    segments: int
    passages: int
    disk: int
    free: int
    memory: int


Planned = Callable[[CompactionPlan], None]


def compact(
    path: Path,
    ensure: Callable[[], Transaction],
    planned: Planned = lambda _: None,
) -> None:
    """Merge an index's segments and vacuum its record; `planned` gets the plan before anything is written.

    Raises `StoreError` when the disk has not as much as that takes, or the index cannot be written to.
    """
    with writing(path), closing(ensure()) as transaction:
        plan = plan_of(transaction)
        planned(plan)
        if plan.disk > plan.free:
            raise StoreError(
                f"{path}: compacting needs up to {gigabytes(plan.disk)} of the disk while it runs, and "
                f"{gigabytes(plan.free)} are free; make room and run it again"
            )
        transaction.compact()


def plan_of(transaction: Transaction) -> CompactionPlan:
    """Return what compacting takes: a copy of the segments, and two of the record where rows were deleted."""
    path, manifest = transaction.path, transaction.manifest
    entries = manifest.segments
    merges = len(entries) > 1 or any(entry.dead_rows for entry in entries)
    disk = 0
    with reported(path, "reading the index"):
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
