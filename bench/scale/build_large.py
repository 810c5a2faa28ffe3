"""Build an index of ten million made passages as segments alone, merged in tiers while it grows; resumable.

    python -m bench.scale.build_large --work DIR --size 10000000

Passages, sources and vectors are those of bench/search/corpus.py. Segments are built, saved, committed and merged by the code of the
writer, 10,000 passages a commit. What is left out, and measured apart at a million by bench/scale/build_index.py: the tables
(their rows stay empty, as in a replica without tables), dividing documents, and splitting texts into words, for which the word
numbers that the texts are made of stand in. The first block is compared with one that was split. A run that was cut off goes on
after its last commit. DIR/SIZE/index is the index, DIR/SIZE/queries the queries, DIR/SIZE/large.jsonl a line for each 100,000 passages.
"""

from __future__ import annotations

import json
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bench.lib.build_options import read_build_options
from bench.lib.process_memory import memory_mb, peak_mb
from bench.scale.build_index import NOTED
from bench.scale.merge_large import size_of
from bench.search import corpus
from disputatio.store.record import manifest as manifests
from disputatio.store.record.tables import writing
from disputatio.store.record.transaction import Transaction
from disputatio.store.segments.segment import Segment
from disputatio.store.segments.terms import Counted, count, hash_of
from disputatio.text import content_id
from disputatio.types import Passage

LANGUAGE = "english"


class Blocks:
    """The blocks of a corpus, each as a segment in memory."""

    def __init__(self, folder: Path, size: int, seed: int) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.size, self._maker = size, corpus._Maker(folder, size, seed)
        self._maker._queries()
        self._hashes = np.array([hash_of(word) for word in self._maker.vocabulary.tolist()], dtype=np.uint64)

    def segment(self, start: int) -> Segment:
        """Return the segment of the block that begins at a row; the first is compared with one from texts
        alone.
        """
        rows = min(corpus.BLOCK, self.size - start)
        ids, lengths, sources, vectors = self._maker._block(start, rows, start // corpus.BLOCK)
        texts = [text.decode("ascii") for text in self._maker._texts(ids, lengths)]
        passages = []
        for row, (text, source) in enumerate(zip(texts, sources.tolist(), strict=True), start=start):
            name = corpus.source_name(source)
            document = content_id("d", name, f"{row}")
            passages.append(Passage(id=f"p{row}", text=text, source=name, document=document, end=len(text)))
        counted = self._counted(ids, lengths)
        if start == 0:
            check(counted, count([""] * rows, texts, LANGUAGE))
        return Segment.build(passages, vectors, language=LANGUAGE, counted=counted)

    def _counted(self, ids: NDArray[np.int64], lengths: NDArray[np.int64]) -> Counted:
        used, tokens = np.unique(ids, return_inverse=True)
        ends = np.cumsum(lengths)
        return Counted(self._hashes[used], tokens.astype(np.int32), ends - lengths, ends)


def check(ours: Counted, split: Counted) -> None:
    """Raise `ValueError` unless the words are those that splitting the texts gives."""
    same = np.array_equal(ours.hashes[ours.tokens], split.hashes[split.tokens])
    if not (same and np.array_equal(ours.bodies, split.bodies) and np.array_equal(ours.ends, split.ends)):
        raise ValueError("the word numbers are not the words of the texts")


def build(work: Path, size: int, seed: int) -> None:
    """Build on from the last commit, and note what each 100,000 passages took."""
    folder = work / "index"
    folder.mkdir(parents=True, exist_ok=True)
    blocks = Blocks(work / "queries", size, seed)
    with writing(folder):
        manifest = manifests.read(folder)
        if manifest is None:
            transaction = Transaction.make(
                folder, embedder="made-384", dimension=corpus.DIMENSION, language=LANGUAGE
            )
        else:
            transaction = Transaction.open(folder, manifest)
        start, cpu, merging = time.perf_counter(), time.process_time(), 0.0
        for done in range(transaction.manifest.live, size, corpus.BLOCK):
            transaction.stage(blocks.segment(done))
            transaction.switch()
            before = time.process_time()
            transaction.merge_due()
            merging += time.process_time() - before
            rows = transaction.manifest.live
            if rows % NOTED == 0 or rows == size:
                line = {
                    "passages": rows,
                    "seconds": round(time.perf_counter() - start, 1),
                    "cpu": round(time.process_time() - cpu, 1),
                    "merging_cpu": round(merging, 1),
                    "peak_mb": peak_mb(),
                    "anonymous_mb": memory_mb("RssAnon"),
                    "disk_mb": size_of(folder),
                    "segments": len(transaction.manifest.segments),
                }
                with (work / "large.jsonl").open("a") as out:
                    out.write(json.dumps(line) + "\n")


def main() -> None:
    """Build."""
    build(*read_build_options(__doc__))


if __name__ == "__main__":
    main()
