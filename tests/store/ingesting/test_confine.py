"""Confinement of the parsers' child by the kernel: each attempt is made in a process that confined itself."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from disputatio.cli import doctor
from disputatio.errors import IngestError
from disputatio.store.ingesting import child, confine, readers
from disputatio.store.ingesting.readers import open_reader
from tests.store.files import read_all

_ATTEMPTS = r"""
import ctypes, json, os, socket, sys, threading
outside, secret = sys.argv[1:3]
from disputatio.store.ingesting.confine import confine
pair = socket.socketpair()
held = confine()
library = ctypes.CDLL(None)
def made(work):
    try:
        return bool(work())
    except OSError as error:
        return f"refused: {error.errno}"
def written(path):
    with open(path, "w") as file:
        return file.write("x")
def spoken():
    pair[0].sendall(b"x")
    return pair[1].recv(1)
def ran():
    done = []
    thread = threading.Thread(target=lambda: done.append(1)); thread.start(); thread.join()
    return done
print(json.dumps({"held": held, "attempts": {
    "read a secret": made(lambda: open(secret).read()),
    "read the parent's environment": made(lambda: open(f"/proc/{os.getppid()}/environ", "rb").read()),
    "list a folder": made(lambda: os.listdir(outside)),
    "write a file": made(lambda: written(os.path.join(outside, "new"))),
    "remove a file": made(lambda: not os.unlink(secret)),
    "change rights": made(lambda: not os.chmod(secret, 0o777)),
    "open a TCP socket": made(lambda: socket.socket()),
    "send a datagram": made(lambda: socket.socket(type=socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", 9))),
    "fork": made(lambda: os.fork() or os._exit(0)),
    "run a command by the C library": library.system(b"true") == 0,
    "signal the parent": made(lambda: os.kill(os.getppid(), 0) is None),
    "raise the limit of another": made(lambda: __import__("resource").prlimit(os.getppid(), 7) is not None),
}, "allowed": {
    "read the library": made(lambda: open(json.__file__).read()),
    "answer the parent": made(spoken),
    "use threads": made(ran),
    "limit itself": made(lambda: __import__("resource").getrlimit(7)),
}}))
"""
_BY_SECCOMP = {
    *("change rights", "open a TCP socket", "send a datagram", "fork", "run a command by the C library"),
    *("signal the parent", "raise the limit of another"),
}
_BY_LANDLOCK = {
    "read a secret",
    "read the parent's environment",
    "list a folder",
    "write a file",
    "remove a file",
}


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, object]]:
    outside = tmp_path_factory.mktemp("outside")
    secret = outside / "secret"
    secret.write_text("s")
    command = [sys.executable, "-c", _ATTEMPTS, str(outside), str(secret)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    told: dict[str, dict[str, object]] = json.loads(done.stdout)
    return told


@pytest.mark.long
@pytest.mark.parametrize("attempt", sorted(_BY_LANDLOCK))
def test_landlock_leaves_no_file_but_those_of_the_interpreter(
    attempt: str, outcome: dict[str, dict[str, object]]
) -> None:
    if not confine.fences()["landlock"]:
        pytest.skip("this kernel has no Landlock")
    assert str(outcome["attempts"][attempt]).startswith("refused")


@pytest.mark.long
@pytest.mark.parametrize("attempt", sorted(_BY_SECCOMP))
def test_the_filter_leaves_no_socket_no_process_and_no_signal(
    attempt: str, outcome: dict[str, dict[str, object]]
) -> None:
    if not confine.fences()["seccomp"]:
        pytest.skip("this kernel, or machine, has no filter of system calls that is known here")
    assert str(outcome["attempts"][attempt]).startswith(("refused", "False"))


def test_what_a_parser_needs_is_left(outcome: dict[str, dict[str, object]]) -> None:
    assert set(outcome["allowed"].values()) == {True}
    assert list(outcome["held"]) == [name for name, value in confine.fences().items() if value]


def test_without_the_kernel_the_hook_refuses_files_sockets_and_libraries(tmp_path: Path) -> None:
    hook = child._Hook(confine.interpreter_places())
    secret = tmp_path / "secret"
    secret.write_text("s")
    for event, arguments in (
        ("open", (str(secret), "r", 0)),
        ("open", (f"/proc/{1}/environ", "rb", 0)),
        ("socket.__new__", (None, 2, 1, 0)),
        ("socket.sendto", (None, ("127.0.0.1", 9))),
        ("ctypes.dlopen", ("libc.so.6",)),
    ):
        with pytest.raises(PermissionError):
            hook(event, arguments)
    hook("open", (json.__file__, "r", 0))


def test_a_kernel_without_fences_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("disputatio.store.ingesting.confine.sys.platform", "other")
    assert confine.fences() == {"landlock": 0, "seccomp": 0}


@pytest.mark.long
def test_a_large_plain_file_is_read_under_the_limits_of_the_child(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps([{"text": f"Row {number}."} for number in range(100_000)]))
    with open_reader(megabytes=4) as read, pytest.raises(IngestError, match="takes more than 4 MB of memory"):
        read(path, "")
    with open_reader() as read:
        assert sum(1 for _ in read(path, "").documents) == 100_000


def test_a_plain_file_gives_the_same_documents_in_both_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.csv").write_text("text,year\nA row.,2001\nshort\n")
    (tmp_path / "b.jsonl").write_text('{"text": "A row.", "year": 1.5, "list": [1]}\nno\n{"title": "x"}\n')
    (tmp_path / "c.txt").write_text("---\ntitle: T\n---\nWords\u200b.")
    (tmp_path / "d.json").write_text('[{"text": "A"}, 3]')
    here = read_all([tmp_path])
    monkeypatch.setattr(readers, "_SMALL", 0)
    there = read_all([tmp_path])
    assert here[0] == there[0]
    assert [str(error) for error in here[1]] == [str(error) for error in there[1]]


def test_the_doctor_says_which_fences_stand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(confine, "fences", lambda: {"landlock": 0, "seccomp": 0})
    assert doctor._parsers().detail.startswith("confined: no Landlock, no filter of system calls; limits")
