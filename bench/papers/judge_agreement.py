"""How far our judge's grades agree with a 70B judge's on the same answers, and with experts' on claims.

    python -m bench.papers.judge_agreement judged_answers.jsonl --rows 120 --claims claim_judgements.jsonl \
        --journal runs/judge.sqlite > bench/results/papers/judge_agreement.md

Correctness: answers of two systems that Llama-3.3-70B graded from -1 to 2 against the reference answer; its
fractions are put to the nearest grade (a half to the higher; the other rounding is reported too). Faithfulness:
the passages that those answers were drawn from are not published, so our judge's grade of a claim is compared
with what experts say of its support by the evidence it cites (ExpertQA: Complete 1, Partial and Incomplete 0).
Calls are kept in the journal, so an interrupted run goes on.
"""

from __future__ import annotations

import argparse
import math
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median

import numpy as np

from bench.lib.agreement import Weights, confusion, kappa, resampled
from bench.lib.correlation import spearman
from disputatio.config import read_settings
from disputatio.eval.data.datasets import load
from disputatio.eval.judge import (
    CORRECTNESS,
    FAITHFULNESS,
    Case,
    Grade,
    correctness,
    expected,
    faithfulness,
    signature,
)
from disputatio.eval.statistics import estimate
from disputatio.kit import Kit
from disputatio.parts import build_kit
from disputatio.trace import Trace
from disputatio.types import Example

SUPPORTED = {"Complete": 1, "Partial": 0, "Incomplete": 0}
AT_ONCE = 4  # cases a batch: what is done between two entries of the journal


def main() -> None:
    """Print the result as Markdown."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("answers", type=Path, help="judged_answers.jsonl")
    parser.add_argument("--claims", type=Path, help="claim_judgements.jsonl of ExpertQA")
    parser.add_argument("--rows", type=int, default=120, help="answers, and claims, drawn at random")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--model", help="the judge: local:NAME or openai:NAME")
    parser.add_argument("--journal", default="runs/judge.sqlite")
    arguments = parser.parse_args()
    kit = build_kit(read_settings(model=arguments.model, journal=arguments.journal), say=say)
    start = time.perf_counter()
    print("# Agreement of the judge's grades\n")
    print("`python -m bench.papers.judge_agreement judged_answers.jsonl --claims claim_judgements.jsonl`\n")
    print(f"Judge: {signature(kit)}; {arguments.rows} rows drawn with seed {arguments.seed}.\n")
    print_correctness(drawn(load(f"judged_answers:{arguments.answers}"), arguments.rows, arguments.seed), kit)
    if arguments.claims:
        claims = [
            claim
            for claim in load(f"expertqa:{arguments.claims}")
            if claim.passages and claim.metadata["support"] in SUPPORTED
        ]
        print_faithfulness(drawn(claims, arguments.rows, arguments.seed), kit)
    print(f"This run took {time.perf_counter() - start:.0f} s (calls that the journal had took none).")


def drawn(examples: Sequence[Example], count: int, seed: int) -> list[Example]:
    """So many of the examples at random, in the order of the file; a larger draw holds the smaller one."""
    order = list(range(len(examples)))
    random.Random(seed).shuffle(order)
    return [examples[at] for at in sorted(order[:count])]


def graded(
    examples: Sequence[Example],
    cases: Sequence[Case],
    kit: Kit,
    grade: Callable[[Sequence[Case], Kit], list[Grade]],
) -> list[tuple[Example, Grade]]:
    """Return each example with the judge's grade of its case."""
    grades: list[Grade] = []
    for at in range(0, len(cases), AT_ONCE):
        grades += grade(cases[at : at + AT_ONCE], kit.with_trace(Trace()))
        say(f"{len(grades)}/{len(cases)} {grade.__name__}")
    return list(zip(examples, grades, strict=True))


def print_correctness(examples: Sequence[Example], kit: Kit) -> None:
    """Correctness beside the 70B judge's."""
    cases = [
        Case(question=example.question, answer=example.metadata["answer"], reference=example.gold[0])
        for example in examples
    ]
    grades = graded(examples, cases, kit, correctness)
    print("## Correctness, against a 70B judge\n")
    compared = report(grades, lambda example: nearest(example.metadata["correctness"]), CORRECTNESS, "70B")
    lower = [(nearest(example.metadata["correctness"], up=False), grade) for example, _, grade in compared]
    print(f"* with halves to the lower grade: quadratic kappa {shown(lower, CORRECTNESS, 'quadratic')}")
    raw = [
        (float(example.metadata["correctness"]), expected(grade, CORRECTNESS))
        for example, grade in grades
        if grade.grade is not None
    ]
    both = [(theirs, ours) for theirs, ours in raw if ours is not None]
    if len(both) > 1:
        rank = spearman(np.array([a for a, _ in both]), np.array([b for _, b in both]))
        print(
            f"* rank correlation of its score with our mean grade by probability: {rank:.3f} (n {len(both)})"
        )
    for system in sorted({example.metadata["part"] for example in examples}):
        pairs = [(theirs, ours) for example, theirs, ours in compared if example.metadata["part"] == system]
        means = [estimate([float(pair[side]) for pair in pairs]) for side in (0, 1)]
        text = ", ".join(
            f"{name} {mean.mean:.3f}"
            for name, mean in zip(("70B", "ours"), means, strict=True)
            if mean.mean is not None
        )
        print(f"* {system}, mean grade (n {len(pairs)}): {text}")
    print()


def print_faithfulness(examples: Sequence[Example], kit: Kit) -> None:
    """Faithfulness of claims beside the experts' word on their support."""
    cases = [
        Case(
            question=example.question,
            answer=example.metadata["claim"],
            passages=tuple(passage.text for passage in example.passages),
        )
        for example in examples
    ]
    print("## Faithfulness, against experts on single claims\n")
    print(
        "A claim is less than an answer, and experts never say -1 here (a claim without evidence is not asked"
        " about): this tells Full from less, no more.\n"
    )
    grades = graded(examples, cases, kit, faithfulness)
    report(grades, lambda example: SUPPORTED[example.metadata["support"]], FAITHFULNESS, "experts")
    merged = [
        (SUPPORTED[example.metadata["support"]], max(grade.grade, 0))
        for example, grade in grades
        if grade.grade is not None
    ]
    low = resampled(merged, lambda some: kappa([a for a, _ in some], [b for _, b in some], [0, 1]))
    if low.mean is not None:
        print(f"* Full against the rest, kappa {low.mean:.3f}{between(low.low, low.high)} (n {low.n})\n")


def report(
    grades: Sequence[tuple[Example, Grade]],
    truth: Callable[[Example], int],
    menu: Mapping[str, int],
    who: str,
) -> list[tuple[Example, int, int]]:
    """Print counts, confusion and kappas; the examples with the other's grade and ours, where both are."""
    compared = [
        (example, truth(example), grade.grade, grade) for example, grade in grades if grade.grade is not None
    ]
    labels = sorted(menu.values())
    pairs = [(theirs, round(ours)) for _, theirs, ours, _ in compared]  # grades of a menu are whole
    reasons = Counter(grade.reason.partition(":")[0] for _, grade in grades if grade.grade is None)
    unasked = sum(grade.margin is None for *_, grade in compared)
    text = "; ".join(f"{n} {why}" for why, n in reasons.items()) or "none"
    print(f"n {len(grades)}, graded {len(compared)} (of them {unasked} without a call), unscored: {text}.\n")
    print(f"| {who} \\ ours | " + " | ".join(map(str, labels)) + " | sum |")
    print("| ---: |" + " ---: |" * (len(labels) + 1))
    table = confusion([theirs for theirs, _ in pairs], [ours for _, ours in pairs], labels)
    for label, row in zip(labels, table, strict=True):
        print(f"| **{label}** | " + " | ".join(map(str, row)) + f" | {sum(row)} |")
    most = max(Counter(theirs for theirs, _ in pairs).values(), default=0)
    print(f"\n* the same grade: {same(pairs)}; always saying the commonest grade: {most}")
    print(f"* quadratic kappa {shown(pairs, menu, 'quadratic')}, linear {shown(pairs, menu, 'linear')}")
    margins = [
        (grade.margin, theirs, ours) for _, theirs, ours, grade in compared if grade.margin is not None
    ]
    if margins:
        middle = median(margin for margin, *_ in margins)
        sure = [(theirs, round(ours)) for margin, theirs, ours in margins if margin >= middle]
        print(f"* median margin of the judge {middle:.2f}; at or above it the same grade: {same(sure)}")
    return [(example, theirs, round(ours)) for example, theirs, ours, _ in compared]


def same(pairs: Sequence[tuple[int, int]]) -> str:
    """Return how many pairs are of one grade."""
    return f"{sum(a == b for a, b in pairs)} of {len(pairs)}"


def shown(pairs: Sequence[tuple[int, int]], menu: Mapping[str, int], weights: Weights) -> str:
    """Return a weighted kappa with its bootstrap interval over the rows."""
    labels = sorted(menu.values())
    spread = resampled(pairs, lambda some: kappa([a for a, _ in some], [b for _, b in some], labels, weights))
    return "not defined" if spread.mean is None else f"{spread.mean:.3f}{between(spread.low, spread.high)}"


def between(low: float | None, high: float | None) -> str:
    """Return an interval in words."""
    return "" if low is None or high is None else f" [{low:.3f}, {high:.3f}]"


def nearest(score: float, *, up: bool = True) -> int:
    """Return the grade nearest to a score in fractions.

    >>> nearest(1.8), nearest(1.5), nearest(1.5, up=False), nearest(-1.0), nearest(0.5)
    (2, 2, 1, -1, 1)
    """
    return max(-1, min(2, math.floor(score + 0.5) if up else math.ceil(score - 0.5)))


def say(text: str) -> None:
    """A line of progress."""
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
