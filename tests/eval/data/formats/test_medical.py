"""Questions with options come with the options shown, and are scored by the option that is picked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from disputatio.errors import InputError, UnknownName
from disputatio.eval.data.datasets import identify, load
from disputatio.eval.metrics import score
from disputatio.strategies.ac_rag import read_menu
from tests.eval.data.formats.rows import ABSTRACT, BENCHMARK, file_of


def test_lettered_options_stand_below_the_question_where_the_menu_is_read(tmp_path: Path) -> None:
    bones, hard = load(f"mirage:{file_of(tmp_path, BENCHMARK)}")
    assert (
        bones.question
        == "Which bone is longest? (one option is right)\nA. Ulna\nB. Femur\nC. None of the above"
    )
    assert bones.gold == ("B. Femur",)
    assert bones.wrong == ("A. Ulna", "C. None of the above")
    menu = read_menu(bones.question)
    assert menu is not None
    assert menu.words == ("A", "B", "C")
    assert hard.question == "Is bone hard? (yes/no)"
    assert (hard.gold, hard.wrong) == (("yes",), ("no",))
    assert [one.row for one in (bones, hard)] == [0, 1]


def test_the_sets_of_a_benchmark_are_its_parts(tmp_path: Path) -> None:
    path = file_of(tmp_path, BENCHMARK)
    (hard,) = load(f"mirage:{path}#bioasq")
    assert (hard.row, hard.metadata["dataset"]) == (1, "mirage:rows.json#bioasq")
    assert identify(f"mirage:{path}#bioasq").name == "mirage:rows.json#bioasq"
    with pytest.raises(UnknownName, match="did you mean 'medqa'"):
        load(f"mirage:{path}#medq")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"answer": "D"}, r"rows.json: medqa 0000: answer 'D' is none of its options A, B, C"),
        ({"options": {"A": "one"}}, r"medqa 0000: options must hold two to 10 options, and holds 1"),
        ({"options": {"A": "one", "B": ""}}, r"medqa 0000: options: option B says nothing"),
        ({"question": 3}, r"medqa 0000: question must be text"),
    ],
)
def test_a_bad_question_is_named_by_its_set_and_key(
    tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    path = file_of(tmp_path, {"medqa": {"0000": {**BENCHMARK["medqa"]["0000"], **changes}}})
    with pytest.raises(InputError, match=message):
        load(f"mirage:{path}")


def test_an_abstract_is_the_passage_and_its_conclusion_is_not_in_it(tmp_path: Path) -> None:
    (example,) = load(f"pubmedqa:{file_of(tmp_path, [ABSTRACT])}")
    (passage,) = example.passages
    assert passage.text == "BACKGROUND: Salt is spread on roads.\nRESULTS: Of 40 bridges 30 rusted."
    assert passage.source == "pmid101"
    assert example.question == "Does salt harm bridges? (yes/no/maybe)"
    assert (example.gold, example.wrong) == (("yes",), ("no", "maybe"))
    assert "Salt harms bridges" not in repr(example)


def test_the_test_ids_beside_the_file_make_its_parts(tmp_path: Path) -> None:
    path = file_of(tmp_path, [ABSTRACT, {**ABSTRACT, "pmid": "102"}])
    with pytest.raises(UnknownName, match="unsplit"):
        load(f"pubmedqa:{path}#test")
    before = identify(f"pubmedqa:{path}").sha256
    (tmp_path / "test_ground_truth.json").write_text(json.dumps({"102": "yes"}))
    assert [example.metadata["id"] for example in load(f"pubmedqa:{path}#test")] == ["102"]
    assert [example.metadata["id"] for example in load(f"pubmedqa:{path}#train")] == ["101"]
    assert identify(f"pubmedqa:{path}").sha256 != before


def test_a_decision_that_the_test_ids_contradict_is_named(tmp_path: Path) -> None:
    path = file_of(tmp_path, [ABSTRACT])
    (tmp_path / "test_ground_truth.json").write_text(json.dumps({"101": "no"}))
    with pytest.raises(InputError, match=r"rows.jsonl:1: final_decision is 'yes' here and 'no' in"):
        load(f"pubmedqa:{path}")
    (tmp_path / "test_ground_truth.json").write_text("[]")
    with pytest.raises(InputError, match=r"test_ground_truth.json: not an object of ids"):
        load(f"pubmedqa:{path}")


@pytest.mark.parametrize(
    ("said", "right"),
    [
        (["B. Femur"], 1.0),
        (["b"], 1.0),
        (["(B)"], 1.0),
        (["The answer is B."], 1.0),
        (["Femur"], 1.0),
        (["the femur, as it is in the thigh"], 1.0),
        (["It is the femur."], 1.0),
        (["A. Ulna"], 0.0),
        (["C"], 0.0),
        (["femur or ulna"], 1.0),  # it begins with one
        (["either ulna or femur"], 0.0),
        (["B", "A"], 0.0),
        (["tibia"], 0.0),
        ([], 0.0),
    ],
)
def test_the_accuracy_of_a_choice_asks_which_option_was_picked(
    tmp_path: Path, said: list[str], right: float
) -> None:
    bones, _ = load(f"mirage:{file_of(tmp_path, BENCHMARK)}")
    assert score(said, bones.gold, bones.wrong, ["choice"]) == {"accuracy": right}
