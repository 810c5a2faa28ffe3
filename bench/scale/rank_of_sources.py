"""Time what ranks the best of each of 1,000 sources by meaning: the scan of sign codes, and comparing the vectors it leaves.

    python -m bench.scale.rank_of_sources --work DIR --size 10000000

On the first one and two of the largest segments that bench/scale/build_large.py has made. Milliseconds of a core, p50 of 40 searches after 8 that warm
up. Prints JSON.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from disputatio.store.record import manifest as manifests
from disputatio.store.segments import kernels, onepass
from disputatio.store.segments.onepass import Heaps, RowFilter, SearchedSegment
from disputatio.store.segments.segment import Segment

KEPT = 8  # rows of each source: what a search for the best three keeps


def timed(step: Callable[[int], object]) -> float:
    """The median of a step's milliseconds of a core."""
    spent = []
    for turn in range(48):
        begin = time.process_time()
        step(turn)
        spent.append(1e3 * (time.process_time() - begin))
    return round(statistics.median(spent[8:]), 2)


def measured(folders: Sequence[Path], vectors: NDArray[np.float32]) -> dict[str, float]:
    """The figures of some segments."""
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

    rows = sum(segment.rows for segment in segments)
    return {"rows": rows, "scan": timed(scan), "compare": timed(compare), "both": timed(both)}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--size", type=int, required=True)
    arguments = parser.parse_args()
    work = arguments.work / str(arguments.size)
    manifest = manifests.read(work / "index")
    assert manifest is not None  # build_large made it
    entries = sorted(manifest.segments, key=lambda entry: -entry.rows)
    folders = [work / "index" / manifests.SEGMENTS / entry.name for entry in entries]
    vectors = np.load(work / "queries" / "query_vectors.npy")
    for count in (1, 2):
        print(json.dumps(measured(folders[:count], vectors)), flush=True)


if __name__ == "__main__":
    main()
