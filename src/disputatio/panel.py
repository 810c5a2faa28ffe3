"""The sources as a panel: what each holds on a question, what it answers from that alone, who agrees.

Per-source answering of RA-RAG (Hwang et al. 2024, arXiv 2410.22954): the best passages within each
source, an answer in keywords from those alone or "I don't know" (IDK), an IDK in place of an answer that
the passages do not bear out, and the answers in semantic clusters. Strategies and the calibration share it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from disputatio.agents import read_sources
from disputatio.evidence.alignment import TAU, consistency
from disputatio.evidence.resolve import content_stems
from disputatio.kit import Kit
from disputatio.text import bears, find_quote, normalise, stem
from disputatio.types import Hit, Passage, Reply

PER_SOURCE = 3
MOST_UNSOURCED = 24  # passages without a source that are heard, each as a source


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
    held = [
        Holding(
            source=name,
            named=named,
            passages=tuple(hit.passage for hit in shelf),
            score=max(hit.score for hit in shelf),
            relevant=_is_relevant(asked, shelf),
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
            reply = next(said)
            heard.append(SourceReply(holding=one, reply=reply, bearer=_bearer(one.passages, reply)))
        else:
            nothing = Reply(passages=tuple(passage.id for passage in one.passages))
            heard.append(SourceReply(holding=one, reply=nothing, asked=False))
    return heard


def answer_by_source(
    question: str, kit: Kit, *, per_source: int = PER_SOURCE, max_tokens: int = 96
) -> list[SourceReply]:
    """Every source's answer from its best `per_source` passages alone: one search, one batch.

    Raises `MissingPart` where there is nothing to search, `LLMError` for faults of the model.
    """
    return hear(question, hold(question, kit, per_source=per_source), kit, max_tokens=max_tokens)


def align(question: str, heard: Sequence[SourceReply], kit: Kit, *, tau: float = TAU) -> list[SourceReply]:
    """The replies with their consistency (f_align); an answer below `tau` becomes "I don't know".

    An answer none of whose passages bears most of its words is inconsistent without a call. With tau 0
    nothing is judged and every answer stays.
    """
    if tau <= 0:
        return list(heard)
    at = [n for n, one in enumerate(heard) if one.answer]
    borne = [n for n in at if _is_borne(heard[n])]
    scores = dict.fromkeys(at, 0.0)
    pairs = [(heard[n].answer, heard[n].holding.passages) for n in borne]
    scores.update(zip(borne, consistency(question, pairs, kit), strict=True))
    aligned = list(heard)
    for n, score in scores.items():
        reply = heard[n].reply if score >= tau else replace(heard[n].reply, answer="", quote="")
        bearer = heard[n].bearer if score >= tau else ""
        aligned[n] = replace(heard[n], reply=reply, bearer=bearer, consistency=round(score, 4))
    kit.trace.note("align", judged=len(borne), dropped=sum(one < tau for one in scores.values()))
    return aligned


def read_by(heard: Iterable[SourceReply]) -> tuple[Passage, ...]:
    """The passages that were read, source by source."""
    return tuple(passage for one in heard if one.asked for passage in one.holding.passages)


def _is_relevant(asked: frozenset[str], shelf: Sequence[Hit]) -> bool:
    """Whether retrieval found anything: a hit that shares a content word, or is near in meaning.

    The bar: one of the passages, its title included, has a content word of the question by its stem, or
    stands in the upper half of the dense leg. Where the retriever scores no leg there is no telling.
    """
    if not asked or not all(hit.scores for hit in shelf):
        return True
    if any(hit.scores.get("dense", 0.0) >= 0.5 for hit in shelf):
        return True
    words = {
        stem(word) for hit in shelf for word in normalise(f"{hit.passage.title} {hit.passage.text}").split()
    }
    return bool(asked & words)


def _bearer(passages: Sequence[Passage], reply: Reply) -> str:
    """The id of the passage in which a reply's quote stands, else of the first that bears its answer."""
    if not reply.answer:
        return ""
    quoting = (one.id for one in passages if reply.quote and find_quote(one.text, reply.quote))
    bearing = (one.id for one in passages if bears(f"{one.title} {one.text}", reply.answer))
    return next(quoting, "") or next(bearing, "")


def _is_borne(one: SourceReply) -> bool:
    return any(bears(f"{each.title} {each.text}", one.answer) for each in one.holding.passages)
