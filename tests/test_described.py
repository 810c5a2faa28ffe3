"""Declarations of a strategy in its own file are read from there, and hold."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import disputatio as d
from disputatio.agents.options import Logprobs
from disputatio.errors import MissingPart, NoLogprobs, UnknownName
from disputatio.kit import Kit
from disputatio.pipeline import (
    describe,
    load_strategy,
    read_costs,
    read_options,
    strategy_names,
    strategy_options,
)
from disputatio.types import Choice, Completion, Prompt, Sampling
from tests.test_strategy_contract import BENIGN, QUESTION, Hand, Parrot

NAMES = strategy_names()
COLUMNS = 80
TRIAL = '''"""Answer nothing.

Nobody 2026, "On nothing", arXiv 0000.00000. Differences from the authors' code: none.
"""
from __future__ import annotations
from typing import Annotated, Literal
from disputatio.agents.options import Logprobs, Votes
from disputatio.kit import Kit
from disputatio.types import Answer

LOGPROBS = Logprobs("needed", instead="votes=10")

def trial(
    question: str,
    kit: Kit,
    *,
    mode: Annotated[Literal["a", "b"], "how it is done"] = "a",
    votes: Votes = 0,
    bare: int | None = None,
) -> Answer:
    return Answer(question=question, abstained="no_evidence")
'''


class Mute(Parrot):
    """A model of two answers in turn, without log-probabilities; it notes that it was asked for them."""

    was_asked = False

    def complete(self, prompts: Sequence[Prompt], sampling: Sampling, **_: object) -> list[Completion]:
        done = []
        for prompt in prompts:
            self.answer = "1901" if len(self.asked) % 2 else "1887"
            done += super().complete([prompt], sampling)
        return done

    def choose(self, prompts: Sequence[Prompt], options: Sequence[str], **_: object) -> list[Choice]:
        self.was_asked = True
        raise NoLogprobs("none")


def asks_for_logprobs(name: str, *settings: str) -> tuple[bool, bool]:
    """Return whether a strategy asks a model for log-probabilities, and whether it fails without them."""
    strategy, model = load_strategy(name), Mute()
    options = read_options(strategy, dict(setting.split("=") for setting in settings))
    try:
        strategy(QUESTION, Kit(model=model, retriever=Hand(BENIGN)), **options)
    except NoLogprobs:
        return True, True
    return model.was_asked, False


def declared(name: str) -> Logprobs | None:
    value = getattr(importlib.import_module(f"disputatio.strategies.{name}"), "LOGPROBS", None)
    assert isinstance(value, Logprobs | None)
    return value


@pytest.mark.parametrize("name", NAMES)
def test_a_strategy_says_on_one_line_what_it_does_and_names_its_paper(name: str) -> None:
    described = describe(name)
    assert 0 < len(described.summary) <= COLUMNS - 2 - max(map(len, NAMES))
    assert "20" in described.paper


@pytest.mark.parametrize("name", NAMES)
def test_every_option_declares_its_meaning_on_one_line(name: str) -> None:
    options = describe(name).options
    assert [option.name for option in options] == list(strategy_options(load_strategy(name)))
    wrong = [
        option.name
        for option in options
        if not option.meaning
        or len(option.meaning) > 90
        or "\n" in option.meaning
        or option.meaning[-1] == "."
    ]
    assert wrong == []


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_what_a_strategy_declares_of_log_probabilities_is_so(name: str) -> None:
    needs = declared(name)
    if needs is None:
        assert asks_for_logprobs(name) == (False, False)
        return
    if needs.use == "used":
        assert not asks_for_logprobs(name)[1]
        return
    assert asks_for_logprobs(name)[1] == (not needs.only_with)
    if needs.only_with:
        assert asks_for_logprobs(name, needs.only_with) == (True, True)
    for setting in filter(None, (needs.instead, needs.not_with)):
        assert not asks_for_logprobs(name, setting)[0]


def test_sources_that_vote_are_checked_by_log_probabilities_and_passages_are_not() -> None:
    assert asks_for_logprobs("majority_vote", "voters=sources") == (True, False)
    assert asks_for_logprobs("majority_vote", "voters=passages") == (False, False)


@pytest.mark.long
@pytest.mark.parametrize("name", sorted({*NAMES} - {"oracle"}))  # which needs more than passages
def test_a_strategy_answers_without_a_model_or_says_that_it_needs_one(name: str) -> None:
    def answer() -> object:
        return d.ask(QUESTION, passages=BENIGN, strategy=name, model="none").answers

    if describe(name).needs_model:
        with pytest.raises((MissingPart, NoLogprobs)):
            answer()
    else:
        assert answer()


def test_a_strategy_of_the_user_is_described_from_its_own_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "theirs.py").write_text(TRIAL)
    monkeypatch.syspath_prepend(tmp_path)
    described = describe("theirs:trial")
    sys.modules.pop("theirs")
    assert (described.summary, described.logprobs) == ("Answer nothing.", "needed, or --set votes=10")
    assert described.paper == 'Nobody 2026, "On nothing", arXiv 0000.00000.'
    fields: list[tuple[str, Any, str, str]] = [
        (option.name, option.default, option.type, option.meaning) for option in described.options
    ]
    assert fields == [
        ("mode", "a", "a, b", "how it is done"),
        ("votes", 0, "int", "sampled votes in place of log-probabilities; 0: none"),
        ("bare", None, "int or none", ""),
    ]
    assert described.cost == ()


def test_the_description_of_an_unknown_strategy_names_the_nearest() -> None:
    with pytest.raises(UnknownName, match="did you mean 'crag'"):
        describe("cragg")


def test_the_shipped_costs_are_of_shipped_strategies_and_whole() -> None:
    costs = read_costs()
    assert set(costs) <= set(NAMES)
    fields = {
        "set", "dataset", "questions", "model", "roles", "engine", "verify", "index", "calls",
        "prompt_tokens", "cached_tokens", "completion_tokens",
    }  # fmt: skip
    for name, rows in costs.items():
        for row in rows:
            assert set(row) == fields
            assert set(row["set"]) <= set(strategy_options(load_strategy(name)))
            assert row["questions"] > 0
            assert row["prompt_tokens"] >= row["cached_tokens"] >= 0
