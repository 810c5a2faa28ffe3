"""The command line: parse, call the library, print. Data to stdout, messages to stderr.

Exit codes: 0 done, 1 done but found wanting, 2 wrong use or bad input, 3 a fault outside, 130 stopped.
"""

from __future__ import annotations

import errno
import os
import sqlite3
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.exceptions import TyperException

from disputatio import __version__
from disputatio.cli.ask import ask
from disputatio.cli.check import check
from disputatio.cli.config import config
from disputatio.cli.demo import demo
from disputatio.cli.doctor import doctor
from disputatio.cli.eval_run import app as eval_app
from disputatio.cli.index import app as index_app
from disputatio.cli.ingest import ingest
from disputatio.cli.models import app as model_app
from disputatio.cli.screen import complain
from disputatio.cli.search import search
from disputatio.cli.serve import mcp, serve
from disputatio.cli.simulate import simulate
from disputatio.cli.sources import calibrate, sources
from disputatio.cli.stale import stale
from disputatio.cli.strategies import strategies
from disputatio.errors import DisputatioError

app = typer.Typer(
    help="Answers questions over sources that disagree: cited claims, every position, the cost.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command()(ask)
app.command()(ingest)
app.command()(search)
app.command()(serve)
app.command()(mcp)
app.command()(calibrate)
app.command()(sources)
app.command()(check)
app.command()(stale)
app.command()(simulate)
app.command()(strategies)
app.command()(demo)
app.command()(doctor)
app.command()(config)
app.add_typer(index_app, name="index")
app.add_typer(eval_app, name="eval")
app.add_typer(model_app, name="model")

_EXTRA = "Got unexpected extra argument(s) "
_DATABASE_DISK = {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR}
_DISK = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS}


def main() -> None:
    """Run the command line; an error of ours is one line and an exit code, others a traceback."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # the shell closed it: >&-
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115 (open until the end)
    sys.exit(_run())


def _run() -> int:
    try:
        code = app(standalone_mode=False)
        sys.stdout.flush()
    except TyperException as error:
        return _report_usage_error(error)
    except DisputatioError as error:
        complain(str(error))
        return 3 if _is_of_the_disk(error) else error.exit_code
    except BrokenPipeError:
        _discard_output()
        return 0
    except OSError as error:
        if not _is_of_the_disk(error):
            raise
        _discard_output()
        complain(f"{error.filename or 'the output'} could not be written: {error.strerror}")
        return 3
    except (KeyboardInterrupt, typer.Abort):
        code = 130
    if code == 130:
        complain("stopped")
    return code if isinstance(code, int) else 0


def _report_usage_error(error: TyperException) -> int:
    context = getattr(error, "ctx", None)
    path = getattr(context, "command_path", "disputatio")
    if type(error).__name__ != "NoArgsIsHelpError":
        message = error.format_message().rstrip(".").replace("Value error, ", "")  # of pydantic
        if context is not None and message.startswith(_EXTRA):
            message = _what_to_type(message.removeprefix(_EXTRA)[1:-1], context.command)
        complain(f"{message} (see: {path} --help)")
    return error.exit_code


def _what_to_type(extra: str, command: Any) -> str:
    named = {parameter.name for parameter in command.params}
    if named & {"question", "query"}:
        return f"unexpected {extra}: put the words in quotes; an index is named by --index"
    if "index" in named:
        return f"unexpected {extra}: an index is named by an option, --index {extra.split(maxsplit=1)[0]}"
    return f"unexpected {extra}"


def _is_of_the_disk(error: BaseException | None) -> bool:
    """Return True if an error was caused by a disk that is full or broken."""
    while error is not None:
        message = str(error).casefold()
        if isinstance(error, OSError) and error.errno in _DISK:
            return True
        if getattr(error, "sqlite_errorcode", 0) & 0xFF in _DATABASE_DISK:
            return True
        if "no space left" in message or "disk is full" in message or "file too large" in message:
            return True
        error = error.__cause__
    return False


def _discard_output() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@app.callback(invoke_without_command=True)
def _version(version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False) -> None:
    if version:
        typer.echo(__version__)
        raise typer.Exit
