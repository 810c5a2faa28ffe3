"""Compare what answers state of themselves with how often they are right, by corpus, as stated and by fitted maps.

    python -m bench.verdict.confidence --documents aside8=DIR --readers FILE.jsonl --figures FILE.json.gz [--arm trained]

It asks nothing: it reads the answers that `bench.documents.ask`, `bench.verdict.readers` and `bench.verdict.figures` kept. The
confidence of an answer is that of `Answer.confidence`. A map (Platt 1999: slope and offset on the log-odds) is fitted on all other
corpora, each of the same weight, and the expected calibration error of ten bins is told as stated and by that map.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from bench.documents.ask import read_run
from bench.documents.questions import Part, read_questions
from bench.documents.score import grade
from bench.lib.agreement import calibration_error, roc_auc
from bench.lib.asking import table
from bench.lib.files import read_json, read_lines
from bench.lib.options import parser_of

Stated = Sequence[tuple[float, bool]]
"""The confidence of each answer, and whether it was right."""
_STEPS, _BOUND = 60, 1e-3
_OF_FIGURES = {"untrained": "disputation", "trained": "trained"}


def of_documents(part: Part, out: Path) -> Iterator[tuple[float, bool]]:
    """Yield the answers to the questions about a folder; of several open ones the likeliest counts."""
    questions = {each.id: each for each in read_questions(part)}
    for given in read_run(out).given:
        kept = [each for each in given.positions if each["answer"] in given.answers]
        kept = [each for each in kept if each["verdict"] != "rejected" and each["probability"] is not None]
        if given.fault or given.strategy != "disputation" or not kept:
            continue
        likely = [each["probability"] for each in kept]
        is_open = any(each["verdict"] == "unresolved" for each in kept)
        sure = max(likely) if is_open else sum(likely) / len(likely)
        yield sure, grade(given.answers, questions[given.question]) == "right"


def of_rows(rows: Sequence[Mapping[str, Any]]) -> list[tuple[float, bool]]:
    """Return the answers among rows of the other two benches."""
    answered = [row for row in rows if row["answered"] and not row["fault"] and row["confidence"] is not None]
    return [(row["confidence"], bool(row["right"])) for row in answered]


def log_odds(stated: Stated) -> NDArray[np.float64]:
    """Return the log-odds of the confidences."""
    sure = np.clip([confidence for confidence, _ in stated], _BOUND, 1 - _BOUND)
    return np.asarray(np.log(sure / (1 - sure)))


def fitted(corpora: Sequence[Stated]) -> tuple[float, float]:
    """Return slope and offset of the map that is likeliest for corpora of the same weight each.

    >>> fair = [(0.75, True)] * 3 + [(0.75, False)] + [(0.25, True)] + [(0.25, False)] * 3
    >>> slope, offset = fitted([fair])
    >>> round(slope, 2), round(abs(offset), 2)
    (1.0, 0.0)
    """
    odds = np.concatenate([log_odds(stated) for stated in corpora])
    right = np.array([is_right for stated in corpora for _, is_right in stated], dtype=float)
    weight = np.concatenate([np.full(len(stated), 1 / len(stated)) for stated in corpora])
    inputs, weights = np.stack([odds, np.ones_like(odds)], axis=1), np.zeros(2)
    for _ in range(_STEPS):  # of Newton
        chance = 1 / (1 + np.exp(-inputs @ weights))
        slope = inputs.T @ (weight * (chance - right))
        bend = (inputs * (weight * chance * (1 - chance))[:, None]).T @ inputs
        weights = weights - np.linalg.solve(bend + 1e-9 * np.eye(2), slope)
    return float(weights[0]), float(weights[1])


def error(stated: Stated, slope: float = 1.0, offset: float = 0.0) -> float:
    """Return the calibration error of answers under a map."""
    sure = 1 / (1 + np.exp(-(slope * log_odds(stated) + offset)))
    return calibration_error(sure.tolist(), [is_right for _, is_right in stated]) or 0.0


def report(corpora: Mapping[str, Stated]) -> Iterator[str]:
    """Yield the table, and the map that is fitted on all corpora."""
    rows = []
    for name, stated in corpora.items():
        sure, right = zip(*stated, strict=True)
        others = fitted([other for label, other in corpora.items() if label != name])
        shares = [
            sum(sure) / len(sure),
            sum(right) / len(right),
            roc_auc(sure, right) or 0.5,
            error(stated),
            error(stated, *others),
        ]
        rows.append([name, str(len(stated)), *(f"{share:.3f}" for share in shares)])
    yield table(
        ["corpus", "answers", "confidence", "right", "AUC", "error as stated", "by the map of the others"],
        rows,
    )
    slope, offset = fitted(list(corpora.values()))
    yield f"\nThe map of all corpora: slope {slope:.2f}, offset {offset:.2f}."


def main() -> None:
    """Print the table of each arm."""
    parser = parser_of(__doc__)
    parser.add_argument("--documents", nargs="*", default=[], metavar="PART=DIR")
    parser.add_argument("--readers", type=Path)
    parser.add_argument("--figures", type=Path)
    parser.add_argument("--arm", choices=_OF_FIGURES, default="trained")
    asked: argparse.Namespace = parser.parse_args()
    corpora: dict[str, Stated] = {}
    for name in asked.documents:
        part, _, out = name.partition("=")
        if part not in get_args(Part):
            raise SystemExit(f"{name}: write PART=DIR, with a part of {', '.join(get_args(Part))}")
        corpora[part] = list(of_documents(part, Path(out)))
    for corpus in ("ramdocs", "nq") if asked.readers else ():
        corpora[corpus] = of_rows(
            [row for row in read_lines(asked.readers) if (row["corpus"], row["arm"]) == (corpus, asked.arm)]
        )
    for corpus, arms in read_json(asked.figures)["corpora"].items() if asked.figures else ():
        corpora[corpus] = of_rows(arms[_OF_FIGURES[asked.arm]])
    print("\n".join(report({name: stated for name, stated in corpora.items() if stated})))


if __name__ == "__main__":
    main()
