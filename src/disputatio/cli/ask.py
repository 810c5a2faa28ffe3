"""`disputatio ask`: one question over an index or over passages, with citations and all positions."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from disputatio.cli.opening import check_writable, is_there, open_for_search
from disputatio.cli.options import (
    After,
    AsOf,
    Before,
    Columns,
    Expect,
    Indexes,
    Journal,
    Json,
    Model,
    Replay,
    Roles,
    Sources,
    StrategyName,
    StrategyOptions,
    TextColumn,
    read_pairs,
    read_roles,
)
from disputatio.cli.screen import Waiting, complain, show_answer, write
from disputatio.cli.sources import learn_from
from disputatio.errors import InputError
from disputatio.protocols import Cancel
from disputatio.rendering.wording import count
from disputatio.store.ingesting.options import read_columns

if TYPE_CHECKING:
    from disputatio.config import Settings
    from disputatio.protocols import Retriever
    from disputatio.trace import Trace


def ask(
    question: Annotated[str, typer.Argument(metavar="QUESTION", help="What you want to know.")],
    index: Indexes = None,
    passages: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Passages to read instead of an index: JSON lines, JSON or CSV; - reads standard input.",
        ),
    ] = None,
    text_column: TextColumn = None,
    mapping: Columns = None,
    k: Annotated[
        int | None,
        typer.Option("-k", metavar="N", min=1, help="Passages to read (the option k of the strategy)."),
    ] = None,
    source: Sources = None,
    mute: Annotated[
        list[str] | None,
        typer.Option(metavar="DOC", help="Do not read this document: id, file or title; may be repeated."),
    ] = None,
    after: After = None,
    before: Before = None,
    as_of: AsOf = None,
    each_source: Annotated[
        bool, typer.Option("--each-source", help="Read every source, and show what each answers.")
    ] = False,
    within: Annotated[
        str | None,
        typer.Option(
            metavar="TIME", help="Answer by then from what was read, such as 20s or 2m, and say what was not."
        ),
    ] = None,
    strategy: StrategyName = None,
    expect: Annotated[
        Expect | None,
        typer.Option(
            metavar="auto|one|several",
            help="How many answers are right; auto: decide from the question and passages.  [default: auto]",
        ),
    ] = None,
    setting: StrategyOptions = None,
    model: Model = None,
    role: Roles = None,
    verify: Annotated[bool, typer.Option(help="Check every citation with the model.")] = True,
    strict: Annotated[
        bool,
        typer.Option("--strict", help="Drop claims that fail the check; exit with 1 when nothing is left."),
    ] = False,
    min_confidence: Annotated[
        float | None,
        typer.Option(
            metavar="P",
            min=0.0,
            max=1.0,
            help="Abstain where the answer is less likely than this to be right.  "
            "[default: 0.3 for disputation, else 0]",
        ),
    ] = None,
    journal: Journal = None,
    replay: Replay = False,
    learn: Annotated[
        bool, typer.Option("--learn", help="Count a settled conflict in the index's reliability estimates.")
    ] = False,
    trace: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write every step to this file, as JSON lines.")
    ] = None,
    trace_text: Annotated[
        bool, typer.Option("--trace-text", help="Keep prompts and replies in the trace.")
    ] = False,
    stream: Annotated[
        bool, typer.Option("--stream", help="Show what happens as it happens; with --json an event a line.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Answer a question, with citations and every position. An index is read, or passages."""
    from disputatio.api.request import Request, prepare
    from disputatio.cli.stream import follow
    from disputatio.config import read_settings
    from disputatio.parts import build_kit
    from disputatio.trace import Trace

    settings = read_settings(
        model=model,
        role=read_roles(role),
        strategy=strategy,
        expect=expect,
        min_confidence=min_confidence,
        index=index,
        journal=journal,
        replay=replay or None,
    )
    request = Request(
        question=question,
        sources=source or None,
        mute=mute or (),
        after=after,
        before=before,
        as_of=as_of,
        options=read_pairs("--set", setting or [], "key=value"),
        k=k,
        expect=expect,
        verify=verify,
        strict=strict,
        each_source=each_source,
        within=within,
    )
    request.check()
    columns = read_columns(mapping or [], text_column)
    _check_searched(settings, index, passages, columns, learn=learn)
    check_writable("--trace", trace)
    with Waiting(quiet=stream) as waiting:
        log = Trace(keep_text=trace_text or stream, listener=waiting.follow)
        prepared = prepare(
            request,
            settings,
            lambda: build_kit(settings, say=waiting.say, progress=waiting.show_download),
            search=lambda: _retriever(settings, index, passages, columns, waiting),
        )
        answer = None
        try:
            if stream:
                answer = follow(question, prepared, trace=log, waiting=waiting, as_json=as_json)
            else:
                answer = prepared.answer(question, log, Cancel())
        finally:
            unwritten = _write_trace(log, trace, text=trace_text)
            if answer is None and unwritten is not None:
                waiting.say(f"--trace {trace}: {unwritten.strerror}")
        if answer is None:  # stdout was closed by its reader
            raise typer.Exit(0)
        waiting.review(settings.role)
    if stream and not as_json:
        write("\n")
    if not (stream and as_json):
        show_answer(answer, as_json=as_json)
    if learn:
        learn_from(prepared.searched, answer)
    if unwritten is not None:
        complain(f"--trace {trace} could not be written: {unwritten.strerror}")
        raise typer.Exit(3)
    if answer.abstained == "fault":
        raise typer.Exit(3)  # no answer came, and not for want of evidence
    raise typer.Exit(1 if strict and answer.abstained else 0)


def _check_searched(
    settings: Settings, index: Path | None, passages: Path | None, columns: Mapping[str, str], *, learn: bool
) -> None:
    """Say what does not go together with an index, or with passages in hand."""
    if index is not None and passages is not None:
        raise InputError("give --index or --passages, not both")
    if columns and passages is None:
        raise InputError("--text-column and --map say how to read a file: give it as --passages FILE")
    if learn and passages is not None:
        raise InputError("--learn needs an index: passages in hand keep no estimates")
    if learn:
        from disputatio.store.addresses import require_one

        require_one(settings.index)


def _write_trace(log: Trace, trace: Path | None, *, text: bool) -> OSError | None:
    try:
        if trace is not None:
            log.write(trace, text=text)
    except OSError as error:
        return error
    return None


def _retriever(
    settings: Settings,
    index: Path | None,
    passages: Path | None,
    columns: Mapping[str, str],
    waiting: Waiting,
) -> Retriever | None:
    """Return what to search: passages in hand, the index that was named, or the usual one if it is there."""
    if passages is not None:
        return _in_hand(passages, columns, waiting)
    if index is None and not is_there(settings):
        return None
    return open_for_search(settings, waiting)


def _in_hand(passages: Path, columns: Mapping[str, str], waiting: Waiting) -> Retriever:
    """Return the passages of a file or of standard input; rows that were refused are listed."""
    from disputatio.store.in_memory import InMemory
    from disputatio.store.passage_files import read_passages

    usable, refused = read_passages(passages, columns=columns)
    for refusal in refused:
        waiting.say(f"refused {refusal}")
    if refused:
        waiting.say(f"correct or remove what was refused; the answer is from {count(len(usable), 'passage')}")
    return InMemory(usable)
