"""Estimates where one reader answers from memory for all sources: r and accuracy by number of questions, without a model.

    python -m bench.papers.informative_agreement

Nine sources, adversaries of .1 and hammers of .9, coverage .6, the reader of RA-RAG's Table 8 (NQ, Llama3-8B, tau .1), and a share of
answers that it gives from memory, the same for all sources: right in 30 % of the questions, else one popular mistake. With no
passage it says that in 85 % of them. Lies apart: each source its own; together: one lie a question. Compared are RA-RAG's estimate
(equations 3 and 4, ties shared), ours, ours with the reader set apart (`estimate_informed`), and the Oracle, which votes by p.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bench.lib.asking import table
from bench.lib.options import parser_of
from disputatio.eval.simulate import build, estimate_apart, reader_of, reliabilities
from disputatio.eval.statistics import estimate as interval
from disputatio.reliability.informative import questions_needed
from disputatio.reliability.trust import vote
from disputatio.reliability.weighted_vote import estimate, hold_vote, weights_of

SOURCES, TESTED = 9, 1400
SEED = 4_017  # of draws on which nothing was chosen
METHODS = ("RA-RAG", "ours", "ours, reader apart", "Oracle")


def pearson(values: np.ndarray, p: np.ndarray) -> float:
    """Return Pearson's r; 0 where all estimates are alike."""
    return float(np.corrcoef(values, p)[0, 1]) if np.std(values) > 1e-9 else 0.0


def trial(
    seed: list[int], liars: int, questions: int, memory: float, together: bool
) -> dict[str, tuple[float, float]]:
    """Return r and accuracy of each method in one world."""
    generator = np.random.default_rng(seed)
    p = reliabilities(generator, "adversary-hammer", SOURCES, liars)
    reader = reader_of("nq", "llama3-8b", 0.1)
    world = build(generator, p, questions + TESTED, reader, memory=memory, together=together)
    seen, test = world.part(0, questions), world.part(questions)
    paper = estimate(seen.votes, options=SOURCES)
    trusted, informed = estimate_apart(seen)
    weights = np.maximum(weights_of(informed.low, trusted.options), 0)
    apart = replace(trusted, reliability=informed.reliability, weights=weights)
    return {
        "RA-RAG": (pearson(paper.reliability, p), test.accuracy(hold_vote(test.votes, paper.weights))),
        "ours": (pearson(trusted.reliability, p), test.accuracy(vote(test.votes, trusted))),
        "ours, reader apart": (pearson(informed.reliability, p), test.accuracy(vote(test.votes, apart))),
        "Oracle": (1.0, test.accuracy(hold_vote(test.votes, p))),
    }


def main() -> None:
    """Print the tables as Markdown."""
    parser = parser_of(__doc__)
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--memory", type=float, default=0.35)
    parser.add_argument("--questions", type=int, nargs="*", default=[12, 24, 40, 100, 200])
    parser.add_argument("--adversaries", type=int, nargs="*", default=[1, 4, 5, 7])
    parser.add_argument("--lies", nargs="*", choices=("apart", "together"), default=["apart", "together"])
    arguments = parser.parse_args()
    for together in arguments.lies:
        worlds = {
            (liars, questions): [
                trial(
                    [SEED, liars, questions, number],
                    liars,
                    questions,
                    arguments.memory,
                    together == "together",
                )
                for number in range(arguments.trials)
            ]
            for liars in arguments.adversaries
            for questions in arguments.questions
        }
        for score, title in enumerate(("Pearson's r of the estimate", "Accuracy of the vote")):
            compared = METHODS[: 3 if score == 0 else 4]
            rows = []
            for (liars, questions), found in worlds.items():
                means = [interval([world[method][score] for world in found]) for method in compared]
                cells = [f"{mean.mean:.2f} [{mean.low:.2f}, {mean.high:.2f}]" for mean in means]
                rows.append([liars, questions, *cells])
            print(f"\n## {title}, lies {together}\n")
            print(table(["adversaries", "questions", *compared], rows), flush=True)
    print("\n## Compared answers until a source is told from chance\n")
    shares = (1.0, 0.95, 0.9, 0.8, 0.7, 0.6)
    print(table(["share agreed", "answers"], [[share, questions_needed(share)] for share in shares]))


if __name__ == "__main__":
    main()
