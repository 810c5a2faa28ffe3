"""Strategies measured on a data set, from Python: what `disputatio eval run` calls."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple

from disputatio.api.ray_asking import open_questions
from disputatio.arguments import check_calls
from disputatio.config import Say, Settings, read_settings
from disputatio.errors import InputError
from disputatio.eval.data.datasets import Identity, as_dataset, check, identify, load, row_numbers
from disputatio.eval.estimating import EstimatedSources, Estimator, estimate_sources, split
from disputatio.eval.judge import ROLE, judge_with, signature
from disputatio.eval.release_judge import release_judge_with
from disputatio.eval.release_judge import signature as release_signature
from disputatio.eval.results import Results, read_results
from disputatio.eval.running.entrants import Options, Strategies, entrants, functions_of
from disputatio.eval.running.preparing import (
    Work,
    WorkResult,
    ask_with,
    describe_retriever,
    engine_modules,
    find_versions,
    kit_for,
    load_models,
    retriever_for,
    run_manifest,
    work_here,
)
from disputatio.eval.running.run_log import Entrant, Entry, RunManifest
from disputatio.eval.running.run_log_file import report_disk_faults
from disputatio.eval.running.runner import Progress, Task, run
from disputatio.kit import Kit
from disputatio.pipeline import DEFAULT_STRATEGY, Strategy, check_model
from disputatio.protocols import ModelObject, Retriever
from disputatio.spending import Budget, Meter
from disputatio.store.contract import Index
from disputatio.store.opening import name_for_workers
from disputatio.store.own_passages import RetrieverLike
from disputatio.trace import Logged, Trace
from disputatio.types import Example, Usage
from disputatio.workers.outcome import Outcome, capture

Rubric = Literal["menu", "release"]
Dataset = str | Path | Sequence[str | Path | Example]
"""`NAME:PATH`, the path of a file of the plain format, several of these, or examples."""


@check_calls
def evaluate(
    dataset: Dataset,
    strategies: Strategies = DEFAULT_STRATEGY,
    *,
    options: Options = (),
    model: str | ModelObject | None = None,
    role: Mapping[str, str | ModelObject] | None = None,
    index: str | Path | RetrieverLike | None = None,
    out: str | Path | None = None,
    limit: int | None = None,
    rows: str | Path | Sequence[int] | None = None,
    seeds: int | Sequence[int] = 0,
    verify: bool = False,
    judge: bool | str | ModelObject = False,
    rubric: Rubric = "menu",
    in_flight: int = 1,
    ray: str | None = None,
    workers: int | None = None,
    budget: Budget | None = None,
    journal: str | Path | None = None,
    replay: bool = False,
    estimator: Estimator = "paper",
    progress: Callable[[Progress], None] | None = None,
    on_record: Callable[[Entry], None] | None = None,
    say: Say = lambda _: None,
) -> Results:
    """Ask every strategy every question of a data set, and score the answers.

    `dataset` is `NAME:PATH` as `disputatio eval datasets` lists them, a path of the plain format (`jsonl`),
    several of these, or examples. `strategies` are names (`"concat,madam_rag"`, `"LABEL=NAME"`), functions,
    a list of these, or a mapping of labels to them; `options` are theirs, `{"rounds": 2}` for all that have
    the option and `{"LABEL.rounds": 2}` for one. `model`, and each value of `role`, is a name or an object
    with `complete`, as for `ask`. With `index` that is searched in place of each row's own passages.

    Every record is on disk in `out` before the next question, and the same call goes on where an earlier one
    stopped; without `out` a temporary folder is used and removed. `limit` keeps the first so many rows,
    `rows` those of these numbers (or of a file of them). A strategy with a seed runs with each of `seeds`;
    the first is also that of the bootstrap. `verify` has citations judged, `judge` has answers graded, by
    the model given here or by that of the role `judge`: by a `menu` of words and their log-probabilities, or
    by RAGentA's `release` rubric, a number after reasoning. `in_flight` questions are worked on at a time.
    `ray` is the address of a cluster, or `local`: then so many `workers` (by default one a core) have as many
    questions in hand each, every one with models of its own; the results are those of a local run.
    `journal` is a file of model calls to repeat free; `replay` uses nothing else.

    For a strategy that needs estimates (its module's `ESTIMATES`) on the multi-source benchmark the sources
    are first estimated, on the set's own questions to estimate on, by the `estimator` `paper` (RA-RAG's) or
    `ours`; only its test questions are evaluated.

    `progress` and `on_record` are called after every record, `say` with messages for the user. A model's or
    the network's fault is counted in the results, and raises nothing; nor does an interrupt (Ctrl-C) or a
    spent budget: `Results.outcome` says why the run stopped. Raises `UnknownName`, `ConfigError` or
    `InputError` for what the caller can mend, `StoreError` where the disk is full or fails, with what was
    recorded kept, `ClusterFault` for a cluster that cannot do the work.
    """
    plan = EvaluationPlan(
        dataset=dataset,
        strategies=strategies,
        options=options,
        model=model,
        roles={**(role or {}), **({} if isinstance(judge, bool) else {ROLE: judge})},
        index=index,
        out=None if out is None else Path(out),
        limit=limit,
        rows=rows,
        seeds=(seeds,) if isinstance(seeds, int) else tuple(seeds),
        verify=verify,
        rubric=rubric if judge else "",
        in_flight=in_flight,
        ray=ray,
        workers=workers,
        journal=journal,
        replay=replay,
        estimator=estimator,
    )
    return _Evaluation(plan, Meter(budget), say).run(progress, on_record)


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationPlan:
    """The arguments of `evaluate`, checked: `roles` has the judge, `rubric` is empty without one."""

    dataset: Dataset
    strategies: Strategies
    options: Options
    model: str | ModelObject | None
    roles: Mapping[str, str | ModelObject]
    index: str | Path | RetrieverLike | None
    out: Path | None
    limit: int | None
    rows: str | Path | Sequence[int] | None
    seeds: tuple[int, ...]
    verify: bool
    rubric: Rubric | Literal[""]
    in_flight: int
    ray: str | None
    workers: int | None
    journal: str | Path | None
    replay: bool
    estimator: Estimator

    def __post_init__(self) -> None:
        if not self.seeds or len(set(self.seeds)) < len(self.seeds):
            raise InputError(f"seeds {list(self.seeds)}: name one or more, each once")
        if self.in_flight < 1:
            raise InputError("in_flight is at least 1")
        if self.workers is not None and self.ray is None:
            raise InputError(
                "workers are those of a cluster: give ray, or in_flight for work on this machine"
            )
        if self.ray == "" or (self.workers is not None and self.workers < 1):
            raise InputError("ray needs the address of a cluster, or local; workers are at least 1")

    @property
    def worker_count(self) -> int:
        """The workers of a cluster; 1 without one."""
        return (self.workers or os.cpu_count() or 1) if self.ray else 1

    def settings(self) -> Settings:
        """Return the settings in force; calls are repeated from a journal only if one is named."""
        journal = self.journal
        if journal is None and not self.replay:
            journal = "none"  # else a call that another strategy made would take no time
        return read_settings(
            model=self.model if isinstance(self.model, str) else None,
            role={name: part for name, part in self.roles.items() if isinstance(part, str)} or None,
            journal=None if journal is None else str(journal),
            replay=self.replay or None,
            index=Path(self.index) if isinstance(self.index, str | Path) else None,
        )

    def model_names(self, settings: Settings) -> list[str]:
        """Return the names of all models, those of the settings and those given as objects."""
        parts = (self.model, *self.roles.values())
        objects = [part for part in parts if part is not None and not isinstance(part, str)]
        by_name = [settings.model] if self.model is None or isinstance(self.model, str) else []
        return [*by_name, *settings.role.values(), *(str(getattr(part, "name", "")) for part in objects)]


class _Evaluation:
    """A plan that is carried out: its data, models and strategies, and where its questions are asked."""

    def __init__(self, plan: EvaluationPlan, meter: Meter, say: Say) -> None:
        self.plan, self.meter, self.say = plan, meter, say
        self.settings = plan.settings()
        self.chosen = entrants(
            plan.strategies,
            plan.options,
            seeds=plan.seeds,
            code=engine_modules(plan.model_names(self.settings)),
        )
        data = _read(plan.dataset, limit=plan.limit, rows=plan.rows)
        self.data, self.estimating = _apart(plan.dataset, data)
        self.notes = {
            identity.name: check(examples, searched=plan.index is not None)
            + _note_ungraded(identity, judge=bool(plan.rubric))
            for identity, examples in self.data
        }
        for name, lines in self.notes.items():
            for line in lines:
                say(f"{name}: {line}")
        self.plain = kit_for(self.settings, plan.model, plan.roles, say=say)
        for entrant in self.chosen:
            check_model(entrant.strategy, self.plain)
        self.kit = meter.wrap(self.plain)
        self.retriever = retriever_for(plan.index, self.settings, say)

    def run(
        self, progress: Callable[[Progress], None] | None, on_record: Callable[[Entry], None] | None
    ) -> Results:
        """Estimate sources where a strategy needs it, ask every question, and read the results."""
        plan, out, manifest = self.plan, self.plan.out, self._manifest()
        folder = tempfile.TemporaryDirectory(prefix="disputatio-eval-") if out is None else nullcontext(out)
        with folder as folder_name, report_disk_faults(Path(folder_name)), ExitStack() as held:
            known = self._estimates()
            outcome = run(
                [example for _, examples in self.data for example in examples],
                self.chosen,
                **(self._prepare_here(known) if plan.ray is None else self._prepare_workers(known, held)),
                out=Path(folder_name),
                manifest=manifest,
                meter=self.meter,
                workers=plan.in_flight * plan.worker_count,
                progress=progress,
                on_record=on_record,
                about={
                    "versions": find_versions(),
                    "notes": self.notes,
                    "limit": plan.limit,
                    "seeds": list(plan.seeds),
                    "workers": plan.in_flight * plan.worker_count,
                    "journal": self.settings.journal != "none",
                    "estimates": known.about or _of_index(self.retriever),
                },
            )
            results = read_results(Path(folder_name))
        return replace(
            results,
            folder=out,
            outcome=outcome,
            spent=self.meter.spent,
            ahead=self.meter.forecast(outcome.waiting) if outcome.waiting else None,
        )

    def _manifest(self) -> RunManifest:
        plan, signatures = self.plan, {"": lambda _: "", "menu": signature, "release": release_signature}
        return run_manifest(
            self.kit,
            [identity for identity, _ in self.data],
            seed=plan.seeds[0],
            verify=plan.verify,
            judge=signatures[plan.rubric](self.kit),
            index="" if self.retriever is None else describe_retriever(self.retriever),
        )

    def _estimates(self) -> EstimatedSources:
        plan = self.plan
        if plan.index is not None:
            return EstimatedSources(by_settings={}, about={})
        return estimate_sources(
            self.chosen,
            self.estimating,
            self.plain,
            estimator=plan.estimator,
            workers=plan.in_flight,
            folder=plan.out,
            say=self.say,
        )

    def _recipe(self, known: EstimatedSources) -> EvaluationRecipe:
        plan = self.plan
        return EvaluationRecipe(
            settings=self.settings,
            model=plan.model,
            roles=plan.roles,
            index=None if plan.ray is None else name_for_workers(plan.index),
            verify=plan.verify,
            judge=plan.rubric,
            functions=functions_of(plan.strategies),
            known=known,
        )

    def _prepare_here(self, known: EstimatedSources) -> dict[str, Any]:
        return {
            "work": self._recipe(known).work(self.kit, self.retriever),
            "prepare": None if self.settings.replay else lambda: load_models(self.plain),
        }

    def _prepare_workers(self, known: EstimatedSources, held: ExitStack) -> dict[str, Any]:
        plan, recipe = self.plan, self._recipe(known)
        begun: list[Work] = []

        def begin() -> None:
            work = open_work(recipe, self.meter, plan.ray or "", plan.worker_count, plan.in_flight)
            begun.append(held.enter_context(work))

        def work(*question: Any) -> WorkResult:
            return begun[0](*question)

        return {"work": work, "prepare": begin}


# --- questions on the workers of a Ray cluster, each with a kit of its own ------------------------
# The driver keeps what a local run keeps: records, spending, and the journal of calls.
JUDGES = {"menu": judge_with, "release": release_judge_with}
"""The judges that grade answers, by the rubric."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationRecipe:
    """The parts of a worker's kit; all of it travels."""

    settings: Settings
    model: str | ModelObject | None
    roles: Mapping[str, str | ModelObject]
    index: Path | None
    verify: bool
    judge: str  # the rubric, where answers are graded
    functions: Mapping[str, Strategy]
    known: EstimatedSources

    def work(self, kit: Kit, retriever: Retriever | None) -> Work:
        """Return what answers a question, and has the answer graded where that is asked for."""
        ask = ask_with(
            kit, verify=self.verify, retriever=retriever, functions=self.functions, known=self.known.of
        )
        return work_here(ask, JUDGES[self.judge](kit) if self.judge else None)


class _Result(NamedTuple):
    worked: Outcome[WorkResult]
    log: Sequence[Logged]
    usages: Sequence[Usage]


def _make_work(recipe: EvaluationRecipe, meter: Meter) -> Callable[[Task], _Result]:
    """Make, on a worker, the function that answers a question with a kit of its own."""
    plain = kit_for(recipe.settings, recipe.model, recipe.roles)
    kit = meter.wrap(plain)
    if not recipe.settings.replay:
        load_models(plain)
    work = recipe.work(kit, retriever_for(recipe.index, recipe.settings))

    def answer(question: Task) -> _Result:
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
            result: _Result = ask(Task(example, entrant))
            trace.log += result.log
            trace.spend(result.usages)
            return result.worked.get()

        yield work


# --- what is evaluated on -----------------------------------------------------------------------
def _read(
    dataset: Dataset, *, limit: int | None, rows: str | Path | Sequence[int] | None
) -> list[tuple[Identity, list[Example]]]:
    """Return the examples of each data set; raises `InputError` as `load` and `as_dataset` do."""
    wanted = Path(rows) if isinstance(rows, str) else rows
    parts = [dataset] if isinstance(dataset, str | Path) else list(dataset)
    if parts and not any(isinstance(part, Example) for part in parts):
        specs = [f"jsonl:{part}" if isinstance(part, Path) else str(part) for part in parts]
        return [(identify(spec), load(spec, limit=limit, rows=wanted)) for spec in specs]
    given = [part for part in parts if isinstance(part, Example)]
    if len(given) < len(parts):
        raise InputError("a data set is names and paths, or examples: not both")
    numbers = list(row_numbers(wanted)) if isinstance(wanted, Path) else wanted
    examples, identities = as_dataset(given, limit=limit, rows=numbers)
    return [
        (identity, [example for example in examples if example.metadata["dataset"] == identity.name])
        for identity in identities
    ]


def _apart(
    dataset: Dataset, data: list[tuple[Identity, list[Example]]]
) -> tuple[list[tuple[Identity, list[Example]]], list[Example]]:
    """Return the data to evaluate, and the questions of the multi-source benchmark to estimate on."""
    parts = [dataset] if isinstance(dataset, str | Path) else list(dataset)
    specs = [part for part in parts if isinstance(part, str)]
    tests, estimating = split(specs, [example for _, examples in data for example in examples])
    kept = {id(example) for example in tests}
    return [(name, [one for one in examples if id(one) in kept]) for name, examples in data], estimating


def _of_index(retriever: Retriever | None) -> dict[str, Any]:
    if not isinstance(retriever, Index):
        return {}
    sources = {n: s.reliability for n, s in retriever.estimates().items() if s.reliability is not None}
    return {"estimator": "index", "sources": {"index": sources}} if sources else {}


def _note_ungraded(identity: Identity, *, judge: bool) -> list[str]:
    """Return a note on a data set whose answers only a judge can grade, if there is no judge."""
    if judge or not identity.judged:
        return []
    return ["its answers are graded by a judge (--judge --role judge=MODEL): without one there are no scores"]
