"""Weigh votes by true reliability: the ceiling of RA-RAG.

"Oracle WMV" of RA-RAG (Hwang et al. 2024, arXiv 2410.22954): as `ra_rag`, but all sources are asked and a vote weighs the
source's true reliability p itself ("directly uses these values as weights in Equation (1)", 5.1; an estimate w weighs
L w - 1), which a benchmark gives as `true_reliability` in the metadata of its passages. It is not a
system but a ceiling: the best that estimates could reach. Differences from the paper are those of `ra_rag`.
"""

from __future__ import annotations

from disputatio.agents.options import FAlign, Logprobs, MaxTokens, PerSource, Tau
from disputatio.agents.per_source import ask_sources, read_checks, retrieve_per_source
from disputatio.agents.source_vote import decide, voted_answer
from disputatio.attribution.clusters import cluster
from disputatio.errors import InputError
from disputatio.kit import Kit
from disputatio.reliability.true_reliability import TRUE, true_reliabilities
from disputatio.types import Answer

LOGPROBS = Logprobs("used", purpose="check answers against their passages")


def oracle(
    question: str,
    kit: Kit,
    *,
    tau: Tau = 0.1,
    f_align: FAlign = "paper",
    per_source: PerSource = 3,
    max_tokens: MaxTokens = 96,
) -> Answer:
    """Ask every source in one batch, and take the vote weighed by the true reliabilities p.

    An answer whose f_align is below `tau` counts as "I don't know". Raises `InputError` if a passage does not have its
    source's reliability.
    """
    if per_source < 1:
        raise InputError("oracle: per_source is at least 1")
    holdings = retrieve_per_source(question, kit, per_source=per_source)
    passages = {holding.source: holding.passages for holding in holdings}
    truths = true_reliabilities(passages, TRUE, asker="oracle")
    holdings.sort(key=lambda holding: -truths[holding.source])
    replies = ask_sources(
        question, holdings, kit, tau=tau, max_tokens=max_tokens, checks=read_checks(f_align)
    )
    clusters = cluster(question, [reply.answer for reply in replies], kit)
    verdict = decide(replies, clusters, [truths[reply.source] for reply in replies], kit)
    return voted_answer(question, replies, verdict, rounds=int(any(reply.asked for reply in replies)))
