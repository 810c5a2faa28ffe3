"""Many questions: in order, at the same time, and no error is lost or loses another question."""

from __future__ import annotations

import json
import sqlite3
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import disputatio as d
from disputatio.llm.call_cache import CallCache
from disputatio.llm.scripted import Scripted

PASSAGES = [
    d.Passage(text=f"The number of the {noun} is {n}.", source=f"s{n}") for n, noun in enumerate("abcdef")
]


def first(question: str, kit: d.Kit) -> d.Answer:
    """Return a strategy that asks the model once."""
    passages = kit.passages(question, k=1)
    [completion] = kit.complete("reader", [d.Prompt(messages=(d.Message(role="user", content=question),))])
    return d.Answer(question=question, answers=(completion.text,), passages=tuple(passages))


def asked(questions: Any, model: Any, **how: Any) -> list[d.AskResult]:
    how = {"passages": PASSAGES, "strategy": first, "verify": False, "model": model} | how
    return list(d.ask_many(questions, **how))


def test_results_come_in_the_order_of_the_questions() -> None:
    last = threading.Event()

    def late(prompt: str) -> str:
        if prompt == "q0":
            assert last.wait(30)
        if prompt == "q3":
            last.set()
        return prompt.upper()

    results = asked([f"q{n}" for n in range(4)], d.FunctionModel(late), in_flight=4)
    assert [result.question for result in results] == ["q0", "q1", "q2", "q3"]
    assert [result.get().answers for result in results] == [("Q0",), ("Q1",), ("Q2",), ("Q3",)]


def test_an_error_is_the_result_of_its_question() -> None:
    def broken(prompt: str) -> str:
        if "bug" in prompt:
            raise ZeroDivisionError("one by nought")
        return "" if "empty" in prompt else prompt

    results = asked(["a", "bug", " ", "empty", "b"], d.FunctionModel(broken))
    assert [result.answer is not None for result in results] == [True, False, False, False, True]
    assert [type(result.error).__name__ for result in results[1:4]] == [
        "ZeroDivisionError",
        "InputError",
        "Malformed",
    ]
    with pytest.raises(ZeroDivisionError):
        results[1].get()
    fields = json.loads(results[3].to_json())
    assert fields["error"] == {"kind": "Malformed", "message": "function returned an empty reply"}
    assert fields["answer"] is None


def test_progress_is_told_as_questions_finish() -> None:
    done: list[tuple[int, int | None, bool]] = []
    results = asked(
        ["a", " ", "b"],
        Scripted(str.upper),
        progress=lambda count, total, result: done.append((count, total, result.error is None)),
    )
    assert [(count, total) for count, total, _ in done] == [(1, 3), (2, 3), (3, 3)]
    assert sorted(good for *_, good in done) == [False, True, True]
    counts: list[int | None] = []
    asked((question for question in "ab"), Scripted(str), progress=lambda _, total, __: counts.append(total))
    assert counts == [None, None]
    assert len(results) == 3


def test_no_more_questions_are_in_flight_than_were_asked_for() -> None:
    lock, now, most = threading.Lock(), 0, 0

    def counts(prompt: str) -> str:
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        threading.Event().wait(0.01)
        with lock:
            now -= 1
        return prompt

    asked([f"q{n}" for n in range(12)], d.FunctionModel(counts), in_flight=3)
    assert most <= 3


def test_questions_are_taken_as_they_are_needed() -> None:
    taken: list[int] = []

    def endless() -> Any:
        for number in range(10_000):
            taken.append(number)
            yield f"q{number}"

    results = d.ask_many(
        endless(), in_flight=2, passages=PASSAGES, strategy=first, verify=False, model=Scripted(str)
    )
    assert next(results).question == "q0"
    assert len(taken) < 20
    results.close()


def test_a_cancel_ends_what_is_left_and_every_question_has_a_result() -> None:
    cancel = d.Cancel()

    def stops(prompt: str) -> str:
        if prompt == "q2":
            cancel.cancel()
        return prompt

    results = asked([f"q{n}" for n in range(30)], d.FunctionModel(stops), in_flight=1, cancel=cancel)
    assert len(results) == 30
    assert [result.error is None for result in results[:2]] == [True, True]
    assert {type(result.error) for result in results[3:]} == {d.Cancelled}


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"in_flight": 0}, "in_flight is at least 1"),
        ({"trace": d.Trace()}, "takes no trace"),
        ({"strategy": "concatt"}, "did you mean 'concat'"),
        ({"rounds": 3}, "unknown option 'rounds'"),
        ({"workers": 2}, "workers, at least 1, are those of a cluster"),
        ({"ray": "local", "passages": None, "index": object()}, "workers open an index by its folder"),
    ],
)
def test_what_is_wrong_is_raised_before_anything_is_asked(how: dict[str, Any], message: str) -> None:
    model = Scripted(str)
    arguments: dict[str, Any] = {"passages": PASSAGES, "strategy": first, "model": model} | how
    with pytest.raises(d.DisputatioError, match=message):
        d.ask_many(["a"], **arguments)
    with pytest.raises(d.InputError, match="questions is a list of texts, not one"):
        d.ask_many("a", passages=PASSAGES)
    assert model.calls == []


def test_results_can_come_as_they_are_there() -> None:
    last = threading.Event()

    def late(prompt: str) -> str:
        if prompt == "q0":
            assert last.wait(30)
        return prompt

    results = d.ask_many(
        [f"q{n}" for n in range(3)],
        in_flight=3,
        ordered=False,
        passages=PASSAGES,
        strategy=first,
        verify=False,
        model=d.FunctionModel(late),
    )
    assert {next(results).question, next(results).question} == {"q1", "q2"}
    last.set()
    assert next(results).question == "q0"


@pytest.mark.long
def test_what_is_kept_is_not_asked_again(tmp_path: Path) -> None:
    file, asked_of = tmp_path / "answers.sqlite", []

    def once(prompt: str) -> str:
        asked_of.append(prompt)
        if prompt == "bug" and len(asked_of) < 4:
            raise ZeroDivisionError("one by nought")
        return prompt.upper()

    model = d.FunctionModel(once)
    before = asked(["a", "bug", "b"], model, keep=file, in_flight=1)
    after = asked(["b", "bug", "a", "c"], model, keep=file, in_flight=1)
    assert [result.error is None for result in before] == [True, False, True]
    assert sorted(asked_of) == ["a", "b", "bug", "bug", "c"]
    assert after[0].get() == before[2].get()
    assert [result.get().answers for result in after] == [("B",), ("BUG",), ("A",), ("C",)]
    with pytest.raises(d.InputError, match="another checks; keep these in another file"):
        asked(["a"], model, keep=file, verify=True)
    with pytest.raises(d.InputError, match="another index or passages"):
        asked(["a"], model, keep=file, passages=PASSAGES[:2])
    (tmp_path / "text").write_text("no database " * 100)
    with pytest.raises(d.DisputatioError, match="text: is not a database"):
        asked(["a"], model, keep=tmp_path / "text")


def test_a_budget_is_one_for_all_questions_and_what_is_not_asked_says_so() -> None:
    model = Scripted(str.upper)
    results = asked([f"q{n}" for n in range(9)], model, budget=d.Budget(calls=4), in_flight=3)
    assert len(model.calls) == 4
    answered = [result for result in results if result.answer is not None]
    left = [result for result in results if result.answer is None]
    assert [len(answered), len(left)] == [4, 5]
    assert {type(result.error) for result in left} == {d.NotAsked}
    assert left[-1].to_dict()["error"] == {
        "kind": "NotAsked",
        "message": "not asked: the budget of 4 calls is spent",
    }
    with pytest.raises(d.NotAsked):
        left[0].get()


def test_a_question_is_given_up_where_its_next_call_may_exceed_the_budget() -> None:
    def asks_twice(question: str, kit: d.Kit) -> d.Answer:
        """Asks the model twice, and hides every error that it can."""
        try:
            for _ in range(2):
                kit.complete("reader", [d.Prompt(messages=(d.Message(role="user", content=question),))])
        except Exception:  # noqa: BLE001 (a strategy that would hide it)
            return d.Answer(question=question, abstained="fault")
        return d.Answer(question=question, answers=("two",))

    how: dict[str, Any] = {"strategy": asks_twice, "in_flight": 1, "budget": d.Budget(calls=3)}
    results = asked(["a", "b", "c"], Scripted(str), **how)
    assert [result.answer is not None for result in results] == [True, False, False]
    assert {type(result.error) for result in results[1:]} == {d.NotAsked}
    tokens = asked(["a", "b"], Scripted(str), budget=d.Budget(tokens=1), in_flight=1)
    assert {str(result.error) for result in tokens} == {
        "not asked to the end: the budget of 1 tokens is spent",
        "not asked: the budget of 1 tokens is spent",
    }


def test_a_budget_holds_over_all_that_is_asked_with_one_file(tmp_path: Path) -> None:
    model, file = Scripted(str.upper), tmp_path / "answers.sqlite"
    questions = [f"q{n}" for n in range(5)]
    how: dict[str, Any] = {"keep": file, "in_flight": 2}
    first = asked(questions, model, budget=d.Budget(calls=2), **how)
    again = asked(questions, model, budget=d.Budget(calls=2), **how)
    assert len(model.calls) == 2
    assert [result.answer for result in again] == [result.answer for result in first]
    larger = asked(questions, model, budget=d.Budget(calls=5), **how)
    assert [result.get().answers for result in larger] == [(question.upper(),) for question in questions]
    assert len(model.calls) == 5


def test_a_file_of_before_there_were_budgets_goes_on(tmp_path: Path) -> None:
    model, file = Scripted(str.upper), tmp_path / "answers.sqlite"
    asked(["a"], model, keep=file)
    with closing(sqlite3.connect(file)) as database, database:
        database.execute("DROP TABLE spending")
    results = asked(["a", "b", "c"], model, keep=file, budget=d.Budget(calls=1), in_flight=1)
    assert [result.answer is not None for result in results] == [True, True, False]
    assert len(model.calls) == 2


@pytest.mark.slow
def test_workers_answer_as_this_process_does(ray_cluster: str, tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text(json.dumps({"": "seen"}))
    how: dict[str, Any] = {"model": f"scripted:{script}", "passages": PASSAGES, "strategy": first}
    settings = {"journal": str(tmp_path / "calls.sqlite")}
    questions = [f"q{n}" for n in range(6)] + [" "]
    here = list(d.ask_many(questions, **how))
    there = list(
        d.ask_many(questions, ray=ray_cluster, workers=1, keep=tmp_path / "kept", settings=settings, **how)
    )
    assert [one.question for one in there] == questions
    assert [one.answer and one.answer.answers for one in there] == [
        one.answer and one.answer.answers for one in here
    ]
    assert str(there[-1].error) == str(here[-1].error)
    assert type(there[-1].error) is d.InputError
    with CallCache(tmp_path / "calls.sqlite") as calls:
        assert calls.count() == 6
    bound = list(d.ask_many(questions[:6], ray=ray_cluster, workers=2, budget=d.Budget(calls=3), **how))
    assert sum(one.answer is not None for one in bound) == 3
    assert {type(one.error) for one in bound if one.answer is None} == {d.NotAsked}
