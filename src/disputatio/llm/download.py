"""Files over https: resumed, bounded in time, and never believed before their checksum is.

A download lies beside its target under another name, with a small JSON file that says what it is a
download of; only a verified one is moved into place (by the catalogue).
"""

from __future__ import annotations

import errno
import hashlib
import http.client
import json
import os
import re
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from email.message import Message
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

from disputatio.errors import DownloadError

if TYPE_CHECKING:
    from http.client import HTTPMessage

Report = Callable[[int], None]
"""Told how many bytes of the file are there."""

CHUNK = 1 << 20
TIMEOUT = 30.0  # seconds without a byte
TRIES = 4  # in a row that brought nothing new
PAUSE = 1.0  # seconds before the second try, then doubled
_MOST_TRIES = 40
_LARGEST_JSON = 32 << 20
_LOOPBACK = {"127.0.0.1", "::1", "localhost"}
_RETRIED = {408, 425, 429, 500, 502, 503, 504}


class DiskFault(DownloadError):
    """The disk is full or refuses to be written: another origin would not help."""


class _Broken(Exception):
    """A transfer ended early; what came so far is kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """What was fetched; `linked` is the SHA-256 that the server stated, empty when it did not."""

    sha256: str
    size: int
    etag: str
    linked: str


# --- disk ---------------------------------------------------------------------------------------
def hash_file(path: Path) -> str:
    """SHA-256 of a file, in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_json(path: Path, value: Mapping[str, Any]) -> None:
    """Write JSON whole or not at all; it is on disk when this returns. Raises `OSError`."""
    part = path.with_name(path.name + ".new")
    with part.open("w", encoding="utf-8") as file:
        json.dump(value, file, indent=1, sort_keys=True)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make renames within a folder last."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def disk_errors(path: Path) -> Iterator[None]:
    """Turn a failed write into a `DiskFault` that says which file, and that nothing is lost."""
    try:
        yield
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        why = "the disk is full: make room" if full else f"{error.strerror or error}: put it right"
        raise DiskFault(f"{path} could not be written: {why} and run again, it goes on from here") from error


def write_all(handle: int, data: bytes, offset: int, path: Path) -> None:
    """Write all of `data` at `offset` of an open file; raises `DiskFault`."""
    view = memoryview(data)
    with disk_errors(path):
        while view:
            count = os.pwrite(handle, view, offset)
            view, offset = view[count:], offset + count


def forget(target: Path) -> None:
    """Remove one unfinished download and its note; nothing else."""
    target.unlink(missing_ok=True)
    target.with_name(target.name + ".json").unlink(missing_ok=True)


def check_digest(what: str, expected: str, actual: str) -> None:
    """Raise `DownloadError` where a SHA-256 is not the expected one."""
    if actual != expected:
        raise DownloadError(
            f"{what}: sha256 is {actual}, expected {expected}; what came was removed and nothing else. "
            "Run again; if it stays so, that origin was changed and is not to be trusted"
        )


# --- http ---------------------------------------------------------------------------------------
def check_url(url: str) -> None:
    """Raise `DownloadError` unless the address is https (or http to this very machine).

    >>> check_url("https://example.org/a.gguf")
    """
    parts = urllib.parse.urlsplit(url)
    if parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _LOOPBACK):
        return
    raise DownloadError(f"{url}: only https addresses are fetched from")


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows redirects to https only, and keeps the headers that they bear."""

    def __init__(self) -> None:
        self.headers: dict[str, str] = {}

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: Message, newurl: str
    ) -> urllib.request.Request | None:
        try:
            check_url(newurl)
        except DownloadError:
            fp.close()
            raise
        self.headers.update({name.lower(): value for name, value in headers.items()})
        return super().redirect_request(req, fp, code, msg, cast("HTTPMessage", headers), newurl)


def _open(
    url: str, headers: Mapping[str, str], timeout: float
) -> tuple[http.client.HTTPResponse, dict[str, str]]:
    """Return the response and the headers of all hops; raises `DownloadError`, `_Broken`."""
    check_url(url)
    redirects = _Redirects()
    opener = urllib.request.build_opener(redirects)
    request = urllib.request.Request(
        url, headers={"User-Agent": "disputatio", "Accept-Encoding": "identity", **headers}
    )
    try:
        response = opener.open(request, timeout=timeout)
    except urllib.error.HTTPError as error:
        with error:
            if error.code in _RETRIED:
                raise _Broken(f"HTTP {error.code} {error.reason}") from error
            if error.code == 416:
                raise
            raise DownloadError(f"{url}: HTTP {error.code} {error.reason}") from error
    except (urllib.error.URLError, http.client.HTTPException, OSError) as error:
        raise _Broken(str(getattr(error, "reason", "") or error or type(error).__name__)) from error
    seen = {**redirects.headers, **{name.lower(): value for name, value in response.headers.items()}}
    if "x-linked-etag" in redirects.headers:
        seen["x-linked-etag"] = redirects.headers["x-linked-etag"]
    return response, seen


def fetch(
    url: str,
    target: Path,
    *,
    size: int | None,
    sha256: str | None,
    report: Report,
    timeout: float = TIMEOUT,
    pause: float | None = None,
) -> Fetched:
    """Fetch `url` into `target`, going on where an earlier run stopped.

    `size` (bytes) and `sha256` are checked where they are known, and so is the SHA-256 that the
    server states. Raises `DownloadError`; a broken transfer keeps what came, a wrong checksum does not.
    """
    fruitless = 0
    for _ in range(_MOST_TRIES):
        before = _have(target, url)[0]
        try:
            headers = _transfer(url, target, size=size, report=report, timeout=timeout)
            break
        except _Broken as error:
            fruitless = 0 if _have(target, url)[0] > before else fruitless + 1
            if fruitless >= TRIES:
                raise DownloadError(f"{url}: {error}; what came is kept, run again to go on") from error
            time.sleep((PAUSE if pause is None else pause) * 2**fruitless)
    else:
        raise DownloadError(f"{url}: the transfer broke {_MOST_TRIES} times; run again to go on")
    digest = hash_file(target)
    linked = headers.get("x-linked-etag", "").strip('"')
    linked = linked if re.fullmatch(r"[0-9a-f]{64}", linked) else ""
    for expected in (sha256, linked):
        if expected and digest != expected:
            forget(target)
            check_digest(url, expected, digest)
    return Fetched(sha256=digest, size=target.stat().st_size, etag=headers.get("etag", ""), linked=linked)


def git_blob_of(path: Path) -> str:
    """Return the id that git gives a file by its content: SHA-1, which is what a commit of a hub
    pins it by.
    """
    digest = hashlib.sha1(f"blob {path.stat().st_size}\0".encode(), usedforsecurity=False)
    with path.open("rb") as file:
        while piece := file.read(1 << 20):
            digest.update(piece)
    return digest.hexdigest()


def _have(target: Path, url: str) -> tuple[int, dict[str, Any]]:
    """Return how many bytes of `url` are there, and what the server said of the file when they came."""
    try:
        note = json.loads(target.with_name(target.name + ".json").read_bytes())
        if isinstance(note, dict) and note.get("url") == url:
            return target.stat().st_size, note
    except (OSError, ValueError):
        pass
    return 0, {}


def _transfer(url: str, target: Path, *, size: int | None, report: Report, timeout: float) -> dict[str, str]:
    """Return one connection: ask for what is missing and append it. Raises `_Broken`, `DownloadError`."""
    have, note = _have(target, url)
    conditions = {}
    if have:
        conditions["Range"] = f"bytes={have}-"
        if note.get("etag", "").startswith('"'):  # weak tags may not stand in If-Range
            conditions["If-Range"] = note["etag"]
    try:
        response, headers = _open(url, conditions, timeout)
    except urllib.error.HTTPError as error:  # 416: we have all of it, or of another file
        if have and error.headers.get("Content-Range") == f"bytes */{have}" and have == note.get("total"):
            return {name.lower(): value for name, value in error.headers.items()}
        forget(target)
        raise _Broken("the server's file has changed") from error
    with response:
        start, total = _span(response, headers)
        if start not in (0, have) or (start and total != note.get("total")):
            forget(target)
            raise _Broken("the server's file has changed")
        if size is not None and total is not None and total != size:
            forget(target)
            raise DownloadError(f"{url}: the file there is {total} bytes long, expected {size}")
        with disk_errors(target):
            out = target.open("r+b" if start else "wb")
        with out:
            with disk_errors(target):
                note = {"url": url, "etag": headers.get("etag", ""), "total": total}
                write_json(target.with_name(target.name + ".json"), note)
            end = _copy(
                response, out.fileno(), target, at=start, limit=total if size is None else size, report=report
            )
            with disk_errors(target):
                os.fsync(out.fileno())
        if total is not None and end < total:
            raise _Broken(f"the connection ended at byte {end} of {total}")
    return headers


def _span(response: http.client.HTTPResponse, headers: Mapping[str, str]) -> tuple[int, int | None]:
    """Return where the body begins, and the bytes of the whole file if the server says."""
    if response.status == 206:
        match = re.fullmatch(r"bytes (\d+)-\d+/(\d+)", headers.get("content-range", ""))
        return (int(match[1]), int(match[2])) if match else (-1, None)
    length = headers.get("content-length", "")
    return 0, int(length) if length.isdigit() else None


def _copy(
    response: http.client.HTTPResponse,
    out: int,
    target: Path,
    *,
    at: int,
    limit: int | None,
    report: Report,
) -> int:
    """Append the body from byte `at` on; where it ended. What came before a break is written."""
    while True:
        try:
            data = response.read1(CHUNK)
        except (http.client.HTTPException, OSError) as error:
            raise _Broken(str(error) or type(error).__name__) from error
        if not data:
            return at
        if limit is not None and at + len(data) > limit:
            forget(target)
            raise DownloadError(f"{target.name}: the server sent more than {limit} bytes")
        write_all(out, data, at, target)
        at += len(data)
        report(at)


def fetch_json(url: str, timeout: float = TIMEOUT) -> Any:
    """Return a JSON document, of a bounded size; raises `DownloadError`."""
    try:
        response, _ = _open(url, {"Accept": "application/json"}, timeout)
        with response:
            body = response.read(_LARGEST_JSON + 1)
    except (_Broken, http.client.HTTPException, OSError) as error:
        raise DownloadError(f"{url}: {error}") from error
    if len(body) > _LARGEST_JSON:
        raise DownloadError(f"{url}: the reply is too long")
    try:
        return json.loads(body)
    except ValueError as error:
        raise DownloadError(f"{url}: the reply is not JSON") from error
