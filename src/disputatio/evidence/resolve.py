"""Positions resolved in code: which contradict each other, which are about different things, which stand.

No model decides here. Two answers contradict each other unless each is about something that the other
does not name; a contradiction goes to the position with more independent sources (near copies of a text
are one; Dong et al. 2009), then to the newer, then to the better supported.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from disputatio.evidence.citations import quote_span
from disputatio.evidence.positions import matches
from disputatio.text import normalise, sentences, stem
from disputatio.types import Conflict, ConflictKind, Passage, Position, PositionVerdict, Reply, Source

COPY = 0.5  # share of common word triples from which two texts count as copies
SHORT, NEARLY_EQUAL = 25, 0.9  # below so many words, from which share
IDLE = "which does not speak to the question"  # why a position is rejected before any is weighed
_ORDER = ("accepted", "unresolved", "rejected")
_PLAIN = frozenset(
    [
        "what",
        "which",
        "who",
        "whom",
        "whose",
        "when",
        "where",
        "why",
        "how",
        "is",
        "are",
        "was",
        "were",
        "be",
        "been",
        "do",
        "does",
        "did",
        "has",
        "have",
        "had",
        "can",
        "could",
        "of",
        "in",
        "on",
        "at",
        "to",
        "for",
        "from",
        "by",
        "with",
        "and",
        "or",
        "as",
        "it",
        "its",
        "this",
        "that",
        "there",
        "many",
        "much",
        "year",
        "kind",
        "type",
        "name",
    ]
)  # words of a question that say nothing of its subject
_NAME = re.compile(r"[^\W\d_][\w’'-]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Voice:
    """One agent's reply, its passage, and how much of the question the reply speaks to, in [0, 1]."""

    reply: Reply
    passage: Passage
    support: float


@dataclass(slots=True)
class _Side:
    answer: str
    voices: list[Voice]
    names: frozenset[str] = frozenset()
    votes: float = 0.0
    verdict: PositionVerdict = "accepted"
    against: list[_Side] = field(default_factory=list)

    @property
    def newest(self) -> str:
        return max((one.passage.date for one in self.voices), default="")

    @property
    def support(self) -> float:
        return sum(one.support for one in self.voices) / len(self.voices)

    @property
    def strength(self) -> tuple[float, str, float, int]:
        return self.votes, self.newest, round(self.support, 2), len(self.voices)


def resolve(
    question: str, voices: Sequence[Voice], reliabilities: Mapping[str, float], least: float
) -> tuple[tuple[str, ...], Conflict]:
    """The answers that stand, and all positions with a verdict and a reason each.

    Where two contradict each other and nothing tells them apart, both are given, as unresolved.

    A voice whose support is below `least` does not answer the question: its position is rejected
    before any is weighed, and does not make a conflict.
    """
    sides = _sides(question, [one for one in voices if one.support >= least], reliabilities)
    for side in sorted(sides, key=lambda one: one.strength, reverse=True):
        side.against = [one for one in sides if one is not side and _contradict(one, side)]
        if any(one.verdict != "rejected" and one.strength > side.strength for one in side.against):
            side.verdict = "rejected"
        elif any(one.verdict != "rejected" and one.strength == side.strength for one in side.against):
            side.verdict = "unresolved"
    idle = _sides(question, [one for one in voices if one.support < least], reliabilities)
    positions = [_position(side, _reason(side), side.verdict) for side in sides]
    positions += [_position(side, f"{_told(side)}, {IDLE}", "rejected") for side in idle]
    positions.sort(key=lambda one: _ORDER.index(one.verdict))
    answers = tuple(side.answer for side in sides if side.verdict != "rejected")
    return answers, Conflict(kind=_kind(sides), positions=tuple(positions))


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


def names_of(question: str, voice: Voice) -> frozenset[str]:
    """The names by which a voice tells its subject from others: capitalised words, not the question's.

    The title counts when it shares a name with the question, so that a headline is not a subject.

    >>> passage = Passage(text="", title="Tarnwick, Vell County")
    >>> reply = Reply(passages=("p",), answer="12,650", explanation="Tarnwick in Vell County has 12,650.")
    >>> sorted(names_of("How large is Tarnwick?", Voice(reply=reply, passage=passage, support=1)))
    ['county', 'vell']
    """
    asked = set(normalise(question).split())
    known = {normalise(word) for word in _NAME.findall(question)[1:] if word[0].isupper()}
    titled = _NAME.findall(voice.passage.title)
    names = {word for word in titled if word[0].isupper()} if known & set(map(normalise, titled)) else set()
    for start, end in sentences(voice.reply.explanation):
        words = _NAME.findall(voice.reply.explanation[start:end])
        names.update(word for word in words[1:] if word[0].isupper())
    own = {normalise(word) for word in names}
    return frozenset(own - asked - set(normalise(voice.reply.answer).split()) - {""})


def content_stems(question: str) -> frozenset[str]:
    """The stems of a question's content words.

    >>> sorted(content_stems("When was the harbour wall built?"))
    ['built', 'harbo', 'wall']
    """
    return frozenset(stem(word) for word in normalise(question).split() if word not in _PLAIN)


def fit(question: str, reply: Reply, passage: Passage) -> float:
    """The share of the question's content words that a reply speaks to.

    It speaks by its explanation, the sentences of the passage that give the answer, and the title.

    >>> reply = Reply(passages=("p",), answer="the crew", explanation="The crew left the harbour.")
    >>> fit("Who built the harbour wall?", reply, Passage(text=""))
    0.3333333333333333
    """
    asked = content_stems(question)
    span = quote_span(passage, reply.answer, reply)
    told = [passage.text[a:b] for a, b in sentences(passage.text) if span and a < span[1] and b > span[0]]
    words = normalise(" ".join([passage.title, reply.explanation, *told])).split()
    said = {stem(word) for word in words}
    return len(asked & said) / len(asked) if asked else 1.0


def independent(passages: Sequence[Passage]) -> list[list[Passage]]:
    """Passages in groups that count as one voice: of one owner or source, or near copies of a text."""
    groups: list[list[Passage]] = []
    for passage in passages:
        own = passage.owner or passage.source
        for group in groups:
            if any((own and own == (one.owner or one.source)) or _is_copy(passage, one) for one in group):
                group.append(passage)
                break
        else:
            groups.append([passage])
    return groups


def likeness(one: str, other: str) -> float:
    """The share of word triples that two texts have in common (Jaccard).

    >>> likeness("a ship left the quay", "a ship left the quay"), likeness("a ship left", "no boat came")
    (1.0, 0.0)
    """
    first, second = _triples(one), _triples(other)
    return len(first & second) / len(first | second)


def _is_copy(one: Passage, other: Passage) -> bool:
    """Whether two texts are copies; short ones are alike by chance, so they must be nearly equal."""
    short = min(len(one.text.split()), len(other.text.split())) < SHORT
    return likeness(one.text, other.text) >= (NEARLY_EQUAL if short else COPY)


def _triples(text: str) -> set[tuple[str, ...]]:
    words = normalise(text).split()
    return {tuple(words[at : at + 3]) for at in range(max(len(words) - 2, 1))}


def _sides(question: str, voices: Sequence[Voice], reliabilities: Mapping[str, float]) -> list[_Side]:
    sides: list[_Side] = []
    unknown = 0.5 if reliabilities else 1.0  # where something is known of others, a stranger is at chance
    for voice in voices:
        same = [one for one in sides if matches(one.answer, voice.reply.answer)]
        if same:
            same[0].voices.append(voice)
        else:
            sides.append(_Side(voice.reply.answer, [voice]))
    for side in sides:
        named = [names_of(question, one) for one in side.voices]
        side.names = frozenset().union(*named)
        groups = independent([one.passage for one in side.voices])
        side.votes = sum(max(reliabilities.get(one.source, unknown) for one in group) for group in groups)
    return sides


def _contradict(one: _Side, other: _Side) -> bool:
    """Whether two positions are about one thing: copies are; else each must name what the other does not."""
    if any(_is_copy(a.passage, b.passage) for a in one.voices for b in other.voices):
        return True
    return not (one.names - other.names and other.names - one.names)


def _position(side: _Side, reason: str, verdict: PositionVerdict) -> Position:
    titles = [one.passage.title for one in side.voices if one.passage.title]
    return Position(
        answer=side.answer,
        subject=max(titles, key=titles.count) if titles else "",
        verdict=verdict,
        reason=reason,
        passages=tuple(one.passage.id for one in side.voices),
        sources=tuple(dict.fromkeys(one.passage.source for one in side.voices if one.passage.source)),
        weight=round(side.votes, 4),
    )


def _reason(side: _Side) -> str:
    winners = [one for one in side.against if one.verdict != "rejected"]
    if side.verdict == "unresolved":
        equals = " and ".join(one.answer for one in winners if one.strength == side.strength)
        return f"{_told(side)}, as well told as {equals}: nothing that was read settles it"
    if side.verdict == "accepted":
        beaten = [one for one in side.against if one.verdict == "rejected"]
        against = f", against {', '.join(f'{_told(one, short=True)} for {one.answer}' for one in beaten)}"
        return _told(side) + (against if beaten else "")
    winner = max(winners, key=lambda one: one.strength)
    if winner.votes > side.votes:
        against = (
            f"{_told(side)}, against {_told(winner, short=True)} for {winner.answer} about the same thing"
        )
        if len(winner.voices) > len(side.voices):
            return against
        return (
            f"{against}, whose sources have the better record ({winner.votes:.2f} against {side.votes:.2f})"
        )
    if winner.newest > side.newest:
        dated = f"last dated {side.newest}" if side.newest else "undated"
        return f"{_told(side)}, {dated}, older than {winner.answer} ({winner.newest})"
    clearly = f"{side.support:.0%} against {winner.support:.0%}"
    return f"{_told(side)}, as well told as {winner.answer} but less clearly ({clearly})"


def _told(side: _Side, *, short: bool = False) -> str:
    passages = len(side.voices)
    groups = len(independent([one.passage for one in side.voices]))
    of = f"{passages} passage{'s' * (passages > 1)}"
    if groups < passages:
        of += f" that count as {groups} (copies, or one owner)"
    return of if short else f"told by {of}"


def _is_outdated(side: _Side) -> bool:
    """Whether a position lost to a newer one and not to more votes."""
    winners = [one for one in side.against if one.verdict != "rejected"]
    return bool(side.newest) and any(one.newest > side.newest and one.votes <= side.votes for one in winners)


def _kind(sides: Sequence[_Side]) -> ConflictKind:
    accepted = [one for one in sides if one.verdict == "accepted"]
    rejected = [one for one in sides if one.verdict == "rejected"]
    if len(accepted) + len(rejected) < len(sides):
        return "unresolved"
    if rejected:
        older = all(
            one.newest
            and any(other.votes <= one.votes and other.newest > one.newest for other in one.against)
            for one in rejected
        )
        return "outdated" if older else "misinformation"
    return "ambiguity" if len(accepted) > 1 else "none"
