"""Exams and tasks with options: MedQA, MedMCQA, PubMedQA as published, MMLU, LegalBench, LIAR."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from disputatio.errors import InputError, UnknownName
from disputatio.eval.data.datasets import check, identify, load
from disputatio.eval.metrics import score_answer
from disputatio.strategies.ac_rag import read_menu
from tests.eval.data.formats.published import LIAR, MEDMCQA, MEDQA, MMLU, PQAL
from tests.eval.data.formats.rows import file_of


def test_a_licensing_question_is_scored_by_letter_and_by_words(tmp_path: Path) -> None:
    (example,) = load(f"medqa:{file_of(tmp_path, [MEDQA])}")
    assert example.question.endswith("\nA. Ulna\nB. Femur\nC. Skull\nD. Rib")
    for said in ("B", "(B)", "Femur", "the femur"):
        assert score_answer([said], example, ("choice",)) == {"accuracy": 1.0}
    assert score_answer(["Rib"], example, ("choice",)) == {"accuracy": 0.0}
    with pytest.raises(InputError, match="answer_idx 'C' is not the option that answer says"):
        load(f"medqa:{file_of(tmp_path, [{**MEDQA, 'answer_idx': 'C'}])}")


@pytest.mark.parametrize(("numbers", "letter"), [((2, 4), "B"), ((1, 0), "B")])
def test_options_are_counted_from_one_or_from_zero_as_their_file_does(
    tmp_path: Path, numbers: tuple[int, int], letter: str
) -> None:
    path = file_of(tmp_path, [{**MEDMCQA, "id": str(n), "cop": n} for n in numbers])
    first, _ = load(f"medmcqa:{path}")
    assert first.gold == (f"{letter}. Femur",)


def test_a_file_that_does_not_tell_how_it_counts_is_refused_and_untold_answers_are_unscored(
    tmp_path: Path,
) -> None:
    with pytest.raises(InputError, match="no row of the file tells whether cop counts from 0 or from 1"):
        load(f"medmcqa:{file_of(tmp_path, [MEDMCQA])}")
    rows = [{**MEDMCQA, "id": "a", "cop": -1}, {**MEDMCQA, "id": "b", "cop": 0}, {**MEDMCQA, "cop": 3}]
    examples = load(f"medmcqa:{file_of(tmp_path, rows)}")
    assert [example.gold for example in examples] == [(), ("A. Ulna",), ("D. Rib",)]
    assert "1 of 3 rows have no gold answer (rows 0)" in check(examples)[0]


def test_abstracts_are_read_under_their_ids_as_published(tmp_path: Path) -> None:
    (example,) = load(f"pubmedqa:{file_of(tmp_path, PQAL)}")
    assert example.metadata["id"] == "101"
    assert example.passages[0].text == "BACKGROUND: Salt is spread.\nRESULTS: 30 of 40 rusted."
    assert example.gold == ("yes",)
    copy = {
        "pubid": 101,
        "question": "Does salt harm bridges?",
        "context": {"contexts": ["Salt is spread."], "labels": ["BACKGROUND"]},
        "final_decision": "maybe",
    }
    (from_copy,) = load(f"pubmedqa:{file_of(tmp_path, [copy])}")
    assert (from_copy.gold, from_copy.passages[0].text) == (("maybe",), "BACKGROUND: Salt is spread.")


def test_a_subject_is_read_from_a_table_without_a_head_and_a_folder_of_them_has_parts(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "test"
    folder.mkdir()
    row = '"Which bone, of all, is longest?",Ulna,Femur,Skull,Rib,B\n'
    (folder / "anatomy_test.csv").write_text(row, encoding="utf-8")
    (folder / "virology_test.csv").write_text(row + row.replace("B\n", "D\n"), encoding="utf-8")
    (example,) = load(f"mmlu:{folder / 'anatomy_test.csv'}")
    assert example.question.startswith("Which bone, of all, is longest? (one option is right)\nA. Ulna")
    assert example.gold == ("B. Femur",)
    every = load(f"mmlu:{tmp_path}")
    assert [(e.row, e.metadata["part"]) for e in every] == [(0, "anatomy"), (1, "virology"), (2, "virology")]
    assert [e.row for e in load(f"mmlu:{tmp_path}#virology")] == [1, 2]
    assert identify(f"mmlu:{tmp_path}").name == f"mmlu:{tmp_path.name}"
    before = identify(f"mmlu:{tmp_path}").sha256
    (folder / "virology_test.csv").write_text(row, encoding="utf-8")
    assert identify(f"mmlu:{tmp_path}").sha256 != before
    with pytest.raises(UnknownName, match="did you mean 'virology'"):
        load(f"mmlu:{tmp_path}#virolog")


def test_a_subject_is_read_from_lines_with_the_answer_as_a_number_or_a_letter(tmp_path: Path) -> None:
    first, same = load(f"mmlu:{file_of(tmp_path, [MMLU, {**MMLU, 'answer': 'B'}])}")
    assert first.gold == same.gold == ("B. Femur",)
    assert first.metadata["part"] == "anatomy"
    for answer in (4, -1, "E", "", None, True):
        with pytest.raises(InputError, match="is none of its 4 options"):
            load(f"mmlu:{file_of(tmp_path, [{**MMLU, 'answer': answer}])}")


def _task(folder: Path, *, prompt: str = "") -> Path:
    folder.mkdir()
    (folder / "train.tsv").write_text("index\tanswer\ttext\n0\tgeneric\ta\n", encoding="utf-8")
    rows = (
        'index\tanswer\ttext\n0\tgeneric\t"The mark ""Ivory""\nfor tusks."\n1\tfanciful\tThe mark Aswelly.\n'
    )
    (folder / "test.tsv").write_text(rows, encoding="utf-8")
    if prompt:
        (folder / "base_prompt.txt").write_text(prompt, encoding="utf-8")
    return folder


def test_a_task_of_law_is_asked_as_its_prompt_asks_and_its_answers_are_the_options(tmp_path: Path) -> None:
    first, second = load(f"legalbench:{_task(tmp_path / 'marks', prompt='What kind is it? {{text}}')}")
    assert first.question.startswith(
        'What kind is it? The mark "Ivory"\nfor tusks. (one option is right)\nA. fanciful\nB. generic'
    )
    assert (first.gold, second.gold) == (("B. generic",), ("A. fanciful",))
    assert score_answer(["generic"], first, ("accuracy",)) == {"accuracy": 1.0}
    assert score_answer(["A"], first, ("accuracy",)) == {"accuracy": 0.0}
    assert [e.metadata["id"] for e in load(f"legalbench:{tmp_path / 'marks'}#train")] == ["train 0"]
    (bare, _) = load(f"legalbench:{_task(tmp_path / 'two_marks')}")
    assert bare.question.startswith('two marks:\nThe mark "Ivory"')


def test_a_question_of_law_has_its_contract_as_a_passage(tmp_path: Path) -> None:
    path = tmp_path / "test.tsv"
    path.write_text(
        "index\tcontract\tquestion\tanswer\n0\tNo pets.\tMay I keep a dog?\tNo\n1\tPets.\tMay I?\tYes\n",
        encoding="utf-8",
    )
    first, _ = load(f"legalbench:{path}")
    assert first.question == "May I keep a dog? (no/yes)"
    assert [p.text for p in first.passages] == ["No pets."]
    assert first.gold == ("no",)


def test_a_claim_is_asked_for_its_truth_and_quotes_in_a_table_without_them_are_text(tmp_path: Path) -> None:
    path = tmp_path / "train.tsv"
    path.write_text(LIAR + "\n" + LIAR.replace("mostly-true", "barely-true"), encoding="utf-8")
    true, false = load(f"liar:{path}")
    assert true.question == 'Is it true that Says "bridges" rust? (yes/no)'
    assert (true.gold, false.gold) == (("yes",), ("no",))
    assert true.metadata["speaker"] == "ada-fen"
    assert read_menu(true.question) is not None
    path.write_text(LIAR.replace("mostly-true", "so-so"), encoding="utf-8")
    with pytest.raises(InputError, match=r"train\.tsv:1: label 'so-so' is none of true, mostly-true"):
        load(f"liar:{path}")


def _law(folder: Path, **task: str) -> str:
    task = {"task": "marks", "reasoning": "Rule-application/Rule-conclusion", "type": "Binary", **task}
    (folder / "tasks.jsonl").write_text(json.dumps(task) + "\n", encoding="utf-8")
    rows = [
        {"task": "marks", "fields": {"text": f"The mark {mark}.", "slice": "s"}, "answer": answer}
        for mark, answer in (("Ivory", "No"), ("Aswelly", "Yes"))
    ]
    (folder / "train_rows.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return f"legalbench_examples:{folder}"


def test_example_rows_of_law_are_asked_with_their_task_and_belong_to_a_kind(tmp_path: Path) -> None:
    first, second = load(_law(tmp_path, instruction="A mark is fanciful if invented.", description="Is it?"))
    assert first.question == "A mark is fanciful if invented. Is it? The mark Ivory. (no/yes)"
    assert (first.gold, second.gold) == (("no",), ("yes",))
    assert first.metadata["strata"] == {"reasoning": "conclusion"}
    assert len(load(f"legalbench_examples:{tmp_path}#conclusion")) == 2
    lettered = "Question: How invented?\nOption A: fully\nOption B: not at all"
    path = tmp_path / "train_rows.jsonl"
    path.write_text(json.dumps({"task": "marks", "fields": {"text": "Aswelly."}, "answer": "A"}))
    (tmp_path / "tasks.jsonl").write_text(json.dumps({"task": "marks", "instruction": lettered}) + "\n")
    (only,) = load(f"legalbench_examples:{path}")
    assert only.question == "Question: How invented?\nAswelly. (one option is right)\nA. fully\nB. not at all"
    assert only.gold == ("A. fully",)


def test_an_extraction_of_law_has_no_options_and_a_broken_task_is_named(tmp_path: Path) -> None:
    first, _ = load(_law(tmp_path, type="Extraction", description="Name it."))
    assert "options" not in first.metadata and first.question == "Name it.\nThe mark Ivory."
    (tmp_path / "tasks.jsonl").write_text("{\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"tasks\.jsonl:1: not JSON"):
        load(f"legalbench_examples:{tmp_path}")
