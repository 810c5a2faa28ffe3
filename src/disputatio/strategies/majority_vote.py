"""Each source, or each passage, is heard alone, and the answer that most of them give wins.

The majority vote that RA-RAG compares with (Hwang et al. 2024, MV: all weights are 1): a source answers from
its best passages alone and has one vote, however many passages it has. Where no source has several
passages on the question, each passage is read alone, as RobustRAG isolates them (Xiang et al. 2024). A tie goes
to the answer met first; agents that decline or break their contract do not vote.
"""

from __future__ import annotations

from typing import Literal

from disputatio.agents import read, why_none
from disputatio.evidence.clusters import cluster
from disputatio.kit import Kit
from disputatio.panel import Holding, align, decide, hear, hold, read_by
from disputatio.text import normalise
from disputatio.types import Answer


def majority_vote(
    question: str,
    kit: Kit,
    *,
    voters: Literal["auto", "sources", "passages"] = "auto",
    tau: float = 0.1,
    k: int | None = None,
    max_tokens: int = 160,
) -> Answer:
    """Hear voters in isolation, in one batch, and keep the most frequent answer.

    `voters`: `sources` is the paper's MV, with f_align (an answer below `tau` counts as "I don't know")
    and semantic clusters; `passages` gives each of `k` passages a vote, counted by normal form; `auto`
    is `sources` where a source has several passages on the question and no `k` is given, else `passages`.
    """
    if voters == "sources" or (voters == "auto" and k is None):
        held = hold(question, kit)
        if voters == "sources" or any(len(one.passages) > 1 for one in held):
            return _by_sources(question, held, kit, tau, max_tokens)
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


def _by_sources(question: str, held: list[Holding], kit: Kit, tau: float, max_tokens: int) -> Answer:
    """One vote a source, from its own passages."""
    heard = align(question, hear(question, held, kit, max_tokens=max_tokens), kit, tau=tau)
    clusters = cluster(question, [one.answer for one in heard], kit)
    found = decide(heard, clusters, [1.0] * len(heard), kit)
    replies = tuple(one.reply for one in heard if one.asked)
    return Answer(
        question=question,
        answers=found.answers,
        abstained=None if found.answers else why_none(replies),
        conflict=found.conflict,
        confidence=found.confidence,
        certificate=found.certificate,
        passages=read_by(heard),
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
