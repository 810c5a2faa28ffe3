"""One question from start to finish: load the strategy, run it, audit what it returned.

Read this first. `ask` is the one walk that the command line, the library, the server and the
evaluation share.
"""

from __future__ import annotations

import hashlib
import importlib
import inspect
import math
import pkgutil
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Literal

from disputatio import agents, strategies
from disputatio.errors import ConfigError, InputError, UnknownName
from disputatio.evidence.audit import audit
from disputatio.kit import Kit
from disputatio.trace import Trace
from disputatio.types import Answer

Strategy = Callable[..., Answer]

DEFAULT_STRATEGY = "disputation"
SPEAKING = frozenset(f"disputatio.{one}" for one in ("agents", "hearing", "panel", "triplets", "evidence"))


def ask(
    question: str,
    *,
    kit: Kit,
    strategy: str = DEFAULT_STRATEGY,
    options: Mapping[str, Any] | None = None,
    verify: bool = True,
    strict: bool = False,
    trace: Trace | None = None,
) -> Answer:
    """Answer one question with a strategy, and audit the answer.

    `options` are the strategy's keyword parameters, as values or as text. `verify` puts every
    claim with its quotes to the entailment judge; `strict` drops the claims that fail, and abstains when
    nothing is left. Raises `InputError` for an empty question or `strict` without `verify`, `UnknownName` for
    an unknown strategy or option, `LLMError` and `ReplyError` for faults.
    """
    if strict and not verify:
        raise InputError("strict answers drop the claims that fail verification, so they need it (--verify)")
    if not question.strip():
        raise InputError("the question is empty: write what you want to know")
    run = load_strategy(strategy)
    chosen = read_options(run, options or {})
    kit = kit.with_trace(trace or Trace())
    noted = {key: str(one) if one in (math.inf, -math.inf) else one for key, one in chosen.items()}
    kit.trace.note("strategy", name=strategy, options=noted)  # a trace is JSON, which has no infinity
    answer = replace(run(question, kit, **chosen), strategy=strategy, model=kit.model.name)
    answer = audit(answer, kit, verify=verify, strict=strict)
    kit.trace.note("answer", answers=list(answer.answers), abstained=answer.abstained)
    return replace(answer, usage=kit.trace.usage())


def strategy_names() -> list[str]:
    """The names of the strategies that come with the package, in order."""
    return sorted(one.name for one in pkgutil.iter_modules(strategies.__path__))


def load_strategy(name: str) -> Strategy:
    """The strategy of a name, or of a `package.module:function` out of the tree; raises `UnknownName`."""
    if ":" in name:
        module_name, _, function = name.partition(":")
        if not all(part.isidentifier() for part in (*module_name.split("."), function)):
            raise ConfigError(f"strategy {name!r} is not of the form package.module:function")
        try:
            found = getattr(importlib.import_module(module_name), function)
        except (ImportError, AttributeError) as error:
            raise ConfigError(f"strategy {name!r} cannot be imported: {error}") from error
        if not inspect.isroutine(found):
            raise ConfigError(f"strategy {name!r} is not a function")
    elif name in strategy_names():
        found = getattr(importlib.import_module(f"disputatio.strategies.{name}"), name)
    else:
        raise UnknownName("strategy", name, strategy_names())
    return typing.cast("Strategy", found)


def strategy_options(strategy: Strategy) -> dict[str, inspect.Parameter]:
    """A strategy's options: its keyword-only parameters."""
    parameters = inspect.signature(strategy).parameters.values()
    return {one.name: one for one in parameters if one.kind is inspect.Parameter.KEYWORD_ONLY}


def read_options(strategy: Strategy, given: Mapping[str, Any]) -> dict[str, Any]:
    """Options given as text (`--set key=value`) or as values, checked against the signature."""
    known = strategy_options(strategy)
    hints = typing.get_type_hints(strategy)
    read = {}
    for name, value in given.items():
        if name not in known:
            raise UnknownName("option", name, known)
        read[name] = _read_value(name, value, hints[name]) if name in hints else value
    return read


def prompts_hash(strategy: Strategy) -> str:
    """A hash over the prompts and schemas of a strategy's file and of all modules whose parts it uses.

    Its own module counts by its name too: two strategies that only speak through shared agents differ.
    """
    own = inspect.getmodule(strategy)
    digest = hashlib.sha256(f"{own.__name__ if own else ''}\n".encode())
    for module in _speaking(own):
        for name, value in sorted(vars(module).items()):
            if name.isupper() and isinstance(value, str | Mapping):
                digest.update(f"{name}={value}\n".encode())
    return digest.hexdigest()[:16]


def _speaking(own: types.ModuleType | None) -> list[types.ModuleType]:
    """A strategy's module and those it uses that can hold prompts: of agents and of evidence."""
    found = dict.fromkeys([own, agents])
    waiting = list(found)
    while waiting:
        for one in vars(waiting.pop()).values():
            module = inspect.getmodule(one) if inspect.isroutine(one) or inspect.isclass(one) else None
            if module not in found and module is not None and _room(module) in SPEAKING:
                found[module] = None
                waiting.append(module)
    return sorted((one for one in found if one is not None), key=lambda one: one.__name__)


def _room(module: types.ModuleType) -> str:
    return ".".join(module.__name__.split(".")[:2])


def _read_value(name: str, value: object, hint: Any) -> object:
    """`value` as the annotation says: int, float, str, bool, a Literal, or one of them or None."""
    choices = typing.get_args(hint)
    if typing.get_origin(hint) is Literal:
        if value in choices:
            return value
        raise UnknownName(f"value of {name}", str(value), map(str, choices))
    if typing.get_origin(hint) in (types.UnionType, typing.Union):
        if value is None or str(value).casefold() == "none":
            return None
        return _read_value(name, value, next(one for one in choices if one is not type(None)))
    if hint is bool:
        flags = {"true": True, "false": False, "1": True, "0": False, "yes": True, "no": False}
        if str(value).casefold() in flags:
            return flags[str(value).casefold()]
        raise InputError(f"option {name}: {value!r} is not true or false")
    try:
        return hint(value)
    except (TypeError, ValueError) as error:
        raise InputError(f"option {name}: {value!r} is not of type {hint.__name__}") from error
