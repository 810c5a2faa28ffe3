"""What is learned after a calibration: from questions that were asked, and by leaving a source out.

Both add a line to the record and estimate again from all of it, so that many small steps and one large
one end the same.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from disputatio.calibration.estimates import estimates_of
from disputatio.errors import StoreError, UnknownName
from disputatio.store.calibration_log import Check, QuestionOutcome, check_id, open_log, read_outcomes
from disputatio.store.reliabilities import read_states
from disputatio.types import Answer, Source

if TYPE_CHECKING:
    from disputatio.store.index import Index


def learn(index: Index, answer: Answer, *, day: str) -> bool:
    """Record an answer whose conflict was settled, and estimate again; whether there was anything to learn.

    Raises `StoreError` when the index cannot be written to.
    """
    known = index.estimates()
    owners = {name: one.owner for name, one in known.items() if one.owner}
    if not known:
        owners = {one.name: one.owner for one in index.sources() if one.name and one.owner}
    outcome = settled(answer, owners, day)
    if outcome is None:
        return False
    with open_log(index.path) as journal:
        before = read_outcomes(index.path).checks.get(outcome.question)
        if before is not None and before.kind != "asked":
            return False  # it was put to every source already
        journal.check(Check(id=outcome.question, text=answer.question, kind="asked"))
        journal.outcome(outcome)
        _again(index, (), owners, day)
    return True


def remove(index: Index, sources: Collection[str], *, day: str) -> dict[str, Source]:
    """Take back all that some sources ever said, as if they had not been asked; the estimates of the others.

    Their passages stay in the index. Raises `UnknownName` for a source that was never estimated.
    """
    known = index.estimates()
    for name in sources:
        if name not in known:
            raise UnknownName("source", name, known)
    owners = {name: one.owner for name, one in known.items() if one.owner and name not in sources}
    with open_log(index.path) as journal:
        journal.note("removed", sources=sorted(sources))
        return _again(index, sources, owners, day)


def settled(answer: Answer, owners: Mapping[str, str], day: str) -> QuestionOutcome | None:
    """The outcome of an answer over which sources contradicted each other and one position stood.

    None where nothing was settled: no contradiction about one thing, several answers that are right,
    positions that are merely outdated, or fewer than two owners behind the two sides.
    """
    positions = [one for one in answer.conflict.positions if one.sources and one.cause.kind != "off_topic"]
    accepted = [one for one in positions if one.verdict == "accepted"]
    if answer.conflict.kind != "misinformation" or len(accepted) != 1 or len(positions) < 2:
        return None
    if any(one.verdict == "unresolved" for one in positions):
        return None
    told: dict[str, set[int]] = {}
    words: dict[str, str] = {}
    for number, position in enumerate(positions):
        for name in position.sources:
            told.setdefault(name, set()).add(number)
            words[name] = position.answer
    said = {name: min(numbers) for name, numbers in told.items() if len(numbers) == 1}
    right = positions.index(accepted[0])
    sides = [
        {owners.get(name, name) for name, n in said.items() if (n == right) is side} for side in (True, False)
    ]
    if not all(sides) or len(sides[0] | sides[1]) < 2:
        return None
    numbers: dict[int, int] = {}
    clusters = {name: numbers.setdefault(number, len(numbers)) for name, number in said.items()}
    return QuestionOutcome(
        question=check_id(answer.question),
        answers={name: words[name] for name in said},
        clusters=clusters,
        winner=numbers[right],
        day=day,
        states=dict.fromkeys(said, ""),
    )


def _again(index: Index, without: Collection[str], owners: Mapping[str, str], day: str) -> dict[str, Source]:
    """Estimate from the record as it is now; what was stale stays so."""
    view = index.view()
    if view is None:
        raise StoreError(f"{index.path}: there is no index here; make one with: disputatio ingest PATH")
    now = {name: state for name, state in view.states().items() if name and name not in without}
    record = read_outcomes(index.path)
    found = estimates_of(record, view, sorted(now), owners={**record.owners, **owners}, day=day)
    index.set_estimates(found.sources, states={**now, **read_states(index.path)})
    return dict(found.sources)
