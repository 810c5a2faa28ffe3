"""An embedding model (`/v1/embeddings`) or a reranker (`/v1/rerank`) behind a server.

A reply is accepted only whole: one vector or score a text, matched by index, of finite numbers, vectors of
one length. Anything else is a fault, never a zero.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import json
import math
import re
import threading
import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from disputatio.errors import ConfigError, LLMError, Malformed, Timeout
from disputatio.llm.connection import Connection
from disputatio.llm.faults import Failed, Unfit, classify_refusal, line_fault, translate
from disputatio.llm.request import sendable
from disputatio.text import content_id
from disputatio.types import Passage, Usage

if TYPE_CHECKING:
    import numpy as np
    import openai
    from numpy.typing import NDArray

_TEXTS = 32  # a call: what the strictest server in use takes (text-embeddings-inference's default)
_CHARACTERS = 60_000  # a call; far below the 300,000 tokens of OpenAI's API
_DIMENSIONS = re.compile(r"(?P<model>.+)@(?P<dimensions>[1-9]\d{0,4})")
_FORMAT = re.compile(r"encoding_format|base64", re.IGNORECASE)


class EndpointEmbedder:
    """An `Embedder` at a server; may be shared by threads. `dimensions` is asked of models that give vectors
    of several lengths, `dimension` is known beforehand. `usual_prefixes` leave no mark in the name.
    """

    def __init__(
        self,
        connection: Connection,
        *,
        dimensions: int | None = None,
        dimension: int | None = None,
        query_prefix: str = "",
        passage_prefix: str = "",
        usual_prefixes: tuple[str, str] = ("", ""),
    ) -> None:
        """Keep the settings; nothing is opened. Raises `ConfigError` for dimensions below 1."""
        if dimensions is not None and dimensions < 1:
            raise ConfigError("an embedder's dimensions must be at least 1")
        self._connection, self._dimensions = connection, dimensions
        self._prefixes = {True: query_prefix, False: passage_prefix}
        self._dimension = dimension or dimensions
        self._format = "base64"
        self._first = threading.Lock()
        suffix = f"@{dimensions}" if dimensions else ""
        used = (query_prefix, passage_prefix)
        mark = "" if used == usual_prefixes else content_id("#", *used)[:5]
        self._name = f"openai:{connection.at.model}{suffix}{mark}"

    def __repr__(self) -> str:
        return f"EndpointEmbedder({self._name!r}, base_url={self._connection.at.shown!r})"

    @property
    def name(self) -> str:
        """`openai:`, the model's name, `@` and dimensions asked for, `#` and a mark of its prefixes."""
        return self._name

    @property
    def dimension(self) -> int:
        """The length of a vector; asks the server where that is not known yet. Raises `LLMError`."""
        if self._dimension is None:
            self.embed(["dimension"])
        assert self._dimension is not None
        return self._dimension

    def close(self) -> None:
        self._connection.close()

    def embed(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:
        import numpy as np

        if not texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        inputs = [sendable(self._prefixes[query] + text) for text in texts]
        batches = batches_of(inputs)
        outcomes = self._connection.run([partial(self._attempt, batch) for batch in batches])
        blocks: list[NDArray[np.float32]] = []
        for outcome in outcomes:
            if isinstance(outcome, LLMError):
                raise outcome
            blocks.append(outcome)
        with self._first:
            for vectors in blocks:
                self._dimension = self._dimension or vectors.shape[1]
                if vectors.shape[1] != self._dimension:
                    raise Malformed(
                        f"{self._connection.at.shown} gave vectors of {vectors.shape[1]} numbers for "
                        f"{self._name}, which has {self._dimension}; is it another model?"
                    )
        return np.concatenate(blocks)

    async def _attempt(
        self, texts: Sequence[str], client: openai.AsyncOpenAI, ends: float
    ) -> NDArray[np.float32] | Failed:
        sent = self._format
        outcome = await self._ask(texts, sent, client, ends)
        if isinstance(outcome, Failed) and sent == "base64" and _FORMAT.search(outcome.refusal):
            self._format = "float"  # and ask again in numbers; it is remembered
            outcome = await self._ask(texts, "float", client, ends)
        return outcome

    async def _ask(
        self, texts: Sequence[str], encoding: str, client: openai.AsyncOpenAI, ends: float
    ) -> NDArray[np.float32] | Failed:
        import httpx2  # the client's own transport, which it lets show in the body of a reply
        import openai

        at, deadlines = self._connection.at, self._connection.deadlines
        now = asyncio.get_running_loop().time
        made: dict[str, Any] = {"model": at.model, "input": list(texts), "encoding_format": encoding}
        if self._dimensions:
            made["dimensions"] = self._dimensions
        content = bytearray()
        try:
            async with asyncio.timeout_at(min(now() + deadlines.first_byte, ends)) as alarm:
                async with client.embeddings.with_streaming_response.create(**made) as reply:
                    async for piece in reply.iter_bytes():
                        content += piece
                        alarm.reschedule(min(now() + deadlines.between_tokens, ends))
            data = json.loads(content)
            if isinstance(data, Mapping) and data.get("error"):
                return classify_refusal(200, data["error"], at)
            return _read(data, len(texts))
        except TimeoutError:
            late = "total" if now() >= ends else ("between_tokens" if content else "first_byte")
            return Failed(fault=Timeout(late, getattr(deadlines, late), at.shown))
        except openai.OpenAIError as error:
            return translate(error, at, deadlines.connect, deadlines.first_byte)
        except httpx2.HTTPError as error:
            return Failed(fault=line_fault(type(error).__name__, at.words(str(error)), at))
        except (_Unreadable, Unfit) as error:
            why = at.words(str(error))
        except (ValueError, RecursionError) as error:
            why = f"not JSON in UTF-8 ({type(error).__name__})"
        return Failed(fault=Malformed(f"{at.shown} sent embeddings that cannot be used: {why}"))


class EndpointReranker:
    """A `Reranker` at a server that speaks the protocol of Jina, Cohere, vLLM and llama.cpp."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def close(self) -> None:
        self._connection.close()

    def rerank(self, query: str, passages: Sequence[Passage]) -> list[float]:
        return self.rerank_counted(query, passages)[0]

    def rerank_counted(self, query: str, passages: Sequence[Passage]) -> tuple[list[float], Usage]:
        """Return the scores, and the tokens and seconds of the call (`CountedReranker`)."""
        if not passages:
            return [], Usage()
        began = time.perf_counter()
        texts = [sendable(passage.text) or " " for passage in passages]
        outcome = self._connection.run([partial(self._ask, sendable(query), texts)])[0]
        if isinstance(outcome, LLMError):
            raise outcome
        scores, tokens = outcome
        return scores, Usage(calls=1, prompt_tokens=tokens, seconds=time.perf_counter() - began)

    async def _ask(
        self, query: str, texts: Sequence[str], client: openai.AsyncOpenAI, ends: float
    ) -> tuple[list[float], int] | Failed:
        import httpx2
        import openai

        at, deadlines = self._connection.at, self._connection.deadlines
        now = asyncio.get_running_loop().time
        made = {"model": at.model, "query": query, "documents": list(texts), "top_n": len(texts)}
        try:
            async with asyncio.timeout_at(min(now() + deadlines.first_byte, ends)):
                reply = await client.post("/rerank", cast_to=httpx2.Response, body=made)
            data = json.loads(reply.content)
            return _read_scores(data, len(texts)), _read_tokens(data)
        except TimeoutError:
            late = "total" if now() >= ends else "first_byte"
            return Failed(fault=Timeout(late, getattr(deadlines, late), at.shown))
        except openai.OpenAIError as error:
            return translate(error, at, deadlines.connect, deadlines.first_byte)
        except (_Unreadable, Unfit) as error:
            why = at.words(str(error))
        except (ValueError, RecursionError) as error:
            why = f"not JSON in UTF-8 ({type(error).__name__})"
        return Failed(fault=Malformed(f"{at.shown} sent scores that cannot be used: {why}"))


def _read_scores(data: object, count: int) -> list[float]:
    """Read a score for each text, in the order of the texts; raises `_Unreadable`."""
    listed = data.get("results") if isinstance(data, Mapping) else None
    if not isinstance(listed, list):
        raise _Unreadable("no list of results")
    scores: dict[int, float] = {}
    for item in listed:
        at = item.get("index") if isinstance(item, Mapping) else None
        if type(at) is not int or not 0 <= at < count or at in scores:
            raise _Unreadable("scores whose index is missing, out of range or there twice")
        score = item.get("relevance_score")
        if type(score) not in (int, float) or not math.isfinite(score):
            raise _Unreadable("a score that is not a finite number")
        scores[at] = float(score)
    if len(scores) != count:
        raise _Unreadable(f"{len(scores)} scores for {count} passages")
    return [scores[at] for at in range(count)]


def _read_tokens(data: Mapping[str, Any]) -> int:
    """Return the tokens that a reranker read, 0 if it does not tell.

    >>> _read_tokens({"usage": {"total_tokens": 7}}), _read_tokens({"meta": {"tokens": {"input_tokens": 8}}})
    (7, 8)
    >>> _read_tokens({"usage": {"total_tokens": "many"}, "meta": None})
    0
    """
    meta = data.get("meta")
    holders = (data.get("usage"), meta.get("tokens") if isinstance(meta, Mapping) else None)
    names = ("prompt_tokens", "total_tokens", "input_tokens")
    counts = (holder.get(name) for holder in holders if isinstance(holder, Mapping) for name in names)
    return next((count for count in counts if type(count) is int and count > 0), 0)


class _Unreadable(Exception):
    """A reply that is not what the protocol promises."""


def split_name(name: str) -> tuple[str, int | None]:
    """Split a name after `openai:`, or of an index, into the model and the dimensions asked for.

    >>> split_name("text-embedding-3-small@256"), split_name("gecko@003"), split_name("m#1a2b")
    (('text-embedding-3-small', 256), ('gecko@003', None), ('m', None))
    """
    bare = re.sub(r"#[0-9a-f]{4}$", "", name)
    match = _DIMENSIONS.fullmatch(bare)
    return (match["model"], int(match["dimensions"])) if match else (bare, None)


def batches_of(texts: Sequence[str]) -> list[list[str]]:
    """Divide the texts, in order, into calls of bounded size; a blank one, which servers refuse, is a space.

    >>> [len(batch) for batch in batches_of(["a"] * 40)], batches_of(["", "b"])
    ([32, 8], [[' ', 'b']])
    """
    batches: list[list[str]] = []
    size = 0
    for text in texts:
        if not batches or len(batches[-1]) == _TEXTS or size + len(text) > _CHARACTERS:
            batches.append([])
            size = 0
        batches[-1].append(text or " ")
        size += len(text)
    return batches


def _read(data: object, count: int) -> NDArray[np.float32]:
    """Read unit vectors (count, dimension) in the order of the texts; raises `_Unreadable`."""
    import numpy as np

    listed = data.get("data") if isinstance(data, Mapping) else None
    if not isinstance(listed, list) or len(listed) != count:
        got = len(listed) if isinstance(listed, list) else "no list of"
        raise _Unreadable(f"{got} vectors for {count} texts")
    rows: dict[int, NDArray[np.float32]] = {}
    for item in listed:
        at = item.get("index") if isinstance(item, Mapping) else None
        if isinstance(at, bool) or not isinstance(at, int) or not 0 <= at < count or at in rows:
            raise _Unreadable("vectors whose index is missing, out of range or there twice")
        rows[at] = _vector(item.get("embedding"))
    if len({len(row) for row in rows.values()}) != 1:
        raise _Unreadable("vectors of several lengths")
    vectors = np.stack([rows[at] for at in range(count)]).astype(np.float64)
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    if not np.isfinite(norms).all() or not (norms > 0).all():
        raise _Unreadable("a vector that is zero or not of finite numbers")
    return np.asarray(vectors / norms, dtype=np.float32)


def _vector(value: object) -> NDArray[np.float32]:
    """Read a vector sent as a list of numbers, or as float32 (little endian) in base64."""
    import numpy as np

    if isinstance(value, str):
        try:
            raw = base64.b64decode(value, validate=True)
        except (binascii.Error, ValueError):
            raise _Unreadable("a vector that is not base64") from None
        if not raw or len(raw) % 4:
            raise _Unreadable("a vector that is not of float32")
        return np.frombuffer(raw, dtype="<f4").astype(np.float32)
    numbers = isinstance(value, list) and all(type(number) in (int, float) for number in value)
    if not value or not numbers:
        raise _Unreadable("a vector that is not a list of numbers")
    try:
        with np.errstate(over="ignore"):
            return np.asarray(value, dtype=np.float64).astype(np.float32)
    except OverflowError:
        raise _Unreadable("a vector with a number out of range") from None
