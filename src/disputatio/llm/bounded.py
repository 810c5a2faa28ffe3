"""Bounds on the size of replies and on redirects: no reply takes more memory than it is given.

The client reads replies whole and lines as long as they come, unpacks what is packed, and follows redirects
with the prompt in hand. Here every reply is counted as it arrives, packed and unpacked, before the client
sees it.
"""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from disputatio.llm.faults import Unfit

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import httpx2

LARGEST_STREAM = 64 << 20  # bytes of a reply that comes in pieces, or of embeddings
LARGEST_ERROR = 1 << 20
LONGEST_LINE = 4 << 20
_UNPACKED_AT_ONCE = 1 << 18
_PACKED: Mapping[str, int] = {"gzip": 31, "x-gzip": 31, "deflate": 15}  # as zlib names them


def hooks(base_url: str, largest: int) -> dict[str, list[Callable[..., object]]]:
    """Make event hooks for the client that keep requests at one origin and replies within bounds.

    `largest` is the most bytes of one JSON value.
    """
    import httpx2  # the transport of the client

    home = _origin(base_url)

    class Stream(_Bounded, httpx2.AsyncByteStream):
        """The bytes of a reply, as the client reads them."""

    async def stay(request: httpx2.Request) -> None:
        request.headers.pop("cookie", None)  # the client gives back what a server set
        if _origin(str(request.url)) != home:
            host = urlsplit(str(request.url)).hostname or "another address"
            raise Unfit(
                f"redirects to {host}, which gets no prompt: set OPENAI_BASE_URL to it if it is right"
            )

    async def bound(response: httpx2.Response) -> None:
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        most = LARGEST_STREAM if kind == "text/event-stream" else largest
        if response.status_code >= 300:
            most = LARGEST_ERROR
        packing = response.headers.get("content-encoding", "identity").strip().lower()
        response.headers.pop("content-encoding", None)
        response.headers.pop("content-length", None)
        if isinstance(response.stream, httpx2.AsyncByteStream):
            response.stream = Stream(response.stream, packing, most)

    return {"request": [stay], "response": [bound]}


def _origin(url: str) -> tuple[str, str, int]:
    parts = urlsplit(url)
    usual = {"http": 80, "https": 443}.get(parts.scheme, 0)
    return parts.scheme.lower(), (parts.hostname or "").lower(), parts.port or usual


class _Bounded:
    """Unpacks and counts a reply; raises `Unfit` for more than `most` bytes, or too long a line."""

    def __init__(self, stream: httpx2.AsyncByteStream, packing: str, most: int) -> None:
        self._stream, self._packing, self._most = stream, packing, most
        self._raw = self._size = self._line = 0

    async def __aiter__(self) -> AsyncIterator[bytes]:
        if self._packing not in ("identity", "", *_PACKED):
            raise Unfit(f"packed as {self._packing[:20]!r}, which was not asked for")
        unpack = zlib.decompressobj(_PACKED[self._packing]) if self._packing in _PACKED else None
        async for piece in self._stream:
            self._raw += len(piece)
            if self._raw > self._most:
                raise Unfit(f"more than {self._most:,} bytes")
            if unpack is None:
                yield self._counted(piece)
                continue
            waiting = piece
            while waiting:
                try:
                    unpacked = unpack.decompress(waiting, _UNPACKED_AT_ONCE)
                except zlib.error as error:
                    raise Unfit("packed, and cannot be unpacked") from error
                waiting = unpack.unconsumed_tail
                yield self._counted(unpacked)
                if unpack.eof:
                    break

    def _counted(self, piece: bytes) -> bytes:
        self._size += len(piece)
        last = piece.rfind(b"\n")
        self._line = self._line + len(piece) if last < 0 else len(piece) - last - 1
        if self._size > self._most:
            raise Unfit(f"more than {self._most:,} bytes when unpacked")
        if self._line > min(LONGEST_LINE, self._most) and self._most == LARGEST_STREAM:
            raise Unfit(f"a line of more than {LONGEST_LINE:,} bytes")
        return piece

    async def aclose(self) -> None:
        await self._stream.aclose()
