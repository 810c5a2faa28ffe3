"""`disputatio calibrate` and `disputatio sources`: the reliability of sources, and its grounds."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from disputatio.authority import STRENGTH, TIERS
from disputatio.cli.opening import open_for_search, open_named
from disputatio.cli.options import Indexes, IndexFolder, Journal, Json, Model, Replay, Roles, read_roles
from disputatio.cli.screen import ProgressBar, Waiting, buffer_output, plain, say, write, write_json
from disputatio.errors import InputError
from disputatio.rendering.wording import count
from disputatio.types import Source
from disputatio.versions.dates import today

if TYPE_CHECKING:
    from disputatio.calibration.calibrate import CalibrationPlan, Report
    from disputatio.protocols import Retriever
    from disputatio.reliability.informative import Bound
    from disputatio.types import Answer

_SECONDS = 3.0  # what a call is assumed to take where none has been timed
_NAMED = 5  # sources that a message names
_SHOWN = 20  # sources of a table that are shown


def calibrate(
    index: IndexFolder = None,
    questions: Annotated[
        str,
        typer.Option(metavar="N|FILE", help="How many questions to draw from passages, or a file of them."),
    ] = "40",
    anchors: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Questions with known answers: JSON lines of question and answer."),
    ] = None,
    owners: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Rows of source and owner (.jsonl, .csv); an owner has one vote."),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Random seed for sampling passages.")] = 0,
    half_life: Annotated[
        float | None, typer.Option(metavar="DAYS", help="Age at which older results count half.", min=0.1)
    ] = None,
    estimator: Annotated[
        str | None,
        typer.Option(
            metavar="paper|ours",
            help="RA-RAG's equations 3 and 4, or ours, with owners and copies.  [default: the last, or ours]",
        ),
    ] = None,
    anew: Annotated[bool, typer.Option("--anew", help="Discard earlier results.")] = False,
    answers: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="A table of question, source, answer and perhaps truth (.parquet, .csv, .jsonl): "
            "estimate from it, ask nothing.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="With --answers: write a row for each source (.parquet, .csv)."),
    ] = None,
    model: Model = None,
    role: Roles = None,
    journal: Journal = None,
    replay: Replay = False,
    as_json: Json = False,
) -> None:
    """Estimate how reliable each source is, without labels.

    Questions of fact are drawn from the passages of the sources, every source answers them, and the answers
    are compared. It prints the expected calls first. A run that was stopped continues where it was. The
    exit code is 1 when no question could be cross-checked. With `--answers` the answers are those of a table,
    of any size, and the estimates are stored in the index if one is named.
    """
    if answers is not None:
        raise typer.Exit(_from_table(answers, out, index, estimator, as_json=as_json))
    if out is not None:
        raise InputError("--out goes with --answers")
    from disputatio.calibration import inputs
    from disputatio.calibration.calibrate import Listener
    from disputatio.calibration.calibrate import calibrate as calibrate_index
    from disputatio.config import read_settings
    from disputatio.parts import build_kit
    from disputatio.store.addresses import require_one

    settings = read_settings(
        model=model, role=read_roles(role), index=index, journal=journal, replay=replay or None
    )
    require_one(settings.index)
    count, own_questions = _questions(questions)
    verified = inputs.read_anchors(anchors) if anchors else []
    owner_of = inputs.read_owners(owners) if owners else {}
    with Waiting() as waiting:
        opened = open_for_search(settings, waiting)
        kit = build_kit(settings, say=waiting.say, progress=waiting.show_download)
    with ProgressBar("asking") as meter:

        def progress(done: int, total: int, left: float | None) -> None:
            to_go = f", {_minutes(left)} to go" if left else ""
            meter.update(done, total, f"asking{to_go}")

        report = calibrate_index(
            opened,
            kit,
            day=today().isoformat(),
            count=count,
            questions=own_questions,
            anchors=verified,
            owners=owner_of,
            half_life=half_life,
            estimator=estimator,
            seed=seed,
            anew=anew,
            listener=Listener(planned=lambda plan: say(_describe_plan(plan)), progress=progress),
        )
    for notice in report.notices:
        say(notice)
    _show_report(report, as_json=as_json)
    raise typer.Exit(0 if report.cross_checked else 1)


def _from_table(answers: Path, out: Path | None, index: Any, estimator: str | None, *, as_json: bool) -> int:
    """Estimate from a table of answers; returns the exit code."""
    from disputatio.calibration import answer_tables
    from disputatio.reliability.answers import Answers
    from disputatio.store.calibration_log import estimator_named

    try:
        method = estimator_named(estimator or "ours")
    except ValueError as error:
        raise InputError(str(error)) from error
    if out is not None:
        answer_tables.check_out(out)
    opened = open_named(index) if index is not None else None
    begun = time.perf_counter()
    collected = Answers()
    answer_tables.read_answers(answers, collected)
    figures = collected.figures(method)
    questions = len(collected.questions)
    if out is not None:
        answer_tables.write_figures(figures, out)
    best = sorted(range(len(figures.names)), key=lambda at: (-figures.reliability[at], figures.names[at]))
    if opened is not None:
        known = {source.name for source in opened.sources()}
        estimated = answer_tables.sources_of(figures, questions, today().isoformat())
        opened.set_estimates({name: source for name, source in estimated.items() if name in known})
    summary = {
        "answers": len(collected),
        "questions": questions,
        "sources": len(figures.names),
        "cross_checked": int(figures.checked.sum()),
        "tied": int((figures.group != range(len(figures.names))).sum()),
        "rounds": figures.rounds,
        "converged": figures.converged,
        "seconds": round(time.perf_counter() - begun, 2),
        "out": None if out is None else str(out),
    }
    if as_json:
        write_json(summary)
    else:
        shown = answer_tables.sources_of(figures, questions, today().isoformat())
        chosen = [figures.names[at] for at in best if figures.names[at] in shown][:_SHOWN]
        _show_sources({name: shown[name] for name in chosen})
        more = len(figures.names) - len(chosen)
        if more > 0:
            say(f"{more} more sources{'' if out else ': write them with --out FILE'}")
    return 0 if summary["cross_checked"] else 1


def sources(
    index: Indexes = None,
    remove: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="Discard all answers of a source in calibrations; may be repeated."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """List the sources, and how reliable each was estimated to be."""
    from disputatio.reliability.informative import bound_of
    from disputatio.store.addresses import mask_secrets, require_one

    opened = open_named(index)
    if remove:
        from disputatio.calibration.learn import remove as remove_sources

        require_one(opened.path)

        remove_sources(opened, remove, day=today().isoformat())
    estimates = opened.estimates()
    estimated = bool(estimates)
    if not estimates:
        counted = (source for source in opened.sources() if source.name)
        estimates = {source.name: Source(name=source.name, owner=source.owner) for source in counted}
    tiers = opened.tiers()
    if as_json:
        rows = all_fields(estimates)
        write_json([{**row, "declared": tiers.get(row["name"], {})} for row in rows])
    else:
        _show_sources(estimates, tiers)
        if estimated:
            write(describe_bound(bound_of(estimates)))
    stale = sorted(name for name, source in estimates.items() if source.stale)
    for failed in opened.info().unsearched:
        say(f"not read: {failed.index}: {failed.reason}")
    if not estimated:
        first = mask_secrets(opened.paths[0])
        say(f"nothing is estimated yet; estimate with: disputatio calibrate --index {first}")
    elif stale:
        say(
            f"changed since they were estimated: {_names(stale, _NAMED)}; estimate with: disputatio calibrate"
        )


def learn_from(searched: Retriever | None, answer: Answer) -> None:
    """Update the estimates of an index by an answer that settled a conflict."""
    from disputatio.calibration.learn import learn
    from disputatio.store.contract import Index

    if isinstance(searched, Index) and learn(searched, answer, day=today().isoformat()):
        say(f"recorded in the estimates of {searched.shown}")
    else:
        say("no conflict between sources was settled: there is nothing to learn")


def all_fields(sources: Mapping[str, Source]) -> list[dict[str, Any]]:
    """Convert sources to the fields of `--json`, with how many of their owners have to be honest."""
    from disputatio.reliability.informative import bound_of

    limits = bound_of(sources)
    shared = {"owners": limits.owners, "honest_owners_needed": limits.honest}
    return [source_fields(source) | shared for _, source in sorted(sources.items())]


def describe_bound(limits: Bound) -> str:
    """Describe what estimates show, and what they take for granted, in two lines."""
    least = f"(at least {limits.questions} compared answers each)"
    bound = f"{limits.told} of {limits.sources} told from chance {least}"
    owners = f"at least {limits.honest} of {limits.owners} owners are honest"
    return f"{bound}\ntaken for granted: {owners}; --anchors checks it\n"


def source_fields(source: Source) -> dict[str, Any]:
    """Convert a source to the fields of `--json`; with an estimate, also what it takes to be sure of it."""
    from disputatio.reliability.informative import is_told, questions_needed

    fields = {name: value if value != "" else None for name, value in asdict(source).items()}
    if source.reliability is None:
        return fields
    needed = questions_needed(source.agreed / source.answered if source.answered else 1.0)
    return {**fields, "told_from_chance": is_told(source), "questions_needed": needed}


def _questions(option: str) -> tuple[int, list[Any]]:
    from disputatio.calibration.calibrate import DEFAULT_QUESTIONS
    from disputatio.calibration.inputs import read_questions

    if option.removeprefix("-").isdecimal():
        if not 0 <= int(option) <= 100_000:
            raise InputError(f"--questions {option}: choose from 0 to 100000, or a file")
        return int(option), []
    return DEFAULT_QUESTIONS, read_questions(Path(option))


def _describe_plan(plan: CalibrationPlan) -> str:
    on_record = f", {plan.done} on record" if plan.done else ""
    if not plan.questions:
        return f"no question is left to ask{on_record}"
    write = f", {plan.write} of them to be written first" if plan.write else ""
    if plan.seconds is not None:
        time = f"about {_minutes(plan.seconds)} at the speed of earlier calls"
    else:
        time = f"about {_minutes(plan.calls * _SECONDS)} at {_SECONDS:g} s a call"
    questions = f"{count(plan.questions, 'question')} for {count(plan.sources, 'source')}"
    return f"{questions}{write}{on_record}: about {count(plan.calls, 'call')}, {time}"


def _minutes(seconds: float) -> str:
    """
    >>> _minutes(40), _minutes(200), _minutes(9000)
    ('40 s', '3 min', '2.5 h')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _show_report(report: Report, *, as_json: bool) -> None:
    if as_json:
        fields = asdict(report)
        fields["sources"] = all_fields(report.sources)
        write_json(fields)
        return
    if report.sources:
        _show_sources(report.sources)
    questions = count(report.questions, "question")
    anchors = f" ({report.anchors} verified)" if report.anchors else ""
    calls = count(report.calls, "call")
    checked = f"{report.cross_checked} of them cross-checked"
    write(f"{questions} on record{anchors}, {checked}; {calls} in {report.seconds:.1f} s\n")


def _show_sources(
    sources: Mapping[str, Source], tiers: Mapping[str, Mapping[str, int]] = MappingProxyType({})
) -> None:
    """Print a row for each source, the most reliable first, with its owner and the sources it depends on."""
    from disputatio.reliability.grouping import describe_groups

    groups: dict[str, list[str]] = {}
    for name, source in sorted(sources.items()):
        groups.setdefault(source.group or f"\0{name}", []).append(name)
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("source", "reliability", "95 % interval", "answered", "estimated"):
        figures = column in ("reliability", "answered")
        table.add_column(column, overflow="fold", justify="right" if figures else "left", no_wrap=figures)
    order = sorted(sources.values(), key=lambda each: (-(each.reliability or 0), -each.answered, each.name))
    for source in order:
        low, high = source.low, source.high
        table.add_row(
            plain(source.name)
            + plain(_source_lines(source, groups.get(source.group, []), tiers.get(source.name, {})), "dim"),
            "unknown" if source.reliability is None else f"{source.reliability:.2f}",
            "" if low is None or high is None else f"{low:.2f} to {high:.2f}",
            f"{source.answered:.4g} of {source.questions}" if source.questions else "",
            plain(source.updated),
        )
    with buffer_output() as out:
        out.print(table)
    if sources:
        numbers = [number for number, names in enumerate(groups.values()) for _ in names]
        write(f"{count(len(sources), 'source')}: {describe_groups(numbers)}\n")


def _source_lines(source: Source, group: list[str], tiers: Mapping[str, int]) -> str:
    """Return the lines below a source's name: owner, declared authority, group, whether it has changed."""
    share = STRENGTH / (STRENGTH + source.answered)
    others = [name for name in group if name != source.name]
    lines = [
        f"owner {source.owner}" if source.owner else "",
        *(
            f"declared {tier} ({count:,}): counts as {TIERS.get(tier, 1):g}, {share:.0%} of the weight"
            for tier, count in tiers.items()
        ),
        f"not independent of {_names(others, 2)}" if others else "",
        "stale: its passages have changed since" if source.stale else "",
    ]
    return "".join(f"\n  {line}" for line in lines if line)


def _names(names: list[str], most: int) -> str:
    """
    >>> _names(["a", "b", "c"], 2), _names(["a"], 2)
    ('a, b and 1 more', 'a')
    """
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
