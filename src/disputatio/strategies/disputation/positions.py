"""The conflict that rulings come to: its kind, and every side as a position with its verdict and cause."""

from __future__ import annotations

from collections.abc import Sequence

from disputatio.dates import is_later
from disputatio.strategies.disputation.resolve import Ruling, newest, subject_of
from disputatio.types import Conflict, ConflictKind, Position

_ORDER = ("accepted", "unresolved", "rejected")

_GRAVEST: tuple[ConflictKind, ...] = (
    "unresolved",
    "misinformation",
    "outdated",
    "opinion",
    "ambiguity",
    "none",
)


def joined_conflict(parts: Sequence[Conflict]) -> Conflict:
    """Return the conflicts over several things that are asked for as one: all positions, and the gravest
    kind.

    >>> joined_conflict([Conflict(kind="none"), Conflict(kind="outdated")]).kind
    'outdated'
    """
    positions = [position for part in parts for position in part.positions]
    positions.sort(key=_by_verdict)
    return Conflict(kind=min((part.kind for part in parts), key=_GRAVEST.index), positions=tuple(positions))


def conflict_of_rulings(rulings: Sequence[Ruling]) -> Conflict:
    """Return the kind of conflict, and every side as a position: accepted, unresolved, rejected."""
    positions = [
        Position(
            answer=ruling.side.answer,
            subject=subject_of(ruling.side),
            aliases=ruling.side.aliases,
            verdict=ruling.verdict,
            cause=ruling.cause,
            probability=round(ruling.probability, 4),
            passages=tuple(passage.id for passage in ruling.side.passages),
            sources=tuple(
                dict.fromkeys(passage.source for passage in ruling.side.passages if passage.source)
            ),
            weight=round(ruling.side.accounts, 4),
            moved={step: round(log_odds, 4) for step, log_odds in ruling.side.moved.items()},
        )
        for ruling in rulings
    ]
    positions.sort(key=_by_verdict)
    return Conflict(kind=_kind(rulings), positions=tuple(positions))


def _by_verdict(position: Position) -> tuple[int, float]:
    """Accepted positions first, then open ones, each the likelier first."""
    return _ORDER.index(position.verdict), -(position.probability or 0.0)


def _is_beaten(ruling: Ruling) -> bool:
    """Return whether a side was rejected for a better one, and not as off topic."""
    return ruling.verdict == "rejected" and ruling.cause.kind != "off_topic"


def _kind(rulings: Sequence[Ruling]) -> ConflictKind:
    if any(ruling.verdict == "unresolved" for ruling in rulings):
        return "unresolved"
    beaten = [ruling for ruling in rulings if _is_beaten(ruling)]
    if beaten:
        older = all(
            newest(ruling.side)
            and any(
                is_later(newest(rival), newest(ruling.side)) and rival.accounts <= ruling.side.accounts
                for rival in ruling.rivals
            )
            for ruling in beaten
        )
        return "outdated" if older else "misinformation"
    return "ambiguity" if sum(ruling.verdict == "accepted" for ruling in rulings) > 1 else "none"
