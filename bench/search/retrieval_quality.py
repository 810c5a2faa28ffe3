"""Measure how well the index finds: nDCG@10 and Recall@100 on NFCorpus, Recall@20 and MRR@20 on DataMorgana.

    python -m bench.search.retrieval_quality nfcorpus FOLDER --keep DIR
    python -m bench.search.retrieval_quality datamorgana FOLDER --keep DIR

`--keep` is where the index lies: embedding takes long, goes on where it was stopped, and is done once.
The rank of a document is that of its best passage. Prints Markdown.
"""

from __future__ import annotations

import math
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from bench.lib.options import parser_of
from disputatio.eval.data.corpora import corpus
from disputatio.eval.data.datasets import load
from disputatio.parts import open_embedder
from disputatio.protocols import Embedder
from disputatio.store.folder_index import FolderIndex
from disputatio.store.ingesting.documents import Document

Judged = tuple[str, Mapping[str, int]]
Metric = Callable[[Sequence[str], Mapping[str, int]], float]
ALPHA = 0.35
# BM25 is asked of the index without its embedder: with it, alpha = 1 still lists what only the dense leg
# found, after all that has a word of the question.
KEYWORD = "BM25"
LEGS: dict[str, dict[str, Any]] = {
    KEYWORD: {},
    "dense": {"alpha": 0.0},
    "hybrid, alpha 0.35": {"alpha": ALPHA},
    "hybrid, RRF": {"fusion": "rrf"},
}


# --- measures ------------------------------------------------------------------------------------
def ndcg(ranking: Sequence[str], relevant: Mapping[str, int], depth: int = 10) -> float:
    """nDCG with linear gain, as trec_eval has it (Järvelin and Kekäläinen, 2002).

    >>> round(ndcg(["a", "x", "b"], {"a": 1, "b": 2}), 4)  # (1 + 2 / 2) / (2 + 1 / log2(3))
    0.7602
    """
    gain = sum(relevant.get(document, 0) / math.log2(at + 2) for at, document in enumerate(ranking[:depth]))
    best = sorted(relevant.values(), reverse=True)[:depth]
    return gain / sum(value / math.log2(at + 2) for at, value in enumerate(best))


def recall(ranking: Sequence[str], relevant: Mapping[str, int], depth: int = 100) -> float:
    """Return the share of the relevant documents that are among the first.

    >>> recall(["a", "x", "b"], {"a": 1, "b": 2, "c": 1}, 2)
    0.3333333333333333
    """
    return len(set(ranking[:depth]) & relevant.keys()) / len(relevant)


def reciprocal_rank(ranking: Sequence[str], relevant: Mapping[str, int], depth: int = 20) -> float:
    """Return one over the rank of the first relevant document, 0 where none is among the first.

    >>> reciprocal_rank(["x", "a"], {"a": 1}), reciprocal_rank(["x"], {"a": 1})
    (0.5, 0.0)
    """
    return next((1 / at for at, document in enumerate(ranking[:depth], start=1) if document in relevant), 0.0)


# --- what is searched ----------------------------------------------------------------------------
@dataclass(frozen=True, slots=True, kw_only=True)
class Collection:
    """The rows of a corpus, and questions, each with the grades of its relevant documents by id."""

    documents: Sequence[Mapping[str, str]]
    judged: Sequence[Judged]


def read(name: str, folder: Path) -> Collection:
    """Read the test questions of NFCorpus (Boteva et al., 2016), or the 500 that RAGentA was measured on."""
    if name == "nfcorpus":
        judged = [(row.question, row.metadata["relevant"]) for row in load(f"beir:{folder}#test")]
        return Collection(documents=list(corpus(f"beir:{folder}")), judged=judged)
    asked = load(f"datamorgana:{folder / 'questions_500.jsonl'}")
    return Collection(
        documents=list(corpus(f"datamorgana:{folder / 'corpus.jsonl.gz'}")),
        judged=[(row.question, dict.fromkeys(row.metadata["pages"], 1)) for row in asked],
    )


def filled(folder: Path, embedder: Embedder, collection: Collection) -> tuple[FolderIndex, float]:
    """Return the index of a collection, and the seconds that this run spent on filling it."""
    index = FolderIndex.open(folder, embedder=embedder)
    start = time.perf_counter()

    def documents() -> Iterator[Document]:
        for at, row in enumerate(collection.documents):
            if at % 200 == 0:
                seconds = time.perf_counter() - start
                print(f"{at} of {len(collection.documents)} documents, {seconds:.0f} s", file=sys.stderr)
            yield Document(path=row["id"], text=row["text"], title=row.get("title", ""), source="corpus")

    index.add(documents())
    return index, time.perf_counter() - start


def ranked(index: FolderIndex, judged: Sequence[Judged], k: int, **options: Any) -> list[Sequence[str]]:
    """Return for each judged question the documents of the best `k` passages, each once.

    Documents of one and the same text share their passages in an index: all of them are found there.
    """
    named = names_of(index)
    return [
        list(
            dict.fromkeys(
                document
                for hit in index.search(question, k=k, **options)
                for document in named[hit.passage.document]
            )
        )
        for question, _ in judged
    ]


@cache
def names_of(index: FolderIndex) -> Mapping[str, Sequence[str]]:
    """Return the collection's names of each document of the index."""
    named: dict[str, list[str]] = {}
    for document in index.documents(text=False):
        named.setdefault(document.id, []).append(document.path)
    return named


def mean(rankings: Sequence[Sequence[str]], judged: Sequence[Judged], metric: Metric) -> float:
    """Return a measure's mean over the judged questions."""
    pairs = zip(rankings, judged, strict=True)
    return statistics.fmean(metric(ranking, relevant) for ranking, (_, relevant) in pairs)


# --- reports -------------------------------------------------------------------------------------
def nfcorpus(collection: Collection, index: FolderIndex, plain: FolderIndex) -> Iterator[str]:
    """Yield lines of Markdown."""
    test = collection.judged
    yield f"{len(test)} test questions."
    yield ""
    yield "| what | nDCG@10 | Recall@100 |"
    yield "|---|---|---|"
    for name, options in LEGS.items():
        # Figures at 10 come from a search as users make it, over the 100 best of each leg.
        searched = plain if name == KEYWORD else index
        first = ranked(searched, test, 100, **options)
        deep = ranked(searched, test, 500, **options)
        yield f"| {name} | {mean(first, test, ndcg):.4f} | {mean(deep, test, recall):.4f} |"


def datamorgana(collection: Collection, index: FolderIndex, plain: FolderIndex) -> Iterator[str]:
    """Yield lines of Markdown."""
    judged = collection.judged
    yield f"{len(judged)} questions."
    yield ""
    yield "| what | Recall@20 | MRR@20 | Recall in 20 passages | MRR in 20 passages |"
    yield "|---|---|---|---|---|"
    for name, options in LEGS.items():
        searched = plain if name == KEYWORD else index
        pages = ranked(searched, judged, 100, **options)
        passages = ranked(searched, judged, 20, **options)
        figures = [
            mean(rankings, judged, metric)
            for rankings in (pages, passages)
            for metric in (lambda hits, relevant: recall(hits, relevant, 20), reciprocal_rank)
        ]
        yield f"| {name} | " + " | ".join(f"{figure:.4f}" for figure in figures) + " |"
    yield ""
    yield "| alpha | Recall@20 | MRR@20 |"
    yield "|---|---|---|"
    for alpha in (at / 10 for at in range(11)):
        found = ranked(index, judged, 100, alpha=alpha)
        deep = mean(found, judged, lambda hits, relevant: recall(hits, relevant, 20))
        yield f"| {alpha:g} | {deep:.4f} | {mean(found, judged, reciprocal_rank):.4f} |"


def main() -> int:
    """Fill the index, then measure."""
    parser = parser_of(__doc__)
    parser.add_argument("collection", choices=("nfcorpus", "datamorgana"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--keep", type=Path, required=True, help="folder for the index")
    parser.add_argument("--embedder", default="minilm-l6-v2")
    arguments = parser.parse_args()
    embedder = open_embedder(arguments.embedder)
    if embedder is None:
        parser.error("dense and hybrid search need an embedder")
    collection = read(arguments.collection, arguments.folder)
    index, seconds = filled(arguments.keep / arguments.collection, embedder, collection)
    plain = FolderIndex.open(arguments.keep / arguments.collection, create=False)
    passages = index.info().passages
    print(f"{len(collection.documents)} documents, {passages} passages, embedder {embedder.name}.")
    print(f"Filling the index took {seconds:.0f} s in this run.")
    report = nfcorpus if arguments.collection == "nfcorpus" else datamorgana
    for line in report(collection, index, plain):
        print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
