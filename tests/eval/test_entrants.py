"""Strategies take part under a label, with options read by their annotations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import pytest

from disputatio.errors import InputError, UnknownName
from disputatio.eval.entrants import entrants, option_value, prompts_hash
from disputatio.eval.journal import Entrant

PROMPT = "Answer from the passage."


def debate(
    question: str,
    kit: object,
    *,
    rounds: int = 3,
    judge: bool = True,
    history: Literal["aggregate", "peers"] = "aggregate",
    k: int | None = None,
    shuffle_seed: int = 0,
) -> None:
    """A strategy with options of several kinds."""


def vote(question: str, kit: object, *, k: int | None = None) -> None:
    """A strategy with one option."""


def _load(name: str) -> Callable[..., Any]:
    known: dict[str, Callable[..., Any]] = {"debate": debate, "vote": vote}
    if name not in known:
        raise UnknownName("strategy", name, known)
    return known[name]


def _options(names: str, *settings: str, seed: int = 0) -> dict[str, dict[str, Any]]:
    found: list[Entrant] = entrants(names, settings, load=_load, seed=seed)
    return {one.label: dict(one.options) for one in found}


def test_options_are_recorded_in_full_with_the_seed_of_the_evaluation() -> None:
    assert _options("debate", seed=4) == {
        "debate": {"rounds": 3, "judge": True, "history": "aggregate", "k": None, "shuffle_seed": 4}
    }


def test_a_plain_setting_is_for_all_that_know_it_and_a_named_one_for_one() -> None:
    found = _options("debate, vote", "k=5", "debate.k=none", "rounds=1", "shuffle_seed=9", seed=4)
    assert (found["debate"]["k"], found["vote"]["k"]) == (None, 5)
    assert (found["debate"]["rounds"], found["debate"]["shuffle_seed"]) == (1, 9)
    assert found["vote"] == {"k": 5}


def test_one_strategy_takes_part_twice_under_two_labels() -> None:
    found = entrants("debate,one=debate", ["one.rounds=1"], load=_load, seed=0)
    assert [(one.label, one.strategy, one.options["rounds"]) for one in found] == [
        ("debate", "debate", 3),
        ("one", "debate", 1),
    ]


@pytest.mark.parametrize(
    ("text", "value"), [("judge=false", False), ("history=peers", "peers"), ("rounds=2", 2), ("k=7", 7)]
)
def test_a_value_is_read_by_its_annotation(text: str, value: object) -> None:
    option, _, word = text.partition("=")
    assert option_value(debate, option, word) == value


@pytest.mark.parametrize(
    ("names", "settings", "message"),
    [
        ("debat", [], "did you mean 'debate'"),
        ("debate", ["round=1"], "unknown option 'round': did you mean 'rounds'"),
        ("debate,vote", ["vote.rounds=1"], "unknown option 'rounds'"),
        ("debate", ["vot.k=1"], "unknown strategy 'vot'"),
    ],
)
def test_an_unknown_name_names_the_nearest(names: str, settings: list[str], message: str) -> None:
    with pytest.raises(UnknownName, match=message):
        _options(names, *settings)


@pytest.mark.parametrize(
    ("names", "settings", "message"),
    [
        ("debate", ["rounds"], "write key=value"),
        ("debate", ["rounds=two"], "option rounds=two: .*integer"),
        ("debate", ["history=all"], "option history=all: .*'aggregate' or 'peers'"),
        ("debate,debate", [], "debate is named twice"),
        ("debate,", [], "separated by commas"),
        ("a.b=debate", [], "separated by commas"),
    ],
)
def test_a_wrong_setting_says_what_is_wrong(names: str, settings: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        _options(names, *settings)


def test_other_prompts_have_another_hash(monkeypatch: pytest.MonkeyPatch) -> None:
    before = prompts_hash(debate)
    assert before == prompts_hash(vote)
    monkeypatch.setitem(globals(), "PROMPT", "Answer from the passages.")
    assert prompts_hash(debate) != before
