"""How well planted copiers are found by the false values that they share, and how long it takes.

Run `python -m bench.robustness.dependence`; it needs no model and no data. Votes are drawn: each source errs on its own,
over nine wrong answers, and planted copiers take a share of what another said. The page is printed and kept
in bench/results/robustness/dependence.md.
"""

from __future__ import annotations

import time
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from bench import RESULTS
from bench.lib.discovery import discover
from bench.search.search_report import machine
from disputatio.reliability.copy_detection import tied_by_votes
from disputatio.reliability.grouping import groups_of

TRIALS = 10


def drawn(
    sources: int, questions: int, coverage: float, copiers: int, taken: float, seed: int
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Votes, cluster 0 the truth, and the planted groups; accuracies are uniform from 0.5 to 0.95."""
    generator = np.random.default_rng(seed)
    accuracy = generator.uniform(0.5, 0.95, sources)
    shape = (questions, sources)
    votes = np.where(generator.random(shape) < accuracy, 0, generator.integers(1, 10, shape)).astype(np.int32)
    votes[generator.random(shape) >= coverage] = -1
    pairs = [(sources - 1 - number, number // 2) for number in range(copiers)]  # two copy each origin
    for copier, origin in pairs:
        copied = (generator.random(questions) < taken) & (votes[:, origin] >= 0)
        votes[copied, copier] = votes[copied, origin]
    return votes, groups_of(sources, pairs)


def agreement(groups: NDArray[np.int32], planted: NDArray[np.int32]) -> tuple[int, int, int]:
    """Return pairs in one group: found and planted, found, planted."""
    same, other = (np.triu(group[:, None] == group[None, :], 1) for group in (groups, planted))
    return int((same & other).sum()), int(same.sum()), int(other.sum())


def line(sources: int, questions: int, coverage: float, taken: float, trials: int) -> str:
    """Return one row: precision and recall of tied pairs with the truth known and with it estimated, and the
    seconds.
    """
    counts, guessed = np.zeros(3), np.zeros(3)
    seconds = [0.0, 0.0]
    for seed in range(trials):
        votes, planted = drawn(sources, questions, coverage, sources // 10, taken, seed)
        answered = (votes >= 0).sum(axis=0)
        begin = time.process_time()
        known = tied_by_votes(
            votes, np.zeros(questions, np.int32), ((votes == 0).sum(axis=0) + 1) / (answered + 2)
        )
        seconds[0] += time.process_time() - begin
        begin = time.process_time()
        solution = discover(votes)
        seconds[1] += time.process_time() - begin
        counts += agreement(known.group, planted)
        guessed += agreement(solution.dependence.group, planted)
    cells = [f"{sources:,} x {questions:,}, {100 * coverage:.0f} %", f"{taken:.1f}"]
    for (both, found_pairs, planted_pairs), taken_seconds in zip((counts, guessed), seconds, strict=True):
        precision = f"{both / found_pairs:.3f}" if found_pairs else "none found"
        cells += [f"{precision} / {both / planted_pairs:.3f}", f"{taken_seconds / trials:.2f}"]
    return "| " + " | ".join(cells) + " |"


def main() -> None:
    """Measure, print and keep the page."""
    rows = [
        line(sources, questions, coverage, taken, TRIALS if sources < 1000 else 1)
        for sources, questions, coverage in (
            (20, 50, 0.6),
            (20, 200, 0.6),
            (100, 200, 0.6),
            (1000, 10_000, 0.1),
        )
        for taken in (0.4, 0.8, 1.0)
    ]
    lines = [
        "# Copiers found by the false values that they share",
        "",
        f"{machine()}; {datetime.now().astimezone().date()}; `python -m bench.robustness.dependence`. Seconds are of the processor, while other work ran.",
        "",
        "A tenth of the sources copy (two from each origin) and take the given share of what their origin said; accuracies from "
        f"0.5 to 0.95; nine wrong answers. Pairs in one group, over {TRIALS} trials (one of 1,000 sources).",
        "",
        "| sources x questions, answered | share taken | truth known: precision / recall | seconds | truth estimated too (`discover`): precision / recall | seconds |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
        *rows,
    ]
    text = "\n".join(lines) + "\n"
    (RESULTS / "robustness" / "dependence.md").write_text(text, encoding="utf-8")
    print(text, end="")


if __name__ == "__main__":
    main()
