"""Measure how well the index finds: nDCG@10 and Recall@100 on NFCorpus, Recall@20 and MRR@20 on DataMorgana.

    python -m bench.search.retrieval_quality nfcorpus FOLDER --keep DIR
    python -m bench.search.retrieval_quality datamorgana FOLDER --keep DIR

`--keep` is where the index lies: embedding takes long, goes on where it was stopped, and is done once.
The rank of a document is that of its best passage. Prints Markdown.
"""

from __future__ import annotations

import gzip
import json
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
from disputatio.parts import open_embedder
from disputatio.protocols import Embedder
from disputatio.store.folder_index import FolderIndex
from disputatio.store.ingesting.documents import Document

Judged = Mapping[str, Mapping[str, int]]
Found = Mapping[str, Sequence[str]]
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
    """Documents (id, title, text), questions by id, and the judgements of each division of them."""

    documents: Sequence[tuple[str, str, str]]
    questions: Mapping[str, str]
    judged: Mapping[str, Judged]


def read_nfcorpus(folder: Path) -> Collection:
    """Return the BEIR form of NFCorpus (Boteva et al., 2016)."""

    def lines(name: str) -> Iterator[Any]:
        return map(json.loads, (folder / name).read_text("utf-8").splitlines())

    judged: dict[str, dict[str, dict[str, int]]] = {}
    for file in sorted((folder / "qrels").glob("*.tsv")):
        grades = judged.setdefault(file.stem, {})
        for line in file.read_text("utf-8").splitlines()[1:]:
            query, document, grade = line.split("\t")
            if int(grade) > 0:
                grades.setdefault(query, {})[document] = int(grade)
    return Collection(
        documents=[(row["_id"], row["title"], row["text"]) for row in lines("corpus.jsonl")],
        questions={row["_id"]: row["text"] for row in lines("queries.jsonl")},
        judged=judged,
    )


def read_datamorgana(folder: Path) -> Collection:
    """Return the 500 synthetic questions over FineWeb pages that RAGentA was measured on."""
    with gzip.open(folder / "corpus.jsonl.gz", "rt", encoding="utf-8") as file:
        pages = [json.loads(line) for line in file]
    rows = [json.loads(line) for line in (folder / "questions_500.jsonl").read_text("utf-8").splitlines()]
    return Collection(
        documents=[(row["id"], "", row["text"]) for row in pages],
        questions={f"q{at}": row["question"] for at, row in enumerate(rows)},
        judged={"all": {f"q{at}": dict.fromkeys(row["document_ids"], 1) for at, row in enumerate(rows)}},
    )


def filled(folder: Path, embedder: Embedder, collection: Collection) -> tuple[FolderIndex, float]:
    """Return the index of a collection, and the seconds that this run spent on filling it."""
    index = FolderIndex.open(folder, embedder=embedder)
    start = time.perf_counter()

    def documents() -> Iterator[Document]:
        for at, (name, title, text) in enumerate(collection.documents):
            if at % 200 == 0:
                seconds = time.perf_counter() - start
                print(f"{at} of {len(collection.documents)} documents, {seconds:.0f} s", file=sys.stderr)
            if text.strip():
                yield Document(path=name, text=text, title=title, source="corpus", metadata={"id": name})

    index.add(documents())
    return index, time.perf_counter() - start


def ranked(index: FolderIndex, collection: Collection, judged: Judged, k: int, **options: Any) -> Found:
    """For each judged question the documents of the best `k` passages, each once.

    Documents of one and the same text share their passages in an index: all of them are found there.
    """
    named = names_of(index)
    return {
        name: list(
            dict.fromkeys(
                document
                for hit in index.search(collection.questions[name], k=k, **options)
                for document in named[hit.passage.document]
            )
        )
        for name in judged
    }


@cache
def names_of(index: FolderIndex) -> Mapping[str, Sequence[str]]:
    """Return the collection's names of each document of the index."""
    named: dict[str, list[str]] = {}
    for document in index.documents(text=False):
        named.setdefault(document.id, []).append(document.path)
    return named


def mean(rankings: Found, judged: Judged, metric: Metric) -> float:
    """Return a measure's mean over the judged questions."""
    return statistics.fmean(metric(rankings[name], relevant) for name, relevant in judged.items())


# --- reports -------------------------------------------------------------------------------------
def nfcorpus(collection: Collection, index: FolderIndex, plain: FolderIndex) -> Iterator[str]:
    """Yield lines of Markdown."""
    test = collection.judged["test"]
    yield f"{len(test)} test questions."
    yield ""
    yield "| what | nDCG@10 | Recall@100 |"
    yield "|---|---|---|"
    for name, options in LEGS.items():
        # Figures at 10 come from a search as users make it, over the 100 best of each leg.
        searched = plain if name == KEYWORD else index
        first = ranked(searched, collection, test, 100, **options)
        deep = ranked(searched, collection, test, 500, **options)
        yield f"| {name} | {mean(first, test, ndcg):.4f} | {mean(deep, test, recall):.4f} |"


def datamorgana(collection: Collection, index: FolderIndex, plain: FolderIndex) -> Iterator[str]:
    """Yield lines of Markdown."""
    judged = collection.judged["all"]
    yield f"{len(judged)} questions."
    yield ""
    yield "| what | Recall@20 | MRR@20 | Recall in 20 passages | MRR in 20 passages |"
    yield "|---|---|---|---|---|"
    for name, options in LEGS.items():
        searched = plain if name == KEYWORD else index
        pages = ranked(searched, collection, judged, 100, **options)
        passages = ranked(searched, collection, judged, 20, **options)
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
        found = ranked(index, collection, judged, 100, alpha=alpha)
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
    reading = read_nfcorpus if arguments.collection == "nfcorpus" else read_datamorgana
    collection = reading(arguments.folder)
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
