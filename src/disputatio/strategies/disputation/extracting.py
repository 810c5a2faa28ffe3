"""Reading: by the language model, by the trained encoder, or by both, of which the better reading stands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from disputatio.agents.replies import echoes
from disputatio.attribution.citations import quote_span
from disputatio.kit import Kit
from disputatio.strategies.disputation.form import asked_form
from disputatio.strategies.disputation.hearing import testify
from disputatio.strategies.disputation.testimony import Testimony
from disputatio.types import Extraction, Passage, Reply

ANSWERS = 0.5  # the probability from which a passage is taken to answer
SURE = 0.75  # from which the encoder's answer stands without the language model
HOPELESS = 0.3  # below which the language model is not asked

Reader = Literal["llm", "encoder", "both"]


def read(
    question: str, passages: Sequence[Passage], kit: Kit, reader: Reader, *, turn: int = 1, max_tokens: int
) -> list[Testimony]:
    """Return what each passage alone answers, by the reader that was chosen.

    Where there is an encoder it also judges how likely each passage answers at all. Raises `MissingPart` where
    the encoder is to read and there is none.
    """
    if reader == "encoder":
        return extract(question, passages, kit, turn=turn)
    if reader == "both":
        return extract_or_testify(question, passages, kit, turn=turn, max_tokens=max_tokens)
    testimonies = testify(question, passages, kit, turn=turn, max_tokens=max_tokens)
    if kit.reader is None:
        return testimonies
    extractions = kit.extract(question, passages)
    return [_beside(*pair) for pair in zip(testimonies, extractions, strict=True)]


def extract(question: str, passages: Sequence[Passage], kit: Kit, *, turn: int = 1) -> list[Testimony]:
    """Return what the encoder reads in each passage; raises `MissingPart` where the kit has none."""
    extractions = kit.extract(question, passages)
    return [
        _testimony(question, passage, extraction, answers=extraction.probability >= ANSWERS, turn=turn)
        for passage, extraction in zip(passages, extractions, strict=True)
    ]


def extract_or_testify(
    question: str, passages: Sequence[Passage], kit: Kit, *, turn: int, max_tokens: int
) -> list[Testimony]:
    """Return the encoder's reading where it is sure; where it is not, that of the language model.

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
        heard, answers = by_model.get(number), extraction.probability >= ANSWERS
        # A fault stays one, however likely the encoder holds its own answer.
        if heard is None or (answers and not heard.answer and not heard.reply.fault):
            testimonies.append(_testimony(question, passage, extraction, answers=answers, turn=turn))
        else:
            testimonies.append(_beside(heard, extraction))
    return testimonies


def _testimony(
    question: str, passage: Passage, extraction: Extraction, *, answers: bool, turn: int
) -> Testimony:
    """Return an extraction as a testimony; without `answers` the passage is taken to say nothing."""
    reply = Reply(passages=(passage.id,), round=turn)
    if answers and extraction.answer.strip() and not echoes(question, extraction.answer):
        answer = asked_form(question, extraction.answer.strip(), passage.text)
        span = quote_span(passage, answer)
        reply = Reply(
            passages=(passage.id,),
            answer=answer,
            quote=passage.text[slice(*span)] if span else "",
            certainty=extraction.certainty,
            round=turn,
        )
    return Testimony(passage=passage, reply=reply, answered=extraction.probability, by_model=False)


def _beside(testimony: Testimony, extraction: Extraction) -> Testimony:
    """Return a language model's reading with what the encoder holds of its passage."""
    return replace(testimony, answered=extraction.probability)
