"""What happens while a question is answered, as typed events, made from the trace's notes and the answer.

| event | `kind` | when |
|---|---|---|
| `Started` | `started` | the strategy begins |
| `Found` | `found` | a search has come back |
| `Read` | `read` | one model call has finished, whatever its role |
| `SideFormed` | `side` | an answer that passages give has formed, or stands differently |
| `Round` | `round` | a round of a debate or of a vote is over |
| `Claimed` | `claim` | a claim of the answer is cited and checked |
| `Answered` | `answer` | the answer is there |
| `Cost` | `cost` | the end: what it cost |
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from disputatio.presenting import Serialisable
from disputatio.types import Answer, Claim, PositionVerdict, Usage


class _Event(Serialisable):
    """One event; `kind` names it in JSON."""

    __slots__ = ()
    kind: ClassVar[str] = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the kind and all fields as JSON values."""
        return {"kind": self.kind, **super().to_dict()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Started(_Event):
    """A strategy begins with a question; `options` are those that were set."""

    kind: ClassVar[str] = "started"
    question: str
    strategy: str
    model: str
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Found(_Event):
    """A search has come back with the ids and the sources of passages, the best first.

    `elsewhere` is true for a search that was not of the index or passages that were asked.
    """

    kind: ClassVar[str] = "found"
    query: str
    passages: tuple[str, ...]
    sources: tuple[str, ...]
    elsewhere: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Read(_Event):
    """One model call has finished: the `call`-th of a batch of `calls`, in the order of the prompts.

    `passages` are the ids of those that it was shown, where the agent reads single ones. `reply` is what the
    model wrote, where the trace keeps text; `journalled` says that the call came from the journal.
    """

    kind: ClassVar[str] = "read"
    role: str
    model: str
    call: int
    calls: int
    passages: tuple[str, ...] = ()
    usage: Usage = field(default_factory=Usage)
    journalled: bool = False
    reply: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SideFormed(_Event):
    """An answer that passages give, and how it stands by now.

    A side is told of again when what it stands at has changed, and last as a position of the answer: then
    `final` is true. `log_odds` is what speaks for it so far, where the strategy weighs by log-odds.
    """

    kind: ClassVar[str] = "side"
    answer: str
    verdict: PositionVerdict
    subject: str = ""
    passages: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    log_odds: float | None = None
    final: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Round(_Event):
    """A round is over; `converged` says that there will be no other."""

    kind: ClassVar[str] = "round"
    number: int
    converged: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Claimed(_Event):
    """A claim of the answer, with its citations and their verdicts."""

    kind: ClassVar[str] = "claim"
    claim: Claim


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered(_Event):
    """The answer, the same as `ask` returns."""

    kind: ClassVar[str] = "answer"
    answer: Answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost(_Event):
    """What the question has cost in all."""

    kind: ClassVar[str] = "cost"
    usage: Usage


Event = Started | Found | Read | SideFormed | Round | Claimed | Answered | Cost


def events_of_note(note: Mapping[str, Any]) -> Iterator[Event]:
    """Yield the events that a note of a trace stands for; none for what is of interest to the log alone."""
    kind = note["event"]
    if kind == "strategy":
        yield Started(
            question=note["question"], strategy=note["name"], model=note["model"], options=note["options"]
        )
    elif kind == "search":
        yield Found(
            query=note["query"],
            passages=tuple(note["hits"]),
            sources=tuple(note["sources"]),
            elsewhere=note["elsewhere"],
        )
    elif kind in ("complete", "choose"):
        yield _read(note)
    elif kind == "side":
        yield _side(note)
    elif kind == "sides":
        yield from map(_side, note["sides"])
    elif kind in ("round", "debate"):
        yield Round(number=note["round"], converged=note.get("converged", False))


def events_of_answer(answer: Answer) -> Iterator[Event]:
    """Yield the events that an answer ends with: its positions, its claims, itself, and its cost."""
    for position in answer.conflict.positions:
        yield SideFormed(
            answer=position.answer,
            verdict=position.verdict,
            subject=position.subject,
            passages=position.passages,
            sources=position.sources,
            final=True,
        )
    for claim in answer.claims:
        yield Claimed(claim=claim)
    yield Answered(answer=answer)
    yield Cost(usage=answer.usage)


def _read(note: Mapping[str, Any]) -> Read:
    reply = note.get("reply", "")
    return Read(
        role=note["role"],
        model=note["model"],
        call=note["call"],
        calls=note["calls"],
        passages=tuple(note.get("passages", ())),
        usage=Usage(
            calls=1,
            prompt_tokens=note["prompt_tokens"],
            cached_tokens=note["cached_tokens"],
            completion_tokens=note["completion_tokens"],
            seconds=note["seconds"],
        ),
        journalled=note["journalled"],
        reply=reply if isinstance(reply, str) else "",
    )


def _side(side: Mapping[str, Any]) -> SideFormed:
    return SideFormed(
        answer=side["answer"],
        verdict=side["verdict"],
        subject=side["subject"],
        passages=tuple(side["passages"]),
        sources=tuple(side["sources"]),
        log_odds=side["log_odds"],
    )
