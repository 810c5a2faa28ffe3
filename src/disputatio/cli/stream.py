"""`disputatio ask --stream`: one line for each event of a question, on stdout."""

from __future__ import annotations

import json
from collections.abc import Sequence

from disputatio.api.request import Prepared
from disputatio.api.streaming import Stream
from disputatio.cli.screen import Waiting, write_json, write_row
from disputatio.events import (
    Estimated,
    Event,
    Evidence,
    Found,
    Read,
    Round,
    SideFormed,
    Sides,
    SideSoFar,
    Started,
)
from disputatio.kit import TRAINED_READER
from disputatio.rendering.wording import count
from disputatio.text import is_unknown, one_line, shorten
from disputatio.trace import Trace
from disputatio.types import Answer

_LABEL = 12  # columns
_LONGEST_READING = 200  # characters


def follow(
    question: str, prepared: Prepared, *, trace: Trace, waiting: Waiting, as_json: bool
) -> Answer | None:
    """Answer a question and print its events as they happen; None if the reader has closed the pipe.

    As JSON each event is one line, with its kind as `event`. As text the events that the answer repeats are
    left out.
    """
    lines = _Lines()
    with Stream(question, prepared, trace=trace) as events:
        for event in events:
            with waiting.pause():
                if not (_print_json(event) if as_json else lines.show(event)):
                    return None
        return events.answer


def _print_json(event: Event) -> bool:
    fields = event.to_dict()
    return write_json({"event": fields.pop("kind"), **fields})


class _Lines:
    """Events as a person reads them; passages are named by their sources."""

    def __init__(self) -> None:
        self._sources: dict[str, str] = {}
        self._sides: tuple[SideSoFar, ...] = ()

    def show(self, event: Event) -> bool:
        """Print the line of an event; False if the reader has closed the pipe."""
        if isinstance(event, Evidence):
            return all(write_row("evidence".ljust(_LABEL), each.line()) for each in event.excerpts)
        line = self._line(event)
        return line is None or write_row(line[0].ljust(_LABEL), line[1])

    def _line(self, event: Event) -> tuple[str, str] | None:
        """Return a label and a text; None for what the answer repeats."""
        if isinstance(event, Started):
            return "strategy", f"{event.strategy} · {event.model}"
        if isinstance(event, Found):
            self._sources |= dict(zip(event.passages, event.sources, strict=False))
            elsewhere = "elsewhere: " if event.elsewhere else ""
            return "found", elsewhere + _passages(event.passages, event.sources)
        if isinstance(event, Estimated):
            return "estimate", f"about {event.remaining:.0f} s left"
        if isinstance(event, Read):
            return self._call(event)
        if isinstance(event, Sides) and event.sides != self._sides:
            self._sides = event.sides
            return "so far", event.line()
        if isinstance(event, SideFormed) and not event.final:
            subject = f" — {event.subject}" if event.subject else ""
            weight = "" if event.log_odds is None else f", log-odds {event.log_odds:+.1f}"
            by = _passages(event.passages, event.sources)
            return "side", f"{event.answer}{subject} ({by}{weight})"
        if isinstance(event, Round):
            return f"round {event.number}", "over, and the last" if event.converged else "over"
        return None

    def _call(self, event: Read) -> tuple[str, str]:
        """Return a label and a text for a finished call: the sources read, or the role, and the reply."""
        number = f"{event.done}/{event.calls}"
        reading = _summarise_reply(event.reply)
        reading = (f": {reading}" if reading else "") + f" · {event.so_far()}"
        if not event.passages:
            return "call", f"{event.role} {number}{reading}"
        sources = dict.fromkeys(self._sources.get(name) or name for name in event.passages)
        role = "" if event.role in ("reader", TRAINED_READER) else f" ({event.role})"
        return f"read {number}", f"{', '.join(sources)}{role}{reading}"


def _summarise_reply(reply: str) -> str:
    """Return the answer of a JSON reply, else the beginning of the reply."""
    try:
        fields = json.loads(reply)
    except (ValueError, RecursionError):
        fields = None
    answer = fields.get("answer", fields.get("answers")) if isinstance(fields, dict) else None
    answers = [answer] if isinstance(answer, str) else answer
    if not isinstance(answers, list) or not all(isinstance(answer, str) for answer in answers):
        answers = [reply]
    elif all(is_unknown(answer) for answer in answers):
        return "no answer"
    return shorten(one_line("; ".join(answers)), _LONGEST_READING)


def _passages(passages: Sequence[str], sources: Sequence[str]) -> str:
    if not passages:
        return "nothing"
    names = ", ".join(name for name in dict.fromkeys(sources) if name)
    return count(len(passages), "passage") + (f" of {names}" if names else "")
