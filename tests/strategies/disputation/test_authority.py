"""Declared authority is a prior on the weight of a vote; what is retracted does not win."""

from __future__ import annotations

from dataclasses import replace

from disputatio.authority import TIERS, weigh_by_tier
from disputatio.reliability.source_weights import VoteWeights, vote_weights, weight_of
from disputatio.rendering.reasons import reason
from disputatio.strategies.disputation.reading import PassageReading
from disputatio.strategies.disputation.resolve import ResolvedSide, conflict_of, resolve
from disputatio.strategies.disputation.sides import weigh
from disputatio.types import Position, Source
from tests.strategies.disputation.made_sides import reading

QUESTION = "What is the mooring fee?"
LAW, LEAFLET = "15 euros", "9 euros"


def made(answer: str, source: str, *, authority: str = "", status: str = "") -> PassageReading:
    words = f"The mooring fee is {answer}, says the {source} of the harbour, and it is due at {source} time."
    plain = reading(answer, words, source=source, title="Mooring fee")
    passage = replace(plain.passage, authority=authority, by_people={"status": status} if status else {})
    return replace(plain, passage=passage)


def decided(readings: list[PassageReading], weights: VoteWeights | None = None) -> list[ResolvedSide]:
    return resolve(QUESTION, weigh(QUESTION, readings, weights or {}, ranked=False), expect="one")


def positions(resolved: list[ResolvedSide]) -> dict[str, Position]:
    return {position.answer: position for position in conflict_of(resolved).positions}


def test_a_higher_tier_wins_against_more_votes_and_says_so() -> None:
    leaflets = [made(LEAFLET, name, authority="informal") for name in ("leaflet", "poster", "radio")]
    found = positions(decided([*leaflets, made(LAW, "bylaw", authority="binding")]))
    won, lost = found[LAW], found[LEAFLET]
    assert (won.verdict, won.cause.kind) == ("accepted", "higher_authority")
    assert (lost.verdict, lost.cause.kind) == ("rejected", "lower_authority")
    assert (won.cause.support.weight, won.cause.support.declared, won.cause.support.authority) == (
        4.0, 3.0, "binding",
    )  # fmt: skip
    assert (lost.cause.support.weight, lost.cause.support.declared) == (1.5, -1.5)
    assert "its authority is binding (4.00 against 1.50, 3.00 of it declared)" in reason(won)
    assert "whose authority is binding" in reason(lost)


def test_without_tiers_nothing_changes() -> None:
    readings = [made(LEAFLET, "leaflet"), made(LEAFLET, "poster"), made(LAW, "bylaw")]
    found = positions(decided(readings))
    assert (found[LEAFLET].verdict, found[LEAFLET].cause.kind) == ("accepted", "most_votes")
    assert found[LEAFLET].cause.support.declared is None


def test_a_tier_that_changes_nothing_is_not_the_cause() -> None:
    readings = [made(LAW, "bylaw", authority="binding"), made(LAW, "notice"), made(LEAFLET, "leaflet")]
    assert positions(decided(readings))[LAW].cause.kind == "most_votes"


def test_what_was_learnt_outweighs_a_wrong_tier_in_the_end() -> None:
    sources = {
        "bylaw": Source(name="bylaw", reliability=0.4, low=0.35, high=0.45, answered=400, agreed=160),
        "leaflet": Source(name="leaflet", reliability=0.95, low=0.9, high=0.99, answered=400, agreed=380),
    }
    readings = [made(LAW, "bylaw", authority="binding"), made(LEAFLET, "leaflet")]
    found = positions(decided(readings, vote_weights(sources)))
    assert (found[LEAFLET].verdict, found[LEAFLET].cause.kind) == ("accepted", "more_reliable")
    unproved = {name: replace(source, answered=2) for name, source in sources.items()}
    assert positions(decided(readings, vote_weights(unproved)))[LAW].cause.kind == "higher_authority"


def test_what_is_retracted_does_not_win_even_alone() -> None:
    alone = positions(decided([made(LAW, "paper", status="retracted")]))
    assert (alone[LAW].verdict, alone[LAW].cause.kind) == ("rejected", "retracted")
    assert "it is retracted" in reason(alone[LAW])
    two = [made(LAW, name, status="retracted", authority="binding") for name in ("paper", "reprint")]
    found = positions(decided([*two, made(LEAFLET, "leaflet")]))
    assert (found[LEAFLET].verdict, found[LAW].cause.kind) == ("accepted", "retracted")
    concern = positions(decided([made(LAW, "paper", status="concern")]))
    assert concern[LAW].verdict == "accepted"


def test_a_retracted_passage_adds_no_vote_to_others() -> None:
    readings = [made(LAW, "paper", status="retracted"), made(LAW, "note"), made(LEAFLET, "leaflet")]
    found = positions(decided(readings))
    assert (found[LAW].weight, found[LEAFLET].weight) == (1.0, 1.0)


def test_the_weights_fall_with_the_tiers_and_with_the_record() -> None:
    assert list(TIERS.values()) == sorted(TIERS.values(), reverse=True)
    weights = [weigh_by_tier("binding", 0.2, answered=n, unknown=0.5) for n in (0, 10, 100, 10_000)]
    assert weights == sorted(weights, reverse=True)
    assert abs(weights[-1] - 0.2) < 0.01
    assert weight_of(made(LAW, "x", authority="no tier").passage, {}) == 1.0
