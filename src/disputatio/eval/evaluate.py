"""Strategies measured on a data set, from Python: what `disputatio eval run` calls."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, cast

from disputatio.config import Say, Settings, read_settings
from disputatio.errors import InputError
from disputatio.eval.data.datasets import Identity, check, identify, load, row_numbers
from disputatio.eval.data.in_memory import as_dataset
from disputatio.eval.estimating import Estimates, Estimator, estimated, split
from disputatio.eval.judge import ROLE, signature
from disputatio.eval.release_judge import signature as release_signature
from disputatio.eval.results import Results, read_results
from disputatio.eval.running.entrants import Options, Strategies, entrants, functions_of
from disputatio.eval.running.preparing import (
    ask_with,
    described,
    engine_modules,
    installed_versions,
    kit_for,
    load_models,
    retriever_for,
    run_manifest,
)
from disputatio.eval.running.ray_run import JUDGES, Recipe, questions_sent, sent_later
from disputatio.eval.running.run_log import Entry
from disputatio.eval.running.run_log_file import disk_faults_told
from disputatio.eval.running.runner import Progress, run
from disputatio.pipeline import DEFAULT_STRATEGY
from disputatio.protocols import MinimalLLM, Retriever
from disputatio.spending import Budget, Meter
from disputatio.store.contract import Index
from disputatio.store.opening import name_for_workers
from disputatio.store.own_passages import RetrieverLike
from disputatio.types import Example

Rubric = Literal["menu", "release"]
Dataset = str | Path | Sequence[str | Path] | Sequence[Example]
"""`NAME:PATH`, the path of a file of the plain format, several of these, or examples."""


def evaluate(
    dataset: Dataset,
    strategies: Strategies = DEFAULT_STRATEGY,
    *,
    options: Options = (),
    model: str | MinimalLLM | None = None,
    role: Mapping[str, str | MinimalLLM] | None = None,
    index: str | Path | RetrieverLike | None = None,
    out: str | Path | None = None,
    limit: int | None = None,
    rows: str | Path | Sequence[int] | None = None,
    seeds: int | Sequence[int] = 0,
    verify: bool = False,
    judge: bool | str | MinimalLLM = False,
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
    every_seed = [seeds] if isinstance(seeds, int) else list(seeds)
    if not every_seed or len(set(every_seed)) < len(every_seed):
        raise InputError(f"seeds {every_seed}: name one or more, each once")
    if workers is not None and ray is None:
        raise InputError("workers are those of a cluster: give ray, or in_flight for work on this machine")
    if ray == "" or (workers is not None and workers < 1):
        raise InputError("ray needs the address of a cluster, or local; workers are at least 1")
    meter = Meter(budget)
    roles = {**(role or {}), **({} if isinstance(judge, bool) else {ROLE: judge})}
    settings = _settings(model, roles, journal=journal, replay=replay, index=index)
    chosen = entrants(
        strategies, options, seeds=every_seed, code=engine_modules(_model_names(settings, model, roles))
    )
    data = _read(dataset, limit=limit, rows=rows)
    data, estimating = _apart(dataset, data)
    notes = {
        identity.name: check(examples, searched=index is not None) + _ungraded(identity, judge=bool(judge))
        for identity, examples in data
    }
    for name, lines in notes.items():
        for line in lines:
            say(f"{name}: {line}")
    plain = kit_for(settings, model, roles, say=say)
    kit = meter.wrap(plain)
    retriever = retriever_for(index, settings, say)
    manifest = run_manifest(
        kit,
        [identity for identity, _ in data],
        seed=every_seed[0],
        verify=verify,
        judge="" if not judge else signature(kit) if rubric == "menu" else release_signature(kit),
        index="" if retriever is None else described(retriever),
    )
    folder = tempfile.TemporaryDirectory(prefix="disputatio-eval-") if out is None else nullcontext(out)
    with folder as folder_path, disk_faults_told(Path(folder_path)):
        known = Estimates(by_settings={}, about={})
        if index is None:
            known = estimated(
                chosen,
                estimating,
                plain,
                estimator=estimator,
                workers=in_flight,
                folder=None if out is None else Path(out),
                say=say,
            )
        with ExitStack() as held:
            asking: dict[str, Any]
            hands = in_flight * ((workers or os.cpu_count() or 1) if ray else 1)
            if ray is None:
                asking = {
                    "ask": ask_with(
                        kit,
                        verify=verify,
                        retriever=retriever,
                        functions=functions_of(strategies),
                        known=known.of,
                    ),
                    "judge": None if not judge else JUDGES[rubric](kit),
                    "prepare": None if settings.replay else lambda: load_models(plain),
                }
            else:
                recipe = Recipe(
                    settings=settings,
                    model=model,
                    roles=roles,
                    index=name_for_workers(index),
                    verify=verify,
                    judge=rubric if judge else "",
                    functions=functions_of(strategies),
                    known=known,
                    budget=meter.budget,
                )
                asking = sent_later(
                    held, partial(questions_sent, recipe, meter, ray, hands // in_flight, in_flight)
                )
            outcome = run(
                [example for _, examples in data for example in examples],
                chosen,
                **asking,
                out=Path(folder_path),
                manifest=manifest,
                meter=meter,
                workers=hands,
                progress=progress,
                on_record=on_record,
                about={
                    "versions": installed_versions(),
                    "notes": notes,
                    "limit": limit,
                    "seeds": every_seed,
                    "workers": hands,
                    "journal": settings.journal != "none",
                    "estimates": known.about or _of_index(retriever),
                },
            )
        results = read_results(Path(folder_path))
    return replace(
        results,
        folder=None if out is None else Path(out),
        outcome=outcome,
        spent=meter.spent,
        ahead=meter.forecast(outcome.waiting) if outcome.waiting else None,
    )


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
    if not all(isinstance(part, Example) for part in parts):
        raise InputError("a data set is names and paths, or examples: not both")
    numbers = list(row_numbers(wanted)) if isinstance(wanted, Path) else wanted
    examples, identities = as_dataset(cast("list[Example]", parts), limit=limit, rows=numbers)
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
    """Return what an index knows of its sources, for the record."""
    if not isinstance(retriever, Index):
        return {}
    sources = {n: s.reliability for n, s in retriever.estimates().items() if s.reliability is not None}
    return {"estimator": "index", "sources": {"index": sources}} if sources else {}


def _ungraded(identity: Identity, *, judge: bool) -> list[str]:
    """Return what to say of a data set whose answers only a judge can grade, where there is none."""
    if judge or not identity.judged:
        return []
    return ["its answers are graded by a judge (--judge --role judge=MODEL): without one there are no scores"]


# --- what it is evaluated with ------------------------------------------------------------------
def _settings(
    model: str | MinimalLLM | None,
    roles: Mapping[str, str | MinimalLLM],
    *,
    journal: str | Path | None,
    replay: bool,
    index: str | Path | RetrieverLike | None,
) -> Settings:
    """Return the settings in force; calls are repeated from a journal only where one is named."""
    if journal is None and not replay:
        journal = "none"  # else a call that another strategy made would take no time
    return read_settings(
        model=model if isinstance(model, str) else None,
        role={name: part for name, part in roles.items() if isinstance(part, str)} or None,
        journal=None if journal is None else str(journal),
        replay=replay or None,
        index=Path(index) if isinstance(index, str | Path) else None,
    )


def _model_names(
    settings: Settings, model: str | MinimalLLM | None, roles: Mapping[str, str | MinimalLLM]
) -> list[str]:
    """Return the names of all models, those of the settings and those given as objects."""
    objects = [part for part in (model, *roles.values()) if part is not None and not isinstance(part, str)]
    by_name = [settings.model] if model is None or isinstance(model, str) else []
    return [*by_name, *settings.role.values(), *(str(getattr(part, "name", "")) for part in objects)]
