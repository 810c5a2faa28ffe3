"""Measure an ingest on Ray beside a local one: rate and start-up by workers, their threads, and simulated nodes.

    python -m bench.scale.ray_ingest real --model FOLDER --texts nfcorpus/corpus.jsonl --documents 1100
    python -m bench.scale.ray_ingest nodes --nodes 8 --wait 20 --each 1280

`real` embeds with a model: a local ingest on all cores, one worker with as many threads as cores, one worker of one thread, and two.
`nodes` starts a cluster of so many nodes of one core in Ray's own simulation (and one for the writer), each with an embedder that
waits so many milliseconds for a passage and uses no core, so that the plumbing shows: `--each` passages a node.

`start` is from calling the ingest to when all workers are ready, on a cluster that is there; `rate` is in passages a second from then to the end,
counting what was embedded since then; `whole` is all of the ingest, starting included. Figures are kept in results/scale/ray_ingest.json.gz.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench import RESULTS
from bench.lib.files import read_json, write_json
from bench.lib.machine import machine
from bench.lib.options import parser_of
from disputatio.protocols import Embedder
from disputatio.store.embed import OnnxEmbedder
from disputatio.store.folder_index import FolderIndex
from disputatio.store.ingesting.ray_ingest import ingest_with_ray
from disputatio.workers.cluster import cluster

FIGURES = RESULTS / "scale" / "ray_ingest.json.gz"


class Waiting:
    """An embedder that waits instead of working, as one on another machine would have us do."""

    name, dimension = "waiting", 384

    def __init__(self, milliseconds: float) -> None:
        self._seconds = milliseconds / 1000

    def embed(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:  # noqa: ARG002 - as all embedders do
        """Return a unit vector for each text, from its hash."""
        time.sleep(self._seconds * len(texts))
        digests = [blake2b(text.encode(), digest_size=64).digest() * 6 for text in texts]
        vectors = np.array([np.frombuffer(digest, dtype=np.uint8) for digest in digests], dtype=np.float32)
        vectors = vectors.reshape(-1, self.dimension) - 127.5
        unit: NDArray[np.float32] = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        return unit


def write_texts(folder: Path, texts: Path, count: int) -> None:
    """Files of the texts of a file's lines, in twenty folders."""
    with texts.open(encoding="utf-8") as lines:
        for number, line in zip(range(count), lines, strict=False):
            path = folder / f"s{number % 20:02d}" / f"{number:05d}.txt"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.loads(line)["text"], encoding="utf-8")


def write_rows(folder: Path, count: int) -> None:
    """Write one file of rows, each a passage of some 125 made words."""
    folder.mkdir(parents=True, exist_ok=True)
    draw = np.random.default_rng(7)
    syllables = np.array([a + b for a in "bdfgklmnprstvz" for b in "aeiou"])
    words = np.array(["".join(draw.choice(syllables, draw.integers(1, 4))) for _ in range(5_000)])
    with (folder / "rows.jsonl").open("w", encoding="utf-8") as out:
        for number in range(count):
            text = " ".join(words[draw.integers(0, len(words), 125)])
            out.write(json.dumps({"text": text, "source": f"s{number % 100}"}) + "\n")


class Logged:
    """An embedder that writes down when it embedded how many passages, in a file for each process."""

    def __init__(self, make: Callable[[], Embedder], folder: str) -> None:
        self._embedder, self._folder = make(), Path(folder)
        self.name, self.dimension = self._embedder.name, self._embedder.dimension

    def embed(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:
        """Return what the embedder gives."""
        begun = time.time()
        vectors = self._embedder.embed(texts, query=query)
        with (self._folder / f"{os.getpid()}.jsonl").open("a") as out:
            out.write(json.dumps([begun, time.time(), len(texts)]) + "\n")
        return vectors


class Clock:
    """When an ingest began, when its workers were ready, and what was embedded when."""

    def __init__(self, log: Path) -> None:
        log.mkdir(parents=True)
        self._log, self._begun = log, time.time()
        self.ready: list[float] = []

    def on_ready(self, _workers: int) -> None:
        """Note that one more worker is ready."""
        self.ready.append(time.time())

    def figures(self, passages: int) -> dict[str, Any]:
        """Return the figures of the ingest that has just ended."""
        end, begin = time.time(), max(self.ready, default=self._begun)
        lines = [line for file in self._log.glob("*.jsonl") for line in file.read_text().splitlines()]
        since = 0.0
        for first, last, count in map(json.loads, lines):
            if count > 1 and last > begin:  # one text is a worker that gets ready
                since += count * (last - max(first, begin)) / (last - first)
        return {
            "passages": passages,
            "start": round(begin - self._begun, 2),
            "whole": round(end - self._begun, 2),
            "rate": round(since / (end - begin), 1),
        }


def real(arguments: argparse.Namespace, work: Path) -> None:
    """Measure a local ingest, and three by workers, with a model."""
    documents, cores = work / "documents", os.cpu_count() or 1
    write_texts(documents, arguments.texts, arguments.documents)
    cache = work / "compiled"

    rounds: list[dict[str, Any]] = []
    model = partial(OnnxEmbedder, str(arguments.model), cache=str(cache))
    clock = Clock(work / "log-local")
    embedder = Logged(partial(model, threads=0), str(work / "log-local"))
    embedder.embed(["ready"])
    clock.on_ready(1)
    passages = FolderIndex.open(work / "local", embedder=embedder).ingest(documents).passages
    rounds.append({"way": "local", "workers": 0, "threads": cores, **clock.figures(passages)})
    print(json.dumps(rounds[-1]), flush=True)
    with cluster("local", cores):
        for workers, threads in ((1, cores), (1, 1), (2, 1)):
            log = work / f"log-{workers}-{threads}"
            clock = Clock(log)
            summary = ingest_with_ray(
                FolderIndex.open(work / f"ray-{workers}-{threads}", embedder=embedder),
                [documents],
                address="local",
                workers=workers,
                threads=threads,
                on_ready=clock.on_ready,
                embedder=partial(Logged, partial(model, threads=threads), str(log)),
            )
            figures = clock.figures(summary.passages)
            rounds.append({"way": "ray", "workers": workers, "threads": threads, **figures})
            print(json.dumps(rounds[-1]), flush=True)
    keep("real", rounds, arguments.note)


@contextlib.contextmanager
def nodes_of(count: int) -> Iterator[str]:
    """Give the address of a simulated cluster: a node without cores for the driver, and so many of one core."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
    from ray.cluster_utils import Cluster

    memory = {"object_store_memory": 100_000_000}
    simulated = Cluster(
        initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False, **memory}
    )
    try:
        for _ in range(count):
            simulated.add_node(num_cpus=1, **memory)
        yield simulated.address
    finally:
        simulated.shutdown()


def nodes(arguments: argparse.Namespace, work: Path) -> None:
    """Measure an ingest by so many nodes whose embedder waits."""
    write_rows(work / "rows", arguments.nodes * arguments.each)
    log = work / "log"
    make = partial(Logged, partial(Waiting, arguments.wait), str(log))
    begun = time.perf_counter()
    with nodes_of(arguments.nodes) as address, cluster(address, arguments.nodes):
        up = time.perf_counter() - begun
        clock = Clock(log)
        summary = ingest_with_ray(
            FolderIndex.open(work / "index", embedder=Waiting(0)),
            [work / "rows"],
            address=address,
            workers=arguments.nodes,
            embedder=make,
            on_ready=clock.on_ready,
        )
        figures = {"nodes": arguments.nodes, "wait_ms": arguments.wait, "cluster": round(up, 2)}
        figures |= clock.figures(summary.passages)
    print(json.dumps(figures), flush=True)
    keep(f"nodes-{arguments.nodes}", figures, arguments.note)


def keep(name: str, figures: Any, note: str) -> None:
    """Keep the figures with their day, and write the page anew from all that are kept."""
    results = read_json(FIGURES) if FIGURES.exists() else {"ran": {}}
    results[name] = figures
    results["ran"][name] = f"{time.strftime('%Y-%m-%d')}, {note}"
    write_json(FIGURES, results)
    FIGURES.with_name("ray_ingest.md").write_text(page(results), encoding="utf-8")


def page(results: dict[str, Any]) -> str:
    """Return the page in Markdown."""
    lines = [
        "# An ingest on Ray",
        "",
        f"Machine: {machine()}. Ray's cluster was there before the clock started. `start`: seconds until",
        "all workers were ready, their models loaded; `rate`: passages a second from then to the end, counting what was embedded since then;",
        "`whole`: seconds of the ingest, starting included.",
        "",
    ]
    if "real" in results:
        lines += [
            "    python -m bench.scale.ray_ingest real --model FOLDER --texts nfcorpus/corpus.jsonl --documents 1100",
            "",
            f"Abstracts of NFCorpus, all-MiniLM-L6-v2 in int8; {results['ran']['real']}.",
            "",
            "| way | workers | threads each | passages | start | rate | whole |",
            "|---|--:|--:|--:|--:|--:|--:|",
        ]
        for one in results["real"]:
            lines.append(
                f"| {one['way']} | {one['workers'] or '-'} | {one['threads']} | {one['passages']:,} | {one['start']:g} | {one['rate']:g} | {one['whole']:g} |"
            )
        rates = {(one["way"], one["workers"], one["threads"]): one["rate"] for one in results["real"]}
        cores = max(one["threads"] for one in results["real"])
        over_local = rates["ray", 1, cores] / rates["local", 0, cores]
        two_over_one = rates["ray", 2, 1] / rates["ray", 1, 1]
        lines += [
            "",
            f"One worker on all cores over a local ingest: {over_local:.2f} (aimed at: .9). Two workers of one thread over one: {two_over_one:.2f} (aimed at: 1.7).",
            "",
        ]
    simulated = sorted(
        (one for name, one in results.items() if name.startswith("nodes-")), key=lambda one: one["nodes"]
    )
    if simulated:
        last = f"nodes-{simulated[-1]['nodes']}"
        lines += [
            "    python -m bench.scale.ray_ingest nodes --nodes N --wait 20 --each 1280",
            "",
            f"Nodes simulated on this machine by `ray.cluster_utils.Cluster`, each with a worker whose embedder waits {simulated[0]['wait_ms']:g} ms for each passage; one file of rows.",
            f"`cluster`: seconds until all nodes were there; {results['ran'][last]}.",
            "",
            "| nodes | passages | cluster | start | rate | over one | whole |",
            "|--:|--:|--:|--:|--:|--:|--:|",
        ]
        for one in simulated:
            over = f"{one['rate'] / simulated[0]['rate']:.2f}" if simulated[0]["nodes"] == 1 else "-"
            lines.append(
                f"| {one['nodes']} | {one['passages']:,} | {one['cluster']:g} | {one['start']:g} | {one['rate']:g} | {over} | {one['whole']:g} |"
            )
        lines.append("")
    return "\n".join(lines)


def main() -> None:
    """Measure, print and keep."""
    parser = parser_of(__doc__)
    parser.add_argument("what", choices=("real", "nodes"))
    parser.add_argument("--model", type=Path)
    parser.add_argument("--texts", type=Path)
    parser.add_argument("--documents", type=int, default=900)
    parser.add_argument("--nodes", type=int, default=8)
    parser.add_argument("--wait", type=float, default=20.0)
    parser.add_argument("--each", type=int, default=1536)
    parser.add_argument("--note", default="nothing else ran", help="what else the machine did, for the page")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ray-ingest-") as work:
        {"real": real, "nodes": nodes}[arguments.what](arguments, Path(work))


if __name__ == "__main__":
    main()
