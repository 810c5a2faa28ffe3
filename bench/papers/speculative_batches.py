"""How many sources kappa-RRSS asks too many, and in how many rounds, by the size of its batches; no model.

Sources that answer with a given probability are asked in order until `kappa` have: as many as are still needed
at once, as many as are likely needed by the share so far, and what `ra_rag` does, half way between.

    python -m bench.papers.speculative_batches --draws 5000
"""

from __future__ import annotations

import argparse
import math
import random
from collections.abc import Callable, Sequence

from disputatio.strategies.ra_rag import batch_size

Size = Callable[[int, int, int], int]


def needed(wanted: int, _asked: int, _found: int) -> int:
    """As many as are still needed."""
    return wanted


def likely(wanted: int, queried: int, relevant: int) -> int:
    """As many as are likely needed by the share that answered so far."""
    return math.ceil(wanted * (queried + 1) / (relevant + 1) - 1e-9) if queried else wanted


POLICIES: dict[str, Size] = {"as needed": needed, "ra_rag": batch_size, "as likely needed": likely}


def walk(size: Size, answers: Sequence[bool], kappa: int) -> tuple[int, int]:
    """Calls and rounds until `kappa` sources have answered, or all were asked."""
    asked = found = rounds = 0
    while asked < len(answers) and found < kappa:
        asked = min(asked + size(kappa - found, asked, found), len(answers))
        found = sum(answers[:asked])
        rounds += 1
    return asked, rounds


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--draws", type=int, default=5_000)
    parser.add_argument("--kappa", type=int, default=4)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    dice = random.Random(arguments.seed)
    print("| sources | share that answers | calls one by one |", end="")
    print("".join(f" {name}: calls | rounds |" for name in POLICIES))
    print("|---|---|---|" + "---|---|" * len(POLICIES))
    for sources in (5, 10, 20, 100):
        for share in (0.3, 0.6, 0.8, 1.0):
            drawn = [[dice.random() < share for _ in range(sources)] for _ in range(arguments.draws)]
            least = sum(_one_by_one(answers, arguments.kappa) for answers in drawn) / arguments.draws
            row = f"| {sources} | {share} | {least:.2f} |"
            for size in POLICIES.values():
                done = [walk(size, answers, arguments.kappa) for answers in drawn]
                calls = sum(count for count, _ in done) / arguments.draws
                rounds = sum(count for _, count in done) / arguments.draws
                row += f" +{calls / least - 1:.1%} | {rounds:.2f} |"
            print(row)


def _one_by_one(answers: Sequence[bool], kappa: int) -> int:
    relevant = 0
    for queried, answer in enumerate(answers, 1):
        relevant += answer
        if relevant == kappa:
            return queried
    return len(answers)


if __name__ == "__main__":
    main()
