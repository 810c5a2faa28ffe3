"""The explainer: an agent that explains a term, so that the explanation can be searched for (AC-RAG)."""

from __future__ import annotations

from disputatio.kit import Kit, chat
from disputatio.text import is_unknown, one_line
from disputatio.types import Sampling

LONGEST_QUERY = 600  # characters of an explanation that are searched for

EXPLAIN_SYSTEM = """\
You explain a term or answer a short question as a textbook would, in one or two sentences, from what you know. Where you are not \
sure, say what is most likely. Write the sentences alone."""

EXPLAIN_TASK = "{term}"


def explain_term(term: str, kit: Kit, role: str, *, max_tokens: int = 64) -> str:
    """Return a search query for a term: the model's explanation of it, else the term itself.

    This is the query of AC-RAG (Zhang et al. 2025, arXiv 2509.14750); it is never shown, so it may be cut short.
    """
    prompt = chat(EXPLAIN_SYSTEM, EXPLAIN_TASK.format(term=term))
    (completion,) = kit.complete(role, [prompt], Sampling(max_tokens=max_tokens))
    explanation = one_line(completion.text)[:LONGEST_QUERY]
    return term if is_unknown(explanation) else explanation
