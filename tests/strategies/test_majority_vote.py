"""The vote: isolated agents, one voice each, and a tie that goes to who spoke first."""

from __future__ import annotations

import pytest

from disputatio.strategies.majority_vote import majority_vote
from disputatio.types import Answer, Passage
from tests.strategies.panel import Panel, kit, said

NAMES = ("Alpha", "Beta", "Gamma", "Delta")


def vote(*lines: str) -> tuple[Answer, Panel]:
    """The answer when the agents say these lines, in this order."""
    names = NAMES[: len(lines)]
    model = Panel({name: [line] for name, line in zip(names, lines, strict=True)})
    passages = [Passage(id=name, text=f"{name}: a passage.") for name in names]
    return majority_vote("When?", kit(model, passages)), model


def test_all_agents_are_one_batch_and_none_sees_another_passage() -> None:
    _, model = vote(said("1921"), said("1948"), said("1921"))
    assert model.batches == [("reader", 3)]
    for prompt, name in zip(model.prompts("reader"), NAMES, strict=False):
        assert [one for one in NAMES if one in prompt] == [name]


def test_the_most_frequent_answer_wins_as_it_was_first_worded() -> None:
    answer, _ = vote(said("1948"), said("The 3rd"), said("3rd."))
    assert answer.answers == ("The 3rd",)
    assert answer.abstained is None
    assert answer.rounds == 1


def test_a_tie_goes_to_the_answer_met_first() -> None:
    assert vote(said("1948"), said("1921"), said("1921"), said("1948"))[0].answers == ("1948",)


def test_agents_that_decline_or_break_their_contract_do_not_vote() -> None:
    answer, _ = vote(said("unknown"), "1948", "Answer: 1948", said("1921"))
    assert answer.answers == ("1921",)
    assert [bool(one.fault) for one in answer.replies] == [False, True, True, False]


@pytest.mark.parametrize(
    ("lines", "abstained"),
    [
        ((said("unknown"), said("")), "no_evidence"),
        ((said("unknown"), "broken"), "no_evidence"),
        (("broken", "{}"), "fault"),
        ((), "no_evidence"),
    ],
)
def test_without_a_vote_it_abstains_and_says_why(lines: tuple[str, ...], abstained: str) -> None:
    answer, _ = vote(*lines)
    assert (answer.answers, answer.abstained) == ((), abstained)
