"""What perfect extraction would score on RAMDocs: how much of the problem is deciding, not reading.

Run `python bench/ramdocs_ceilings.py [FILE]`; without a file it reads ramdocs/dev.jsonl in the folder
of data (`DISPUTATIO_DATA`, default: ../shared/data beside the checkout). It needs no model. The page is
printed and kept in bench/results/ramdocs_ceilings.md.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from disputatio.eval.datasets import check, identify, load
from disputatio.eval.metrics import ceilings

ROOT = Path(__file__).resolve().parent.parent
KEPT = {"all": "every passage's answer", "oracle": "answers of passages of type `correct`"}


def page(spec: str) -> str:
    """The Markdown page for a data set of labelled passages."""
    examples, identity = load(spec), identify(spec)
    found = ceilings(examples)
    lines = [
        "# RAMDocs: the ceilings of perfect extraction",
        "",
        f"{identity.name}, {found['n']} rows, SHA-256 {identity.sha256[:16]}. Written by "
        "`bench/ramdocs_ceilings.py`, without a model.",
        "",
        "| what is kept of the passages' labelled answers | strict EM | EM, read literally |",
        "| --- | ---: | ---: |",
        *(
            f"| {words} | {100 * found[name]['em']:.1f} | {100 * found[name]['em_literal']:.1f} |"
            for name, words in KEPT.items()
        ),
        "",
        "Strict EM: every gold answer is there and none that is wrong only. Read literally, an answer",
        "that the data lists as both gold and wrong is a mistake as well: its row cannot be won.",
        "",
        f"* {found['gold_not_borne']} rows have a gold answer that no passage of type `correct` bears: "
        "they are lost even to an oracle.",
        f"* {found['gold_and_wrong']} rows list an answer as both gold and wrong.",
        *(f"* {note}." for note in check(examples) if "both gold and wrong" not in note),
        "",
        "So a reader that misses nothing still fails most rows until it decides which answers to leave out.",
        "",
        "The figures come out of `disputatio.eval.metrics.ceilings`, the code that scores every run. Of all "
        "500 published rows they are told to be 41.0 and 82.8; `python bench/ramdocs_ceilings.py "
        "RAMDocs_test.jsonl` puts that file to the same code.",
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Write the page and print it."""
    data = Path(os.environ.get("DISPUTATIO_DATA", ROOT.parent / "shared" / "data"))
    file = Path(sys.argv[1]) if len(sys.argv) > 1 else data / "ramdocs" / "dev.jsonl"
    text = page(f"ramdocs:{file}")
    (ROOT / "bench" / "results" / "ramdocs_ceilings.md").write_text(text, encoding="utf-8")
    print(text, end="")


if __name__ == "__main__":
    main()
