"""One question from start to finish: load the strategy, run it, audit what it returned."""

from __future__ import annotations

import hashlib
import importlib
import inspect
import itertools
import json
import math
import pkgutil
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import resources
from typing import Any, Literal

from disputatio.agents.options import Estimates, Logprobs
from disputatio.attribution.audit import ClaimCheck, add_reading, audit, confidently, count_read
from disputatio.attribution.verification import verify_claims
from disputatio.errors import ConfigError, InputError, MissingPart, UnknownName
from disputatio.events import AgentFault, Concluded, IndexUnsearched, OutOfTime, Started, Unchecked
from disputatio.kit import Kit
from disputatio.trace import Trace
from disputatio.types import Answer, Basis, PastCall, PastSearch, Unsearched

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
    min_confidence: float | None = None,
    trace: Trace | None = None,
) -> Answer:
    """Answer one question with a strategy, and audit the answer.

    `strategy` is a name that `load_strategy` knows, or a function. `options` are its keyword parameters, as
    values or as text. `verify` puts every claim with its quotes to the entailment judge; `strict` drops the
    claims that fail, and abstains when nothing is left; an answer less likely than `min_confidence` to be
    right becomes an abstention. That is the strategy's `LEAST_CONFIDENCE` where none is given and the answer
    has a confidence. Raises `InputError` for an empty or endless question, `strict` without `verify` or a
    confidence outside 0 to 1, `UnknownName` for an unknown strategy or option, `LLMError` and `ReplyError`
    for faults.
    """
    check_question(question)
    run = load_strategy(strategy) if isinstance(strategy, str) else strategy
    check_terms(verify=verify, strict=strict, min_confidence=min_confidence or 0.0)
    name = strategy if isinstance(strategy, str) else strategy_name(strategy)
    chosen = read_options(run, options or {})
    kit = kit.with_trace(trace or Trace())
    # A trace of the caller's may hold an earlier question.
    begun, calls, searches = len(kit.trace.events), len(kit.trace.calls), len(kit.trace.searches)
    # A trace is JSON, which has no infinity.
    shown = {key: str(value) if value in (math.inf, -math.inf) else value for key, value in chosen.items()}
    kit.emit(Started(question=question, strategy=name, model=kit.model.name, options=shown))
    answer = replace(run(question, kit, **chosen), strategy=name, model=kit.model.name)
    if verify and kit.is_late:
        kit.emit(Unchecked(reason="the deadline has passed"))
        verify = False
    if min_confidence is None:  # whoever states one wants it shown, which an unknown confidence does not
        min_confidence = 0.0 if answer.confidence is None else least_confidence(run)
    terms = Basis(options=shown, verify=verify, strict=strict, min_confidence=min_confidence)

    def record(answer: Answer) -> Basis:
        return _record_basis(terms, answer, kit, kit.trace.searches[searches:], kit.trace.calls[calls:])

    return conclude(answer, kit, terms, record=record, begun=begun)


def conclude(
    answer: Answer,
    kit: Kit,
    terms: Basis,
    *,
    record: Callable[[Answer], Basis],
    check: ClaimCheck = verify_claims,
    begun: int = 0,
) -> Answer:
    """Audit what a strategy returned, and add what was read, what it cost and what it was made from.

    This is the second half of every answer, also of one that is decided again (`disputatio.what_if`).
    `terms` say whether claims are verified (by `check`), whether those that fail are dropped, and how likely
    to be right an answer must be. `record` returns what the audited answer was made from. The events of the
    question are those of the trace after the first `begun`.
    """
    answer = audit(answer, kit, verify=terms.verify, strict=terms.strict, check=check)
    if terms.min_confidence:
        answer = confidently(answer, terms.min_confidence)
    basis = record(answer)
    events = kit.trace.events[begun:]
    found = (hit.passage for search in basis.searches for hit in search.hits)
    left_out = {event.index: event.reason for event in events if isinstance(event, IndexUnsearched)}
    read = replace(
        count_read(answer, found, faults=sum(isinstance(event, AgentFault) for event in events)),
        unsearched=tuple(Unsearched(index=index, reason=reason) for index, reason in left_out.items()),
        late=tuple(name for event in events if isinstance(event, OutOfTime) for name in event.passages),
    )
    kit.emit(Concluded(answers=answer.answers, abstained=answer.abstained, read=read))
    return add_reading(replace(answer, usage=kit.trace.usage(), basis=basis), read)


def check_question(question: str) -> None:
    """Raise `InputError` for a question that is empty, too long or no text."""
    if not isinstance(question, str):
        raise InputError(f"the question is {type(question).__name__}, not text: write what you want to know")
    if not question.strip():
        raise InputError("the question is empty: write what you want to know")
    if len(question) > LONGEST_QUESTION:
        raise InputError(
            f"the question has {len(question):,} characters, more than {LONGEST_QUESTION:,}: "
            "give what it is about as passages"
        )
    try:
        question.encode()
    except UnicodeEncodeError as error:
        raise InputError("the question is not UTF-8 text") from error


def check_terms(*, verify: bool, strict: bool, min_confidence: float) -> None:
    """Raise `InputError` for `strict` without `verify`, and for a confidence that is no probability."""
    if strict and not verify:
        raise InputError("strict drops the claims that fail verification: it needs verify")
    if not 0 <= min_confidence <= 1:
        raise InputError(f"min_confidence is a probability between 0 and 1, not {min_confidence:g}")


def _record_basis(
    terms: Basis, answer: Answer, kit: Kit, searches: Sequence[PastSearch], calls: Sequence[PastCall]
) -> Basis:
    """Return what an answer was made from: the trace of its question, and what is known of its sources."""
    trace = kit.trace
    read = {passage.id for passage in answer.passages}
    hits = dict.fromkeys(hit.passage for search in searches for hit in search.hits)
    names = {trace.found[name].source for name in hits} | {passage.source for passage in answer.passages}
    # Whether anything is known of any source decides what an unknown one counts for.
    estimated = (name for name, source in kit.sources.items() if source.reliability is not None)
    names.update(itertools.islice(estimated, 1))
    by_key = {call.key: call for call in calls}  # calls finish in any order
    return replace(
        terms,
        sources=tuple(kit.sources[name] for name in sorted(names & kit.sources.keys())),
        passages=tuple(trace.found[name] for name in hits if name not in read),
        searches=tuple(searches),
        calls=tuple(by_key[key] for key in sorted(by_key)),
        extractions={question: tuple(found.values()) for question, found in trace.extractions.items()},
        judgements=dict(sorted(trace.judgements.items())),
        details={} if answer.basis is None else answer.basis.details,
    )


def strategy_names() -> list[str]:
    """Return the names of the strategies that come with the package, in order."""
    package = importlib.import_module(STRATEGIES)
    return sorted(module.name for module in pkgutil.iter_modules(package.__path__))


def load_strategy(name: str) -> Strategy:
    """Return the strategy of a name or of `package.module:function`; raises `UnknownName`."""
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
    """Return a strategy's name: its package for a shipped one, else `module:function`.

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


def least_confidence(strategy: Strategy) -> float:
    """Return how likely to be right an answer of a strategy is at least, where nobody states it.

    >>> from disputatio.strategies.disputation import disputation
    >>> least_confidence(disputation), least_confidence(load_strategy("concat"))
    (0.3, 0.0)
    """
    return float(getattr(inspect.getmodule(strategy), "LEAST_CONFIDENCE", 0.0))


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
    for module in _list_speaking_modules(home):
        for name, value in sorted(vars(module).items()):
            if name.isupper() and isinstance(value, str | Mapping):
                digest.update(f"{name}={value}\n".encode())
    return digest.hexdigest()[:16]


def _list_speaking_modules(home: types.ModuleType | None) -> list[types.ModuleType]:
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
    """Return `value` as the annotation says (int, float, str, bool, a Literal, or one of them or None)."""
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


# --- descriptions ---------------------------------------------------------------------------------
# Strategies described: paper, options, what is needed of models, what questions were measured to cost.
#
# All of it is read from the strategy's own file, except for the costs, which are measurements
# (`strategies/costs.json`) and may be lacking.

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
class StrategyDescription:
    """A strategy as it describes itself before it is run.

    `needs_model` is whether it cannot run without a language model; `logprobs` is whether it needs the
    log-probabilities of its models; `cost` has the means over measured questions, one mapping for each
    measurement.
    """

    name: str
    summary: str
    paper: str
    options: tuple[Option, ...]
    needs_model: bool
    logprobs: str
    cost: tuple[Mapping[str, Any], ...]


def describe(name: str) -> StrategyDescription:
    """Return the description of a strategy, by name or `package.module:function`; raises `UnknownName`."""
    strategy = load_strategy(name)
    module = inspect.getmodule(strategy)
    summary, _, rest = (inspect.getdoc(module) or "").strip().partition("\n\n")
    hints = typing.get_type_hints(strategy, include_extras=True)
    needs = getattr(module, "LOGPROBS", None)
    return StrategyDescription(
        name=name,
        summary=" ".join(summary.split()),
        paper=" ".join(rest.split("\n\n")[0].split()).split(" Differences")[0],
        options=tuple(
            Option(
                name=parameter.name,
                default=parameter.default,
                type=type_words(hints.get(parameter.name, Any)),
                meaning=find_meaning(hints.get(parameter.name, Any)),
            )
            for parameter in strategy_options(strategy).values()
        ),
        needs_model=bool(getattr(module, "NEEDS_MODEL", True)),
        logprobs=str(needs) if isinstance(needs, Logprobs) else NO_LOGPROBS,
        cost=tuple(read_costs().get(name, ())),
    )


def check_model(strategy: str | Strategy, kit: Kit) -> None:
    """Raise `MissingPart` for a shipped strategy that needs a language model where there is none."""
    if kit.has_model or kit.roles or not isinstance(strategy, str) or ":" in strategy:
        return
    if describe(strategy).needs_model:
        without = f"a strategy that reads without, such as {DEFAULT_STRATEGY}"
        raise MissingPart(f"{strategy} needs a language model: give one (model=, --model), or {without}")


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
    return isinstance(needs, Estimates) and needs.are_needed_with(options)


def list_strategies() -> tuple[StrategyDescription, ...]:
    """Describe every strategy that comes with the package: paper, options, needs, measured cost.

    >>> [option.name for option in list_strategies()[0].options][:2]
    ['delta1', 'delta4']
    """
    return tuple(describe(name) for name in strategy_names())


def read_costs() -> dict[str, list[dict[str, Any]]]:
    """Return what questions were measured to cost, by strategy: means over `questions` of a data set."""
    file = resources.files("disputatio.strategies").joinpath(COSTS)
    costs: dict[str, list[dict[str, Any]]] = {}
    for row in json.loads(file.read_text(encoding="utf-8"))["measured"]:
        costs.setdefault(row["strategy"], []).append({key: row[key] for key in row if key != "strategy"})
    return costs


def find_meaning(hint: Any) -> str:
    """Return the meaning that an annotation declares, empty where it declares none.

    >>> find_meaning(typing.Annotated[int, "maximum rounds of debate"]), find_meaning(int)
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
