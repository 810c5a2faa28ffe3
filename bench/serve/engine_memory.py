"""Measure the memory of the embedded engine's process while it answers more and more prompts.

    python -m bench.serve.engine_memory

Every prompt is new, so that the prefix cache keeps all it may. `plain` asks with one schema, `schemas` with a
schema of its own for each prompt, which would show what compiled grammars keep. The table has the resident
memory of the engine's process after so many prompts, for each size of the cache.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Sequence

from bench import RESULTS
from bench.lib.files import write_page
from bench.lib.options import parser_of
from bench.lib.waiting import resident
from disputatio.kit import chat
from disputatio.llm import catalogue, local
from disputatio.types import Prompt, Sampling

PAGE = RESULTS / "serve" / "engine_memory.md"
WORDS = (
    "quay",
    "jetty",
    "crane",
    "barge",
    "sluice",
    "beacon",
    "ferry",
    "harbour",
    "pilot",
    "rope",
    "tide",
    "mole",
)


def prompts(count: int, words: int, seed: int) -> list[Prompt]:
    """Prompts that share nothing but their beginning."""
    draw = random.Random(seed)
    return [
        chat(
            "You read one passage and answer.",
            " ".join(f"{draw.choice(WORDS)} {draw.randrange(1000)}" for _ in range(words)),
        )
        for _ in range(count)
    ]


def schema(number: int | None) -> dict[str, object]:
    """Return a schema of a reply; `number` makes it one of its own."""
    field = "answer" if number is None else f"answer{number}"
    text = {"type": "string", "maxLength": 12}
    return {"type": "object", "properties": {field: text}, "required": [field], "additionalProperties": False}


def measured(way: str, cache_gb: int, options: argparse.Namespace) -> list[tuple[int, float]]:
    """Resident megabytes after so many prompts."""
    model = local.Local(
        options.model,
        lambda: catalogue.path(options.model, pull=True),
        cache=catalogue.cache_folder(),
        cache_gb=cache_gb,
    )
    model.complete(prompts(1, 4, 0), Sampling(max_tokens=2))
    [engine] = [engine for key, engine in local._ENGINES.items() if key[2] == cache_gb and not engine.ended]
    process = engine._process.pid
    rows = [(0, resident(process))]
    for batch in range(options.prompts // options.batch):
        asked = prompts(options.batch, options.words, batch + 1)
        if way == "plain":
            model.complete(asked, Sampling(max_tokens=12, schema=schema(None)))
        else:
            for number, prompt in enumerate(asked):
                model.complete(
                    [prompt], Sampling(max_tokens=12, schema=schema(batch * options.batch + number))
                )
        rows.append(((batch + 1) * options.batch, resident(process)))
        print(way, cache_gb, rows[-1], flush=True)
    engine.end()
    return rows


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and write the page."""
    parser = parser_of(__doc__)
    parser.add_argument("--model", default="qwen2.5-coder-0.5b")
    parser.add_argument("--prompts", type=int, default=480)
    parser.add_argument("--batch", type=int, default=40)
    parser.add_argument("--words", type=int, default=150)
    parser.add_argument("--cases", nargs="+", default=["plain:1", "schemas:1"])
    options = parser.parse_args(arguments)
    began = time.strftime("%Y-%m-%d")
    columns = {case: measured(case.split(":")[0], int(case.split(":")[1]), options) for case in options.cases}
    lines = [f"# Memory of the embedded engine's process ({options.model}, {began})", ""]
    lines += ["| prompts | " + " | ".join(f"{case} GB of cache" for case in columns) + " |"]
    lines += ["|---:|" + "---:|" * len(columns)]
    for at in range(len(next(iter(columns.values())))):
        cells = " | ".join(f"{rows[at][1]:,.0f} MB" for rows in columns.values())
        lines.append(f"| {next(iter(columns.values()))[at][0]} | {cells} |")
    write_page(PAGE, "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
