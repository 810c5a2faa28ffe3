"""Tests of how Inspect sees our data sets, strategies and metrics, without a run of it."""

from __future__ import annotations

import json
import math
from functools import partial
from pathlib import Path
from typing import Any, cast

import anyio
import pytest
from inspect_ai._util.error import PrerequisiteError
from inspect_ai._util.registry import registry_unqualified_name
from inspect_ai.model import ChatMessageUser, ModelName
from inspect_ai.scorer import Score, Target
from inspect_ai.solver import Generate, TaskState

from disputatio.errors import InputError, ReplyError, UnknownName
from disputatio.eval.data.datasets import datasets
from disputatio.inspect_ai import disputatio_scorer, disputatio_task, disputation_solver
from disputatio.inspect_ai.solver import passages_of
from disputatio.inspect_ai.tasks import TASKS
from tests.inspect_ai.conftest import ROWS, reply


def state_of(row: dict[str, Any]) -> TaskState:
    """Return a sample's state before it is answered."""
    return TaskState(
        model=ModelName("none/none"),
        sample_id=1,
        epoch=1,
        input=row["question"],
        messages=[ChatMessageUser(content=row["question"])],
        target=Target(row["gold"]),
        metadata={"wrong": row["wrong"], "passages": row["passages"]},
    )


def answered(row: dict[str, Any], said: str, folder: Path) -> tuple[TaskState, Score | None]:
    """Return the state after our solver and our scripted model, which always says this, and its score."""
    script = folder / "script.json"
    script.write_text(json.dumps({"": said}), encoding="utf-8")
    state = state_of(row)
    solve = disputation_solver("majority_vote", model=f"scripted:{script}")
    anyio.run(partial(solve, state, cast("Generate", None)))
    return state, anyio.run(partial(disputatio_scorer(["em", "precision"]), state, state.target))


def test_a_sample_is_answered_and_scored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INSPECT_EVAL_MODEL", "none/none")
    state, score = answered(ROWS[0], reply("1901"), tmp_path)
    assert state.metadata["disputatio"]["answers"] == ["1901"]
    assert state.messages[-1].text == state.output.completion
    assert "[1]" in state.output.completion
    assert score is not None
    assert score.as_dict()["em"] == 1.0


def test_an_abstention_has_no_precision_and_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INSPECT_EVAL_MODEL", "none/none")
    _, score = answered(ROWS[0], reply("unknown"), tmp_path)
    assert score is not None
    value = score.as_dict()
    assert (value["em"], value["abstained"]) == (0.0, 1.0)
    assert math.isnan(cast("float", value["precision"]))
    assert score.explanation == "abstained: no_evidence"


def test_a_fault_is_raised_and_never_scored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INSPECT_EVAL_MODEL", "none/none")
    with pytest.raises(ReplyError, match="not usable"):
        answered(ROWS[0], "The answer is 1901.", tmp_path)
    state = state_of(ROWS[0])
    state.metadata["disputatio"] = {"answers": [], "abstained": "fault"}
    score = anyio.run(partial(disputatio_scorer(), state, state.target))
    assert score is not None
    assert math.isnan(score.as_float())
    assert score.reason == "no_response"


def test_other_names_of_an_answer_count_where_the_data_set_has_them() -> None:
    found = []
    for names in ([], [[["Ada Lund", "Countess Lund"]]]):
        state = state_of({**ROWS[1], "wrong": []})
        told = {"answers": ["Countess Lund"], "abstained": None}
        state.metadata |= {"disputatio": told, "readings": names}
        score = anyio.run(partial(disputatio_scorer(["em"]), state, state.target))
        assert score is not None
        found.append(score.as_dict()["em"])
    assert found == [0.0, 1.0]


def test_answers_that_only_a_judge_can_grade_go_to_inspects_own_grader(tmp_path: Path) -> None:
    row = {"question": "Why?", "answer": "So.", "context": ["Because."], "document_ids": ["d1"]}
    (tmp_path / "morgana.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    made = TASKS["datamorgana"](str(tmp_path / "morgana.jsonl"), "concat", index=None)
    assert made.scorer is not None
    assert [registry_unqualified_name(one) for one in made.scorer] == ["model_graded_qa"]


def test_what_is_to_be_known_of_the_rows_stands_in_the_tasks_metadata(tmp_path: Path) -> None:
    both = {**ROWS[0], "wrong": ["1901"]}
    (tmp_path / "both.jsonl").write_text(json.dumps(both) + "\n", encoding="utf-8")
    made = disputatio_task(f"jsonl:{tmp_path / 'both.jsonl'}")
    assert made.metadata is not None
    assert "both gold and wrong" in made.metadata["notes"][0]


def test_every_data_set_is_a_task_of_its_name(rows: Path) -> None:
    assert list(TASKS) == [one.name for one in datasets()]
    made = TASKS["jsonl"](str(rows), "concat", seed=3)
    assert made.name == "disputatio/jsonl"
    assert [one.target for one in made.dataset] == [["1901"], ["Ada Lund"]]


def test_rows_are_picked_by_a_file_of_row_numbers(rows: Path, tmp_path: Path) -> None:
    (tmp_path / "rows.txt").write_text("1\n", encoding="utf-8")
    task = disputatio_task(f"jsonl:{rows}", rows=str(tmp_path / "rows.txt"))
    assert [one.target for one in task.dataset] == [["Ada Lund"]]


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"strategy": "majority_wote"}, "did you mean 'majority_vote'"),
        ({"strategy": "madam_rag", "round": 2}, "did you mean 'rounds'"),
        ({"strategy": "madam_rag", "rounds": "many"}, "option rounds"),
        ({"index": "nowhere"}, "nowhere"),
        ({"rows": "nowhere.txt"}, "nowhere.txt"),
    ],
)
def test_what_cannot_be_used_is_told_in_one_line_before_anything_runs(
    rows: Path, options: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(PrerequisiteError) as caught:
        disputatio_task(f"jsonl:{rows}", **options)
    assert complaint in str(caught.value.message)


def test_passages_that_are_none_are_named() -> None:
    with pytest.raises(InputError, match=r"passages\[1\]\.text"):
        passages_of([{"text": "one"}, {"title": "two"}])
    with pytest.raises(UnknownName, match="did you mean 'em'"):
        disputatio_scorer(["eM"])
