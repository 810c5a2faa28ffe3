"""The sources as a panel: what each holds on a question, what it answers from that alone, who agrees.

Per-source answering of RA-RAG (Hwang et al. 2024, arXiv 2410.22954): the best passages within each
source, an answer in keywords from those alone or "I don't know" (IDK), an IDK in place of an answer that
the passages do not bear out, and the answers in semantic clusters. Strategies and the calibration share it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from disputatio.agents.replies import echoes
from disputatio.agents.source_reader import read_sources
from disputatio.attribution.alignment import TAU, consistency, turned
from disputatio.errors import NoLogprobs
from disputatio.kit import Kit
from disputatio.reliability.similarity import content_stems
from disputatio.text import bare_words, find_quote, stem
from disputatio.types import (
    Hit,
    Passage,
    Reply,
)
from disputatio.values import bears

PER_SOURCE = 3
MOST_UNSOURCED = 24  # passages without a source that are heard, each as a source
# A source is relevant when a hit has this share of the third best source's BM25 score, or of the question's
# content words, or is this near by the dense leg (normalised over the candidates); what that spares and loses
# is in bench/results/papers/relevance_bar.md. The third best sets the bar, so that one or two sources cannot silence
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


def retrieve_per_source(question: str, kit: Kit, *, per_source: int = PER_SOURCE) -> list[Holding]:
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


def answer_per_source(
    question: str, held: Sequence[Holding], kit: Kit, *, max_tokens: int = 96
) -> list[SourceReply]:
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


def drop_unsupported(
    question: str, heard: Sequence[SourceReply], kit: Kit, *, tau: float = TAU
) -> list[SourceReply]:
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
    told = [bare_words(f"{hit.passage.title} {hit.passage.text}") for hit in shelf]
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
