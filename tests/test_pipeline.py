"""The walk of one question: a strategy is found, its options are read, its answer is audited and counted."""

from __future__ import annotations

import inspect
from typing import Any, Literal

import pytest

from disputatio.agents.reader import parse_reply
from disputatio.errors import ConfigError, InputError, UnknownName
from disputatio.kit import Kit, chat
from disputatio.llm.scripted import Scripted
from disputatio.pipeline import (
    DEFAULT_STRATEGY,
    ask,
    load_strategy,
    prompts_hash,
    read_options,
    strategy_names,
    strategy_options,
)
from disputatio.store.in_memory import InMemory
from disputatio.strategies.madam_rag import madam_rag
from disputatio.trace import Trace
from disputatio.types import Answer, Completion, Passage, Usage

PASSAGE = Passage(id="p1", source="s", text="The ferry first crossed in 1887.")
REPLY = '{"answer": "1887", "explanation": "It first crossed in 1887.", "quote": "first crossed in 1887"}'
OUT_OF_TREE = "tests.test_pipeline:with_options"


def with_options(
    question: str,
    kit: Kit,
    *,
    n: int = 1,
    share: float = 0.5,
    name: str = "x",
    flag: bool = False,
    most: int | None = None,
    way: Literal["up", "down"] = "up",
    maybe: Literal["in", "out"] | None = None,
    bare: object = None,
) -> Answer:
    """Return a strategy out of the tree."""
    kit.complete("reader", [chat("s", question)])
    told = f"{n} {share} {name} {flag} {most} {way} {maybe} {bare}"
    return Answer(question=question, answers=("1887",), explanation=told, passages=(PASSAGE,))


del with_options.__annotations__["bare"]  # a strategy out of the tree may leave one out


def boastful(question: str, kit: Kit) -> Answer:
    """Return a strategy that says it is another and cost much."""
    return Answer(question=question, answers=("1",), strategy="best", model="big", usage=Usage(calls=99))


def hand(model: Scripted) -> Kit:
    return Kit(model=model, retriever=InMemory([PASSAGE]))


# --- one question -------------------------------------------------------------------------------
def test_an_answer_is_audited_named_and_counted() -> None:
    model = Scripted([REPLY], name="m", choices=lambda _: {"Yes": 0.9, "No": 0.1})
    answer = ask("When?", kit=hand(model), strategy="majority_vote")
    assert (answer.strategy, answer.model, answer.answers) == ("majority_vote", "m", ("1887",))
    assert [one.quote for one in answer.claims[0].citations] == ["first crossed in 1887"]
    assert [one.verdict for one in answer.claims[0].citations] == ["supported"]
    assert answer.usage.calls == 2, "one reader and one citation that was judged"
    assert answer.usage.prompt_tokens > 0


def test_without_verification_no_citation_is_judged() -> None:
    model = Scripted([REPLY])
    answer = ask("When?", kit=hand(model), strategy="majority_vote", verify=False)
    assert [one.verdict for one in answer.claims[0].citations] == ["unchecked"]
    assert (answer.usage.calls, len(model.calls)) == (1, 1)


def test_the_trace_begins_with_the_strategy_and_ends_with_the_answer() -> None:
    trace = Trace()
    ask("When?", kit=hand(Scripted([REPLY])), strategy="majority_vote", options={"k": "1"}, trace=trace)
    first, last = trace.records()[0], trace.records()[-1]
    assert (first["event"], first["name"], first["options"]) == ("strategy", "majority_vote", {"k": 1})
    assert (last["event"], last["answers"], last["abstained"]) == ("answer", ["1887"], None)


def test_two_questions_to_one_kit_are_counted_apart() -> None:
    kit = hand(Scripted([REPLY, REPLY]))
    first = ask("When?", kit=kit, strategy="majority_vote", verify=False)
    second = ask("When?", kit=kit, strategy="majority_vote", verify=False)
    assert (first.usage.calls, second.usage.calls) == (1, 1)
    assert kit.trace.records() == []


@pytest.mark.parametrize("question", ["", " ", "\n\t"])
def test_an_empty_question_is_refused_before_anything_is_asked(question: str) -> None:
    model = Scripted([])
    with pytest.raises(InputError, match="question is empty"):
        ask(question, kit=hand(model))
    assert model.calls == []


def test_what_a_strategy_claims_of_itself_is_not_believed() -> None:
    answer = ask("When?", kit=hand(Scripted([], name="m")), strategy="tests.test_pipeline:boastful")
    assert (answer.strategy, answer.model) == ("tests.test_pipeline:boastful", "m")
    assert answer.usage == Usage()


# --- finding a strategy -------------------------------------------------------------------------
def test_the_default_is_one_of_the_strategies() -> None:
    assert DEFAULT_STRATEGY in strategy_names()
    assert strategy_names() == sorted(strategy_names())


@pytest.mark.parametrize("name", strategy_names())
def test_each_name_loads_the_function_of_that_name(name: str) -> None:
    found = load_strategy(name)
    assert getattr(found, "__name__", "") == name


def test_an_unknown_strategy_names_the_nearest() -> None:
    with pytest.raises(UnknownName, match="did you mean 'madam_rag'"):
        load_strategy("madamrag")


def test_a_strategy_out_of_the_tree_runs_like_any_other() -> None:
    answer = ask("When?", kit=hand(Scripted(["x"])), strategy=OUT_OF_TREE, options={"n": "3", "flag": "yes"})
    assert answer.explanation == "3 0.5 x True None up None None"


@pytest.mark.parametrize(
    "name",
    [
        "no_such_module:f",
        "json:no_such_function",
        "json:__name__",
        ":f",
        "json:",
        ":",
        ".json:loads",
        "a b:c",
        "json..x:f",
    ],
)
def test_what_is_no_strategy_is_a_wrong_request(name: str) -> None:
    with pytest.raises(ConfigError, match=r"strategy"):
        load_strategy(name)


def test_a_path_is_no_strategy() -> None:
    with pytest.raises(UnknownName):
        load_strategy("../madam_rag")


# --- options ------------------------------------------------------------------------------------
def test_the_options_are_the_keyword_parameters() -> None:
    assert list(strategy_options(with_options))[:3] == ["n", "share", "name"]
    assert "question" not in strategy_options(madam_rag)
    assert strategy_options(madam_rag)["rounds"].default == 3
    assert isinstance(strategy_options(madam_rag)["rounds"], inspect.Parameter)


@pytest.mark.parametrize(
    ("name", "given", "read"),
    [
        ("n", "7", 7),
        ("n", 7, 7),
        ("n", "-1", -1),
        ("share", "0.25", 0.25),
        ("share", 1, 1.0),
        ("name", "a=b", "a=b"),
        ("flag", "true", True),
        ("flag", "No", False),
        ("flag", "0", False),
        ("flag", True, True),
        ("most", "5", 5),
        ("most", "none", None),
        ("most", None, None),
        ("way", "down", "down"),
        ("maybe", "out", "out"),
        ("maybe", "none", None),
        ("bare", "as it is", "as it is"),
    ],
)
def test_an_option_is_read_as_its_annotation_says(name: str, given: object, read: object) -> None:
    found = read_options(with_options, {name: given})
    assert found == {name: read}
    assert type(found[name]) is type(read)


@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        ("n", "many", "option n: 'many' is not of type int"),
        ("n", "1.5", "not of type int"),
        ("n", None, "not of type int"),
        ("share", "half", "not of type float"),
        ("flag", "maybe", "not true or false"),
        ("most", "x", "not of type int"),
        ("way", "sideways", "known: down, up"),
        ("maybe", "sideways", "known: in, out"),
        ("depth", "1", "unknown option 'depth'"),
        ("question", "x", "unknown option 'question'"),
    ],
)
def test_a_wrong_option_is_named_with_what_would_be_right(name: str, given: object, message: str) -> None:
    with pytest.raises((InputError, UnknownName), match=message):
        read_options(with_options, {name: given})


def test_a_wrong_option_is_found_before_anything_is_asked() -> None:
    model = Scripted([])
    options: dict[str, Any] = {"rouds": 2}
    with pytest.raises(UnknownName, match="did you mean 'rounds'"):
        ask("When?", kit=hand(model), strategy="madam_rag", options=options)
    assert model.calls == []


# --- the hash of the prompts --------------------------------------------------------------------
@pytest.mark.long
def test_the_hash_of_the_prompts_stays_the_same_and_tells_other_prompts_apart() -> None:
    hashes = [prompts_hash(load_strategy(name)) for name in strategy_names()]
    assert len({prompts_hash(load_strategy(name)) for name in ("closed_book", "concat", "madam_rag")}) == 3
    assert hashes == [prompts_hash(load_strategy(name)) for name in strategy_names()]
    assert all(len(one) == 16 for one in hashes)


def test_a_changed_prompt_or_schema_changes_the_hash(monkeypatch: pytest.MonkeyPatch) -> None:
    before = prompts_hash(madam_rag)
    for place, value in (
        ("disputatio.strategies.madam_rag.REVISION", "Another. {heard}"),
        ("disputatio.agents.reader.READER_SYSTEM", "Another."),
        ("disputatio.agents.single_prompt.ANSWERS_SCHEMA", {"type": "object"}),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(place, value)
            assert prompts_hash(madam_rag) != before
    assert prompts_hash(madam_rag) == before


def test_the_prompts_of_agents_that_a_strategy_shares_count_for_it_and_not_for_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    names = ("ragenta", "main_rag", "madam_rag", "ra_rag")
    before = [prompts_hash(load_strategy(name)) for name in names]
    for place, same in (
        ("disputatio.agents.passage_judge.JUDGE_TASK", [False, False, True, True]),
        ("disputatio.attribution.entailment.JUDGE_TASK", [False, True, True, False]),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(place, "Another.")
            after = [prompts_hash(load_strategy(name)) for name in names]
            assert [one == other for one, other in zip(before, after, strict=True)] == same


def test_a_reply_that_was_cut_off_is_kept_in_the_answer() -> None:
    broken = Completion(text='{"answer": "18', finish_reason="length", usage=Usage(calls=1))
    answer = ask("When?", kit=hand(Scripted([broken])), strategy="majority_vote")
    assert (answer.abstained, answer.claims, answer.text) == ("fault", (), "")
    assert answer.replies == (parse_reply(broken, "p1", 1),)
