"""Questions for a search: RetrievalQA, and the folders of BEIR."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from disputatio.errors import InputError
from disputatio.eval.data.formats.format import DatasetFormat
from disputatio.eval.data.rows import Place, answers, get_required, read_text, string
from disputatio.text import content_id
from disputatio.types import Example, Passage

SPLITS = ("test", "dev", "train")  # of BEIR's judgements, in the order in which a query is given to one
QRELS = tuple(f"qrels/{split}.tsv" for split in SPLITS)
UNJUDGED = "unjudged"


def retrievalqa(row: Mapping[str, Any], place: Place) -> Example:
    """Return a question of RetrievalQA (Zhang et al. 2024) with the passages that were retrieved for it.

    A passage is an object with a text, and mostly a title, or a text alone; those without text are left
    out. The parts are the data sets that the questions come from. Any answer of the list is right.
    """
    context = get_required(row, "context", place)
    if not isinstance(context, list):
        raise place.wrong("context must be a list")
    passages: dict[str, Passage] = {}
    for number, entry in enumerate(context):
        text, title = (entry.get("text"), entry.get("title")) if isinstance(entry, dict) else (entry, "")
        if not isinstance(text or "", str) or not isinstance(title or "", str):
            raise place.wrong(f"context[{number}] must be a text or an object with a text")
        if text and text.strip():
            name = content_id("p", title or "", text)
            passages.setdefault(
                name, Passage(text=text, title=title or "", source=f"doc{number + 1}", id=name)
            )
    origin = string(row, "data_source", place)
    return place.example(
        row,
        string(row, "question", place),
        gold=answers(row, "ground_truth", place),
        passages=tuple(passages.values()),
        part=origin,
        id=string(row, "question_id", place),
        strata={"origin": origin},
    )


def beir(row: Mapping[str, Any], place: Place) -> Example:
    """Return a query of a folder of BEIR (Thakur et al. 2021) with the documents that are judged relevant.

    These are in the metadata (`relevant`, their grades by id): a query has no answer, what is measured is
    the search. The parts are the splits of the judgements; a query without any is of the part unjudged.
    """
    name = str(get_required(row, "_id", place))
    judged: Mapping[str, Mapping[str, Mapping[str, int]]] = place.facts.get("judged", {})
    part = next((split for split in SPLITS if name in judged.get(split, {})), UNJUDGED)
    relevant = dict(judged.get(part, {}).get(name, {}))
    return place.example(
        row,
        string(row, "text", place),
        part=part,
        id=name,
        relevant=relevant,
        strata={"split": part},
    )


def judgements(_rows: Sequence[Mapping[str, Any]], path: Path) -> dict[str, Any]:
    """Return the judgements beside a file of queries: {split: {query: {document: grade}}}.

    Raises `InputError` naming file and line where one is no judgement.
    """
    judged: dict[str, dict[str, dict[str, int]]] = {}
    for split, file in zip(SPLITS, QRELS, strict=True):
        qrels = path.parent / file
        if not qrels.is_file():
            continue
        of_split = judged.setdefault(split, {})
        for number, line in enumerate(read_text(qrels).split("\n")):
            cells = line.rstrip("\r").split("\t")
            if not line.strip() or (number == 0 and not cells[-1].lstrip("-").isdigit()):
                continue  # the head
            if len(cells) != 3 or not cells[2].lstrip("-").isdigit():
                raise InputError(f"{qrels}:{number + 1}: not a query, a document and a grade")
            if int(cells[2]) > 0:
                of_split.setdefault(cells[0], {})[cells[1]] = int(cells[2])
    return {"judged": judged}


FORMATS = (
    DatasetFormat(
        name="beir",
        description="queries and judged documents of a retrieval task (BEIR)",
        origin="Thakur et al. 2021, arXiv:2104.08663; github.com/beir-cellar/beir",
        licence="by data set, as its origin says",
        shape="a folder: queries.jsonl, corpus.jsonl, qrels/*.tsv",
        fields="_id, text, metadata; qrels: query-id, corpus-id, score; the splits are parts",
        measure="nDCG@10, Recall@100 (bench/search/retrieval_quality.py); queries have no answers",
        metrics=(),
        loader=beir,
        shapes=(("_id", "text"),),
        passages=False,
        parted=True,
        gather=judgements,
        files=("queries.jsonl", "queries.jsonl.gz"),
        beside=QRELS,
    ),
    DatasetFormat(
        name="retrievalqa",
        expects="one",
        description="questions that need retrieval (RetrievalQA)",
        origin="Zhang et al. 2024, arXiv:2402.16457; github.com/hyintell/RetrievalQA",
        licence="MIT",
        shape="JSON lines",
        fields="question, question_id, data_source, ground_truth[], context[{title?, text} or text]",
        measure="accuracy: some right answer's words stand in the answer",
        metrics=("accuracy",),
        loader=retrievalqa,
        shapes=(("question", "data_source", "ground_truth", "context"),),
        parted=True,
    ),
)
