"""`disputatio eval synthesize`: a test set of one's own, from one's own index.

The file is named on stdout, what came of it on stderr; exit codes as for `disputatio eval`.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from disputatio.eval.builders.synthesis import Synthetic


def synthesize(
    index: Annotated[Path, typer.Option(help="Folder of the index.", metavar="DIR")],
    questions: Annotated[int, typer.Option(min=1, help="How many questions.")],
    out: Annotated[Path, typer.Option("--out", help="File of JSON lines; running again goes on there.")],
    mix: Annotated[
        list[str] | None,
        typer.Option(
            help="CATEGORY=VALUE:SHARE,...: another mix of answer, premise, formulation or user.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="The same seed gives the same questions.")] = 0,
    model: Annotated[str | None, typer.Option(help="local:NAME or openai:NAME, which writes them.")] = None,
    journal: Annotated[str | None, typer.Option(help="File of model calls to repeat free.")] = None,
    replay: Annotated[bool, typer.Option("--replay", help="Use the journal's calls and no model.")] = False,
) -> None:
    """Questions with their passages and checked short answers, for `disputatio eval run jsonl:FILE`."""
    from disputatio.config import read_settings
    from disputatio.eval.builders.question_writer import prompts_hash
    from disputatio.eval.builders.synthesis import mixed
    from disputatio.eval.builders.synthetic_file import synthesize as make
    from disputatio.parts import build_kit, embedder_for
    from disputatio.store.index import Index

    shares = mixed(mix or [])
    settings = read_settings(model=model, journal=journal, replay=replay or None, index=index)
    opened = Index.open(index, embedder=embedder_for(settings, index, say=_say), create=False)
    kit = build_kit(settings, retriever=opened, say=_say)
    facts = opened.info()
    count, failed = make(
        opened,
        out,
        kit,
        questions=questions,
        mix=shares,
        seed=seed,
        about={
            "index": f"{index.absolute().name}, {facts.passages} passages, commit {facts.commit}",
            "embedder": facts.embedder,
            "model": kit.cast("questioner").name,
            "prompts": prompts_hash(),
        },
        say=_Line(questions) if sys.stderr.isatty() else lambda _: None,
    )
    _say(
        f"{count} of {questions} questions; next: "
        f"disputatio eval run jsonl:{out} --index {index} --strategy ..."
    )
    for reason, n in sorted(failed.items(), key=lambda pair: -pair[1]):
        _say(f"{n} came to nothing: {reason}")
    typer.echo(out)
    raise typer.Exit(3 if failed else 0)


class _Line:
    """One line of progress, rewritten in place."""

    def __init__(self, total: int) -> None:
        self._total = total

    def __call__(self, question: Synthetic) -> None:
        typer.echo(
            f"\r\x1b[Kquestion {question.n + 1}/{self._total}: {question.question or question.fault}"[:110],
            err=True,
            nl=False,
        )


def _say(line: str) -> None:
    typer.echo(line, err=True)
