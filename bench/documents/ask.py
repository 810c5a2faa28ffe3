"""Ask the questions about the folder of bench/documents, and grade the answers: right, half, wrong or abstained.

    python -m bench.documents.ask --part development --strategy disputation,concat --out DIR [--model NAME]
        [--reader NAME] [--no-look] [--min-confidence P] [--metadata found|stated] [--sample N] [--minutes N] [--journal FILE]
    python -m bench.documents.ask --part development --out DIR --show

The documents are written and ingested below `--out` as a user would ingest them, and each question is asked through
`disputatio.ask` with its defaults. Every answer is on disk before the next question, and the same command goes on where
it was stopped; another model, index or version of the code needs another folder. Faults are counted apart and asked
again. `--sample` asks the first so many of an order in which kinds take turns. `--show` prints the tables and every
answer that is not right, and asks nothing.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, get_args

from bench import ROOT
from bench.documents.build import SIDECAR, Metadata, build
from bench.documents.questions import SHA256, Part, Question, read_questions
from bench.documents.score import Grade, grade
from bench.lib.asking import against, say, table, told
from bench.lib.files import read_lines
from disputatio.errors import DisputatioError

ANSWERS, ABOUT = "answers.jsonl", "about.json"
GRADES: Sequence[Grade] = ("right", "half", "wrong", "abstained")
MOST_FAULTS = 3  # in a row, after which a run stops
WITH_MODEL = ("concat",)  # strategies that have no answer without a language model


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """One strategy's answer to one question, as it was given; `fault` where none came."""

    question: str
    strategy: str
    answers: Sequence[str] = ()
    abstained: str = ""
    conflict: str = ""
    text: str = ""
    positions: Sequence[dict[str, Any]] = ()
    calls: int = 0
    tokens: int = 0
    seconds: float = 0.0
    core_seconds: float = 0.0
    fault: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A folder of answers: what was asked of whom, and what came of it."""

    about: dict[str, Any]
    given: Sequence[Given] = field(default_factory=list)

    def of(self, strategy: str) -> dict[str, Given]:
        """Return the newest answer of a strategy to each question, faults where nothing else came."""
        return {each.question: each for each in self.given if each.strategy == strategy}


def in_turns(questions: Sequence[Question]) -> list[Question]:
    """Order questions so that kinds take turns: any first part of them has all kinds in it."""
    placed: dict[str, int] = {}
    order = []
    for question in sorted(questions, key=lambda each: hashlib.sha256(each.id.encode()).hexdigest()):
        placed[question.kind] = placed.get(question.kind, 0) + 1
        order.append((placed[question.kind], question.kind, question))
    return [question for *_, question in sorted(order, key=lambda each: each[:2])]


# --- asking ---------------------------------------------------------------------------------------
def ingest(out: Path, metadata: Metadata, part: Part, embedder: str | None) -> tuple[Path, str]:
    """Write the documents and ingest them, once; return the index and the digest of the folder."""
    folder, index = out / "documents", out / "index"
    digest = build(folder, metadata, part)
    if not index.exists():
        words = [
            str(Path(sys.executable).with_name("disputatio")),
            "ingest",
            str(folder),
            "--index",
            str(index),
        ]
        words += ["--sidecar", str(folder / SIDECAR)] if metadata == "stated" else []
        words += ["--embedder", embedder] if embedder else []
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        (out / "ingest.log").write_text(done.stdout + done.stderr, encoding="utf-8")
        if done.returncode:
            raise SystemExit(f"ingest ended with {done.returncode}: see {out / 'ingest.log'}")
    return index, digest


def ask_one(question: Question, strategy: str, **parts: Any) -> Given:
    """Ask one question as a user of the library would; faults of ours are kept, others end the run."""
    import disputatio

    began, cores = time.perf_counter(), core_seconds()
    given = Given(question=question.id, strategy=strategy)
    try:
        answer = disputatio.ask(question.question, strategy=strategy, **parts)
    except DisputatioError as error:
        given = replace(given, fault=f"{type(error).__name__}: {error}"[:300])
    else:
        given = replace(
            given,
            answers=list(answer.answers),
            abstained=answer.abstained or "",
            conflict=answer.conflict.kind,
            text=answer.text,
            positions=[
                {
                    "answer": position.answer,
                    "verdict": position.verdict,
                    "reason": position.reason,
                    "probability": position.probability,
                    "sources": list(position.sources),
                }
                for position in answer.conflict.positions
            ],
            calls=answer.usage.calls,
            tokens=answer.usage.prompt_tokens + answer.usage.completion_tokens,
            fault="answer was a fault" if answer.abstained == "fault" else "",
        )
    return replace(given, seconds=time.perf_counter() - began, core_seconds=core_seconds() - cores)


def core_seconds(process: int | None = None) -> float:
    """Return the processor time of a process (this one) and of all below it, where an embedded model runs."""
    return sum(_core_seconds_of(each) for each in _with_children(process or os.getpid()))


def _with_children(process: int) -> Iterator[int]:
    yield process
    for file in Path(f"/proc/{process}/task").glob("*/children"):
        with suppress(OSError):  # the thread has ended meanwhile
            for child in file.read_text(encoding="utf-8").split():
                yield from _with_children(int(child))


def _core_seconds_of(process: int) -> float:
    try:
        fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError:  # it has ended meanwhile
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def run(asked: argparse.Namespace) -> None:
    """Ask what has not been asked yet."""
    out: Path = asked.out
    os.environ["DISPUTATIO_JOURNAL"] = asked.journal  # of the embedder of an index, too
    out.mkdir(parents=True, exist_ok=True)
    index, digest = ingest(out, asked.metadata, asked.part, asked.embedder)
    about = {
        "part": asked.part,
        "questions": SHA256[asked.part],
        "documents": digest,
        "metadata": asked.metadata,
        "model": asked.model or "default",
        "reader": asked.reader or "default",
        **({"embedder": asked.embedder} if asked.embedder else {}),
        **({"look": False} if asked.no_look else {}),
        **({} if asked.min_confidence is None else {"min_confidence": asked.min_confidence}),
        "commit": version(),
        "cores": os.cpu_count(),
    }
    kept = out / ABOUT
    if kept.exists() and (before := json.loads(kept.read_text(encoding="utf-8"))) != about:
        raise SystemExit(f"{out} was begun with {before}, now it is {about}: name another folder")
    kept.write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")
    questions = in_turns(read_questions(asked.part))[: asked.sample]
    strategies = asked.strategy.split(",")
    done = {(each.question, each.strategy) for each in read_run(out).given if not each.fault}
    ends, faults = time.monotonic() + 60 * asked.minutes, 0
    with (out / ANSWERS).open("a", encoding="utf-8") as file:
        for number, question in enumerate(questions, 1):
            for strategy in strategies:
                if (question.id, strategy) in done or (asked.model == "none" and strategy in WITH_MODEL):
                    continue
                if time.monotonic() > ends or faults == MOST_FAULTS:
                    say(f"stopped: {faults} faults in a row" if faults else "stopped: its minutes are over")
                    return
                own = {"reader": asked.reader} if asked.reader else {}
                own |= {"look": False} if asked.no_look else {}
                own |= {} if asked.min_confidence is None else {"min_confidence": asked.min_confidence}
                own = own if strategy == "disputation" else {}
                given = ask_one(question, strategy, index=index, model=asked.model, **own)
                file.write(json.dumps(asdict(given), ensure_ascii=False) + "\n")
                file.flush()
                faults = faults + 1 if given.fault else 0
                word = "fault" if given.fault else grade(given.answers, question)
                say(f"{number}/{len(questions)} {question.id} {strategy}: {word}, {given.seconds:.0f} s")


def version() -> str:
    """Return the commit of this checkout; a `+` says that tracked files were changed."""
    words = ["git", "-C", str(ROOT), "describe", "--always", "--dirty=+", "--exclude=*", "--abbrev=12"]
    return subprocess.run(words, capture_output=True, text=True, check=False).stdout.strip()


# --- reading --------------------------------------------------------------------------------------
def read_run(out: Path) -> Run:
    """Return what was asked so far below a folder."""
    about = out / ABOUT
    return Run(
        about=json.loads(about.read_text(encoding="utf-8")) if about.exists() else {},
        given=[Given(**fields) for fields in read_lines(out / ANSWERS)],
    )


def grades(run: Run, strategy: str, questions: Sequence[Question]) -> dict[str, Grade]:
    """Return the grade of each question that a strategy answered without a fault."""
    given = run.of(strategy)
    return {
        each.id: grade(given[each.id].answers, each)
        for each in questions
        if each.id in given and not given[each.id].fault
    }


def by_kind(run: Run, strategy: str, questions: Sequence[Question]) -> str:
    """Return the table of grades by kind of question, the sum last."""
    graded, given = grades(run, strategy, questions), run.of(strategy)
    kinds = sorted({each.kind for each in questions})
    rows = []
    for kind in [*kinds, ""]:
        those = [each.id for each in questions if kind in ("", each.kind)]
        marks = [graded[name] for name in those if name in graded]
        failed = sum(name in given and bool(given[name].fault) for name in those)
        if marks or failed:
            counts = [marks.count(word) for word in GRADES]
            rows.append([kind or "**all**", len(marks), *counts, failed])
    return table(["kind", "n", *GRADES, "failed"], rows)


def shares(run: Run, strategy: str, questions: Sequence[Question]) -> dict[str, str]:
    """Return the share of each grade among the answered questions, with its interval."""
    marks = list(grades(run, strategy, questions).values())
    return {word: told([float(mark == word) for mark in marks]) for word in GRADES}


def cost(run: Run, strategy: str) -> list[str]:
    """Return the means of calls, tokens, seconds and core-seconds a question."""
    those = [each for each in run.of(strategy).values() if not each.fault]
    names = ("calls", "tokens", "seconds", "core_seconds")
    return [f"{sum(getattr(each, name) for each in those) / max(1, len(those)):.1f}" for name in names]


def difference(
    first: tuple[Run, str], other: tuple[Run, str], questions: Sequence[Question], word: Grade = "right"
) -> str:
    """Return the paired difference of the share of a grade, on the questions that both answered."""
    one, two = (grades(*each, questions) for each in (first, other))
    both = sorted(one.keys() & two.keys())
    return against([float(one[name] == word) for name in both], [float(two[name] == word) for name in both])


def lines(run: Run, questions: Sequence[Question]) -> Iterator[str]:
    """Yield the tables of a run, and each answer that is not right with what was expected."""
    strategies = list(dict.fromkeys(each.strategy for each in run.given))
    yield f"{json.dumps(run.about)}\n"
    for strategy in strategies:
        yield f"## {strategy}\n\n{by_kind(run, strategy, questions)}\n"
        yield ", ".join(f"{word} {share}" for word, share in shares(run, strategy, questions).items())
        yield "calls, tokens, seconds, core-seconds a question: " + ", ".join(cost(run, strategy)) + "\n"
    if len(strategies) == 2:
        yield f"right, {' against '.join(strategies)}: " + difference(
            (run, strategies[0]), (run, strategies[1]), questions
        )
    for strategy in strategies:
        given, graded = run.of(strategy), grades(run, strategy, questions)
        for each in questions:
            if graded.get(each.id, "right") == "right":
                continue
            sides = "; ".join(
                f"{side['verdict']} {side['answer']} ({side['reason']})" for side in given[each.id].positions
            )
            wanted = " + ".join(names[0] for names in each.accept) or "to abstain"
            yield (
                f"- {each.id} {each.kind} **{graded[each.id]}** {strategy}: {each.question}\n  wanted: {wanted}; "
                f"got: {list(given[each.id].answers) or given[each.id].abstained}\n  positions: {sides}"
            )


def main() -> None:
    """Ask, or show what was answered."""
    summary = (__doc__ or "").splitlines()[0]
    parser = argparse.ArgumentParser(prog="python -m bench.documents.ask", description=summary)
    parser.add_argument("--part", choices=get_args(Part), required=True)
    parser.add_argument("--strategy", default="disputation", help="one or more, separated by commas")
    parser.add_argument("--model", help="as for `disputatio ask`; by default its default")
    parser.add_argument("--reader", help="of `disputation`; by default its default")
    parser.add_argument("--embedder", help="of the index; by default its default")
    parser.add_argument("--no-look", action="store_true", help="`disputation` without its joint look")
    parser.add_argument(
        "--min-confidence", type=float, metavar="P", help="of `disputation`; 0 withholds nothing"
    )
    parser.add_argument("--metadata", choices=get_args(Metadata), default="found")
    parser.add_argument("--sample", type=int, metavar="N", help="only so many questions")
    parser.add_argument(
        "--minutes", type=float, default=1e6, metavar="N", help="begin no question after so many"
    )
    parser.add_argument(
        "--journal", default="none", metavar="FILE", help="where calls are kept, to be repeated free"
    )
    parser.add_argument("--out", type=Path, required=True, metavar="DIR")
    parser.add_argument("--show", action="store_true", help="print what was answered, ask nothing")
    asked = parser.parse_args()
    if not asked.show:
        run(asked)
    print("\n".join(lines(read_run(asked.out), read_questions(asked.part))))


if __name__ == "__main__":
    main()
