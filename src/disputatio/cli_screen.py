"""What a person sees: answers, positions and cost on stdout; what is happening on stderr.

Progress is drawn on a terminal only. Text of documents and models is printed as plain text: their
control characters are removed and their markup means nothing.
"""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Any

import typer
from rich.console import Console
from rich.panel import Panel
from rich.progress import BarColumn, DownloadColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from disputatio.pipeline import Strategy, strategy_options
from disputatio.store.index import IngestSummary
from disputatio.text import neutralise
from disputatio.types import Answer, Claim, Usage

_MARKS = {"accepted": ("✓", "green"), "rejected": ("✗", "red"), "unresolved": ("?", "yellow")}
_WORDS = {
    "none": "the passages agree",
    "ambiguity": "several answers are right: they are about different things",
    "misinformation": "some passages contradict what was accepted",
    "outdated": "some passages are older than what was accepted",
    "opinion": "the passages give opinions",
    "unresolved": "the passages disagree, and nothing settles it",
}
_WHY = {
    "no_evidence": "nothing that was read answers the question",
    "conflict": "the passages contradict each other and nothing settles it",
    "fault": "a model or the network failed",
}


def show_answer(answer: Answer, *, as_json: bool, console: Console | None = None) -> None:
    """The answer as one JSON object, or as a person reads it."""
    if as_json:
        typer.echo(json.dumps(asdict(answer), ensure_ascii=False))
        return
    out = console or Console(highlight=False)
    head = "; ".join(answer.answers) if answer.answers else f"No answer: {_WHY[answer.abstained or 'fault']}"
    out.print(Panel(plain(head, "bold"), title=plain(answer.question), title_align="left", expand=False))
    if answer.text:
        out.print(plain(answer.text))
    _show_quotes(out, answer.claims)
    if answer.conflict.positions:
        out.print()
        out.print(Text("Positions: ", "bold") + plain(_WORDS[answer.conflict.kind]))
        out.print(_positions(answer))
    out.print(plain(cost(answer), "dim"))


def plain(text: str, style: str = "") -> Text:
    """Text as it is: no control characters, no markup."""
    return Text(neutralise(text), style)


def cost(answer: Answer) -> str:
    """One line: the strategy, the model, the calls, the tokens and the time they took."""
    usage: Usage = answer.usage
    spared = f" ({usage.cached_tokens:,} from the prefix cache)" if usage.cached_tokens else ""
    return (
        f"{answer.strategy} · {answer.model} · {usage.calls} calls"
        f" · {usage.prompt_tokens:,} tokens read{spared}"
        f" · {usage.completion_tokens:,} written · {usage.seconds:.1f} s of the model's time"
    )


def show_summary(summary: IngestSummary, index: Path, *, as_json: bool) -> None:
    """What an ingest did: counts on stdout, what was refused on stderr."""
    if as_json:
        found = asdict(summary)
        found["refused"] = [{"path": path, "reason": reason} for path, reason in summary.refused]
        typer.echo(json.dumps(found, ensure_ascii=False))
        return
    typer.echo(
        f"{index}: {summary.added} added, {summary.replaced} replaced, {summary.unchanged} unchanged, "
        f"{len(summary.refused)} refused; {summary.passages} new passages in {summary.seconds:.1f} s"
    )
    for path, reason in summary.refused:
        typer.echo(f"refused {path}: {reason}", err=True)


def show_strategies(known: Mapping[str, Strategy], *, as_json: bool) -> None:
    """Each strategy with its paper and its options."""
    rows: list[dict[str, Any]] = []
    for name, strategy in known.items():
        doc = (inspect.getmodule(strategy).__doc__ or "").strip()
        summary, _, rest = doc.partition("\n\n")
        options = {
            one.name: {"default": one.default, "type": str(one.annotation)}
            for one in strategy_options(strategy).values()
        }
        paper = " ".join(rest.split("\n\n")[0].split()).split(" Differences")[0]
        rows.append({"name": name, "summary": " ".join(summary.split()), "paper": paper, "options": options})
    if as_json:
        typer.echo(json.dumps(rows, indent=2))
        return
    out = Console(highlight=False)
    for row in rows:
        out.print(Text(row["name"], "bold") + plain(f"  {row['summary']}"))
        out.print(plain(f"    {row['paper']}", "dim"))
        for option, about in row["options"].items():
            out.print(plain(f"    --set {option}={about['default']}   {about['type']}"))


class Meter:
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

    def __enter__(self) -> Meter:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def told(self, done: int, total: int, what: str) -> None:
        """Hear how far it is."""
        if self._task is None:
            self._task = self._progress.add_task(self._what, total=total)
        self._progress.update(self._task, completed=done, total=total or None, description=what)


class Waiting:
    """What is happening while a question is answered, on stderr: a moving line on a terminal.

    Notices that a user must know (a model is fetched or converted) are printed everywhere.
    """

    def __init__(self) -> None:
        self._console = Console(stderr=True, highlight=False)
        self._status = self._console.status("preparing") if sys.stderr.isatty() else None
        self._calls = 0

    def __enter__(self) -> Waiting:
        if self._status:
            self._status.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._status:
            self._status.stop()

    def say(self, message: str) -> None:
        """Print a notice."""
        self._console.print(plain(message, "dim"))

    def heard(self, event: Mapping[str, Any]) -> None:
        """Follow the trace."""
        if not self._status:
            return
        self._calls += event["event"] in ("complete", "choose")
        if event["event"] == "search":
            self._status.update(f"reading {len(event['hits'])} passages")
        elif event["event"] == "round":
            self._status.update(f"round {event['round']} is over, {self._calls} calls so far")
        elif event["event"] in ("complete", "choose"):
            self._status.update(f"{event['role']}: {self._calls} calls so far")


def _show_quotes(out: Console, claims: tuple[Claim, ...]) -> None:
    shown: set[int] = set()
    for claim in claims:
        for one in claim.citations:
            if one.n in shown:
                continue
            shown.add(one.n)
            verdict = "" if one.verdict in ("supported", "unchecked") else f"  ({one.verdict})"
            quote = " ".join(neutralise(one.quote).split())
            out.print(plain(f"  [{one.n}] {one.source or one.passage}: “{quote}”{verdict}"))


def _positions(answer: Answer) -> Table:
    table = Table(show_lines=False, pad_edge=False, box=None, header_style="bold")
    for column in ("", "answer", "about", "sources", "why"):
        table.add_column(column, overflow="fold")
    for one in answer.conflict.positions:
        mark, style = _MARKS[one.verdict]
        sources = ", ".join(one.sources) or f"{len(one.passages)} passages"
        row = (one.answer, one.subject, sources, one.reason)
        table.add_row(Text(mark, style), *(plain(cell) for cell in row))
    return table
