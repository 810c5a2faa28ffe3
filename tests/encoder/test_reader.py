"""The reader at work: quotes are verbatim, order is kept, long passages are read to their end."""

from __future__ import annotations

import pytest

from disputatio.encoder import model as running
from disputatio.encoder.model import EncoderModel
from disputatio.encoder.reader import EncoderReader
from disputatio.types import Passage
from tests.train.material import write_model


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> EncoderReader:
    return EncoderReader(EncoderModel(write_model(tmp_path_factory.mktemp("model")), threads=1))


def test_a_reading_is_a_verbatim_part_of_its_passage(reader: EncoderReader) -> None:
    text = "In Paris,  SILVER was won."
    [reading] = reader.read("Who won?", [Passage(text=text, title="Silver")])
    assert reading.answer == "SILVER"
    assert text[reading.start : reading.end] == reading.answer


def test_readings_come_in_the_order_of_the_passages(
    reader: EncoderReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "BATCH_TOKENS", 24)
    texts = ["anna " * 9 + "gold", "bruno sang", "silver", "rome won paris"]
    readings = reader.read("who", [Passage(text=text) for text in texts])
    assert [each.answer for each in readings] == ["gold", "bruno", "silver", "rome"]
    assert readings[2].probability > readings[0].probability > readings[1].probability


def test_a_batch_reads_as_each_passage_alone(reader: EncoderReader) -> None:
    passages = [Passage(text=text) for text in ("anna sang gold", "rome", "what won in paris .")]
    assert reader.read("who", passages) == [reader.read("who", [passage])[0] for passage in passages]


def test_an_answer_beyond_the_first_sequence_of_a_long_passage_is_read(reader: EncoderReader) -> None:
    text = "paris . " * 100 + "silver" + " . anna" * 100
    [reading] = reader.read("who", [Passage(text=text)])
    assert (reading.answer, reading.start) == ("silver", 800)


def test_an_empty_passage_answers_nothing(reader: EncoderReader) -> None:
    empty, full = reader.read("who", [Passage(text=""), Passage(text="silver")])
    assert empty.answer == ""
    assert empty.probability < 0.01 < full.probability


def test_no_passages_give_no_readings(reader: EncoderReader) -> None:
    assert reader.read("who", []) == []
