"""The systems that search_scale.py compares: ours, LanceDB, tantivy + usearch, bm25s, LangChain; one class each.

How each is set up: stop words are kept and English stemming is on in all that have them.
LanceDB: FTS index without positions, IVF_RQ with default partitions, bitmap index on the source, optimize() at the
end; nprobes and refine_factor are tuned (the fastest pair with recall@20 of .96 on 40 queries that are not measured).
tantivy: one writer thread, frequencies without positions, merges awaited. usearch: HNSW with its defaults in half
precision, expansion_search tuned likewise; texts of its hits come from a flat file.
bm25s: numba backend (numpy's for a single search in a fresh process), memory-mapped; vectors as one float32 matrix.
Hybrids of tantivy + usearch and of bm25s: best 100 of each leg, scores stretched to [0, 1], .35 to .65. LanceDB's own
hybrid is its default: reciprocal ranks over 20 of each leg.
"""

from __future__ import annotations

import importlib
import re
import shutil
import time
from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bench.search.corpus import DIMENSION, SOURCES, Corpus, Query

DEPTH = 100  # candidates of each leg, where the fusion is ours to write
ALPHA = 0.35
Found = list[tuple[int, str]]


class System:
    """A search system. Rows are numbers of passages; a leg is sparse, dense or hybrid."""

    legs: ClassVar[tuple[str, ...]] = ("sparse", "dense", "hybrid")
    by_source: ClassVar[tuple[str, ...]] = ()
    settings: ClassVar[tuple[dict[str, Any], ...]] = ({},)
    when_cold: ClassVar[dict[str, Any]] = {}  # settings that suit a single search better

    def __init__(self, corpus: Corpus, folder: Path) -> None:
        self.corpus, self.folder = corpus, folder
        self.setting: dict[str, Any] = {}
        self.parts: dict[str, float] = {}  # seconds of parts of a build

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

    def per_source(self, leg: str, query: Query, k: int, sources: list[str] | None) -> Found:
        """Return the best k passages of every source, or of those named."""
        raise NotImplementedError

    def ranking(self, leg: str, query: Query, k: int, sources: list[str] | None) -> int:
        """Return the same as rows, scores and sources, no text read (ours alone has this); how many there
        are.
        """
        raise NotImplementedError


class Ours(System):
    """`disputatio.Index`: passages in by `add`, out by `search`; words alone from an index opened without embedder."""

    by_source = ("sparse", "dense", "hybrid")
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
        start = time.perf_counter()
        self.index.add(self._passages(self.corpus.blocks()))
        middle = time.perf_counter()
        self.index.compact()
        self.parts = {"add": middle - start, "compact": time.perf_counter() - middle}

    def tidy(self) -> None:
        time.sleep(2)  # readers have a second at least to leave what they read
        self.index.compact(keep=0)

    def open(self) -> None:
        self.load()
        self.vectors: dict[str, NDArray[np.float32]] = {}
        self.index = self.opened(self.folder / "index", embedder=self)

    def search(self, leg: str, query: Query, k: int) -> Found:
        return self._found(self._of(leg, query).search(query.text, k=k, alpha=self.ALPHAS[leg]))

    def per_source(self, leg: str, query: Query, k: int, sources: list[str] | None) -> Found:
        index = self._of(leg, query)
        return self._found(index.search(query.text, per_source=k, alpha=self.ALPHAS[leg], sources=sources))

    def ranking(self, leg: str, query: Query, k: int, sources: list[str] | None) -> int:
        from disputatio.protocols import Search

        vector = None if leg == "sparse" else query.vector
        searcher = self._of(leg, query).view().searcher
        search = Search(per_source=k, alpha=self.ALPHAS[leg], sources=sources)
        return len(searcher.rank(query.text, vector, search).rows)

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
                self.vectors[text] = vectors[at]
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
    """LanceDB's own calls; of each source by a filtered search a source."""

    by_source = ("sparse", "dense")
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
        fresh = timedelta(0) if self.setting.get("fresh") else None
        self.table = self.lancedb.connect(self.folder, read_consistency_interval=fresh).open_table("passages")

    def search(self, leg: str, query: Query, k: int) -> Found:
        return self._found(self._ask(leg, query).limit(k))

    def per_source(self, leg: str, query: Query, k: int, sources: list[str] | None) -> Found:
        hits: Found = []
        for source in sources or ():
            hits += self._found(self._ask(leg, query).where(f"source = '{source}'", prefilter=True).limit(k))
        return hits

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


class LanceGrouped(Lance):
    """The best of each source from one LanceDB search: every match under an IN filter, grouped in numpy."""

    legs = ()
    by_source = ("sparse", "dense")

    def per_source(self, leg: str, query: Query, k: int, sources: list[str] | None) -> Found:
        if leg == "sparse":
            search = self.table.search(self.match(query.text, "text"), query_type="fts")
            search = search.select(["row", "source", "_score"])
        else:
            search = self.table.search(query.vector, vector_column_name="vector").distance_type("cosine")
            search = search.bypass_vector_index().select(["row", "source", "_distance"])
        if sources is not None and len(sources) < SOURCES:
            names = ", ".join(f"'{source}'" for source in sources)
            search = search.where(f"source IN ({names})", prefilter=True)
        table = search.with_row_id(True).limit(self.corpus.size).to_arrow()
        scores = table["_score"].to_numpy() if leg == "sparse" else -table["_distance"].to_numpy()
        groups = table["source"].combine_chunks().dictionary_encode().indices.to_numpy()
        best = best_of_groups(scores, groups, k)
        ids = table["_rowid"].to_numpy()[best]
        texts = self.table.take_row_ids(ids.tolist()).select(["row", "text"]).to_arrow()
        return list(zip(texts["row"].to_pylist(), texts["text"].to_pylist(), strict=True))


class Flat:
    """Texts in one file and vectors in another: what engines without a store of their own need beside them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def copy(self, corpus: Corpus, *, vectors: bool) -> None:
        """Take the files that are needed from the corpus."""
        for name in ("texts.bin", "offsets.npy", "sources.npy", *(["vectors.npy"] if vectors else [])):
            shutil.copyfile(corpus.folder / name, self.folder / name)

    def open(self) -> None:
        """Map the files."""
        self.bytes = np.memmap(self.folder / "texts.bin", dtype=np.uint8, mode="r")
        self.offsets = np.load(self.folder / "offsets.npy", mmap_mode="r")
        self.sources = np.load(self.folder / "sources.npy")

    def fetch(self, rows: NDArray[Any]) -> Found:
        """Return rows with their texts."""
        return [
            (row, bytes(self.bytes[self.offsets[row] : self.offsets[row + 1]]).decode())
            for row in map(int, rows)
        ]

    def wanted(self, sources: list[str] | None) -> NDArray[np.bool_]:
        """Return the numbers of the sources asked for."""
        chosen = np.zeros(SOURCES, dtype=np.bool_)
        chosen[[int(name[1:5]) for name in sources] if sources is not None else slice(None)] = True
        return chosen


class Tantivy(System):
    """tantivy for words, usearch for vectors, fused by hand; of each source by a filtered search a source."""

    by_source = ("sparse",)
    settings = tuple(
        {"expansion": expansion} for expansion in (16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768)
    )

    def load(self) -> None:
        self.tantivy = importlib.import_module("tantivy")
        self.usearch = importlib.import_module("usearch.index")

    def _schema(self) -> Any:
        schema = self.tantivy.SchemaBuilder()
        schema.add_integer_field("row", fast=True)
        schema.add_text_field("text", stored=True, tokenizer_name="en_stem", index_option="freq")
        schema.add_text_field("source", tokenizer_name="raw", index_option="basic")
        return schema.build()

    def build(self) -> None:
        self.load()
        Flat(self.folder).copy(self.corpus, vectors=False)
        (self.folder / "words").mkdir()
        index = self.tantivy.Index(self._schema(), path=str(self.folder / "words"))
        writer = index.writer(heap_size=1_000_000_000, num_threads=1)
        start = time.perf_counter()
        for first, texts, sources, _ in self.corpus.blocks():
            for at, (text, source) in enumerate(zip(texts, sources, strict=True)):
                writer.add_document(self.tantivy.Document(row=first + at, text=text, source=source))
        writer.commit()
        writer.wait_merging_threads()
        middle = time.perf_counter()
        vectors = self.usearch.Index(ndim=DIMENSION, metric="ip", dtype="f16")
        for first, _, _, block in self.corpus.blocks():
            vectors.add(np.arange(first, first + len(block)), block)
        vectors.save(str(self.folder / "vectors.usearch"))
        self.parts = {"words": middle - start, "vectors": time.perf_counter() - middle}

    def open(self) -> None:
        self.load()
        self.flat = Flat(self.folder)
        self.flat.open()
        self.index = self.tantivy.Index.open(str(self.folder / "words"))
        self.schema = self.index.schema
        self.searcher = self.index.searcher()
        self.vectors = self.usearch.Index.restore(str(self.folder / "vectors.usearch"), view=True)

    def search(self, leg: str, query: Query, k: int) -> Found:
        if leg == "sparse":
            return self._texts(self._words(self.index.parse_query(query.text, ["text"]), k))
        near = self._near(query, k if leg == "dense" else DEPTH)
        if leg == "dense":
            return self.flat.fetch(near.keys)
        hits = self._words(self.index.parse_query(query.text, ["text"]), DEPTH)
        rows = self.searcher.fast_field_values("row", [address for _, address in hits])
        scores = np.array([score for score, _ in hits])
        return self.flat.fetch(
            _fused(np.array(rows, dtype=np.int64), scores, near.keys.astype(np.int64), 1 - near.distances, k)
        )

    def per_source(self, leg: str, query: Query, k: int, sources: list[str] | None) -> Found:  # noqa: ARG002
        tantivy = self.tantivy
        parsed = self.index.parse_query(query.text, ["text"])
        hits: Found = []
        for source in sources or ():
            of = tantivy.Query.const_score_query(tantivy.Query.term_query(self.schema, "source", source), 0.0)
            both = tantivy.Query.boolean_query([(tantivy.Occur.Must, parsed), (tantivy.Occur.Must, of)])
            hits += self._texts(self._words(both, k))
        return hits

    def _words(self, parsed: Any, k: int) -> list[tuple[float, Any]]:
        hits: list[tuple[float, Any]] = self.searcher.search(parsed, limit=k, count=False).hits
        return hits

    def _near(self, query: Query, k: int) -> Any:
        self.vectors.expansion_search = max(self.setting.get("expansion", 64), k)
        return self.vectors.search(query.vector, k, threads=1)

    def _texts(self, hits: list[tuple[float, Any]]) -> Found:
        rows = self.searcher.fast_field_values("row", [address for _, address in hits])
        return [
            (row, self.searcher.doc(address)["text"][0]) for row, (_, address) in zip(rows, hits, strict=True)
        ]


class Bm25s(System):
    """bm25s for words, one matrix product for vectors; of each source by grouping all scores."""

    by_source = ("sparse", "dense")
    when_cold: ClassVar[dict[str, Any]] = {"backend": "numpy"}  # its numba kernels compile for six seconds

    def load(self) -> None:
        self.bm25s = importlib.import_module("bm25s")
        self.stem = importlib.import_module("Stemmer").Stemmer("english")

    def _tokens(self, texts: list[str]) -> Any:
        return self.bm25s.tokenize(texts, stopwords=None, stemmer=self.stem, show_progress=False)

    def build(self) -> None:
        self.load()
        flat = Flat(self.folder)
        flat.copy(self.corpus, vectors=True)
        tokens = self._tokens(self.corpus.texts(0, self.corpus.size))
        words = self.bm25s.BM25(k1=1.2, b=0.75)
        words.index(tokens, show_progress=False)
        words.save(str(self.folder / "words"))

    def open(self) -> None:
        self.load()
        self.flat = Flat(self.folder)
        self.flat.open()
        self.matrix = np.load(self.folder / "vectors.npy", mmap_mode="r")
        self.words = self.bm25s.BM25.load(str(self.folder / "words"), mmap=True)
        if self.setting.get("backend") != "numpy":
            self.words.backend = "numba"
            self.words.activate_numba_scorer()

    def search(self, leg: str, query: Query, k: int) -> Found:
        if leg == "sparse":
            return self.flat.fetch(self._words(query, k)[0])
        near, cosines = self._near(query, k if leg == "dense" else DEPTH)
        if leg == "dense":
            return self.flat.fetch(near)
        return self.flat.fetch(_fused(*self._words(query, DEPTH), near, cosines, k))

    def per_source(self, leg: str, query: Query, k: int, sources: list[str] | None) -> Found:
        scores = self.matrix @ query.vector if leg == "dense" else self._scores(query)
        chosen = self.flat.wanted(sources)[self.flat.sources]
        if leg == "sparse":
            chosen &= scores > 0
        rows = np.flatnonzero(chosen)
        return self.flat.fetch(rows[best_of_groups(scores[rows], self.flat.sources[rows], k)])

    def _words(self, query: Query, k: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        tokens = self._tokens([query.text])
        rows, scores = self.words.retrieve(tokens, k=k, show_progress=False, n_threads=1)
        return rows[0], scores[0]

    def _scores(self, query: Query) -> NDArray[np.float32]:
        tokens = self.bm25s.tokenize(
            [query.text], stopwords=None, stemmer=self.stem, show_progress=False, return_ids=False
        )
        scores: NDArray[np.float32] = self.words.get_scores(tokens[0])
        return scores

    def _near(self, query: Query, k: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        scores = self.matrix @ query.vector
        best = np.argpartition(-scores, k)[:k]
        best = best[np.argsort(-scores[best])]
        return best, scores[best]


class Ensemble(System):
    """LangChain's EnsembleRetriever over its BM25Retriever and its vector store in memory; nothing is kept on disk."""

    def load(self) -> None:
        self.bm25: Any = importlib.import_module("langchain_community.retrievers").BM25Retriever
        self.store: Any = importlib.import_module("langchain_core.vectorstores").InMemoryVectorStore
        self.embeddings: Any = importlib.import_module("langchain_core.embeddings").Embeddings
        self.ensemble: Any = importlib.import_module("langchain_classic.retrievers").EnsembleRetriever

    def build(self) -> None:
        self.open()

    def open(self) -> None:
        self.load()
        vectors: dict[str, NDArray[np.float32]] = {}

        class Planted(self.embeddings):  # type: ignore[name-defined, misc]
            def embed_documents(self, texts: list[str]) -> list[list[float]]:
                return [vectors.pop(text).tolist() for text in texts]

            def embed_query(self, text: str) -> list[float]:
                vector: list[float] = vectors[text].tolist()
                return vector

        store = self.store(Planted())
        texts: list[str] = []
        about: list[dict[str, Any]] = []
        for first, some, sources, block in self.corpus.blocks():
            rows = [{"row": first + at, "source": source} for at, source in enumerate(sources)]
            vectors.update(zip(some, block, strict=True))
            store.add_texts(some, metadatas=rows)
            texts += some
            about += rows
        self.vectors = vectors
        words = self.bm25.from_texts(
            texts, metadatas=about, k=20, preprocess_func=lambda text: re.findall(r"\w+", text.lower())
        )
        near = store.as_retriever(search_kwargs={"k": 20})
        both = self.ensemble(retrievers=[words, near], weights=[ALPHA, 1 - ALPHA])
        self.retrievers = {"sparse": words, "dense": near, "hybrid": both}

    def search(self, leg: str, query: Query, k: int) -> Found:
        self.vectors[query.text] = query.vector
        documents = self.retrievers[leg].invoke(query.text)[:k]
        return [(document.metadata["row"], document.page_content) for document in documents]


SYSTEMS: dict[str, type[System]] = {
    "ours": Ours,
    "lancedb": Lance,
    "lancedb-grouped": LanceGrouped,
    "tantivy": Tantivy,
    "bm25s": Bm25s,
    "langchain": Ensemble,
}


def _fused(
    rows: NDArray[np.int64], scores: NDArray[Any], near: NDArray[np.int64], cosines: NDArray[Any], k: int
) -> NDArray[np.int64]:
    """Return the best k of two lists, scores stretched to [0, 1] and weighed; what a list lacks counts 0
    there.
    """
    total: dict[int, float] = {}
    for keys, values, weight in ((rows, scores, ALPHA), (near, cosines, 1 - ALPHA)):
        if len(values):
            low = float(values.min())
            span = float(values.max()) - low or 1.0
            for key, value in zip(keys.tolist(), values.tolist(), strict=True):
                total[key] = total.get(key, 0.0) + weight * (value - low) / span
    return np.array(sorted(total, key=total.__getitem__, reverse=True)[:k], dtype=np.int64)


def best_of_groups(scores: NDArray[Any], groups: NDArray[Any], k: int) -> NDArray[np.int64]:
    """Places of the k best of each group."""
    order = np.lexsort((-scores, groups))
    edges = np.flatnonzero(np.diff(groups[order], prepend=-1))
    rank = np.arange(len(order)) - np.repeat(edges, np.diff(edges, append=len(order)))
    best: NDArray[np.int64] = order[rank < k]
    return best
