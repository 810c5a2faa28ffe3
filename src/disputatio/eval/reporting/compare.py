"""Differences between two strategies, or two runs of one, question by question, from their journals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from disputatio.errors import InputError
from disputatio.eval.judge import METRICS
from disputatio.eval.metrics import answer_set
from disputatio.eval.reporting.headline import choose_metric
from disputatio.eval.reporting.markup import document, escape
from disputatio.eval.reporting.pairs import ends_of, round_figure
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
from disputatio.eval.running.run_log import Contents, Entry, read_answers, read_journal, read_trace
from disputatio.eval.statistics import RESAMPLES, estimate_difference, mcnemar

KINDS = ("one_better", "other_better", "level", "unscored")
"""How two differ on a question: by the deciding score, or with equal scores, or where one has none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedRun:
    """One strategy's part of an evaluation: the folder, the label, and what the journal says."""

    folder: Path
    label: str
    journal: Contents

    @property
    def entries(self) -> dict[str, Entry]:
        """The newest entry on each question."""
        return {entry.record.example: entry for entry in self.journal.entries if entry.entrant == self.label}


def choose_runs(folders: Sequence[Path], strategies: str | None) -> tuple[ComparedRun, ComparedRun]:
    """Return the two runs to compare: of one folder or of two, by `strategies` "X,Y".

    With two folders one name stands for both. Raises `InputError` where it is not clear who is meant.
    """
    journals = [read_journal(folder) for folder in folders]
    if len(journals) > 2 or not journals:
        raise InputError("eval compare takes one run folder with --strategies X,Y, or two folders")
    labels = [[entrant.label for entrant in journal.entrants] for journal in journals]
    named = [name.strip() for name in strategies.split(",") if name.strip()] if strategies else []
    if len(journals) == 1:
        named = named or (labels[0] if len(labels[0]) == 2 else [])
        if len(named) != 2 or named[0] == named[1]:
            raise InputError(
                f"{folders[0]}: say which two to compare, --strategies X,Y of {_join_names(labels[0])}"
            )
        folders, journals, labels = [*folders] * 2, journals * 2, labels * 2
    elif not named:
        shared = [label for label in labels[0] if label in labels[1]]
        if len(shared) == 1:
            named = shared * 2
        elif len(labels[0]) == len(labels[1]) == 1:
            named = [labels[0][0], labels[1][0]]
        else:
            raise InputError(
                f"say which strategy of each, --strategies X,Y: {folders[0]} has {_join_names(labels[0])}; "
                f"{folders[1]} has {_join_names(labels[1])}"
            )
    named = named * 2 if len(named) == 1 else named
    if len(named) != 2:
        raise InputError(f"--strategies {strategies}: name two")
    for name, known, folder in zip(named, labels, folders, strict=True):
        if name not in known:
            raise InputError(f"{folder}: no strategy {name}; it has {_join_names(known)}")
    first, second = (
        ComparedRun(folder=folder, label=name, journal=journal)
        for folder, name, journal in zip(folders, named, journals, strict=True)
    )
    return first, second


def compare(first: ComparedRun, second: ComparedRun, *, metric: str | None = None) -> dict[str, Any]:
    """Compare two sides question by question, as JSON values.

    Questions are the same when their ids are: a hash of the row. Raises `InputError` where there is none.
    """
    first_entries, second_entries = first.entries, second.entries
    shared = [key for key in first.journal.examples if key in first_entries and key in second_entries]
    if not shared:
        raise InputError(
            f"no question in common: {first.folder} has {_join_names(first.journal.manifest.datasets)}, "
            f"{second.folder} has {_join_names(second.journal.manifest.datasets)}"
        )
    names = [
        name for name in _list_metrics(first_entries, shared) if name in _list_metrics(second_entries, shared)
    ]
    decides = choose_metric(names, metric)
    values = [(_score(first_entries[key], decides), _score(second_entries[key], decides)) for key in shared]
    first_scores, second_scores = [a for a, _ in values], [b for _, b in values]
    seed = first.journal.manifest.seed
    gap = estimate_difference(first_scores, second_scores, resamples=RESAMPLES, seed=seed)
    test = mcnemar(first_scores, second_scores) if gap.n else None
    differing = {key for key in shared if _differ(first_entries[key], second_entries[key])}
    kinds = {key: _kind(*pair) for key, pair in zip(shared, values, strict=True) if key in differing}
    answers = [read_answers(side.folder, side.label) for side in (first, second)]
    return {
        "one": _side(first),
        "other": _side(second),
        "unlike": _unlike(first, second),
        "metric": decides,
        "shared": len(shared),
        "differ": len(differing),
        "kinds": {kind: sum(value == kind for value in kinds.values()) for kind in KINDS},
        "difference": {
            "n": gap.n,
            "mean": round_figure(gap.mean),
            "ci": ends_of(gap.low, gap.high),
            "p": round_figure(gap.p),
            "mcnemar": test
            and {"one_only": test.one_only, "other_only": test.other_only, "p": round_figure(test.p)},
        },
        "questions": [
            {
                "example": key,
                "dataset": first.journal.examples[key]["dataset"],
                "row": first.journal.examples[key]["row"],
                "question": _question(answers, key),
                "gold": list(first.journal.examples[key]["gold"]),
                "wrong": list(first.journal.examples[key]["wrong"]),
                "kind": kinds[key],
                "one": _side_answer(first, first_entries[key], answers[0].get(key)),
                "other": _side_answer(second, second_entries[key], answers[1].get(key)),
            }
            for key in sorted(differing, key=lambda key: (KINDS.index(kinds[key]), shared.index(key)))
        ],
    }


def _question(answers: Sequence[Mapping[str, Any]], key: str) -> str:
    return next((str(side_answers[key]["question"]) for side_answers in answers if key in side_answers), "")


def _side_answer(side: ComparedRun, entry: Entry, answer: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the answer of one strategy to a question, with its positions and its trace."""
    record, fields = entry.record, answer or {}
    return {
        "answers": list(record.answers),
        "abstained": record.abstained,
        "fault": record.fault,
        "scores": dict(record.scores),
        "confidence": fields.get("confidence"),
        "text": fields.get("text", ""),
        "explanation": fields.get("explanation", ""),
        "conflict": fields.get("conflict", {}).get("kind"),
        "positions": [
            {name: position[name] for name in ("answer", "subject", "verdict", "reason", "sources")}
            for position in fields.get("conflict", {}).get("positions", ())
        ],
        "calls": record.usage.calls,
        "tokens": record.usage.prompt_tokens + record.usage.completion_tokens,
        "seconds": record.seconds,
        "rounds": record.rounds,
        "replies": [
            {name: reply[name] for name in ("round", "answer", "quote", "explanation", "fault")}
            for reply in fields.get("replies", ())
        ],
        "trace": read_trace(side.folder, side.label, record.example),
    }


def _side(side: ComparedRun) -> dict[str, Any]:
    entrant = next(entrant for entrant in side.journal.entrants if entrant.label == side.label)
    manifest = side.journal.manifest
    return {
        "folder": str(side.folder),
        "label": side.label,
        "strategy": entrant.strategy,
        "options": dict(entrant.options),
        "prompts": entrant.prompts,
        "model": manifest.model,
        "engine": manifest.engine,
        "seed": manifest.seed,
    }


def _unlike(first: ComparedRun, second: ComparedRun) -> list[str]:
    """Return the settings in which the two differ, beside who they are."""
    first_settings, second_settings = _side(first), _side(second)
    differences = [
        f"{name}: {first_settings[name]} against {second_settings[name]}"
        for name in ("strategy", "prompts", "model", "engine", "seed")
        if first_settings[name] != second_settings[name]
    ]
    options = sorted({*first_settings["options"], *second_settings["options"]})
    for name in options if first_settings["strategy"] == second_settings["strategy"] else ():
        a, b = first_settings["options"].get(name), second_settings["options"].get(name)
        if a != b:
            differences.append(f"{name}: {a} against {b}")
    return differences


def _list_metrics(entries: Mapping[str, Entry], keys: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(name for key in keys for name in entries[key].record.scores))


def _score(entry: Entry, metric: str | None) -> float | None:
    return entry.record.scores.get(metric) if entry.state == "done" and metric is not None else None


def _differ(first: Entry, second: Entry) -> bool:
    a, b = first.record, second.record
    return (
        (first.state == "done") != (second.state == "done")
        or a.abstained != b.abstained
        or a.scores != b.scores
        or set(answer_set(a.answers)) != set(answer_set(b.answers))
    )


def _kind(first: float | None, second: float | None) -> str:
    """
    >>> _kind(1.0, 0.0), _kind(0.0, 0.0), _kind(None, 1.0)
    ('one_better', 'level', 'unscored')
    """
    if first is None or second is None:
        return "unscored"
    return "level" if first == second else "one_better" if first > second else "other_better"


def _join_names(names: Sequence[str] | Mapping[str, Any]) -> str:
    return ", ".join(names) or "nothing"


# --- as a page of HTML, and as lines: each question on which they differ, side by side ------------
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
    body = [f"<h1>{escape(first)} and {escape(second)}</h1>"]
    body += [f"<p>{escape(line)}</p>" for line in outcome(comparison)]
    last = ""
    for question in comparison["questions"]:
        if question["kind"] != last:
            last = question["kind"]
            body.append(f"<h2>{escape(_HEADS[last].format(one=first, other=second))}</h2>")
        body += [
            f"<h3>{escape(question['question'] or 'a question without an answer')}</h3>",
            f'<p class="soft">{escape(_question_line(question))}</p>',
            '<div class="both">',
            _side_markup(first, question["one"], comparison["metric"]),
            _side_markup(second, question["other"], comparison["metric"]),
            "</div>",
        ]
    return document(f"{first} and {second}", body)


def _question_line(question: Mapping[str, Any]) -> str:
    """Return the row of a question and the answers that its data set lists, in one line."""
    right, wrong = ("; ".join(question[name]) or "–" for name in ("gold", "wrong"))
    return f"{question['dataset']}, row {question['row']}. Right: {right}. Wrong: {wrong}."


def answer_text(side: Mapping[str, Any]) -> str:
    if side["fault"]:
        return f"failed: {side['fault']}"
    return "; ".join(side["answers"]) or f"abstained: {side['abstained']}"


def figures(side: Mapping[str, Any]) -> str:
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


def _side_markup(name: str, side: Mapping[str, Any], metric: str | None) -> str:
    score = side["scores"].get(metric) if metric else None
    mood = "" if score is None else " right" if score >= 1 else " wrong"
    body = [
        f'<div class="side{mood}"><h4>{escape(name)}</h4>',
        f'<p class="answer">{escape(answer_text(side))}</p>',
        f'<p class="soft">{escape(figures(side))}</p>',
    ]
    if side["positions"]:
        items = "".join(f"<li>{escape(position_line(position))}</li>" for position in side["positions"])
        body.append(f"<p>Positions (conflict: {escape(side['conflict'])}):</p><ul>{items}</ul>")
    if side["explanation"]:
        body.append(f"<p>{escape(side['explanation'])}</p>")
    body += _fold("Replies", [reply_line(reply) for reply in side["replies"]])
    body += _fold("Trace", [event_line(event) for event in side["trace"]])
    return "\n".join([*body, "</div>"])


def position_line(position: Mapping[str, Any]) -> str:
    """Return a position with its verdict and reason in one line."""
    about = f" ({position['subject']})" if position["subject"] else ""
    return f"{position['verdict']}: {position['answer']}{about}; {position['reason']}"


def reply_line(reply: Mapping[str, Any]) -> str:
    answer = reply["answer"] or (f"failed: {reply['fault']}" if reply["fault"] else "no answer")
    quote = f" “{reply['quote']}”" if reply["quote"] else ""
    return f"round {reply['round']}: {answer}{quote}"


def _fold(title: str, lines: Sequence[str]) -> list[str]:
    if not lines:
        return []
    items = "".join(f"<li>{escape(line)}</li>" for line in lines)
    return [f"<details><summary>{escape(title)} ({len(lines)})</summary><ol>{items}</ol></details>"]
