"""Weigh votes by true reliability: the ceiling of RA-RAG.

"Oracle WMV" of RA-RAG (Hwang et al. 2024, arXiv 2410.22954): as `ra_rag`, but all sources are asked and a vote weighs the
source's true reliability p itself ("directly uses these values as weights in Equation (1)", 5.1; an estimate w weighs
L w - 1), which a benchmark gives as `true_reliability` in the metadata of its passages. It is not a
system but a ceiling: the best that estimates could reach. Differences from the paper are those of `ra_rag`.
"""

from __future__ import annotations

from disputatio.agents.options import Logprobs, preset
from disputatio.strategies.ra_rag import ra_rag

LOGPROBS = Logprobs("used", purpose="check answers against their passages")

oracle = preset(
    ra_rag,
    __name__,
    "Ask every source in one batch, and take the vote weighed by the true reliabilities p.",
    selection="all",
    weights="oracle",
    kappa=1,  # of no effect where all sources are asked
    options=2,  # of no effect where p itself is the weight
    independent=False,
)
