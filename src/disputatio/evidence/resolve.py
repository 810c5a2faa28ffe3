"""Positions resolved in code: which stand, which contradict each other, and which are about different things.

No model decides here. A side stands by its own log-odds (`evidence.standing`). Of two that stand and speak
of the same thing with different answers, the one with more independent sources stays (near copies of a text
are one; Dong et al. 2009), then the newer, then the one that stands better; different things keep their own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from disputatio.evidence.likeness import independent
from disputatio.evidence.standing import Side, weakest
from disputatio.evidence.testimony import Testimony
from disputatio.text import normalise
from disputatio.types import Conflict, ConflictKind, Position, PositionVerdict, Source

IDLE = "which does not speak to the question"  # why a position is rejected that contradicts no other
ALTERED = "which looks like an altered copy of a passage that says"
MOVED = {
    "belief": "which the model itself holds less likely than the others",
    "debate": "which its own advocate gave up",
}
_WEAK = {
    "votes": "no other source bears it out",
    "lead": "its passage opens with something else",
    "certainty": "its reader was unsure of it",
    "prose": "it stands among links or figures, not in a text",
    "kinship": "nothing else tells for it",
    "resemblance": "nothing else tells for it",
}
KINDRED = ("kinship", "resemblance")
ALIKE = 0.8  # kinship from which two passages are taken to tell of the same thing
TIED = 1e-9  # log-odds apart: what floating point leaves of a tie
CLOSE = 0.5  # log-odds apart: closer sides are as well told as each other
LEAST = -2.2  # log-odds below which not even the best side is an answer: one in ten
_ORDER = ("accepted", "unresolved", "rejected")
_GRAVEST: tuple[ConflictKind, ...] = (
    "unresolved",
    "misinformation",
    "outdated",
    "opinion",
    "ambiguity",
    "none",
)
_NAME = re.compile(r"[^\W_][\w’'-]*")


@dataclass(slots=True)
class Ruling:
    """What became of one side: its verdict and why, and the sides that speak of the same thing."""

    side: Side
    verdict: PositionVerdict = "accepted"
    reason: str = ""
    rivals: tuple[Side, ...] = ()


def resolve(question: str, sides: Sequence[Side], *, namesakes: bool = True) -> list[Ruling]:
    """A ruling on each side, in their order.

    Sides at even odds or better stand; where none does, the best one, if it is not hopeless. Without
    `namesakes`, any two answers are taken to be about the same thing.
    """
    rulings = {id(one): Ruling(one) for one in sides}
    standing = [one for one in sides if one.log_odds >= 0]
    if sides and not standing:
        best = max(one.log_odds for one in sides)
        standing = [one for one in sides if best >= LEAST and best - one.log_odds < TIED]
    for side in sides:
        if not any(side is one for one in standing):
            rulings[id(side)].verdict = "rejected"
            rulings[id(side)].reason = f"{told(side)}, {_weakness(side)}"
    for side in sorted(standing, key=strength, reverse=True):
        ruling = rulings[id(side)]
        ruling.rivals = tuple(
            one for one in standing if one is not side and same_thing(question, one, side, namesakes)
        )
        heard = [one for one in ruling.rivals if rulings[id(one)].verdict != "rejected"]
        if any(_beats(one, side) for one in heard):
            ruling.verdict = "rejected"
        elif any(not _beats(side, one) for one in heard):
            ruling.verdict = "unresolved"
    for side in standing:
        ruling = rulings[id(side)]
        heard = [one for one in ruling.rivals if rulings[id(one)].verdict != "rejected"]
        if ruling.verdict == "unresolved" and all(_beats(side, one) for one in heard):
            ruling.verdict = "accepted"  # what it could not beat was beaten by another
    for side in standing:
        ruling = rulings[id(side)]
        ruling.reason = _reason(
            ruling, [one for one in ruling.rivals if rulings[id(one)].verdict != "rejected"]
        )
    return [rulings[id(one)] for one in sides]


def contested(rulings: Sequence[Ruling]) -> list[Ruling]:
    """The rulings that the weights did not settle."""
    return [one for one in rulings if one.verdict == "unresolved"]


def joined_conflict(parts: Sequence[Conflict]) -> Conflict:
    """The conflicts over several things that are asked for as one: all positions, and the gravest kind.

    >>> joined_conflict([Conflict(kind="none"), Conflict(kind="outdated")]).kind
    'outdated'
    """
    positions = sorted(
        (one for part in parts for one in part.positions), key=lambda one: _ORDER.index(one.verdict)
    )
    return Conflict(kind=min((one.kind for one in parts), key=_GRAVEST.index), positions=tuple(positions))


def conflict_of_rulings(rulings: Sequence[Ruling]) -> Conflict:
    """The kind of conflict, and every side as a position: accepted, unresolved, rejected."""
    positions = [
        Position(
            answer=one.side.answer,
            subject=subject_of(one.side),
            verdict=one.verdict,
            reason=one.reason,
            passages=tuple(each.id for each in one.side.passages),
            sources=tuple(dict.fromkeys(each.source for each in one.side.passages if each.source)),
            weight=round(one.side.votes, 4),
        )
        for one in rulings
    ]
    positions.sort(key=lambda one: _ORDER.index(one.verdict))
    return Conflict(kind=_kind(rulings), positions=tuple(positions))


def subject_of(side: Side) -> str:
    """What a side speaks of: its passages' commonest title, else the fullest subject that a witness named."""
    titles = [one.title for one in side.passages if one.title]
    if titles:
        return max(titles, key=titles.count)
    return max((one.subject for one in side.testimonies), key=len, default="")


def same_thing(question: str, one: Side, other: Side, namesakes: bool = True) -> bool:
    """Whether two sides speak of the same thing, as far as it can be told.

    Alike texts do. Else titles decide, where both sides have one: of different things each names what the
    other does not. Where nothing tells, they may be namesakes.
    """
    if not namesakes:
        return True
    if any(
        side.kin and _has(rival, side.kin) and max(side.features.get(name, 0) for name in KINDRED) >= ALIKE
        for side, rival in ((one, other), (other, one))
    ):
        return True
    if not all(any(each.title for each in side.passages) for side in (one, other)):
        return False
    mine, theirs = _names(question, one), _names(question, other)
    return not (mine - theirs and theirs - mine)


def strength(side: Side) -> tuple[float, str, float]:
    """What a contradiction is decided by: votes, then age, then log-odds."""
    return round(side.votes, 2), newest(side), side.log_odds


def newest(side: Side) -> str:
    """The latest date of a side's passages, empty where none has one."""
    return max((one.date for one in side.passages), default="")


def told(side: Side, *, short: bool = False) -> str:
    """By how many passages a side is told, and how many of them count."""
    count = len(side.passages)
    groups = len(independent(side.passages))
    of = f"{count} passage{'s' * (count > 1)}"
    if groups < count:
        of += f" that count as {groups} (copies, or one owner)"
    return of if short else f"told by {of}"


def earned(sources: Mapping[str, Source]) -> dict[str, float]:
    """What a source's vote weighs: its reliability where the interval tells it from chance, else one half.

    So few questions decide nothing, and neither does a newcomer or a passage without a source ("").
    Empty where nothing is known of any source: then all votes are equal.

    >>> proved = Source(name="a", reliability=0.9, low=0.7, high=0.98)
    >>> earned({"a": proved, "b": Source(name="b", reliability=0.7, low=0.2, high=0.97)})
    {'': 0.5, 'a': 0.9, 'b': 0.5}
    """
    if all(one.reliability is None for one in sources.values()):
        return {}
    weights = {"": 0.5}
    for name, one in sources.items():
        weights[name] = 0.5
        if one.reliability is not None:
            low = one.reliability if one.low is None else one.low
            high = one.reliability if one.high is None else one.high
            if low > 0.5 or high < 0.5:
                weights[name] = one.reliability
    return weights


def names_of(question: str, one: Testimony) -> frozenset[str]:
    """The names and figures by which a testimony tells its subject from others, without the question's.

    The title counts when it shares a name with the question, so that a headline is not a subject.

    >>> from disputatio.types import Passage, Reply
    >>> said = Reply(passages=("p",), answer="12,650")
    >>> passage = Passage(text="", title="Tarnwick, Vell County")
    >>> heard = Testimony(passage=passage, reply=said, subject="Tarnwick, a port")
    >>> sorted(names_of("How large is Tarnwick?", heard))
    ['county', 'vell']
    """
    asked = set(normalise(question).split())
    known = {normalise(word) for word in _NAME.findall(question)[1:] if word[0].isupper()}
    titled = _NAME.findall(one.passage.title)
    words = titled if known & set(map(normalise, titled)) else []
    names = {word for word in (*words, *_NAME.findall(one.subject)) if not word[0].islower()}
    own = {normalise(word) for word in names}
    return frozenset(own - asked - set(normalise(one.answer).split()) - {""})


def _names(question: str, side: Side) -> frozenset[str]:
    return frozenset().union(*(names_of(question, one) for one in side.testimonies))


def _has(side: Side, testimony: Testimony) -> bool:
    return any(one is testimony for one in side.testimonies)


def _beats(one: Side, other: Side) -> bool:
    """Whether the weights settle for `one`: more votes, newer, or clearly better log-odds."""
    (votes, age, odds), (votes2, age2, odds2) = strength(one), strength(other)
    return (votes, age) > (votes2, age2) or ((votes, age) == (votes2, age2) and odds - odds2 >= CLOSE)


def _weakness(side: Side) -> str:
    """Why a side does not stand, by the feature that tells most against it."""
    pushed = min(side.moved, key=lambda name: side.moved[name], default="")
    if pushed and side.moved[pushed] < 0:  # only sides that stood were moved
        return MOVED[pushed]
    name = weakest(side.features)
    if name in KINDRED and side.kin is not None:
        return f"{ALTERED} {side.kin.answer}"
    return f"{IDLE}: {_WEAK[name]}"


def _is_beaten(ruling: Ruling) -> bool:
    """Whether a side was rejected for another's sake, not for want of anything to say."""
    return ruling.verdict == "rejected" and IDLE not in ruling.reason


def _reason(ruling: Ruling, winners: Sequence[Side]) -> str:
    side = ruling.side
    if ruling.verdict == "unresolved":
        equals = " and ".join(one.answer for one in winners if not _beats(side, one))
        return f"{told(side)}, as well told as {equals}: nothing that was read settles it"
    if ruling.verdict == "accepted":
        against = ", ".join(f"{told(one, short=True)} for {one.answer}" for one in ruling.rivals)
        return told(side) + (f", against {against}" if against else "")
    winner = max(winners, key=strength)
    if round(winner.votes, 2) > round(side.votes, 2):
        against = f"{told(side)}, against {told(winner, short=True)} for {winner.answer} about the same thing"
        if len(winner.passages) > len(side.passages):
            return against
        return (
            f"{against}, whose sources have the better record ({winner.votes:.2f} against {side.votes:.2f})"
        )
    if newest(winner) > newest(side):
        dated = f"last dated {newest(side)}" if newest(side) else "undated"
        return f"{told(side)}, {dated}, older than {winner.answer} ({newest(winner)})"
    clearly = f"{side.probability:.0%} against {winner.probability:.0%}"
    return f"{told(side)}, as well told as {winner.answer} but less likely right ({clearly})"


def _kind(rulings: Sequence[Ruling]) -> ConflictKind:
    if any(one.verdict == "unresolved" for one in rulings):
        return "unresolved"
    beaten = [one for one in rulings if _is_beaten(one)]
    if beaten:
        older = all(
            newest(one.side)
            and any(
                newest(rival) > newest(one.side) and rival.votes <= one.side.votes for rival in one.rivals
            )
            for one in beaten
        )
        return "outdated" if older else "misinformation"
    return "ambiguity" if sum(one.verdict == "accepted" for one in rulings) > 1 else "none"
