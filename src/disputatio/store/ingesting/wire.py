"""A connection to one judged address that keeps four deadlines, whatever the other side does.

A timeout of a socket holds for one read; a server that sends a byte now and then never meets it. So
every read asks the clock of the whole fetch how long it may take.
"""

from __future__ import annotations

import http.client
import io
import socket
import ssl
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from disputatio.store.ingesting.addresses import WebAddress

Resolve = Callable[[str, int], Sequence[str]]
Connect = Callable[[str, int, float], socket.socket]

_AROUND = 1 << 20  # bytes of headers and of the framing of chunks, beside the body itself


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
        """Start the clock of a new connection."""
        self._hop_end = time.monotonic() + self.limits.connect

    def connecting(self) -> float:
        """Return seconds left for the connection; raises `Late` when there are none."""
        self._waits_for, self._seconds = "to connect", self.limits.connect
        return self._left(self._hop_end - time.monotonic())

    def reading(self, *, first: bool) -> float:
        """Return seconds that the next bytes may take; raises `Late` when there are none."""
        if first:
            self._waits_for, self._seconds = "for its first byte", self.limits.first_byte
        else:
            self._waits_for, self._seconds = "between two bytes", self.limits.between_bytes
        return self._left(self._seconds)

    def late(self) -> Late:
        """Return which deadline passed, as an error to raise."""
        if time.monotonic() >= self._end:
            return Late(f"took more than {self.limits.total:g} s in all")
        return Late(f"took more than {self._seconds:g} s {self._waits_for}")

    def within(self, resolve: Callable[[], Sequence[str]]) -> Sequence[str]:
        """Return what a resolver gives, waited for no longer than a connection may take; raises `Late`.

        The system's resolver takes no timeout, so it works in a thread that is left behind when late.
        """
        seconds = self.connecting()
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


class Wire:
    """A connected socket of which every read and write keeps the deadlines.

    It gives `http.client` what that asks of a socket. `close` ends the connection.
    """

    def __init__(self, sock: socket.socket, clock: Clock) -> None:
        self._sock, self._clock = sock, clock

    @property
    def as_socket(self) -> Any:
        """The two calls that `http.client` makes; letting go of it does not end the connection."""
        return _Lent(self._sock, self._clock)

    def close(self) -> None:
        """End the connection."""
        self._sock.close()


class _Lent:
    def __init__(self, sock: socket.socket, clock: Clock) -> None:
        self._sock, self._clock = sock, clock

    def sendall(self, data: bytes) -> None:
        """Send the request; raises `Late` and `TimeoutError`."""
        self._sock.settimeout(self._clock.reading(first=True))
        self._sock.sendall(data)

    def makefile(self, _mode: str) -> io.BufferedReader:
        """Return what the answer is read from."""
        return io.BufferedReader(_Answer(self._sock, self._clock))

    def close(self) -> None:
        """Do nothing: `http.client` closes before the answer is read, and the owner closes after it."""


class _Answer(io.RawIOBase):
    """The bytes that come, within the deadlines and not without end."""

    def __init__(self, sock: socket.socket, clock: Clock) -> None:
        self._sock, self._clock, self._taken = sock, clock, 0

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read some bytes; raises `Late`, `TimeoutError`, and `HTTPException` when they are too many."""
        self._sock.settimeout(self._clock.reading(first=not self._taken))
        count = self._sock.recv_into(buffer)
        self._taken += count
        if self._taken > 2 * self._clock.limits.size + _AROUND:
            raise http.client.HTTPException("the answer does not end")
        return count


def open_wire(
    address: WebAddress, pinned: Sequence[str], connect: Connect, tls: ssl.SSLContext | None, clock: Clock
) -> Wire:
    """Return a connection to the first of the judged addresses that takes one; TLS verifies the name.

    Raises `OSError` of the last address when none does, and `Late`.
    """
    last = OSError()
    for ip in pinned:
        try:
            sock = connect(ip, address.port, clock.connecting())
        except OSError as error:
            last = error
            continue
        if address.scheme == "https":
            try:
                sock.settimeout(clock.connecting())
                context = tls or ssl.create_default_context()
                sock = context.wrap_socket(sock, server_hostname=address.host)
            except BaseException:
                sock.close()
                raise
        return Wire(sock, clock)
    raise last


def connect_to(ip: str, port: int, seconds: float) -> socket.socket:
    """Return a socket connected to an address (not to a name); raises `OSError`."""
    sock = socket.socket(socket.AF_INET6 if ":" in ip else socket.AF_INET, socket.SOCK_STREAM)
    try:
        sock.settimeout(seconds)
        sock.connect((ip, port))
    except BaseException:
        sock.close()
        raise
    return sock


def resolve_name(host: str, port: int) -> list[str]:
    """Return the addresses of a name by the system's resolver; raises `OSError`."""
    return [str(entry[4][0]) for entry in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]
