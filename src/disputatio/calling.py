"""Call a model: report each result once, end the calls on cancel, reject results that break the protocol."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar, cast

from disputatio.errors import BatchFault, Malformed
from disputatio.protocols import LLM, Cancel
from disputatio.types import Choice, Completion, Prompt, Sampling

_Result = TypeVar("_Result", Completion, Choice)
_ROUNDING = 1e-3  # how far above zero rounding may put the log-probability of a certain option


def complete(
    model: LLM,
    prompts: Sequence[Prompt],
    sampling: Sampling,
    on_done: Callable[[int, Completion], None],
    cancel: Cancel,
) -> list[Completion]:
    """Complete the prompts, in order; `on_done(index, completion)` is called once for each that succeeds.

    It is called as soon as the model reports a completion, and for those that the model did not report
    when the batch is back. Raises `LLMError`, `Cancelled`, and `Malformed` for a model that does not return
    one completion a prompt.
    """
    report = _Once(on_done)
    return _call(
        lambda: model.complete(prompts, sampling, on_done=report, cancel=cancel),
        model,
        prompts,
        report,
        cancel,
    )


def choose(
    model: LLM,
    prompts: Sequence[Prompt],
    options: Sequence[str],
    on_done: Callable[[int, Choice], None],
    cancel: Cancel,
) -> list[Choice]:
    """Score the options for each prompt; reported and cancelled as by `complete`.

    Raises also `Malformed` for log-probabilities that are not finite numbers up to zero.
    """

    def check(index: int, choice: Choice) -> None:
        logprobs = choice.logprobs
        if len(logprobs) != len(options) or not all(value <= _ROUNDING for value in logprobs):
            raise Malformed("the model returned log-probabilities that are none")
        on_done(index, choice)

    report = _Once(check)
    return _call(
        lambda: model.choose(prompts, options, on_done=report, cancel=cancel), model, prompts, report, cancel
    )


class _Once:
    """Reports each result of a batch once."""

    def __init__(self, on_done: Callable[[int, _Result], None]) -> None:
        self._on_done: Callable[[int, Completion | Choice], None] = cast("Callable[..., None]", on_done)
        self._reported: set[int] = set()

    def __call__(self, index: int, result: Completion | Choice) -> None:
        if index not in self._reported:
            self._reported.add(index)
            self._on_done(index, result)


def _call(
    call: Callable[[], list[_Result]], model: LLM, prompts: Sequence[Prompt], report: _Once, cancel: Cancel
) -> list[_Result]:
    """Make the call and report what the model has not reported, also of a batch that failed in part."""
    cancel.check()
    try:
        results = call()
    except BatchFault as fault:
        for index, result in enumerate(fault.results):
            if result is not None:
                report(index, result)
        raise
    cancel.check()
    if len(results) != len(prompts):
        raise Malformed(f"{model.name}: {len(prompts)} calls were made and {len(results)} answered")
    for index, result in enumerate(results):
        report(index, result)
    return results
