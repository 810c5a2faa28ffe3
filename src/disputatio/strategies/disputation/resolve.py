"""Positions resolved in code: which stand, which contradict each other, and which are about different things.

No model decides here. A side stands by its own log-odds (`standing`). Of two that stand and are
about the same thing with different answers, the one with more independent sources stays (near copies of a text
are one; Dong et al. 2009), then the newer, then the one that stands better; different things keep their own.

What is planted reads better than what is true, so a short lead is open to doubt (`in_doubt`): the sides that it is about, those
that read too badly to stand among them, are put to the model's belief, and the merit of all decides.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from disputatio.attribution.compared_votes import lost_vote, won_vote
from disputatio.causes import Cause, CauseKind, Rival, Support
from disputatio.dates import is_later, stated_day
from disputatio.strategies.disputation.standing import Feature, Side, weakest
from disputatio.strategies.disputation.testimony import Testimony
from disputatio.text import bare_words
from disputatio.types import PositionVerdict

# What moved a side after it was weighed, and the cause where that made it fall.
MOVED: Mapping[str, CauseKind] = MappingProxyType({"belief": "disbelieved", "debate": "yielded"})

KINDRED: tuple[Feature, ...] = ("kinship", "resemblance")

ALIKE = 0.8  # kinship from which two passages are taken to be about the same thing

TIED = 1e-9  # log-odds apart: what floating point leaves of a tie

CLOSE = 0.5  # of merit apart: closer sides are left open, the likelier first

STANDS = 0.0  # log-odds from which a side stands: even odds

PLAUSIBLE = -5.0  # log-odds from which a side may be the right one where a lead is open to doubt

LEAD = 2  # independent accounts by which a side must lead for its contradiction to be settled

LEAST = -2.2  # log-odds below which not even the best side is an answer: one in ten

Expectation = Literal["auto", "one", "several"]

# A question for all that there are: "who are the directors", "name the towns".
_ASKS_LIST = re.compile(
    r"^\s*(?:name|list)\b|\b(?:who|what|which)\s+(?:\w+\s+){0,2}(?:are|were)\s+(?:the|all|its|his|her|their)\b",
    re.IGNORECASE,
)

_NAME = re.compile(r"[^\W_][\w’'-]*")


@dataclass(slots=True)
class Ruling:
    """What became of one side: its verdict and why, and the sides that are about the same thing."""

    side: Side
    verdict: PositionVerdict = "accepted"
    cause: Cause = field(default_factory=lambda: Cause(kind="unanimous"))
    rivals: tuple[Side, ...] = ()

    @property
    def probability(self) -> float:
        """How likely the answer is right: that it is what is asked for, times its share among its rivals."""
        return chance(self.side, self.rivals)


def chance(side: Side, rivals: Sequence[Side]) -> float:
    """Return how likely a side is the right one among those that contradict it.

    Its passages answer as likely as they read; where belief was asked, one of all answers as likely as the best reads.
    """
    among = (side, *rivals)
    best = max(each.merit for each in among)
    shares = [math.exp(each.merit - best) for each in among]
    answered = max(each.probability for each in among) if side.is_doubted else side.probability
    return answered * shares[0] / sum(shares)


def resolve(question: str, sides: Sequence[Side], *, expect: Expectation = "auto") -> list[Ruling]:
    """Return a ruling on each side, in their order.

    Sides that are likely enough to answer stand; where none does, the best one, if it is not hopeless. `expect` says how
    many answers the question has: `one`, `several` where things of one name have their own, or `auto`.
    """
    rulings = {id(side): Ruling(side) for side in sides}
    standing = [side for side in sides if side.log_odds >= STANDS or side.is_doubted]
    if sides and not standing:
        best = max(side.log_odds for side in sides)
        standing = [side for side in sides if best >= LEAST and best - side.log_odds < TIED]
    for side in sides:
        if not any(side is other for other in standing):
            rulings[id(side)].verdict = "rejected"
            rulings[id(side)].cause = _weakness(side)
    for side in sorted(standing, key=strength, reverse=True):
        ruling = rulings[id(side)]
        ruling.rivals = tuple(
            other for other in standing if other is not side and same_thing(question, other, side, expect)
        )
        opponents = _not_rejected(ruling.rivals, rulings)
        if any(_beats(opponent, side) for opponent in opponents):
            ruling.verdict = "rejected"
        elif any(not _beats(side, opponent) for opponent in opponents):
            ruling.verdict = "unresolved"
    for side in standing:
        ruling = rulings[id(side)]
        opponents = _not_rejected(ruling.rivals, rulings)
        if ruling.verdict == "unresolved" and all(_beats(side, opponent) for opponent in opponents):
            ruling.verdict = "accepted"  # what it could not beat was beaten by another
    for side in standing:
        ruling = rulings[id(side)]
        if ruling.verdict == "rejected" and side.log_odds < min(
            STANDS, max(other.log_odds for other in standing)
        ):
            ruling.cause = _weakness(side)  # belief did not make up for how badly it reads
        else:
            ruling.cause = _cause(ruling, _not_rejected(ruling.rivals, rulings), alone=len(sides) == 1)
    return [rulings[id(side)] for side in sides]


def _not_rejected(sides: Sequence[Side], rulings: Mapping[int, Ruling]) -> list[Side]:
    return [side for side in sides if rulings[id(side)].verdict != "rejected"]


def in_doubt(question: str, rulings: Sequence[Ruling], expect: Expectation) -> list[Side]:
    """Return the sides of contradictions whose lead is short, the strongest first: those that belief may
    decide.

    How well passages read settles no contradiction, so that sides which read too badly to stand are among them where
    one answer is expected and no side that stands has more accounts. None is there that another leads by two
    independent accounts, by sources of known reliability, or by its date.
    """
    if expect == "several":
        return [ruling.side for ruling in contested(rulings)]
    sides = [ruling.side for ruling in rulings if ruling.side.log_odds >= PLAUSIBLE]
    if not any(ruling.verdict != "rejected" for ruling in rulings):
        return []
    rivals = {
        id(side): [
            other for other in sides if other is not side and same_thing(question, other, side, expect)
        ]
        for side in sides
    }
    left = [side for side in sides if not any(_shuts_out(rival, side) for rival in rivals[id(side)])]
    doubted = [side for side in left if any(rival is other for rival in rivals[id(side)] for other in left)]
    return sorted(doubted, key=lambda side: (side.merit, side.log_odds), reverse=True)


def contested(rulings: Sequence[Ruling]) -> list[Ruling]:
    """Return the rulings that the weights did not settle."""
    return [ruling for ruling in rulings if ruling.verdict == "unresolved"]


def subject_of(side: Side) -> str:
    """Return what a side is about: its passages' commonest title, else the longest subject that a witness
    named.
    """
    titles = [passage.title for passage in side.passages if passage.title]
    if titles:
        return max(titles, key=titles.count)
    return max((testimony.subject for testimony in side.testimonies), key=len, default="")


def same_thing(question: str, first: Side, second: Side, expect: Expectation = "auto") -> bool:
    """Return whether two sides are about the same thing, as far as their passages show.

    Those with similar texts are. Else titles decide, where both sides have one: of different things each
    names what the other does not. Without titles, subjects do so in the same way. Where neither tells, sides
    are about the same thing, but not where several answers are expected.
    """
    if expect == "one":
        return True
    if any(
        side.kin and _has(rival, side.kin) and max(side.features.get(name, 0) for name in KINDRED) >= ALIKE
        for side, rival in ((first, second), (second, first))
    ):
        return True
    titled = all(any(passage.title for passage in side.passages) for side in (first, second))
    if expect == "several" and not titled:
        return False
    first_names, second_names = _names(question, first), _names(question, second)
    return not (first_names - second_names and second_names - first_names)


def expected(question: str, expect: Expectation) -> Expectation:
    """Return what is expected of a question: a list that it asks for has several answers.

    >>> expected("Who are the directors of the film?", "auto"), expected("Who directed the film?", "auto")
    ('several', 'auto')
    """
    return "several" if expect == "auto" and _ASKS_LIST.search(question) else expect


def strength(side: Side) -> tuple[float, str, float]:
    """Return what a contradiction is decided by: independent accounts, then age, then merit."""
    return round(side.accounts, 2), newest(side), side.merit


def newest(side: Side) -> str:
    """Return the latest date that a side's passages state, empty where none does."""
    return max(map(stated_day, side.passages), default="")


def support_of(side: Side, rivals: Sequence[Side] = ()) -> Support:
    """Return what speaks for a side: its passages and sources, how many of them count, their weight, date and
    chance among rivals.
    """
    return Support(
        passages=len(side.passages),
        sources=len({passage.source for passage in side.passages if passage.source}),
        groups=side.groups,
        weight=round(side.accounts, 4),
        date=newest(side),
        probability=round(chance(side, rivals), 4),
    )


def names_of(question: str, testimony: Testimony) -> frozenset[str]:
    """Return the names and figures that tell a testimony's subject from others, without those of the
    question.

    The title counts when it shares a name with the question, so that a headline is not a subject.

    >>> from disputatio.types import Passage, Reply
    >>> reply = Reply(passages=("p",), answer="12,650", subject="Tarnwick, a port")
    >>> passage = Passage(text="", title="Tarnwick, Vell County")
    >>> sorted(names_of("How large is Tarnwick?", Testimony(passage=passage, reply=reply)))
    ['county', 'vell']
    """
    question_names = {_bare(word) for word in _NAME.findall(question)[1:] if word[0].isupper()}
    title_words = _NAME.findall(testimony.passage.title)
    if not question_names & set(map(_bare, title_words)):
        title_words = []
    names = {
        _bare(word) for word in (*title_words, *_NAME.findall(testimony.subject)) if not word[0].islower()
    }
    return frozenset(names - set(bare_words(question)) - set(bare_words(testimony.answer)) - {""})


def _bare(name: str) -> str:
    """Return a name without case and punctuation, as it is looked for among the words of a question."""
    return " ".join(bare_words(name))


def _names(question: str, side: Side) -> frozenset[str]:
    return frozenset().union(*(names_of(question, testimony) for testimony in side.testimonies))


def _has(side: Side, testimony: Testimony) -> bool:
    return any(own is testimony for own in side.testimonies)


def _beats(side: Side, rival: Side) -> bool:
    """Return whether the weights settle for a side: more accounts, newer, or clearly more merit."""
    settled = _settled(side, rival)
    if settled:
        return settled > 0
    accounts, rival_accounts = round(side.accounts, 2), round(rival.accounts, 2)
    if accounts != rival_accounts and not (side.is_doubted and rival.is_doubted):
        return accounts > rival_accounts
    return side.merit - rival.merit >= CLOSE


def _shuts_out(rival: Side, side: Side) -> bool:
    """Return whether belief is not to be asked of a side, because of a rival that is settled to be better or
    reads better.
    """
    reads_better = rival.log_odds >= STANDS > side.log_odds
    return _settled(rival, side) > 0 or (reads_better and round(rival.accounts - side.accounts, 2) > 0)


def _settled(side: Side, rival: Side) -> int:
    """1 or -1 where accounts or dates decide between two sides, whatever the model believes; 0 where they leave a doubt."""
    (accounts, date, _), (rival_accounts, rival_date, _) = strength(side), strength(rival)
    newer = is_later(date, rival_date) - is_later(rival_date, date)
    lead = accounts - rival_accounts
    if lead and (newer or abs(lead) >= LEAD or side.is_weighed or rival.is_weighed):
        return 1 if lead > 0 else -1
    return newer


def _weakness(side: Side) -> Cause:
    """Return why a side does not stand: the feature that lowers its log-odds most."""
    support = support_of(side)
    feature = weakest(side.features)
    if feature in KINDRED and side.kin is not None:
        return Cause(kind="altered_copy", support=support, rivals=(Rival(answer=side.kin.answer),))
    return Cause(kind="off_topic", support=support, feature=feature)


def _cause(ruling: Ruling, standing: Sequence[Side], *, alone: bool) -> Cause:
    """Return why a side that stood has its verdict; `standing` are the rivals that are not rejected."""
    side, rivals = ruling.side, ruling.rivals
    support = support_of(side, rivals)
    if ruling.verdict == "unresolved":
        equals = [rival for rival in standing if not _beats(side, rival)]
        return Cause(kind="unresolved", support=support, rivals=_rivals(equals, ruling))
    if ruling.verdict == "accepted":
        kind: CauseKind = "unanimous" if alone else "unopposed"
        strongest = max(rivals, key=strength, default=None)
        if strongest is not None and _beats(side, strongest):
            kind = _won(side, strongest)
        return Cause(kind=kind, support=support, rivals=_rivals(rivals, ruling))
    winner = max(standing, key=strength)
    return Cause(kind=_lost(side, winner), support=support, rivals=_rivals([winner], ruling))


def _rivals(sides: Sequence[Side], ruling: Ruling) -> tuple[Rival, ...]:
    """Sides as what the position of a ruling was compared with, the strongest first."""
    among = (ruling.side, *ruling.rivals)
    return tuple(
        Rival(answer=side.answer, support=support_of(side, [other for other in among if other is not side]))
        for side in sorted(sides, key=strength, reverse=True)
    )


def _won(side: Side, rival: Side) -> CauseKind:
    """By what a side beat its strongest rival: votes, then age, then odds."""
    if round(side.accounts, 2) > round(rival.accounts, 2):
        return won_vote(support_of(side), support_of(rival))
    return "newest" if is_later(newest(side), newest(rival)) else "likeliest"


def _lost(side: Side, winner: Side) -> CauseKind:
    """By what a side lost to the strongest that stands: votes, then age, then what moved it, then odds."""
    if round(winner.accounts, 2) > round(side.accounts, 2):
        return lost_vote(support_of(side), support_of(winner))
    if is_later(newest(winner), newest(side)):
        return "older"
    moved_by = min(side.moved, key=lambda name: side.moved[name], default="")
    return MOVED[moved_by] if moved_by and side.moved[moved_by] < 0 else "less_likely"
