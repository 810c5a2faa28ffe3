"""Updates estimates after a calibration: many small updates give the same as one large one."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from disputatio.calibration.calibrate import owners_of
from disputatio.calibration.estimates import estimates_of
from disputatio.errors import InputError, StoreError, UnknownName
from disputatio.store.calibration_log import FactQuestion, QuestionOutcome, check_id
from disputatio.types import Answer, Source

if TYPE_CHECKING:
    from disputatio.store.contract import Index


def learn(index: Index, answer: Answer, *, day: str) -> bool:
    """Record an answer that settled a conflict, and estimate again; False if there is nothing to learn.

    Raises `StoreError` if the index is not writable.
    """
    known = index.estimates()
    owners = {name: source.owner for name, source in known.items() if source.owner}
    if not known:
        owners = owners_of(index, {})
    outcome = find_settled_outcome(answer, owners, day)
    if outcome is None:
        return False
    with index.open_log() as journal:
        before = index.records()[0].checks.get(outcome.question)
        if before is not None and before.kind != "asked":
            return False  # every source has already been asked
        journal.check(FactQuestion(id=outcome.question, text=answer.question, kind="asked"))
        journal.outcome(outcome)
        _estimate_again(index, (), owners, day)
    return True


def remove(index: Index, sources: Collection[str], *, day: str) -> dict[str, Source]:
    """Remove all answers of some sources from the record; returns the estimates of the others.

    Their passages stay in the index. Raises `UnknownName` for a source that was never estimated.
    """
    known = index.estimates()
    for name in sources:
        if name not in known:
            raise UnknownName("source", name, known, command="disputatio sources")
    owners = {name: source.owner for name, source in known.items() if source.owner and name not in sources}
    with index.open_log() as journal:
        journal.note("removed", sources=sorted(sources))
        return _estimate_again(index, sources, owners, day)


def set_owner(index: Index, source: str, owner: str, *, day: str) -> None:
    """Name the owner of a source, for present and later estimates.

    Raises `InputError` where its passages name another one themselves, `StoreError` if the index is not
    writable.
    """
    stated = owners_of(index, {})
    if stated.get(source, owner) != owner:
        raise InputError(
            f"the passages of {source} say that {stated[source]} owns it: change that in the documents"
        )
    with index.open_log() as journal:
        journal.note("owners", owners={source: owner})
        if index.estimates():
            _estimate_again(index, (), stated, day)


def find_settled_outcome(answer: Answer, owners: Mapping[str, str], day: str) -> QuestionOutcome | None:
    """Return the outcome of an answer that accepts one of several contradicting positions.

    None for any other answer: no contradiction about one subject, several right answers, positions that are
    merely outdated, or fewer than two owners on the two sides.
    """
    positions = [
        position
        for position in answer.conflict.positions
        if position.sources and position.cause.kind != "off_topic"
    ]
    accepted = [position for position in positions if position.verdict == "accepted"]
    if answer.conflict.kind != "misinformation" or len(accepted) != 1 or len(positions) < 2:
        return None
    if any(position.verdict == "unresolved" for position in positions):
        return None
    sides_of: dict[str, set[int]] = {}
    words: dict[str, str] = {}
    for number, position in enumerate(positions):
        for name in position.sources:
            sides_of.setdefault(name, set()).add(number)
            words[name] = position.answer
    position_of = {name: min(numbers) for name, numbers in sides_of.items() if len(numbers) == 1}
    right = positions.index(accepted[0])
    sides = [
        {owners.get(name, name) for name, n in position_of.items() if (n == right) is side}
        for side in (True, False)
    ]
    if not all(sides) or len(sides[0] | sides[1]) < 2:
        return None
    numbers: dict[int, int] = {}
    clusters = {name: numbers.setdefault(number, len(numbers)) for name, number in position_of.items()}
    return QuestionOutcome(
        question=check_id(answer.question),
        answers={name: words[name] for name in position_of},
        clusters=clusters,
        winner=numbers[right],
        day=day,
        states=dict.fromkeys(position_of, ""),
    )


def _estimate_again(
    index: Index, without: Collection[str], owners: Mapping[str, str], day: str
) -> dict[str, Source]:
    passages = index.source_passages()
    if passages is None:
        raise StoreError(f"{index.shown}: there is no index here; make one with: disputatio ingest PATH")
    states = {name: state for name, state in passages.states().items() if name and name not in without}
    record = index.records()[0]
    estimates = estimates_of(record, passages, sorted(states), owners={**record.owners, **owners}, day=day)
    index.set_estimates(estimates.sources, states={**states, **index.estimated_states()})
    return dict(estimates.sources)
