"""Find and mark pages of results that were made with other prompts or code than today's.

    python -m bench.lib.stale                    # say which pages are stale, and mark them
    python -m bench.lib.stale papers/NAME.md     # a page was made anew: remember what it rests on, without a mark

`bench/rests_on.json` has for each page the strategies that it is of, further modules whose prompts or
formulas its figures come from, and a hash of them all: of syntax trees without comments and docstrings. A test
compares it.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bench import RESULTS
from disputatio.eval.running.entrants import source_hash
from disputatio.pipeline import load_strategy, prompts_hash

RECORD = Path(__file__).parents[1] / "rests_on.json"
MADE = "**Made with:**"
MARK = "**Stale:** prompts or code that these figures rest on have changed since they were made; run the command again."


def read() -> dict[str, dict[str, Any]]:
    """Read the strategies, modules and hash of each page."""
    return dict(json.loads(RECORD.read_text(encoding="utf-8")))


def today(about: Mapping[str, Any]) -> str:
    """Return the hash of what a page rests on, as it is now."""
    digest = hashlib.sha256()
    for name in about["strategies"]:
        strategy = load_strategy(name)
        digest.update(f"{name} {prompts_hash(strategy)} {_of(strategy.__module__)}\n".encode())
    for module in about.get("modules", []):
        digest.update(f"{module} {_of(module)}\n".encode())
    return digest.hexdigest()[:16]


def _of(module: str) -> str:
    """Return the hash of a module, or of all modules of a package."""
    spec = importlib.util.find_spec(module)
    if spec is None or spec.origin is None:
        raise ValueError(f"{module}: there is no such module")
    file = Path(spec.origin)
    files = sorted(file.parent.glob("*.py")) if file.name == "__init__.py" else [file]
    return " ".join(source_hash(path.read_text(encoding="utf-8")) for path in files)


def is_stale(about: Mapping[str, Any]) -> bool:
    """Return whether a page's figures are of other prompts or code; `stale` in the record says so for what is
    known.
    """
    return bool(about.get("stale")) or today(about) != about["hash"]


def is_marked(page: Path) -> bool:
    """Return whether a page says that it is stale."""
    return MARK in page.read_text(encoding="utf-8")


def line(about: Mapping[str, Any]) -> str:
    """Write the line on how a page's figures were made."""
    return f"{MADE} {about['options']}. Order of passages: {about['order']}. Tuned on: {about['tuned']}."


def mark(page: Path, about: Mapping[str, Any]) -> None:
    """Put below a page's title how it was made, and the mark where it is stale."""
    title, *rest = page.read_text(encoding="utf-8").split("\n")
    kept = [text for text in rest if not text.startswith((MARK, MADE))]
    while kept and not kept[0].strip():
        kept.pop(0)
    why = f" Known: {about['stale']}." if about.get("stale") else ""
    head = [f"{MARK}{why}", ""] if is_stale(about) else []
    page.write_text("\n".join([title, "", *head, line(about), "", *kept]), encoding="utf-8")


def main() -> None:
    """Mark what is stale, or remember that some pages are not."""
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("pages", nargs="*", help="pages that were made anew, below bench/results")
    arguments = options.parse_args()
    record = read()
    for name in arguments.pages:
        if name not in record:
            options.error(f"{name}: add it to {RECORD.name}, with the strategies that it is of")
        record[name].pop("stale", None)
        record[name]["hash"] = today(record[name])
    RECORD.write_text(json.dumps(record, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    for name, about in sorted(record.items()):
        mark(RESULTS / name, about)
        if is_stale(about):
            print(f"{name}: stale", file=sys.stderr)


if __name__ == "__main__":
    main()
