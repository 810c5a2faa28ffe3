"""A comparison of two as a page of HTML: each question on which they differ, side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from disputatio.eval.judge import METRICS
from disputatio.eval.reporting.markup import document, escaped
from disputatio.eval.reporting.wording import (
    SCORES,
    TITLES,
    interval,
    metric_value,
    p_value,
    per_cent,
    thousands,
    unit,
)

_HEADS = {
    "one_better": "Only {one} is better",
    "other_better": "Only {other} is better",
    "level": "Other answers, the same score",
    "unscored": "A failure, or no score",
}
_SHOWN_FIRST = ("at", "event")  # fields of an event that stand before the others


def names(comparison: Mapping[str, Any]) -> tuple[str, str]:
    """Return the names of the two sides: their labels, with the folders where the labels are equal."""
    first, second = comparison["one"], comparison["other"]
    if first["label"] != second["label"]:
        return first["label"], second["label"]
    return f"{first['label']} ({first['folder']})", f"{second['label']} ({second['folder']})"


def outcome(comparison: Mapping[str, Any]) -> list[str]:
    """Return the comparison in a few sentences."""
    first, second = names(comparison)
    kinds, gap, metric = comparison["kinds"], comparison["difference"], comparison["metric"]
    lines = [
        f"They differ on {comparison['differ']} of {comparison['shared']} questions that both were asked: "
        f"{first} is better on {kinds['one_better']}, {second} on {kinds['other_better']}; "
        f"on {kinds['level']} more the answers differ and the score does not."
    ]
    if kinds["unscored"]:
        lines.append(f"On {kinds['unscored']} of these, one failed or has no score.")
    if metric and gap["mean"] is not None:
        test = gap["mcnemar"]
        p = f"McNemar, exact, {p_value(test['p'])}" if test else f"paired bootstrap, {p_value(gap['p'])}"
        lines.append(
            f"{TITLES[metric]}, {first} − {second}: {metric_value(metric, gap['mean'])}{unit(metric)} "
            f"{interval(metric, gap['ci'])} on {gap['n']} questions ({p})."
        )
    if comparison["unlike"]:
        lines.append(f"Settings that differ: {'; '.join(comparison['unlike'])}.")
    return lines


def comparison_page(comparison: Mapping[str, Any]) -> str:
    """Return the whole comparison as HTML; long traces are folded."""
    first, second = names(comparison)
    body = [f"<h1>{escaped(first)} and {escaped(second)}</h1>"]
    body += [f"<p>{escaped(line)}</p>" for line in outcome(comparison)]
    last = ""
    for question in comparison["questions"]:
        if question["kind"] != last:
            last = question["kind"]
            body.append(f"<h2>{escaped(_HEADS[last].format(one=first, other=second))}</h2>")
        body += [
            f"<h3>{escaped(question['question'] or 'a question without an answer')}</h3>",
            f'<p class="soft">{escaped(_listed(question))}</p>',
            '<div class="both">',
            _side(first, question["one"], comparison["metric"]),
            _side(second, question["other"], comparison["metric"]),
            "</div>",
        ]
    return document(f"{first} and {second}", body)


def _listed(question: Mapping[str, Any]) -> str:
    """Return the row of a question and the answers that its data set lists, in one line."""
    right, wrong = ("; ".join(question[name]) or "–" for name in ("gold", "wrong"))
    return f"{question['dataset']}, row {question['row']}. Right: {right}. Wrong: {wrong}."


def answer_text(side: Mapping[str, Any]) -> str:
    """Return a side's answer, or why it gave none."""
    if side["fault"]:
        return f"failed: {side['fault']}"
    return "; ".join(side["answers"]) or f"abstained: {side['abstained']}"


def figures(side: Mapping[str, Any]) -> str:
    """Return a side's scores and cost in one line."""
    scores = [
        f"{TITLES[name]} {metric_value(name, side['scores'][name])}"
        for name in (*SCORES, *METRICS)
        if side["scores"].get(name) is not None
    ]
    if side["confidence"] is not None:
        scores.append(f"confidence {per_cent(side['confidence'])}")
    calls = f"{side['calls']} call{'' if side['calls'] == 1 else 's'}"
    cost = f"{calls}, {thousands(side['tokens'])} tokens, {side['seconds']:.1f} s"
    return "; ".join([*scores, cost])


def event_line(event: Mapping[str, Any]) -> str:
    """Return one step of a trace in one line.

    >>> event_line({"event": "complete", "at": 0.51, "role": "agent", "calls": 3})
    '0.51 s complete: role agent, calls 3'
    """
    at = f"{event['at']:g} s " if "at" in event else ""
    rest = ", ".join(f"{key} {value}" for key, value in event.items() if key not in _SHOWN_FIRST)
    return f"{at}{event.get('event', 'step')}{': ' if rest else ''}{rest}"


def _side(name: str, side: Mapping[str, Any], metric: str | None) -> str:
    score = side["scores"].get(metric) if metric else None
    mood = "" if score is None else " right" if score >= 1 else " wrong"
    body = [
        f'<div class="side{mood}"><h4>{escaped(name)}</h4>',
        f'<p class="answer">{escaped(answer_text(side))}</p>',
        f'<p class="soft">{escaped(figures(side))}</p>',
    ]
    if side["positions"]:
        items = "".join(f"<li>{escaped(position_line(position))}</li>" for position in side["positions"])
        body.append(f"<p>Positions (conflict: {escaped(side['conflict'])}):</p><ul>{items}</ul>")
    if side["explanation"]:
        body.append(f"<p>{escaped(side['explanation'])}</p>")
    body += _folded("Replies", [reply_line(reply) for reply in side["replies"]])
    body += _folded("Trace", [event_line(event) for event in side["trace"]])
    return "\n".join([*body, "</div>"])


def position_line(position: Mapping[str, Any]) -> str:
    """Return a position with its verdict and reason in one line."""
    about = f" ({position['subject']})" if position["subject"] else ""
    return f"{position['verdict']}: {position['answer']}{about}; {position['reason']}"


def reply_line(reply: Mapping[str, Any]) -> str:
    """Return an agent's reply in one line."""
    answer = reply["answer"] or (f"failed: {reply['fault']}" if reply["fault"] else "no answer")
    quote = f" “{reply['quote']}”" if reply["quote"] else ""
    return f"round {reply['round']}: {answer}{quote}"


def _folded(title: str, lines: Sequence[str]) -> list[str]:
    if not lines:
        return []
    items = "".join(f"<li>{escaped(line)}</li>" for line in lines)
    return [f"<details><summary>{escaped(title)} ({len(lines)})</summary><ol>{items}</ol></details>"]
