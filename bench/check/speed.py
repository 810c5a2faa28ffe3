"""Seconds and peak memory of `disputatio check` on 100,000 passages of public documents, on this machine.

    python -m bench.check.speed FILE.jsonl... [--passages 100000]

The files are BEIR corpora (`text`, `title`) or pages (`context`); passages are repeated with other figures where there
are fewer, so that a repeat is a contradiction and the number of findings a check of the bounds.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import resource
import time
from collections.abc import Iterator
from pathlib import Path

from disputatio.api.checking import check
from disputatio.store.ingesting.split import split
from disputatio.types import Passage

_FIGURE = re.compile(r"\d+")


def main() -> None:
    """Print the figures of one run."""
    parser = argparse.ArgumentParser(description=__doc__)
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
        f"{len(passages):,} passages, {words:,} words, {found.statements:,} statements, {found.compared:,} pairs"
    )
    print(
        f"{seconds:.0f} s ({processor:.0f} s of one processor in all), peak {peak:.0f} MB ({before:.0f} MB of them the passages and the program)"
    )
    print(
        f"{len(found.contradictions):,} contradictions, {found.hidden:,} of low severity, {found.left_out:,} left out"
    )


def _passages(files: list[Path], wanted: int) -> Iterator[Passage]:
    """Yield passages of the files, each time round with other figures, until there are enough."""
    count = 0
    for turn in range(1000):
        for file in files:
            for line in _lines(file):
                row = json.loads(line)
                text = str(row.get("text") or row.get("context") or row.get("contents") or "")
                for start, end in split(text):
                    count += 1
                    yield Passage(
                        text=_turned(text[start:end], turn), title=str(row.get("title", "")), id=f"p{count}"
                    )
                    if count >= wanted:
                        return


def _lines(file: Path) -> Iterator[str]:
    with (
        gzip.open(file, "rt", encoding="utf-8")
        if file.suffix == ".gz"
        else file.open(encoding="utf-8") as lines
    ):
        yield from lines


def _turned(text: str, turn: int) -> str:
    """Return a text with its first figure raised by the number of the turn, so that it differs in each."""
    return _FIGURE.sub(lambda figure: str(int(figure[0][:9]) + turn), text, count=1) if turn else text


if __name__ == "__main__":
    main()
