"""Data sets on attributed answers: questions with their pages, answers and claims with judgements."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from disputatio.eval.data.formats.format import DatasetFormat
from disputatio.eval.data.rows import Place, list_field, number, optional, string
from disputatio.text import content_id
from disputatio.types import Example, Passage

# The categories of a DataMorgana question, by the name that tables show.
CATEGORIES = {
    "answer type": "question_multi-doc",
    "factuality": "question_factuality",
    "premise": "question_premise",
    "phrasing": "question_phrasing",
    "wording": "question_linguistic_variation",
    "user": "user_expertise-categorization",
}
SUPPORT = ("Complete", "Partial", "Incomplete", "Missing")
_HEAD = re.compile(r"\s*\[\d+\]\s*(?P<url>https?://\S+)?\s*")


def datamorgana(row: Mapping[str, Any], place: Place) -> Example:
    """Return a synthetic question of DataMorgana (Filice et al. 2025) with the pages that it was made from.

    The passages are these pages; over an index of the whole corpus they are what a search should find,
    so their ids stay in the metadata (`pages`).
    """
    texts = list_field(row, "context", str, place)
    pages = list_field(row, "document_ids", str, place)
    if len(texts) != len(pages):
        raise place.wrong(f"context has {len(texts)} texts for {len(pages)} document_ids")
    return place.example(
        row,
        string(row, "question", place),
        gold=(string(row, "answer", place),),
        passages=tuple(
            Passage(text=text, source=page_source(page), id=content_id("p", page, text))
            for page, text in zip(pages, texts, strict=True)
            if text.strip()
        ),
        pages=tuple(pages),
        strata=_categories(row, place),
    )


def _categories(row: Mapping[str, Any], place: Place) -> dict[str, str]:
    """Return the categories of a question, by columns, or by the lists that the generator itself returns."""
    strata = {name: string(row, field, place) for name, field in CATEGORIES.items() if row.get(field)}
    for key in ("question_categories", "user_categories"):
        for item in list_field(row, key, dict, place) if row.get(key) else []:
            named = string(item, "categorization_name", place, f"{key}.")
            strata[named.replace("-", " ")] = string(item, "category_name", place, f"{key}.")
    return strata


def page_source(page: str) -> str:
    """Return the source that a page counts as: its id without the wrapping of a URN.

    >>> page_source("<urn:uuid:210d276a-84e4>")
    '210d276a-84e4'
    """
    return page.strip().removeprefix("<urn:uuid:").removesuffix(">")


def judged_answers(row: Mapping[str, Any], place: Place) -> Example:
    """Return an answer of RAGentA or of a basic RAG with the grades that Llama-3.3-70B gave it.

    The answer (`answer`) and its grades (`correctness`, `faithfulness`: the judge gave fractions) are in
    the metadata; the passages that were read are not published with it. The parts are the systems.
    """
    system = string(row, "system", place)
    return place.example(
        row,
        string(row, "question", place),
        gold=(string(row, "ground_truth_answer", place),),
        part=system,
        answer=optional(row, "generated_answer", place),
        correctness=number(row, "correctness_score", place),
        faithfulness=number(row, "faithfulness_score", place),
        strata={"system": system},
    )


def expertqa(row: Mapping[str, Any], place: Place) -> Example:
    """Return a claim of ExpertQA (Malaviya et al. 2024) with its evidence and what experts judged of it.

    The claim and the judgements are in the metadata (`claim`, `support`, `reliability`, ...; empty where
    the experts gave none), the evidence is the passages. There is no gold answer. The parts are the splits.
    """
    support = optional(row, "support", place)
    if support not in ("", "N/A", *SUPPORT):
        raise place.wrong(f"support {support!r} is none of {', '.join(SUPPORT)}, N/A")
    passages: list[Passage] = []
    for text in list_field(row, "evidence", str, place):
        head = _HEAD.match(text)
        url = (head["url"] or "") if head else ""
        body = text[head.end() :] if head else text
        if body.strip():
            source = urlsplit(url).hostname or f"evidence{len(passages) + 1}"
            passages.append(Passage(text=body, source=source, url=url, id=content_id("p", url, body)))
    return place.example(
        row,
        string(row, "question", place),
        passages=tuple({passage.id: passage for passage in passages}.values()),
        part=optional(row, "split", place),
        claim=string(row, "claim", place),
        support="" if support == "N/A" else support,
        correctness=optional(row, "correctness", place),
        reliability=optional(row, "reliability", place),
        informativeness=optional(row, "informativeness", place),
        system=optional(row, "system", place),
        strata={"support": support or "none", "field": optional(row, "field", place) or "none"},
    )


FORMATS = (
    DatasetFormat(
        name="datamorgana",
        description="synthetic questions with the pages they were made from (DataMorgana)",
        origin="Filice et al. 2025, arXiv:2501.12789; as in RAGentA, Besrour et al. 2025",
        licence="MIT; pages ODC-By",
        shape="JSON lines",
        fields="question, answer, context[], document_ids[], question_*, user_* (or question_categories[], "
        "user_categories[])",
        measure="correctness and faithfulness by a judge (--judge); Recall@20 and MRR@20 of the pages "
        "(bench/search/retrieval_quality.py)",
        metrics=(),
        loader=datamorgana,
        shapes=(("question", "answer", "context", "document_ids"),),
        judged=True,
    ),
    DatasetFormat(
        name="expertqa",
        description="claims with evidence and experts' judgements (ExpertQA)",
        origin="Malaviya et al. 2024, arXiv:2309.07852; github.com/chaitanyamalaviya/ExpertQA",
        licence="MIT",
        shape="JSON lines",
        fields="question, claim, evidence[], support, reliability, correctness, split, ...",
        measure="our verdicts against the experts' (bench/papers/claim_verification.py); by a judge",
        metrics=(),
        loader=expertqa,
        shapes=(("question", "claim", "evidence", "support"),),
        parted=True,
        judged=True,
    ),
    DatasetFormat(
        name="judged_answers",
        description="answers of two systems with a 70B judge's grades (RAGentA)",
        origin="Besrour et al. 2025, arXiv:2506.16988",
        licence="BSD-3",
        shape="JSON lines",
        fields="question, generated_answer, ground_truth_answer, correctness_score, faithfulness_score, "
        "system",
        measure="agreement of our judge with theirs; by a judge",
        metrics=(),
        loader=judged_answers,
        shapes=(("question", "generated_answer", "ground_truth_answer", "correctness_score"),),
        parted=True,
        judged=True,
    ),
)
