"""Measure how many passages are read until the evidence of a question is among them: recall and reciprocal rank.

    python -m bench.documents.recall aside5 aside6 --keep DIR [--embedder NAME] [--alpha 0.35] [--sections] [--against FILE]

Each part's folder is built and ingested below `--keep`, and searched with the question alone; no language model is
needed. `evidence.jsonl` has the files that answer a question and the words in each; all must be found: passages of
that file with all the words, or, if none has, with most of them and an accepted value (a table is written out
otherwise than its file). `DIR/ranks.json` keeps the ranks, and `--against` compares with those of another run.
`--sections` counts the versions of a section as one passage, as the default strategy reads them first.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

from bench.documents.build import build
from bench.documents.questions import HERE, Part, Question, read_questions
from bench.documents.score import states, tokens
from bench.lib.asking import against, table, told
from bench.lib.files import read_json, write_json
from bench.lib.options import parser_of
from disputatio.parts import open_embedder
from disputatio.store.folder_index import FolderIndex
from disputatio.strategies.disputation.versions import by_section

DEPTH, KS = 100, (5, 8, 10, 20, 40)
_MOST = 0.6  # of the words of the evidence


def bearing(texts: Sequence[str], words: str, question: Question) -> list[int]:
    """Return which passages of a file bear its evidence.

    >>> asked = Question(id="q", kind="fact", question="?", accept=[["52"]], wrong=[], reason="")
    >>> bearing(["It costs 9.", "Cars: 52."], "cars | 52", asked), bearing(["Car: 52; Bus: 3."], "52 car, a bus", asked)
    ([1], [0])
    """
    wanted, accepted = set(tokens(words)), [name for names in question.accept for name in names]
    shares = [len(wanted & set(tokens(text))) / len(wanted) for text in texts]
    near = [at for at, share in enumerate(shares) if share >= _MOST]
    whole = [at for at in near if shares[at] == 1]
    return whole or [at for at in near if any(states(texts[at], name) for name in accepted)]


def ranks_of(part: Part, index: FolderIndex, alpha: float, *, sections: bool = False) -> dict[str, float]:
    """Return for each question with evidence the rank at which the last of it is found."""
    rows = map(json.loads, (HERE / "evidence.jsonl").read_text(encoding="utf-8").splitlines())
    evidence = {row["question"]: row["evidence"] for row in rows if row["part"] == part}
    paths = {each.id: each.path for each in index.documents(text=False)}
    every = [hit.passage for hit in index.search(part, k=index.info().passages)]
    ranks: dict[str, float] = {}
    for question in filter(lambda each: each.id in evidence, read_questions(part)):
        found_first = [hit.passage for hit in index.search(question.question, k=DEPTH, alpha=alpha)]
        groups = by_section(found_first) if sections else [[passage] for passage in found_first]
        places = {passage.id: place for place, group in enumerate(groups, 1) for passage in group}
        found: list[float] = []
        for file, words in evidence[question.id]:
            those = [each for each in every if f"/documents/{file}" in paths[each.document]]
            bears = bearing([each.text for each in those], words, question)
            found.append(min((places.get(those[at].id, math.inf) for at in bears), default=math.inf))
        ranks[f"{part} {question.kind} {question.id}"] = max(found)
    return ranks


def main() -> None:
    """Measure, and print Markdown."""
    parser = parser_of(__doc__)
    parser.add_argument("parts", nargs="+", choices=get_args(Part))
    parser.add_argument("--keep", type=Path, required=True)
    parser.add_argument("--embedder", default="minilm-l6-v2")
    parser.add_argument("--alpha", type=float, default=0.35)
    parser.add_argument("--sections", action="store_true", help="count versions of a section as one")
    parser.add_argument("--against", type=Path, help="the ranks.json of another run")
    asked = parser.parse_args()
    ranks: dict[str, float] = {}
    for part in asked.parts:
        build(asked.keep / part / "documents", part=part)
        index = FolderIndex.open(asked.keep / part / "index", embedder=open_embedder(asked.embedder))
        index.ingest(asked.keep / part / "documents")
        ranks |= ranks_of(part, index, asked.alpha, sections=asked.sections)
    write_json(asked.keep / "ranks.json", ranks)
    groups = ["", *asked.parts, *sorted({name.split()[1] for name in ranks})]
    those = {
        group: [rank for name, rank in ranks.items() if group in ("", *name.split())] for group in groups
    }
    rows = [[group or "**all**", len(of), *(told([float(rank <= k) for rank in of]) for k in KS),
             told([1 / rank for rank in of])] for group, of in those.items()]  # fmt: skip
    print(table(["questions", "n", *(f"recall@{k}" for k in KS), "MRR"], rows))
    if asked.against:
        other = read_json(asked.against)
        pairs = [(ranks[name], float(rank)) for name, rank in other.items() if name in ranks]
        for k in KS:
            print(
                f"- recall@{k}: {against(*zip(*((one <= k, two <= k) for one, two in pairs), strict=True))}"
            )


if __name__ == "__main__":
    main()
