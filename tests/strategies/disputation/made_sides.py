"""Readings and weighed sides, made by hand for tests of what weighs and resolves them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from disputatio.strategies.disputation.reading import PassageReading
from disputatio.strategies.disputation.sides import Feature, Side
from disputatio.types import Passage, Reply


def reading(
    answer: str,
    text: str,
    *,
    source: str = "",
    owner: str = "",
    title: str = "",
    date: str = "",
    subject: str = "",
    certainty: float | None = None,
) -> PassageReading:
    """Return the reading of a passage, whose id is its source or else its text."""
    passage = Passage(
        id=source or text[:40],
        text=text,
        source=source,
        owner=owner,
        title=title,
        date=date,
        date_origin="stated" if date else "",
    )
    reply = Reply(passages=(passage.id,), answer=answer, subject=subject, certainty=certainty)
    return PassageReading(passage=passage, reply=reply)


def side(
    answer: str,
    *,
    log_odds: float = 1.0,
    moved: Mapping[str, float] | None = None,
    votes: float = 1.0,
    title: str = "Tarnwick",
    date: str = "",
    subject: str = "",
    most_similar: PassageReading | None = None,
    kinship: float = 0.0,
    passages: int = 1,
    independent_votes: Sequence[tuple[str, float]] = (),
) -> Side:
    """Return a weighed side: each of its passages in words of its own, from a source of its own."""
    read = [
        reading(
            answer,
            f"It is {answer} and no other, says page {n} of the {answer} papers.",
            source=f"{answer}/{n}",
            title=title,
            date=date,
            subject=subject,
        )
        for n in range(passages)
    ]
    features: dict[Feature, float] = {"kinship": kinship} if kinship else {}
    return Side(
        answer=answer,
        readings=tuple(read),
        votes=votes,
        log_odds=log_odds,
        moved=dict(moved or {}),
        most_similar=most_similar,
        features=features,
        independent_votes=tuple(independent_votes),
    )
