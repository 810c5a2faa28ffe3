"""The reader at work: quotes are verbatim, order is kept, long passages are read to their end."""

from __future__ import annotations

import pytest

from tests.train.material import write_model
from train.reader import Passage, Reader


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Reader:
    return Reader(write_model(tmp_path_factory.mktemp("model")), threads=1)


def test_a_reading_is_a_verbatim_part_of_its_passage(reader: Reader) -> None:
    text = "In Paris,  SILVER was won."
    [reading] = reader.read([Passage(question="Who won?", text=text, title="Silver")])
    assert reading.text == "SILVER"
    assert text[reading.start : reading.end] == reading.text


def test_readings_come_in_the_order_of_the_passages(reader: Reader) -> None:
    texts = ["anna " * 9 + "gold", "bruno sang", "silver", "rome won paris"]
    readings = reader.read([Passage(question="who", text=text) for text in texts], batch_tokens=24)
    assert [one.text for one in readings] == ["gold", "bruno", "silver", "rome"]
    assert readings[2].probability > readings[0].probability > readings[1].probability


def test_a_batch_reads_as_each_passage_alone(reader: Reader) -> None:
    passages = [
        Passage(question="who", text=text) for text in ("anna sang gold", "rome", "what won in paris .")
    ]
    assert reader.read(passages) == [reader.read([one])[0] for one in passages]


def test_an_answer_beyond_the_first_sequence_of_a_long_passage_is_read(reader: Reader) -> None:
    text = "paris . " * 100 + "silver" + " . anna" * 100
    [reading] = reader.read([Passage(question="who", text=text)])
    assert (reading.text, reading.start) == ("silver", 800)


def test_an_empty_passage_answers_nothing(reader: Reader) -> None:
    empty, full = reader.read([Passage(question="who", text=""), Passage(question="who", text="silver")])
    assert empty.text == ""
    assert empty.probability < 0.01 < full.probability


def test_no_passages_give_no_readings(reader: Reader) -> None:
    assert reader.read([]) == []
