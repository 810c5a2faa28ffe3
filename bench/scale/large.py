"""Search and merge what bench/scale/build_large.py has built: the curve over sizes, before and after one merge of all.

    python -m bench.scale.large curve --work DIR --size 10000000 --parts 1,2,4,0
    python -m bench.scale.large merge --work DIR --size 10000000 --target FOLDER
    python -m bench.scale.large merged --work DIR --size 10000000 --target FOLDER

`curve` searches the first so many of the largest segments (0: all segments, as tiers have left them), `merge` makes one of all, `merged` searches
that. Each runs in a process of its own and is kept in results/scale/large.json.gz; the page is written anew each time.
"""

from __future__ import annotations

import argparse
import json
import shutil
import time
from pathlib import Path
from typing import Any

from bench import RESULTS
from bench.lib.files import read_json, write_json
from bench.scale.merge_large import LEGS, measured, merge, search, size_of
from bench.search.search_report import machine
from disputatio.store.record import manifest as manifests

FIGURES = RESULTS / "scale" / "large.json.gz"


def main() -> None:
    """Measure one of the three."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("curve", "merge", "merged"))
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--size", type=int, required=True)
    parser.add_argument("--parts", default="1,2,4,0")
    parser.add_argument("--target", type=Path)
    parser.add_argument("--memory-mb", type=int, default=1024)
    parser.add_argument("--asked", type=int, default=60)
    parser.add_argument("--repeats", type=int, default=2)
    arguments = parser.parse_args()
    work = arguments.work / str(arguments.size)
    manifest = manifests.read(work / "index")
    assert manifest is not None  # build_large made it
    folders = [work / "index" / manifests.SEGMENTS / entry.name for entry in manifest.segments]
    results = read_json(FIGURES) if FIGURES.exists() else {"curve": {}}
    results["build"] = [json.loads(line) for line in (work / "large.jsonl").read_text().splitlines()]
    asked = (work / "queries", arguments.asked, arguments.repeats)
    if arguments.what == "curve":
        largest = max(entry.rows for entry in manifest.segments)
        whole = [f for f, entry in zip(folders, manifest.segments, strict=True) if entry.rows == largest]
        for count in map(int, arguments.parts.split(",")):
            some = whole[:count] if count else folders
            figures = measured(search, some, *asked)["gave"]
            results["curve"][f"{figures['rows']:010d}"] = {**figures, "segments": len(some)}
            print(json.dumps(figures), flush=True)
    elif arguments.what == "merge":
        shutil.rmtree(arguments.target, ignore_errors=True)
        figures = measured(merge, folders, arguments.target, arguments.memory_mb << 20)
        parts = sum(map(size_of, folders))
        results["merge"] = {**figures, "parts_mb": parts, "merged_mb": size_of(arguments.target)}
        results["merge"] |= {"segments": len(folders), "memory_mb": arguments.memory_mb}
        print(json.dumps(results["merge"]), flush=True)
    else:
        results["merged"] = {**measured(search, [arguments.target], *asked)["gave"], "segments": 1}
        print(json.dumps(results["merged"]), flush=True)
    results["date"] = time.strftime("%Y-%m-%d")
    write_json(FIGURES, results)
    FIGURES.with_name("large.md").write_text(page(results), encoding="utf-8")


def page(results: dict[str, Any]) -> str:
    """Return the page in Markdown."""
    built = results["build"][-1]
    lines = [
        "# Millions of passages in one index",
        "",
        f"Machine: {machine()}, {results['date']}; searches and the merge ran alone (but the two smallest, beside a test), building ran below other programs. Passages of 125 words, 384 dimensions,",
        "1,000 skewed sources, as in bench/search/corpus.py. The index has segments alone (a replica without tables), made, committed and merged by the writer's code;",
        "splitting texts into words was left out ([the script](../../scale/build_large.py) says how).",
        "",
        "    python -m bench.scale.build_large --work DIR --size 10000000",
        "    python -m bench.scale.large curve --work DIR --size 10000000 --parts 1,2,4,0",
        "    python -m bench.scale.large merge --work DIR --size 10000000 --target FOLDER",
        "    python -m bench.scale.large merged --work DIR --size 10000000 --target FOLDER",
        "",
        "## Building",
        "",
        "`cpu`: of a core, making the passages included, since the run that went on last began.",
        "",
        "| passages | cpu, s | of it merging | peak memory, MB | of which not mapped files | disk, MB | segments |",
        "|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for one in results["build"]:
        if one["passages"] % 1_000_000 == 0 or one is built:
            lines.append(
                f"| {one['passages']:,} | {one['cpu']:g} | {one['merging_cpu']:g} | {one['peak_mb']} | {one['anonymous_mb']} | {one['disk_mb']:,} | {one['segments']} |"
            )
    if "merge" in results:
        one = results["merge"]
        lines += [
            "",
            "## One merge of all",
            "",
            f"{one['segments']} segments of {one['gave']:,} passages ({one['parts_mb']:,} MB) became one of {one['merged_mb']:,} MB with `merge_gb` of {one['memory_mb'] / 1024:g}: "
            f"{one['seconds']:.0f} s by the clock, {one['cpu']:.0f} s of a core, {one['peak_mb']:,} MB at the peak with mapped files, {one['anonymous_mb']} MB without.",
        ]
    rows = [results["curve"][name] for name in sorted(results["curve"])]
    rows += [results["merged"]] if "merged" in results else []
    lines += [
        "",
        "## Searching",
        "",
        "Milliseconds by the clock, p50 / p99; hybrid searches take two threads. `open`: seconds until the segments are mapped. `resident`: MB after all searches, mapped files",
        "included.",
        "",
        "| passages | segments | open | " + " | ".join(LEGS) + " | resident |",
        "|--:|--:|--:|" + "--:|" * len(LEGS) + "--:|",
    ]
    for one in rows:
        legs = " | ".join(f"{one['legs'][leg]['p50']:g} / {one['legs'][leg]['p99']:g}" for leg in LEGS)
        lines.append(
            f"| {one['rows']:,} | {one['segments']} | {one['open_s']:g} | {legs} | {one['resident_mb']:,} |"
        )
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    main()
