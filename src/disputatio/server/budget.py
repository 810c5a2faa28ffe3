"""What one question may cost: a budget, and models that keep to it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from disputatio import calling
from disputatio.calling import Cancel
from disputatio.kit import Kit
from disputatio.protocols import LLM
from disputatio.server.faults import BudgetSpent
from disputatio.types import Capabilities, Choice, Completion, Prompt, Sampling

_Result = TypeVar("_Result", Completion, Choice)


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """The most calls, tokens (read and written) and seconds of one question."""

    calls: int
    tokens: int
    seconds: float

    def within(self, calls: int | None, tokens: int | None, seconds: float | None) -> Budget:
        """Return the same, or less where less is wanted."""
        return Budget(
            calls=self.calls if calls is None else min(self.calls, calls),
            tokens=self.tokens if tokens is None else min(self.tokens, tokens),
            seconds=self.seconds if seconds is None else min(self.seconds, seconds),
        )


class Meter:
    """Counts what one question has cost; raises `BudgetSpent` before a batch that is too much."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._calls = self._tokens = 0
        self._lock = threading.Lock()

    def take(self, calls: int) -> None:
        """Count calls that are about to be made."""
        with self._lock:
            if self._calls + calls > self._budget.calls:
                raise BudgetSpent(
                    f"this question may make {self._budget.calls:,} model calls, and needs more: "
                    "raise its budget, or read fewer passages"
                )
            self._check_tokens()
            self._calls += calls

    def spend(self, tokens: int) -> None:
        """Count tokens; raises where there were more than there may be."""
        with self._lock:
            self._tokens += tokens
            self._check_tokens()

    def _check_tokens(self) -> None:
        if self._tokens > self._budget.tokens:
            raise BudgetSpent(
                f"this question may read and write {self._budget.tokens:,} tokens, and needs more: "
                "raise its budget, or read fewer passages"
            )


def metered(kit: Kit, meter: Meter) -> Kit:
    """Return the same parts, with models whose calls are counted."""
    roles = {role: Metered(model, meter) for role, model in kit.roles.items()}
    return replace(kit, model=Metered(kit.model, meter), roles=roles)


class Metered:
    """A model whose calls are counted (`LLM`, `ReportingLLM`)."""

    def __init__(self, model: LLM, meter: Meter) -> None:
        self._model, self._meter = model, meter

    @property
    def name(self) -> str:
        """The model's."""
        return self._model.name

    def capabilities(self) -> Capabilities:
        """Return the model's."""
        return self._model.capabilities()

    def complete(self, prompts: Sequence[Prompt], sampling: Sampling) -> list[Completion]:
        """Return the model's completions; raises `BudgetSpent`."""
        return self.complete_as_done(prompts, sampling, lambda *_: None, Cancel())

    def choose(self, prompts: Sequence[Prompt], options: Sequence[str]) -> list[Choice]:
        """Return the model's choices; raises `BudgetSpent`."""
        return self.choose_as_done(prompts, options, lambda *_: None, Cancel())

    def complete_as_done(
        self,
        prompts: Sequence[Prompt],
        sampling: Sampling,
        on_done: Callable[[int, Completion], None],
        cancel: Cancel,
    ) -> list[Completion]:
        """As `complete`, each reported as it comes."""
        self._meter.take(len(prompts))
        return calling.complete(self._model, prompts, sampling, self._counting(on_done), cancel)

    def choose_as_done(
        self,
        prompts: Sequence[Prompt],
        options: Sequence[str],
        on_done: Callable[[int, Choice], None],
        cancel: Cancel,
    ) -> list[Choice]:
        """As `choose`, each reported as it comes."""
        self._meter.take(len(prompts))
        return calling.choose(self._model, prompts, options, self._counting(on_done), cancel)

    def _counting(self, on_done: Callable[[int, _Result], None]) -> Callable[[int, _Result], None]:
        def done(index: int, result: _Result) -> None:
            on_done(index, result)
            self._meter.spend(result.usage.prompt_tokens + result.usage.completion_tokens)

        return done
