"""Make a corpus for search: Zipf text, clustered vectors, skewed sources, planted answers, and the nearest passages.

    python -m bench.search.corpus --work DIR --size 100000 [--seed 7]

The same size and seed give the same texts on every machine with the same numpy, and the same vectors but for
rounding. A passage is 60-146 words (mean 125) in sentences; words are drawn by Zipf's law from 400,000,
frequent ones short, and none is changed by an English stemmer. Vectors have 384 dimensions and unit length:
2,000 clusters of unequal size, with noise of about 26 effective dimensions around each centre. Sources are
1,000, the largest with 8 % of the passages. Of the queries (40 to warm up and tune with, 120 to measure with)
30 % are planted: 12 passages anywhere in the corpus hold all their words and a vector near theirs.

`DIR/SIZE/corpus/` holds: texts.bin with offsets.npy (bytes), vectors.npy, sources.npy, queries.json with query_vectors.npy, and
planted.npy.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

DIMENSION = 384
SOURCES = 1000
WARM, ASKED = 40, 120
RELEVANT = 12
BLOCK = 10_000
_VOCABULARY = 400_000
_CLUSTERS = 2000
_NOISE = 0.8
_KINDS = ("mixed", "planted", "mid", "mixed", "common", "planted", "mid", "mixed", "planted", "common")


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A query, and its unit vector."""

    text: str
    kind: str
    vector: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Corpus:
    """A corpus on disk, read in blocks; nothing is kept in memory but what is asked for."""

    folder: Path
    size: int

    def texts(self, start: int, stop: int) -> list[str]:
        """Return the texts of a range of rows."""
        return _texts(self.folder / "texts.bin", self.folder / "offsets.npy", start, stop)

    def vectors(self, start: int, stop: int) -> NDArray[np.float32]:
        """Return the vectors of a range of rows, (stop - start, 384)."""
        vectors: NDArray[np.float32] = np.array(
            np.load(self.folder / "vectors.npy", mmap_mode="r")[start:stop]
        )
        return vectors

    def sources(self) -> NDArray[np.int16]:
        """Return the number of each row's source."""
        sources: NDArray[np.int16] = np.load(self.folder / "sources.npy")
        return sources

    def blocks(self) -> Iterator[tuple[int, list[str], list[str], NDArray[np.float32]]]:
        """First row, texts, names of sources and vectors, 10,000 passages at a time."""
        sources = self.sources()
        for start in range(0, self.size, BLOCK):
            stop = min(start + BLOCK, self.size)
            names = [source_name(number) for number in sources[start:stop].tolist()]
            yield start, self.texts(start, stop), names, self.vectors(start, stop)

    def queries(self) -> list[Query]:
        """Return all queries; the first 40 are not to be measured."""
        written = json.loads((self.folder / "queries.json").read_text("utf-8"))
        vectors = np.load(self.folder / "query_vectors.npy")
        return [
            Query(text=query["text"], kind=query["kind"], vector=vectors[at])
            for at, query in enumerate(written)
        ]


def nearest(corpus: Corpus, k: int) -> NDArray[np.int64]:
    """Return the rows of the k nearest passages of every query, best first, by brute force; kept in a file once
    found.
    """
    path = corpus.folder / f"nearest_{k}.npy"
    if not path.exists():
        queries, found = corpus.queries(), []
        for start in range(0, len(queries), 20):
            for scores in cosines(corpus, queries[start : start + 20]):
                best = np.argpartition(-scores, k - 1)[:k]
                found.append(best[np.argsort(-scores[best])])
        np.save(path, np.array(found, dtype=np.int64))
    rows: NDArray[np.int64] = np.load(path)
    return rows


def cosines(corpus: Corpus, queries: list[Query]) -> NDArray[np.float32]:
    """Return the cosines of queries and passages, (queries, passages)."""
    vectors = np.stack([query.vector for query in queries]).T
    scores = np.empty((len(queries), corpus.size), dtype=np.float32)
    for start in range(0, corpus.size, BLOCK):
        block = corpus.vectors(start, min(start + BLOCK, corpus.size))
        scores[:, start : start + len(block)] = (block @ vectors).T
    return scores


def source_name(number: int) -> str:
    """Return the name of a source; the smaller the number, the more it published."""
    return f"s{number:04d}.example"


def open_corpus(work: Path, size: int, seed: int = 7) -> Corpus:
    """Return the corpus of a size in the work folder; made when it is not there or was made otherwise."""
    folder = work / str(size) / "corpus"
    stamp = {"size": size, "seed": seed, "version": 1}
    done = folder / "made.json"
    if not done.exists() or json.loads(done.read_text("utf-8")) != stamp:
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.iterdir():
            old.unlink()
        _Maker(folder, size, seed).make()
        done.write_text(json.dumps(stamp), encoding="utf-8")
    return Corpus(folder, size)


class _Maker:
    """Writes one corpus: what is drawn once is drawn here, the rest by block."""

    def __init__(self, folder: Path, size: int, seed: int) -> None:
        self.folder, self.size = folder, size
        self.seed = (seed, size)
        self.vocabulary = _vocabulary(seed)
        self.law = np.cumsum(1 / (np.arange(_VOCABULARY) + 2.7))
        self.law /= self.law[-1]
        draw = np.random.default_rng((seed, 1))
        # What has few large directions and many small ones, as embeddings do, turned at random.
        self.turn = np.linalg.qr(draw.standard_normal((DIMENSION, DIMENSION)))[0].astype(np.float32)
        spread = (np.arange(DIMENSION) + 1.0) ** -0.5
        self.spread = (spread / np.linalg.norm(spread)).astype(np.float32)
        self.centres = _unit(draw.standard_normal((_CLUSTERS, DIMENSION), dtype=np.float32))
        self.cluster_law = np.cumsum(1 / np.sqrt(np.arange(_CLUSTERS) + 1.0))
        self.cluster_law /= self.cluster_law[-1]
        self.source_law = np.cumsum(1 / (np.arange(SOURCES) + 2.0))
        self.source_law /= self.source_law[-1]

    def make(self) -> None:
        """Write every file."""
        self._queries()
        sources, sizes = [], []
        vectors = np.lib.format.open_memmap(
            self.folder / "vectors.npy", mode="w+", dtype=np.float32, shape=(self.size, DIMENSION)
        )
        with (self.folder / "texts.bin").open("wb") as file:
            for start in range(0, self.size, BLOCK):
                rows = min(BLOCK, self.size - start)
                ids, length, source, vector = self._block(start, rows, start // BLOCK)
                texts = self._texts(ids, length)
                file.write(b"".join(texts))
                sizes += [len(text) for text in texts]
                vectors[start : start + rows] = vector
                sources.append(source)
        vectors.flush()
        np.save(self.folder / "offsets.npy", np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64))
        np.save(self.folder / "sources.npy", np.concatenate(sources).astype(np.int16))

    def _queries(self) -> None:
        draw = np.random.default_rng((*self.seed, 2))
        queries = [self._words(kind, draw) for kind in (_KINDS * (WARM + ASKED))[: WARM + ASKED]]
        written = [{"text": " ".join(self.vocabulary[ids]), "kind": kind} for kind, ids in queries]
        self.asked = [ids for _, ids in queries]
        self.query_vectors = self._near(self.centres[self._clusters(len(queries), draw)], _NOISE, draw)
        planted = [at for at, (kind, _) in enumerate(queries) if kind == "planted"]
        rows = draw.choice(self.size, size=(len(planted), RELEVANT), replace=False)
        self.planted = np.stack([np.repeat(planted, RELEVANT), rows.ravel()], axis=1)
        (self.folder / "queries.json").write_text(json.dumps(written), encoding="utf-8")
        np.save(self.folder / "query_vectors.npy", self.query_vectors)
        np.save(self.folder / "planted.npy", self.planted)

    def _words(self, kind: str, draw: np.random.Generator) -> tuple[str, NDArray[np.int64]]:
        """Return the words of a query: ranks drawn evenly on a log scale within what the kind asks for."""
        ranges = {
            "mixed": [(200, 100_000)] * int(draw.integers(2, 7)),
            "mid": [(200, 5000)] * int(draw.integers(2, 7)),
            "planted": [(1000, 100_000)] * int(draw.integers(3, 6)),
            "common": [(1, 30)] * 2 + [(200, 5000)] * int(draw.integers(2, 4)) + [(5000, 100_000)],
        }[kind]
        ids: list[int] = []
        while len(ids) < len(ranges):
            low, high = ranges[len(ids)]
            count = int(math.exp(draw.uniform(math.log(low), math.log(high))))
            if count not in ids:
                ids.append(count)
        return kind, np.array(ids)

    def _block(
        self, start: int, rows: int, number: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]:
        """Word ids end to end, words a passage, sources and vectors."""
        draw = np.random.default_rng((*self.seed, 3, number))
        length = np.clip(np.rint(draw.normal(125, 18, rows)), 60, 146).astype(np.int64)
        ids = np.searchsorted(self.law, draw.random(int(length.sum())))
        first = np.cumsum(length) - length
        vectors = self._near(self.centres[self._clusters(rows, draw)], _NOISE, draw)
        planted = self.planted[(self.planted[:, 1] >= start) & (self.planted[:, 1] < start + rows)]
        for query, row in planted.tolist():
            at = row - start
            places = first[at] + draw.choice(length[at], size=len(self.asked[query]), replace=False)
            ids[places] = self.asked[query]
            vectors[at] = self._near(self.query_vectors[query : query + 1], 0.4, draw)[0]
        return ids, length, np.searchsorted(self.source_law, draw.random(rows)), vectors

    def _texts(self, ids: NDArray[np.int64], length: NDArray[np.int64], last: str = "") -> list[bytes]:
        """Sentences of fifteen words."""
        words = self.vocabulary[ids].tolist()
        texts, start = [], 0
        for count in length.tolist():
            stop = start + count
            parts = [" ".join(words[at : min(at + 15, stop)]).capitalize() for at in range(start, stop, 15)]
            texts.append((". ".join(parts) + last + ".").encode())
            start = stop
        return texts

    def _clusters(self, count: int, draw: np.random.Generator) -> NDArray[np.int64]:
        clusters: NDArray[np.int64] = np.searchsorted(self.cluster_law, draw.random(count))
        return clusters

    def _near(
        self, centres: NDArray[np.float32], noise: float, draw: np.random.Generator
    ) -> NDArray[np.float32]:
        """Unit vectors around centres; `noise` is the length of the noise against the centre's 1."""
        away = draw.standard_normal(centres.shape, dtype=np.float32) * (self.spread * noise)
        return _unit(centres + away @ self.turn)


def _vocabulary(seed: int) -> NDArray[np.object_]:
    """Words by falling frequency: one syllable, then two, three and four; none has a suffix to strip."""
    syllables = np.array(
        [consonant + vowel for consonant in "bdfgklmnprstvz" for vowel in "aou"], dtype=object
    )
    draw = np.random.default_rng((seed, 0))
    words: list[NDArray[np.object_]] = []
    left = _VOCABULARY
    longer = np.array([""], dtype=object)
    while left > 0:
        if len(longer) < left:
            longer = (longer[:, None] + syllables[None, :]).ravel()
        words.append(draw.permutation(longer)[:left])
        left -= len(words[-1])
    return np.concatenate(words)


def _unit(vectors: NDArray[Any]) -> NDArray[np.float32]:
    unit: NDArray[np.float32] = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    return unit


def _texts(path: Path, offsets_path: Path, start: int, stop: int) -> list[str]:
    offsets = np.array(np.load(offsets_path, mmap_mode="r")[start : stop + 1])
    with path.open("rb") as file:
        file.seek(int(offsets[0]))
        text = file.read(int(offsets[-1] - offsets[0])).decode("ascii")
    ends = (offsets - offsets[0]).tolist()
    return [text[begin:end] for begin, end in itertools.pairwise(ends)]


def main() -> None:
    """Make the corpus that is asked for, and say how long it took."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--work", type=Path, required=True, help="where corpora are kept, outside of the checkout"
    )
    parser.add_argument("--size", type=int, required=True)
    parser.add_argument("--seed", type=int, default=7)
    arguments = parser.parse_args()
    start = time.perf_counter()
    corpus = open_corpus(arguments.work, arguments.size, arguments.seed)
    size_on_disk = sum(file.stat().st_size for file in corpus.folder.iterdir())
    print(
        json.dumps(
            {
                "folder": str(corpus.folder),
                "seconds": round(time.perf_counter() - start, 1),
                "megabytes": round(size_on_disk / 1e6),
            }
        )
    )


if __name__ == "__main__":
    main()
