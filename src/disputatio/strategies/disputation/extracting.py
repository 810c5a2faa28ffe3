"""Reading by the encoder: the span of each passage that answers, and how sure that is, without a language model."""

from __future__ import annotations

import math
from collections.abc import Sequence

from disputatio.agents.replies import echoes
from disputatio.attribution.citations import quote_span
from disputatio.kit import Kit
from disputatio.strategies.disputation.form import asked_form
from disputatio.strategies.disputation.hearing import testify
from disputatio.strategies.disputation.testimony import Testimony
from disputatio.types import Extraction, Passage, Reply

ANSWERS = 0.5  # the probability from which a passage is taken to answer
SURE = 0.9  # from which the encoder's answer stands without the language model
HOPELESS = 0.1  # below which the language model is not asked


def extract(question: str, passages: Sequence[Passage], kit: Kit, *, turn: int = 1) -> list[Testimony]:
    """What the encoder reads in each passage; raises `MissingPart` where the kit has none."""
    extractions = kit.extract(question, passages)
    return [
        _testimony(question, passage, extraction, answers=extraction.probability >= ANSWERS, turn=turn)
        for passage, extraction in zip(passages, extractions, strict=True)
    ]


def extract_or_testify(
    question: str, passages: Sequence[Passage], kit: Kit, *, turn: int, max_tokens: int
) -> list[Testimony]:
    """The encoder's reading where it is sure; where it is not, that of the language model.

    Where the language model declines, the encoder's answer stands if it is more likely than not.
    """
    extractions = kit.extract(question, passages)
    unsure = [
        number for number, extraction in enumerate(extractions) if HOPELESS <= extraction.probability < SURE
    ]
    readings = testify(
        question, [passages[number] for number in unsure], kit, turn=turn, max_tokens=max_tokens
    )
    by_model = dict(zip(unsure, readings, strict=True))
    testimonies = []
    for number, (passage, extraction) in enumerate(zip(passages, extractions, strict=True)):
        testimony, answers = by_model.get(number), extraction.probability >= ANSWERS
        # A fault stays one, however likely the encoder holds its own answer.
        if testimony is None or (answers and not testimony.answer and not testimony.reply.fault):
            testimony = _testimony(question, passage, extraction, answers=answers, turn=turn)
        testimonies.append(testimony)
    return testimonies


def _testimony(
    question: str, passage: Passage, extraction: Extraction, *, answers: bool, turn: int
) -> Testimony:
    """An extraction as a testimony; without `answers` the passage is taken to say nothing."""
    reply = Reply(passages=(passage.id,), round=turn)
    if answers and extraction.answer.strip() and not echoes(question, extraction.answer):
        answer = asked_form(question, extraction.answer.strip(), passage.text)
        span = quote_span(passage, answer)
        reply = Reply(
            passages=(passage.id,),
            answer=answer,
            quote=passage.text[slice(*span)] if span else "",
            certainty=math.log(extraction.probability),
            round=turn,
        )
    return Testimony(passage=passage, reply=reply)
