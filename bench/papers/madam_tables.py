"""MADAM-RAG's Table 1, Table 2, Figure 3 and Figures 4a and 4b on RAMDocs, as commands that can be stopped and resumed.

Without `--execute` the commands are printed; with it they run one after the other, and running again goes on
where it was stopped. All methods answer the same rows: those of `bench/papers/ramdocs_rows.txt`, drawn once with a
fixed seed so that every beginning of the list holds questions with one, two and three right answers as the
whole data set does; 60 rows are the first 60 of 100. `--draw` draws them anew, which gives the same file.

* **table1** (with Table 2's tokens): the paper's methods, our bound form of the debate (`madam_rag --set bound=true`) and
  `disputation`; Self-RAG and Speculative RAG send all their answers to an aggregator, as the paper has them do where a
  question has several answers.
* **shuffled**: the same, with the passages of each row in an order drawn by a seed: RAMDocs puts a right one first in nearly
  every row, and a method that trusts rank profits from that.
* **ambiguous**: the same on rows with several right answers, each borne by a document, and those documents alone, as a substitute for
  AmbigDocs, of which RAMDocs was made and which is not at hand.
* **figure3**: the debate with and without its aggregator, for 1, 2 and 3 rounds (with it for 3 is Table 1's).
* **figure4a**, **figure4b**: two right answers with 1 passage against 1 to 3, and 1 to 3 passages that tell a wrong
  one, for the three methods that the paper shows and `disputation`. The sets are built first, from the same data.

Run: python -m bench.papers.madam_tables --data DEV.jsonl --out runs/madam --rows 60 --execute
Then `python -m bench.papers.madam_page --runs runs/madam` writes bench/results/papers/madam_tables.md.
"""

from __future__ import annotations

import argparse
import json
import random
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from disputatio.eval.data.datasets import load
from disputatio.eval.metrics import answer_set
from disputatio.types import Example

ROWS = Path(__file__).with_name("ramdocs_rows.txt")
DRAWN = 100
SEED = 2504  # of the draw
PARTS = ("table1", "shuffled", "ambiguous", "figure3", "figure4a", "figure4b")
TABLE1 = (
    "closed_book,concat,self_reflection,self_rag,speculative_rag,astute_rag,madam_rag,bound=madam_rag,"
    "disputation",
    (
        "bound.bound=true",
        "self_rag.aggregate=all",
        "self_rag.threshold=-inf",
        "speculative_rag.aggregate=all",
    ),
)
ABLATION = (
    ("bare_1", "aggregator=false", 1),
    ("bare_2", "aggregator=false", 2),
    ("bare_3", "aggregator=false", 3),
    ("debate_1", "aggregator=true", 1),
    ("debate_2", "aggregator=true", 2),
)
FIGURE4 = ("concat,astute_rag,madam_rag,bound=madam_rag,disputation", ("bound.bound=true",))
KINDS = {"figure4a": "imbalance", "figure4b": "misinformation"}
LEVELS = 3  # passages of the growing side: 1, 2, 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One command; `makes` is the file that it leaves, so that it is not run again.

    `first` is what is done before it, here and not by the command line.
    """

    words: tuple[str, ...]
    makes: Path | None = None
    first: Callable[[], None] | None = None


def draw(examples: Sequence[Example], count: int = DRAWN, seed: int = SEED) -> list[int]:
    """Return row numbers in an order of which every beginning is stratified by the number of right answers.

    The i-th of the n rows of a stratum, in random order, stands at (i + 1/2) / n of the list, so that the first
    m rows hold the share of each stratum to within one row.
    """
    chance = random.Random(seed)
    strata: dict[int, list[int]] = {}
    for example in examples:
        strata.setdefault(len(answer_set(example.gold)), []).append(example.row)
    placed = []
    for _, rows in sorted(strata.items()):
        chance.shuffle(rows)
        placed += [((at + 0.5) / len(rows), chance.random(), row) for at, row in enumerate(rows)]
    return [row for _, _, row in sorted(placed)[:count]]


def shuffle(data: Path, out: Path, seed: int = SEED) -> None:
    """Write RAMDocs with the documents of each row in an order drawn for the row by the seed."""
    lines = []
    for number, line in enumerate(data.read_text(encoding="utf-8").splitlines()):
        row = json.loads(line)
        documents = row["documents"]
        row["documents"] = random.Random(f"{seed}-{number}").sample(documents, len(documents))
        lines.append(json.dumps(row, ensure_ascii=False))
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text("\n".join(lines) + "\n", encoding="utf-8")


def ambiguous(data: Path, out: Path, *, even: bool) -> None:
    """Write the drawn rows with several right answers, each borne by a document, with those documents alone."""
    rows = [json.loads(line) for line in data.read_text(encoding="utf-8").splitlines()]
    lines = []
    for number in map(int, ROWS.read_text(encoding="utf-8").split()):
        row = rows[number]
        right = [document for document in row["documents"] if document["type"] == "correct"]
        borne = set(row["gold_answers"]) <= {document["answer"] for document in right}
        if len(row["gold_answers"]) > 1 and borne and not (even and number % 2):
            lines.append(json.dumps({**row, "documents": right, "wrong_answers": []}, ensure_ascii=False))
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text("\n".join(lines) + "\n", encoding="utf-8")


def even_rows(out: Path) -> None:
    """Write the even ones of the drawn rows, in the same order."""
    drawn = [int(line) for line in ROWS.read_text(encoding="utf-8").split()]
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text("".join(f"{row}\n" for row in drawn if row % 2 == 0), encoding="utf-8")


def steps(arguments: argparse.Namespace) -> Iterator[Step]:
    """Yield the commands of the parts that are wanted, in order; the tables come last.

    Figure 4 is told by the reports of its sets, by level: the paper's text has no figures to stand beside.
    """
    ramdocs, out = f"ramdocs:{arguments.data}", Path(arguments.out)
    path = ROWS.relative_to(Path.cwd()) if ROWS.is_relative_to(Path.cwd()) else ROWS
    if arguments.even:
        path = out / "even_rows.txt"
    same = ["--rows", str(path), "--limit", str(arguments.rows)]
    folders = []
    if "table1" in arguments.parts:
        folders.append(out / "ramdocs")
        yield _run(arguments, ramdocs, TABLE1[0], TABLE1[1], folders[-1], same)
    if "shuffled" in arguments.parts:
        made = out / "ramdocs-shuffled.jsonl"
        run = _run(arguments, f"ramdocs:{made}", TABLE1[0], TABLE1[1], out / "shuffled", same)
        yield replace(run, first=partial(shuffle, Path(arguments.data), made))
    if "ambiguous" in arguments.parts:
        made = out / "ramdocs-ambiguous.jsonl"
        limit = ["--limit", str(arguments.rows)]
        run = _run(arguments, f"ramdocs:{made}", TABLE1[0], TABLE1[1], out / "ambiguous", limit)
        yield replace(run, first=partial(ambiguous, Path(arguments.data), made, even=arguments.even))
    if "figure3" in arguments.parts:
        folders.append(out / "ramdocs-figure3")
        named = ",".join(f"{label}=madam_rag" for label, _, _ in ABLATION)
        settings = [f"{label}.{set_to}" for label, set_to, _ in ABLATION]
        settings += [f"{label}.rounds={rounds}" for label, _, rounds in ABLATION]
        yield _run(arguments, ramdocs, named, settings, folders[-1], same)
    for part, kind in KINDS.items():
        if part in arguments.parts:
            made = out / f"{kind}.jsonl"
            yield Step(words=("eval", "build", kind, ramdocs, "--out", str(made)), makes=made)
            first = ["--limit", str(arguments.questions * LEVELS)]
            yield _run(arguments, f"jsonl:{made}", FIGURE4[0], FIGURE4[1], out / part, first)
            yield Step(words=("eval", "report", str(out / part)))
    if folders:
        yield Step(words=("eval", "tables", "--paper", "madam", *map(str, folders)))


def _run(
    arguments: argparse.Namespace,
    dataset: str,
    strategies: str,
    settings: Sequence[str],
    out: Path,
    rows: Sequence[str],
) -> Step:
    """Return one evaluation; its folder is its journal, where running again goes on."""
    words = ["eval", "run", dataset, "--strategy", strategies, "--out", str(out), *rows]
    words += [argument for setting in settings for argument in ("--set", setting)]
    words += ["--workers", str(arguments.workers), *(("--model", arguments.model) if arguments.model else ())]
    return Step(words=tuple(words))


def execute(made: Sequence[Step], program: Sequence[str]) -> int:
    """Run the commands in order, and say which ended badly; an evaluation that was stopped ends all."""
    worst = 0
    for step in made:
        if step.makes is not None and step.makes.exists():
            continue
        print("$ disputatio " + shlex.join(step.words), file=sys.stderr, flush=True)
        if step.first is not None:
            step.first()
        if step.words[1] == "run":
            Path(step.words[step.words.index("--out") + 1]).parent.mkdir(parents=True, exist_ok=True)
        if step.makes is not None:
            step.makes.parent.mkdir(parents=True, exist_ok=True)
        code = subprocess.run([*program, *step.words], check=False).returncode
        worst = max(worst, code)
        if code not in (0, 3):  # 3: some questions failed, and the others were answered
            print(f"ended with {code}: run this again to go on there", file=sys.stderr)
            return code
    return worst


def main(words: Sequence[str] | None = None) -> int:
    """Draw, print or run."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", required=True, help="RAMDocs as JSON lines")
    parser.add_argument("--out", default="runs/madam", help="folder of the runs")
    parser.add_argument("--rows", type=int, default=60, help=f"rows of Table 1 and Figure 3, at most {DRAWN}")
    parser.add_argument(
        "--even", action="store_true", help="of the drawn rows the even ones: none was tuned on"
    )
    parser.add_argument("--questions", type=int, default=30, help="questions a point of Figure 4")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--model", default="", help="local:NAME or openai:NAME")
    parser.add_argument("--workers", type=int, default=8, help="questions in flight")
    parser.add_argument("--draw", action="store_true", help=f"write {ROWS.name} and end")
    parser.add_argument("--execute", action="store_true", help="run the commands, not only print them")
    arguments = parser.parse_args(words)
    if not 1 <= arguments.rows <= DRAWN:
        parser.error(f"--rows {arguments.rows}: {ROWS.name} has {DRAWN}")
    if arguments.draw:
        ROWS.write_text(
            "".join(f"{row}\n" for row in draw(load(f"ramdocs:{arguments.data}"))), encoding="utf-8"
        )
        return 0
    made = list(steps(arguments))
    if arguments.execute and arguments.even:
        even_rows(Path(arguments.out) / "even_rows.txt")
    if arguments.execute:
        return execute(made, [str(Path(sys.executable).with_name("disputatio"))])
    for step in made:
        print("disputatio " + shlex.join(step.words))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
