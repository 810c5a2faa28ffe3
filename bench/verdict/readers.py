"""Ask the same questions with two readers and with one prompt, side by side: what is right and what it costs.

    python -m bench.verdict.readers --out readers.jsonl --journal FILE [--trained FILE.gguf] [--minutes N] [--show]
    python -m bench.verdict.readers --arms released trained untrained --at-once 1 --every 10 --journal none --out FILE

Each row is asked with `disputation` as it reads by default (`trained`), with `--set reader=llm`, that without its joint look, and with `concat`, one prompt over all
passages; rows are those that nothing is fitted or chosen on (`Corpus.to_report`), passages shuffled. Every answer is on
disk before the next, and the same command goes on where it was stopped. The core-seconds are those of this process and of
the engines below it, `--at-once` questions in flight, over questions none of whose calls were in the journal; a question that does not
count loads the models first. `--show` prints the table and asks nothing. `released` is MADAM-RAG's loop as its authors run it
(`bench.verdict.released_loop`), which costs some 30 times as much: it is asked where it is named, and compared in cost with the others.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from bench.documents.ask import core_seconds
from bench.lib.asking import against, put, say, table, told
from bench.lib.files import add_lines, read_lines
from bench.lib.options import parser_of
from bench.verdict.corpora import CORPORA, nq_unanswerable
from bench.verdict.figures import outcome
from disputatio.config import read_settings
from disputatio.eval.statistics import RESAMPLES, drawn
from disputatio.events import ModelCall
from disputatio.kit import Kit
from disputatio.parts import build_kit
from disputatio.store.in_memory import InMemory
from disputatio.types import Example, Passage

RELEASED = "released"
ARMS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "trained": ("disputation", {"reader": "trained"}),
    "trained, names alone": ("disputation", {"reader": "trained", "namesakes": False}),
    "untrained": ("disputation", {"reader": "llm"}),
    "untrained, no look": ("disputation", {"reader": "llm", "look": False}),
    "concat": ("concat", {}),
    "untrained, several": ("disputation", {"reader": "llm", "expect": "several"}),
    "trained, several": ("disputation", {"reader": "trained", "expect": "several"}),
    RELEASED: ("bench.verdict.released_loop:released_loop", {}),
}
# The first of each is compared with the others; those of the second are told how many answers are right.
COMPARED = (
    ("trained", "untrained", "concat"),
    ("trained", "trained, names alone"),
    ("untrained", "untrained, no look", "concat"),
    ("trained, several", "untrained, several", "concat"),
)
COSTS = (RELEASED, "untrained", "trained", "untrained, several", "trained, several")
WARMING = Example(
    id="warming",
    row=0,
    question="Who designed the lighthouse?",
    passages=(
        Passage(text="Ingrid Vasmer designed the lighthouse."),
        Passage(text="Barnaby Croll designed the lighthouse."),
    ),
    gold=("Ingrid Vasmer",),
)
UNANSWERABLE = "nq-unanswerable"
SEVERAL = {"em": "strict EM", "right": "right"}
SCORES = {
    "ramdocs": SEVERAL,
    "nq": {"right": "right"},
    UNANSWERABLE: {"answered": "answered"},
    "ambignq": SEVERAL,
    "conflictnq-1r1f": {"right": "right", "attacked": "attacked"},
}
# Of the questions that got an answer: whoever gives more answers is right more often by chance.
ANSWERED = ("right, of answered", "answers given")


def run(asked: argparse.Namespace, kit: Kit) -> None:
    """Ask what has not been asked yet, a few rows at a time with all arms, until the minutes are over."""
    began = time.monotonic()
    done = {(each["corpus"], each["row"], each["arm"]) for each in read_lines(asked.out)}
    corpora = {**CORPORA, UNANSWERABLE: nq_unanswerable}
    kept = slice(asked.skip, asked.skip + asked.rows * asked.every, asked.every)
    examples = {name: corpora[name](asked.data).to_report()[kept] for name in asked.corpora}
    for arm in asked.arms:  # no journal has these
        if arm != RELEASED:
            asked_of("", arm, [replace(WARMING, question=f"{WARMING.question} {time.time_ns()}")], kit)
    for first in range(0, asked.rows, asked.at_once):
        for name, rows in examples.items():
            turn = list(asked.arms)
            # What two arms ask alike is in the engine's cache for the second, so they take turns to be first.
            shift = first // asked.at_once % len(turn)
            for arm in turn[shift:] + turn[:shift]:
                some = [
                    row for row in rows[first : first + asked.at_once] if (name, row.row, arm) not in done
                ]
                if asked.minutes and time.monotonic() - began > 60 * asked.minutes:
                    return
                if some:
                    lines = asked_of(name, arm, some, kit)
                    add_lines(asked.out, lines)
                    say(f"{name} {[line['row'] for line in lines]} {arm}: {lines[0]['core_seconds']}")


def asked_of(corpus: str, arm: str, examples: Sequence[Example], kit: Kit) -> list[dict[str, Any]]:
    """Return rows put to one arm at once, each with its share of the core-seconds."""
    strategy, options = ARMS[arm]
    cores = core_seconds()
    with ThreadPoolExecutor(len(examples)) as pool:
        given = list(
            pool.map(lambda one: put(one, kit, strategy, options, retriever=InMemory(one.passages)), examples)
        )
    cores = (core_seconds() - cores) / len(examples)
    calls = [event for each in given for event in each.trace.events if isinstance(event, ModelCall)]
    fresh = not any(call.journalled for call in calls)
    return [
        {
            "corpus": corpus,
            "arm": arm,
            **asdict(outcome(example, each)),
            # All that the loop costs is the engine's, which the journal keeps too.
            "core_seconds": each.trace.usage().core_seconds
            if arm == RELEASED
            else round(cores, 2)
            if fresh
            else None,
            "cached": each.trace.usage().cached_tokens,
            "answers": each.answers,
        }
        for example, each in zip(examples, given, strict=True)
    ]


def shown(answers: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the tables: of each corpus the rows that all arms which were asked have answered, and paired differences."""
    for (name, scores), arms in product(SCORES.items(), COMPARED):
        by_arm = {
            arm: some
            for arm in arms
            if (some := {a["row"]: a for a in answers if (a["corpus"], a["arm"]) == (name, arm)})
        }
        if len(by_arm) < 2 or arms[0] not in by_arm:
            continue
        rows = sorted(set.intersection(*map(set, by_arm.values())))
        if not rows:
            continue
        cells = {arm: [some[row] for row in rows] for arm, some in by_arm.items()}
        yield f"## {name}\n"
        yield table(
            ["", "n", "failed", "no answer", *scores.values(), *ANSWERED, "tokens", "calls", "core-seconds"],
            [
                [
                    arm,
                    len(some),
                    sum(bool(cell["fault"]) for cell in some),
                    sum(not cell["answered"] and not cell["fault"] for cell in some),
                    *(told([cell[score] for cell in some]) for score in scores),
                    told([cell["right"] for cell in some if cell["answered"]]),
                    told([len(cell["answers"]) for cell in some if cell["answered"]], 2),
                    told([cell["tokens"] for cell in some], 0),
                    told([cell["calls"] for cell in some], 1),
                    told([cell["core_seconds"] for cell in some if cell["core_seconds"] is not None], 1),
                ]
                for arm, some in cells.items()
            ],
        )
        ours, *others = by_arm
        for arm, (score, title) in product(others, scores.items()):
            first, second = ([cell[score] for cell in cells[each]] for each in (ours, arm))
            yield f"\n- {title}, {ours} − {arm}: {against(first, second)}"
        yield ""


def costs(answers: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the table of what the released loop costs beside each arm, over the rows of RAMDocs that both answered."""
    by_arm = {
        arm: {a["row"]: a for a in answers if (a["corpus"], a["arm"]) == ("ramdocs", arm)} for arm in COSTS
    }
    lines = []
    for arm, some in by_arm.items():
        rows = sorted(set(by_arm[RELEASED]) & set(some))
        pairs = [(by_arm[RELEASED][row], some[row]) for row in rows]
        cells = [cell for _, cell in pairs]
        if not rows or any(cell["core_seconds"] is None for pair in pairs for cell in pair):
            continue
        lines.append(
            [
                arm,
                len(cells),
                sum(bool(cell["fault"]) for cell in cells),
                *(told([cell[score] for cell in cells], 2) for score in SCORES["ramdocs"]),
                told([cell["calls"] for cell in cells], 1),
                told([cell["tokens"] for cell in cells], 0),
                told([cell["core_seconds"] for cell in cells], 1),
                *(share([(a[cost], b[cost]) for a, b in pairs]) for cost in ("tokens", "core_seconds")),
            ]
        )
    if len(lines) > 1:
        yield "## What the released loop costs\n"
        head = ["", "n", "failed", *SCORES["ramdocs"].values(), "calls", "tokens", "core-seconds"]
        yield table([*head, "the loop's tokens are", "its core-seconds are"], lines)


def share(pairs: Sequence[tuple[float, float]]) -> str:
    """Return how many times the second costs the first come to in all, with its interval over resampled questions.

    >>> share([(30.0, 1.0), (60.0, 2.0)])
    '30.0 [30.0, 30.0] times'
    """
    costs = np.asarray(pairs, dtype=np.float64)
    sums = np.concatenate([block @ costs for block in drawn(len(pairs), resamples=RESAMPLES, seed=0)])
    low, high = np.quantile(sums[:, 0] / sums[:, 1], [0.025, 0.975])
    return f"{costs[:, 0].sum() / costs[:, 1].sum():.1f} [{low:.1f}, {high:.1f}] times"


def main(words: Sequence[str] | None = None, kit: Kit | None = None) -> None:
    """Ask, or show."""
    options = parser_of(__doc__)
    options.add_argument("--data", type=Path, default=Path("../shared/data"))
    options.add_argument("--journal", default="runs/readers.sqlite")
    options.add_argument(
        "--trained", help="the model that was trained to read (default: that of the settings)"
    )
    options.add_argument("--out", type=Path, required=True)
    options.add_argument("--corpora", nargs="*", choices=sorted(SCORES), default=["ramdocs", "nq"])
    options.add_argument(
        "--arms", nargs="*", choices=sorted(ARMS), default=[arm for arm in ARMS if arm != RELEASED]
    )
    options.add_argument("--rows", type=int, default=60, help="of each corpus at most")
    options.add_argument("--every", type=int, default=1, help="one row of so many")
    options.add_argument("--at-once", type=int, default=4, help="questions in flight")
    options.add_argument("--skip", type=int, default=0, help="the first rows of each corpus, seen before")
    options.add_argument("--minutes", type=float, default=0.0, help="stop after so many, to go on later")
    options.add_argument("--show", action="store_true")
    asked = options.parse_args(words)
    if not asked.show:
        roles = {"trained_reader": f"local:{asked.trained}"} if asked.trained else {}
        kit = kit or build_kit(read_settings(journal=asked.journal, role=roles), say=say)
        run(asked, replace(kit, today=""))
    answers = read_lines(asked.out)
    print("\n".join([*shown(answers), *costs(answers)]))


if __name__ == "__main__":
    main()
