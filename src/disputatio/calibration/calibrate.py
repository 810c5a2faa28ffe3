"""One calibration, start to finish: write questions, ask every source, cluster the answers, estimate.

Every step is recorded at once (`store.calibration_log`), so that a stopped run continues where it was, and a
second run on an unchanged index asks nothing.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from disputatio.agents.per_source import (
    Checks,
    RetrievedSource,
    ask_sources,
    read_checks,
    retrieve_per_source,
)
from disputatio.agents.single_prompt import recall_answers
from disputatio.attribution.clusters import cluster
from disputatio.calibration.estimates import estimates_of
from disputatio.calibration.questions import (
    CandidateSentence,
    find_candidates,
    is_asked,
    keep_relevant,
    write_questions,
)
from disputatio.errors import InputError, MissingPart, ReplyError, StoreError
from disputatio.events import Read
from disputatio.kit import Kit
from disputatio.store.addresses import require_one
from disputatio.store.calibration_log import (
    NOBODY,
    PAPER,
    UNKNOWN,
    CalibrationLog,
    FactQuestion,
    Outcomes,
    QuestionOutcome,
    estimator_named,
)
from disputatio.trace import Trace, Work
from disputatio.types import Source
from disputatio.values import states

if TYPE_CHECKING:
    from disputatio.store.contract import Index

DEFAULT_QUESTIONS = 40
_BATCH = 4  # questions written in one batch
_TRIES = 3  # candidate sentences tried for each question
_MAX_TOKENS = 96
_TAU = 0.1  # threshold of f_align
_JUDGED = 1.3  # calls of the judge for each answer, estimated
_CALL = Work(new=400, steps=30)  # tokens that a call reads and writes, about, where none has been timed


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationPlan:
    """The work that a calibration is going to do, reported before it starts.

    `questions` will be asked (`write` of them are written first), `done` are on record already. `calls` and
    `seconds` are estimates; `seconds` is None if no call of this model has been timed yet.
    """

    questions: int
    write: int
    done: int
    sources: int
    calls: int
    seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The result of a calibration: the estimated `sources` by name, and the counts behind them.

    `questions` are on record, `anchors` of them verified; `cross_checked` were answered by at least two
    owners or are anchors with an answer. `calls` and `seconds` are what this calibration cost, `notices` are
    warnings for the user.
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
    """Callbacks on progress: the plan, then (done, total, seconds left or None)."""

    planned: Callable[[CalibrationPlan], None] = lambda _: None
    progress: Callable[[int, int, float | None], None] = lambda *_: None


@dataclass(slots=True)
class _Run:
    index: Index
    kit: Kit
    journal: CalibrationLog
    names: Sequence[str]
    states: Mapping[str, str]
    owners: Mapping[str, str]
    day: str
    checks: Checks
    closed_book: bool = False
    calls: int = 0
    seconds: float = 0.0
    refused: list[str] = field(default_factory=list)

    def count_calls(self, kit: Kit, start: float) -> None:
        """Count the calls of a kit, without those from the journal, and record their duration."""
        calls = [event for event in kit.trace.events if isinstance(event, Read) and not event.journalled]
        seconds = time.perf_counter() - start
        self.calls += len(calls)
        self.seconds += seconds
        if calls:
            self.journal.note("spent", model=self.kit.model.name, calls=len(calls), seconds=round(seconds, 3))


def calibrate(
    index: Index,
    kit: Kit,
    *,
    day: str,
    count: int = DEFAULT_QUESTIONS,
    questions: Sequence[FactQuestion] = (),
    anchors: Sequence[FactQuestion] = (),
    owners: Mapping[str, str] | None = None,
    half_life: float | None = None,
    estimator: str | None = None,
    seed: int = 0,
    anew: bool = False,
    listener: Listener | None = None,
) -> Report:
    """Estimate how reliable the sources of an index are, and store the estimates in it.

    The sources are asked the given `questions`; without any, `count` questions are written from the sources'
    passages. `anchors` are questions with their right answers. `owners` adds owners to those that passages
    state; an outcome counts half after `half_life` days; `estimator` is `paper`
    (RA-RAG's equations 3 and 4, over answers that pass its own f_align alone) or `ours`, the default. All
    three are kept for later calibrations. Another estimator than the last one asks the sources again. `day`
    (ISO) is the date of the outcomes. `anew` drops earlier outcomes. Raises `InputError` for another
    estimator or several indexes, `MissingPart` without a language model, `StoreError` if there is no index
    or it is not writable, `LLMError` for faults of a model; outcomes until then are kept.
    """
    if estimator is not None:
        try:
            estimator = estimator_named(estimator)
        except ValueError as error:
            raise InputError(str(error)) from error
    require_one(index.path)
    if not (kit.has_model or kit.roles):
        raise MissingPart("a calibration needs a language model: give one (model=, --model)")
    listener = listener or Listener()
    passages = index.source_passages()
    counts = {} if passages is None else passages.counts()
    if passages is None or not any(counts.values()):
        raise StoreError(f"{index.shown}: holds no passages; put some in with: disputatio ingest PATH")
    states = {name: state for name, state in passages.states().items() if name}
    with index.open_log() as journal:
        if anew:
            journal.note("anew")
        if owners:
            journal.note("owners", owners=dict(owners))
        if half_life is not None:
            journal.note("forgetting", half_life=half_life)
        known = index.records()[0]
        if estimator is not None and estimator != known.estimator:
            journal.note("estimator", estimator=estimator)
        estimator = estimator or known.estimator
        checked = f" {PAPER}" if estimator == PAPER else ""  # answers with other checks are asked again
        run = _Run(
            index=index,
            kit=replace(kit, retriever=index),
            journal=journal,
            names=sorted(states),
            states={name: state + checked for name, state in states.items()},
            owners=owners_of(index, known.owners),
            day=day,
            checks=read_checks(estimator),
            closed_book=estimator != PAPER and kit.has_model,
        )
        if len({run.owners.get(name, name) for name in run.names}) > 1:
            _ask_all(run, known, count, questions, anchors, seed, listener)
    record = index.records()[0]
    estimates = estimates_of(record, passages, run.names, owners=run.owners, day=day)
    index.set_estimates(estimates.sources, states=states)
    return Report(
        sources=estimates.sources,
        questions=len(record.outcomes),
        anchors=sum(
            record.checks[question_id].kind == "anchor"
            for question_id in record.outcomes
            if question_id in record.checks
        ),
        cross_checked=estimates.cross_checked,
        calls=run.calls,
        seconds=round(run.seconds, 2),
        notices=(*_notices(run, record, counts.get("", 0)), *estimates.notices),
    )


def owners_of(index: Index, named: Mapping[str, str]) -> dict[str, str]:
    """Return the owner of each source that has one: from its passages, else from `named`."""
    stated = {source.name: source.owner for source in index.sources() if source.name and source.owner}
    return {**named, **stated}


# --- the questions ------------------------------------------------------------------------------
def _ask_all(
    run: _Run,
    known: Outcomes,
    count: int,
    questions: Sequence[FactQuestion],
    anchors: Sequence[FactQuestion],
    seed: int,
    listener: Listener,
) -> None:
    requested = {check.id: check for check in (*questions, *anchors)}
    pending = [check for check in requested.values() if not _is_done(run, known, check)]
    candidates: list[CandidateSentence] = []
    write = reused = 0
    if not questions:
        drawn = [
            check for check in known.checks.values() if check.kind == "drawn" and check.id not in requested
        ]
        drawn = [check for check in drawn if check.source in run.states][:count]
        reused, write = len(drawn), count - len(drawn)
        pending += [check for check in drawn if not _is_done(run, known, check)]
    if write > 0:
        used = {check.spot for check in known.checks.values()} | known.tried
        ranked = find_candidates(run.index, count, owners=run.owners, seed=seed)
        candidates = [
            candidate for candidate in itertools.islice(ranked, _TRIES * count) if candidate.key not in used
        ]
        write = min(write, len(candidates))
    total = len(pending) + write
    listener.planned(
        _plan(run, known, pending, candidates[:write], done=len(requested) + reused - len(pending))
    )
    checks = {**known.checks, **requested}
    start = time.perf_counter()
    for done, check in enumerate(itertools.chain(pending, _write(run, candidates, write, checks))):
        seconds_left = (time.perf_counter() - start) / done * (total - done) if done else None
        listener.progress(done, total, seconds_left)
        if check.id not in known.checks or known.checks[check.id] != check:
            run.journal.check(check)
        _ask(run, check)
    listener.progress(total, total, 0.0)


def _is_done(run: _Run, known: Outcomes, check: FactQuestion) -> bool:
    """Return True if the sources have answered this question, with their present passages."""
    outcome = known.outcomes.get(check.id)
    if outcome is None or known.checks.get(check.id, check).gold != check.gold:
        return False
    return all(outcome.states.get(name) == state for name, state in run.states.items())


def _write(
    run: _Run, candidates: Sequence[CandidateSentence], count: int, checks: dict[str, FactQuestion]
) -> Iterable[FactQuestion]:
    """Write up to `count` questions from the candidate sentences, batch by batch as they are used."""
    remaining = list(candidates)
    written_count = 0
    while remaining and written_count < count:
        size = min(_BATCH, count - written_count)
        batch, remaining = remaining[:size], remaining[size:]
        kit, start = run.kit.with_trace(Trace()), time.perf_counter()
        written = write_questions(batch, kit)
        run.count_calls(kit, start)
        for candidate, check in zip(batch, written, strict=True):
            if isinstance(check, FactQuestion) and not is_asked(check, checks.values()):
                checks[check.id] = check
                written_count += 1
                yield check
            else:
                run.refused.append(check if isinstance(check, str) else "it has been asked already")
                run.journal.note("tried", spot=candidate.key)


def _plan(
    run: _Run,
    known: Outcomes,
    pending: Sequence[FactQuestion],
    candidates: Sequence[CandidateSentence],
    *,
    done: int,
) -> CalibrationPlan:
    """Estimate the number of calls: a search finds the sources that a question concerns."""
    kit = run.kit.with_trace(Trace())
    asked_sources = 0
    for text in (*(check.text for check in pending), *(candidate.sentence for candidate in candidates)):
        asked_sources += len(_sources_to_ask(text, kit, run.checks))
    by_itself = len(pending) + len(candidates) if run.closed_book else 0
    calls = len(candidates) + by_itself + round(asked_sources * (1 + _JUDGED))
    past, seconds = known.spent.get(run.kit.model.name, (0, 0.0))
    a_call = seconds / past if past else kit.speeds.seconds(run.kit.model.name, _CALL)
    return CalibrationPlan(
        questions=len(pending) + len(candidates),
        write=len(candidates),
        done=done,
        sources=len(run.names),
        calls=calls,
        seconds=calls * a_call if a_call else None,
    )


# --- one question -------------------------------------------------------------------------------
def _ask(run: _Run, check: FactQuestion) -> None:
    """Ask one question of every source with passages on it, and record the outcome."""
    kit, start = run.kit.with_trace(Trace()), time.perf_counter()
    retrieved = _sources_to_ask(check.text, kit, run.checks)
    replies = ask_sources(check.text, retrieved, kit, tau=_TAU, max_tokens=_MAX_TOKENS, checks=run.checks)
    answered = [reply for reply in replies if reply.answer]
    by_itself = _recall(check.text, kit) if run.closed_book and len(answered) > 1 else ""
    answers = [reply.answer for reply in answered]
    grouped = cluster(check.text, [*check.gold, *answers, by_itself], kit)
    run.count_calls(kit, start)
    votes, known = against_gold(check.gold, answers, grouped.votes[:-1])
    clusters = dict(zip((reply.source for reply in answered), votes, strict=True))
    faulty = {reply.source for reply in replies if reply.reply.fault}  # the next calibration asks them again
    run.journal.outcome(
        QuestionOutcome(
            question=check.id,
            answers={reply.source: reply.answer for reply in answered},
            clusters=clusters,
            winner=_majority(clusters, run.owners) if known == UNKNOWN else known,
            known=known,
            day=run.day,
            states={name: state for name, state in run.states.items() if name not in faulty},
            recalled=by_itself,
            own=_own_cluster(grouped.votes[len(check.gold) :], votes) if by_itself else UNKNOWN,
        )
    )


def _recall(question: str, kit: Kit) -> str:
    """Return what the reader answers with no passage at all; empty if it does not know."""
    try:
        answers, _ = recall_answers(question, kit, max_tokens=_MAX_TOKENS)
    except ReplyError:
        return ""
    return next(iter(answers), "")


def _own_cluster(grouped: Sequence[int], votes: Sequence[int]) -> int:
    """Return the cluster, as voted, of the last of the grouped answers; -1 if it was not voted on.

    >>> _own_cluster([3, 5, 5], [0, 1]), _own_cluster([3, 5, 6], [0, 1])
    (1, -1)
    """
    *sources, own = grouped
    return next((vote for group, vote in zip(sources, votes, strict=True) if group == own), NOBODY)


def _sources_to_ask(question: str, kit: Kit, checks: Checks) -> list[RetrievedSource]:
    """Return the named sources to ask: with the gate those with passages on the question, else all."""
    retrieved = retrieve_per_source(question, kit)
    return keep_relevant(question, retrieved) if checks.gate else [each for each in retrieved if each.named]


def against_gold(
    gold: Sequence[str], answers: Sequence[str], clusters: Sequence[int]
) -> tuple[list[int], int]:
    """Return the clusters of the answers without gold, numbered in their order, and the right one.

    `clusters` begins with the clusters of the gold answers. An answer is right if it shares a cluster with a
    gold answer or states one word for word; all right answers are one cluster. -2 without gold.

    >>> against_gold(["Ada"], ["Bob", "Ada", "Ada L."], [0, 1, 0, 2])
    ([0, 1, 1], 1)
    >>> against_gold(["Ada"], ["Bob"], [0, 1]), against_gold([], ["Bob"], [0])
    (([0], -1), ([0], -2))
    """
    right = set(clusters[: len(gold)])
    numbers: dict[int, int] = {}
    votes, known = [], UNKNOWN if not gold else NOBODY
    for answer, number in zip(answers, clusters[len(gold) :], strict=True):
        is_right = number in right or any(states(answer, wording) for wording in gold)
        votes.append(numbers.setdefault(-1 if is_right else number, len(numbers)))
        known = votes[-1] if is_right else known
    return votes, known


def _majority(clusters: Mapping[str, int], owners: Mapping[str, str]) -> int:
    """Return the cluster of most owners, the first one on a tie; -1 if there is no answer."""
    owners_of_cluster: dict[int, set[str]] = {}
    for name, number in clusters.items():
        owners_of_cluster.setdefault(number, set()).add(owners.get(name, name))
    return max(
        owners_of_cluster, key=lambda number: (len(owners_of_cluster[number]), -number), default=NOBODY
    )


def _notices(run: _Run, record: Outcomes, unnamed: int) -> list[str]:
    """Return warnings for the user about the questions asked, a sentence each."""
    notices = []
    if not run.names:
        notices.append("no passage says who published it: there is no source to estimate (see --source-by)")
    elif len({run.owners.get(name, name) for name in run.names}) < 2:
        notices.append("all passages are of one owner: there is no other owner to cross-check with")
    elif not record.outcomes and not run.refused:
        notices.append("no two owners write about the same things: nothing can be cross-checked")
    elif record.outcomes and not any(outcome.answers for outcome in record.outcomes.values()):
        notices.append(f"no source answered any of the {len(record.outcomes)} questions")
    if unnamed and run.names:
        notices.append(f"{unnamed} passages have no source and are left out")
    strange = sorted(set(record.owners) - set(run.names))
    if strange:
        notices.append(f"owners were given for sources that are not in the index: {', '.join(strange[:5])}")
    if run.refused:
        reasons = sorted(set(run.refused), key=run.refused.count, reverse=True)
        notices.append(f"{len(run.refused)} questions were written and not used, most often: {reasons[0]}")
    silent = [
        record.checks[outcome.question].text
        for outcome in record.outcomes.values()
        if not outcome.answers
        and record.checks.get(outcome.question, FactQuestion(id="", text="", kind="given")).gold
    ]
    if silent:
        notices.append(f"no source answers {len(silent)} of the anchors, the first: {silent[0]}")
    return notices
