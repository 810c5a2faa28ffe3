"""What the tools give back, typed: the structure that a client's model and program both read."""

from __future__ import annotations

from typing import Literal
from urllib.parse import quote, unquote

from pydantic import BaseModel, Field

from disputatio.text import neutralise
from disputatio.types import Answer, Hit, Passage

SCHEME = "disputatio://passages/"  # of the resources
_EXCERPT = 500  # characters of a passage that a search shows


class Quote(BaseModel):
    """A verbatim quote from a passage; `verdict` is whether it supports its claim."""

    n: int = Field(description="the number of its mark [n] in the text")
    passage: str = Field(description="the id of the passage, for fetch")
    source: str
    quote: str
    verdict: str


class Statement(BaseModel):
    """A statement of the answer with what it rests on."""

    text: str
    verdict: str
    quotes: list[Quote]


class Side(BaseModel):
    """An answer that some passages give, what became of it, and why."""

    answer: str
    subject: str
    verdict: Literal["accepted", "rejected", "unresolved"]
    cause: str
    reason: str
    probability: float | None
    passages: list[str]
    sources: list[str]


class AskResult(BaseModel):
    """An answer. `answers` is empty exactly when `abstained` says why."""

    id: str
    question: str
    answers: list[str]
    abstained: Literal["no_evidence", "conflict", "fault"] | None
    text: str = Field(description="the answer in words, with [n] for each quote")
    confidence: float | None
    conflict: str = Field(description="how the passages disagree")
    claims: list[Statement]
    positions: list[Side]
    strategy: str
    model: str
    calls: int
    prompt_tokens: int
    completion_tokens: int
    seconds: float


class Result(BaseModel):
    """A passage that a search found; `text` is its beginning."""

    id: str
    title: str
    url: str
    source: str
    date: str
    score: float
    text: str


class SearchResult(BaseModel):
    """Passages, the best first."""

    results: list[Result]
    unsearched: list[str] = Field(default=[], description="indexes that could not be searched")


class Document(BaseModel):
    """A passage, with what stands before and after it in its document."""

    id: str
    title: str
    text: str
    url: str
    source: str
    date: str
    metadata: dict[str, str]
    before: str
    after: str


class SourceRow(BaseModel):
    """A source: how likely it is right when it answers, with a 95 % interval; None where nothing is known."""

    name: str
    owner: str | None
    reliability: float | None
    low: float | None
    high: float | None
    answered: float
    documents: int
    passages: int


class SourcesResult(BaseModel):
    """Every source of the index."""

    sources: list[SourceRow]


def ask_result(answer: Answer, name: str) -> AskResult:
    """Return an answer as a tool gives it; `name` is its id on the server."""
    return AskResult(
        id=name,
        question=answer.question,
        answers=[neutralise(each) for each in answer.answers],
        abstained=answer.abstained,
        text=neutralise(answer.text),
        confidence=answer.confidence,
        conflict=answer.conflict.kind,
        claims=[
            Statement(
                text=neutralise(claim.text),
                verdict=claim.verdict,
                quotes=[
                    Quote(
                        n=citation.n,
                        passage=citation.passage,
                        source=neutralise(citation.source),
                        quote=neutralise(citation.quote),
                        verdict=citation.verdict,
                    )
                    for citation in claim.citations
                ],
            )
            for claim in answer.claims
        ],
        positions=[
            Side(
                answer=neutralise(position.answer),
                subject=neutralise(position.subject),
                verdict=position.verdict,
                cause=position.cause.kind,
                reason=neutralise(position.reason),
                probability=position.probability,
                passages=list(position.passages),
                sources=[neutralise(source) for source in position.sources],
            )
            for position in answer.conflict.positions
        ],
        strategy=answer.strategy,
        model=answer.model,
        calls=answer.usage.calls,
        prompt_tokens=answer.usage.prompt_tokens,
        completion_tokens=answer.usage.completion_tokens,
        seconds=answer.usage.seconds,
    )


def result_of(hit: Hit) -> Result:
    """Return a hit as `search` gives it."""
    passage = hit.passage
    text = neutralise(passage.text)
    return Result(
        id=passage.id,
        title=neutralise(passage.title or passage.source),
        url=address_of(passage),
        source=neutralise(passage.source),
        date=passage.date,
        score=hit.score,
        text=text if len(text) <= _EXCERPT else text[: _EXCERPT - 1] + "…",
    )


def document_of(passage: Passage, before: list[Passage], after: list[Passage]) -> Document:
    """Return a passage as `fetch` gives it."""
    return Document(
        id=passage.id,
        title=neutralise(passage.title or passage.source),
        text=neutralise(passage.text),
        url=address_of(passage),
        source=neutralise(passage.source),
        date=passage.date,
        metadata={key: neutralise(value) for key, value in passage.metadata.items()},
        before="\n".join(neutralise(each.text) for each in before),
        after="\n".join(neutralise(each.text) for each in after),
    )


def address_of(passage: Passage) -> str:
    """Return where a passage is from, or its own address as a resource."""
    return neutralise(passage.url) or uri_of(passage.id)


def uri_of(name: str) -> str:
    """Return the address of a passage as a resource, by its id.

    >>> uri_of("p 1")
    'disputatio://passages/p%201'
    """
    return f"{SCHEME}{quote(name, safe='')}"


def id_of(address: str) -> str:
    """Return the id of a passage that is named by its id or by its address as a resource.

    >>> id_of("disputatio://passages/p%201"), id_of("p1")
    ('p 1', 'p1')
    """
    return unquote(address.removeprefix(SCHEME)) if address.startswith(SCHEME) else address
