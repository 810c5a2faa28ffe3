"""Data sets whose passages disagree."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from disputatio.eval.metrics import answer_set
from disputatio.eval.rows import Place, answers, example_id, items, string
from disputatio.text import content_id
from disputatio.types import Example, Passage


def ramdocs(row: Mapping[str, Any], place: Place) -> Example:
    """A row of RAMDocs (Wang et al. 2025): question, documents, gold and wrong answers.

    The data names no sources, so the documents of a row are doc1, doc2, ... A document's `type`
    (correct, misinfo, noise) and `answer` go to the example's metadata alone.
    """
    documents = items(row, "documents", dict, place)
    passages = []
    for number, document in enumerate(documents, 1):
        at = f"documents[{number - 1}]."
        for key in ("type", "answer"):
            string(document, key, place, at)
        text = string(document, "text", place, at)
        source = f"doc{number}"
        passages.append(Passage(text=text, source=source, id=content_id("p", source, text)))
    types = tuple(document["type"] for document in documents)
    gold = answers(row, "gold_answers", place)
    return Example(
        id=example_id(row, place),
        row=place.row,
        question=string(row, "question", place),
        gold=gold,
        wrong=answers(row, "wrong_answers", place, needed=False),
        passages=tuple(passages),
        metadata={
            "dataset": place.dataset,
            "types": types,
            "answers": tuple(document["answer"] for document in documents),
            "entities": tuple(items(row, "disambig_entity", str, place)) if "disambig_entity" in row else (),
            "strata": {
                "gold answers": str(len(answer_set(gold))),
                "misinformation": "with" if "misinfo" in types else "without",
            },
        },
    )
