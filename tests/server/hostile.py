"""Hostile forms of hosts, origins and addresses, as they stand in a raw request."""

from __future__ import annotations

from collections.abc import Iterator

_EVIL = ("evil.example", "attacker.test", "169.254.169.254", "192.168.0.7", "10.0.0.1", "8.8.8.8")
_LIKE_LOOPBACK = (
    "0.0.0.0", "127.1", "2130706433", "0x7f000001", "0177.0.0.1", "127.0.0.2", "127.0.0.1.nip.io",
    "localhost.evil.example", "evil.example.localhost", "127.0.0.1.evil.example", "localhost.", "127.0.0.1.",
    "[::]", "[::ffff:127.0.0.1]", "[0:0:0:0:0:0:0:2]", "localtest.me", "lvh.me", "xn--localhost-",
    "locaIhost",
)  # fmt: skip
_PORTS = ("", ":80", ":8377", ":0", ":65535")
_MALFORMED = (
    "", " ", "localhost:", "localhost:x", "localhost:123456", "evil@localhost", "localhost@evil.example",
    "http://localhost", "localhost/evil", "localhost#x", "localhost?x", "localhost,evil.example",
    "localhost evil.example", "[::1", "::1", "local_host", "-localhost", "localhost-:80", "*",
    "%6c%6fcalhost", "localhost\\evil", "user:pw@127.0.0.1", "127.0.0.1:80:80", "[127.0.0.1]", "..",
    ".localhost", "localhost;x",
)  # fmt: skip
_PATHS = (
    "/../etc/passwd", "/..%2f..%2fetc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/api/../../etc/passwd",
    "/api/%2e%2e/%2e%2e/etc/passwd", "/..\\..\\etc\\passwd", "/%5c..%5c..%5cetc", "/api/passages/..%2f..%2fx",
    "/api/answers/../../x", "/api/runs/..%2f..%2f..%2fetc", "/api/runs/%2e%2e", "/api/jobs/..", "/./x",
    "/api/answers/%00", "/api/passages/a%00b", "/api/passages/%0d%0aSet-Cookie:%20x=1", "/api/runs/%0a",
    "/api/answers/%1b[31m", "/api/%7f", "//evil.example/x", "//etc/passwd", "/api//health", "/\\evil.example",
    "/assets/../../../etc/passwd", "/assets/..%2f..%2f..%2fetc/passwd", "/assets/%2e%2e/%2e%2e/x",
    "/api/ask/%2e%2e%2f", "/api/sources/..", "/api/sources/%2e%2e/%2e%2e/x", "/api/passages/%ff%fe",
    "/api/passages/" + "a" * 9_000, "/api/search?q=" + "a" * 9_000,
)  # fmt: skip


def hosts() -> Iterator[list[str]]:
    """Values of one or several headers Host, none of which is a name of the server."""
    for name in (*_EVIL, *_LIKE_LOOPBACK):
        for port in _PORTS:
            yield [f"{name}{port}"]
    for name in _MALFORMED:
        yield [name]
    yield []
    yield ["localhost", "evil.example"]
    yield ["evil.example", "localhost"]
    yield ["localhost", "localhost"]


def origins(own: str) -> Iterator[str]:
    """Values of the header Origin that are not the server's own (its host and port)."""
    name, _, port = own.partition(":")
    for evil in (*_EVIL, *_LIKE_LOOPBACK):
        for scheme in ("http", "https"):
            yield f"{scheme}://{evil}"
            yield f"{scheme}://{evil}:{port}"
    yield from ("null", "file://", "*", "chrome-extension://abcdef", "data:", "about:blank", "undefined")
    yield from (f"http://{name}", f"http://{name}:1", f"ftp://{own}", f"ws://{own}", f"//{own}", own)
    yield from (f"http://{own}.evil.example", f"http://evil.example/{own}", f"http://{own}@evil.example")
    yield from (
        f"http://{own}/",
        f"http://{own} http://evil.example",
        f"http://{own},null",
        f" http://{own}x",
    )


def paths() -> tuple[str, ...]:
    """Addresses that lead out of the server, or carry what no name has."""
    return _PATHS
