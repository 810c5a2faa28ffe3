"""`disputatio eval build`: make a benchmark out of published data.

What was made is said on stderr, the files on stdout or one JSON object that names them; exit codes as for
`disputatio eval`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

import typer

if TYPE_CHECKING:
    from disputatio.eval.multisource import Prior

app = typer.Typer(help="Make a benchmark out of published data.", no_args_is_help=True)


@app.callback()
def build() -> None:
    """Make a benchmark out of published data."""


@app.command()
def multisource(
    origin: Annotated[
        list[str],
        typer.Argument(
            help="NAME:PATH of conflictnq, nq_with_passages or poisonedrag; the first is used up first."
        ),
    ],
    out: Annotated[
        Path, typer.Option("--out", help="Folder for passages, questions and what they were made of.")
    ],
    sources: Annotated[int, typer.Option(min=1, help="How many sources.")] = 9,
    prior: Annotated[str, typer.Option(help="Of their reliabilities: beta or adversary-hammer.")] = "beta",
    adversaries: Annotated[int, typer.Option(min=0, help="Sources that are right in 0.1 of cases.")] = 0,
    coverage: Annotated[float, typer.Option(help="The share of questions a source has passages on.")] = 0.6,
    estimate: Annotated[int, typer.Option(min=0, help="Questions to estimate reliabilities on.")] = 40,
    test: Annotated[int, typer.Option(min=1, help="Questions to test on.")] = 60,
    seed: Annotated[int, typer.Option(help="The same seed gives the same files.")] = 0,
    texts: Annotated[
        str, typer.Option(help="Missing texts: substitution (in code) or model (generated and checked).")
    ] = "substitution",
    model: Annotated[str | None, typer.Option(help="local:NAME or openai:NAME, for --texts model.")] = None,
    journal: Annotated[
        str | None, typer.Option(help="File of the calls made; an interrupted run goes on.")
    ] = None,
) -> None:
    """Sources of known reliability that agree and disagree on the same questions (RA-RAG, appendix G)."""
    from disputatio.errors import InputError
    from disputatio.eval.multisource import build as make
    from disputatio.eval.multisource import pick, write
    from disputatio.eval.origins import read_material
    from disputatio.eval.substitution import substituted

    if texts not in ("substitution", "model"):
        raise InputError(f"--texts {texts}: take substitution or model")
    whole = [substituted(read_material(one), seed=seed) for one in origin]
    chosen = pick(whole, estimate=estimate, test=test, seed=seed)
    if texts == "model":
        from disputatio.config import build_kit, read_settings
        from disputatio.eval.fabrication import fabricated

        kit = build_kit(read_settings(model=model, journal=journal), say=_say)
        chosen = fabricated(chosen, kit, say=_say)
    built = make(
        chosen,
        sources=sources,
        prior=cast("Prior", prior),  # another word is refused there
        adversaries=adversaries,
        coverage=coverage,
        estimate=estimate,
        seed=seed,
    )
    made: dict[str, int] = {}
    for one in chosen:
        for how, n in one.made.items():
            made[how] = made.get(how, 0) + n
    about = {
        "origins": [name.partition(":")[0] for name in origin],
        "seed": seed,
        "prior": prior,
        "adversaries": adversaries,
        "coverage": coverage,
        "texts": made,
    }
    write(built, out, about=about)
    for name in ("passages.jsonl", "estimate.jsonl", "test.jsonl", "about.json"):
        typer.echo(out / name)


@app.command()
def corpus(
    dataset: Annotated[
        str,
        typer.Argument(help="NAME:PATH of a data set with passages; for datamorgana its corpus file."),
    ],
    out: Annotated[Path, typer.Option("--out", help="File of JSON lines, for `disputatio ingest`.")],
) -> None:
    """The texts of a data set, each once with its id, to be ingested as an index."""
    from disputatio.eval.corpora import write_corpus

    count = write_corpus(dataset, out)
    _say(f"{count} texts; next: disputatio ingest {out} --index DIR")
    typer.echo(out)


@app.command()
def imbalance(
    dataset: Annotated[str, typer.Argument(help="ramdocs:PATH, or a file of its format.")],
    out: Annotated[Path, typer.Option("--out", help="File of JSON lines, for `disputatio eval run jsonl:`.")],
    levels: Annotated[str, typer.Option(help="Passages for the other answer, rising.")] = "1,2,3",
    seed: Annotated[int, typer.Option(help="The same seed gives the same file.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="What was built, as one JSON object.")] = False,
) -> None:
    """Two right answers, one with a passage and the other with 1, 2, 3 (MADAM-RAG, figure 4a)."""
    _controlled("imbalance", dataset, out, levels=levels, seed=seed, as_json=as_json)


@app.command()
def misinformation(
    dataset: Annotated[str, typer.Argument(help="ramdocs:PATH, or a file of its format.")],
    out: Annotated[Path, typer.Option("--out", help="File of JSON lines, for `disputatio eval run jsonl:`.")],
    levels: Annotated[str, typer.Option(help="Passages for the wrong answer, rising; 0 is none.")] = "1,2,3",
    seed: Annotated[int, typer.Option(help="The same seed gives the same file.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="What was built, as one JSON object.")] = False,
) -> None:
    """Two right answers with a passage each, and 1, 2, 3 for a wrong one (MADAM-RAG, figure 4b)."""
    _controlled("misinformation", dataset, out, levels=levels, seed=seed, as_json=as_json)


def _controlled(
    kind: Literal["imbalance", "misinformation"],
    dataset: str,
    out: Path,
    *,
    levels: str,
    seed: int,
    as_json: bool,
) -> None:
    """Build one of the two controlled sets and say what came of it."""
    from disputatio.errors import InputError
    from disputatio.eval.controlled import controlled
    from disputatio.eval.datasets import load
    from disputatio.eval.row_file import write_lines

    steps = [one.strip() for one in levels.split(",")]
    if not all(one.isascii() and one.isdigit() for one in steps):
        raise InputError(f"--levels {levels}: numbers between commas, as in 1,2,3")
    built = controlled(load(dataset), kind, levels=[int(one) for one in steps], seed=seed)
    write_lines(out, built.rows)
    summary = {
        "kind": kind,
        "dataset": dataset,
        "seed": seed,
        "levels": [int(one) for one in steps],
        "questions": built.questions,
        "rows": len(built.rows),
        "misinformation": {"own": built.own, "made": built.made, "twins": built.twins},
        "left_out": {reason: [*rows] for reason, rows in built.left_out.items()},
    }
    _say(f"{built.questions} questions, each at {len(steps)} levels: {len(built.rows)} rows")
    if built.own or built.made:
        _say(
            f"misinformation passages: {built.own} of the data set, {built.made} copies with another answer "
            f"({built.twins} of a passage that stands beside them)"
        )
    for reason, rows in built.left_out.items():
        _say(f"{len(rows)} questions left out: {reason}")
    _end(summary, out, as_json=as_json)


def _end(summary: Mapping[str, Any], out: Path, *, as_json: bool) -> None:
    """The file's name on stdout, or what was built as one JSON object that names it."""
    typer.echo(json.dumps({**summary, "out": str(out)}, ensure_ascii=False) if as_json else out)


def _say(line: str) -> None:
    typer.echo(line, err=True)
