"""Adding 1,000 passages to 100,000: seconds until another process finds them, and what searches cost before compaction.

Run by search_scale.py. A reader has the index open and searches for a word that only the new passages have while a writer, whose process has
written before, adds them; then the grown index and the one it was copied from are asked in turns, each on one core, and told by the time
that the processor worked.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
from collections.abc import Sequence
from typing import Any

from bench.search import search_scale
from bench.search.corpus import WARM

TURNS = 60


def adding(arguments: argparse.Namespace, size: int, systems: Sequence[str]) -> dict[str, Any]:
    """By system: seconds until searchable, and the ratio of p50 by leg."""
    return {name: _adding(arguments, size, name) for name in systems}


def _adding(arguments: argparse.Namespace, size: int, name: str) -> dict[str, Any]:
    whole = search_scale.folder_of(arguments, size, name)
    grown = whole.with_name(f"{name}-grown")
    shutil.rmtree(grown, ignore_errors=True)
    shutil.copytree(whole, grown)
    reader, writer, other = (
        search_scale.Remote(name, arguments, size, folder, core=core)
        for folder, core in ((grown, True), (grown, False), (whole, True))
    )
    for remote in (reader, writer, other):
        remote.ask("open", setting={"fresh": True})
        for query in range(5):
            remote.ask("search", leg="hybrid", query=query, k=20)
    first = writer.ask("add", warm=True)
    reader.ask("search", leg="hybrid", query=5, k=20)
    reader.tell("wait", seconds=60)
    added = writer.ask("add", warm=False)
    seen = reader.hear("wait")["seen"]
    figures: dict[str, Any] = {
        "first_add_of_a_process": round(first["ended"] - first["began"], 3),
        "add": round(added["ended"] - added["began"], 3),
        "add_cpu": round(added["cpu"], 3),
        "searchable": None if seen is None else round(seen - added["began"], 3),
        "segments": _segments(grown),
    }
    for leg in search_scale.LEGS:
        times: dict[str, list[float]] = {"before": [], "compacted": []}
        for query in range(WARM, WARM + TURNS):
            pair = [("before", reader), ("compacted", other)]
            for when, remote in pair[query % 2 :] + pair[: query % 2]:
                times[when].append(remote.ask("search", leg=leg, query=query, k=20)["cpu"] * 1000)
        p50 = {when: round(statistics.median(took), 3) for when, took in times.items()}
        figures[leg] = {**p50, "ratio": round(p50["before"] / p50["compacted"], 2)}
    for remote in (reader, writer, other):
        remote.close()
    shutil.rmtree(grown)
    return figures


def _segments(folder: Any) -> int | None:
    """Return how many segments our index has; None for others."""
    segments = folder / "index" / "segments"
    return sum(1 for path in segments.iterdir() if path.is_dir()) if segments.is_dir() else None
