"""Check an embedding model in a folder: does it load fast, know what is alike, and find passages?

    python -m bench.engine.embed_check FOLDER [--beir FOLDER] [--limit N]

Prints one JSON object. Exit status 1 when a pair that means the same scores below one that does
not. With `--beir` (corpus.jsonl, queries.jsonl, qrels/test.tsv) it measures nDCG@10 of keyword,
dense and hybrid search through the index.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from disputatio.store.embed import OnnxEmbedder
from disputatio.store.folder_index import FolderIndex
from disputatio.types import Passage

PAIRS = [
    ("How many people live in Broken Bow?", "The population of Broken Bow is 3,559.", "The bow is a weapon."),
    ("The bridge fell into the river.", "The bridge collapsed.", "The bank raised its rates."),
    (
        "Who wrote Hamlet?",
        "Hamlet is a play by Shakespeare.",
        "A hamlet is a small village without a church.",
    ),
]
TEXT = "The town counted three thousand five hundred people in the census of that year, fewer than before. "


def loading(folder: Path, cache: Path | None) -> float:
    """Return seconds from a new embedder to its first vector."""
    start = time.perf_counter()
    OnnxEmbedder(folder, cache=cache).embed(["warm"])
    return round(time.perf_counter() - start, 3)


def ndcg(ranking: list[str], relevant: dict[str, int], depth: int = 10) -> float:
    """nDCG at a depth, with linear gain."""
    gain = sum(relevant.get(document, 0) / math.log2(at + 2) for at, document in enumerate(ranking[:depth]))
    best = sorted(relevant.values(), reverse=True)[:depth]
    return gain / sum(value / math.log2(at + 2) for at, value in enumerate(best))


def retrieval(folder: Path, embedder: OnnxEmbedder | None, limit: int) -> dict[str, float]:
    """nDCG@10 over the test questions; a document scores as its best passage."""
    corpus = [json.loads(line) for line in (folder / "corpus.jsonl").read_text("utf-8").splitlines()]
    asked = [json.loads(line) for line in (folder / "queries.jsonl").read_text("utf-8").splitlines()]
    queries = {row["_id"]: row["text"] for row in asked}
    relevant: dict[str, dict[str, int]] = {}
    for line in (folder / "qrels" / "test.tsv").read_text("utf-8").splitlines()[1:]:
        query, document, grade = line.split("\t")
        if int(grade) > 0:
            relevant.setdefault(query, {})[document] = int(grade)
    with tempfile.TemporaryDirectory() as temporary:
        index = FolderIndex.open(Path(temporary) / "index", embedder=embedder)
        start = time.perf_counter()
        summary = index.add(
            Passage(text=row["text"], title=row["title"], metadata={"id": row["_id"]})
            for row in corpus
            if row["text"]
        )
        result: dict[str, float] = {
            "ingest_seconds": round(time.perf_counter() - start, 1),
            "passages": summary.passages,
        }
        legs = {"keyword": 1.0, "dense": 0.0, "hybrid": 0.35} if embedder else {"keyword": 1.0}
        for name, alpha in legs.items():
            scores, waits = [], []
            for query in sorted(relevant)[:limit]:
                start = time.perf_counter()
                hits = index.search(queries[query], k=50, alpha=alpha)
                waits.append(time.perf_counter() - start)
                ranking = list(dict.fromkeys(hit.passage.metadata["id"] for hit in hits))
                scores.append(ndcg(ranking, relevant[query]))
            result[f"ndcg10_{name}"] = round(statistics.fmean(scores), 4)
            result[f"search_ms_{name}"] = round(statistics.median(waits) * 1000, 1)
    return result


def main() -> int:
    """Run the checks named on the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--beir", type=Path)
    parser.add_argument("--limit", type=int, default=1000, help="questions to ask")
    parser.add_argument("--threads", type=int, default=0)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as cache:
        seconds = {
            "uncached": loading(arguments.folder, None),
            "filling the cache": loading(arguments.folder, Path(cache)),
            "cached": loading(arguments.folder, Path(cache)),
        }
    embedder = OnnxEmbedder(arguments.folder, threads=arguments.threads)
    margins = []
    for triple in PAIRS:
        first, same, other = embedder.embed(triple)
        margins.append(round(float(np.dot(first, same) - np.dot(first, other)), 3))
    passages = [TEXT * (3 + n % 6) for n in range(64)]
    start = time.perf_counter()
    embedder.embed(passages)
    result = {
        "name": embedder.name,
        "dimension": embedder.dimension,
        "load_seconds": seconds,
        "margins": margins,
        "passages_a_second": round(len(passages) / (time.perf_counter() - start), 1),
    }
    if arguments.beir:
        result["retrieval"] = retrieval(arguments.beir, embedder, arguments.limit)
    print(json.dumps(result, indent=1))
    return 0 if min(margins) > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
