"""Measure the papers' tables: each file of bench/papers/tables/ says what is asked and which figures stand beside ours.

    python -m bench.papers.tables list
    python -m bench.papers.tables run NAME...|all [--data DIR] [--runs DIR] [--limit N] [--dry-run] [--model MODEL]
    python -m bench.papers.tables page NAME...

`run` says what it will cost, builds the data sets, asks through `disputatio eval run` and writes the page; `all` leaves out tables
whose data are not there. What is not known here goes to `eval run`: `--model`, `--role`, `--in-flight`, `--budget-tokens`. Every evaluation is resumable: the same
command goes on where it was stopped. `page` writes the page of what was asked so far and asks nothing.

Keys of a table: `title`, `page` (below bench/results), `paper` and `tables` (which of the papers' tables, by the ids of
`disputatio eval tables`), or `numbers` (`title`, `head`, `rows`: figures that `eval tables` lacks), `differs` (how we differ from the
paper), and `runs`. Keys of a run: `name` (its folder), `title`, `dataset`, `strategies`, and if needed `options`, `limit`, `flags` (further
words of `eval run`), `build` (commands of `disputatio eval build`, or `ingest` or a module of bench, each with what it writes as its last word), `rows` (a file of row numbers beside the table), `even` (only the
even ones of these), `shuffle` (passages in an order drawn for each row), `against` (the strategy to compare with). `{data}` and
`{runs}` are the folders of the command line.
"""

from __future__ import annotations

import json
import random
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench import RESULTS
from bench.lib.asking import table
from bench.lib.files import write_whole
from bench.lib.options import parser_of
from disputatio.errors import DisputatioError, InputError
from disputatio.eval.reporting.paper_tables import paper_tables
from disputatio.eval.reporting.report import report
from disputatio.eval.reporting.tables import Table as Grid
from disputatio.eval.reporting.tables import describe_setting, grid, tables
from disputatio.eval.running.entrants import entrants
from disputatio.pipeline import read_costs
from disputatio.spending import read_prices
from disputatio.types import Usage

FOLDER = Path(__file__).with_name("tables")
SEED = 2504  # of the order of passages
ROWS_UNKNOWN = 100  # questions that are assumed of a run that names no number
ANSWERED, SOME_FAILED = 0, 3  # exit codes of `eval run` after which the next run is started


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One evaluation: a data set, the strategies that answer it, and their options."""

    name: str
    dataset: str
    strategies: str
    title: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    limit: int | None = None
    flags: Sequence[str] = ()
    build: Sequence[Sequence[str]] = ()
    rows: str = ""
    even: bool = False
    shuffle: bool = False
    against: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperTable:
    """A table of a paper, or several that are measured together."""

    name: str
    title: str
    page: str
    runs: Sequence[Run]
    paper: str = ""
    tables: Sequence[str] = ()
    numbers: Sequence[Mapping[str, Any]] = ()
    differs: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Folders:
    """The folders of the data sets and of the runs."""

    data: Path
    runs: Path

    def fill(self, text: str) -> str:
        """Put the folders into a text of a table."""
        return text.replace("{data}", str(self.data)).replace("{runs}", str(self.runs))


def read_table(name: str, folder: Path | None = None) -> PaperTable:
    """Read a table by name; raises `InputError` if there is none, or if it has a key that is not known."""
    folder = folder or FOLDER
    path = folder / f"{name}.toml"
    if not path.is_file():
        known = ", ".join(sorted(file.stem for file in folder.glob("*.toml")))
        raise InputError(f"no table {name!r}: known: {known}")
    values = tomllib.loads(path.read_text(encoding="utf-8"))
    try:
        return PaperTable(name=name, **{**values, "runs": [Run(**run) for run in values["runs"]]})
    except (KeyError, TypeError) as error:
        raise InputError(f"{path.name}: {error}") from error


# --- asking ---------------------------------------------------------------------------------------
def commands(
    asked: PaperTable, folders: Folders, limit: int | None, flags: Sequence[str]
) -> Iterator[list[str]]:
    """Yield the commands of `disputatio` that measure a table, in order."""
    model = model_of(flags)
    for run in asked.runs:
        for words in run.build:
            if not Path(folders.fill(words[-1])).exists():  # a builder's last word is what it writes
                own = words[0] == "ingest" or words[0].startswith("bench.")
                # Before the other words, of which the last stays last.
                writer = ["--model", model] if model and "--texts" in words else []
                yield [*([] if own else ["eval", "build"]), words[0], *writer, *map(folders.fill, words[1:])]
        yield evaluation(asked, run, folders, limit, flags)


def evaluation(
    asked: PaperTable, run: Run, folders: Folders, limit: int | None, flags: Sequence[str]
) -> list[str]:
    """Return the words of one `eval run`."""
    folder = folders.runs / asked.name
    dataset = folders.fill(run.dataset)
    if run.shuffle:
        dataset = f"{dataset.partition(':')[0]}:{folder / run.name}.jsonl"
    words = ["eval", "run", dataset, "--strategy", run.strategies, "--out", str(folder / run.name)]
    if run.rows:
        words += ["--rows", str(folder / "even_rows.txt" if run.even else FOLDER / run.rows)]
    if most := limit or run.limit:
        words += ["--limit", str(most)]
    for key, value in run.options.items():
        words += ["--set", f"{key}={str(value).lower() if isinstance(value, bool) else value}"]
    return [*words, *map(folders.fill, run.flags), *flags]


def prepare(asked: PaperTable, folders: Folders) -> None:
    """Write the files that the runs need and no builder makes: even rows, and data sets in another order."""
    folder = folders.runs / asked.name
    folder.mkdir(parents=True, exist_ok=True)
    for run in asked.runs:
        if run.even:
            drawn = (FOLDER / run.rows).read_text(encoding="utf-8").split()
            write_whole(folder / "even_rows.txt", "".join(f"{row}\n" for row in drawn if int(row) % 2 == 0))
        if run.shuffle:
            source = Path(folders.fill(run.dataset).partition(":")[2])
            write_whole(folder / f"{run.name}.jsonl", shuffle(source.read_text(encoding="utf-8")))


def shuffle(lines: str, seed: int = SEED) -> str:
    """Put the `documents` of each row of RAMDocs in an order drawn for the row."""
    rows = []
    for number, line in enumerate(lines.splitlines()):
        row = json.loads(line)
        documents = row["documents"]
        row["documents"] = random.Random(f"{seed}-{number}").sample(documents, len(documents))
        rows.append(json.dumps(row, ensure_ascii=False))
    return "\n".join(rows) + "\n"


# --- what it costs --------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """The expected cost of a table: its questions, each by each strategy, and the calls and tokens of them."""

    questions: int = 0
    calls: float = 0
    read: float = 0
    written: float = 0
    unmeasured: tuple[str, ...] = ()

    def plus(self, other: Cost) -> Cost:
        """Add another cost."""
        return Cost(
            questions=self.questions + other.questions,
            calls=self.calls + other.calls,
            read=self.read + other.read,
            written=self.written + other.written,
            unmeasured=tuple(dict.fromkeys((*self.unmeasured, *other.unmeasured))),
        )


def estimate_cost(asked: PaperTable, limit: int | None) -> Cost:
    """Estimate a table's cost by what questions were measured to cost (`disputatio strategies --json`)."""
    costs, total = read_costs(), Cost()
    for run in asked.runs:
        count = limit or run.limit or ROWS_UNKNOWN
        if run.rows:
            drawn = (FOLDER / run.rows).read_text(encoding="utf-8").split()
            count = min(count, sum(not run.even or int(row) % 2 == 0 for row in drawn))
        options = [f"{key}={str(value).lower()}" for key, value in run.options.items()]
        for entrant in entrants(run.strategies, options):
            found = costs.get(entrant.strategy, [])
            fits = [one for one in found if one["set"].items() <= entrant.options.items()]
            known = max(fits or found, key=lambda one: len(one["set"]), default=None)
            if known is None:
                total = total.plus(Cost(questions=count, unmeasured=(entrant.strategy,)))
                continue
            each = (known["calls"], known["prompt_tokens"], known["completion_tokens"])
            calls, read, written = (count * mean for mean in each)
            total = total.plus(Cost(questions=count, calls=calls, read=read, written=written))
    return total


def describe_cost(name: str, cost: Cost, model: str) -> str:
    """Describe a cost in one line, with its price where the price of the model is known.

    >>> describe_cost("t", Cost(questions=60, calls=500, read=2e5, written=3e4), "")
    't: 60 answers, about 500 calls, 200,000 tokens read, 30,000 written'
    """
    line = (
        f"{name}: {cost.questions:,} answers, about {cost.calls:,.0f} calls, {cost.read:,.0f} tokens read, "
        f"{cost.written:,.0f} written"
    )
    if model:
        try:
            price = read_prices().of(model)
            usage = Usage(prompt_tokens=int(cost.read), completion_tokens=int(cost.written))
            line += f", {price.cost(usage):.2f} USD at list prices"
        except DisputatioError:
            line += f", at a price unknown here of {model}"
    unmeasured = ", ".join(cost.unmeasured)
    return line + (f"; not measured, so not counted: {unmeasured}" if unmeasured else "")


def lacking(asked: PaperTable, folders: Folders) -> list[str]:
    """Return the files of the data folder that a table needs and that are not there."""
    words = [run.dataset for run in asked.runs]
    words += [word for run in asked.runs for command in run.build for word in command]
    named = {word.partition(":")[2] or word for word in words if "{data}/" in word}
    paths = sorted({folders.fill(name).partition("#")[0] for name in named})
    return [path for path in paths if not Path(path).exists()]


def execute(words: Sequence[str]) -> bool:
    """Run a command of `disputatio`; return False if it was stopped or refused."""
    print("$ " + spell(words), file=sys.stderr, flush=True)
    if words[0].startswith("bench."):
        program = [sys.executable, "-m"]
    else:
        program = [str(Path(sys.executable).with_name("disputatio"))]
    return subprocess.run([*program, *words], check=False).returncode in (ANSWERED, SOME_FAILED)


def spell(words: Sequence[str]) -> str:
    """Return a command as a user types it."""
    return ("python -m " if words[0].startswith("bench.") else "disputatio ") + shlex.join(words)


# --- the page -------------------------------------------------------------------------------------
def page(asked: PaperTable, folders: Folders) -> str:
    """Write a table's page: the paper's numbers beside ours, then every run with intervals, n and failures."""
    folder = folders.runs / asked.name
    there = [run for run in asked.runs if (folder / run.name / "records.sqlite").is_file()]
    if not there:
        raise InputError(
            f"{asked.name}: nothing was asked yet: python -m bench.papers.tables run {asked.name}"
        )
    lines = [f"# {asked.title}", "", f"`python -m bench.papers.tables run {asked.name}`", ""]
    if asked.differs:
        lines += [asked.differs.strip(), ""]
    if asked.paper:
        lines += [
            "## Beside the paper's figures", "",
            "The paper's rows come first, then ours with 95 % intervals and the number of questions.", "",
        ]  # fmt: skip
        for found in paper_tables(asked.paper, [folder / run.name for run in there])["tables"]:
            if not asked.tables or found["id"] in asked.tables:
                head = [found["group"], found["method"], *found["columns"]]
                lines += [f"### {found['id']}: {found['title']}", ""]
                lines += [*grid(Grid(title=found["id"], head=head, rows=found["lines"])), ""]
                lines += [*(f"* {remark}" for remark in found["said"]), ""]
    for numbers in asked.numbers:
        lines += [f"### The paper's: {numbers['title']}", "", table(numbers["head"], numbers["rows"]), ""]
    for run in asked.runs:
        lines += [f"## {run.title or run.name}", ""]
        lines += _of_run(folder / run.name, run.against) if run in there else ["Not asked yet.", ""]
    return "\n".join(lines).rstrip() + "\n"


def _of_run(folder: Path, against: str) -> list[str]:
    """Return the tables of one run; with `against`, only the pairs with that strategy."""
    results = report(folder)
    lines = []
    for part in results["datasets"]:
        pairs = [
            pair for pair in part["differences"] if not against or against in (pair["one"], pair["other"])
        ]
        for made in tables({**part, "differences": pairs}):
            lines += [f"### {made.title}", "", *grid(made), "", *([made.note, ""] if made.note else [])]
    return [*lines, *(f"* {line}" for line in describe_setting(results)), ""]


def model_of(flags: Sequence[str]) -> str:
    """Return the model that the words for `eval run` name, empty for none.

    >>> model_of(["--in-flight", "8", "--model", "openai:m"]), model_of(["--model=openai:m"]), model_of([])
    ('openai:m', 'openai:m', '')
    """
    words = " ".join(flags).replace("--model=", "--model ").split()
    return next((words[at + 1] for at, word in enumerate(words[:-1]) if word == "--model"), "")


def announce(
    names: Sequence[str], folders: Folders, limit: int | None, model: str, *, every: bool
) -> list[str]:
    """Say what tables will cost, and return those whose data are there; raises `InputError` for a named one."""
    total, there = Cost(), []
    for name in names:
        asked = read_table(name)
        if missing := lacking(asked, folders):
            if not every:
                raise InputError(
                    f"{name}: there is no {missing[0]} (--data names the folder of the data sets)"
                )
            print(f"{name}: left out, there is no {missing[0]}", file=sys.stderr)
            continue
        cost = estimate_cost(asked, limit)
        total = total.plus(cost)
        there.append(name)
        print(describe_cost(name, cost, model), file=sys.stderr)
    note = "means that one 1.5B model took, mostly on RAMDocs; data sets are built and judged beside that"
    print(f"{describe_cost('together', total, model)} ({note})", file=sys.stderr, flush=True)
    return there


def main(words: Sequence[str] | None = None) -> int:
    """List the tables, ask what they need, or write their pages."""
    parser = parser_of(__doc__)
    parser.add_argument("what", choices=("list", "run", "page"))
    parser.add_argument("names", nargs="*", metavar="NAME", help="tables; all, or none, for all")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"), help="folder of the data sets")
    parser.add_argument("--runs", type=Path, default=Path("runs/tables"), help="folder of the evaluations")
    parser.add_argument("--limit", type=int, help="questions of each run; without it the table's number")
    parser.add_argument("--dry-run", action="store_true", help="print the commands only")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder of the pages")
    arguments, flags = parser.parse_known_args(words)  # what is left goes to `eval run`: --model, --in-flight
    every = sorted(file.stem for file in FOLDER.glob("*.toml"))
    folders = Folders(data=arguments.data, runs=arguments.runs)
    names = every if arguments.names in ([], ["all"]) else arguments.names
    try:
        if arguments.what == "run":
            names = announce(names, folders, arguments.limit, model_of(flags), every=names is every)
        for name in names:
            asked = read_table(name)
            if arguments.what == "list":
                print(f"{name:24}{asked.title}")
                continue
            if arguments.what == "run":
                if not arguments.dry_run:
                    prepare(asked, folders)
                for command in commands(asked, folders, arguments.limit, flags):
                    if arguments.dry_run:
                        print(spell(command))
                    elif not execute(command):
                        print("stopped: the same command goes on here", file=sys.stderr)
                        return 1
            if not arguments.dry_run:
                write_whole(arguments.out / asked.page, page(asked, folders))
                print(arguments.out / asked.page)
    except InputError as error:
        print(f"tables: {error}", file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
