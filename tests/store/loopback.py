"""Servers on loopback that say exactly the bytes they are told to, and names played for a web server."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from disputatio.store.ingesting.fetch import Fetched, fetch

PUBLIC = "93.184.216.34"  # played: nothing is ever sent there
Say = Callable[[socket.socket, str], None]
Play = Callable[[socket.socket], None]


@contextlib.contextmanager
def listening(play: Play) -> Iterator[int]:
    """Let `play` speak on each connection to a port, one after the other; gives the port."""

    def serve() -> None:
        while True:
            try:
                line, _ = listener.accept()
            except OSError:
                return
            with line, contextlib.suppress(OSError):
                play(line)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield listener.getsockname()[1]
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join(10)


def page(body: bytes, kind: str = "text/html", status: str = "200 OK", **headers: str) -> bytes:
    """Return a whole answer; `headers` are named with underscores."""
    lines = [f"HTTP/1.1 {status}", f"Content-Type: {kind}", f"Content-Length: {len(body)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def redirect(location: str, status: str = "302 Found") -> bytes:
    """Return an answer that sends on."""
    return f"HTTP/1.1 {status}\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n".encode()


class Web:
    """One server for every name: what `fetch` asks and where it connects is written down."""

    def __init__(self, answers: Mapping[str, bytes | Say]) -> None:
        self.answers, self.port = answers, 0
        self.names: dict[str, list[Sequence[str]]] = {}
        self.asked: list[str] = []
        self.resolved: list[str] = []
        self.connected: list[tuple[str, int]] = []

    def resolve(self, host: str, port: int) -> Sequence[str]:
        """Return the played addresses of a name; the last ones stay."""
        self.resolved.append(host)
        turns = self.names.get(host, [[PUBLIC]])
        return turns.pop(0) if len(turns) > 1 else turns[0]

    def connect(self, ip: str, port: int, seconds: float) -> socket.socket:
        """Return a socket to the server, whatever the address."""
        self.connected.append((ip, port))
        return socket.create_connection(("127.0.0.1", self.port), seconds)

    @property
    def get(self) -> Callable[..., Fetched]:
        """`fetch` in this web."""
        return partial(fetch, resolve=self.resolve, connect=self.connect)

    def play(self, client: socket.socket) -> None:
        """Answer one request."""
        head = b""
        while b"\r\n\r\n" not in head and (part := client.recv(65_536)):
            head += part
        text = head.decode("latin-1")
        self.asked.append(text)
        path = [*text.split(" "), "", ""][1]
        host = next((line[6:] for line in text.split("\r\n") if line.startswith("Host: ")), "")
        answer = self.answers.get(host + path) or self.answers.get(path) or page(b"", status="404 No")
        if isinstance(answer, bytes):
            client.sendall(answer)
        else:
            answer(client, path)


@contextlib.contextmanager
def web(**answers: bytes | Say) -> Iterator[Web]:
    """Serve on a free port of loopback; `answers` are by path, added to with `Web.answers`."""
    served = Web(dict(answers))
    with listening(served.play) as served.port:
        yield served
