"""Flipped bits and hostile records: how many change a result silently, end in a traceback, or touch what is outside.

    python -m bench.robustness.flips --flips 10000 --hostile 1000 > flips.json

Every flip changes one bit of one file of a small index, or of a run of an evaluation, and asks the same
questions as before: the results are the same, or one line says that something is damaged. The hostile
records are manifests with values replaced by a seed, whose checksums are right, put to search, check and sync.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import sqlite3
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.lib.hostile import hostile
from disputatio.errors import DisputatioError, InputError, StoreError
from disputatio.eval.record import Record
from disputatio.eval.running.run_log import Entrant, RunManifest, open_run_log, read_journal
from disputatio.eval.running.run_log_file import FILE
from disputatio.store.folder_index import FolderIndex
from disputatio.store.record import manifest as manifests
from disputatio.store.record.check import check
from disputatio.store.record.replicate import sync
from disputatio.types import Answer, Example, Passage, Usage

PASSAGES, RECORDS = 300, 60
QUERIES = ("zebra", "number 17 of the zoo", "river bank")
VALUES: tuple[Any, ...] = (
    None, True, -1, 0, 2**70, 1.5, "", ".", "..", "/", "../own", "../../own/letter.txt", "a\0b", "x" * 5000,
    "own\nletter", "\ud800", [], {}, "dead-00000001.npy", "0" * 32, "segments", "/etc/hostname",
)  # fmt: skip


class Embedder:
    """Vectors from the letters of a text: cheap."""

    name, dimension = "bench-16", 16

    def embed(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:  # noqa: ARG002 - the protocol
        vectors = np.ones((len(texts), 16), dtype=np.float32)
        for row, text in enumerate(texts):
            for char in text:
                vectors[row, ord(char) % 16] += 1
        unit: NDArray[np.float32] = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        return unit


def make_index(path: Path) -> None:
    """Make an index with several sources, and one of them deleted."""
    words = ("zoo", "river", "bank", "house", "road")
    index = FolderIndex.open(path, embedder=Embedder())
    index.add(
        Passage(
            id=f"p{n}", text=f"zebra number {n} of the {words[n % 5]}", source=f"s{n % 9}", date="2020-01-02"
        )
        for n in range(PASSAGES)
    )
    index.delete(sources=["s3"])


def found(path: Path) -> list[Any]:
    """Return what the index finds, to the last digit."""
    index = FolderIndex.open(path, embedder=Embedder(), create=False)
    hits = [index.search(query, k=400) for query in QUERIES]
    return [[(hit.passage, hit.score) for hit in part] for part in hits] + [
        index.search("zebra", after="2020", k=9)
    ]


def make_run(path: Path) -> None:
    """Make a run of an evaluation."""
    manifest = RunManifest(datasets={"toy": "0"}, metrics={"toy": ("em",)}, metrics_version=1, model="m")
    entrant = Entrant(label="concat", strategy="concat")
    examples = [
        Example(id=f"x{n}", row=n, question=f"q{n}", gold=(f"gold {n}",), metadata={"dataset": "toy"})
        for n in range(RECORDS)
    ]
    with open_run_log(path, manifest, [entrant], examples) as log:
        for n in range(RECORDS):
            record = Record(
                example=f"x{n}", row=n, strategy="concat", options={}, answers=(f"gold {n}",), abstained=None,
                scores={"em": float(n % 2)}, usage=Usage(calls=1), seconds=0.1,
            )  # fmt: skip
            log.append("concat", record, state="done", answer=Answer(question=f"q{n}", answers=("a",)))
    with closing(sqlite3.connect(path / FILE)) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def flips(path: Path, ask: Callable[[Path], object], count: int, draw: random.Random) -> Counter[str]:
    """Return what came of so many flipped bits, one at a time, over every file below a folder."""
    sound = ask(path)
    files = [file for file in sorted(path.rglob("*")) if file.is_file() and file.stat().st_size]
    outcomes: Counter[str] = Counter()
    for number in range(count):
        file = files[number % len(files)]
        whole = file.read_bytes()
        at = draw.randrange(len(whole))
        raw = bytearray(whole)
        raw[at] ^= 1 << draw.randrange(8)
        file.write_bytes(raw)
        try:
            outcomes["same" if ask(path) == sound else "silent"] += 1
        except (StoreError, InputError) as error:
            outcomes["refused" if "\n" not in str(error) else "refused in several lines"] += 1
        except Exception as error:  # noqa: BLE001 - the count of what nothing else catches
            outcomes["traceback"] += 1
            print(f"{file}: {type(error).__name__}: {error}", file=sys.stderr)
        file.write_bytes(whole)
    return outcomes


def outside(path: Path) -> str:
    """Return a hash of all that lies beside the index."""
    digest = blake2b(digest_size=16)
    for file in sorted(path.parent.rglob("*")):
        if path not in (file, *file.parents):
            digest.update(os.fsencode(file) + (file.read_bytes() if file.is_file() else b""))
    return digest.hexdigest()


def attacks(path: Path, count: int, draw: random.Random) -> Counter[str]:
    """Return what came of so many hostile manifests, each put to search, check and sync."""
    fields = json.loads((path / manifests.NAME).read_bytes())
    fields = {name: value for name, value in fields.items() if name not in (manifests._KEY, "checksum")}
    (path.parent / "own").mkdir()
    (path.parent / "own" / "letter.txt").write_text("dear reader")
    before, target = outside(path), path.parent / "copy"
    outcomes: Counter[str] = Counter()
    spare = path.parent.parent / "spare"
    shutil.copytree(path, spare)
    for changed, _ in zip(hostile(fields, draw, VALUES), range(count), strict=False):
        signed = {**changed, "checksum": manifests.checksum_of(changed)}
        raw = json.dumps({manifests._KEY: manifests.FORMAT, **signed}).encode()
        (path / manifests.NAME).write_bytes(raw)
        with closing(sqlite3.connect(path / manifests.RECORD)) as database, database:
            database.execute("UPDATE manifest SET body = ?", (raw,))
        uses: tuple[Callable[[], object], ...] = (
            lambda: found(path), lambda: sync(path, target), lambda: check(path)
        )  # fmt: skip
        for use in uses:
            try:
                use()
                outcomes["done"] += 1
            except DisputatioError as error:
                outcomes["refused" if "\n" not in str(error) else "refused in several lines"] += 1
            except Exception as error:  # noqa: BLE001 - the count of what nothing else catches
                outcomes["traceback"] += 1
                print(f"{type(error).__name__}: {error}", file=sys.stderr)
        shutil.rmtree(target, ignore_errors=True)
        outcomes["outside touched"] += outside(path) != before
        shutil.rmtree(path)
        shutil.copytree(spare, path)
    return outcomes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--flips", type=int, default=1000, help="of bits, half in an index, half in a run")
    parser.add_argument("--hostile", type=int, default=100, help="manifests")
    parser.add_argument("--seed", type=int, default=19)
    arguments = parser.parse_args()
    draw, begin = random.Random(arguments.seed), time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        index, run = Path(folder, "in", "index"), Path(folder, "run")
        index.parent.mkdir()
        make_index(index)
        make_run(run)
        results = {
            "index": dict(flips(index, found, arguments.flips // 2, draw)),
            "run": dict(flips(run, read_journal, arguments.flips // 2, draw)),
            "hostile": dict(attacks(index, arguments.hostile, draw)),
        }
    print(json.dumps({**vars(arguments), **results, "seconds": round(time.perf_counter() - begin)}, indent=1))


if __name__ == "__main__":
    main()
