"""The log of one question: its events, the usage of every model call, and what the answer's basis needs.

A trace carries hashes of prompts by default and their text on request; never a credential.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from disputatio.events import Event, Evidence, Started
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
    seconds = 0.0
    cores: list[float] = []
    for usage in usages:
        calls += usage.calls
        prompt += usage.prompt_tokens
        cached += usage.cached_tokens
        completion += usage.completion_tokens
        seconds += usage.seconds
        cores += [] if usage.core_seconds is None else [usage.core_seconds]
    return Usage(
        calls=calls,
        prompt_tokens=prompt,
        cached_tokens=cached,
        completion_tokens=completion,
        seconds=round(seconds, 6),
        core_seconds=round(sum(cores), 3) if cores else None,
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


@dataclass(slots=True)
class Pace:
    """The time and the tokens of one question so far, and an estimate of the time that is left."""

    tokens: int = 0
    _began: float = field(default_factory=time.perf_counter)
    _done: dict[int, int] = field(default_factory=dict)

    @property
    def seconds(self) -> float:
        """Return the seconds since the question began."""
        return time.perf_counter() - self._began

    def note(self, batch: int, usage: Usage) -> int:
        """Count a finished call of a batch, and return how many of the batch have finished."""
        self.tokens += usage.prompt_tokens + usage.completion_tokens
        self._done[batch] = self._done.get(batch, 0) + 1
        return self._done[batch]

    def remaining(self, done: int, calls: int) -> float | None:
        """Estimate the seconds that are left once `done` of the `calls` of the readers are finished."""
        return self.seconds * (calls - done) / done if done else None


@dataclass(slots=True)
class Trace:
    """The events of one question in order, with their times, and the usage of every model call.

    `keep_text` keeps prompts and replies in full. `listener` is called with each event as it happens, and so
    are those that `listening` adds. `calls`, `searches`, `extractions`, `judgements` and the passages `found`
    are kept for the answer's basis. `evidence` and `pace` are those of the latest question.
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
                self.evidence, self.pace = None, Pace()
            elif isinstance(event, Evidence):
                self.evidence = event
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
        """Keep a search and its passages."""
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
        part = path.with_name(path.name + ".part")
        try:
            part.unlink(missing_ok=True)
            # For the user alone: it may hold what a question and its passages say.
            handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(handle, "wb") as out:
                out.write(lines.encode("utf-8", "backslashreplace"))  # half a character stays JSON
            part.replace(path)
        except OSError:
            part.unlink(missing_ok=True)
            raise


def _json_value(value: object) -> object:
    """Return a value with lists in place of tuples."""
    if isinstance(value, Mapping):
        return {name: _json_value(item) for name, item in value.items()}
    return [_json_value(item) for item in value] if isinstance(value, list | tuple) else value
