"""Ask each source alone, and weigh votes by reliability.

RA-RAG (Hwang et al. 2024, "Retrieval-Augmented Generation with Estimation of Source Reliability", arXiv
2410.22954): the best passages within each source, an answer from those alone, f_align, the kappa most
reliable relevant and reliable sources (kappa-RRSS), and the weighted majority vote. Differences from the
paper: sources are asked in speculative batches, as many at once as are likely still needed; the reply is one JSON
object that says whether the passages answer, with a verbatim quote (`reader=paper`: keywords or "I don't know" alone); f_align is scored by the kit's judge of entailment (a model's P(yes), or a
cross-encoder) and not by AlignScore, so that tau = 0.1 is another bar than the paper's.

`f_align=ours` adds what helps small models: a source in which retrieval finds nothing on the question costs no call
(`gate`), an answer must be in the words of its passages (`lexical`) and not only repeat the question (`echo`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Literal

from disputatio.agents.options import (
    Estimates,
    FAlign,
    Logprobs,
    MaxTokens,
    PerSource,
    PossibleAnswers,
    SourceReader,
    Tau,
)
from disputatio.agents.per_source import (
    OURS,
    Checks,
    RetrievedSource,
    SourceReply,
    ask_sources,
    read_checks,
    retrieve_per_source,
)
from disputatio.agents.source_vote import answer_by_vote, decide, decide_by_owner, possible_answers, vote_key
from disputatio.attribution.clusters import cluster
from disputatio.authority import is_retracted, unit_of, weigh_by_tier
from disputatio.errors import InputError
from disputatio.events import SourcesAsked, Stale, Unestimated
from disputatio.kit import Kit
from disputatio.reliability.source_weights import TRUE, true_reliabilities
from disputatio.reliability.weighted_vote import weights_of
from disputatio.types import Answer, Basis, Source

LOGPROBS = Logprobs("used", purpose="check answers against their passages")
ESTIMATES = Estimates(only_with="weights=estimated")

PRIOR = 0.5  # the reliability of a source without an estimate


def ra_rag(
    question: str,
    kit: Kit,
    *,
    kappa: Annotated[int, "number of sources whose answers vote"] = 4,
    tau: Tau = 0.1,
    f_align: FAlign = "paper",
    selection: Annotated[
        Literal["rrss", "rss", "all"],
        "who votes: relevant and reliable sources (rrss), reliable ones (rss), or all",
    ] = "rrss",
    weights: Annotated[
        Literal["estimated", "uniform", "oracle"],
        "what votes weigh by: estimates, nothing, or the truth that passages carry",
    ] = "estimated",
    options: PossibleAnswers = None,
    independent: Annotated[
        bool, "one vote per owner or group of copies, by the lower end of its interval"
    ] = False,
    per_source: PerSource = 3,
    max_tokens: MaxTokens = 96,
    reader: SourceReader = "ours",
) -> Answer:
    """Ask sources by falling reliability until `kappa` have an answer, and take their weighted vote.

    `selection`: `rrss` skips sources without an answer that their passages support (f_align above `tau`),
    `rss` asks the `kappa` most reliable sources only, `all` asks every source. A vote weighs v = L w - 1,
    where w is the source's reliability: `estimated` by the calibration, equal for all (`uniform`, a plain
    majority), or the `true_reliability` in the passages' metadata (`oracle`, `InputError` if one has none).
    With `oracle` a vote weighs that p itself, as the paper's Oracle WMV has it. `options` is L, the number of
    possible answers; 2 for yes or no, and without it the number of sources, at most 10, as in the estimate.

    Where people declared the authority of the document that gives an answer, its tier is a prior on v; what
    is retracted weighs nothing. `independent` goes beyond the paper: sources of one owner or one group of copies have one vote together,
    weighed by the lower end of the reliability's interval and never negative.
    """
    if kappa < 1 or per_source < 1:
        raise InputError("ra_rag: kappa and per_source are at least 1")
    retrieved_sources = retrieve_per_source(question, kit, per_source=per_source)
    records = _records(retrieved_sources, kit, weights)
    ranked = sorted(
        retrieved_sources, key=lambda retrieved: -_reliability(records, retrieved.source, low=independent)
    )
    if independent:
        ranked = _one_of_each_voter_first(ranked, kit)
    checks = read_checks(f_align)
    replies, rounds = _ask(question, ranked, kit, kappa, tau, selection, max_tokens, checks, reader)
    clusters = cluster(question, [reply.answer for reply in replies], kit)
    # Deciding again knows fewer sources than there were, so their number is recorded.
    known = int(kit.recorded.get("known_sources", len(kit.sources)))
    others = {retrieved.source for retrieved in retrieved_sources} - kit.sources.keys()
    options = possible_answers(clusters, options, known + len(others))
    if independent:
        verdict = decide_by_owner(replies, clusters, _owner_weights(records, replies, options), kit)
    else:
        learnt = _learnt_weights(records, replies, options, plain=weights == "oracle")
        tiers = weights == "estimated"
        voting = _with_tiers(records, replies, learnt, options) if tiers else learnt
        verdict = decide(replies, clusters, voting, kit, learnt=learnt)
    answer = answer_by_vote(question, replies, verdict, rounds=rounds)
    return replace(answer, basis=Basis(details={"known_sources": known}))


def _records(
    retrieved_sources: Sequence[RetrievedSource], kit: Kit, weights: Literal["estimated", "uniform", "oracle"]
) -> dict[str, Source]:
    """Return the known reliabilities of sources, by name; none for a vote with equal weights."""
    if weights == "oracle":
        passages = {retrieved.source: retrieved.passages for retrieved in retrieved_sources}
        truths = true_reliabilities(passages, TRUE, asker="weights=oracle")
        return {name: Source(name=name, reliability=truth, low=truth) for name, truth in truths.items()}
    if weights == "uniform":
        return {}
    named = [
        retrieved.source
        for retrieved in retrieved_sources
        if retrieved.named and retrieved.source in kit.sources
    ]
    records = {name: kit.sources[name] for name in named if kit.sources[name].reliability is not None}
    without = [retrieved.source for retrieved in retrieved_sources if retrieved.source not in records]
    if without:
        reason = "those have the prior" if records else "every vote counts the same"
        kit.emit(Unestimated(sources=without, prior=PRIOR if records else None, reason=reason))
    if stale := sorted(name for name, source in records.items() if source.stale):
        kit.emit(Stale(sources=stale))
    return records


def _reliability(records: Mapping[str, Source], name: str, *, low: bool = False) -> float:
    """Return a source's reliability, or with `low` the lower end of its interval; the prior if it is unknown.

    With `low` a source without a record comes last.
    """
    source = records.get(name)
    if source is None or source.reliability is None:
        return 0.0 if low and records else PRIOR
    return source.low if low and source.low is not None else source.reliability


def _learnt_weights(
    records: Mapping[str, Source], replies: Sequence[SourceReply], options: int, *, plain: bool = False
) -> list[float]:
    """Return v = L w - 1 of each reply's source, or w itself (`plain`); 1 each if no reliability is known."""
    if not records:
        return [1.0] * len(replies)
    reliabilities = [_reliability(records, reply.source) for reply in replies]
    if plain:
        return reliabilities
    weights: list[float] = weights_of(reliabilities, options).tolist()
    return weights


def _with_tiers(
    records: Mapping[str, Source], replies: Sequence[SourceReply], learnt: Sequence[float], options: int
) -> list[float]:
    """Return the weights with the tier that people declared of the document that gives each answer."""
    unit = unit_of(options) if records else 1.0
    return [
        _weigh_declared(records, reply, weight, unit) for reply, weight in zip(replies, learnt, strict=True)
    ]


def _weigh_declared(records: Mapping[str, Source], reply: SourceReply, learnt: float, unit: float) -> float:
    """Return a reply's weight with what people stated of the document that gives its answer."""
    bearer = next((each for each in reply.retrieved.passages if each.id == reply.bearer), None)
    if bearer is None:
        return learnt
    if is_retracted(bearer):
        return 0.0
    known = records.get(reply.source)
    return weigh_by_tier(
        bearer.authority, learnt, answered=0.0 if known is None else known.answered, unknown=unit
    )


def _owner_weights(
    records: Mapping[str, Source], replies: Sequence[SourceReply], options: int
) -> list[list[float]]:
    """Return weights of 0 or more: by the lower end of each interval, and if those are all 0, by the mean."""
    if not records:
        return [_with_tiers(records, replies, [1.0] * len(replies), options)]
    rows = []
    for low in (True, False):
        reliabilities = [_reliability(records, reply.source, low=low) for reply in replies]
        weights = [max(float(weight), 0.0) for weight in weights_of(reliabilities, options)]
        rows.append(_with_tiers(records, replies, weights, options))
    return rows


def _one_of_each_voter_first(retrieved_sources: Sequence[RetrievedSource], kit: Kit) -> list[RetrievedSource]:
    """Return the same sources in another order: one of each owner and group before the second of any."""
    counts: dict[tuple[str, str], int] = {}
    ranks = []
    for retrieved in retrieved_sources:
        key = vote_key(retrieved, kit)
        counts[key] = counts.get(key, 0) + 1
        ranks.append(counts[key])
    return [retrieved_sources[n] for n in sorted(range(len(retrieved_sources)), key=lambda n: ranks[n])]


def _ask(
    question: str,
    ranked: Sequence[RetrievedSource],
    kit: Kit,
    kappa: int,
    tau: float,
    selection: str,
    max_tokens: int,
    checks: Checks = OURS,
    reader: Literal["ours", "paper"] = "ours",
) -> tuple[list[SourceReply], int]:
    """Return the replies that vote, in the order of their sources, and in how many rounds they were asked."""
    if selection != "rrss":
        chosen = ranked if selection == "all" else ranked[:kappa]
        replies = ask_sources(
            question, chosen, kit, tau=tau, max_tokens=max_tokens, checks=checks, reader=reader
        )
        return replies, int(any(reply.asked for reply in replies))
    replies = []
    remaining = list(ranked)
    rounds = asked = answered = 0
    while remaining and answered < kappa:
        size = batch_size(kappa - answered, asked, answered)
        batch: list[RetrievedSource] = []
        while remaining and sum(retrieved.relevant or not checks.gate for retrieved in batch) < size:
            batch.append(remaining.pop(0))
        new = ask_sources(question, batch, kit, tau=tau, max_tokens=max_tokens, checks=checks, reader=reader)
        replies += new
        rounds += any(reply.asked for reply in new)
        asked = sum(reply.asked for reply in replies)
        answered = sum(bool(reply.answer) for reply in replies)
        kit.emit(SourcesAsked(number=rounds, converged=answered >= kappa, asked=asked, answered=answered))
    return _until_enough(replies, kappa), rounds


def batch_size(needed: int, asked: int, answered: int) -> int:
    """Return how many sources to ask at once for `needed` more answers, by the share so far.

    Asking as many as are needed never asks one too many, but takes many rounds if few sources answer. Asking all
    that are likely needed takes fewer rounds and makes some calls in vain. This is half way between the two.

    >>> batch_size(4, 0, 0), batch_size(2, 4, 2), batch_size(1, 8, 3)
    (4, 3, 2)
    """
    scarcity = (asked + 1) / (answered + 1)
    return math.ceil(needed * (1 + (scarcity - 1) / 2) - 1e-9) if asked else needed


def _until_enough(replies: Sequence[SourceReply], kappa: int) -> list[SourceReply]:
    """Return the replies up to the one with the `kappa`-th answer; later replies do not vote."""
    voting: list[SourceReply] = []
    answered = 0
    for reply in replies:
        if answered >= kappa:
            break
        voting.append(reply)
        answered += bool(reply.answer)
    return voting
