"""Inconsistent pairs of FaithEval's kind: two documents on a question, of which one contradicts the other.

FaithEval (Ming et al. 2024, section 3) gives a model the document and its question and lets it write a copy
that argues for another answer. Here the second document is one that the data set has for a wrong answer
(ConflictNQ, PoisonedRAG), or a copy in code, of another passage for the right answer or of the same, with
a wrong answer of its type in its place. Rows have the published fields (qid, question, context, answers,
subset); the right document's answer stands first in `answers`, the documents in an order of chance.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import Any

from disputatio.errors import InputError
from disputatio.eval.builders.ambiguity import NQ, read_ambiguous, seems_to_answer
from disputatio.eval.builders.bearing import distinct, is_about, is_one_answer, rarities
from disputatio.eval.builders.material import Material, bears_any, stands
from disputatio.eval.builders.origins import ORIGINS, read_material
from disputatio.eval.builders.rivals import Rivals, rivals, swap_answers
from disputatio.text import content_id

RIVALS = 20  # wrong answers tried for one question
GIVEN, OTHER, SAME = "the data set's own", "copy of another passage", "copy of the same passage"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairs:
    """Built rows in FaithEval's format, where the contradicting documents are from, and what was left out."""

    rows: tuple[Mapping[str, Any], ...]
    made: Mapping[str, int] = field(default_factory=dict)
    left_out: Mapping[str, int] = field(default_factory=dict)


def read_single(spec: str) -> list[Material]:
    """Return the questions of `NAME:PATH` with one right answer, and texts for it."""
    if spec.partition(":")[0] in ORIGINS:
        return read_material(spec)
    return [
        Material(
            id=content_id("q", ambiguous.question),
            question=ambiguous.question,
            gold=ambiguous.senses[0].answers,
            factual=tuple(passage.text for passage in ambiguous.passages),
        )
        for ambiguous in read_ambiguous(spec)
        if len(ambiguous.senses) == 1
    ]


def contradict(
    origins: Mapping[str, Sequence[Material]], *, questions: int | None = None, seed: int = 0
) -> Pairs:
    """Return a pair for every question that gives one, or for `questions` of them, drawn by chance.

    The origins' names become the rows' `subset`. Raises `InputError` where there are none or too few.
    """
    everything = [(name, material) for name, those in origins.items() for material in those]
    known = [(material.question, material.gold[0]) for _, material in everything if material.gold]
    rarity = rarities([material.question for _, material in everything])
    rivals_of = partial(rivals, known=known, rarity=rarity, seed=seed)
    chance = random.Random(f"{seed}/pairs")
    rows: dict[str, tuple[Mapping[str, Any], str]] = {}
    left_out: dict[str, int] = {}
    for name, material in everything:
        if material.id in rows:
            continue
        pair = _pair(material, rivals_of, rarity, has_lies=name in ORIGINS and name != NQ)
        if isinstance(pair, str):
            left_out[pair] = left_out.get(pair, 0) + 1
            continue
        original, contrary, answers, how = pair
        documents = chance.sample([original, contrary], 2)
        row = {
            "qid": material.id,
            "question": material.question,
            "context": "\n\n".join(f"Document: {text}" for text in documents),
            "answers": [*answers],
            "subset": name,
        }
        rows[material.id] = (row, how)
    if not rows or len(rows) < (questions or 0):
        reasons = "; ".join(f"{reason} ({count})" for reason, count in left_out.items())
        raise InputError(
            f"{len(rows)} pairs can be built, not {questions or 'any'}: {reasons or 'no questions'}"
        )
    chosen_rows = [*rows.values()] if questions is None else chance.sample([*rows.values()], questions)
    counts: dict[str, int] = {}
    for _, how in chosen_rows:
        counts[how] = counts.get(how, 0) + 1
    return Pairs(rows=tuple(row for row, _ in chosen_rows), made=counts, left_out=left_out)


def _pair(
    material: Material, rivals_of: Rivals, rarity: Mapping[str, float], *, has_lies: bool
) -> tuple[str, str, tuple[str, str], str] | str:
    """Return the right document, the other one, the answer of each, and where the other is from; or why none.

    `has_lies` where the data set says that the texts answer the question; else they must look as if they did.
    """
    named = [(text, _name(text, material.gold)) for text in distinct(_on_one_line(material.factual))]
    bearing = [
        (text, answer)
        for text, answer in named
        if answer
        if has_lies
        or (
            is_about(text, material.question, rarity)
            and seems_to_answer(text, answer, material.question, rarity)
        )
    ]
    if not bearing:
        return "no passage that bears its answer and is about it"
    original, right = bearing[0]
    for text, wrong, how in _contrary(material, [text for text, _ in bearing], right, rivals_of):
        if not stands(original, wrong) and not bears_any(text, material.gold):
            return original, text, (right, wrong), how
    return "no other answer that its passages could tell"


def _contrary(
    material: Material, bearing: Sequence[str], right: str, rivals_of: Rivals
) -> Iterator[tuple[str, str, str]]:
    """Yield documents for wrong answers, with answer and origin, the most natural first."""
    for lie in material.lies:
        if not any(is_one_answer(lie.answer, gold) for gold in material.gold):
            for text in _on_one_line(lie.texts):
                if stands(text, lie.answer):
                    yield text, lie.answer, GIVEN
    others = [*islice(rivals_of(material.question, right, avoid=material.gold), RIVALS)]
    for text in (*bearing[1:], bearing[0]):
        for wrong in others:
            copy = swap_answers(text, material.gold, wrong, question=material.question)
            if copy is not None:
                yield copy, wrong, SAME if text == bearing[0] else OTHER


def _name(text: str, gold: Sequence[str]) -> str:
    """Return the longest name of the right answer that a text has; empty where it has none."""
    return max((answer for answer in gold if stands(text, answer)), key=len, default="")


def _on_one_line(texts: Sequence[str]) -> list[str]:
    """Return texts that cannot be taken for several documents."""
    return [" ".join(text.split()).replace("Document:", "Document") for text in texts]
