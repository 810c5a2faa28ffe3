"""Every source answers from its own passages, and votes with the weight of its reliability.

RA-RAG (Hwang et al. 2024, "Retrieval-Augmented Generation with Estimation of Source Reliability", arXiv
2410.22954): the best passages within each source, an answer from those alone, f_align, the kappa most
reliable relevant and reliable sources (kappa-RRSS), and the weighted majority vote. Differences from the
paper: sources are asked in speculative batches, as many at once as are likely still needed; a source in
which retrieval finds nothing on the question costs no call; an answer must stand in the words of its
passages; the reply is one JSON object with a verbatim quote.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

from disputatio.agents import why_none
from disputatio.errors import InputError
from disputatio.evidence.clusters import cluster
from disputatio.evidence.weighing import weights_of
from disputatio.kit import Kit
from disputatio.panel import Holding, SourceReply, align, certified, decide, hear, hold, read_by
from disputatio.text import normalise
from disputatio.types import Answer

PRIOR = 0.5  # the reliability of a source that has no estimate
TRUE = "true_reliability"  # a passage's metadata field that weights=oracle reads


def ra_rag(
    question: str,
    kit: Kit,
    *,
    kappa: int = 4,
    tau: float = 0.1,
    selection: Literal["rrss", "rss", "all"] = "rrss",
    weights: Literal["estimated", "uniform", "oracle"] = "estimated",
    options: int = 10,
    per_source: int = 3,
    max_tokens: int = 96,
) -> Answer:
    """Ask sources by falling reliability until `kappa` have an answer, and take their weighted vote.

    `selection`: `rrss` passes over sources without an answer that their passages bear out (f_align above
    `tau`), `rss` hears the `kappa` most reliable whatever they say, `all` hears everybody. A vote weighs
    v = L w - 1, where w is the source's reliability: `estimated` by the calibration, the same for all
    (`uniform`, plain majority), or the truth that passages carry as `true_reliability` (`oracle`,
    `InputError` when one does not). `options` is L, the number of possible answers; 2 for yes or no.
    """
    held = hold(question, kit, per_source=per_source)
    reliability, known = _reliabilities(held, kit, weights)
    order = sorted(held, key=lambda one: -reliability[one.source])
    heard, rounds = _ask(question, order, kit, kappa, tau, selection, max_tokens)
    clusters = cluster(question, [one.answer for one in heard], kit)
    if clusters.answers and {normalise(one) for one in clusters.answers} <= {"yes", "no"}:
        options = 2
    voices = [1.0] * len(heard)
    if known:
        voices = weights_of([reliability[one.source] for one in heard], options).tolist()
    answers, conflict, confidence = decide(heard, clusters, voices, kit)
    replies = tuple(one.reply for one in heard if one.asked)
    return Answer(
        question=question,
        answers=answers,
        abstained=None if answers else why_none(replies),
        conflict=conflict,
        confidence=confidence,
        certificate=certified(heard, clusters, voices, kit),
        passages=read_by(heard),
        replies=replies,
        rounds=rounds,
    )


def _reliabilities(
    held: Sequence[Holding], kit: Kit, weights: Literal["estimated", "uniform", "oracle"]
) -> tuple[dict[str, float], bool]:
    """The reliability of each source, and whether the vote is weighed by it."""
    if weights == "oracle":
        return {one.source: _truth(one) for one in held}, True
    found = {
        one.source: kit.reliabilities[one.source]
        for one in held
        if one.named and weights == "estimated" and one.source in kit.reliabilities
    }
    without = [one.source for one in held if one.source not in found]
    if weights == "estimated" and without:
        vote = "those have the prior" if found else "all votes are equal"
        kit.trace.note("unestimated", sources=without, prior=PRIOR if found else None, reason=vote)
    return {one.source: found.get(one.source, PRIOR) for one in held}, bool(found)


def _truth(one: Holding) -> float:
    """The true reliability that a source's passages carry."""
    told = one.passages[0].metadata.get(TRUE, "")
    try:
        truth = float(told)
    except ValueError:
        truth = math.nan
    if not 0 <= truth <= 1:
        raise InputError(
            f"weights=oracle: passage {one.passages[0].id} of {one.source!r} carries no {TRUE} in [0, 1]"
            " in its metadata; take weights=estimated"
        )
    return truth


def _ask(
    question: str, order: Sequence[Holding], kit: Kit, kappa: int, tau: float, selection: str, max_tokens: int
) -> tuple[list[SourceReply], int]:
    """Replies of the sources that were heard, in their order, and in how many rounds."""
    if selection == "all":
        kappa = len(order)
    if selection in ("all", "rss"):
        said = align(question, hear(question, order[:kappa], kit, max_tokens=max_tokens), kit, tau=tau)
        return said, int(any(one.asked for one in said))
    heard: list[SourceReply] = []
    rest = list(order)
    rounds = asked = found = 0
    while rest and found < kappa:
        size = batch_size(kappa - found, asked, found)
        batch: list[Holding] = []
        while rest and sum(one.relevant for one in batch) < size:
            batch.append(rest.pop(0))
        said = align(question, hear(question, batch, kit, max_tokens=max_tokens), kit, tau=tau)
        heard += said
        rounds += any(one.asked for one in said)
        asked = sum(one.asked for one in heard)
        found = sum(bool(one.answer) for one in heard)
        kit.trace.note("round", round=rounds, asked=asked, answered=found, converged=found >= kappa)
    return _first(heard, kappa), rounds


def batch_size(needed: int, asked: int, found: int) -> int:
    """How many sources to ask at once where `found` of `asked` had an answer and `needed` more are wanted.

    To ask as many as are needed never asks one too many, but takes round after round where few answer;
    to ask all that are likely to be needed ends sooner and asks some for nothing. This goes half the way.

    >>> batch_size(4, 0, 0), batch_size(2, 4, 2), batch_size(1, 8, 3)
    (4, 3, 2)
    """
    scarcity = (asked + 1) / (found + 1)
    return math.ceil(needed * (1 + (scarcity - 1) / 2) - 1e-9) if asked else needed


def _first(heard: Sequence[SourceReply], kappa: int) -> list[SourceReply]:
    """The replies up to the one that brought the `kappa`-th answer: those after it do not vote."""
    kept: list[SourceReply] = []
    found = 0
    for one in heard:
        if found >= kappa:
            break
        kept.append(one)
        found += bool(one.answer)
    return kept
