"""Questions come from published data with a short right answer, and missing texts are made in code."""

from __future__ import annotations

from pathlib import Path

import pytest

from disputatio.errors import InputError, UnknownName
from disputatio.eval.builders.material import Lie, Material, bears_any
from disputatio.eval.builders.origins import key_answers, poisonedrag, read_material
from disputatio.eval.builders.substitution import kind_of, replace_answer, substitute, windows
from tests.eval.material import conflictnq_rows, material, write_rows


def test_a_sentence_for_an_answer_is_cut_to_the_name_that_the_passage_bears(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "val.jsonl", conflictnq_rows())
    first, *rest = read_material(f"conflictnq:{path}")
    assert (first.gold, first.title, len(rest)) == (("Lund",), "Lighthouse 0", 11)
    assert first.lies[0].answer == "Fakeford0"
    assert len(first.lies[0].texts) == 3
    assert "up in Lund, by the quay." in first.factual[0]  # no blanks before commas


def test_open_questions_are_left_out(tmp_path: Path) -> None:
    rows = conflictnq_rows()
    rows[0]["cleaned_question"] = "What is the difference between a light and a house?"
    rows[1]["cleaned_question"] = "Why was lighthouse number 1 built?"
    materials = read_material(f"conflictnq:{write_rows(tmp_path / 'val.jsonl', rows)}")
    assert [one.gold for one in materials[:2]] == [("Turku",), ("Narva",)]


def test_an_answer_is_of_the_type_that_is_asked_for() -> None:
    text = "The mill of Lund was built in 1921 ."
    assert key_answers("In 1921, in the mill of Lund.", "When was it built?", text) == ("1921",)
    assert key_answers("In 1921, in the mill of Lund.", "Where was it built?", text) == ("Lund",)


def test_passages_of_nq_without_the_answer_are_not_factual(tmp_path: Path) -> None:
    row = {
        "question": "who told the tale",
        "golden_answers": ["Ada Fen"],
        "passages": [
            {"title": '"The tale"', "text": "The tale was told by Ada Fen.", "has_answer": True},
            {"title": '"Tales"', "text": "Tales are old.", "has_answer": False},
        ],
    }
    (material,) = read_material(f"nq_with_passages:{write_rows(tmp_path / 'nq.jsonl', [row])}")
    assert material.factual == ("The tale was told by Ada Fen.",)
    assert material.title == "The tale"


def test_poisoned_passages_are_a_lie_and_corrected_the_truth() -> None:
    one = poisonedrag(
        {
            "question": "how many keepers live there",
            "correct answer": "23",
            "incorrect answer": "24",
            "adv_texts": [f"There live 24 keepers, wording {v}." for v in range(4)],
        }
    )
    assert one is not None
    assert one.lies == (
        Lie(answer="24", texts=tuple(f"There live 24 keepers, wording {v}." for v in range(3))),
    )
    assert one.factual[0] == "There live 23 keepers, wording 0."


@pytest.mark.parametrize(
    ("line", "words"), [("{}", "rows.jsonl:1: not a row of conflictnq"), ("[1", "rows.jsonl:1: not a row")]
)
def test_a_row_of_another_form_is_named(line: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(line + "\n")
    with pytest.raises(InputError, match=words):
        read_material(f"conflictnq:{path}")


def test_a_folder_in_place_of_a_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="a folder; name the file of rows in it, as in conflictnq:"):
        read_material(f"conflictnq:{tmp_path}")


def test_an_origin_that_is_not_known_is_named() -> None:
    with pytest.raises(UnknownName, match="conflictnq"):
        read_material("conflictqn:rows.jsonl")
    with pytest.raises(InputError, match="say which file"):
        read_material("conflictnq")


def test_substitution_makes_nine_truths_and_nine_lies_that_pass_the_checks(tmp_path: Path) -> None:
    whole = substitute(read_material(f"conflictnq:{write_rows(tmp_path / 'v.jsonl', conflictnq_rows())}"))
    assert len(whole) == 12
    for one in whole:
        assert (len(one.factual), len(one.lies), {len(lie.texts) for lie in one.lies}) == (9, 9, {3})
        assert len(set(one.factual)) == 9
        assert one.faults() == []
    assert (
        whole[0].lies[0].texts[0] == "Lighthouse number 0 stands in Fakeford0, version 0."
    )  # what was given stays
    assert whole[0].made == {"given": 3, "substituted": 33}


@pytest.mark.long
def test_substitution_is_the_same_for_a_seed_and_another_for_another(tmp_path: Path) -> None:
    rows = read_material(f"conflictnq:{write_rows(tmp_path / 'v.jsonl', conflictnq_rows())}")
    assert substitute(rows, seed=1) == substitute(rows, seed=1) != substitute(rows, seed=2)


def test_wrong_answers_are_of_the_type_of_the_right_one() -> None:
    dates = [
        Material(
            id=f"q{n}",
            question=f"When did ship {n} sail?",
            gold=(f"May {1900 + n}",),
            factual=(f"Ship {n} sailed in May {1900 + n}.",),
        )
        for n in range(3)
    ]
    for one in substitute(dates):
        assert {kind_of(one.question, lie.answer) for lie in one.lies} == {"date"}


def test_a_question_with_too_few_rivals_is_left_out() -> None:
    alone = Material(id="q", question="Who sang?", gold=("Ada Fen",), factual=("Then Ada Fen sang.",))
    assert substitute([alone]) == []


def test_every_window_bears_the_answer_and_is_short() -> None:
    text = "It rained. " + "Ada Fen built the mill. " + "Then it rained again for many days. " * 30
    cuts = windows([text], ["Ada Fen"])
    assert len(cuts) == len(set(cuts)) >= 4
    assert all(bears_any(cut, ["Ada Fen"]) and len(cut.split()) <= 70 for cut in cuts)


def test_all_mentions_are_replaced_whatever_their_spacing_and_case() -> None:
    assert (
        replace_answer("NEW  YORK; in New-York, not Newer York", "New York", "Lund")
        == "Lund; in Lund, not Newer York"
    )
    assert replace_answer("It cost $5.", "???", "x") == "It cost $5."


def test_faults_name_a_lie_that_is_true_and_a_truth_that_is_not() -> None:
    good = material()
    assert good.faults() == []
    bad = Material(
        id="q",
        question="Where?",
        gold=("Lund",),
        factual=("It was in Oslo.",),
        lies=(Lie(answer="Oslo", texts=("It was in Lund.",)), Lie(answer="Lund", texts=("In Lund.",))),
    )
    assert bad.faults() == [
        "factual text 0: bears no right answer",
        "'Oslo', text 0: does not bear it",
        "'Oslo', text 0: bears a right answer",
        "'Lund': is a right answer",
        "'Lund', text 0: bears a right answer",
    ]
