"""Claims on passages made from questions: the right answer stated, another answer stated, a passage that is silent."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import replace

from disputatio.attribution.alignment import statement
from disputatio.encoder.model import head_of
from train.examples import Example, Unanswerable, occurrences, seeded, shown_title, window
from train.pairs import CONTRADICTS, SILENT, SUPPORTS, Pair

MOST_WORDS = 7  # of an answer that is stated
_DIGIT = re.compile(r"\d")


def shape_of(answer: str) -> str:
    """Return what kind of answer it looks like: one of another kind would give a wrong claim away.

    >>> [shape_of(answer) for answer in ("12 May 1962", "Anna Berg", "the old bridge")]
    ['figure', 'name', 'words']
    """
    if _DIGIT.search(answer):
        return "figure"
    return "name" if answer[:1].isupper() else "words"


class Claims:
    """Makes a claim and a passage of an answerable question, of one of five kinds."""

    def __init__(self, examples: Sequence[Example]) -> None:
        self._twins = Unanswerable(examples)
        self._answers: dict[tuple[str, str, str], list[str]] = {}
        for example in examples:
            for answer in example.answers[:1]:
                key = (example.dataset, example.title, shape_of(answer))
                self._answers.setdefault(key, []).append(answer)

    def pair(self, example: Example, chance: random.Random, *, least: int, most: int) -> Pair | None:
        """Return a claim on the example's passage, or None where it has no short answer or no other to put
        for it.
        """
        if not example.spans or len(example.answers[0].split()) > MOST_WORDS:
            return None
        answer = chance.choice(example.answers)
        kind = chance.choice(("supported", "supported", "other", "substituted", "kept", "silent", "silent"))
        shown = window(example, chance, least, most)
        label = {"supported": SUPPORTS, "kept": SUPPORTS, "silent": SILENT}.get(kind, CONTRADICTS)
        stated = answer
        if kind == "silent":
            twin = self._twins.twin(example, chance)
            if twin is None:
                return None
            shown = window(twin, chance, least, most)
        elif kind != "supported":
            other = self._other(example, answer, chance)
            if other is None:
                return None
            if kind == "other":  # the passage as it is, another answer claimed
                stated = other
            else:  # an altered passage; what it said is claimed, or what it says now
                text = shown.text
                for start, end in sorted(occurrences(text, answer), reverse=True):
                    text = text[:start] + other + text[end:]
                shown, stated = replace(shown, text=text), other if kind == "kept" else answer
        title = shown_title(shown.title) if chance.random() < 0.5 else ""
        return Pair(
            id=f"claims/{kind}/{example.id}",
            dataset="claims",
            group=example.group,
            head="entail",
            first=statement(example.question, stated),
            second=head_of(title) + shown.text,
            label=label,
        )

    def _other(self, example: Example, answer: str, chance: random.Random) -> str | None:
        """Return an answer of the same shape from the same page, none of the example's own."""
        answers = self._answers.get((example.dataset, example.title, shape_of(answer)), [])
        own = {known.casefold() for known in example.answers}
        for other in chance.sample(answers, min(8, len(answers))):
            folded = other.casefold()
            if not any(folded in known or known in folded for known in own):
                return other
        return None


def claims_of(
    examples: Sequence[Example], *, share: float, seed: int, epoch: int, least: int, most: int
) -> list[Pair]:
    """Return claims on a share of the examples, the same for the same seed and epoch."""
    maker = Claims(examples)
    pairs = []
    for example in examples:
        chance = seeded(seed, epoch, "claim", example.id)
        if chance.random() < share:
            pair = maker.pair(example, chance, least=least, most=most)
            pairs += [pair] if pair is not None else []
    return pairs
