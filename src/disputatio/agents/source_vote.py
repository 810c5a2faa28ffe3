"""The vote of sources on their answers: the winner, the support of each position, and the certificate.

It is the weighted majority vote of RA-RAG (Hwang et al. 2024, arXiv 2410.22954, equation 1) with one vote for each
source; or, beyond the paper, one vote for each owner and each group of copies.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from disputatio.agents.per_source import RetrievedSource, SourceReply, read_by
from disputatio.agents.replies import why_none
from disputatio.attribution.clusters import Clusters
from disputatio.attribution.compared_votes import lost_vote, won_vote
from disputatio.authority import highest_tier
from disputatio.causes import Cause, Rival, Support
from disputatio.events import Uncertified
from disputatio.kit import Kit
from disputatio.reliability.certificate import certify
from disputatio.reliability.owner_votes import rule
from disputatio.reliability.weighted_vote import CAP, hold_vote
from disputatio.types import Answer, Certificate, Conflict, ConflictKind, Position, PositionVerdict
from disputatio.values import is_yes_or_no


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The outcome of a vote; `confidence` is the winner's share of all weights."""

    answers: tuple[str, ...]
    conflict: Conflict
    confidence: float | None
    certificate: Certificate | None


def decide(
    replies: Sequence[SourceReply],
    clusters: Clusters,
    weights: Sequence[float],
    kit: Kit,
    *,
    learnt: Sequence[float] | None = None,
) -> Verdict:
    """Return the weighted vote of the sources, one vote each (RA-RAG, equation 1).

    `clusters` and `weights` belong to the replies, in their order; `learnt` are the weights without what people
    declared of documents, where they are others. A tie goes to the answer met first, and the
    other is unresolved.
    """
    winner = int(hold_vote([clusters.votes], weights)[0]) if replies else -1
    certificate = _certify_vote(replies, clusters, weights, kit)
    return _verdict(replies, clusters, clusters.votes, weights, winner, certificate, kit, learnt=learnt)


def decide_by_owner(
    replies: Sequence[SourceReply], clusters: Clusters, weights: Sequence[Sequence[float]], kit: Kit
) -> Verdict:
    """Return the vote with one vote for each owner and each group of copies; no weight is negative.

    If all of the first `weights` are 0, the next decide, and after the last all votes count alike.
    """
    owners = [_owner(reply, kit) for reply in replies]  # a source without an owner votes alone
    groups = [_group(reply, kit) for reply in replies]
    names = [reply.source for reply in replies]
    if not replies:
        return decide(replies, clusters, (), kit)
    outcomes = (
        rule(clusters.votes, voting_weights, owners=owners, groups=groups, names=names)
        for voting_weights in weights
    )
    outcome = next(outcomes)
    while not outcome.earned and (later := next(outcomes, None)) is not None:
        outcome = later
    opponents = _unread_votes(replies, outcome.weights, kit)
    certificate = certify(outcome.choices, outcome.weights, outcome.names, unread=opponents)
    return _verdict(
        replies, clusters, outcome.choices, outcome.weights, outcome.winner, certificate, kit, grouped=True
    )


def _verdict(
    replies: Sequence[SourceReply],
    clusters: Clusters,
    choices: Sequence[int],
    weights: Sequence[float],
    winner: int,
    certificate: Certificate | None,
    kit: Kit,
    *,
    grouped: bool = False,
    learnt: Sequence[float] | None = None,
) -> Verdict:
    """Return the positions and the conflict that follow from the votes, `choices` with `weights`.

    `grouped` says that each owner or group of copies had one vote.
    """
    sums = [0.0] * len(clusters.answers)
    for vote, weight in zip(choices, weights, strict=True):
        if vote >= 0:
            sums[vote] += weight
    order = sorted(range(len(sums)), key=lambda n: (n != winner, -sums[n]))
    repliers = {
        n: [reply for reply, vote in zip(replies, clusters.votes, strict=True) if vote == n] for n in order
    }
    declared = [0.0] * len(sums)
    for vote, weight, without in zip(choices, weights, weights if learnt is None else learnt, strict=True):
        if vote >= 0:
            declared[vote] += weight - without
    supports = {n: _support(repliers[n], sums[n], declared[n], kit) for n in order}
    positions = []
    for n in order:
        verdict: PositionVerdict = "accepted" if n == winner else "rejected"
        if n != winner and _is_tie(sums[n], sums[winner]):
            verdict = "unresolved"
        # The winner is compared with the next, all others with the winner.
        other = next((m for m in order if m != n), None) if n == winner else winner
        cause = Cause(
            kind=_cause_kind(n, winner, other, sums, supports, grouped=grouped),
            support=supports[n],
            rivals=() if other is None else (Rival(answer=clusters.answers[other], support=supports[other]),),
        )
        positions.append(_position(clusters.answers[n], repliers[n], cause, sums[n], verdict))
    cast = sum(max(total, 0.0) for total in sums)
    kind: ConflictKind = "misinformation" if len(sums) > 1 else "none"
    if any(position.verdict == "unresolved" for position in positions):
        kind = "unresolved"
    return Verdict(
        answers=(clusters.answers[winner],) if winner >= 0 else (),
        conflict=Conflict(kind=kind, positions=tuple(positions)),
        confidence=round(max(sums[winner], 0.0) / cast, 4) if winner >= 0 and cast else None,
        certificate=certificate,
    )


def answer_by_vote(question: str, replies: Sequence[SourceReply], verdict: Verdict, *, rounds: int) -> Answer:
    """Return the answer that a vote of the sources gives, with the replies and passages behind it."""
    agent_replies = tuple(reply.reply for reply in replies if reply.asked)
    return Answer(
        question=question,
        answers=verdict.answers,
        abstained=None if verdict.answers else why_none(agent_replies),
        conflict=verdict.conflict,
        confidence=verdict.confidence,
        certificate=verdict.certificate,
        passages=read_by(replies),
        replies=agent_replies,
        rounds=rounds,
    )


def possible_answers(clusters: Clusters, options: int | None, sources: int) -> int:
    """Return L, the number of possible answers: 2 if all answers are yes or no, else `options`.

    Without `options` it is that of the estimate: the number of `sources`, from 2 to 10.
    """
    if options is None:
        options = max(2, min(sources, CAP))
    return 2 if clusters.answers and all(map(is_yes_or_no, clusters.answers)) else options


def _certify_vote(
    replies: Sequence[SourceReply], clusters: Clusters, weights: Sequence[float], kit: Kit
) -> Certificate | None:
    """Return how many owners would have to lie to change the vote; None if that cannot be counted exactly.

    Sources of one owner that agree count together. If they do not agree, or if a weight is negative, there is
    no certificate, and the trace notes why.
    """
    cast: dict[str, tuple[int, float]] = {}
    for reply, vote, weight in zip(replies, clusters.votes, weights, strict=True):
        if vote < 0:
            continue
        name = _owner(reply, kit) or reply.source
        choice, sum_ = cast.get(name, (vote, 0.0))
        if choice != vote or weight < 0:
            why = (
                f"{name} gave several answers" if choice != vote else f"the vote of {name} counts against it"
            )
            kit.emit(Uncertified(reason=why))
            return None
        cast[name] = (vote, sum_ + weight)
    return certify(
        [choice for choice, _ in cast.values()],
        [weight for _, weight in cast.values()],
        tuple(cast),
        unread=_unread_votes(replies, weights, kit),
    )


def _unread_votes(replies: Sequence[SourceReply], weights: Sequence[float], kit: Kit) -> list[float]:
    """Return one vote for each voter whose reply could not be used, as heavy as the heaviest of all."""
    heaviest = max(map(float, weights), default=0.0)
    return [heaviest] * len({vote_key(reply, kit) for reply in replies if reply.reply.fault})


def _position(
    answer: str, replies: Sequence[SourceReply], cause: Cause, weight: float, verdict: PositionVerdict
) -> Position:
    titles = [reply.retrieved.find_title(reply.bearer) for reply in replies]
    known_titles = [title for title in titles if title]
    return Position(
        answer=answer,
        subject=max(known_titles, key=known_titles.count) if known_titles else "",
        verdict=verdict,
        cause=cause,
        passages=tuple(reply.bearer or reply.reply.passages[0] for reply in replies),
        sources=tuple(reply.source for reply in replies if reply.retrieved.named),
        weight=round(weight, 4),
    )


def _support(replies: Sequence[SourceReply], weight: float, declared: float, kit: Kit) -> Support:
    """Return how many sources give an answer, how many of them are independent, and what people declared."""
    groups = len({vote_key(reply, kit) for reply in replies})
    bearers = [each for reply in replies for each in reply.retrieved.passages if each.id == reply.bearer]
    return Support(
        sources=len(replies),
        groups=groups,
        weight=round(weight, 4),
        authority=highest_tier(bearers),
        declared=round(declared, 4) or None,
    )


def vote_key(
    voter: SourceReply | RetrievedSource, kit: Kit
) -> tuple[Literal["group", "owner", "source"], str]:
    """Return the key of the vote that a source shares: its group of copies, else its owner, else its own."""
    group, owner = _group(voter, kit), _owner(voter, kit)
    return (
        ("group", group) if group else ("owner", owner) if owner else ("source", _get_retrieved(voter).source)
    )


def _group(voter: SourceReply | RetrievedSource, kit: Kit) -> str:
    known = kit.sources.get(_get_retrieved(voter).source) if _get_retrieved(voter).named else None
    return known.group if known else ""


def _get_retrieved(voter: SourceReply | RetrievedSource) -> RetrievedSource:
    return voter.retrieved if isinstance(voter, SourceReply) else voter


def _owner(voter: SourceReply | RetrievedSource, kit: Kit) -> str:
    """Return the owner of a source, from its record or else from its passages; empty if unknown."""
    retrieved = _get_retrieved(voter)
    known = kit.sources.get(retrieved.source) if retrieved.named else None
    return (known.owner if known else "") or retrieved.passages[0].owner


def _cause_kind(
    n: int,
    winner: int,
    other: int | None,
    sums: Sequence[float],
    supports: Mapping[int, Support],
    *,
    grouped: bool,
) -> str:
    """Return why a position won or lost against the `other` one, whose summed weights are `sums`."""
    if other is None:
        return "unanimous"
    if _is_tie(sums[n], sums[other]):
        return "met_first" if n == winner else "unresolved"
    loser = other if n == winner else n
    if sums[winner] - (supports[winner].declared or 0) <= sums[loser] - (supports[loser].declared or 0):
        return "higher_authority" if n == winner else "lower_authority"
    compare = won_vote if n == winner else lost_vote
    return compare(supports[n], supports[other], grouped=grouped)


def _is_tie(first: float, second: float) -> bool:
    return math.isclose(first, second, rel_tol=1e-9, abs_tol=1e-9)
