"""Answer from the model's memory; nothing is retrieved.

The "No RAG" baseline of MADAM-RAG (Wang et al. 2025, arXiv 2504.13079). Differences from the
authors' code: the reply is one JSON object against a schema instead of free text.
"""

from __future__ import annotations

from disputatio.agents.options import MaxTokens
from disputatio.agents.single_prompt import recall_answers
from disputatio.kit import Kit
from disputatio.types import Answer


def closed_book(question: str, kit: Kit, *, max_tokens: MaxTokens = 192) -> Answer:
    """Ask the model alone; nothing is retrieved, so nothing is cited."""
    answers, explanation = recall_answers(question, kit, max_tokens=max_tokens)
    return Answer(
        question=question,
        answers=answers,
        abstained=None if answers else "no_evidence",
        explanation=explanation,
        retrievals=0,
    )
