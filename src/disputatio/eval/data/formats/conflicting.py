"""Data sets whose passages disagree: ambiguity, misinformation, memory against evidence, the open web.

What a data set knows of a passage (its type, the answer it bears) goes to the example's metadata alone, as
`types` and `answers`; where it lists right and wrong passages apart they are mixed here, in an order that
tells nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from disputatio.eval.data.formats.format import BY_ANSWER, DatasetFormat
from disputatio.eval.data.formats.menus import boolean, with_options
from disputatio.eval.data.rows import (
    Place,
    answers,
    distinct,
    document,
    get_required,
    list_field,
    optional,
    scalar_text,
    string,
)
from disputatio.eval.metrics import answer_set
from disputatio.text import content_id
from disputatio.types import Example, Passage

# What CONFLICTS calls a kind of conflict holds the first word; the second is ours.
KINDS = {
    "no conflict": "none",
    "complementary": "ambiguity",
    "opinion": "opinion",
    "outdated": "outdated",
    "misinformation": "misinformation",
}
_TRUTHS = ("yes", "no")


def ramdocs(row: Mapping[str, Any], place: Place) -> Example:
    """Return a row of RAMDocs (Wang et al. 2025): question, documents, gold and wrong answers.

    The data names no sources, so the documents of a row are doc1, doc2, ... A document's `type`
    (correct, misinfo, noise) and `answer` go to the example's metadata alone.
    """
    documents = list_field(row, "documents", dict, place)
    passages = []
    for number, entry in enumerate(documents, 1):
        at = f"documents[{number - 1}]."
        for key in ("type", "answer"):
            string(entry, key, place, at)
        passages.append(document(number, string(entry, "text", place, at)))
    types = tuple(entry["type"] for entry in documents)
    gold = answers(row, "gold_answers", place)
    return place.example(
        row,
        string(row, "question", place),
        gold=gold,
        wrong=answers(row, "wrong_answers", place),
        passages=tuple(passages),
        types=types,
        answers=tuple(entry["answer"] for entry in documents),
        entities=tuple(list_field(row, "disambig_entity", str, place)) if "disambig_entity" in row else (),
        strata={
            "gold answers": str(len(answer_set(gold))),
            "misinformation passages": str(types.count("misinfo")),
            **_imbalance(gold, documents),
        },
    )


def ambigdocs(row: Mapping[str, Any], place: Place) -> Example:
    """Return a question of AmbigDocs (Lee et al. 2024) on a name that several entities bear.

    Every document is on another of them, its title, and bears that one's answer: all are right.
    """
    documents = list_field(row, "documents", dict, place)
    passages = []
    for number, entry in enumerate(documents, 1):
        at = f"documents[{number - 1}]."
        passages.append(
            document(number, string(entry, "text", place, at), title=optional(entry, "title", place, at))
        )
    stated = tuple(string(entry, "answer", place, f"documents[{n}].") for n, entry in enumerate(documents))
    gold = distinct(stated)
    return place.example(
        row,
        string(row, "question", place),
        gold=gold,
        passages=tuple(passages),
        id=scalar_text(row, "qid"),
        types=("correct",) * len(documents),
        answers=stated,
        entities=tuple(passage.title for passage in passages),
        strata={"gold answers": str(len(answer_set(gold)))},
    )


def _imbalance(gold: Sequence[str], documents: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return how many more documents the best borne gold answer has than the least, as in figure 4 (a).

    >>> told = [{"type": "correct", "answer": "Lund"}, {"type": "correct", "answer": "Oslo"}] * 2
    >>> _imbalance(["Lund", "Oslo"], told[:3]), _imbalance(["Lund"], told)
    ({'imbalance': '1'}, {})
    """
    passages_of = Counter(
        name for entry in documents if entry["type"] == "correct" for name in answer_set([entry["answer"]])
    )
    counts = [passages_of[name] for name in answer_set(gold)]
    return {"imbalance": str(max(counts) - min(counts))} if len(counts) > 1 else {}


def conflictnq(row: Mapping[str, Any], place: Place) -> Example:
    """Return a question of ConflictNQ with real passages, fabricated ones, and the answer of each."""
    real = string(row, "real_short_answer", place)
    fake = string(row, "fake_short_answer", place)
    typed = [("correct", real, text) for text in _texts(row, "real_passages", place)]
    typed += [("misinfo", fake, text) for text in _texts(row, "fake_passages", place)]
    return _build_example(
        row, place, question=string(row, "cleaned_question", place), gold=(real,), wrong=(fake,), typed=typed
    )


def conflictqa(row: Mapping[str, Any], place: Place) -> Example:
    """Return a question of ConflictQA (Xie et al. 2024): what a model remembers, and evidence against it.

    Which of the two is right the row does not say: their types are `memory` and `counter`. A question
    whose answer is true or false (StrategyQA's) is asked for yes or no.
    """
    truth = answers(row, "ground_truth", place)
    typed = []
    for kind, field in (("memory", "memory_answer"), ("counter", "counter_answer")):
        answer = optional(row, field, place)
        long = "parametric_memory" if kind == "memory" else "counter_memory"
        for key in (long, f"{long}_aligned_evidence"):
            text = optional(row, key, place)
            if text.strip():
                typed.append((kind, answer, text))
    question = string(row, "question", place)
    truths = {boolean(value) for value in truth}
    metadata: dict[str, Any] = {"strata": {"answer": "free"}, "readings": ((truth,),) if truth else ()}
    gold, wrong = truth, tuple[str, ...]()
    if len(truths) == 1 and (right := truths.pop()):
        question, gold = with_options(question, _TRUTHS), (right,)
        wrong = tuple(truth for truth in _TRUTHS if truth != right)
        metadata = {"options": _TRUTHS, "strata": {"answer": right}}
    return _build_example(row, place, question=question, gold=gold, wrong=wrong, typed=typed, **metadata)


def conflicts(row: Mapping[str, Any], place: Place) -> Example:
    """Return a question of CONFLICTS (Cattan et al. 2025) with search results and the kind of their conflict.

    Most questions of opinion, and most whose results complement each other, have no one right answer:
    their gold answers are empty, and they are unscored. Sources are the domains.
    """
    conflict_type = string(row, "conflict_type", place)
    kind = next((ours for theirs, ours in KINDS.items() if theirs in conflict_type.casefold()), "")
    if not kind:
        raise place.wrong(f"conflict_type {conflict_type!r} is none of those that the data set has")
    passages: dict[str, Passage] = {}
    for number, result in enumerate(list_field(row, "search_results", dict, place), 1):
        at = f"search_results[{number - 1}]."
        known = {key: optional(result, key, place, at) for key in ("title", "url", "date")}
        texts = (optional(result, key, place, at) for key in ("short_text", "snippet", "response_str"))
        text = next((text for text in texts if text.strip()), "")
        if not text:
            continue
        source = urlsplit(known["url"]).hostname or f"doc{number}"
        name = content_id("p", known["url"], text)
        date = "" if known["date"].strip().casefold() in ("na", "n/a") else known["date"]
        passages[name] = Passage(
            text=text, source=source, id=name, title=known["title"], url=known["url"], date=date
        )
    return place.example(
        row,
        string(row, "question", place),
        gold=distinct([row.get("correct_answer")]),
        passages=tuple(passages.values()),
        part=kind,
        conflict=kind,
        origin=scalar_text(row, "source"),
        strata={"conflict": conflict_type},
    )


def _build_example(
    row: Mapping[str, Any],
    place: Place,
    *,
    question: str,
    gold: tuple[str, ...],
    wrong: tuple[str, ...],
    typed: Iterable[tuple[str, str, str]],
    **metadata: Any,
) -> Example:
    """Return an example of passages with their kinds and answers, in an order of the texts alone."""
    known = sorted(typed, key=lambda entry: content_id("p", entry[2]))
    return place.example(
        row,
        question,
        gold=gold,
        wrong=wrong,
        passages=tuple(document(number, text) for number, (_, _, text) in enumerate(known, 1)),
        id=scalar_text(row, "id"),
        types=tuple(kind for kind, _, _ in known),
        answers=tuple(answer for _, answer, _ in known),
        **metadata,
    )


def _texts(row: Mapping[str, Any], key: str, place: Place) -> list[str]:
    """Return the texts of ConflictNQ's passages."""
    get_required(row, key, place)
    return [
        string(item, "passage", place, f"{key}[{number}].")
        for number, item in enumerate(list_field(row, key, dict, place))
    ]


_STRICT = "strict EM (every gold answer, no wrong one), and precision, recall and F1 of the answers"
FORMATS = (
    DatasetFormat(
        name="ambigdocs",
        expects="several",
        description="namesakes, with a document and an answer for each (AmbigDocs)",
        origin="Lee et al. 2024, arXiv:2404.12447; huggingface.co/datasets/yoonsanglee/AmbigDocs",
        licence="Apache-2.0",
        shape="a JSON list (test.json, dev.json, train.json)",
        fields="question, ambiguous_entity, qid, documents[{title, text, pid, answer}]",
        measure=_STRICT,
        metrics=BY_ANSWER,
        loader=ambigdocs,
        shapes=(("question", "ambiguous_entity", "documents"),),
        files=("test.json",),
    ),
    DatasetFormat(
        name="conflictnq",
        expects="one",
        description="a real and a fabricated answer, with passages for both (ConflictNQ)",
        origin="val.jsonl of ConflictNQ, as published with its passages",
        licence="Apache-2.0",
        shape="JSON lines",
        fields="id, question, cleaned_question, real_short_answer, real_passages[{passage, summary}], "
        "fake_short_answer, fake_passages[], ...",
        measure="accuracy: the real answer's words stand in the answer; attack_success: the fabricated one's",
        metrics=("accuracy", "attack"),
        loader=conflictnq,
        shapes=(("cleaned_question", "real_short_answer", "real_passages", "fake_passages"),),
        files=("val.jsonl",),
    ),
    DatasetFormat(
        name="conflictqa",
        expects="one",
        description="what a model remembers, and evidence against it (ConflictQA)",
        origin="Xie et al. 2024, arXiv:2305.13300; huggingface.co/datasets/osunlp/ConflictQA",
        licence="Apache-2.0",
        shape="JSON lines (conflictQA-*.json)",
        fields="question, popularity, ground_truth[], memory_answer, parametric_memory, counter_answer, "
        "counter_memory, *_aligned_evidence",
        measure="accuracy: yes or no, or some name of the right answer stands in the answer",
        metrics=("accuracy",),
        loader=conflictqa,
        shapes=(("question", "ground_truth", "parametric_memory", "counter_memory"),),
    ),
    DatasetFormat(
        name="conflicts",
        description="search results, and the kind of conflict by experts (CONFLICTS)",
        origin="Cattan et al. 2025 (DRAGged into Conflicts), arXiv:2506.08500; "
        "github.com/google-research-datasets/rag_conflicts",
        licence="see its repository",
        shape="JSON lines (conflicts.jsonl)",
        fields="question, source, conflict_type, correct_answer, search_results[{title, url, snippet, date, "
        "short_text, response_str}]; the kinds are parts",
        measure="accuracy: the right answer's words stand in the answer, where there is one; the expected "
        "behaviour needs a judge",
        metrics=("accuracy",),
        loader=conflicts,
        shapes=(("question", "conflict_type", "search_results"),),
        parted=True,
        files=("conflicts.jsonl",),
    ),
    DatasetFormat(
        name="ramdocs",
        expects="several",
        description="ambiguity, misinformation and noise at once (RAMDocs)",
        origin="Wang et al. 2025 (MADAM-RAG), arXiv:2504.13079; huggingface.co/datasets/HanNight/RAMDocs",
        licence="MIT",
        shape="JSON lines (RAMDocs_test.jsonl)",
        fields="question, documents[{text, type, answer}], disambig_entity, gold_answers, wrong_answers",
        measure=_STRICT,
        metrics=BY_ANSWER,
        loader=ramdocs,
        shapes=(("question", "documents", "gold_answers"),),
    ),
)
