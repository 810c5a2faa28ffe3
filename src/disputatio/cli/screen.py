"""Output for people: answers, positions and cost on stdout; progress and notices on stderr.

Progress is drawn on a terminal only. Text of documents and models is printed as plain text: their
control characters are removed and their markup is not interpreted.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from types import TracebackType
from typing import Any

import typer
from rich.console import Console
from rich.padding import Padding
from rich.panel import Panel
from rich.progress import BarColumn, DownloadColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from disputatio.attribution.citations import render
from disputatio.events import (
    Estimated,
    Event,
    Evidence,
    Found,
    IndexUnsearched,
    Read,
    Round,
    Sides,
    Stale,
    Started,
    Unchecked,
    Unestimated,
)
from disputatio.rendering.refusals import REMEDIES
from disputatio.rendering.wording import (
    SOURCE_COLUMNS,
    conflict_line,
    cost,
    count,
    describe_certificate,
    describe_unused_claims,
    find_origin,
    find_warning,
    headline,
    read_from,
    source_rows,
    sources_counted,
    sources_line,
)
from disputatio.serialisation import json_text
from disputatio.store.ingesting.ingest import IngestSummary
from disputatio.text import neutralise, one_line, shorten, without_headings
from disputatio.types import Answer, Position

_WIDTH, _WIDEST = 100, 120  # columns where there is no terminal, and the most on one
_LONGEST_QUESTION = 400  # characters of a question that are shown
_TICK = 1.0  # seconds between two looks at the time that is left
_EVERY = 10.0  # seconds between lines of progress where there is no terminal
_SENTENCES = 3  # shown on a terminal while a model reads
_MARKS = {"accepted": ("✓", "green"), "rejected": ("✗", "red"), "unresolved": ("?", "yellow")}


def say(message: str) -> None:
    typer.echo(one_line(message), err=True)


def complain(message: str) -> None:
    say(f"disputatio: {message}")


def show_answer(answer: Answer, *, as_json: bool) -> None:
    """Print the answer as one JSON object, or as text."""
    if as_json:
        write_json(answer.to_dict())
        return
    with buffer_output() as out:
        _show_head(out, answer)
        if answer.text:
            out.print(_body(answer))
        _show_quotes(out, answer)
        if answer.conflict.positions:
            out.print()
            out.print(Text("Positions: ", "bold") + plain(conflict_line(answer)))
            for position in answer.conflict.positions:
                _show_position(out, position)
        _show_each_source(out, answer)
        if answer.certificate:
            out.print()
            out.print(wrap_beside("Robustness: ", describe_certificate(answer.certificate)))
        out.print()
        if claims := describe_unused_claims(answer):
            out.print(wrap_beside("Not used: ", claims))
        if answer.passages:
            out.print(wrap_beside("Read: ", read_from(answer), "dim"))
        out.print(wrap_beside("Cost: ", cost(answer), "dim"))


def plain(text: str, style: str = "") -> Text:
    """Return text without control characters, and without interpreting markup."""
    return Text(neutralise(text), style)


_LEFT_OUT = {
    "code": "of code",
    "configuration": "of configuration",
    "excluded": "excluded by a pattern",
    "hidden": "hidden sheets, rows or columns",
}


def show_summary(summary: IngestSummary, index: str, *, as_json: bool) -> None:
    """Print the counts of an ingest on stdout, and the refused files on stderr."""
    if as_json:
        fields = asdict(summary)
        fields["refused"] = [
            {**refusal._asdict(), "remedy": REMEDIES[refusal.code]} for refusal in summary.refused
        ]
        write_json(fields)
        return
    removed = f", {summary.removed} removed" if summary.removed else ""
    write(
        f"{one_line(index)}: {summary.added} added, {summary.replaced} replaced{removed}, "
        f"{summary.unchanged} unchanged, {len(summary.refused)} refused; "
        f"{count(summary.passages, 'new passage')} in {summary.seconds:.1f} s\n"
    )
    if summary.left_out:
        parts = ", ".join(
            f"{number} {_LEFT_OUT.get(name, name)}" for name, number in summary.left_out.items()
        )
        write(f"left out: {parts}\n")
    if summary.hidden:
        write(f"left out: {count(summary.hidden, 'character')} that no reader of the documents sees\n")
    if summary.described:
        write(f"{count(summary.described, 'document')} with what people stated of them\n")
    for notice in summary.notices:
        typer.echo(one_line(notice), err=True)
    for code in dict.fromkeys(refusal.code for refusal in summary.refused):
        for refusal in summary.refused:
            if refusal.code == code:
                typer.echo(f"refused {one_line(refusal.path)}: {one_line(refusal.reason)}", err=True)
        typer.echo(f"  what to do: {REMEDIES[code]}", err=True)


def write_json(value: Any, *, indent: int | None = None) -> bool:
    """Print JSON; control characters and halves of characters are escaped. Returns as `write`."""
    ascii_only = (sys.stdout.encoding or "").lower().replace("-", "") != "utf8"
    return write(json_text(value, indent=indent, ascii_only=ascii_only) + "\n")


def write(text: str) -> bool:
    """Write text to stdout; characters that its encoding lacks are replaced.

    Returns False if the reader has closed the pipe: later output is dropped.
    """
    encoding = sys.stdout.encoding or "utf-8"
    try:
        typer.echo(text.encode(encoding, "replace").decode(encoding), nl=False)
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return False
    return True


@contextmanager
def buffer_output() -> Iterator[Console]:
    """Yield a console whose output goes to stdout at once at the end."""
    out = _console()
    with out.capture() as captured:
        yield out
    write(_without_trailing_blanks(captured.get()))


def write_row(label: str, text: str) -> bool:
    """Print a label, and text beside it that never runs under it. Returns as `write`."""
    out = _console()
    with out.capture() as captured:
        out.print(wrap_beside(Text(label, "dim"), text))
    return write(_without_trailing_blanks(captured.get()))


def _console() -> Console:
    """Return a console as wide as the terminal, or as COLUMNS says."""
    columns = os.environ.get("COLUMNS", "")
    out = Console(highlight=False, soft_wrap=False)
    if sys.stdout.isatty():
        out.width = min(out.width, _WIDEST)
    else:
        out.width = int(columns) if columns.isdecimal() and int(columns) > 0 else _WIDTH
    return out


def _without_trailing_blanks(text: str) -> str:
    return "\n".join(line.rstrip(" ") for line in text.split("\n"))


class ProgressBar:
    """A bar on stderr for something of known size; silent where stderr is no terminal."""

    def __init__(self, what: str, *, in_bytes: bool = False) -> None:
        size = [DownloadColumn()] if in_bytes else [TextColumn("{task.completed:.0f}/{task.total:.0f}")]
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            *size,
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
            disable=not sys.stderr.isatty(),
        )
        self._what = what
        self._task: TaskID | None = None

    def __enter__(self) -> ProgressBar:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def update(self, done: int, total: int, what: str) -> None:
        if self._task is None:
            self._task = self._progress.add_task(self._what, total=total)
        self._progress.update(self._task, completed=done, total=total or None, description=what)


class Waiting:
    """Progress of a question on stderr: moving lines on a terminal, else a line every ten seconds.

    Notices that a user must know (a model is fetched or converted) are printed everywhere. With `quiet`
    there is no progress without a terminal.
    """

    def __init__(self, *, quiet: bool = False) -> None:
        self._console = Console(stderr=True, highlight=False, soft_wrap=True)
        self._quiet = quiet
        self._doing, self._best, self._sides = "", "", ""
        self._ends = 0.0  # when the answer is expected
        self._over: threading.Event | None = None
        self._status = self._console.status("preparing") if sys.stderr.isatty() else None
        self._calls = 0
        self._played: set[str] = set()
        self._left_out: set[str] = set()

    def __enter__(self) -> Waiting:
        if self._status:
            self._status.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._over:
            self._over.set()
        if self._status:
            self._status.stop()

    @contextmanager
    def pause(self) -> Iterator[None]:
        """Stop the moving line within this context, so that something can be printed."""
        if self._status:
            self._status.stop()
        yield
        if self._status:
            self._status.start()

    def say(self, message: str) -> None:
        """Print a notice, unless it is empty."""
        if not message:
            return
        self._console.print(plain(one_line(message), "dim"))

    def show_download(self, done: int, total: int, what: str) -> None:
        """Show the progress of a download, in bytes."""
        if self._status:
            of = f" of {total / 1e6:,.0f}" if total else ""
            self._status.update(plain(f"{what}: {done / 1e6:,.0f}{of} MB"))

    def follow(self, event: Event) -> None:
        """Show an event of the trace; be its listener."""
        if (notice := self._notice(event)) is not None:
            self.say(notice)
        if isinstance(event, Read):
            self._calls += 1
            self._played.add(event.role)
        if isinstance(event, Read | Estimated) and event.remaining is not None:
            self._ends = time.monotonic() + event.remaining
        if isinstance(event, Started) and not self._quiet and self._over is None:
            self._over = threading.Event()
            threading.Thread(target=self._tell, args=(self._over,), daemon=True).start()
        elif isinstance(event, Found) and event.passages:
            self._doing = f"reading {count(len(event.passages), 'passage')}"
        elif isinstance(event, Evidence):
            self._best = "".join(f"\n  {_shorten(each.line())}" for each in event.excerpts[:_SENTENCES])
        elif isinstance(event, Estimated):
            self._doing = f"{event.role.replace('_', ' ')}: {count(event.calls, 'call')} begun"
        elif isinstance(event, Sides):
            self._sides = event.line()
        elif isinstance(event, Round):
            self._doing = f"round {event.number} is over, {count(self._calls, 'call')} so far"
        elif isinstance(event, Read):
            title = f" {_shorten(event.titles[0], 60)}" if event.titles else ""
            cost = replace(event, remaining=None).so_far()
            self._doing = f"{event.role.replace('_', ' ')}{title}: {event.done} of {event.calls}, {cost}"
        else:
            return
        self._redraw()

    def _redraw(self) -> None:
        if self._status:
            sides = f"\n  so far: {_shorten(self._sides)}" if self._sides else ""
            self._status.update(plain(self._doing + self._left() + sides + self._best))

    def _left(self) -> str:
        left = self._ends - time.monotonic()
        return f", about {left:.0f} s left" if left >= 1 else ""

    def _tell(self, over: threading.Event) -> None:
        """Show the time that is left every second, or print a line of progress every ten."""
        while not over.wait(_TICK if self._status else _EVERY):
            if self._status:
                self._redraw()
                continue
            sides = f"; so far: {self._sides}" if self._sides else ""
            self.say((self._doing or "searching") + self._left() + sides)

    def _notice(self, event: Event) -> str | None:
        """Return the notice for the user on an event; None for most events."""
        if isinstance(event, Unchecked):
            return f"the citations are not judged: {event.reason}"
        if isinstance(event, Unestimated):
            return _describe_unestimated(event)
        if isinstance(event, IndexUnsearched) and event.index not in self._left_out:
            self._left_out.add(event.index)
            return f"not searched: {event.index}: {event.reason}"
        if isinstance(event, Stale):
            names = ", ".join(event.sources)
            return f"passages have changed since reliability was estimated, of {names}: disputatio calibrate"
        return None

    def review(self, roles: Iterable[str]) -> None:
        """Print the roles that got a model and no call, such as a misspelt one."""
        for role in sorted(set(roles) - self._played):
            played = ", ".join(sorted(self._played)) or "none"
            self.say(f"--role {role}: no model call has this role; the roles called were {played}")


def _shorten(text: str, most: int = 0) -> str:
    """Return a text on one line of the terminal, or of at most so many characters."""
    return shorten(one_line(text), most or min(_console().width, _WIDEST) - 4)


def _describe_unestimated(event: Unestimated) -> str:
    who = "no source has" if event.prior is None else f"{count(len(event.sources), 'source')} without"
    return f"{who} an estimate of reliability: {event.reason}; estimate with: disputatio calibrate"


def _show_head(out: Console, answer: Answer) -> None:
    """Print the question, and the answers or the reason for none, in a box."""
    head = headline(answer)
    question = _shorten(answer.question, _LONGEST_QUESTION)
    title = plain(question) if len(question) <= out.width - 8 else None
    if title is None:
        out.print(plain(question))
    out.print(Panel(plain(head, "bold"), title=title, title_align="left", expand=False))


def _body(answer: Answer) -> Text:
    """Return the answer's text, with a warning after each claim that its quotes do not support."""
    claims = [
        plain(render([claim])) + Text(f" ({find_warning(claim)})" if find_warning(claim) else "", "yellow")
        for claim in answer.claims
    ]
    return Text(" ").join(claims) if claims else plain(answer.text)


def _show_quotes(out: Console, answer: Answer) -> None:
    """Print every quote once, with its source and page, and the address of its passage below."""
    citations = {citation.n: citation for claim in answer.claims for citation in claim.citations}
    for n, citation in citations.items():
        origin, address = find_origin(citation, answer.passages)
        verdict = "" if citation.verdict in ("supported", "unchecked") else f"  ({citation.verdict})"
        label = f"  [{n}] "
        out.print(wrap_beside(label, f"{origin}: “{without_headings(citation.quote)[1]}”{verdict}"))
        if address:
            out.print(wrap_beside(" " * len(label), address, "dim"))


def _show_position(out: Console, position: Position) -> None:
    """Print the verdict and the answer, with its sources and the reason below."""
    mark, style = _MARKS[position.verdict]
    about = f" — {one_line(position.subject)}" if position.subject else ""
    line = Text.assemble((one_line(position.answer), "bold"), about)
    verdict = Text(f"{mark} {position.verdict}  ", style)
    out.print(wrap_beside(verdict, line))
    if sources := sources_line(position):
        out.print(Padding(wrap_beside("by:  ", sources), (0, 0, 0, 4)))
    out.print(Padding(wrap_beside("why: ", position.reason), (0, 0, 0, 4)))


def _show_each_source(out: Console, answer: Answer) -> None:
    """Print what each source answers as a table; nothing where that was not asked for."""
    if not answer.each_source:
        return
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    for name, share in zip(SOURCE_COLUMNS, (3, 2, 2, 5), strict=True):
        table.add_column(name, overflow="fold", ratio=share)
    for cells in source_rows(answer):
        table.add_row(*map(plain, cells))
    out.print()
    out.print(Text("Each source: ", "bold") + plain(sources_counted(answer)))
    out.print(table)


def wrap_beside(label: str | Text, text: str | Text, style: str = "") -> Table:
    """Return a label, and text beside it that never runs under it."""
    head = Text(label, style) if isinstance(label, str) else label
    grid = Table.grid(padding=0)
    grid.add_column(no_wrap=True, width=head.cell_len)
    grid.add_column(overflow="fold")
    grid.add_row(head, plain(one_line(text), style) if isinstance(text, str) else text)
    return grid
