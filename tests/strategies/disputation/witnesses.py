"""Testimonies and sides as a hearing would give them, for tests of what weighs and resolves them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from disputatio.strategies.disputation.standing import Feature, Side
from disputatio.strategies.disputation.testimony import Testimony
from disputatio.types import Passage, Reply

Heard = Testimony  # a name that pytest does not take for a class of tests


def word(
    answer: str,
    text: str,
    *,
    source: str = "",
    owner: str = "",
    title: str = "",
    date: str = "",
    subject: str = "",
    certainty: float | None = None,
) -> Testimony:
    """Return what a passage answers alone; the passage goes by its source, or by its text where it
    has none.
    """
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
    return Testimony(passage=passage, reply=reply)


def side(
    answer: str,
    *,
    log_odds: float = 1.0,
    moved: Mapping[str, float] | None = None,
    votes: float = 1.0,
    title: str = "Tarnwick",
    date: str = "",
    subject: str = "",
    kin: Testimony | None = None,
    kinship: float = 0.0,
    passages: int = 1,
) -> Side:
    """Return a side that is weighed already: each of its passages in words of its own, from a source of its
    own.
    """
    told: Sequence[Testimony] = [
        word(
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
        testimonies=list(told),
        votes=votes,
        log_odds=log_odds,
        moved=dict(moved or {}),
        kin=kin,
        features=features,
    )
