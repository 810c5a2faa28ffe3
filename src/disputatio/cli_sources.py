"""`disputatio calibrate` and `disputatio sources`: who is to be believed, and what that rests on."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from disputatio.errors import InputError

if TYPE_CHECKING:
    from disputatio.calibration.calibrate import Plan, Report
    from disputatio.protocols import Retriever
    from disputatio.store.index import Index
    from disputatio.types import Answer, Source

_Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
_Index = Annotated[Path | None, typer.Option(help="Folder of the index.", metavar="DIR")]

_SECONDS = 3.0  # what a call is taken to last where none has been timed


def calibrate(
    index: _Index = None,
    questions: Annotated[
        str, typer.Option(help="How many to draw from the passages, or a file of them.", metavar="N|FILE")
    ] = "40",
    anchors: Annotated[
        Path | None, typer.Option(help="Verified questions: JSON lines with question and answer.")
    ] = None,
    owners: Annotated[
        Path | None, typer.Option(help="Rows of source and owner (.jsonl, .csv): an owner has one vote.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of drawing passages.")] = 0,
    half_life: Annotated[
        float | None, typer.Option(help="Days after which what was found counts half.", min=0.1)
    ] = None,
    anew: Annotated[bool, typer.Option("--anew", help="Forget what was found before.")] = False,
    model: Annotated[str | None, typer.Option(help="local:NAME or openai:NAME.")] = None,
    role: Annotated[list[str] | None, typer.Option(help="ROLE=MODEL: another model for a role.")] = None,
    journal: Annotated[str | None, typer.Option(help="File of the calls made, or none.")] = None,
    replay: Annotated[bool, typer.Option("--replay", help="Answer from the journal alone.")] = False,
    as_json: _Json = False,
) -> None:
    """Estimate how reliable each source is, without labels: by cross-checking what they say.

    Questions of fact are drawn from the sources' own passages and put to every source. A run that was
    stopped goes on where it was. The exit code is 1 when nothing could be cross-checked.
    """
    from disputatio.calibration import given
    from disputatio.calibration.calibrate import Listener
    from disputatio.calibration.calibrate import calibrate as calibrate_index
    from disputatio.cli import read_pairs
    from disputatio.cli_screen import Meter, Waiting
    from disputatio.config import build_kit, read_settings

    settings = read_settings(
        model=model,
        role=read_pairs("--role", role or [], "ROLE=MODEL") or None,
        index=index,
        journal=journal,
        replay=replay or None,
    )
    count, asked = _questions(questions)
    verified = given.read_anchors(anchors) if anchors else []
    named = given.read_owners(owners) if owners else {}
    with Waiting() as waiting:
        opened = _open(settings, waiting)
        kit = build_kit(settings, say=waiting.say, progress=waiting.fetched)
    with Meter("asking") as meter:

        def progress(done: int, total: int, left: float | None) -> None:
            to_go = f", {_minutes(left)} to go" if left else ""
            meter.told(done, total, f"asking{to_go}")

        report = calibrate_index(
            opened,
            kit,
            day=_today(),
            count=count,
            given=asked,
            anchors=verified,
            owners=named,
            half_life=half_life,
            seed=seed,
            anew=anew,
            listener=Listener(planned=lambda plan: _say(_planned(plan)), progress=progress),
        )
    for notice in report.notices:
        _say(notice)
    _show_report(report, as_json=as_json)
    raise typer.Exit(0 if report.cross_checked else 1)


def sources(
    index: _Index = None,
    remove: Annotated[
        list[str] | None,
        typer.Option(help="Take back all that a source ever said in calibrations; may be repeated."),
    ] = None,
    as_json: _Json = False,
) -> None:
    """Every source with its owner, how reliable it was found to be, and what that rests on."""
    from disputatio.cli_screen import Waiting, write_json
    from disputatio.config import read_settings

    settings = read_settings(index=index, journal="none", replay=False)
    with Waiting() as waiting:
        opened = _open(settings, waiting, searching=False)
    if remove:
        from disputatio.calibration.learn import remove as remove_sources

        remove_sources(opened, remove, day=_today())
    found = opened.estimates()
    estimated = bool(found)
    if not found:
        from disputatio.types import Source

        found = {one.name: Source(name=one.name, owner=one.owner) for one in opened.sources() if one.name}
    if as_json:
        write_json([source_fields(found[name]) for name in sorted(found)])
    else:
        _show_sources(found)
    if not estimated:
        _say(f"nothing is estimated yet; do it with: disputatio calibrate --index {settings.index}")
    elif stale := sorted(name for name, one in found.items() if one.stale):
        some = ", ".join(stale[:5]) + (f" and {len(stale) - 5} more" if len(stale) > 5 else "")
        _say(f"changed since they were estimated: {some}; estimate again with: disputatio calibrate")


def learn_from(searched: Retriever | None, answer: Answer) -> None:
    """Let an answer count in the estimates of the index it came from, where it settled a conflict."""
    from disputatio.calibration.learn import learn
    from disputatio.store.index import Index

    if isinstance(searched, Index) and learn(searched, answer, day=_today()):
        _say(f"recorded in the estimates of {searched.path}")
    else:
        _say("nothing was settled between sources that could be learned from")


def source_fields(one: Source) -> dict[str, Any]:
    """A source as `--json` prints it."""
    from dataclasses import asdict

    told = asdict(one)
    return {name: value if value != "" else None for name, value in told.items()}


def _questions(word: str) -> tuple[int, list[Any]]:
    """`--questions`: how many, or those of a file."""
    from disputatio.calibration.calibrate import DEFAULT_QUESTIONS
    from disputatio.calibration.given import read_questions

    if word.removeprefix("-").isdecimal():
        if not 0 <= int(word) <= 100_000:
            raise InputError(f"--questions {word}: choose from 0 to 100000, or a file")
        return int(word), []
    return DEFAULT_QUESTIONS, read_questions(Path(word))


def _open(settings: Any, waiting: Any, *, searching: bool = True) -> Index:
    from disputatio.config import embedder_for
    from disputatio.store.index import Index

    part = None
    if searching and settings.index.exists():
        part = embedder_for(settings, settings.index, say=waiting.say, progress=waiting.fetched)
    return Index.open(settings.index, embedder=part, create=False)


def _planned(plan: Plan) -> str:
    """What is going to be done, in one sentence."""
    on_record = f", {plan.done} on record" if plan.done else ""
    if not plan.questions:
        return f"nothing is left to ask{on_record}"
    write = f", {plan.write} of them to be written first" if plan.write else ""
    if plan.seconds is not None:
        time = f"about {_minutes(plan.seconds)} by what calls took before"
    else:
        time = f"about {_minutes(plan.calls * _SECONDS)} if one takes {_SECONDS:g} s"
    asked = f"{plan.questions} question{'s' * (plan.questions != 1)} for {plan.sources} sources"
    return f"{asked}{write}{on_record}: about {plan.calls:,} calls, {time}"


def _minutes(seconds: float) -> str:
    """
    >>> _minutes(40), _minutes(200), _minutes(9000)
    ('40 s', '3 min', '2.5 h')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _show_report(report: Report, *, as_json: bool) -> None:
    from dataclasses import asdict

    from disputatio.cli_screen import write, write_json

    if as_json:
        told = asdict(report)
        told["sources"] = [source_fields(one) for _, one in sorted(report.sources.items())]
        write_json(told)
        return
    if report.sources:
        _show_sources(report.sources)
    anchors = f" ({report.anchors} verified)" if report.anchors else ""
    write(
        f"{report.questions} questions on record{anchors}, {report.cross_checked} of them cross-checked; "
        f"{report.calls:,} calls in {report.seconds:.1f} s\n"
    )


def _show_sources(found: Mapping[str, Source]) -> None:
    """The table, the most reliable first."""
    from rich.table import Table

    from disputatio.cli_screen import plain, printing, write
    from disputatio.evidence.groups import wording

    columns = ["source", "owner", "reliability", "95 % interval", "answered", "speaks with", "estimated"]
    groups: dict[str, list[str]] = {}
    for name, one in sorted(found.items()):
        groups.setdefault(one.group or f"\0{name}", []).append(name)
    table = Table(box=None, pad_edge=False, header_style="bold")
    shown = [name for name in columns if name != "owner" or any(one.owner for one in found.values())]
    shown = [name for name in shown if name != "speaks with" or len(groups) < len(found)]
    for name in shown:
        figures = name in ("reliability", "answered")
        table.add_column(name, overflow="fold", justify="right" if figures else "left")
    order = sorted(found.values(), key=lambda one: (-(one.reliability or 0), -one.answered, one.name))
    for one in order:
        others = [name for name in groups.get(one.group, []) if name != one.name]
        cells = {
            "source": one.name,
            "owner": one.owner,
            "reliability": "unknown" if one.reliability is None else f"{one.reliability:.2f}",
            "95 % interval": ""
            if one.low is None or one.high is None
            else f"{one.low:.2f} to {one.high:.2f}",
            "answered": f"{one.answered:.4g} of {one.questions}" if one.questions else "",
            "speaks with": ", ".join(others[:2])
            + (f" and {len(others) - 2} more" if len(others) > 2 else ""),
            "estimated": one.updated + (" (stale)" if one.stale else ""),
        }
        table.add_row(*(plain(cells[name]) for name in shown))
    with printing() as out:
        out.print(table)
    if found:
        numbers = [number for number, names in enumerate(groups.values()) for _ in names]
        write(f"{len(found)} sources: {wording(numbers)}\n")


def _say(message: str) -> None:
    from disputatio.text import one_line

    typer.echo(one_line(message), err=True)


def _today() -> str:
    from datetime import datetime

    return datetime.now().astimezone().date().isoformat()
