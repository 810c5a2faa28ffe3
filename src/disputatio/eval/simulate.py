"""The world of RA-RAG's experiments without a model: sources that are right or wrong, and readers that err.

Hwang et al. 2024, 5.1: each question has one right answer and nine wrong ones. A source covers a question
with probability 0.6; it is then factual with its own probability p, else it holds one of the wrong answers.
p is drawn from Beta(3, 2), or is 0.1 for adversaries and 0.9 for hammers. 200 questions serve to estimate
the sources' reliability and 1,400 to test. What is answered from a passage follows the measured shares of
`readers`.

The shares alone do not say whether two sources are misread together. In the paper they are: its Oracle at
one adversary (.745 on NQ) is below what one factual passage gives (.767), though eight sources are
reliable, so a question that the reader gets wrong is got wrong for all. `common` is the share of readings
that are the same for all sources with that kind of passage, answers made up included.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from disputatio.errors import InputError
from disputatio.eval.readers import PAPER, Reader, reader_of
from disputatio.eval.statistics import Estimate
from disputatio.eval.statistics import estimate as interval
from disputatio.reliability.weighted_vote import CAP, as_met, estimate, majority, most_reliable, weighted_vote

Floats: TypeAlias = NDArray[np.float64]
Labels: TypeAlias = NDArray[np.int64]
Prior = Literal["beta", "adversary-hammer"]
PRIORS: tuple[Prior, ...] = ("beta", "adversary-hammer")
COVERAGE, WRONG = 0.6, 9
ADVERSARY, HAMMER = 0.1, 0.9
BETA = (3.0, 2.0)
ESTIMATED, TESTED, TRIALS = 200, 1400, 10
COMMON = 1.0
KAPPA = 4
MOST_ANSWERS = 50_000_000  # questions times sources of one trial
METHODS = ("MV", "RA-RAG", f"RA-RAG, kappa {KAPPA}", "Oracle")


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """Votes (questions, sources), the cluster that is right (-1: no source gave it), and the sources' p."""

    votes: NDArray[np.int32]
    truth: NDArray[np.int32]
    reliability: Floats

    def part(self, start: int, stop: int | None = None) -> World:
        """Some of the questions."""
        return World(votes=self.votes[start:stop], truth=self.truth[start:stop], reliability=self.reliability)

    def accuracy(self, winners: NDArray[np.int32]) -> float:
        """Return the share of questions that were answered rightly."""
        return float(np.mean((winners == self.truth) & (self.truth >= 0)))


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialOutcome:
    """One setting: the accuracy of each method over the trials, and the paper's where it has the setting.

    `error` is the mean distance of the estimated reliability from p, which also holds what readers get
    wrong. `unsettled` counts the trials whose estimate ran out of rounds.
    """

    prior: Prior
    sources: int
    adversaries: int | None
    trials: int
    accuracy: dict[str, Estimate]
    paper: dict[str, float]
    error: float
    unsettled: int


def reliabilities(
    generator: np.random.Generator, prior: Prior, sources: int, adversaries: int | None = None
) -> Floats:
    """p of each source, adversaries at random places. Raises `InputError` on more of them than sources."""
    if prior == "beta":
        return generator.beta(*BETA, sources)
    liars = 0 if adversaries is None else adversaries
    if not 0 <= liars <= sources:
        raise InputError(f"--adversaries must lie between 0 and the {sources} sources")
    p = np.full(sources, HAMMER)
    p[generator.permutation(sources)[:liars]] = ADVERSARY
    return p


def passages(
    generator: np.random.Generator, p: Floats, questions: int, coverage: float | Floats = COVERAGE
) -> Labels:
    """Return what each source holds on each question: 0 the right answer, 1 to 9 a wrong one, -1 nothing.

    `coverage` is that of all sources, or of each.
    """
    size = (questions, len(p))
    labels = np.where(generator.random(size) < p, 0, generator.integers(1, WRONG + 1, size))
    return np.where(generator.random(size) < coverage, labels, -1)


def read(generator: np.random.Generator, labels: Labels, reader: Reader, common: float = COMMON) -> Labels:
    """Return what is answered from each passage: 0 right, 1 to 9 wrong, -1 "I don't know", 10 or more made
    up.

    An answer made up in common is 10 for all sources, else each source's own.
    """
    questions, sources = labels.shape
    shared = generator.random((questions, WRONG + 2))  # one draw a question and kind of passage
    together = generator.random(labels.shape) < common
    draw = np.where(together, np.take_along_axis(shared, labels + 1, axis=1), generator.random(labels.shape))
    made_up = np.where(together, WRONG + 1, WRONG + 2 + np.arange(sources))
    answer = np.full(labels.shape, -1, dtype=np.int64)
    for kind, shares in ((labels == 0, reader.factual), (labels < 0, reader.irrelevant)):
        right, idk = shares[0], shares[0] + shares[1]
        replies = np.where(draw < right, 0, np.where(draw < idk, -1, made_up))
        answer = np.where(kind, replies, answer)
    right, wrong, idk = np.cumsum(reader.misleading)[:3]
    replies = np.where(draw < right, 0, np.where(draw < wrong, labels, np.where(draw < idk, -1, made_up)))
    return np.where(labels > 0, replies, answer)


def build(
    generator: np.random.Generator,
    p: Floats,
    questions: int,
    reader: Reader,
    *,
    coverage: float | Floats = COVERAGE,
    common: float = COMMON,
) -> World:
    """Return a world of so many questions."""
    votes, truth = as_met(read(generator, passages(generator, p, questions, coverage), reader, common))
    return World(votes=votes, truth=truth, reliability=p)


def trial(
    generator: np.random.Generator, p: Floats, reader: Reader, *, estimated: int, tested: int, common: float
) -> tuple[dict[str, float], float, bool]:
    """Return one trial: accuracy by method on the tested questions, the estimate's error, whether it
    converged.
    """
    world = build(generator, p, estimated + tested, reader, common=common)
    options = max(2, min(len(p), CAP))  # the paper's L is the number of sources
    estimates = estimate(world.part(0, estimated).votes, options=options)
    test = world.part(estimated)
    few = most_reliable(test.votes, estimates.weights, KAPPA)
    accuracy = (
        test.accuracy(majority(test.votes)),
        test.accuracy(weighted_vote(test.votes, estimates.weights)),
        test.accuracy(weighted_vote(few, estimates.weights)),
        test.accuracy(weighted_vote(test.votes, p)),  # as the paper has it: p itself, not L p - 1
    )
    error = float(np.abs(estimates.reliability - p).mean())
    return dict(zip(METHODS, accuracy, strict=True)), error, estimates.converged


def simulate(
    *,
    prior: Prior = "adversary-hammer",
    sources: int = 9,
    adversaries: Sequence[int] = (),
    trials: int = TRIALS,
    estimated: int = ESTIMATED,
    tested: int = TESTED,
    data: str = "nq",
    model: str = "llama3-8b",
    tau: float = 0.1,
    common: float = COMMON,
    seed: int = 0,
) -> Iterator[TrialOutcome]:
    """Yield one outcome for each number of adversaries (by default 1 to all but two); for Beta, one.

    The same seed gives the same figures. Raises `InputError`.
    """
    if prior not in PRIORS:
        raise InputError(f"--prior is one of {', '.join(PRIORS)}")
    if sources < 1 or trials < 1 or estimated < 1 or tested < 1 or not 0 <= common <= 1:
        raise InputError("sources, trials and questions must be at least 1, and common lie between 0 and 1")
    if (estimated + tested) * sources > MOST_ANSWERS:
        raise InputError(f"a trial may have at most {MOST_ANSWERS:,} answers: questions times sources")
    reader = reader_of(data, model, tau)
    settings: list[int | None] = [None]
    if prior == "adversary-hammer":
        settings = list(adversaries or range(1, max(sources - 1, 2)))
        if any(not 0 <= setting <= sources for setting in settings if setting is not None):
            raise InputError(f"--adversaries must lie between 0 and the {sources} sources")
    for liars in settings:
        runs = []
        for number in range(trials):
            generator = np.random.default_rng([seed, sources, liars or 0, number])
            p = reliabilities(generator, prior, sources, liars)
            runs.append(trial(generator, p, reader, estimated=estimated, tested=tested, common=common))
        yield TrialOutcome(
            prior=prior,
            sources=sources,
            adversaries=liars,
            trials=trials,
            accuracy={
                method: interval([accuracy[method] for accuracy, _, _ in runs], seed=seed)
                for method in METHODS
            },
            paper=_of_the_paper(data, model, sources, liars),
            error=float(np.mean([error for _, error, _ in runs])),
            unsettled=sum(not converged for _, _, converged in runs),
        )


def _of_the_paper(data: str, model: str, sources: int, adversaries: int | None) -> dict[str, float]:
    """Return the accuracies of table 7 for a setting that it has."""
    if adversaries is None or sources != 9 or not 1 <= adversaries <= 7 or model != "llama3-8b":
        return {}
    return {method: PAPER[data, method][adversaries - 1] for method in METHODS if (data, method) in PAPER}


def table(outcomes: Sequence[TrialOutcome]) -> str:
    """Return the outcomes as a Markdown table: accuracy with its 95 % interval over trials, and
    the paper's.
    """
    lines = [
        "| adversaries | method | accuracy | 95 % over trials | paper |",
        "|---|---|---|---|---|",
    ]
    for outcome in outcomes:
        liars = "" if outcome.adversaries is None else str(outcome.adversaries)
        for method, value in outcome.accuracy.items():
            around = "" if value.low is None or value.high is None else f"{value.low:.3f} to {value.high:.3f}"
            theirs = f"{outcome.paper[method]:.3f}" if method in outcome.paper else ""
            lines.append(f"| {liars} | {method} | {value.mean:.3f} | {around} | {theirs} |")
    return "\n".join(lines) + "\n"
