"""Who takes part in an evaluation: strategies, their options as the user gave them, their prompts.

Options are recorded in full, so that a default that changes later is noticed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from disputatio.errors import InputError, UnknownName
from disputatio.eval.running.code import code_of
from disputatio.eval.running.journal import Entrant
from disputatio.pipeline import Strategy, load_strategy, prompts_hash, read_options, strategy_options


def entrants(
    names: str, settings: Sequence[str], *, seeds: Sequence[int] = (0,), code: Sequence[str] = ()
) -> list[Entrant]:
    """The entrants of `A,B` with their settings, `key=value` or `LABEL.key=value`.

    `LABEL=NAME` in place of a name lets one strategy take part twice with different options. An option
    called `seed` or `..._seed` takes the evaluation's seed unless it is set: a strategy that has one takes
    part once for each of `seeds`, as `LABEL`, `LABEL#1` and so on; the others once. `code` names modules
    beside the strategy's own whose change makes another entrant. Raises `UnknownName` for a strategy, label,
    option or choice, `InputError` for a value that its option cannot take.
    """
    strategies = _named(names)
    functions = {label: load_strategy(name) for label, name in strategies.items()}
    given = _given(functions, settings)
    return [
        Entrant(
            label=label if seed == seeds[0] else f"{label}#{seed}",
            strategy=strategies[label],
            options=_storable(defaults(function, seed) | given[label]),
            prompts=prompts_hash(function),
            code=code_of(function, *code),
        )
        for label, function in functions.items()
        for seed in (seeds if takes_seed(function, given[label]) else seeds[:1])
    ]


def takes_seed(strategy: Strategy, given: Mapping[str, Any]) -> bool:
    """Whether a strategy has a seed among its options that was not set by hand.

    >>> def vote(question, kit, *, shuffle_seed: int = 0): ...
    >>> takes_seed(vote, {}), takes_seed(vote, {"shuffle_seed": 3})
    (True, False)
    """
    return any(_is_seed(name) and name not in given for name in strategy_options(strategy))


def _given(functions: Mapping[str, Strategy], settings: Sequence[str]) -> dict[str, dict[str, Any]]:
    """The options that were set by hand, by label."""
    options: dict[str, dict[str, Any]] = {label: {} for label in functions}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals or not key.strip():
            raise InputError(f"--set {setting}: write key=value or STRATEGY.key=value")
        label, dot, option = key.strip().rpartition(".")
        if dot and label not in functions:
            raise UnknownName("strategy", label, functions)
        known = {name: strategy_options(function) for name, function in functions.items()}
        takers = [label] if dot else [name for name in functions if option in known[name]]
        if not takers:
            raise UnknownName("option", option, {name for all_of in known.values() for name in all_of})
        for taker in takers:
            options[taker] |= read_options(functions[taker], {option: value})
    return options


def defaults(strategy: Strategy, seed: int = 0) -> dict[str, Any]:
    """The options of a strategy as they stand, with the evaluation's seed for those that are seeds.

    >>> def vote(question, kit, *, rounds: int = 3, shuffle_seed: int = 0): ...
    >>> defaults(vote, 7)
    {'rounds': 3, 'shuffle_seed': 7}
    """
    return {
        name: seed if _is_seed(name) else one.default
        for name, one in strategy_options(strategy).items()
        if one.default is not one.empty
    }


def _is_seed(option: str) -> bool:
    return option == "seed" or option.endswith("_seed")


def _storable(options: dict[str, Any]) -> dict[str, Any]:
    """Options as JSON can hold them: a threshold that is infinite is kept as the text that it reads.

    >>> _storable({"delta1": float("-inf"), "k": 1})
    {'delta1': '-inf', 'k': 1}
    """
    return {
        name: str(value) if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in options.items()
    }


def _named(names: str) -> dict[str, str]:
    strategies: dict[str, str] = {}
    for word in names.split(","):
        left, equals, right = (part.strip() for part in word.partition("="))
        label, name = left, right if equals else left
        if not label or not name or "." in label.removeprefix(name) or "#" in label:
            raise InputError(f"--strategy {names}: write NAME or LABEL=NAME, separated by commas")
        if label in strategies:
            raise InputError(f"strategy {label} is named twice: LABEL=NAME gives it another label")
        strategies[label] = name
    return strategies
