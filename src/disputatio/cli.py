"""The command line: parse, call the library, print. Data to stdout, messages to stderr.

Exit codes: 0 done, 1 done but found wanting, 2 wrong use or bad input, 3 a fault outside.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from disputatio.cli_eval import app as eval_app
from disputatio.cli_model import app as model_app
from disputatio.errors import DisputatioError, InputError

app = typer.Typer(
    help="Answers questions over sources that disagree: cited claims, every position, the cost.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
app.add_typer(eval_app, name="eval")
app.add_typer(model_app, name="model")

_Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
_Index = Annotated[Path | None, typer.Option(help="Folder of the index.", metavar="DIR")]


def main() -> None:
    """Run the command line; our own errors are one line and an exit code, others show themselves."""
    try:
        app()
    except DisputatioError as error:
        typer.echo(f"disputatio: {error}", err=True)
        sys.exit(error.exit_code)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except KeyboardInterrupt:
        typer.echo("disputatio: stopped", err=True)
        sys.exit(130)


@app.callback(invoke_without_command=True)
def _version(version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False) -> None:
    if version:
        from disputatio import __version__

        typer.echo(__version__)
        raise typer.Exit


@app.command()
def ingest(
    paths: Annotated[list[Path], typer.Argument(help="Files and folders.", metavar="PATH...")],
    index: _Index = None,
    source_by: Annotated[
        str | None, typer.Option(help="What tells sources apart: domain, folder, field:NAME or file.")
    ] = None,
    embedder: Annotated[str | None, typer.Option(help="Embedding model, or none.")] = None,
    as_json: _Json = False,
) -> None:
    """Put text, Markdown, HTML, PDF, JSON lines and CSV into an index; what cannot be read is listed."""
    from disputatio.cli_screen import Meter, show_summary
    from disputatio.config import open_embedder, read_settings
    from disputatio.store.index import Index

    settings = read_settings(index=index, embedder=embedder)
    with Meter("fetching the embedder") as fetching:
        part = open_embedder(settings.embedder, pull=True, progress=fetching.told)
    with Meter("reading") as meter:
        summary = Index.open(settings.index, embedder=part).ingest(
            *paths, source_by=source_by, progress=lambda done, total: meter.told(done, total, "reading")
        )
    show_summary(summary, settings.index, as_json=as_json)
    raise typer.Exit(1 if summary.refused else 0)


@app.command()
def ask(
    question: Annotated[str, typer.Argument(help="What you want to know.")],
    index: _Index = None,
    strategy: Annotated[str | None, typer.Option(help="See `disputatio strategies`.")] = None,
    setting: Annotated[
        list[str] | None, typer.Option("--set", help="key=value: an option of the strategy.")
    ] = None,
    passages: Annotated[
        Path | None, typer.Option(help="JSON lines with text, source, ... to read instead of an index.")
    ] = None,
    as_json: _Json = False,
    trace: Annotated[Path | None, typer.Option(help="Write every step to this file, as JSON lines.")] = None,
    trace_text: Annotated[bool, typer.Option("--trace-text", help="Keep prompts and replies in it.")] = False,
    model: Annotated[str | None, typer.Option(help="local:NAME or openai:NAME.")] = None,
    role: Annotated[list[str] | None, typer.Option(help="ROLE=MODEL: another model for a role.")] = None,
    verify: Annotated[bool, typer.Option(help="Have every citation judged.")] = True,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 1 when there is no answer.")] = False,
    journal: Annotated[str | None, typer.Option(help="File of the calls made, or none.")] = None,
    replay: Annotated[bool, typer.Option("--replay", help="Answer from the journal alone.")] = False,
) -> None:
    """Answer a question over an index or over passages, with citations and all positions."""
    from disputatio.cli_screen import Waiting, show_answer
    from disputatio.config import build_kit, read_settings
    from disputatio.pipeline import ask as ask_pipeline
    from disputatio.pipeline import load_strategy, read_options
    from disputatio.trace import Trace

    settings = read_settings(
        model=model,
        role=read_pairs("--role", role or []) or None,
        strategy=strategy,
        index=index,
        journal=journal,
        replay=replay or None,
    )
    options = read_options(load_strategy(settings.strategy), read_pairs("--set", setting or []))
    if index is not None and passages is not None:
        raise InputError("give --index or --passages, not both")
    if trace is not None and not trace.resolve().parent.is_dir():
        raise InputError(f"--trace {trace}: there is no folder {trace.resolve().parent}")
    with Waiting() as waiting:
        kit = build_kit(settings, retriever=_retriever(settings, index, passages), say=waiting.say)
        log = Trace(keep_text=trace_text, listener=waiting.heard)
        try:
            answer = ask_pipeline(
                question, kit=kit, strategy=settings.strategy, options=options, verify=verify, trace=log
            )
        finally:
            if trace is not None:
                log.write(trace)
    show_answer(answer, as_json=as_json)
    raise typer.Exit(1 if strict and answer.abstained else 0)


@app.command()
def strategies(as_json: _Json = False) -> None:
    """Every strategy, its paper, its options and their defaults."""
    from disputatio.cli_screen import show_strategies
    from disputatio.pipeline import load_strategy, strategy_names

    show_strategies({name: load_strategy(name) for name in strategy_names()}, as_json=as_json)


def read_pairs(option: str, given: list[str]) -> dict[str, str]:
    """`key=value` words as a mapping; raises `InputError` naming the one that is none."""
    pairs = {}
    for word in given:
        key, equals, value = word.partition("=")
        if not (key and equals):
            raise InputError(f"{option} {word!r}: write it as key=value")
        pairs[key.strip()] = value.strip()
    return pairs


def _retriever(settings: Any, index: Path | None, passages: Path | None) -> Any:
    """What to search: passages in hand, the index that was named, or the usual one if it is there."""
    from disputatio.config import open_embedder
    from disputatio.store.in_hand import InHand, load_passages
    from disputatio.store.index import Index

    if passages is not None:
        return InHand(load_passages(passages))
    if index is None and not settings.index.exists():
        return None
    opened = Index.open(settings.index, create=False)
    made_with = opened.info().embedder
    if not made_with:
        return opened
    return Index.open(settings.index, embedder=open_embedder(settings.embedder, pull=True), create=False)
