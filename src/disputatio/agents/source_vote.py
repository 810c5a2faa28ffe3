"""The vote of the sources over their answers: what wins, what each position rests on, how many liars it survives.

The weighted majority vote of RA-RAG (Hwang et al. 2024, arXiv 2410.22954, equation 1), one vote a source; or, past
the paper, one vote an owner and a group of copies.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from disputatio.agents.per_source import Holding, SourceReply
from disputatio.attribution.clusters import Clusters
from disputatio.attribution.compared_votes import lost_vote, won_vote
from disputatio.causes import Cause, CauseKind, Rival, Support
from disputatio.kit import Kit
from disputatio.reliability.certificate import certify
from disputatio.reliability.owner_votes import rule
from disputatio.reliability.weighted_vote import weighted_vote
from disputatio.types import Certificate, Conflict, ConflictKind, Position, PositionVerdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What a vote of sources came to; `confidence` is the winner's share of the weight that was cast."""

    answers: tuple[str, ...]
    conflict: Conflict
    confidence: float | None
    certificate: Certificate | None


def decide(heard: Sequence[SourceReply], clusters: Clusters, weights: Sequence[float], kit: Kit) -> Verdict:
    """The weighted vote of the sources, each with its own vote (RA-RAG, equation 1).

    `clusters` and `weights` are those of the replies, in their order. A tie goes to the answer met first,
    and the other is unresolved.
    """
    winner = int(weighted_vote([clusters.votes], weights)[0]) if heard else -1
    certificate = _certified(heard, clusters, weights, kit)
    return _verdict(heard, clusters, clusters.votes, weights, winner, certificate, kit)


def decide_by_owner(
    heard: Sequence[SourceReply], clusters: Clusters, weights: Sequence[Sequence[float]], kit: Kit
) -> Verdict:
    """The vote with one voice an owner and a group of copies; no weight is negative.

    Where none who was heard has any of the first `weights`, the next decide, and after the last all
    voices count alike.
    """
    owners = [_owner(one, kit) for one in heard]  # a source without one stands alone
    groups = [_group(one, kit) for one in heard]
    names = [one.source for one in heard]
    if not heard:
        return decide(heard, clusters, (), kit)
    rulings = (rule(clusters.votes, one, owners=owners, groups=groups, names=names) for one in weights)
    ruling = next(rulings)
    while not ruling.earned and (later := next(rulings, None)) is not None:
        ruling = later
    certificate = certify(ruling.choices, ruling.weights, ruling.names)
    return _verdict(
        heard, clusters, ruling.choices, ruling.weights, ruling.winner, certificate, kit, grouped=True
    )


def _verdict(
    heard: Sequence[SourceReply],
    clusters: Clusters,
    choices: Sequence[int],
    weights: Sequence[float],
    winner: int,
    certificate: Certificate | None,
    kit: Kit,
    *,
    grouped: bool = False,
) -> Verdict:
    """What follows from votes cast (`choices` with `weights`) for the positions that sources took.

    `grouped` says that an owner or a group of copies had one vote.
    """
    sums = [0.0] * len(clusters.answers)
    for vote, weight in zip(choices, weights, strict=True):
        if vote >= 0:
            sums[vote] += weight
    order = sorted(range(len(sums)), key=lambda n: (n != winner, -sums[n]))
    replies = {n: [one for one, vote in zip(heard, clusters.votes, strict=True) if vote == n] for n in order}
    supports = {n: _support(replies[n], sums[n], kit) for n in order}
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
        positions.append(_position(clusters.answers[n], replies[n], cause, sums[n], verdict))
    cast = sum(max(one, 0.0) for one in sums)
    kind: ConflictKind = "misinformation" if len(sums) > 1 else "none"
    if any(one.verdict == "unresolved" for one in positions):
        kind = "unresolved"
    return Verdict(
        answers=(clusters.answers[winner],) if winner >= 0 else (),
        conflict=Conflict(kind=kind, positions=tuple(positions)),
        confidence=round(max(sums[winner], 0.0) / cast, 4) if winner >= 0 and cast else None,
        certificate=certificate,
    )


def _certified(
    heard: Sequence[SourceReply], clusters: Clusters, weights: Sequence[float], kit: Kit
) -> Certificate | None:
    """How many owners would have to lie to change the vote; None where that cannot be told exactly.

    Sources of one owner count together where they said the same; where they did not, or where a vote
    weighs less than nothing, there is no certificate, and the trace says why.
    """
    said: dict[str, tuple[int, float]] = {}
    for one, vote, weight in zip(heard, clusters.votes, weights, strict=True):
        if vote < 0:
            continue
        name = _owner(one, kit) or one.source
        choice, sum_ = said.get(name, (vote, 0.0))
        if choice != vote or weight < 0:
            why = (
                f"{name} gave several answers" if choice != vote else f"the vote of {name} counts against it"
            )
            kit.trace.note("uncertified", reason=why)
            return None
        said[name] = (vote, sum_ + weight)
    return certify([one for one, _ in said.values()], [one for _, one in said.values()], tuple(said))


def _position(
    answer: str, own: Sequence[SourceReply], cause: Cause, weight: float, verdict: PositionVerdict
) -> Position:
    titles = [one.holding.titled(one.bearer) for one in own]
    told = [one for one in titles if one]
    return Position(
        answer=answer,
        subject=max(told, key=told.count) if told else "",
        verdict=verdict,
        cause=cause,
        passages=tuple(one.bearer or one.reply.passages[0] for one in own),
        sources=tuple(one.source for one in own if one.holding.named),
        weight=round(weight, 4),
    )


def _support(replies: Sequence[SourceReply], weight: float, kit: Kit) -> Support:
    """How many sources give an answer, and how many of them speak independently."""
    groups = len({voice(reply, kit) for reply in replies})
    return Support(sources=len(replies), groups=groups, weight=round(weight, 4))


def voice(one: SourceReply | Holding, kit: Kit) -> tuple[Literal["group", "owner", "source"], str]:
    """What a source speaks for: the group it copies in, else its owner, else itself."""
    group, owner = _group(one, kit), _owner(one, kit)
    return ("group", group) if group else ("owner", owner) if owner else ("source", _held(one).source)


def _group(one: SourceReply | Holding, kit: Kit) -> str:
    known = kit.sources.get(_held(one).source) if _held(one).named else None
    return known.group if known else ""


def _held(one: SourceReply | Holding) -> Holding:
    return one.holding if isinstance(one, SourceReply) else one


def _owner(one: SourceReply | Holding, kit: Kit) -> str:
    """Who owns a source, by what is known of it or else by its passages; empty where nobody is named."""
    held = _held(one)
    known = kit.sources.get(held.source) if held.named else None
    return (known.owner if known else "") or held.passages[0].owner


def _cause_kind(
    n: int,
    winner: int,
    other: int | None,
    sums: Sequence[float],
    supports: Mapping[int, Support],
    *,
    grouped: bool,
) -> CauseKind:
    """Why a position won or lost, compared with the `other` one; `sums` are the weights of their votes."""
    if other is None:
        return "unanimous"
    if _is_tie(sums[n], sums[other]):
        return "met_first" if n == winner else "unresolved"
    compare = won_vote if n == winner else lost_vote
    return compare(supports[n], supports[other], grouped=grouped)


def _is_tie(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-9)
