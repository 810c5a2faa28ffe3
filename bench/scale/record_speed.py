"""Ingest, add, delete and search of one index, in this tree and in others, alternately.

    python -m bench.scale.record_speed --files 4000 --rounds 3 [--other NAME=TREE ...]

Text files of about 2.6 kB are made, ingested without embedding, and ingested again; then single passages are
added and deleted, each a commit, and queries asked. Every round is a process of its own with the `src` of a
tree first on its path; TREE is a checkout of another version. Figures are medians over the rounds; the sizes
are of the last.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

WORDS = 8_000
SINGLE = 30
QUERIES = 200


def write_files(folder: Path, count: int) -> None:
    """Write text files of words drawn by Zipf's law, in folders that stand for sources."""
    draw = random.Random(36)
    words = ["".join(draw.choices("abcdefghijklmnoprstuvwy", k=draw.randint(2, 9))) for _ in range(WORDS)]
    weights = [1 / (rank + 1) for rank in range(WORDS)]
    for number in range(count):
        file = folder / f"source{number % 40}" / f"{number:05}.txt"
        file.parent.mkdir(parents=True, exist_ok=True)
        text = draw.choices(words, weights, k=440)
        file.write_text(". ".join(" ".join(text[at : at + 11]) for at in range(0, len(text), 11)) + ".")


def median_ms(calls: list[Callable[[], object]]) -> float:
    """Return the median time of some calls in milliseconds."""
    seconds = []
    for call in calls:
        begin = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - begin)
    return round(1000 * statistics.median(seconds), 2)


def measure(docs: Path, path: Path) -> dict[str, float]:
    """Return the figures of one index."""
    from disputatio.store.folder_index import FolderIndex
    from disputatio.types import Passage

    index = FolderIndex.open(path)
    begin = time.perf_counter()
    summary = index.ingest(docs)
    seconds = time.perf_counter() - begin
    begin = time.perf_counter()
    index.ingest(docs)
    again = time.perf_counter() - begin
    texts = [f"A single passage number {number} on lighthouses." for number in range(SINGLE)]
    passages = [
        Passage(id=f"single{number}", text=text, source="single") for number, text in enumerate(texts)
    ]
    add = median_ms([lambda passage=passage: index.add([passage]) for passage in passages])  # type: ignore[misc]
    documents = [row.id for row in index.documents(text=False)][:SINGLE]
    delete = median_ms([lambda name=name: index.delete(documents=[name]) for name in documents])  # type: ignore[misc]
    query = random.Random(7)
    words = (docs / "source0" / "00000.txt").read_text().replace(".", "").split()
    asked = [" ".join(query.choices(words, k=4)) for _ in range(QUERIES)]
    index.search(asked[0])
    search = median_ms([lambda text=text: index.search(text) for text in asked])  # type: ignore[misc]
    files = [file for file in path.rglob("*") if file.is_file()]
    size = sum(file.stat().st_size for file in files)
    segments = sum(file.stat().st_size for file in files if "segments" in file.parts)
    return {
        "passages": summary.passages,
        "passages a second": round(summary.passages / seconds),
        "unchanged s": round(again, 2),
        "add ms": add,
        "delete ms": delete,
        "search ms": search,
        "disk MB": round(size / 1e6, 1),
        "record MB": round((size - segments) / 1e6, 1),
    }


def main() -> None:
    """Measure each tree in turn, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=4000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--other", action="append", default=[], metavar="NAME=TREE")
    parser.add_argument("--measure", nargs=2, type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        print(json.dumps(measure(*arguments.measure)))
        return
    here = Path(__file__).parents[2]
    trees = dict(other.split("=", 1) for other in arguments.other) | {"this tree": str(here)}
    rounds: dict[str, list[dict[str, float]]] = {name: [] for name in trees}
    with tempfile.TemporaryDirectory() as work:
        docs = Path(work, "docs")
        write_files(docs, arguments.files)
        for number in range(arguments.rounds):
            for name, tree in trees.items():
                path = Path(work, f"index-{number}-{name.replace(' ', '-')}")
                environment = {**os.environ, "PYTHONPATH": f"{tree}/src"}
                command = [sys.executable, __file__, "--measure", str(docs), str(path)]
                done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
                rounds[name].append(json.loads(done.stdout))
    columns = list(rounds["this tree"][0])
    print("| | " + " | ".join(columns) + " |\n|---" + "|---:" * len(columns) + "|")
    for name, figures in rounds.items():
        medians = [statistics.median(row[column] for row in figures) for column in columns]
        print(f"| {name} | " + " | ".join(f"{value:,g}" for value in medians) + " |")


if __name__ == "__main__":
    main()
