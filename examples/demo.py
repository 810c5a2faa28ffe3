"""The demo: ingest a small corpus that disagrees, cross-check its sources, ask three questions.

Run it with `make demo`, or `python examples/demo.py`. The index goes to `.disputatio/demo.index`.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from disputatio.cli import main as cli

EXAMPLES = Path(__file__).resolve().parent
INDEX = EXAMPLES.parent / ".disputatio" / "demo.index"
BUILT = EXAMPLES.parent / "src" / "disputatio" / "server" / "page" / "index.html"
PAGE = "http://127.0.0.1:8377"
CHECKS = "4"  # questions that sources are cross-checked by: few, for a demo is short


def run(*words: str) -> int:
    """Show a command line of ours, run it in this process, and return its exit code.

    One process, so that the model is loaded once.
    """
    shown = " ".join(f'"{word}"' if " " in word else word for word in words)
    print(f"\n$ disputatio {shown}", flush=True)
    sys.argv = ["disputatio", *words]
    try:
        cli.main()
    except SystemExit as end:
        return int(end.code or 0)
    return 0


def main() -> int:
    """Ingest, calibrate, ask, and say how long it took; returns the first exit code that is not 0."""
    start = time.monotonic()
    INDEX.parent.mkdir(exist_ok=True)
    index = str(INDEX.relative_to(Path.cwd())) if INDEX.is_relative_to(Path.cwd()) else str(INDEX)
    corpus = EXAMPLES / "disagreement" / "sources"
    sources = str(corpus.relative_to(Path.cwd())) if corpus.is_relative_to(Path.cwd()) else str(corpus)
    code = run("ingest", sources, "--index", index)
    if code == 0:
        code = run("calibrate", "--index", index, "--questions", CHECKS)
    for question in json.loads((EXAMPLES / "questions.json").read_text(encoding="utf-8")):
        if code == 0:
            code = run("ask", question["question"], "--index", index)
    print(f"\nThe demo took {time.monotonic() - start:.0f} s.")
    if code == 0:
        print(f"\nThe same on a page: disputatio serve --index {index}, then open {PAGE}")
        if not BUILT.is_file():
            print("(the page is built once in a checkout: make page)")
    return code


if __name__ == "__main__":
    sys.exit(main())
