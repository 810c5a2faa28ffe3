"""Fit the probability of a position: the map from what `disputation` weighs to how often such a position is right.

    python -m bench.verdict.calibration --data ../shared/data --journal FILE

On the rows that weights may be fitted on (`Corpus.to_fit`), passages shuffled, every position of an answer is right or not:
it states a right answer and no planted one. A logistic regression on the log-odds of its probability, each corpus of the same
weight, gives slope and offset; the page shows the calibration error of each corpus as it is and by the map fitted on all the
others: of all positions, of those that were not rejected, and of these where one answer is right. `--corpora` without names
reckons again with what was kept.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from bench import RESULTS
from bench.lib.agreement import calibration_error
from bench.lib.asking import over, put, say, table
from bench.lib.files import beside, read_json, write_json, write_whole
from bench.lib.logistic import chance
from bench.verdict.corpora import CORPORA, RAMDOCS
from disputatio.config import read_settings
from disputatio.eval.metrics import states
from disputatio.kit import Kit
from disputatio.parts import build_kit
from disputatio.store.in_memory import InMemory
from disputatio.types import Example

CHOSEN = ("ramdocs", "conflictnq-1r1f", "poisonedrag-5f", "realtimeqa-5f", "nq")
STEPS, RATE = 4_000, 0.5  # of gradient descent on two numbers
_OUT = RESULTS / "verdict" / "calibration.json.gz"


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """A position of an answer: its probability before any map, its verdict, and whether it is right."""

    row: int
    log_odds: float
    verdict: str
    right: bool


def seen(example: Example, *, kit: Kit, expect: str) -> list[Seen]:
    """Return the positions of the answer to one question; none where it failed."""
    asked = put(example, kit, "disputation", {"expect": expect}, retriever=InMemory(example.passages))
    if asked.answer is None:
        return []
    lies = [lie for lie in example.wrong if lie not in example.gold]
    return [
        Seen(
            row=example.row,
            log_odds=raw(position.probability),
            verdict=position.verdict,
            right=any(states(position.answer, gold, lenient=True) for gold in example.gold)
            and not any(states(position.answer, lie) for lie in lies),
        )
        for position in asked.answer.conflict.positions
        if position.probability is not None
    ]


def raw(probability: float) -> float:
    """Return the log-odds of a probability."""
    bounded = min(max(probability, 0.001), 0.999)
    return math.log(bounded / (1 - bounded))


def fitted(corpora: Mapping[str, Sequence[Seen]]) -> tuple[float, float]:
    """Slope and offset of the map, each corpus of the same weight."""
    parts = [rows for rows in corpora.values() if rows]
    odds = np.array([one.log_odds for rows in parts for one in rows])
    right = np.array([one.right for rows in parts for one in rows], dtype=float)
    weight = np.array([1 / len(rows) / len(parts) for rows in parts for _ in rows])
    slope, offset = 1.0, 0.0
    for _ in range(STEPS):
        off = (chance(slope * odds + offset) - right) * weight
        slope, offset = slope - RATE * float(off @ odds), offset - RATE * float(off.sum())
    return slope, offset


def error(rows: Sequence[Seen], slope: float, offset: float) -> float | None:
    """Return the calibration error of positions under a map."""
    scores = chance(np.array([slope * one.log_odds + offset for one in rows]))
    return calibration_error(scores.tolist(), [one.right for one in rows])


def tried(corpora: Mapping[str, Sequence[Seen]]) -> dict[str, Any]:
    """Return the map fitted on these corpora, and the error of each as weighed, by the map of the others, by
    that of all.
    """
    slope, offset = fitted(corpora)
    parts = {}
    for name, rows in corpora.items():
        others = fitted({other: some for other, some in corpora.items() if other != name})
        parts[name] = {
            "rows": len({one.row for one in rows}),
            "positions": len(rows),
            "right": sum(one.right for one in rows) / max(len(rows), 1),
            "before": error(rows, 1.0, 0.0),
            "left out": error(rows, *others),
            "all": error(rows, slope, offset),
        }
    return {"slope": slope, "offset": offset, "corpora": parts}


def report(out: Mapping[str, Any]) -> str:
    """Return the page."""
    head = [
        "corpus",
        "rows",
        "positions",
        "right",
        "error as weighed",
        "by the map of the others",
        "by the map of all",
    ]
    lines = [
        "# How sure a position may be",
        "",
        "**Made with:** `disputation`, `expect` as each task declares it. Order of passages: shuffled by row. Tuned on: nothing is in use of what is fitted here.",
        "",
        "`python -m bench.verdict.calibration --data DATA --journal FILE`",
        "",
        f"Model {out['model']}, engine {out['engine']}. Rows to fit on (odd), passages shuffled. The error is the expected calibration "
        "error over ten bins.",
    ]
    for title, part in out["maps"].items():
        rows = [
            [
                name,
                one["rows"],
                one["positions"],
                f"{one['right']:.2f}",
                *("–" if one[key] is None else f"{one[key]:.3f}" for key in ("before", "left out", "all")),
            ]
            for name, one in part["corpora"].items()
        ]
        lines += [
            "",
            f"## {title}",
            "",
            f"The map fitted on all: slope {part['slope']:.3f}, offset {part['offset']:.3f}.",
            "",
            table(head, rows),
        ]
    return "\n".join(lines) + "\n"


def main(words: Sequence[str] | None = None) -> None:
    """Ask, fit, write the page."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--data", type=Path, default=Path("../shared/data"))
    options.add_argument("--journal", default="runs/verdict.sqlite")
    options.add_argument("--corpora", nargs="*", choices=sorted(CORPORA), default=list(CHOSEN))
    options.add_argument("--rows", type=int, default=40, help="of each corpus at most")
    arguments = options.parse_args(words)
    kit = build_kit(read_settings(journal=arguments.journal), say=say)
    kept: dict[str, Any] = read_json(_OUT)["seen"] if _OUT.exists() else {}
    found = {name: [Seen(**row) for row in rows] for name, rows in kept.items()}
    for name in arguments.corpora:
        corpus = CORPORA[name](arguments.data)
        ask = partial(seen, kit=kit, expect=corpus.expect)
        found[name] = [
            one for rows in over(corpus.to_fit()[: arguments.rows], ask, label=name) for one in rows
        ]
    standing = {name: [one for one in rows if one.verdict != "rejected"] for name, rows in found.items()}
    single = {name: rows for name, rows in standing.items() if not name.startswith(RAMDOCS)}
    out: dict[str, Any] = {
        "model": kit.model.name,
        "engine": kit.model.capabilities().engine,
        "maps": {
            "All positions": tried(found),
            "Not rejected": tried(standing),
            "Not rejected, where one answer is right": tried(single),
        },
        "seen": {name: [asdict(one) for one in rows] for name, rows in found.items()},
    }
    write_json(_OUT, out)
    write_whole(beside(_OUT, ".md"), report(out))
    print(report(out))


if __name__ == "__main__":
    main()
