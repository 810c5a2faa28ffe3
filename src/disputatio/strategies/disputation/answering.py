"""The answer: cited claims, one an accepted side, the positions beside it, and how many liars it survives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from disputatio.agents.replies import why_none
from disputatio.attribution.alignment import statement, turned
from disputatio.attribution.citations import cite
from disputatio.counts import Certificate
from disputatio.reliability.certificate import certify
from disputatio.strategies.disputation.details import WiderSearch
from disputatio.strategies.disputation.positions import conflict_of_rulings, joined_conflict
from disputatio.strategies.disputation.resolve import (
    Ruling,
    subject_of,
)
from disputatio.strategies.disputation.standing import Side, voices
from disputatio.strategies.disputation.testimony import Testimony
from disputatio.text import one_line
from disputatio.types import Answer, Claim


@dataclass(frozen=True, slots=True, kw_only=True)
class SubQuestion:
    """One thing that is asked for: the testimonies on it, the rulings on its sides, and what was looked for.

    `settles` says that the user told how many answers are right: then, of answers that contradict each other and
    that nothing settles, the likeliest is given alone.
    """

    question: str
    testimonies: tuple[Testimony, ...]
    rulings: tuple[Ruling, ...]
    settles: bool = False
    rounds: int = 1
    looked: WiderSearch | None = None
    beliefs: Mapping[str, float] = field(default_factory=dict)

    @property
    def kept(self) -> list[Ruling]:
        """The rulings whose answers are part of the answer: those not rejected, the likelier first."""
        kept = [ruling for ruling in self.rulings if ruling.verdict != "rejected"]
        if all(ruling.verdict == "accepted" for ruling in kept):
            return kept
        kept.sort(key=lambda ruling: ruling.probability, reverse=True)
        return [ruling for ruling in kept if not (self.settles and self._likelier(ruling, kept))]

    @staticmethod
    def _likelier(ruling: Ruling, others: Sequence[Ruling]) -> bool:
        """Return whether an open ruling has a likelier rival among others."""
        return ruling.verdict == "unresolved" and any(
            other.probability > ruling.probability
            for other in others
            if any(other.side is rival for rival in ruling.rivals)
        )


def answered(question: str, parts: Sequence[SubQuestion], reliabilities: Mapping[str, float]) -> Answer:
    """Return the answer that the parts of a question come to together."""
    kept = [(part, ruling) for part in parts for ruling in part.kept]
    testimonies = [testimony for part in parts for testimony in part.testimonies]
    replies = tuple(testimony.reply for testimony in testimonies)
    return Answer(
        question=question,
        answers=tuple(dict.fromkeys(ruling.side.answer for _, ruling in kept)),
        abstained=None if kept else why_none(replies),
        claims=tuple(_claim(part.question, ruling.side, alone=len(part.kept) == 1) for part, ruling in kept),
        conflict=joined_conflict([conflict_of_rulings(part.rulings) for part in parts]),
        confidence=_confidence([part for part in parts if part.kept]),
        certificate=_certificate(parts[0], reliabilities) if len(parts) == 1 else None,
        passages=tuple({testimony.passage.id: testimony.passage for testimony in testimonies}.values()),
        replies=replies,
        rounds=max(part.rounds for part in parts),
        details=_details(parts),
    )


def _confidence(parts: Sequence[SubQuestion]) -> float | None:
    """Return how likely the answer is right: the mean over its parts of that of what each part gives first."""
    if not parts:
        return None
    likely = [
        ruling.probability
        for part in parts
        for ruling in (part.kept[:1] if part.kept[0].verdict == "unresolved" else part.kept)
    ]
    return round(sum(likely) / len(likely), 4)


def _details(parts: Sequence[SubQuestion]) -> dict[str, Any]:
    """Return the wider searches for all parts of the question, added up; empty if there were none."""
    searches = [part.looked for part in parts if part.looked is not None]
    if not searches:
        return {}
    return WiderSearch(
        searches=sum(search.searches for search in searches),
        read=sum(search.read for search in searches),
        answered=sum(search.answered for search in searches),
        changed=any(search.changed for search in searches),
    ).to_details()


def _claim(question: str, side: Side, *, alone: bool) -> Claim:
    """Return a side as a cited claim that names what it is about."""
    replies = {testimony.passage.id: testimony.reply for testimony in side.testimonies}
    subject = subject_of(side)
    text = turned(question, side.answer) if alone else None
    if text is None:
        text = f"{subject}: {side.answer}" if subject else statement(question, side.answer)
    return Claim(text=one_line(text), citations=tuple(cite(side.answer, side.passages, replies)))


def _certificate(part: SubQuestion, reliabilities: Mapping[str, float]) -> Certificate | None:
    """Return how many liars the one answer survives against those that contradict it; None where votes did
    not decide.

    Passages that could not be read count against it. Votes did not decide where several answers or none are
    given, where passages name no source, or where votes were equal.
    """
    rulings = part.rulings
    unread = [testimony.passage for testimony in part.testimonies if testimony.reply.fault]
    accepted = [ruling for ruling in rulings if ruling.verdict == "accepted"]
    if len(accepted) != 1 or any(ruling.verdict == "unresolved" for ruling in rulings):
        return None
    winner, rivals = accepted[0].side, accepted[0].rivals
    named = all(passage.source for side in (winner, *rivals) for passage in side.passages)
    if not named or any(rival.accounts >= winner.accounts for rival in rivals):
        return None
    votes = [
        (choice, name, weight)
        for choice, side in enumerate((winner, *rivals))
        for name, weight in side.voters
    ]
    choices, names, weights = zip(*votes, strict=True)
    opponents = [weight for _, weight in voices(unread, reliabilities)]
    return certify(choices, weights, names, unread=opponents)
