"""Each passage is read alone, and the answer that most of them give wins.

The majority vote over isolated passages that RA-RAG compares with (Hwang et al. 2024, MV: all
weights are 1) and that RobustRAG isolates passages for (Xiang et al. 2024). A tie goes to the
answer met first; agents that decline or break their contract do not vote.
"""

from __future__ import annotations

from disputatio.agents import read, why_none
from disputatio.kit import Kit
from disputatio.text import normalise
from disputatio.types import Answer


def majority_vote(question: str, kit: Kit, *, k: int | None = None, max_tokens: int = 160) -> Answer:
    """Read `k` passages in isolation, in one batch, and keep the most frequent answer."""
    passages = kit.passages(question, k=k)
    replies = tuple(read(question, passages, kit, max_tokens=max_tokens))
    winner = most_frequent([reply.answer for reply in replies])
    return Answer(
        question=question,
        answers=(winner,) if winner else (),
        abstained=None if winner else why_none(replies),
        passages=tuple(passages),
        replies=replies,
        rounds=1,
    )


def most_frequent(answers: list[str]) -> str:
    """The most frequent answer after normalisation, as it was first worded; empty ones do not count.

    >>> most_frequent(["1963", "", "the 1963.", "1956"])
    '1963'
    >>> most_frequent(["b", "a"]), most_frequent(["", ""])
    ('b', '')
    """
    votes: dict[str, int] = {}
    worded: dict[str, str] = {}
    for answer in answers:
        key = normalise(answer)
        if key:
            votes[key] = votes.get(key, 0) + 1
            worded.setdefault(key, answer)
    return worded[max(votes, key=lambda key: votes[key])] if votes else ""
