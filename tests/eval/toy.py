"""Strategies out of the tree, for tests of the evaluation: they call no model and always know."""

from __future__ import annotations

from typing import Literal

from disputatio.errors import ServerFault
from disputatio.kit import Kit
from disputatio.types import Answer, Usage

PROMPT = "Answer from the passage."
down: set[str] = set()
broken: set[str] = set()
asked: list[tuple[str, str, list[str]]] = []


def debate(
    question: str,
    kit: Kit,
    *,
    rounds: int = 3,
    judge: bool = True,
    history: Literal["aggregate", "peers"] = "aggregate",
    k: int | None = None,
    shuffle_seed: int = 0,
) -> Answer:
    """Right always; fails on the questions of `down`, breaks on those of `broken`."""
    if question in down:
        raise ServerFault("the endpoint failed", 503)
    if question in broken:
        raise ZeroDivisionError("in the strategy")
    return _answer(f"debate {rounds} {shuffle_seed}", question, kit, ("Lund",))


def vote(question: str, kit: Kit, *, k: int | None = None) -> Answer:
    """Right and wrong at once."""
    return _answer(f"vote {k}", question, kit, ("Lund", "Oslo"))


def _answer(name: str, question: str, kit: Kit, answers: tuple[str, ...]) -> Answer:
    passages = kit.passages(question)
    asked.append((name, question, [passage.text for passage in passages]))
    kit.trace.spend([Usage(calls=1, prompt_tokens=50, completion_tokens=5, seconds=0.1)])
    return Answer(question=question, answers=answers, passages=tuple(passages))
