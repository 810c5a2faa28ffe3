"""Parts of the adapters of all frameworks: something to search, something to ask, a passage's fields."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from disputatio.api.asking import in_thread, prepare_arguments
from disputatio.api.indexing import Index
from disputatio.errors import UnknownName
from disputatio.protocols import Cancel, Retriever, SearchOptions
from disputatio.store.own_passages import RetrieverLike, as_retriever
from disputatio.trace import Trace
from disputatio.types import Answer, Passage

_FIELDS = ("source", "title", "url", "date", "owner", "document")


def searchable(index: str | Path | RetrieverLike) -> Retriever:
    """Return an index by its path, or any retriever; raises `StoreError` or `ConfigError`."""
    return Index.open(index, create=False) if isinstance(index, str | Path) else as_retriever(index)


def search_options(options: Mapping[str, Any]) -> SearchOptions:
    """Return the options of a search, checked by name; raises `UnknownName`.

    >>> search_options({"per_source": 2})
    {'per_source': 2}
    """
    known = SearchOptions.__annotations__
    for name in options:
        if name not in known:
            raise UnknownName("option of a search", name, known)
    return cast("SearchOptions", dict(options))


def fields_of(passage: Passage) -> dict[str, str]:
    """Return the fields of a passage beside its text and id, without empty ones, as metadata of a framework.

    >>> fields_of(Passage(text="It rained.", source="a.example", metadata={"page": "4", "source": "b"}))
    {'page': '4', 'source': 'a.example'}
    """
    own = {name: getattr(passage, name) for name in _FIELDS}
    return {**passage.metadata, **{name: value for name, value in own.items() if value}}


class Asker:
    """Questions with the same arguments, those of `disputatio.ask`; index and model are opened once."""

    def __init__(self, arguments: Mapping[str, Any]) -> None:
        self._prepared = prepare_arguments(arguments)

    def ask(self, question: str) -> Answer:
        return self._prepared.answer(question, Trace(), Cancel())

    async def aask(self, question: str) -> Answer:
        """Return the answer, awaited: a cancelled task ends its model calls."""
        cancel = Cancel()
        answer = in_thread(lambda: self._prepared.answer(question, Trace(), cancel), "disputatio adapter")
        try:
            return await asyncio.wrap_future(answer)
        except asyncio.CancelledError:
            cancel.cancel()
            raise
