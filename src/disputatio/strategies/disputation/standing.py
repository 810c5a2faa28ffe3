"""How well a position stands: the log-odds that its passages answer the question, and what speaks for it among others.

The log-odds are a logistic model over seven features that any set of passages has; none needs a model call.
Its weights were fitted on rows of RAMDocs and NQ (decision 023); a joint fit over five corpora
(`bench/verdict/weights.py`) does worse on RAMDocs and is not in use. What speaks for one of two answers that
contradict each other (`Side.merit`) is apart from that: how many independent accounts give it, and what belief and
debate said.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from disputatio.reliability.similarity import content_stems, independent, is_account, kinship, linked
from disputatio.strategies.disputation.form import is_of_the_kind
from disputatio.strategies.disputation.testimony import Testimony
from disputatio.text import bare_words, stem
from disputatio.types import Passage
from disputatio.values import canonical, contradicts, groups, matches

Feature = Literal["votes", "lead", "certainty", "prose", "answered", "kind", "kinship", "resemblance"]
Alike = Callable[[Sequence[tuple[Passage, Passage]]], Sequence[float | None]]
"""How alike the passages of each pair are, in [-1, 1]; None where nobody tells."""
LEAD = 200  # characters of a passage in which it says what it is about
SURELY_NOT = 0.02  # the probability from which one is as good as another
BIAS = 0.55
# feature: (weight, what it usually is); a feature that is left out or unknown counts as usual.
WEIGHTS: Mapping[Feature, tuple[float, float]] = MappingProxyType(
    {
        "votes": (2.3, 0.21),
        "lead": (1.7, 0.58),
        "certainty": (3.9, -0.11),
        "prose": (5.6, 0.52),
        "answered": (1.7, 0.77),
        "kind": (1.0, 0.96),  # set: too seldom unlike the question to be fitted
        "kinship": (-5.2, 0.22),  # with better-ranked passages of another answer
        "resemblance": (-2.1, 0.37),  # with any passage of another answer, where ranks are not trusted
    }
)
# What speaks for one of two answers that contradict each other: a second account as much as a clear belief (asking.py).
ACCOUNTS = 2.5
READING = 0.2  # of each of the log-odds below even ones that its passages answer at all


@dataclass(slots=True, kw_only=True)
class Side:
    """The testimonies that give one answer; `votes` is what they count for, `log_odds` that its passages answer the question.

    `voters` are those that count, by name and weight, where one story told again by unknown sources has one.
    `kin` is the testimony with another answer that one of its own is most like; `features` are
    what its log-odds come from, `moved` by how much what was asked afterwards moved its merit.
    """

    answer: str
    testimonies: list[Testimony]
    votes: float = 0.0
    voters: list[tuple[str, float]] = field(default_factory=list)
    features: dict[Feature, float] = field(default_factory=dict)
    log_odds: float = 0.0
    moved: dict[str, float] = field(default_factory=dict)
    kin: Testimony | None = None

    @property
    def is_doubted(self) -> bool:
        """Whether the model was asked what it holds of it, since the lead in its contradiction is short."""
        return "belief" in self.moved

    @property
    def is_weighed(self) -> bool:
        """Whether the reliability of a source of it is known, so that its accounts are more than a count."""
        return any(weight != 1.0 for _, weight in self.voters)

    @property
    def accounts(self) -> float:
        """What its voters weigh together; its votes where nobody looked for retellings."""
        return sum(weight for _, weight in self.voters) if self.voters else self.votes

    @property
    def groups(self) -> int:
        """How many voters it has, whatever each weighs."""
        return len(self.voters) if self.voters else len(independent(self.passages))

    @property
    def merit(self) -> float:
        """What speaks for it against answers that contradict it: independent accounts, belief and debate.

        How well its passages read is no part of it, for what is written to deceive reads well; that they read too
        badly to stand speaks a little against it. How often one story is told again is no part either.
        """
        accounts = ACCOUNTS * math.log(max(self.accounts, 0.05))
        return accounts + READING * min(self.log_odds, 0.0) + sum(self.moved.values())

    @property
    def passages(self) -> list[Passage]:
        """The passages that give the answer, best first."""
        return [testimony.passage for testimony in self.testimonies]

    @property
    def aliases(self) -> tuple[str, ...]:
        """The other forms in which its passages give the answer, as met."""
        forms = {
            str(canonical(testimony.answer)): testimony.answer for testimony in reversed(self.testimonies)
        }
        forms.pop(str(canonical(self.answer)), None)
        return tuple(reversed(forms.values()))

    @property
    def probability(self) -> float:
        """How likely the answer is right, in (0, 1)."""
        return 1 / (1 + math.exp(-max(self.log_odds, -500.0)))


def sides_of(testimonies: Sequence[Testimony]) -> list[Side]:
    """Testimonies by answer, in the order met; the commonest wording of an answer stands for it.

    >>> from disputatio.types import Reply
    >>> answers = ["1898", "about 1898", "1899", "about 1898"]
    >>> read = [Testimony(passage=Passage(text=a), reply=Reply(passages=(), answer=a)) for a in answers]
    >>> [(side.answer, len(side.testimonies)) for side in sides_of(read)]
    [('about 1898', 3), ('1899', 1)]
    """
    sides: list[Side] = []
    ranks = {id(testimony): rank for rank, testimony in enumerate(testimonies)}
    same: dict[int, list[Testimony]] = {}
    for group, testimony in zip(groups([each.answer for each in testimonies]), testimonies, strict=True):
        same.setdefault(group, []).append(testimony)
    same.pop(-1, None)
    # The shortest wording first: what it stands in is the same answer, whichever was met first.
    shortest = {group: min((each.answer for each in same[group]), key=_wording) for group in same}
    for group in sorted(same, key=lambda group: _wording(shortest[group])):
        side = next((side for side in sides if _fits(side, shortest[group], same[group])), None)
        if side is None:
            sides.append(Side(answer=shortest[group], testimonies=same[group]))
        else:
            side.testimonies.extend(same[group])
    for side in sides:
        side.testimonies.sort(key=lambda testimony: ranks[id(testimony)])
    sides.sort(key=lambda side: ranks[id(side.testimonies[0])])
    for side in sides:
        forms = [canonical(testimony.answer) for testimony in side.testimonies]
        most = max(forms, key=forms.count)
        side.answer = side.testimonies[forms.index(most)].answer
    return sides


def _wording(answer: str) -> tuple[int, str]:
    """Return what wordings are ordered by: the shorter first, equally long ones by their canonical form."""
    form = str(canonical(answer))
    return len(form), form


def _fits(side: Side, answer: str, testimonies: Sequence[Testimony]) -> bool:
    """Return whether an answer is a side's, and no testimony to it excludes one of the side: 12 May and 13
    May of 1962.
    """
    return matches(side.answer, answer) and not any(
        contradicts(ours.answer, theirs.answer) for ours in side.testimonies for theirs in testimonies
    )


def weigh(
    question: str,
    testimonies: Sequence[Testimony],
    reliabilities: Mapping[str, float],
    *,
    without: Collection[str] = (),
    ranked: bool = True,
    alike: Alike | None = None,
) -> list[Side]:
    """Return the sides with their votes, features and log-odds; the features of `without` count as usual.

    `reliabilities` are what sources' votes weigh (`source_weights.earned`), empty where nothing is known of any.
    With `ranked`, of two alike passages that differ in the answer the better-ranked is taken for the
    original; else a side is compared with every other. `alike` tells how alike passages are, where anything does.
    """
    sides = sides_of(testimonies)
    ranks = {id(testimony): rank for rank, testimony in enumerate(testimonies)}
    for side in sides:
        side.votes = votes(side.passages, reliabilities)
        side.voters = voters(side.passages, reliabilities, alike)
        kin, side.kin = _kinship(question, side, sides, ranks if ranked else None)
        side.features = {
            "votes": math.log(max(side.votes * (2 if reliabilities else 1), 0.05)),
            "lead": max(_lead(question, passage) for passage in side.passages),
            "prose": max(_prose(passage.text) for passage in side.passages),
            "kinship" if ranked else "resemblance": kin,
        }
        known: dict[Feature, list[float]] = {
            "certainty": [
                each.certainty for each in side.testimonies if each.by_model and each.certainty is not None
            ],
            "answered": [_odds(each.answered) for each in side.testimonies if each.answered is not None],
            "kind": [
                float(kind)
                for each in side.testimonies
                if (kind := is_of_the_kind(question, each.answer)) is not None
            ],
        }
        side.features |= {name: max(values) for name, values in known.items() if values}
        side.features = {name: value for name, value in side.features.items() if name not in without}
        side.log_odds = log_odds(side.features)
    return sides


def _odds(probability: float) -> float:
    """Return the log-odds of a probability, those of what is nearly certain cut off."""
    bounded = min(max(probability, SURELY_NOT), 1 - SURELY_NOT)
    return math.log(bounded / (1 - bounded))


def log_odds(features: Mapping[Feature, float]) -> float:
    """Return the log-odds of a side with these features.

    >>> usual = {name: usually for name, (_, usually) in WEIGHTS.items()}
    >>> log_odds(usual) == log_odds({}) == BIAS, log_odds({**usual, "votes": 2.0}) > BIAS
    (True, True)
    """
    return BIAS + sum(
        weight * (features.get(name, usually) - usually) for name, (weight, usually) in WEIGHTS.items()
    )


def weakest(features: Mapping[Feature, float]) -> Feature:
    """Return the feature that lowers a side's log-odds most.

    >>> weakest({"prose": 0.0, "lead": 1.0})
    'prose'
    """
    return min(
        WEIGHTS, key=lambda name: WEIGHTS[name][0] * (features.get(name, WEIGHTS[name][1]) - WEIGHTS[name][1])
    )


def votes(passages: Sequence[Passage], reliabilities: Mapping[str, float]) -> float:
    """Return what the votes of passages weigh together."""
    return sum(weight for _, weight in voices(passages, reliabilities))


def voices(passages: Sequence[Passage], reliabilities: Mapping[str, float]) -> list[tuple[str, float]]:
    """Return the votes of passages, as the name of a voter and its weight: copies and passages of one owner
    have one.

    Its weight is that of its best source; where other sources have estimates, one without counts as chance.
    """
    unknown = 0.5 if reliabilities else 1.0
    return [
        (
            group[0].owner or group[0].source,
            max(reliabilities.get(passage.source, unknown) for passage in group),
        )
        for group in independent(passages)
    ]


def voters(
    passages: Sequence[Passage], reliabilities: Mapping[str, float], alike: Alike | None
) -> list[tuple[str, float]]:
    """Return the votes of passages (`voices`) where accounts that read alike have one, that of the best.

    Voters whose sources are known, by their estimates and not as copies, stay apart however alike they write; so
    do short texts, which are alike by chance, and all where nothing tells how alike they are.
    """
    names = voices(passages, reliabilities)
    groups = independent(passages)
    pairs = [
        (first, second)
        for second, ours in enumerate(groups)
        for first, theirs in enumerate(groups[:second])
        if not (_is_known(ours, reliabilities) and _is_known(theirs, reliabilities))
    ]
    compared = [
        (pair, (one, other))
        for pair in pairs
        for one in groups[pair[0]]
        for other in groups[pair[1]]
        if is_account(one) and is_account(other)
    ]
    if alike is None or not compared:
        return names
    found: dict[tuple[int, int], list[float]] = {}
    for (pair, _), score in zip(compared, alike([each for _, each in compared]), strict=True):
        found.setdefault(pair, []).append(score or 0.0)
    similarity = {pair: sum(scores) / len(scores) for pair, scores in found.items()}
    return [
        max((names[number] for number in group), key=lambda voter: voter[1])
        for group in linked(len(groups), similarity)
    ]


def _is_known(group: Sequence[Passage], reliabilities: Mapping[str, float]) -> bool:
    return any(passage.source in reliabilities for passage in group)


def _lead(question: str, passage: Passage) -> float:
    """Return the share of the question's content words that a passage begins with."""
    stems = content_stems(question)
    beginning = f"{passage.title} {passage.text}"[: LEAD + len(passage.title)]
    return len(stems & {stem(word) for word in bare_words(beginning)}) / len(stems) if stems else 1.0


def _prose(text: str) -> float:
    """Return the share of plain words: low in lists of links, tables and references."""
    words = text.split()
    return sum(word.isalpha() and word.islower() for word in words) / max(len(words), 1)


def _kinship(
    question: str, side: Side, sides: Sequence[Side], ranks: Mapping[int, int] | None
) -> tuple[float, Testimony | None]:
    """Return how similar a side's passages are to those of another answer, and the most similar testimony."""
    best, kin = 0.0, None
    for other in (rival for rival in sides if rival is not side):
        for mine in side.testimonies:
            for theirs in other.testimonies:
                if ranks is not None and ranks[id(theirs)] >= ranks[id(mine)]:
                    continue
                ignored = (question, mine.answer, theirs.answer)
                similarity = kinship(mine.passage.text, theirs.passage.text, ignored)
                if similarity > best:
                    best, kin = similarity, theirs
    return best, kin
