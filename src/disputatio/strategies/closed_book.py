"""No retrieval: the model answers from what it remembers.

The "No RAG" baseline of MADAM-RAG (Wang et al. 2025, arXiv 2504.13079). Differences from the
authors' code: the reply is one JSON object against a schema instead of free text.
"""

from __future__ import annotations

from disputatio.agents import ask_answers
from disputatio.kit import Kit, chat
from disputatio.text import one_line
from disputatio.types import Answer

SYSTEM = """\
You answer questions from what you know.
Reply with one JSON object:
"answers": a list of every correct answer, each as short as possible; several when the question fits several \
people, places or things of one name; an empty list when you do not know.
"explanation": one short sentence that states the answers."""

TASK = "Question: {question}"


def closed_book(question: str, kit: Kit, *, max_tokens: int = 192) -> Answer:
    """Ask the model alone; nothing is retrieved, so nothing is cited."""
    prompt = chat(SYSTEM, TASK.format(question=one_line(question)))
    answers, explanation = ask_answers("answerer", prompt, kit, max_tokens=max_tokens)
    return Answer(
        question=question,
        answers=answers,
        abstained=None if answers else "no_evidence",
        explanation=explanation,
    )
