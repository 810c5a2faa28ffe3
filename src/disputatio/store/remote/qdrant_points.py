"""Passages as points of a Qdrant collection, conditions of a search as its filter: pure functions.

A point has a sparse vector (the part of BM25 that depends on the passage; the server multiplies the
IDF in), a dense one, and a payload with the passage and what it is filtered by.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from disputatio.errors import InputError, StoreError
from disputatio.protocols import Search
from disputatio.store.segments.days import NO_DAY, bounds, first_day
from disputatio.text import content_id
from disputatio.types import Passage

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FORMAT = 1
KEY = "disputatio collection"
SPARSE, DENSE = "sparse", "dense"
_FIELDS = ("owner", "title", "url", "document")
_TERM_BITS = 0xFFFFFFFF


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How a collection was made; kept in its metadata. `mean_length` is in terms, 0 while it is empty."""

    embedder: str = ""
    dimension: int = 0
    language: str = "english"
    k1: float = 1.2
    b: float = 0.75
    mean_length: float = 0.0


def weights(tokens: NDArray[np.uint64], settings: Settings) -> dict[str, list[Any]]:
    """A passage's terms and their tf / (tf + k1 (1 - b + b length / mean length)), as BM25 has it."""
    import numpy as np

    terms, counts = np.unique((tokens & np.uint64(_TERM_BITS)).astype(np.int64), return_counts=True)
    norm = settings.k1 * (1 - settings.b + settings.b * tokens.size / settings.mean_length)
    return {"indices": terms.tolist(), "values": (counts / (counts + norm)).tolist()}


def query_weights(terms: Mapping[int, int]) -> dict[str, list[Any]]:
    """A query's terms (hash -> multiplicity) as a sparse vector."""
    weights: dict[int, float] = {}
    for key, times in terms.items():
        weights[key & _TERM_BITS] = weights.get(key & _TERM_BITS, 0.0) + times
    return {"indices": list(weights), "values": list(weights.values())}


def named(passage: Passage, number: int) -> Passage:
    """The passage with an id; raises `InputError` that names it by its number where it has no text."""
    if not passage.text.strip():
        raise InputError(f"passage {number}: has no text")
    return passage if passage.id else replace(passage, id=content_id("p", passage.source, passage.text))


def point_id(passage_id: str) -> str:
    """Points are named by UUIDs: one made of the passage's id.

    >>> point_id("p1") == point_id("p1") != point_id("p2")
    True
    """
    return str(uuid.UUID(bytes=blake2b(passage_id.encode("utf-8", "surrogatepass"), digest_size=16).digest()))


def payload_of(passage: Passage, order: int) -> dict[str, Any]:
    """What a point keeps beside its vectors; `order`, its place in time, settles ties."""
    fields = [(name, getattr(passage, name)) for name in _FIELDS] + list(passage.metadata.items())
    day = first_day(passage.date)
    return {
        "source": passage.source,
        "order": order,
        "facts": [fact(str(name), str(value)) for name, value in fields if value],
        **({} if day == NO_DAY else {"day": day}),
        "passage": {**asdict(passage), "metadata": dict(passage.metadata)},
    }


def passage_of(payload: Mapping[str, Any]) -> Passage:
    """The passage that a point stands for."""
    return Passage(**payload["passage"])


def fact(name: str, value: str) -> str:
    """A field and its value as one keyword, so that one index of the server serves every field.

    >>> fact("owner", "Acme")
    '["owner", "Acme"]'
    """
    return json.dumps([name, value], ensure_ascii=False)


def filter_of(search: Search) -> Any:
    """The filters of a search as the server's; raises `InputError` for a date that is none."""
    from qdrant_client import models

    must: list[Any] = []
    if search.sources is not None:
        must.append(models.FieldCondition(key="source", match=models.MatchAny(any=sorted(search.sources))))
    for name, value in (search.where or {}).items():
        key, wanted = ("source", value) if name == "source" else ("facts", fact(name, value))
        must.append(models.FieldCondition(key=key, match=models.MatchValue(value=wanted)))
    if (days := bounds(search.after, search.before)) is not None:
        must.append(models.FieldCondition(key="day", range=models.Range(gte=days[0], lte=days[1])))
    excluded = [point_id(passage_id) for passage_id in search.exclude]
    return models.Filter(must=must, must_not=[models.HasIdCondition(has_id=excluded)] if excluded else None)


def metadata_of(settings: Settings) -> dict[str, Any]:
    """A collection's metadata."""
    return {KEY: FORMAT, **asdict(settings)}


def settings_of(collection: str, metadata: Mapping[str, Any] | None) -> Settings:
    """The settings that a collection's metadata hold.

    Raises `StoreError` for a collection of another program or another version.
    """
    fields = dict(metadata or {})
    version = fields.pop(KEY, None)
    if version is None:
        raise StoreError(f"{collection}: is a collection of another program; choose another name")
    if version != FORMAT:
        raise StoreError(f"{collection}: is of version {version}, this program reads version {FORMAT}")
    return Settings(**fields)


def check(collection: str, settings: Settings, wanted: Mapping[str, Any], embedder: str) -> None:
    """Raise `StoreError` where a collection's settings are not those that are wanted."""
    if embedder != settings.embedder:
        made_with = f"the embedder {settings.embedder}" if settings.embedder else "no embedder"
        raise StoreError(
            f"{collection}: was made with {made_with}, not with {embedder or 'none'}; open it with its own, "
            "or add the passages to a new collection"
        )
    for name, value in wanted.items():
        if value != getattr(settings, name):
            raise StoreError(
                f"{collection}: was made with {name} {getattr(settings, name)}, not with {value}; "
                "open it with its own, or add the passages to a new collection"
            )
