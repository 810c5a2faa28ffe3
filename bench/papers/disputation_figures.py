"""What is counted over the rows that `disputation_ramdocs.py` asked: scores, differences, falls, calibration, kinds.

Pure functions over per-row figures; nothing is asked here. A row on which the model failed has no score and no
cost, and is counted as failed beside every figure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np

from bench.lib.selective import Stated, surest, worth
from disputatio.eval.reporting.confidence import Figure
from disputatio.eval.statistics import (
    RESAMPLES,
    Difference,
    Estimate,
    estimates,
    paired_difference,
    paired_differences,
    resampled_means,
)
from disputatio.types import ConflictKind

SCORES = ("em", "em_lenient", "precision", "recall", "f1")
COSTS = ("calls", "prompt_tokens", "cached_tokens", "completion_tokens", "tokens", "model_seconds")
RATIOS = ("em", "tokens", "model_seconds")
FALLING = ("em", "f1", "accuracy")
OURS = "disputation"
ALL = "all parts"  # the label of ours with none taken away, among the ablations
SETS = ("imbalance", "misinformation")
PARTS = ("main", "shuffled", "ablations", "figure4", "calibration", "kinds")
TOLD_AFTER: Mapping[str, Sequence[str]] = {
    **{part: (part,) for part in PARTS},
    **dict.fromkeys(SETS, ("figure4",)),
    "main": ("main", "shuffled", "calibration", "kinds"),
    "page": PARTS,
}  # the figures that change when a part was asked
KINDS: tuple[str, ...] = get_args(ConflictKind)
BUILT = ("ambiguity", "misinformation", "both", "none")  # `both` is no kind that the product has


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What one answer came to: figures and names of kinds alone, no text of the data.

    `gold` is how many right answers the question has, `built` the kind of conflict that its passages were
    made to have (empty where they tell none), `level` that of Figure 4 (0 elsewhere). Scores and costs are
    None where the model failed, and `fault` is then the name of the fault. `model_seconds` are seconds
    waited for the model, as they were when the calls were made.
    """

    row: int
    gold: int
    built: str = ""
    level: int = 0
    fault: str = ""
    abstained: str = ""
    kind: str = ""
    confidence: float | None = None
    em: float | None = None
    em_lenient: float | None = None
    precision: float | None = None
    recall: float | None = None
    f1: float | None = None
    accuracy: float | None = None
    calls: int | None = None
    prompt_tokens: int | None = None
    cached_tokens: int | None = None
    completion_tokens: int | None = None
    model_seconds: float | None = None


Rows = Sequence[Row]
GROUPS: Mapping[str, Callable[[Row], bool]] = {
    "all rows": lambda _: True,
    "odd rows": lambda row: row.row % 2 == 1,
    "even rows": lambda row: row.row % 2 == 0,
    "1 gold answer": lambda row: row.gold == 1,
    "2 gold answers": lambda row: row.gold == 2,
    "3 or more gold answers": lambda row: row.gold >= 3,
}
HALVES = ("all rows", "odd rows", "even rows")


def built_kind(gold: Iterable[str], wrong: Iterable[str], types: Sequence[str]) -> str:
    """Return the kind of conflict that a row's passages were made to have; empty where they do not tell.

    `gold` and `wrong` are in the form that answers are compared in; what is both is no wrong answer.

    >>> built_kind(["a", "b"], [], ["correct"] * 2), built_kind(["a"], ["x"], ["correct", "misinfo"])
    ('ambiguity', 'misinformation')
    >>> built_kind(["a"], ["a"], ["correct", "misinfo"]), built_kind(["a"], [], ["correct", "noise"])
    ('', 'none')
    """
    right = set(gold)
    lies = set(wrong) - right
    if "misinfo" not in types:
        return "ambiguity" if len(right) > 1 else "none"
    if not lies:
        return ""
    return "both" if len(right) > 1 else "misinformation"


def value(row: Row | None, name: str) -> float | None:
    """Return a score or cost of a row; None where there is none."""
    if row is None or row.fault:
        return None
    if name == "tokens":
        parts = (row.prompt_tokens, row.completion_tokens)
        return None if None in parts else float(sum(part or 0 for part in parts))
    score = getattr(row, name)
    return None if score is None else float(score)


def column(rows: Iterable[Row | None], name: str) -> list[float | None]:
    """Return a score or cost of each row."""
    return [value(row, name) for row in rows]


def within(rows: Rows, group: str) -> list[Row]:
    """Return the rows of a group."""
    return [row for row in rows if GROUPS[group](row)]


# --- all figures ----------------------------------------------------------------------------------
def tell(systems: Mapping[str, Mapping[str, Rows]], wanted: Sequence[str]) -> dict[str, Any]:
    """Return the figures of the wanted parts, as far as there are rows for them; `asked` has the rows by part
    and label.
    """
    main, figures = systems.get("main", {}), dict[str, Any]()
    ours, dealt = main.get(OURS, ()), systems.get("shuffled", {}).get(OURS, ())
    if "main" in wanted and main:
        figures["main"] = {
            group: _beside({label: within(rows, group) for label, rows in main.items()}) for group in GROUPS
        }
    if "shuffled" in wanted and dealt:
        figures["shuffled"] = {
            group: {
                "scores": measured(within(dealt, group)),
                "less given order": compared(within(dealt, group), within(ours, group)),
            }
            for group in HALVES
        }
    if "ablations" in wanted and (parts := systems.get("ablations", {})):
        whole = within(parts.get(ALL, ()), "even rows")
        figures["ablations"] = {
            label: {
                "scores": measured(even),
                **({"less all parts": compared(even, whole)} if label != ALL else {}),
            }
            for label, even in ((label, within(rows, "even rows")) for label, rows in parts.items())
        }
    if "figure4" in wanted and (sets := [kind for kind in SETS if kind in systems]):
        figures["figure4"] = {
            kind: {
                group: figure4({label: within(rows, group) for label, rows in systems[kind].items()})
                for group in ("all rows", "even rows")
            }
            for kind in sets
        }
    if "calibration" in wanted and ours:
        figures["calibration"] = {group: calibrated(within(ours, group)) for group in HALVES}
    if "kinds" in wanted and ours:
        figures["kinds"] = {group: confused(within(ours, group)) for group in HALVES}
    return figures


def _beside(labels: Mapping[str, Rows]) -> dict[str, Any]:
    others = {label: rows for label, rows in labels.items() if label != OURS and rows}
    return {
        "scores": {label: measured(rows) for label, rows in labels.items() if rows},
        "ours less": {label: compared(labels.get(OURS, ()), rows) for label, rows in others.items()},
    }


# --- means and differences ------------------------------------------------------------------------
def measured(rows: Rows, names: Sequence[str] = (*SCORES, *COSTS)) -> dict[str, Any]:
    """Return how many rows were scored, failed and abstained, and the mean of each figure with its interval."""
    spans = estimates([column(rows, name) for name in names])
    return {
        "n": sum(not row.fault for row in rows),
        "failed": sum(bool(row.fault) for row in rows),
        "abstained": sum(bool(row.abstained) for row in rows),
        **{name: _span(span) for name, span in zip(names, spans, strict=True)},
    }


def compared(rows: Rows, other: Rows, names: Sequence[str] = (*SCORES, *COSTS)) -> dict[str, Any]:
    """`one` less `other` on the rows that both answered, and ratios of what is to be compared so."""
    pairs = paired(rows, other)
    columns = {name: tuple(column(side, name) for side in zip(*pairs, strict=True)) for name in names}
    figures: dict[str, Any] = {"n": sum(not a.fault and not b.fault for a, b in pairs)}
    if not pairs:
        return figures
    gaps = paired_differences([(mine, theirs) for mine, theirs in columns.values()])
    for name, gap in zip(columns, gaps, strict=True):
        figures[name] = {**_span(gap), "p": gap.p}
    ratios = {name: ratio(*columns[name]) for name in RATIOS if name in columns}
    figures["ratios"] = {name: figure(spread) for name, spread in ratios.items()}
    return figures


def paired(rows: Rows, other: Rows) -> list[tuple[Row, Row]]:
    """Return the rows that both have, at the same level, in the order of the first."""
    theirs = {(each.row, each.level): each for each in other}
    return [(each, theirs[each.row, each.level]) for each in rows if (each.row, each.level) in theirs]


def ratio(first: Sequence[float | None], other: Sequence[float | None]) -> Figure | None:
    """Return the sum of one over the sum of the other on the questions that both have, resampling the
    questions.

    None where the other sums to nothing; no interval where it does so in some resample.
    """
    both = [(a, b) for a, b in zip(first, other, strict=True) if a is not None and b is not None]
    below = sum(b for _, b in both)
    if not below:
        return None
    whole = sum(a for a, _ in both) / below
    if len(both) < 2:
        return Figure(value=whole)
    means = [resampled_means(side, resamples=RESAMPLES, seed=0) for side in zip(*both, strict=True)]
    if not (means[1] > 0).all():
        return Figure(value=whole)
    low, high = np.quantile(means[0] / means[1], [0.025, 0.975])
    return Figure(value=whole, low=float(low), high=float(high))


# --- Figure 4 -------------------------------------------------------------------------------------
def falls(rows: Rows, name: str) -> dict[int, float | None]:
    """Return how far each question falls from the lowest level to the highest; None where either was not
    scored.
    """
    levels = sorted({row.level for row in rows})
    ends = [{row.row: value(row, name) for row in rows if row.level == levels[at]} for at in (0, -1)]
    return {row: _less(ends[0][row], ends[1].get(row)) for row in ends[0]}


def figure4(systems: Mapping[str, Rows], names: Sequence[str] = FALLING) -> dict[str, Any]:
    """Scores by level, each strategy's fall, and ours less half of each other's, over the questions."""
    figures: dict[str, Any] = {"levels": {}, "fall": {}, "ours less half": {}}
    for label, rows in systems.items():
        for level in sorted({row.level for row in rows}):
            at_level = [row for row in rows if row.level == level]
            figures["levels"].setdefault(str(level), {})[label] = measured(at_level, names)
        gaps = estimates([[*falls(rows, name).values()] for name in names])
        figures["fall"][label] = {
            name: {**_span(gap), "n": gap.n} for name, gap in zip(names, gaps, strict=True)
        }
    for label in systems:
        if label != OURS and OURS in systems:
            figures["ours less half"][label] = {
                name: _beside_half(falls(systems[OURS], name), falls(systems[label], name)) for name in names
            }
    return figures


def _beside_half(ours: Mapping[int, float | None], other: Mapping[int, float | None]) -> dict[str, Any]:
    both = [row for row in ours if row in other]
    halves = [None if (fall := other[row]) is None else fall / 2 for row in both]
    gap = paired_difference([ours[row] for row in both], halves)
    return {**_span(gap), "n": gap.n}


# --- confidence -----------------------------------------------------------------------------------
def calibrated(rows: Rows) -> dict[str, Any]:
    """Return what the confidence of the answers is worth, as to strict EM and as to precision; abstentions
    are no answers.

    `curve` is the mean score of the surest tenth, two tenths and so on, of the answers that state a confidence.
    """
    scored = [row for row in rows if not row.fault]
    figures: dict[str, Any] = {"asked": len(scored), "failed": len(rows) - len(scored)}
    for name in ("em", "precision"):
        stated = [
            Stated(question=row.row, right=right, confidence=row.confidence)
            for row in scored
            if row.precision is not None and (right := value(row, name)) is not None
        ]
        sure = [answer for answer in stated if answer.confidence is not None]
        curve = [surest(sure, tenths / 10) for tenths in range(1, 11)]
        figures[name] = {**worth(stated, asked=len(scored)), "curve": curve}
    return figures


# --- kinds of conflict ----------------------------------------------------------------------------
def confused(rows: Rows) -> dict[str, Any]:
    """Return how often each kind that was built was called which; and the share called right, of kinds we
    have.
    """
    built = {kind: [row for row in rows if row.built == kind] for kind in BUILT}
    called = {
        kind: Counter("failed" if row.fault else row.kind for row in of_kind)
        for kind, of_kind in built.items()
    }
    hits = {
        kind: [None if row.fault else float(row.kind == kind) for row in of_kind]
        for kind, of_kind in built.items()
        if kind in KINDS
    }
    right = dict(zip(hits, estimates([*hits.values()]), strict=True))
    whole = estimates([[hit for of_kind in hits.values() for hit in of_kind]])[0]
    return {
        "called": {kind: dict(sorted(counts.items())) for kind, counts in called.items()},
        "right": {kind: {**_span(share), "n": share.n} for kind, share in right.items()},
        "right of all": {**_span(whole), "n": whole.n},
        "kind not told by the row": sum(not row.built for row in rows),
    }


# --- shapes ---------------------------------------------------------------------------------------
def _span(estimate: Estimate | Difference) -> dict[str, float | None]:
    return {"mean": estimate.mean, "low": estimate.low, "high": estimate.high}


def figure(estimate: Figure | None) -> dict[str, float | None]:
    """Return a value with its interval, as the other figures are kept."""
    if estimate is None:
        return {"mean": None, "low": None, "high": None}
    return {"mean": estimate.value, "low": estimate.low, "high": estimate.high}


def _less(first: float | None, other: float | None) -> float | None:
    return None if first is None or other is None else first - other
