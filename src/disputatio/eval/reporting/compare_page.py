"""A comparison of two as a page of HTML: each question on which they differ, side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from disputatio.eval.judge import METRICS
from disputatio.eval.reporting.markup import document, words
from disputatio.eval.reporting.wording import (
    SCORES,
    TITLES,
    figure,
    interval,
    p_value,
    share,
    thousands,
    unit,
)

_HEADS = {
    "one_better": "Only {one} is better",
    "other_better": "Only {other} is better",
    "level": "Other answers, the same score",
    "unscored": "A failure, or no score",
}
_TOLD = ("at", "event")  # fields of an event that stand before the others


def names(found: Mapping[str, Any]) -> tuple[str, str]:
    """What the two are called: their labels, with the folders where these are the same."""
    one, other = found["one"], found["other"]
    if one["label"] != other["label"]:
        return one["label"], other["label"]
    return f"{one['label']} ({one['folder']})", f"{other['label']} ({other['folder']})"


def outcome(found: Mapping[str, Any]) -> list[str]:
    """The comparison in a few sentences."""
    one, other = names(found)
    kinds, gap, metric = found["kinds"], found["difference"], found["metric"]
    told = [
        f"They differ on {found['differ']} of {found['shared']} questions that both were asked: {one} is "
        f"better on {kinds['one_better']}, {other} on {kinds['other_better']}; on {kinds['level']} more the "
        "answers differ and the score does not."
    ]
    if kinds["unscored"]:
        told.append(f"On {kinds['unscored']} of these, one failed or has no score.")
    if metric and gap["mean"] is not None:
        test = gap["mcnemar"]
        p = f"McNemar, exact, {p_value(test['p'])}" if test else f"paired bootstrap, {p_value(gap['p'])}"
        told.append(
            f"{TITLES[metric]}, {one} − {other}: {figure(metric, gap['mean'])}{unit(metric)} "
            f"{interval(metric, gap['ci'])} on {gap['n']} questions ({p})."
        )
    if found["unlike"]:
        told.append(f"Settings that differ: {'; '.join(found['unlike'])}.")
    return told


def comparison_page(found: Mapping[str, Any]) -> str:
    """The whole comparison as HTML; long traces are folded."""
    one, other = names(found)
    body = [f"<h1>{words(one)} and {words(other)}</h1>"]
    body += [f"<p>{words(line)}</p>" for line in outcome(found)]
    last = ""
    for question in found["questions"]:
        if question["kind"] != last:
            last = question["kind"]
            body.append(f"<h2>{words(_HEADS[last].format(one=one, other=other))}</h2>")
        body += [
            f"<h3>{words(question['question'] or 'a question without an answer')}</h3>",
            f'<p class="soft">{words(_listed(question))}</p>',
            '<div class="both">',
            _side(one, question["one"], found["metric"]),
            _side(other, question["other"], found["metric"]),
            "</div>",
        ]
    return document(f"{one} and {other}", body)


def _listed(question: Mapping[str, Any]) -> str:
    """Where a question stands and what its data set lists, in one line."""
    right, wrong = ("; ".join(question[name]) or "–" for name in ("gold", "wrong"))
    return f"{question['dataset']}, row {question['row']}. Right: {right}. Wrong: {wrong}."


def said(word: Mapping[str, Any]) -> str:
    """What a side answered, or why it did not."""
    if word["fault"]:
        return f"failed: {word['fault']}"
    return "; ".join(word["answers"]) or f"abstained: {word['abstained']}"


def figures(word: Mapping[str, Any]) -> str:
    """A side's scores and cost in one line."""
    scores = [
        f"{TITLES[name]} {figure(name, word['scores'][name])}"
        for name in (*SCORES, *METRICS)
        if word["scores"].get(name) is not None
    ]
    if word["confidence"] is not None:
        scores.append(f"confidence {share(word['confidence'])}")
    calls = f"{word['calls']} call{'' if word['calls'] == 1 else 's'}"
    cost = f"{calls}, {thousands(word['tokens'])} tokens, {word['seconds']:.1f} s"
    return "; ".join([*scores, cost])


def event_line(event: Mapping[str, Any]) -> str:
    """One step of a trace in one line.

    >>> event_line({"event": "complete", "at": 0.51, "role": "agent", "calls": 3})
    '0.51 s complete: role agent, calls 3'
    """
    at = f"{event['at']:g} s " if "at" in event else ""
    rest = ", ".join(f"{key} {value}" for key, value in event.items() if key not in _TOLD)
    return f"{at}{event.get('event', 'step')}{': ' if rest else ''}{rest}"


def _side(name: str, word: Mapping[str, Any], metric: str | None) -> str:
    score = word["scores"].get(metric) if metric else None
    mood = "" if score is None else " right" if score >= 1 else " wrong"
    body = [
        f'<div class="side{mood}"><h4>{words(name)}</h4>',
        f'<p class="answer">{words(said(word))}</p>',
        f'<p class="soft">{words(figures(word))}</p>',
    ]
    if word["positions"]:
        told = "".join(f"<li>{words(position_line(one))}</li>" for one in word["positions"])
        body.append(f"<p>Positions (conflict: {words(word['conflict'])}):</p><ul>{told}</ul>")
    if word["explanation"]:
        body.append(f"<p>{words(word['explanation'])}</p>")
    body += _folded("Replies", [reply_line(one) for one in word["replies"]])
    body += _folded("Trace", [event_line(one) for one in word["trace"]])
    return "\n".join([*body, "</div>"])


def position_line(position: Mapping[str, Any]) -> str:
    """A position with its verdict and reason in one line."""
    about = f" ({position['subject']})" if position["subject"] else ""
    return f"{position['verdict']}: {position['answer']}{about}; {position['reason']}"


def reply_line(reply: Mapping[str, Any]) -> str:
    """An agent's reply in one line."""
    answer = reply["answer"] or (f"failed: {reply['fault']}" if reply["fault"] else "no answer")
    quote = f" “{reply['quote']}”" if reply["quote"] else ""
    return f"round {reply['round']}: {answer}{quote}"


def _folded(title: str, lines: Sequence[str]) -> list[str]:
    if not lines:
        return []
    told = "".join(f"<li>{words(line)}</li>" for line in lines)
    return [f"<details><summary>{words(title)} ({len(lines)})</summary><ol>{told}</ol></details>"]
