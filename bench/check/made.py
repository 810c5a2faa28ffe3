"""Recall and false pairs of a check on public passages and copies of them with another answer.

    python -m bench.check.made NQ.jsonl [COPIES]

NQ.jsonl are questions of Natural Questions with passages (`nq_with_passages`). From passages that bear a short answer the
builder of lies (`eval.builders.substitution`) makes copies with another figure or name of its type. All are checked
together. A pair of a passage and its own copy is right; any other is counted as wrong, although some contradict.
"""

from __future__ import annotations

import json
import random
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from disputatio.api.checking import check
from disputatio.eval.builders.substitution import kind_of, mentions, near_figure, replace_answer
from disputatio.types import Passage, Severity

LEVELS: tuple[Severity, ...] = ("medium", "low")


def main() -> None:
    """Print the figures."""
    rows = [json.loads(line) for line in Path(sys.argv[1]).read_text(encoding="utf-8").splitlines()]
    passages, kinds = _passages(rows, int(sys.argv[2]) if len(sys.argv) > 2 else 300, random.Random(0))
    for severity in LEVELS:
        found = check(passages, severity=severity).contradictions
        pairs = [[side.path.removesuffix("-copy") for side in (each.first, each.second)] for each in found]
        met = {first for first, second in pairs if first == second}
        wrong = sum(first != second for first, second in pairs)
        print(f"{severity}: {len(passages)} passages, {len(kinds)} of them copies; other pairs {wrong}")
        for kind, count in Counter(kinds.values()).most_common():
            print(f"  {kind}: {sum(kinds.get(name) == kind for name in met)} of {count} copies found")


def _passages(
    rows: list[dict[str, Any]], copies: int, chance: random.Random
) -> tuple[list[Passage], dict[str, str]]:
    """Return passages, copies of some with another answer, and the type of the answer by passage."""
    passages: list[Passage] = []
    kinds: dict[str, str] = {}
    pools: dict[str, list[str]] = {}
    for row in rows:
        answer = row["golden_answers"][0]
        pools.setdefault(kind_of(row["question"], answer), []).append(answer)
    for number, row in enumerate(rows):
        copied = False
        for place, context in enumerate(row["passages"]):
            name, title, text = f"n{number}-{place}", context["title"], context["text"]
            passages.append(Passage(text=text, title=title, source="page", id=name))
            answer = next((each for each in row["golden_answers"] if mentions(each).search(text)), "")
            if not answer or copied or len(kinds) >= copies:
                continue
            kind = kind_of(row["question"], answer)
            figure = kind in ("date", "number")
            other = near_figure(answer, kind, chance) if figure else chance.choice(pools.get(kind, [answer]))
            copy = replace_answer(text, answer, other)
            if copy != text:
                passages.append(Passage(text=copy, title=title, source="copy", id=f"{name}-copy"))
                kinds[name], copied = kind, True
    return passages, kinds


if __name__ == "__main__":
    main()
