"""Make large segments from a smaller index, merge them into one, and search it: memory, time, disk.

    python -m bench.scale.merge_large --index DIR/SIZE/index --queries DIR/SIZE/queries --work DIR --copies 8 [--memory-mb 1024]

A copy has the texts and postings of the index, ids of its own, and vectors whose dimensions are permuted and turned round (the same
permutation for a whole copy), so that its vectors are as near to each other as before and far from those of other copies. It
stands for more passages where bytes and scans are concerned; words do not get rarer as in a corpus that grows. Each step runs in a
process of its own: its peak memory, that of anonymous memory alone, processor time and time by the clock.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import shutil
import statistics
import sys
import threading
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from bench import RESULTS
from bench.lib.files import read_json, write_json
from bench.lib.process_memory import memory_mb, peak_mb
from bench.search.search_report import machine
from disputatio.protocols import Search
from disputatio.store.record import manifest as manifests
from disputatio.store.segments import merging
from disputatio.store.segments.quantised import BLOCK, code_of
from disputatio.store.segments.searcher import Searcher
from disputatio.store.segments.segment import Segment

FIGURES = RESULTS / "scale" / "merge_large.json.gz"
LEGS: dict[str, Search] = {
    "BM25, best 20": Search(k=20, alpha=1.0),
    "dense, best 20": Search(k=20, alpha=0.0),
    "hybrid, best 20": Search(k=20),
    "hybrid, best 3 of each source": Search(per_source=3),
}


def copied(source: Path, target: Path, number: int) -> None:
    """A copy of a segment with other ids and other vectors (see the module)."""
    shutil.copytree(source, target)
    if not number:
        return
    draw = np.random.default_rng(number)
    ids = np.load(target / "ids.npy") ^ np.uint64(draw.integers(1, 2**63))
    order = np.argsort(ids, kind="stable")
    np.save(target / "ids.npy", ids[order])
    np.save(target / "id_rows.npy", np.load(target / "id_rows.npy")[order])
    centre = np.load(target / "vector_centre.npy")
    turn, signs = draw.permutation(centre.size), draw.choice([-1, 1], centre.size).astype(np.int16)
    centre = centre[turn] * signs
    np.save(target / "vector_centre.npy", centre)
    numbers = np.load(target / "vector_numbers.npy", mmap_mode="r+")
    scales, columns = np.load(target / "vector_scales.npy"), np.load(target / "vector_order.npy")
    codes = np.load(target / "vector_codes.npy", mmap_mode="r+")
    for begin in range(0, len(numbers), BLOCK):
        numbers[begin : begin + BLOCK] = numbers[begin : begin + BLOCK][:, turn] * signs
    for begin in range(0, len(numbers), BLOCK):
        rows = columns[begin : begin + BLOCK]
        codes[:, begin : begin + rows.size] = code_of(numbers[rows] * scales[rows, None] - centre)


def measured(step: Callable[..., Any], *arguments: Any) -> dict[str, Any]:
    """Return what a step gives and took, in a process of its own."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_run, args=(theirs, step, arguments))
    process.start()
    theirs.close()
    figures: dict[str, Any] = ours.recv()
    process.join()
    return figures


def _run(out: Any, step: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    most, over = [0], threading.Event()

    def watch() -> None:
        while not over.wait(0.05):
            most[0] = max(most[0], memory_mb("RssAnon"))

    watcher = threading.Thread(target=watch, daemon=True)
    before = memory_mb("VmRSS")
    watcher.start()
    start, cpu = time.perf_counter(), time.process_time()
    given = step(*arguments)
    took = {"seconds": round(time.perf_counter() - start, 2), "cpu": round(time.process_time() - cpu, 2)}
    over.set()
    out.send({**took, "before_mb": before, "peak_mb": peak_mb(), "anonymous_mb": most[0], "gave": given})


def merge(folders: list[Path], target: Path, memory: int) -> int:
    """Merge segments into one; its rows."""
    segments = [Segment.open(folder) for folder in folders]
    return merging.merge(segments, [None] * len(segments), target, memory=memory).rows


def search(folders: list[Path], queries: Path, count: int, repeats: int) -> dict[str, Any]:
    """p50 and p99 of each leg in milliseconds, by the clock and of the processor, and the time to open."""
    start = time.perf_counter()
    searcher = Searcher([Segment.open(folder) for folder in folders])
    opened = time.perf_counter() - start
    asked = json.loads((queries / "queries.json").read_text("utf-8"))
    vectors = np.load(queries / "query_vectors.npy")
    legs: dict[str, Any] = {}
    for name, wanted in LEGS.items():
        searched = count if wanted.per_source is None else count // 3
        clock: list[float] = []
        spent: list[float] = []
        for turn in range(repeats + 1):
            for number in range(searched):
                vector = None if wanted.alpha == 1.0 else vectors[number]
                begin, cpu = time.perf_counter(), time.process_time()
                searcher.search(asked[number]["text"], vector, wanted)
                if turn:  # the first round warms up
                    clock.append(1e3 * (time.perf_counter() - begin))
                    spent.append(1e3 * (time.process_time() - cpu))
        legs[name] = {
            "p50": round(statistics.median(clock), 2),
            "p99": round(float(np.percentile(clock, 99)), 2),
            "cpu_p50": round(statistics.median(spent), 2),
            "cpu_p99": round(float(np.percentile(spent, 99)), 2),
            "searches": len(clock),
        }
    return {
        "open_s": round(opened, 3),
        "rows": searcher.rows,
        "legs": legs,
        "resident_mb": memory_mb("VmRSS"),
    }


def size_of(folder: Path) -> int:
    """MB of a folder."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) >> 20


def main() -> None:
    """Make, merge, search; print and keep the figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--index", type=Path, required=True)
    parser.add_argument("--queries", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--copies", type=int, required=True)
    parser.add_argument("--memory-mb", type=int, default=1024)
    parser.add_argument("--asked", type=int, default=45)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument(
        "--parts", action="store_true", help="search the segments before they are merged, too"
    )
    arguments = parser.parse_args()
    manifest = manifests.read(arguments.index)
    if manifest is None:
        sys.exit(f"{arguments.index}: no index")
    arguments.work.mkdir(parents=True, exist_ok=True)
    base = [arguments.index / manifests.SEGMENTS / entry.name for entry in manifest.segments]
    folders = []
    for number in range(arguments.copies):
        for place, folder in enumerate(base):
            target = arguments.work / f"part-{number:03d}-{place:02d}"
            if not (target / "whole").exists():
                shutil.rmtree(target, ignore_errors=True)
                copied(folder, target, number)
                (target / "whole").touch()
            folders.append(target)
    whole = arguments.work / "merged"
    shutil.rmtree(whole, ignore_errors=True)
    figures: dict[str, Any] = {
        "date": time.strftime("%Y-%m-%d"),
        "load": os.getloadavg()[0],
        "segments": len(folders),
        "base_rows": manifest.live,
        "memory_mb": arguments.memory_mb,
        "parts_mb": sum(map(size_of, folders)),
    }
    asked = (arguments.queries, arguments.asked, arguments.repeats)
    if arguments.parts:
        figures["search_of_parts"] = measured(search, folders, *asked)
    print(json.dumps(figures), flush=True)
    figures["merge"] = measured(merge, folders, whole, arguments.memory_mb << 20)
    figures["merged_mb"] = size_of(whole)
    print(json.dumps(figures["merge"]), flush=True)
    figures["search"] = measured(search, [whole], *asked)
    print(json.dumps(figures["search"]), flush=True)
    results = read_json(FIGURES) if FIGURES.exists() else {}
    results[f"{figures['search']['gave']['rows']:010d}"] = figures
    write_json(FIGURES, results)
    FIGURES.with_name("merge_large.md").write_text(page(results), encoding="utf-8")


def _leg(leg: str, field: str, one: Mapping[str, Any]) -> str:
    return f"{one['search']['gave']['legs'][leg][field]:g}"


def page(results: Mapping[str, Any]) -> str:
    """Return the page in Markdown."""
    sizes = [results[name] for name in sorted(results)]
    rows: dict[str, Callable[[Any], str]] = {
        "segments merged": lambda one: f"{one['segments']:,}",
        "their disk, MB": lambda one: f"{one['parts_mb']:,}",
        "disk of the merged one, MB": lambda one: f"{one['merged_mb']:,}",
        "`merge_gb`, as MB": lambda one: f"{one['memory_mb']:,}",
        "memory before the merge, MB": lambda one: f"{one['merge']['before_mb']:,}",
        "peak of the merge, MB, mapped files included": lambda one: f"{one['merge']['peak_mb']:,}",
        "of which anonymous, MB": lambda one: f"{one['merge']['anonymous_mb']:,}",
        "merge, s of a core": lambda one: f"{one['merge']['cpu']:.0f}",
        "merge, s by the clock": lambda one: f"{one['merge']['seconds']:.0f}",
        "open the merged one, s": lambda one: f"{one['search']['gave']['open_s']:.2f}",
        "resident after all searches, MB": lambda one: f"{one['search']['gave']['resident_mb']:,}",
        "load of the machine (2 cores)": lambda one: f"{one['load']:.0f}",
    }
    for leg in LEGS:
        for field in ("cpu_p50", "cpu_p99", "p50", "p99"):
            what = ("ms of a core, " if field.startswith("cpu") else "ms by the clock, ") + field[-3:]
            rows[f"{leg}: {what}"] = partial(_leg, leg, field)
    heads = [f"{one['search']['gave']['rows']:,}" for one in sizes]
    lines = [
        "# Merging large segments",
        "",
        f"Machine: {machine()}, {sizes[-1]['date']}. Other programs kept both cores busy (see the load) and this ran below them",
        "(nice 10), so time by the clock says little about the machine; time of a core says more. Passages of some 125 words, 384 dimensions,",
        "1,000 sources, made as in bench/search/corpus.py; the larger sizes are copies of one smaller index with other ids and other vectors, so words do not",
        "get rarer as the corpus grows. Merging and searching ran in processes of their own; the searches (two threads in the hybrid ones) were warmed up once.",
        "",
        "    python -m bench.scale.build_index --work DIR --size 1000000",
        "    python -m bench.scale.merge_large --index DIR/1000000/index --queries DIR/1000000/queries --work DIR/copies --copies 12 --asked 30 --repeats 2",
        "",
        f"| passages | {' | '.join(heads)} |",
        f"|---|{'--:|' * len(heads)}",
        *(f"| {name} | {' | '.join(map(show, sizes))} |" for name, show in rows.items()),
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
