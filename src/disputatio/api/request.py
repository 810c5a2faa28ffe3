"""One question as every door states it, and the one place that checks and prepares it."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from disputatio.api.indexing import Index
from disputatio.arguments import check_arguments
from disputatio.attribution.each_source import with_each_source
from disputatio.config import Settings
from disputatio.errors import ConfigError, InputError
from disputatio.kit import Elsewhere, Kit
from disputatio.parts import with_retriever
from disputatio.pipeline import (
    DEFAULT_STRATEGY,
    Strategy,
    ask,
    check_model,
    check_question,
    check_terms,
    load_strategy,
    read_options,
    strategy_name,
    strategy_options,
)
from disputatio.protocols import Cancel, Deadline, Retriever
from disputatio.store.filtered import EachSource, Filtered, check_sources, find_muted_ids
from disputatio.store.in_memory import InMemory
from disputatio.store.own_passages import PassageLike, RetrieverLike, as_passages, as_retriever
from disputatio.store.segments.days import bounds
from disputatio.trace import Trace
from disputatio.types import Answer
from disputatio.versions.dates import iso_day, today

_TIME = re.compile(r"(\d{1,9}(?:\.\d{1,9})?) ?(ms|s|m)?")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0}
_DAY = 86_400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A question, what is read for it, and how it is answered; None is the value of the settings.

    `question` is None where many questions are prepared for at once. `index` or `passages` are what is read,
    within `sources` and the ISO dates `after` and `before`; `as_of` is the day whose answer is asked for.
    Documents in `mute`, by id, file or title, are not read.
    After `within` seconds ("20s", "2m") no model is asked any more, and the answer is made of what was read.
    With `each_source` the best passages of every source are read, and the answer says what each answers.
    `options` are the strategy's; `k` and `expect` are two of them that every door offers.
    """

    question: str | None = None
    index: str | Path | RetrieverLike | None = None
    passages: Iterable[PassageLike] | None = None
    sources: Collection[str] | None = None
    mute: Collection[str] = ()
    after: str | None = None
    before: str | None = None
    as_of: str | None = None
    elsewhere: Elsewhere | None = None
    strategy: str | Strategy | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    k: int | None = None
    expect: str | None = None
    verify: bool = True
    strict: bool = False
    min_confidence: float | None = None
    each_source: bool = False
    within: float | str | None = None

    def check(self) -> None:
        """Raise what is wrong with the request in itself: nothing is opened or loaded for it."""
        if self.question is not None:
            check_question(self.question)
        check_terms(verify=self.verify, strict=self.strict, min_confidence=self.min_confidence or 0.0)
        if self.within is not None and self.strict:
            raise InputError("strict waits for the judge of every claim: leave out within")
        if self.index is not None and self.passages is not None:
            raise ConfigError("give an index or passages, not both")
        check_arguments(Request, {"sources": self.sources, "mute": self.mute, "as_of": self.as_of})
        days = bounds(self.after, self.before)
        if days is not None and days[0] > days[1]:
            raise InputError(f"no day is both after {self.after} and before {self.before}")
        if self.as_of is not None and not iso_day(self.as_of):
            raise InputError(f"as_of: {self.as_of[:40]!r} is not a date; write 2021, 2021-05 or 2021-05-31")


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """All that answering takes but the question; making it opened nothing but the index."""

    kit: Kit
    strategy: str | Strategy
    options: Mapping[str, Any]
    verify: bool
    strict: bool
    min_confidence: float | None = None
    each_source: bool = False
    otel: bool = False
    deadline: Deadline | None = None

    @property
    def searched(self) -> Retriever | None:
        """Return what is searched, without the limits on sources and dates."""
        retriever = self.kit.retriever
        return retriever.inner if isinstance(retriever, Filtered) else retriever

    def answer(self, question: str, trace: Trace, cancel: Cancel) -> Answer:
        if not self.otel:
            return self._answer(question, trace, cancel)
        from disputatio.api.spans import report_question

        with report_question(_name(self.strategy), trace) as told:
            return told(self._answer(question, trace, cancel))

    def _answer(self, question: str, trace: Trace, cancel: Cancel) -> Answer:
        kit = replace(self.kit, cancel=cancel, deadline=self.deadline, today=today().isoformat())
        best = EachSource(kit.retriever, question) if self.each_source and kit.retriever else None
        answer = ask(
            question,
            kit=kit if best is None else replace(kit, retriever=best),
            strategy=self.strategy,
            options=self.options,
            verify=self.verify,
            strict=self.strict,
            min_confidence=self.min_confidence,
            trace=trace,
        )
        if best is None:
            return answer
        read = {passage.source or passage.id for passage in answer.passages}
        return with_each_source(answer, unread=len(best.unread - read))


def prepare(
    request: Request,
    settings: Settings,
    kit: Callable[[], Kit],
    *,
    search: Callable[[], Retriever | None] = lambda: None,
) -> Prepared:
    """Check a request, and return the parts that answer it.

    `kit` and `search` (what is searched where the request names neither index nor passages) are called after
    everything that can be checked without them. Raises `InputError` and `ConfigError`.
    """
    request.check()
    deadline = None if request.within is None else Deadline(seconds_of(request.within))
    strategy = settings.strategy if request.strategy is None else request.strategy
    options = _options(request, settings, strategy)
    if request.each_source and strategy != DEFAULT_STRATEGY:
        raise InputError(
            f"each_source: {_name(strategy)} does not read sources apart; {DEFAULT_STRATEGY} does"
        )
    if deadline is not None and strategy != DEFAULT_STRATEGY:
        raise InputError(f"within: {_name(strategy)} does not answer from a part; {DEFAULT_STRATEGY} does")
    retriever = _retriever(request, settings, search)
    check_sources(retriever, request.sources)
    # A strategy that knows nothing of days reads what is dated up to that day.
    before = request.before if request.as_of is None or "as_of" in options else _earlier(request)
    if retriever is not None and ((request.sources, request.after, before) != (None,) * 3 or request.mute):
        muted = find_muted_ids(retriever, request.mute)
        retriever = Filtered(
            retriever, sources=request.sources, after=request.after, before=before, mute=muted
        )
    least = settings.min_confidence if request.min_confidence is None else request.min_confidence
    parts = kit()
    check_model(strategy, parts)
    return Prepared(
        kit=replace(with_retriever(parts, retriever), elsewhere=request.elsewhere),
        strategy=strategy,
        options=options,
        verify=request.verify,
        strict=request.strict,
        min_confidence=least,
        each_source=request.each_source,
        otel=settings.otel,
        deadline=deadline,
    )


def seconds_of(within: float | str) -> float:
    """Return a time in seconds; raises `InputError` for none, and for more than a day.

    >>> seconds_of("20s"), seconds_of("1.5m"), seconds_of("500ms"), seconds_of(20)
    (20.0, 90.0, 0.5, 20.0)
    """
    written = _TIME.fullmatch(str(within).strip())
    seconds = float(written[1]) * _SECONDS[written[2] or "s"] if written else 0.0
    if not 0 < seconds <= _DAY:
        raise InputError(f"within: {str(within)[:40]!r} is no time up to a day; write 20s, 500ms or 2m")
    return seconds


def _name(strategy: str | Strategy) -> str:
    return strategy if isinstance(strategy, str) else strategy_name(strategy)


def _earlier(request: Request) -> str | None:
    days = [day for day in (request.before, request.as_of) if day is not None]
    return min(days, default=None)


def _retriever(
    request: Request, settings: Settings, search: Callable[[], Retriever | None]
) -> Retriever | None:
    """Return what a request reads: passages in hand, an index, or what there is without them."""
    if request.passages is not None:
        return InMemory(as_passages(request.passages))
    if isinstance(request.index, str | Path):
        return Index.open(request.index, create=False, settings=settings)
    return search() if request.index is None else as_retriever(request.index)


def _options(request: Request, settings: Settings, strategy: str | Strategy) -> dict[str, Any]:
    function = load_strategy(strategy) if isinstance(strategy, str) else strategy
    name = _name(strategy)
    known, options = strategy_options(function), dict(request.options)
    asked = {"k": request.k, "expect": request.expect}
    if "as_of" in known:
        asked["as_of"] = request.as_of
    for option, value in asked.items():
        if value is None:
            continue
        if option not in known:
            raise InputError(f"{option}: {name} has no option {option} (see: disputatio strategies {name})")
        if str(options.setdefault(option, value)) != str(value):
            raise InputError(f"{option} is given twice: {value}, and {options[option]} among the options")
    if "expect" in known:
        options.setdefault("expect", settings.expect)
    return read_options(function, options)
