"""Collect what each strategy costs a question, from folders of `disputatio eval run`: what `disputatio strategies` shows.

Run `python -m bench.papers.strategy_costs DIR...` with one or more `--out` folders. For each strategy, set of options,
data set, model and engine it writes the mean calls, prompt tokens, cached tokens and completion tokens over the
questions that were answered (faults are not counted), with their number, into the package (costs.json beside the
strategies), and prints the table. Where two folders measured the same, the one with more questions stands. `--add`
keeps what the file holds of others, `--out FILE` writes elsewhere. It needs no model.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from bench import ROOT
from bench.lib.options import parser_of
from disputatio.errors import DisputatioError, UnknownName
from disputatio.eval.running.entrants import defaults
from disputatio.eval.running.run_log import Entrant, read_journal
from disputatio.pipeline import load_strategy
from disputatio.types import Usage

FILE = ROOT / "src" / "disputatio" / "strategies" / "costs.json"
COUNTS = ("calls", "prompt_tokens", "cached_tokens", "completion_tokens")
SAME = ("strategy", "set", "dataset", "model", "roles", "engine", "verify", "index")


def costs_of(out: Path) -> list[dict[str, Any]]:
    """Return one object a strategy, its options and a data set, of the evaluation in a folder; raises
    `InputError`.

    Strategies that do not come with the package are left out.
    """
    journal = read_journal(out)
    manifest = journal.manifest
    entrants = {listed.label: listed for listed in journal.entrants}
    spent: dict[tuple[str, str, str], list[Usage]] = {}
    questions: dict[tuple[str, str, str], set[str]] = {}
    for entry in journal.entries:
        entrant = entrants[entry.entrant]
        changes = changed(entrant)
        if entry.state != "done" or changes is None:
            continue
        key = (entrant.strategy, json.dumps(changes, sort_keys=True), entry.dataset)
        spent.setdefault(key, []).append(entry.record.usage)
        questions.setdefault(key, set()).add(entry.record.example)
    return [
        {
            "strategy": strategy,
            "set": json.loads(given),
            "dataset": dataset,
            "questions": len(questions[strategy, given, dataset]),
            "model": manifest.model,
            "roles": dict(manifest.roles),
            "engine": manifest.engine,
            "verify": manifest.verify,
            "index": manifest.index,
            **{name: round(fmean(float(getattr(usage, name)) for usage in usages), 2) for name in COUNTS},
        }
        for (strategy, given, dataset), usages in spent.items()
    ]


def changed(entrant: Entrant) -> dict[str, Any] | None:
    """Return the options of an entrant that are not as they stand, seeds apart; None for a strategy not of
    ours.
    """
    try:
        usual = defaults(load_strategy(entrant.strategy))
    except UnknownName:
        usual = None
    if usual is None or ":" in entrant.strategy:
        return None
    return {
        name: value
        for name, value in entrant.options.items()
        if str(value) != str(usual.get(name)) and not name.endswith("seed")
    }


def merged(costs: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the measurements by strategy; of those of the same thing, that of most questions (the last of
    equals).
    """
    best: dict[str, dict[str, Any]] = {}
    for cost in costs:
        key = json.dumps([cost[name] for name in SAME], sort_keys=True)
        if key not in best or cost["questions"] >= best[key]["questions"]:
            best[key] = dict(cost)
    return sorted(
        best.values(),
        key=lambda one: (
            one["strategy"],
            json.dumps(one["set"], sort_keys=True),
            one["dataset"],
            one["model"],
        ),
    )


def table(costs: Sequence[Mapping[str, Any]]) -> str:
    """Return the measurements as a table of Markdown."""
    head = "| strategy | options | data set | questions | model | calls | read | cached | written |"
    lines = [head, "| --- | --- | --- | ---: | --- | ---: | ---: | ---: | ---: |"]
    for cost in costs:
        changes = " ".join(f"{name}={value}" for name, value in cost["set"].items()) or "as they stand"
        counts = " | ".join(f"{cost[name]:,.1f}" for name in COUNTS)
        lines.append(
            f"| {cost['strategy']} | {changes} | {cost['dataset']} | {cost['questions']} | {cost['model']} | {counts} |"
        )
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the folders, write the file, print the table."""
    parser = parser_of(__doc__)
    parser.add_argument("folders", nargs="+", type=Path, metavar="DIR", help="--out of `disputatio eval run`")
    parser.add_argument("--add", action="store_true", help="keep what the file holds of other measurements")
    parser.add_argument("--out", type=Path, default=FILE, help="the file to write")
    parsed = parser.parse_args(arguments)
    try:
        costs = [cost for folder in parsed.folders for cost in costs_of(folder)]
    except DisputatioError as error:
        print(f"strategy_costs: {error}", file=sys.stderr)
        return error.exit_code
    if not costs:
        print("strategy_costs: no strategy of ours answered a question there", file=sys.stderr)
        return 1
    earlier = json.loads(parsed.out.read_text(encoding="utf-8"))["measured"] if parsed.add else []
    rows = merged([*earlier, *costs])
    figures = {"made_by": "bench/papers/strategy_costs.py", "measured": rows}
    parsed.out.write_text(json.dumps(figures, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    print(table(rows), end="")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
