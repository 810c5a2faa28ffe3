"""Passages that disagree are read with their kinds apart, and in an order that tells nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from disputatio.errors import InputError
from disputatio.eval.data.datasets import check, load
from disputatio.eval.metrics import score_answer
from tests.eval.data.formats.published import AMBIGDOCS, CONFLICTNQ, CONFLICTQA, CONFLICTS, POISONED, REALTIME
from tests.eval.data.formats.rows import file_of


def test_every_document_of_an_ambiguous_name_bears_a_gold_answer(tmp_path: Path) -> None:
    columns = {key: [one[key] for one in AMBIGDOCS["documents"]] for key in AMBIGDOCS["documents"][0]}
    path = file_of(tmp_path, [AMBIGDOCS, {**AMBIGDOCS, "qid": "8", "documents": columns}])
    first, same = load(f"ambigdocs:{path}")
    assert first.gold == same.gold == ("Lund", "Oslo")
    assert [p.title for p in first.passages] == ["Ada Fen (chemist)", "Ada Fen (diver)"]
    assert first.metadata["answers"] == ("Lund", "Oslo")
    assert first.passages == same.passages


def test_real_and_fabricated_passages_are_mixed_and_told_apart_in_the_metadata_alone(tmp_path: Path) -> None:
    (example,) = load(f"conflictnq:{file_of(tmp_path, [CONFLICTNQ])}")
    assert (example.question, example.gold, example.wrong) == (
        "When was the Vell bridge built?",
        ("1890",),
        ("1931",),
    )
    assert sorted(example.metadata["types"]) == ["correct", "misinfo", "misinfo"]
    for passage, answer in zip(example.passages, example.metadata["answers"], strict=True):
        assert answer in passage.text
    backwards = {**CONFLICTNQ, "fake_passages": CONFLICTNQ["fake_passages"][::-1]}
    (other,) = load(f"conflictnq:{file_of(tmp_path, [backwards])}")
    assert [p.text for p in other.passages] == [p.text for p in example.passages]
    scores = score_answer(["in 1931"], example, ("accuracy", "attack"))
    assert scores == {"accuracy": 0.0, "attack_success": 1.0}


def test_memory_and_its_counter_evidence_answer_a_question_of_truth_with_yes_or_no(tmp_path: Path) -> None:
    free = {**CONFLICTQA, "question": "What is Ada Fen?", "ground_truth": ["engineer", "builder"]}
    truth, named = load(f"conflictqa:{file_of(tmp_path, [CONFLICTQA, free])}")
    assert truth.question.endswith("Tarn bridge? (yes/no)")
    assert (truth.gold, truth.wrong) == (("yes",), ("no",))
    assert sorted(truth.metadata["types"]) == ["counter", "memory", "memory"]  # empty evidence is none
    assert named.question == "What is Ada Fen?"
    assert score_answer(["Yes, by 11 years"], truth, ("accuracy",)) == {"accuracy": 1.0}
    assert score_answer(["no, not yes"], truth, ("accuracy",)) == {"accuracy": 0.0}
    assert score_answer(["a builder"], named, ("accuracy",)) == {"accuracy": 1.0}


def test_search_results_keep_their_domains_and_the_kind_of_conflict_is_a_part(tmp_path: Path) -> None:
    opinion = {
        **CONFLICTS,
        "conflict_type": "Conflicting opinions and research outcomes",
        "correct_answer": "",
    }
    path = file_of(tmp_path, [CONFLICTS, opinion])
    outdated, open_one = load(f"conflicts:{path}")
    assert [(p.source, p.date, p.text) for p in outdated.passages] == [
        ("guild.example", "2025-01-02", "Ola Fen leads the guild."),
        ("doc2", "", "Ada led."),
    ]
    assert (outdated.metadata["conflict"], outdated.gold) == ("outdated", ("Ola Fen",))
    assert [e.row for e in load(f"conflicts:{path}#opinion")] == [1]
    assert open_one.gold == ()
    assert "1 of 2 rows have no gold answer (rows 1)" in " ".join(check([outdated, open_one]))
    with pytest.raises(InputError, match="conflict_type 'War' is none of those"):
        load(f"conflicts:{file_of(tmp_path, [{**CONFLICTS, 'conflict_type': 'War'}])}")


def test_poisoned_passages_come_with_both_answers_under_ids_or_on_lines(tmp_path: Path) -> None:
    lines = load(f"poisonedrag:{file_of(tmp_path, [POISONED])}")
    told = {key: found for key, found in POISONED.items() if key != "id"}
    whole = load(f"poisonedrag:{file_of(tmp_path, {'test1': told}, 'nq')}")
    for (example,) in (lines, whole):
        assert (example.gold, example.wrong) == (("1890",), ("1931",))
        assert [p.text for p in example.passages] == POISONED["adv_texts"]
        assert example.metadata["id"] == "test1"


def test_a_poisoned_question_of_yes_and_no_asks_which_was_said(tmp_path: Path) -> None:
    row = {**POISONED, "correct answer": "no", "incorrect answer": "yes"}
    (example,) = load(f"poisonedrag:{file_of(tmp_path, [row])}")
    for said, right, planted in (("No, not at all", 1.0, 0.0), ("Yes", 0.0, 1.0), ("perhaps", 0.0, 0.0)):
        scores = score_answer([said], example, ("accuracy", "attack"))
        assert scores == {"accuracy": right, "attack_success": planted}


def test_a_news_question_is_read_clean_poisoned_or_as_a_choice(tmp_path: Path) -> None:
    path = file_of(tmp_path, [REALTIME])
    (clean,) = load(f"realtimeqa:{path}")
    assert [p.source for p in clean.passages] == ["rust.example", "doc3"]  # one result had no text
    assert clean.gold == ("15%", "0.15", "fifteen percent")
    (poisoned,) = load(f"realtimeqa:{path}#poisoned")
    assert poisoned.metadata["types"] == ("misinfo", "misinfo", "real", "real")
    assert len({p.source for p in poisoned.passages}) == 4
    (choice,) = load(f"realtimeqa:{path}#choice")
    assert choice.question.endswith("\nA. 10%\nB. 15%\nC. 45%\nD. 50%")
    assert choice.gold == ("B. 15%",)
    with pytest.raises(InputError, match="choices answer '7' is the number of none of its 4"):
        load(f"realtimeqa:{file_of(tmp_path, [{**REALTIME, 'choices answer': '7'}])}#choice")
