"""Write the page of search_scale.py from its JSON: the aims with their figures first, then every table.

python -m bench.search.search_report FILE.json.gz
"""

from __future__ import annotations

import json
import os
import platform
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.lib.files import read_json

NAMES = {"ours": "ours", "lancedb": "LanceDB"}
LEGS = ("sparse", "dense", "hybrid")
COUNTS = ("5", "20", "100", "1000")
_OF_THE_LAST = {
    "times_bm25": "1,000 over BM25 top-20",
    "ranking": "1,000, ranking alone",
    "ranking_times_bm25": "over BM25 top-20",
    "hits": "hits",
    "share": "right at 1,000",
    "known": "sources with a hit",
    "share_of_all": "right of all",
    "n": "queries",
}
Results = Mapping[str, Any]


def page(results: Results) -> str:
    """Return the whole page."""
    sizes = sorted((size for size in results if size.isdigit()), key=int)
    lines = [
        "# Search at 10,000, 100,000 and 1,000,000 passages",
        "",
        "Zipf text of about 125 words a passage, 384 clustered dimensions, 1,000 skewed sources, planted answers (bench/search/corpus.py);",
        "120 queries of 2-6 words after 40 to warm up, the systems asked in turns in one run, each in its own process, texts of all hits",
        "fetched; milliseconds unless said otherwise: on one core those that the processor worked for the system's process (all of its",
        "threads), since other programs used the machine too; as they come, those that passed. How each is set up: bench/search/search_peers.py.",
        "",
        f"Machine: {machine()}. Other programs ran on its two cores at the same time (load: see each size): seconds of builds, first",
        "searches and additions are as they passed on the busy machine.",
        "",
        *(f"    {command}" for command in dict.fromkeys(results[size]["command"] for size in sizes)),
        "",
        *([results["note"], ""] if "note" in results else []),
        "## Aims",
        "",
        *_table(
            ("aim", "mode", "figure", "met"),
            [*_beside(results), *_of_sources(results), *_at_a_million(results)],
        ),
    ]
    for size in sizes:
        lines += ["", f"## {int(size):,} passages", ""]
        lines += _built(results[size])
        for mode, part in results[size]["modes"].items():
            lines += ["", f"### {mode.capitalize()}: the best 20", "", *_warm(part)]
            if "by_source" in part:
                title = f"### {mode.capitalize()}: the best three of each of N sources"
                lines += ["", title, "", *_by_source(part["by_source"])]
        chosen = {name: setting for name, setting in results[size]["settings"].items() if setting}
        lines += [
            "",
            f"Tuned settings: {json.dumps(chosen)}. This size took {results[size]['minutes']} minutes, on {results[size]['date']};",
            f"load of the machine over the last 1, 5 and 15 minutes of it: {', '.join(map(str, results[size]['load']))}.",
        ]
    return "\n".join([*lines, "", *_notes()]) + "\n"


def _beside(results: Results) -> Iterator[tuple[object, ...]]:
    """Hybrid search against LanceDB."""
    for mode, part in results.get("1000000", {}).get("modes", {}).items():
        warm = part["warm"]
        if "ours" in warm and "lancedb" in warm:
            ratio = warm["ours"]["hybrid"]["p50"] / warm["lancedb"]["hybrid"]["p50"]
            yield _aim("hybrid p50 at 1,000,000 over LanceDB's", mode, ratio, 1 / 3)


def _of_sources(results: Results) -> Iterator[tuple[object, ...]]:
    """Yield the best of each of 1,000 sources, and the recall of the dense leg."""
    for size in ("10000", "100000", "1000000"):
        for mode, part in results.get(size, {}).get("modes", {}).items():
            ours = part.get("by_source")
            if not ours:
                continue
            at = f"of 1,000 sources at {int(size):,}"
            for leg in LEGS:
                times = ours[leg]["1000"]
                what = f"best 3 {at}, {leg}"
                yield _aim(
                    f"{what}, the ranking alone, over one BM25 top-20", mode, times["ranking_times_bm25"], 2
                )
                yield _aim(f"{what}, with all {times['hits']:g} texts", mode, times["times_bm25"], 2)
            yield _aim(
                f"sparse best 3 {at}: share of the sources with a word of the query that are exact",
                mode,
                ours["sparse"]["1000"]["share_of_all"],
                1,
                least=True,
            )
            yield _aim(
                f"dense best 3 {at}: share found, of the sources with a hit",
                mode,
                ours["dense"]["1000"]["share"],
                0.97,
                least=True,
            )
            yield _aim(
                f"recall@20 of the dense leg at {int(size):,}",
                mode,
                part["warm"]["ours"]["dense"]["recall"],
                0.95,
                least=True,
            )


def _at_a_million(results: Results) -> Iterator[tuple[object, ...]]:
    """Memory, opening, and growth from a tenth of it."""
    whole = results.get("1000000", {})
    for mode, part in whole.get("modes", {}).items():
        if "ours" in part["memory"]:
            yield _aim(
                "MB resident at 1,000,000, after the best 20 of all queries",
                mode,
                part["memory"]["ours"]["resident"],
                2000,
            )
            yield _aim(
                "the same after the best of each source", mode, part["memory_after"]["ours"]["resident"], 2000
            )
    if "ours" in whole.get("cold", {}):
        took = whole["cold"]["ours"]
        yield _aim("seconds to open at 1,000,000", "fresh process", took["open"], 1)
        yield _aim(
            "seconds to open and search at 1,000,000", "fresh process", took["open"] + took["search"], 1
        )
    for mode, part in whole.get("modes", {}).items():
        smaller = results.get("100000", {}).get("modes", {}).get(mode, {}).get("warm", {})
        for leg in LEGS:
            if "ours" in part["warm"] and "ours" in smaller:
                ratio = part["warm"]["ours"][leg]["p50"] / smaller["ours"][leg]["p50"]
                yield _aim(f"{leg} p50 at 1,000,000 over 100,000 (the corpus: 10)", mode, ratio, 10)


def _aim(
    what: str, mode: str, figure: float | None, bound: float, *, least: bool = False
) -> tuple[object, ...]:
    text = (
        f"{figure:.4g} (aim: {'at least' if least else 'at most'} {bound:.3g})"
        if figure is not None
        else "never seen"
    )
    met = figure is not None and (figure >= bound if least else figure <= bound)
    return what, mode, text, "yes" if met else "**no**"


def _built(part: Results) -> list[str]:
    rows = []
    for name, took in part["built"].items():
        first = part["cold"].get(name, {})
        soon = round(first["open"] + first["search"], 3) if first else None
        parts = ", ".join(f"{part} {seconds}" for part, seconds in took.get("parts", {}).items())
        rows.append(
            (
                NAMES[name],
                f"{took['seconds']} ({parts})" if parts else took["seconds"],
                took["disk"],
                took["peak"],
                first.get("open"),
                soon,
                first.get("process"),
                first.get("evicted"),
            )
        )
    head = (
        "",
        "build s",
        "disk MB",
        "peak MB",
        "open s",
        "open + first search s",
        "the same from process start s",
        "open + search, files out of memory s",
    )
    return _table(head, rows)


def _warm(part: Results) -> list[str]:
    rows = []
    for name, legs in part["warm"].items():
        cells = [f"{legs[leg]['p50']} / {legs[leg]['p95']}" for leg in LEGS]
        cells.append(" / ".join(str(legs[leg]["wall_p50"]) for leg in LEGS))
        memory = part["memory"][name]
        rows.append(
            (
                NAMES[name],
                *cells,
                legs["sparse"]["exact"],
                legs["dense"]["recall"],
                legs["hybrid"]["planted"],
                f"{memory['resident']} ({memory['own']})",
            )
        )
    head = (
        "",
        "BM25 p50 / p95",
        "dense",
        "hybrid",
        "passed on the busy machine, p50: BM25 / dense / hybrid",
        "BM25 exact",
        "dense recall@20",
        "planted in hybrid top 20",
        "MB resident (own)",
    )
    return _table(head, rows)


def _by_source(legs: Results) -> list[str]:
    rows = []
    for leg, counts in legs.items():
        last = counts["1000"]
        rows.append((leg, *(counts[count]["p50"] for count in COUNTS), *map(last.get, _OF_THE_LAST)))
    head = ("p50", "N = 5", "20", "100", "1,000", *_OF_THE_LAST.values())
    return _table(head, rows)


def _notes() -> list[str]:
    return [
        "BM25 exact: share of the hits whose exact score reaches that of the true 20th. Right, of the sources with a hit:",
        "sparse, the share of sources whose best three have the right scores; dense, the share of their true best three that was found. Right of",
        "all: the same over the sources with a word of the query (dense: all sources). Ranking alone: rows, scores and sources of all hits (`Searcher.rank`), before any text is",
        "read. Resident memory counts mapped files; own is without them.",
    ]


def _table(head: Sequence[str], rows: Iterable[tuple[object, ...]]) -> list[str]:
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    return lines + [f"| {' | '.join('-' if cell is None else str(cell) for cell in row)} |" for row in rows]


def machine() -> str:
    """Processor, cores and memory."""
    try:
        match = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text("utf-8"))
        memory = re.search(r"MemTotal:\s+(\d+)", Path("/proc/meminfo").read_text("utf-8"))
    except OSError:
        match = memory = None
    size = f", {int(memory[1]) / 1024 / 1024:.0f} GB" if memory else ""
    return f"{match[1] if match else platform.machine()}, {os.cpu_count()} cores{size}, Python {platform.python_version()}"


if __name__ == "__main__":
    print(page(read_json(Path(sys.argv[1]))), end="")
