"""What the sources of a multi-source set are heard to say, by what they do say: why estimates come out as they do.

    python -m bench.papers.ra_rag_votes SOURCES/estimate.jsonl --journal CALLS

Reliability without labels rests on honest sources agreeing more often than liars. So this counts, over the questions
of a set built by `disputatio eval build multisource`, how often a source answers where it tells the truth, a lie, or
nothing on the question; and how often two sources agree that tell the truth, the same lie, different lies, or of which
one tells nothing. Sources that tell different lies should agree in no case. Calls are those of the estimation, which the
journal of an evaluation of the set has.
"""

from __future__ import annotations

import argparse
import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bench.lib.asking import over, table
from bench.lib.correlation import pearson
from disputatio.config import read_settings
from disputatio.eval.builders.multisource import TRUE
from disputatio.eval.data.datasets import load
from disputatio.eval.estimating import heard_on, votes_of
from disputatio.parts import build_kit
from disputatio.reliability.weighted_vote import CAP, estimate
from disputatio.types import Example

KINDS = ("factual", "misinformation", "irrelevant")
PAIRS = ("both the truth", "the same lie", "different lies", "a truth and a lie", "one or both nothing")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A source and a question: what it tells (its answer, empty for nothing), and the cluster that it was heard in."""

    kind: str
    told: str
    heard: int | None


def cells(example: Example, heard: Mapping[str, int]) -> dict[str, Cell]:
    """Return the cells of a question; `heard` has the cluster of each source that answered."""
    told: dict[str, Cell] = {
        passage.source: Cell(kind="irrelevant", told="", heard=heard.get(passage.source))
        for passage in example.passages
    }
    for passage, kind, answer in zip(
        example.passages, example.metadata["types"], example.metadata["answers"], strict=True
    ):
        if kind != "irrelevant":
            told[passage.source] = Cell(kind=kind, told=answer, heard=heard.get(passage.source))
    return told


def pair_of(first: Cell, other: Cell) -> str:
    """Return what two sources tell beside each other, one of `PAIRS`.

    >>> lies = [Cell(kind="misinformation", told=told, heard=0) for told in ("1850", "1851")]
    >>> pair_of(*lies), pair_of(lies[0], lies[0])
    ('different lies', 'the same lie')
    """
    kinds = {first.kind, other.kind}
    if "irrelevant" in kinds:
        return "one or both nothing"
    if len(kinds) == 2:
        return "a truth and a lie"
    if kinds == {"factual"}:
        return "both the truth"
    return "the same lie" if first.told == other.told else "different lies"


def report(questions: Sequence[Mapping[str, Cell]]) -> str:
    """Both tables as Markdown."""
    every = [cell for question in questions for cell in question.values()]
    lines = []
    for kind in KINDS:
        those = [cell for cell in every if cell.kind == kind]
        lines.append([kind, len(those), _share(sum(cell.heard is not None for cell in those), len(those))])
    met, agreed = Counter[str](), Counter[str]()
    for question in questions:
        for first, other in itertools.combinations(question.values(), 2):
            if first.heard is not None and other.heard is not None:
                met[pair_of(first, other)] += 1
                agreed[pair_of(first, other)] += first.heard == other.heard
    pairs = [[pair, met[pair], _share(agreed[pair], met[pair])] for pair in PAIRS]
    return "\n\n".join(
        [
            table(["the source tells", "cells", "answered, %"], lines),
            table(["two sources tell", "pairs that answered", "agree, %"], pairs),
        ]
    )


def estimates(examples: Sequence[Example], heard: Sequence[Mapping[str, int]]) -> str:
    """Return the true and the estimated reliability of each source (equations 3 and 4), and how they go
    together.
    """
    truths = {
        passage.source: float(passage.metadata[TRUE]) for example in examples for passage in example.passages
    }
    names = sorted(truths)
    found = estimate(votes_of(heard, names), options=max(2, min(len(names), CAP))).reliability
    true = np.array([truths[name] for name in names])
    lines = [[name, f"{truths[name]:g}", f"{found[at]:.2f}"] for at, name in enumerate(names)]
    return table(
        ["source", "true p", "estimated"], [*lines, ["Pearson's r", "", f"{pearson(true, found):.2f}"]]
    )


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f}" if whole else "–"


def main() -> None:
    """Ask, or look the calls up, and print."""
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("questions", help="the estimate.jsonl of a set")
    options.add_argument("--journal", default=None)
    options.add_argument("--model", default=None)
    options.add_argument("--f-align", default="paper", choices=["paper", "ours"])
    arguments = options.parse_args()
    kit = build_kit(read_settings(model=arguments.model, journal=arguments.journal))
    examples = load(f"multisource:{arguments.questions}")
    how = {"f_align": arguments.f_align}
    heard = over(examples, lambda example: heard_on(example, kit, how)[0], label="asked")
    print(estimates(examples, heard) + "\n")
    print(report([cells(example, votes) for example, votes in zip(examples, heard, strict=True)]))


if __name__ == "__main__":
    main()
