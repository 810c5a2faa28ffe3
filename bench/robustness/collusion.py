"""Accuracy where owners collude: plain RA-RAG, the same with anchors, and ours with anchors and dependence.

    python -m bench.robustness.collusion > bench/results/robustness/collusion.md

Nine owners with a source each cover a question with probability 0.6; who is honest is right with 0.9, else it says
one of nine wrong answers. 1 to 7 of them lie, in five ways. 200 questions to estimate on, the first 30
verified (anchors), and 1,400 to test; 10 trials; no model, readers that do not err. `Oracle` is the weighted
vote with the true p. `plain` is RA-RAG's estimate, `anchored` the same with the anchors pinned, `no ties`
ours without dependence, `ours` with it.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from disputatio.reliability.owner_votes import rule
from disputatio.reliability.trust import trust, untangled, vote
from disputatio.reliability.weighted_vote import as_met, estimate, majority, weighted_vote

SOURCES, COVERAGE, HONEST, WRONG = 9, 0.6, 0.9, 9
ESTIMATED, TESTED, ANCHORS = 200, 1400, 30
METHODS = ("MV", "plain", "anchored", "no ties", "ours", "Oracle")


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """How liars lie: together or each for itself, on which share of questions, honest on how many checks."""

    title: str
    together: bool = True
    share: float = 1.0
    checks: int = 0
    hidden: int = 0


WAYS = (
    Way(title="The same lie, always"),
    Way(title="The same lie on half of the questions, honest on the rest", share=0.5),
    Way(title="The same lie on one question of five, honest on the rest", share=0.2),
    Way(title="Independent lies", together=False, share=0.9),
    Way(title="The same lie, but honest on the 30 checks; no other question is verified", checks=ANCHORS),
    Way(
        title="The same lie, but honest on the 30 checks; 10 live questions are verified later",
        checks=ANCHORS,
        hidden=10,
    ),
    Way(
        title="The same lie, but honest on the 30 checks; 30 live questions are verified later",
        checks=ANCHORS,
        hidden=30,
    ),
)


def world(
    generator: np.random.Generator, way: Way, liars: int
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64]]:
    """Votes, the right cluster of each question, and p of each source."""
    questions = ESTIMATED + TESTED
    who = generator.permutation(SOURCES)[:liars]
    said = np.where(
        generator.random((questions, SOURCES)) < HONEST,
        0,
        generator.integers(1, WRONG + 1, (questions, SOURCES)),
    )
    width = 1 if way.together else liars
    lie = generator.integers(1, WRONG + 1, (questions, width))
    lying = generator.random((questions, width)) < way.share
    lying[: way.checks] = False
    if way.share == 1.0 and way.checks:
        said[: way.checks, who] = 0
    said[:, who] = np.where(lying, lie, said[:, who] if way.together else 0)
    said = np.where(generator.random(said.shape) < COVERAGE, said, -1)
    votes, truth = as_met(said)
    p = np.full(SOURCES, HONEST)
    p[who] = (1 - way.share) * (HONEST if way.together else 1.0)
    return votes, truth, p


def trial(generator: np.random.Generator, way: Way, liars: int) -> list[float]:
    """Accuracy of each method on the tested questions."""
    votes, truth, p = world(generator, way, liars)
    train, test = votes[:ESTIMATED], votes[ESTIMATED:]
    verified = ANCHORS + way.hidden
    known = np.where(np.arange(ESTIMATED) < verified, truth[:ESTIMATED], -2).astype(np.int32)
    checks = np.arange(ESTIMATED) < way.checks
    plain = estimate(train, options=SOURCES)
    pinned = estimate(train, options=SOURCES, known=known)
    alone = trust(train, known=known, checks=checks)
    ours, _ = untangled(train, known=known, checks=checks)
    winners = (
        majority(test),
        weighted_vote(test, plain.weights),
        weighted_vote(test, pinned.weights),
        vote(test, alone),
        vote(test, ours),
        weighted_vote(test, p),
    )
    return [float(np.mean((won == truth[ESTIMATED:]) & (won >= 0))) for won in winners]


def sybils(seed: int) -> str:
    """Return a thousand sources of one owner: how many of the tested answers they change."""
    generator = np.random.default_rng(seed)
    votes, truth, _ = world(generator, WAYS[0], 4)
    known = np.where(np.arange(ESTIMATED) < ANCHORS, truth[:ESTIMATED], -2).astype(np.int32)
    base = trust(votes[:ESTIMATED], known=known)
    liar = int(np.argmin(base.reliability))
    many = np.concatenate([votes, np.repeat(votes[:, [liar]], 1000, axis=1)], axis=1)
    owners = [str(i) for i in range(SOURCES)] + [str(liar)] * 1000
    ours = trust(many[:ESTIMATED], owners=owners, known=known)
    changed = int(np.sum(vote(many[ESTIMATED:], ours) != vote(votes[ESTIMATED:], base)))
    equal = np.ones(len(owners))
    ruled = sum(
        rule(row, equal, owners=owners).winner != rule(row[:SOURCES], equal[:SOURCES]).winner
        for row in many[ESTIMATED:]
    )
    plain = weighted_vote(many[ESTIMATED:], estimate(many[:ESTIMATED], options=SOURCES).weights)
    before = weighted_vote(votes[ESTIMATED:], estimate(votes[:ESTIMATED], options=SOURCES).weights)
    return (
        "## A thousand sources of one owner\n\n"
        f"A liar among nine puts up 1,000 further sources that say what it says: of {TESTED:,} answers, ours changes"
        f" {changed}, the vote by owners at equal weights {ruled}, plain RA-RAG {int(np.sum(plain != before)):,}.\n"
    )


def main() -> None:
    """Print the result as Markdown."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--trials", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    began = time.perf_counter()
    for number, way in enumerate(WAYS):
        print(
            f"## {way.title}\n\n| liars of {SOURCES} | {' | '.join(METHODS)} |\n|---|{'--:|' * len(METHODS)}"
        )
        for liars in range(1, 8):
            figures = np.array(
                [
                    trial(np.random.default_rng([arguments.seed, number, liars, each]), way, liars)
                    for each in range(arguments.trials)
                ]
            )
            print(
                f"| {liars} | {' | '.join(f'{figure:.3f}' for figure in figures.mean(axis=0))} |", flush=True
            )
        print()
    print(sybils(arguments.seed))
    print(f"Seconds for all of it: {time.perf_counter() - began:.0f}")


if __name__ == "__main__":
    main()
