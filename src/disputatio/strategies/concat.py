"""Put every passage into one prompt: plain RAG.

The "concatenated prompt" baseline of MADAM-RAG (Wang et al. 2025, arXiv 2504.13079). Differences
from the authors' code: passages are fenced, the worked example is ours, and the reply is one JSON
object against a schema.
"""

from __future__ import annotations

from disputatio.agents.options import MaxTokens, PassageCount
from disputatio.agents.single_prompt import ask_answers, together_prompt
from disputatio.kit import Kit
from disputatio.types import Answer, Reply


def concat(question: str, kit: Kit, *, k: PassageCount = None, max_tokens: MaxTokens = 256) -> Answer:
    """Put all passages into one prompt and ask for all correct answers.

    `k` passages are retrieved from an index; passages in hand are all read, in their order.
    Raises `ReplyError` when the reply is unusable.
    """
    passages = kit.passages(question, k=k)
    if not passages:
        return Answer(question=question, abstained="no_evidence")
    prompt = together_prompt(question, passages)
    answers, explanation = ask_answers("answerer", prompt, kit, max_tokens=max_tokens)
    return Answer(
        question=question,
        answers=answers,
        abstained=None if answers else "no_evidence",
        explanation=explanation,
        passages=tuple(passages),
        replies=tuple(
            Reply(passages=tuple(passage.id for passage in passages), answer=answer) for answer in answers
        ),
    )
