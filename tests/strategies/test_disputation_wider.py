"""Looking wider: where answers contradict each other and the lead is short, more is searched for and read."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from disputatio.store.in_memory import InMemory
from disputatio.strategies.disputation.sides import independent_votes
from disputatio.types import Passage
from tests.strategies.disputation_agents import (
    GUILD,
    HARBOUR,
    LIE,
    QUESTION,
    TRUE,
    Agents,
    answered,
    passage,
    verdicts,
)

FIRST = 3  # passages that the first search brings


def told(name: str, who: str, more: str = "") -> Passage:
    text = f"{name} writes that the Quillhaven lighthouse was designed by {who}. {more}".strip()
    return passage(name, text, source=name)


TIED = [told("guild", TRUE), told("inn", LIE)]
MORE = [told("archive", TRUE), told("paper", TRUE), told("museum", TRUE)]
OFF = passage("goats", "Goats graze on the meadows behind the harbour wall.", source="goats")


def test_an_open_contradiction_is_searched_for_with_the_question_and_each_answer_alike() -> None:
    shelf = InMemory([*TIED, *MORE, OFF])
    model = Agents()
    answer = answered(model, shelf, k=2, belief=False, debate=0)
    assert (answer.details["looked"]["searches"], answer.details["looked"]["changed"]) == (3, True)
    assert {passage.id for passage in answer.passages} >= {each.id for each in MORE}
    assert verdicts(answer) == {TRUE: "accepted", LIE: "rejected"}
    assert answer.basis is not None
    queries = [search.query for search in answer.basis.searches]
    assert queries[0] == queries[1] == QUESTION
    assert set(queries[2:]) == {f"{QUESTION} {TRUE}", f"{QUESTION} {LIE}"}


def test_no_more_is_read_than_allowed_and_nothing_where_looking_wider_is_off() -> None:
    shelf = InMemory([*TIED, *MORE, OFF])
    few = answered(Agents(), shelf, k=2, belief=False, debate=0, wider=1)
    assert few.details["looked"]["read"] == 1 and len(few.passages) == 3
    off = answered(Agents(), shelf, k=2, belief=False, debate=0, wider=0)
    assert not off.details and len(off.passages) == 2
    assert set(verdicts(off).values()) == {"unresolved"}


def test_passages_in_hand_that_are_all_read_leave_nothing_to_look_for() -> None:
    answer = answered(Agents(), TIED, belief=False, debate=0)
    assert answer.details == {"looked": {"searches": 1, "read": 0, "answered": 0, "changed": False}}


def test_nothing_is_looked_for_where_answers_agree_or_one_leads_by_two() -> None:
    agreed = answered(Agents(), InMemory([*MORE, *TIED]), k=2, belief=False)
    assert not agreed.details
    led = answered(Agents(), [TIED[1], *MORE], belief=False)
    assert not led.details and verdicts(led) == {TRUE: "accepted", LIE: "rejected"}


def test_several_answers_that_may_all_be_right_are_no_reason_to_look_further() -> None:
    shelf = InMemory([GUILD, HARBOUR, *MORE])
    assert answered(Agents(), shelf, k=2, expect="several").details == {}


class Stories:
    """An embedder to which texts that tell the same story are the same."""

    name, dimension = "stories", 2

    def embed(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:
        return np.array([(1.0, 0.0) if "legend" in text else (0.0, 1.0) for text in texts], dtype=np.float32)


LEGENDS = [
    told("a", LIE, "The legend goes that he drew it on a tablecloth after supper and would take no money."),
    told("b", LIE, "As a legend of the harbour knows, nobody paid, since it was sketched over one meal."),
    told("c", LIE, "One evening at table, so runs this legend, a plan came to him and he gave it away."),
]


def alike(pairs: Sequence[tuple[Passage, Passage]]) -> list[float]:
    vectors = Stories()
    return [float(np.dot(*vectors.embed([first.text, second.text]))) for first, second in pairs]


def test_one_story_told_again_by_sources_that_nobody_knows_counts_once() -> None:
    assert len(independent_votes(LEGENDS, {}, None)) == 3
    assert len(independent_votes(LEGENDS, {}, alike)) == 1


def test_sources_that_are_known_stay_apart_however_alike_they_write() -> None:
    assert len(independent_votes(LEGENDS, {"a": 0.8, "b": 0.7, "c": 0.6}, alike)) == 3
    assert len(independent_votes(LEGENDS, {"a": 0.8}, alike)) == 1  # the others may have it from a


def test_short_texts_are_alike_by_chance_and_stay_apart() -> None:
    short = [
        told("a", LIE, "It is a legend."),
        passage("b", f"A legend has {LIE} as its designer.", source="b"),
    ]
    assert len(independent_votes(short, {}, alike)) == 2


def test_a_lie_told_three_times_is_open_against_two_independent_passages_or_falls() -> None:
    honest = [
        told(
            "archive",
            TRUE,
            "Its plans are kept under glass, signed and dated by her own hand.",
        ),
        told(
            "paper",
            TRUE,
            "The council paid her in three parts and thanked her in print when it was lit.",
        ),
    ]
    counted = answered(Agents(), [*LEGENDS, *honest], belief=False, debate=0)
    assert verdicts(counted) == {LIE: "accepted", TRUE: "rejected"}
    grouped = answered(Agents(), [*LEGENDS, *honest], belief=False, debate=0, embedder=OneLegend())
    assert verdicts(grouped) == {TRUE: "accepted", LIE: "rejected"}
    lost = next(each for each in grouped.conflict.positions if each.answer == LIE)
    assert lost.cause.kind == "owner_or_copy" and lost.cause.support.groups == 1


class OneLegend(Stories):
    """As `Stories`, but every honest text is a story of its own."""

    dimension = 3

    def embed(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:
        rows = [
            (1, 0, 0) if "legend" in text else (0, 1, 0) if "council" in text else (0, 0, 1) for text in texts
        ]
        return np.array(rows, dtype=np.float32)
