"""Weigh votes by true reliability: the ceiling of RA-RAG.

"Oracle WMV" of RA-RAG (Hwang et al. 2024, arXiv 2410.22954): as `ra_rag`, but all sources are heard and the weights
are the true reliabilities, which the passages of a benchmark carry as `true_reliability` in their metadata. It is no
system but a ceiling: what estimates could reach at best. Differences from the paper are those of `ra_rag`.
"""

from __future__ import annotations

from disputatio.agents.options import Logprobs, MaxTokens, PerSource, PossibleAnswers, Tau
from disputatio.agents.per_source import (
    answer_per_source,
    drop_unsupported,
    read_by,
    retrieve_per_source,
)
from disputatio.agents.replies import why_none
from disputatio.agents.source_vote import decide
from disputatio.attribution.clusters import cluster
from disputatio.errors import InputError
from disputatio.kit import Kit
from disputatio.reliability.true_reliability import TRUE, true_reliabilities
from disputatio.reliability.weighted_vote import weights_of
from disputatio.types import Answer
from disputatio.values import is_yes_or_no

LOGPROBS = Logprobs("used", purpose="check answers against their passages")


def oracle(
    question: str,
    kit: Kit,
    *,
    tau: Tau = 0.1,
    options: PossibleAnswers = 10,
    per_source: PerSource = 3,
    max_tokens: MaxTokens = 96,
) -> Answer:
    """Hear every source in one batch, and take the vote weighed by v = L w - 1 of the true reliabilities w.

    An answer whose f_align is below `tau` counts as "I don't know". `options` is L, the number of possible
    answers and no less than 2; 2 for yes or no. Raises `InputError` where a passage does not carry its source's reliability.
    """
    if per_source < 1:
        raise InputError("oracle: per_source is at least 1")
    held = retrieve_per_source(question, kit, per_source=per_source)
    truths = true_reliabilities({one.source: one.passages for one in held}, TRUE, asker="oracle")
    held.sort(key=lambda one: -truths[one.source])
    heard = drop_unsupported(
        question, answer_per_source(question, held, kit, max_tokens=max_tokens), kit, tau=tau
    )
    clusters = cluster(question, [one.answer for one in heard], kit)
    if clusters.answers and all(map(is_yes_or_no, clusters.answers)):
        options = 2
    weights = weights_of([truths[one.source] for one in heard], max(options, 2)).tolist()
    found = decide(heard, clusters, weights, kit)
    replies = tuple(one.reply for one in heard if one.asked)
    return Answer(
        question=question,
        answers=found.answers,
        abstained=None if found.answers else why_none(replies),
        conflict=found.conflict,
        confidence=found.confidence,
        certificate=found.certificate,
        passages=read_by(heard),
        replies=replies,
        rounds=int(bool(replies)),
    )
