"""A cluster that is not there is told of soon, in one line."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from disputatio.errors import ClusterFault
from disputatio.workers import cluster

_SETTINGS_FRAME = bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])


@contextmanager
def listening(reply: bytes | None) -> Iterator[str]:
    """The address of a server that says one thing to whoever speaks to it, or never anything."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            with server.accept()[0] as connection:
                connection.recv(1024)
                if reply is None:
                    over.wait(10)
                else:
                    connection.sendall(reply)

        over, thread = threading.Event(), threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"127.0.0.1:{server.getsockname()[1]}"
        over.set()
        thread.join()


@pytest.mark.long
@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "what answers there is none"),
        (b"", "what answers there is none"),
        (None, "timed out"),
    ],
    ids=["another server", "one that hangs up", "a silent one"],
)
def test_what_is_no_cluster_is_told_in_a_line(
    reply: bytes | None, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "_ANSWERING", 0.2)
    with listening(reply) as address, pytest.raises(ClusterFault) as caught:
        cluster._knock(address)
    assert str(caught.value) == f"{address}: no Ray cluster could be had: {reason}"
    assert caught.value.exit_code == 3


def test_what_speaks_as_a_cluster_does_is_let_in() -> None:
    with listening(_SETTINGS_FRAME) as address:
        cluster._knock(address)
        cluster._knock("auto")


def test_a_closed_port_and_one_that_is_none_are_told_in_a_line() -> None:
    for address in ("127.0.0.1:1", "127.0.0.1:99999"):
        with pytest.raises(ClusterFault, match=f"^{address}: no Ray cluster could be had: ") as caught:
            cluster._knock(address)
        assert "\n" not in str(caught.value)
