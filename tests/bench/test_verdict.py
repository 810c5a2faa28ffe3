"""The bench of the verdict: weights of other corpora, scores that no fault makes, the constants in use."""

from __future__ import annotations

import doctest
import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bench.lib.asking import Asked
from bench.verdict import corpora, figures, readers, weights
from bench.verdict.invented import invented
from disputatio.errors import InputError
from disputatio.kit import Kit
from disputatio.llm.scripted import Scripted
from disputatio.trace import Trace
from disputatio.types import Answer, Example, Passage

RESULTS = Path(__file__).resolve().parents[2] / "bench" / "results" / "verdict"
ROW = Example(
    id="x",
    row=2,
    question="When was the bridge opened?",
    gold=("1931",),
    wrong=("1934",),
    passages=tuple(Passage(text=f"Text {n}") for n in range(6)),
    metadata={"types": tuple("abcdef")},
)


def answered(*answers: str) -> Asked:
    answer = Answer(question="?", answers=answers, abstained=None if answers else "no_evidence")
    return Asked(answer=answer, trace=Trace())


# --- the fit --------------------------------------------------------------------------------------
@pytest.mark.long
def test_a_corpus_is_told_by_weights_that_saw_no_setting_of_it() -> None:
    random = np.random.default_rng(1)

    def rows(sign: float) -> list[weights.Sides]:
        some = []
        for _ in range(30):
            features = random.normal(size=(3, len(weights.NAMES) + 1))
            answers = sign * features[:, 0] > 0
            features[:, -1] = (
                answers  # *support* tells in all corpora what the others' first feature does not
            )
            some.append(weights.Sides(features=features, answers=answers, in_use=features[:, 1]))
        return some

    out = weights.told_by_others("a-1f", {"a-1f": rows(-1), "a-3f": rows(-1), "b": rows(1)})
    assert out["features"][weights.NAMES[0]]["weight"] > 0  # as b has it, and no setting of a
    assert out["fitted"]["ROC AUC"]["mean"] < 0.2
    assert out["with support"]["ROC AUC"]["mean"] > 0.8
    assert 0.3 < out["in use"]["ROC AUC"]["mean"] < 0.7
    assert out["rows"] == 30 and out["sides"] == 90


def test_rows_where_nobody_answers_are_no_material() -> None:
    none = weights.Sides(features=np.empty((0, 9)), answers=np.empty(0, dtype=bool), in_use=np.empty(0))
    with pytest.raises(InputError, match="answers anything"):
        weights.fitted([none])


def test_what_a_planted_passage_was_made_to_say_answers_and_in_ramdocs_it_does_not() -> None:
    model = Scripted(lambda _: '{"subject": "", "answer": "1934"}')
    lie = Example(
        id="x",
        row=1,
        question=ROW.question,
        gold=("1931",),
        wrong=("1934",),
        passages=(Passage(id="p", text="The bridge was opened in 1934."),),
    )
    planted = corpora.Corpus(name="conflictnq-1r1f", expect="one", examples=(lie,))
    several = corpora.Corpus(name="ramdocs", expect="several", examples=(lie,))
    for corpus, said in ((planted, True), (several, False)):
        row = weights.sides(lie, corpus, Kit(model=model), "llm")
        assert row is not None and row.answers.tolist() == [said]
        assert np.isnan(row.features[:, -1]).all()  # the language model has no head for support


def test_support_is_asked_of_each_answer_that_the_trained_reader_gives() -> None:
    def judge(prompt: str) -> dict[str, float]:
        assert "Answer: 1934" in prompt
        return {"yes": 0.9, "no": 0.1}

    asked = replace(ROW, passages=(Passage(id="p", text="The bridge was opened in 1934."),))
    trained = Scripted(lambda _: "1934", choices=judge)
    kit = Kit(model=Scripted([]), trained=trained)
    row = weights.sides(asked, corpora.Corpus(name="nq", expect="one", examples=(ROW,)), kit, "trained")
    assert row is not None
    assert row.features[:, -1].tolist() == [pytest.approx(math.log(9))]


# --- rows -----------------------------------------------------------------------------------------
def test_passages_are_shuffled_by_their_row_and_what_is_known_of_them_goes_along() -> None:
    mixed = corpora.shuffled(ROW)
    assert mixed == corpora.shuffled(ROW) != ROW
    kinds = dict(zip((each.text for each in ROW.passages), ROW.metadata["types"], strict=True))
    assert [kinds[passage.text] for passage in mixed.passages] == list(mixed.metadata["types"])


def test_what_is_reported_is_never_fitted_on() -> None:
    rows = tuple(Example(id=str(row), row=row, question="?", gold=("1",)) for row in range(40))
    for name in ("ramdocs", "nq"):
        corpus = corpora.Corpus(name=name, expect="one", examples=rows)
        fit, report = ({one.row for one in some} for some in (corpus.to_fit(), corpus.to_report()))
        assert fit and report and not fit & report


def test_all_questions_of_nq_that_a_passage_answers_are_asked_in_their_order(tmp_path: Path) -> None:
    (tmp_path / "nq_with_passages").mkdir()
    lines = [
        {
            "id": f"q{row}",
            "question": f"Question {row}?",
            "golden_answers": ["1931"],
            "passages": [{"title": "", "text": "Opened in 1931." if row % 3 else "Still closed."}],
        }
        for row in range(303)
    ]
    file = tmp_path / "nq_with_passages" / "nq.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    assert [one.row for one in corpora.nq(tmp_path).examples] == [row for row in range(303) if row % 3]


def test_the_passages_that_answer_are_taken_from_questions_that_shall_have_no_answer(tmp_path: Path) -> None:
    (tmp_path / "nq_with_passages").mkdir()
    texts = (["It opened in 1921.", "It is red."], ["It opened in 1921."], ["It is blue.", "Nobody knows."])
    rows = [
        {
            "id": name,
            "question": f"When did {name} open?",
            "golden_answers": ["1921"],
            "passages": [{"title": "", "text": text} for text in some],
        }
        for name, some in zip("abc", texts, strict=True)
    ]
    (tmp_path / "nq_with_passages" / "nq.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    [only] = corpora.nq_unanswerable(tmp_path).examples
    assert (only.row, [each.text for each in only.passages]) == (0, ["It is red."])


def test_the_table_tells_how_much_of_what_is_answered_is_right() -> None:
    def row(arm: str, number: int, answers: list[str], right: float) -> dict[str, object]:
        costs = {"tokens": 100, "calls": 1, "core_seconds": None, "fault": "", "answered": bool(answers)}
        return {"corpus": "nq", "arm": arm, "row": number, "answers": answers, "right": right, **costs}

    rows = [row("trained", 0, [], 0.0), row("trained", 1, ["1921"], 1.0)]
    rows += [row("concat", 0, ["1921", "1948"], 1.0), row("concat", 1, ["1948", "1921", "1950"], 0.0)]
    head, _, trained, concat, *_ = "\n".join(readers.shown(rows)).split("\n\n")[1].split("\n")
    columns = [each.strip() for each in head.split("|")]
    for line, of_answered, given in ((trained, "1.000", "1.00"), (concat, "0.500", "2.50")):
        cells = dict(zip(columns, (each.strip() for each in line.split("|")), strict=True))
        assert cells["right, of answered"].startswith(of_answered)
        assert cells["answers given"].startswith(given)


# --- scores ---------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("answers", "right", "attacked", "em"),
    [
        (["1931"], 1.0, 0.0, 1.0),
        (["1934"], 0.0, 1.0, 0.0),
        (["1931", "1934"], 0.0, 1.0, 0.0),
        ([], 0.0, 0.0, 0.0),
    ],
)
def test_a_hedge_that_states_the_lie_is_attacked(
    answers: list[str], right: float, attacked: float, em: float
) -> None:
    score = figures.outcome(ROW, answered(*answers))
    assert (score.right, score.attacked, score.em) == (right, attacked, em)
    assert score.answered == bool(answers)


def test_a_fault_has_no_score() -> None:
    score = figures.outcome(ROW, Asked(answer=None, trace=Trace(), fault="ServerFault: down"))
    assert (score.right, score.attacked, score.em, score.open) == (None, None, None, None)
    assert score.fault


def test_the_examples_in_the_docstrings_hold() -> None:
    done = doctest.testmod(weights)
    assert (done.failed, done.attempted > 0) == (0, True)


def test_invented_questions_have_two_accounts_of_the_right_answer_and_one_of_another() -> None:
    rows = invented(24)
    assert rows == invented(24) != invented(24, seed=1)
    assert len({row.question for row in rows}) > 20
    for row in rows:
        (right,), (wrong,) = row.gold, row.wrong
        assert right != wrong
        assert sorted((right in passage.text) - (wrong in passage.text) for passage in row.passages) == [
            -1,
            1,
            1,
        ]
        assert len({passage.text for passage in row.passages}) == 3
