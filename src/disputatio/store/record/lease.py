"""A lease on a bucket: an object that says who writes there and until when, renewed while he does.

It is written conditionally where the store allows it: `s3://` through boto3 (`If-None-Match`, `If-Match`), `file://`
by the file system. Elsewhere it is written and read again after a moment, which keeps out a second writer but
not one that begins within that moment. A writer that dies leaves it, and it ends by itself.
"""

from __future__ import annotations

import contextlib
import datetime
import getpass
import importlib
import importlib.util
import json
import os
import secrets
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import parse_qs, unquote, urlsplit

from disputatio.errors import BucketFault, LeaseHeld
from disputatio.store.record.places import Bucket

LEASE = "lease.json"
SECONDS = 60.0
"""How long a lease holds without being renewed."""
_SETTLING = 1.0  # seconds after which an advisory lease is read again
_LARGEST = 4_096  # bytes of a lease
_CHANGED = ("PreconditionFailed", "ConditionalRequestConflict", "412", "409")


class _Changed(Exception):
    """The lease is not what it was: another writer came first."""


class _Slot(Protocol):
    """Where a lease lies. A version names its content, None that there is none."""

    kind: str

    def read(self) -> tuple[bytes, Any]: ...

    def write(self, raw: bytes, version: Any) -> Any:
        """Write in place of that version and tell the new one; raises `_Changed`."""

    def remove(self, version: Any) -> None: ...


class Lease:
    """The lease of this process, renewed by a thread until it is let go."""

    def __init__(self, where: str, slot: _Slot, seconds: float) -> None:
        self._where, self._slot, self._seconds = where, slot, seconds
        self._token = secrets.token_hex(8)
        self._version: Any = None
        self._until = 0.0
        self._lost = ""
        self._ended = threading.Event()

    @property
    def kind(self) -> str:
        """`conditional` or `advisory`."""
        return self._slot.kind

    def take(self) -> None:
        """Take it; raises `LeaseHeld` where another writer has it."""
        raw, version = self._slot.read()
        held = _parsed(raw)
        if held and float(held["until"]) > time.time():
            raise self._held(held)
        try:
            self._write(version)
        except _Changed:
            raise self._held(_parsed(self._slot.read()[0])) from None

    def check(self) -> None:
        """Raise `LeaseHeld` where it was lost meanwhile: nothing may be switched then."""
        if self._lost or time.time() > self._until:
            raise LeaseHeld(f"{shown(self._where)}: {self._lost or 'the lease ran out and was not renewed'}")

    def renew(self) -> None:
        """Renew it until it is let go; a fault is tried again until it has run out."""
        while not self._ended.wait(self._seconds / 3):
            try:
                self._write(self._version)
            except _Changed:
                self._lost = "another writer took the lease over"
                return
            except Exception as error:  # noqa: BLE001 (whichever library speaks to the bucket; `check` tells)
                self._lost = "" if time.time() < self._until else f"the lease was not renewed: {error}"

    def let_go(self) -> None:
        """Stop renewing it, and take it away where it is ours still."""
        self._ended.set()
        if not self._lost:
            with contextlib.suppress(_Changed, OSError, BucketFault):
                self._slot.remove(self._version)

    def _write(self, version: Any) -> None:
        until = time.time() + self._seconds
        holder = f"{_user()} at {socket.gethostname()}, process {os.getpid()}"
        raw = json.dumps({"holder": holder, "until": until, "token": self._token}).encode()
        self._version = self._slot.write(raw, version)
        self._until = until

    def _held(self, held: dict[str, Any]) -> LeaseHeld:
        if not held:
            return LeaseHeld(f"{shown(self._where)}: another writer came first; run it again")
        moment = datetime.datetime.fromtimestamp(float(held["until"]), datetime.UTC)
        return LeaseHeld(
            f"{shown(self._where)}: {held['holder']} is writing there, until {moment:%Y-%m-%d %H:%M:%S} UTC "
            "unless it renews its lease; try again then"
        )


@contextmanager
def leased(where: str, seconds: float = SECONDS) -> Iterator[Lease]:
    """Hold the lease of a bucket; raises `LeaseHeld` where another writer has it, `BucketFault`."""
    lease = Lease(where, _slot(where), seconds)
    lease.take()
    thread = threading.Thread(target=lease.renew, name="disputatio lease", daemon=True)
    thread.start()
    try:
        yield lease
    finally:
        lease.let_go()
        thread.join(timeout=5)


def shown(url: str) -> str:
    """Return a URL without what its query says, and without a password."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


# --- where it lies ------------------------------------------------------------------------------------
class _FileSlot:
    """A file: made only where there is none, replaced only after it was moved away by one alone."""

    kind = "conditional"

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self) -> tuple[bytes, Any]:
        try:
            raw = self._path.read_bytes()[:_LARGEST]
        except FileNotFoundError:
            return b"", None
        return raw, raw

    def write(self, raw: bytes, version: Any) -> Any:
        part = self._path.with_name(f"{LEASE}.{os.getpid()}.{secrets.token_hex(4)}.part")
        part.parent.mkdir(parents=True, exist_ok=True)
        part.write_bytes(raw)
        try:
            if version is not None:
                self.remove(version)
            os.link(part, self._path)
        except FileExistsError as error:
            raise _Changed from error
        finally:
            part.unlink(missing_ok=True)
        return raw

    def remove(self, version: Any) -> None:
        gone = self._path.with_name(f"{LEASE}.{secrets.token_hex(4)}.part")
        try:
            self._path.rename(gone)
        except FileNotFoundError as error:
            raise _Changed from error
        changed = gone.read_bytes() != version
        if changed:  # it was another's: back with it
            with contextlib.suppress(FileExistsError):
                os.link(gone, self._path)
        gone.unlink()
        if changed:
            raise _Changed


class _S3Slot:
    """An object of S3, written on condition of what it was."""

    kind = "conditional"

    def __init__(self, url: str) -> None:
        boto3 = importlib.import_module("boto3")
        parts = urlsplit(url)
        said = {name: values[-1] for name, values in parse_qs(parts.query).items()}
        endpoint = said.get("endpoint_override", "")
        if endpoint and "://" not in endpoint:
            endpoint = f"{said.get('scheme', 'https')}://{endpoint}"
        self._client = boto3.client(
            "s3",
            endpoint_url=endpoint or None,
            region_name=said.get("region"),
            aws_access_key_id=unquote(parts.username) if parts.username else None,
            aws_secret_access_key=unquote(parts.password) if parts.password else None,
        )
        key = f"{unquote(parts.path).strip('/')}/{LEASE}".lstrip("/")
        self._at = {"Bucket": parts.hostname or "", "Key": key}
        self._where = url

    def read(self) -> tuple[bytes, Any]:
        found = self._asked("get_object", absent=True)
        return (b"", None) if found is None else (found["Body"].read(_LARGEST), found["ETag"])

    def write(self, raw: bytes, version: Any) -> Any:
        condition = {"IfNoneMatch": "*"} if version is None else {"IfMatch": version}
        return self._asked("put_object", Body=raw, **condition)["ETag"]

    def remove(self, version: Any) -> None:
        if self.read()[1] == version:
            self._asked("delete_object")

    def _asked(self, what: str, *, absent: bool = False, **how: Any) -> Any:
        exceptions = importlib.import_module("botocore.exceptions")
        try:
            return getattr(self._client, what)(**self._at, **how)
        except exceptions.ClientError as error:
            code = str(error.response.get("Error", {}).get("Code", ""))
            if absent and code in ("NoSuchKey", "404"):
                return None
            if code in _CHANGED:
                raise _Changed from error
            raise self._fault(error) from error
        except exceptions.BotoCoreError as error:
            raise self._fault(error) from error

    def _fault(self, error: Exception) -> BucketFault:
        reason = " ".join(str(error).split())[:300]
        return BucketFault(f"{shown(self._where)}: its lease cannot be had: {reason}")


class _AdvisorySlot:
    """An object of a store whose writes have no conditions here: written, and read again after a moment."""

    kind = "advisory"

    def __init__(self, url: str) -> None:
        self._bucket = Bucket(url)

    def read(self) -> tuple[bytes, Any]:
        try:
            with self._bucket.read(LEASE) as file:
                raw = file.read(_LARGEST)
        except FileNotFoundError:
            return b"", None
        return raw, raw

    def write(self, raw: bytes, version: Any) -> Any:
        if self.read()[1] != version:
            raise _Changed
        self._bucket.switch(LEASE, raw)
        if version is None or _token(version) != _token(raw):
            time.sleep(_SETTLING)
            if self.read()[1] != raw:
                raise _Changed
        return raw

    def remove(self, version: Any) -> None:
        if self.read()[1] == version:
            self._bucket.remove(LEASE)


def _slot(where: str) -> _Slot:
    parts = urlsplit(where)
    if parts.scheme == "file":
        return _FileSlot(Path(unquote(parts.path)) / LEASE)
    if parts.scheme == "s3" and importlib.util.find_spec("boto3") is not None:
        return _S3Slot(where)
    return _AdvisorySlot(where)


def _parsed(raw: bytes) -> dict[str, Any]:
    """Return what a lease says; one that cannot be read holds nobody."""
    try:
        fields = json.loads(raw)
        return {"holder": str(fields["holder"])[:200], "until": float(fields["until"])}
    except (ValueError, KeyError, TypeError):
        return {}


def _token(raw: bytes) -> str:
    return str(json.loads(raw).get("token", "")) if raw else ""


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a user without a name
        return str(os.getuid())
