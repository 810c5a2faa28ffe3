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

With `memory`, which is ours, the reader is a hidden copier: that share of its answers is what it says with no
passage, the same for all sources, right in `KNOWN` of the questions and one popular mistake in the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from disputatio.errors import InputError
from disputatio.eval.statistics import MeanEstimate
from disputatio.eval.statistics import estimate as interval
from disputatio.reliability.informative import Informed, estimate_informed, overturns
from disputatio.reliability.trust import Trust, untangle, vote
from disputatio.reliability.weighted_vote import (
    CAP,
    UNKNOWN,
    as_met,
    estimate,
    hold_vote,
    majority,
    most_reliable,
    weights_of,
)

IDEAL = "ideal"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """A reader's answers by the kind of passage it reads, as probabilities that add up to 1.

    `factual`: correct, IDK, hallucinated. `misleading`: correct, as the passage says (incorrect), IDK,
    hallucinated. `irrelevant`: correct, IDK, hallucinated.
    """

    factual: tuple[float, float, float]
    misleading: tuple[float, float, float, float]
    irrelevant: tuple[float, float, float]


# Per cent. Factual: correct, IDK, hallucination; misinformation: correct, incorrect, IDK, hallucination;
# irrelevant: correct, IDK, hallucination. Threshold 0.0 is "without filtering". As printed: some columns of
# the paper sum to 96 to 105 (here scaled to 1), and Phi3's rows on NQ at 0.0, 0.5, 0.8 repeat Llama3's.
_TYPES = """
nq       llama3-8b   0.0  80.36  2.33 17.31   2.02 87.63  1.01  9.34   4.53 80.29 15.18
nq       llama3-8b   0.1  76.74  6.20 17.05   0.76 86.87  4.55  7.83   1.84 91.31  6.85
nq       llama3-8b   0.5  72.61 11.89 15.50   0.51 84.60  7.83  7.07   1.35 94.25  4.41
nq       llama3-8b   0.8  68.22 17.57 14.21   0.25 82.32 10.86  6.57   0.98 94.86  4.16
tqa      llama3-8b   0.0  96.38  0.26  8.01   5.05 75.76  4.80 10.10  26.07 50.92 22.89
tqa      llama3-8b   0.1  94.32  2.58  7.75   2.53 70.96 13.89  8.33   4.16 91.19  4.53
tqa      llama3-8b   0.5  89.41  8.01  7.24   1.26 66.67 20.20  7.58   1.71 96.57  1.59
tqa      llama3-8b   0.8  84.50 13.44  6.72   1.01 62.12 25.76  6.82   0.73 98.04  1.10
hotpotqa llama3-8b   0.0  82.95  0.26 17.57   6.57 65.40  8.59 16.16  14.69 59.24 27.29
hotpotqa llama3-8b   0.1  75.97  9.30 15.50   3.79 54.55 26.01 12.37   2.20 91.43  7.59
hotpotqa llama3-8b   0.5  66.93 20.93 12.92   2.27 45.45 41.16  7.83   0.73 96.94  3.55
hotpotqa llama3-8b   0.8  58.66 31.01 11.11   1.01 35.61 55.05  5.05   0.24 98.16  2.82
nq       phi3-mini   0.0  80.36  2.33 17.31   2.02 87.63  1.01  9.34   4.53 80.29 15.18
nq       phi3-mini   0.1  78.81  6.20 14.99   0.25 89.65  3.03  7.07   2.20 88.13  9.67
nq       phi3-mini   0.5  72.61 11.89 15.50   0.51 84.60  7.83  7.07   1.35 94.25  4.41
nq       phi3-mini   0.8  68.22 17.57 14.21   0.25 82.32 10.86  6.57   0.98 94.86  4.16
tqa      phi3-mini   0.0  96.38  0.26  8.01   4.80 77.27  4.55  9.09  36.72 32.56 30.60
tqa      phi3-mini   0.1  93.80  2.84  8.01   1.77 72.98 13.38  7.58   5.51 89.47  4.90
tqa      phi3-mini   0.5  89.41  8.01  7.24   1.26 66.67 20.20  7.58   1.71 96.57  1.59
tqa      phi3-mini   0.8  84.50 13.44  6.72   1.01 62.12 25.76  6.82   0.73 98.04  1.10
hotpotqa phi3-mini   0.0  83.98  1.03 15.76   4.55 74.24  3.79 14.14  18.73 39.53 42.96
hotpotqa phi3-mini   0.1  77.00 10.34 13.44   3.54 61.62 22.47  9.09   3.67 87.39 10.16
hotpotqa phi3-mini   0.5  68.22 21.96 10.59   2.53 48.74 40.91  4.55   0.86 96.08  4.28
hotpotqa phi3-mini   0.8  58.91 32.82  9.04   1.26 37.63 55.30  2.53   0.49 97.92  2.82
nq       gpt-4o-mini 0.0  78.55  4.91 16.54   0.51 88.64  4.04  6.82   1.84 92.78  5.39
nq       gpt-4o-mini 0.1  75.45  8.27 16.28   0.51 87.88  5.05  6.57   0.86 95.10  4.04
nq       gpt-4o-mini 0.5  71.58 13.18 15.25   0.51 85.61  7.58  6.31   0.61 95.84  3.55
nq       gpt-4o-mini 0.8  67.70 18.09 14.21   0.00 83.08 10.86  6.06   0.49 95.96  3.55
tqa      gpt-4o-mini 0.0  96.64  0.78  7.24   1.52 68.43 16.92  8.84   9.67 87.76  2.45
tqa      gpt-4o-mini 0.1  94.32  3.10  7.24   0.76 66.41 21.21  7.32   2.45 96.82  0.61
tqa      gpt-4o-mini 0.5  89.41  8.53  6.72   0.51 62.63 25.76  6.82   1.10 98.41  0.37
tqa      gpt-4o-mini 0.8  84.75 13.70  6.20   0.25 59.09 30.30  6.06   0.86 98.65  0.37
hotpotqa gpt-4o-mini 0.0  86.30  0.78 13.70   5.56 63.38 16.67 11.11   9.42 85.19  6.61
hotpotqa gpt-4o-mini 0.1  78.81  9.30 12.66   3.03 54.29 30.30  9.09   1.71 96.21  3.30
hotpotqa gpt-4o-mini 0.5  69.51 20.93 10.34   2.27 45.20 42.93  6.31   0.73 97.92  2.57
hotpotqa gpt-4o-mini 0.8  59.69 31.78  9.30   1.01 36.11 55.56  4.04   0.37 98.41  2.45
"""

# Accuracy at 1 to 7 adversaries of 9, adversary-hammer prior.
_ACCURACIES = """
nq       MV      0.740 0.719 0.686 0.634 0.557 0.454 0.327
nq       RA-RAG  0.737 0.731 0.717 0.696 0.672 0.627 0.558
nq       Oracle  0.745 0.736 0.719 0.699 0.670 0.629 0.558
tqa      MV      0.914 0.892 0.862 0.812 0.730 0.619 0.477
tqa      RA-RAG  0.913 0.901 0.888 0.870 0.842 0.797 0.722
tqa      Oracle  0.916 0.904 0.890 0.873 0.841 0.798 0.726
hotpotqa MV      0.744 0.714 0.678 0.632 0.574 0.488 0.382
hotpotqa RA-RAG  0.745 0.723 0.704 0.677 0.654 0.615 0.557
hotpotqa Oracle  0.748 0.727 0.704 0.678 0.654 0.616 0.556
"""


def _scale(shares: list[float]) -> tuple[float, ...]:
    return tuple(share / sum(shares) for share in shares)


def _read() -> Mapping[tuple[str, str, float], Reader]:
    readers = {}
    for line in _TYPES.strip().splitlines():
        data, model, threshold, *rest = line.split()
        shares = [float(cell) for cell in rest]
        factual, misleading, irrelevant = (_scale(shares[a:b]) for a, b in ((0, 3), (3, 7), (7, 10)))
        readers[data, model, float(threshold)] = Reader(
            factual=(factual[0], factual[1], factual[2]),
            misleading=(misleading[0], misleading[1], misleading[2], misleading[3]),
            irrelevant=(irrelevant[0], irrelevant[1], irrelevant[2]),
        )
    return MappingProxyType(readers)


READERS = _read()
DATA = tuple(dict.fromkeys(data for data, _, _ in READERS))
MODELS = (*dict.fromkeys(model for _, model, _ in READERS), IDEAL)
TAUS = tuple(dict.fromkeys(tau for _, _, tau in READERS))
PAPER: Mapping[tuple[str, str], tuple[float, ...]] = MappingProxyType(
    {
        (line.split()[0], line.split()[1]): tuple(float(part) for part in line.split()[2:])
        for line in _ACCURACIES.strip().splitlines()
    }
)


def reader_of(data: str, model: str, tau: float) -> Reader:
    """Return the reader of a table; `ideal` never errs. Raises `InputError` that lists what there is.

    >>> round(reader_of("nq", "llama3-8b", 0.1).factual[0], 3)
    0.767
    """
    if model == IDEAL:
        return Reader(factual=(1, 0, 0), misleading=(0, 1, 0, 0), irrelevant=(0, 1, 0))
    try:
        return READERS[data, model, tau]
    except KeyError:
        raise InputError(
            f"no such reader: --data is one of {', '.join(DATA)}; --reader of {', '.join(MODELS)};"
            f" --tau of {', '.join(str(tau) for tau in TAUS)} (0.0: without filtering)"
        ) from None


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
# Shares of questions: that the reader is right on by itself, and on which asking it shows what it says.
KNOWN, KEPT = 0.3, 0.85
MOST_ANSWERS = 50_000_000  # questions times sources of one trial
METHODS = ("MV", "RA-RAG", f"RA-RAG, kappa {KAPPA}", "Oracle")
OURS = ("ours", "ours, reader apart")  # with `memory`


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """Votes (questions, sources), the cluster that is right (-1: no source gave it), and the sources' p.

    `own` is the cluster of what the reader says by itself: -1 if no source does, -2 if that is not known.
    """

    votes: NDArray[np.int32]
    truth: NDArray[np.int32]
    reliability: Floats
    own: Labels

    def part(self, start: int, stop: int | None = None) -> World:
        some = slice(start, stop)
        return World(
            votes=self.votes[some], truth=self.truth[some], reliability=self.reliability, own=self.own[some]
        )

    def accuracy(self, winners: NDArray[np.int32]) -> float:
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
    accuracy: dict[str, MeanEstimate]
    paper: dict[str, float]
    error: float
    unsettled: int


def reliabilities(
    generator: np.random.Generator, prior: Prior, sources: int, adversaries: int | None = None
) -> Floats:
    """Return p of each source, adversaries at random places; raises `InputError` for too many of them."""
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
    """Draw the answer that each source holds on each question: 0 is right, 1 to 9 are wrong, -1 is nothing.

    `coverage` is that of all sources, or of each.
    """
    size = (questions, len(p))
    labels = np.where(generator.random(size) < p, 0, generator.integers(1, WRONG + 1, size))
    return np.where(generator.random(size) < coverage, labels, -1)


def read(generator: np.random.Generator, labels: Labels, reader: Reader, common: float = COMMON) -> Labels:
    """Draw the answer from each passage: 0 right, 1 to 9 wrong, -1 "I don't know", 10 and more made up.

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
    memory: float = 0.0,
    together: bool = False,
) -> World:
    """Return a world of so many questions; with `together` all lies of a question are one."""
    stated = passages(generator, p, questions, coverage)
    if together:
        stated = np.where(stated > 0, generator.integers(1, WRONG + 1, (questions, 1)), stated)
    answers = read(generator, stated, reader, common)
    by_itself = np.full(questions, -1, dtype=np.int64)
    if memory:
        by_itself = np.where(generator.random(questions) < KNOWN, 0, WRONG + 1)
        answers = np.where(generator.random(answers.shape) < memory, by_itself[:, None], answers)
        by_itself = np.where(generator.random(questions) < KEPT, by_itself, -1)
    votes, truth = as_met(answers)
    same = (answers == by_itself[:, None]) & (by_itself >= 0)[:, None]
    cluster = votes[np.arange(questions), same.argmax(axis=1)]
    own = np.where(by_itself < 0, UNKNOWN, np.where(same.any(axis=1), cluster, -1))
    return World(votes=votes, truth=truth, reliability=p, own=own)


def trial(
    generator: np.random.Generator,
    p: Floats,
    reader: Reader,
    *,
    estimated: int,
    tested: int,
    common: float,
    memory: float = 0.0,
) -> tuple[dict[str, float], float, bool]:
    world = build(generator, p, estimated + tested, reader, common=common, memory=memory)
    options = max(2, min(len(p), CAP))  # the paper's L is the number of sources
    estimates = estimate(world.part(0, estimated).votes, options=options)
    test = world.part(estimated)
    few = most_reliable(test.votes, estimates.weights, KAPPA)
    accuracy = (
        test.accuracy(majority(test.votes)),
        test.accuracy(hold_vote(test.votes, estimates.weights)),
        test.accuracy(hold_vote(few, estimates.weights)),
        test.accuracy(hold_vote(test.votes, p)),  # as the paper has it: p itself, not L p - 1
    )
    error = float(np.abs(estimates.reliability - p).mean())
    by_method = dict(zip(METHODS, accuracy, strict=True))
    if memory:
        trusted, informed = estimate_apart(world.part(0, estimated))
        weights = np.maximum(weights_of(informed.low, trusted.options), 0)
        apart = replace(trusted, reliability=informed.reliability, weights=weights)
        won = vote(test.votes, trusted), vote(test.votes, apart)
        by_method |= dict(zip(OURS, map(test.accuracy, won), strict=True))
    return by_method, error, estimates.converged


def estimate_apart(world: World) -> tuple[Trust, Informed]:
    """Return our estimate of a world, and the same with what the reader says by itself set apart.

    Both are the same where the second would turn the first round.
    """
    trusted, ties = untangle(world.votes)
    groups = ties.group[trusted.owner]
    informed = estimate_informed(world.votes, world.own, groups=groups, start=trusted.low)
    if overturns(trusted.reliability, informed.reliability):
        informed = replace(
            informed,
            reliability=trusted.reliability,
            low=trusted.low,
            high=trusted.high,
            answered=trusted.answered,
            agreed=trusted.agreed,
        )
    return trusted, informed


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
    memory: float = 0.0,
    seed: int = 0,
) -> Iterator[TrialOutcome]:
    """Yield one outcome for each number of adversaries (by default 1 to all but two); for Beta, one.

    The same seed gives the same figures. Raises `InputError`.
    """
    if prior not in PRIORS:
        raise InputError(f"--prior is one of {', '.join(PRIORS)}")
    if sources < 1 or trials < 1 or estimated < 1 or tested < 1:
        raise InputError("sources, trials and questions must be at least 1")
    if not (0 <= common <= 1 and 0 <= memory <= 1):
        raise InputError("common and memory must lie between 0 and 1")
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
            runs.append(
                trial(generator, p, reader, estimated=estimated, tested=tested, common=common, memory=memory)
            )
        yield TrialOutcome(
            prior=prior,
            sources=sources,
            adversaries=liars,
            trials=trials,
            accuracy={
                method: interval([accuracy[method] for accuracy, _, _ in runs], seed=seed)
                for method in (*METHODS, *(OURS if memory else ()))
            },
            paper={} if memory else _of_the_paper(data, model, sources, liars),
            error=float(np.mean([error for _, error, _ in runs])),
            unsettled=sum(not converged for _, _, converged in runs),
        )


def _of_the_paper(data: str, model: str, sources: int, adversaries: int | None) -> dict[str, float]:
    """Return the accuracies of table 7 for a setting that it has."""
    if adversaries is None or sources != 9 or not 1 <= adversaries <= 7 or model != "llama3-8b":
        return {}
    return {method: PAPER[data, method][adversaries - 1] for method in METHODS if (data, method) in PAPER}


def table(outcomes: Sequence[TrialOutcome]) -> str:
    """Return the outcomes as a Markdown table: accuracy, its 95 % interval, and the paper's."""
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
