"""A report as one page of HTML: who leads in a glance, plots below, every table at the end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from disputatio.eval.judge import METRICS
from disputatio.eval.reporting.headline import tokens
from disputatio.eval.reporting.markup import document, escape, grid
from disputatio.eval.reporting.plots import (
    COLOURS,
    NAMED,
    SHAPES,
    Mark,
    curves,
    forest,
    kinds,
    scatter,
    shape_of,
)
from disputatio.eval.reporting.tables import Lines, basis, describe_setting, tables
from disputatio.eval.reporting.wording import (
    TITLES,
    interval,
    metric_value,
    p_value,
    per_cent,
    remarks,
    so_far,
    thousands,
    unit,
    verdict,
)

SHOWN = 6  # strategies in a plot that has several values of each; the best by the deciding metric


def page(report: Mapping[str, Any]) -> str:
    body = [
        "<h1>Evaluation</h1>",
        f'<p class="soft">{escape(report["model"])}; {escape(report["engine"] or "engine not stated")}</p>',
    ]
    if unfinished := so_far(report["progress"]):
        body.append(f'<p class="sofar"><b>{escape(unfinished)}</b></p>')
    for part in report["datasets"]:
        body += _dataset(part)
    body += ["<h2>What the figures rest on</h2>", "<ul>"]
    body += [f"<li>{escape(line)}</li>" for line in describe_setting(report)]
    body.append("</ul>")
    names = ", ".join(part["dataset"] for part in report["datasets"])
    return document(f"Evaluation: {names}", body)


def _dataset(part: Mapping[str, Any]) -> list[str]:
    lead = part["headline"]
    numbers = _numbers(part)
    body = [f"<section><h2>{escape(part['dataset'])}</h2>", *_lead(lead, part["strategies"])]
    if lead is not None:
        shown = [_figure(*drawn) for drawn in (_draw_ranking(part, numbers), _costs(part, numbers)) if drawn]
        body += ['<div class="figures">', *shown, "</div>"]
    all_tables = tables(part)
    for table in all_tables[:1]:
        body += [f"<h3>{escape(table.title)}</h3>", grid(table)]
    if strata := _strata(part, numbers):
        body += ["<h3>By kind of question</h3>", '<div class="figures">', *strata, "</div>"]
    if confident := _confidence(part, numbers):
        body += ["<h3>What confidence is worth</h3>", '<div class="figures">', *confident, "</div>"]
    body.append("<h3>All figures</h3>")
    for table in all_tables[1:]:
        note = f"<p><small>{escape(table.note)}</small></p>" if table.note else ""
        body.append(f"<details><summary>{escape(table.title)}</summary>{note}{grid(table)}</details>")
    body += [f"<p><small>{escape(line)}</small></p>" for line in basis(part)]
    body.append("</section>")
    return body


def _lead(lead: Mapping[str, Any] | None, strategies: Lines) -> list[str]:
    """Return the finding: a verdict in large letters, then score, distance and cost side by side."""
    body = ['<div class="lead">', f'<p class="verdict">{escape(verdict(lead))}</p>']
    if lead is None:
        lines = [
            f"{strategy['strategy']}: {strategy['withheld']}"
            for strategy in strategies
            if strategy["withheld"]
        ]
        return [*body, *(f"<p>{escape(line)}</p>" for line in lines), "</div>"]
    metric = lead["metric"]
    tiles = [
        (
            f"{TITLES[metric]} {metric_value(metric, lead['score'])}{unit(metric)}",
            f"{lead['leader']}, 95 % interval {interval(metric, lead['ci'])}; {lead['n']} questions, "
            f"{lead['failed']} failed, {lead['abstained']} abstained",
        )
    ]
    cost = f"{thousands(lead['tokens'])} tokens"
    if lead["rivals"]:
        tiles += [_distance(lead["rivals"][0], metric), (cost, _beside(lead["rivals"][0]))]
    else:
        tiles.append((cost, "a question, read and written; there is nothing to compare with"))
    body.append('<div class="tiles">')
    body += [f'<div class="tile"><b>{escape(big)}</b> {escape(small)}</div>' for big, small in tiles]
    body += ["</div>", "<ul>", *(f"<li>{escape(line)}</li>" for line in remarks(lead, strategies)), "</ul>"]
    return [*body, "</div>"]


def _distance(rival: Mapping[str, Any], metric: str) -> tuple[str, str]:
    if rival["ahead"] is None:
        return "no common rows", f"with {rival['strategy']}"
    points = "" if metric in METRICS else " points"
    sign = "+" if rival["ahead"] > 0 else "−" if rival["ahead"] < 0 else "±"
    chance = "" if rival["beyond_chance"] else ": may be chance"
    return (
        f"{sign}{metric_value(metric, abs(rival['ahead']))}{points}",
        f"against {rival['strategy']}, the next, {interval(metric, rival['ci'])}; paired on {rival['n']}, "
        f"{p_value(rival['p'])}{chance}",
    )


def _beside(rival: Mapping[str, Any]) -> str:
    if not rival["tokens_ratio"]:
        return "a question"
    return (
        f"a question: {100 * rival['tokens_ratio']:.0f} % of what {rival['strategy']} takes "
        f"({thousands(rival['tokens'])})"
    )


# --- plots --------------------------------------------------------------------------------------
def _numbers(part: Mapping[str, Any]) -> dict[str, int]:
    """Return the strategies by rank, each with the number that gives its colour and shape."""
    lead = part["headline"]
    ranked = [lead["leader"], *(rival["strategy"] for rival in lead["rivals"])] if lead else []
    others = [strategy["strategy"] for strategy in part["strategies"] if strategy["strategy"] not in ranked]
    return {name: at for at, name in enumerate([*ranked, *others])}


def _draw_ranking(part: Mapping[str, Any], numbers: Mapping[str, int]) -> tuple[str, str, str]:
    lead, metric = part["headline"], part["metric"]
    marks = _marks(part, numbers)
    drawing = forest(
        marks,
        title=f"{TITLES[metric]} of each strategy",
        below=f"{TITLES[metric]}{unit(metric)}, 95 % interval; beside it tokens a question",
        per_cent=metric not in METRICS,
    )
    return f"{TITLES[metric]} of each strategy", drawing, _key(part, numbers, [lead["leader"], *numbers])


def _costs(part: Mapping[str, Any], numbers: Mapping[str, int]) -> tuple[str, str, str] | None:
    metric = part["metric"]
    marks = [mark for mark in _marks(part, numbers) if mark.caption]
    if not marks:
        return None
    drawing = scatter(
        marks,
        part["headline"]["front"],
        title=f"{TITLES[metric]} against tokens",
        below="tokens a question, read and written",
        beside=f"{TITLES[metric]}{unit(metric)}",
        per_cent=metric not in METRICS,
    )
    caption = (
        "Bold and joined: no other is better in both (the Pareto front). Up and to the left is better. "
        f"Each on {part['same_rows']} questions; whiskers are 95 % intervals."
        + (" The others go by the marks of the list beside." if len(marks) > NAMED else "")
    )
    return f"{TITLES[metric]} against tokens", drawing, escape(caption)


def _marks(part: Mapping[str, Any], numbers: Mapping[str, int]) -> list[Mark]:
    metric, leader = part["metric"], part["headline"]["leader"]
    marks = []
    for strategy in sorted(part["strategies"], key=lambda strategy: numbers[strategy["strategy"]]):
        if strategy[metric] is not None:
            spent = tokens(strategy)
            marks.append(
                Mark(
                    name=strategy["strategy"],
                    number=numbers[strategy["strategy"]],
                    value=strategy[metric],
                    span=strategy["ci"].get(metric),
                    x=spent or 0.0,
                    caption="" if spent is None else f"{thousands(spent)} tokens",
                    strong=strategy["strategy"] == leader,
                )
            )
    return marks


def _strata(part: Mapping[str, Any], numbers: Mapping[str, int]) -> list[str]:
    """Return a plot for each way of telling questions apart that has several kinds."""
    metric = part["metric"]
    if metric is None:
        return []
    best = sorted(
        {line["strategy"] for line in part["strata"] if line.get(metric) is not None}, key=numbers.__getitem__
    )[:SHOWN]
    shown = []
    for stratum in dict.fromkeys(line["stratum"] for line in part["strata"]):
        lines = [line for line in part["strata"] if line["stratum"] == stratum]
        values = list(dict.fromkeys(line["value"] for line in lines))
        by_value = {(line["strategy"], line["value"]): line for line in lines if line.get(metric) is not None}
        if len(values) < 2 or not by_value:
            continue
        marks = [
            [
                Mark(
                    name=name,
                    number=numbers[name],
                    value=line[metric],
                    span=line["ci"].get(metric),
                    caption=f"{metric_value(metric, line[metric])} "
                    f"{interval(metric, line['ci'].get(metric))}, n {line['n']}, "
                    f"failed {line['failed']}, abstained {line['abstained']}",
                )
                if (line := by_value.get((name, value)))
                else None
                for value in values
            ]
            for name in best
        ]
        counts = ", ".join(
            f"{value} ({next(line['n'] for line in lines if line['value'] == value)})" for value in values
        )
        drawing = kinds(
            values,
            marks,
            title=f"{TITLES[metric]} by {stratum}",
            below=stratum,
            beside=f"{TITLES[metric]}{unit(metric)}, 95 % interval",
            per_cent=metric not in METRICS,
        )
        left_out = f" The best {SHOWN} are drawn, all are in the table." if len(numbers) > SHOWN else ""
        caption = escape(f"Questions: {counts}.{left_out}") + _key(part, numbers, best)
        shown.append(_figure(f"By {stratum}", drawing, caption))
    return shown


def _confidence(part: Mapping[str, Any], numbers: Mapping[str, int]) -> list[str]:
    """Return risk against coverage for all, and calibration for those that state a confidence."""
    lines = sorted(
        (line for line in part["confidence"] if line["points"]), key=lambda line: numbers[line["strategy"]]
    )[:COLOURS]
    stated = [line for line in lines if line["area"]]
    if not stated:
        return []
    metric = TITLES[part["metric"]]
    risks = {line["strategy"]: [(point[0], point[1]) for point in line["points"]] for line in lines}
    drawing = curves(
        risks,
        numbers,
        title="Risk against coverage",
        below="coverage: questions answered, %",
        beside=f"risk: 100 − {metric} of the answers, %",
    )
    caption = (
        "From the left, answers are let in by falling confidence; lower is better, and the mark is where all "
        "that was answered is in. A mark alone states none, or one for all. AURC is the mean on the way: "
    )
    caption += "; ".join(
        f"{line['strategy']} {per_cent(line['area']['value'])} {interval('em', line['area']['ci'])}"
        for line in stated
    )
    shown = [
        _figure("Risk against coverage", drawing, escape(f"{caption}.") + _key(part, numbers, list(risks)))
    ]
    bins = {
        line["strategy"]: [(tenth["confidence"], tenth["score"]) for tenth in line["bins"]] for line in stated
    }
    drawing = curves(
        bins,
        numbers,
        title="Calibration",
        below="confidence stated, % (mean of each tenth)",
        beside=f"{metric} of these answers, %",
        diagonal=True,
    )
    caption = "On the dashed line, confidence is what it says. Expected calibration error: " + "; ".join(
        f"{line['strategy']} {per_cent(line['ece']['value'])} {interval('em', line['ece']['ci'])} "
        f"({line['answered']} answers)"
        for line in stated
    )
    shown.append(_figure("Calibration", drawing, escape(f"{caption}.") + _key(part, numbers, list(bins))))
    return shown


def _figure(title: str, drawing: str, caption: str) -> str:
    """Return a plot with its title; the caption is markup."""
    return f"<figure><h4>{escape(title)}</h4>\n{drawing}\n<figcaption>{caption}</figcaption></figure>"


def _key(part: Mapping[str, Any], numbers: Mapping[str, int], names: Sequence[str]) -> str:
    """Return the key of marks, with the number of questions behind each figure."""
    counts = {strategy["strategy"]: strategy for strategy in part["strategies"]}
    items = []
    for name in dict.fromkeys(names):
        strategy = counts[name]
        number = numbers[name]
        mark = f'<i class="s{number % COLOURS}">{SHAPES[shape_of(number)]}</i>'
        text = f"{name} (n {strategy['n']}, failed {strategy['failed']}, abstained {strategy['abstained']})"
        items.append(f"<li>{mark} {escape(text)}</li>")
    return f'<ul class="key">{"".join(items)}</ul>'
