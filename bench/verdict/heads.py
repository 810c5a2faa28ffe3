"""Measure the trained reader's heads *entail*, *same* and *support* in the engine, beside the untrained model on the same rows.

    python -m bench.verdict.heads --data DATA --out heads.jsonl [--sets SET ...] [--limit N] [--minutes N] [--show]

* `expertqa`: a claim and all its evidence, by *entail* and by the judge of citations as it is; so is what an expert calls Complete.
* `answers`, `references`: an answer by its reference, and the other way round; so is what a 70B model grades 1 or more.
* `ramdocs`, `wikidata`: pairs of passages about one thing (so) or two, asked in both orders; the untrained model in the same words.
* `support`: what the default's reader reads in passages of RAMDocs; so is what the passage is listed to answer. The answer's
  own certainty and what the encoder says of the passage stand beside it.

Every batch is on disk before the next; the same command goes on where it was stopped, and asks again what failed.
"""

from __future__ import annotations

import argparse
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from bench.lib.agreement import kappa, resampled, roc_auc
from bench.lib.asking import say, table, told
from bench.lib.files import add_lines, read_lines
from bench.lib.options import parser_of
from bench.papers.claim_verification import LABELS, bare, drawn, is_usable
from bench.verdict.corpora import ramdocs
from disputatio.agents.replies import shown
from disputatio.agents.trained_reader import CHOICES, about_of, claim_of, judge_of, prompt_of
from disputatio.attribution.entailment import JUDGE_SYSTEM, JUDGE_TASK
from disputatio.config import read_settings
from disputatio.errors import DisputatioError
from disputatio.eval.data.datasets import load
from disputatio.kit import TRAINED_READER, Kit, chat
from disputatio.parts import build_kit
from disputatio.strategies.disputation.reading import MAX_TOKENS, read
from disputatio.text import fence, one_line
from disputatio.trace import Trace
from disputatio.types import Example, Passage, Prompt
from train.measure_pairs import disambiguation_pairs, evenly
from train.pairs import Pair, namesake_pairs
from train.scores import contains

CLAIMS, ANSWERS, PAIRS, EVERY = 250, 200, 240, 2  # drawn of each set; one row of RAMDocs in so many is read
SEED, AT_ONCE, ROWS = 0, 8, 2  # cases of a set in one turn, and rows that are read
SETS = ("expertqa", "answers", "references", "ramdocs", "wikidata", "support")
TRAINED, UNTRAINED, QUOTE = "trained", "untrained", "trained, quote alone"
FREE = ("certainty", "encoder")  # what is known of a reading without asking
GRADES = ("right", "wrong", "none")  # in the order of *entail*'s replies

Line = dict[str, Any]
Row = Mapping[str, Line]  # what each arm says of one case
Asks = Mapping[str, tuple[str, tuple[str, ...], tuple[Prompt, ...]]]  # of each arm: role, replies, prompts
Case = tuple[Line, Asks]  # what is kept of something to be judged, and how it is asked
Statistic = Callable[[Sequence[Row]], float | None]


def line_of(of: str, case: str, group: str, kind: str, so: bool) -> Line:
    """Return what is known of a case; its group (the question, or the row) is what is resampled."""
    return {"of": of, "id": case, "group": group, "kind": kind, "so": so, "fault": ""}


def claim_case(line: Line, premise: str, claim: str) -> Case:
    """Return a claim against a text, by *entail* and in the words of the judge."""
    trained = prompt_of("entail", shown(Passage(text=premise)), claim_of(claim))
    task = JUDGE_TASK.format(premise=fence("quote", premise), hypothesis=one_line(claim))
    untrained = ("judge", ("Yes", "No"), (chat(JUDGE_SYSTEM, task),))
    return line, {TRAINED: (TRAINED_READER, CHOICES["entail"], (trained,)), UNTRAINED: untrained}


def pair_case(of: str, pair: Pair) -> Case:
    """Return two passages in both orders."""
    about, _, first = pair.first.removeprefix("About: ").partition("\n")
    texts = [shown(Passage(text=text)) for text in (first, pair.second)]
    prompts = tuple(prompt_of("same", about_of(about, a), b) for a, b in (texts, texts[::-1]))
    arms = ((TRAINED, TRAINED_READER), (UNTRAINED, "judge"))
    line = line_of(of, pair.id, pair.group or pair.id, "", bool(pair.label))
    return line, {arm: (role, CHOICES["same"], prompts) for arm, role in arms}


def support_case(reading: Line) -> Case:
    """Return a kept reading to be judged by its passage, and by its quote alone."""
    arms = ((TRAINED, TRAINED_READER, "text"), (QUOTE, TRAINED_READER, "quote"), (UNTRAINED, "judge", "text"))
    judged = judge_of(reading["question"], reading["answer"])
    line = line_of("support", *(reading[key] for key in ("id", "group", "kind", "so")))
    return line, {
        arm: (role, CHOICES["support"], (prompt_of("support", shown(Passage(text=reading[key])), judged),))
        for arm, role, key in arms
    }


def grade_of(correctness: float) -> str:
    """Return a grade from -1 to 2 as one of three.

    >>> [grade_of(grade) for grade in (-1.0, 0.5, 1.8)]
    ['wrong', 'none', 'right']
    """
    return "right" if correctness >= 1 else "wrong" if correctness < 0 else "none"


def cases_of(data: Path) -> list[list[Case]]:
    """Return the cases of each set but *support*, in an order that tells nothing."""
    experts = load(f"expertqa:{data / 'expertqa' / 'claim_judgements.jsonl'}")
    graded = load(f"judged_answers:{data / 'judged_answers' / 'judged_answers.jsonl'}")
    claims, answers, references = [], [], []
    for one in drawn([one for one in experts if is_usable(one)], CLAIMS, SEED):
        support, evidence = one.metadata["support"], "\n\n".join(text.text for text in one.passages)
        line = line_of("expertqa", one.id, one.question, support, LABELS[support])
        claims.append(claim_case(line, evidence, bare(one.metadata["claim"])))
    for one in drawn(graded, ANSWERS, SEED):
        grade, answer = grade_of(float(one.metadata["correctness"])), str(one.metadata["answer"])
        line = line_of("answers", one.id, one.question, grade, grade == "right")
        answers.append(claim_case(line, one.gold[0], answer))
        references.append(claim_case({**line, "of": "references"}, answer, one.gold[0]))
    sets = [claims, answers, references]
    rows = namesake_pairs(data / "ramdocs" / "dev.jsonl", ["report"])
    for of, pairs in (("ramdocs", rows), ("wikidata", disambiguation_pairs(data))):
        kinds = [evenly([each for each in pairs if each.label == label], PAIRS // 2) for label in (0, 1)]
        sets.append([pair_case(of, pair) for some in kinds for pair in some])
    for cases in sets:
        random.Random(SEED).shuffle(cases)
    return sets


def run(asked: argparse.Namespace, kit: Kit) -> None:
    """Ask what has not been asked yet, until the minutes are over: a few cases of every set, then the next."""
    ends = time.monotonic() + 60 * (asked.minutes or 1e6)
    kept = lines_of(asked.out)
    done = {(each["of"], each["id"], each["arm"]) for each in kept if not each["fault"]}
    read_ = {each["id"]: each for each in kept if each["of"] == "reading"}
    rows = ramdocs(asked.data).to_report()[::EVERY][: asked.limit] if "support" in asked.sets else []
    sets = [cases[: asked.limit] for cases in cases_of(asked.data) if cases[0][0]["of"] in asked.sets]
    for turn in range(max(CLAIMS, ANSWERS, PAIRS) // AT_ONCE + 1):
        batches = [cases[turn * AT_ONCE : (turn + 1) * AT_ONCE] for cases in sets]
        for row in rows[turn * ROWS : (turn + 1) * ROWS]:
            if f"{row.row}/0" not in read_ and time.monotonic() < ends:
                add_lines(asked.out, found := readings(kit, row))
                read_ |= {each["id"]: each for each in found}
            own = [each for each in read_.values() if each["group"] == str(row.row) and each["answer"]]
            batches.append([support_case(each) for each in own])
        for cases in filter(None, batches):
            for arm in cases[0][1]:
                some = [one for one in cases if (one[0]["of"], one[0]["id"], arm) not in done]
                if some and time.monotonic() < ends:
                    add_lines(asked.out, judged(kit, arm, some))
        say(f"turn {turn}")


def judged(kit: Kit, arm: str, cases: Sequence[Case]) -> list[Line]:
    """Return what an arm says of some cases, asked in one batch."""
    lines = [{**line, "arm": arm} for line, _ in cases]
    role, options, prompts = cases[0][1][arm]
    every = [prompt for _, asks in cases for prompt in asks[arm][2]]
    try:
        choices = kit.with_trace(Trace()).choose(role, every, options)
    except DisputatioError as error:
        return [{**line, "fault": f"{type(error).__name__}: {error}"[:120]} for line in lines]
    for number, line in enumerate(lines):
        some = choices[number * len(prompts) : (number + 1) * len(prompts)]
        line["logprobs"] = [choice.logprobs for choice in some]
        line["tokens"] = sum(choice.usage.prompt_tokens for choice in some)
    return lines


def readings(kit: Kit, row: Example) -> list[Line]:
    """Return what the default's reader makes of each passage of a row; of noise "unknown" is listed."""
    lines = []
    made = read(row.question, row.passages, kit.with_trace(Trace()), "llm", max_tokens=MAX_TOKENS)
    known = zip(made, row.metadata["types"], row.metadata["answers"], strict=True)
    for place, (reading, kind, listed) in enumerate(known):
        so = contains(reading.answer, [listed])
        line = line_of("reading", f"{row.row}/{place}", str(row.row), kind, so)
        line |= {"arm": "default", "question": row.question, "text": reading.passage.text}
        line |= {"answer": reading.answer, "quote": reading.reply.quote, "fault": reading.reply.fault or ""}
        lines.append({**line, "certainty": reading.reply.certainty, "encoder": reading.answered})
    return lines


def lines_of(path: Path) -> list[Line]:
    """Return the answers so far; of what was asked again the last."""
    return list({(line["of"], line["id"], line["arm"]): line for line in read_lines(path)}.values())


def odds(logprobs: Sequence[Sequence[float]]) -> tuple[float, int]:
    """Return the log-odds of the first reply and the place of the likeliest, of the mean over both orders.

    >>> odds([[-1.0, -2.0]]), odds([[-1.0, -2.0], [-4.0, -1.0]])
    ((1.0, 0), (-1.0, 1))
    """
    means = np.mean(np.asarray(logprobs, dtype=np.float64), axis=0)
    return float(means[0] - np.logaddexp.reduce(means[1:])), int(np.argmax(means))


def auc(arm: str, rows: Sequence[Row]) -> float | None:
    return roc_auc([row[arm]["score"] for row in rows], [row[arm]["so"] for row in rows])


def agreement(arm: str, rows: Sequence[Row]) -> float | None:
    return kappa([(row[arm]["reply"] == 0, row[arm]["so"]) for row in rows])


def of_grades(arm: str, rows: Sequence[Row]) -> float | None:
    return kappa([(GRADES[row[arm]["reply"]], row[arm]["kind"]) for row in rows])


def ahead(
    measure: Callable[[str, Sequence[Row]], float | None], arm: str, rows: Sequence[Row]
) -> float | None:
    """Return by how much the trained head is ahead of an arm, None where either has no figure."""
    ours, theirs = measure(TRAINED, rows), measure(arm, rows)
    return None if ours is None or theirs is None else ours - theirs


def over_groups(rows: Sequence[Row], statistic: Statistic) -> str:
    """Write a statistic with its interval over resampled groups: claims of one question are not apart."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(row[TRAINED]["group"], []).append(row)
    found = resampled(list(groups.values()), lambda some: statistic([row for group in some for row in group]))
    if found.mean is None or found.low is None or found.high is None:
        return "–"
    return f"{found.mean:.3f} [{found.low:.3f}, {found.high:.3f}]"


def rows_of(lines: Sequence[Line], of: str) -> list[Row]:
    """Return what every arm has judged of a set without a fault; a reading's own signals are arms, too."""
    by_arm: dict[str, dict[str, Line]] = {}
    for line in lines:
        if line["of"] == of:
            by_arm.setdefault(line["arm"], {})
            if not line["fault"]:
                score, reply = odds(line["logprobs"])
                by_arm[line["arm"]][line["id"]] = {**line, "score": score, "reply": reply}
        elif line["of"] == "reading" and of == "support":
            for arm in FREE:
                by_arm.setdefault(arm, {})
                if line[arm] is not None:
                    by_arm[arm][line["id"]] = {**line, "score": line[arm]}
    common = sorted(set.intersection(*map(set, by_arm.values())))
    return [{arm: some[each] for arm, some in by_arm.items()} for each in common]


def shown_lines(lines: Sequence[Line]) -> Iterator[str]:
    """Yield the table of each set over what all its arms have judged, and by how much the trained head is ahead."""
    for of in dict.fromkeys(line["of"] for line in lines if line["of"] != "reading"):
        if not (rows := rows_of(lines, of)):
            continue
        arms = [arm for arm in rows[0] if arm not in FREE]
        faults = Counter(line["arm"] for line in lines if line["of"] == of and line["fault"])
        so = sum(row[TRAINED]["so"] for row in rows)
        yield f"## {of}\n\n{len(rows)} cases, {so} of them so: {dict(Counter(row[TRAINED]['kind'] for row in rows))}\n"
        cells = []
        for arm in arms:
            said = [row[arm]["reply"] == 0 for row in rows]
            right = told([float(each == row[arm]["so"]) for each, row in zip(said, rows, strict=True)])
            figures = [over_groups(rows, partial(measure, arm)) for measure in (auc, agreement)]
            tokens = told([float(row[arm]["tokens"]) for row in rows], 0)
            cells.append([arm, faults[arm], sum(said), right, *figures, tokens])
        yield table(["", "failed", "told so", "accuracy", "AUC", "kappa", "tokens"], cells) + "\n"
        for arm in [each for each in rows[0] if each != TRAINED]:
            yield f"- AUC, {TRAINED} − {arm}: {over_groups(rows, partial(ahead, auc, arm))}"
            if arm in FREE:
                yield f"- AUC, {arm}: {over_groups(rows, partial(auc, arm))}"
        if UNTRAINED in arms:
            yield f"- kappa, {TRAINED} − {UNTRAINED}: {over_groups(rows, partial(ahead, agreement, UNTRAINED))}"
        if of in ("answers", "references"):
            yield f"- kappa of right, wrong and none, {TRAINED}: {over_groups(rows, partial(of_grades, TRAINED))}"
        yield ""


def main(words: Sequence[str] | None = None, kit: Kit | None = None) -> None:
    """Ask, or show."""
    options = parser_of(__doc__)
    options.add_argument("--data", type=Path, default=Path("../shared/data"))
    options.add_argument("--out", type=Path, required=True)
    options.add_argument(
        "--journal", default="none", help="of calls that were made before, as those of readers"
    )
    options.add_argument("--sets", nargs="*", choices=SETS, default=SETS)
    options.add_argument("--limit", type=int, help="cases of each set at most")
    options.add_argument("--minutes", type=float, default=0.0, help="stop after so many, to go on later")
    options.add_argument("--show", action="store_true")
    asked = options.parse_args(words)
    if not asked.show:
        run(asked, kit or build_kit(read_settings(journal=asked.journal), say=say))
    print("\n".join(shown_lines(lines_of(asked.out))))


if __name__ == "__main__":
    main()
