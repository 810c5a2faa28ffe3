"""Measure what a question about a folder costs in core-seconds, as the processor is and held to AVX2.

    python -m bench.engine.folder --out DIR [--sample 6] [--minutes 3]

Questions of bench/documents (part development, kinds in turn) are asked with the defaults, each folder of `--out` for so
many minutes; the same command goes on where it was stopped, and with 0 minutes writes the page alone. Most laptops have
no AVX-512: for the other rows the engine's kernels are held to AVX2 with VNNI, and it calculates in f32, as it does there
(held to plain AVX2, or in bf16, it fails on a processor that has more). The core-seconds are of all processes: search,
encoder and language model.
"""

from __future__ import annotations

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
from bench.lib.files import read_lines, write_page
from bench.lib.options import parser_of
from disputatio.llm.cores import processor

PAGE = RESULTS / "engine" / "folder.md"
AVX2 = {"ONEDNN_MAX_CPU_ISA": "AVX2_VNNI"}
KINDS: dict[str, tuple[dict[str, str], list[str]]] = {
    "all that the processor has": ({}, []),
    "AVX2 with VNNI": (AVX2, []),
    "AVX2 with VNNI, reader=trained": (AVX2, ["--reader", "trained"]),
}
# Has the engine calculate in f32.
IN_F32 = """
from disputatio.llm import local
local._COMMAND = ("-P", "-c", "import sys; from disputatio.llm import embedded as e; before = e.settings_of; "
    "e.settings_of = lambda threads: {**before(threads), 'INFERENCE_PRECISION_HINT': 'f32'}; e.main(*sys.argv[1:])")
"""
ASKS = f"{IN_F32}from bench.documents.ask import main\nmain()"
WANTED = 25  # core-seconds


def asked(
    folder: Path, variables: dict[str, str], more: list[str], sample: int, minutes: float
) -> list[dict[str, Any]]:
    """Ask for so many minutes, and return the answers so far."""
    words = ["-c", ASKS] if variables else ["-m", "bench.documents.ask"]
    words += ["--part", "development", "--sample", str(sample), *more]
    words += ["--minutes", str(minutes), "--out", str(folder), "--journal", str(folder) + ".sqlite"]
    if minutes:
        subprocess.run([sys.executable, *words], env={**os.environ, **variables}, check=True)
    return read_lines(folder / "answers.jsonl")


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
        name: asked(chosen.out / str(number), *kind, chosen.sample, chosen.minutes)
        for number, (name, kind) in enumerate(KINDS.items())
    }
    rows = []
    for name, each in answers.items():
        if len(each) < 2:
            continue
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

Wanted were at most {WANTED} core-seconds with AVX2. The first question of a row, which loads the model, is apart. Seconds depend on what else the machine did.
""",
    )


if __name__ == "__main__":
    main()
