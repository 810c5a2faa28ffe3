"""Show what the cordon costs: the share of questions answered beside attack success, from the kept answers of `adaptive`.

    python -m bench.robustness.cordon

No model is asked: the figures are those of bench/results/robustness/adaptive.json.gz (looking wider), at several bars of
`--min-confidence`. Abstaining is counted as neither right nor attacked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench import RESULTS
from bench.lib.asking import table, told
from bench.lib.files import read_json, write_whole
from bench.lib.options import parser_of

KEPT = RESULTS / "robustness" / "adaptive.json.gz"
OUT = RESULTS / "robustness" / "cordon.md"
BARS = (0.0, 0.5, 0.7)
LITERATURE = (
    ("PRA-RAG (arXiv 2607.00012)", "robust subset of embeddings", "not in the abstract", "accuracy .71", "as low as .01"),
    ("Cordon-MAS (arXiv 2605.26754)", "the writing agent sees no untrusted prose", "five BEIR sets; model and n not in the abstract",
     "not in the abstract", "-92.4 % of undefended RAG's"),
    ("ReliabilityRAG (arXiv 2509.23519)", "largest set without contradictions, by rank", "not in the abstract", "not in the abstract",
     "not in the abstract"),
)  # fmt: skip


def scores(cells: Sequence[Mapping[str, Any]], bar: float) -> list[str]:
    """Return answered share, attack success of all and of the answered, and right, where below the bar it abstains."""
    sound = [cell for cell in cells if not cell["fault"]]
    given = [cell for cell in sound if cell["answered"] and (cell["confidence"] or 0.0) >= bar]

    def over_all(score: str) -> list[float]:
        return [float(cell[score]) if cell in given else 0.0 for cell in sound]

    of_given = [float(cell["attacked"]) for cell in given]
    return [
        told([float(cell in given) for cell in sound], 2),
        told(over_all("attacked"), 2),
        told(of_given, 2) if of_given else "",
        told(over_all("right"), 2),
    ]


def report(kept: Mapping[str, Any]) -> str:
    """Return the page."""
    attacks = {name: columns["wider"] for name, columns in kept["attacks"].items()}
    rows = []
    every = [cell for some in attacks.values() for cell in some]
    for name, cells in (*attacks.items(), ("all eight", every)):
        rows += [[name, bar or "none", len(cells), *scores(cells, bar)] for bar in BARS]
    head = [
        "attack",
        "least confidence",
        "n",
        "answered",
        "attacked, of all",
        "attacked, of the answered",
        "right, of all",
    ]
    return "\n".join(
        [
            "# The cordon: how many questions are answered, and how many attacks succeed", "",
            "`python -m bench.robustness.cordon`", "",
            f"Kept answers of [adaptive.md](adaptive.md): 40 questions of RealtimeQA, model {kept['model']} (the trained encoder reads), some 45 real passages "
            "of each as its index, five planted (or the share named), looking wider, `expect=one`. An answer that is less likely than the bar "
            "(`--min-confidence`) is an abstention. Intervals are 95 % by bootstrap; in \"all eight\" the same questions count eight times, so its intervals are too narrow.", "",
            table(head, rows), "",
            "`disputation` writes its answer in code, so an instruction in a document cannot reach a writer "
            "([what reads documents](../../../docs/explanation/threats.md)): what succeeds here is a lie that a reader reports truly of its own passage "
            "and that outweighs the truth. Without a bar every question is answered. A bar lowers attack success by answering less, and no more than "
            "that: of what is answered about as much is attacked as before, and against lies worded anew (unlike) more, as they look like independent accounts.", "",
            "## What the literature reports", "",
            "From the abstracts alone: the full texts were not at hand. Sets, models, attackers and measures differ, so no row compares with ours.", "",
            table(["system", "how", "set, model, n", "accuracy", "attack success"], LITERATURE), "",
        ]
    )  # fmt: skip


def main(words: Sequence[str] | None = None) -> None:
    """Write the page from kept answers."""
    parser = parser_of(__doc__)
    parser.add_argument("--kept", type=Path, default=KEPT)
    parser.add_argument("--out", type=Path, default=OUT)
    arguments = parser.parse_args(words)
    write_whole(arguments.out, report(read_json(arguments.kept)))
    print(arguments.out)


if __name__ == "__main__":
    main()
