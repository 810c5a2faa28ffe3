"""A report as one page of HTML: who leads in a glance, plots below, every table at the end.

A pure function of what `report` returns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from disputatio.eval.judge import METRICS
from disputatio.eval.reporting.headline import tokens
from disputatio.eval.reporting.markup import document, grid, words
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
from disputatio.eval.reporting.tables import basis, setting, tables
from disputatio.eval.reporting.wording import (
    TITLES,
    figure,
    interval,
    p_value,
    remarks,
    share,
    so_far,
    thousands,
    unit,
    verdict,
)

Lines = Sequence[Mapping[str, Any]]
SHOWN = 6  # strategies in a plot that has several values of each; the best by the deciding metric


def page(found: Mapping[str, Any]) -> str:
    """The whole report as HTML."""
    body = [
        "<h1>Evaluation</h1>",
        f'<p class="soft">{words(found["model"])}; {words(found["engine"] or "engine not stated")}</p>',
    ]
    if told := so_far(found["progress"]):
        body.append(f'<p class="sofar"><b>{words(told)}</b></p>')
    for part in found["datasets"]:
        body += _dataset(part)
    body += ["<h2>What the figures rest on</h2>", "<ul>"]
    body += [f"<li>{words(line)}</li>" for line in setting(found)]
    body.append("</ul>")
    names = ", ".join(part["dataset"] for part in found["datasets"])
    return document(f"Evaluation: {names}", body)


def _dataset(part: Mapping[str, Any]) -> list[str]:
    lead = part["headline"]
    numbers = _numbers(part)
    body = [f"<section><h2>{words(part['dataset'])}</h2>", *_lead(lead, part["strategies"])]
    if lead is not None:
        shown = [_figure(*one) for one in (_ranking(part, numbers), _costs(part, numbers)) if one]
        body += ['<div class="figures">', *shown, "</div>"]
    found = tables(part)
    for table in found[:1]:
        body += [f"<h3>{words(table.title)}</h3>", grid(table)]
    if strata := _strata(part, numbers):
        body += ["<h3>By kind of question</h3>", '<div class="figures">', *strata, "</div>"]
    if confident := _confidence(part, numbers):
        body += ["<h3>What confidence is worth</h3>", '<div class="figures">', *confident, "</div>"]
    body.append("<h3>All figures</h3>")
    for table in found[1:]:
        note = f"<p><small>{words(table.note)}</small></p>" if table.note else ""
        body.append(f"<details><summary>{words(table.title)}</summary>{note}{grid(table)}</details>")
    body += [f"<p><small>{words(line)}</small></p>" for line in basis(part)]
    body.append("</section>")
    return body


def _lead(lead: Mapping[str, Any] | None, strategies: Lines) -> list[str]:
    """The finding: a verdict in large letters, then score, distance and cost side by side."""
    body = ['<div class="lead">', f'<p class="verdict">{words(verdict(lead))}</p>']
    if lead is None:
        told = [f"{one['strategy']}: {one['withheld']}" for one in strategies if one["withheld"]]
        return [*body, *(f"<p>{words(line)}</p>" for line in told), "</div>"]
    metric = lead["metric"]
    tiles = [
        (
            f"{TITLES[metric]} {figure(metric, lead['score'])}{unit(metric)}",
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
    body += [f'<div class="tile"><b>{words(big)}</b> {words(small)}</div>' for big, small in tiles]
    body += ["</div>", "<ul>", *(f"<li>{words(line)}</li>" for line in remarks(lead, strategies)), "</ul>"]
    return [*body, "</div>"]


def _distance(rival: Mapping[str, Any], metric: str) -> tuple[str, str]:
    if rival["ahead"] is None:
        return "no common rows", f"with {rival['strategy']}"
    points = "" if metric in METRICS else " points"
    sign = "+" if rival["ahead"] > 0 else "−" if rival["ahead"] < 0 else "±"
    chance = "" if rival["beyond_chance"] else ": may be chance"
    return (
        f"{sign}{figure(metric, abs(rival['ahead']))}{points}",
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
    """The strategies by rank, each with the number that gives its colour and shape."""
    lead = part["headline"]
    ranked = [lead["leader"], *(one["strategy"] for one in lead["rivals"])] if lead else []
    others = [one["strategy"] for one in part["strategies"] if one["strategy"] not in ranked]
    return {name: at for at, name in enumerate([*ranked, *others])}


def _ranking(part: Mapping[str, Any], numbers: Mapping[str, int]) -> tuple[str, str, str]:
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
    marks = [mark for mark in _marks(part, numbers) if mark.words]
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
    told = (
        "Bold and joined: no other is better in both (the Pareto front). Up and to the left is better. "
        f"Each on {part['same_rows']} questions; whiskers are 95 % intervals."
        + (" The others go by the marks of the list beside." if len(marks) > NAMED else "")
    )
    return f"{TITLES[metric]} against tokens", drawing, words(told)


def _marks(part: Mapping[str, Any], numbers: Mapping[str, int]) -> list[Mark]:
    metric, leader = part["metric"], part["headline"]["leader"]
    marks = []
    for one in sorted(part["strategies"], key=lambda one: numbers[one["strategy"]]):
        if one[metric] is not None:
            spent = tokens(one)
            marks.append(
                Mark(
                    name=one["strategy"],
                    number=numbers[one["strategy"]],
                    value=one[metric],
                    span=one["ci"].get(metric),
                    x=spent or 0.0,
                    words="" if spent is None else f"{thousands(spent)} tokens",
                    strong=one["strategy"] == leader,
                )
            )
    return marks


def _strata(part: Mapping[str, Any], numbers: Mapping[str, int]) -> list[str]:
    """A plot for each way of telling questions apart that has several kinds."""
    metric = part["metric"]
    if metric is None:
        return []
    best = sorted(
        {one["strategy"] for one in part["strata"] if one.get(metric) is not None}, key=numbers.__getitem__
    )[:SHOWN]
    shown = []
    for stratum in dict.fromkeys(one["stratum"] for one in part["strata"]):
        lines = [one for one in part["strata"] if one["stratum"] == stratum]
        values = list(dict.fromkeys(one["value"] for one in lines))
        held = {(one["strategy"], one["value"]): one for one in lines if one.get(metric) is not None}
        if len(values) < 2 or not held:
            continue
        marks = [
            [
                Mark(
                    name=name,
                    number=numbers[name],
                    value=one[metric],
                    span=one["ci"].get(metric),
                    words=f"{figure(metric, one[metric])} {interval(metric, one['ci'].get(metric))}, "
                    f"n {one['n']}, failed {one['failed']}, abstained {one['abstained']}",
                )
                if (one := held.get((name, value)))
                else None
                for value in values
            ]
            for name in best
        ]
        counts = ", ".join(
            f"{value} ({next(one['n'] for one in lines if one['value'] == value)})" for value in values
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
        told = words(f"Questions: {counts}.{left_out}") + _key(part, numbers, best)
        shown.append(_figure(f"By {stratum}", drawing, told))
    return shown


def _confidence(part: Mapping[str, Any], numbers: Mapping[str, int]) -> list[str]:
    """Risk against coverage for all, and calibration for those that state a confidence."""
    lines = sorted(
        (one for one in part["confidence"] if one["points"]), key=lambda one: numbers[one["strategy"]]
    )[:COLOURS]
    stated = [one for one in lines if one["area"]]
    if not stated:
        return []
    metric = TITLES[part["metric"]]
    risks = {one["strategy"]: [(point[0], point[1]) for point in one["points"]] for one in lines}
    drawing = curves(
        risks,
        numbers,
        title="Risk against coverage",
        below="coverage: questions answered, %",
        beside=f"risk: 100 − {metric} of the answers, %",
    )
    told = (
        "From the left, answers are let in by falling confidence; lower is better, and the mark is where all "
        "that was answered is in. A mark alone states none, or one for all. AURC is the mean on the way: "
    )
    told += "; ".join(
        f"{one['strategy']} {share(one['area']['value'])} {interval('em', one['area']['ci'])}"
        for one in stated
    )
    shown = [_figure("Risk against coverage", drawing, words(f"{told}.") + _key(part, numbers, list(risks)))]
    bins = {one["strategy"]: [(held["confidence"], held["score"]) for held in one["bins"]] for one in stated}
    drawing = curves(
        bins,
        numbers,
        title="Calibration",
        below="confidence stated, % (mean of each tenth)",
        beside=f"{metric} of these answers, %",
        diagonal=True,
    )
    told = "On the dashed line, confidence is what it says. Expected calibration error: " + "; ".join(
        f"{one['strategy']} {share(one['ece']['value'])} {interval('em', one['ece']['ci'])} "
        f"({one['answered']} answers)"
        for one in stated
    )
    shown.append(_figure("Calibration", drawing, words(f"{told}.") + _key(part, numbers, list(bins))))
    return shown


def _figure(title: str, drawing: str, caption: str) -> str:
    """A plot with its title; the caption is markup."""
    return f"<figure><h4>{words(title)}</h4>\n{drawing}\n<figcaption>{caption}</figcaption></figure>"


def _key(part: Mapping[str, Any], numbers: Mapping[str, int], names: Sequence[str]) -> str:
    """Which mark is whose, and on how many questions each figure rests."""
    counts = {one["strategy"]: one for one in part["strategies"]}
    items = []
    for name in dict.fromkeys(names):
        one = counts[name]
        number = numbers[name]
        mark = f'<i class="s{number % COLOURS}">{SHAPES[shape_of(number)]}</i>'
        told = f"{name} (n {one['n']}, failed {one['failed']}, abstained {one['abstained']})"
        items.append(f"<li>{mark} {words(told)}</li>")
    return f'<ul class="key">{"".join(items)}</ul>'
