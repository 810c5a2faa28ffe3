"""How one question of an evaluation is answered and graded: here, or wherever a `Work` sends it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from disputatio.errors import DisputatioError, LLMError, ReplyError
from disputatio.eval.judge import Grade, Judge
from disputatio.eval.running.entrants import options_for
from disputatio.eval.running.run_log import Entrant
from disputatio.trace import Trace
from disputatio.types import Answer, Example, Passage

Ask = Callable[[str, Sequence[Passage], str, Mapping[str, Any], Trace], Answer]
"""(question, passages, strategy, options, trace) -> answer; raises `LLMError` or `ReplyError` for a fault."""


class Worked(NamedTuple):
    """An answer, the seconds that it took, and the judge's grades."""

    answer: Answer
    seconds: float
    grades: Mapping[str, Grade]


Work = Callable[[Example, Entrant, Trace], Worked]
"""Answers a question as an entrant does; the trace hears of it. Raises as `Ask` does."""


def worked_here(ask: Ask, judge: Judge | None = None) -> Work:
    """Questions are asked in the thread that has them, and their answers graded, off their bill."""

    def work(example: Example, entrant: Entrant, trace: Trace) -> Worked:
        start = time.perf_counter()
        strategy, options = entrant.strategy, options_for(entrant, example)
        answer = ask(example.question, example.passages, strategy, options, trace)
        seconds = time.perf_counter() - start
        graded = judge is not None and answer.abstained != "fault"
        return Worked(answer, seconds, judge(example, answer) if judge is not None and graded else {})

    return work


def is_of_the_question(error: BaseException) -> bool:
    """Return whether an error is recorded with its question: a fault, or a bug of the strategy."""
    if isinstance(error, DisputatioError):
        return isinstance(error, LLMError | ReplyError)
    return isinstance(error, Exception | SystemExit)
