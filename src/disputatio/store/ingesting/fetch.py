"""One document from the web, when a user asked for it by its URL, behind a guard against request forgery.

Each hop (the first URL and every redirect) is read strictly, its host resolved once, every address judged,
and the connection made to a judged address, so DNS rebinding changes nothing. TLS verifies the name. Proxies
of the environment are not used, since a proxy would resolve the name again. The HTTP clients at hand resolve
inside their connection pools, and their timeouts hold per read.
"""

from __future__ import annotations

import http.client
import io
import re
import socket
import ssl
import threading
import time
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import partial
from http import HTTPStatus
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from disputatio.errors import IngestError
from disputatio.store.ingesting.addresses import (
    PORTS,
    WebAddress,
    check_ip,
    check_name,
    display_url,
    is_private,
    read_address,
    read_redirect,
    same_site,
)
from disputatio.store.ingesting.documents import Document, FileReading
from disputatio.store.ingesting.ingest import IngestSummary, Run, summary_of
from disputatio.store.ingesting.options import DEFAULT, ReadOptions, check_options
from disputatio.store.ingesting.parsers import content_types, suffixes
from disputatio.store.ingesting.readers import open_reader
from disputatio.store.ingesting.stating import Stating, read_stating

if TYPE_CHECKING:
    from disputatio.store.contract import Index

# Types that say little: the ending of the path decides, as it would for a file.
_VAGUE = ("", "application/octet-stream", "binary/octet-stream")
_CHARSET = re.compile(
    r"utf-?(8|16|32)([-_]?[bl]e)?|iso-?8859-?\d{1,2}|windows-?\d{3,4}|cp\d{3,4}|koi8-?[ru]|shift[-_]?jis"
    r"|euc-?(jp|kr)|gbk|gb2312|gb18030|big5(-?hkscs)?|latin-?1|us-ascii|mac-?(roman|cyrillic)",
    re.IGNORECASE,
)
_REDIRECTS = (301, 302, 303, 307, 308)
_PIECE = 1 << 16
_EARLIEST = "1990-01-01"  # the web is not older; servers without a date say 1970


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """The document at a URL, found after redirects, and what the server stated of it; days are ISO days."""

    url: str
    asked: str
    data: bytes = field(repr=False)
    suffix: str
    charset: str = ""
    date: str = ""
    day: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The limits of a fetch: bytes of body (as sent and as unpacked), redirects, seconds.

    `connect` covers the name, the connection and TLS of one hop; `total` everything, redirects too.
    """

    size: int = 32 << 20
    redirects: int = 5
    connect: float = 10.0
    first_byte: float = 20.0
    between_bytes: float = 15.0
    total: float = 60.0


DEFAULT_LIMITS = Limits()


def fetch(
    url: str,
    *,
    allow_private: bool = False,
    ports: Collection[int] = PORTS,
    limits: Limits = DEFAULT_LIMITS,
    resolve: Resolve | None = None,
    connect: Connect | None = None,
    tls: ssl.SSLContext | None = None,
) -> Fetched:
    """Get one document of a known format by http or https; raises `IngestError` naming the URL.
    `allow_private` opens private networks to the URL itself, until a hop was public; `resolve` and `connect`
    stand in for the system's.
    """
    clock = Clock(limits)
    resolve, connect = resolve or resolve_name, connect or connect_to
    requested = address = read_address(url, ports=ports)
    private = allow_private
    for _ in range(limits.redirects + 1):
        check_name(address, allow_private=private)
        try:
            pinned = _resolve_public(address, private, resolve, clock)
            private = private and all(is_private(pinned_address) for pinned_address in pinned)
            response = _get(address, pinned, connect, tls, clock)
        except Late as late:
            raise IngestError(display_url(address.url), str(late), "not_fetched") from late
        if isinstance(response, Fetched):
            return replace(response, asked=requested.url)
        address = read_redirect(address, response, ports=ports)
    raise IngestError(
        display_url(requested.url), f"redirects more than {limits.redirects} times", "not_fetched"
    )


def read_url(
    url: str, read: Callable[[Path, str], FileReading], get: Callable[[str], Fetched] = fetch
) -> FileReading:
    """Return the documents that a URL gives, read as a file of its kind by `read` (of `open_reader`).

    Where a document lies and what it is known by (`path`) is the URL that was asked for, so that a
    second ingest replaces the first. Its own statements are not believed beyond its own site: the
    url is the one that it states only where that is of the same registrable domain, and a source or
    owner that it states is kept as `stated_source` and `stated_owner` in its metadata. The day of
    the fetch is in `fetched`, and no part of a document's identity. A page's date is the one that it
    states; Last-Modified dates the other formats, whose servers send files as they lie.

    `get` is `fetch`, with its options where others are wanted. Raises `IngestError` as it and `read` do.
    """
    fetched = get(url)
    with TemporaryDirectory(prefix="disputatio-") as folder:
        file = Path(folder, "document").with_suffix(fetched.suffix)
        file.write_bytes(_in_utf8(fetched))
        try:
            reading = read(file, "")
            # Going through them may read on.
            documents = [_attribute(document, fetched, str(file)) for document in reading.documents]
        except IngestError as error:
            raise _rename_refusal(error, file, fetched.asked) from error
    refused = tuple(_rename_refusal(error, file, fetched.asked) for error in reading.refused)
    return FileReading(path=fetched.asked, documents=tuple(documents), refused=refused)


def _attribute(document: Document, fetched: Fetched, file: str) -> Document:
    """Return a document of the web under its own site's name."""
    metadata = dict(document.metadata)
    for name in ("source", "owner"):
        if stated := getattr(document, name):
            metadata[f"stated_{name}"] = stated
    url = fetched.url
    if document.url and document.url != url:
        if same_site(document.url, url):
            url = document.url
        else:
            metadata["stated_url"] = document.url
    modified = "" if fetched.suffix == ".html" else fetched.date
    return replace(
        document,
        path=document.path.replace(file, fetched.asked),
        url=url,
        date=document.date or modified,
        date_origin=document.date_origin if document.date or not modified else "file",
        source="",
        owner="",
        folder="",
        metadata={**metadata, "fetched": fetched.day},
    )


def _rename_refusal(error: IngestError, file: Path, url: str) -> IngestError:
    """Return a reader's refusal that names the URL and not the file which stood for it."""
    name = display_url(url)
    return IngestError(
        error.path.replace(str(file), name), error.reason.replace(str(file), name), error.code, **error.data
    )


def _in_utf8(fetched: Fetched) -> bytes:
    """Return the bytes of a text in UTF-8 where the server states another encoding; others as they are."""
    form = suffixes().get(fetched.suffix)
    if form is None or not form.is_text or not _CHARSET.fullmatch(fetched.charset):
        return fetched.data
    try:
        if "\0" not in fetched.data.decode("utf-8"):  # a server's word is often wrong, UTF-8 hardly ever
            return fetched.data
    except UnicodeDecodeError:
        pass
    try:
        return fetched.data.decode(fetched.charset).encode("utf-8")
    except (LookupError, UnicodeError):
        return fetched.data


# --- one hop ------------------------------------------------------------------------------------------
def _resolve_public(address: WebAddress, private: bool, resolve: Resolve, clock: Clock) -> list[str]:
    """Return the addresses of a host, resolved once; refused as a whole when one of them is not public."""
    clock.hop()
    if address.literal is not None:
        addresses = [str(address.literal)]
    else:
        try:
            addresses = list(dict.fromkeys(clock.within(lambda: resolve(address.host, address.port))))
        except (OSError, UnicodeError) as error:
            raise IngestError(
                display_url(address.url), "names a host that is not found", "not_fetched"
            ) from error
    if not addresses:
        raise IngestError(display_url(address.url), "names a host that is not found", "not_fetched")
    for ip in addresses:
        if wrong := check_ip(ip, allow_private=private):
            raise IngestError(display_url(address.url), f"is not fetched: {wrong}", "not_fetched")
    return addresses


def _get(
    address: WebAddress, pinned: Sequence[str], connect: Connect, tls: ssl.SSLContext | None, clock: Clock
) -> Fetched | str:
    url = display_url(address.url)
    try:
        with closing(open_wire(address, pinned, connect, tls, clock)) as wire:
            connection = http.client.HTTPConnection(address.host, address.port)
            connection.auto_open = 0  # never connects by itself
            lent: Any = _Lent(wire, clock)
            connection.sock = lent
            connection.putrequest("GET", address.target, skip_host=True, skip_accept_encoding=True)
            for name, value in _headers(address):
                connection.putheader(name, value)
            connection.endheaders()
            with closing(connection.getresponse()) as response:
                if response.status in _REDIRECTS:
                    return _location(response, url)
                return _taken(response, address, clock)
    except TimeoutError as error:
        raise clock.late() from error
    except ssl.SSLCertVerificationError as error:
        raise IngestError(url, f"has no valid certificate ({error.verify_message})", "not_fetched") from error
    except zlib.error as error:
        raise IngestError(url, "sent a broken gzip", "not_fetched") from error
    except (http.client.HTTPException, ValueError) as error:
        raise IngestError(url, f"sent no proper answer ({type(error).__name__})", "not_fetched") from error
    except OSError as error:
        words = (error.strerror or type(error).__name__).lower()
        raise IngestError(url, f"cannot be reached ({words})", "not_fetched") from error


def _headers(address: WebAddress) -> list[tuple[str, str]]:
    return [
        ("Host", address.authority),
        ("User-Agent", "disputatio (ingest of one page for its user)"),
        ("Accept", ", ".join(content_types())),
        ("Accept-Encoding", "gzip"),
        ("Connection", "close"),
    ]


def _location(response: http.client.HTTPResponse, url: str) -> str:
    locations = response.headers.get_all("Location") or []
    if len(locations) != 1:
        raise IngestError(url, f"redirects with {len(locations)} addresses", "not_fetched")
    try:  # headers come as Latin-1; addresses in them are UTF-8 where they are not ASCII
        return str(locations[0]).strip(" \t").encode("latin-1").decode("utf-8")
    except UnicodeError as error:
        raise IngestError(url, "redirects to an address that is not UTF-8", "not_fetched") from error


def _taken(response: http.client.HTTPResponse, address: WebAddress, clock: Clock) -> Fetched:
    """Return the body of an answer of a known format, whole and within its limits."""
    url = display_url(address.url)
    if response.status != HTTPStatus.OK:
        known = {status.value: status.phrase for status in HTTPStatus}
        reason = f"answered {response.status} {known.get(response.status, '')}".rstrip()
        raise IngestError(url, reason, "not_fetched", status=response.status)
    content_type = response.headers.get_content_type() if "Content-Type" in response.headers else ""
    suffix = _suffix(content_type, address.target)
    if not suffix:
        kind = re.sub(r"[^\w/.+-]", "?", content_type)[:80] or "nothing"
        raise IngestError(
            url, f"is of a kind that is not read (content type: {kind})", "unknown_type", type=kind
        )
    packed = _read_header(response, "Content-Encoding")
    if packed not in ("", "identity", "gzip", "x-gzip") or _read_header(
        response, "Transfer-Encoding"
    ) not in (
        "",
        "chunked",
    ):
        raise IngestError(url, "is packed in a way that was not asked for", "not_fetched")
    limit = clock.limits.size
    if (response.length or 0) > limit:
        raise IngestError(url, f"is larger than {limit:,} bytes", "too_large", limit=limit, unit="bytes")
    pieces = _limit_size(_pieces(response), url, limit)
    if "gzip" in packed:  # bounded as sent and as unpacked: empty members unpack to nothing
        pieces = _limit_size(_unpack(pieces), url, limit)
    data = b"".join(pieces)
    return Fetched(
        url=address.url,
        asked=address.url,
        data=data,
        suffix=suffix,
        charset=str(response.headers.get_content_charset("")),
        date=_day(response.headers.get("Last-Modified", "")),
        day=datetime.now(UTC).date().isoformat(),
    )


def _read_header(response: http.client.HTTPResponse, name: str) -> str:
    return ",".join(response.headers.get_all(name) or []).strip().lower()


def _pieces(response: http.client.HTTPResponse) -> Iterator[bytes]:
    """Yield the body as it comes; raises `IncompleteRead` when it ends before its stated length."""
    while piece := response.read(_PIECE):
        yield piece
    if response.length:  # counts down; `read(n)` itself does not mind a body that is cut short
        raise http.client.IncompleteRead(b"", response.length)


def _limit_size(pieces: Iterator[bytes], url: str, limit: int) -> Iterator[bytes]:
    taken = 0
    for piece in pieces:
        taken += len(piece)
        if taken > limit:
            raise IngestError(url, f"is larger than {limit:,} bytes", "too_large", limit=limit, unit="bytes")
        yield piece


def _unpack(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Yield gzip undone in steps of bounded size; raises `zlib.error` when it is broken or cut short."""
    unpack = zlib.decompressobj(31)
    for piece in pieces:
        rest = piece
        while rest:
            if unpack.eof:  # a file may hold several members
                unpack = zlib.decompressobj(31)
            yield unpack.decompress(rest, _PIECE)
            rest = unpack.unused_data if unpack.eof else unpack.unconsumed_tail
    while not unpack.eof and (more := unpack.decompress(unpack.unconsumed_tail, _PIECE)):
        yield more
    if not unpack.eof:
        raise zlib.error("cut short")


def _suffix(content_type: str, target: str) -> str:
    """Return the ending of a file of a content type, empty when it is none that is read.

    >>> _suffix("text/plain", "/a/data.csv?x"), _suffix("", "/a.pdf"), _suffix("image/png", "/a.md")
    ('.csv', '.pdf', '')
    """
    ending = Path(urlsplit(target).path).suffix.lower()
    named = suffixes().get(ending)
    if content_type in _VAGUE:
        return ending if named else ""
    stated = content_types().get(content_type)
    if stated is None:
        return ""
    if named and (named is stated or (stated.kind == "text" and named.is_text)):
        return ending
    return stated.suffixes[0]


def _day(stated: str) -> str:
    """Return the ISO day of an HTTP date; empty when it is none, before the web or in the future."""
    try:
        when = parsedate_to_datetime(stated)
    except (ValueError, TypeError, OverflowError):
        return ""
    day = when.date()
    return stated if _EARLIEST <= (stated := day.isoformat()) <= datetime.now(UTC).date().isoformat() else ""


# --- documents by their addresses into an index -------------------------------------------------------
_HELD = 16_777_216  # characters that are held until they are put


def ingest_urls(
    index: Index,
    urls: Sequence[str],
    *,
    options: ReadOptions = DEFAULT,
    progress: Callable[[int, int], None] | None = None,
    get: Callable[[str], Fetched] = fetch,
) -> IngestSummary:
    """Fetch addresses and put what they gave in, in place of what they gave before; the rest is in the
    summary. The index is locked only while something is put. Raises `InputError` for wrong `options`,
    `StoreError` as `Index.ingest` does.
    """
    check_options(options)
    start = time.perf_counter()
    run, counts = Run(), Counter[str]()
    stating = read_stating((), options, run)
    batch: list[tuple[str, Sequence[Document]]] = []
    with open_reader(options) as read:
        for number, url in enumerate(urls, start=1):
            try:
                batch.append(_held(read_url(url, read, get), run))
            except IngestError as error:
                run.refused.append(error)
            if (
                number == len(urls)
                or sum(len(document.text) for _, url_documents in batch for document in url_documents) > _HELD
            ):
                counts += _put(index, batch, run, options.source_by, stating)
                batch = []
            if progress is not None:
                progress(number, len(urls))
    run.notices += stating.find_unnamed(partial(index.documents, text=False))
    return summary_of(counts, start, run)


def _held(reading: FileReading, run: Run) -> tuple[str, Sequence[Document]]:
    documents = tuple(reading.documents)
    run.note(reading)
    return reading.path, documents


def _put(
    index: Index,
    batch: Sequence[tuple[str, Sequence[Document]]],
    run: Run,
    source_by: str | None,
    stating: Stating,
) -> Counter[str]:
    """Put what addresses gave, each as all that the index holds of it."""
    if not batch:
        return Counter()
    with index.open_writer() as writer:
        for url, documents in batch:
            writer.put(url, run.prepare_all(documents, url, source_by))
        if stating.fields:
            writer.describe(partial(stating.of, {url for url, _ in batch}, ()))
        writer.finish()
    return writer.counts


# --- the connection -----------------------------------------------------------------------------------
Resolve = Callable[[str, int], Sequence[str]]
Connect = Callable[[str, int, float], socket.socket]

_AROUND = 1 << 20  # bytes of headers and of the framing of chunks, beside the body itself


class Late(Exception):
    """A deadline passed; the message says which."""


class Clock:
    """The four deadlines of a fetch."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._end = time.monotonic() + limits.total
        self._hop_end = self._end
        self._waits_for, self._seconds = "to connect", limits.connect

    def hop(self) -> None:
        self._hop_end = time.monotonic() + self.limits.connect

    def allow_connect(self) -> float:
        self._waits_for, self._seconds = "to connect", self.limits.connect
        return self._left(self._hop_end - time.monotonic())

    def allow_read(self, *, first: bool) -> float:
        """Return seconds that the next bytes may take; raises `Late` when there are none."""
        if first:
            self._waits_for, self._seconds = "for its first byte", self.limits.first_byte
        else:
            self._waits_for, self._seconds = "between two bytes", self.limits.between_bytes
        return self._left(self._seconds)

    def late(self) -> Late:
        if time.monotonic() >= self._end:
            return Late(f"took more than {self.limits.total:g} s in all")
        return Late(f"took more than {self._seconds:g} s {self._waits_for}")

    def within(self, resolve: Callable[[], Sequence[str]]) -> Sequence[str]:
        """Return what a resolver gives in the time of a connection; its thread is left behind when late."""
        seconds = self.allow_connect()
        results: list[Sequence[str]] = []
        errors: list[Exception] = []

        def work() -> None:
            try:
                results.append(resolve())
            except Exception as error:  # noqa: BLE001  (raised again by the caller)
                errors.append(error)

        thread = threading.Thread(target=work, daemon=True, name="resolve")
        thread.start()
        thread.join(seconds)
        if errors:
            raise errors[0]
        if not results:
            raise self.late()
        return results[0]

    def _left(self, seconds: float) -> float:
        seconds = min(seconds, self._end - time.monotonic())
        if seconds <= 0:
            raise self.late()
        return seconds


class _Lent:
    """A connected socket as `http.client` uses one, of which every read and write keeps the deadlines."""

    def __init__(self, sock: socket.socket, clock: Clock) -> None:
        self._sock, self._clock = sock, clock

    def sendall(self, data: bytes) -> None:
        self._sock.settimeout(self._clock.allow_read(first=True))
        self._sock.sendall(data)

    def makefile(self, _mode: str) -> io.BufferedReader:
        return io.BufferedReader(_Answer(self._sock, self._clock))

    def close(self) -> None:
        """Do nothing: `http.client` closes before the answer is read, and the owner closes after it."""


class _Answer(io.RawIOBase):
    def __init__(self, sock: socket.socket, clock: Clock) -> None:
        self._sock, self._clock, self._taken = sock, clock, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        """Read some bytes; raises `Late`, `TimeoutError`, and `HTTPException` when they are too many."""
        self._sock.settimeout(self._clock.allow_read(first=not self._taken))
        count = self._sock.recv_into(buffer)
        self._taken += count
        if self._taken > 2 * self._clock.limits.size + _AROUND:
            raise http.client.HTTPException("the answer does not end")
        return count


def open_wire(
    address: WebAddress, pinned: Sequence[str], connect: Connect, tls: ssl.SSLContext | None, clock: Clock
) -> socket.socket:
    """Return a connection to the first judged address that takes one; TLS verifies the name."""
    last = OSError()
    for ip in pinned:
        try:
            sock = connect(ip, address.port, clock.allow_connect())
        except OSError as error:
            last = error
            continue
        if address.scheme == "https":
            try:
                sock.settimeout(clock.allow_connect())
                context = tls or ssl.create_default_context()
                sock = context.wrap_socket(sock, server_hostname=address.host)
            except BaseException:
                sock.close()
                raise
        return sock
    raise last


def connect_to(ip: str, port: int, seconds: float) -> socket.socket:
    sock = socket.socket(socket.AF_INET6 if ":" in ip else socket.AF_INET, socket.SOCK_STREAM)
    try:
        sock.settimeout(seconds)
        sock.connect((ip, port))
    except BaseException:
        sock.close()
        raise
    return sock


def resolve_name(host: str, port: int) -> list[str]:
    return [str(entry[4][0]) for entry in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]
