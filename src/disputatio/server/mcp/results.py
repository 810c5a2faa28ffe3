"""Typed results of the tools, for the model and the program of a client."""

from __future__ import annotations

from typing import Annotated, Literal
from urllib.parse import quote, unquote

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from disputatio.text import neutralise
from disputatio.types import Answer, Check, Hit, Passage

SCHEME = "disputatio://passages/"  # of the resources
_EXCERPT = 500  # characters of a passage that a search shows


Text = Annotated[str, AfterValidator(neutralise)]
"""Text of documents and models, without control characters."""


class Quote(BaseModel):
    """A verbatim quote from a passage; `verdict` says if it supports its claim."""

    model_config = ConfigDict(from_attributes=True)  # made from a citation

    n: int = Field(description="the number of its mark [n] in the text")
    passage: str = Field(description="the id of the passage, for fetch")
    source: Text
    quote: Text
    verdict: str


class Statement(BaseModel):
    """A statement of the answer, with its quotes."""

    text: Text
    verdict: str
    quotes: list[Quote]


class Side(BaseModel):
    """An answer that some passages give, with its verdict and the reason of it."""

    answer: Text
    subject: Text
    verdict: Literal["accepted", "rejected", "unresolved"]
    cause: str
    reason: Text
    probability: float | None
    passages: list[str]
    sources: list[Text]


class OneSource(BaseModel):
    """The answer of one source, and its relation to what was accepted."""

    model_config = ConfigDict(from_attributes=True)

    source: Text
    relation: str
    answer: Text
    passage: str
    quote: Text
    date: Text


class AskResult(BaseModel):
    """An answer. `answers` is empty exactly when `abstained` says why."""

    id: str
    question: str
    answers: list[Text]
    abstained: Literal["no_evidence", "conflict", "fault"] | None
    text: Text = Field(description="the answer in words, with [n] for each quote")
    confidence: float | None
    conflict: str = Field(description="how the passages disagree")
    claims: list[Statement]
    positions: list[Side]
    each_source: list[OneSource] = Field(description="every source, where each_source was asked for")
    strategy: str
    model: str
    calls: int
    prompt_tokens: int
    completion_tokens: int
    seconds: float
    core_seconds: float | None


class Result(BaseModel):
    """A passage that a search found; `text` is its beginning."""

    id: str
    title: Text
    url: str
    source: Text
    date: str
    score: float
    text: Text


class SearchResult(BaseModel):
    """Passages, the best first."""

    results: list[Result]
    unsearched: list[str] = Field(default=[], description="indexes that could not be searched")


class Document(BaseModel):
    """A passage, with the text before and after it in its document."""

    id: str
    title: Text
    text: Text
    url: str
    source: Text
    date: str
    metadata: dict[str, Text]
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


class CheckedStatement(BaseModel):
    """A statement of a document, word for word; `value` is what the other statement contradicts."""

    model_config = ConfigDict(from_attributes=True)

    quote: Text
    value: Text
    title: Text
    source: Text
    path: Text
    date: str
    document: str


class Contradicting(BaseModel):
    """Two statements that cannot both hold; `holds` and the like name one of the sides, first or second."""

    model_config = ConfigDict(from_attributes=True)

    kind: str
    severity: str
    first: CheckedStatement
    second: CheckedStatement
    newer: str
    higher: str
    more_reliable: str
    holds: str
    settled_by: Text


class CheckResult(BaseModel):
    """Contradictions, the gravest first; `total` counts those that are not listed, too."""

    contradictions: list[Contradicting]
    total: int
    hidden: int = Field(description="more that may only differ in scope")
    documents: int


def check_result(found: Check, most: int) -> CheckResult:
    """Return the gravest contradictions of a check."""
    return CheckResult(
        contradictions=[Contradicting.model_validate(each) for each in found.contradictions[:most]],
        total=len(found.contradictions),
        hidden=found.hidden,
        documents=found.documents,
    )


def ask_result(answer: Answer, name: str) -> AskResult:
    """Return an answer as a tool gives it; `name` is its id on the server."""
    usage, conflict = answer.usage, answer.conflict
    return AskResult(
        id=name,
        question=answer.question,
        answers=list(answer.answers),
        abstained=answer.abstained,
        text=answer.text,
        confidence=answer.confidence,
        conflict=conflict.kind,
        claims=[
            Statement(
                text=claim.text,
                verdict=claim.verdict,
                quotes=[Quote.model_validate(citation) for citation in claim.citations],
            )
            for claim in answer.claims
        ],
        positions=[
            Side(
                answer=position.answer,
                subject=position.subject,
                verdict=position.verdict,
                cause=position.cause.kind,
                reason=position.reason,
                probability=position.probability,
                passages=list(position.passages),
                sources=list(position.sources),
            )
            for position in conflict.positions
        ],
        each_source=[OneSource.model_validate(each) for each in answer.each_source],
        strategy=answer.strategy,
        model=answer.model,
        calls=usage.calls,
        prompt_tokens=usage.prompt_tokens,
        completion_tokens=usage.completion_tokens,
        seconds=usage.seconds,
        core_seconds=usage.core_seconds,
    )


def result_of(hit: Hit) -> Result:
    """Return a hit as `search` gives it."""
    passage = hit.passage
    text = passage.text
    return Result(
        id=passage.id,
        title=passage.title or passage.source,
        url=address_of(passage),
        source=passage.source,
        date=passage.date,
        score=hit.score,
        text=text if len(text) <= _EXCERPT else text[: _EXCERPT - 1] + "…",
    )


def document_of(passage: Passage, before: list[Passage], after: list[Passage]) -> Document:
    """Return a passage as `fetch` gives it."""
    return Document(
        id=passage.id,
        title=passage.title or passage.source,
        text=passage.text,
        url=address_of(passage),
        source=passage.source,
        date=passage.date,
        metadata=dict(passage.metadata),
        before="\n".join(neutralise(each.text) for each in before),
        after="\n".join(neutralise(each.text) for each in after),
    )


def address_of(passage: Passage) -> str:
    """Return the URL of a passage, or its address as a resource."""
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
