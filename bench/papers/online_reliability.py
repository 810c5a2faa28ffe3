"""Reliability that changes: a source that turns, newcomers, and sleepers, without a model.

    python -m bench.papers.online_reliability --plots bench/results/papers

RA-RAG estimates once, before the questions, and names the change of sources as future work (Hwang et al. 2024, limitations).
Here nine sources answer a stream of 1,600 questions, and something changes at question 400:

- turn: three of eight honest sources begin to lie, each in its own way;
- newcomers: five sources that were not there before join four honest ones, and all tell the same lie;
- sleepers: four of nine sources build up a record on the first 400 questions, then tell the same lie.

`p` is 0.9 for an honest source and 0.1 for a lying one, coverage 0.6, and the reader errs as the paper's Llama3-8B did on NQ at
tau 0.1 (`disputatio.eval.simulate`). Regret is how many more questions of each hundred the Oracle gets right, which weighs by the
p of the moment.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from bench.lib.options import parser_of
from disputatio.eval.simulate import ADVERSARY, COMMON, COVERAGE, HAMMER, WRONG, read, reader_of
from disputatio.eval.statistics import estimate as interval
from disputatio.reliability.trust import untangled, vote
from disputatio.reliability.weighted_vote import as_met, estimate, majority, weighted_vote

Votes: TypeAlias = NDArray[np.int32]
Winners: TypeAlias = NDArray[np.int32]
SOURCES, QUESTIONS, CHANGE, FIRST = 9, 1600, 400, 200
EVERY, OFTEN, HALF_LIFE = 200, 20, 100  # questions
WINDOW = 100  # questions of a point of the curves
WORLDS = ("turn", "newcomers", "sleepers")


def stream(
    generator: np.random.Generator, world: str
) -> tuple[Votes, NDArray[np.int32], NDArray[np.float64]]:
    """Return the votes of a stream, the right cluster of each question, and each source's p at each question."""
    order = generator.permutation(SOURCES)
    p = np.full((QUESTIONS, SOURCES), HAMMER)
    there = generator.random(p.shape) < COVERAGE
    if world == "turn":
        p[:, order[0]] = ADVERSARY
        p[CHANGE:, order[1:4]] = ADVERSARY
    elif world == "newcomers":
        p[:, order[:5]] = ADVERSARY
        there[:CHANGE, order[:5]] = False
    else:
        p[CHANGE:, order[:4]] = ADVERSARY
    lies = generator.integers(1, WRONG + 1, p.shape)
    if world != "turn":  # who lies tells the same lie
        lies = np.broadcast_to(generator.integers(1, WRONG + 1, (QUESTIONS, 1)), p.shape)
    held = np.where(there, np.where(generator.random(p.shape) < p, 0, lies), -1)
    answers = read(generator, held, reader_of("nq", "llama3-8b", 0.1), COMMON)
    votes, truth = as_met(np.where(there, answers, -1) if world == "newcomers" else answers)
    return votes, truth, p


def once(votes: Votes) -> Winners:
    """Return the winners by RA-RAG's estimate of the first questions, as published."""
    return weighted_vote(votes, estimate(votes[:FIRST], options=SOURCES).weights)


def periodic(votes: Votes) -> Winners:
    """Return the winners by RA-RAG's estimate, made anew every `EVERY` questions from all before."""
    winners = once(votes)
    for begin in range(EVERY, QUESTIONS, EVERY):
        weights = estimate(votes[:begin], options=SOURCES).weights
        winners[begin : begin + EVERY] = weighted_vote(votes[begin : begin + EVERY], weights)
    return winners


def ours(every: int, half_life: float | None = None, *, go_on: bool = False) -> Callable[[Votes], Winners]:
    """Return a method: our estimate, made every so many questions, older ones counting less.

    With `go_on` an estimate begins with the weights and ties of the last one, so that newcomers are judged by those who
    have a record; else from nothing.
    """

    def winners_of(votes: Votes) -> Winners:
        winners, last = majority(votes), None
        for begin in range(EVERY, QUESTIONS, every):
            ages = np.arange(begin, 0, -1)
            counts = None if half_life is None else np.exp2(-ages / half_life)
            last = untangled(votes[:begin], options=SOURCES, importance=counts, start=last if go_on else None)
            winners[begin : begin + every] = vote(votes[begin : begin + every], last[0])
        return winners

    return winners_of


METHODS: dict[str, Callable[[Votes], Winners]] = {
    "majority": majority,
    "RA-RAG, once": once,
    f"RA-RAG, every {EVERY}": periodic,
    f"ours, every {EVERY}, from nothing": ours(EVERY),
    f"ours, every {EVERY}, going on": ours(EVERY, go_on=True),
    f"ours, every {OFTEN}, going on, half-life {HALF_LIFE}": ours(OFTEN, HALF_LIFE, go_on=True),
}


def oracle(votes: Votes, p: NDArray[np.float64]) -> Winners:
    """Return the winners by the p of the moment."""
    return np.concatenate([weighted_vote(row[None], weights) for row, weights in zip(votes, p, strict=True)])


def draw(title: str, curves: dict[str, list[float]]) -> str:
    """Return the curves over the stream as an SVG drawing, -10 to 60 questions of regret."""
    colours = ("#1f5fa8", "#c2571a", "#3a7d44", "#7a4fa3", "#8a6d1a", "#555555")

    def y(value: float) -> float:
        return 300 - 280 * (value + 10) / 70

    body = [f'<text x="260" y="14" text-anchor="middle">{title}: questions of 100 lost to the Oracle</text>']
    for tick in range(-10, 61, 10):
        body.append(
            f'<path d="M40 {y(tick):.0f}H510" stroke="#ddd"/><text x="8" y="{y(tick) + 4:.0f}">{tick}</text>'
        )
    for tick in range(0, QUESTIONS + 1, CHANGE):
        body.append(f'<text x="{40 + 470 * tick / QUESTIONS:.0f}" y="316" text-anchor="middle">{tick}</text>')
    for at, (colour, (name, values)) in enumerate(zip(colours, curves.items(), strict=True)):
        points = " ".join(
            f"{40 + 470 * (n + 0.5) / len(values):.0f},{y(value):.0f}" for n, value in enumerate(values)
        )
        body.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>')
        body.append(f'<text x="46" y="{32 + 15 * at}" fill="{colour}">{name}</text>')
    inside = "\n".join(body)
    return f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 520 322" font-family="sans-serif" font-size="12">\n{inside}\n</svg>\n'


def main() -> None:
    """Print the regret of each method as Markdown; `--plots` draws it over the stream."""
    parser = parser_of(__doc__)
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--plots", type=Path, help="the folder to draw the regret over the stream in, as SVG")
    arguments = parser.parse_args()
    for world in WORLDS:
        regret: dict[str, list[NDArray[np.float64]]] = {name: [] for name in METHODS}
        for number in range(arguments.trials):
            generator = np.random.default_rng([arguments.seed, WORLDS.index(world), number])
            votes, truth, p = stream(generator, world)
            best = oracle(votes, p) == truth
            for name, method in METHODS.items():
                lost = best.astype(np.float64) - (method(votes) == truth)
                regret[name].append(100 * lost.reshape(-1, WINDOW).mean(axis=1))
        print(f"\n{world}\n")
        print("| method | before the change | the 200 after it | the last 1,000 |\n|---|---|---|---|")
        for name, trials in regret.items():
            runs = np.array(trials)
            parts = (runs[:, 2:4], runs[:, 4:6], runs[:, 6:])
            cells = [interval(part.mean(axis=1).tolist(), seed=arguments.seed) for part in parts]
            print(
                f"| {name} | " + " | ".join(f"{c.mean:.1f} [{c.low:.1f}, {c.high:.1f}]" for c in cells) + " |"
            )
        if arguments.plots is not None:
            curves = {name: np.mean(trials, axis=0).tolist() for name, trials in regret.items()}
            (arguments.plots / f"online_reliability_{world}.svg").write_text(draw(world, curves))


if __name__ == "__main__":
    main()
