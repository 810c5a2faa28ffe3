"""The weights that the package carries: whole, small, and able to read and judge."""

from __future__ import annotations

import hashlib

import pytest

from disputatio.encoder.model import SHIPPED, EncoderModel
from disputatio.encoder.reader import EncoderJudge, EncoderReader
from disputatio.types import Passage

MOST_BYTES = 30_000_000


@pytest.mark.long
def test_the_file_is_the_one_that_its_checksum_names() -> None:
    digest, name = SHIPPED.with_suffix(".sha256").read_text(encoding="utf-8").split()
    assert name == SHIPPED.name
    assert hashlib.sha256(SHIPPED.read_bytes()).hexdigest() == digest
    assert SHIPPED.stat().st_size < MOST_BYTES


@pytest.mark.long
def test_it_reads_a_plain_passage_and_refuses_another() -> None:
    reader = EncoderReader(EncoderModel(SHIPPED, threads=1))
    told = Passage(text="The lighthouse of Quillhaven was designed by Ingrid Vasmer and opened in 1887.")
    silent = Passage(text="Goats graze on the hill behind the town, and nobody minds them in the summer.")
    answers, refuses = reader.read("Who designed the lighthouse of Quillhaven?", [told, silent])
    assert answers.answer == "Ingrid Vasmer"
    assert answers.probability > 0.5 > refuses.probability


@pytest.mark.long
def test_it_tells_support_from_contradiction() -> None:
    judge = EncoderJudge(EncoderModel(SHIPPED, threads=1))
    quote = "The lighthouse was designed by Ingrid Vasmer in 1887."
    pairs = [(quote, "The lighthouse was designed in 1887."), (quote, "The lighthouse was designed in 1901.")]
    supported, unsupported = judge.entails(pairs)
    fine, denied = judge.contradicts(pairs)
    assert supported > 0.5 > unsupported
    assert denied > 0.5 > fine
