"""State cited claims as the authors' released RAGentA does.

RAGentA (Besrour et al. 2025, arXiv 2506.16988): the third agent reads the kept documents, the fourth sees documents and
answer, and a model merges the answers to follow-up questions; `ragenta --set letter=true` is the same.
"""

from __future__ import annotations

from disputatio.agents.options import Logprobs, preset
from disputatio.strategies.ragenta import ragenta

LOGPROBS = Logprobs("needed", instead="votes=10")

ragenta_letter = preset(
    ragenta,
    __name__,
    "Read and judge passages, answer from the kept documents in prose with marks, and fill gaps.",
    letter=True,
    floor=0.0,  # of no effect: all that the judge keeps is read
)
