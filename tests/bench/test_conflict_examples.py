"""Real and fabricated passages of a question are counted, chosen and shuffled as the setting says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench.verdict import conflict_examples as examples

PLACES = ("Alder", "Birch", "Cedar", "Dogwood", "Elm", "Fir", "Gorse", "Hazel")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Files in the shape of the published ones: even rows of ConflictNQ name the builder in both halves."""
    twice = " It is tall. Ada Lund also sold it."
    conflict = [
        {
            "id": str(n),
            "question": f"who built the {town} mill",
            "cleaned_question": f"Who built the {town} mill?",
            "real_answer": "Ada Lund built it.",
            "real_short_answer": "Ada Lund",
            "real_passages": [
                {
                    "passage": f"The {town} mill was built by Ada Lund.{twice if n % 2 == 0 else ''}",
                    "summary": "",
                }
            ],
            "fake_answer": "Bo Ek built it.",
            "fake_short_answer": "Bo Ek",
            "fake_passages": [
                {"passage": f"Note {m}: the {town} mill was built by Bo Ek.", "summary": ""} for m in range(5)
            ],
        }
        for n, town in enumerate(PLACES)
    ]
    poisoned = [
        {
            "id": f"test{n}",
            "question": f"who owns the {town} mill",
            "correct answer": "Ada Lund",
            "incorrect answer": "Bo Ek",
            "adv_texts": [f"Text {m}: the {town} mill is owned by Bo Ek." for m in range(5)],
        }
        for n, town in enumerate(PLACES)
    ]
    questions = [
        {
            "id": f"nq{n}",
            "question": f"Who owns the {town} Mill?",
            "golden_answers": ["Bo Ek" if town == "Elm" else "Ada Lund"],
            "passages": [
                {"title": town, "text": f"{town} {m}: owned by {owner}.", "has_answer": owner == "Ada Lund"}
                for m, owner in enumerate(["nobody"] * 4 + ["Ada Lund"] * 3)
            ],
        }
        for n, town in enumerate(PLACES[2:6])
    ]  # fmt: skip
    for name, rows in (
        ("conflictnq/val.jsonl", conflict),
        ("poisonedrag/nq.jsonl", poisoned),
        ("nq_with_passages/nq.jsonl", questions),
    ):
        path = tmp_path / "data" / name
        path.parent.mkdir(parents=True)
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return tmp_path / "data"


def test_a_setting_has_the_passages_that_its_name_says(data: Path) -> None:
    conflict = examples.conflictnq(data, questions=8, seed=0)
    poison = examples.poisonedrag(data)
    assert len(conflict.of(examples.SETTINGS["conflictnq-1r3f"])) == 8
    assert [one.number for one in conflict.of(examples.SETTINGS["conflictnq-2r1f"])] == [0, 2, 4, 6]
    for name, setting in examples.SETTINGS.items():
        rows = (conflict if setting.corpus == "conflictnq" else poison).of(setting)
        assert rows
        for row in rows:
            example = examples.example(row, setting, 0)
            kinds = example.metadata["kinds"]
            assert (kinds.count("real"), kinds.count("false")) == (setting.real or 5, setting.false), name
            for kind, passage in zip(kinds, example.passages, strict=True):
                assert "Bo Ek" in passage.text if kind == "false" else "Bo Ek" not in passage.text
                assert (passage.source, passage.title, passage.url, passage.date, passage.id) == ("",) * 5
            assert (example.gold, example.wrong) == (("Ada Lund",), ("Bo Ek",))
            bearing = sum("Ada Lund" in passage.text for passage in example.passages)
            assert bearing == (3 if setting.real is None else setting.real)


def test_the_order_is_the_seeds_and_does_not_tell_which_passage_is_real(data: Path) -> None:
    rows = examples.conflictnq(data, questions=8, seed=0).rows
    setting = examples.SETTINGS["conflictnq-1r3f"]
    orders = {
        seed: [examples.example(row, setting, seed).metadata["kinds"] for row in rows] for seed in range(30)
    }
    assert orders[0] == [examples.example(row, setting, 0).metadata["kinds"] for row in rows]
    assert orders[0] != orders[1]
    places = [kinds.index("real") for each in orders.values() for kinds in each]
    assert all(0.15 < places.count(town) / len(places) < 0.35 for town in range(4))


def test_the_questions_are_the_seeds_and_those_with_two_real_passages_come_first(data: Path) -> None:
    few = {
        seed: [row.number for row in examples.conflictnq(data, questions=5, seed=seed).rows]
        for seed in range(9)
    }
    assert few[0] == [row.number for row in examples.conflictnq(data, questions=5, seed=0).rows]
    assert len({tuple(numbers) for numbers in few.values()}) > 1
    assert all({0, 2, 4, 6} < set(numbers) and numbers == sorted(numbers) for numbers in few.values())


def test_a_question_whose_target_is_right_for_nq_is_left_out(data: Path) -> None:
    built = examples.poisonedrag(data)
    assert [PLACES[row.number] for row in built.rows] == ["Cedar", "Dogwood", "Fir"]


def test_a_passage_of_another_row_is_a_second_one_where_it_answers_the_question(data: Path) -> None:
    path = data / examples.NQ
    texts = ("The Birch mill, it is known, was built by Ada Lund.", "Ada Lund built the other one.")
    row = {
        "id": "x",
        "question": "q?",
        "golden_answers": ["Ada Lund"],
        "passages": [{"title": "t", "text": text, "has_answer": True} for text in texts],
    }
    path.write_text(path.read_text("utf-8") + json.dumps(row) + "\n", encoding="utf-8")
    by = {one.number: one for one in examples.conflictnq(data, questions=8, seed=0).rows}
    assert (by[1].second, by[1].real[1]) == ("retrieved", texts[0])
    assert by[3].second == ""
