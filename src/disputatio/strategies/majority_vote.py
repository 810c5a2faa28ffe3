"""Ask each source or passage alone; the commonest answer wins.

The majority vote that RA-RAG compares with (Hwang et al. 2024, MV: all weights are 1): a source answers from
its best passages alone and has one vote, however many passages it has. Where no source has several
passages on the question, each passage is read alone, as RobustRAG isolates them (Xiang et al. 2024). A tie goes
to the answer met first; agents that decline or break their contract do not vote.
"""

from __future__ import annotations

from collections import Counter
from typing import Annotated, Literal

from disputatio.agents.options import FAlign, Logprobs, MaxTokens, PassageCount, Tau
from disputatio.agents.per_source import (
    Checks,
    RetrievedSource,
    ask_sources,
    read_checks,
    retrieve_per_source,
)
from disputatio.agents.reader import read
from disputatio.agents.replies import why_none
from disputatio.agents.source_vote import answer_by_vote, decide
from disputatio.attribution.clusters import cluster
from disputatio.kit import Kit
from disputatio.types import Answer
from disputatio.values import groups

LOGPROBS = Logprobs("used", purpose="check answers against their passages where sources vote")


def majority_vote(
    question: str,
    kit: Kit,
    *,
    voters: Annotated[
        Literal["auto", "sources", "passages"],
        "who votes: sources, passages, or auto: what suits the passages",
    ] = "auto",
    tau: Tau = 0.1,
    f_align: FAlign = "paper",
    k: PassageCount = None,
    max_tokens: MaxTokens = 160,
) -> Answer:
    """Ask voters in isolation, in one batch, and keep the most frequent answer.

    `voters`: `sources` is the paper's MV, with f_align (an answer below `tau` counts as "I don't know")
    and semantic clusters; `passages` gives each of `k` passages a vote, counted by normal form; `auto`
    is `sources` if a source has several passages on the question and no `k` is given, else `passages`.
    """
    checks = read_checks(f_align)
    if voters == "sources" or (voters == "auto" and k is None):
        retrieved_sources = retrieve_per_source(question, kit)
        if voters == "sources" or any(len(retrieved.passages) > 1 for retrieved in retrieved_sources):
            return _by_sources(question, retrieved_sources, kit, tau, checks, max_tokens)
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


def _by_sources(
    question: str,
    retrieved_sources: list[RetrievedSource],
    kit: Kit,
    tau: float,
    checks: Checks,
    max_tokens: int,
) -> Answer:
    """Return one vote for each source, from its own passages."""
    replies = ask_sources(question, retrieved_sources, kit, tau=tau, max_tokens=max_tokens, checks=checks)
    clusters = cluster(question, [reply.answer for reply in replies], kit)
    verdict = decide(replies, clusters, [1.0] * len(replies), kit)
    return answer_by_vote(question, replies, verdict, rounds=1)


def most_frequent(answers: list[str]) -> str:
    """Return the most frequent answer, as it was first worded; empty ones do not count.

    >>> most_frequent(["1963", "", "the 1963.", "1956"])
    '1963'
    >>> most_frequent(["b", "a"]), most_frequent(["", ""])
    ('b', '')
    """
    same = groups(answers)
    votes = Counter(group for group in same if group >= 0)
    if not votes:
        return ""
    [(winner, _)] = votes.most_common(1)
    return answers[same.index(winner)]
