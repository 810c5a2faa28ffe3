"""The answer: a cited claim for each accepted side, all positions, and how many liars the answer survives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from disputatio.agents.replies import why_none
from disputatio.attribution.alignment import plain_statement, turn_question
from disputatio.attribution.citations import cite
from disputatio.reliability.certificate import certify
from disputatio.strategies.disputation.details import WiderSearch
from disputatio.strategies.disputation.reading import PassageReading
from disputatio.strategies.disputation.resolve import (
    ResolvedSide,
    conflict_of,
    is_open,
    join_conflicts,
    subject_of,
)
from disputatio.strategies.disputation.sentences import address_asker, value_sentence
from disputatio.strategies.disputation.sides import Side, votes_by_owner
from disputatio.text import nearest_sentence, one_line, without_headings
from disputatio.types import Answer, Certificate, Claim
from disputatio.values import is_yes_or_no, states
from disputatio.versions.asked import of_today

MOST_WORDS = 40  # of a quote in a claim that says yes or no


@dataclass(frozen=True, slots=True, kw_only=True)
class PartResult:
    """The result on one part of a question: its readings, its resolved sides, and the wider search.

    `decides` is true if the user said how many answers are right: then the likeliest of answers that contradict
    each other is given alone, even if nothing settles it. `today` is what holds today, where another day or version
    was asked for.
    """

    question: str
    readings: tuple[PassageReading, ...]
    resolved: tuple[ResolvedSide, ...]
    decides: bool = False
    rounds: int = 1
    looked: WiderSearch | None = None
    beliefs: Mapping[str, float] = field(default_factory=dict)
    look: str = ""
    today: tuple[ResolvedSide, ...] = ()

    @property
    def kept(self) -> list[ResolvedSide]:
        """The sides whose answers are part of the answer: those not rejected, the likelier first."""
        kept = [each for each in self.resolved if each.verdict != "rejected"]
        if not any(map(is_open, kept)):
            return kept
        kept.sort(key=lambda each: (-round(each.probability, 9), -each.side.log_odds))
        return [each for each in kept if not (self.decides and _has_likelier_rival(each, kept))]


def _has_likelier_rival(resolved: ResolvedSide, others: Sequence[ResolvedSide]) -> bool:
    """Return whether an open side has a likelier rival among others."""
    return is_open(resolved) and any(
        other.probability > resolved.probability
        for other in others
        if any(other.side is rival for rival in resolved.rivals)
    )


def compose_answer(question: str, parts: Sequence[PartResult], reliabilities: Mapping[str, float]) -> Answer:
    """Compose the answer from the parts of a question."""
    kept = [(part, resolved) for part in parts for resolved in part.kept]
    readings = [reading for part in parts for reading in part.readings]
    replies = tuple(reading.reply for reading in readings)
    return Answer(
        question=question,
        answers=tuple(dict.fromkeys(resolved.side.answer for _, resolved in kept)),
        abstained=None if kept else why_none(replies),
        claims=tuple(
            _claim(part.question, resolved.side, alone=len(part.kept) == 1) for part, resolved in kept
        )
        + tuple(_claim_of_today(part.question, each) for part in parts for each in part.today),
        conflict=join_conflicts([conflict_of(part.resolved) for part in parts]),
        confidence=_confidence([part for part in parts if part.kept]),
        certificate=_certificate(parts[0], reliabilities) if len(parts) == 1 else None,
        passages=tuple({reading.passage.id: reading.passage for reading in readings}.values()),
        replies=replies,
        rounds=max(part.rounds for part in parts),
        details=_details(parts),
    )


def _confidence(parts: Sequence[PartResult]) -> float | None:
    """Return how likely the answer is right: the mean over the answers of its parts, of open ones the first."""
    if not parts:
        return None
    likely = [
        resolved.probability
        for part in parts
        for resolved in (part.kept[:1] if is_open(part.kept[0]) else part.kept)
    ]
    return round(sum(likely) / len(likely), 4)


def _details(parts: Sequence[PartResult]) -> dict[str, Any]:
    """Return the wider searches for all parts of the question, added up; empty if there were none."""
    searches = [part.looked for part in parts if part.looked is not None]
    today = [resolved.side.answer for part in parts for resolved in part.today]
    details: dict[str, Any] = {"today": today} if today else {}
    if claims := _list_claims(parts):
        details["claimed"] = claims
    if not searches:
        return details
    return (
        details
        | WiderSearch(
            searches=sum(search.searches for search in searches),
            read=sum(search.read for search in searches),
            answered=sum(search.answered for search in searches),
            changed=any(search.changed for search in searches),
        ).to_details()
    )


def _list_claims(parts: Sequence[PartResult]) -> list[dict[str, str]]:
    """Return what documents of other publishers claim to take the place of: shown, and not used."""
    claims = {
        (claim.newer.id, claim.older.id): claim
        for part in parts
        for each in part.resolved
        for claim in each.side.claimed.values()
    }
    return [
        {"newer": newer, "older": older, "kind": claim.kind, "quote": claim.quote}
        for (newer, older), claim in claims.items()
    ]


def _claim(question: str, side: Side, *, alone: bool) -> Claim:
    """Return a side as a cited claim that names its subject."""
    replies = {reading.passage.id: reading.reply for reading in side.readings}
    subject = subject_of(side)
    citations = tuple(cite(side.answer, side.passages, replies))
    if not citations and is_yes_or_no(side.answer):  # said by the model, and in no such word by a passage
        for passage, reply in [(reading.passage, reading.reply) for reading in side.readings]:
            start, end = nearest_sentence(passage.text, question)
            replies[passage.id] = replace(reply, quote=passage.text[start:end])
        citations = tuple(cite(side.answer, side.passages, replies))
    quote = without_headings(citations[0].quote)[1] if citations else ""
    text = value_sentence(question, side.answer, quote) if alone or subject else None
    if text is None and alone:
        text = turn_question(question, side.answer)
    if text is not None:
        text = address_asker(text)
    elif is_yes_or_no(side.answer) and 2 < len(quote.split()) <= MOST_WORDS:
        text = f"{side.answer.capitalize()}: {quote}"
    if text is None:
        text = plain_statement(question, side.answer) if alone or not subject else f"{subject}: {side.answer}"
    if subject and not states(f"{question} {text}", subject):
        text = f"{text.removesuffix('.')} ({subject})."
    return Claim(text=one_line(text), citations=citations)


def _claim_of_today(question: str, resolved: ResolvedSide) -> Claim:
    """Return what holds today, or is disputed today, beside the answer of another day."""
    claim = _claim(of_today(question), resolved.side, alone=True)
    return replace(claim, text=f"Today{', disputed' if is_open(resolved) else ''}: {claim.text}")


def _certificate(part: PartResult, reliabilities: Mapping[str, float]) -> Certificate | None:
    """Return how many liars the one answer survives against those that contradict it.

    Passages that could not be read count against it. None where votes did not decide: several answers or none,
    passages without a source, equal votes, or a version that is in force.
    """
    unread = [reading.passage for reading in part.readings if reading.reply.fault]
    accepted = [each for each in part.resolved if each.verdict == "accepted"]
    superseded = any(each.side.is_superseded for each in part.resolved)
    if len(accepted) != 1 or superseded or any(map(is_open, part.resolved)):
        return None
    winner, rivals = accepted[0].side, accepted[0].rivals
    named = all(passage.source for side in (winner, *rivals) for passage in side.passages)
    if not named or any(rival.accounts >= winner.accounts for rival in rivals):
        return None
    votes = [
        (choice, name, weight)
        for choice, side in enumerate((winner, *rivals))
        for name, weight in side.independent_votes
    ]
    choices, names, weights = zip(*votes, strict=True)
    opponents = [weight for _, weight in votes_by_owner(unread, reliabilities)]
    return certify(choices, weights, names, unread=opponents)
