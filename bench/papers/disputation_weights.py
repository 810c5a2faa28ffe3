"""Fits the weights by which `disputation` tells how well a side stands (`disputatio.strategies.disputation.standing`).

    python -m bench.papers.disputation_weights            # asks the model what the journal does not hold
    python -m bench.papers.disputation_weights --replay   # from the journal alone

Every passage of some odd rows is read alone (`disputatio.strategies.disputation.extracting.read`), the answers become sides
(`standing.weigh`), and a logistic regression with a ridge of 1 on standardised features tells the sides that are right.
A side is right when it leniently states a gold answer and strictly states no wrong one. It is fitted twice: `unranked`, where ranks are not
trusted (`resemblance`), and `ranked`, where the better-ranked of two alike passages is taken for the original (`kinship`). `BIAS` and
all weights but that of `kinship` are those of the first.

The rows are those that the trained encoder has not seen: of RAMDocs dev one odd row in four (7, 15, ...), and with `--nq` the first odd
rows of the questions with Wikipedia passages, on which it was not trained at all. Without the encoder (`DISPUTATIO_ENCODER=none`) all
odd rows of RAMDocs serve.

Ten-fold cross-validation over rows, five times dealt, tells how well that does on rows it was not fitted on, with each feature left out
in turn; a row then answers with the sides at or above a threshold of log-odds, or with the best where there is none. This is the
logistic model alone, without namesakes, belief and debate: the whole strategy is measured on the even rows by
`disputation_ramdocs.py`.

A feature that is unknown (the certainty of a model that tells no probabilities) counts as usual. A row on which
the model failed is left out and counted; a witness that broke its contract gives no answer and is counted. Calls are journalled; written
after each of the two fits.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench import RESULTS
from bench.lib.agreement import calibration_error, resampled, roc_auc
from bench.lib.asking import against, over, say, table, told
from bench.lib.files import beside, write_json, write_whole
from bench.lib.logistic import FOLDS, RIDGE, Fit, Floats, chance, fit, folds
from bench.papers.disputation_ramdocs import order_of_kinds, rounded
from disputatio.config import read_settings
from disputatio.errors import InputError, LLMError, NotJournalled
from disputatio.eval.data.datasets import identify, load
from disputatio.eval.metrics import exact_match, states
from disputatio.eval.statistics import Estimate, mean
from disputatio.kit import Kit
from disputatio.parts import build_kit
from disputatio.store.in_memory import InMemory
from disputatio.strategies.disputation.extracting import Reader, read
from disputatio.strategies.disputation.hearing import MAX_TOKENS, SCHEMA, SYSTEM, TASK
from disputatio.strategies.disputation.standing import BIAS, WEIGHTS, weigh
from disputatio.strategies.disputation.testimony import Testimony
from disputatio.text import content_id
from disputatio.types import Example

DEALS = 5  # of the rows into folds
THRESHOLDS = (-0.4, -0.2, 0.0, 0.2, 0.4)  # log-odds from which a side is kept
READINGS = ("strict", "lenient")
MIDDLE = "+0.0"
ALL = "all features"
_FLAT = re.compile(r"\[[^\[\]{}]*\]")
ONLY = {True: "kinship", False: "resemblance"}  # the feature that there is ranked, and unranked
SET = ("kind",)  # a weight that is set (`standing`)
FITTED = [name for name in WEIGHTS if name not in SET]
NAMES = {ranked: [name for name in FITTED if name != ONLY[not ranked]] for ranked in (True, False)}
FITS = {"unranked": False, "ranked": True}
_OUT = RESULTS / "papers" / "disputation_weights.json.gz"


# --- what was said --------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True, kw_only=True)
class Hearing:
    """What the witnesses of a row said; `fault` where the model failed, and then there are none."""

    example: Example
    testimonies: tuple[Testimony, ...] = ()
    fault: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sides:
    """The sides of a row: their answers, features (sides, names; NaN where unknown), and which are right."""

    example: Example
    answers: tuple[str, ...]
    features: Floats
    right: NDArray[np.bool_]


def hear(example: Example, kit: Kit) -> Hearing:
    """Hear every passage of a row; a fault of the model is kept, what a replay lacks ends the benchmark."""
    reader = replace(kit, retriever=InMemory(example.passages))
    try:
        passages = reader.passages(example.question)
        who: Reader = "llm" if kit.has_model else "encoder"
        testimonies = read(example.question, passages, reader, who, max_tokens=MAX_TOKENS)
    except NotJournalled:
        raise
    except LLMError as error:
        return Hearing(example=example, fault=type(error).__name__)
    return Hearing(example=example, testimonies=tuple(testimonies))


def is_right(answer: str, gold: Sequence[str], wrong: Sequence[str]) -> bool:
    """Return whether an answer leniently states a gold one and strictly no wrong one; what is listed as both
    is gold.

    >>> is_right("a linebacker", ["linebacker"], []), is_right("a punter", ["linebacker"], ["punter"])
    (True, False)
    >>> is_right("York", ["New York"], ["York"]), is_right("York", ["York"], ["York"])
    (False, True)
    """
    lies = [lie for lie in wrong if lie not in gold]
    matches = any(states(answer, right, lenient=True) for right in gold)
    return matches and not any(states(answer, lie) for lie in lies)


def sides(hearing: Hearing, *, ranked: bool) -> Sides:
    """Return the sides of a row, as `disputation` sees them where it knows of no source."""
    example, names = hearing.example, NAMES[ranked]
    weighed = weigh(example.question, hearing.testimonies, {}, ranked=ranked)
    features = [[side.features.get(name, np.nan) for name in names] for side in weighed]
    return Sides(
        example=example,
        answers=tuple(side.answer for side in weighed),
        features=np.array(features, dtype=np.float64).reshape(len(weighed), len(names)),
        right=np.array(
            [is_right(side.answer, example.gold, example.wrong) for side in weighed], dtype=np.bool_
        ),
    )


# --- cross-validation -----------------------------------------------------------------------------
def crossed(rows: Sequence[Sides], columns: Sequence[int], deal: int) -> list[Floats]:
    """Return the log-odds of every row's sides by the fit, on these features, to the rows of other folds."""
    some = list(columns)
    fold = folds(len(rows), deal)
    odds: dict[int, Floats] = {}
    for part in np.unique(fold):
        others = [row for row, other in zip(rows, fold, strict=True) if other != part]
        model = _fitted(others, some)
        for at in np.flatnonzero(fold == part).tolist():
            odds[at] = model.log_odds(rows[at].features[:, some])
    return [odds[at] for at in range(len(rows))]


def _fitted(rows: Sequence[Sides], columns: Sequence[int]) -> Fit:
    """Return the fit to rows; raises `InputError` where they have no sides."""
    features = np.vstack([row.features[:, list(columns)] for row in rows]) if rows else np.empty((0, 0))
    if not len(features):
        raise InputError("no passage of the rows to fit on answers anything")
    return fit(features, np.concatenate([row.right for row in rows]))


def kept(answers: Sequence[str], log_odds: Floats, bar: float) -> list[str]:
    """Return the answers at or above a threshold, or else the best; nothing where there are none.

    >>> kept(["a", "b", "c"], np.array([0.3, -0.1, 0.0]), 0.0), kept(["a", "b"], np.array([-2.0, -1.0]), 0.0)
    (['a', 'c'], ['b'])
    """
    over_it = [answer for answer, odds in zip(answers, log_odds, strict=True) if odds >= bar]
    return over_it or ([answers[int(np.argmax(log_odds))]] if answers else [])


def scored(rows: Sequence[Sides], columns: Sequence[int]) -> dict[str, dict[str, list[float]]]:
    """EM, strict and lenient, of each row at each threshold: the mean over the deals of its cross-validated answers."""
    dealt = [crossed(rows, columns, deal) for deal in range(DEALS)]
    return {
        reading: {
            f"{bar:+.1f}": [
                float(np.mean([_em(row, odds[at], bar, reading == "lenient") for odds in dealt]))
                for at, row in enumerate(rows)
            ]
            for bar in THRESHOLDS
        }
        for reading in READINGS
    }


def _em(row: Sides, log_odds: Floats, bar: float, lenient: bool) -> float:
    answers = kept(row.answers, log_odds, bar)
    scores = exact_match(answers, row.example.gold, row.example.wrong, lenient=lenient)
    return 0.0 if scores is None else scores  # every row of RAMDocs has gold answers


def discerning(rows: Sequence[Sides]) -> dict[str, Estimate]:
    """ROC AUC and calibration error of the cross-validated sides, with intervals over rows."""
    columns = range(rows[0].features.shape[1])
    dealt = [crossed(rows, columns, deal) for deal in range(DEALS)]
    so = [row.right.tolist() for row in rows]

    def over_deals(
        some: Sequence[int], measure: Callable[[list[float], list[bool]], float | None]
    ) -> float | None:
        truths = [truth for at in some for truth in so[at]]
        values = [
            measure([float(likelihood) for at in some for likelihood in chance(odds[at])], truths)
            for odds in dealt
        ]
        there = [value for value in values if value is not None]
        return sum(there) / len(there) if there else None

    places = range(len(rows))
    measures: dict[str, Callable[[list[float], list[bool]], float | None]] = {
        "ROC AUC": roc_auc,
        "calibration error": calibration_error,
    }
    return {
        name: resampled(places, partial(over_deals, measure=measure)) for name, measure in measures.items()
    }


# --- the figures ----------------------------------------------------------------------------------
def counted(hearings: Sequence[Hearing]) -> dict[str, Any]:
    """Return how many rows and witnesses there are, and the faults."""
    testimonies = [testimony for row in hearings for testimony in row.testimonies]
    return {
        "rows": [row.example.row for row in hearings if not row.fault],
        "failed rows": {str(row.example.row): row.fault for row in hearings if row.fault},
        "witnesses": len(testimonies),
        "faulty witnesses": sum(bool(testimony.reply.fault) for testimony in testimonies),
        "witnesses who answer": sum(bool(testimony.answer) for testimony in testimonies),
    }


def fitted(hearings: Sequence[Hearing], *, ranked: bool) -> dict[str, Any]:
    """Return the model of all rows, its constants beside those in use, and what cross-validation says of it.

    Raises `InputError` where no passage answers anything.
    """
    rows = [sides(hearing, ranked=ranked) for hearing in hearings if not hearing.fault]
    names = NAMES[ranked]
    every = range(len(names))
    whole = _fitted(rows, every)
    em = {ALL: scored(rows, every)} | {
        f"without {name}": scored(rows, [at for at in every if at != out]) for out, name in enumerate(names)
    }
    figures = {
        "sides": sum(len(row.answers) for row in rows),
        "right sides": int(sum(row.right.sum() for row in rows)),
        "rows without a side": sum(not row.answers for row in rows),
        "bias": whole.bias,
        "features": {
            name: {"weight": float(whole.weights[at]), "mean": float(whole.means[at])}
            for at, name in enumerate(names)
        },
        **{name: asdict(value) for name, value in discerning(rows).items()},
        "em": {
            label: {reading: {bar: mean(by[reading][bar]) for bar in by[reading]} for reading in READINGS}
            for label, by in em.items()
        },
        "em of rows at threshold 0": {
            label: {reading: by[reading][MIDDLE] for reading in READINGS} for label, by in em.items()
        },
    }
    return dict(rounded(figures))


# --- the report -----------------------------------------------------------------------------------
def write(out: Mapping[str, Any], path: Path) -> None:
    """Keep what is known so far, as JSON and as Markdown, each whole or not at all."""
    write_json(path, out)
    write_whole(beside(path, ".md"), report(out))


def report(out: Mapping[str, Any]) -> str:
    """Return what was fitted on what, the constants, and the cross-validation with each feature left out."""
    lines = ["# The weights by which the disputation judges sides", ""]
    lines += ["`python -m bench.papers.disputation_weights --data DEV.jsonl --journal FILE`", ""]
    lines += [
        f"Model {out['model']}, engine {out['engine']}, prompt of the witnesses {out['prompt']}; data {out['data']} (SHA-256 {out['sha256']}); "
        f"ridge {RIDGE:g} on standardised features, {FOLDS} folds over rows, dealt {DEALS} times (seeds 0 to {DEALS - 1}).",
        "",
        f"Only odd rows were read (numbered from 0): {len(out['rows'])} of them, {len(out['failed rows'])} more failed; encoder beside the model: {out['encoder']}. {out['witnesses']} witnesses, "
        f"of whom {out['witnesses who answer']} answer and {out['faulty witnesses']} broke their contract. The even rows are the check of "
        "the whole strategy and had no part in this.",
        "",
        "The first passages of a row of RAMDocs tend to be the right ones, so `kinship`, which holds a passage against better-ranked ones "
        "alone, profits from the order of the data, and is worth less wherever ranks tell less. `resemblance` looks at no rank and does not. In the rows read: "
        + "; ".join(f"{what} in {count}" for what, count in out["order of kinds"].items())
        + "."
        + _by_order(out["fits"]),
        "",
        "EM below is that of the logistic model alone: the sides from a threshold of log-odds on, or the best. All is cross-validated; "
        "a row counts with the mean over the deals; intervals are 95 % by bootstrap over rows. Changes are paired differences to all features, their p not corrected for being several. The features themselves were chosen on these rows too, "
        "which cross-validation does not undo.",
    ]  # fmt: skip
    for name in out["fits"]:
        lines += ["", *_told(name, out["fits"][name])]
    return "\n".join(lines).rstrip() + "\n"


def _by_order(fits: Mapping[str, Any]) -> str:
    """Return what trusting ranks is worth, once both fits are there."""
    if len(fits) < len(FITS):
        return ""
    unranked, ranked = (fits[title]["em of rows at threshold 0"][ALL]["strict"] for title in FITS)
    return f" EM strict at threshold 0 is {told(ranked)} ranked and {told(unranked)} unranked: {against(unranked, ranked)}."


def _told(title: str, figures: Mapping[str, Any]) -> list[str]:
    features = figures["features"].items()
    constants = [["bias", f"{figures['bias']:.3f}", "–", f"{BIAS:g}" if title == "unranked" else "–", "–"]]
    constants += [
        [name, f"{got['weight']:.3f}", f"{got['mean']:.3f}", *_used(name, title)] for name, got in features
    ]
    lines = [
        f"## {title.capitalize()}",
        "",
        f"{figures['sides']} sides, {figures['right sides']} of them right; {figures['rows without a side']} row(s) without any. "
        f"ROC AUC {_spanned(figures['ROC AUC'])}, calibration error (ten bins) {_spanned(figures['calibration error'])}.",
        "",
        table(["feature", "weight", "mean", "weight in use", "mean in use"], constants),
    ]  # fmt: skip
    for reading in READINGS:
        rows = [
            [label, *(f"{value:.3f}" for value in by[reading].values())]
            for label, by in figures["em"].items()
        ]
        lines += ["", table([f"EM {reading}, by threshold", *figures["em"][ALL][reading]], rows)]
    at_zero = figures["em of rows at threshold 0"]
    cells = [[label, *(_beside(at_zero, label, reading) for reading in READINGS)] for label in at_zero]
    head = ["EM at threshold 0", *(f"{reading}; change" for reading in READINGS)]
    return [*lines, "", table(head, cells)]


def _used(name: str, title: str) -> list[str]:
    """Return the constants in use, where they come from this fit."""
    weight, mean = next(usual for feature, usual in WEIGHTS.items() if feature == name)
    reported = title == "unranked" or name == ONLY[True]
    return [f"{weight:g}", f"{mean:g}"] if reported else ["–", "–"]


def _beside(columns: Mapping[str, Any], label: str, reading: str) -> str:
    own, every = (columns[name][reading] for name in (label, ALL))
    return told(own) if label == ALL else f"{told(own)}; {against(own, every)}"


def _spanned(span: Mapping[str, Any]) -> str:
    if span["mean"] is None:
        return "–"
    return f"{span['mean']:.3f}" + (
        "" if span["low"] is None else f" [{span['low']:.3f}, {span['high']:.3f}]"
    )


# --- the command ----------------------------------------------------------------------------------
def main(words: Sequence[str] | None = None, kit: Kit | None = None) -> None:
    """Hear the odd rows, fit, write."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--data", type=Path, default=Path("../shared/data/ramdocs/dev.jsonl"))
    options.add_argument("--nq", type=Path, help="nq.jsonl, to fit on its questions, too")
    options.add_argument("--nq-rows", type=int, default=60, help="that many of its odd rows")
    options.add_argument("--journal", default="runs/disputation.sqlite")
    options.add_argument("--replay", action="store_true", help="only what the journal holds, without a model")
    options.add_argument("--model", default=None)
    options.add_argument(
        "--out", type=Path, default=_OUT, help="a .json or .json.gz file; the .md stands beside it"
    )
    arguments = options.parse_args(words)
    if kit is None:
        settings = read_settings(
            model=arguments.model, journal=arguments.journal, replay=arguments.replay or None
        )
        kit = build_kit(settings, say=say)
    identity = identify(f"ramdocs:{arguments.data}")
    unseen = 8 if kit.reader is not None else 2
    ramdocs = [example for example in load(f"ramdocs:{arguments.data}") if example.row % unseen == unseen - 1]
    others = [] if arguments.nq is None else load(f"nq_with_passages:{arguments.nq}")
    odd = ramdocs + [example for example in others if example.row % 2 == 1][: arguments.nq_rows]
    hearings = over(odd, partial(hear, kit=kit), label="rows heard")
    out: dict[str, Any] = {
        "model": kit.model.name,
        "engine": kit.model.capabilities().engine,
        "data": identity.name,
        "sha256": identity.sha256[:16],
        "encoder": "none" if kit.reader is None else kit.reader.name,
        "order of kinds": order_of_kinds(ramdocs),
        "prompt": content_id("p", SYSTEM, TASK, json.dumps(SCHEMA)),
        **counted(hearings),
        "fits": {},
    }
    for title, ranked in FITS.items():
        out["fits"][title] = fitted(hearings, ranked=ranked)
        write(out, arguments.out)
    print(report(out))
    say(f"written to {arguments.out}")


if __name__ == "__main__":
    main()
