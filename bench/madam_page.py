"""The page of `madam_tables.py`: the paper's tables beside ours, all methods on the same rows, Figure 4 by level.

    python bench/madam_page.py --runs runs/madam

Reads the folders that `madam_tables.py` leaves, as many of them as there are, and writes
bench/results/madam_tables.md. Nothing is asked. `disputation` was made with the odd rows of the data in view, so
all methods are told of the even rows apart.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

from asking import against, table, told

from disputatio.eval.reporting.paper_tables import markdown, paper_tables
from disputatio.eval.running.journal import Contents, read_journal
from disputatio.types import Record

RESULTS = Path(__file__).resolve().parent / "results" / "madam_tables.md"
LEVELS = {"figure4a": "imbalance", "figure4b": "misinformation passages"}
TITLES = {
    "figure4a": "Figure 4a: two right answers, 1 passage against 1 to 3",
    "figure4b": "Figure 4b: 1 to 3 passages that tell a wrong answer",
}

SELF_RAG = """\
The paper's Self-RAG is a fine-tuned model of its own, so it stands in none of the pairs above: with 26.8 below MADAM-RAG's
34.4 on RAMDocs. Here `self_rag` is the same model as everybody's; where it stands above `madam_rag`, the order is the other."""

Rows = Mapping[str, Record]


def by_entrant(found: Contents) -> Mapping[str, Rows]:
    """The records of each entrant, by example."""
    rows: dict[str, dict[str, Record]] = {one.label: {} for one in found.entrants}
    for entry in found.entries:
        rows[entry.entrant][entry.record.example] = entry.record
    return rows


def score(one: Record, name: str = "em") -> float | None:
    """A score in per cent; None for a fault."""
    value = None if one.fault else one.scores.get(name)
    return None if value is None else 100 * value


def mean(values: Sequence[float]) -> str:
    return f"{sum(values) / len(values):,.0f}" if values else "–"


def same_rows(found: Contents) -> list[str]:
    """All methods on the rows of Table 1, what they cost, and how they stand to two of them."""
    rows = by_entrant(found)
    lines = []
    for label, records in rows.items():
        given = list(records.values())
        done = [one for one in given if not one.fault]
        even = [one for one in given if one.row % 2 == 0]
        lines.append(
            [
                label,
                len(given),
                len(given) - len(done),
                sum(one.abstained is not None for one in done),
                told([score(one) for one in given], 1),
                told([score(one) for one in even], 1),
                told([score(one, "f1") for one in given], 1),
                f"{sum(one.rounds for one in done) / max(len(done), 1):.2f}",
                f"{sum(one.usage.calls for one in done) / max(len(done), 1):.1f}",
                mean([one.usage.prompt_tokens for one in done]),
                mean([one.usage.completion_tokens for one in done]),
            ]
        )
    many = sum(one.row % 2 == 0 for one in next(iter(rows.values())).values())
    head = ["method", "n", "failed", "abstained", "EM", f"EM, {many} even rows", "F1"]
    text = ["## All methods on the same rows", ""]
    text += [
        "Strict EM and F1 in per cent [95 %, bootstrap over questions]; calls and tokens are means a question that was answered.",
        "",
        table([*head, "rounds", "calls", "tokens read", "tokens written"], lines),
        "",
    ]
    for other in ("concat", "madam_rag"):
        if other not in rows:
            continue
        text += [f"EM beside {other} as a share, paired on the same questions:", ""]
        text += [
            f"- {label} − {other}: {_beside(rows[label], rows[other])}" for label in rows if label != other
        ]
        text.append("")
    return text


def _beside(one: Rows, other: Rows) -> str:
    both = [key for key in one if key in other]
    return against(*([_share(some[key]) for key in both] for some in (one, other)))


def _share(one: Record) -> float | None:
    value = score(one)
    return None if value is None else value / 100


def by_level(found: Contents, kind: str) -> list[str]:
    """EM and F1 of each method at each level of a controlled set."""
    levels: dict[str, set[str]] = defaultdict(set)
    for key, about in found.examples.items():
        levels[about["strata"][LEVELS[kind]]].add(key)
    names = sorted(levels)
    lines = []
    for label, records in by_entrant(found).items():
        failed = sum(bool(one.fault) for one in records.values())
        at = [[one for key, one in records.items() if key in levels[name]] for name in names]
        cells = [told([score(one, metric) for one in some], 1) for metric in ("em", "f1") for some in at]
        lines.append([label, "/".join(str(len(some)) for some in at), failed, *cells])
    head = [f"{title} at {name}" for title in ("EM", "F1") for name in names]
    return [f"## {TITLES[kind]}", "", table(["method", "n", "failed", *head], lines), ""]


def page(runs: Path) -> str:
    """The page of the runs that there are."""
    kept = {name: runs / name for name in ("ramdocs", "ramdocs-figure3", *LEVELS)}
    found = {name: read_journal(folder) for name, folder in kept.items() if folder.exists()}
    first = next(iter(found.values()))
    text = [
        "# MADAM-RAG's tables and figures on RAMDocs",
        "",
        "`python bench/madam_tables.py --data DEV.jsonl --out RUNS --execute`, then `python bench/madam_page.py --runs RUNS`. "
        f"Model: {first.manifest.model} ({first.manifest.engine}).",
        "",
    ]
    if "ramdocs" in found:
        text += same_rows(found["ramdocs"])
    tables = [kept[name] for name in ("ramdocs", "ramdocs-figure3") if name in found]
    if tables:
        text += ["## Beside the paper's figures", ""]
        said = markdown(paper_tables("madam", tables)).replace("\n#", "\n##").splitlines()
        text += [*said[2:], "", SELF_RAG, ""]
    for kind in LEVELS:
        if kind in found:
            text += by_level(found[kind], kind)
    return "\n".join(text).rstrip() + "\n"


def main() -> None:
    """Write the page."""
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("--runs", type=Path, default=Path("runs/madam"))
    options.add_argument("--out", type=Path, default=RESULTS)
    given = options.parse_args()
    given.out.write_text(page(given.runs), encoding="utf-8")
    print(given.out.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
