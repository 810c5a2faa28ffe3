"""Connections that close when a client is too slow, and a server that shuts down cleanly on a signal."""

from __future__ import annotations

import asyncio
import errno
import signal
import socket
import threading
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import h11
import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.h11_impl import H11Protocol

from disputatio.errors import ConfigError
from disputatio.server.options import Limits

_LARGEST_HEAD = 32_768  # bytes of a request's line and headers
_STOPPING = (signal.SIGINT, signal.SIGTERM)
_IDLE = 30  # seconds that a connection stays without a request
_SENT = 128 << 10  # bytes that the system holds for a client: of what it holds, none is seen to be taken
_LONGEST_PAUSE = 20  # times `write_seconds` in which a client has to take what waits for it


def protocol(limits: Limits) -> type[asyncio.Protocol]:
    """Return a connection protocol that enforces the limits."""

    class Connection(H11Protocol):
        """A connection that closes if a request's head is late or the client stops reading."""

        _head: asyncio.TimerHandle | None = None
        _taking: asyncio.TimerHandle | None = None
        _untaken = 0  # bytes that waited for the client when it was last looked at
        _looks = 0
        _piped = 0  # requests in a row that came before the reply to the one before was sent

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SENT)
            if len(self.connections) > limits.connections:
                transport.abort()
                return
            self._head = self.loop.call_later(limits.header_seconds, transport.abort)

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            waits = self.conn.their_state is h11.IDLE and not self.transport.is_closing()
            if not waits:
                _end(self._head)
                self._head = None
            elif self._head is None:  # the beginning of another head
                self._head = self.loop.call_later(limits.header_seconds, self.transport.abort)

        def on_response_complete(self) -> None:
            """Close a connection that sends requests on and on without waiting for replies."""
            waits = bool(self.conn.trailing_data[0])
            self._piped = self._piped + 1 if waits else 0
            if self._piped >= limits.pipelined:
                self.transport.close()
            super().on_response_complete()

        def pause_writing(self) -> None:
            super().pause_writing()
            if self._taking is None:
                self._looks = 0
                self._look_later()

        def _look_later(self) -> None:
            self._untaken = self.transport.get_write_buffer_size()
            self._taking = self.loop.call_later(limits.write_seconds, self._look)

        def _look(self) -> None:
            """Close the connection unless the client has taken something since, and is not too late."""
            self._looks += 1
            if self._looks < _LONGEST_PAUSE and self.transport.get_write_buffer_size() < self._untaken:
                self._look_later()
            else:
                self.transport.abort()

        def resume_writing(self) -> None:
            super().resume_writing()
            _end(self._taking)
            self._taking = None

        def connection_lost(self, exc: Exception | None) -> None:
            _end(self._head)
            _end(self._taking)
            super().connection_lost(exc)

    return Connection


def _end(timer: asyncio.TimerHandle | None) -> None:
    if timer is not None:
        timer.cancel()


class Server(uvicorn.Server):
    """A server that a signal stops without ending the process."""

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """Let the first signal stop the server, and a second SIGINT stop it at once."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self.handle_exit) for number in _STOPPING}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def server_of(app: FastAPI, limits: Limits) -> Server:
    """Create the server of an application; `run` takes its sockets."""
    config = uvicorn.Config(
        app,
        http=protocol(limits),
        ws="none",
        loop="asyncio",
        log_level="error",
        access_log=False,  # addresses may contain questions
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=_IDLE,
        timeout_graceful_shutdown=max(1, round(limits.grace)),
        h11_max_incomplete_event_size=_LARGEST_HEAD,
    )
    return Server(config)


def open_listener(host: str, port: int) -> socket.socket:
    """Open a socket at an address; raises `ConfigError` if it is in use or not of this machine."""
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        # Said to be TCP, so that asyncio lets small pieces go at once (TCP_NODELAY).
        listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
            listener.listen(256)
        except OSError:
            listener.close()
            raise
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise ConfigError(f"port {port} is in use: choose another with --port N") from error
        raise ConfigError(
            f"cannot listen at {host}:{port}: {(error.strerror or str(error)).lower()}"
        ) from error
    listener.set_inheritable(False)
    return listener


def port_of(listener: socket.socket) -> int:
    """Return the port that a socket listens at."""
    name: Any = listener.getsockname()
    return int(name[1])
