"""Presets: a strategy that is another one with some of its options fixed."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable
from typing import Any

from disputatio.kit import Kit
from disputatio.types import Answer


def preset(strategy: Callable[..., Answer], module: str, doc: str, **fixed: Any) -> Callable[..., Answer]:
    """Return a strategy that calls another with `fixed` options; the other options are its own.

    `module` is the name (`__name__`) of the file that defines it, whose last part is the strategy's name;
    `doc` describes it.
    """

    def run(question: str, kit: Kit, **options: Any) -> Answer:
        return strategy(question, kit, **fixed, **options)

    signature = inspect.signature(strategy)
    left = [parameter for name, parameter in signature.parameters.items() if name not in fixed]
    hints = typing.get_type_hints(strategy, include_extras=True)
    run.__name__ = run.__qualname__ = module.rpartition(".")[2]
    run.__module__, run.__doc__ = module, doc
    run.__annotations__ = {name: hint for name, hint in hints.items() if name not in fixed}
    run.__signature__ = signature.replace(parameters=left)  # type: ignore[attr-defined]  # read by inspect
    return run
