"""Measure how often AC-RAG's pre-check asks for retrieval, by the wording of its question.

    python -m bench.papers.precheck_rate --data ../shared/data --journal FILE

The questions are none that a table reports: the last ones of MIRAGE's parts and of PubMedQA (its test ids left out), and LegalBench's
example rows that are not in `legalbench_rows.txt`. Each is asked the pre-check in both wordings, and answered directly, so
that the AUC says whether the check knows where the model errs.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

from bench.lib.asking import say, table
from bench.lib.options import parser_of
from bench.papers.legal_corpus import LONGEST, ROWS
from disputatio.agents.choice import choose
from disputatio.config import read_settings
from disputatio.eval.data.datasets import load, row_numbers
from disputatio.eval.metrics import score_answer
from disputatio.eval.statistics import estimate
from disputatio.kit import Kit, chat
from disputatio.parts import build_kit
from disputatio.strategies.ac_rag import PRE_CHECK_SYSTEM, PRE_CHECK_TASK, ac_rag, read_menu
from disputatio.types import Example

THRESHOLD = -2.0
BEFORE = (
    "You judge what you know yourself, and no more. You get a question. Reply with one word: Yes when it names any term, "
    "person, thing or fact that you do not understand or do not know, No when you know all of them.",
    "{question}\n\nIs there anything in this question that you do not understand or do not know?",
)
WORDINGS = {"anything not understood or not known (before)": BEFORE, "terms not understood": (PRE_CHECK_SYSTEM, PRE_CHECK_TASK)}  # fmt: skip


def questions(data: Path, each: int) -> dict[str, list[Example]]:
    """Return the last questions of each set that no table reports."""
    sets = {
        name: load(f"mirage:{data / 'mirage' / 'benchmark.json'}#{name}")[-each:]
        for name in ("medqa", "medmcqa", "mmlu")
    }
    pubmed = f"pubmedqa:{data / 'pubmedqa' / 'ori_pqal.jsonl'}"
    tested = {example.id for example in load(f"{pubmed}#test")}
    sets["pubmedqa"] = [example for example in load(pubmed) if example.id not in tested][-each:]
    asked = row_numbers(ROWS)
    legal = load(f"legalbench_examples:{data / 'legalbench' / 'train_rows.jsonl'}")
    legal = [
        e for e in legal if e.row not in asked and len(e.question) <= LONGEST and "options" in e.metadata
    ]
    sets["legalbench"] = random.Random(0).sample(legal, each)
    return sets


def scores(some: Sequence[Example], wording: tuple[str, str], kit: Kit) -> list[float]:
    """Return log P(yes) of the pre-check for each question, as `ac_rag` shows it."""
    system, task = wording
    menus = [read_menu(example.question) for example in some]
    shown = [menu.shown() if menu else e.question for menu, e in zip(menus, some, strict=True)]
    prompts = [chat(system, task.format(question=question)) for question in shown]
    return [choice.logprobs[0] for choice in choose("detector", prompts, ("Yes", "No"), kit)]


def is_wrong(example: Example, kit: Kit) -> bool:
    """Return True if the model's direct answer is wrong."""
    answer = ac_rag(example.question, kit, delta1=float("inf"))
    return not score_answer(answer.answers, example, ("choice",)).get("accuracy")


def auc(values: Sequence[float], wrong: Sequence[bool]) -> float | None:
    """Return the chance that a question answered wrong has the higher score; None if all are alike."""
    pairs = [
        (high > low) + 0.5 * (high == low)
        for high, fails in zip(values, wrong, strict=True)
        if fails
        for low, misses in zip(values, wrong, strict=True)
        if not misses
    ]
    return sum(pairs) / len(pairs) if pairs else None


def main(words: Sequence[str] | None = None, kit: Kit | None = None) -> None:
    """Print the rates as Markdown."""
    parser = parser_of(__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--model", default=None)
    parser.add_argument("--journal", default="none")
    parser.add_argument("--each", type=int, default=12, help="questions of each set")
    arguments = parser.parse_args(words)
    kit = kit or build_kit(read_settings(model=arguments.model, journal=arguments.journal), say=say)
    rows: list[list[object]] = []
    every: dict[str, list[float]] = {name: [] for name in WORDINGS}
    wrong: list[bool] = []
    for name, some in questions(arguments.data, arguments.each).items():
        fails = [is_wrong(example, kit) for example in some]
        wrong += fails
        for wording, prompts in WORDINGS.items():
            found = scores(some, prompts, kit)
            every[wording] += found
            rows.append([name, wording, *_cells(found, fails)])
        say(f"{name}: {len(some)} questions")
    rows += [["all", wording, *_cells(found, wrong)] for wording, found in every.items()]
    print(
        table(["set", "the check asks for", "n", f"RA rate at {THRESHOLD}", "median log P(yes)", "AUC"], rows)
    )


def _cells(found: Sequence[float], wrong: Sequence[bool]) -> list[object]:
    rate = estimate([float(value > THRESHOLD) for value in found])
    area = auc(found, wrong)
    return [
        len(found), f"{rate.mean:.2f} [{rate.low:.2f}, {rate.high:.2f}]", f"{sorted(found)[len(found) // 2]:.2f}",
        "" if area is None else f"{area:.2f}",
    ]  # fmt: skip


if __name__ == "__main__":
    main()
