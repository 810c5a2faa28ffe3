"""An evaluation's questions on the workers of a Ray cluster, each with a kit of its own.

The driver keeps what a local run keeps: records, spending, and the journal of calls. A worker makes its calls
within what the driver's budget still allows, and what they took travels back with the answer.
"""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from disputatio.config import Settings
from disputatio.errors import BudgetSpent
from disputatio.eval.estimating import Estimates
from disputatio.eval.judge import judge_with
from disputatio.eval.release_judge import release_judge_with
from disputatio.eval.running.answering import Work, Worked, worked_here
from disputatio.eval.running.preparing import ask_with, kit_for, load_models, retriever_for
from disputatio.eval.running.run_log import Entrant
from disputatio.parts import open_journal, share_journal
from disputatio.pipeline import Strategy
from disputatio.protocols import MinimalLLM
from disputatio.spending import Budget, Meter, allowance_at_desk, forfeit_of, worker_meter
from disputatio.trace import Logged, Trace
from disputatio.types import Example, Usage
from disputatio.workers.carried import Carried, carried
from disputatio.workers.cluster import cluster
from disputatio.workers.desk import SharedJournal, open_desk
from disputatio.workers.pool import open_pool

JUDGES = {"menu": judge_with, "release": release_judge_with}
"""Who grades answers, by the rubric."""
_AT_DESK = 16  # calls at a time


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """What a worker makes its kit of; all of it travels."""

    settings: Settings
    model: str | MinimalLLM | None = None
    roles: Mapping[str, str | MinimalLLM] = field(default_factory=dict)
    index: Path | None = None
    verify: bool = False
    judge: str = ""  # the rubric, where answers are graded
    functions: Mapping[str, Strategy] = field(default_factory=dict)
    known: Estimates | None = None
    budget: Budget = field(default_factory=Budget)


class _Asked(NamedTuple):
    """A question on its way to a worker."""

    example: Example
    entrant: Entrant


class _Came(NamedTuple):
    """What came of it, and what its calls took by model."""

    worked: Carried[Worked]
    log: Sequence[Logged]
    usages: Sequence[Usage]
    spent: Sequence[tuple[str, Usage]]


class _Worker:
    """Answers questions with a kit of its own."""

    def __init__(self, recipe: Recipe, desk: Any, number: int, path: str) -> None:
        if path:
            share_journal(recipe.settings.journal, SharedJournal(desk, path))
        self._spent: dict[tuple[str, str], list[tuple[str, Usage]]] = defaultdict(list)
        self._meter = worker_meter(recipe.budget, desk, number)
        self._meter.begin([], self._keep)
        plain = kit_for(recipe.settings, recipe.model, recipe.roles)
        kit = self._meter.wrap(plain)
        if not recipe.settings.replay:
            load_models(plain)
        self._work = worked_here(
            ask_with(
                kit,
                verify=recipe.verify,
                retriever=retriever_for(recipe.index, recipe.settings),
                functions=recipe.functions,
                known=None if recipe.known is None else recipe.known.of,
            ),
            JUDGES[recipe.judge](kit) if recipe.judge else None,
        )

    def __call__(self, asked: _Asked) -> _Came:
        """Return what came of a question, whatever it was."""
        example, entrant = asked
        trace = Trace()

        def work() -> Worked:
            with self._meter.question(example.id, entrant.label):
                return self._work(example, entrant, trace)

        worked = carried(work)
        spent = self._spent.pop((example.id, entrant.label), [])
        return _Came(worked, trace.log, trace.usages, spent)

    def _keep(self, example: str, entrant: str, model: str, usage: Usage) -> None:
        self._spent[example, entrant].append((model, usage))


@contextmanager
def questions_sent(recipe: Recipe, meter: Meter, address: str, workers: int, each: int) -> Iterator[Work]:
    """A `Work` that sends questions to so many workers, each with so many in hand at a time.

    Raises `ClusterFault` where the cluster cannot be reached or a worker cannot be made ready.
    """
    journal = open_journal(recipe.settings)
    path = "" if journal is None else str(journal.path)
    parts = allowance_at_desk(meter)
    if journal is not None:
        absolute = recipe.settings.model_copy(update={"journal": str(journal.path.absolute())})
        parts["journal"] = partial(open_journal, absolute)
    with cluster(address, workers) as count:
        desk = open_desk(parts, _AT_DESK) if parts else None

        def make(number: int) -> partial[_Worker]:
            return partial(_Worker, recipe, desk, number, path)

        with open_pool(make, count, each=each, on_death=forfeit_of(desk, recipe.budget)) as pool:
            pool.wait_ready()

            def work(example: Example, entrant: Entrant, trace: Trace) -> Worked:
                came: _Came = pool.do(_Asked(example, entrant))
                trace.log += came.log
                trace.spend(came.usages)
                for model, usage in came.spent:
                    meter.count(meter.current(), model, usage)
                try:
                    return came.worked.get()
                except BudgetSpent as error:
                    meter.stopped = meter.stopped or str(error)
                    raise

            yield work


def sent_later(held: contextlib.ExitStack, opened: Callable[[], Any]) -> dict[str, Any]:
    """Return the arguments of `run` that send questions; workers begin before the first, and `held` ends
    them.
    """
    begun: list[Work] = []

    def work(example: Example, entrant: Entrant, trace: Trace) -> Worked:
        return begun[0](example, entrant, trace)

    return {"work": work, "prepare": lambda: begun.append(held.enter_context(opened()))}
