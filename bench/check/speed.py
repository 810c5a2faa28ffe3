"""Seconds and peak memory of `disputatio check` on 100,000 passages of public documents, on this machine.

    python -m bench.check.speed FILE.jsonl... [--passages 100000]

The files have a document a line (`text`, `title`), such as those of BEIR.
"""

from __future__ import annotations

import gzip
import json
import resource
import time
from collections.abc import Iterator
from pathlib import Path

from bench.lib.options import parser_of
from disputatio.api.checking import check
from disputatio.store.ingesting.split import split
from disputatio.types import Passage


def main() -> None:
    """Print the figures of one run."""
    parser = parser_of(__doc__)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--passages", type=int, default=100_000)
    options = parser.parse_args()
    passages = list(_passages(options.files, options.passages))
    words = sum(len(passage.text.split()) for passage in passages)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    start = time.perf_counter()
    found = check(passages)
    seconds = time.perf_counter() - start
    used = resource.getrusage(resource.RUSAGE_SELF)
    peak, processor = used.ru_maxrss / 1024, used.ru_utime + used.ru_stime
    print(
        f"{len(passages):,} passages, {words:,} words, {found.statements:,} statements, {found.compared:,} pairs",
        f"{seconds:.0f} s ({processor:.0f} s of one processor in all), peak {peak:.0f} MB ({before:.0f} MB of them the passages and the program)",
        f"{len(found.contradictions):,} contradictions, {found.hidden:,} of low severity, {found.left_out:,} left out",
        sep="\n",
    )


def _passages(files: list[Path], wanted: int) -> Iterator[Passage]:
    """Yield up to so many passages of the files."""
    for file in files:
        with gzip.open(file, "rt") if file.suffix == ".gz" else file.open(encoding="utf-8") as lines:
            for line in lines:
                row = json.loads(line)
                text = str(row["text"])
                for start, end in split(text)[:wanted]:
                    wanted -= 1
                    yield Passage(text=text[start:end], title=str(row.get("title", "")), id=f"p{wanted}")


if __name__ == "__main__":
    main()
