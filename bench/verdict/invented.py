"""Questions on invented towns, bridges and people: what a model holds of them is chance, so belief may do no harm here.

Every question has three passages, worded differently: two give the right answer, one another. Names are made of
syllables, so that no model has met them; what is right is drawn by the row.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from disputatio.types import Example, Passage

QUESTIONS = 80
_FIRST = ("Sev", "Tarn", "Ostr", "Quel", "Merv", "Hald", "Brin", "Vosk", "Dunm", "Elsw", "Pard", "Jorv")
_LAST = ("erin", "wick", "avia", "mont", "holm", "ora", "stead", "ingen", "barrow", "elle")
_GIVEN = ("Marta", "Ivor", "Lena", "Otto", "Signe", "Paul", "Greta", "Anton", "Ruth", "Emil")


@dataclass(frozen=True, slots=True)
class Kind:
    """A question on an invented name, three wordings of a passage, and a function that draws an answer."""

    question: str
    told: tuple[str, str, str]
    drawn: Callable[[random.Random], str]


def _place(rng: random.Random) -> str:
    return rng.choice(_FIRST) + rng.choice(_LAST)


def _person(rng: random.Random) -> str:
    return f"{rng.choice(_GIVEN)} {_place(rng)}"


def _year(rng: random.Random) -> str:
    return str(rng.randint(1780, 1990))


def _count(rng: random.Random) -> str:
    return f"{rng.randint(2, 90)},{rng.randint(100, 999)}"


KINDS = (
    Kind(
        "In what year was the {name} bridge opened?",
        (
            "The bridge at {name} was opened to carts and walkers in {answer}, after four years of work on its piers.",
            "A plaque by the toll house recalls the day in {answer} when the mayor cut the ribbon of the {name} bridge.",
            "Built of grey stone, the {name} bridge has carried the coast road since it was opened in {answer}.",
        ),
        _year,
    ),
    Kind(
        "Who designed the town hall of {name}?",
        (
            "The town hall of {name}, with its copper roof, was designed by {answer}.",
            "After the fire the council of {name} asked {answer} to draw a new town hall, and it still stands.",
            "{answer} is remembered as the architect of the town hall in {name}.",
        ),
        _person,
    ),
    Kind(
        "What is the population of {name}?",
        (
            "{name} is a market town by the river with a population of {answer}.",
            "At the last count {answer} people lived in {name}, most of them in the old quarter.",
            "The census gives {answer} as the population of {name}.",
        ),
        _count,
    ),
    Kind(
        "In which town was the painter {name} born?",
        (
            "The painter {name} was born in {answer}, the third child of a ferryman.",
            "{answer} honours the painter {name}, who was born there, with a small museum.",
            "Of the early years of the painter {name} we know little but the place of birth: {answer}.",
        ),
        _place,
    ),
)


def invented(rows: int = QUESTIONS, seed: int = 0) -> tuple[Example, ...]:
    """So many questions, their passages in an order drawn from the row."""
    return tuple(_example(row, seed) for row in range(rows))


def _example(row: int, seed: int) -> Example:
    rng = random.Random(f"invented {seed} {row}")
    kind = KINDS[row % len(KINDS)]
    name = _person(rng) if "painter" in kind.question else _place(rng)
    right, wrong = _two(kind, rng)
    ways = rng.sample(kind.told, 3)
    texts = [
        way.format(name=name, answer=answer) for way, answer in zip(ways, (right, right, wrong), strict=True)
    ]
    rng.shuffle(texts)
    return Example(
        id=f"invented-{row}",
        row=row,
        question=kind.question.format(name=name),
        gold=(right,),
        wrong=(wrong,),
        passages=tuple(Passage(text=text) for text in texts),
    )


def _two(kind: Kind, rng: random.Random) -> Sequence[str]:
    """Two answers that are not the same."""
    right = wrong = kind.drawn(rng)
    while wrong == right:
        wrong = kind.drawn(rng)
    return right, wrong
