"""What an evaluation found: a pure function of its journal, the same bytes every time.

Scores are shares in [0, 1] and costs are means per question. The strategies of a data set are
compared on *the same rows*: those that all of them have answered. A fault is never scored: it is
counted beside the scores, and where more than 1 % of a strategy's questions failed, its scores are
withheld (null) and the reason said.
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from disputatio.eval.journal import Contents, Entry, options_hash, read_journal
from disputatio.eval.judge import METRICS
from disputatio.eval.metrics import score
from disputatio.eval.statistics import RESAMPLES, estimate, mean, paired_difference
from disputatio.types import Record

FAULT_LIMIT = 0.01  # share of failed questions above which scores are withheld
COSTS = ("calls", "prompt_tokens", "cached_tokens", "completion_tokens", "seconds")
COMPARED = ("em", "em_lenient", "f1", "f1_lenient", "accuracy", *METRICS, "tokens", "seconds")

Rows = Mapping[str, Mapping[str, Entry]]  # entrant -> example id -> newest entry


def report(out: Path, *, resamples: int = RESAMPLES) -> dict[str, Any]:
    """The report of the evaluation in `out`, as JSON values; raises `InputError` without one."""
    journal = read_journal(out)
    manifest = journal.manifest
    return {
        "model": manifest.model,
        "roles": dict(manifest.roles),
        "engine": manifest.engine,
        "seed": manifest.seed,
        "verify": manifest.verify,
        "judge": manifest.judge,
        "index": manifest.index,
        "metrics_version": manifest.metrics_version,
        "versions": _versions(journal),
        "interval": {"level": 0.95, "method": "bootstrap percentile", "resamples": resamples},
        "entrants": [
            {
                "label": entrant.label,
                "strategy": entrant.strategy,
                "options": dict(entrant.options),
                "options_hash": options_hash(entrant),
                "prompts": entrant.prompts,
            }
            for entrant in journal.entrants
        ],
        "datasets": [_dataset(journal, name, resamples) for name in manifest.datasets],
    }


def summaries(found: Mapping[str, Any]) -> list[dict[str, Any]]:
    """One object a strategy and data set: the last lines of `eval run --json`."""
    return [{"dataset": part["dataset"], **one} for part in found["datasets"] for one in part["strategies"]]


# --- one data set -------------------------------------------------------------------------------
def _dataset(journal: Contents, name: str, resamples: int) -> dict[str, Any]:
    examples = {key: value for key, value in journal.examples.items() if value["dataset"] == name}
    rows: dict[str, dict[str, Entry]] = {entrant.label: {} for entrant in journal.entrants}
    for entry in journal.entries:
        if entry.dataset == name:
            rows[entry.entrant][entry.record.example] = entry
    rows = {label: entries for label, entries in rows.items() if entries}
    withheld = {label: reason for label in rows if (reason := _why_withheld(rows[label]))}
    sound = [label for label in rows if label not in withheld]
    common = [
        key
        for key in examples
        if sound and all(key in rows[label] and rows[label][key].state == "done" for label in sound)
    ]
    # What each metric is called comes from the scores of a question with one answer.
    names = tuple(score(["a"], ["a"], [], journal.manifest.metrics[name]))
    names += METRICS if journal.manifest.judge else ()
    seed = journal.manifest.seed
    return {
        "dataset": name,
        "sha256": journal.manifest.datasets[name],
        "rows": len(examples),
        "same_rows": len(common),
        "row_numbers": _spans([examples[key]["row"] for key in common]),
        "notes": _notes(journal, name),
        "strategies": [
            _strategy(
                label,
                rows[label],
                common,
                names=names,
                withheld=withheld.get(label),
                resamples=resamples,
                seed=seed,
            )
            for label in rows
        ],
        "differences": [
            difference
            for one, other in itertools.combinations(sound, 2)
            for difference in _differences(one, other, rows, names=names, resamples=resamples, seed=seed)
        ],
        "strata": _strata(rows, sound, common, examples, names),
    }


def _strategy(
    label: str,
    entries: Mapping[str, Entry],
    common: Sequence[str],
    *,
    names: Sequence[str],
    withheld: str | None,
    resamples: int,
    seed: int,
) -> dict[str, Any]:
    failed = sum(entry.state != "done" for entry in entries.values())
    records = [] if withheld else [entries[key].record for key in common]
    scores = ("em", "em_lenient", "em_literal", "precision", "recall", "f1", "accuracy")
    line: dict[str, Any] = {
        "strategy": label,
        "n": len(records),
        "asked": len(entries),
        "failed": failed,
        "abstained": sum(record.abstained is not None for record in records),
        "withheld": withheld,
    }
    intervals: dict[str, list[float | None]] = {}
    for name in dict.fromkeys((*scores, *names)):
        found = estimate([record.scores.get(name) for record in records], resamples=resamples, seed=seed)
        line[name] = _rounded(found.mean)
        if found.low is not None:
            intervals[name] = [_rounded(found.low), _rounded(found.high)]
    line["precision_n"] = sum(record.scores.get("precision") is not None for record in records)
    for name in COSTS:
        found = estimate([_cost(name)(record) for record in records], resamples=resamples, seed=seed)
        line[name] = _rounded(found.mean)
        if found.low is not None:
            intervals[name] = [_rounded(found.low), _rounded(found.high)]
    seconds = [record.seconds for record in records]
    line["seconds_median"] = _rounded(median(seconds)) if seconds else None
    line["model_seconds"] = _rounded(mean([record.usage.seconds for record in records]))
    line["rounds"] = _rounded(mean([float(record.rounds) for record in records]))
    line["adaptive"] = _adaptive(records)
    line["ci"] = intervals
    line["judged"] = {name: _judged(records, name) for name in METRICS if name in names}
    return line


def _judged(records: Sequence[Record], name: str) -> dict[str, Any]:
    """How many answers have each grade, how many have none and why, and how sure the judge was."""
    verdicts = [record.judged[name] for record in records if name in record.judged]
    reasons = Counter(one["reason"].partition(":")[0] for one in verdicts if one["grade"] is None)
    margins = [one["margin"] for one in verdicts if one["grade"] is not None and one["margin"] is not None]
    grades = Counter(one["grade"] for one in verdicts if one["grade"] is not None)
    return {
        "n": sum(grades.values()),
        "unscored": sum(reasons.values()),
        "reasons": dict(sorted(reasons.items())),
        "grades": {str(grade): grades[grade] for grade in sorted(grades)},
        "margin_median": _rounded(median(margins)) if margins else None,
    }


def _adaptive(records: Sequence[Record]) -> dict[str, Any] | None:
    """How often a strategy that decides for itself whether to retrieve did so; None for others.

    The direct-answer rate, the RA rate (the share with at least one retrieval) and Iters (the mean number of
    retrievals of those) of AC-RAG (Zhang et al. 2025).
    """
    told = [record.retrievals for record in records if record.retrievals is not None]
    if not told:
        return None
    retrieved = [float(one) for one in told if one]
    return {
        "n": len(told),
        "direct": _rounded(1 - len(retrieved) / len(told)),
        "ra": _rounded(len(retrieved) / len(told)),
        "iters": _rounded(mean(retrieved)),
    }


def _differences(
    one: str, other: str, rows: Rows, *, names: Sequence[str], resamples: int, seed: int
) -> list[dict[str, Any]]:
    """One minus the other, on every row that both have answered."""
    shared = [
        (rows[one][key].record, rows[other][key].record)
        for key in rows[one]
        if rows[one][key].state == "done" and key in rows[other] and rows[other][key].state == "done"
    ]
    lines = []
    for name in COMPARED:
        if name in names:
            values = [(a.scores.get(name), b.scores.get(name)) for a, b in shared]
        elif name in ("tokens", "seconds"):
            cost = _cost(name)
            values = [(cost(a), cost(b)) for a, b in shared]
        else:
            continue
        found = paired_difference(
            [a for a, _ in values], [b for _, b in values], resamples=resamples, seed=seed
        )
        lines.append(
            {
                "one": one,
                "other": other,
                "metric": name,
                "n": found.n,
                "difference": _rounded(found.mean),
                "ci": None if found.low is None else [_rounded(found.low), _rounded(found.high)],
                "p": _rounded(found.p),
                "ratio": None if name in names else _rounded(found.ratio),
            }
        )
    return lines


def _strata(
    rows: Rows,
    sound: Sequence[str],
    common: Sequence[str],
    examples: Mapping[str, Mapping[str, Any]],
    names: Sequence[str],
) -> list[dict[str, Any]]:
    """Means on the rows of each kind, where a data set tells kinds of rows apart."""
    kinds: dict[tuple[str, str], list[str]] = defaultdict(list)
    for key in common:
        for stratum, value in examples[key]["strata"].items():
            kinds[stratum, value].append(key)
    return [
        {
            "stratum": stratum,
            "value": value,
            "strategy": label,
            "n": len(keys),
            **{
                name: _rounded(mean([rows[label][key].record.scores.get(name) for key in keys]))
                for name in names
            },
        }
        for (stratum, value), keys in sorted(kinds.items())
        for label in sound
    ]


def _why_withheld(entries: Mapping[str, Entry]) -> str | None:
    failed = sum(entry.state != "done" for entry in entries.values())
    if failed <= FAULT_LIMIT * len(entries):
        return None
    first = next(entry.record.fault for entry in entries.values() if entry.state != "done")
    return f"{failed} of {len(entries)} questions failed, more than {FAULT_LIMIT:.0%}; the first: {first}"


def _cost(name: str) -> Callable[[Record], float]:
    if name == "seconds":
        return lambda record: record.seconds
    if name == "tokens":
        return lambda record: float(record.usage.prompt_tokens + record.usage.completion_tokens)
    return lambda record: float(getattr(record.usage, name))


def _notes(journal: Contents, name: str) -> list[str]:
    """What the runs noted about the rows (the last run saw them all), and what bears on the times."""
    noted = [run["notes"][name] for run in journal.runs if name in run.get("notes", {})]
    notes = list(noted[-1]) if noted else []
    if any(run.get("journal") for run in journal.runs):
        notes.append(
            "model calls may have been answered from a journal: seconds then say little, model seconds "
            "what the calls cost when they were made"
        )
    many = max((run.get("workers", 1) for run in journal.runs), default=1)
    if many > 1:
        notes.append(f"up to {many} questions shared the model, so seconds are not those of one alone")
    return notes


def _versions(journal: Contents) -> dict[str, list[str]]:
    """Every version that wrote here, by what it is a version of."""
    seen: dict[str, set[str]] = defaultdict(set)
    for run in journal.runs:
        for what, version in run.get("versions", {}).items():
            seen[what].add(version)
    return {what: sorted(versions) for what, versions in sorted(seen.items())}


def _spans(numbers: Sequence[int]) -> str:
    """Row numbers in few words: '0-4, 7'."""
    spans: list[list[int]] = []
    for number in sorted(numbers):
        if spans and number == spans[-1][1] + 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    return ", ".join(f"{a}-{b}" if b > a else f"{a}" for a, b in spans)


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 6)
