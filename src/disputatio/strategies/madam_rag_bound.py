"""Debate over passages with agents that are bound to them.

MADAM-RAG (Wang et al. 2025, arXiv 2504.13079) in our form, for small models: agents report what their passage says and move
only by a quote of it, as small models take over whatever other agents say. `madam_rag --set bound=true` is the same.
"""

from __future__ import annotations

from disputatio.agents.options import preset
from disputatio.strategies.madam_rag import madam_rag

madam_rag_bound = preset(
    madam_rag,
    __name__,
    "Debate over passages with agents that move only by a quote of their own.",
    bound=True,
)
