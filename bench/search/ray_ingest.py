"""Measure the rate of an ingest by one Ray worker and by two, at one thread each, and compare the results with a local ingest.

    python -m bench.search.ray_ingest EMBEDDER [--texts FILE.jsonl] [--documents N] [--rounds N]

EMBEDDER is a folder with an ONNX model, or `wait:MS`: one that waits so many milliseconds for each passage and uses no core, so that what the
plumbing costs shows on a machine that other programs keep busy. The documents are files of plain text, made from a seed, or from the `text` of FILE's
lines. One cluster serves all rounds; a round ingests everything into a new index with one worker and with two, in an order that alternates,
so that what else the machine does meets both. A small ingest by either comes first. Two rates are told: of the whole, starting the workers
included, and from the first commit to the last. Rows, ids, offsets and metadata are compared with those of a local ingest; of vectors
the least cosine is told, since an int8 model gives a text a slightly other vector beside other texts. Prints JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from disputatio.store.embed import OnnxEmbedder
from disputatio.store.index import Index
from disputatio.store.ingesting.ray_ingest import ingest_with_ray
from disputatio.workers.cluster import cluster

_COLUMNS = {
    "passages": [
        "id",
        "document",
        "text",
        "source",
        "owner",
        "title",
        "url",
        "date",
        "metadata",
        "start",
        "end",
    ],
    "documents": ["id", "path", "row", "text", "title", "url", "date", "source", "owner", "metadata"],
}


class Waiting:
    """An embedder that waits instead of working, as one on another machine would have us do."""

    name, dimension = "waiting", 384

    def __init__(self, milliseconds: float) -> None:
        self._seconds = milliseconds / 1000

    def embed(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:  # noqa: ARG002 - as all embedders do
        """A unit vector for each text, drawn from its hash."""
        time.sleep(self._seconds * len(texts))
        seeds = [int.from_bytes(blake2b(text.encode(), digest_size=8).digest()) for text in texts]
        drawn = [np.random.default_rng(seed).normal(size=self.dimension) for seed in seeds]
        vectors = np.array(drawn).reshape(-1, self.dimension)
        unit: NDArray[np.float32] = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(
            np.float32
        )
        return unit


def write_documents(folder: Path, texts: Path | None, count: int) -> int:
    """Files of text, in twenty folders; how many there are."""
    told: list[str] = []
    if texts is not None:
        with texts.open(encoding="utf-8") as lines:
            for line in lines:
                told.append(json.loads(line)["text"])
                if len(told) == count:
                    break
    draw = random.Random(7)
    syllables = [a + b for a in "bdfgklmnprstvz" for b in "aeiou"]
    vocabulary = ["".join(draw.choices(syllables, k=draw.randint(1, 4))) for _ in range(5_000)]
    while len(told) < count:
        sentences = [" ".join(draw.choices(vocabulary, k=draw.randint(6, 22))) + "." for _ in range(24)]
        told.append(" ".join(sentences))
    for number, text in enumerate(told):
        path = folder / f"s{number % 20:02d}" / f"{number:05d}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return len(told)


def rows_of(index: Index, table: str) -> list[dict[str, Any]]:
    """Every row of a table, in its order, but for the vectors."""
    return [row for batch in index._rows(table, _COLUMNS[table]) for row in batch]


def vectors_of(index: Index) -> np.ndarray[Any, Any]:
    """The vectors of all passages, in the order of their rows."""
    return np.array([row["vector"] for batch in index._rows("passages", ["vector"]) for row in batch])


def differences(index: Index, other: Index) -> dict[str, Any]:
    """How many rows of each table differ, and by how much vectors do at most."""
    figures: dict[str, Any] = {}
    for table in _COLUMNS:
        first, second = rows_of(index, table), rows_of(other, table)
        unequal = sum(a != b for a, b in zip(first, second, strict=False)) + abs(len(first) - len(second))
        figures[table] = {"rows": len(first), "unequal": unequal}
    a, b = vectors_of(index), vectors_of(other)
    figures["least_cosine_of_vectors"] = float((a * b).sum(axis=1).min()) if a.shape == b.shape else None
    return figures


def measure(arguments: argparse.Namespace, work: Path) -> dict[str, Any]:
    """The rounds, and what came of them."""
    wait = arguments.embedder.removeprefix("wait:") if arguments.embedder.startswith("wait:") else ""
    embedder = Waiting(0) if wait else OnnxEmbedder(Path(arguments.embedder), threads=1)
    make = partial(Waiting, float(wait)) if wait else None
    documents, tiny = work / "documents", work / "tiny"
    write_documents(documents, arguments.texts, arguments.documents)
    write_documents(tiny, arguments.texts, 8)
    start = time.perf_counter()
    local = Index.open(work / "local", embedder=embedder)
    passages = local.ingest(documents).passages
    alone = time.perf_counter() - start
    rounds: list[dict[str, Any]] = []
    checked: list[dict[str, Any]] = []
    with cluster("local", 2):
        for workers in (1, 2):
            index = Index.open(work / f"warm-{workers}", embedder=embedder)
            ingest_with_ray(index, [tiny], address="local", workers=workers, embedder=make)
        for number in range(arguments.rounds):
            for workers in (1, 2) if number % 2 == 0 else (2, 1):
                index = Index.open(work / f"ray-{number}-{workers}", embedder=embedder)
                load, busy = os.getloadavg()[0], _busy()
                start = time.perf_counter()
                commits: list[tuple[float, int]] = []

                def heard(_done: int, _total: int, passages: int, seen: Any = commits) -> None:
                    if passages and (not seen or passages > seen[-1][1]):
                        seen.append((time.perf_counter(), passages))

                summary = ingest_with_ray(
                    index, [documents], address="local", workers=workers, embedder=make, progress=heard
                )
                took = time.perf_counter() - start
                (first, before), (last, after) = commits[0], commits[-1]
                figures = {
                    "round": number,
                    "workers": workers,
                    "seconds": round(took, 1),
                    "passages": summary.passages,
                    "rate": round(summary.passages / took, 1),
                    "rate_between_commits": round((after - before) / (last - first), 1)
                    if last > first
                    else None,
                    "load_before": round(load, 1),
                    "cores_stolen_by_others": round(_others(busy, took), 2),
                }
                print(json.dumps(figures), file=sys.stderr, flush=True)
                rounds.append(figures)
                if number == 0:
                    checked.append({"workers": workers, **differences(local, index)})
    ratios = {
        name: [_ratio(name, [one for one in rounds if one["round"] == n]) for n in range(arguments.rounds)]
        for name in ("rate", "rate_between_commits")
    }
    return {
        "cores": os.cpu_count(),
        "embedder": embedder.name,
        "documents": arguments.documents,
        "passages": passages,
        "local_seconds": round(alone, 1),
        "rounds": rounds,
        "two_workers_over_one": ratios,
        "medians": {name: round(statistics.median(ratio), 2) for name, ratio in ratios.items()},
        "against_local": checked,
    }


def _ratio(name: str, pair: Sequence[dict[str, Any]]) -> float:
    rate = {figures["workers"]: figures[name] or 0.0 for figures in pair}
    return round(rate[2] / rate[1], 2) if rate[1] else 0.0


def _busy() -> tuple[float, float]:
    """Seconds of processor time taken on this machine so far: by all, and by this user's session."""
    fields = Path("/proc/stat").read_text(encoding="ascii").splitlines()[0].split()[1:]
    ticks = os.sysconf("SC_CLK_TCK")
    return sum(int(fields[at]) for at in (0, 1, 2, 5, 6)) / ticks, _own()


def _own() -> float:
    """Seconds of processor time of this process's session: Ray's workers are in it or below it."""
    total = 0
    family = {os.getpid()}
    stats: list[tuple[int, int, int]] = []
    for process in Path("/proc").iterdir():
        if process.name.isdigit():
            try:
                fields = (
                    (process / "stat")
                    .read_text(encoding="utf-8", errors="replace")
                    .rpartition(")")[2]
                    .split()
                )
            except OSError:
                continue
            # after the name: state ppid ... utime stime cutime cstime
            stats.append((int(process.name), int(fields[1]), sum(map(int, fields[11:15]))))
    grown = True
    while grown:
        more = {pid for pid, parent, _ in stats if parent in family and pid not in family}
        family |= more
        grown = bool(more)
    total = sum(taken for pid, _, taken in stats if pid in family)
    return total / os.sysconf("SC_CLK_TCK")


def _others(before: tuple[float, float], seconds: float) -> float:
    """Cores' worth of time that other programs took meanwhile."""
    now = _busy()
    return max(0.0, (now[0] - before[0]) - (now[1] - before[1])) / seconds


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("embedder")
    parser.add_argument("--texts", type=Path)
    parser.add_argument("--documents", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=3)
    with tempfile.TemporaryDirectory(prefix="ray-ingest-") as work:
        print(json.dumps(measure(parser.parse_args(), Path(work)), indent=1))


if __name__ == "__main__":
    main()
