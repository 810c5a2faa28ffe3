"""Accuracy of MV, RA-RAG and Oracle over 1 to 7 adversaries of 9, without a model, beside the paper's NQ row.

    python -m bench.papers.simulate_adversaries > bench/results/papers/simulate_adversaries.md

The paper's setting (Hwang et al. 2024, table 7): coverage 0.6, nine wrong answers, 200 questions to estimate on
and 1,400 to test, 10 trials. The reader errs as its Llama3-8B did on NQ at tau 0.1 (table 8). The one free
parameter, how far sources are misread together, was chosen on the TQA and HotpotQA rows (`--choose`).
"""

from __future__ import annotations

import time

import numpy as np

from bench.lib.correlation import pearson, spearman
from bench.lib.options import parser_of
from disputatio.eval.simulate import (
    ADVERSARY,
    COMMON,
    ESTIMATED,
    HAMMER,
    METHODS,
    PRIORS,
    TESTED,
    TrialOutcome,
    build,
    reader_of,
    reliabilities,
    simulate,
    table,
)
from disputatio.eval.statistics import MeanEstimate
from disputatio.eval.statistics import estimate as interval
from disputatio.reliability.weighted_vote import estimate, hold_vote, most_reliable

HALF = 800  # questions of Table 3 to estimate on, and as many to test
CHOICES = (0.0, 0.5, 0.8, 0.9, 0.95, 1.0)
COMPARED = ("MV", "RA-RAG", "Oracle")


def distance(outcomes: list[TrialOutcome]) -> float:
    """Return the mean distance from the paper's accuracies."""
    gaps = [
        abs((outcome.accuracy[name].mean or 0) - outcome.paper[name])
        for outcome in outcomes
        for name in COMPARED
    ]
    return sum(gaps) / len(gaps)


def choose(trials: int, seed: int) -> str:
    """Return how far the simulation is from the paper on the rows that are not reported, by `common`."""
    lines = ["| common | TQA | HotpotQA | mean |", "|---|---|---|---|"]
    for common in CHOICES:
        far = [
            distance(list(simulate(data=data, common=common, trials=trials, seed=seed)))
            for data in ("tqa", "hotpotqa")
        ]
        lines.append(f"| {common} | {far[0]:.3f} | {far[1]:.3f} | {sum(far) / 2:.3f} |")
    return "\n".join(lines) + "\n"


def by_sources(trials: int, seed: int) -> str:
    """Accuracy under the Beta prior by the number of sources, with intervals over trials."""
    lines = ["| sources | MV | RA-RAG | RA-RAG, kappa 4 | Oracle |", "|---|---|---|---|---|"]
    for count in range(4, 10):
        [found] = simulate(prior=PRIORS[0], sources=count, trials=trials, seed=seed)
        cells = [_cell(found.accuracy[name]) for name in METHODS]
        lines.append(f"| {count} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def low_coverage(trials: int, seed: int) -> str:
    """Table 3: what the estimate is worth where adversaries cover little, with and without f_align.

    800 questions to estimate on and 800 to test, as in the paper; the order of the five sources is drawn anew for each trial,
    the same with and without f_align.
    """
    liars = np.array([True] * 4 + [False])
    lines = ["| method | accuracy [95 % over trials] | paper |", "|---|---|---|"]
    found: dict[str, list[float]] = {"Oracle WMV": [], "with f_align": [], "without": []}
    for number in range(trials):
        for tau, name in ((0.1, "with f_align"), (0.0, "without")):
            generator = np.random.default_rng([seed, 5, number])
            lies = generator.permutation(liars)
            p, coverage = np.where(lies, ADVERSARY, HAMMER), np.where(lies, 0.1, 0.6)
            reader = reader_of("tqa", "llama3-8b", tau)
            world = build(generator, p, 2 * HALF, reader, coverage=coverage, common=COMMON)
            estimates = estimate(world.part(0, HALF).votes, options=len(p))
            test = world.part(HALF)
            found[name].append(test.accuracy(hold_vote(test.votes, estimates.weights)))
            if tau:
                found["Oracle WMV"].append(test.accuracy(hold_vote(test.votes, p)))
    for name, paper in (("Oracle WMV", ".541"), ("with f_align", ".537"), ("without", ".490")):
        lines.append(f"| {name} | {_cell(interval(found[name]))} | {paper} |")
    return "\n".join(lines) + "\n"


def kappas(trials: int, seed: int) -> str:
    """Accuracy and sources that vote by kappa, Beta(3, 2), 9 sources: kappa-RRSS on the same votes."""
    lines = ["| kappa | accuracy [95 % over trials] | votes a question |", "|---|---|---|"]
    for kappa in range(1, 10):
        scores, votes = [], []
        for number in range(trials):
            generator = np.random.default_rng([seed, 9, 0, number])
            p = reliabilities(generator, PRIORS[0], 9)
            world = build(generator, p, ESTIMATED + TESTED, reader_of("nq", "llama3-8b", 0.1), common=COMMON)
            estimates = estimate(world.part(0, ESTIMATED).votes, options=9)
            test = world.part(ESTIMATED)
            few = most_reliable(test.votes, estimates.weights, kappa)
            scores.append(test.accuracy(hold_vote(few, estimates.weights)))
            votes.append(float((few >= 0).sum(axis=1).mean()))
        lines.append(f"| {kappa} | {_cell(interval(scores))} | {sum(votes) / len(votes):.2f} |")
    return "\n".join(lines) + "\n"


LEVELS = tuple(level / 10 for level in range(1, 10))  # of the one source whose reliability is raised


def correlations(draws: int, seed: int) -> str:
    """Figure 5: one source's reliability raised in steps, its estimate beside the share of its answers that are right.

    The other eight are drawn from Beta(3, 2); the reader and its threshold are those of the other tables, nothing is chosen on
    these draws. `all nine` correlates the sources of each world with each other.
    """
    correlation: dict[str, list[float]] = {"PCC": [], "SRCC": [], "all nine: PCC": [], "all nine: SRCC": []}
    reader = reader_of("nq", "llama3-8b", 0.1)
    for number in range(draws):
        raised, within = [], []
        others = reliabilities(np.random.default_rng([seed, 11, number]), PRIORS[0], 8)
        for at, level in enumerate(LEVELS):
            generator = np.random.default_rng([seed, 11, number, at])
            p = np.concatenate([[level], others])
            world = build(generator, p, ESTIMATED, reader, common=COMMON)
            estimated = estimate(world.votes, options=len(p)).reliability
            right = ((world.votes == world.truth[:, None]) & (world.votes >= 0)).sum(axis=0)
            true = right / np.maximum((world.votes >= 0).sum(axis=0), 1)
            raised.append((estimated[0], true[0]))
            within.append((pearson(estimated, true), spearman(estimated, true)))
        levels = np.array(raised)
        correlation["PCC"].append(pearson(levels[:, 0], levels[:, 1]))
        correlation["SRCC"].append(spearman(levels[:, 0], levels[:, 1]))
        correlation["all nine: PCC"].append(float(np.mean([pcc for pcc, _ in within])))
        correlation["all nine: SRCC"].append(float(np.mean([srcc for _, srcc in within])))
    paper = {"PCC": ".991", "SRCC": ".992"}
    lines = ["| correlation | mean [95 % over draws] | paper |", "|---|---|---|"]
    lines += [
        f"| {name} | {_cell(interval(values))} | {paper.get(name, '')} |"
        for name, values in correlation.items()
    ]
    return "\n".join(lines) + "\n"


def _cell(found: MeanEstimate) -> str:
    if found.low is None or found.high is None:
        return f"{found.mean:.3f}"
    return f"{found.mean:.3f} [{found.low:.3f}, {found.high:.3f}]"


def verdicts(outcomes: list[TrialOutcome]) -> str:
    """Return what was to be shown, and whether it is."""
    mean = {
        outcome.adversaries: {name: outcome.accuracy[name].mean or 0 for name in COMPARED}
        for outcome in outcomes
    }
    far = {liars: row["RA-RAG"] - row["Oracle"] for liars, row in mean.items()}
    worst = max(far, key=lambda liars: abs(far[liars]))
    above = mean[7]["RA-RAG"] - mean[7]["MV"]
    return (
        f"- RA-RAG within 0.01 of Oracle at every point: {_word(abs(far[worst]) <= 0.01)}"
        f" (farthest {far[worst]:+.4f}, at {worst}).\n"
        f"- RA-RAG at least 0.2 above MV at 7: {_word(above >= 0.2)} ({above:+.3f}).\n"
        f"- Mean distance from the paper's 21 accuracies: {distance(outcomes):.3f}.\n"
    )


def _word(holds: bool) -> str:
    return "yes" if holds else "NO"


def main() -> None:
    """Print the result as Markdown."""
    parser = parser_of(__doc__)
    parser.add_argument("--trials", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--choose", action="store_true", help="only show how `common` was chosen")
    arguments = parser.parse_args()
    if arguments.choose:
        print(choose(arguments.trials, arguments.seed), end="")
        return
    began = time.perf_counter()
    outcomes = list(simulate(trials=arguments.trials, seed=arguments.seed))
    print(f"NQ, Llama3-8B, tau 0.1, {arguments.trials} trials, common = {COMMON}\n")
    print(table(outcomes))
    print(verdicts(outcomes))
    print("Beta(3, 2) prior, 4 to 9 sources (Figure 2a, 8 and 9: the paper shows these in figures only)\n")
    print(by_sources(arguments.trials, arguments.seed))
    print(
        "Four adversaries of coverage 0.1 and a hammer of 0.6 in a random order, TQA, 800 and 800 questions (Table 3), and kappa (Figure 4 and 10)\n"
    )
    print(low_coverage(arguments.trials, arguments.seed))
    print(kappas(arguments.trials, arguments.seed))
    print(
        f"The reliability of one of nine sources raised from .1 to .9 (Figure 5), {arguments.trials} fresh draws of the others\n"
    )
    print(correlations(arguments.trials, arguments.seed))
    print(f"How `common` was chosen: mean distance from the paper's rows\n\n{choose(3, arguments.seed)}")
    print(f"Seconds for all of it, on one core: {time.perf_counter() - began:.1f}")


if __name__ == "__main__":
    main()
