"""Sides: the readings with one answer, the log-odds that they answer the question, and their votes.

The log-odds are a logistic model over eight features that any set of passages has; none needs a model call.
Its weights were fitted on rows of RAMDocs as the 1.5B model read them, that of the encoder's judgement on rows of RAMDocs
and NQ (decision 023); a joint fit over five corpora (`bench/verdict/weights.py`) does worse on RAMDocs and is not in
use. The score by which one of two answers that contradict each other wins (`Side.contest_score`) is separate: independent
accounts, belief and debate.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product, starmap
from types import MappingProxyType
from typing import Literal

from disputatio.authority import is_retracted
from disputatio.causes import Joined
from disputatio.events import Sides, SideSoFar
from disputatio.reliability.similarity import (
    content_similarity,
    content_stems,
    independent,
    is_account,
    is_copy,
    link,
)
from disputatio.reliability.source_weights import weight_of
from disputatio.reliability.succession import Succession, best_claim, denial
from disputatio.strategies.disputation.conversation import is_hearsay, talk_among
from disputatio.strategies.disputation.grounding import (
    HARDLY,
    find_answer_lines,
    find_openings,
    has_the_name,
    is_of_nothing_asked,
    says_more,
    share_named,
    stems_named,
)
from disputatio.strategies.disputation.kinds import is_foreign, is_of_another_dimension, is_of_the_kind
from disputatio.strategies.disputation.reading import PassageReading, commonest_answer
from disputatio.strategies.disputation.rows import is_row
from disputatio.strategies.disputation.things import of_what_is_asked, sources_named, speaks_of_asked
from disputatio.text import bare_words, stem
from disputatio.types import Passage
from disputatio.values import canonical, contradicts, groups, is_yes_or_no, matches
from disputatio.versions.dates import get_stated_date, is_later, iso_day
from disputatio.versions.families import UNVERIFIED, are_versions, one_publisher

Feature = Literal[
    "votes",
    "lead",
    "certainty",
    "prose",
    "answered",
    "kind",
    "language",
    "thing",
    "ground",
    "orders",
    "hearsay",
    "talk",
    "kinship",
    "resemblance",
]
Alike = Callable[[Sequence[tuple[Passage, Passage]]], Sequence[float | None]]
"""The similarity of the passages of each pair, in [-1, 1]; None if unknown."""
LABEL = 5  # words of the name of a property before its value
FEW, ENDS = 12, (".", "!", "?")  # a sentence of fewer words has no share of plain ones that tells anything
SENTENCE = 0.25  # share of plain words from which a line that ends as a sentence does is one
PICKED = 0.0  # log-odds that a side has at least which a joint look picked (set)
TALK = -1.0  # log-odds that a side has at most which only conversations give (set): 27 in a hundred
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
        "language": (1.0, 0.96),  # as the kind
        "thing": (1.0, 1.0),  # set, too
        "ground": (1.0, 1.0),  # and these
        "orders": (1.0, 1.0),
        "hearsay": (1.0, 1.0),
        "talk": (1.0, 1.0),
        "kinship": (-5.2, 0.22),  # with better-ranked passages of another answer
        "resemblance": (-2.1, 0.37),  # with any passage of another answer, where ranks are not trusted
    }
)
# By which a side may be no answer at all.
UNFIT: tuple[Feature, ...] = ("orders", "kind", "language", "thing", "hearsay", "ground")
# The contest score: a second account weighs as much as a clear belief (debate.py).
ACCOUNTS = 2.5
READ_BETTER = 0.2  # log-odds of the encoder by which one passage reads better than another
READING = 0.2  # of the log-odds below even that its passages answer at all


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """The readings that give one answer.

    `votes` is their weight, `independent_votes` each vote by name and weight, where one story retold by unknown
    sources has one, and `declared` how much of them comes of tiers that people gave documents. `named` are the stems of
    the question that its passages name about it (`grounding`). `log_odds` is that its passages answer the question, computed from `features`.
    `most_similar` is the reading with another answer that one of its own is most similar to; `moved` is by how
    much belief and debate moved its contest score. `superseded` has the passages, by id, whose place a document with another
    answer takes, `claimed` those of which one only says so; `today` is the day after which no date counts. `talk` has all
    passages of conversations, by id, where something else was read, too, `apart` those of other sides that speak of a namesake.
    """

    answer: str
    readings: tuple[PassageReading, ...]
    votes: float = 0.0
    independent_votes: tuple[tuple[str, float], ...] = ()
    declared: float = 0.0
    named: frozenset[str] = frozenset()
    features: Mapping[Feature, float] = field(default_factory=dict)
    log_odds: float = 0.0
    moved: Mapping[str, float] = field(default_factory=dict)
    most_similar: PassageReading | None = None
    superseded: Mapping[str, Succession] = field(default_factory=dict)
    claimed: Mapping[str, Succession] = field(default_factory=dict)
    today: str = ""
    talk: frozenset[str] = frozenset()
    apart: frozenset[str] = frozenset()

    @property
    def is_talk(self) -> bool:
        """True if it is said in conversations alone, and something else was read."""
        return self.features.get("talk") == 0.0

    @property
    def telling(self) -> tuple[PassageReading, ...]:
        """The readings that count: those of documents, of conversations where there are no others."""
        return tuple(each for each in self.readings if each.passage.id not in self.talk) or self.readings

    @property
    def documents(self) -> list[Passage]:
        """The passages that count."""
        return [reading.passage for reading in self.telling]

    def is_told(self, mine: Passage, theirs: Passage) -> bool:
        """Return whether a passage of another side tells anything of one of its own: talk nothing of documents."""
        return theirs.id not in self.talk or mine.id in self.talk

    @property
    def stated_day(self) -> str:
        """The latest date that a record or a person states of its passages; that of an upload is none."""
        days = [iso_day(get_stated_date(each)) for each in self.documents if each.owner != UNVERIFIED]
        return max((day for day in days if not is_later(day, self.today)), default="")

    @property
    def is_superseded(self) -> bool:
        """True if documents of other answers take the place of all of its own, and of those that only repeat them."""
        return bool(self.superseded) and all(
            passage.id in self.superseded or self._repeats_superseded(passage) for passage in self.documents
        )

    def _repeats_superseded(self, passage: Passage) -> bool:
        """Return whether a passage of the publisher of a superseded one, no later than what replaced it, says the same."""
        return any(
            one_publisher(passage, older)
            and not (passage.document and passage.document == claim.newer.document)
            and not is_later(iso_day(get_stated_date(passage)), iso_day(get_stated_date(claim.newer)))
            for older in self.passages
            if (claim := self.superseded.get(older.id)) is not None
        )

    @property
    def is_doubted(self) -> bool:
        """True if the model was asked for its belief, since the lead in its contradiction is short."""
        return "belief" in self.moved

    @property
    def is_picked(self) -> bool:
        """True if the model, shown the quotes of all sides at once, answered as it does."""
        return self.moved.get("look", 0.0) > 0

    @property
    def is_weighed(self) -> bool:
        """True if the reliability of one of its sources is known, so that its accounts are more than a count."""
        return any(weight != 1.0 for _, weight in self.independent_votes)

    @property
    def accounts(self) -> float:
        """The weight of its independent votes; its votes if no retellings were looked for."""
        return sum(weight for _, weight in self.independent_votes) if self.independent_votes else self.votes

    @property
    def is_retracted(self) -> bool:
        """True if people state that every document which gives the answer is retracted."""
        return all(is_retracted(passage) for passage in self.documents)

    @property
    def groups(self) -> int:
        """The number of its independent votes."""
        return len(self.independent_votes) if self.independent_votes else len(independent(self.passages))

    @property
    def voting(self) -> list[Passage]:
        """The passages that have a vote: those in force, of documents if there are any."""
        return [each for each in self.documents if each.id not in self.superseded] or self.documents

    @property
    def joined(self) -> tuple[Joined, ...]:
        """The reasons why it has fewer votes than passages."""
        left_out: tuple[Joined, ...] = ("superseded",) if len(self.voting) < len(self.documents) else ()
        return (*why_joined(self.voting, self.groups), *left_out)

    @property
    def contest_score(self) -> float:
        """The score against answers that contradict it: independent accounts, belief and debate.

        How well its passages read is no part of it, for what is written to deceive reads well; only passages
        that read too badly to answer lower it a little. Retellings of one story are no part either.
        """
        accounts = ACCOUNTS * math.log(max(self.accounts, 0.05))
        return accounts + READING * min(self.log_odds, 0.0) + sum(self.moved.values())

    @property
    def passages(self) -> list[Passage]:
        """The passages that give the answer, best first."""
        return [reading.passage for reading in self.readings]

    @property
    def aliases(self) -> tuple[str, ...]:
        """The other forms in which its passages give the answer, as met."""
        forms = {str(canonical(reading.answer)): reading.answer for reading in reversed(self.readings)}
        forms.pop(str(canonical(self.answer)), None)
        return tuple(reversed(forms.values()))

    @property
    def probability(self) -> float:
        """The probability that the answer is right, in (0, 1); what a joint look picked is at least as likely as not."""
        odds = max(self.log_odds, PICKED) if self.is_picked and not self.is_talk else self.log_odds
        return 1 / (1 + math.exp(-max(odds, -500.0)))


def sides_of(readings: Sequence[PassageReading]) -> list[Side]:
    """Group readings by answer, in the order met; a side is named by the commonest wording of its answer.

    >>> from disputatio.types import Reply
    >>> answers = ["1898", "about 1898", "1899", "about 1898"]
    >>> read = [PassageReading(passage=Passage(text=a), reply=Reply(passages=(), answer=a)) for a in answers]
    >>> [(side.answer, len(side.readings)) for side in sides_of(read)]
    [('about 1898', 3), ('1899', 1)]
    """
    same: dict[int, list[int]] = {}  # numbers of readings by group of answers
    for number, group in enumerate(groups([reading.answer for reading in readings])):
        if group >= 0:
            same.setdefault(group, []).append(number)
    # The shortest wording first: an answer that contains it is the same, whichever was met first.
    shortest = {group: min((readings[n].answer for n in same[group]), key=_rank_wording) for group in same}
    members: dict[str, list[int]] = {}  # by the shortest wording
    for group in sorted(same, key=lambda group: _rank_wording(shortest[group])):
        wording, mine = shortest[group], [readings[n].answer for n in same[group]]
        fitting = (
            form
            for form, others in members.items()
            if matches(form, wording)
            and not any(contradicts(readings[n].answer, answer) for n in others for answer in mine)
        )
        members.setdefault(next(fitting, wording), []).extend(same[group])
    return [
        Side(answer=commonest_answer(chosen), readings=tuple(chosen))
        for numbers in sorted(map(sorted, members.values()))
        for chosen in [[readings[n] for n in numbers]]
    ]


def sides_so_far(readings: Sequence[PassageReading]) -> Sides:
    """Return how many independent votes each answer has; nothing is weighed."""
    sides = [
        SideSoFar(
            answer=side.answer,
            votes=len(independent(side.passages)),
            passages=tuple(passage.id for passage in side.passages),
            sources=tuple(dict.fromkeys(passage.source for passage in side.passages if passage.source)),
        )
        for side in sides_of(readings)
    ]
    silent = sum(not reading.answer for reading in readings)
    ranked = sorted(sides, key=lambda side: -side.votes)
    return Sides(sides=tuple(ranked), read=len(readings), silent=silent)


def _rank_wording(answer: str) -> tuple[int, str]:
    """Return the sort key of a wording: the shorter first, equally long ones by their canonical form."""
    form = str(canonical(answer))
    return len(form), form


def weigh(
    question: str,
    readings: Sequence[PassageReading],
    reliabilities: Mapping[str, float],
    *,
    without: Collection[str] = (),
    ranked: bool = True,
    alike: Alike | None = None,
    day: str = "",
) -> list[Side]:
    """Return the sides with their votes, features and log-odds; the features of `without` count as usual.

    What is superseded on a `day` by a document with another answer has no vote beside what is in force.

    `reliabilities` are the weights of sources' votes (`vote_weights`), empty if no reliability is known.
    With `ranked`, of two similar passages that differ in the answer the better-ranked is taken for the
    original; else a side is compared with every other. `alike` gives the similarity of passages.
    """
    talk = talk_among([reading.passage for reading in readings])
    documents_first = sorted(readings, key=lambda reading: reading.passage.id in talk)
    named = sources_named(question, {reading.passage.source for reading in readings})
    sides = [
        replace(side, talk=talk, readings=of_what_is_asked(question, side.readings, named, talk))
        for side in sides_of(documents_first)
    ]
    sides = _with_successions(sides, day)
    ranks = {id(reading): rank for rank, reading in enumerate(readings)} if ranked else None
    weighed = []
    for side in sides:
        voting = side.voting
        votes = total_votes(voting, reliabilities)
        similarity, most_similar = _most_similar(question, side, sides, ranks)
        features = _features(question, side, named) | {
            "votes": math.log(max(votes * (2 if reliabilities else 1), 0.05)),
            "kinship" if ranked else "resemblance": similarity,
        }
        kept: dict[Feature, float] = {name: features[name] for name in features if name not in without}
        voted = replace(
            side,
            votes=votes,
            independent_votes=tuple(independent_votes(voting, reliabilities, alike)),
            named=stems_named(question, side.telling),
            features=kept,
            log_odds=log_odds(kept),
            most_similar=most_similar,
        )
        weighed.append(replace(voted, declared=measure_declared(voted, voting, reliabilities, alike)))
    if "ground" not in without:
        weighed = _mark_grounded(question, weighed, find_openings(readings))
    return _lift_successors(weighed)


def _mark_grounded(question: str, sides: Sequence[Side], openings: Mapping[str, str]) -> list[Side]:
    """Return the sides, each with whether its passages name as much of the question as those of another one.

    A version in force falls to no older one by this; more accounts stand against what says more, unless they hardly
    name anything. A model that was trained to read tells what a passage speaks of better than its words do.
    """
    if all(reading.by_trained for side in sides for reading in side.readings):
        return list(sides)
    fit = [side for side in sides if unfit(side.features) is None]
    grounded = []
    for side in sides:
        mine = {passage.id for passage in side.passages}
        falls = any(
            other is not side
            and (side.is_talk or not other.is_talk)
            and _is_ground_of(question, other, side)
            and (other.accounts >= side.accounts or len(side.named) <= HARDLY * len(content_stems(question)))
            and not any(claim.newer.id in mine for claim in other.superseded.values())
            # One of these names its organisation in every passage, another one in its first.
            and not all(starmap(are_versions, product(other.passages, side.passages)))
            for other in fit
        )
        falls = falls or all(is_of_nothing_asked(question, reading, openings) for reading in side.telling)
        features: dict[Feature, float] = {**side.features, **({"ground": 0.0} if falls else {})}
        grounded.append(replace(side, features=features, log_odds=log_odds(features)))
    return grounded


def _is_ground_of(question: str, side: Side, rival: Side) -> bool:
    """Return whether a side names what is asked about where its rival names less, and reads no worse.

    Words alone decide where they tell bearers of one name apart; else the encoder that read both must agree: what is
    asked may be said in other words.
    """
    if is_yes_or_no(rival.answer):
        return False  # given of a sentence about what is asked, in whatever words
    if has_the_name(question, side.named, rival.named):
        return True
    lead = side.features.get("answered", 0.0) - rival.features.get("answered", 0.0)
    if "answered" not in side.features or "answered" not in rival.features:
        return says_more(question, side.named, rival.named)
    return lead >= READ_BETTER and says_more(question, side.named, rival.named)


def _with_successions(sides: Sequence[Side], day: str) -> list[Side]:
    """Return the sides with the passages whose place documents of other answers take."""
    with_claims = []
    for side in sides:
        rivals = [passage for other in sides if other is not side for passage in other.passages]
        claims = {
            passage.id: best_claim(passage, [each for each in rivals if side.is_told(passage, each)], day)
            for passage in side.passages
        }
        for passage in side.passages:
            if (claim := claims[passage.id]) is None or not claim.believed:
                claims[passage.id] = _find_denial(passage, side, sides, day) or claim
        known = {name: claim for name, claim in claims.items() if claim is not None}
        believed = {name: claim for name, claim in known.items() if claim.believed}
        others = {name: claim for name, claim in known.items() if not claim.believed}
        with_claims.append(replace(side, superseded=believed, claimed=others, today=day))
    return with_claims


def _find_denial(passage: Passage, side: Side, sides: Sequence[Side], day: str) -> Succession | None:
    """Return how a passage of another answer takes back what this one says; None where none does."""
    made = [
        claim
        for other in sides
        if other is not side
        for reading in other.readings
        if side.is_told(passage, reading.passage)
        and (claim := denial(reading.passage, passage, reading.answer, side.answer, day)) is not None
    ]
    return max(made, key=lambda claim: claim.believed, default=None)


def successor_of(side: Side, sides: Sequence[Side]) -> int | None:
    """Return the number of the side that is in force in the place of a superseded one; None without one."""
    seen: set[int] = set()
    while side.is_superseded:
        newer = {claim.newer.id for claim in side.superseded.values()}
        found = next(
            (
                n
                for n, other in enumerate(sides)
                if other is not side and newer & {p.id for p in other.passages}
            ),
            None,
        )
        if found is None or found in seen:
            return None
        seen.add(found)
        side, number = sides[found], found
        if not side.is_superseded:
            return number
    return None


def _lift_successors(sides: Sequence[Side]) -> list[Side]:
    """Return the sides, each that supersedes another at least as likely to answer as that one.

    They are versions of one document: how well the newer one reads tells nothing more. What is no answer at all
    supersedes none.
    """
    out = {passage.id for side in sides if unfit(side.features) is not None for passage in side.passages}
    sides = [
        replace(side, superseded={name: c for name, c in side.superseded.items() if c.newer.id not in out})
        for side in sides
    ]
    odds = [side.log_odds for side in sides]
    for side in sides:
        if (number := successor_of(side, sides)) is not None:
            odds[number] = max(odds[number], side.log_odds)
    return [replace(side, log_odds=value) for side, value in zip(sides, odds, strict=True)]


def _features(question: str, side: Side, named: frozenset[str]) -> dict[Feature, float]:
    """Return the features of a side that its own passages show: the best value of each among them."""
    readings = side.telling
    fitting = [_fit_of(question, reading) for reading in readings]
    values: dict[Feature, list[float]] = {
        "lead": [share_named(question, reading) for reading in readings],
        "prose": [
            prose
            for reading in readings
            if not reading.by_trained and (prose := _prose_of(question, reading)) is not None
        ],
        "certainty": [
            reading.certainty for reading in readings if reading.by_model and reading.certainty is not None
        ],
        "answered": [_odds(reading.answered) for reading in readings if reading.answered is not None],
        "kind": _told([None if skipped else fits for fits, skipped in fitting]),
        "language": _told([False if skipped else fits for fits, skipped in fitting])
        if any(skipped for _, skipped in fitting)
        else [],
        "orders": [float(not reading.passage.gives_orders) for reading in readings],
        "hearsay": [
            float(not all(map(is_hearsay, told)))
            for reading in readings
            if (told := find_answer_lines(reading))
        ],
        "talk": [float(any(passage.id not in side.talk for passage in side.passages))],
        "thing": _told(
            [speaks_of_asked(question, reading.answer, reading.passage, named) for reading in readings]
        ),
    }
    return {name: max(known) for name, known in values.items() if known}


def _fit_of(question: str, reading: PassageReading) -> tuple[bool | None, bool]:
    """Return whether a reading's answer is of the kind that is asked for, and True where only a model could tell.

    Of a question in a language that it was not trained on the encoder is believed no other answer.
    """
    if is_of_another_dimension(question, reading.answer, reading.passage.text):
        return False, False
    fits = is_of_the_kind(question, reading.answer)
    return fits, fits is None and not reading.by_model and is_foreign(question)


def _told(verdicts: Sequence[bool | None]) -> list[float]:
    """Return what is told of a side's passages: unfit are those alone of which none may fit."""
    return [float(any(verdicts))] if None not in verdicts or any(verdicts) else []


def _odds(probability: float) -> float:
    """Return the log-odds of a probability, cut off where it is nearly certain."""
    bounded = min(max(probability, SURELY_NOT), 1 - SURELY_NOT)
    return math.log(bounded / (1 - bounded))


def log_odds(features: Mapping[Feature, float]) -> float:
    """Return the log-odds of a side with these features.

    >>> usual = {name: usually for name, (_, usually) in WEIGHTS.items()}
    >>> log_odds(usual) == log_odds({}) == BIAS, log_odds({**usual, "votes": 2.0}) > BIAS
    (True, True)
    """
    odds = BIAS + sum(
        weight * (features.get(name, usually) - usually) for name, (weight, usually) in WEIGHTS.items()
    )
    return min(odds, TALK) if features.get("talk") == 0.0 else odds


def unfit(features: Mapping[Feature, float]) -> Feature | None:
    """Return the feature by which a side is no answer at all: of another kind, of another thing, or off the ground.

    >>> unfit({"kind": 0.0}), unfit({"kind": 1.0, "lead": 0.0})
    ('kind', None)
    """
    return next((name for name in UNFIT if features.get(name) == 0.0), None)


def weakest(features: Mapping[Feature, float]) -> Feature:
    """Return the feature that lowers a side's log-odds most.

    >>> weakest({"prose": 0.0, "lead": 1.0})
    'prose'
    """
    return min(
        WEIGHTS, key=lambda name: WEIGHTS[name][0] * (features.get(name, WEIGHTS[name][1]) - WEIGHTS[name][1])
    )


def total_votes(passages: Sequence[Passage], reliabilities: Mapping[str, float]) -> float:
    """Return the weight of the votes of passages."""
    return sum(weight for _, weight in votes_by_owner(passages, reliabilities))


def votes_by_owner(
    passages: Sequence[Passage], reliabilities: Mapping[str, float]
) -> list[tuple[str, float]]:
    """Return the votes of passages by name and weight; copies and passages of one owner have one.

    Its weight is that of its best source; where other sources have estimates, one without counts as chance.
    """
    return [
        (group[0].owner or group[0].source, max(weight_of(passage, reliabilities) for passage in group))
        for group in independent(passages)
    ]


def measure_declared(
    side: Side, passages: Sequence[Passage], reliabilities: Mapping[str, float], alike: Alike | None
) -> float:
    """Return how much of a side's accounts, those of some passages, people declared without any estimate."""
    if not any(passage.authority or is_retracted(passage) for passage in passages):
        return 0.0
    learnt = [replace(passage, authority="", by_people={}) for passage in passages]
    return side.accounts - sum(weight for _, weight in independent_votes(learnt, reliabilities, alike))


def independent_votes(
    passages: Sequence[Passage], reliabilities: Mapping[str, float], alike: Alike | None
) -> list[tuple[str, float]]:
    """Return the votes of passages by owner, of which similar accounts have one, that of the best.

    Accounts of sources whose reliability is known stay apart however similar they are; so do short texts,
    which are similar by chance, and all if no similarity is known.
    """
    votes = votes_by_owner(passages, reliabilities)
    groups = independent(passages)
    pairs = [
        (first, second)
        for second, ours in enumerate(groups)
        for first, theirs in enumerate(groups[:second])
        if not (_is_known(ours, reliabilities) and _is_known(theirs, reliabilities))
    ]
    compared = [
        (pair, (mine, other))
        for pair in pairs
        for mine in groups[pair[0]]
        for other in groups[pair[1]]
        if is_account(mine) and is_account(other)
    ]
    if alike is None or not compared:
        return votes
    scores: dict[tuple[int, int], list[float]] = {}
    for (pair, _), score in zip(compared, alike([texts for _, texts in compared]), strict=True):
        scores.setdefault(pair, []).append(score or 0.0)
    similarity = {pair: sum(values) / len(values) for pair, values in scores.items()}
    return [
        max((votes[number] for number in group), key=lambda vote: vote[1])
        for group in link(len(groups), similarity)
    ]


def why_joined(passages: Sequence[Passage], groups: int) -> tuple[Joined, ...]:
    """Return why passages count as only `groups`: one publisher, near copies, or accounts that are alike.

    >>> why_joined([Passage(text="It rained.", source="a"), Passage(text="It was wet.", source="b")], 1)
    ('alike',)
    """
    publishers = [passage.owner or passage.source for passage in passages]
    pairs = [(first, second) for second in range(len(passages)) for first in range(second)]
    one = {pair for pair in pairs if publishers[pair[0]] and publishers[pair[0]] == publishers[pair[1]]}
    reasons: list[Joined] = ["publisher"] if one else []
    if any(is_copy(passages[a], passages[b]) for a, b in pairs if (a, b) not in one):
        reasons.append("copies")
    if groups < len(independent(passages)):
        reasons.append("alike")
    return tuple(reasons)


def _is_known(group: Sequence[Passage], reliabilities: Mapping[str, float]) -> bool:
    return any(passage.source in reliabilities for passage in group)


def _prose_of(question: str, reading: PassageReading) -> float | None:
    """Return the share of plain words of a passage; what its own sentence or line makes plain is not held against it."""
    usually, whole = WEIGHTS["prose"][1], _prose(reading.passage.text)
    if whole is None or whole >= usually:
        return whole
    for line in find_answer_lines(reading):
        label, mark, _ = line.partition(":")
        named = content_stems(question) & set(map(stem, bare_words(label)))
        if is_row(line) or (mark and len(label.split()) <= LABEL and named):
            return None  # a row, or a property and its value, as in a data sheet
        share = _prose(line)
        if line.rstrip()[-1:] in ENDS and _plain(line) and (share is None or share >= SENTENCE):
            return None  # a sentence, whatever figures stand around it
        whole = max(whole, min(share or 0.0, usually))
    return whole


def _prose(text: str) -> float | None:
    """Return the share of plain words: low in lists of links and references.

    None where letters have no small form, as in Chinese, for a row of a table, and for one short sentence.
    """
    words = text.split()
    if is_row(text) or (len(words) < FEW and text.rstrip()[-1:] in ENDS):
        return None
    cased = sum(letter.islower() or letter.isupper() for letter in text)
    if 2 * cased < sum(map(str.isalpha, text)):
        return None
    return _plain(text) / max(len(words), 1)


def _plain(text: str) -> int:
    return sum(word.isalpha() and word.islower() for word in text.split())


def _most_similar(
    question: str, side: Side, sides: Sequence[Side], ranks: Mapping[int, int] | None
) -> tuple[float, PassageReading | None]:
    """Return the reading with another answer that a side's passages are most similar to, and how similar.

    With `ranks` (by reading) only better-ranked readings are compared.
    """
    best, most_similar = 0.0, None
    for other in (rival for rival in sides if rival is not side):
        for mine in side.readings:
            for theirs in other.readings:
                if not side.is_told(mine.passage, theirs.passage):
                    continue
                if ranks is not None and ranks[id(theirs)] >= ranks[id(mine)]:
                    continue
                if mine.passage.id in side.superseded or theirs.passage.id in other.superseded:
                    continue  # versions of one document are alike, and neither is an altered copy
                if (claim := side.claimed.get(mine.passage.id)) and claim.newer.id == theirs.passage.id:
                    continue  # what claims the place of another text is the alteration, if one is
                if is_row(mine.passage.text) and is_row(theirs.passage.text):
                    continue  # rows of a table are alike and about different things
                ignored = (question, mine.answer, theirs.answer)
                similarity = content_similarity(mine.passage.text, theirs.passage.text, ignored)
                if similarity > best:
                    best, most_similar = similarity, theirs
    return best, most_similar
