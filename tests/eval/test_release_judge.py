"""The release's rubric: reasoning and a number, the first 300 words, and no correctness without support."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from disputatio.eval.judge import Case, Grade
from disputatio.eval.release_judge import (
    ABSTAINED,
    CORRECTNESS,
    FAITHFULNESS,
    grade,
    release_judge_with,
    signature,
)
from disputatio.eval.reporting.report import report
from disputatio.eval.reporting.tables import markdown
from disputatio.kit import Kit
from disputatio.llm.scripted import Scripted
from disputatio.types import Answer, Claim, Completion, Passage, Usage
from tests.eval.fakes import HALF, MANIFEST, ask, examples, run

CASE = Case(
    question="When did the bridge open?",
    answer="In 1890.",
    reference="1890",
    passages=("It opened in 1890.",),
)


REASONING = "Step by step, the answer has the date."


def verdict(score: object) -> str:
    return json.dumps({"score": score})


def model(correct: object, faithful: object) -> Scripted:
    """Reasons when it is asked first, and gives the number when it has reasoned."""

    def say(text: str) -> str:
        if REASONING not in text:
            return REASONING
        return verdict(correct if text.startswith(CORRECTNESS) else faithful)

    return Scripted(say)


def judged(case: Case, correct: object, faithful: object) -> dict[str, Grade]:
    return grade(case, Kit(model=model(correct, faithful)))


def test_grades_are_numbers_on_a_continuous_scale_after_reasoning() -> None:
    found = judged(CASE, 1.5, 0.25)
    assert {name: grade.grade for name, grade in found.items()} == {"correctness": 1.5, "faithfulness": 0.25}


def test_the_number_is_asked_for_after_the_reasoning_on_its_own_scale() -> None:
    scripted = model(1, 0)
    grade(CASE, Kit(model=scripted))
    first, second = [call for call in scripted.calls if call.prompt.messages[0].content == FAITHFULNESS]
    assert first.sampling is not None
    assert first.sampling.schema is None
    assert [turn.role for turn in second.prompt.messages] == ["system", "user", "assistant", "user"]
    assert second.prompt.messages[:2] == first.prompt.messages
    assert second.prompt.messages[2].content == REASONING
    assert "from -1 to 1" in second.prompt.messages[3].content


def test_reasoning_that_is_cut_off_is_graded_all_the_same() -> None:
    cut = Completion(text=REASONING, finish_reason="length", usage=Usage(calls=1))
    found = grade(CASE, Kit(model=Scripted(lambda text: verdict(1) if REASONING in text else cut)))
    assert found["correctness"].grade == 1


def test_an_answer_that_nothing_supports_is_not_correct() -> None:
    assert judged(CASE, 2, -1)["correctness"].grade == -1
    assert judged(CASE, 2, -0.5)["correctness"].grade == 2


@pytest.mark.parametrize("score", [3, -1.5, math.nan, -math.inf])
def test_what_is_no_number_on_the_scale_is_unscored(score: float) -> None:
    assert judged(CASE, score, 1)["correctness"] == Grade(grade=None, reason="no number on the scale")


@pytest.mark.parametrize("score", ["good", "1", "", None, True])
def test_what_is_no_number_is_an_unusable_verdict(score: object) -> None:
    found = judged(CASE, score, 1)["correctness"]
    assert found.grade is None
    assert found.reason == "unusable verdict: 'score' is not a number"


def test_the_first_three_hundred_words_and_ten_passages_are_judged() -> None:
    scripted = model(1, 1)
    long = replace(
        CASE, answer="word " * 299 + "last beyond", passages=tuple(f"text {n}." for n in range(12))
    )
    grade(long, Kit(model=scripted))
    prompts = [call.prompt.messages[1].content for call in scripted.calls]
    assert all("last" in prompt and "beyond" not in prompt for prompt in prompts)
    assert "text 9." in prompts[0]
    assert "text 10." not in prompts[0]


def test_without_passages_or_reference_that_grade_is_missing() -> None:
    assert judged(replace(CASE, passages=()), 1, 1)["faithfulness"].grade is None
    assert judged(replace(CASE, reference=""), 1, 1)["correctness"].grade is None


def test_an_abstention_is_judged_as_what_it_tells_the_reader() -> None:
    scripted = model(0, 0)
    judge = release_judge_with(Kit(model=scripted))
    passages = (Passage(id="p", text="It opened in 1890."),)
    found = judge(examples(1)[0], Answer(question="q", abstained="no_evidence", passages=passages))
    assert all(ABSTAINED in call.prompt.messages[1].content for call in scripted.calls)
    assert found["faithfulness"].grade == 0


def test_a_manifest_names_the_rubric() -> None:
    assert "the release's rubric" in signature(Kit(model=model(0, 0)))


def abstaining(judge_of: Callable[[Answer], Mapping[str, Grade]], out: Path) -> str:
    manifest = replace(MANIFEST, judge="some judge")
    run(examples(4), [HALF], ask=ask, out=out, manifest=manifest, judge=lambda _, answer: judge_of(answer))
    return markdown(report(out))


def test_the_mean_that_counts_abstentions_stands_beside_the_other(tmp_path: Path) -> None:
    silent = Grade(grade=None, reason="no answer was given, so nothing is stated")
    graded = iter([Grade(grade=1), silent, Grade(grade=1), silent])

    def judge(_: Answer) -> Mapping[str, Grade]:
        return {"correctness": Grade(grade=1), "faithfulness": next(graded)}

    text = abstaining(judge, tmp_path / "out")
    [row] = [line for line in text.splitlines() if "faithful" in line.casefold() and "| 2 |" in line]
    cells = [cell.strip() for cell in row.split("|")]
    assert cells[3] == "2"
    assert cells[4].startswith("1")
    assert cells[5].startswith("0.5")


def test_a_claim_is_what_is_judged() -> None:
    scripted = model(1, 1)
    answer = Answer(question="q", answers=("x",), claims=(Claim(text="It opened in 1890."),))
    release_judge_with(Kit(model=scripted))(examples(1)[0], answer)
    assert "It opened in 1890." in scripted.calls[0].prompt.messages[-1].content
