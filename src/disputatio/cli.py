"""The command line: parse, call the library, print. Data to stdout, messages to stderr.

Exit codes: 0 done, 1 done but found wanting, 2 wrong use or bad input, 3 a fault outside, 130 stopped.
"""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer.exceptions import TyperException

from disputatio.cli_eval import app as eval_app
from disputatio.cli_index import app as index_app
from disputatio.cli_index import search
from disputatio.cli_ingest import ingest
from disputatio.cli_model import app as model_app
from disputatio.cli_simulate import simulate
from disputatio.cli_sources import calibrate, sources
from disputatio.cli_strategies import strategies
from disputatio.errors import DisputatioError, InputError
from disputatio.text import one_line

if TYPE_CHECKING:
    from disputatio.cli_screen import Waiting
    from disputatio.config import Settings
    from disputatio.protocols import Retriever
    from disputatio.trace import Trace

app = typer.Typer(
    help="Answers questions over sources that disagree: cited claims, every position, the cost.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
app.command()(ingest)
app.command()(search)
app.command()(calibrate)
app.command()(sources)
app.command()(simulate)
app.command()(strategies)
app.add_typer(index_app, name="index")
app.add_typer(eval_app, name="eval")
app.add_typer(model_app, name="model")

_Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
_Index = Annotated[Path | None, typer.Option(help="Folder of the index.", metavar="DIR")]

_DISK = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS}


def main() -> None:
    """Run the command line; our own errors are one line and an exit code, others show themselves."""
    sys.exit(_run())


def _run() -> int:
    try:
        code = app(standalone_mode=False)
        sys.stdout.flush()
    except TyperException as error:
        return _misused(error)
    except DisputatioError as error:
        _complain(str(error))
        return 3 if _is_of_the_disk(error) else error.exit_code
    except BrokenPipeError:
        _drop_output()
        return 0
    except OSError as error:
        if not _is_of_the_disk(error):
            raise
        _drop_output()
        _complain(f"{error.filename or 'the output'} could not be written: {error.strerror}")
        return 3
    except (KeyboardInterrupt, typer.Abort):
        code = 130
    if code == 130:
        _complain("stopped")
    return code if isinstance(code, int) else 0


def _complain(message: str) -> None:
    """One line on stderr, whatever a file's name or a server put into it."""
    typer.echo(f"disputatio: {one_line(message)}", err=True)


def _misused(error: TyperException) -> int:
    """Say in one line what is wrong with the words of a command; with no words its help is shown."""
    context = getattr(error, "ctx", None)
    path = getattr(context, "command_path", "disputatio")
    if type(error).__name__ != "NoArgsIsHelpError":
        _complain(f"{error.format_message().rstrip('.')} (see: {path} --help)")
    return error.exit_code


def _is_of_the_disk(error: BaseException | None) -> bool:
    """Whether a disk that is full or broken stands behind an error."""
    while error is not None:
        told = str(error).casefold()
        if isinstance(error, OSError) and error.errno in _DISK:
            return True
        if "no space left" in told or "disk is full" in told or "file too large" in told:
            return True
        error = error.__cause__
    return False


def _drop_output() -> None:
    """Let nothing more be written to stdout: whoever read it has gone, or the disk is full."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@app.callback(invoke_without_command=True)
def _version(version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False) -> None:
    if version:
        from disputatio import __version__

        typer.echo(__version__)
        raise typer.Exit


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
    strict: Annotated[
        bool,
        typer.Option(
            "--strict", help="Drop claims that fail verification; exit with 1 when nothing is left."
        ),
    ] = False,
    journal: Annotated[str | None, typer.Option(help="File of the calls made, or none.")] = None,
    replay: Annotated[bool, typer.Option("--replay", help="Answer from the journal alone.")] = False,
    learn: Annotated[
        bool, typer.Option("--learn", help="Let a settled conflict count in the index's estimates.")
    ] = False,
) -> None:
    """Answer a question over an index or over passages, with citations and all positions."""
    from disputatio.cli_screen import Waiting, show_answer
    from disputatio.config import build_kit, over, read_settings
    from disputatio.pipeline import ask as ask_pipeline
    from disputatio.pipeline import load_strategy, read_options
    from disputatio.trace import Trace

    settings = read_settings(
        model=model,
        role=read_pairs("--role", role or [], "ROLE=MODEL") or None,
        strategy=strategy,
        index=index,
        journal=journal,
        replay=replay or None,
    )
    options = read_options(load_strategy(settings.strategy), read_pairs("--set", setting or [], "key=value"))
    _check_question(question)
    if index is not None and passages is not None:
        raise InputError("give --index or --passages, not both")
    if learn and passages is not None:
        raise InputError("--learn needs an index: passages in hand keep no estimates")
    _check_trace(trace)
    with Waiting() as waiting:
        searched = _retriever(settings, index, passages, waiting)
        kit = over(build_kit(settings, say=waiting.say, progress=waiting.fetched), searched)
        log = Trace(keep_text=trace_text, listener=waiting.heard)
        answer = None
        try:
            answer = ask_pipeline(
                question,
                kit=kit,
                strategy=settings.strategy,
                options=options,
                verify=verify,
                strict=strict,
                trace=log,
            )
        finally:
            unwritten = _write_trace(log, trace)
            if answer is None and unwritten is not None:
                waiting.say(f"--trace {trace}: {unwritten.strerror}")
        waiting.review(settings.role)
    show_answer(answer, as_json=as_json)
    if learn:
        from disputatio.cli_sources import learn_from

        learn_from(searched, answer)
    if unwritten is not None:
        _complain(f"--trace {trace} could not be written: {unwritten.strerror}")
        raise typer.Exit(3)
    raise typer.Exit(1 if strict and answer.abstained else 0)


def read_pairs(option: str, given: list[str], form: str) -> dict[str, str]:
    """`key=value` words as a mapping; raises `InputError` naming the one that is none.

    >>> read_pairs("--set", ["rounds=2", "history = peers"], "key=value")
    {'rounds': '2', 'history': 'peers'}
    """
    pairs: dict[str, str] = {}
    for word in given:
        key, equals, value = (part.strip() for part in word.partition("="))
        if not (key and equals and value):
            raise InputError(f"{option} {word!r}: write it as {form}")
        if pairs.setdefault(key, value) != value:
            raise InputError(f"{option} {key}: is given twice, as {pairs[key]!r} and as {value!r}")
    return pairs


def _check_question(question: str) -> None:
    if not question.strip():
        raise InputError("the question is empty: write what you want to know")
    try:
        question.encode()
    except UnicodeEncodeError as error:
        raise InputError("the question is not UTF-8 text") from error


def _check_trace(trace: Path | None) -> None:
    """Find out before the question is asked whether its trace can be written."""
    if trace is None:
        return
    folder = trace.resolve().parent
    if not folder.is_dir():
        raise InputError(f"--trace {trace}: there is no folder {folder}")
    if trace.is_dir() or not os.access(folder, os.W_OK):
        raise InputError(f"--trace {trace}: no file can be written there")


def _write_trace(log: Trace, trace: Path | None) -> OSError | None:
    try:
        if trace is not None:
            log.write(trace)
    except OSError as error:
        return error
    return None


def _retriever(
    settings: Settings, index: Path | None, passages: Path | None, waiting: Waiting
) -> Retriever | None:
    """What to search: passages in hand, the index that was named, or the usual one if it is there."""
    from disputatio.config import embedder_for
    from disputatio.store.in_hand import InHand, load_passages
    from disputatio.store.index import Index

    if passages is not None:
        return InHand(load_passages(passages))
    if index is None and not settings.index.exists():
        return None
    part = embedder_for(settings, settings.index, say=waiting.say, progress=waiting.fetched)
    return Index.open(settings.index, embedder=part, create=False)
