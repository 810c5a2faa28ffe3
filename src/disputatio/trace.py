"""The log of one question: its events, the usage of every model call, and what the answer's basis needs.

A trace carries hashes of prompts by default and their text on request; never a credential.

`Speeds` keeps the latest batches of each model in a file of the cache: the tokens that were read anew, the
steps in which replies were written, and the seconds. `Pace` follows one question and estimates what is left
of it: of the batch that runs by the model's speed, of the batches to come by the mean of earlier questions.
"""

from __future__ import annotations

import json
import math
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from disputatio import platforms
from disputatio.events import Concluded, Event, Evidence, Started
from disputatio.text import content_id
from disputatio.types import (
    Choice,
    Completion,
    Extraction,
    Passage,
    PastCall,
    PastSearch,
    Prompt,
    Sampling,
    Usage,
)

_TEXTS = ("prompt", "reply")  # fields of a record that `keep_text` adds
_KEPT = 32  # batches of a model, and questions of a strategy
_LATEST = 6  # batches whose speed counts
_STEPS = (1.0, 3.0, 10.0, 30.0, 100.0)  # tokens read that may take as long as one step of writing
_ENDING = 0.1  # of its expected time, that a batch lasts at least while calls of it are open
Listener = Callable[[Event], None]


@dataclass(frozen=True, slots=True)
class Logged:
    """An event, and the seconds since its trace began."""

    at: float
    event: Event


def total_usage(usages: Iterable[Usage]) -> Usage:
    """Add up the usage of calls; core-seconds are those of the calls that tell theirs.

    >>> total_usage([Usage(calls=1, seconds=0.5), Usage(calls=2, seconds=1.0)]).seconds
    1.5
    """
    calls = prompt = cached = completion = 0
    seconds: list[float] = []
    cores: list[float] = []
    for usage in usages:
        calls += usage.calls
        prompt += usage.prompt_tokens
        cached += usage.cached_tokens
        completion += usage.completion_tokens
        seconds.append(usage.seconds)
        cores += [] if usage.core_seconds is None else [usage.core_seconds]
    return Usage(
        calls=calls,
        prompt_tokens=prompt,
        cached_tokens=cached,
        completion_tokens=completion,
        # exact sums: a replay, whose calls end in another order, rounds to the same figure
        seconds=round(math.fsum(seconds), 6),
        core_seconds=round(math.fsum(cores), 3) if cores else None,
    )


def prompt_hash(prompt: Prompt) -> str:
    """Hash the roles and contents of a prompt, to name it in a trace."""
    return content_id("q", *(f"{m.role}\x1e{m.content}" for m in prompt.messages))


def call_key(role: str, prompt: Prompt, settings: Sampling | Sequence[str]) -> str:
    """Hash role, prompt, and sampling or options, to name a call among those of one question.

    >>> prompt = Prompt(messages=())
    >>> call_key("judge", prompt, ["Yes", "No"]) == call_key("judge", prompt, ["No", "Yes"])
    False
    """
    how = asdict(settings) if isinstance(settings, Sampling) else list(settings)
    return content_id("k", role, prompt_hash(prompt), json.dumps(how, default=dict))


def judgement_key(relation: str, first: str, second: str) -> str:
    """Hash a relation and two texts, to name a judgement among those of one question.

    >>> judgement_key("entails", "a", "b") == judgement_key("entails", "b", "a")
    False
    """
    return content_id("j", relation, first, second)


# --- the time that is left -----------------------------------------------------------------------
class Work(NamedTuple):
    """Tokens read anew, and steps of writing: calls of one batch write together."""

    new: float = 0.0
    steps: float = 0.0

    def plus(self, other: Work) -> Work:
        return Work(self.new + other.new, self.steps + other.steps)


_NOTHING = Work()


class _Batch(NamedTuple):
    """A finished batch of calls: its role, the characters of its prompts, its work and what that took.

    `cores` are core-seconds, of an engine that tells none its seconds.
    """

    role: str
    characters: float
    new: float
    steps: float
    seconds: float
    cores: float


class _Question(NamedTuple):
    """The work of a question: its first batch of several calls, and all that came after that."""

    reading: Work
    rest: Work


@dataclass(slots=True)
class Speeds:
    """The latest batches by model, the seconds of loading by model, and the latest questions by strategy.

    `loaded` has the models that were called in this process. Threads share it.
    """

    file: Path | None = None
    batches: dict[str, list[_Batch]] = field(default_factory=dict)
    loading: dict[str, float] = field(default_factory=dict)
    questions: dict[str, list[_Question]] = field(default_factory=dict)
    loaded: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        if self.file is not None:
            with suppress(OSError, ValueError, TypeError, AttributeError, KeyError, RecursionError):
                kept = json.loads(self.file.read_bytes())
                self.batches = {
                    name: [_Batch(str(role), *map(_finite, numbers)) for role, *numbers in each[-_KEPT:]]
                    for name, each in kept["batches"].items()
                }
                self.loading = {name: _finite(seconds) for name, seconds in kept["loading"].items()}
                self.questions = {
                    name: [_Question(*(Work(*map(_finite, part)) for part in parts)) for parts in each]
                    for name, each in kept["questions"].items()
                }

    def save(self) -> None:
        """Write all to the file, if there is one; the estimate is not worth a fault."""
        if self.file is None:
            return
        kept = {
            "batches": dict(self.batches),
            "loading": dict(self.loading),
            "questions": dict(self.questions),
        }
        with suppress(OSError):
            self.file.parent.mkdir(parents=True, exist_ok=True)
            with platforms.whole_file(self.file) as part:
                part.write_text(json.dumps(kept), encoding="utf-8")

    def note(self, model: str, batch: _Batch) -> None:
        self.batches[model] = [*self.batches.get(model, []), batch][-_KEPT:]

    def note_question(self, strategy: str, question: _Question) -> None:
        self.questions[strategy] = [*self.questions.get(strategy, []), question][-_KEPT:]

    def work(self, model: str, role: str, characters: float) -> Work | None:
        """Return the work of a batch by those of its role, else by all; None of a model that is new."""
        known = self.batches.get(model, [])
        alike = [batch for batch in known if batch.role == role] or known
        total = sum(batch.characters for batch in alike)
        if not total:
            return None
        steps = sum(batch.steps for batch in alike) / len(alike)
        return Work(characters * sum(batch.new for batch in alike) / total, steps)

    def seconds(self, model: str, work: Work) -> float:
        """Return how long work takes, by the latest batches of the model.

        Core-seconds are alike on a busy machine; how long one lasts now, the two newest batches tell.
        """
        latest = self.batches.get(model, [])[-_LATEST:]
        if not latest:
            return 0.0
        _, step = min((_error(latest, step), step) for step in _STEPS)
        cores = sum(batch.cores for batch in latest) / max(
            sum(batch.new + step * batch.steps for batch in latest), 1.0
        )
        newest = [*latest[-2:], latest[-1]]  # the newest counts twice
        lasts = sum(batch.seconds for batch in newest) / max(sum(batch.cores for batch in newest), 1e-6)
        return (work.new + step * work.steps) * cores * lasts

    def usual(self, strategy: str) -> _Question:
        known = self.questions.get(strategy, [])
        count = max(len(known), 1)

        def mean(works: Sequence[Work]) -> Work:
            return Work(sum(work.new for work in works) / count, sum(work.steps for work in works) / count)

        return _Question(mean([each.reading for each in known]), mean([each.rest for each in known]))


def _finite(value: Any) -> float:
    number = float(value)
    if not 0 <= number < math.inf:
        raise ValueError(value)
    return number


def _error(batches: Sequence[_Batch], step: float) -> float:
    """Return how far the speeds of batches are from each other, if a step counts as so many tokens."""
    logs = [math.log(max(batch.cores, 1e-6) / max(batch.new + step * batch.steps, 1.0)) for batch in batches]
    mean = sum(logs) / len(logs)
    return sum((each - mean) ** 2 for each in logs)


@dataclass(slots=True)
class _Open:
    """A batch whose calls are not all done, when it began, and how many seconds it was expected to take."""

    model: str
    role: str
    sizes: Sequence[int]
    began: float
    expected: float | None
    loading: float
    done: int = 0
    fresh: list[tuple[int, Usage]] = field(default_factory=list)


@dataclass(slots=True)
class Pace:
    """The time and the tokens of one question so far, and an estimate of the time that is left."""

    strategy: str = ""
    speeds: Speeds = field(default_factory=Speeds)
    tokens: int = 0
    clock: Callable[[], float] = time.perf_counter
    _began: float = 0.0
    _open: dict[int, _Open] = field(default_factory=dict)
    _reading: Work | None = None
    _rest: Work = _NOTHING
    _whole: bool = True
    _model: str = ""

    def __post_init__(self) -> None:
        self._began = self.clock()

    @property
    def seconds(self) -> float:
        return self.clock() - self._began

    def begin(self, batch: int, model: str, role: str, sizes: Sequence[int]) -> None:
        """Follow a batch of calls whose prompts have so many characters."""
        work = self.speeds.work(model, role, sum(sizes))
        loading = 0.0 if model in self.speeds.loaded else self.speeds.loading.get(model, 0.0)
        expected = None if work is None else loading + self.speeds.seconds(model, work)
        self._open[batch] = _Open(model, role, sizes, self.clock(), expected, loading)
        self._model = model

    def note(self, batch: int, index: int, usage: Usage, *, journalled: bool) -> int:
        """Count a finished call of a batch, and return how many of the batch have finished."""
        self.tokens += usage.prompt_tokens + usage.completion_tokens
        running = self._open[batch]
        running.done += 1
        if journalled:
            self._whole = False
        else:
            if not running.fresh and running.model not in self.speeds.loaded:
                self.speeds.loaded.add(running.model)
                self.speeds.loading[running.model] = max(0.0, self.clock() - running.began - usage.seconds)
            running.fresh.append((running.sizes[index], usage))
        if running.done == len(running.sizes):
            self._close(running)
        return running.done

    def _close(self, running: _Open) -> None:
        """Keep what a batch has taken, less the time of loading; one that takes no time tells no speed."""
        usages = [usage for _, usage in running.fresh]
        if not any(usage.seconds for usage in usages):
            return
        new = sum(usage.prompt_tokens - usage.cached_tokens for usage in usages)
        work = Work(new, max(usage.completion_tokens for usage in usages))
        seconds = sum(usage.seconds for usage in usages)
        cores = sum(usage.core_seconds or 0.0 for usage in usages) or seconds
        size = sum(size for size, _ in running.fresh)
        self.speeds.note(running.model, _Batch(running.role, size, *work, seconds, cores))
        if self._reading is None and len(running.sizes) > 1:
            self._reading = work
        else:
            self._rest = self._rest.plus(work)

    def estimate_remaining(self) -> float | None:
        """Estimate the seconds that are left; None of a model that was never called."""
        latest = list(self._open.values())[-1:]  # an earlier one that is not done has failed
        running = [each for each in latest if each.done < len(each.sizes)]
        if any(each.expected is None for each in running) or not self.speeds.batches.get(self._model):
            return None
        usual, left = self.speeds.usual(self.strategy), 0.0
        for each in running:
            expected, calls = each.expected or 0.0, len(each.sizes)
            floor = _ENDING * expected * (calls - each.done) / calls
            left += max(expected - (self.clock() - each.began), floor)
        reads = self._reading is not None or any(len(each.sizes) > 1 for each in running)
        if not reads:
            left += self.speeds.seconds(self._model, usual.reading)
        # What runs beside the reading is part of the rest.
        after = self.speeds.seconds(self._model, usual.rest) - self.speeds.seconds(self._model, self._rest)
        if self._reading is not None:
            after -= sum(each.expected or 0.0 for each in running)
        return left + max(after, 0.0)

    def end(self) -> None:
        """Keep what the question has taken, if none of it came from the journal."""
        if self._whole and self._reading is not None:
            self.speeds.note_question(self.strategy, _Question(self._reading, self._rest))
        if any(each.fresh for each in self._open.values()):
            self.speeds.save()


# --- the log --------------------------------------------------------------------------------------
@dataclass(slots=True)
class Trace:
    """The events of one question in order, with their times, and the usage of every model call.

    `keep_text` keeps prompts and replies in full. `listener` is called with each event as it happens, and so
    are those that `listening` adds. `calls`, `searches`, `extractions`, `judgements` and the passages `found`
    are kept for the answer's basis. `evidence` and `pace` are those of the latest question,
    `speeds` those of the kit.
    """

    keep_text: bool = False
    listener: Listener | None = None
    log: list[Logged] = field(default_factory=list)
    usages: list[Usage] = field(default_factory=list)
    calls: list[PastCall] = field(default_factory=list, repr=False)
    searches: list[PastSearch] = field(default_factory=list, repr=False)
    found: dict[str, Passage] = field(default_factory=dict, repr=False)
    extractions: dict[str, dict[str, Extraction]] = field(default_factory=dict, repr=False)
    judgements: dict[str, float] = field(default_factory=dict, repr=False)
    evidence: Evidence | None = field(default=None, repr=False)
    pace: Pace = field(default_factory=Pace, repr=False)
    speeds: Speeds = field(default_factory=Speeds, repr=False)
    _more: list[Listener] = field(default_factory=list, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)
    _start: float = field(default_factory=time.perf_counter, repr=False)

    @property
    def events(self) -> list[Event]:
        """Return the events so far."""
        return [logged.event for logged in self.log]

    @property
    def is_followed(self) -> bool:
        """Return whether someone listens."""
        return self.listener is not None or bool(self._more)

    def emit(self, event: Event) -> None:
        """Add an event, with the seconds since the trace began, and call the listeners."""
        logged = Logged(round(time.perf_counter() - self._start, 4), event)
        with self._lock:
            if isinstance(event, Started):
                self.evidence, self.pace = None, Pace(event.strategy, self.speeds)
            elif isinstance(event, Evidence):
                self.evidence = event
            elif isinstance(event, Concluded):
                self.pace.end()
            self.log.append(logged)
            listeners = [*([self.listener] if self.listener is not None else []), *self._more]
        for listener in listeners:
            listener(event)

    @contextmanager
    def listening(self, listener: Listener) -> Iterator[None]:
        """Call one more listener with the events within this context."""
        with self._lock:
            self._more.append(listener)
        try:
            yield
        finally:
            with self._lock:
                self._more.remove(listener)

    def keep_call(self, key: str, result: Completion | Choice) -> None:
        """Keep the result of a call, without what it cost, so that the question can be decided again."""
        bare = replace(result, usage=Usage(), journalled=False)
        with self._lock:
            self.calls.append(PastCall(key=key, result=bare))

    def keep_search(self, search: PastSearch, passages: Iterable[Passage]) -> None:
        with self._lock:
            self.searches.append(search)
            self.found.update((passage.id, passage) for passage in passages)

    def keep_extractions(self, question: str, extractions: Iterable[Extraction]) -> None:
        """Keep what the encoder extracted, by question and passage."""
        with self._lock:
            read = self.extractions.setdefault(question, {})
            read.update((extraction.passage, extraction) for extraction in extractions)

    def keep_judgements(
        self, relation: str, pairs: Iterable[tuple[str, str]], scores: Iterable[float]
    ) -> None:
        """Keep the scores that a judge without a language model gives to pairs of texts."""
        with self._lock:
            keys = [judgement_key(relation, *pair) for pair in pairs]
            # A judge may leave out pairs; its caller reports that.
            self.judgements.update(zip(keys, scores, strict=False))

    def spend(self, usages: Iterable[Usage]) -> None:
        """Add the usage of a batch of calls."""
        with self._lock:
            self.usages.extend(usages)

    def usage(self) -> Usage:
        """Return the total usage so far."""
        with self._lock:
            return total_usage(self.usages)

    def records(self, *, text: bool = True) -> list[dict[str, Any]]:
        """Return the events as a trace file has them; prompts and replies only with `text`."""
        left_out = () if text else _TEXTS
        records = ({"at": logged.at, **logged.event.record()} for logged in self.log)
        return [
            {name: _json_value(value) for name, value in record.items() if name not in left_out}
            for record in records
        ]

    def write(self, path: Path, *, text: bool = True) -> None:
        """Write the events as JSON lines, whole or not at all; prompts and replies only with `text`."""
        records = self.records(text=text)
        lines = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
        with platforms.whole_file(path) as part:
            # For the user alone: it may hold what a question and its passages say.
            handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(handle, "wb") as out:
                out.write(lines.encode("utf-8", "backslashreplace"))  # half a character stays JSON


def _json_value(value: object) -> object:
    """Return a value with lists in place of tuples."""
    if isinstance(value, Mapping):
        return {name: _json_value(item) for name, item in value.items()}
    return [_json_value(item) for item in value] if isinstance(value, list | tuple) else value
