"""Passages and retrievers of the user's own, in the shapes that LangChain, LlamaIndex and Haystack have."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol, Unpack, cast

from disputatio.errors import ConfigError, InputError
from disputatio.protocols import Retriever, Search, SearchOptions
from disputatio.store.in_memory import InMemory, passage_of, with_id
from disputatio.store.options import search_of
from disputatio.types import Hit, Passage

PassageLike = str | Mapping[str, Any] | Passage
"""A text, a mapping (`{"text": ..., "source": ...}`) or a `Passage`."""


class HasRetrieve(Protocol):
    """A retriever of LlamaIndex's shape."""

    def retrieve(self, query: Any, /) -> Any: ...


class HasInvoke(Protocol):
    """A retriever of LangChain's shape."""

    def invoke(self, query: Any, /) -> Any: ...


class HasRetriever(Protocol):
    """A vector store or an index of either library."""

    def as_retriever(self) -> Any: ...


RetrieverLike = Retriever | HasRetrieve | HasInvoke | HasRetriever

_TEXTS = ("page_content", "get_content", "content", "text")  # of LangChain, LlamaIndex, Haystack, others
_METADATA = ("metadata", "meta")
_IDS = ("id", "node_id", "id_")
_OWN_FIELDS = ("source", "title", "url", "date", "owner")


def as_passages(items: Iterable[PassageLike]) -> list[Passage]:
    """Return the passages of items of any of these shapes; raises `InputError` with the number.

    >>> [passage.source for passage in as_passages(["It rained.", {"text": "It did not.", "source": "b"}])]
    ['', 'b']
    """
    if isinstance(items, str | bytes | Mapping | Passage) or not isinstance(items, Iterable):
        raise InputError(f"passages is a list of passages, not {_a(items)}")
    return [_passage(item, f"passage {number}") for number, item in enumerate(items, start=1)]


def as_retriever(searchable: object) -> Retriever:
    """Return a retriever of ours, LangChain's or LlamaIndex's shape, or what makes one."""
    if isinstance(searchable, type):
        raise ConfigError(f"{searchable.__name__} is a class: give an instance of it")
    if callable(make := getattr(searchable, "as_retriever", None)):
        searchable = make()
    if callable(getattr(searchable, "search", None)):
        return cast("Retriever", searchable)
    for name in ("retrieve", "invoke"):
        if callable(fetch := getattr(searchable, name, None)):
            return OwnRetriever(fetch)
    raise ConfigError(
        f"{_a(searchable)} cannot be searched: it needs a method search(query, **options), "
        "retrieve(query) or invoke(query)"
    )


class OwnRetriever:
    """A function from a query to passages of any shape, as a `Retriever` that limits and filters them."""

    def __init__(self, fetch: Callable[[str], Iterable[Any]]) -> None:
        self._fetch = fetch

    def search(self, query: str, search: Search | None = None, **options: Unpack[SearchOptions]) -> list[Hit]:
        """Return the function's passages, the best first; raises `InputError` for one without text."""
        wanted = search_of(search, options)
        items = list(self._fetch(query))
        passages = [
            with_id(_passage(item, f"passage {number} of the retriever"))
            for number, item in enumerate(items, start=1)
        ]
        scores = {passage.id: _score(item) for passage, item in zip(passages, items, strict=True)}
        hits = InMemory(passages).search(query, replace(wanted, k=None, per_source=None))
        ranked = []
        for rank, hit in enumerate(hits, start=1):
            score = scores.get(hit.passage.id, scores.get(hit.passage.document))
            ranked.append(replace(hit, score=1 / rank if score is None else score))
        return _limit(ranked, wanted)


def _limit(hits: Sequence[Hit], wanted: Search) -> list[Hit]:
    if wanted.per_source is None:
        return list(hits[: wanted.k])
    taken: dict[str, int] = {}
    passages = []
    for hit in hits:
        source = hit.passage.source
        taken[source] = taken.get(source, 0) + 1
        if taken[source] <= wanted.per_source:
            passages.append(hit)
    return passages


def _passage(item: object, where: str) -> Passage:
    if isinstance(item, Hit):
        item = item.passage
    if isinstance(item, Passage):
        if not item.text.strip():
            raise InputError(f"{where}: has no text")
        return item
    if isinstance(item, str):
        return passage_of({"text": item}, where)
    if isinstance(item, Mapping):
        return passage_of(item, where)
    text = _first(item, _TEXTS)
    if text is None:
        raise InputError(f"{where}: is {_a(item)}, not a text, a mapping or a Passage")
    metadata = dict(_first(item, _METADATA) or {})
    known = {name: metadata.pop(name) for name in _OWN_FIELDS if metadata.get(name) is not None}
    scalars = {name: value for name, value in metadata.items() if isinstance(value, str | int | float)}
    return passage_of({"text": text, "id": _first(item, _IDS), **known, "metadata": scalars}, where)


def _first(item: object, names: Sequence[str]) -> Any:
    """Return the first of these attributes that an object has and that is not None; a method is called."""
    for name in names:
        value = getattr(item, name, None)
        value = value() if callable(value) else value
        if value is not None:
            return value
    return None


def _score(item: object) -> float | None:
    score = item.score if isinstance(item, Hit) else getattr(item, "score", None)
    return float(score) if isinstance(score, int | float) and not isinstance(score, bool) else None


def _a(value: object) -> str:
    return f"one {type(value).__name__}" if isinstance(value, str | Mapping) else type(value).__name__
