"""`disputatio eval build` and `eval synthesize`: make a benchmark out of published data, or of one's own."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from disputatio.cli.options import Journal, Json, Model, Replay
from disputatio.errors import InputError

if TYPE_CHECKING:
    from disputatio.eval.builders.material import Material
    from disputatio.eval.builders.synthesis import Synthetic
    from disputatio.protocols import Retriever

Seed = Annotated[int, typer.Option(metavar="N", help="The same seed gives the same file.")]
QuestionCount = Annotated[int | None, typer.Option(metavar="N", min=1, help="How many.  [default: all]")]
RamDocs = Annotated[str, typer.Argument(metavar="ramdocs:PATH", help="RAMDocs, or a file of its format.")]
LinesFile = Annotated[
    Path, typer.Option("--out", metavar="FILE", help="File of JSON lines, for `disputatio eval run jsonl:`.")
]

app = typer.Typer(help="Make a benchmark out of published data.", no_args_is_help=True)


@app.callback()
def build() -> None:
    """Make a benchmark out of published data."""


@app.command()
def multisource(
    origin: Annotated[
        list[str],
        typer.Argument(
            metavar="NAME:PATH...",
            help="Of conflictnq, nq_with_passages or poisonedrag; the first is used up first.",
        ),
    ],
    out: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="Folder for passages, questions and their record.")
    ],
    sources: Annotated[int, typer.Option(metavar="N", min=1, help="How many sources.")] = 9,
    prior: Annotated[
        Literal["beta", "adversary-hammer"],
        typer.Option(metavar="NAME", help="Prior of reliability: beta or adversary-hammer."),
    ] = "beta",
    adversaries: Annotated[
        int, typer.Option(metavar="N", min=0, help="Sources that are right on 10 % of questions.")
    ] = 0,
    coverage: Annotated[
        float, typer.Option(metavar="SHARE", help="Share of the questions that a source has passages on.")
    ] = 0.6,
    estimate: Annotated[
        int, typer.Option(metavar="N", min=0, help="Questions to estimate reliability on.")
    ] = 40,
    test: Annotated[int, typer.Option(metavar="N", min=1, help="Questions to test on.")] = 60,
    seed: Seed = 0,
    draw: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Another draw of the sources: who errs, on what; the questions and texts of --seed stay.",
        ),
    ] = None,
    texts: Annotated[
        Literal["substitution", "model"],
        typer.Option(
            metavar="substitution|model",
            help="How missing texts are made: by code, or by a model (and checked).",
        ),
    ] = "substitution",
    model: Model = None,
    journal: Journal = None,
    as_json: Json = False,
) -> None:
    """Build sources of known reliability that agree and disagree on questions (RA-RAG, appendix G)."""
    from disputatio.eval.builders.multisource import build as make
    from disputatio.eval.builders.multisource import pick, write
    from disputatio.eval.builders.origins import read_material
    from disputatio.eval.builders.substitution import substitute

    whole = [substitute(read_material(spec), seed=seed) for spec in origin]
    chosen = pick(whole, estimate=estimate, test=test, seed=seed)
    if texts == "model":
        from disputatio.config import read_settings
        from disputatio.eval.builders.fabrication import fabricate
        from disputatio.parts import build_kit

        kit = build_kit(read_settings(model=model, journal=journal), say=tell)
        chosen = fabricate(chosen, kit, say=tell)
    built = make(
        chosen,
        sources=sources,
        prior=prior,
        adversaries=adversaries,
        coverage=coverage,
        estimate=estimate,
        seed=seed if draw is None else draw,
    )
    made: Counter[str] = Counter()
    for material in chosen:
        made.update(material.made)
    about = {
        "origins": [name.partition(":")[0] for name in origin],
        "seed": seed,
        **({} if draw is None else {"draw": draw}),
        "prior": prior,
        "adversaries": adversaries,
        "coverage": coverage,
        "texts": made,
    }
    write(built, out, about=about)
    if as_json:
        counts = {"passages": len(built.passages), "estimate": estimate, "test": test}
        _end({"kind": "multisource", **about, **counts}, out, as_json=True)
        return
    for name in ("passages.jsonl", "estimate.jsonl", "test.jsonl", "about.json"):
        typer.echo(out / name)


@app.command()
def ramdocs(
    origin: Annotated[
        str,
        typer.Argument(
            metavar="NAME:PATH",
            help="Questions: ambignq:PATH, or another data set with several right answers.",
        ),
    ],
    out: Annotated[
        Path,
        typer.Option("--out", metavar="FILE", help="File of JSON lines, for `disputatio eval run ramdocs:`."),
    ],
    index: Annotated[Path | None, typer.Option(metavar="DIR", help="Folder of the index to search.")] = None,
    passages: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE|NAME:PATH",
            help="Passages of a file or of a data set.  [default: those of each row]",
        ),
    ] = None,
    questions: QuestionCount = None,
    answers: Annotated[
        str, typer.Option(metavar="SHARES", help="Shares of questions with 1, 2, ... answers.")
    ] = "",
    supports: Annotated[
        str, typer.Option(metavar="SHARES", help="Shares of answers with 1, 2, ... passages.")
    ] = "",
    misinformation: Annotated[
        str, typer.Option(metavar="SHARES", help="Shares of questions with 0, 1, ... such passages.")
    ] = "",
    noise: Annotated[
        str, typer.Option(metavar="SHARES", help="Shares of questions with 0, 1, ... such passages.")
    ] = "",
    depth: Annotated[int, typer.Option(metavar="N", min=1, help="Passages searched for each question.")] = 20,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Combine ambiguity, misinformation and noise, in RAMDocs' format (MADAM-RAG, section 3)."""
    from disputatio.eval.builders import mixture
    from disputatio.eval.builders.ambiguity import pool, read_ambiguous
    from disputatio.eval.builders.material import write_lines
    from disputatio.store.in_memory import InMemory

    if index is not None and passages:
        raise InputError("--index and --passages: take one of the two")
    ambiguous = read_ambiguous(origin)
    whole: Retriever | None = None
    if index is not None:
        from disputatio.config import read_settings
        from disputatio.eval.running.preparing import retriever_for

        whole = retriever_for(index, read_settings(index=index), tell)
    elif passages:
        whole = InMemory(pool(passages))
    elif not any(question.passages for question in ambiguous):
        raise InputError(f"{origin}: its rows have no passages; name --index DIR or --passages FILE")
    built = mixture.mix(
        ambiguous,
        lambda question: whole or InMemory(question.passages),
        questions=questions,
        answers=_shares("--answers", answers, 1) or mixture.ANSWERS,
        supports=_shares("--supports", supports, 1) or mixture.SUPPORTS,
        misinformation=_shares("--misinformation", misinformation, 0) or mixture.MISINFORMATION,
        noisy=_shares("--noise", noise, 0) or mixture.NOISE,
        depth=depth,
        seed=seed,
    )
    write_lines(out, built.rows)
    measures = mixture.statistics(built.rows)
    tell(f"{len(built.rows)} of {len(ambiguous)} questions")
    for line in mixture.table(measures):
        tell(line)
    for what, count in built.short.items():
        tell(f"{count} too few: {what}")
    if built.twins:
        tell(f"{built.twins} misinformation passages stand beside the very passage that they copy")
    summary = {
        "kind": "ramdocs",
        "origin": origin,
        "seed": seed,
        "rows": len(built.rows),
        "statistics": {
            measure.name: {"mean": round(measure.mean, 3), "target": measure.target, "counts": measure.counts}
            for measure in measures
        },
        "short": dict(built.short),
        "twins": built.twins,
        "left_out": {reason: [*rows] for reason, rows in built.left_out.items()},
    }
    _end(summary, out, as_json=as_json)


def _shares(option: str, text: str, first: int) -> dict[int, float]:
    """Return shares of the numbers from `first` on; raises `InputError` that names the option."""
    try:
        shares = [float(part) for part in text.split(",")] if text else []
    except ValueError:
        raise InputError(f"{option} {text}: shares between commas, as in 0.5,0.3,0.2") from None
    if text and not (all(0 <= share <= 1e6 for share in shares) and sum(shares) > 0):
        raise InputError(f"{option} {text}: shares are numbers from 0, of which one is above it")
    return dict(enumerate(shares, first))


@app.command()
def inconsistent(
    origin: Annotated[
        list[str],
        typer.Argument(
            metavar="NAME:PATH...",
            help="Of conflictnq, nq_with_passages or poisonedrag, or of a data set with passages.",
        ),
    ],
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            metavar="FILE",
            help="File of JSON lines, for `disputatio eval run faitheval_inconsistent:`.",
        ),
    ],
    questions: QuestionCount = None,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Pair documents that contradict each other on a question, in FaithEval's format."""
    from disputatio.eval.builders.inconsistent import contradict, read_single
    from disputatio.eval.builders.material import write_lines

    origins: dict[str, list[Material]] = {}
    for spec in origin:
        origins.setdefault(spec.partition(":")[0], []).extend(read_single(spec))
    built = contradict(origins, questions=questions, seed=seed)
    write_lines(out, built.rows)
    tell(f"{len(built.rows)} pairs")
    for how, count in built.made.items():
        tell(f"{count} with {how} as the contradicting document")
    summary = {
        "kind": "inconsistent",
        "origins": origin,
        "seed": seed,
        "rows": len(built.rows),
        "made": dict(built.made),
        "left_out": dict(built.left_out),
    }
    _end(summary, out, as_json=as_json)


@app.command()
def corpus(
    dataset: Annotated[
        str,
        typer.Argument(
            metavar="NAME:PATH", help="A data set with passages; for datamorgana its corpus file."
        ),
    ],
    out: Annotated[
        Path, typer.Option("--out", metavar="FILE", help="File of JSON lines, for `disputatio ingest`.")
    ],
) -> None:
    """Write the texts of a data set, each once with its id, for `disputatio ingest`."""
    from disputatio.eval.data.corpora import write_corpus

    count = write_corpus(dataset, out)
    tell(f"{count} texts; next: disputatio ingest {out} --index DIR")
    typer.echo(out)


@app.command()
def imbalance(
    dataset: RamDocs,
    out: LinesFile,
    levels: Annotated[
        str, typer.Option(metavar="N,...", help="Passages for the other answer, rising.")
    ] = "1,2,3",
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Give one right answer a passage and another 1, 2 or 3 (MADAM-RAG, figure 4a)."""
    _build_controlled("imbalance", dataset, out, levels=levels, seed=seed, as_json=as_json)


@app.command()
def misinformation(
    dataset: RamDocs,
    out: LinesFile,
    levels: Annotated[
        str, typer.Option(metavar="N,...", help="Passages for the wrong answer, rising; 0: none.")
    ] = "1,2,3",
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Give two right answers a passage each and a wrong one 1, 2 or 3 (MADAM-RAG, figure 4b)."""
    _build_controlled("misinformation", dataset, out, levels=levels, seed=seed, as_json=as_json)


def _build_controlled(
    kind: Literal["imbalance", "misinformation"],
    dataset: str,
    out: Path,
    *,
    levels: str,
    seed: int,
    as_json: bool,
) -> None:
    from disputatio.eval.builders.controlled import build_controlled
    from disputatio.eval.builders.material import write_lines
    from disputatio.eval.data.datasets import load

    steps = [level.strip() for level in levels.split(",")]
    if not all(step.isascii() and step.isdigit() for step in steps):
        raise InputError(f"--levels {levels}: numbers between commas, as in 1,2,3")
    built = build_controlled(load(dataset), kind, levels=[int(step) for step in steps], seed=seed)
    write_lines(out, built.rows)
    summary = {
        "kind": kind,
        "dataset": dataset,
        "seed": seed,
        "levels": [int(step) for step in steps],
        "questions": built.questions,
        "rows": len(built.rows),
        "misinformation": {"own": built.published, "made": built.made, "twins": built.twins},
        "left_out": {reason: [*rows] for reason, rows in built.left_out.items()},
    }
    tell(f"{built.questions} questions, each at {len(steps)} levels: {len(built.rows)} rows")
    if built.published or built.made:
        tell(
            f"misinformation passages: {built.published} of the data set, {built.made} copies with another "
            f"answer ({built.twins} of a passage that stands beside them)"
        )
    _end(summary, out, as_json=as_json)


def _end(summary: Mapping[str, Any], out: Path, *, as_json: bool) -> None:
    """Print the file's name, or what was built as one JSON object that names it; what was left out before."""
    for reason, rows in summary.get("left_out", {}).items():
        tell(f"{rows if isinstance(rows, int) else len(rows)} questions left out: {reason}")
    typer.echo(json.dumps({**summary, "out": str(out)}, ensure_ascii=False) if as_json else out)


def tell(line: str) -> None:
    """Print a line on stderr as it is, unless it is empty."""
    if line:
        typer.echo(line, err=True)


# --- eval synthesize: a test set of one's own, from one's own index --------------------------------


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
    seed: Seed = 0,
    model: Model = None,
    journal: Journal = None,
    replay: Replay = False,
) -> None:
    """Write questions with checked answers from passages. `eval run jsonl:FILE` reads them."""
    from disputatio.config import read_settings
    from disputatio.eval.builders.synthesis import change_mix, prompts_hash
    from disputatio.eval.builders.synthesis import synthesize as make
    from disputatio.parts import build_kit, embedder_for
    from disputatio.store.opening import open_index, require_folder

    shares = change_mix(mix or [])
    settings = read_settings(model=model, journal=journal, replay=replay or None, index=index)
    opened = require_folder(
        open_index(index, embedder=embedder_for(settings, index, say=tell), create=False),
        "draw questions from",
    )
    kit = build_kit(settings, retriever=opened, say=tell)
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
    tell(
        f"{count} of {questions} questions; next: "
        f"disputatio eval run jsonl:{out} --index {index} --strategy ..."
    )
    for reason, n in sorted(failed.items(), key=lambda pair: -pair[1]):
        tell(f"{n} came to nothing: {reason}")
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
