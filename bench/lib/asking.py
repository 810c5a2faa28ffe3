"""Helpers of the benches that ask strategies: questions in threads, means with intervals, paired tests, tables."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from disputatio.errors import DisputatioError
from disputatio.eval.statistics import estimate as share
from disputatio.eval.statistics import estimate_difference, mcnemar
from disputatio.events import Read
from disputatio.kit import Kit
from disputatio.pipeline import ask
from disputatio.protocols import Retriever
from disputatio.store.in_memory import InMemory
from disputatio.trace import Trace
from disputatio.types import Answer, Example, Passage

_In = TypeVar("_In")
_Out = TypeVar("_Out")
# Questions in flight: single answers are written one token a step, and many cost little more than one.
THREADS = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A strategy's answer, its trace, and the fault if there was one."""

    answer: Answer | None
    trace: Trace
    fault: str = ""

    @property
    def answers(self) -> tuple[str, ...]:
        return self.answer.answers if self.answer else ()

    def tokens(self) -> int:
        """Prompt and new tokens of the calls."""
        reads = [event for event in self.trace.events if isinstance(event, Read)]
        return sum(read.usage.prompt_tokens + read.usage.completion_tokens for read in reads)

    def calls(self) -> int:
        return sum(isinstance(event, Read) for event in self.trace.events)


def say(text: str) -> None:
    """Print a line of progress."""
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


def over(items: Sequence[_In], do: Callable[[_In], _Out], *, label: str) -> list[_Out]:
    """`do` each item in a few threads, so that the engine has several questions to batch."""
    start = time.perf_counter()
    done: list[_Out] = []
    with ThreadPoolExecutor(THREADS) as pool:
        for n, result in enumerate(pool.map(do, items), 1):
            done.append(result)
            if n % 10 == 0 or n == len(items):
                say(f"{label}: {n}/{len(items)}, {time.perf_counter() - start:.0f} s")
    return done


def put(
    example: Example,
    kit: Kit,
    strategy: str,
    options: Mapping[str, Any],
    *,
    passages: Sequence[Passage] | None = None,
    retriever: Retriever | None = None,
) -> Asked:
    """Put one question to one strategy; faults of ours are kept, others end the benchmark."""
    searched = retriever or InMemory(example.passages if passages is None else passages)
    trace = Trace()
    try:
        answer = ask(
            example.question,
            kit=replace(kit, retriever=searched),
            strategy=strategy,
            options=options,
            verify=False,
            trace=trace,
        )
    except DisputatioError as error:
        return Asked(answer=None, trace=trace, fault=f"{type(error).__name__}: {error}"[:120])
    return Asked(answer=answer, trace=trace)


def told(values: Sequence[float | None], digits: int = 3) -> str:
    """Return a mean with its 95 % bootstrap interval.

    >>> told([1.0, 1.0])
    '1.000 [1.000, 1.000]'
    """
    estimate = share(values)
    if estimate.mean is None:
        return "–"
    if estimate.low is None or estimate.high is None:
        return f"{estimate.mean:.{digits}f}"
    return f"{estimate.mean:.{digits}f} [{estimate.low:.{digits}f}, {estimate.high:.{digits}f}]"


def against(first: Sequence[float | None], other: Sequence[float | None]) -> str:
    """Return a paired difference with its interval and p, and McNemar's exact test where scores are right or
    wrong.

    >>> against([1.0] * 7 + [0.0] * 3, [0.0] * 10).partition("; ")[2]
    'McNemar 7 to 0, p = 0.016'
    """
    difference = estimate_difference(first, other)
    if difference.mean is None or difference.low is None or difference.high is None or difference.p is None:
        return "–"
    chance = "p < 0.001" if difference.p < 0.001 else f"p = {difference.p:.3f}"
    text = f"{difference.mean:+.3f} [{difference.low:+.3f}, {difference.high:+.3f}], {chance}"
    test = mcnemar(first, other)
    if test is None:
        return text
    exact = "p < 0.001" if test.p < 0.001 else f"p = {test.p:.3f}"
    return f"{text}; McNemar {test.one_only} to {test.other_only}, {exact}"


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Return a Markdown table, numbers to the right."""
    lines = ["| " + " | ".join(head) + " |", "|---|" + "---:|" * (len(head) - 1)]
    return "\n".join([*lines, *("| " + " | ".join(str(cell) for cell in row) + " |" for row in rows)])
