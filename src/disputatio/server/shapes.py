"""Models of requests and responses, for validation and for OpenAPI.

Models of answers are made from the dataclasses, so that the description cannot differ from what `to_dict`
writes; requests have models of their own.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, create_model, model_validator

from disputatio import events
from disputatio.server.service import AskRequest
from disputatio.types import Answer, Passage, Position

STREAM = "text/event-stream"
_MOST = 200  # names in one request


@cache
def shape(noun: type) -> type[BaseModel]:
    """Return the model of the dictionary that `to_dict` makes of a noun."""
    hints = typing.get_type_hints(noun)
    parts: dict[str, Any] = {field.name: (_shape_hint(hints[field.name]), ...) for field in fields(noun)}
    if noun is Passage:
        parts["page"] = (str, Field(default="", description="where the metadata names one"))
        parts["gives_orders"] = (bool, Field(default=False, description="it tells its reader what to answer"))
    if noun is Position:
        del parts["cause"]
        parts |= {"cause": (str, ...), "reason": (str, ...), "details": (dict[str, Any], ...)}
    kind = getattr(noun, "kind", "")
    if isinstance(kind, str) and kind:  # an event
        parts = {"event": (Literal[kind], ...)} | parts
    model: type[BaseModel] = create_model(
        noun.__name__, __doc__=(noun.__doc__ or "").strip().partition("\n\n")[0], **parts
    )
    return model


def _shape_hint(hint: Any) -> Any:
    """Return a field's annotation with models in place of dataclasses."""
    if isinstance(hint, type) and is_dataclass(hint):
        return shape(hint)
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (types.UnionType, typing.Union):
        return typing.Union[tuple(_shape_hint(each) for each in arguments)]  # noqa: UP007 (made of a tuple)
    if origin is tuple:
        return list[_shape_hint(arguments[0])]  # type: ignore[misc]  # a type made at run time
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return dict[arguments[0], _shape_hint(arguments[1])]  # type: ignore[misc,valid-type]  # as above
    return hint


if TYPE_CHECKING:  # a checker takes no model that is made at run time for a type
    AnswerShape: TypeAlias = Any
    PassageShape: TypeAlias = Any
else:
    AnswerShape, PassageShape = shape(Answer), shape(Passage)


class Asked(BaseModel):
    """The first event: the `id` of the question, and how many were waiting."""

    event: Literal["asked"]
    id: str
    waiting: int


class Queued(BaseModel):
    """The question waits: its place, 1 for the next, and the seconds that this may take."""

    event: Literal["queued"]
    place: int
    seconds: float


class FaultTold(BaseModel):
    """The last event of a question without an answer: why there is none."""

    event: Literal["fault"]
    kind: str
    message: str
    name: str | None = None
    known: list[str] | None = None
    nearest: str | None = None


class Unkept(BaseModel):
    """The answer could not be kept: its permalink leads nowhere."""

    event: Literal["unkept"]
    message: str


_EVENTS = (Asked, Queued, *(shape(kind) for kind in events.PUBLIC), Unkept, FaultTold)
_EVENT = "#/components/schemas/Event"
EVENT = {STREAM: {"schema": {"$ref": _EVENT}}}
"""The content of a stream: each `data` line is one of the events."""


@cache
def event_schemas() -> dict[str, Any]:
    """Return the component `Event` of the API's description, with the components that it refers to."""
    any_of: Any = Annotated[typing.Union[_EVENTS], Field(discriminator="event")]  # noqa: UP007 (made of a tuple)
    adapter: TypeAdapter[Any] = TypeAdapter(any_of)
    found = adapter.json_schema(ref_template="#/components/schemas/{model}")
    return {**found.pop("$defs"), "Event": {"title": "Event", **found}}


class Request(BaseModel):
    """A request body that refuses unknown fields, and names the first of them."""

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _keep_first_unknown(cls, value: Any) -> Any:
        """Drop all unknown fields but one: a fault for each of 70,000 held up all others for a second."""
        if not isinstance(value, dict) or len(value) <= len(cls.model_fields):
            return value
        unknown = next(name for name in value if name not in cls.model_fields)
        return {name: each for name, each in value.items() if name in cls.model_fields or name == unknown}


Name = Annotated[str, Field(max_length=2_000)]


class AskFields(Request):
    """The options of a question; what is left out is as the server was started."""

    model: Name | None = Field(None, description="one that GET /api/ready lists")
    options: dict[str, Any] = Field(default_factory=dict, description="the strategy's options")
    expect: Literal["auto", "one", "several"] | None = Field(None, description="how many answers are right")
    sources: list[Name] | None = Field(None, max_length=_MOST, description="read these sources only")
    mute: list[Name] = Field(
        default_factory=list, max_length=_MOST, description="leave these documents unread: id, file or title"
    )
    after: Name | None = Field(None, description="only passages dated on or after")
    before: Name | None = Field(None, description="only passages dated on or before")
    as_of: Name | None = Field(None, description="the day whose answer is asked for, such as 2021-05")
    passages: list[dict[str, Any]] | None = Field(
        None, max_length=_MOST, description="read these in place of the index: text, source, title, url, date"
    )
    verify: bool = Field(True, description="have every citation judged")
    strict: bool = Field(False, description="drop claims that their quotes do not support")
    min_confidence: float | None = Field(
        None, ge=0, le=1, description="abstain where the answer is less likely than this to be right"
    )
    each_source: bool = Field(False, description="read the best of every source, and say what each answers")
    within: float | None = Field(
        None, gt=0, le=86_400, description="seconds after which the answer is made of what was read by then"
    )
    calls: int | None = Field(None, ge=1, description="the most model calls")
    tokens: int | None = Field(None, ge=1, description="the most tokens, read and written")
    seconds: float | None = Field(None, gt=0, description="the most seconds, once its turn has come")

    def to_request(self, question: str, strategy: str | None) -> AskRequest:
        """Return the request of a question with these fields."""
        fields = {name: getattr(self, name) for name in AskFields.model_fields}
        return AskRequest(question=question, strategy=strategy, **fields)


class AskBody(AskFields):
    """A question, and how it is to be answered; what is left out is as the server was started."""

    question: str = Field(description="what you want to know", min_length=1, max_length=32_000)
    strategy: Name | None = Field(None, description="one that GET /api/strategies lists")
    follows: Name | None = Field(
        None, description='the id of the answer that it follows up; "" begins a conversation that is kept'
    )


class WithoutBody(Request):
    """The parts to leave out of an answer, by name."""

    sources: list[Name] = Field(default_factory=list, max_length=_MOST)
    owners: list[Name] = Field(default_factory=list, max_length=_MOST)
    passages: list[Name] = Field(default_factory=list, max_length=_MOST)
    documents: list[Name] = Field(default_factory=list, max_length=_MOST)


class Stopped(BaseModel):
    """A question that was told to stop."""

    id: str
    state: Literal["waiting", "running", "answered", "failed", "stopped"]


class Error(BaseModel):
    """The reason of a failure; `nearest` is there for names that are not known."""

    kind: str
    message: str
    name: str | None = None
    known: list[str] | None = None
    nearest: str | None = None


class Faulty(BaseModel):
    """The body of every response that is no success."""

    error: Error


class StrategyOption(BaseModel):
    """An option of a strategy; `choices` are all its values where it has few."""

    name: str
    default: Any
    type: str
    choices: list[Any] | None
    meaning: str


class Strategy(BaseModel):
    """A strategy that questions can be answered by."""

    name: str
    summary: str
    paper: str
    options: list[StrategyOption]
    needs_model: bool
    logprobs: str
    cost: list[dict[str, Any]]
    default: bool
    models: list[str] = Field(description="those of the server's models that it can run with")


class Notice(BaseModel):
    """The progress of the server's start: `done` of `total` bytes of a download."""

    message: str
    done: int | None
    total: int | None


class ModelPrice(BaseModel):
    """The price of a million tokens of a model: read anew, read from the prefix cache, written."""

    prompt: float
    completion: float
    cached: float | None


class PriceTable(BaseModel):
    """The prices of the models that can be asked, by name; those whose price is not known are left out."""

    origin: str
    currency: str
    as_of: str
    models: dict[str, ModelPrice]


class IndexFigures(BaseModel):
    """The index in figures."""

    documents: int
    passages: int
    sources: int
    embedder: str
    language: str
    commit: int


class Ready(BaseModel):
    """The readiness to answer questions, and of what index; `why` says why not."""

    ready: bool
    why: str
    index: IndexFigures
    strategy: str
    model: str
    models: list[str]
    writing: bool
    running: int
    waiting: int
    notice: Notice | None
    prices: PriceTable | None = Field(description="null where several models play a part")


class Health(BaseModel):
    """The process answers."""

    status: Literal["ok"]
    version: str


FAULTS: dict[int | str, dict[str, Any]] = {"default": {"model": Faulty, "description": "a typed fault"}}
