"""Measure an encoder on passages that nothing was trained, chosen or calibrated on."""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bench.lib.agreement import roc_auc
from disputatio.encoder.model import EncoderModel
from disputatio.encoder.reader import EncoderReader
from disputatio.types import Extraction, Passage
from train.examples import (
    Example,
    natural_questions,
    occurrences,
    questions_elsewhere,
    ramdocs,
    rows_of,
    shown_title,
    side,
    squad_like,
)
from train.measure_pairs import evenly, measure_entailment, measure_sameness
from train.scores import contains, exact, f1, keeping

KEPT = 0.93


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question on a passage with the answers that the passage bears; none where it should be refused."""

    question: str
    passage: Passage
    answers: tuple[str, ...]
    kind: str


SETS = ("ramdocs", "squad2", "nq", "conflictnq", "realtimeqa", "test", "rank", "entail", "same")


def measure(
    path: Path, data: Path, *, threads: int = 2, limit: int | None = None, only: Collection[str] = SETS
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the scores of an encoder, set by set, as plain values; `test` is the rest of the kept contexts.

    `limit` keeps that many passages of a set, evenly spread; RAMDocs is always read whole, and timed.
    """
    model = EncoderModel(path, threads=threads)
    reader = EncoderReader(model)
    if "ramdocs" in only:
        at = _keeping_threshold(read_all(reader, ramdocs_passages(data, "dev")))
        passages = ramdocs_passages(data, "report")
        clock, processor = time.perf_counter(), time.process_time()
        read = read_all(reader, passages)
        clock, processor = time.perf_counter() - clock, time.process_time() - processor
        yield "ramdocs", retrieval_scores(read, at)
        words = np.mean([len(one.passage.text.split()) for one in passages])
        speed = {
            "passages": len(passages),
            "words_a_passage": round(float(words), 1),
            "a_second_by_the_clock": round(len(passages) / clock, 1),
            "a_second_of_processor_time": round(len(passages) / processor, 1),
        }
        yield "speed", speed
    if "squad2" in only:
        at = f1_threshold(read_all(reader, evenly(squad2_questions(data, "dev"), limit)))
        yield "squad2", squad2_scores(read_all(reader, evenly(squad2_questions(data, "test"), limit)), at)
    retrieved = {"conflictnq": conflictnq_passages, "realtimeqa": realtimeqa_passages}
    if {"nq", *retrieved} & set(only):
        at = _keeping_threshold(read_all(reader, evenly(nq_passages(data, "dev"), limit)))
        if "nq" in only:
            yield "nq", retrieval_scores(read_all(reader, evenly(nq_passages(data, "report"), limit)), at)
        for name, passages_of in retrieved.items():
            if name in only:
                yield name, retrieval_scores(read_all(reader, evenly(passages_of(data), limit)), at)
    for name, some in test_sets(data).items() if "test" in only else ():
        read = read_all(reader, evenly([one for one in some if one.answers], limit))
        yield f"test_{name}", _spans(read)
    if "rank" in only:
        yield "rank_nq", ranking_scores(read_all(reader, nq_passages(data, "report")))
    if "entail" in only:
        yield from measure_entailment(model, data, limit=limit)
    if "same" in only:
        yield from measure_sameness(model, data, limit=limit)


def read_all(reader: EncoderReader, some: Sequence[Asked]) -> list[tuple[Asked, Extraction]]:
    """Return each with its reading."""
    return list(zip(some, reader.read_pairs([(one.question, one.passage) for one in some]), strict=True))


def squad2_questions(data: Path, part: str) -> list[Asked]:
    """Return the questions of SQuAD 2.0 whose contexts lie on one side of the split."""
    examples = squad_like(data / "train")
    return [_asked(one) for one in examples if one.dataset == "squad2_dev" and side(one.group) == part]


def test_sets(data: Path) -> dict[str, list[Asked]]:
    """Return the questions of the other sets on contexts kept for the test."""
    sets: dict[str, list[Asked]] = {}
    for one in squad_like(data / "train"):
        if one.dataset != "squad2_dev" and side(one.group) == "test":
            sets.setdefault(one.dataset, []).append(_asked(one))
    return dict(sorted(sets.items()))


def ramdocs_passages(data: Path, part: str) -> list[Asked]:
    """Return the passages of RAMDocs rows of a side: kind `right`, `misinformation` or `noise`, with their
    own answer.
    """
    path, kinds = (
        data / "ramdocs" / "dev.jsonl",
        {"correct": "right", "misinfo": "misinformation", "noise": "noise"},
    )
    rows = list(rows_of(path))
    passages = []
    for one in ramdocs(path, [part], keep_unread=True):
        _, row, place, kind = one.id.split("/")
        answer = rows[int(row)]["documents"][int(place)]["answer"]
        answers = () if kind == "noise" else (answer,)
        passages.append(
            Asked(question=one.question, passage=_passage(one), answers=answers, kind=kinds[kind])
        )
    return passages


def nq_passages(data: Path, part: str) -> list[Asked]:
    """Retrieved passages of Natural Questions; `right` bears a gold answer by string match, else `noise`."""
    path = data / "nq_with_passages" / "nq.jsonl"
    without = questions_elsewhere(data) if part != "report" else set()
    return [_asked(one) for one in natural_questions(path, [part], without=without)]


def conflictnq_passages(data: Path) -> list[Asked]:
    """ConflictNQ's passages that bear the short answer of their side; the other real ones are left out."""
    passages = []
    for row in rows_of(data / "conflictnq" / "val.jsonl"):
        for real, kind in ((True, "right"), (False, "misinformation")):
            stem = "real" if real else "fake"
            answer = row[f"{stem}_short_answer"]
            for passage in row[f"{stem}_passages"]:
                if answer and occurrences(passage["passage"], answer):
                    question, read = row["cleaned_question"], Passage(text=passage["passage"])
                    passages.append(Asked(question=question, passage=read, answers=(answer,), kind=kind))
    return passages


def realtimeqa_passages(data: Path) -> list[Asked]:
    """RealtimeQA's search results: `right` bears a right answer by string match, else `noise`; and its poison."""
    passages = []
    for row in json.loads((data / "realtimeqa" / "realtimeqa.json").read_text(encoding="utf-8")):
        for result in row["context"]:
            if "text" not in result:
                continue
            answers = tuple(one for one in row["correct answer"] if occurrences(result["text"], one))
            read = Passage(text=result["text"], title=shown_title(result["title"]))
            kind = "right" if answers else "noise"
            passages.append(Asked(question=row["question"], passage=read, answers=answers, kind=kind))
        for text in row["incorrect_context"]:
            if occurrences(text, row["incorrect answer"]):
                wrong = (row["incorrect answer"],)
                read = Passage(text=text)
                passages.append(
                    Asked(question=row["question"], passage=read, answers=wrong, kind="misinformation")
                )
    return passages


def squad2_scores(read: Sequence[tuple[Asked, Extraction]], threshold: float) -> dict[str, Any]:
    """EM and F1 as SQuAD 2.0 counts them at a threshold of the probability, and at that of any answer."""
    parts: dict[str, list[tuple[float, float]]] = {"answerable": [], "unanswerable": []}
    for asked, reading in read:
        text = reading.answer if reading.probability >= threshold else ""
        name = "answerable" if asked.answers else "unanswerable"
        parts[name].append((exact(text, asked.answers), f1(text, asked.answers)))
    scores: dict[str, Any] = {"auc": _auc(read), "threshold_from_dev": round(threshold, 4)}
    for name, some in (("all", parts["answerable"] + parts["unanswerable"]), *parts.items()):
        em, mean_f1 = np.mean(some, axis=0) if some else (None, None)
        scores[name] = {"n": len(some), "em": _rounded(em), "f1": _rounded(mean_f1)}
    scores["answerable_always_answered"] = _spans([pair for pair in read if pair[0].answers])
    return scores


def retrieval_scores(read: Sequence[tuple[Asked, Extraction]], threshold: float) -> dict[str, Any]:
    """Return how right passages and planted ones are read, and how much noise is refused.

    `as_written` counts readings equal to the answer, or containing it or contained in it. Noise is refused
    below the threshold that keeps 93 % of these right passages (a point of the curve), and, as it would be
    used, below the threshold that kept 93 % on development rows.
    """
    kinds: dict[str, list[tuple[Asked, Extraction]]] = {}
    for asked, reading in read:
        kinds.setdefault(asked.kind, []).append((asked, reading))
    scores: dict[str, Any] = {name: _spans(some) for name, some in sorted(kinds.items()) if name != "noise"}
    scores["threshold_from_dev"] = round(threshold, 4)
    right, noise = kinds.get("right", []), kinds.get("noise", [])
    scores["right_whose_text_bears_it"] = _spans(
        [
            (one, reading)
            for one, reading in right
            if any(occurrences(one.passage.text, a) for a in one.answers)
        ]
    )
    if right and noise:
        kept = [reading.probability for _, reading in right]
        own = keeping(kept, KEPT)
        refused: dict[str, Any] = {"n": len(noise), "auc": _auc([*right, *noise])}
        for name, at in (("keeping_93_here", own), ("threshold_from_dev", threshold)):
            some = [pair for pair in right if pair[1].probability >= at]
            refused[name] = {
                "noise_refused": _share([reading.probability < at for _, reading in noise]),
                "right_kept": _rounded(len(some) / len(right)),
                "right_kept_and_as_written": _rounded(sum(_as_written(*pair) for pair in some) / len(right)),
            }
        scores["noise"] = refused
    return scores


def ranking_scores(read: Sequence[tuple[Asked, Extraction]]) -> dict[str, Any]:
    """Return the mean reciprocal rank of the first passage that bears an answer, in the published order of a
    question's passages (that of the search that found them) and in that of the probability that they
    answer.
    """
    rows: dict[str, list[tuple[Asked, Extraction]]] = {}
    for asked, reading in read:
        rows.setdefault(asked.question, []).append((asked, reading))
    told = [row for row in rows.values() if len({asked.kind for asked, _ in row}) > 1]

    def reciprocal(row: Sequence[tuple[Asked, Extraction]]) -> float:
        return 1 / (1 + next(rank for rank, (asked, _) in enumerate(row) if asked.kind == "right"))

    reranked = [sorted(row, key=lambda pair: -pair[1].probability) for row in told]
    return {
        "questions": len(told),
        "mrr_published_order": _rounded(np.mean([reciprocal(row) for row in told])) if told else None,
        "mrr_by_probability": _rounded(np.mean([reciprocal(row) for row in reranked])) if told else None,
    }


def f1_threshold(read: Sequence[tuple[Asked, Extraction]]) -> float:
    """Return the threshold of the probability with the highest mean F1, a refusal being an empty answer."""
    ordered = sorted(read, key=lambda pair: -pair[1].probability)
    gained = [0.0]
    for asked, reading in ordered:
        gained.append(gained[-1] + f1(reading.answer, asked.answers) - f1("", asked.answers))
    best = int(np.argmax(gained))
    return ordered[best - 1][1].probability if best else 1.0


def _keeping_threshold(read: Sequence[tuple[Asked, Extraction]]) -> float:
    """Return the threshold that keeps 93 % of these answerable passages."""
    return keeping([reading.probability for asked, reading in read if asked.answers], KEPT)


def _asked(example: Example) -> Asked:
    return Asked(
        question=example.question,
        passage=_passage(example),
        answers=example.answers,
        kind="right" if example.spans else "noise",
    )


def _passage(example: Example) -> Passage:
    return Passage(text=example.text, title=shown_title(example.title))


def _as_written(asked: Asked, reading: Extraction) -> bool:
    return bool(exact(reading.answer, asked.answers)) or contains(reading.answer, asked.answers)


def _spans(read: Sequence[tuple[Asked, Extraction]]) -> dict[str, Any]:
    return {
        "n": len(read),
        "equal": _share([bool(exact(reading.answer, asked.answers)) for asked, reading in read]),
        "as_written": _share([_as_written(asked, reading) for asked, reading in read]),
        "f1": _rounded(
            np.mean([f1(reading.answer, asked.answers) for asked, reading in read]) if read else None
        ),
    }


def _auc(read: Sequence[tuple[Asked, Extraction]]) -> float | None:
    scores = [reading.probability for _, reading in read]
    return _rounded(roc_auc(scores, [bool(asked.answers) for asked, _ in read]))


def _share(values: Sequence[bool]) -> float | None:
    return _rounded(sum(values) / len(values)) if values else None


def _rounded(value: Any) -> float | None:
    return None if value is None else round(float(value), 4)
