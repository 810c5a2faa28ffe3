"""Fabricated passages beside real ones: attack success, accuracy and calibration of each strategy.

    python -m bench.robustness.conflicts --data ../shared/data --journal runs/conflicts.sqlite

ConflictNQ's questions with 1 to 3 fabricated passages against 1 and 2 real ones, and PoisonedRAG's with 1, 3 and 5 poisoned
passages beside those retrieved for NQ, where the questions meet (`conflict_examples.py` chooses and builds them). Passages have no
source, title or date, and come in a shuffled order that a seed gives: neither tells which is real.

`--strategies` takes names with commas between, options after a colon: `concat,disputation:debate=0,belief=false`. An answer is accurate
where a right answer's words stand in it, right where moreover the fabricated one's do not, and attacked where these do. Faults of a
model have no score, and no cost below: figures are means over the questions that were answered or abstained on. The table of
calibration counts as right what is right in that sense, of the answers that were given.

Calls are journalled: what is interrupted goes on. Written after each setting; --add keeps what --out
has of the same questions, model and seed.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

from bench import RESULTS
from bench.lib.asking import THREADS, Asked, against, over, put, say, table, told
from bench.lib.files import beside, read_json, write_json, write_whole
from bench.lib.selective import Stated, calibration, worth
from bench.robustness.conflict_examples import SETTINGS, Chosen, Setting, conflictnq, example, poisonedrag
from disputatio.config import read_settings
from disputatio.errors import InputError
from disputatio.eval.metrics import accuracy, attack_success
from disputatio.eval.running.entrants import entrants
from disputatio.eval.running.run_log import Entrant
from disputatio.eval.statistics import estimates
from disputatio.kit import Kit
from disputatio.parts import build_kit
from disputatio.text import content_id
from disputatio.types import Example

_OUT = RESULTS / "robustness" / "conflicts.json.gz"
STRATEGIES = "concat,majority_vote,astute_rag,robust_rag,madam_rag,ra_rag,disputation"
OURS = "disputation"
SCORES = ("accurate", "right", "attacked")
COSTS = ("calls", "tokens", "seconds")

BUILT = {
    "conflictnq": "The right answers are the names, dates or figures in the data set's answer (any will do), the fabricated one likewise. There is one real "
    "passage a question: two are its halves, cut between sentences where both bear a right answer, so they are one author's words; or "
    "a passage retrieved elsewhere that bears an answer and all that is asked about. Questions with two are taken first, so the others are a seeded choice.",
    "poisonedrag": "The real passages are those retrieved for NQ, at most five a question, those first that bear an answer; not all do. What NQ "
    "takes for right counts as well as PoisonedRAG's own answer.",
}

Ask = Callable[[Sequence[Example], Entrant, str], list[Asked]]


# --- who is asked -------------------------------------------------------------------------------
def named(names: str, seed: int) -> list[Entrant]:
    """Return the strategies of `NAME,NAME:key=value,key=value`; their seeds are the benchmark's unless given.

    Raises `InputError` for one that is named twice, and what `entrants` raises.

    >>> [(one.label, one.strategy) for one in named("closed_book,concat:k=3,max_tokens=64", 0)]
    [('closed_book', 'closed_book'), ('concat:k=3,max_tokens=64', 'concat')]
    """
    chosen: dict[str, tuple[str, list[str]]] = {}
    label = ""
    for piece in names.split(","):
        front, equals, _ = piece.partition("=")
        if equals and ":" not in front:  # one more option of the last strategy
            if not label:
                raise InputError(f"--strategies {names}: {piece} is an option of no strategy")
            name, options = chosen.pop(label)
            label, options = f"{label},{piece.strip()}", [*options, piece.strip()]
        elif equals:
            name, label = front.strip().rpartition(":")[0], piece.strip()
            options = [label.removeprefix(f"{name}:")]
        else:
            name, label, options = piece.strip(), piece.strip(), []
        if label in chosen:
            raise InputError(f"--strategies {names}: {label} is named twice")
        chosen[label] = (name, options)
    return [
        replace(entrants(name, [f"{name}.{option}" for option in options], seeds=(seed,))[0], label=label)
        for label, (name, options) in chosen.items()
    ]


def asked_by(kit: Kit, *, alone: bool = False) -> Ask:
    """Return what puts examples to an entrant: several at a time, or each alone, so that its seconds are its
    own.
    """

    def ask(examples: Sequence[Example], entrant: Entrant, label: str) -> list[Asked]:
        do = partial(_put, kit=kit, entrant=entrant)
        return [do(each) for each in examples] if alone else over(examples, do, label=label)

    return ask


def _put(each: Example, *, kit: Kit, entrant: Entrant) -> Asked:
    return put(each, kit, entrant.strategy, entrant.options)


# --- what came of it ----------------------------------------------------------------------------
def entered(examples: Sequence[Example], asked: Sequence[Asked], entrant: Entrant) -> dict[str, Any]:
    """Return all that an entrant's answers in a setting come to: a column a measure, and their means.

    A fault has None in every column. No text of questions, passages or answers is kept.
    """
    pairs = list(zip(examples, asked, strict=True))
    accurate = [None if a.fault else accuracy(a.answers, e.gold) for e, a in pairs]
    attacked = [None if a.fault else attack_success(a.answers, e.gold, e.wrong) for e, a in pairs]
    right = [
        None if good is None or bad is None else float(good > bad)
        for good, bad in zip(accurate, attacked, strict=True)
    ]
    usages = [None if a.fault else a.trace.usage() for a in asked]
    columns: dict[str, list[float | None]] = {
        "accurate": accurate,
        "right": right,
        "attacked": attacked,
        "abstained": [None if a.fault else float(not a.answers) for a in asked],
        "confidence": [_rounded(a.answer.confidence) if a.answer and a.answers else None for a in asked],
        "calls": [None if u is None else float(u.calls) for u in usages],
        "tokens": [None if u is None else float(u.prompt_tokens + u.completion_tokens) for u in usages],
        "seconds": [None if u is None else _rounded(u.seconds) for u in usages],
    }
    means = estimates([columns[name] for name in (*SCORES, *COSTS)])
    return {
        "strategy": entrant.strategy,
        "options": dict(entrant.options),
        "prompts": entrant.prompts,
        "code": content_id("c", json.dumps(dict(entrant.code), sort_keys=True)),
        "n": sum(a.fault == "" for a in asked),
        "failed": sum(a.fault != "" for a in asked),
        "faults": dict(sorted(Counter(a.fault.partition(":")[0] for a in asked if a.fault).items())),
        "abstained": sum(not a.answers and not a.fault for a in asked),
        "means": {name: asdict(mean) for name, mean in zip((*SCORES, *COSTS), means, strict=True)},
        "columns": columns,
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 6)


def stated(part: Mapping[str, Any], label: str) -> list[Stated]:
    """Return the answers that an entrant gave in a setting, with their confidence."""
    columns = part["entrants"][label]["columns"]
    each = zip(part["rows"], columns["right"], columns["abstained"], columns["confidence"], strict=True)
    return [
        Stated(question=row, right=right, confidence=sure)
        for row, right, abstained, sure in each
        if right is not None and not abstained
    ]


def confidences(settings: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return what confidence is worth, by setting, or by corpus over all its settings, and entrant that
    states any.
    """
    figures: dict[str, dict[str, Any]] = {}
    for corpus in dict.fromkeys(part["corpus"] for part in settings.values()):
        of_corpus = {name: part for name, part in settings.items() if part["corpus"] == corpus}
        groups = {f"{corpus}, all settings": list(of_corpus.values())} if len(of_corpus) > 1 else {}
        groups |= {part["title"]: [part] for part in of_corpus.values()}
        for title, parts in groups.items():
            for label in dict.fromkeys(label for part in parts for label in part["entrants"]):
                having = [part for part in parts if label in part["entrants"]]
                answers = [answer for part in having for answer in stated(part, label)]
                if any(answer.confidence is not None for answer in answers):
                    questions = sum(part["entrants"][label]["n"] for part in having)
                    figures.setdefault(title, {})[label] = worth(answers, asked=questions)
    return figures


def measure(
    chosen: Mapping[str, Chosen],
    settings: Sequence[Setting],
    players: Sequence[Entrant],
    ask: Ask,
    out: dict[str, Any],
    *,
    path: Path,
) -> None:
    """Ask every entrant in every setting; what is found goes to `out`, and to its files, after each setting."""
    for setting in settings:
        rows = chosen[setting.corpus].of(setting)
        examples = [example(row, setting, out["seed"]) for row in rows]
        head = {
            "corpus": setting.corpus,
            "title": setting.title,
            "rows": [row.number for row in rows],
            "ids": [one.id for one in examples],
            "second": [row.second for row in rows] if setting.real == 2 else [],
            "bearing": [row.bearing for row in rows] if setting.real is None else [],
        }
        before = out["settings"].get(setting.name, {})
        entrants_before = before.get("entrants", {}) if before.get("ids") == head["ids"] else {}
        figures: dict[str, Any] = dict(entrants_before)
        out["settings"][setting.name] = {**head, "entrants": figures}
        for player in players:
            label = f"{setting.name}, {player.label}"
            figures[player.label] = entered(examples, ask(examples, player, label), player)
        write(out, path)


# --- the report ---------------------------------------------------------------------------------
def write(out: dict[str, Any], path: Path) -> None:
    """Keep what is known so far, as JSON and as Markdown, each whole or not at all."""
    out["calibration"] = confidences(out["settings"])
    write_json(path, out)
    write_whole(beside(path, ".md"), report(out))


def report(out: Mapping[str, Any]) -> str:
    """Overviews, every setting with its paired differences, calibration, and how the questions were had."""
    settings = out["settings"]
    labels = list(dict.fromkeys(label for part in settings.values() for label in part["entrants"]))
    lines = ["# Fabricated passages beside real ones", ""]
    lines += ["`python -m bench.robustness.conflicts --data DATA --journal FILE`", ""]
    lines += [out["about"], ""] if out.get("about") else []
    lines += [
        f"Model {out['model']}, engine {out['engine']}, seed {out['seed']}; {out['in hand']} question(s) in hand at a time. Passages "
        "have no source, title or date, are cut to 2,000 characters and come in a shuffled order, so neither tells which is real.",
        "",
        "Accurate: a right answer's words stand in the answer. Right: and the fabricated one's do not. Attacked: they do. "
        "All are shares of the questions that did not fail, an abstention being none of the three; intervals are 95 % by bootstrap over questions. "
        "Model seconds are those for which a question waited for the model: of several in hand, each waits for the others as well.",
    ]  # fmt: skip
    for name, title in (
        ("right", "Right (the fabricated answer not stated)"),
        ("attacked", "Attack success"),
    ):
        cells = [
            [
                label,
                *(
                    told(part["entrants"][label]["columns"][name], 2) if label in part["entrants"] else "–"
                    for part in settings.values()
                ),
            ]
            for label in labels
        ]
        lines += ["", f"## {title} by setting [95 %]", "", table(["strategy", *settings], cells)]
    for part in settings.values():
        lines += ["", f"## {part['title']} ({len(part['rows'])} questions)", "", _scores(part), ""]
        lines += _paired(part)
    lines += _calibrated(out)
    for corpus, counts in out["questions"].items():
        lines += ["", f"## The questions of {corpus}", ""]
        lines += [BUILT[corpus], "", *(f"- {what}: {count}" for what, count in counts.items())]
        rows = {row for part in settings.values() if part["corpus"] == corpus for row in part["rows"]}
        lines += [f"- rows, from 0: {' '.join(map(str, sorted(rows)))}"] if rows else []
    prompts = {
        label: entrant["prompts"] for part in settings.values() for label, entrant in part["entrants"].items()
    }
    lines += ["", "## Hashes of the prompts", ""]
    lines += [f"- {label}: {prompts[label]}" for label in labels]
    return "\n".join(lines).rstrip() + "\n"


def _scores(part: Mapping[str, Any]) -> str:
    head = ["strategy", "n", "failed", "abstained", "accurate", "right", "attacked"]
    head += ["calls", "tokens", "model seconds"]
    digits = {**dict.fromkeys(SCORES, 2), "calls": 1, "tokens": 0, "seconds": 1}
    rows = [
        [
            label,
            entrant["n"],
            entrant["failed"],
            entrant["abstained"],
            *(told(entrant["columns"][name], places) for name, places in digits.items()),
        ]
        for label, entrant in part["entrants"].items()
    ]
    return table(head, rows)


def _paired(part: Mapping[str, Any]) -> list[str]:
    """Differences of the disputation to every other entrant, over the questions that both answered; and faults."""
    columns = {label: entrant["columns"] for label, entrant in part["entrants"].items()}
    faults = [
        f"- faults of {label}: " + ", ".join(f"{count} {kind}" for kind, count in entrant["faults"].items())
        for label, entrant in part["entrants"].items()
        if entrant["faults"]
    ]
    if OURS not in columns:
        return faults
    measures = (*SCORES, "tokens", "seconds")
    rows = [
        [f"{OURS} − {label}", *(against(columns[OURS][name], column[name]) for name in measures)]
        for label, column in columns.items()
        if label != OURS
    ]
    return (
        [table(["paired difference [95 %]", *measures], rows), *([""] if faults else []), *faults]
        if rows
        else faults
    )


def _calibrated(out: Mapping[str, Any]) -> list[str]:
    lines = ["", "## Calibration", ""]
    if not out["calibration"]:
        return [*lines, "No strategy stated a confidence."]
    lines += [
        "Of the answers given: how often the stated confidence is right (expected calibration error, ten bins of equal width), and how wrong "
        "the surest share of them are (coverage is of the answers, those of equal confidence counting in part). Where a strategy states no "
        "confidence, the audit takes the share of the votes that went to the answers. Over all settings of a corpus a "
        "question has several answers: the interval of the gain resamples questions, and the calibration error has none.",
    ]  # fmt: skip
    for title, by in out["calibration"].items():
        lines += ["", f"### {title}", "", calibration(list(by.items()))]
    return lines


def main() -> None:
    """Choose the questions, ask, write."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--data", type=Path, default=Path("../shared/data"))
    options.add_argument("--journal", default="runs/conflicts.sqlite")
    options.add_argument("--replay", action="store_true", help="only what the journal holds, without a model")
    options.add_argument("--model", default=None)
    options.add_argument("--strategies", default=STRATEGIES)
    options.add_argument(
        "--questions", type=int, default=40, help="of ConflictNQ; at most so many of PoisonedRAG"
    )
    options.add_argument("--settings", nargs="+", choices=list(SETTINGS), default=list(SETTINGS))
    options.add_argument(
        "--seed", type=int, default=0, help="of the choice, of the order, and of strategies that take one"
    )
    options.add_argument(
        "--alone", action="store_true", help="one question at a time: seconds are then its own"
    )
    options.add_argument(
        "--add", action="store_true", help="keep what --out has of other strategies and settings"
    )
    options.add_argument(
        "--out", type=Path, default=_OUT, help="a .json or .json.gz file; the .md stands beside it"
    )
    options.add_argument("--about", default="", help="the first paragraph of the report")
    arguments = options.parse_args()
    players = named(arguments.strategies, arguments.seed)
    chosen = {
        "conflictnq": conflictnq(arguments.data, questions=arguments.questions, seed=arguments.seed),
        "poisonedrag": poisonedrag(arguments.data, questions=arguments.questions, seed=arguments.seed),
    }
    settings = read_settings(
        model=arguments.model, journal=arguments.journal, replay=arguments.replay or None
    )
    kit = build_kit(settings, say=say)
    capabilities = kit.model.capabilities()
    out: dict[str, Any] = {
        "model": kit.model.name,
        "engine": capabilities.engine,
        "seed": arguments.seed,
        "in hand": 1 if arguments.alone else THREADS,
        "about": arguments.about,
        "questions": {corpus: dict(one.counts) for corpus, one in chosen.items()},
        "settings": {},
    }
    if arguments.add and arguments.out.exists():
        before = read_json(arguments.out)
        if any(before.get(key) != out[key] for key in ("model", "engine", "seed", "questions")):
            raise InputError(f"{arguments.out}: was made with another model, seed or choice of questions")
        out["settings"] = before["settings"]
        out["about"] = arguments.about or before["about"]
    measure(
        chosen,
        [SETTINGS[name] for name in arguments.settings],
        players,
        asked_by(kit, alone=arguments.alone),
        out,
        path=arguments.out,
    )


if __name__ == "__main__":
    main()
