"""The systems that search_scale.py compares: ours and LanceDB; one class each.

How each is set up: stop words are kept and English stemming is on in both.
LanceDB: FTS index without positions, IVF_RQ with default partitions, bitmap index on the source, optimize() at the
end; nprobes and refine_factor are tuned (the fastest pair with recall@20 of .95 on queries that are not measured).
Its hybrid is its default: reciprocal ranks over 20 of each leg.
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bench.search.corpus import DIMENSION, Corpus, Query

ALPHA = 0.35
Found = list[tuple[int, str]]


class System:
    """A search system. Rows are numbers of passages; a leg is sparse, dense or hybrid."""

    settings: ClassVar[tuple[dict[str, Any], ...]] = ({},)

    def __init__(self, corpus: Corpus, folder: Path) -> None:
        self.corpus, self.folder = corpus, folder
        self.setting: dict[str, Any] = {}

    def load(self) -> None:
        """Import what a search needs."""

    def build(self) -> None:
        """Put the whole corpus into the empty folder."""
        raise NotImplementedError

    def tidy(self) -> None:
        """Drop what the build has replaced and keeps for a while only; not timed."""

    def open(self) -> None:
        """Open what was built."""
        raise NotImplementedError

    def search(self, leg: str, query: Query, k: int) -> Found:
        """Return the best k passages of a leg."""
        raise NotImplementedError


class Ours(System):
    """`disputatio.Index`: passages in by `add`, out by `search`; words alone from an index opened without embedder."""

    ALPHAS: ClassVar[dict[str, float]] = {"sparse": 1.0, "dense": 0.0, "hybrid": ALPHA}
    words: Any = None

    def load(self) -> None:
        # Here and not above: the peers' interpreter reads this file, too, and has no disputatio.
        from disputatio.store.folder_index import FolderIndex
        from disputatio.store.segments import searcher

        self.opened = FolderIndex.open
        assert searcher  # imported now, so that a first search does not wait for it

    def build(self) -> None:
        self.open()
        self.index.add(self._passages(self.corpus.blocks()))
        self.index.compact()

    def tidy(self) -> None:
        time.sleep(2)  # readers have a second at least to leave what they read
        self.index.compact(keep=0)

    def open(self) -> None:
        self.load()
        self.vectors: dict[str, NDArray[np.float32]] = {}
        self.index = self.opened(self.folder / "index", embedder=self)

    def search(self, leg: str, query: Query, k: int) -> Found:
        return self._found(self._of(leg, query).search(query.text, k=k, alpha=self.ALPHAS[leg]))

    def _of(self, leg: str, query: Query) -> Any:
        if leg == "sparse":
            if self.words is None:
                self.words = self.opened(self.folder / "index")
            return self.words
        self.vectors[query.text] = query.vector
        return self.index

    def _passages(
        self, blocks: Iterator[tuple[int, list[str], list[str], NDArray[np.float32]]]
    ) -> Iterator[Any]:
        from disputatio.types import Passage

        for first, texts, sources, vectors in blocks:
            for at, (text, source) in enumerate(zip(texts, sources, strict=True)):
                self.vectors[f"{source}\n{text}"] = vectors[at]  # by what it is found by
                yield Passage(text=text, id=f"p{first + at:08d}", source=source)

    @staticmethod
    def _found(hits: Sequence[Any]) -> Found:
        return [(int(hit.passage.id[1:]), hit.passage.text) for hit in hits]

    # The embedder that the index is given: it hands out the planted vectors, each once.
    name = "planted"
    dimension = DIMENSION

    def embed(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:
        """Return the vectors of texts that are on their way in, or of the query."""
        if query:
            return self.vectors[texts[0]][None]
        return np.stack([self.vectors.pop(text) for text in texts])


class Lance(System):
    """LanceDB's own calls."""

    settings = tuple(
        {"nprobes": probes, "refine": refine}
        for probes in (5, 10, 20, 40, 80, 160)
        for refine in (0, 2, 5, 10)
    )
    setting: dict[str, Any]

    def load(self) -> None:
        self.lancedb = importlib.import_module("lancedb")
        self.match = importlib.import_module("lancedb.query").MatchQuery

    def build(self) -> None:
        self.load()
        pa: Any = importlib.import_module("pyarrow")
        index: Any = importlib.import_module("lancedb.index")
        schema = pa.schema(
            [
                ("row", pa.int32()),
                ("text", pa.string()),
                ("source", pa.string()),
                ("vector", pa.list_(pa.float32(), DIMENSION)),
            ]
        )
        batches = (self._batch(*block, schema=schema) for block in self.corpus.blocks())
        db = self.lancedb.connect(self.folder)
        table = db.create_table("passages", pa.RecordBatchReader.from_batches(schema, batches))
        table.create_index("text", config=index.FTS(remove_stop_words=False, with_position=False))
        table.create_index("vector", config=index.IvfRq(distance_type="cosine"))
        table.create_index("source", config=index.Bitmap())
        table.optimize()

    @staticmethod
    def _batch(
        first: int, texts: list[str], sources: list[str], vectors: NDArray[np.float32], *, schema: Any
    ) -> Any:
        pa: Any = importlib.import_module("pyarrow")
        columns = [
            pa.array(np.arange(first, first + len(texts), dtype=np.int32)),
            pa.array(texts),
            pa.array(sources),
            pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), DIMENSION),
        ]
        return pa.RecordBatch.from_arrays(columns, schema=schema)

    def open(self) -> None:
        self.load()
        self.table = self.lancedb.connect(self.folder).open_table("passages")

    def search(self, leg: str, query: Query, k: int) -> Found:
        return self._found(self._ask(leg, query).limit(k))

    def _ask(self, leg: str, query: Query) -> Any:
        if leg == "sparse":
            return self.table.search(self.match(query.text, "text"), query_type="fts").select(
                ["row", "text", "_score"]
            )
        if leg == "dense":
            search = self.table.search(query.vector, vector_column_name="vector")
            search = search.select(["row", "text", "_distance"])
        else:
            search = self.table.search(query_type="hybrid", vector_column_name="vector", fts_columns="text")
            search = search.vector(query.vector).text(query.text).select(["row", "text"])
        search = search.distance_type("cosine").nprobes(self.setting.get("nprobes", 20))
        return search.refine_factor(self.setting["refine"]) if self.setting.get("refine") else search

    @staticmethod
    def _found(search: Any) -> Found:
        table = search.to_arrow()
        return list(zip(table["row"].to_pylist(), table["text"].to_pylist(), strict=True))


SYSTEMS: dict[str, type[System]] = {"ours": Ours, "lancedb": Lance}
