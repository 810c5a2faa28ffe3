"""Questions on the workers of a Ray cluster, within one budget and with one journal of calls at the driver.

`open_questions` serves `ask_many` and evaluation: a worker makes its calls within the rest of the driver's
budget, and their usage travels back with the result.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import count
from typing import Any, NamedTuple

from disputatio.api.asking import kit_with, prepare_arguments
from disputatio.config import Settings
from disputatio.errors import BudgetSpent
from disputatio.parts import open_journal, share_journal
from disputatio.protocols import Cancel
from disputatio.spending import Budget, Meter, allowance_at_desk, charge_to_thread, forfeit_of, worker_meter
from disputatio.store.opening import name_for_workers
from disputatio.trace import Trace
from disputatio.types import Answer, Usage
from disputatio.workers.cluster import cluster
from disputatio.workers.desk import SharedJournal, open_desk
from disputatio.workers.outcome import Outcome, capture
from disputatio.workers.pool import open_pool

_AT_DESK = 16  # calls at a time
_OF_THE_KIT = ("model", "role", "embedder", "settings", "strategy")

MakeAsk = Callable[[Meter], Callable[[Any], Any]]
"""Makes, on a worker, the function that answers a question with a kit that this meter wraps."""


class _Numbered(NamedTuple):
    """A question on its way to a worker; the same question may be on its way twice."""

    number: int
    question: Any


class _Result(NamedTuple):
    result: Outcome[Any]
    spent: Sequence[tuple[str, Usage]]


class _Asker:
    """Answers questions on a worker, within the budget of all."""

    def __init__(
        self, make: MakeAsk, desk: Any, journal: str, path: str, budget: Budget, number: int
    ) -> None:
        if path:
            share_journal(journal, SharedJournal(desk, path))
        self._spent: dict[str, list[tuple[str, Usage]]] = defaultdict(list)
        self._meter = worker_meter(budget, desk, number)
        self._meter.begin([], self._keep)
        self._ask = make(self._meter)

    def __call__(self, asked: _Numbered) -> _Result:
        """Return the result of a question, an error included."""
        number = str(asked.number)

        def ask() -> Any:
            with self._meter.question(number, ""):
                return self._ask(asked.question)

        return _Result(capture(ask), self._spent.pop(number, []))

    def _keep(self, number: str, _: str, model: str, usage: Usage) -> None:
        self._spent[number].append((model, usage))


@contextmanager
def open_questions(
    make: MakeAsk, settings: Settings, meter: Meter, address: str, workers: int, each: int
) -> Iterator[Callable[[Any], Any]]:
    """Open workers that answer questions, `each` at a time on every one; yields the function that asks one.

    All are within the budget of `meter`, which counts what they took. The function raises what the worker
    raised, and `BudgetSpent`. Raises `ConfigError` for what cannot travel, `ClusterFault` if there are no
    workers.
    """
    journal, parts, path, numbers = open_journal(settings), allowance_at_desk(meter), "", count()
    if journal is not None:
        path = str(journal.path.absolute())
        parts["journal"] = partial(open_journal, settings.model_copy(update={"journal": path}))
    with cluster(address, workers) as there:
        desk = open_desk(parts, _AT_DESK) if parts else None

        def worker(number: int) -> partial[_Asker]:
            return partial(_Asker, make, desk, settings.journal, path, meter.budget, number)

        with open_pool(worker, there, each=each, on_death=forfeit_of(desk, meter.budget)) as pool:
            pool.wait_ready()

            def ask(question: Any) -> Any:
                done: _Result = pool.do(_Numbered(next(numbers), question))
                for model, usage in done.spent:
                    meter.count(meter.current(), model, usage)
                try:
                    return done.result.get()
                except BudgetSpent as error:
                    meter.stopped = meter.stopped or str(error)
                    raise

            yield ask


@contextmanager
def ask_on_workers(
    arguments: Mapping[str, Any], meter: Meter, address: str, workers: int, each: int
) -> Iterator[Callable[[str], Answer]]:
    """Open workers that answer as `ask` does with these arguments; raises as `open_questions` does."""
    sent = arguments_for_workers(arguments)
    _, settings = kit_with(**{name: sent[name] for name in _OF_THE_KIT if name in sent})
    with open_questions(partial(_make_ask, sent), settings, meter, address, workers, each) as ask:
        yield ask


def _make_ask(arguments: Mapping[str, Any], meter: Meter) -> Callable[[str], Answer]:
    prepared = prepare_arguments(arguments)
    kit = meter.wrap(prepared.kit)

    def ask(question: str) -> Answer:
        return replace(prepared, kit=charge_to_thread(kit)).answer(question, Trace(), Cancel())

    return ask


def arguments_for_workers(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of `ask` as they travel: an index by its folder, passages as a list."""
    sent = dict(arguments)
    if sent.get("index") is not None:
        sent["index"] = name_for_workers(sent["index"])
    if sent.get("passages") is not None:
        sent["passages"] = list(sent["passages"])
    return sent
