"""`disputatio eval`: run strategies on data sets, report what was found, list the data sets.

Scores and tables go to stdout, progress and notes to stderr. Exit codes: 0 done, 1 stopped before the end
by an interrupt or a budget, 2 wrong use, 3 some questions failed (running the same command again tries
only those).
"""

from __future__ import annotations

import json
import platform
import sqlite3
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from disputatio import cli_report
from disputatio.cli_build import app as build_app
from disputatio.cli_synthesize import synthesize
from disputatio.errors import InputError
from disputatio.types import Message, Prompt, Sampling

if TYPE_CHECKING:
    from disputatio.eval.data.datasets import Identity
    from disputatio.eval.running.budget import Amount, Budget, Meter
    from disputatio.eval.running.journal import Manifest
    from disputatio.eval.running.pace import Left
    from disputatio.eval.running.runner import Ask, Outcome, Progress
    from disputatio.kit import Kit
    from disputatio.store.index import Index
    from disputatio.trace import Trace

app = typer.Typer(
    help="Measure strategies on data sets: scores with intervals, paired differences, cost, failures.",
    no_args_is_help=True,
)
app.add_typer(build_app, name="build")
app.command()(synthesize)
app.command()(cli_report.report)
app.command()(cli_report.compare)
app.command()(cli_report.tables)

_Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
# What stands between a prompt and a model's answer: a change there is a change of the system.
_ENGINES = {"local": "disputatio.llm.local", "openai": "disputatio.llm.request"}


@app.command("run")
def run_command(
    dataset: Annotated[
        list[str], typer.Argument(help="NAME:PATH, as `disputatio eval datasets` lists them.")
    ],
    strategy: Annotated[
        str, typer.Option("--strategy", help="Strategies, separated by commas; LABEL=NAME renames one.")
    ],
    out: Annotated[Path, typer.Option("--out", help="Folder of the journal; running again goes on there.")],
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first so many rows.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of shuffles and of the bootstrap.")] = 0,
    seeds: Annotated[
        str | None, typer.Option(help="Several, as 0,1,2: every strategy that has a seed runs with each.")
    ] = None,
    rows: Annotated[Path | None, typer.Option(help="File of row numbers from 0, one a line.")] = None,
    as_json: _Json = False,
    model: Annotated[str | None, typer.Option(help="local:NAME or openai:NAME.")] = None,
    role: Annotated[list[str] | None, typer.Option(help="ROLE=MODEL: another model for one role.")] = None,
    setting: Annotated[
        list[str] | None, typer.Option("--set", help="key=value or STRATEGY.key=value: an option.")
    ] = None,
    verify: Annotated[bool, typer.Option(help="Have the citations judged, which costs calls.")] = False,
    judge: Annotated[
        bool, typer.Option("--judge", help="Have answers graded by the model of --role judge=MODEL.")
    ] = False,
    index: Annotated[
        Path | None, typer.Option(help="Search this index, not each row's own passages.", metavar="DIR")
    ] = None,
    in_flight: Annotated[
        int, typer.Option("--in-flight", "--workers", min=1, help="Questions in hand at a time.")
    ] = 1,
    budget_calls: Annotated[
        int | None, typer.Option(min=0, help="Stop before all runs of --out made more model calls.")
    ] = None,
    budget_tokens: Annotated[
        int | None, typer.Option(min=0, help="Stop before they read and wrote more tokens.")
    ] = None,
    budget_money: Annotated[
        float | None, typer.Option(min=0, help="Stop before they cost more, by the table of prices.")
    ] = None,
    prices: Annotated[
        Path | None, typer.Option(help="TOML file of prices (`disputatio eval prices` prints ours).")
    ] = None,
    journal: Annotated[
        str | None, typer.Option(help="File of model calls to repeat free; none unless given: it hides time.")
    ] = None,
    replay: Annotated[bool, typer.Option("--replay", help="Use the journal's calls and no model.")] = False,
) -> None:
    """Ask every strategy every question, resumably, and print the scores."""
    from disputatio.config import build_kit, embedder_for, read_settings
    from disputatio.eval.data.datasets import check, identify, load
    from disputatio.eval.judge import judge_with, signature
    from disputatio.eval.reporting.report import report, summaries
    from disputatio.eval.reporting.tables import markdown
    from disputatio.eval.running.budget import Budget, Meter
    from disputatio.eval.running.entrants import entrants
    from disputatio.eval.running.prices import read_prices
    from disputatio.eval.running.runner import run
    from disputatio.store.index import Index

    every = _seeds(seeds, seed)
    table = read_prices(prices) if prices is not None or budget_money is not None else None
    meter = Meter(Budget(calls=budget_calls, tokens=budget_tokens, money=budget_money, prices=table))
    if journal is None and not replay:
        journal = "none"  # else a call that another strategy made would take no time
    settings = read_settings(
        model=model, role=_roles(role or []) or None, journal=journal, replay=replay or None, index=index
    )
    chosen = entrants(strategy, setting or [], seeds=every, code=_code(settings.model, settings.role))
    parts = {spec: load(spec, limit=limit, rows=rows) for spec in dataset}
    identities = [identify(spec) for spec in dataset]
    notes = {
        one.name: check(parts[spec], searched=index is not None) + ungraded(one, judge=judge)
        for one, spec in zip(identities, dataset, strict=True)
    }
    for name, lines in notes.items():
        for line in lines:
            _say(f"{name}: {line}")
    plain = build_kit(settings, say=_say)
    kit = meter.watch(plain)
    grading, searched = judge_with(kit) if judge else None, None
    if index is not None:
        embedder = embedder_for(settings, index, say=_say)
        searched = Index.open(index, embedder=embedder, create=False)
    try:
        outcome = run(
            [example for spec in dataset for example in parts[spec]],
            chosen,
            ask=bind(kit, verify=verify, searched=searched),
            out=out,
            manifest=replace(
                manifest(kit, identities, seed=every[0], verify=verify),
                judge=signature(kit) if judge else "",
                index="" if searched is None else described(searched),
            ),
            judge=grading,
            meter=meter,
            workers=in_flight,
            prepare=None if settings.replay else lambda: greet(plain),
            progress=_Line() if sys.stderr.isatty() else None,
            about={
                "versions": versions(),
                "notes": notes,
                "limit": limit,
                "seeds": every,
                "workers": in_flight,
                "journal": journal != "none",
            },
        )
    except (OSError, sqlite3.OperationalError) as error:
        _say(f"{out}: {error}; what was recorded is kept, and running again goes on there")
        raise typer.Exit(3) from error
    found = report(out)
    if as_json:
        for one in summaries(found):
            typer.echo(json.dumps(one))
    else:
        typer.echo(markdown(found), nl=False)
    raise typer.Exit(_verdict(outcome, meter))


@app.command("prices")
def prices_command() -> None:
    """The table of prices that budgets of money go by, as a TOML file to edit and give with --prices."""
    from disputatio.eval.running.prices import our_prices

    typer.echo(our_prices(), nl=False)


@app.command("datasets")
def datasets_command(as_json: _Json = False) -> None:
    """The data sets that can be read: origin, licence, the shape of a file, what is measured."""
    from disputatio.eval.data.datasets import datasets, described

    known = [described(form) for form in datasets()]
    if as_json:
        typer.echo(json.dumps(known, indent=2))
        return
    for one in known:
        typer.echo(f"{one['name']}:PATH{' or #'.join(['', *one['views']])}\n  {one['description']}")
        for key in ("origin", "licence", "shape", "fields"):
            typer.echo(f"  {key}: {one[key]}")
        if not one["passages"]:
            typer.echo("  passages: none, search an index (--index DIR)")
        typer.echo(f"  metrics: {', '.join(one['metrics']) or 'none'} ({one['measure']})")


# --- what a run is bound to ---------------------------------------------------------------------
def bind(kit: Kit, *, verify: bool, searched: Index | None = None) -> Ask:
    """The runner's way to ask: the pipeline, over the passages of the question alone, or over an index."""
    from disputatio.config import over
    from disputatio.eval.running.budget import bound
    from disputatio.pipeline import ask
    from disputatio.store.in_hand import InHand

    def asked(
        question: str, passages: Sequence[Any], strategy: str, options: Mapping[str, Any], trace: Trace
    ) -> Any:
        own = bound(kit)
        held = replace(own, retriever=InHand(passages)) if searched is None else over(own, searched)
        return ask(question, kit=held, strategy=strategy, options=options, verify=verify, trace=trace)

    return asked


def described(searched: Index) -> str:
    """An index as a manifest names it: its folder's name and what it holds."""
    told = searched.info()
    return (
        f"{searched.path.absolute().name}, {told.documents} documents, {told.passages} passages, "
        f"embedder {told.embedder or 'none'}, commit {told.commit}"
    )


def ungraded(identity: Identity, *, judge: bool) -> list[str]:
    """What to say of a data set whose answers only a judge can grade, where there is none."""
    if judge or not identity.judged:
        return []
    return ["its answers are graded by a judge (--judge --role judge=MODEL): without one there are no scores"]


def greet(kit: Kit) -> None:
    """Have every model say a word, so that no question waits for it to load; raises `LLMError`."""
    prompt = Prompt(messages=(Message(role="user", content="Say yes."),))
    for model in {model.name: model for model in (kit.model, *kit.roles.values())}.values():
        if model.name.startswith("local:"):
            model.complete([prompt], Sampling(max_tokens=1))


def manifest(kit: Kit, identities: Sequence[Identity], *, seed: int, verify: bool) -> Manifest:
    """What all records of the journal share; raises `InputError` for one name of two files."""
    from disputatio.eval.metrics import VERSION
    from disputatio.eval.running.journal import Manifest

    names = [one.name for one in identities]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"{name} stands twice: data sets of one run need files of different names")
    return Manifest(
        datasets={one.name: one.sha256 for one in identities},
        metrics={one.name: one.metrics for one in identities},
        metrics_version=VERSION,
        model=kit.model.name,
        engine=kit.model.capabilities().engine,
        roles={role: model.name for role, model in sorted(kit.roles.items())},
        seed=seed,
        verify=verify,
    )


def versions() -> dict[str, str]:
    """The versions that results depend on, of what is installed."""
    found = {"python": platform.python_version()}
    for package in ("disputatio", "openvino-genai", "openai"):
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found


def _seeds(given: str | None, seed: int) -> list[int]:
    """The seeds in order; raises `InputError` for what is no list of different numbers.

    >>> _seeds("0, 1,2", 0), _seeds(None, 7)
    ([0, 1, 2], [7])
    """
    if given is None:
        return [seed]
    try:
        found = [int(word) for word in given.split(",")]
    except ValueError as error:
        raise InputError(f"--seeds {given}: write whole numbers separated by commas, as 0,1,2") from error
    if len(set(found)) < len(found):
        raise InputError(f"--seeds {given}: a seed stands twice")
    return found


def _code(model: str, roles: Mapping[str, str]) -> list[str]:
    """The modules that stand between prompts and the models of these names."""
    kinds = {name.partition(":")[0] for name in (model, *roles.values())}
    return [module for kind, module in _ENGINES.items() if kind in kinds]


def _roles(given: Sequence[str]) -> dict[str, str]:
    roles = {}
    for one in given:
        role, _, model = one.partition("=")
        if not role or not model:
            raise InputError(f"--role {one}: write ROLE=MODEL")
        roles[role] = model
    return roles


# --- what is said on stderr ---------------------------------------------------------------------
def _say(line: str) -> None:
    typer.echo(line, err=True)


def _verdict(outcome: Outcome, meter: Meter) -> int:
    """The exit code of a run, its reason said."""
    failed = outcome.faults + outcome.bugs
    if failed:
        bugs = f", {outcome.bugs} by an unforeseen error" if outcome.bugs else ""
        again = f" ({outcome.retried} tried twice)" if outcome.retried else ""
        _say(f"{failed} questions failed{bugs}{again}: the same command again tries only those")
    if outcome.stopped:
        _say(f"stopped ({outcome.stopped}), {outcome.left} questions left: the same command goes on there")
        _say(_what_is_left(outcome, meter))
    return 3 if failed else int(bool(outcome.stopped))


def _what_is_left(outcome: Outcome, meter: Meter) -> str:
    """What was spent, what is left to do, and what that will take by the means so far."""
    each = ", ".join(f"{label} {count}" for label, count in outcome.waiting.items())
    ahead = meter.forecast(outcome.waiting)
    more = f", about {_sum(ahead, meter.budget)} by the means so far" if ahead is not None else ""
    larger = f"; give a larger --{_flag(meter.stopped)}" if meter.stopped else ""
    return f"spent so far: {_sum(meter.spent, meter.budget)}; left: {each}{more}{larger}"


def _sum(amount: Amount, budget: Budget) -> str:
    prices = budget.prices
    money = "" if prices is None else f", {amount.money:.4f} {prices.currency}"
    return f"{amount.calls:,.0f} calls, {amount.tokens:,.0f} tokens{money}"


def _flag(stopped: str) -> str:
    """The option of a budget, by what is said of it."""
    last = stopped.rpartition(" ")[2]
    return f"budget-{last}" if last in ("calls", "tokens") else "budget-money"


class _Line:
    """One line of progress, rewritten in place."""

    def __call__(self, progress: Progress) -> None:
        left = "" if progress.left is None else f", about {_time_left(progress.left)} left"
        failed = f", {progress.faults} failed" if progress.faults else ""
        words = f"{progress.done}/{progress.total} {progress.entrant}, row {progress.row}{failed}{left}"
        if progress.fault:
            typer.echo(f"\r\x1b[Krow {progress.row}, {progress.entrant}: {progress.fault}", err=True)
        typer.echo(f"\r\x1b[K{words}", err=True, nl=progress.done == progress.total)


def _time_left(left: Left) -> str:
    """What remains, with its range where there is one.

    >>> from disputatio.eval.running.pace import Left
    >>> _time_left(Left(60.0, None, None)), _time_left(Left(60.0, 45.0, 75.0))
    ('0:01:00', '0:01:00 (0:00:45 to 0:01:15)')
    """
    told = _clock(left.seconds)
    if left.low is None or left.high is None:
        return told
    return f"{told} ({_clock(left.low)} to {_clock(left.high)})"


def _clock(seconds: float) -> str:
    """Seconds as hours, minutes and seconds.

    >>> _clock(3725.2)
    '1:02:05'
    """
    minutes, second = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{second:02}"
