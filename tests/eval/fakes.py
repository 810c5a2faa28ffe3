"""Small examples and strategies that the tests of this room share. Run as a module, it evaluates."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from disputatio.errors import ServerFault
from disputatio.eval.judge import Judge
from disputatio.eval.running import runner
from disputatio.eval.running.preparing import Ask, work_here
from disputatio.eval.running.run_log import Entrant, RunManifest
from disputatio.events import Started
from disputatio.trace import Trace
from disputatio.types import Answer, Example, Passage, Usage

MANIFEST = RunManifest(
    datasets={"toy:rows.jsonl": "ab12"},
    metrics={"toy:rows.jsonl": ("em", "precision", "recall", "f1")},
    metrics_version=1,
    model="scripted:toy",
    engine="scripted 1",
    seed=5,
)
RIGHT = Entrant(label="right", strategy="right", options={"rounds": 1}, prompts="h1")
HALF = Entrant(label="half", strategy="half", prompts="h2")


def examples(count: int) -> list[Example]:
    """Questions 0, 1, ...; the gold answer of question i is `gold i`, the wrong one `wrong i`."""
    return [
        Example(
            id=f"x{i}",
            row=i,
            question=f"question {i}",
            gold=(f"gold {i}",),
            wrong=(f"wrong {i}",),
            passages=(Passage(text=f"It is gold {i}.", id=f"p{i}", source="doc1"),),
            metadata={"dataset": "toy:rows.jsonl", "strata": {"parity": "odd" if i % 2 else "even"}},
        )
        for i in range(count)
    ]


def ask(
    question: str,
    passages: Sequence[Passage],
    strategy: str,
    options: Mapping[str, Any],
    trace: Trace,
) -> Answer:
    """`right` is always right, `half` on even questions, `silent` abstains; the others fail."""
    number = int(question.rsplit(maxsplit=1)[-1])
    trace.emit(Started(question=question, strategy=strategy, model="m"))
    usage = Usage(calls=2, prompt_tokens=100 + number, cached_tokens=10, completion_tokens=20, seconds=0.5)
    if strategy == "silent":
        return Answer(question=question, abstained="no_evidence", usage=usage)
    if strategy == "down":
        raise ServerFault("the endpoint failed", 503)
    if strategy == "bug":
        raise KeyError("missing")
    right = strategy == "right" or number % 2 == 0
    return Answer(
        question=question,
        answers=(f"gold {number}" if right else f"wrong {number}",),
        usage=usage,
        passages=tuple(passages),
        rounds=2,
    )


def run(
    examples: Sequence[Example],
    entrants: Sequence[Entrant],
    *,
    ask: Ask,
    judge: Judge | None = None,
    **options: Any,
) -> runner.RunOutcome:
    """Run what answers by `ask`."""
    return runner.run(examples, entrants, work=work_here(ask, judge), **options)


def _slowly(
    question: str, passages: Sequence[Passage], strategy: str, options: Mapping[str, Any], trace: Trace
) -> Answer:
    time.sleep(0.004)
    return ask(question, passages, strategy, options, trace)


if __name__ == "__main__":
    outcome = run(
        examples(int(sys.argv[2])),
        [RIGHT, HALF],
        ask=_slowly,
        out=Path(sys.argv[1]),
        manifest=MANIFEST,
        workers=int(sys.argv[3]),
        progress=lambda p: print(f"{p.entrant} {p.row}", flush=True),
    )
    print(outcome.stopped or "finished", flush=True)


def without_times(value: Any) -> Any:
    """Return a report, or a part of one, but for what clocks said."""
    if isinstance(value, dict):
        return {k: without_times(v) for k, v in value.items() if "seconds" not in k and k != "runs"}
    return [without_times(each) for each in value] if isinstance(value, list) else value
