"""An evaluation's questions on the workers of a Ray cluster, each with a kit of its own.

The driver keeps what a local run keeps: records, spending, and the journal of calls.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from disputatio.api.ray_asking import open_questions
from disputatio.config import Settings
from disputatio.eval.estimating import EstimatedSources
from disputatio.eval.judge import judge_with
from disputatio.eval.release_judge import release_judge_with
from disputatio.eval.running.preparing import (
    Work,
    WorkResult,
    ask_with,
    kit_for,
    load_models,
    retriever_for,
    work_here,
)
from disputatio.eval.running.run_log import Entrant
from disputatio.pipeline import Strategy
from disputatio.protocols import ModelObject
from disputatio.spending import Meter
from disputatio.trace import Logged, Trace
from disputatio.types import Example, Usage
from disputatio.workers.outcome import Outcome, capture

JUDGES = {"menu": judge_with, "release": release_judge_with}
"""The judges that grade answers, by the rubric."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationRecipe:
    """The parts of a worker's kit; all of it travels."""

    settings: Settings
    model: str | ModelObject | None = None
    roles: Mapping[str, str | ModelObject] = field(default_factory=dict)
    index: Path | None = None
    verify: bool = False
    judge: str = ""  # the rubric, where answers are graded
    functions: Mapping[str, Strategy] = field(default_factory=dict)
    known: EstimatedSources | None = None


class _Question(NamedTuple):
    """A question on its way to a worker."""

    example: Example
    entrant: Entrant


class _Result(NamedTuple):
    """The result of a question, and what its trace has."""

    worked: Outcome[WorkResult]
    log: Sequence[Logged]
    usages: Sequence[Usage]


def _make_work(recipe: EvaluationRecipe, meter: Meter) -> Callable[[_Question], _Result]:
    """Make, on a worker, the function that answers a question with a kit of its own."""
    plain = kit_for(recipe.settings, recipe.model, recipe.roles)
    kit = meter.wrap(plain)
    if not recipe.settings.replay:
        load_models(plain)
    work = work_here(
        ask_with(
            kit,
            verify=recipe.verify,
            retriever=retriever_for(recipe.index, recipe.settings),
            functions=recipe.functions,
            known=None if recipe.known is None else recipe.known.of,
        ),
        JUDGES[recipe.judge](kit) if recipe.judge else None,
    )

    def answer(question: _Question) -> _Result:
        trace = Trace()
        worked = capture(lambda: work(question.example, question.entrant, trace))
        return _Result(worked, trace.log, trace.usages)

    return answer


@contextmanager
def open_work(
    recipe: EvaluationRecipe, meter: Meter, address: str, workers: int, each: int
) -> Iterator[Work]:
    """Open a `Work` that sends questions to workers; raises as `open_questions` does."""
    make = partial(_make_work, recipe)
    with open_questions(make, recipe.settings, meter, address, workers, each) as ask:

        def work(example: Example, entrant: Entrant, trace: Trace) -> WorkResult:
            result: _Result = ask(_Question(example, entrant))
            trace.log += result.log
            trace.spend(result.usages)
            return result.worked.get()

        yield work


def defer_work(held: contextlib.ExitStack, opened: Callable[[], Any]) -> dict[str, Any]:
    """Return the arguments of `run` that send questions; workers begin before the first question.

    They end with `held`.
    """
    begun: list[Work] = []

    def work(example: Example, entrant: Entrant, trace: Trace) -> WorkResult:
        return begun[0](example, entrant, trace)

    return {"work": work, "prepare": lambda: begun.append(held.enter_context(opened()))}
