"""Declared authority beside learnt reliability: what right and wrong tiers do to a vote, by the answers on record.

    python -m bench.robustness.declared_tiers

No model: votes of nine sources as RA-RAG simulates them (`disputatio.eval.simulate`). Sources are estimated from some
questions without labels and vote on others. A third of them is declared binding, a third secondary, a third informal: by
their true reliability (right), at random, or in reverse (wrong). The weight is v' = a F v0 + (1 - a) v with
a = S / (S + N), as in `disputatio.authority`, for several S; the same draws for every column.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bench.lib.asking import table
from bench.lib.options import parser_of
from disputatio.authority import STRENGTH, TIERS, unit_of
from disputatio.eval.simulate import Reader, build, reliabilities
from disputatio.reliability.weighted_vote import CAP, estimate, hold_vote, weights_of

SOURCES, TESTED = 9, 300
RECORDS = (0, 10, 50, 200)  # questions that sources are estimated from
SHARES = (STRENGTH, 100.0, 1e9)
EXACT = Reader(factual=(1, 0, 0), misleading=(0, 1, 0, 0), irrelevant=(0, 1, 0))  # never errs
Floats = NDArray[np.float64]


def factors(p: Floats, declared: str, generator: np.random.Generator) -> Floats:
    """Return the factor of each source's tier."""
    rank = np.argsort(np.argsort(-p, kind="stable"))
    rank = {"right": rank, "wrong": SOURCES - 1 - rank, "random": generator.permutation(SOURCES)}[declared]
    third = np.array([TIERS["binding"], TIERS["secondary"], TIERS["informal"]])
    return third[np.minimum(rank * 3 // SOURCES, 2)]


def accuracies(seed: int, prior: str, liars: int, record: int) -> dict[str, float]:
    """Return the accuracy of one draw by what was declared and by S."""
    generator = np.random.default_rng(seed)
    p = reliabilities(generator, "beta" if prior == "beta" else "adversary-hammer", SOURCES, liars)
    world = build(generator, p, record + TESTED, EXACT, together=prior == "collusion")
    test, options = world.part(record), max(2, min(SOURCES, CAP))
    learnt, answered, unit = np.ones(SOURCES), np.zeros(SOURCES), 1.0
    if record:
        made = estimate(world.part(0, record).votes, options=options)
        learnt, answered, unit = weights_of(made.reliability, options), made.answered, unit_of(options)
    found = {"none": test.accuracy(hold_vote(test.votes, learnt))}
    for declared in ("right", "random", "wrong"):
        factor = factors(p, declared, generator)
        for strength in SHARES:
            share = strength / (strength + answered)
            weights = share * factor * unit + (1 - share) * learnt
            found[f"{declared} {strength:g}"] = test.accuracy(hold_vote(test.votes, weights))
    return found


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--draws", type=int, default=200)
    options = parser.parse_args()
    head = ["sources", "questions on record", "no tiers"]
    head += [
        f"{declared}, S={s:g}" if s < 1e9 else f"{declared} alone"
        for declared in ("right", "random", "wrong")
        for s in SHARES
    ]
    rows = []
    for prior, liars in (("beta", 0), ("hammer", 3), ("collusion", 3), ("collusion", 5)):
        for record in RECORDS:
            draws = [accuracies(seed, prior, liars, record) for seed in range(options.draws)]
            name = prior if prior == "beta" else f"{prior}, {liars} of {SOURCES} lie"
            rows.append([name, record, *(_mean([draw[key] for draw in draws]) for key in draws[0])])
    print(table(head, rows))


def _mean(values: list[float]) -> str:
    error = 1.96 * float(np.std(values)) / len(values) ** 0.5
    return f"{np.mean(values):.3f} ±{error:.3f}"


if __name__ == "__main__":
    main()
