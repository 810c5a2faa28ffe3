"""How many sources `panel.hold` passes over that know the answer, and how many that do not; by keyword, no model.

Each source has passages on other questions, and with probability `coverage` one of the question's own, which
bears the right answer or a made-up one.

    python -m bench.papers.relevance_bar conflictnq/val.jsonl --questions 60
"""

from __future__ import annotations

import argparse
import json
import random
from pathlib import Path

from disputatio.agents.per_source import retrieve_per_source
from disputatio.kit import Kit
from disputatio.llm.scripted import Scripted
from disputatio.store.in_memory import InMemory
from disputatio.types import Passage

CHARACTERS = 2_000  # of a passage, so that none is divided


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--questions", type=int, default=60)
    parser.add_argument("--sources", type=int, default=9)
    parser.add_argument("--others", type=int, default=60, help="passages on other questions a source")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    rows = [json.loads(line) for line in arguments.file.read_text(encoding="utf-8").splitlines()]
    dice = random.Random(arguments.seed)
    numbers = dice.sample(range(len(rows)), min(arguments.questions, len(rows)))
    print(
        "| coverage | sources that have a passage | of them passed over | that have none | of them spared |"
    )
    print("|---|---|---|---|---|")
    for coverage in (0.2, 0.4, 0.6, 0.8):
        counts = {True: [0, 0], False: [0, 0]}
        for number in numbers:
            passages, having = _sources(rows, number, coverage, arguments.sources, arguments.others, dice)
            kit = Kit(model=Scripted([]), retriever=InMemory(passages))
            relevance = {
                reply.source: reply.relevant
                for reply in retrieve_per_source(rows[number]["cleaned_question"], kit)
            }
            for name in {passage.source for passage in passages}:
                counts[name in having][0] += 1
                counts[name in having][1] += not relevance.get(name, False)
        (has, lost), (lacks, spared) = counts[True], counts[False]
        print(f"| {coverage} | {has} | {lost / max(has, 1):.1%} | {lacks} | {spared / max(lacks, 1):.1%} |")


def _sources(
    rows: list[dict[str, list[dict[str, str]]]],
    number: int,
    coverage: float,
    sources: int,
    others: int,
    dice: random.Random,
) -> tuple[list[Passage], set[str]]:
    """Return passages of all sources, and which of these have one on the question."""
    own = [*rows[number]["real_passages"], *rows[number]["fake_passages"]]
    rest = [row["real_passages"][0] for at, row in enumerate(rows) if at != number and row["real_passages"]]
    passages, having = [], set()
    for source in range(sources):
        name = f"source {source}"
        sample = dice.sample(rest, min(others, len(rest)))
        if own and dice.random() < coverage:
            having.add(name)
            sample.append(dice.choice(own))
        passages += [
            Passage(
                id=f"{source}-{at}",
                source=name,
                title=passage.get("summary", ""),
                text=passage["passage"][:CHARACTERS],
            )
            for at, passage in enumerate(sample)
        ]
    return passages, having


if __name__ == "__main__":
    main()
