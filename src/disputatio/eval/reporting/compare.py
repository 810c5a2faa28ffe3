"""Differences between two strategies, or two runs of one, question by question, from their journals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from disputatio.errors import InputError
from disputatio.eval.metrics import answer_set
from disputatio.eval.reporting.headline import deciding_metric
from disputatio.eval.reporting.pairs import rounded
from disputatio.eval.running.run_log import Contents, Entry, read_answers, read_journal, read_trace
from disputatio.eval.statistics import RESAMPLES, mcnemar, paired_difference

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
                f"{folders[0]}: say which two to compare, --strategies X,Y of {_listed(labels[0])}"
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
                f"say which strategy of each, --strategies X,Y: {folders[0]} has {_listed(labels[0])}; "
                f"{folders[1]} has {_listed(labels[1])}"
            )
    named = named * 2 if len(named) == 1 else named
    if len(named) != 2:
        raise InputError(f"--strategies {strategies}: name two")
    for name, known, folder in zip(named, labels, folders, strict=True):
        if name not in known:
            raise InputError(f"{folder}: no strategy {name}; it has {_listed(known)}")
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
            f"no question in common: {first.folder} has {_listed(first.journal.manifest.datasets)}, "
            f"{second.folder} has {_listed(second.journal.manifest.datasets)}"
        )
    names = [name for name in _measured(first_entries, shared) if name in _measured(second_entries, shared)]
    decides = deciding_metric(names, metric)
    values = [(_score(first_entries[key], decides), _score(second_entries[key], decides)) for key in shared]
    first_scores, second_scores = [a for a, _ in values], [b for _, b in values]
    seed = first.journal.manifest.seed
    gap = paired_difference(first_scores, second_scores, resamples=RESAMPLES, seed=seed)
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
            "mean": rounded(gap.mean),
            "ci": None if gap.low is None else [rounded(gap.low), rounded(gap.high)],
            "p": rounded(gap.p),
            "mcnemar": test
            and {"one_only": test.one_only, "other_only": test.other_only, "p": rounded(test.p)},
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
    """Return the text of a question, out of the first side's answers that has it."""
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


def _measured(entries: Mapping[str, Entry], keys: Sequence[str]) -> list[str]:
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


def _listed(names: Sequence[str] | Mapping[str, Any]) -> str:
    return ", ".join(names) or "nothing"
