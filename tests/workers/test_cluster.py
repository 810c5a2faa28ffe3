"""A cluster that is not there is told of soon, in one line."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from ipaddress import ip_address
from pathlib import Path

import grpc
import pytest

from disputatio.errors import ClusterFault
from disputatio.workers import cluster
from tests.shell import run
from tests.store.loopback import listening


@contextmanager
def saying(reply: bytes | None) -> Iterator[str]:
    """Give the address of a server that says one thing to whoever speaks to it, or never anything."""
    over = threading.Event()

    def play(line: socket.socket) -> None:
        if reply is None:
            over.wait(10)
        elif line.recv(1024):
            line.sendall(reply)

    with listening(play) as port:
        yield f"127.0.0.1:{port}"
        over.set()


class _Refusing(grpc.GenericRpcHandler):  # type: ignore[misc]  # grpcio has no types
    """Knows one call, which it refuses to whoever brings no key, as a cluster with keys does."""

    def __init__(self, call: str) -> None:
        self.call = call

    def service(self, details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler | None:
        if details.method != self.call:
            return None
        return grpc.unary_unary_rpc_method_handler(
            lambda _, context: context.abort(grpc.StatusCode.UNAUTHENTICATED, "no key")
        )


@contextmanager
def serving(call: str) -> Iterator[str]:
    """Give the address of a gRPC server that knows one call."""
    server = grpc.server(ThreadPoolExecutor(1), handlers=[_Refusing(call)])
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    yield f"127.0.0.1:{port}"
    server.stop(None).wait()


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
    if reply is None:
        monkeypatch.setattr(cluster, "_ANSWERING", 0.2)
    with saying(reply) as address, pytest.raises(ClusterFault) as caught:
        cluster._knock(address)
    assert str(caught.value) == f"{address}: no Ray cluster could be had: {reason}"
    assert caught.value.exit_code == 3


def test_a_server_of_other_calls_is_no_cluster() -> None:
    with (
        serving("/shop.Basket/Add") as address,
        pytest.raises(ClusterFault, match="what answers there is none"),
    ):
        cluster._knock(address)


def test_what_knows_the_call_of_a_cluster_is_let_in() -> None:
    with serving("/ray.rpc.NodeInfoGcsService/CheckAlive") as address:
        cluster._knock(address)
    cluster._knock("auto")


def test_an_address_of_rays_client_is_refused_in_a_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page, index = tmp_path / "page.txt", tmp_path / "ix"
    page.write_text("The ferry sails at nine.")
    refused = run(capsys, "ingest", page, "--index", index, "--ray", "ray://head:10001")
    assert refused.code == 2
    assert refused.err.startswith("disputatio: ray://head:10001: Ray's client streams no rows")


def test_a_closed_port_and_one_that_is_none_are_told_in_a_line() -> None:
    for address in ("127.0.0.1:1", "127.0.0.1:99999"):
        with pytest.raises(ClusterFault, match=f"^{address}: no Ray cluster could be had: ") as caught:
            cluster._knock(address)
        assert "\n" not in str(caught.value)


# Starts a cluster on this machine and prints where it listens, then what each port says without a key.
LOCAL = """
import http.client, json, urllib.error, urllib.request
import psutil
from disputatio.workers.cluster import cluster
with cluster("local", 1):
    import grpc, ray
    ours = [psutil.Process(), *psutil.Process().children(recursive=True)]
    opened = [each for process in ours for each in process.net_connections("tcp")]
    places = [each.laddr for each in opened if each.status == "LISTEN"]
    said = {}
    for port in {place.port for place in places}:
        job = urllib.request.Request(
            f"http://127.0.0.1:{port}/api/job_agent/jobs/", json.dumps({"entrypoint": "true"}).encode()
        )
        try:
            said[port] = urllib.request.urlopen(job, timeout=5).status
        except urllib.error.HTTPError as error:
            said[port] = error.code
        except (OSError, http.client.HTTPException):
            said[port] = "no HTTP"
    with grpc.insecure_channel(ray.get_runtime_context().gcs_address) as channel:
        for call in ("InternalKVGcsService/InternalKVPut", "ActorInfoGcsService/RegisterActor"):
            try:
                channel.unary_unary(f"/ray.rpc.{call}")(b"", timeout=10)
                said[call] = "done"
            except grpc.RpcError as error:
                said[call] = error.code().name
print(json.dumps({"hosts": [place.ip for place in places], "said": said}))
"""


@pytest.mark.slow
@pytest.mark.xdist_group("ray")
def test_a_cluster_of_this_machine_listens_on_loopback_alone_and_does_nothing_without_its_key() -> None:
    shown = subprocess.run(
        [sys.executable, "-c", LOCAL], capture_output=True, text=True, timeout=300, check=True
    )
    found = json.loads(shown.stdout.splitlines()[-1])
    hosts = {ip_address(host) for host in found["hosts"]}
    assert hosts and all((getattr(host, "ipv4_mapped", None) or host).is_loopback for host in hosts)
    calls = {call: found["said"].pop(call) for call in list(found["said"]) if "/" in call}
    assert set(calls.values()) == {"UNAUTHENTICATED"}
    assert len(found["said"]) > 3
    assert set(found["said"].values()) <= {401, 405, "no HTTP"}, "no port takes a job"
