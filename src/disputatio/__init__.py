"""Disputatio answers questions over sources that disagree: cited claims, every position, the cost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from disputatio.errors import ConfigError, DisputatioError, InputError, LLMError
from disputatio.types import Answer, Citation, Claim, Completion, Conflict, Passage, Position, Source, Usage

if TYPE_CHECKING:
    from disputatio.api import Index, ask

__version__ = "0.1.0"

__all__ = [
    "Answer",
    "Citation",
    "Claim",
    "Completion",
    "ConfigError",
    "Conflict",
    "DisputatioError",
    "Index",
    "InputError",
    "LLMError",
    "Passage",
    "Position",
    "Source",
    "Usage",
    "__version__",
    "ask",
]


def __getattr__(name: str) -> Any:
    """`ask` and `Index` bring models and stores along: they are loaded when they are first named."""
    if name in ("Index", "ask"):
        from disputatio import api

        return getattr(api, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
