"""What the command line says in one line: what an answer cost and read, how many liars it survives."""

from __future__ import annotations

import typing
from collections import Counter
from typing import Any

from disputatio.types import Answer, Certificate, Usage


def certified(certificate: Certificate) -> str:
    """One line: how many liars the answer survives, and who would be the fewest that it does not.

    >>> certified(Certificate(owners=2, voters=5, names=("a.example", "b.example")))
    'against a lie of any 1 of 5 voters; 2 together could change it, as a.example and b.example'
    >>> certified(Certificate(owners=1, voters=2, names=("a.example",)))
    'against no lie: 1 of 2 voters could change it, as a.example'
    >>> certified(Certificate(owners=2, voters=3, names=("a", "b"), corrupted=1))
    'against any 1 corrupted passage, so against a lie of any 1 of 3 voters'
    """
    fewest, voters = certificate.owners, count(certificate.voters, "voter")
    names = " and ".join(certificate.names)
    survived = f"against a lie of any {fewest - 1} of {voters}"
    if certificate.corrupted is not None:
        if certificate.corrupted == 0:
            return "against no corrupted passage that can be proven"
        told = f"against any {count(certificate.corrupted, 'corrupted passage')}"
        return f"{told}, so {survived}" if fewest > 1 else told
    if fewest == 1:
        return f"against no lie: 1 of {voters} could change it" + (f", as {names}" if names else "")
    return f"{survived}; {fewest} together could change it" + (f", as {names}" if names else "")


def cost(answer: Answer) -> str:
    """One line: the strategy, the model, the calls, the tokens and the time they took."""
    usage: Usage = answer.usage
    spared = f" ({usage.cached_tokens:,} from the prefix cache)" if usage.cached_tokens else ""
    return (
        f"{answer.strategy} · {answer.model} · {count(usage.calls, 'call')}"
        f" · {usage.prompt_tokens:,} tokens read{spared}"
        f" · {usage.completion_tokens:,} written · {usage.seconds:.1f} s of the model's time"
    )


def read_from(answer: Answer) -> str:
    """One line: how many passages of which sources were read."""
    held = Counter(one.source for one in answer.passages if one.source)
    told = count(len(answer.passages), "passage")
    if not held:
        return told
    names = ", ".join(name if n == 1 else f"{name} ({n})" for name, n in sorted(held.items()))
    return f"{told} of {count(len(held), 'source')}: {names}"


def type_words(hint: Any) -> str:
    """An option's annotation as a user reads it.

    >>> type_words(typing.Literal["a", "b"]), type_words(int | None), type_words(bool)
    ('a, b', 'int or none', 'bool')
    """
    if typing.get_origin(hint) is typing.Literal:
        return ", ".join(map(str, typing.get_args(hint)))
    if typing.get_args(hint):
        return " or ".join(type_words(one) for one in typing.get_args(hint))
    return "none" if hint is type(None) else str(hint.__name__)


def count(n: int, noun: str) -> str:
    """
    >>> count(1, "call"), count(1200, "call")
    ('1 call', '1,200 calls')
    """
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"
