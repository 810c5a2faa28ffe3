"""The walk of a calibration: questions are written, put to every source, clustered, and weighed.

What is done is on record at once (`store.outcomes`), so that a run that was stopped goes on where it was,
and one that is run again on an index that has not changed asks nothing.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from disputatio.agents.per_source import SourceReply, answer_per_source, drop_unsupported, retrieve_per_source
from disputatio.attribution.clusters import cluster
from disputatio.calibration.estimates import estimates_of
from disputatio.calibration.questions import is_asked, speaking_of, write_questions
from disputatio.calibration.spots import Spot, find_spots
from disputatio.errors import StoreError
from disputatio.kit import Kit
from disputatio.store.calibration_log import (
    NOBODY,
    UNKNOWN,
    CalibrationLog,
    Check,
    Outcomes,
    QuestionOutcome,
    open_log,
    read_outcomes,
)
from disputatio.trace import Trace
from disputatio.types import Source
from disputatio.values import states

if TYPE_CHECKING:
    from disputatio.store.index import Index

DEFAULT_QUESTIONS = 40
_AT_ONCE = 4  # questions written in one batch
_TRIES = 3  # spots tried for each question that is wanted
_JUDGED = 1.3  # calls of the judge for each answer asked for, about


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationPlan:
    """What a calibration is going to do, told before it starts.

    `questions` will be put (of which `write` are first written), `done` are on record already. `calls` and
    `seconds` are estimates; the latter is None where no call of this model has been timed yet.
    """

    questions: int
    write: int
    done: int
    sources: int
    calls: int
    seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What a calibration found: `sources` by name, and what the estimates rest on.

    `questions` are on record, `anchors` of them verified; `cross_checked` were answered by at least two
    owners or are anchors with an answer. `notices` say in words what a user should know.
    """

    sources: Mapping[str, Source]
    questions: int
    anchors: int
    cross_checked: int
    calls: int
    seconds: float
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Listener:
    """Who hears of a calibration's progress: the plan, then (done, total, seconds to go or None)."""

    planned: Callable[[CalibrationPlan], None] = lambda _: None
    progress: Callable[[int, int, float | None], None] = lambda *_: None


@dataclass(slots=True)
class _Run:
    """The parts of one calibration while it is walked."""

    index: Index
    kit: Kit
    journal: CalibrationLog
    names: Sequence[str]
    states: Mapping[str, str]
    owners: Mapping[str, str]
    day: str
    tau: float
    calls: int = 0
    seconds: float = 0.0
    refused: list[str] = field(default_factory=list)

    def timed(self, kit: Kit, start: float) -> None:
        """Count the calls that were made, those from the journal apart, and note what they took."""
        made = [
            one
            for one in kit.trace.events
            if one["event"] in ("complete", "choose") and not one["journalled"]
        ]
        seconds = time.perf_counter() - start
        self.calls += len(made)
        self.seconds += seconds
        if made:
            self.journal.note("spent", model=self.kit.model.name, calls=len(made), seconds=round(seconds, 3))


def calibrate(
    index: Index,
    kit: Kit,
    *,
    day: str,
    count: int = DEFAULT_QUESTIONS,
    given: Sequence[Check] = (),
    anchors: Sequence[Check] = (),
    owners: Mapping[str, str] | None = None,
    half_life: float | None = None,
    seed: int = 0,
    tau: float = 0.1,
    anew: bool = False,
    listener: Listener | None = None,
) -> Report:
    """Estimate how reliable the sources of an index are, and store the estimates in it.

    `given` questions are put as they are; where there are none, `count` are drawn from the sources'
    own passages. `anchors` have their right answers. `owners` adds to what passages say of their
    sources' owners; an outcome counts half after `half_life` days: both are kept from one time to the
    next. `day` (ISO) dates what is found. `anew` drops what earlier calibrations found. Raises
    `StoreError` when there is no index or it cannot be written to, `LLMError` for faults of a model;
    what was done until then stays.
    """
    listener = listener or Listener()
    view = index.view()
    if view is None or not view.manifest.live:
        raise StoreError(f"{index.path}: holds no passages; put some in with: disputatio ingest PATH")
    states = {name: state for name, state in view.states().items() if name}
    with open_log(index.path) as journal:
        if anew:
            journal.note("anew")
        if owners:
            journal.note("owners", owners=dict(owners))
        if half_life is not None:
            journal.note("forgetting", half_life=half_life)
        known = read_outcomes(index.path)
        run = _Run(
            index=index,
            kit=replace(kit, retriever=index),
            journal=journal,
            names=sorted(states),
            states=states,
            owners=owners_of(index, known.owners),
            day=day,
            tau=tau,
        )
        if len({run.owners.get(name, name) for name in run.names}) > 1:
            _ask_all(run, known, count, given, anchors, seed, listener)
    record = read_outcomes(index.path)
    found = estimates_of(record, view, run.names, owners=run.owners, day=day)
    index.set_estimates(found.sources, states=states)
    return Report(
        sources=found.sources,
        questions=len(record.outcomes),
        anchors=sum(record.checks[one].kind == "anchor" for one in record.outcomes if one in record.checks),
        cross_checked=found.cross_checked,
        calls=run.calls,
        seconds=round(run.seconds, 2),
        notices=(*_notices(run, record, view.counts().get("", 0)), *found.notices),
    )


def owners_of(index: Index, named: Mapping[str, str]) -> dict[str, str]:
    """The owner of each source that has one: as its passages say, else as a file said."""
    stated = {one.name: one.owner for one in index.sources() if one.name and one.owner}
    return {**named, **stated}


# --- the questions ------------------------------------------------------------------------------
def _ask_all(
    run: _Run,
    known: Outcomes,
    count: int,
    given: Sequence[Check],
    anchors: Sequence[Check],
    seed: int,
    listener: Listener,
) -> None:
    """Put all questions that are not answered yet by the sources as they are now."""
    wanted = {one.id: one for one in (*given, *anchors)}
    pending = [one for one in wanted.values() if not _is_done(run, known, one)]
    spots: list[Spot] = []
    write = kept = 0
    if not given:
        drawn = [one for one in known.checks.values() if one.kind == "drawn" and one.id not in wanted]
        drawn = [one for one in drawn if one.source in run.states][:count]
        kept, write = len(drawn), count - len(drawn)
        pending += [one for one in drawn if not _is_done(run, known, one)]
    if write > 0:
        met = {one.spot for one in known.checks.values()} | known.tried
        found = find_spots(run.index, count, owners=run.owners, seed=seed)
        spots = [one for one in itertools.islice(found, _TRIES * count) if one.key not in met]
        write = min(write, len(spots))
    total = len(pending) + write
    listener.planned(_plan(run, known, pending, spots[:write], done=len(wanted) + kept - len(pending)))
    asked = {**known.checks, **wanted}
    begun = time.perf_counter()
    for done, one in enumerate(itertools.chain(pending, _written(run, spots, write, asked))):
        left = (time.perf_counter() - begun) / done * (total - done) if done else None
        listener.progress(done, total, left)
        if one.id not in known.checks or known.checks[one.id] != one:
            run.journal.check(one)
        _ask(run, one)
    listener.progress(total, total, 0.0)


def _is_done(run: _Run, known: Outcomes, one: Check) -> bool:
    """Whether the sources, as they are now, have been asked this."""
    outcome = known.outcomes.get(one.id)
    if outcome is None or known.checks.get(one.id, one).gold != one.gold:
        return False
    return all(outcome.states.get(name) == state for name, state in run.states.items())


def _written(run: _Run, spots: Sequence[Spot], count: int, asked: dict[str, Check]) -> Iterable[Check]:
    """Up to `count` questions written from the spots, in batches, as they are wanted."""
    left = list(spots)
    made = 0
    while left and made < count:
        size = min(_AT_ONCE, count - made)
        batch, left = left[:size], left[size:]
        kit, start = run.kit.with_trace(Trace()), time.perf_counter()
        written = write_questions(batch, kit)
        run.timed(kit, start)
        for spot, one in zip(batch, written, strict=True):
            if isinstance(one, Check) and not is_asked(one, asked.values()):
                asked[one.id] = one
                made += 1
                yield one
            else:
                run.refused.append(one if isinstance(one, str) else "it has been asked already")
                run.journal.note("tried", spot=spot.key)


def _plan(
    run: _Run, known: Outcomes, pending: Sequence[Check], spots: Sequence[Spot], *, done: int
) -> CalibrationPlan:
    """How many calls there will be: a search tells which sources a question concerns."""
    kit = run.kit.with_trace(Trace())
    heard = 0
    for text in (*(one.text for one in pending), *(one.sentence for one in spots)):
        heard += len(speaking_of(text, retrieve_per_source(text, kit)))
    calls = len(spots) + round(heard * (1 + _JUDGED))
    past, seconds = known.spent.get(run.kit.model.name, (0, 0.0))
    return CalibrationPlan(
        questions=len(pending) + len(spots),
        write=len(spots),
        done=done,
        sources=len(run.names),
        calls=calls,
        seconds=calls * seconds / past if past else None,
    )


# --- one question -------------------------------------------------------------------------------
def _ask(run: _Run, one: Check) -> None:
    """Put one question to every source that holds something on it, and note what came of it."""
    kit, start = run.kit.with_trace(Trace()), time.perf_counter()
    held = speaking_of(one.text, retrieve_per_source(one.text, kit))
    heard = drop_unsupported(one.text, answer_per_source(one.text, held, kit), kit, tau=run.tau)
    said = [each for each in heard if each.answer]
    grouped = cluster(one.text, [*one.gold, *(each.answer for each in said)], kit)
    run.timed(kit, start)
    votes, known = against_gold(one.gold, [each.answer for each in said], grouped.votes)
    clusters = dict(zip((each.source for each in said), votes, strict=True))
    run.journal.outcome(
        QuestionOutcome(
            question=one.id,
            answers={each.source: each.answer for each in said},
            clusters=clusters,
            winner=_most(clusters, run.owners) if known == UNKNOWN else known,
            known=known,
            day=run.day,
            states={name: state for name, state in run.states.items() if name not in _faulty(heard)},
        )
    )


def against_gold(
    gold: Sequence[str], answers: Sequence[str], clusters: Sequence[int]
) -> tuple[list[int], int]:
    """The clusters of the answers alone, numbered as met, and the one that is right.

    `clusters` has those of the gold answers first. An answer is right when it falls in with one of them
    or contains one word for word; all that are right are one cluster. -2 where there is no gold.

    >>> against_gold(["Ada"], ["Bob", "Ada", "Ada L."], [0, 1, 0, 2])
    ([0, 1, 1], 1)
    >>> against_gold(["Ada"], ["Bob"], [0, 1]), against_gold([], ["Bob"], [0])
    (([0], -1), ([0], -2))
    """
    right = set(clusters[: len(gold)])
    numbers: dict[int, int] = {}
    votes, known = [], UNKNOWN if not gold else NOBODY
    for answer, own in zip(answers, clusters[len(gold) :], strict=True):
        good = own in right or any(states(answer, one) for one in gold)
        votes.append(numbers.setdefault(-1 if good else own, len(numbers)))
        known = votes[-1] if good else known
    return votes, known


def _most(clusters: Mapping[str, int], owners: Mapping[str, str]) -> int:
    """The cluster that most owners gave, the one met first on a tie; -1 where nobody answered."""
    voters: dict[int, set[str]] = {}
    for name, number in clusters.items():
        voters.setdefault(number, set()).add(owners.get(name, name))
    return max(voters, key=lambda number: (len(voters[number]), -number), default=NOBODY)


def _faulty(heard: Sequence[SourceReply]) -> set[str]:
    """Sources whose agent broke its contract: they are asked again the next time."""
    return {one.source for one in heard if one.reply.fault}


def _notices(run: _Run, record: Outcomes, unnamed: int) -> list[str]:
    """What a user should know of what was asked, a sentence each."""
    told = []
    if not run.names:
        told.append("no passage says who published it: there is no source to estimate (see --source-by)")
    elif len({run.owners.get(name, name) for name in run.names}) < 2:
        told.append("all passages are of one owner: there is nobody to cross-check with")
    elif not record.outcomes and not run.refused:
        told.append("no two owners speak of the same things: nothing can be cross-checked")
    elif record.outcomes and not any(one.answers for one in record.outcomes.values()):
        told.append(f"no source answered any of the {len(record.outcomes)} questions")
    if unnamed and run.names:
        told.append(f"{unnamed} passages have no source and are left out")
    strange = sorted(set(record.owners) - set(run.names))
    if strange:
        told.append(f"owners were given for sources that are not in the index: {', '.join(strange[:5])}")
    if run.refused:
        reasons = sorted(set(run.refused), key=run.refused.count, reverse=True)
        told.append(f"{len(run.refused)} questions were written and not used, most often: {reasons[0]}")
    silent = [
        record.checks[one.question].text
        for one in record.outcomes.values()
        if not one.answers and record.checks.get(one.question, Check(id="", text="", kind="given")).gold
    ]
    if silent:
        told.append(f"no source answers {len(silent)} of the anchors, the first: {silent[0]}")
    return told
