"""Resolving sides in code: which answer the question, which contradict each other, and which win.

No model decides here. A side stands if its own log-odds are even or better (`sides`). Of two that stand, are about the
same thing and differ in the answer, the one with more independent sources wins (near copies of a text are one; Dong et
al. 2009), then the newer, then the one with the better contest score; different things keep their own
answers. Before all that, a side whose documents are superseded by those of another one falls to it, whatever votes it has.

A planted text often reads better than a true one, so a short lead is open to doubt (`sides_in_doubt`): the sides that it
is about, those that read too badly to stand among them, are put to the model's belief, and the contest score decides.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import starmap
from types import MappingProxyType
from typing import Literal

from disputatio.attribution.compared_votes import lost_vote, won_vote
from disputatio.authority import highest_tier
from disputatio.causes import Cause, Rival, Support
from disputatio.reliability.succession import changes_elsewhere, is_later_published
from disputatio.strategies.disputation.reading import PassageReading
from disputatio.strategies.disputation.sides import ACCOUNTS, Feature, Side, successor_of, unfit, weakest
from disputatio.text import bare_words
from disputatio.types import Conflict, ConflictKind, Position, PositionVerdict
from disputatio.values import is_yes_or_no
from disputatio.versions.dates import is_later, known_day
from disputatio.versions.families import family_names

# The steps that move a side after it is weighed, and the cause if it falls by one.
MOVED: Mapping[str, str] = MappingProxyType(
    {"look": "fits_less", "belief": "disbelieved", "debate": "yielded"}
)
SIMILARITIES: tuple[Feature, ...] = ("kinship", "resemblance")
ALIKE = 0.8  # similarity from which two passages are taken to be about the same thing
TIED = 1e-9  # log-odds apart: the rounding of a tie
CLOSE = 0.5  # contest scores apart: closer sides are left open, the likelier first
WELL_READ = 1.1  # log-odds of the encoder that a passage answers, from which it is sure
STANDS = 0.0  # log-odds from which a side stands: even odds
PLAUSIBLE = -5.0  # log-odds from which a side may be the right one where a lead is open to doubt
DATED = ACCOUNTS * math.log(2)  # of the contest score: what a later date that decides weighs
CLEAR_LEAD = 2  # independent accounts by which a side must lead for its contradiction to be settled
LEAST = -2.2  # log-odds below which not even the best side is an answer: one in ten

_BY_READING = ("unanimous", "unopposed", "likeliest")  # causes to which a joint look adds that of its own

Expectation = Literal["auto", "one", "several"]

# A question for all that there are: "who are the directors", "name the towns".
_ASKS_LIST = re.compile(
    r"^\s*(?:name|list)\b|\b(?:who|what|which)\s+(?:\w+\s+){0,2}(?:are|were)\s+(?:the|all|its|his|her|their)\b",
    re.IGNORECASE,
)

_NAME = re.compile(r"[^\W_][\w’'-]*")
# Words of titles that say what kind of paper it is, not of what.
_PAPERS = frozenset(bare_words(
    "data sheet datasheet page website web shop price list catalogue catalog manual handbook guide specification "
    "specifications spec brochure leaflet flyer faq notice press release datenblatt preisliste handbuch anleitung "
    "prospekt fiche technique notice tarif catalogue"
)) | {""}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedSide:
    """A side with its verdict, the cause, and its rivals: the sides that are about the same thing."""

    side: Side
    verdict: PositionVerdict
    cause: Cause
    rivals: tuple[Side, ...] = ()

    @property
    def probability(self) -> float:
        """The probability that the answer is right: that it is what is asked for, times its share among its rivals."""
        if self.side.is_superseded and self.rivals:
            return min(chance(self.side, ()), 1 - max(chance(rival, ()) for rival in self.rivals)) / 2
        return chance(self.side, self.rivals)


def chance(side: Side, rivals: Sequence[Side]) -> float:
    """Return how likely a side is the right one among those that contradict it.

    It answers as likely as its passages read; once belief was asked, as likely as the best of all reads. A later date
    that decides weighs as much as two accounts to one.
    """
    among = (side, *rivals)
    scores = [
        each.contest_score - (DATED if any(_is_outdated(each, other) for other in among) else 0.0)
        for each in among
    ]
    shares = [math.exp(score - max(scores)) for score in scores]
    answers = max(each.probability for each in among) if side.is_doubted else side.probability
    return answers * shares[0] / sum(shares)


def _is_outdated(side: Side, rival: Side) -> bool:
    """Return whether a rival is newer than a side and has as many accounts, so that the date decides."""
    return is_newer(rival, side) and round(rival.accounts, 2) >= round(side.accounts, 2)


def resolve(question: str, sides: Sequence[Side], *, expect: Expectation = "auto") -> list[ResolvedSide]:
    """Decide on each side, in their order.

    Sides that are likely enough to answer stand; if none is, the best one, unless it is hopeless. `expect` is how
    many answers the question has: `one`, `several` where things of one name have their own, or `auto`.
    """
    fallen = {
        number: heir for number, side in enumerate(sides) if (heir := successor_of(side, sides)) is not None
    }
    standing = [number for number in _find_standing(sides) if number not in fallen]
    rivals = {
        number: [
            other
            for other in standing
            if other != number and same_thing(question, sides[other], sides[number], expect)
        ]
        for number in standing
    }
    rejected = _beaten(
        {
            number: {other for other in others if _beats(sides[other], sides[number])}
            for number, others in rivals.items()
        }
    )
    best = max((sides[number].log_odds for number in standing), default=0.0)
    resolved = []
    for number, side in enumerate(sides):
        if side.is_retracted:
            cause = Cause(kind="retracted", support=support_of(side))
            resolved.append(ResolvedSide(side=side, verdict="rejected", cause=cause))
            continue
        if number in fallen:
            newer = sides[fallen[number]]
            resolved.append(
                ResolvedSide(
                    side=side, verdict="rejected", cause=_explain_supersession(side, newer), rivals=(newer,)
                )
            )
            continue
        if number not in rivals:
            resolved.append(ResolvedSide(side=side, verdict="rejected", cause=_weakness(side)))
            continue
        left = [sides[other] for other in rivals[number] if other not in rejected]
        verdict: PositionVerdict = "rejected"
        if number not in rejected:
            verdict = "accepted" if all(_beats(side, other) for other in left) else "unresolved"
        opponents = [sides[other] for other in rivals[number]]
        if verdict == "rejected" and side.log_odds < min(STANDS, best):
            cause = _weakness(side)  # belief did not make up for how badly it reads
        else:
            cause = _cause(side, verdict, opponents, left, alone=len(sides) == 1)
            older = [sides[other] for other, heir in fallen.items() if heir == number]
            if cause.kind == "unopposed" and older:
                cause = replace(cause, kind="in_force", rivals=_rivals(side, older, older))
        if side.is_talk:
            cause = replace(cause, feature="talk")
        resolved.append(ResolvedSide(side=side, verdict=verdict, cause=cause, rivals=tuple(opponents)))
    return resolved


def _beaten(beaten_by: Mapping[int, Collection[int]]) -> set[int]:
    """Return the sides that fall, given by which rivals each is beaten: to one that does not fall itself.

    A side stands once all that beat it have fallen, and fells those that it beats: the grounded extension of
    Dung (1995). Dates, votes and succession need not order sides in one line; those in a circle stay open.

    >>> _beaten({0: [], 1: [0], 2: [1]}), _beaten({0: [1], 1: [2], 2: [0]})
    ({1}, set())
    """
    fallen: set[int] = set()
    while True:
        firm = {number for number, winners in beaten_by.items() if fallen.issuperset(winners)}
        now = {number for number, winners in beaten_by.items() if not firm.isdisjoint(winners)}
        if now == fallen:
            return fallen
        fallen = now


def _find_standing(sides: Sequence[Side]) -> list[int]:
    """Return the numbers of the sides that stand; of the best ones that are not hopeless if none does.

    What is only said in conversations stands where nothing else does.
    """
    fit = [number for number, side in enumerate(sides) if _may_stand(side)]
    documents = [number for number in fit if not sides[number].is_talk]
    return _best_of(sides, documents) or _best_of(sides, fit)


def _best_of(sides: Sequence[Side], fit: Sequence[int]) -> list[int]:
    standing = [
        number
        for number in fit
        if sides[number].log_odds >= STANDS or sides[number].is_doubted or sides[number].is_picked
    ]
    if standing or not fit:
        return standing
    best = max(sides[number].log_odds for number in fit)
    return [number for number in fit if best >= LEAST and best - sides[number].log_odds < TIED]


def _may_stand(side: Side) -> bool:
    """Return whether a side may be an answer at all: it fits the question, and people did not retract it.

    What a joint look picked is of what is asked, whatever words its passage has.
    """
    fault = unfit(side.features)
    return (fault is None or (fault == "ground" and side.is_picked)) and not side.is_retracted


def sides_in_doubt(question: str, resolved: Sequence[ResolvedSide], expect: Expectation) -> list[int]:
    """Return the numbers of the sides that belief may decide between, the strongest first.

    They contradict each other, and the lead is short. How well passages read settles no contradiction, so sides
    that read too badly to stand are among them if one answer is expected and no side that stands has more
    accounts. A side is left out if another leads by two independent accounts, by sources of known reliability,
    or by its date.
    """
    if expect == "several":
        return [number for number, each in enumerate(resolved) if is_open(each)]
    if all(each.verdict == "rejected" for each in resolved):
        return []
    sides = [each.side for each in resolved]
    plausible = [
        number
        for number, side in enumerate(sides)
        if side.log_odds >= PLAUSIBLE and _may_stand(side) and successor_of(side, sides) is None
    ]
    plausible = without_talk(sides, plausible)
    rivals = {
        number: [
            other
            for other in plausible
            if other != number and same_thing(question, sides[other], sides[number], expect)
        ]
        for number in plausible
    }
    left = [
        number
        for number in plausible
        if not any(_shuts_out(sides[other], sides[number]) for other in rivals[number])
    ]
    doubted = [number for number in left if set(rivals[number]) & set(left)]
    return sorted(
        doubted, key=lambda number: (sides[number].contest_score, sides[number].log_odds), reverse=True
    )


def without_talk(sides: Sequence[Side], numbers: Sequence[int]) -> list[int]:
    """Return the numbers of those sides that are of documents; all of them where none is."""
    return [number for number in numbers if not sides[number].is_talk] or list(numbers)


def is_open(resolved: ResolvedSide) -> bool:
    """Return whether the weights left a side unresolved."""
    return resolved.verdict == "unresolved"


def find_disputed(resolved: Sequence[ResolvedSide]) -> list[ResolvedSide]:
    """Return the sides that contradict each other where none leads by two independent accounts.

    What a conversation says otherwise is one account: it wins nothing, but more is looked for.
    """
    disputed: list[ResolvedSide] = []
    talk = any(each.side.is_talk for each in resolved)
    for each in resolved:
        if each.verdict == "rejected" or each.side.is_talk or not (each.rivals or talk):
            continue
        best = max((rival.groups for rival in each.rivals), default=1)
        if is_open(each) or each.side.groups - best < CLEAR_LEAD:
            rivals = [other for other in resolved if any(other.side is rival for rival in each.rivals)]
            disputed += [other for other in (each, *rivals) if not any(other is known for known in disputed)]
    return disputed


def subject_of(side: Side) -> str:
    """Return the subject of a side: its passages' commonest title, else the longest subject of a reading."""
    titles = [passage.title for passage in side.passages if passage.title]
    if titles:
        return max(titles, key=titles.count)
    return max((reading.subject for reading in side.readings), key=len, default="")


def same_thing(question: str, first: Side, second: Side, expect: Expectation = "auto") -> bool:
    """Return whether two sides are about the same thing, as far as their passages show.

    Versions of one document are, and those with similar texts. Else titles decide, if both sides have one: of different things each has a
    name that the other lacks. Without titles, what a trained reader tells of two passages decides, and subjects in the
    same way as titles. If neither does, sides are about the same thing, unless several answers are expected.
    """
    if expect == "one" or _is_surely_same(first, second):
        return True
    titled = _are_titled(first, second)
    if not titled and (expect == "several" or any(each.id in first.apart for each in second.passages)):
        return False
    first_names, second_names = _names(question, first), _names(question, second)
    return not (first_names - second_names and second_names - first_names)


def may_be_namesakes(question: str, first: Side, second: Side, expect: Expectation) -> bool:
    """Return whether two sides are taken to be about the same thing only since nothing says otherwise."""
    told = _is_surely_same(first, second) or _are_titled(first, second)
    return expect == "auto" and not told and same_thing(question, first, second, expect)


def _are_titled(first: Side, second: Side) -> bool:
    return all(any(passage.title for passage in side.passages) for side in (first, second))


def _is_surely_same(first: Side, second: Side) -> bool:
    """Return whether sides have versions of one document or similar texts, or say yes or no to what the question names."""
    if _of_one_family(first, second) or (is_yes_or_no(first.answer) and is_yes_or_no(second.answer)):
        return True
    return any(
        side.most_similar
        and any(side.most_similar is reading for reading in rival.readings)
        and max(side.features.get(name, 0) for name in SIMILARITIES) >= ALIKE
        for side, rival in ((first, second), (second, first))
    )


def _of_one_family(first: Side, second: Side) -> bool:
    """Return whether two sides have versions of one document: no namesakes, though their titles differ."""
    return any(
        (mine.version or theirs.version)
        and mine.title != theirs.title
        and family_names(mine) & family_names(theirs)
        for mine in first.passages
        for theirs in second.passages
    )


def expectation_of(question: str, expect: Expectation) -> Expectation:
    """Return how many answers to expect of a question: one that asks for a list has several.

    >>> expectation_of("Who are the directors?", "auto"), expectation_of("Who directed the film?", "auto")
    ('several', 'auto')
    """
    return "several" if expect == "auto" and _ASKS_LIST.search(question) else expect


def strength(side: Side) -> tuple[float, float]:
    """Return the key by which sides are ordered: independent accounts, then contest score."""
    return round(side.accounts, 2), side.contest_score


def newest(side: Side) -> str:
    """Return the latest date of a side's passages, empty where none has one."""
    return max(map(known_day, side.documents), default="")


def is_newer(side: Side, rival: Side) -> bool:
    """Return whether one is newer than another, never by a date against none, nor by one that is still to come.

    Of one publisher all dates count that tell; between publishers those of records and persons, since words and
    names of files are written by anybody. What names less of the question is about something else, and is not newer,
    unless both are of one family.
    """
    return bool(_later_days(side, rival)) and not _later_days(rival, side)


def _later_days(side: Side, rival: Side) -> tuple[str, ...]:
    """Return the two days by which a side is later than another, its own first; none if it is not."""
    if side.named < rival.named and not _of_one_family(side, rival) and not _is_well_read(side, rival):
        return ()
    pairs = [(mine, theirs) for mine in side.documents for theirs in rival.documents]
    # The date of a notice says nothing of the sections that it leaves alone.
    if is_later(side.stated_day, rival.stated_day) and not all(starmap(changes_elsewhere, pairs)):
        return side.stated_day, rival.stated_day
    published = [
        (known_day(mine), known_day(theirs))
        for mine, theirs in pairs
        if is_later_published(mine, theirs) and not is_later(known_day(mine), side.today)
    ]
    return max(published, default=())


def _is_well_read(side: Side, rival: Side) -> bool:
    """Return whether a side is of the source of its rival, and taken for an answer by the reader of both.

    Whoever writes again of the same need not name it in full. A model that was trained to read tells that itself.
    """
    sources = {passage.source for passage in rival.passages if passage.source}
    by_trained = all(reading.by_trained for reading in (*side.readings, *rival.readings))
    return (by_trained or side.features.get("answered", 0.0) >= WELL_READ) and any(
        each.source in sources for each in side.passages
    )


def support_of(side: Side, rivals: Sequence[Side] = ()) -> Support:
    """Return the support of a side, with its chance among rivals."""
    return Support(
        passages=len(side.passages),
        sources=len({passage.source for passage in side.passages if passage.source}),
        groups=side.groups,
        joined=side.joined if side.groups < len(side.passages) else (),
        weight=round(side.accounts, 4),
        date=newest(side),
        probability=round(chance(side, rivals), 4),
        authority=highest_tier(side.passages),
        declared=round(side.declared, 4) if side.declared else None,
    )


def names_of(question: str, reading: PassageReading) -> frozenset[str]:
    """Return the names and figures that tell a reading's subject from others, without the question's.

    The title counts when it shares a name with the question, so that a headline is not a subject.

    >>> from disputatio.types import Passage, Reply
    >>> reply = Reply(passages=("p",), answer="12,650", subject="Tarnwick, a port")
    >>> passage = Passage(text="", title="Tarnwick, Vell County")
    >>> sorted(names_of("How large is Tarnwick?", PassageReading(passage=passage, reply=reply)))
    ['county', 'vell']
    """
    question_names = {_bare(word) for word in _NAME.findall(question)[1:] if word[0].isupper()}
    title_words = _NAME.findall(reading.passage.title)
    if not question_names & set(map(_bare, title_words)):
        title_words = []
    names = {_bare(word) for word in (*title_words, *_NAME.findall(reading.subject)) if not word[0].islower()}
    return frozenset(names - set(bare_words(question)) - set(bare_words(reading.answer)) - _PAPERS)


def _bare(name: str) -> str:
    """Return a name without case and punctuation."""
    return " ".join(bare_words(name))


def _names(question: str, side: Side) -> frozenset[str]:
    return frozenset().union(*(names_of(question, reading) for reading in side.readings))


def _beats(side: Side, rival: Side) -> bool:
    """Return whether the weights settle for a side: more accounts, newer, or a clearly better contest score."""
    if settled := _settle(side, rival):
        return settled > 0
    accounts, rival_accounts = round(side.accounts, 2), round(rival.accounts, 2)
    if accounts != rival_accounts and not (side.moved and rival.moved):
        return accounts > rival_accounts
    return side.contest_score - rival.contest_score >= CLOSE


def _shuts_out(rival: Side, side: Side) -> bool:
    """Return whether a rival that is settled to be better, or reads better, keeps a side from being doubted."""
    reads_better = rival.log_odds >= STANDS > side.log_odds
    return _settle(rival, side) > 0 or (reads_better and round(rival.accounts - side.accounts, 2) > 0)


def _settle(side: Side, rival: Side) -> int:
    """Return 1 or -1 if accounts or dates decide between two sides, whatever the model believes; else 0."""
    newer = is_newer(side, rival) - is_newer(rival, side)
    lead = round(side.accounts, 2) - round(rival.accounts, 2)
    if lead and (newer or abs(lead) >= CLEAR_LEAD or side.is_weighed or rival.is_weighed):
        return 1 if lead > 0 else -1
    return newer


def _explain_supersession(side: Side, heir: Side) -> Cause:
    """Return why a side is superseded: the words of either document that say so."""
    claim = max(side.superseded.values(), key=lambda each: bool(each.quote))
    # The dates are those of the two documents: of a side with several the latest one may be of another.
    older, newer = replace(support_of(side), date=known_day(claim.older)), support_of(heir)
    if any(claim.newer.id == passage.id for passage in heir.passages):
        newer = replace(newer, date=known_day(claim.newer))
    return Cause(
        kind="superseded",
        support=older,
        rivals=(Rival(answer=heir.answer, support=newer),),
        succession=claim.kind,
        quote=claim.quote,
    )


def set_later(side: Side) -> ResolvedSide:
    """Return a side whose documents are later than what is asked for, set aside."""
    return ResolvedSide(side=side, verdict="rejected", cause=Cause(kind="later", support=support_of(side)))


def _weakness(side: Side) -> Cause:
    """Return why a side does not stand: the feature that lowers its log-odds most."""
    support = support_of(side)
    feature = unfit(side.features) or ("talk" if side.is_talk else weakest(side.features))
    if feature in SIMILARITIES and side.most_similar is not None:
        return Cause(kind="altered_copy", support=support, rivals=(Rival(answer=side.most_similar.answer),))
    return Cause(kind="off_topic", support=support, feature=feature)


def _cause(
    side: Side, verdict: PositionVerdict, rivals: Sequence[Side], left: Sequence[Side], *, alone: bool
) -> Cause:
    """Return why a side that stood has its verdict; `left` are the rivals that are not rejected."""
    support = support_of(side, rivals)
    if verdict == "unresolved":
        equals = [rival for rival in left if not _beats(side, rival)]
        return Cause(kind="unresolved", support=support, rivals=_rivals(side, equals, rivals))
    if verdict == "accepted":
        kind: str = "unanimous" if alone else "unopposed"
        strongest = max(rivals, key=strength, default=None)
        if strongest is not None and _beats(side, strongest):
            kind = _won(side, strongest)
        if side.is_picked and kind in _BY_READING:
            kind = "fits_best"
        cause = Cause(kind=kind, support=support, rivals=_rivals(side, rivals, rivals))
        return _date(cause, *_later_days(side, strongest)) if strongest and kind == "newest" else cause
    winner = max((rival for rival in left if _beats(rival, side)), key=strength)
    cause = Cause(kind=_lost(side, winner), support=support, rivals=_rivals(side, [winner], rivals))
    return _date(cause, *reversed(_later_days(winner, side))) if cause.kind == "older" else cause


def _date(cause: Cause, day: str, rival_day: str) -> Cause:
    """Return a cause with the two days that decided: of a side with several passages the latest day may be of another."""
    first, *others = cause.rivals
    compared = replace(first, support=replace(first.support, date=rival_day))
    return replace(cause, support=replace(cause.support, date=day), rivals=(compared, *others))


def _rivals(side: Side, named: Sequence[Side], rivals: Sequence[Side]) -> tuple[Rival, ...]:
    """Return the rivals that a cause names, the strongest first, each with its chance among all of them."""
    among = (side, *rivals)
    return tuple(
        Rival(answer=each.answer, support=support_of(each, [other for other in among if other is not each]))
        for each in sorted(named, key=strength, reverse=True)
    )


def _won(side: Side, rival: Side) -> str:
    """Return why a side beat its strongest rival: votes, then date, then odds."""
    if round(side.accounts, 2) > round(rival.accounts, 2):
        return (
            "higher_authority" if _is_declared(side, rival) else won_vote(support_of(side), support_of(rival))
        )
    return "newest" if is_newer(side, rival) else "likeliest"


def _is_declared(side: Side, rival: Side) -> bool:
    """Return whether what people declared, and not what was learnt, gives a side its lead."""
    return round(side.accounts - side.declared, 2) <= round(rival.accounts - rival.declared, 2)


def _lost(side: Side, winner: Side) -> str:
    """Return why a side lost to the strongest that stands: votes, then date, then the step that spoke most against it, then
    odds.
    """
    if round(winner.accounts, 2) > round(side.accounts, 2):
        return (
            "lower_authority"
            if _is_declared(winner, side)
            else lost_vote(support_of(side), support_of(winner))
        )
    if is_newer(winner, side):
        return "older"
    against = {step: -moved for step, moved in side.moved.items()}
    if winner.is_picked:
        against["look"] = winner.moved["look"]
    step = max(against, key=lambda step: against[step], default="")
    return MOVED[step] if step and against[step] > 0 else "less_likely"


# --- as a conflict ---------------------------------------------------------------------------------
_ORDER = ("accepted", "unresolved", "rejected")

_GRAVEST: tuple[ConflictKind, ...] = (
    "unresolved",
    "misinformation",
    "outdated",
    "opinion",
    "ambiguity",
    "none",
)


def join_conflicts(parts: Sequence[Conflict]) -> Conflict:
    """Join the conflicts over the parts of a question: all positions, and the gravest kind.

    >>> join_conflicts([Conflict(kind="none"), Conflict(kind="outdated")]).kind
    'outdated'
    """
    positions = [position for part in parts for position in part.positions]
    positions.sort(key=_by_verdict)
    return Conflict(kind=min((part.kind for part in parts), key=_GRAVEST.index), positions=tuple(positions))


_NO_ANSWER = ("off_topic", "altered_copy")


def conflict_of(resolved: Sequence[ResolvedSide]) -> Conflict:
    """Return the conflict: its kind, and every side as a position, accepted, unresolved, rejected."""
    positions = [
        Position(
            answer=each.side.answer,
            subject=subject_of(each.side),
            aliases=each.side.aliases,
            verdict=each.verdict,
            cause=each.cause,
            probability=round(each.probability, 4),
            passages=tuple(passage.id for passage in each.side.passages),
            sources=tuple(dict.fromkeys(passage.source for passage in each.side.passages if passage.source)),
            weight=round(each.side.accounts, 4),
            moved={step: round(log_odds, 4) for step, log_odds in each.side.moved.items()},
        )
        for each in sorted(
            resolved, key=lambda each: -each.side.log_odds
        )  # of equals, what reads better first
    ]
    # How likely a position is right holds among those about the same thing; one that does not answer is not likelier
    # than what stands, nor likely where nothing does.
    least = min((each.probability or 0.0 for each in positions if each.verdict != "rejected"), default=0.5)
    positions = [
        replace(each, probability=min(each.probability or 0.0, least))
        if each.verdict == "rejected" and each.cause.kind in _NO_ANSWER
        else each
        for each in positions
    ]
    positions.sort(key=_by_verdict)
    return Conflict(kind=_kind(resolved), positions=tuple(positions))


def _by_verdict(position: Position) -> tuple[int, float]:
    """Return the sort key of positions: accepted ones first, then open ones, each the likelier first."""
    return _ORDER.index(position.verdict), -(position.probability or 0.0)


def _is_beaten(each: ResolvedSide, off: set[str]) -> bool:
    """Return whether a side was rejected for a better one, and neither is off topic (`off`, by their answers)."""
    superseded = each.cause.kind == "superseded"
    no_answer = superseded and (unfit(each.side.features) or off & {rival.answer for rival in each.rivals})
    return each.verdict == "rejected" and each.side.answer not in off and not no_answer


def _kind(resolved: Sequence[ResolvedSide]) -> ConflictKind:
    if any(each.verdict == "unresolved" for each in resolved):
        return "unresolved"
    off = {each.side.answer for each in resolved if each.cause.kind in ("off_topic", "retracted")}
    beaten = [each for each in resolved if _is_beaten(each, off)]
    if beaten:
        older = all(each.cause.kind in ("superseded", "older", "later") for each in beaten)
        return "outdated" if older else "misinformation"
    return "ambiguity" if sum(each.verdict == "accepted" for each in resolved) > 1 else "none"
