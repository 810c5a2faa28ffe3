"""Measure `disputatio check` on documents of packages that people wrote, an older and a newer version of each.

PART.yaml lists the archives, statedPART.yaml what is stated of their documents. PART.jsonl has
contradictions between an older and a newer document, by kind. A language model wrote them down that had read the
documents only, by changed sentences that resemble each other, before `check` was run on them. They are some of those that
there are, so they tell of recall alone. judged.jsonl has findings with a label, "right", "wrong" or "example" (of a sample
or printed output): given by a language model that had not read the rules, each with its reason.

    python -m bench.check.versions DIR [--part versions2] [--check] [--sample N --seed S] [--severity medium]

DIR is written if it lacks a document, and the quotes are looked up in it. With `--check` the check is run, and its findings
are counted by the labels that they have in judged.jsonl; with
`--sample N` N findings are written to DIR.sample.jsonl, in an order drawn by a seed.
"""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Sequence
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

from bench.check.folder import HERE, shown
from bench.documents.build import SIDECAR, lay
from bench.documents.public import Archive, fetch, places, read_archives
from bench.lib.options import parser_of
from disputatio.api.checking import check
from disputatio.types import Contradiction, Severity, Statement

AROUND = 300  # letters of a document on each side of a quote, for who judges it
PARTS = ("versions", "versions2", "versions3")
LEAST = 3  # words that two quotes share at least

Row = dict[str, str]
Sides = frozenset[tuple[str, str]]


def main() -> None:
    """Build the folder and, if that is asked for, print what the check finds in it."""
    parser = parser_of(__doc__)
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("--part", choices=PARTS, default=PARTS[0])
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--sample", type=int, default=0, metavar="N")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--severity", default="medium")
    options = parser.parse_args()
    rows = read_rows(options.part)
    build(options.folder, rows, options.part)
    if options.check or options.sample:
        report(options.folder, rows, options.severity, options.sample, options.seed)


def archives(part: str) -> list[Archive]:
    """Return the archives that the documents are members of."""
    return read_archives(HERE / f"{part}.yaml")


def sidecar(part: str) -> str:
    """Return what is stated of the documents."""
    return (HERE / f"stated{part}.yaml").read_text("utf-8")


def read_rows(part: str) -> list[Row]:
    """Return the contradictions that were written down."""
    return [json.loads(line) for line in (HERE / f"{part}.jsonl").read_text("utf-8").splitlines()]


def read_labels() -> dict[Sides, str]:
    """Return the labels of the findings that were judged."""
    lines = (HERE / "judged.jsonl").read_text("utf-8").splitlines()
    return {sides_of(row): row["label"] for row in map(json.loads, lines)}


def sides_of(finding: dict[str, Any]) -> Sides:
    """Return the names and quotes of the two statements of a finding, in any order."""
    return frozenset((Path(side["path"]).parent.name, side["shown"]) for side in finding["sides"])


def build(folder: Path, rows: Sequence[Row], part: str) -> None:
    """Write the documents that are missing; ends the run where a document lacks a quote of it."""
    listed = archives(part)
    if not all((folder / name).exists() for name in places(listed)):
        print(f"sha256 {lay(folder, sorted(fetch(listed, part)))}")
    (folder / SIDECAR).write_text(sidecar(part), "utf-8")
    missing = [
        f"{row[f'{side}_file']} lacks: {row[f'{side}_quote']}"
        for row in rows
        for side in ("old", "new")
        if row[f"{side}_quote"] not in " ".join((folder / row[f"{side}_file"]).read_text("utf-8").split())
    ]
    if missing:
        raise SystemExit("\n".join(missing))


def report(folder: Path, rows: Sequence[Row], severity: Severity, sample: int, seed: int) -> None:
    """Print the figures of a folder, and write a sample of what was found."""
    found = check(folder, severity=severity, model="none")
    severities = Counter(each.severity for each in found.contradictions)
    met = [row for row in rows if any(_meets(each, row, folder) for each in found.contradictions)]
    print(
        f"{found.documents} documents, {found.statements} statements, {found.compared} pairs, {found.seconds} s",
        f"  found {len(found.contradictions)}: {', '.join(f'{name} {count}' for name, count in severities.items())}",
        f"  of {len(rows)} written contradictions found {len(met)}",
        sep="\n",
    )
    kinds, met_kinds = (Counter(row["kind"] for row in some) for some in (rows, met))
    labels = read_labels()
    given = Counter(labels.get(sides_of(_judged(each)), "not judged") for each in found.contradictions)
    print("  as judged:", ", ".join(f"{label} {count}" for label, count in sorted(given.items())))
    print("  by kind:", ", ".join(f"{kind} {met_kinds[kind]}/{count}" for kind, count in kinds.items()))
    if sample:
        drawn = random.Random(seed).sample(found.contradictions, min(sample, len(found.contradictions)))
        file = folder.with_name(f"{folder.name}.sample.jsonl")
        lines = (json.dumps(_judged(each), ensure_ascii=False) + "\n" for each in drawn)
        file.write_text("".join(lines), "utf-8")
        print(f"  {len(drawn)} findings in {file}")


def _meets(found: Contradiction, row: Row, folder: Path) -> bool:
    return any(
        all(_quotes(each, row, side, folder) for each, side in zip(pair, ("old", "new"), strict=True))
        for pair in ((found.first, found.second), (found.second, found.first))
    )


def _quotes(statement: Statement, row: Row, side: str, folder: Path) -> bool:
    """Return whether a statement stands in a document and shares a run of half of the words of the shorter quote."""
    if Path(statement.path) != folder / row[f"{side}_file"]:
        return False
    one, two = (re.findall(r"\w+", text) for text in (statement.quote, row[f"{side}_quote"]))
    shared = SequenceMatcher(None, one, two, autojunk=False).find_longest_match().size
    return shared >= max(LEAST, min(len(one), len(two)) / 2)


def _judged(found: Contradiction) -> dict[str, Any]:
    sides = (found.first, found.second)
    return {
        "severity": found.severity,
        "kind": found.kind,
        "about": found.about,
        "scope": found.scope,
        "sides": [{"path": each.path, "shown": shown(each), "around": around(each)} for each in sides],
    }


def around(statement: Statement) -> str:
    """Return a quote with what stands before and after it in its file, without tags."""
    text = re.sub(r"<[^<>]+>", " ", Path(statement.path).read_text("utf-8"))
    words = r"\W+".join(map(re.escape, re.findall(r"\w+", statement.quote)))
    if at := re.search(words, text):
        return text[max(0, at.start() - AROUND) : at.end() + AROUND]
    return statement.quote


if __name__ == "__main__":
    main()
