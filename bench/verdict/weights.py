"""Fits the weights by which `disputation` tells whether a reading answers (`disputatio.strategies.disputation.sides`).

    python -m bench.verdict.weights --data ../shared/data --journal FILE            # asks what the journal does not hold
    python -m bench.verdict.weights --data ../shared/data --journal FILE --replay   # from the journal alone
    python -m bench.verdict.weights --data ../shared/data --journal FILE --reader trained --rows 100 --out FILE

Each passage of the rows to fit on (`corpora`) is read alone, the answers become sides (`standing.weigh`), and a logistic
regression with a ridge of 1 on standardised features tells those that answer. In RAMDocs and NQ a side answers when it is
right; where lies are planted, also when it says what a planted passage was made to say: which of the two is right is
for accounts, dates and belief to decide, and how many lies there are is a choice of the benchmark's maker.

Every corpus is told by weights that never saw it, nor another setting of it: ROC AUC over its sides and the error of
calibration in ten bins, with 95 % intervals by bootstrap over rows, beside the weights in use. With the trained reader its
head *support* is asked of each answer that was read, and the fit is made with and without it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench import RESULTS
from bench.lib.agreement import calibration_error, resampled, roc_auc
from bench.lib.asking import over, say, table
from bench.lib.files import beside, write_json, write_whole
from bench.lib.options import asking_parser
from bench.verdict.corpora import CORPORA, Corpus
from disputatio.agents.replies import shown
from disputatio.agents.trained_reader import CHOICES, judge_of, prompt_of
from disputatio.config import read_settings
from disputatio.errors import InputError, LLMError, NotJournalled
from disputatio.eval.data.datasets import identify
from disputatio.eval.metrics import states
from disputatio.kit import TRAINED_READER, Kit
from disputatio.parts import build_kit
from disputatio.strategies.disputation.reading import MAX_TOKENS, Reader, read
from disputatio.strategies.disputation.sides import BIAS, WEIGHTS, Feature, Side, weigh
from disputatio.trace import Trace
from disputatio.types import Example

Floats = NDArray[np.float64]
RIDGE = 1.0  # on standardised features; the bias has none
STEPS = 40  # of Newton's method, which has settled after about ten
FITTED_ON = ("ramdocs", "nq", "conflictnq-1r1f", "poisonedrag-1f", "realtimeqa-1f", "realtimeqa-5f")
SET = ("kinship", "kind")  # not fitted: for ranks that are trusted, and too seldom unlike the question to fit
NAMES: list[Feature] = [name for name in WEIGHTS if name not in SET]
SUPPORT = "support"  # log-odds of yes by the trained reader's head, the best of a side; no feature in use
FILES = {
    "ramdocs": "ramdocs/dev.jsonl",
    "nq_with_passages": "nq_with_passages/nq.jsonl",
    "conflictnq": "conflictnq/val.jsonl",
    "poisonedrag": "poisonedrag/nq.jsonl",
    "realtimeqa": "realtimeqa/realtimeqa.json",
}
BY, MEASURES = ("in use", "fitted", "with support"), ("ROC AUC", "calibration error")
_OUT = RESULTS / "verdict" / "weights.json.gz"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """A logistic model: log-odds = bias + weights . (features - means)."""

    bias: float
    weights: Floats
    means: Floats

    def log_odds(self, features: Floats) -> Floats:
        """Return the log-odds of rows of features; an unknown one counts as its mean."""
        return np.asarray(self.bias + _known(features, self.means) @ self.weights)


def fit(features: Floats, right: NDArray[np.bool_], *, ridge: float = RIDGE) -> Fit:
    """Return the logistic regression with this ridge on standardised features, by Newton's method.

    >>> even = fit(np.array([[0.0], [0.0], [1.0], [1.0]]), np.array([True, False, True, False]))
    >>> abs(round(even.bias, 6)), abs(round(float(even.weights[0]), 6)), even.means.tolist()
    (0.0, 0.0, [0.5])
    """
    there = ~np.isnan(features)
    means = np.where(there, features, 0.0).sum(axis=0) / np.maximum(there.sum(axis=0), 1)
    centred = _known(features, means)
    spread = centred.std(axis=0)
    spread[spread < 1e-9] = 1.0  # a feature that is always the same tells nothing
    design = np.hstack([np.ones((len(features), 1)), centred / spread])
    penalty = np.r_[1e-9, np.full(features.shape[1], ridge)]  # next to nothing for the bias: all may be right
    weights = np.zeros(design.shape[1])
    for _ in range(STEPS):
        likely = chance(design @ weights)
        slope = design.T @ (likely - right) + penalty * weights
        bend = (design * (likely * (1 - likely))[:, None]).T @ design + np.diag(penalty)
        weights = weights - np.linalg.solve(bend, slope)
    return Fit(bias=float(weights[0]), weights=weights[1:] / spread, means=means)


def _known(features: Floats, means: Floats) -> Floats:
    """Return the features about their means, unknown ones at them."""
    return np.asarray(np.where(np.isnan(features), 0.0, features - means))


def chance(log_odds: Floats) -> Floats:
    """Return the probability that log-odds stand for.

    >>> chance(np.array([0.0])).tolist()
    [0.5]
    """
    return np.asarray(1 / (1 + np.exp(-log_odds)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Sides:
    """The sides of a row: features (sides, names and support; NaN where unknown), which of them answer, and the
    log-odds that the weights in use give each.
    """

    features: Floats
    answers: NDArray[np.bool_]
    in_use: Floats


def family(corpus: str) -> str:
    """Return the corpus of which a setting is one: weights that never saw it saw no other setting of it.

    >>> family("conflictnq-1r3f"), family("nq")
    ('conflictnq', 'nq')
    """
    return corpus.partition("-")[0]


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


def sides(example: Example, corpus: Corpus, kit: Kit, reader: Reader) -> Sides | None:
    """Return the sides of a row; None where the model failed. What a replay lacks ends the benchmark."""
    try:
        own = kit.with_trace(Trace())
        readings = read(example.question, example.passages, own, reader, max_tokens=MAX_TOKENS)
        weighed = weigh(example.question, readings, {}, ranked=False)
        support = _support(example.question, weighed, own) if reader == "trained" else [np.nan] * len(weighed)
    except NotJournalled:
        raise
    except LLMError:
        return None
    planted = corpus.expect == "one"
    features = [
        [*(side.features.get(name, np.nan) for name in NAMES), odds]
        for side, odds in zip(weighed, support, strict=True)
    ]
    said = [
        is_right(side.answer, example.gold, example.wrong)
        or (planted and any(states(side.answer, lie, lenient=True) for lie in example.wrong))
        for side in weighed
    ]
    return Sides(
        features=np.array(features, dtype=np.float64).reshape(len(weighed), len(NAMES) + 1),
        answers=np.array(said, dtype=np.bool_),
        in_use=np.array([side.log_odds for side in weighed], dtype=np.float64),
    )


def _support(question: str, weighed: Sequence[Side], kit: Kit) -> list[float]:
    """Return the log-odds that a passage of each side says that its answer is what is asked, the best of its passages."""
    asked = [(number, each) for number, side in enumerate(weighed) for each in side.readings]
    prompts = [
        prompt_of("support", shown(each.passage), judge_of(question, each.answer)) for _, each in asked
    ]
    best = [-np.inf] * len(weighed)
    for (number, _), choice in zip(
        asked, kit.choose(TRAINED_READER, prompts, CHOICES["support"]), strict=True
    ):
        best[number] = max(best[number], choice.logprobs[0] - choice.logprobs[1])
    return best


def fitted(rows: Sequence[Sides]) -> Fit:
    """Return the fit to rows; raises `InputError` where they have no sides."""
    if not any(len(row.answers) for row in rows):
        raise InputError("no passage of the rows to fit on answers anything")
    return fit(np.vstack([row.features for row in rows]), np.concatenate([row.answers for row in rows]))


def constants(model: Fit) -> dict[str, Any]:
    """Return the bias, and of each feature its weight and what it usually is."""
    return {
        "bias": round(model.bias, 4),
        "features": {
            name: {"weight": round(float(model.weights[at]), 4), "mean": round(float(model.means[at]), 4)}
            for at, name in enumerate([*NAMES, SUPPORT][: len(model.weights)])
        },
    }


def told_by_others(name: str, rows: Mapping[str, Sequence[Sides]]) -> dict[str, Any]:
    """Measure the weights fitted on all other corpora on the sides of one, with *support* and without, and those in use."""
    others = [row for other, some in rows.items() if family(other) != family(name) for row in some]
    own = rows[name]
    told = {"in use": [chance(row.in_use).tolist() for row in own]}
    for label, known in (("fitted", without_support), ("with support", lambda row: row)):
        if label == "fitted" or not all(np.isnan(row.features[:, -1]).all() for row in own):
            model = fitted([known(row) for row in others])
            told[label] = [chance(model.log_odds(known(row).features)).tolist() for row in own]
    truth = [row.answers.tolist() for row in own]

    def measured(some: Sequence[int], measure: Any, likely: Sequence[Sequence[float]]) -> float | None:
        value: float | None = measure(
            [each for at in some for each in likely[at]], [each for at in some for each in truth[at]]
        )
        return value

    return {
        "rows": len(own),
        "sides": sum(len(row.answers) for row in own),
        "answering": int(sum(row.answers.sum() for row in own)),
        **constants(fitted([without_support(row) for row in others])),
        **{
            by: {
                label: {"mean": span.mean, "low": span.low, "high": span.high}
                for label, measure in (("ROC AUC", roc_auc), ("calibration error", calibration_error))
                for span in [resampled(range(len(own)), partial(measured, measure=measure, likely=likely))]
            }
            for by, likely in told.items()
        },
    }


def without_support(row: Sides) -> Sides:
    """Return the sides of a row without the last feature, which is none in use."""
    return replace(row, features=row.features[:, :-1])


def report(out: Mapping[str, Any]) -> str:
    """Return the constants, and every corpus with weights that never saw it."""
    constants = [["bias", f"{out['bias']:.3f}", "–", f"{BIAS:g}", "–"]]
    constants += [
        [
            name,
            f"{got['weight']:.3f}",
            f"{got['mean']:.3f}",
            *(f"{used:g}" for used in WEIGHTS.get(name, (0.0, 0.0))),
        ]
        for name, got in out["features"].items()
    ]
    left_out = [
        [name, row["rows"], row["sides"], row["answering"], by, *(_span(row[by][m]) for m in MEASURES)]
        for name, row in out["left out"].items()
        for by in BY
        if by in row
    ]
    return "\n".join(
        [
            "# Whether a reading answers: one fit over all corpora",
            "",
            f"`python -m bench.verdict.weights --data DATA --journal FILE --reader {out['reader']}`",
            "",
            f"Reader {out['reader']}, model {out['model']}, engine {out['engine']}, encoder {out['encoder']}; passages shuffled by "
            f"their row; ridge {RIDGE:g} on standardised features. Odd rows alone were read (of RAMDocs 7, 15, ..., which no reader "
            f"was trained on); {out['failed']} rows failed. Data (SHA-256): "
            + ", ".join(f"{name} {digest}" for name, digest in out["data"].items())
            + ".",
            "",
            table(["feature", "weight", "mean", "weight in use", "mean in use"], constants),
            "",
            "## Each corpus by weights that never saw it",
            "",
            table(
                ["corpus", "rows", "sides", "answering", "weights", *(f"{measure} [95 %]" for measure in MEASURES)],
                left_out,
            ),
            "",
        ]
    )  # fmt: skip


def _span(span: Mapping[str, float | None]) -> str:
    if span["mean"] is None or span["low"] is None:
        return "–"
    return f"{span['mean']:.3f} [{span['low']:.3f}, {span['high']:.3f}]"


def main(words: Sequence[str] | None = None, kit: Kit | None = None) -> None:
    """Read the rows to fit on, fit, leave each corpus out, write."""
    options = asking_parser(__doc__, "runs/verdict.sqlite", 40, _OUT)
    options.add_argument("--reader", choices=("llm", "trained", "encoder"), default="llm", help="who reads")
    options.add_argument("--corpora", nargs="*", choices=FITTED_ON, default=FITTED_ON, help="these alone")
    options.add_argument("--replay", action="store_true", help="only what the journal holds, without a model")
    arguments = options.parse_args(words)
    if kit is None:
        settings = read_settings(journal=arguments.journal, replay=arguments.replay or None)
        kit = build_kit(settings, say=say)
    rows: dict[str, list[Sides]] = {}
    failed = 0
    for name in arguments.corpora:
        corpus = CORPORA[name](arguments.data)
        examples = corpus.to_fit()[: arguments.rows]
        read_rows = over(
            examples, partial(sides, corpus=corpus, kit=kit, reader=arguments.reader), label=name
        )
        rows[name] = [row for row in read_rows if row is not None]
        failed += len(examples) - len(rows[name])
    model = fitted([without_support(row) for some in rows.values() for row in some])
    out = {
        "reader": arguments.reader,
        "model": kit.model.name,
        "engine": kit.model.capabilities().engine,
        "encoder": "none" if kit.reader is None else kit.reader.name,
        "data": {
            name: identify(f"{name}:{arguments.data / file}").sha256[:16] for name, file in FILES.items()
        },
        "failed": failed,
        **constants(model),
        "left out": {name: told_by_others(name, rows) for name in rows},
    }
    write_json(arguments.out, out)
    write_whole(beside(arguments.out, ".md"), report(out))
    print(report(out))


if __name__ == "__main__":
    main()
