"""The page of `disputation_ramdocs.py`: its figures as Markdown, and the risk of giving more answers as a chart.

Nothing is measured here. Scores are per cent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bench.lib.asking import table
from bench.lib.charts import lines
from bench.lib.selective import calibration
from bench.papers.disputation_figures import BUILT, COSTS, FALLING, HALVES, KINDS, RATIOS, SCORES
from disputatio.eval.reporting.wording import TITLES, figure, interval, p_value

TOLD = Mapping[str, Any]
PAIRED = ("em", "em_lenient", "precision", "recall", "f1")
COUNTED = ("n", "failed", "abstained")
OPENING = """\
Written by `python -m bench.papers.disputation_ramdocs --part {parts}`. {model}, {engine}; {data}, SHA-256 {sha256}. Scores are per cent,
costs are means a question, intervals are 95 % (bootstrap over the questions, 10,000 resamples). A row on which the model
failed has no score and no cost; it is counted as failed. An abstention has EM, R and F1 of 0 and no precision. Odd rows
were tuned on, even rows are the check. Model seconds are those that calls took when they were made, also where the journal
answered.
"""
ORDER = """\
In RAMDocs the order of a row's passages tells of what kind they are: {order}.
A strategy that trusts rank, or that takes the earlier of two near copies for the original, profits from that without
knowing anything. Here each row's passages, and their names, are dealt anew (seed {seed}).
"""
WORTH = """\
As shares. Over the answers that state a confidence, each against its strict EM and against its precision (the share of what
it states that is right). ECE is over ten bins of equal width. Coverage is of the answers, and an abstention is none; of
answers of equal confidence each counts in part. Gain: the precision without the least confident 20 % less that of all.
"""


def page(about: TOLD, figures: TOLD, made: Mapping[str, TOLD], picture: str) -> str:
    """Return the whole page, of the parts that there are; `made` tells of each part's labels what was asked."""
    parts = [part for part in ("main", "shuffled", "ablations", "figure4") if part in figures]
    head = {"model": "no model", "engine": "no engine", "data": "no data", "sha256": "–", **about}
    text = ["# The disputation on RAMDocs dev", "", OPENING.format(parts="|".join(parts), **head)]
    if "main" in figures:
        text += _main(figures["main"])
    if "shuffled" in figures:
        text += _shuffled(figures["shuffled"], about)
    if "ablations" in figures:
        text += _ablations(figures["ablations"])
    for kind, groups in figures.get("figure4", {}).items():
        text += _figure4(kind, groups)
    if "calibration" in figures:
        text += _calibration(figures["calibration"], picture)
    if "kinds" in figures:
        text += _kinds(figures["kinds"])
    return "\n".join([*text, *_asked(made)]).rstrip() + "\n"


def chart(sections: TOLD) -> str:
    """Risk by coverage of the answers, as SVG; empty where no answer states a confidence."""
    series = {
        f"1 − {TITLES[name]}, {group}": [1 - share for share in figures[name]["curve"]]
        for group, figures in sections.items()
        for name in ("em", "precision")
        if group != "odd rows" and None not in figures[name]["curve"]
    }
    ticks = [f"{10 * tenths} %" for tenths in range(1, 11)]
    return lines("Risk by share of the answers given", ticks, series, below="the surest") if series else ""


def spanned(name: str, span: TOLD) -> str:
    """Return a mean with its interval, in the measure's own way."""
    if span["mean"] is None:
        return "–"
    if span["low"] is None:
        return figure(name, span["mean"])
    return f"{figure(name, span['mean'])} {interval(name, [span['low'], span['high']])}"


def differing(name: str, span: TOLD) -> str:
    """Return a paired difference with its interval and p."""
    text = spanned(name, span)
    return text if span["mean"] is None or span["p"] is None else f"{text}, {p_value(span['p'])}"


def times(ratio: TOLD) -> str:
    """Return a ratio with its interval."""
    if ratio["mean"] is None:
        return "–"
    return f"{ratio['mean']:.2f}" + (
        f" [{ratio['low']:.2f}, {ratio['high']:.2f}]" if ratio["low"] is not None else ""
    )


# --- the parts ------------------------------------------------------------------------------------
def _measured(labels: Mapping[str, TOLD], names: Sequence[str], first: str = "strategy") -> str:
    return table(
        [first, *COUNTED, *(TITLES[name] for name in names)],
        [
            [label, *(figures[name] for name in COUNTED), *(spanned(name, figures[name]) for name in names)]
            for label, figures in labels.items()
        ],
    )


def _compared(labels: Mapping[str, TOLD], first: str) -> str:
    names = [f"{TITLES[name]} ratio" for name in RATIOS]
    return table(
        [first, "n", *(TITLES[name] for name in PAIRED), *names],
        [
            [
                label,
                figures["n"],
                *(differing(name, figures[name]) for name in PAIRED),
                *(times(figures["ratios"][name]) for name in RATIOS),
            ]
            for label, figures in labels.items()
            if figures["n"]
        ],
    )


def _main(groups: Mapping[str, TOLD]) -> list[str]:
    text = ["## Beside other strategies", ""]
    text += [
        "Each strategy on all its rows: ours has more of them, so read what differs from the paired tables.",
        "",
    ]
    for group, figures in groups.items():
        text += [f"### {group.capitalize()}", "", _measured(figures["scores"], SCORES), ""]
        text += [_measured(figures["scores"], COSTS), ""]
        if any(each["n"] for each in figures["ours less"].values()):
            text += ["Ours less the other, and ours over the other, on the rows that both answered:", ""]
            text += [_compared(figures["ours less"], "other"), ""]
    return text


def _shuffled(groups: Mapping[str, TOLD], about: TOLD) -> list[str]:
    order = "; ".join(f"{what} in {rows}" for what, rows in about.get("order of kinds", {}).items())
    text = ["## Passages in an order of chance", "", ORDER.format(seed=about.get("seed", "–"), order=order)]
    text += [_measured({group: figures["scores"] for group, figures in groups.items()}, SCORES, "rows"), ""]
    text += ["Dealt anew less in the order of the file, on the rows that were answered in both:", ""]
    return [
        *text,
        _compared({group: figures["less given order"] for group, figures in groups.items()}, "rows"),
        "",
    ]


def _ablations(labels: Mapping[str, TOLD]) -> list[str]:
    scores = {label: figures["scores"] for label, figures in labels.items()}
    text = ["## Without each part, even rows", "", _measured(scores, SCORES, "parts"), ""]
    text += [_measured(scores, COSTS, "parts"), ""]
    gaps = {
        label: figures["less all parts"] for label, figures in labels.items() if "less all parts" in figures
    }
    return [*text, "Without the part less with all parts:", "", _compared(gaps, "parts"), ""]


def _figure4(kind: str, groups: Mapping[str, TOLD]) -> list[str]:
    text = [f"## Figure 4: {kind}", ""]
    for group, figures in groups.items():
        if not figures["levels"]:
            continue
        text += [f"### {group.capitalize()}", ""]
        rows = [
            [f"{label}, level {level}", *(part[name] for name in COUNTED), *(spanned(name, part[name]) for name in FALLING)]
            for level, labels in figures["levels"].items()
            for label, part in labels.items()
        ]  # fmt: skip
        rows += [
            [f"{label}, fall from first to last level", part[FALLING[0]]["n"], "", "", *(spanned(name, part[name]) for name in FALLING)]
            for label, part in figures["fall"].items()
        ]  # fmt: skip
        rows += [
            [f"our fall less half of that of {label}", part[FALLING[0]]["n"], "", "", *(spanned(name, part[name]) for name in FALLING)]
            for label, part in figures["ours less half"].items()
        ]  # fmt: skip
        text += [table(["", *COUNTED, *(TITLES[name] for name in FALLING)], rows), ""]
    return [
        *text,
        "Our fall is at most half of the other's where the last line is at or below zero, beyond chance where its whole interval is.",
        "",
    ]


def _calibration(groups: Mapping[str, TOLD], picture: str) -> list[str]:
    text = ["## What the confidence is worth", "", WORTH]
    parts = [
        (f"{group}, {TITLES[name]}", figures[name])
        for group, figures in groups.items()
        for name in ("em", "precision")
    ]
    text += [calibration(parts), ""]
    text += [f"Not among those asked, as the model failed: {groups['all rows']['failed']}.", ""]
    bins = groups["all rows"]["em"]["bins"]
    if not bins:
        return text
    rows = [
        [f"{bar['low']:.1f}–{bar['high']:.1f}", bar["n"], f"{bar['confidence']:.2f}", f"{bar['right']:.2f}"]
        for bar in bins
    ]
    text += [f"![risk by share of the answers given]({picture})", "", "All rows by confidence:", ""]
    return [*text, table(["confidence", "n", "mean confidence", "EM"], rows), ""]


def _kinds(groups: Mapping[str, TOLD]) -> list[str]:
    text = ["## Kinds of conflict", ""]
    text += [
        "By the row's construction: several right answers and no misinformation (ambiguity); one, and misinformation that tells a"
    ]
    text += [
        "wrong one; both at once, for which the product has no kind of its own; one, and none (noise may still disagree)."
    ]
    for group in HALVES:
        figures = groups[group]
        columns = [
            name
            for name in (*KINDS, "failed")
            if any(name in counts for counts in figures["called"].values())
        ]
        rows = []
        for kind in BUILT:
            kinds, right = figures["called"][kind], figures["right"].get(kind)
            share = spanned("em", right) if right else "–"
            rows.append([kind, sum(kinds.values()), *(kinds.get(name, 0) for name in columns), share])
        text += [
            "",
            f"### {group.capitalize()}",
            "",
            table(["built as", "rows", *columns, "called so, %"], rows),
        ]
        text += ["", f"Called so, of the three kinds that we have: {spanned('em', figures['right of all'])} %, n = {figures['right of all']['n']}."]  # fmt: skip
        if figures["kind not told by the row"]:
            text += [
                f"Rows of which the construction tells no kind (what is planted is right as well): {figures['kind not told by the row']}."
            ]
    return [*text, ""]


def _asked(made: Mapping[str, TOLD]) -> list[str]:
    text = ["## What was asked", ""]
    for part, labels in made.items():
        for label, figures in labels.items():
            options = ", ".join(f"{name}={value}" for name, value in figures["options"].items())
            at_once = " or ".join(str(many) for many in figures["in_flight"])
            text.append(
                f"- {part}, {label}: {figures['strategy']} ({options}); prompts {figures['prompts']}, code {figures['code']}; "
                f"questions at a time: {at_once}"
            )
    return text
