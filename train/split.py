"""The split of examples: to train on, to watch, and to calibrate probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from train.claims import claims_of
from train.examples import (
    RETRIEVED,
    Example,
    Mix,
    Unanswerable,
    natural_questions,
    question_form,
    questions_elsewhere,
    ramdocs,
    seeded,
    shown_title,
    side,
    squad_like,
)
from train.pairs import Pair, all_pairs, side_of


def training_examples(data: Path) -> tuple[list[Example], list[Example]]:
    """Return the examples to train on and those kept to watch (both sides of the split by context or row)."""
    elsewhere = questions_elsewhere(data)
    squads = [one for one in squad_like(data / "train") if question_form(one.question) not in elsewhere]
    parts: dict[str, list[Example]] = {}
    for part in ("train", "dev"):
        parts[part] = [one for one in squads if side(one.group) == part]
        parts[part] += ramdocs(data / "ramdocs" / "dev.jsonl", [part])
        parts[part] += natural_questions(data / "nq_with_passages" / "nq.jsonl", [part], without=elsewhere)
    return parts["train"], parts["dev"]


def dev_sample(examples: Sequence[Example], seed: int, each: int = 90) -> list[Example]:
    """At most `each` examples of a data set to watch, the same at every step; half of those that always answer
    are given another passage of their page."""
    twins = Unanswerable(examples)
    by_set: dict[str, list[Example]] = {}
    for one in examples:
        by_set.setdefault(one.dataset, []).append(one)
    chosen = []
    for name, some in sorted(by_set.items()):
        chance = seeded(seed, "dev", name)
        sample = chance.sample(some, min(each, len(some)))
        for place, one in enumerate(sample):
            turned = None
            if one.spans and name not in RETRIEVED and name != "squad2_dev" and place % 2:
                turned = twins.twin(one, chance)
            turned = turned or one
            chosen.append(replace(turned, title=shown_title(turned.title)))
    return chosen


def calibration_examples(data: Path) -> list[Example]:
    """Return the kept examples of the retrieved sets and some of each other set: nothing trained on or
    reported.
    """
    _, kept = training_examples(data)
    retrieved = [replace(one, title=shown_title(one.title)) for one in kept if one.dataset in RETRIEVED]
    chosen = [one for place, one in enumerate(retrieved) if one.dataset == "ramdocs" or place % 2]
    return chosen + dev_sample([one for one in kept if one.dataset not in RETRIEVED], 0, 25)


def calibration_pairs(data: Path, each: int = 400) -> list[Pair]:
    """Kept pairs: at most `each` of a set of claims or of passages, and as many claims made of kept questions."""
    _, kept = training_examples(data)
    claims = claims_of(kept, share=1.0, seed=0, epoch=0, least=Mix().least_words, most=Mix().most_words)
    by_set: dict[str, list[Pair]] = {"claims": claims}
    for pair in all_pairs(data):
        if side_of(pair) == "dev":
            by_set.setdefault(pair.dataset, []).append(pair)
    chosen = []
    for name, some in sorted(by_set.items()):
        chosen += seeded(0, "calibration", name).sample(some, min(each, len(some)))
    return chosen
