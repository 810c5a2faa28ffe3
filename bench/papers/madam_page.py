"""The page of `madam_tables.py`: the paper's tables beside ours, all methods on the same rows, Figure 4 by level.

    python -m bench.papers.madam_page --runs runs/madam

Reads the folders that `madam_tables.py` leaves, as many of them as there are, and writes
bench/results/papers/madam_tables.md. Nothing is asked. `disputation` was made with the odd rows of the data in view, so
all methods are told of the even rows apart.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import TypeVar

from bench import RESULTS
from bench.lib.asking import against, table, told
from bench.lib.naming import shown
from disputatio.eval.record import Record
from disputatio.eval.reporting.paper_tables import markdown, paper_tables
from disputatio.eval.running.run_log import Contents, Entrant, read_journal

PAGE = RESULTS / "papers" / "madam_tables.md"
LEVELS = {"figure4a": "imbalance", "figure4b": "misinformation passages"}
TITLES = {
    "figure4a": "Figure 4a: two right answers, 1 passage against 1 to 3",
    "figure4b": "Figure 4b: 1 to 3 passages that tell a wrong answer",
}

SELF_RAG = """\
The paper's Self-RAG is a fine-tuned model of its own, so it stands in none of the pairs above: with 26.8 below MADAM-RAG's
34.4 on RAMDocs. Here `self_rag` is the same model as everybody's; where it stands above `madam_rag`, the order is the other."""

# What the paper tells of its Figure 4 (sections 6.2 and 6.3), with Llama3.3-70B-Instruct.
TELLS = {
    "figure4a": "The paper: the baselines fall as the imbalance grows, by up to 8 points with all passages in one prompt, and "
    "MADAM-RAG curtails the fall.",
    "figure4b": "The paper: all fall, the prompt of all passages and Astute RAG by 46 points each, and MADAM-RAG stands highest at "
    "every level.",
}
TUNED = """\
Each level holds the same questions. They are made of odd and even rows of the data alike, so `disputation` was made with
a part of them in view."""

BOUND = "madam_rag --set bound=true"
HEADINGS = {
    "ramdocs": "published order",
    "shuffled": "shuffled order",
    "ambiguous": "right documents of several answers alone",
}
ORDER = {
    "ramdocs": """\
Passages stand in the published order, which puts a right one first in 234 of 244 rows; methods that trust rank profit.""",
    "shuffled": """\
Passages stand in an order drawn for each row by a seed, the same for all methods.""",
    "ambiguous": """\
Rows with several right answers, with the documents that bear one and no others: a substitute for AmbigDocs, of which RAMDocs was
made and which is not at hand. The paper has, with Llama3.3-70B: no retrieval 4.3, one prompt 54.2, self-reflection 54.5, Speculative RAG
44.3, Astute RAG 46.8, MADAM-RAG 58.2.""",
}

Rows = Mapping[str, Record]
Key = TypeVar("Key", str, int)


def by_entrant(contents: Contents) -> Mapping[str, Rows]:
    """Return the records of each entrant, by example; the bound debate goes by its option."""
    names = {entrant.label: _name(entrant) for entrant in contents.entrants}
    rows: dict[str, dict[str, Record]] = {name: {} for name in names.values()}
    for entry in contents.entries:
        rows[names[entry.entrant]][entry.record.example] = entry.record
    return rows


def _name(entrant: Entrant) -> str:
    bound = entrant.strategy == "madam_rag" and entrant.options.get("bound", False) is True
    return BOUND if bound else entrant.label


def score(record: Record, name: str = "em") -> float | None:
    """Return a score in per cent; None for a fault."""
    value = None if record.fault else record.scores.get(name)
    return None if value is None else 100 * value


def mean(values: Sequence[float]) -> str:
    return f"{sum(values) / len(values):,.0f}" if values else "–"


def same_rows(contents: Contents, order: str) -> list[str]:
    """Return all methods on the rows of Table 1, what they cost, and how they stand to two of them."""
    rows = by_entrant(contents)
    lines = []
    for label, records in rows.items():
        all_records = list(records.values())
        done = [record for record in all_records if not record.fault]
        even = [record for record in all_records if record.row % 2 == 0]
        lines.append(
            [
                label,
                len(all_records),
                len(all_records) - len(done),
                sum(record.abstained is not None for record in done),
                told([score(record) for record in all_records], 1),
                told([score(record) for record in even], 1),
                told([score(record, "f1") for record in all_records], 1),
                f"{sum(record.rounds for record in done) / max(len(done), 1):.2f}",
                f"{sum(record.usage.calls for record in done) / max(len(done), 1):.1f}",
                mean([record.usage.prompt_tokens for record in done]),
                mean([record.usage.completion_tokens for record in done]),
            ]
        )
    many = sum(record.row % 2 == 0 for record in next(iter(rows.values())).values())
    head = ["method", "n", "failed", "abstained", "EM", f"EM, {many} even rows", "F1"]
    if order == "ambiguous":  # a file of its own, whose rows have other numbers
        head, lines = head[:5] + head[6:], [line[:5] + line[6:] for line in lines]
    text = [f"## All methods on the same rows, {HEADINGS[order]}", "", ORDER[order], ""]
    text += ["Options: " + "; ".join(f"`{shown(entrant)}`" for entrant in contents.entrants) + ".", ""]
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


def _beside(rows: Rows, other: Rows) -> str:
    return _paired(*({key: _share(record) for key, record in some.items()} for some in (rows, other)))


def _paired(first: Mapping[Key, float | None], other: Mapping[Key, float | None]) -> str:
    both = [key for key in first if key in other]
    return against(*([some[key] for key in both] for some in (first, other)))


def _share(record: Record) -> float | None:
    value = score(record)
    return None if value is None else value / 100


def by_level(contents: Contents, kind: str) -> list[str]:
    """EM and F1 of each method at each level of a controlled set."""
    levels: dict[str, set[str]] = defaultdict(set)
    for key, about in contents.examples.items():
        levels[about["strata"][LEVELS[kind]]].add(key)
    names = sorted(levels)
    rows = by_entrant(contents)
    lines = []
    for label, records in rows.items():
        failed = sum(bool(record.fault) for record in records.values())
        at = [[record for key, record in records.items() if key in levels[name]] for name in names]
        cells = [
            told([score(record, metric) for record in some], 1) for metric in ("em", "f1") for some in at
        ]
        lines.append([label, "/".join(str(len(some)) for some in at), failed, *cells])
    head = [f"{title} at {name}" for title in ("EM", "F1") for name in names]
    text = [
        f"## {TITLES[kind]}",
        "",
        table(["method", "n", "failed", *head], lines),
        "",
        TELLS[kind],
        *plainly(kind, _heights(rows, [levels[name] for name in names])),
        TUNED,
        "",
    ]
    # The builder writes the levels of a question one after the other.
    questions = {key: about["row"] // len(names) for key, about in contents.examples.items()}
    text += [f"EM as a share at {names[-1]} beside {names[0]}, paired on the same questions:", ""]
    for label, records in rows.items():
        first, last = (
            {questions[key]: _share(record) for key, record in records.items() if key in levels[name]}
            for name in (names[0], names[-1])
        )
        text.append(f"- {label}: {_paired(last, first)}")
    if "madam_rag" in rows:
        whole = {label: _means(records, questions) for label, records in rows.items()}
        text += ["", "EM beside madam_rag as a share, each question's mean over its levels, paired:", ""]
        text += [
            f"- {label} − madam_rag: {_paired(whole[label], whole['madam_rag'])}"
            for label in rows
            if label != "madam_rag"
        ]
    return [*text, ""]


def _heights(rows: Mapping[str, Rows], levels: Sequence[set[str]]) -> dict[str, list[float]]:
    """Return the mean EM of each method at each level, in per cent; a method without a score at one is left
    out.
    """
    means = {}
    for label, records in rows.items():
        scores = [[score(record) for key, record in records.items() if key in keys] for keys in levels]
        known = [[value for value in some if value is not None] for some in scores]
        if all(known):
            means[label] = [fmean(some) for some in known]
    return means


def plainly(kind: str, heights: Mapping[str, Sequence[float]]) -> list[str]:
    """Return whether our point estimates tell what the paper tells of its own methods, in a sentence."""
    ours = heights.get("madam_rag")
    others = [heights[name] for name in ("concat", "astute_rag") if name in heights]
    if ours is None or "concat" not in heights:
        return []
    if kind == "figure4a":
        fall, other = (some[0] - some[-1] for some in (ours, heights["concat"]))
        end = "as in the paper." if fall < other else "OTHER THAN in the paper, it does not curtail the fall."
        return [f"Here madam_rag falls by {fall:.1f} points and concat by {other:.1f}: {end}"]
    if len(others) < 2:
        return []
    high = sum(share > max(rest) for share, *rest in zip(ours, *others, strict=True))
    end = "as in the paper." if high == len(ours) else "OTHER THAN in the paper."
    return [
        f"Here madam_rag stands highest of the methods of the paper at {high} of {len(ours)} levels: {end}"
    ]


def _means(records: Rows, questions: Mapping[str, int]) -> Mapping[int, float | None]:
    """Return the mean score of each question over its levels; None where one of them is a fault."""
    shares: dict[int, list[float | None]] = defaultdict(list)
    for key, record in records.items():
        shares[questions[key]].append(_share(record))
    return {
        name: None if None in some else sum(value for value in some if value is not None) / len(some)
        for name, some in shares.items()
    }


def page(runs: Path) -> str:
    """Return the page of the runs that there are."""
    folders = {name: runs / name for name in ("ramdocs", "shuffled", "ambiguous", "ramdocs-figure3", *LEVELS)}
    journals = {name: read_journal(folder) for name, folder in folders.items() if folder.exists()}
    first = next(iter(journals.values()))
    text = [
        "# MADAM-RAG's tables and figures on RAMDocs",
        "",
        "`python -m bench.papers.madam_tables --data DEV.jsonl --out RUNS --execute`, then `python -m bench.papers.madam_page --runs RUNS`. "
        f"Model: {first.manifest.model} ({first.manifest.engine}).",
        "",
        "`madam_rag` is the paper's debate, `"
        + BOUND
        + "` our form of it. No prompt was tuned on the even rows; `disputation` was made "
        "with the odd rows of the data in view. The rows are those of `bench/papers/ramdocs_rows.txt`.",
        "",
    ]
    for order in ORDER:
        if order in journals:
            text += same_rows(journals[order], order)
    tables = [folders[name] for name in ("ramdocs", "ramdocs-figure3") if name in journals]
    if tables:
        text += ["## Beside the paper's figures", ""]
        lines = markdown(paper_tables("madam", tables)).replace("\n#", "\n##").splitlines()
        text += [*lines[2:], "", SELF_RAG, ""]
    for kind in LEVELS:
        if kind in journals:
            text += by_level(journals[kind], kind)
    return "\n".join(text).rstrip() + "\n"


def main() -> None:
    """Write the page."""
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("--runs", type=Path, default=Path("runs/madam"))
    options.add_argument("--out", type=Path, default=PAGE)
    arguments = options.parse_args()
    arguments.out.write_text(page(arguments.runs), encoding="utf-8")
    print(arguments.out.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
