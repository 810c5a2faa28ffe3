"""An ingest by two simulated nodes of which one is taken away half-way; prints what came of it as JSON.

python -m tests.store.ingesting.lost_node FOLDER
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from disputatio.store.folder_index import FolderIndex
from disputatio.store.ingesting.ray_ingest import ingest_with_ray
from disputatio.workers.cluster import cluster
from tests.store.hashing import HashEmbedder

ROWS = 128 * 24
SECONDS = 0.4  # that a block takes


class Slow(HashEmbedder):
    """An embedder that takes its time, and writes down how many texts it was given, and when."""

    def __init__(self, folder: str) -> None:
        super().__init__()
        self._folder = Path(folder)

    def embed(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:
        with (self._folder / f"{os.getpid()}.txt").open("a") as out:
            out.write(f"{len(texts)}\n" if list(texts) != ["ready"] else "")
        time.sleep(SECONDS)
        return super().embed(texts, query=query)


def main(work: Path) -> None:
    """Ingest, lose a node, and compare with a local ingest."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    # Ray reads these names as they are.
    os.environ.update({"RAY_health_check_period_ms": "500", "RAY_health_check_failure_threshold": "3"})
    from ray.cluster_utils import Cluster

    rows = [json.dumps({"text": f"row {n} says so", "source": f"s{n % 7}"}) + "\n" for n in range(ROWS)]
    (work / "rows.jsonl").write_text("".join(rows))
    log = work / "log"
    log.mkdir()
    memory = {"object_store_memory": 100_000_000}
    simulated = Cluster(
        initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False, **memory}
    )
    try:
        nodes = [simulated.add_node(num_cpus=1, **memory) for _ in range(2)]
        lost: list[int] = []

        def lose() -> None:
            while sum(1 for _ in log.glob("*.txt")) < 2:  # both nodes are at work
                time.sleep(0.05)
            time.sleep(2.5 * SECONDS)
            simulated.remove_node(nodes[1], allow_graceful=False)
            lost.append(1)

        with cluster(simulated.address, 2):
            threading.Thread(target=lose, daemon=True).start()
            index = FolderIndex.open(work / "ray", embedder=HashEmbedder())
            ingest_with_ray(
                index,
                [work / "rows.jsonl"],
                address=simulated.address,
                workers=2,
                embedder=partial(Slow, str(log)),
            )
    finally:
        simulated.shutdown()
    local = FolderIndex.open(work / "local", embedder=HashEmbedder())
    local.ingest(work / "rows.jsonl")
    ours, theirs = (
        [
            (passage.id, passage.text, vector.tolist())
            for record in one._folders.records()
            for batch in record.passages()
            for passage, vector in zip(
                batch.passages, () if batch.vectors is None else batch.vectors, strict=True
            )
        ]
        for one in (index, local)
    )
    embedded = sum(int(line) for file in log.glob("*.txt") for line in file.read_text().split())
    print(json.dumps({"same": ours == theirs, "lost": bool(lost), "again": embedded - ROWS}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
