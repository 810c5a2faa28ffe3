"""One question from start to finish: load the strategy, run it, audit what it returned.

Read this first. `ask` is the one walk that the command line, the library, the server and the
evaluation share.
"""

from __future__ import annotations

import hashlib
import importlib
import inspect
import itertools
import math
import pkgutil
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from disputatio.attribution.audit import audit, reading_of, reckoned
from disputatio.attribution.confidence import confidently
from disputatio.counts import Unsearched
from disputatio.errors import ConfigError, InputError, UnknownName
from disputatio.events import AgentFault, Concluded, IndexUnsearched, Started
from disputatio.kit import Kit
from disputatio.trace import Trace
from disputatio.types import Answer, Basis, PastCall, PastSearch

Strategy = Callable[..., Answer]

DEFAULT_STRATEGY = "disputation"
LONGEST_QUESTION = 32_000  # characters
STRATEGIES = "disputatio.strategies"  # the package of those that are shipped
SPEAKING = frozenset(f"disputatio.{room}" for room in ("agents", "attribution", "strategies"))


def ask(
    question: str,
    *,
    kit: Kit,
    strategy: str | Strategy = DEFAULT_STRATEGY,
    options: Mapping[str, Any] | None = None,
    verify: bool = True,
    strict: bool = False,
    min_confidence: float = 0.0,
    trace: Trace | None = None,
) -> Answer:
    """Answer one question with a strategy, and audit the answer.

    `strategy` is a name that `load_strategy` knows, or a function. `options` are its keyword parameters, as
    values or as text. `verify` puts every claim with its quotes to the entailment judge; `strict` drops the
    claims that fail, and abstains when nothing is left; an answer less likely than `min_confidence`
    to be right becomes an abstention of kind `conflict`. Raises `InputError` for an empty or endless
    question, `strict` without `verify` or a confidence outside 0 to 1, `UnknownName` for an unknown strategy
    or option, `LLMError` and `ReplyError` for faults.
    """
    if strict and not verify:
        raise InputError("strict answers drop the claims that fail verification, so they need it (--verify)")
    check_confidence(min_confidence)
    if not question.strip():
        raise InputError("the question is empty: write what you want to know")
    if len(question) > LONGEST_QUESTION:
        raise InputError(
            f"the question has {len(question):,} characters, more than {LONGEST_QUESTION:,}: "
            "give what it is about as passages"
        )
    run = load_strategy(strategy) if isinstance(strategy, str) else strategy
    name = strategy if isinstance(strategy, str) else strategy_name(strategy)
    chosen = read_options(run, options or {})
    kit = kit.with_trace(trace or Trace())
    # A trace of the caller's may hold an earlier question.
    begun, calls, searches = len(kit.trace.events), len(kit.trace.calls), len(kit.trace.searches)
    # A trace is JSON, which has no infinity.
    shown = {key: str(value) if value in (math.inf, -math.inf) else value for key, value in chosen.items()}
    kit.emit(Started(question=question, strategy=name, model=kit.model.name, options=shown))
    answer = replace(run(question, kit, **chosen), strategy=name, model=kit.model.name)
    answer = audit(answer, kit, verify=verify, strict=strict)
    if min_confidence:
        answer = confidently(answer, min_confidence)
    basis = replace(
        _basis(answer, kit, kit.trace.searches[searches:]),
        options=shown,
        verify=verify,
        strict=strict,
        min_confidence=min_confidence,
        # By key, as calls finish in any order.
        calls=tuple(sorted({call.key: call for call in kit.trace.calls[calls:]}.values(), key=_key)),
    )
    found = (hit.passage for search in basis.searches for hit in search.hits)
    faults = sum(isinstance(event, AgentFault) for event in kit.trace.events[begun:])
    read = reading_of(answer, found, faults=faults)
    left_out = {
        event.index: Unsearched(index=event.index, reason=event.reason)
        for event in kit.trace.events[begun:]
        if isinstance(event, IndexUnsearched)
    }
    read = replace(read, unsearched=tuple(left_out.values()))
    kit.emit(Concluded(answers=answer.answers, abstained=answer.abstained, read=read))
    return reckoned(replace(answer, usage=kit.trace.usage(), basis=basis), read)


def check_confidence(least: float) -> None:
    """Raise `InputError` for what is no probability."""
    if not 0 <= least <= 1:
        raise InputError(f"min_confidence is a probability between 0 and 1, not {least:g}")


def _key(call: PastCall) -> str:
    return call.key


def _basis(answer: Answer, kit: Kit, searches: Sequence[PastSearch]) -> Basis:
    """Return what was found for an answer, what is known of its sources, and the strategy's own details."""
    read = {passage.id for passage in answer.passages}
    hits = dict.fromkeys(hit.passage for search in searches for hit in search.hits)
    names = {kit.trace.found[name].source for name in hits} | {each.source for each in answer.passages}
    # Whether anything is known of any source decides what an unknown one counts for.
    estimated = (name for name, source in kit.sources.items() if source.reliability is not None)
    names.update(itertools.islice(estimated, 1))
    return Basis(
        sources=tuple(kit.sources[name] for name in sorted(names & kit.sources.keys())),
        passages=tuple(kit.trace.found[name] for name in hits if name not in read),
        searches=tuple(searches),
        extractions={
            question: tuple(extractions.values()) for question, extractions in kit.trace.extractions.items()
        },
        judgements=dict(sorted(kit.trace.judgements.items())),
        details={} if answer.basis is None else answer.basis.details,
    )


def strategy_names() -> list[str]:
    """Return the names of the strategies that come with the package, in order."""
    package = importlib.import_module(STRATEGIES)
    return sorted(module.name for module in pkgutil.iter_modules(package.__path__))


def load_strategy(name: str) -> Strategy:
    """Return the strategy of a name, or of a `package.module:function` out of the tree; raises
    `UnknownName`.
    """
    if ":" in name:
        module_name, _, function = name.partition(":")
        if not all(part.isidentifier() for part in (*module_name.split("."), function)):
            raise ConfigError(f"strategy {name!r} is not of the form package.module:function")
        try:
            strategy = getattr(importlib.import_module(module_name), function)
        except (ImportError, AttributeError) as error:
            raise ConfigError(f"strategy {name!r} cannot be imported: {error}") from error
        if not inspect.isroutine(strategy):
            raise ConfigError(f"strategy {name!r} is not a function")
    elif name in strategy_names():
        strategy = getattr(importlib.import_module(f"{STRATEGIES}.{name}"), name)
    else:
        raise UnknownName("strategy", name, strategy_names(), command="disputatio strategies")
    return typing.cast("Strategy", strategy)


def strategy_name(strategy: Strategy) -> str:
    """Return a strategy's name: that of the package for a shipped one, else `module:function`; raises
    `ConfigError`.

    >>> from disputatio.strategies.concat import concat
    >>> strategy_name(concat)
    'concat'
    """
    if not inspect.isroutine(strategy):
        raise ConfigError(f"strategy {strategy!r} is not a function")
    module, name = strategy.__module__, strategy.__qualname__
    if module == f"{STRATEGIES}.{name}" and name in strategy_names():
        return name
    return f"{module}:{name}"


def strategy_options(strategy: Strategy) -> dict[str, inspect.Parameter]:
    """Return a strategy's options: its keyword-only parameters."""
    parameters = inspect.signature(strategy).parameters.values()
    return {each.name: each for each in parameters if each.kind is inspect.Parameter.KEYWORD_ONLY}


def read_options(strategy: Strategy, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options that come as text (`--set key=value`) or as values, checked against the signature."""
    known = strategy_options(strategy)
    hints = _hints(strategy)
    values = {}
    for name, value in options.items():
        if name not in known:
            command = f"disputatio strategies {strategy_name(strategy)}"
            raise UnknownName("option", name, known, command=command)
        values[name] = _read_value(name, value, hints[name]) if name in hints else value
    return values


def prompts_hash(strategy: Strategy) -> str:
    """Return a hash over the prompts and schemas of a strategy's file and of all modules whose parts it uses.

    Its own module counts by its name too: two strategies that only speak through shared agents differ.
    """
    home = inspect.getmodule(strategy)
    digest = hashlib.sha256(f"{home.__name__ if home else ''}\n".encode())
    for module in _speaking(home):
        for name, value in sorted(vars(module).items()):
            if name.isupper() and isinstance(value, str | Mapping):
                digest.update(f"{name}={value}\n".encode())
    return digest.hexdigest()[:16]


def _speaking(home: types.ModuleType | None) -> list[types.ModuleType]:
    """Return a strategy's module and those whose parts it uses and that can hold prompts."""
    modules = dict.fromkeys([] if home is None else [home])
    waiting = list(modules)
    while waiting:
        for part in vars(waiting.pop()).values():
            module = inspect.getmodule(part) if inspect.isroutine(part) or inspect.isclass(part) else None
            if module not in modules and module is not None and _room(module) in SPEAKING:
                modules[module] = None
                waiting.append(module)
    return sorted(modules, key=lambda module: module.__name__)


def _room(module: types.ModuleType) -> str:
    return ".".join(module.__name__.split(".")[:2])


def _hints(strategy: Strategy) -> dict[str, Any]:
    """Return the annotations of a strategy's options; none where they name what only type checkers import."""
    try:
        return typing.get_type_hints(strategy)
    except NameError:
        return {}


def _read_value(name: str, value: object, hint: Any) -> object:
    """`value` as the annotation says (int, float, str, bool, a Literal, or one of them or None)."""
    choices = typing.get_args(hint)
    if typing.get_origin(hint) is Literal:
        if value in choices:
            return value
        raise UnknownName(f"value of {name}", str(value), map(str, choices))
    if typing.get_origin(hint) in (types.UnionType, typing.Union):
        if value is None or str(value).casefold() == "none":
            return None
        return _read_value(name, value, next(choice for choice in choices if choice is not type(None)))
    if hint is bool:
        flags = {"true": True, "false": False, "1": True, "0": False, "yes": True, "no": False}
        if str(value).casefold() in flags:
            return flags[str(value).casefold()]
        raise InputError(f"option {name}: {value!r} is not true or false")
    if hint not in (int, float, str):
        return value
    try:
        return hint(value)
    except (TypeError, ValueError) as error:
        raise InputError(f"option {name}: {value!r} is not of type {hint.__name__}") from error
