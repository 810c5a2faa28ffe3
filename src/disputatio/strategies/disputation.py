"""The disputation, in its first form: every passage is heard alone, and code decides between them.

Unites what MADAM-RAG (Wang et al. 2025), RobustRAG (Xiang et al. 2024) and RA-RAG (Hwang et al. 2024)
do apart: agents isolated from one another, votes of independent sources, several right answers. No
aggregator is asked: "Debate or Vote" (2508.17536) finds that votes over isolated answers do most of
the work. What is rejected, and why, is decided by `evidence.resolve`.
"""

from __future__ import annotations

from disputatio.agents import ground, read, why_none
from disputatio.evidence.resolve import Voice, earned, fit, resolve
from disputatio.kit import Kit
from disputatio.types import Answer


def disputation(
    question: str,
    kit: Kit,
    *,
    k: int | None = None,
    least: float = 0.5,
    max_tokens: int = 160,
) -> Answer:
    """Hear every passage alone and resolve their answers in code.

    A reply that speaks to less than `least` of the question's content words is set aside.
    """
    passages = kit.passages(question, k=k)
    read_alone = read(question, passages, kit, max_tokens=max_tokens)
    replies = [ground(question, *one) for one in zip(read_alone, passages, strict=True)]
    voices = [
        Voice(reply=reply, passage=passage, support=fit(question, reply, passage))
        for reply, passage in zip(replies, passages, strict=True)
        if reply.answer
    ]
    answers, conflict = resolve(question, voices, earned(kit.sources), least)
    return Answer(
        question=question,
        answers=answers,
        abstained=None if answers else why_none(replies),
        conflict=conflict,
        passages=tuple(passages),
        replies=tuple(replies),
        rounds=1,
    )
