"""A server that speaks the endpoint's protocol, or breaks it as a test says; loopback only.

A test gives a script: a list of replies in the order of the requests (the last is repeated), or a
function from a request to a reply.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

from disputatio.types import Message, Prompt

STREAM = "text/event-stream"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wire:
    """One reply: seconds of `delay` before the headers, then pieces, a number being a pause.

    `cut` breaks the line in the middle of the body; `silent` closes it without any reply.
    """

    pieces: Sequence[str | bytes | float] = ()
    status: int = 200
    kind: str = STREAM
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0.0
    cut: bool = False
    silent: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One request as it came."""

    body: dict[str, Any]
    path: str
    key: str
    cookie: str = ""

    @property
    def user(self) -> str:
        """The text of the last message."""
        return str(self.body["messages"][-1]["content"])

    @property
    def is_schema_probe(self) -> bool:
        return "disputatio" in json.dumps(self.body.get("response_format"))

    @property
    def is_logprob_probe(self) -> bool:
        return "top_logprobs" in self.body and "water" in self.user


Script = Sequence[Wire] | Callable[[Asked], Wire]


def ask(text: str = "Who?", system: str = "") -> Prompt:
    """Return a prompt with these words."""
    turns = [Message(role="user", content=text)]
    if system:
        turns.insert(0, Message(role="system", content=system))
    return Prompt(messages=tuple(turns))


def event(data: object) -> str:
    """Return one server-sent event."""
    return f"data: {data if isinstance(data, str) else json.dumps(data)}\n\n"


def chunk(
    content: str | None = None,
    *,
    finish: str | None = None,
    logprobs: object = None,
    delta: Mapping[str, Any] | None = None,
) -> str:
    """Return a chunk of a chat completion, as an event."""
    choice = {
        "index": 0,
        "delta": dict(delta or ({"content": content} if content is not None else {})),
        "finish_reason": finish,
        "logprobs": logprobs,
    }
    return event({"id": "c1", "object": "chat.completion.chunk", "model": "m", "choices": [choice]})


def usage(prompt: int = 11, completion: int = 3, cached: int | None = None) -> str:
    """Return the chunk that closes a stream with its usage."""
    counted: dict[str, Any] = {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
    }
    if cached is not None:
        counted["prompt_tokens_details"] = {"cached_tokens": cached}
    return event({"id": "c1", "object": "chat.completion.chunk", "choices": [], "usage": counted})


def logprobs(*top: tuple[str, float]) -> dict[str, Any]:
    """Return the log-probabilities of one token, the first of `top` being the one generated."""
    listed = [{"token": token, "logprob": logprob, "bytes": None} for token, logprob in top]
    return {"content": [{**listed[0], "top_logprobs": listed}], "refusal": None}


def says(*contents: str, finish: str = "stop", cached: int | None = None) -> Wire:
    """Return a sound reply."""
    role = chunk(delta={"role": "assistant", "content": ""})
    return Wire(
        pieces=[
            role,
            *map(chunk, contents),
            chunk(finish=finish),
            usage(completion=len(contents), cached=cached),
            event("[DONE]"),
        ]
    )


def chooses(*top: tuple[str, float]) -> Wire:
    """Return a sound reply of one token with its alternatives."""
    return Wire(
        pieces=[chunk(top[0][0], logprobs=logprobs(*top)), chunk(finish="length"), usage(), event("[DONE]")]
    )


def fails(
    status: int, message: str = "no", headers: Mapping[str, str] | None = None, **error: object
) -> Wire:
    """Return an error as OpenAI's API words it."""
    body = json.dumps({"error": {"message": message, **error}})
    return Wire(status=status, kind="application/json", pieces=[body], headers=headers or {})


class FakeServer:
    """Serves a script in threads; `asked` has the requests, `most` the most in flight at a time.

    `left` counts the clients that went away before their reply was whole. `lists` are the JSON values that it
    gives by path when it is asked for one; other paths are not found.
    """

    def __init__(self, script: Script) -> None:
        self.script = script
        self.lists: dict[str, object] = {}
        self.asked: list[Asked] = []
        self.most = 0
        self.left = threading.Semaphore(0)
        self._now = 0
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    @property
    def url(self) -> str:
        """The value of OPENAI_BASE_URL for this server."""
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    def __enter__(self) -> FakeServer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopping.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def answer(self, request: Asked, handler: BaseHTTPRequestHandler) -> None:
        """Play the reply to one request."""
        with self._lock:
            self.asked.append(request)
            number = len(self.asked) - 1
            self._now += 1
            self.most = max(self.most, self._now)
        try:
            if callable(self.script):
                wire = self.script(request)
            else:
                wire = self.script[min(number, len(self.script) - 1)]
            self._play(wire, handler)
        except ConnectionError:
            handler.close_connection = True  # the client went away, as it does at a deadline
            self.left.release()
        finally:
            with self._lock:
                self._now -= 1

    def _play(self, wire: Wire, handler: BaseHTTPRequestHandler) -> None:
        self._stopping.wait(wire.delay)
        handler.close_connection = True
        if wire.silent:
            return
        handler.send_response(wire.status)
        handler.send_header("Content-Type", wire.kind)
        handler.send_header("Transfer-Encoding", "chunked")
        handler.send_header("Connection", "close")
        for name, value in wire.headers.items():
            handler.send_header(name, value)
        handler.end_headers()
        for piece in wire.pieces:
            if isinstance(piece, float):
                self._stopping.wait(piece)
                continue
            data = piece.encode() if isinstance(piece, str) else piece
            handler.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
            handler.wfile.flush()
        if not wire.cut:
            handler.wfile.write(b"0\r\n\r\n")


def _handler(server: FakeServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            length = int(self.headers.get("Content-Length", "0"))
            body = json.loads(self.rfile.read(length))
            key = self.headers.get("Authorization", "")
            cookie = self.headers.get("Cookie", "")
            server.answer(Asked(body=body, path=self.path, key=key, cookie=cookie), self)

        def do_GET(self) -> None:
            content = json.dumps(server.lists.get(self.path, {"error": "not found"})).encode()
            self.send_response(200 if self.path in server.lists else 404)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *args: Any) -> None:
            """Say nothing on stderr."""

    return Handler


def capable(reply: Script | Wire, *, top: int = 20, schema: bool = True) -> Callable[[Asked], Wire]:
    """Return a script that answers the probe as a server with these abilities does, and else `reply`.

    `top` is the most alternatives allowed, 0 for none at all. Without `schema` the server accepts
    a schema and ignores it.
    """
    rest = iter(reply) if isinstance(reply, Sequence) else None

    def script(request: Asked) -> Wire:
        if request.is_logprob_probe:
            wanted = request.body["top_logprobs"]
            if wanted > top:
                return fails(400, f"top_logprobs must be at most {top}", param="top_logprobs")
            return chooses(*[(f"w{n}", -1.0 - n) for n in range(wanted)])
        if request.is_schema_probe:
            return says('{"greeting": "disputatio"}') if schema else says("Hello there!")
        if rest is not None:
            return next(rest)
        return reply(request) if callable(reply) else reply  # type: ignore[return-value]  # a Wire

    return script
