"""Our data sets as Inspect tasks: `disputatio/ramdocs` and the others, one for each loader.

`inspect eval disputatio/ramdocs --model openai/gpt-4o -T path=dev.jsonl -T strategy=madam_rag -T rounds=2`
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from inspect_ai import Task, task
from inspect_ai._util.error import PrerequisiteError
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.scorer import Score, Scorer, Target, mean, model_graded_qa, scorer, stderr
from inspect_ai.solver import TaskState

from disputatio.errors import DisputatioError, UnknownName
from disputatio.eval.data.datasets import check, datasets, identify, load
from disputatio.eval.metrics import VERSION, score_answer
from disputatio.inspect_ai.solver import METADATA_KEY, disputation_solver
from disputatio.pipeline import DEFAULT_STRATEGY
from disputatio.types import Example

# --- the scorer ---------------------------------------------------------------------------------------
USUAL = ("em", "precision", "recall", "f1", "accuracy")
METRICS = (*USUAL, "choice", "abstention", "attack")


@scorer(metrics={"*": [mean(), stderr()]})
def disputatio_scorer(metrics: Sequence[str] = USUAL) -> Scorer:
    """Score the answers against the target, which lists the gold ones, and `metadata["wrong"]`.

    What else the metadata says of how answers compare holds as in `score_answer`: `readings` with other names
    of the gold answers, `options` to pick from. The answers are those in `metadata["disputatio"]`; where
    another solver answered, its completion is the one answer. A score that is not defined (the precision of
    an abstention) is unscored, and so is a sample with a fault or without a word; `abstained` is the share of
    samples that were answered by an abstention. Raises `UnknownName` for a metric that is not known.
    """
    for metric in metrics:
        if metric not in METRICS:
            raise UnknownName("metric", metric, METRICS)

    async def score(state: TaskState, target: Target) -> Score:
        recorded = state.metadata.get(METADATA_KEY)
        if recorded is None and not state.output.completion.strip():
            return Score.unscored(reason="no_response", explanation="no answer was given, nor an abstention")
        if recorded is not None and recorded["abstained"] == "fault":
            return Score.unscored(reason="no_response", explanation="a model or the network failed")
        answers = tuple(recorded["answers"]) if recorded is not None else (state.output.completion,)
        abstained = recorded["abstained"] if recorded is not None else None
        example = Example(
            id=str(state.sample_id),
            row=0,
            question=state.input_text,
            gold=tuple(target.target),
            wrong=tuple(state.metadata.get("wrong") or ()),
            metadata=state.metadata,
        )
        scores = score_answer(answers, example, metrics)
        value = {name: math.nan if score is None else score for name, score in scores.items()}
        return Score(
            value={**value, "abstained": float(abstained is not None)},
            answer="; ".join(answers),
            explanation=f"abstained: {abstained}" if abstained else None,
        )

    return score


FAULTS = 0.01  # more of a run than this failed, and it has no scores to be read


@task
def disputatio_task(
    dataset: str,
    strategy: str = DEFAULT_STRATEGY,
    *,
    rows: str | None = None,
    model: str | None = None,
    index: str | None = None,
    verify: bool = False,
    seed: int = 0,
    **options: Any,
) -> Task:
    """Return a data set, `NAME:PATH` as `disputatio eval datasets` lists them, answered by a strategy.

    `rows` is a file of row numbers from 0, one a line; Inspect's own `--limit` keeps the first so many. The
    other options are those of `disputation_solver`. Answers that only a judge can grade go to Inspect's
    `model_graded_qa` (`--model-role grader=MODEL`). A fault is a sample's error: the run goes on, and fails
    at its end when more than 1 % of the samples did.

    Raises Inspect's `PrerequisiteError`, which its command line prints in one line, for a data set, a
    strategy or an option that cannot be used.
    """
    try:
        examples = load(dataset, rows=None if rows is None else Path(rows))
        identity = identify(dataset)
        solver = disputation_solver(strategy, model=model, index=index, verify=verify, seed=seed, **options)
    except DisputatioError as error:
        raise PrerequisiteError(str(error)) from error
    return Task(
        dataset=MemoryDataset([sample(example) for example in examples], name=identity.name),
        solver=solver,
        scorer=model_graded_qa() if identity.judged else disputatio_scorer(identity.metrics),
        fail_on_error=FAULTS,
        continue_on_fail=True,
        version=VERSION,
        metadata={
            "sha256": identity.sha256,
            "strategy": strategy,
            "notes": check(examples, searched=index is not None),
        },
    )


def sample(example: Example) -> Sample:
    """Return an example as Inspect holds it: gold answers are the target, the passages stand in the metadata.

    No strategy sees the metadata but the passages.
    """
    passages = [{name: value for name, value in asdict(each).items() if value} for each in example.passages]
    return Sample(
        input=example.question,
        target=list(example.gold),
        id=example.id,
        metadata={**example.metadata, "row": example.row, "wrong": list(example.wrong), "passages": passages},
    )


def _task_of(name: str, description: str) -> Callable[..., Task]:
    """Return the task of one loader, which takes the path and what `disputatio_task` takes."""

    def made(path: str, strategy: str = DEFAULT_STRATEGY, **options: Any) -> Task:
        return disputatio_task(f"{name}:{path}", strategy, **options)

    made.__doc__ = f"{description}. `path` is its file; see `disputatio_task` for the rest."
    return task(name=name)(made)


TASKS = {form.name: _task_of(form.name, form.description) for form in datasets()}
