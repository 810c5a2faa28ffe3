"""Entrants of an evaluation: strategies, their options as the user gave them, their prompts and code.

Options are recorded in full, so that a default that changes later is noticed.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import inspect
import math
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from disputatio.errors import ConfigError, InputError, UnknownName
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

OURS = "disputatio"
WALK = f"{OURS}.pipeline"  # what every answer goes through


def code_of(strategy: Strategy, *more: str) -> dict[str, str]:
    """Return the hash of each module that a strategy's file and the pipeline import, directly or not.

    Modules of ours and of the strategy's own package count, those of others do not. `more` names
    further modules to begin from.
    """
    packages = frozenset({OURS, strategy.__module__.partition(".")[0]})
    hashes: dict[str, str] = {}
    waiting = [strategy.__module__, WALK, *more]
    while waiting:
        name = waiting.pop()
        if name not in hashes:
            hashes[name], imports = _module(name)
            waiting += [name for name in imports if name.partition(".")[0] in packages]
    return dict(sorted(hashes.items()))


def source_hash(source: str) -> str:
    """Return a hash of what a module does: of its syntax tree without docstrings.

    >>> source_hash("def f():\\n    'Says a.'\\n    return 1") == source_hash("def f(): return 1  # one")
    True
    >>> source_hash("PROMPT = 'Say a.'") == source_hash("PROMPT = 'Say b.'")
    False
    """
    return _hash(ast.parse(source))


@cache
def _module(name: str) -> tuple[str, tuple[str, ...]]:
    """Return the hash of a module, and the modules that it imports when it runs."""
    source = _source(name)
    if source is None:
        return "", ()
    tree = ast.parse(source)
    package = name if _is_package(name) else name.rpartition(".")[0]
    imports = tuple(dict.fromkeys(_find_imports(tree, package)))
    return _hash(tree), imports


def _hash(tree: ast.Module) -> str:
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                node.body = node.body[1:] or [ast.Pass()]
    return hashlib.sha256(ast.unparse(tree).encode("utf-8", "backslashreplace")).hexdigest()[:12]


def _find_imports(tree: ast.AST, package: str) -> Iterator[str]:
    """Yield the modules that are imported anywhere in a module, but not those for type checkers alone."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parts = package.split(".")
            above = parts[: len(parts) - node.level + 1] if node.level else []
            start = ".".join([*above, *([node.module] if node.module else [])])
            below = [f"{start}.{alias.name}" for alias in node.names]
            modules = [module for module in below if _source(module) is not None]
            yield from modules
            if len(modules) < len(below):
                yield start
        else:
            yield from _find_imports(node, package)


@cache
def _source(name: str) -> str | None:
    """Return the text of a module; None where there is no such module, or no text of it."""
    try:
        spec = importlib.util.find_spec(name)
        read = getattr(spec.loader, "get_source", None) if spec is not None else None
        text = read(name) if read is not None else None
    except (ImportError, ValueError):
        return None
    return text if isinstance(text, str) else None


def _is_package(name: str) -> bool:
    spec = importlib.util.find_spec(name)
    return spec is not None and spec.submodule_search_locations is not None


Strategies = str | Strategy | Sequence[str | Strategy] | Mapping[str, str | Strategy]
"""`A,B`, `LABEL=NAME`, a function, a list of these, or {label: name or function}."""
Options = Sequence[str] | Mapping[str, object]
"""`key=value` or `LABEL.key=value`, or a mapping of the same keys to values."""

EXPECT = "expect"  # the option for how many answers are right
DECLARED = "declared"  # its value: as the data set says


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
    named = label_strategies(strategies)
    functions = {
        label: load_strategy(strategy) if isinstance(strategy, str) else strategy
        for label, strategy in named.items()
    }
    chosen = _chosen_options(functions, options)
    return [
        Entrant(
            label=label if seed == seeds[0] else f"{label}#{seed}",
            strategy=name_for_records(label, named[label]),
            options=_storable(defaults(function, seed) | chosen[label]),
            prompts=prompts_hash(function),
            code=_code(named[label], function, code),
        )
        for label, function in functions.items()
        for seed in (seeds if takes_seed(function, chosen[label]) else seeds[:1])
    ]


def label_strategies(strategies: Strategies) -> dict[str, str | Strategy]:
    """Return strategies by label, names and functions as given; raises `InputError` for a bad label.

    >>> label_strategies("concat, twice=majority_vote")
    {'concat': 'concat', 'twice': 'majority_vote'}
    """
    if isinstance(strategies, str):
        return _by_label(list(map(_split, strategies.split(","))), strategies)
    if isinstance(strategies, Mapping):
        return _by_label(list(strategies.items()), ", ".join(strategies))
    if callable(strategies):
        return label_strategies([strategies])
    pairs = [pair for strategy in strategies for pair in _pairs(strategy)]
    return _by_label(pairs, ", ".join(label for label, _ in pairs))


def functions_of(strategies: Strategies) -> dict[str, Strategy]:
    """Return the strategies that were given as functions, by the names that records have for them."""
    return {
        name_for_records(label, strategy): strategy
        for label, strategy in label_strategies(strategies).items()
        if not isinstance(strategy, str)
    }


def name_for_records(label: str, strategy: str | Strategy) -> str:
    """Return a strategy's name in records; `module:label` for a function that cannot be imported."""
    if isinstance(strategy, str):
        return strategy
    name = strategy_name(strategy)
    try:
        importable = load_strategy(name) is strategy
    except ConfigError:
        importable = False
    return name if importable else f"{strategy.__module__}:{label}"


def takes_seed(strategy: Strategy, chosen: Mapping[str, Any]) -> bool:
    """Return True if a strategy has a seed among its options that was not set by hand.

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
    """Return the hash of each module behind a strategy, or of the source of a function without a file."""
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
    left, equals, right = (part.strip() for part in entry.partition("="))
    return left, right if equals else left


def _pairs(strategy: str | Strategy) -> list[tuple[str, str | Strategy]]:
    if isinstance(strategy, str):
        return [_split(entry) for entry in strategy.split(",")]
    return [(strategy_name(strategy).rpartition(":")[2].rpartition(".")[2], strategy)]


def _by_label(pairs: Sequence[tuple[str, str | Strategy]], shown: str) -> dict[str, str | Strategy]:
    """Return pairs of label and strategy as a mapping; raises `InputError` for a bad or repeated label."""
    strategies: dict[str, str | Strategy] = {}
    for label, strategy in pairs:
        dotted = isinstance(strategy, str) and "." in label.removeprefix(strategy)
        if not isinstance(strategy, str) and not callable(strategy):
            raise InputError(f"strategy {label} is {type(strategy).__name__}, not a name or a function")
        if not label or not strategy or dotted or "#" in label:
            raise InputError(f"--strategy {shown}: write NAME or LABEL=NAME, separated by commas")
        if label in strategies:
            raise InputError(f"strategy {label} is named twice: LABEL=NAME gives it another label")
        strategies[label] = strategy
    if not strategies:
        raise InputError("name at least one strategy")
    return strategies
