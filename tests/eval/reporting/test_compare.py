"""Two runs are compared question by question: what is counted, what is shown, who is meant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from disputatio.causes import Cause
from disputatio.errors import InputError
from disputatio.eval.reporting.compare import choose_runs, compare, comparison_page, event_line, outcome
from disputatio.eval.running.run_log import Entrant
from disputatio.trace import Trace
from disputatio.types import Answer, Conflict, Passage, Position, Reply
from tests.eval.fakes import HALF, MANIFEST, RIGHT, ask, examples, run
from tests.eval.reporting.test_page import HOSTILE, read

OTHER = Entrant(label="other", strategy="other")


def arguing(question: str, passages: Sequence[Passage], strategy: str, options: Mapping[str, Any],
            trace: Trace) -> Answer:  # fmt: skip
    """As `ask`, with positions and replies; `other` is wrong on all but in other words on odd questions."""
    plain = ask(question, passages, "half", options, trace)
    number = int(question.rsplit(maxsplit=1)[-1])
    if strategy == "other":
        plain = replace(plain, answers=(f"nonsense {HOSTILE}" if number % 2 else f"wrong {number}",))
    position = Position(answer=HOSTILE, verdict="rejected", cause=Cause(kind="kept", remark="told by nobody"))
    reply = Reply(passages=("p1",), answer="[1]", quote=HOSTILE)
    return replace(plain, conflict=Conflict(kind="opinion", positions=(position,)), replies=(reply,))


def test_only_questions_that_differ_are_shown_better_ones_first(tmp_path: Path) -> None:
    run(examples(6), [RIGHT, HALF], ask=ask, out=tmp_path, manifest=MANIFEST)
    comparison = compare(*choose_runs([tmp_path], "right,half"))
    assert (comparison["shared"], comparison["differ"], comparison["metric"]) == (6, 3, "em")
    assert comparison["kinds"] == {"one_better": 3, "other_better": 0, "level": 0, "unscored": 0}
    assert [one["row"] for one in comparison["questions"]] == [1, 3, 5]
    first = comparison["questions"][0]
    assert (first["question"], first["gold"], first["wrong"]) == ("question 1", ["gold 1"], ["wrong 1"])
    assert (first["one"]["answers"], first["other"]["answers"]) == (["gold 1"], ["wrong 1"])
    assert (first["one"]["scores"]["em"], first["other"]["scores"]["em"]) == (1.0, 0.0)
    assert comparison["difference"]["mcnemar"] == {"one_only": 3, "other_only": 0, "p": 0.25}
    assert first["one"]["trace"][0]["event"] == "strategy"


def test_two_folders_are_compared_by_the_strategy_that_they_share(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    run(examples(4), [HALF], ask=ask, out=one, manifest=MANIFEST)
    changed = replace(MANIFEST, model="scripted:new")
    run(examples(6), [HALF, OTHER], ask=arguing, out=other, manifest=changed)
    comparison = compare(*choose_runs([one, other], None))
    assert (comparison["shared"], comparison["differ"]) == (4, 0)
    assert comparison["unlike"] == ["model: scripted:toy against scripted:new"]
    assert outcome(comparison)[0].startswith(
        f"They differ on 0 of 4 questions that both were asked: half ({one})"
    )
    mixed = compare(*choose_runs([one, other], "half,other"))
    assert mixed["kinds"] == {"one_better": 2, "other_better": 0, "level": 2, "unscored": 0}


def test_a_failure_is_shown_as_one_and_is_no_wrong_answer(tmp_path: Path) -> None:
    run(
        examples(2), [RIGHT, Entrant(label="down", strategy="down")], ask=ask, out=tmp_path, manifest=MANIFEST
    )
    comparison = compare(*choose_runs([tmp_path], None))
    assert comparison["kinds"]["unscored"] == 2
    assert comparison["difference"]["mean"] is None
    assert comparison["questions"][0]["other"]["fault"].startswith("ServerFault")
    text = comparison_page(comparison)
    read(text)
    assert "failed: ServerFault: the endpoint failed" in text


def test_the_page_shows_both_sides_and_makes_no_markup_of_text(tmp_path: Path) -> None:
    run(examples(4), [HALF, OTHER], ask=arguing, out=tmp_path, manifest=MANIFEST)
    text = comparison_page(compare(*choose_runs([tmp_path], None)))
    reader = read(text)
    assert "script" not in reader.elements
    assert (reader.loads, reader.handlers) == ([], [])
    assert reader.elements.count("details") == 16  # replies and trace of both, four times
    told = "".join(reader.text)
    assert f"rejected: {HOSTILE}; given by 0 sources (told by nobody)" in told
    assert f"round 1: [1] “{HOSTILE}”" in told
    assert text == comparison_page(compare(*choose_runs([tmp_path], None)))


def test_who_is_meant_must_be_clear(tmp_path: Path) -> None:
    run(examples(1), [RIGHT, HALF, OTHER], ask=ask, out=tmp_path / "a", manifest=MANIFEST)
    run(examples(1), [RIGHT, HALF], ask=ask, out=tmp_path / "b", manifest=MANIFEST)
    for folders, named, message in (
        (["a"], None, "say which two to compare, --strategies X,Y of right, half"),
        (["a"], "right,right", "say which two"),
        (["a"], "right,nobody", "no strategy nobody; it has right, half, other"),
        (["a", "b"], None, "say which strategy of each"),
        (["a", "b"], "right,half,other", "name two"),
        (["a", "b", "a"], "right,half", "takes one run folder"),
        (["c"], "right,half", "no evaluation here"),
    ):
        with pytest.raises(InputError, match=message):
            choose_runs([tmp_path / name for name in folders], named)


def test_runs_without_a_common_question_are_refused(tmp_path: Path) -> None:
    run(examples(1), [RIGHT], ask=ask, out=tmp_path / "a", manifest=MANIFEST)
    moved = [replace(example, id=f"other {example.id}") for example in examples(1)]
    run(moved, [RIGHT], ask=ask, out=tmp_path / "b", manifest=MANIFEST)
    with pytest.raises(InputError, match="no question in common"):
        compare(*choose_runs([tmp_path / "a", tmp_path / "b"], None))


def test_a_step_of_a_trace_is_one_line() -> None:
    assert event_line({"event": "search", "at": 1.5, "k": 3}) == "1.5 s search: k 3"
    assert event_line({}) == "step"
