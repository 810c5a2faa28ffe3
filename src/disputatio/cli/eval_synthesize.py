"""`disputatio eval synthesize`: a test set of one's own, from one's own index.

The file is named on stdout, what came of it on stderr; exit codes as for `disputatio eval`.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from disputatio.cli.options import Journal, Model, Replay

if TYPE_CHECKING:
    from disputatio.eval.builders.synthesis import Synthetic


def synthesize(
    index: Annotated[Path, typer.Option(metavar="DIR", help="Folder of the index.")],
    questions: Annotated[int, typer.Option(metavar="N", min=1, help="How many questions.")],
    out: Annotated[
        Path,
        typer.Option("--out", metavar="FILE", help="File of JSON lines; the same command resumes there."),
    ],
    mix: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CATEGORY=VALUE:SHARE,...",
            help="Another mix of answer, premise, formulation or user; may be repeated.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="The same seed gives the same questions.")] = 0,
    model: Model = None,
    journal: Journal = None,
    replay: Replay = False,
) -> None:
    """Write questions with passages and checked short answers, for `disputatio eval run jsonl:FILE`."""
    from disputatio.config import read_settings
    from disputatio.eval.builders.synthesis import mixed, prompts_hash
    from disputatio.eval.builders.synthetic_file import synthesize as make
    from disputatio.parts import build_kit, embedder_for
    from disputatio.store.opening import open_index, require_folder

    shares = mixed(mix or [])
    settings = read_settings(model=model, journal=journal, replay=replay or None, index=index)
    opened = require_folder(
        open_index(index, embedder=embedder_for(settings, index, say=_say), create=False),
        "draw questions from",
    )
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
    if line:
        typer.echo(line, err=True)
