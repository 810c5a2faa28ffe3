"""An object store on this machine (moto's S3), which can be told to fail."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

Fault = Callable[[str, str], str]
"""(method, path) -> "", or how it fails: one of `_STATUS`, `cut` (half of the body, then nothing)."""

_STATUS = {  # status line, code, message
    "503": ("503 Slow Down", "SlowDown", ""),
    "full": ("507 Insufficient Storage", "QuotaExceeded", "the bucket is full"),
    "key": ("403 Forbidden", "InvalidAccessKeyId", "the key is not known"),
}
_ERROR = '<?xml version="1.0"?><Error><Code>{code}</Code><Message>{message}</Message></Error>'


class ObjectStore:
    """A running store; `fault` is asked before every request."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.fault: Fault = lambda *_: ""
        self.requests: list[tuple[str, str]] = []

    def url(self, path: str) -> str:
        """Return the URL of a place in its bucket."""
        return f"s3://bucket/{path}?scheme=http&endpoint_override=127.0.0.1:{self.port}&region=us-east-1"


@contextmanager
def object_store() -> Iterator[ObjectStore]:
    """Start a store with one empty bucket."""
    import boto3
    from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
    from werkzeug.serving import WSGIRequestHandler, make_server

    class Quiet(WSGIRequestHandler):
        protocol_version = "HTTP/1.1"

        def log(self, *_: Any, **__: Any) -> None:
            """Log nothing."""

    inner = DomainDispatcherApplication(create_backend_app)

    def app(environ: dict[str, Any], start: Any) -> Any:
        method, path = environ["REQUEST_METHOD"], environ["PATH_INFO"]
        store.requests.append((method, path))
        fault = store.fault(method, path)
        if fault in _STATUS:
            environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
            status, code, message = _STATUS[fault]
            raw = _ERROR.format(code=code, message=message).encode()
            start(status, [("Content-Type", "application/xml"), ("Content-Length", str(len(raw)))])
            return [raw]
        if fault == "cut":
            if method == "GET":
                return _cut(b"".join(inner(environ, start)), environ["werkzeug.socket"])
            environ["wsgi.input"].read(1)
            environ["werkzeug.socket"].shutdown(socket.SHUT_RDWR)
            raise ConnectionResetError("cut")
        return inner(environ, start)

    server = make_server("127.0.0.1", 0, app, threaded=True, request_handler=Quiet)
    store = ObjectStore(server.server_port)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        boto3.client(
            "s3", endpoint_url=f"http://127.0.0.1:{store.port}", region_name="us-east-1"
        ).create_bucket(Bucket="bucket")
        yield store
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _cut(body: bytes, connection: socket.socket) -> Iterator[bytes]:
    yield body[: len(body) // 2]
    connection.shutdown(socket.SHUT_RDWR)
    raise ConnectionResetError("cut")
