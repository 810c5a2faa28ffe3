"""The record of one strategy on one example."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from disputatio.types import Abstention, Reading, Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """The record of one strategy on one example; `fault` is empty unless a model or network failed.

    `judged` holds a judge's verdicts by metric, where there was one: the grade (None where it is unscored,
    and then the reason), the margin and the log-probabilities. `read` counts the passages found, read,
    failed and set aside, and the replies that could not be used; None where it failed.
    """

    example: str
    row: int
    strategy: str
    options: Mapping[str, Any]
    answers: tuple[str, ...]
    abstained: Abstention | None
    scores: Mapping[str, float | None]
    usage: Usage
    seconds: float
    rounds: int = 0
    fault: str = ""
    prompts: str = ""
    model: str = ""
    retrievals: int | None = None
    judged: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    read: Reading | None = None
