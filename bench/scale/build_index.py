"""Build an index of made passages, block by block, without a corpus on disk; figures of each 100,000.

    python -m bench.scale.build_index --work DIR --size 1000000

Passages, sources and vectors are those of bench/search/corpus.py. DIR/SIZE/index is the index, DIR/SIZE/queries the queries with their
vectors, DIR/SIZE/build.jsonl a line for each 100,000 passages.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bench.lib.build_options import read_build_options
from bench.lib.process_memory import peak_mb
from bench.search import corpus
from disputatio.store.folder_index import FolderIndex
from disputatio.types import Passage

NOTED = 100_000


class MadeVectors:
    """An embedder that knows the vectors of the newest blocks by their texts."""

    name, dimension = "made-384", corpus.DIMENSION

    def __init__(self) -> None:
        self._known: dict[str, NDArray[np.float32]] = {}
        self._last: dict[str, NDArray[np.float32]] = {}

    def remember(self, texts: Sequence[str], vectors: NDArray[np.float32]) -> None:
        """Know the vectors of a block, and still those of the block before."""
        self._last, self._known = self._known, dict(zip(texts, vectors, strict=True))

    def embed(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:
        """Return the vectors of texts that were remembered."""
        del query
        found = [self._known[text] if text in self._known else self._last[text] for text in texts]
        return np.stack(found)


def made(folder: Path, size: int, seed: int, embedder: MadeVectors) -> Iterator[list[Passage]]:
    """Yield the passages of a corpus in blocks of 10,000, whose vectors the embedder then knows."""
    folder.mkdir(parents=True, exist_ok=True)
    maker = corpus._Maker(folder, size, seed)
    maker._queries()
    for start in range(0, size, corpus.BLOCK):
        rows = min(corpus.BLOCK, size - start)
        ids, lengths, sources, vectors = maker._block(start, rows, start // corpus.BLOCK)
        texts = [text.decode("ascii") for text in maker._texts(ids, lengths)]
        embedder.remember(texts, vectors)
        yield [
            Passage(id=f"p{start + row}", text=text, source=corpus.source_name(source))
            for row, (text, source) in enumerate(zip(texts, sources.tolist(), strict=True))
        ]


def main() -> None:
    """Build, and note what each 100,000 passages took."""
    folder, size, seed = read_build_options(__doc__)
    embedder = MadeVectors()
    index = FolderIndex.open(folder / "index", embedder=embedder)
    start, cpu = time.perf_counter(), time.process_time()
    done = 0

    def passages() -> Iterator[Passage]:
        nonlocal done
        for block in made(folder / "queries", size, seed, embedder):
            yield from block
            done += len(block)
            if done % NOTED == 0 or done == size:
                line = {
                    "passages": done,
                    "seconds": round(time.perf_counter() - start, 1),
                    "cpu": round(time.process_time() - cpu, 1),
                    "peak": peak_mb(),
                }
                with (folder / "build.jsonl").open("a") as out:
                    out.write(json.dumps(line) + "\n")

    index.add(passages())
    print(json.dumps({"size": done, "seconds": round(time.perf_counter() - start, 1), "peak": peak_mb()}))


if __name__ == "__main__":
    main()
