"""Who takes part in an evaluation: strategies, their options as the user gave them, their prompts.

Options are recorded in full, so that a default that changes later is noticed.
"""

from __future__ import annotations

import inspect
import math
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from disputatio.errors import ConfigError, InputError, UnknownName
from disputatio.eval.running.code import code_of, source_hash
from disputatio.eval.running.run_log import Entrant
from disputatio.pipeline import (
    Strategy,
    load_strategy,
    prompts_hash,
    read_options,
    strategy_name,
    strategy_options,
)
from disputatio.types import Example

Strategies = str | Strategy | Sequence[str | Strategy] | Mapping[str, str | Strategy]
"""`A,B`, `LABEL=NAME`, a function, a list of these, or {label: name or function}."""
Options = Sequence[str] | Mapping[str, object]
"""`key=value` or `LABEL.key=value`, or a mapping of the same keys to values."""

EXPECT, DECLARED = (
    "expect",
    "declared",
)  # the option for how many answers are right, and "as the data set says"


def entrants(
    strategies: Strategies, options: Options = (), *, seeds: Sequence[int] = (0,), code: Sequence[str] = ()
) -> list[Entrant]:
    """Return the entrants of `A,B` with their options, `key=value` or `LABEL.key=value`.

    `LABEL=NAME` in place of a name lets one strategy take part twice with different options. An option
    called `seed` or `..._seed` takes the evaluation's seed unless it is set: a strategy that has one takes
    part once for each of `seeds`, as `LABEL`, `LABEL#1` and so on; the others once. `code` names modules
    beside the strategy's own whose change makes another entrant. Raises `UnknownName` for a strategy, label,
    option or choice, `InputError` for a value that its option cannot take.
    """
    named = labelled(strategies)
    functions = {
        label: load_strategy(strategy) if isinstance(strategy, str) else strategy
        for label, strategy in named.items()
    }
    chosen = _chosen_options(functions, options)
    return [
        Entrant(
            label=label if seed == seeds[0] else f"{label}#{seed}",
            strategy=recorded_name(label, named[label]),
            options=_storable(defaults(function, seed) | chosen[label]),
            prompts=prompts_hash(function),
            code=_code(named[label], function, code),
        )
        for label, function in functions.items()
        for seed in (seeds if takes_seed(function, chosen[label]) else seeds[:1])
    ]


def labelled(strategies: Strategies) -> dict[str, str | Strategy]:
    """Strategies by label, names and functions as they were given; raises `InputError` for a bad label.

    >>> labelled("concat, twice=majority_vote")
    {'concat': 'concat', 'twice': 'majority_vote'}
    """
    if isinstance(strategies, str):
        return _by_label(list(map(_split, strategies.split(","))), strategies)
    if isinstance(strategies, Mapping):
        return _by_label(list(strategies.items()), ", ".join(strategies))
    if callable(strategies):
        return labelled([strategies])
    pairs = [pair for strategy in strategies for pair in _pairs(strategy)]
    return _by_label(pairs, ", ".join(label for label, _ in pairs))


def functions_of(strategies: Strategies) -> dict[str, Strategy]:
    """Return the strategies that were given as functions, by the names that records have for them."""
    return {
        recorded_name(label, strategy): strategy
        for label, strategy in labelled(strategies).items()
        if not isinstance(strategy, str)
    }


def recorded_name(label: str, strategy: str | Strategy) -> str:
    """Return the name that records have for a strategy; `module:label` for a function that cannot be
    imported.
    """
    if isinstance(strategy, str):
        return strategy
    name = strategy_name(strategy)
    try:
        importable = load_strategy(name) is strategy
    except ConfigError:
        importable = False
    return name if importable else f"{strategy.__module__}:{label}"


def takes_seed(strategy: Strategy, chosen: Mapping[str, Any]) -> bool:
    """Return whether a strategy has a seed among its options that was not set by hand.

    >>> def vote(question, kit, *, shuffle_seed: int = 0): ...
    >>> takes_seed(vote, {}), takes_seed(vote, {"shuffle_seed": 3})
    (True, False)
    """
    return any(_is_seed(name) and name not in chosen for name in strategy_options(strategy))


def defaults(strategy: Strategy, seed: int = 0) -> dict[str, Any]:
    """Return the options of a strategy as they stand, with the evaluation's seed for those that are seeds.

    How many answers are expected is what each data set declares.

    >>> def vote(question, kit, *, rounds: int = 3, shuffle_seed: int = 0, expect: str = "auto"): ...
    >>> defaults(vote, 7)
    {'rounds': 3, 'shuffle_seed': 7, 'expect': 'declared'}
    """
    return {
        name: seed if _is_seed(name) else DECLARED if name == EXPECT else parameter.default
        for name, parameter in strategy_options(strategy).items()
        if parameter.default is not parameter.empty
    }


def options_for(entrant: Entrant, example: Example) -> Mapping[str, Any]:
    """Return an entrant's options for one question, with what its data set declares for `declared`."""
    if entrant.options.get(EXPECT) != DECLARED:
        return entrant.options
    return {**entrant.options, EXPECT: example.metadata.get("expects", "auto")}


def _chosen_options(functions: Mapping[str, Strategy], options: Options) -> dict[str, dict[str, Any]]:
    """Return the options that were set by hand, by label."""
    chosen: dict[str, dict[str, Any]] = {label: {} for label in functions}
    known = {label: strategy_options(function) for label, function in functions.items()}
    for key, value in _settings(options):
        label, dot, option = key.rpartition(".")
        if dot and label not in functions:
            raise UnknownName("strategy", label, functions)
        takers = [label] if dot else [name for name in functions if option in known[name]]
        if not takers:
            raise UnknownName("option", option, {name for names in known.values() for name in names})
        for taker in takers:
            chosen[taker] |= read_options(functions[taker], {option: value})
    return chosen


def _settings(options: Options) -> list[tuple[str, object]]:
    """Return options as pairs of key and value; raises `InputError` for text that is not `key=value`."""
    if isinstance(options, Mapping):
        return list(options.items())
    settings: list[tuple[str, object]] = []
    for setting in options:
        key, equals, value = setting.partition("=")
        if not equals or not key.strip():
            raise InputError(f"--set {setting}: write key=value or STRATEGY.key=value")
        settings.append((key.strip(), value))
    return settings


def _is_seed(option: str) -> bool:
    return option == "seed" or option.endswith("_seed")


def _storable(options: dict[str, Any]) -> dict[str, Any]:
    """Return options as JSON can hold them: a threshold that is infinite is kept as the text that it reads.

    >>> _storable({"delta1": float("-inf"), "k": 1})
    {'delta1': '-inf', 'k': 1}
    """
    return {
        name: str(value) if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in options.items()
    }


def _code(strategy: str | Strategy, function: Strategy, more: Sequence[str]) -> dict[str, str]:
    """Return the hash of each module behind a strategy; of a function that stands in no file, of its own
    source.
    """
    code = code_of(function, *more)
    module = function.__module__
    if not isinstance(strategy, str) and not code.get(module):
        try:
            code[module] = source_hash(textwrap.dedent(inspect.getsource(function)))
        except (OSError, TypeError, SyntaxError):  # typed at a prompt, or a lambda inside a longer line
            code[module] = ""
    return code


# --- labels -------------------------------------------------------------------------------------
def _split(entry: str) -> tuple[str, str]:
    """Return the label and the name of `NAME` or `LABEL=NAME`."""
    left, equals, right = (part.strip() for part in entry.partition("="))
    return left, right if equals else left


def _pairs(strategy: str | Strategy) -> list[tuple[str, str | Strategy]]:
    if isinstance(strategy, str):
        return [_split(entry) for entry in strategy.split(",")]
    return [(strategy_name(strategy).rpartition(":")[2].rpartition(".")[2], strategy)]


def _by_label(pairs: Sequence[tuple[str, str | Strategy]], shown: str) -> dict[str, str | Strategy]:
    """Return pairs of label and strategy as a mapping; raises `InputError` for a label twice or one that is
    none.
    """
    strategies: dict[str, str | Strategy] = {}
    for label, strategy in pairs:
        dotted = isinstance(strategy, str) and "." in label.removeprefix(strategy)
        if not label or not strategy or dotted or "#" in label:
            raise InputError(f"--strategy {shown}: write NAME or LABEL=NAME, separated by commas")
        if label in strategies:
            raise InputError(f"strategy {label} is named twice: LABEL=NAME gives it another label")
        strategies[label] = strategy
    if not strategies:
        raise InputError("name at least one strategy")
    return strategies
