"""The report of an evaluation: a pure function of its journal, the same bytes every time.

Scores are shares in [0, 1] and costs are means per question. The strategies of a data set are
compared on *the same rows*: those that all of them have answered. A fault is never scored: it is
counted beside the scores, and where more than 1 % of a strategy's questions failed, its scores are
withheld (null) and the reason said.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from statistics import median
from typing import Any

from disputatio.eval.judge import ABSTAINED, METRICS
from disputatio.eval.metrics import score
from disputatio.eval.reporting.confidence import IntervalFigure, ScoredAnswer, risk_coverage
from disputatio.eval.reporting.headline import choose_metric, headline
from disputatio.eval.reporting.pairs import Rows, cost, differences, ends_of, round_figure
from disputatio.eval.running.entrants import DECLARED, EXPECT
from disputatio.eval.running.run_log import (
    Contents,
    Entrant,
    Entry,
    Pair,
    Record,
    options_hash,
    read_confidences,
    read_journal,
)
from disputatio.eval.statistics import RESAMPLES, estimates, mean

_FIGURES = re.compile(r"(\d+)")


def by_stratum(
    rows: Rows,
    labels: Sequence[str],
    common: Sequence[str],
    examples: Mapping[str, Mapping[str, Any]],
    *,
    names: Sequence[str],
    resamples: int,
    seed: int,
) -> list[dict[str, Any]]:
    """Return means with intervals on the `common` rows of each kind, with failures and abstentions.

    `n` counts the common rows of the kind and `abstained` those of them without an answer; `failed` counts
    the rows of the kind that this strategy failed on, which are none of the common ones.
    """
    kinds: dict[tuple[str, str], list[str]] = defaultdict(list)
    for key, example in examples.items():
        for stratum, value in example["strata"].items():
            kinds[stratum, value].append(key)
    common_keys = set(common)
    lines = []
    for (stratum, value), keys in sorted(kinds.items(), key=lambda kind: in_order(*kind[0])):
        shared = [key for key in keys if key in common_keys]
        if not shared:
            continue
        records = {label: [rows[label][key].record for key in shared] for label in labels}
        columns = [
            [record.scores.get(name) for record in records[label]] for label in labels for name in names
        ]
        means = iter(estimates(columns, resamples=resamples, seed=seed))
        for label in labels:
            scores = {name: next(means) for name in names}
            lines.append(
                {
                    "stratum": stratum,
                    "value": value,
                    "strategy": label,
                    "n": len(shared),
                    "failed": sum(key in rows[label] and rows[label][key].state != "done" for key in keys),
                    "abstained": sum(record.abstained is not None for record in records[label]),
                    **{name: round_figure(estimate.mean) for name, estimate in scores.items()},
                    "ci": {
                        name: ends
                        for name, estimate in scores.items()
                        if (ends := ends_of(estimate.low, estimate.high))
                    },
                }
            )
    return lines


def in_order(*values: str) -> tuple[tuple[tuple[int, int, str], ...], ...]:
    """Return a key that puts figures in words by their size: 2 before 10.

    >>> sorted(["10", "2", "1 against 3", "without"], key=in_order)
    ['1 against 3', '2', '10', 'without']
    """
    return tuple(
        tuple(
            (0, int(part), "") if part.isdecimal() else (1, 0, part) for part in _FIGURES.split(value) if part
        )
        for value in values
    )


COSTS = ("calls", "prompt_tokens", "cached_tokens", "completion_tokens", "seconds")


def seeds_of(entrants: Sequence[Entrant]) -> dict[str, list[str]]:
    """Return the labels of each strategy's seeds, by the name that they share.

    >>> seeds_of([Entrant(label="a", strategy="x"), Entrant(label="a#1", strategy="x")])
    {'a': ['a', 'a#1']}
    """
    labels: dict[str, list[str]] = {}
    for entrant in entrants:
        labels.setdefault(entrant.name, []).append(entrant.label)
    return labels


def merge_seeds(
    rows: Rows, confidences: Mapping[Pair, float | None], groups: Mapping[str, Sequence[str]]
) -> tuple[dict[str, dict[str, Entry]], dict[Pair, float | None]]:
    """Return entries and confidences by name, not label: one for each question that all seeds were asked.

    A question on which a seed failed has failed.
    """
    merged_rows: dict[str, dict[str, Entry]] = {}
    stated: dict[Pair, float | None] = {}
    for name, labels in groups.items():
        entries = [rows[label] for label in labels if label in rows]
        if not entries:
            continue
        for key in entries[0]:
            if len(entries) < len(labels) or any(key not in entry for entry in entries):
                continue
            merged_rows.setdefault(name, {})[key] = _one([entry[key] for entry in entries])
            seed_confidences = [confidences.get((label, key)) for label in labels]
            stated[name, key] = None if None in seed_confidences else mean(seed_confidences)
    return merged_rows, stated


def by_seed(
    rows: Rows, groups: Mapping[str, Sequence[str]], common: Sequence[str], names: Sequence[str]
) -> list[dict[str, Any]]:
    """Return the means of each seed alone on the common rows, for strategies that have several."""
    lines = []
    for name, labels in groups.items():
        for label in labels if len(labels) > 1 else ():
            records = [rows[label][key].record for key in common if key in rows.get(label, {})]
            lines.append(
                {
                    "strategy": name,
                    "label": label,
                    "n": len(records),
                    "failed": sum(entry.state != "done" for entry in rows.get(label, {}).values()),
                    "abstained": sum(record.abstained is not None for record in records),
                    **{
                        metric: round_figure(mean([record.scores.get(metric) for record in records]))
                        for metric in names
                    },
                }
            )
    return lines


def _one(entries: Sequence[Entry]) -> Entry:
    """Return the entries of one question with several seeds as one, with the means of the counts."""
    failed = [entry for entry in entries if entry.state != "done"]
    if failed or len(entries) == 1:
        return (failed or entries)[0]
    records = [entry.record for entry in entries]
    scores = {name: mean([record.scores.get(name) for record in records]) for name in records[0].scores}
    usage: dict[str, Any] = {
        name: mean([getattr(record.usage, name) for record in records]) for name in COSTS
    }
    means: dict[str, Any] = {
        "rounds": mean([record.rounds for record in records]),
        "seconds": mean([record.seconds for record in records]),
        "retrievals": mean([record.retrievals for record in records]),
    }
    silent = [record.abstained for record in records if record.abstained is not None]
    record: Record = replace(
        records[0],
        scores=scores,
        usage=replace(records[0].usage, **usage),
        abstained=silent[0] if 2 * len(silent) > len(records) else None,
        **means,
    )
    return replace(entries[0], record=record)


FAULT_LIMIT = 0.01  # share of failed questions above which scores are withheld


def report(out: Path, *, resamples: int = RESAMPLES, metric: str | None = None) -> dict[str, Any]:
    """Return the report of the evaluation in `out`, as JSON values; raises `InputError` without one.

    `metric` ranks the strategies, in place of the first one that the data set defines. An evaluation that is
    not at its end is reported as far as it is: `progress` says how far.
    """
    journal = read_journal(out)
    confidences = read_confidences(out)
    manifest = journal.manifest
    expected = len(journal.examples) * len(journal.entrants)
    return {
        "progress": {
            "recorded": len(journal.entries),
            "expected": expected,
            "complete": len(journal.entries) >= expected,
        },
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
                "code": dict(sorted(entrant.code.items())),
            }
            for entrant in journal.entrants
        ],
        "datasets": [
            _dataset(journal, name, confidences, resamples=resamples, metric=metric)
            for name in manifest.datasets
        ],
    }


def summaries(evaluation: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return one object a strategy and data set: the last lines of `eval run --json`."""
    return [
        {"dataset": part["dataset"], **line} for part in evaluation["datasets"] for line in part["strategies"]
    ]


# --- one data set -------------------------------------------------------------------------------
def _dataset(
    journal: Contents,
    name: str,
    confidences: Mapping[Pair, float | None],
    *,
    resamples: int,
    metric: str | None,
) -> dict[str, Any]:
    examples = {key: value for key, value in journal.examples.items() if value["dataset"] == name}
    rows: dict[str, dict[str, Entry]] = {entrant.label: {} for entrant in journal.entrants}
    for entry in journal.entries:
        if entry.dataset == name:
            rows[entry.entrant][entry.record.example] = entry
    groups = seeds_of(journal.entrants)
    apart = {label: entries for label, entries in rows.items() if entries}
    rows, confidences = merge_seeds(apart, confidences, groups)
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
    decides = choose_metric(names, metric)
    options = {entrant.name: entrant.options for entrant in journal.entrants}
    strategies = [
        _strategy(
            label,
            rows[label],
            common,
            expect=_expectation(options[label], examples),
            names=names,
            withheld=withheld.get(label),
            resamples=resamples,
            seed=seed,
        )
        for label in rows
    ]
    pairs = differences(sound, rows, names=names, resamples=resamples, seed=seed)
    return {
        "dataset": name,
        "sha256": journal.manifest.datasets[name],
        "rows": len(examples),
        "same_rows": len(common),
        "row_numbers": _spans([examples[key]["row"] for key in common]),
        "notes": _notes(journal, name),
        "seeds": by_seed(apart, groups, common, names),
        "metric": decides,
        "headline": headline(strategies, pairs, decides),
        "strategies": strategies,
        "differences": pairs,
        "strata": by_stratum(rows, sound, common, examples, names=names, resamples=resamples, seed=seed),
        "confidence": [
            _confidence(
                label,
                {key: rows[label][key].record for key in common},
                {key: confidences.get((label, key)) for key in common},
                metric=decides,
                resamples=resamples,
                seed=seed,
            )
            for label in sound
            if common and decides is not None and decides not in METRICS
        ],
    }


def _expectation(options: Mapping[str, Any], examples: Mapping[str, Mapping[str, Any]]) -> str | None:
    """Return what a strategy was told of the number of right answers; None if it has no such option."""
    if options.get(EXPECT) != DECLARED:
        return options.get(EXPECT)
    return ", ".join(sorted({example["expects"] for example in examples.values()}))


def _strategy(
    label: str,
    entries: Mapping[str, Entry],
    common: Sequence[str],
    *,
    expect: str | None,
    names: Sequence[str],
    withheld: str | None,
    resamples: int,
    seed: int,
) -> dict[str, Any]:
    failed = sum(entry.state != "done" for entry in entries.values())
    records = [] if withheld else [entries[key].record for key in common]
    scores = ("em", "em_lenient", "em_literal", "em_released", "precision", "recall", "f1", "accuracy")
    line: dict[str, Any] = {
        "strategy": label,
        "expect": expect,
        "n": len(records),
        "asked": len(entries),
        "failed": failed,
        "abstained": sum(record.abstained is not None for record in records),
        "withheld": withheld,
    }
    measured = tuple(dict.fromkeys((*scores, *names)))
    columns: list[list[float | None]] = [[record.scores.get(name) for record in records] for name in measured]
    columns += [[cost(name)(record) for record in records] for name in COSTS]
    means = estimates(columns, resamples=resamples, seed=seed)
    intervals: dict[str, list[float | None]] = {}
    for name, estimate in zip((*measured, *COSTS), means, strict=True):
        line[name] = round_figure(estimate.mean)
        if ends := ends_of(estimate.low, estimate.high):
            intervals[name] = ends
    line["precision_n"] = sum(record.scores.get("precision") is not None for record in records)
    seconds = [record.seconds for record in records]
    line["seconds_median"] = round_figure(median(seconds)) if seconds else None
    line["model_seconds"] = round_figure(mean([record.usage.seconds for record in records]))
    line["rounds"] = round_figure(mean([float(record.rounds) for record in records]))
    line["adaptive"] = _adaptive(records)
    line["ci"] = intervals
    line["judged"] = {name: _summarise_grades(records, name) for name in METRICS if name in names}
    return line


def _summarise_grades(records: Sequence[Record], name: str) -> dict[str, Any]:
    """Count the answers of each grade and those without one by reason, and average the judge's margin."""
    verdicts = [record.judged[name] for record in records if name in record.judged]
    reasons = Counter(verdict["reason"].partition(":")[0] for verdict in verdicts if verdict["grade"] is None)
    margins = [
        verdict["margin"]
        for verdict in verdicts
        if verdict["grade"] is not None and verdict["margin"] is not None
    ]
    grades = Counter(verdict["grade"] for verdict in verdicts if verdict["grade"] is not None)
    silent = sum(verdict["grade"] is None and verdict["reason"] == ABSTAINED for verdict in verdicts)
    every = [*grades.elements(), *[0] * silent]
    return {
        "n": sum(grades.values()),
        "mean_with_abstentions": round_figure(mean([float(value) for value in every])) if every else None,
        "unscored": sum(reasons.values()),
        "reasons": dict(sorted(reasons.items())),
        "grades": {str(grade): grades[grade] for grade in sorted(grades)},
        "margin_median": round_figure(median(margins)) if margins else None,
    }


def _adaptive(records: Sequence[Record]) -> dict[str, Any] | None:
    """Count how often a strategy that decides for itself whether to retrieve did so; None for others.

    The direct-answer rate, the RA rate (the share with at least one retrieval) and Iters (the mean number of
    retrievals of those) of AC-RAG (Zhang et al. 2025).
    """
    counts = [record.retrievals for record in records if record.retrievals is not None]
    if not counts:
        return None
    retrieved = [float(count) for count in counts if count]
    return {
        "n": len(counts),
        "direct": round_figure(1 - len(retrieved) / len(counts)),
        "ra": round_figure(len(retrieved) / len(counts)),
        "iters": round_figure(mean(retrieved)),
    }


def _confidence(
    label: str,
    records: Mapping[str, Record],
    stated: Mapping[str, float | None],
    *,
    metric: str | None,
    resamples: int,
    seed: int,
) -> dict[str, Any]:
    """Return risk against coverage, and calibration, of one strategy by the deciding metric."""
    scored = [
        ScoredAnswer(score=value, confidence=stated[key])
        for key, record in records.items()
        if record.abstained is None and (value := record.scores.get(metric or "")) is not None
    ]
    curve = risk_coverage(scored, questions=len(records), resamples=resamples, seed=seed)
    return {
        "strategy": label,
        "metric": metric,
        "n": curve.questions,
        "answered": curve.answered,
        "abstained": sum(record.abstained is not None for record in records.values()),
        "unsure": curve.unsure,
        "points": [[round_figure(value) for value in point] for point in curve.points],
        "area": _figure(curve.area),
        "ece": _figure(curve.ece),
        "bins": [
            {**asdict(each), "confidence": round_figure(each.confidence), "score": round_figure(each.score)}
            for each in curve.bins
        ],
    }


def _figure(figure: IntervalFigure | None) -> dict[str, Any] | None:
    return (
        None
        if figure is None
        else {"value": round_figure(figure.value), "ci": ends_of(figure.low, figure.high)}
    )


def _why_withheld(entries: Mapping[str, Entry]) -> str | None:
    failed = sum(entry.state != "done" for entry in entries.values())
    if failed <= FAULT_LIMIT * len(entries):
        return None
    first = next(entry.record.fault for entry in entries.values() if entry.state != "done")
    return f"{failed} of {len(entries)} questions failed, more than {FAULT_LIMIT:.0%}; the first: {first}"


def _notes(journal: Contents, name: str) -> list[str]:
    """Collect the notes of the runs on the rows (the last run saw them all), and on the times."""
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
    """Return every version that wrote here, by what it is a version of."""
    seen: dict[str, set[str]] = defaultdict(set)
    for run in journal.runs:
        for what, version in run.get("versions", {}).items():
            seen[what].add(version)
    return {what: sorted(versions) for what, versions in sorted(seen.items())}


def _spans(numbers: Sequence[int]) -> str:
    """Return row numbers in few words: '0-4, 7'."""
    spans: list[list[int]] = []
    for number in sorted(numbers):
        if spans and number == spans[-1][1] + 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    return ", ".join(f"{a}-{b}" if b > a else f"{a}" for a, b in spans)
