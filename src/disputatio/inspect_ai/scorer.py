"""Our metrics as an Inspect scorer."""

from __future__ import annotations

import math
from collections.abc import Sequence

from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
from inspect_ai.solver import TaskState

from disputatio.errors import UnknownName
from disputatio.eval.metrics import score_answer
from disputatio.inspect_ai.solver import METADATA_KEY
from disputatio.types import Example

USUAL = ("em", "precision", "recall", "f1", "accuracy")
METRICS = (*USUAL, "choice", "abstention", "attack")


@scorer(metrics={"*": [mean(), stderr()]})
def disputatio_scorer(metrics: Sequence[str] = USUAL) -> Scorer:
    """Score the answers against the target, which lists the gold ones, and `metadata["wrong"]`.

    What else the metadata says of how answers compare holds as in `score_answer`: `readings` with other names
    of the gold answers, `options` to pick from. The answers are those in `metadata["disputatio"]`; where
    another solver answered, its completion is the one answer. A score that is not defined (the precision of
    an abstention) is unscored, and so is a sample with a fault or without a word; `abstained` is the share
    of samples that were answered by an abstention.
    Raises `UnknownName` for a metric that is not known.
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
