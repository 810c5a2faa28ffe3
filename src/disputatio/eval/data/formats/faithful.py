"""FaithEval (Ming et al. 2024): does an answer keep to a context that lacks it, contradicts itself, or lies?

Its three tasks are three data sets, since each measures something else. The rows of the first two look alike;
what their `answers` hold tells them apart.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from disputatio.eval.data.formats.format import BY_ANSWER, DatasetFormat
from disputatio.eval.data.formats.menus import menu, options_of
from disputatio.eval.data.rows import Place, answers, document, get_required, optional, scalar_text, string
from disputatio.text import is_unknown
from disputatio.types import Example

_HEAD = re.compile(r"(?:^|(?<=[\s.]))(?:\[?(?:Document|Doc)\s*+\d*+\s*+\]?)\s*+:[ \t]*+")


def unanswerable(row: Mapping[str, Any], place: Place) -> Example:
    """Return a question whose context lacks the answer: to abstain is right.

    Its `answers` are words for that ("unknown", "no answer", ...), so there is no gold answer.
    """
    listed = answers(row, "answers", place) if "answers" in row else ()
    if listed and not any(map(is_unknown, listed)):
        raise place.wrong(f"answers hold {listed[0]!r}: a row of faitheval_inconsistent, or another's")
    return _example(row, place, abstain=True, told=listed)


def inconsistent(row: Mapping[str, Any], place: Place) -> Example:
    """Return a question whose context has a document and an altered copy of it.

    Each document is a passage. As in MADAM-RAG, the answer of the original, the first of the two, is the
    one that is right, and that of the copy is wrong. (FaithEval itself asks for the word "conflict".)
    """
    listed = answers(row, "answers", place)
    if listed and all(map(is_unknown, listed)):
        raise place.wrong(f"answers hold {listed[0]!r} and the like: a row of faitheval_unanswerable")
    return _example(row, place, gold=listed[:1], wrong=listed[1:])


def counterfactual(row: Mapping[str, Any], place: Place) -> Example:
    """Return a question with options, of which the context argues for one that the world knows to be wrong.

    To keep to the context is right: its option is the gold answer.
    """
    options = options_of(get_required(row, "choices", place), place, "choices")
    key = string(row, "answerKey", place)
    if key not in options:
        raise place.wrong(f"answerKey {key!r} is none of its options {', '.join(options)}")
    texts, right = list(options.values()), list(options).index(key)
    return _example(row, place, **menu(string(row, "question", place), texts, right))


def documents(context: str) -> list[str]:
    """Return the documents of a context, each behind a "Document:"; without one it is a document itself.

    >>> documents("Document: Ada was born in Lund.\\n\\nDocument: Ada was born in Oslo.")
    ['Ada was born in Lund.', 'Ada was born in Oslo.']
    >>> documents("Ada was born in Lund.")
    ['Ada was born in Lund.']
    """
    return [part.strip() for part in _HEAD.split(context) if part.strip()]


def _example(
    row: Mapping[str, Any],
    place: Place,
    *,
    question: str = "",
    gold: tuple[str, ...] = (),
    wrong: tuple[str, ...] = (),
    **metadata: Any,
) -> Example:
    context = string(row, "context", place)
    return place.example(
        row,
        question or string(row, "question", place),
        gold=gold,
        wrong=wrong,
        passages=tuple(document(number, text) for number, text in enumerate(documents(context), 1)),
        **{
            "id": scalar_text(row, "qid") or scalar_text(row, "id"),
            "justification": optional(row, "justification", place),
            **({"strata": {"origin": scalar_text(row, "subset")}} if row.get("subset") else {}),
            **metadata,
        },
    )


_ORIGIN = "Ming et al. 2024, arXiv:2410.03727; huggingface.co/datasets/Salesforce/FaithEval-{}-v1.0"
_LICENCE = "the cards state none (its code is Apache-2.0); research only"
_SHAPE = "parquet (data/test-*.parquet), JSON lines or a JSON list"
_FILES = ("data/test-*.parquet", "test.jsonl")
FORMATS = (
    DatasetFormat(
        name="faitheval_counterfactual",
        expects="one",
        description="a context that argues for a wrong fact, four options (FaithEval)",
        origin=_ORIGIN.format("counterfactual"),
        licence=_LICENCE,
        shape=_SHAPE,
        fields="id, question, context, choices{label[], text[]}, answerKey, answer, justification",
        measure="accuracy: the option that the context argues for, by its letter or its words",
        metrics=("choice",),
        loader=counterfactual,
        shapes=(("question", "context", "choices", "answerKey"),),
        files=_FILES,
    ),
    DatasetFormat(
        name="faitheval_inconsistent",
        description="a document and a copy that contradicts it (FaithEval)",
        origin=_ORIGIN.format("inconsistent"),
        licence=_LICENCE,
        shape=_SHAPE,
        fields="qid, question, context (two documents), answers[] (the original's, the copy's), "
        "justification",
        measure="strict EM as in MADAM-RAG's table 1: the original's answer and not the copy's",
        metrics=BY_ANSWER,
        loader=inconsistent,
        shapes=(("qid", "question", "context", "answers"),),
        files=_FILES,
    ),
    DatasetFormat(
        name="faitheval_unanswerable",
        description="a context that lacks the answer (FaithEval)",
        origin=_ORIGIN.format("unanswerable"),
        licence=_LICENCE,
        shape=_SHAPE,
        fields="qid, question, context, answers[] (words for not knowing), justification",
        measure="accuracy: the share of abstentions, which are right here",
        metrics=("abstention",),
        loader=unanswerable,
        shapes=(("qid", "question", "context", "answers"),),
        files=_FILES,
    ),
)
