"""Answers by source: the best passages of each source, and what each source answers from them alone.

Per-source answering of RA-RAG (Hwang et al. 2024, arXiv 2410.22954): retrieve within each source, answer in
keywords from its passages alone or "I don't know" (IDK), and replace an answer that the passages do not
support by IDK. Strategies and the calibration share it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from disputatio.agents.replies import echoes
from disputatio.agents.source_reader import read_sources
from disputatio.attribution.alignment import TAU, consistency, turn_question
from disputatio.errors import InputError, NoLogprobs
from disputatio.events import AnswersAligned, Unchecked
from disputatio.kit import Kit
from disputatio.reliability.similarity import content_stems
from disputatio.text import bare_words, find_quote, stem
from disputatio.types import Hit, Passage, Reply
from disputatio.values import bears

PER_SOURCE = 3
MOST_UNSOURCED = 24  # passages without a source that are read, each as a source
# A source is relevant if a hit has this share of the third best source's BM25 score, or of the question's content
# words, or is this near by the dense leg (normalised over the candidates). bench/results/papers/relevance_bar.md
# has the calls saved and the answers lost. The third best sets the bar, so that one or two sources cannot exclude
# the rest by repeating words.
BM25_SHARE, WORD_SHARE, NEAR = 0.2, 0.5, 0.5
SETS_THE_BAR = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Checks:
    """The checks that an answer passes before it votes; f_align of the paper is the `judge` alone.

    `gate`: a source in which retrieval finds nothing on the question is not asked. `lexical`: a passage has most
    words of the answer. `echo`: the answer does not only repeat words of the question. `judge`: consistency of at
    least tau with the passages (AlignScore in the paper, here the kit's judge of entailment).
    """

    gate: bool = True
    lexical: bool = True
    echo: bool = True
    judge: bool = True


PAPER = Checks(gate=False, lexical=False, echo=False)
OURS = Checks()
_NAMES = ("gate", "lexical", "echo", "judge")


def read_checks(text: str) -> Checks:
    """Return the checks that `paper`, `ours`, `none` or a list (`judge+echo`) names; raises `InputError`.

    >>> read_checks("paper") == read_checks("judge"), read_checks("judge+echo").lexical
    (True, False)
    """
    named = {"paper": "judge", "ours": "+".join(_NAMES), "none": ""}.get(text, text)
    parts = [part.strip() for part in named.split("+") if part.strip()]
    wrong = [part for part in parts if part not in _NAMES]
    if wrong or (not parts and text != "none"):
        raise InputError(f"f_align {text!r}: paper, ours, none, or some of {'+'.join(_NAMES)} joined by +")
    return Checks(**{name: name in parts for name in _NAMES})


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievedSource:
    """One source's best passages on a question, best first.

    `source` is its name; a passage without a source counts as a source, named by the passage's id (`named` is
    false). `score` is that of the best passage; `relevant` is false if retrieval found nothing on the question.
    """

    source: str
    passages: tuple[Passage, ...]
    score: float = 0.0
    relevant: bool = True
    named: bool = True

    def find_title(self, passage: str) -> str:
        """Return the title of a passage by its id; empty if it has none or is not among these."""
        return next((each.title for each in self.passages if each.id == passage), "")


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceReply:
    """The answer of one source from its own passages; `reply.answer` is empty for "I don't know".

    `reply.passages` are the ids it read; `bearer` is the id of the passage that has its quote or else its
    answer. `asked` is false if it had nothing relevant and no call was made. `consistency` of the answer with
    the passages, in [0, 1], is None until it is judged.
    """

    retrieved: RetrievedSource
    reply: Reply
    bearer: str = ""
    asked: bool = True
    consistency: float | None = None

    @property
    def source(self) -> str:
        """The name of the source."""
        return self.retrieved.source

    @property
    def answer(self) -> str:
        """Its answer in keywords, empty for "I don't know"."""
        return self.reply.answer


def retrieve_per_source(question: str, kit: Kit, *, per_source: int = PER_SOURCE) -> list[RetrievedSource]:
    """Return each source's passages on a question, by falling score of the best; one search.

    Passages without a source take a second search, because each counts as a source. Raises `MissingPart` if
    there is nothing to search.
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
    question_stems = content_stems(question)
    bests = sorted((_sparse(shelf) for shelf in shelves.values()), reverse=True)
    bar = BM25_SHARE * bests[SETS_THE_BAR - 1] if len(bests) >= SETS_THE_BAR else 0.0
    retrieved_sources = [
        RetrievedSource(
            source=name,
            named=named,
            passages=tuple(hit.passage for hit in shelf),
            score=max(hit.score for hit in shelf),
            relevant=_is_relevant(question_stems, shelf, bar),
        )
        for (named, name), shelf in shelves.items()
    ]
    return sorted(retrieved_sources, key=lambda retrieved: -retrieved.score)


def answer_per_source(
    question: str,
    retrieved_sources: Sequence[RetrievedSource],
    kit: Kit,
    *,
    max_tokens: int = 96,
    gate: bool = True,
    reader: Literal["ours", "paper"] = "ours",
) -> list[SourceReply]:
    """Return one answer for each source from its passages alone, all in one batch.

    With the `gate` a source without a relevant passage says "I don't know" without a call.
    """
    relevant = [retrieved for retrieved in retrieved_sources if retrieved.relevant or not gate]
    shelves = [retrieved.passages for retrieved in relevant]
    replies = iter(read_sources(question, shelves, kit, max_tokens=max_tokens, reader=reader))
    answered = []
    for retrieved in retrieved_sources:
        if retrieved.relevant or not gate:
            reply = state_answer(question, next(replies))
            answered.append(
                SourceReply(retrieved=retrieved, reply=reply, bearer=_bearer(retrieved.passages, reply))
            )
        else:
            nothing = Reply(passages=tuple(passage.id for passage in retrieved.passages))
            answered.append(SourceReply(retrieved=retrieved, reply=nothing, asked=False))
    return answered


def state_answer(question: str, reply: Reply) -> Reply:
    """Return the reply with the sentence of question and answer as its explanation, if code can form one."""
    sentence = turn_question(question, reply.answer) if reply.answer else None
    return replace(reply, explanation=sentence) if sentence else reply


def drop_unsupported(
    question: str, replies: Sequence[SourceReply], kit: Kit, *, tau: float = TAU, checks: Checks = OURS
) -> list[SourceReply]:
    """Return the replies with their consistency (f_align); an answer below `tau` becomes "I don't know".

    An answer is inconsistent without a call if no passage has most of its words (`checks.lexical`) or it only
    echoes the question (`checks.echo`): small models give such answers, and agree on them. With tau 0 nothing is
    judged and every answer stays. If the judge's model gives no log-probabilities (the trace notes it), only the
    words are checked.
    """
    if tau <= 0:
        return list(replies)
    answered = [n for n, reply in enumerate(replies) if reply.answer]
    supported = [
        n
        for n in answered
        if (not checks.lexical or _is_supported(replies[n]))
        and not (checks.echo and echoes(question, replies[n].answer))
    ]
    scores: dict[int, float | None] = dict.fromkeys(answered, 0.0)
    try:
        pairs = [(replies[n].answer, replies[n].retrieved.passages) for n in supported]
        judged = consistency(question, pairs, kit) if checks.judge else [None] * len(supported)
        scores.update(zip(supported, judged, strict=True))
    except NoLogprobs as error:
        kit.emit(Unchecked(reason=str(error)))
        scores.update(dict.fromkeys(supported))
    aligned = list(replies)
    dropped = 0
    for n, score in scores.items():
        if score is None:
            continue
        aligned[n] = replace(replies[n], consistency=round(score, 4))
        if score < tau:
            dropped += 1
            silent = replace(replies[n].reply, answer="", quote="", explanation="")
            aligned[n] = replace(aligned[n], reply=silent, bearer="")
    kit.emit(AnswersAligned(judged=len(supported), dropped=dropped))
    return aligned


def ask_sources(
    question: str,
    retrieved_sources: Sequence[RetrievedSource],
    kit: Kit,
    *,
    tau: float,
    max_tokens: int,
    checks: Checks = OURS,
    reader: Literal["ours", "paper"] = "ours",
) -> list[SourceReply]:
    """Return one answer for each source, dropped where its passages do not support it."""
    replies = answer_per_source(
        question, retrieved_sources, kit, max_tokens=max_tokens, gate=checks.gate, reader=reader
    )
    return drop_unsupported(question, replies, kit, tau=tau, checks=checks)


def read_by(replies: Iterable[SourceReply]) -> tuple[Passage, ...]:
    """Return the passages of the sources that were asked, source by source."""
    return tuple(passage for reply in replies if reply.asked for passage in reply.retrieved.passages)


def _is_relevant(question_stems: frozenset[str], shelf: Sequence[Hit], bar: float) -> bool:
    """Return whether retrieval found anything on the question; `bar` is a BM25 score.

    A hit without any content word of the question, by stem, in text or title, is not relevant by keyword. If the
    retriever gives no scores by leg, every source counts as relevant.
    """
    if not question_stems or not all(hit.scores for hit in shelf):
        return True
    if any(hit.scores.get("dense", 0.0) >= NEAR for hit in shelf):
        return True
    texts = [bare_words(f"{hit.passage.title} {hit.passage.text}") for hit in shelf]
    most = max(len(question_stems & {stem(word) for word in words}) for words in texts)
    return most > 0 and (_sparse(shelf) >= bar or most >= WORD_SHARE * len(question_stems))


def _sparse(shelf: Sequence[Hit]) -> float:
    """Return the best keyword score of a source's hits: BM25, or the retriever's sparse score."""
    return max(hit.scores.get("bm25", hit.scores.get("sparse", 0.0)) for hit in shelf)


def _bearer(passages: Sequence[Passage], reply: Reply) -> str:
    """Return the id of the passage that has a reply's quote, else of the first that supports its answer."""
    if not reply.answer:
        return ""
    quoting = (passage.id for passage in passages if reply.quote and find_quote(passage.text, reply.quote))
    bearing = (passage.id for passage in passages if bears(f"{passage.title} {passage.text}", reply.answer))
    return next(quoting, "") or next(bearing, "")


def _is_supported(reply: SourceReply) -> bool:
    return any(bears(f"{passage.title} {passage.text}", reply.answer) for passage in reply.retrieved.passages)
