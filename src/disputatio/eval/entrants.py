"""Who takes part in an evaluation: strategies, their options as the user gave them, their prompts.

A strategy's options are its keyword-only parameters; their values are read by its annotations.
"""

from __future__ import annotations

import inspect
import json
import sys
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from disputatio.errors import InputError, UnknownName
from disputatio.eval.journal import Entrant
from disputatio.text import content_id

Load = Callable[[str], Callable[..., Any]]
"""Gives the strategy of a name; raises `UnknownName`."""


def entrants(names: str, settings: Sequence[str], *, load: Load, seed: int) -> list[Entrant]:
    """The entrants of `A,B` with their settings, `key=value` or `LABEL.key=value`.

    `LABEL=NAME` in place of a name lets one strategy take part twice with different options. An option
    called `seed` or `..._seed` takes the evaluation's seed unless it is set. Raises `UnknownName` for
    a strategy, label or option, `InputError` for a value that its option cannot take.
    """
    strategies = _named(names)
    functions = {label: load(name) for label, name in strategies.items()}
    options = {label: defaults(function, seed) for label, function in functions.items()}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals or not key.strip():
            raise InputError(f"--set {setting}: write key=value or STRATEGY.key=value")
        label, dot, option = key.strip().rpartition(".")
        if dot and label not in functions:
            raise UnknownName("strategy", label, functions)
        takers = [label] if dot else [name for name in functions if option in known_options(functions[name])]
        if not takers:
            known = {name for function in functions.values() for name in known_options(function)}
            raise UnknownName("option", option, known)
        for taker in takers:
            options[taker][option] = option_value(functions[taker], option, value)
    return [
        Entrant(
            label=label,
            strategy=strategies[label],
            options=options[label],
            prompts=prompts_hash(functions[label]),
        )
        for label in functions
    ]


def known_options(function: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """The keyword-only parameters of a strategy, by name.

    >>> def vote(question, kit, *, rounds: int = 3): ...
    >>> list(known_options(vote))
    ['rounds']
    """
    parameters = inspect.signature(function).parameters.values()
    return {one.name: one for one in parameters if one.kind is inspect.Parameter.KEYWORD_ONLY}


def option_value(function: Callable[..., Any], option: str, text: str) -> Any:
    """The value of an option, read by its annotation; raises `UnknownName` and `InputError`.

    >>> def vote(question, kit, *, rounds: int = 3, cap: int | None = None): ...
    >>> option_value(vote, "rounds", "2"), option_value(vote, "cap", "none")
    (2, None)
    """
    from pydantic import TypeAdapter, ValidationError

    known = known_options(function)
    if option not in known:
        raise UnknownName("option", option, known)
    kind = typing.get_type_hints(function).get(option, str)
    if text.lower() == "none" and type(None) in typing.get_args(kind):
        return None
    try:
        return TypeAdapter(kind).validate_python(text)
    except ValidationError as error:
        reason = error.errors()[0]["msg"]
        raise InputError(f"option {option}={text}: {reason}") from error


def defaults(function: Callable[..., Any], seed: int) -> dict[str, Any]:
    """The options of a strategy as they stand, with the evaluation's seed for those that are seeds.

    They are recorded in full, so that a default that changes later is noticed.

    >>> def vote(question, kit, *, rounds: int = 3, shuffle_seed: int = 0): ...
    >>> defaults(vote, 7)
    {'rounds': 3, 'shuffle_seed': 7}
    """
    known = {
        name: one.default for name, one in known_options(function).items() if one.default is not one.empty
    }
    return {name: seed if name == "seed" or name.endswith("_seed") else known[name] for name in known}


def prompts_hash(function: Callable[..., Any]) -> str:
    """A hash of the prompts that a strategy is built on.

    Those are the upper-case texts and schemas of its own module, and of `disputatio.agents` when the
    module employs its agents.
    """
    module = sys.modules[function.__module__]
    modules = [module]
    agents = sys.modules.get("disputatio.agents")
    if agents is not None and any(
        getattr(value, "__module__", "") == agents.__name__ for value in vars(module).values()
    ):
        modules.append(agents)
    parts = [
        f"{name}={value if isinstance(value, str) else json.dumps(value, sort_keys=True, default=str)}"
        for part in modules
        for name, value in sorted(vars(part).items())
        if name.strip("_").isupper() and isinstance(value, str | Mapping | tuple | list)
    ]
    return content_id("h", *parts)


def _named(names: str) -> dict[str, str]:
    strategies: dict[str, str] = {}
    for word in names.split(","):
        left, equals, right = (part.strip() for part in word.partition("="))
        label, name = left, right if equals else left
        if not label or not name or "." in label.removeprefix(name):
            raise InputError(f"--strategy {names}: write NAME or LABEL=NAME, separated by commas")
        if label in strategies:
            raise InputError(f"strategy {label} is named twice: LABEL=NAME gives it another label")
        strategies[label] = name
    return strategies
