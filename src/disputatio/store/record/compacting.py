"""Compaction of a whole index: what it takes of the disk is known, and refused, before it begins."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from disputatio.errors import StoreError
from disputatio.store.record.manifest import SEGMENTS, reported
from disputatio.store.record.tables import writing

if TYPE_CHECKING:
    from disputatio.store.record.transaction import Transaction


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionPlan:
    """What a compaction merges and needs: `disk` more bytes at most while it runs, of which `free` are there.

    What is replaced goes once the new is in force, or when the last reader has left it. `memory` bounds the
    bytes that merging holds.
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
    keep: timedelta,
    planned: Planned = lambda _: None,
) -> None:
    """Merge an index's segments and its tables' files; `planned` hears the plan before anything is written.

    Raises `StoreError` when the disk has not as much as that takes, or the index cannot be written to.
    """
    with writing(path):
        transaction = ensure()
        plan = plan_of(transaction)
        planned(plan)
        if plan.disk > plan.free:
            raise StoreError(
                f"{path}: compacting needs up to {gigabytes(plan.disk)} of the disk while it runs, and "
                f"{gigabytes(plan.free)} are free; make room and run it again"
            )
        transaction.compact(keep)


def plan_of(transaction: Transaction) -> CompactionPlan:
    """Return what compacting an index takes: one copy of its segments, and of the tables that have small
    files.
    """
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
        for name in transaction.tables.in_pieces():
            disk += sum(file.stat().st_size for file in (path / f"{name}.lance" / "data").iterdir())
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
