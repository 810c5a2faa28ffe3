"""Questions that a model should not answer without retrieval."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from disputatio.eval.rows import Place, answers, example_id, string, value
from disputatio.text import content_id
from disputatio.types import Example, Passage


def retrievalqa(row: Mapping[str, Any], place: Place) -> Example:
    """A question of RetrievalQA (Zhang et al. 2024) with the passages that were retrieved for it.

    A passage is an object with a text, and mostly a title, or a text alone; those without text are left
    out. The parts are the data sets that the questions come from. Any answer of the list is right.
    """
    told = value(row, "context", place)
    if not isinstance(told, list):
        raise place.wrong("context must be a list")
    passages: dict[str, Passage] = {}
    for number, one in enumerate(told):
        text, title = (one.get("text"), one.get("title")) if isinstance(one, dict) else (one, "")
        if not isinstance(text or "", str) or not isinstance(title or "", str):
            raise place.wrong(f"context[{number}] must be a text or an object with a text")
        if text and text.strip():
            name = content_id("p", title or "", text)
            passages.setdefault(
                name, Passage(text=text, title=title or "", source=f"doc{number + 1}", id=name)
            )
    origin = string(row, "data_source", place)
    return Example(
        id=example_id(row, place),
        row=place.row,
        question=string(row, "question", place),
        gold=answers(row, "ground_truth", place),
        passages=tuple(passages.values()),
        metadata={
            "dataset": place.dataset,
            "part": origin,
            "id": string(row, "question_id", place),
            "strata": {"origin": origin},
        },
    )
