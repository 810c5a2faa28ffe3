"""Measure how well the time that a question may still take is estimated, over recorded and over real questions.

    python -m bench.engine.estimate --out calls.jsonl --journal FILE [--rows 12] [--minutes 7]

Questions (rows of RAMDocs and NQ that nothing is fitted on, in turn) are asked one at a time as by default, and the times of their
calls are written to `--out` after each; the same command goes on where it was stopped. Then the calls of all questions in the
file are played to the estimator again in their order, from nothing known. An estimate counts where a second or more is left; it
holds within a factor of two of what was left.
"""

from __future__ import annotations

import argparse
import os
import platform
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from itertools import chain
from pathlib import Path
from typing import Any

from bench import RESULTS
from bench.lib.asking import say, table
from bench.lib.files import add_lines, read_lines
from bench.lib.options import parser_of
from bench.verdict.corpora import CORPORA
from disputatio.config import read_settings
from disputatio.events import ModelCall
from disputatio.llm.cores import processor
from disputatio.parts import build_kit
from disputatio.pipeline import ask
from disputatio.store.in_memory import InMemory
from disputatio.trace import Pace, Speeds, Trace
from disputatio.types import Example, Usage

PAGE = RESULTS / "engine" / "estimate.md"


def record(examples: Sequence[Example], asked: argparse.Namespace) -> None:
    """Ask questions until the minutes are over, and write when each call ended and what it took."""
    kit = build_kit(read_settings(journal=asked.journal))
    began = time.monotonic()
    for example in examples:
        if time.monotonic() - began > 60 * asked.minutes:
            return
        trace = Trace(keep_text=True)
        ask(example.question, kit=replace(kit, retriever=InMemory(example.passages)), trace=trace)
        calls = [
            {
                "at": logged.at,
                "role": event.role,
                "calls": event.calls,
                "index": event.call - 1,
                "size": sum(len(turn["content"]) for turn in event.prompt),
                "usage": asdict(event.usage),
            }
            for logged in trace.log
            if isinstance(event := logged.event, ModelCall)
        ]
        line = {
            "question": example.question,
            "calls": calls,
            "seconds": trace.log[-1].at,
            "load": os.getloadavg()[0],
            "date": time.strftime("%Y-%m-%d"),
        }
        add_lines(asked.out, [line])
        say(f"{len(calls)} calls, {line['seconds']:.0f} s")


def batches(calls: Sequence[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """Yield the calls of each batch, in the order in which they ended."""
    first = 0
    while first < len(calls):
        size = calls[first]["calls"]
        yield list(calls[first : first + size])
        first += size


def estimates(question: dict[str, Any], speeds: Speeds) -> Iterator[tuple[float, float]]:
    """Yield what was left and what was estimated to be, at the begin of each batch and after each call."""
    now = 0.0
    pace = Pace("disputation", speeds, clock=lambda: now)
    for number, batch in enumerate(batches(question["calls"])):
        now = max(now, batch[0]["at"] - batch[0]["usage"]["seconds"]) if number else 0.0
        sizes = {each["index"]: each["size"] for each in batch}
        pace.begin(number, "m", batch[0]["role"], [sizes[index] for index in range(len(batch))])
        for each in [None, *batch]:
            if each is not None:
                now = each["at"]
                pace.note(number, each["index"], Usage(**each["usage"]), journalled=False)
            estimate, left = pace.estimate_remaining(), question["seconds"] - now
            if estimate is not None and left >= 1:
                yield left, estimate
    pace.end()


def holds(left: float, estimate: float) -> bool:
    """Return whether an estimate is within a factor of two of what was left."""
    return left / 2 <= estimate <= 2 * left


def shown(questions: Sequence[dict[str, Any]]) -> str:
    """Return the table: of all questions, and of those after the first that a machine is asked."""
    speeds = Speeds()
    told = [list(estimates(question, speeds)) for question in questions]
    rows = []
    for name, some in (("all questions", told), ("after the first", told[1:])):
        every = list(chain.from_iterable(some))
        first = [each[0] for each in some if each]
        whole = [sum(holds(*pair) for pair in each) / len(each) for each in some if each]
        rows.append(
            [
                name,
                len(some),
                f"{sum(holds(*pair) for pair in first)} of {len(first)}",
                f"{sum(holds(*pair) for pair in every) / max(len(every), 1):.0%} of {len(every)}",
                f"{sum(share >= 0.5 for share in whole)} of {len(whole)}",
            ]
        )
    return table(["", "n", "first estimate holds", "all estimates hold", "most of a question's hold"], rows)


def main(words: Sequence[str] | None = None) -> None:
    """Ask, and write the page."""
    options = parser_of(__doc__)
    options.add_argument("--out", type=Path, required=True)
    options.add_argument("--journal", default=str(Path(tempfile.gettempdir()) / "estimate.sqlite"))
    options.add_argument("--data", type=Path, default=Path("../shared/data"))
    options.add_argument("--rows", type=int, default=12)
    options.add_argument("--minutes", type=float, default=7.0)
    options.add_argument("--page", type=Path, default=PAGE)
    asked = options.parse_args(words)
    corpora = [CORPORA[name](asked.data).to_report()[: asked.rows] for name in ("ramdocs", "nq")]
    examples = list(chain.from_iterable(zip(*corpora, strict=False)))[len(read_lines(asked.out)) : asked.rows]
    record(examples, asked)
    questions = read_lines(asked.out)
    asked.page.parent.mkdir(parents=True, exist_ok=True)
    loads = [question["load"] for question in questions]
    dates = sorted({question["date"] for question in questions})
    asked.page.write_text(
        "# Does the estimate of the time that is left hold?\n\n"
        f"{processor()}, {os.cpu_count()} cores, Python {platform.python_version()}, {', '.join(dates)}; load while the "
        f"questions were asked from {min(loads):.1f} to {max(loads):.1f}. `python -m bench.engine.estimate --rows "
        f"{asked.rows}`.\n\n"
        f"{shown(questions)}\n\n"
        "An estimate counts where a second or more is left, and holds if it is within a factor of two of what was left.\n",
        encoding="utf-8",
    )


if __name__ == "__main__":
    main()
