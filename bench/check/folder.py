"""Precision and recall of `disputatio check` on folders whose contradictions were written down before a run.

A file NAME.jsonl beside the folder NAME has its topics, each with the sides that contradict each other (file and
words of the statement), and its traps: pairs that must not be reported. A finding is right if its two statements
stand on two sides of one topic; a topic counts once. What is marked optional counts neither way.

    python -m bench.check.folder halden [--severity low] [--wrong] [--missed] [--model local:NAME]

With a model the figures are given twice: as code found them, and as the model left them.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from pathlib import Path
from typing import Any

from bench.lib.options import parser_of
from disputatio.api.checking import check
from disputatio.types import Contradiction, Statement

HERE = Path(__file__).parent
MOST = 1_000  # calls of a model


def main() -> None:
    """Print the figures of the folders that are named."""
    parser = parser_of(__doc__)
    parser.add_argument("folders", nargs="+")
    parser.add_argument("--severity", default="medium")
    parser.add_argument("--wrong", action="store_true")
    parser.add_argument("--missed", action="store_true")
    parser.add_argument("--model", default="none")
    options = parser.parse_args()
    for name in options.folders:
        for model in dict.fromkeys(("none", options.model)):
            report(name, options, model)


def report(name: str, options: argparse.Namespace, model: str) -> None:
    """Print the figures of one folder, as a model judges what code found."""
    folder = HERE / name
    rows = [json.loads(line) for line in (HERE / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]
    topics = [row for row in rows if "topic" in row]
    found = check(folder, severity=options.severity, model=model, calls=MOST)
    met: Counter[str] = Counter()
    wrong = [each for each in found.contradictions if not _meets(each, topics, folder, met)]
    wanted = [row for row in topics if not row.get("optional")]
    right = sum(met[row["topic"]] for row in wanted)
    recalled = [row for row in wanted if met[row["topic"]]]
    traps = [row for row in rows if "trap" in row]
    sprung = [row for row in traps if any(_is_trap(each, row, folder) for each in wrong)]
    print(
        f"{name}, {options.severity}, model {model}: {found.documents} documents, {found.statements} statements, {found.compared} pairs, {found.seconds} s",
        f"  found {len(found.contradictions)}: right {right}, wrong {len(wrong)}, optional {len(found.contradictions) - right - len(wrong)}",
        f"  precision {right / max(1, right + len(wrong)):.3f}  recall {len(recalled) / len(wanted):.3f} ({len(recalled)} of {len(wanted)})",
        f"  traps sprung {len(sprung)} of {len(traps)}",
        sep="\n",
    )
    kinds = Counter(row["kind"] for row in wanted)
    met_of = (
        f"{kind} {sum(row['kind'] == kind for row in recalled)}/{count}" for kind, count in kinds.items()
    )
    print("  recall by kind:", ", ".join(met_of))
    if options.wrong:
        for each in wrong:
            print(
                f"  WRONG {each.severity} {each.kind} {each.about}: {each.scope}",
                shown(each.first),
                shown(each.second),
                sep="\n    ",
            )
    if options.missed:
        print(*(f"  MISSED {row['topic']}" for row in wanted if not met[row["topic"]]), sep="\n")


def _meets(found: Contradiction, topics: list[dict[str, Any]], folder: Path, met: Counter[str]) -> bool:
    for row in topics:
        sides = [
            {
                at
                for at, side in enumerate(row["sides"])
                if any(_stands(statement, place, folder) for place in side)
            }
            for statement in (found.first, found.second)
        ]
        if sides[0] and sides[1] and len(sides[0] | sides[1]) > 1:
            met[row["topic"]] += 1
            return True
    return False


def _is_trap(found: Contradiction, row: dict[str, Any], folder: Path) -> bool:
    sides = (found.first, found.second)
    return any(all(map(_stands, order, row["places"], (folder, folder))) for order in (sides, sides[::-1]))


def _stands(statement: Statement, place: list[str], folder: Path) -> bool:
    name, words = place
    return Path(statement.path) == folder / name and words in " ".join(statement.quote.split())


def shown(statement: Statement) -> str:
    """Return a statement in a line: its file, its words and what is read from them."""
    return f"{Path(statement.path).name}: {statement.quote[:160]!r} -> {statement.value!r}"


if __name__ == "__main__":
    main()
