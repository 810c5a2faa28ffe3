"""Time what ranks the best of each of 1,000 sources by meaning: the scan of sign codes, and comparing the vectors it leaves.

    python -m bench.scale.rank_of_sources --work DIR --rows 1000000

Makes one segment with the vectors and sources of bench/search/corpus.py, kept in DIR for the next time; its texts are one word each, for
ranking by meaning reads none. With `--size N` instead: the first one and two of the largest segments that bench/scale/build_large.py has made
in DIR, printed alone. p50 and p90 of 200 searches after 8 that warm up, by the clock and in milliseconds of the cores. Recall is the share of the
true best three of each source that the rows kept hold. Writes the page --out with its figures beside it.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench import RESULTS
from bench.lib.files import write_json, write_whole
from bench.search import corpus
from bench.search.search_report import machine
from disputatio.store.record import manifest as manifests
from disputatio.store.segments import kernels, onepass, quantised
from disputatio.store.segments.onepass import Heaps, RowFilter, SearchedSegment
from disputatio.store.segments.search import best_per_group
from disputatio.store.segments.segment import Segment
from disputatio.types import Passage

KEPT = 8  # rows of each source: what a search for the best three keeps
BEST = 3
WARM, TIMED, JUDGED = 8, 200, 20
Timing = dict[str, float]


def made(work: Path, rows: int, seed: int = 7) -> Path:
    """Return the folder of a segment of so many rows, made unless it is there, with the queries beside it."""
    folder = work / f"ranked_{rows}"
    if (folder / "segment" / "segment.json").exists():
        return folder
    folder.mkdir(parents=True, exist_ok=True)
    maker = corpus._Maker(folder, rows, seed)
    maker._queries()
    vectors = np.empty((rows, corpus.DIMENSION), dtype=np.float32)
    passages = []
    for start in range(0, rows, corpus.BLOCK):
        many = min(corpus.BLOCK, rows - start)
        _, _, sources, vectors[start : start + many] = maker._block(start, many, start // corpus.BLOCK)
        for row, source in enumerate(sources.tolist(), start=start):
            passages.append(Passage(id=f"p{row}", text="word", source=corpus.source_name(source), end=4))
    Segment.build(passages, vectors).save(folder / "segment")
    return folder


def timed(step: Callable[[int], object], vectors: int) -> Timing:
    """Return a step's milliseconds, by the clock and of the cores."""
    clock, spent = [], []
    for turn in range(WARM + TIMED):
        begin, began = time.perf_counter(), time.process_time()
        step(turn % vectors)
        spent.append(1e3 * (time.process_time() - began))
        clock.append(1e3 * (time.perf_counter() - begin))
    return {
        "p50": round(float(np.percentile(clock[WARM:], 50)), 2),
        "p90": round(float(np.percentile(clock[WARM:], 90)), 2),
        "cores": round(float(np.percentile(spent[WARM:], 50)), 2),
    }


def measured(folders: Sequence[Path], vectors: NDArray[np.float32]) -> dict[str, Any]:
    """Return the figures of some segments."""
    segments = [Segment.open(folder) for folder in folders]
    names = sorted({name for segment in segments for name in segment.sources})
    parts = []
    for segment in segments:
        numbers = np.array([names.index(name) for name in segment.sources], dtype=np.int32)
        row_filter = RowFilter(np.zeros(0, dtype=np.bool_), numbers[segment.source_of], 0)
        parts.append(SearchedSegment(segment, row_filter, numbers))
    room = np.full(len(names), KEPT, dtype=np.int64)
    shortlists: dict[int, list[NDArray[np.int64]]] = {}

    def scan(turn: int) -> None:
        shortlists[turn] = [onepass._shortlist(part, vectors[turn], room) for part in parts]

    def compare(turn: int) -> None:
        heaps = Heaps.empty(room, -np.inf)
        for part, rows in zip(parts, shortlists[turn], strict=True):
            assert part.segment.vectors is not None
            kernels.keep_best_by_cosine(part.segment.vectors, vectors[turn], rows, part.row_filter, heaps)

    def both(turn: int) -> None:
        onepass.best_dense(parts, vectors[turn], room)

    figures = {
        name: timed(step, len(vectors))
        for name, step in (("scan", scan), ("compare", compare), ("both", both))
    }
    recall = [recall_of(parts, vector, room) for vector in vectors[:JUDGED]]
    rows = sum(segment.rows for segment in segments)
    return {"rows": rows, "sources": len(names), "recall": round(float(np.mean(recall)), 4), **figures}


def recall_of(
    parts: Sequence[SearchedSegment], vector: NDArray[np.float32], room: NDArray[np.int64]
) -> float:
    """Return the share of the best three of each source by every vector that ranking keeps."""
    scores, groups = [], []
    for part in parts:
        assert part.segment.vectors is not None
        scores.append(quantised.cosines(part.segment.vectors, vector, None))
        groups.append(part.row_filter.groups)
    true, group = np.concatenate(scores), np.concatenate(groups)
    heaps = onepass.best_dense(parts, vector, room)
    kept, _ = heaps.kept()
    best = best_per_group(true, group, BEST)
    return float(np.isin(best, kept).mean())


def page(results: dict[str, Any], command: str) -> str:
    """Return the page in Markdown."""
    lines = [
        "# Ranking the best of each source by meaning",
        "",
        f"Machine: {machine()}, {results['date']}; load when it began: {results['load']:.1f}.",
        f"One segment of {results['rows']:,} passages of {results['sources']:,} skewed sources, 384 dimensions; {TIMED} searches for the best "
        f"{BEST} of each source,",
        f"which keep {KEPT} rows of each. {results['note']}",
        "",
        f"    {command}",
        "",
        "| | clock, p50 ms | clock, p90 ms | of the cores, p50 ms |",
        "|---|--:|--:|--:|",
    ]
    for name, label in (
        ("scan", "scan of the sign codes"),
        ("compare", "comparing the vectors that it leaves"),
        ("both", "ranking, both together"),
    ):
        lines.append(
            f"| {label} | {results[name]['p50']} | {results[name]['p90']} | {results[name]['cores']} |"
        )
    lines += ["", f"Of the true best {BEST} of each source, {results['recall']:.3f} are among the rows kept."]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--work", type=Path, required=True)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--rows", type=int, help="of the segment that is made")
    what.add_argument("--size", type=int, help="of the index that build_large made")
    parser.add_argument("--note", default="", help="what else the machine did, for the page")
    parser.add_argument("--out", type=Path, default=RESULTS / "scale" / "rank_of_sources.md")
    arguments = parser.parse_args()
    if arguments.rows is None:
        for count in (1, 2):
            work = arguments.work / str(arguments.size)
            vectors = np.load(work / "queries" / "query_vectors.npy")
            print(json.dumps(measured(largest(work / "index")[:count], vectors)), flush=True)
        return
    folder = made(arguments.work, arguments.rows)
    load = os.getloadavg()[0]
    results = measured([folder / "segment"], np.load(folder / "query_vectors.npy"))
    results |= {"load": load, "note": arguments.note}
    results["date"] = datetime.now().astimezone().date().isoformat()
    write_json(arguments.out.with_suffix(".json.gz"), results)
    text = page(results, f"python -m bench.scale.rank_of_sources --work DIR --rows {arguments.rows}")
    write_whole(arguments.out, text)
    print(text)


def largest(index: Path) -> list[Path]:
    """Return the folders of an index's segments, the largest first; raises `ValueError` where there is none."""
    manifest = manifests.read(index)
    if manifest is None:
        raise ValueError(f"{index}: make it with bench/scale/build_large.py")
    entries = sorted(manifest.segments, key=lambda entry: -entry.rows)
    return [index / manifests.SEGMENTS / entry.name for entry in entries]


if __name__ == "__main__":
    main()
