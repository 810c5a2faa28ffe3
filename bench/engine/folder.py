"""Measure what a question about a folder costs in core-seconds, as the processor is and held to AVX2.

    python -m bench.engine.folder --out DIR [--sample 6] [--minutes 3]

Questions of bench/documents (part development, kinds in turn) are asked with the defaults, each folder of `--out` for so
many minutes; the same command goes on where it was stopped. AVX2 alone is what most laptops have: the engine's kernels
are held to it by ONEDNN_MAX_CPU_ISA. The core-seconds are of all processes: search, encoder and language model.
"""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench import RESULTS
from bench.lib.asking import table
from bench.lib.files import write_page
from bench.lib.options import parser_of
from disputatio.llm.cores import processor

PAGE = RESULTS / "engine" / "folder.md"
KINDS = {"all that the processor has": {}, "AVX2 alone": {"ONEDNN_MAX_CPU_ISA": "AVX2"}}
WANTED = 25  # core-seconds


def asked(folder: Path, variables: dict[str, str], sample: int, minutes: float) -> list[dict[str, Any]]:
    """Ask for so many minutes, and return the answers so far."""
    words = ["-m", "bench.documents.ask", "--part", "development", "--sample", str(sample)]
    words += ["--minutes", str(minutes), "--out", str(folder), "--journal", str(folder) + ".sqlite"]
    subprocess.run([sys.executable, *words], env={**os.environ, **variables}, check=True)
    file = folder / "answers.jsonl"
    return (
        [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()] if file.exists() else []
    )


def main(words: Sequence[str] | None = None) -> None:
    """Measure, and write the page."""
    options = parser_of(__doc__)
    options.add_argument("--out", type=Path, required=True)
    options.add_argument("--sample", type=int, default=6)
    options.add_argument("--minutes", type=float, default=3.0)
    chosen = options.parse_args(words)
    load = os.getloadavg()[0]
    chosen.out.mkdir(parents=True, exist_ok=True)
    answers = {
        name: asked(chosen.out / str(number), variables, chosen.sample, chosen.minutes)
        for number, (name, variables) in enumerate(KINDS.items())
    }
    rows = []
    for name, each in answers.items():
        first, *cores = [float(answer["core_seconds"]) for answer in each]
        rows.append(
            [
                name,
                len(cores),
                *(f"{pick(cores):.1f}" for pick in (statistics.mean, statistics.median, max)),
                f"{first:.1f}",
                f"{statistics.median(float(answer['seconds']) for answer in each[1:]):.1f}",
                f"{statistics.mean(float(answer['tokens']) for answer in each[1:]):,.0f}",
            ]
        )
    head = [
        "kernels",
        "n",
        "core-seconds, mean",
        "median",
        "most",
        "first, with loading",
        "seconds, median",
        "tokens, mean",
    ]
    write_page(
        PAGE,
        f"""# What a question about a folder costs

`python -m bench.engine.folder --out DIR --sample {chosen.sample}`, {processor()}, {os.cpu_count()} cores, Python {platform.python_version()}, {time.strftime("%Y-%m-%d")}; load before the latest run {load:.1f}.

{table(head, rows)}

Wanted were at most {WANTED} core-seconds with AVX2 alone. The first question of a row, which loads the model, is apart. Seconds depend on what else the machine did.
""",
    )


if __name__ == "__main__":
    main()
