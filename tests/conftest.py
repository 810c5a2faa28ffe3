"""Conditions of every test: no network but loopback, no settings of the user, one small real model."""

from __future__ import annotations

import functools
import gc
import os
import shutil
import socket
import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest
import typer.main
import typer.testing
from hypothesis import settings

from disputatio.llm import catalogue
from disputatio.store.ingesting import readers
from disputatio.store.ingesting.sandbox import Sandbox

settings.register_profile("any_machine", deadline=None)  # a busy machine makes no test wrong
settings.register_profile("quick", deadline=None, max_examples=20)  # of `make quick`
settings.load_profile("any_machine")

ROOT = Path(__file__).resolve().parent.parent
_MEMORY = Path("/dev/shm")
if os.access(_MEMORY, os.W_OK) and shutil.disk_usage(_MEMORY).free > 4 << 30:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(_MEMORY))  # folders of tests, which wait for no disk
_LOOPBACK = ("127.", "::1", "localhost")


class NetworkUsed(RuntimeError):
    """A test reached for the network; only tests marked slow may."""


class _Guard:
    """A switch that lets the running test leave the machine."""

    open = False


def _refuse(host: object) -> None:
    name = host.decode() if isinstance(host, bytes) else str(host)
    if not _Guard.open and name not in ("", "None", "0.0.0.0") and not name.startswith(_LOOPBACK):
        raise NetworkUsed(f"a test reached for {name}: serve it on loopback, or mark the test slow")


def pytest_collection_finish() -> None:
    """Freeze what was collected: the collector of garbage need not walk through it after every test."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Open the network for slow tests only."""
    _Guard.open = item.get_closest_marker("slow") is not None
    try:
        return (yield)
    finally:
        _Guard.open = False


@pytest.fixture(scope="session", autouse=True)
def _loopback_only() -> Iterator[None]:
    connect, connect_ex, resolve = socket.socket.connect, socket.socket.connect_ex, socket.getaddrinfo

    def guarded_connect(self: socket.socket, address: Any) -> None:
        if isinstance(address, tuple):
            _refuse(address[0])
        connect(self, address)

    def guarded_connect_ex(self: socket.socket, address: Any) -> int:
        if isinstance(address, tuple):
            _refuse(address[0])
        return connect_ex(self, address)

    def guarded_resolve(host: Any, *rest: Any, **options: Any) -> Any:
        _refuse(host)
        return resolve(host, *rest, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", guarded_connect)
        patch.setattr(socket.socket, "connect_ex", guarded_connect_ex)
        patch.setattr(socket, "getaddrinfo", guarded_resolve)
        yield


@pytest.fixture(scope="session", autouse=True)
def _no_settings_of_the_user(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[None]:
    """Tests start without the user's settings, keys and files, and with a cache of their own.

    Models are those of the usual cache, to which only slow tests add some.
    """
    with pytest.MonkeyPatch.context() as patch:
        for name in os.environ:
            if name.startswith(("DISPUTATIO_", "OPENAI_")):
                patch.delenv(name)
        patch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.mktemp("config")))
        usual, cache = catalogue.cache_folder(), tmp_path_factory.mktemp("cache")
        may_add = any(item.get_closest_marker("slow") for item in request.session.items)
        for name in ("models", "converted", "compiled"):
            if may_add:
                (usual / name).mkdir(parents=True, exist_ok=True)
            if (usual / name).is_dir():
                (cache / name).symlink_to(usual / name)
        patch.setenv("DISPUTATIO_CACHE", str(cache))
        patch.setenv("NO_COLOR", "1")
        patch.setenv("COLUMNS", "120")
        yield


@pytest.fixture(scope="session", autouse=True)
def _one_command_line() -> Iterator[None]:
    """Build the command line once, not for every command that a test runs."""
    with pytest.MonkeyPatch.context() as patch:
        built = functools.cache(typer.main.get_command)
        patch.setattr(typer.main, "get_command", built)
        patch.setattr(typer.testing, "_get_command", built)
        yield


class _LastingSandbox(Sandbox):
    """A sandbox whose child goes on to the next sandbox; `test_sandbox.py` tests those without this."""

    idle: ClassVar[list[tuple[subprocess.Popen[bytes], socket.socket]]] = []

    def _start(self) -> socket.socket:
        if self._line is None and self.idle:
            self._child, self._line = self.idle.pop()
        return super()._start()

    def __exit__(self, *_: object) -> None:
        if self._parts_open is not None:
            self._parts_open.close()  # with its child, where the file was not read to its end
        if self._child is not None and self._line is not None:
            self.idle.append((self._child, self._line))
            self._child = self._line = None


@pytest.fixture(scope="session", autouse=True)
def _lasting_children() -> Iterator[None]:
    """Start a child that parses files once, not for every file that a test reads."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(readers, "Sandbox", _LastingSandbox)
        yield
    for child, line in _LastingSandbox.idle:
        line.close()
        child.wait()


@pytest.fixture(scope="session", autouse=True)
def _one_list_of_authorities() -> Iterator[None]:
    """Load the certificates of authorities once, not for every client that a test opens."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ssl, "create_default_context", functools.cache(ssl.create_default_context))
        yield


@pytest.fixture(scope="session")
def small_model() -> Path:
    """The file of the smallest instruct model of the catalogue, fetched once; for slow tests."""
    from disputatio.llm import catalogue

    return Path(catalogue.pull("qwen2.5-coder-0.5b"))


@pytest.fixture(scope="session")
def ray_cluster() -> Iterator[str]:
    """The address of one Ray cluster for all tests of this process; it takes ten seconds to start."""
    from disputatio.workers.cluster import cluster

    with cluster("local", 2):
        yield "local"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the tests of the page last, for their browser keeps an event loop running in this thread.

    With `--dist loadgroup` a file's tests stay in one process, those of a Ray cluster in one, and those of a
    real model in one, so that neither is started twice at a time.
    """
    items.sort(key=lambda item: "tests/page/" in item.nodeid)
    groups: dict[Path, str] = {}
    for item in items:
        fixtures = getattr(item, "fixturenames", ())
        for fixture, group in (("ray_cluster", "ray"), ("small_model", "model")):
            if fixture in fixtures:
                groups.setdefault(item.path, group)
    for item in items:
        if item.get_closest_marker("xdist_group") is None:
            item.add_marker(pytest.mark.xdist_group(groups.get(item.path, str(item.path))))
