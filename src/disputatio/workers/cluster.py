"""A Ray cluster to work on: started on this machine or met by its address; its faults, in a line each."""

from __future__ import annotations

import contextlib
import logging
import os
import re
import secrets
import socket
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from disputatio.errors import ClusterFault, InputError, require_package

_RAISED = re.compile(r"^(?!ray\.)([A-Za-z_][\w.]*): (\S.*)$", re.MULTILINE)  # as a traceback ends
_ANSWERING = 10.0  # seconds that a cluster may take to answer at all
_BEGINNING = 180.0  # that a node started here may take
_ALIVE = "/ray.rpc.NodeInfoGcsService/CheckAlive"  # a call that a cluster knows, and no other server of gRPC
_CLIENT = "ray://"  # how an address of Ray's client begins
_STORE = 256_000_000  # bytes of memory for rows under way, on a cluster started here


@contextmanager
def cluster(address: str, workers: int | None) -> Iterator[int]:
    """Join a cluster, or start one; how many workers to use. Raises `InputError`, `ClusterFault`."""
    if address.startswith(_CLIENT):
        raise InputError(
            f"{address}: Ray's client streams no rows: name the address of the cluster's head, HOST:PORT "
            "(6379 unless it was started with another), from a machine of the cluster"
        )
    # Before the import, which reads them: no statistics of use, no notes on stderr.
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    # A node whose helpers, or workers, are late is given up: on a busy machine they take their time.
    os.environ.setdefault("RAY_agent_register_timeout_ms", f"{_BEGINNING * 1000:.0f}")
    os.environ.setdefault("RAY_worker_register_timeout_seconds", f"{_BEGINNING:.0f}")
    if address == "local" and "RAY_AUTH_TOKEN_PATH" not in os.environ:
        # A cluster's ports are open to all who reach this machine; they are kept out by a key, and
        # without this one Ray writes its own into the user's home.
        os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))
        os.environ.setdefault("RAY_AUTH_MODE", "token")  # unset, Ray tells stderr that it chose the same
    if address == "local":
        # Where this is off, Ray takes the loopback for its own address; else it replaces one that is given
        # by that of the machine, and listens to the network.
        os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"
    with require_package("ray", "scale"):
        import ray

    quiet = {"logging_level": logging.ERROR, "log_to_driver": False, "configure_logging": False}
    with contextlib.ExitStack() as stack:
        stack.enter_context(warnings.catch_warnings())
        # Of Ray about itself.
        warnings.filterwarnings("ignore", module=r"ray\.")
        count = workers or os.cpu_count() or 1
        if not ray.is_initialized():
            settings: dict[str, Any] = {"address": address}
            if address == "local":
                folder = tempfile.TemporaryDirectory(prefix="disputatio-ray-", ignore_cleanup_errors=True)
                settings = {
                    "num_cpus": count + 1,  # one for the readers: these figures bind nothing
                    "include_dashboard": False,
                    "object_store_memory": _STORE,
                    "_temp_dir": stack.enter_context(folder),
                }
            else:
                _knock(address)
            # Ray tells of a dead worker on stdout, where our results go: we tell of it ourselves.
            ray._private.worker.print_to_stdstream = lambda *_, **__: None
            stack.callback(ray.shutdown)
            try:
                with _mute_stderr(), _patience():
                    ray.init(**settings, **quiet)
            except Exception as error:  # on a machine that is too busy Ray raises just that
                raise ClusterFault(f"{address}: no Ray cluster could be had: {reason_of(error)}") from error
        yield count if workers or address == "local" else max(1, int(ray.cluster_resources().get("CPU", 1)))


def _knock(address: str) -> None:
    """Raise `ClusterFault` when no Ray answers at HOST:PORT: Ray itself would try for minutes, or end us."""
    match = re.fullmatch(r"\[?([^\[\]/\s]+)\]?:(\d{1,5})", address)
    if match is None:
        return
    none_there = f"{address}: no Ray cluster could be had"
    try:
        socket.create_connection((match[1], int(match[2])), timeout=_ANSWERING).close()
    except (OSError, OverflowError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ClusterFault(f"{none_there}: {reason.lower()}") from error
    if os.environ.get("RAY_USE_TLS", "0").lower() in ("1", "true"):
        return  # it answers only to whoever has its certificates
    with require_package("grpcio", "scale"):
        import grpc
    with grpc.insecure_channel(address, options=[("grpc.enable_http_proxy", 0)]) as channel:
        try:
            channel.unary_unary(_ALIVE)(b"", timeout=_ANSWERING)
        except grpc.RpcError as error:
            if error.code() is grpc.StatusCode.DEADLINE_EXCEEDED:
                raise ClusterFault(f"{none_there}: timed out") from error
            if error.code() in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.UNIMPLEMENTED):
                raise ClusterFault(f"{none_there}: what answers there is none") from error
            # Anything else is a cluster's: that it wants its key first, or more than an empty request.


@contextmanager
def _patience() -> Iterator[None]:
    """Run a block in which a node may take minutes to begin: Ray gives it 30 s, too few on a busy machine."""
    from ray._private import services

    asked = services.get_node

    def get_node(*where: Any) -> Any:
        until = time.monotonic() + _BEGINNING
        while True:
            try:
                return asked(*where)
            except RuntimeError:  # it is not there yet
                if time.monotonic() > until:
                    raise
            time.sleep(0.5)

    services.get_node = get_node
    try:
        yield
    finally:
        services.get_node = asked


@contextmanager
def _mute_stderr() -> Iterator[None]:
    """Run a block without stderr: Ray's first line there is written before it knows how quiet to be."""
    sys.stderr.flush()
    stderr_copy, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(stderr_copy, 2)
        os.close(stderr_copy)
        os.close(nowhere)


@contextmanager
def report_faults(where: str | Path, doing: str) -> Iterator[None]:
    """Turn faults of Ray, or of a worker, into a `ClusterFault` of one line."""
    from ray.exceptions import RayError

    try:
        yield
    except RayError as error:
        raise ClusterFault(f"{where}: {doing} failed: {reason_of(error)}") from error


def reason_of(error: BaseException) -> str:
    r"""Return the root cause of a fault in one line; a worker's own error stands in the text of Ray's.

    >>> reason_of(ValueError("ray::f()\ndisputatio.errors.InputError: a.md: is bad\nray.exceptions.User: x"))
    'a.md: is bad'
    """
    raised = _RAISED.findall(str(error))
    ours = [line for kind, line in raised if kind.startswith("disputatio.")]
    others = [f"{kind}: {line}" for kind, line in raised]
    lines = [*str(error).strip().splitlines(), type(error).__name__][:1]
    return (ours[-1:] or others[-1:] or lines)[0][:200]
