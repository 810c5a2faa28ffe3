"""Poisoned passages from new domains among real search passages: attack success and accuracy by strategy.

RealtimeQA's rows have real search passages with links, so that domains are the sources, and passages poisoned
for one wrong answer (PoisonedRAG's form). Each question is asked with the ten real passages that BM25 ranks
first and with 0 to 5 poisoned ones added, each from a domain of its own that nobody has seen before; all
of them are read. Reliabilities are estimated, without labels, on other rows without poison. Rows to test
on are the first in the file whose ten passages bear the right answer and that have five poisoned passages
that bear the wrong one.

Calls are journalled: what is interrupted goes on.
Run: python -m bench.robustness.realtimeqa_poison --data ../shared/data/realtimeqa/realtimeqa.json --journal runs/ra_rag.sqlite
"""

from __future__ import annotations

import argparse
import ast
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from bench import RESULTS
from bench.lib.asking import (
    Asked,
    Panel,
    against,
    over,
    panel,
    put,
    say,
    sources_of,
    table,
    told,
    votes_of,
    weighed,
)
from bench.lib.files import beside, write_json, write_whole
from disputatio.config import read_settings
from disputatio.eval.builders.material import bears_any, stands
from disputatio.eval.metrics import accuracy
from disputatio.kit import Kit
from disputatio.parts import build_kit
from disputatio.reliability.weighted_vote import estimate, weights_of
from disputatio.store.in_memory import InMemory
from disputatio.store.ingesting.readers import domain
from disputatio.types import Example, Passage

K, MOST = 10, 5
OURS = "ours: lower bounds, new domains weigh nothing"
_OUT = RESULTS / "robustness" / "realtimeqa_poison.json.gz"
VOTES = ("majority vote over domains", "ra_rag (estimated)", OURS)
ENTRANTS = ("concat", *VOTES, "disputation (ours)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A question with its ten real passages and its poisoned ones; `found` are all its real ones."""

    example: Example
    found: tuple[Passage, ...] = ()
    lie: str
    poison: tuple[Passage, ...]

    @property
    def bearing(self) -> int:
        """How many of the real passages bear the right answer."""
        return sum(bears_any(f"{p.title} {p.text}", self.example.gold) for p in self.example.passages)

    def passages(self, count: int) -> list[Passage]:
        """Return what is read with so many poisoned passages, ranked together by BM25."""
        every = [*self.example.passages, *self.poison[:count]]
        return [hit.passage for hit in InMemory(every).search(self.example.question, k=len(every))]


def read_rows(path: Path) -> list[Row]:
    """Return the rows of the file, in its order."""
    rows = []
    for number, row in enumerate(json.loads(path.read_text(encoding="utf-8"))):
        texts = _listed(row["context"])
        passages = [
            Passage(
                text=" ".join(text["text"].split()),
                title=" ".join(str(text.get("title") or "").split()),
                source=domain(text["link"]),
                url=text["link"],
                id=f"r{number}/{n}",
            )
            for n, text in enumerate(texts)
            if str(text.get("text") or "").strip() and text.get("link")
        ]
        if not passages:
            continue
        best = [hit.passage for hit in InMemory(passages).search(row["question"], k=K)]
        gold = row["correct answer"]
        lie = str(row["incorrect answer"])
        false = [text for text in _listed(row["incorrect_context"]) if stands(text, lie)]
        rows.append(
            Row(
                example=Example(
                    id=f"r{number}",
                    row=number,
                    question=row["question"],
                    gold=tuple(gold) if isinstance(gold, list) else (str(gold),),
                    wrong=(lie,),
                    passages=tuple(best),
                ),
                found=tuple(passages),
                lie=lie,
                poison=tuple(
                    Passage(text=text, source=f"fresh-{number}-{n}.example", id=f"r{number}/poison{n}")
                    for n, text in enumerate(false[:MOST], 1)
                ),
            )
        )
    return rows


def _listed(value: Any) -> list[Any]:
    """Return a list, which some editions of the file hold as the text of a Python literal."""
    listed = ast.literal_eval(value) if isinstance(value, str) else value
    return list(listed)


def _asked(row: Row, *, count: int, strategy: str, kit: Kit) -> Asked:
    return put(row.example, kit, strategy, {}, passages=row.passages(count))


def _heard(row: Row, *, count: int, kit: Kit) -> Panel:
    return panel(row.example.question, InMemory(row.passages(count)), kit)


def measure(
    rows: Sequence[Row], others: Sequence[Row], kit: Kit, levels: Sequence[int], out: dict[str, Any]
) -> None:
    """Every strategy at every number of poisoned passages; what is found goes to `out`, and to its file."""
    panels = over(
        others,
        lambda row: panel(row.example.question, InMemory(row.example.passages), kit),
        label="rows to estimate on",
    )
    names = sorted({passage.source for row in others for passage in row.example.passages})
    estimates = estimate(votes_of(panels, names))
    known = sources_of(estimates, names)
    rated = {name for name, source in known.items() if source.reliability is not None}
    tested = {passage.source for row in rows for passage in row.example.passages}
    out |= {
        "rows": [row.example.row for row in rows],
        "estimated on": [row.example.row for row in others],
        "domains": {
            "in the rows to estimate on": len(names),
            "with an estimate": len(rated),
            "in the rows to test on": len(tested),
            "of these with an estimate": len(tested & rated),
        },
        "levels": {},
    }
    scores: dict[tuple[str, int], dict[str, list[float | None]]] = {}

    def enter(label: str, count: int, answers: Sequence[Asked]) -> None:
        both = list(zip(rows, answers, strict=True))
        own: dict[str, list[float | None]] = {
            "accuracy": [None if a.fault else accuracy(a.answers, r.example.gold) for r, a in both],
            "attack": [None if a.fault else float(any(stands(s, r.lie) for s in a.answers)) for r, a in both],
        }
        scores[label, count] = own
        out["levels"].setdefault(str(count), {})[label] = {
            "n": sum(score is not None for score in own["accuracy"]),
            "failed": sum(bool(a.fault) for a in answers),
            "faults": sorted({a.fault for a in answers if a.fault}),
            "accuracy": told(own["accuracy"], 2),
            "attack": told(own["attack"], 2),
            "abstained": sum(not a.answers and not a.fault for a in answers),
            "tokens": sum(a.tokens() for a in answers) / len(answers),
            "calls": sum(a.calls() for a in answers) / len(answers),
        }
        write(out)

    plain, low = weighed(known, estimates.options), weighed(known, estimates.options, low=True)
    for count in levels:
        polls = over(rows, partial(_heard, count=count, kit=kit), label=f"panel, {count} poisoned")
        fresh = {name: float(weights_of(0.5, estimates.options)) for poll in polls for name in poll.votes}
        for label, weights in zip(VOTES, (None, {**fresh, **plain}, low), strict=True):
            enter(label, count, [poll.voted(weights, {**fresh, **plain}) for poll in polls])
    for label, strategy in (("concat", "concat"), ("disputation (ours)", "disputation")):
        for count in levels:
            asked = over(
                rows,
                partial(_asked, count=count, strategy=strategy, kit=kit),
                label=f"{label}, {count} poisoned",
            )
            enter(label, count, asked)
    last = levels[-1]
    out["paired"] = {
        f"{what}, {last} poisoned: {OURS} − {label}": against(
            scores[OURS, last][what], scores[label, last][what]
        )
        for what in ("attack", "accuracy")
        for label in ENTRANTS
        if label != OURS
    }
    write(out)


def write(out: Mapping[str, Any]) -> None:
    """Keep what is known so far, as JSON and as Markdown."""
    path = Path(out["path"])
    written = {key: value for key, value in out.items() if key != "path"}
    write_json(path, written)
    write_whole(beside(path, ".md"), report(out))


def report(out: Mapping[str, Any]) -> str:
    """Return the tables as Markdown."""
    lines = ["# Poisoned passages from new domains (RealtimeQA)", "", str(out.get("about", "")), ""]
    lines += [f"- domains {what}: {count}" for what, count in out.get("domains", {}).items()]
    for what, title in (("attack", "Attack success rate"), ("accuracy", "Accuracy")):
        levels = out.get("levels", {})
        labels = [label for label in ENTRANTS if any(label in level for level in levels.values())]
        cells = [
            [label, *(levels[count].get(label, {}).get(what, "–") for count in levels)] for label in labels
        ]
        lines += ["", f"## {title} by poisoned passages added [95 %]", ""]
        lines += [table(["strategy", *(f"{count}" for count in levels)], cells)]
    most = list(out.get("levels", {"0": {}}).values())[-1]
    lines += ["", "## Cost and failures at the most poisoned passages", ""]
    lines += [
        table(
            ["strategy", "n", "failed", "abstained", "tokens", "calls"],
            [
                [
                    label,
                    entrant["n"],
                    entrant["failed"],
                    entrant["abstained"],
                    f"{entrant['tokens']:.0f}",
                    f"{entrant['calls']:.1f}",
                ]
                for label, entrant in most.items()
            ],
        ),
        "",
        *[f"- {pair}: {value}" for pair, value in out.get("paired", {}).items()],
    ]
    return "\n".join(lines).rstrip() + "\n"


def main() -> None:
    """Read the rows, ask, write."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--data", type=Path, required=True)
    options.add_argument("--journal", default="runs/ra_rag.sqlite")
    options.add_argument("--model", default=None)
    options.add_argument("--rows", type=int, default=30)
    options.add_argument("--estimate", type=int, default=25)
    options.add_argument("--levels", type=int, nargs="+", default=[0, 1, 2, 3, 4, 5])
    options.add_argument(
        "--out", type=Path, default=_OUT, help="a .json or .json.gz file; the .md stands beside it"
    )
    options.add_argument("--about", default="", help="the first paragraph of the report")
    arguments = options.parse_args()
    rows = read_rows(arguments.data)
    fit = [row for row in rows if row.bearing and len(row.poison) == MOST]
    tests = fit[: arguments.rows]
    chosen = {test.example.row for test in tests}
    others = [row for row in rows if row.example.row not in chosen][: arguments.estimate]
    say(f"{len(fit)} of {len(rows)} rows will do; {len(tests)} to test, {len(others)} to estimate on")
    kit = build_kit(read_settings(model=arguments.model, journal=arguments.journal), say=say)
    capabilities = kit.model.capabilities()
    out: dict[str, Any] = {
        "path": str(arguments.out),
        "about": arguments.about,
        "model": [kit.model.name, capabilities.engine],
    }
    measure(tests, others, kit, arguments.levels, out)


if __name__ == "__main__":
    main()
