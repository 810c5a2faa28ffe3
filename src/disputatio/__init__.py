"""Disputatio answers questions over sources that disagree: cited claims, every position, the cost."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, cast

from disputatio.errors import (
    Cancelled,
    ConfigError,
    DisputatioError,
    InputError,
    LLMError,
    MustAskAgain,
    NoLogprobs,
    NotAsked,
)
from disputatio.protocols import (
    LLM,
    Cancel,
    Embedder,
    Entailment,
    MinimalLLM,
    PassageReader,
    Reranker,
    Retriever,
    Search,
)
from disputatio.types import (
    Answer,
    Capabilities,
    Check,
    Choice,
    Citation,
    Claim,
    Completion,
    Conflict,
    Contradiction,
    Example,
    Extraction,
    Hit,
    Message,
    Passage,
    Position,
    Presentable,
    Prompt,
    Sampling,
    Source,
    Statement,
    Usage,
)

if TYPE_CHECKING:
    from disputatio.api import (
        AskResult,
        Calibration,
        Index,
        Stream,
        aask,
        ask,
        ask_many,
        astream,
        calibrate,
        check,
        stream,
    )
    from disputatio.eval.evaluate import evaluate
    from disputatio.eval.results import Results
    from disputatio.events import (
        Answered,
        Claimed,
        Cost,
        Estimated,
        Event,
        Evidence,
        Found,
        Read,
        Round,
        SideFormed,
        Sides,
        Started,
    )
    from disputatio.kit import Kit
    from disputatio.llm.own_model import FunctionModel
    from disputatio.pipeline import list_strategies as strategies
    from disputatio.spending import Budget
    from disputatio.trace import Trace
    from disputatio.what_if import without

__version__ = "0.1.0"

# What brings models, stores or settings along is loaded when it is first named: the module of each name.
_MODULES = {
    "disputatio.api": (
        "Calibration", "Index", "AskResult", "Stream", "aask", "ask", "ask_many", "astream", "calibrate",
        "check", "stream",
    ),
    "disputatio.eval.evaluate": ("evaluate",),
    "disputatio.eval.results": ("Results",),
    "disputatio.spending": ("Budget",),
    "disputatio.events": (
        "Answered", "Claimed", "Cost", "Estimated", "Event", "Evidence", "Found", "Read", "Round",
        "SideFormed", "Sides", "Started",
    ),
    "disputatio.kit": ("Kit",),
    "disputatio.llm.own_model": ("FunctionModel",),
    "disputatio.trace": ("Trace",),
    "disputatio.what_if": ("without",),
}  # fmt: skip
_LATE = {name: module for module, names in _MODULES.items() for name in names}

__all__ = [
    "LLM",
    "Answer",
    "Answered",
    "AskResult",
    "Budget",
    "Calibration",
    "Cancel",
    "Cancelled",
    "Capabilities",
    "Check",
    "Choice",
    "Citation",
    "Claim",
    "Claimed",
    "Completion",
    "ConfigError",
    "Conflict",
    "Contradiction",
    "Cost",
    "DisputatioError",
    "Embedder",
    "Entailment",
    "Estimated",
    "Event",
    "Evidence",
    "Example",
    "Extraction",
    "Found",
    "FunctionModel",
    "Hit",
    "Index",
    "InputError",
    "Kit",
    "LLMError",
    "Message",
    "MinimalLLM",
    "MustAskAgain",
    "NoLogprobs",
    "NotAsked",
    "Passage",
    "PassageReader",
    "Position",
    "Prompt",
    "Read",
    "Reranker",
    "Results",
    "Retriever",
    "Round",
    "Sampling",
    "Search",
    "SideFormed",
    "Sides",
    "Source",
    "Started",
    "Statement",
    "Stream",
    "Trace",
    "Usage",
    "__version__",
    "aask",
    "ask",
    "ask_many",
    "astream",
    "calibrate",
    "check",
    "evaluate",
    "strategies",
    "stream",
    "without",
]


class _Presenter:
    """Presents nouns by rooms that are loaded when they are first needed."""

    def __getattr__(self, name: str) -> Any:
        room = "what_if" if name == "without" else "rendering"
        return getattr(importlib.import_module(f"disputatio.{room}"), name)


def _list_strategies() -> Any:
    from disputatio.pipeline import list_strategies

    return list_strategies()


Presentable.presenter = cast(Any, _Presenter())
_package: Any = importlib.import_module("disputatio.strategies")  # the name `strategies` is bound to it
_package.list_strategies = _list_strategies


def __getattr__(name: str) -> Any:
    """Return a public name whose module is loaded when it is first named."""
    if name not in _LATE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(_LATE[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
