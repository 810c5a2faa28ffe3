"""Whether the trained encoder orders passages better than the search does: nDCG@10 on NFCorpus, MRR@20 on DataMorgana and NQ.

    python -m bench.search.rerank_quality --data DATA --keep DIR

The best 20 passages of a hybrid search are ordered anew by how sure the encoder is that they answer the question, and by
the sum of that and the fused score (both from 0 to 1, a half each; the half is not tuned). NQ's passages come with their
question, so the search is over the passages of all these questions. `--keep` is where the indexes lie, as for
`bench.search.retrieval_quality`.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bench import RESULTS
from bench.lib.asking import against, table, told
from bench.lib.files import beside, write_json, write_whole
from bench.search.retrieval_quality import (
    Collection,
    Remembered,
    filled,
    names_of,
    ndcg,
    read_datamorgana,
    read_nfcorpus,
    reciprocal_rank,
)
from disputatio.config import read_settings
from disputatio.encoder.reader import EncoderReader
from disputatio.eval.builders.material import bears_any
from disputatio.eval.data.datasets import load
from disputatio.parts import open_embedder, open_encoder
from disputatio.protocols import PassageReader
from disputatio.store.folder_index import FolderIndex

DEPTH = 20
_OUT = RESULTS / "search" / "rerank_quality.json.gz"
Metric = Callable[[Sequence[str], Mapping[str, int]], float]


def read_nq(data: Path, *, rows: int = 300) -> Collection:
    """Return the first NQ questions and the passages of all of them; relevant is what bears an answer of its
    question.
    """
    documents: dict[str, tuple[str, str, str]] = {}
    questions: dict[str, str] = {}
    judged: dict[str, dict[str, int]] = {}
    for example in load(f"nq_with_passages:{data / 'nq_with_passages' / 'nq.jsonl'}")[:rows]:
        name = f"q{example.row}"
        bearing = {}
        for passage in example.passages:
            document = f"{passage.title} {passage.text}"
            key = documents.setdefault(document, (f"d{len(documents)}", passage.title, passage.text))[0]
            if bears_any(document, example.gold):
                bearing[key] = 1
        if bearing:
            questions[name], judged[name] = example.question, bearing
    return Collection(documents=list(documents.values()), questions=questions, judged={"all": judged})


def orders(
    index: FolderIndex, collection: Collection, names: Sequence[str], reader: PassageReader
) -> dict[str, dict[str, list[str]]]:
    """By way of ordering, the documents of each question's best passages."""
    named = names_of(index)
    found: dict[str, dict[str, list[str]]] = {"search": {}, "encoder": {}, "both": {}}
    for name in names:
        hits = index.search(collection.questions[name], k=DEPTH)
        sure = [
            one.probability for one in reader.read(collection.questions[name], [hit.passage for hit in hits])
        ]
        by = {
            "search": [hit.score for hit in hits],
            "encoder": sure,
            "both": [hit.score + own for hit, own in zip(hits, sure, strict=True)],
        }
        for way, scores in by.items():
            ordered = sorted(range(len(hits)), key=scores.__getitem__, reverse=True)
            found[way][name] = list(
                dict.fromkeys(document for at in ordered for document in named[hits[at].passage.document])
            )
    return found


def main() -> None:
    """Search, order, print Markdown and keep the figures."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--data", type=Path, default=Path("../shared/data"))
    options.add_argument("--keep", type=Path, required=True, help="folder for the indexes")
    options.add_argument("--only", nargs="*", choices=("nfcorpus", "datamorgana", "nq"))
    options.add_argument("--questions", type=int, default=320, help="of each collection at most")
    arguments = options.parse_args()
    embedder = open_embedder("minilm-l6-v2")
    encoder = open_encoder(read_settings().encoder)
    if embedder is None or encoder is None:
        options.error("needs the default embedder and encoder")
    reader = EncoderReader(encoder)
    collections: dict[str, tuple[Callable[[], Collection], str, str, Metric]] = {
        "nfcorpus": (lambda: read_nfcorpus(arguments.data / "nfcorpus"), "test", "nDCG@10", ndcg),
        "nq": (lambda: read_nq(arguments.data), "all", "MRR@20", reciprocal_rank),
        "datamorgana": (
            lambda: read_datamorgana(arguments.data / "datamorgana"),
            "all",
            "MRR@20",
            reciprocal_rank,
        ),
    }
    rows: list[list[Any]] = []
    figures: dict[str, Any] = {}
    for name in arguments.only or collections:
        read, division, measure, metric = collections[name]
        collection = read()
        index, _ = filled(arguments.keep / name, Remembered(embedder, arguments.keep / "vectors"), collection)
        judged = collection.judged[division]
        names = list(judged)[: arguments.questions]
        start = time.process_time()
        found = orders(index, collection, names, reader)
        seconds = time.process_time() - start
        scores = {
            way: [metric(rankings[one], judged[one]) for one in names] for way, rankings in found.items()
        }
        figures[name] = {
            "measure": measure,
            "questions": len(names),
            "scores": scores,
            "processor seconds": seconds,
        }
        for way, values in scores.items():
            less = "" if way == "search" else against(values, scores["search"])
            rows.append([name, measure, len(names), way, told(values), less])
    lines = [
        "# Ordering by the encoder",
        "",
        "**Made with:** the default hybrid search and the default encoder. Order of passages: as searched. Tuned on: nothing; both scores weigh a half.",
        "",
        "`python -m bench.search.rerank_quality --data DATA --keep DIR`",
        "",
        f"The best {DEPTH} passages of a hybrid search, as they come and ordered by {reader.name}. Intervals are 95 % by bootstrap over questions.",
        "",
        table(["collection", "measure", "n", "ordered by", "mean", "less the search's order"], rows),
    ]
    write_json(_OUT, figures)
    write_whole(beside(_OUT, ".md"), "\n".join(lines) + "\n")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
