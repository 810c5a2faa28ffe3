"""Questions on the workers of a Ray cluster: each opens what `ask` would open, by its name."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import count
from typing import Any, NamedTuple

from disputatio.api.asking import kit_with, prepared_for
from disputatio.cancel import Cancel
from disputatio.errors import BudgetSpent
from disputatio.parts import open_journal, share_journal
from disputatio.spending import (
    Budget,
    Meter,
    allowance_at_desk,
    charge_to_thread,
    forfeit_of,
    worker_meter,
)
from disputatio.store.opening import name_for_workers
from disputatio.trace import Trace
from disputatio.types import Answer, Usage
from disputatio.workers.carried import Carried, carried
from disputatio.workers.cluster import cluster
from disputatio.workers.desk import SharedJournal, open_desk
from disputatio.workers.pool import open_pool

_AT_DESK = 16  # calls at a time
_OF_THE_KIT = ("model", "role", "embedder", "settings", "strategy")


class _Numbered(NamedTuple):
    """A question on its way to a worker; the same question may be on its way twice."""

    number: int
    question: str


class _Came(NamedTuple):
    """What came of it, and what its calls took by model."""

    answer: Carried[Answer]
    spent: Sequence[tuple[str, Usage]]


class _Asker:
    """Answers questions on a worker."""

    def __init__(
        self, arguments: Mapping[str, Any], desk: Any, journal: str, path: str, budget: Budget, number: int
    ) -> None:
        if path:
            share_journal(journal, SharedJournal(desk, path))
        self._spent: dict[str, list[tuple[str, Usage]]] = defaultdict(list)
        self._meter = worker_meter(budget, desk, number)
        self._meter.begin([], self._keep)
        prepared = prepared_for(arguments)
        self._prepared = replace(prepared, kit=self._meter.wrap(prepared.kit))

    def __call__(self, asked: _Numbered) -> _Came:
        """Return what came of a question, whatever it was."""
        number = str(asked.number)

        def answer() -> Answer:
            with self._meter.question(number, ""):
                prepared = replace(self._prepared, kit=charge_to_thread(self._prepared.kit))
                return prepared.answer(asked.question, Trace(), Cancel())

        return _Came(carried(answer), self._spent.pop(number, []))

    def _keep(self, number: str, _: str, model: str, usage: Usage) -> None:
        self._spent[number].append((model, usage))


@contextmanager
def asked_by_workers(
    arguments: Mapping[str, Any], meter: Meter, address: str, workers: int, each: int
) -> Iterator[Callable[[str], Answer]]:
    """What answers a question on one of so many workers, with so many questions each at a time.

    All are within the budget of `meter`, which counts what they took; `BudgetSpent` where they may not be.
    Raises `ConfigError` for arguments that cannot travel, `ClusterFault` where the workers cannot be had.
    """
    sent = travelling(arguments)
    _, settings = kit_with(**{name: sent[name] for name in _OF_THE_KIT if name in sent})
    journal = open_journal(settings)
    parts, path, numbers = allowance_at_desk(meter), "", count()
    if journal is not None:
        path = str(journal.path.absolute())
        parts["journal"] = partial(open_journal, settings.model_copy(update={"journal": path}))
    with cluster(address, workers) as there:
        desk = open_desk(parts, _AT_DESK) if parts else None

        def make(number: int) -> partial[_Asker]:
            return partial(_Asker, sent, desk, settings.journal, path, meter.budget, number)

        with open_pool(make, there, each=each, on_death=forfeit_of(desk, meter.budget)) as pool:
            pool.wait_ready()

            def answer(question: str) -> Answer:
                came: _Came = pool.do(_Numbered(next(numbers), question))
                for model, usage in came.spent:
                    meter.count(meter.current(), model, usage)
                try:
                    return came.answer.get()
                except BudgetSpent as error:
                    meter.stopped = meter.stopped or str(error)
                    raise

            yield answer


def travelling(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of `ask` as a worker can take them: an index by its folder, passages as a list."""
    sent = dict(arguments)
    if sent.get("index") is not None:
        sent["index"] = name_for_workers(sent["index"])
    if sent.get("passages") is not None:
        sent["passages"] = list(sent["passages"])
    return sent
