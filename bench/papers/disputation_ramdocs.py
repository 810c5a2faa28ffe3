"""What `disputation` does on RAMDocs dev, beside other strategies, without its parts, and on Figure 4's sets.

    python -m bench.papers.disputation_ramdocs --part main        # all rows; --others on those of ramdocs_rows.txt
    python -m bench.papers.disputation_ramdocs --part shuffled    # the passages of each row in an order of chance
    python -m bench.papers.disputation_ramdocs --part ablations   # without each part, on the even rows
    python -m bench.papers.disputation_ramdocs --part figure4     # imbalance and misinformation, levels 1 to 3
    python -m bench.papers.disputation_ramdocs --part calibration # anew from the answers of main, as for kinds; no model
    python -m bench.papers.disputation_ramdocs --part page        # all figures anew, from the rows of the file

Odd rows were tuned on and even rows are the check, so the page has them apart. The rows of `ramdocs_rows.txt` are
those of `madam_tables.py`. RAMDocs names no sources: each document is one, doc1, doc2, ..., which is what `ra_rag`
hears. In the file the documents of a row come by kind, most often a right one first and noise last, which a strategy
that trusts rank profits from; `shuffled` deals them, and their names, anew by a seed.

Each part writes bench/results/papers/disputation_ramdocs.json.gz, .md and a chart as it goes. Rows in that file are not asked again
while the strategy, its prompts and the code behind it are the same; calls are journalled besides, so an ablation that changes no
prompt costs none. `--in-flight 1` is for seconds that can be compared: several questions at once share the machine.
"""

from __future__ import annotations

import argparse
import json
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bench import RESULTS
from bench.lib.asking import THREADS, over, put, say
from bench.lib.files import beside, read_json, write_whole
from bench.papers.disputation_figures import ALL, OURS, TOLD_AFTER, Row, built_kind, tell
from bench.papers.disputation_page import chart, page
from bench.papers.madam_tables import DRAWN, ROWS, SEED
from disputatio.config import read_settings
from disputatio.eval.builders.controlled import LEVELS, Kind, controlled
from disputatio.eval.builders.row_file import write_lines
from disputatio.eval.data.datasets import identify, load
from disputatio.eval.data.rows import document
from disputatio.eval.metrics import answer_set, score_answer
from disputatio.eval.running.entrants import entrants
from disputatio.eval.running.run_log import Entrant
from disputatio.kit import Kit
from disputatio.parts import build_kit
from disputatio.text import content_id
from disputatio.types import Example

ASKING = ("main", "shuffled", "ablations", "figure4")
TELLING = ("calibration", "kinds", "page")
ABLATIONS: Mapping[str, Mapping[str, Any]] = {
    ALL: {},
    "no copies": {"copies": False},
    "copies by order": {"order": True},
    "votes alone": {"standing": False},
    "no reader's certainty": {"certainty": False},
    "one answer expected": {"expect": "one"},
    "no debate": {"debate": 0},
    "no belief": {"belief": False},
}
METRICS = ("em", "precision", "recall", "f1", "accuracy")
EVERY = 20  # rows after which the file is saved; figures and page come when all of a strategy's are there
_FLAT = re.compile(r"\[[^\[\]{}]*\]")
_OUT = RESULTS / "papers" / "disputation_ramdocs.json.gz"


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A question to ask; `row` is that of RAMDocs which it comes from."""

    example: Example
    row: int
    built: str = ""
    level: int = 0


@dataclass(slots=True, kw_only=True)
class Bench:
    """The rows that were asked, by part and label, and the file they are kept in.

    `told` are the figures by part. `kept[part][label]` has `made`, by which it is known whether the same strategy
    would be asked again, `rows`, and `in_flight`, how many questions were asked at a time (several numbers
    where a run went on with another).
    """

    path: Path
    about: dict[str, Any] = field(default_factory=dict)
    told: dict[str, Any] = field(default_factory=dict)
    kept: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)

    def rows(self, part: str) -> dict[str, list[Row]]:
        """Return the rows of every label of a part, in the order of the data."""
        labels = self.kept.get(part, {})
        return {label: sorted(entrant["rows"].values(), key=_place) for label, entrant in labels.items()}


def _place(row: Row) -> tuple[int, int]:
    return row.row, row.level


# --- asking ---------------------------------------------------------------------------------------
def tasks(examples: Sequence[Example]) -> list[Task]:
    """Return a task a row of RAMDocs."""
    return [
        Task(
            example=example,
            row=example.row,
            built=built_kind(answer_set(example.gold), answer_set(example.wrong), example.metadata["types"]),
        )
        for example in examples
    ]


def order_of_kinds(examples: Sequence[Example]) -> dict[str, str]:
    """In how many rows the order of the passages tells of what kind they are."""
    types: list[tuple[str, ...]] = [example.metadata["types"] for example in examples]
    lying = [kinds for kinds in types if "misinfo" in kinds and "correct" in kinds]
    noisy = [kinds for kinds in types if "noise" in kinds]
    early = sum(kinds.index("correct") < kinds.index("misinfo") for kinds in lying)
    return {
        "a right one comes first": f"{sum(kinds[:1] == ('correct',) for kinds in types)} of {len(types)} rows",
        "a right one comes before all misinformation": f"{early} of the {len(lying)} rows that have both",
        "noise comes last": f"{sum(kinds[-1] == 'noise' for kinds in noisy)} of the {len(noisy)} rows that have any",
    }


def shuffled(task: Task, seed: int) -> Task:
    """Return the same question with its passages dealt anew; their names tell the new places."""
    chance = random.Random(f"{seed}/{task.row}")
    dealt = chance.sample(task.example.passages, len(task.example.passages))
    named = [
        document(number, passage.text, title=passage.title, url=passage.url, date=passage.date)
        for number, passage in enumerate(dealt, 1)
    ]
    return replace(task, example=replace(task.example, passages=tuple(named)))


def levelled(examples: Sequence[Example], kind: Kind, questions: int) -> list[Task]:
    """Return the first questions of a set of Figure 4, each at every level."""
    origins = {content_id("q", example.id, kind): example.row for example in examples}
    made = controlled(examples, kind, levels=LEVELS)
    with TemporaryDirectory() as folder:
        path = Path(folder) / f"{kind}.jsonl"
        write_lines(path, made.rows)
        built = load(f"jsonl:{path}", limit=questions * len(LEVELS))
    entered = []
    for entrant in built:
        origin, _, level = str(entrant.metadata["id"]).rpartition("-")
        entered.append(Task(example=entrant, row=origins[origin], level=int(level)))
    return entered


def asked(task: Task, kit: Kit, entrant: Entrant) -> Row:
    """Put one question; a fault is kept by its name and leaves scores and costs empty.

    An answer that is given up because no reply kept its contract is a fault too, as in `disputatio eval run`.
    """
    answered = put(task.example, kit, entrant.strategy, entrant.options)
    row = Row(row=task.row, gold=len(answer_set(task.example.gold)), built=task.built, level=task.level)
    answer = answered.answer
    if answer is None:
        return replace(row, fault=answered.fault.partition(":")[0])
    if answer.abstained == "fault":
        return replace(row, fault="the answer is a fault")
    scores = rounded(score_answer(answer.answers, task.example, METRICS))
    return replace(
        row,
        abstained=answer.abstained or "",
        kind=answer.conflict.kind,
        confidence=rounded(answer.confidence),
        em=scores["em"],
        em_lenient=scores["em_lenient"],
        precision=scores["precision"],
        recall=scores["recall"],
        f1=scores["f1"],
        accuracy=scores["accuracy"],
        calls=answer.usage.calls,
        prompt_tokens=answer.usage.prompt_tokens,
        cached_tokens=answer.usage.cached_tokens,
        completion_tokens=answer.usage.completion_tokens,
        model_seconds=round(answer.usage.seconds, 3),
    )


def fill(
    bench: Bench, part: str, entrant: Entrant, wanted: Sequence[Task], kit: Kit, *, in_flight: int = 1
) -> None:
    """Ask what is not in the file yet, and what failed; write it as it goes."""
    made = {
        "strategy": entrant.strategy,
        "options": dict(entrant.options),
        "prompts": entrant.prompts,
        "code": content_id("c", *(f"{name}={digest}" for name, digest in entrant.code.items())),
    }
    before = bench.kept.setdefault(part, {}).get(entrant.label)
    if before is None or before["made"] != made:
        before = bench.kept[part][entrant.label] = {"made": made, "in_flight": [], "rows": {}}
    rows: dict[tuple[int, int], Row] = before["rows"]
    missing = [task for task in wanted if (old := rows.get((task.row, task.level))) is None or old.fault]
    if missing and in_flight not in before["in_flight"]:
        before["in_flight"].append(in_flight)
    step = max(1, EVERY // in_flight) * in_flight
    for at in range(0, len(missing), in_flight):
        some = missing[at : at + in_flight]
        label = f"{part}, {entrant.label}: {at} of {len(missing)} done; next"
        for row in over(some, partial(asked, kit=kit, entrant=entrant), label=label):
            rows[_place(row)] = row
        if at % step == 0:
            save(bench)
    write(bench, part)


def entrants_of(labelled: Mapping[str, Mapping[str, Any]]) -> list[Entrant]:
    """Ours with each set of options, under its label; raises `UnknownName` for an option that it has not."""
    settings = [
        f"{label}.{name}={value}" for label, changes in labelled.items() for name, value in changes.items()
    ]
    return entrants(",".join(f"{label}={OURS}" for label in labelled), settings)


# --- the file -------------------------------------------------------------------------------------
def save(bench: Bench) -> None:
    """Write the rows that there are, with the figures that were last told of them."""
    names = [column.name for column in fields(Row)]
    parts = {
        part: {
            label: {
                **entrant["made"],
                "in_flight": entrant["in_flight"],
                "fields": names,
                "rows": [[*asdict(row).values()] for row in sorted(entrant["rows"].values(), key=_place)],
            }
            for label, entrant in labels.items()
        }
        for part, labels in bench.kept.items()
    }
    text = json.dumps({**bench.about, "figures": bench.told, "asked": parts}, indent=1, ensure_ascii=False)
    flat = _FLAT.sub(lambda match: " ".join(match[0].split()), text)  # a row on a line
    write_whole(bench.path, flat + "\n")


def write(bench: Bench, part: str) -> None:
    """Count anew what a part's rows bear on; write the figures and the rows, the page, and the chart of risk."""
    rows = {key: bench.rows(key) for key in bench.kept}
    bench.told |= rounded(tell(rows, TOLD_AFTER[part]))
    save(bench)
    picture = beside(bench.path, "_risk.svg")
    if drawn := chart(bench.told.get("calibration", {})):
        write_whole(picture, drawn)
    made = {
        key: {
            label: {**entrant["made"], "in_flight": entrant["in_flight"]} for label, entrant in labels.items()
        }
        for key, labels in bench.kept.items()
    }
    write_whole(beside(bench.path, ".md"), page(bench.about, bench.told, made, picture.name))


def rounded(value: Any) -> Any:
    """Return the same value with every number in it to six digits behind the point: no result means more.

    >>> rounded({"em": [1 / 3, None, 2]})
    {'em': [0.333333, None, 2]}
    """
    if isinstance(value, Mapping):
        return {name: rounded(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(item) for item in value]
    return round(value, 6) if isinstance(value, float) else value


def opened(path: Path) -> Bench:
    """Return what the file holds; nothing where there is none."""
    if not path.exists():
        return Bench(path=path)
    written = read_json(path)
    figures = written.pop("figures")
    parts: dict[str, dict[str, dict[str, Any]]] = {}
    for part, labels in written.pop("asked").items():
        for label, entrant in labels.items():
            names, in_flight = entrant.pop("fields"), entrant.pop("in_flight")
            rows = [Row(**dict(zip(names, row, strict=True))) for row in entrant.pop("rows")]
            parts.setdefault(part, {})[label] = {
                "made": entrant,
                "in_flight": in_flight,
                "rows": {_place(row): row for row in rows},
            }
    return Bench(path=path, about=written, told=figures, kept=parts)


# --- the command ----------------------------------------------------------------------------------
def run(bench: Bench, arguments: argparse.Namespace, kit: Kit) -> None:
    """Ask what a part takes, from the data that is named."""
    examples = load(f"ramdocs:{arguments.data}")
    whole = tasks(examples)
    some = whole[: arguments.limit]
    into = partial(fill, kit=kit, in_flight=arguments.in_flight)
    (ours,) = entrants(OURS, [])
    if arguments.part == "main":
        into(bench, "main", ours, some)
        others = entrants(arguments.others, []) if arguments.others else []
        by_row = {task.row: task for task in whole}
        listed = [int(line) for line in ROWS.read_text(encoding="utf-8").split()][: arguments.rows]
        for entrant in others:
            into(bench, "main", entrant, [by_row[row] for row in listed])
    elif arguments.part == "shuffled":
        bench.about["order of kinds"] = order_of_kinds(examples)
        into(bench, "shuffled", ours, [shuffled(task, arguments.seed) for task in some])
    elif arguments.part == "ablations":
        even = [task for task in some if task.row % 2 == 0]
        for entrant in entrants_of(ABLATIONS):
            into(bench, "ablations", entrant, even)
    else:
        sets: tuple[Kind, ...] = ("imbalance", "misinformation")
        for kind in sets:
            levels = levelled(examples, kind, arguments.questions)
            for entrant in (ours, *entrants("concat", [])):
                into(bench, kind, entrant, levels)


def main(words: Sequence[str] | None = None, kit: Kit | None = None) -> None:
    """Ask what the part takes, and write."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--part", choices=[*ASKING, *TELLING], required=True)
    options.add_argument("--data", type=Path, default=Path("../shared/data/ramdocs/dev.jsonl"))
    options.add_argument("--journal", default="runs/disputation.sqlite")
    options.add_argument("--model", default=None)
    options.add_argument(
        "--others", default="concat,madam_rag,ra_rag,majority_vote", help="beside ours, in main"
    )
    options.add_argument("--rows", type=int, default=DRAWN, help=f"of {ROWS.name}, for the others")
    options.add_argument(
        "--limit", type=int, default=None, help="rows of the data for ours, in main and after"
    )
    options.add_argument("--questions", type=int, default=30, help="of each set of Figure 4")
    options.add_argument("--seed", type=int, default=SEED, help="of the order of the passages in shuffled")
    options.add_argument("--in-flight", type=int, choices=range(1, THREADS + 1), default=1)
    options.add_argument(
        "--out", type=Path, default=_OUT, help="a .json or .json.gz file; the others stand beside it"
    )
    arguments = options.parse_args(words)
    bench = opened(arguments.out)
    if arguments.part in ASKING:
        kit = kit or build_kit(read_settings(model=arguments.model, journal=arguments.journal), say=say)
        identity = identify(f"ramdocs:{arguments.data}")
        about = {
            "model": kit.model.name,
            "engine": kit.model.capabilities().engine,
            "data": identity.name,
            "sha256": identity.sha256[:16],
            "seed": arguments.seed,
        }
        unlike = [name for name, value in about.items() if bench.about.get(name, value) != value]
        if unlike:
            options.error(f"{arguments.out} was made with another {', '.join(unlike)}: name another --out")
        bench.about = {**bench.about, **about}
        run(bench, arguments, kit)
    write(bench, arguments.part)
    say(f"written to {arguments.out}")


if __name__ == "__main__":
    main()
