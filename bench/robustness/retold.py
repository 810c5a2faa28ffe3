"""Compare which accounts two embedders take for one story told again, on passages that were found for one question.

    python -m bench.robustness.retold --data DATA

The rows are those that may be fitted on. A bar of the second embedder is compared with `RETOLD` of the first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bench import RESULTS
from bench.lib.asking import table
from bench.lib.files import write_whole
from bench.lib.options import parser_of
from bench.verdict.corpora import CORPORA
from disputatio.parts import open_embedder
from disputatio.reliability.similarity import RETOLD
from disputatio.types import Example

FIRST, SECOND = "minilm-l6-v2", "multilingual-e5-small"
NAMES = ("conflictnq-1r3f", "realtimeqa-5f", "ramdocs", "poisonedrag-5f", "nq")
ROWS = 40
BARS = (0.88, 0.89, 0.9, 0.91, 0.92)
Cosines = NDArray[np.float32]


def cosines(examples: Sequence[Example], name: str) -> Cosines:
    """Return the cosine of every two passages of a question, of all questions in turn."""
    embedder = open_embedder(name)
    assert embedder is not None
    found: list[float] = []
    for example in examples:
        vectors = embedder.embed([passage.text for passage in example.passages])
        found += [float(vectors[a] @ vectors[b]) for a, b in combinations(range(len(vectors)), 2)]
    return np.array(found, dtype=np.float32)


def rows(first: Cosines, second: Cosines) -> Iterator[list[str]]:
    """Return one row a bar: pairs joined by both, by the first alone, by the second alone, and the share of agreement."""
    joined = first >= RETOLD
    for bar in BARS:
        other = second >= bar
        counts = (int(each.sum()) for each in (joined & other, joined & ~other, ~joined & other))
        yield [f"{bar:g}", *map(str, counts), f"{(joined == other).mean():.3f}"]


def main() -> None:
    """Embed, compare, write."""
    parser = parser_of(__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=RESULTS / "robustness" / "retold.md")
    arguments = parser.parse_args()
    found = {}
    for name in NAMES:
        examples = CORPORA[name](arguments.data).to_fit()[:ROWS]
        found[name] = tuple(cosines(examples, each) for each in (FIRST, SECOND))
    first, second = (np.concatenate([pair[at] for pair in found.values()]) for at in (0, 1))
    head = ["", "pairs", "correlation", f"{FIRST}: median", "from .7", f"{SECOND}: median", "as many from"]
    sets = [
        [
            name,
            len(a),
            f"{np.corrcoef(a, b)[0, 1]:.2f}",
            f"{np.median(a):.2f}",
            f"{(a >= RETOLD).mean():.3f}",
            f"{np.median(b):.3f}",
            f"{np.quantile(b, 1 - (a >= RETOLD).mean()):.3f}",
        ]
        for name, (a, b) in found.items()
    ]
    bars = table(
        ["bar", "both join", f"{FIRST} alone", f"{SECOND} alone", "agree"], list(rows(first, second))
    )
    lines = [
        "# One story told again, by another embedder",
        "",
        "**Made with:** `python -m bench.robustness.retold --data DATA`. Order of passages: of no account. Tuned on: these rows, "
        "odd ones, of which nothing is reported.",
        "",
        f"The cosine of two passages that were found for one question. Accounts join from {RETOLD:g} of {FIRST}; the second "
        f"table has what {SECOND} joins at other bars, over all sets.",
        "",
        table(head, sets),
        "",
        bars,
    ]
    write_whole(arguments.out, "\n".join(lines) + "\n")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
