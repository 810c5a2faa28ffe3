"""The vote: isolated agents, one vote each, and a tie that goes to the answer met first."""

from __future__ import annotations

import pytest

from disputatio.strategies.majority_vote import majority_vote, most_frequent
from disputatio.types import Answer, Passage
from tests.strategies.panel import Panel, kit, said
from tests.strategies.sources import QUESTION, Reader, rated, source
from tests.strategies.sources import kit as of_sources

NAMES = ("Alpha", "Beta", "Gamma", "Delta")


def vote(*lines: str) -> tuple[Answer, Panel]:
    """Return the answer when the agents say these lines, in this order."""
    names = NAMES[: len(lines)]
    model = Panel({name: [line] for name, line in zip(names, lines, strict=True)})
    passages = [Passage(id=name, text=f"{name}: a passage.") for name in names]
    return majority_vote("When?", kit(model, passages)), model


def test_all_agents_are_one_batch_and_none_sees_another_passage() -> None:
    _, model = vote(said("1921"), said("1948"), said("1921"))
    assert model.batches == [("reader", 3)]
    for prompt, name in zip(model.prompts("reader"), NAMES, strict=False):
        assert [name for name in NAMES if name in prompt] == [name]


def test_the_most_frequent_answer_wins_as_it_was_first_worded() -> None:
    answer, _ = vote(said("1948"), said("The 3rd"), said("3rd."))
    assert answer.answers == ("The 3rd",)
    assert answer.abstained is None
    assert answer.rounds == 1


def test_votes_for_one_value_count_together_and_those_for_another_apart() -> None:
    answer, _ = vote(said("35 km"), said("3.5 km"), said("35 miles"), said("3,500 m"))
    assert answer.answers == ("3.5 km",)


def test_a_tie_goes_to_the_answer_met_first() -> None:
    assert vote(said("1948"), said("1921"), said("1921"), said("1948"))[0].answers == ("1948",)


def test_agents_that_decline_or_break_their_contract_do_not_vote() -> None:
    answer, _ = vote(said("unknown"), "1948", "Answer: 1948", said("1921"))
    assert answer.answers == ("1921",)
    assert [bool(reply.fault) for reply in answer.replies] == [False, True, True, False]


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


# --- over sources -------------------------------------------------------------------------------
TRUE, LIE = "Ingrid Vasmer", "Barnaby Croll"


def test_a_source_has_one_vote_however_many_passages_it_has() -> None:
    loud = [
        Passage(id=f"a{n}", source="a", text=f"Log of a. Quillhaven lighthouse {n}, designed by {LIE}.")
        for n in range(3)
    ]
    model = Reader()
    answer = majority_vote(QUESTION, of_sources(model, [loud, source("b", TRUE), source("c", TRUE)]))
    assert answer.answers == (TRUE,)
    assert model.batches == [3]
    assert [position.weight for position in answer.conflict.positions] == [2.0, 1.0]
    assert answer.certificate is not None
    assert (answer.certificate.owners, answer.certificate.voters) == (1, 3)


def test_reliabilities_do_not_weigh() -> None:
    shelves = [source("a", LIE), source("b", LIE), source("c", TRUE)]
    parts = of_sources(Reader(), shelves, rated(a=0.1, b=0.1, c=0.9))
    assert majority_vote(QUESTION, parts).answers == (LIE,)


def test_passages_have_the_votes_where_no_source_has_several_or_where_it_is_asked_for() -> None:
    model = Panel({"Alpha": [said("1")], "Beta": [said("2")], "Gamma": [said("2")]})
    alone = [Passage(id=name, source=name, text=f"{name}: a passage.") for name in ("Alpha", "Beta", "Gamma")]
    assert majority_vote("When?", kit(model, alone)).answers == ("2",)
    assert model.batches == [("reader", 3)]
    together = [Passage(id=passage.id, source="one", text=passage.text) for passage in alone]
    assert majority_vote("When?", kit(model, together), voters="passages").answers == ("2",)
    assert majority_vote("When?", kit(model, together), k=3).answers == ("2",)


def test_sources_that_know_nothing_are_no_evidence() -> None:
    answer = majority_vote(QUESTION, of_sources(Reader(), [source("a"), source("b")]))
    assert (answer.answers, answer.abstained) == ((), "no_evidence")


def test_votes_keep_decimal_points_signs_and_units_apart() -> None:
    assert most_frequent(["35", "3.5", "35"]) == "35"
    assert most_frequent(["-5", "5", "5"]) == "5"
    assert most_frequent(["€10", "$10", "10 dollars"]) == "$10"
    assert most_frequent(["C++", "C", "C#", "C++"]) == "C++"
    assert most_frequent(["1,234", "1.234", "1234"]) == "1,234"
