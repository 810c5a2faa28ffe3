"""Strategies described: paper, options, what is needed of models, what questions were measured to cost.

All of it is read from the strategy's own file, except for the costs, which are measurements
(`strategies/costs.json`) and may be lacking.
"""

from __future__ import annotations

import inspect
import json
import typing
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any

from disputatio.agents.options import Estimates, Logprobs
from disputatio.errors import ConfigError, UnknownName
from disputatio.pipeline import load_strategy, strategy_names, strategy_options

COSTS = "costs.json"  # in the folder of the strategies; made by bench/papers/strategy_costs.py
NO_LOGPROBS = "not needed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """An option of a strategy: its default, its type and its meaning in words."""

    name: str
    default: Any
    type: str
    meaning: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """A strategy as it describes itself before it is run.

    `logprobs` is whether it needs the log-probabilities of its models; `cost` has the means over measured
    questions, one mapping for each measurement.
    """

    name: str
    summary: str
    paper: str
    options: tuple[Option, ...]
    logprobs: str
    cost: tuple[Mapping[str, Any], ...]


def describe(name: str) -> Description:
    """Return the description of a strategy by its name, or `package.module:function`; raises
    `UnknownName`.
    """
    strategy = load_strategy(name)
    module = inspect.getmodule(strategy)
    summary, _, rest = (inspect.getdoc(module) or "").strip().partition("\n\n")
    hints = typing.get_type_hints(strategy, include_extras=True)
    needs = getattr(module, "LOGPROBS", None)
    return Description(
        name=name,
        summary=" ".join(summary.split()),
        paper=" ".join(rest.split("\n\n")[0].split()).split(" Differences")[0],
        options=tuple(
            Option(
                name=parameter.name,
                default=parameter.default,
                type=type_words(hints.get(parameter.name, Any)),
                meaning=meaning(hints.get(parameter.name, Any)),
            )
            for parameter in strategy_options(strategy).values()
        ),
        logprobs=str(needs) if isinstance(needs, Logprobs) else NO_LOGPROBS,
        cost=tuple(measured().get(name, ())),
    )


def needs_estimates(name: str, options: Mapping[str, Any]) -> bool:
    """Return whether a strategy declares that it needs estimated reliabilities with these options.

    False for a function that cannot be loaded by its name.

    >>> needs_estimates("ra_rag", {}), needs_estimates("ra_rag", {"weights": "oracle"})
    (True, False)
    """
    try:
        needs = getattr(inspect.getmodule(load_strategy(name)), "ESTIMATES", None)
    except (ConfigError, UnknownName):
        return False
    return isinstance(needs, Estimates) and needs.needed_with(options)


def list_strategies() -> tuple[Description, ...]:
    """Describe every strategy that comes with the package: paper, options, needs, measured cost.

    >>> [option.name for option in list_strategies()[0].options][:2]
    ['delta1', 'delta4']
    """
    return tuple(describe(name) for name in strategy_names())


def measured() -> dict[str, list[dict[str, Any]]]:
    """Return what questions were measured to cost, by strategy: means over `questions` of a data set."""
    file = resources.files("disputatio.strategies").joinpath(COSTS)
    costs: dict[str, list[dict[str, Any]]] = {}
    for row in json.loads(file.read_text(encoding="utf-8"))["measured"]:
        costs.setdefault(row["strategy"], []).append({key: row[key] for key in row if key != "strategy"})
    return costs


def meaning(hint: Any) -> str:
    """Return the meaning that an annotation declares, empty where it declares none.

    >>> meaning(typing.Annotated[int, "maximum rounds of debate"]), meaning(int)
    ('maximum rounds of debate', '')
    """
    texts = [text for text in getattr(hint, "__metadata__", ()) if isinstance(text, str)]
    return texts[0] if texts else ""


def type_words(hint: Any) -> str:
    """Return an option's annotation as a user reads it.

    >>> type_words(typing.Literal["a", "b"]), type_words(int | None), type_words(bool)
    ('a, b', 'int or none', 'bool')
    >>> type_words(typing.Annotated[float, "weight"]), type_words(typing.Annotated[int | None, "rows"])
    ('float', 'int or none')
    """
    if typing.get_origin(hint) is typing.Annotated:
        return type_words(hint.__origin__)
    if typing.get_origin(hint) is typing.Literal:
        return ", ".join(map(str, typing.get_args(hint)))
    if typing.get_args(hint):
        return " or ".join(type_words(part) for part in typing.get_args(hint))
    return "none" if hint is type(None) else str(getattr(hint, "__name__", hint))
