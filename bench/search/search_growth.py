"""How building, size and search of our index grow with the number of passages: a table with fitted exponents.

    python -m bench.search.search_growth --work DIR [--results bench/results/search/search_scale.json.gz]

Reads what search_scale.py measured (one core, one thread) and the sizes of the files that it left in DIR. Two fits over all sizes: the
exponent e of c * n ** e (least squares on logarithms; 1 is growth with the corpus), and a line a + b * n through the smallest and the
largest size, whose b is what each further million costs once the constant part no longer counts. Writes
bench/results/search/search_growth.md.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bench import RESULTS
from bench.lib.files import read_json
from bench.search.search_report import machine

MODE = "one core"
KINDS = {  # arrays of a segment by what they are for
    "term": "postings and terms",
    "vector_numbers": "vectors, 16 bits a number",
    "vector_scales": "vectors, 16 bits a number",
    "vector": "sign codes",
    "stored": "stored fields with texts",
    "sketches": "MinHash",
    "field": "fields and ids",
    "id": "fields and ids",
}
READ_WHOLE = ("sign codes", "lengths, sources, days")  # what each search reads from end to end
Measured = Mapping[str, Any]


def figures() -> dict[str, Callable[[Measured], float | None]]:
    """Return what is told of each size, from its part of search_scale.json."""

    def warm(leg: str) -> Callable[[Measured], float]:
        return lambda result: float(result["modes"][MODE]["warm"]["ours"][leg]["p50"])

    def by_source(leg: str, field: str) -> Callable[[Measured], float]:
        return lambda result: float(result["modes"][MODE]["by_source"]["ours"][leg]["1000"][field])

    return {
        "build, s": lambda result: result["built"]["ours"]["seconds"],
        "of which the last compaction, s": lambda result: result["built"]["ours"]["parts"]["compact"],
        "peak memory of the build, MB": lambda result: result["built"]["ours"]["peak"],
        "disk, MB": lambda result: result["built"]["ours"]["disk"],
        "open, s": lambda result: result["cold"]["ours"]["open"],
        "open and first search, files out of memory, s": lambda result: result["cold"]["ours"]["evicted"],
        "resident after 160 queries on each leg, MB": lambda result: result["modes"][MODE]["memory"]["ours"][
            "resident"
        ],
        "of which not mapped files, MB": lambda result: result["modes"][MODE]["memory"]["ours"]["own"],
        "resident after the best of each source, MB": lambda result: result["modes"][MODE]["memory_after"][
            "ours"
        ]["resident"],
        "BM25 p50, ms": warm("sparse"),
        "dense p50, ms": warm("dense"),
        "hybrid p50, ms": warm("hybrid"),
        "best 3 of 1,000 sources, BM25, ranking, ms": by_source("sparse", "ranking"),
        "best 3 of 1,000 sources, hybrid, ranking, ms": by_source("hybrid", "ranking"),
        "best 3 of 1,000 sources, hybrid, with all texts, ms": by_source("hybrid", "p50"),
    }


def grown(sizes: Sequence[int], values: Sequence[float]) -> tuple[float, float, float]:
    """Exponent of a power law, and constant and slope (a million) of a line.

    >>> [round(one, 6) for one in grown([10, 100], [5.0, 50.0])]
    [1.0, 0.0, 500000.0]
    """
    exponent = float(np.polyfit(np.log(sizes), np.log(np.maximum(values, 1e-6)), 1)[0])
    slope = (values[-1] - values[0]) / (sizes[-1] - sizes[0])
    return exponent, values[0] - slope * sizes[0], slope * 1e6


def bytes_of(folder: Path) -> dict[str, int]:
    """Bytes of an index by what they are for."""
    sizes: dict[str, int] = defaultdict(int)
    for path in folder.rglob("*"):
        if not path.is_file():
            continue
        top = path.relative_to(folder).parts[0]
        kind = "tables: " + top.removesuffix(".lance") if top.endswith(".lance") else "manifest and ledger"
        if top == "segments":
            name = next((result for result in KINDS if path.name.startswith(result)), "")
            kind = KINDS.get(name, "lengths, sources, days")
        sizes[kind] += path.stat().st_size
    return dict(sizes)


def page(results: Mapping[str, Any], work: Path) -> str:
    """Return the page in Markdown."""
    sizes = sorted(int(size) for size in results if size.isdigit() and "ours" in results[size]["built"])
    heads = [f"{size:,}" for size in sizes]
    lines = [
        "# How the index grows",
        "",
        "Our index on the corpora of bench/search/corpus.py (passages of about 125 words, 384 dimensions, 1,000 sources), one core and one thread;",
        "figures of bench/results/search/search_scale.md. Exponent: e of c n^e, fitted on logarithms (1: as the corpus grows). Constant and each further",
        "million: the line through the smallest and the largest size. A query's cost has a constant part (parsing, fusion, fetching 20",
        "texts), so exponents are small here; both legs read postings or codes in proportion to the corpus, so from some millions",
        "on the line is what to reckon with.",
        "",
        "    python -m bench.search.search_growth --work DIR",
        "",
        f"Machine: {machine()}, {results[str(sizes[-1])]['date']}; other programs ran at the same time.",
        "",
        *_head(["", *heads, "exponent", "constant", "each further million"]),
    ]
    for name, take in figures().items():
        values = [float(take(results[str(size)]) or 0.0) for size in sizes]
        lines.append(_row([name, *(f"{value:g}" for value in values), *_fits(sizes, values)]))
    lines += ["", "## Bytes a passage", "", *_head(["", *heads])]
    disk_sizes = [bytes_of(work / str(size) / "systems" / "ours" / "index") for size in sizes]
    for kind in sorted(set().union(*disk_sizes), key=lambda kind: -disk_sizes[-1].get(kind, 0)):
        cells = [f"{part.get(kind, 0) / size:.1f}" for part, size in zip(disk_sizes, sizes, strict=True)]
        lines.append(_row([kind, *cells]))
    whole = [sum(part.values()) / size for part, size in zip(disk_sizes, sizes, strict=True)]
    segment = [
        sum(count for kind, count in part.items() if not kind.startswith(("tables", "manifest"))) / size
        for part, size in zip(disk_sizes, sizes, strict=True)
    ]
    scanned = [
        sum(part.get(kind, 0) for kind in READ_WHOLE) / size
        for part, size in zip(disk_sizes, sizes, strict=True)
    ]
    lines.append(_row(["**all**", *(f"{megabytes:.1f}" for megabytes in whole)]))
    lines.append(
        _row(["segments alone: what a reader needs", *(f"{megabytes:.1f}" for megabytes in segment)])
    )
    lines.append(
        _row(
            [
                "of which a hybrid search scans, at most, beside postings",
                *(f"{megabytes:.1f}" for megabytes in scanned),
            ]
        )
    )
    return "\n".join(lines) + "\n"


def _fits(sizes: Sequence[int], values: Sequence[float]) -> list[str]:
    if len(sizes) < 2:
        return ["-", "-", "-"]
    exponent, constant, slope = grown(sizes, values)
    return [f"{exponent:.2f}", f"{constant:.3g}", f"{slope:.3g}"]


def _head(cells: Sequence[str]) -> list[str]:
    return [_row(cells), f"|{'---|' * len(cells)}"]


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--work", type=Path, required=True, help="the folder that search_scale.py worked in")
    parser.add_argument("--results", type=Path, default=RESULTS / "search" / "search_scale.json.gz")
    parser.add_argument("--out", type=Path, default=RESULTS / "search" / "search_growth.md")
    arguments = parser.parse_args()
    text = page(read_json(arguments.results), arguments.work)
    arguments.out.write_text(text, encoding="utf-8")
    print(text, end="")


if __name__ == "__main__":
    main()
