"""Votes, sides and clusters compare answers by value: a decimal point, a sign or a unit keeps them apart."""

from __future__ import annotations

import pytest

from disputatio.agents.single_prompt import parse_answers
from disputatio.attribution.clusters import cluster
from disputatio.kit import Kit
from disputatio.llm.scripted import Scripted
from disputatio.strategies.disputation import reading
from disputatio.strategies.disputation.sides import sides_of
from disputatio.strategies.robust_rag import keywords
from disputatio.types import Completion, Passage, Reply, Usage

OTHER = [
    ("3.5", "35"), ("-5", "5"), ("2.0", "20"), ("1.234", "1234"), ("C", "C++"), ("C", "C#"), ("v2.1", "v21"),
    ("10:30", "1030"), ("1/2", "12"), ("$10", "€10"),
]  # fmt: skip
SAME = [
    ("1,234", "1234"), ("3.50", "3.5"), ("$10 million", "10 million"), ("10 million", "10,000,000 dollars"),
    ("10%", "10 percent"), ("Spider-Man", "Spiderman"), ("AC/DC", "ACDC"), ("U.S.", "US"),
]  # fmt: skip


def sides(*answers: str) -> list[list[str]]:
    """Return the answers of each side that the disputation makes of them."""
    readings = [
        reading.PassageReading(
            passage=Passage(text=answer, id=f"p{n}"), reply=Reply(passages=(f"p{n}",), answer=answer)
        )
        for n, answer in enumerate(answers)
    ]
    return [[spoken.reply.answer for spoken in side.readings] for side in sides_of(readings)]


@pytest.mark.parametrize(("left", "right"), OTHER)
def test_other_values_are_other_sides_keywords_and_answers(left: str, right: str) -> None:
    assert len(sides(left, right)) == 2
    assert keywords(left) != keywords(right)
    reply = Completion(
        text=f'{{"answers": ["{left}", "{right}"], "explanation": ""}}', finish_reason="stop", usage=Usage()
    )
    assert parse_answers(reply)[0] == (left, right)


@pytest.mark.parametrize(("left", "right"), SAME)
def test_one_value_in_two_wordings_is_one_side_and_one_answer(left: str, right: str) -> None:
    assert len(sides(left, right)) == 1
    reply = Completion(
        text=f'{{"answers": ["{left}", "{right}"], "explanation": ""}}', finish_reason="stop", usage=Usage()
    )
    assert parse_answers(reply)[0] == (left,)


@pytest.mark.parametrize(
    ("left", "right"), [pair for pair in OTHER if pair[0][-1].isdigit() and pair[0][0] != "v"]
)
def test_other_figures_are_other_clusters_without_a_judge(left: str, right: str) -> None:
    model = Scripted(lambda prompt: "Yes")
    clusters = cluster("How much is it?", [left, right, left], Kit(model=model))
    assert clusters.votes == (0, 1, 0)
    assert clusters.calls == 0


def test_a_bare_figure_never_joins_sides_of_two_units() -> None:
    assert sorted(map(sorted, sides("10", "$10", "€10"))) == [["$10", "10"], ["€10"]]
