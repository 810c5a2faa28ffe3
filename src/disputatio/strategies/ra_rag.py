"""Ask each source alone, and weigh votes by reliability.

RA-RAG (Hwang et al. 2024, "Retrieval-Augmented Generation with Estimation of Source Reliability", arXiv
2410.22954): the best passages within each source, an answer from those alone, f_align, the kappa most
reliable relevant and reliable sources (kappa-RRSS), and the weighted majority vote. Differences from the
paper: sources are asked in speculative batches, as many at once as are likely still needed; a source in
which retrieval finds nothing on the question costs no call; an answer must stand in the words of its
passages; the reply is one JSON object with a verbatim quote.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

from disputatio.agents.options import Logprobs, MaxTokens, PerSource, PossibleAnswers, Tau
from disputatio.agents.per_source import (
    Holding,
    SourceReply,
    answer_per_source,
    drop_unsupported,
    read_by,
    retrieve_per_source,
)
from disputatio.agents.replies import why_none
from disputatio.agents.source_vote import decide, decide_by_owner, voice
from disputatio.attribution.clusters import cluster
from disputatio.errors import InputError
from disputatio.kit import Kit
from disputatio.reliability.true_reliability import TRUE, true_reliabilities
from disputatio.reliability.weighted_vote import weights_of
from disputatio.types import Answer, Source
from disputatio.values import is_yes_or_no

LOGPROBS = Logprobs("used", purpose="check answers against their passages")

PRIOR = 0.5  # the reliability of a source that has no estimate


def ra_rag(
    question: str,
    kit: Kit,
    *,
    kappa: Annotated[int, "number of sources whose answers vote"] = 4,
    tau: Tau = 0.1,
    selection: Annotated[
        Literal["rrss", "rss", "all"],
        "who votes: relevant and reliable sources (rrss), reliable ones (rss), or all",
    ] = "rrss",
    weights: Annotated[
        Literal["estimated", "uniform", "oracle"],
        "what votes weigh by: estimates, nothing, or the truth that passages carry",
    ] = "estimated",
    options: PossibleAnswers = 10,
    independent: Annotated[
        bool, "one vote per owner or group of copies, by the lower end of its interval"
    ] = False,
    per_source: PerSource = 3,
    max_tokens: MaxTokens = 96,
) -> Answer:
    """Ask sources by falling reliability until `kappa` have an answer, and take their weighted vote.

    `selection`: `rrss` passes over sources without an answer that their passages bear out (f_align above
    `tau`), `rss` hears the `kappa` most reliable whatever they say, `all` hears everybody. A vote weighs
    v = L w - 1, where w is the source's reliability: `estimated` by the calibration, the same for all
    (`uniform`, plain majority), or the truth that passages carry as `true_reliability` (`oracle`,
    `InputError` when one does not). `options` is L, the number of possible answers; 2 for yes or no.

    `independent` goes past the paper: sources of one owner or one group of copies have one vote together,
    weighed by the lower end of the reliability's interval and never less than nothing.
    """
    if kappa < 1 or per_source < 1:
        raise InputError("ra_rag: kappa and per_source are at least 1")
    held = retrieve_per_source(question, kit, per_source=per_source)
    records = _records(held, kit, weights)
    order = sorted(held, key=lambda one: -_reliability(records, one.source, low=independent))
    if independent:
        order = _voices_first(order, kit)
    heard, rounds = _ask(question, order, kit, kappa, tau, selection, max_tokens)
    clusters = cluster(question, [one.answer for one in heard], kit)
    if clusters.answers and all(map(is_yes_or_no, clusters.answers)):
        options = 2
    if independent:
        found = decide_by_owner(heard, clusters, _earned(records, heard, options), kit)
    else:
        found = decide(heard, clusters, _votes(records, heard, options), kit)
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
        rounds=rounds,
    )


def _records(
    held: Sequence[Holding], kit: Kit, weights: Literal["estimated", "uniform", "oracle"]
) -> dict[str, Source]:
    """What the vote goes by, of the sources of which anything is known; none for a vote of equals."""
    if weights == "oracle":
        shelves = {one.source: one.passages for one in held}
        truths = true_reliabilities(shelves, TRUE, asker="weights=oracle")
        return {name: Source(name=name, reliability=one, low=one) for name, one in truths.items()}
    if weights == "uniform":
        return {}
    known = {one.source: kit.sources[one.source] for one in held if one.named and one.source in kit.sources}
    found = {name: one for name, one in known.items() if one.reliability is not None}
    without = [one.source for one in held if one.source not in found]
    if without:
        reason = "those have the prior" if found else "every vote counts the same"
        kit.trace.note("unestimated", sources=without, prior=PRIOR if found else None, reason=reason)
    if stale := sorted(name for name, one in found.items() if one.stale):
        kit.trace.note("stale", sources=stale)
    return found


def _reliability(records: Mapping[str, Source], name: str, *, low: bool = False) -> float:
    """A source's reliability, or with `low` the lower end of its interval; the prior where nothing is known.

    By its lower end a source without a record comes last.
    """
    known = records.get(name)
    if known is None or known.reliability is None:
        return 0.0 if low and records else PRIOR
    return known.low if low and known.low is not None else known.reliability


def _votes(records: Mapping[str, Source], heard: Sequence[SourceReply], options: int) -> list[float]:
    """v = L w - 1 of each reply; 1 each where nothing is known of any source."""
    if not records:
        return [1.0] * len(heard)
    weights: list[float] = weights_of([_reliability(records, one.source) for one in heard], options).tolist()
    return weights


def _earned(records: Mapping[str, Source], heard: Sequence[SourceReply], options: int) -> list[list[float]]:
    """Weights that none can be below 0 of: by the lower end of each interval, then by the mean."""
    if not records:
        return [[1.0] * len(heard)]
    return [
        [
            max(float(one), 0.0)
            for one in weights_of([_reliability(records, each.source, low=low) for each in heard], options)
        ]
        for low in (True, False)
    ]


def _voices_first(order: Sequence[Holding], kit: Kit) -> list[Holding]:
    """The same sources, with one of each owner and group before the second of any."""
    met: dict[tuple[str, str], int] = {}
    ranks = []
    for one in order:
        of = voice(one, kit)
        met[of] = met.get(of, 0) + 1
        ranks.append(met[of])
    return [order[n] for n in sorted(range(len(order)), key=lambda n: ranks[n])]


def _ask(
    question: str, order: Sequence[Holding], kit: Kit, kappa: int, tau: float, selection: str, max_tokens: int
) -> tuple[list[SourceReply], int]:
    """Replies of the sources that were heard, in their order, and in how many rounds."""
    if selection == "all":
        kappa = len(order)
    if selection in ("all", "rss"):
        said = drop_unsupported(
            question, answer_per_source(question, order[:kappa], kit, max_tokens=max_tokens), kit, tau=tau
        )
        return said, int(any(one.asked for one in said))
    heard: list[SourceReply] = []
    rest = list(order)
    rounds = asked = found = 0
    while rest and found < kappa:
        size = batch_size(kappa - found, asked, found)
        batch: list[Holding] = []
        while rest and sum(one.relevant for one in batch) < size:
            batch.append(rest.pop(0))
        said = drop_unsupported(
            question, answer_per_source(question, batch, kit, max_tokens=max_tokens), kit, tau=tau
        )
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
