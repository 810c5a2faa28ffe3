"""Our own formats: plain rows, and rows of the multi-source benchmark."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from disputatio.eval.data.formats.format import BY_ANSWER, DatasetFormat
from disputatio.eval.data.rows import Place, answers, list_field, scalar_text, string
from disputatio.eval.metrics import answer_set
from disputatio.text import content_id
from disputatio.types import Example, Passage


def jsonl(row: Mapping[str, Any], place: Place) -> Example:
    """Return a row of our own format: question, gold, wrong, passages, categories.

    A passage is {"text", "source"?, "id"?, "title"?, "url"?, "date"?}; without a source it is its own.
    `gold` may be called `answers`. Without `passages` those of an index are read.
    """
    passages: list[Passage] = []
    texts: dict[str, str] = {}
    for number, passage in enumerate(
        list_field(row, "passages", dict, place) if "passages" in row else (), 1
    ):
        at = f"passages[{number - 1}]."
        text = string(passage, "text", place, at)
        known = {
            key: string(passage, key, place, at)
            for key in ("source", "id", "title", "url", "date")
            if passage.get(key) not in (None, "")
        }
        source = known.get("source", f"doc{number}")
        name = known.get("id", content_id("p", source, text))
        if texts.setdefault(name, text) != text:
            raise place.wrong(f"{at}id {name!r} stands for another text already")
        passages.append(
            Passage(
                text=text,
                source=source,
                id=name,
                title=known.get("title", ""),
                url=known.get("url", ""),
                date=known.get("date", ""),
            )
        )
    gold = answers(row, "answers" if "gold" not in row and "answers" in row else "gold", place)
    return place.example(
        row,
        string(row, "question", place),
        gold=gold,
        wrong=answers(row, "wrong", place) if "wrong" in row else (),
        passages=tuple(passages),
        id=scalar_text(row, "id"),
        strata={"gold answers": str(len(answer_set(gold))), **_categories(row, place)},
    )


def _categories(row: Mapping[str, Any], place: Place) -> dict[str, str]:
    """Return the categories of a question, {"premise": "without", ...}, for tables by category."""
    categories = row.get("categories") or {}
    if not isinstance(categories, dict) or not all(isinstance(value, str) for value in categories.values()):
        raise place.wrong("categories must be an object of texts")
    return dict(categories)


def multisource(row: Mapping[str, Any], place: Place) -> Example:
    """Return a row of the multi-source benchmark, as `disputatio eval build multisource` writes it.

    As `jsonl`, and each passage has a source, a `type` and the `answer` it bears, which go to the
    example's metadata, and metadata of its own (the true reliability that weights=oracle reads).
    """
    plain = jsonl(row, place)
    documents = list_field(row, "passages", dict, place)
    for number, document in enumerate(documents):
        string(document, "type", place, f"passages[{number}].")
        string(document, "source", place, f"passages[{number}].")
    split = string(row, "split", place)
    return replace(
        plain,
        id=string(row, "id", place),
        passages=tuple(
            replace(
                passage,
                owner=str(document.get("owner") or ""),
                metadata={str(key): str(value) for key, value in (document.get("metadata") or {}).items()},
            )
            for passage, document in zip(plain.passages, documents, strict=True)
        ),
        metadata={
            "dataset": place.dataset,
            "id": string(row, "id", place),
            "types": tuple(document["type"] for document in documents),
            "answers": tuple(str(document.get("answer") or "") for document in documents),
            "split": split,
            "strata": {"split": split},
        },
    )


FORMATS = (
    DatasetFormat(
        name="jsonl",
        description="our own format: question, gold, passages per line",
        origin="of this project",
        licence="yours",
        shape="JSON lines",
        fields="question, gold[] (or answers[]), wrong[]?, "
        "passages[{text, source?, id?, title?, url?, date?}]?, id?, categories{}?",
        measure="strict EM, precision, recall and F1 of the answers; accuracy: some gold answer stands in it",
        metrics=(*BY_ANSWER, "accuracy"),
        loader=jsonl,
        shapes=(("question", "gold", "passages"), ("question", "answers", "passages"), ("question", "gold")),
    ),
    DatasetFormat(
        name="multisource",
        expects="one",
        description="sources of known reliability on one question (RA-RAG's benchmark)",
        origin="Hwang et al. 2024, arXiv:2410.22954; built by `disputatio eval build multisource`",
        licence="that of the questions it is built from",
        shape="JSON lines",
        fields="id, question, gold[], wrong[], split, passages[{text, source, type, answer, metadata}]",
        measure="accuracy: some gold answer's words stand in the answer",
        metrics=("accuracy",),
        loader=multisource,
        shapes=(("id", "question", "gold", "passages", "split"),),
    ),
)
