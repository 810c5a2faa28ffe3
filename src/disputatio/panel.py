"""The sources as a panel: what each holds on a question, what it answers from that alone, who agrees.

Per-source answering of RA-RAG (Hwang et al. 2024, arXiv 2410.22954): the best passages within each
source, an answer in keywords from those alone or "I don't know" (IDK), an IDK in place of an answer that
the passages do not bear out, and the answers in semantic clusters. Strategies and the calibration share it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from disputatio.agents import echoes, read_sources
from disputatio.errors import NoLogprobs
from disputatio.evidence.alignment import TAU, consistency, turned
from disputatio.evidence.certificate import certify
from disputatio.evidence.clusters import Clusters
from disputatio.evidence.groups import wording
from disputatio.evidence.likeness import content_stems
from disputatio.evidence.voices import numbered, rule
from disputatio.evidence.weighing import weighted_vote
from disputatio.kit import Kit
from disputatio.text import bears, find_quote, normalise, stem
from disputatio.types import (
    Certificate,
    Conflict,
    ConflictKind,
    Hit,
    Passage,
    Position,
    PositionVerdict,
    Reply,
)

PER_SOURCE = 3
MOST_UNSOURCED = 24  # passages without a source that are heard, each as a source
# A source is relevant when a hit has this share of the third best source's BM25 score, or of the question's
# content words, or is this near by the dense leg (normalised over the candidates); what that spares and loses
# is in bench/results/relevance_bar.md. The third best sets the bar, so that one or two sources cannot silence
# the rest by stuffing words.
BM25_SHARE, WORD_SHARE, NEAR = 0.2, 0.5, 0.5
SETS_THE_BAR = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Holding:
    """What one source holds on a question: its best passages, best first.

    `source` is its name; a passage without a source is a source of its own, and stands under its id.
    `score` is that of its best passage; `relevant` is false where retrieval found nothing on the question.
    """

    source: str
    passages: tuple[Passage, ...]
    score: float = 0.0
    relevant: bool = True
    named: bool = True

    def titled(self, passage: str) -> str:
        """The title of a passage by its id, empty where it has none or is not here."""
        return next((one.title for one in self.passages if one.id == passage), "")


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceReply:
    """What one source answers from its own passages; `reply.answer` is empty for "I don't know".

    `reply.passages` are the ids it read; `bearer` is the id of the one in which its quote, or else its
    answer, stands. `asked` is false where it held nothing relevant and no call was made. `consistency` of
    the answer with the passages, in [0, 1], is None until it was judged.
    """

    holding: Holding
    reply: Reply
    bearer: str = ""
    asked: bool = True
    consistency: float | None = None

    @property
    def source(self) -> str:
        """The name that the source stands under."""
        return self.holding.source

    @property
    def answer(self) -> str:
        """Its answer in keywords, empty for "I don't know"."""
        return self.reply.answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What a vote of sources came to; `confidence` is the winner's share of the weight that was cast."""

    answers: tuple[str, ...]
    conflict: Conflict
    confidence: float | None
    certificate: Certificate | None


def hold(question: str, kit: Kit, *, per_source: int = PER_SOURCE) -> list[Holding]:
    """What each source holds on a question, by falling score of its best passage; one search.

    Passages without a source take a search of their own, as each is a source. Raises `MissingPart`
    where there is nothing to search.
    """
    hits = kit.search(question, per_source=per_source)
    if any(not hit.passage.source for hit in hits):
        alone = kit.search(question, k=MOST_UNSOURCED, sources=("",))
        hits = [hit for hit in hits if hit.passage.source]
        hits += [hit for hit in alone if not hit.passage.source]
    shelves: dict[tuple[bool, str], list[Hit]] = {}
    for hit in hits:
        named = bool(hit.passage.source)
        shelf = shelves.setdefault((named, hit.passage.source or hit.passage.id), [])
        if len(shelf) < per_source:
            shelf.append(hit)
    asked = content_stems(question)
    bests = sorted((_sparse(shelf) for shelf in shelves.values()), reverse=True)
    bar = BM25_SHARE * bests[SETS_THE_BAR - 1] if len(bests) >= SETS_THE_BAR else 0.0
    held = [
        Holding(
            source=name,
            named=named,
            passages=tuple(hit.passage for hit in shelf),
            score=max(hit.score for hit in shelf),
            relevant=_is_relevant(asked, shelf, bar),
        )
        for (named, name), shelf in shelves.items()
    ]
    return sorted(held, key=lambda one: -one.score)


def hear(question: str, held: Sequence[Holding], kit: Kit, *, max_tokens: int = 96) -> list[SourceReply]:
    """One answer a source from its own passages, all in one batch.

    A source that holds nothing relevant says "I don't know" without a call.
    """
    asked = [one for one in held if one.relevant]
    said = iter(read_sources(question, [one.passages for one in asked], kit, max_tokens=max_tokens))
    heard = []
    for one in held:
        if one.relevant:
            reply = stated(question, next(said))
            heard.append(SourceReply(holding=one, reply=reply, bearer=_bearer(one.passages, reply)))
        else:
            nothing = Reply(passages=tuple(passage.id for passage in one.passages))
            heard.append(SourceReply(holding=one, reply=nothing, asked=False))
    return heard


def stated(question: str, reply: Reply) -> Reply:
    """The reply, explained by the declarative sentence of question and answer where code can turn it."""
    sentence = turned(question, reply.answer) if reply.answer else None
    return replace(reply, explanation=sentence) if sentence else reply


def answer_by_source(
    question: str, kit: Kit, *, per_source: int = PER_SOURCE, max_tokens: int = 96
) -> list[SourceReply]:
    """Every source's answer from its best `per_source` passages alone: one search, one batch.

    Raises `MissingPart` where there is nothing to search, `LLMError` for faults of the model.
    """
    return hear(question, hold(question, kit, per_source=per_source), kit, max_tokens=max_tokens)


def align(question: str, heard: Sequence[SourceReply], kit: Kit, *, tau: float = TAU) -> list[SourceReply]:
    """The replies with their consistency (f_align); an answer below `tau` becomes "I don't know".

    An answer none of whose passages bears most of its words, or that only echoes the question, is
    inconsistent without a call: small models do so, and agree with each other in it. With tau 0
    nothing is judged and every answer stays. Where the judge's model gives no log-probabilities (the trace
    says so), only the words are checked.
    """
    if tau <= 0:
        return list(heard)
    spoken = [n for n, one in enumerate(heard) if one.answer]
    borne = [n for n in spoken if _is_borne(heard[n]) and not echoes(question, heard[n].answer)]
    scores: dict[int, float | None] = dict.fromkeys(spoken, 0.0)
    try:
        judged = consistency(question, [(heard[n].answer, heard[n].holding.passages) for n in borne], kit)
        scores.update(zip(borne, judged, strict=True))
    except NoLogprobs as error:
        kit.trace.note("unchecked", reason=str(error))
        scores.update(dict.fromkeys(borne))
    aligned = list(heard)
    dropped = 0
    for n, score in scores.items():
        if score is None:
            continue
        aligned[n] = replace(heard[n], consistency=round(score, 4))
        if score < tau:
            dropped += 1
            silent = replace(heard[n].reply, answer="", quote="", explanation="")
            aligned[n] = replace(aligned[n], reply=silent, bearer="")
    kit.trace.note("align", judged=len(borne), dropped=dropped)
    return aligned


def decide(heard: Sequence[SourceReply], clusters: Clusters, weights: Sequence[float], kit: Kit) -> Verdict:
    """The weighted vote of the sources, each with its own vote (RA-RAG, equation 1).

    `clusters` and `weights` are those of the replies, in their order. A tie goes to the answer met first,
    and the other is unresolved.
    """
    winner = int(weighted_vote([clusters.votes], weights)[0]) if heard else -1
    certificate = _certified(heard, clusters, weights, kit)
    return _verdict(heard, clusters, clusters.votes, weights, winner, certificate, kit)


def decide_by_owner(
    heard: Sequence[SourceReply], clusters: Clusters, weights: Sequence[Sequence[float]], kit: Kit
) -> Verdict:
    """The vote with one voice an owner and a group of copies; no weight is negative.

    Where none who was heard has any of the first `weights`, the next decide, and after the last all
    voices count alike.
    """
    owners = [_owner(one, kit) or f"source {one.source}" for one in heard]
    groups = [_group(one, kit) for one in heard]
    names = [one.source for one in heard]
    if not heard:
        return decide(heard, clusters, (), kit)
    rulings = (rule(clusters.votes, one, owners=owners, groups=groups, names=names) for one in weights)
    ruling = next(rulings)
    while not ruling.earned and (later := next(rulings, None)) is not None:
        ruling = later
    called = tuple(one.removeprefix("source ") for one in ruling.names)
    certificate = certify(ruling.choices, ruling.weights, called)
    return _verdict(heard, clusters, ruling.choices, ruling.weights, ruling.winner, certificate, kit)


def _verdict(
    heard: Sequence[SourceReply],
    clusters: Clusters,
    choices: Sequence[int],
    weights: Sequence[float],
    winner: int,
    certificate: Certificate | None,
    kit: Kit,
) -> Verdict:
    """What follows from votes cast (`choices` with `weights`) for the positions that sources took."""
    sums = [0.0] * len(clusters.answers)
    for vote, weight in zip(choices, weights, strict=True):
        if vote >= 0:
            sums[vote] += weight
    positions = []
    for n in sorted(range(len(sums)), key=lambda n: (n != winner, -sums[n])):
        own = [one for one, vote in zip(heard, clusters.votes, strict=True) if vote == n]
        reason = f"{_told(own, kit)}; {_compared(n, winner, sums, clusters.answers)}"
        verdict: PositionVerdict = "accepted" if n == winner else "rejected"
        if n != winner and _is_tie(sums[n], sums[winner]):
            verdict = "unresolved"
        positions.append(_position(clusters.answers[n], own, reason, sums[n], verdict))
    cast = sum(max(one, 0.0) for one in sums)
    kind: ConflictKind = "misinformation" if len(sums) > 1 else "none"
    if any(one.verdict == "unresolved" for one in positions):
        kind = "unresolved"
    return Verdict(
        answers=(clusters.answers[winner],) if winner >= 0 else (),
        conflict=Conflict(kind=kind, positions=tuple(positions)),
        confidence=round(max(sums[winner], 0.0) / cast, 4) if winner >= 0 and cast else None,
        certificate=certificate,
    )


def _certified(
    heard: Sequence[SourceReply], clusters: Clusters, weights: Sequence[float], kit: Kit
) -> Certificate | None:
    """How many owners would have to lie to change the vote; None where that cannot be told exactly.

    Sources of one owner count together where they said the same; where they did not, or where a vote
    weighs less than nothing, there is no certificate, and the trace says why.
    """
    said: dict[str, tuple[int, float]] = {}
    for one, vote, weight in zip(heard, clusters.votes, weights, strict=True):
        if vote < 0:
            continue
        name = _owner(one, kit) or one.source
        choice, sum_ = said.get(name, (vote, 0.0))
        if choice != vote or weight < 0:
            why = (
                f"{name} gave several answers" if choice != vote else f"the vote of {name} counts against it"
            )
            kit.trace.note("uncertified", reason=why)
            return None
        said[name] = (vote, sum_ + weight)
    return certify([one for one, _ in said.values()], [one for _, one in said.values()], tuple(said))


def read_by(heard: Iterable[SourceReply]) -> tuple[Passage, ...]:
    """The passages that were read, source by source."""
    return tuple(passage for one in heard if one.asked for passage in one.holding.passages)


def _is_relevant(asked: frozenset[str], shelf: Sequence[Hit], bar: float) -> bool:
    """Whether retrieval found anything on the question; `bar` is in BM25.

    No hit without any content word of the question, by stem and in text or title, is relevant by keyword.
    Where a retriever scores no leg there is no telling.
    """
    if not asked or not all(hit.scores for hit in shelf):
        return True
    if any(hit.scores.get("dense", 0.0) >= NEAR for hit in shelf):
        return True
    told = [normalise(f"{hit.passage.title} {hit.passage.text}").split() for hit in shelf]
    most = max(len(asked & {stem(word) for word in words}) for words in told)
    return most > 0 and (_sparse(shelf) >= bar or most >= WORD_SHARE * len(asked))


def _sparse(shelf: Sequence[Hit]) -> float:
    """The best keyword score of a source's hits: BM25, or what the retriever has in its place."""
    return max(hit.scores.get("bm25", hit.scores.get("sparse", 0.0)) for hit in shelf)


def _bearer(passages: Sequence[Passage], reply: Reply) -> str:
    """The id of the passage in which a reply's quote stands, else of the first that bears its answer."""
    if not reply.answer:
        return ""
    quoting = (one.id for one in passages if reply.quote and find_quote(one.text, reply.quote))
    bearing = (one.id for one in passages if bears(f"{one.title} {one.text}", reply.answer))
    return next(quoting, "") or next(bearing, "")


def _is_borne(one: SourceReply) -> bool:
    return any(bears(f"{each.title} {each.text}", one.answer) for each in one.holding.passages)


def _position(
    answer: str, own: Sequence[SourceReply], reason: str, weight: float, verdict: PositionVerdict
) -> Position:
    titles = [one.holding.titled(one.bearer) for one in own]
    told = [one for one in titles if one]
    return Position(
        answer=answer,
        subject=max(told, key=told.count) if told else "",
        verdict=verdict,
        reason=reason,
        passages=tuple(one.bearer or one.reply.passages[0] for one in own),
        sources=tuple(one.source for one in own if one.holding.named),
        weight=round(weight, 4),
    )


def _told(own: Sequence[SourceReply], kit: Kit) -> str:
    """How many sources tell a position, and how many of them do not speak independently."""
    told = f"told by {len(own)} source{'s' * (len(own) > 1)}"
    voices = numbered([voice(one, kit) for one in own], len(own), "voices")
    return f"{told} ({wording(voices)})" if len(set(voices.tolist())) < len(own) else told


def voice(one: SourceReply | Holding, kit: Kit) -> str:
    """What a source speaks for: the group it copies in, else its owner, else itself."""
    group, owner = _group(one, kit), _owner(one, kit)
    return f"group {group}" if group else f"owner {owner}" if owner else f"source {_held(one).source}"


def _group(one: SourceReply | Holding, kit: Kit) -> str:
    known = kit.sources.get(_held(one).source) if _held(one).named else None
    return known.group if known else ""


def _held(one: SourceReply | Holding) -> Holding:
    return one.holding if isinstance(one, SourceReply) else one


def _owner(one: SourceReply | Holding, kit: Kit) -> str:
    """Who owns a source, by what is known of it or else by its passages; empty where nobody is named."""
    held = _held(one)
    known = kit.sources.get(held.source) if held.named else None
    return (known.owner if known else "") or held.passages[0].owner


def _compared(n: int, winner: int, sums: Sequence[float], answers: Sequence[str]) -> str:
    """Why a position won or lost: its weight against that of the winner, or of the winner's next."""
    others = [m for m in range(len(sums)) if m != n]
    if not others:
        return f"weighs {sums[n]:.1f}, and no source says otherwise"
    other = max(others, key=lambda m: sums[m]) if n == winner else winner
    if _is_tie(sums[n], sums[other]):
        first = "which was" if n != winner else "but was"
        return f"weighs {sums[n]:.1f}, as much as {answers[other]}, {first} met first"
    verb = "outweighs" if n == winner else "outweighed by"
    return f"{verb} {answers[other]}: {sums[n]:.1f} against {sums[other]:.1f}"


def _is_tie(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-9)
