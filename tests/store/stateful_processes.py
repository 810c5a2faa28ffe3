"""Processes of the machine (`stateful.py`): each operation is a fork, which may die or find the disk full.

One process has imported everything and forks for each request at a socket; so an operation starts in
milliseconds, and can be killed.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.lib import faulty_disk

SECONDS = 120  # that an operation may take
MARK = re.compile(r"\bm\d{5}\b")
INDEX, COPY, DOCS, UPLOADS = "index", "copy", "docs", "uploads"
Message = dict[str, Any]


class Embedder:
    """Vectors from the length of a text: cheap."""

    name, dimension = "bench-16", 16

    def embed(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:
        rows = [np.random.default_rng(len(text)).standard_normal(16) for text in texts]
        made = np.array(rows, dtype=np.float32).reshape(len(texts), 16)
        unit: NDArray[np.float32] = made / np.linalg.norm(made, axis=1, keepdims=True)
        return unit


def reply(prompt: str) -> str:
    """Return what a reader of one passage says: the mark that stands in it."""
    found = MARK.findall(prompt.rsplit("<passage", maxsplit=1)[-1])
    mark = found[0] if found else ""
    if '"answered"' in prompt:
        fields = {"answered": "yes" if mark else "no", "answer": mark or "I don't know", "quote": mark}
        return json.dumps(fields)
    return json.dumps({"subject": "", "answer": mark or "unknown"})


# --- the side of the machine ------------------------------------------------------------------------
class Process:
    """One operation that runs: its process id, and its result when it has ended."""

    def __init__(self, line: socket.socket) -> None:
        self._line = line
        self._file = line.makefile("rb")
        self.first: Message = json.loads(self._file.readline())
        self.pid: int = self.first["pid"]

    def told(self) -> Message:
        """Wait for the next message; one that says so, if the process has died."""
        raw = self._file.readline()
        if raw.endswith(b"\n"):
            told: Message = json.loads(raw)
            return told
        self._wait()
        return {"outcome": "died", "said": "", "value": None}

    def _wait(self) -> None:
        """Wait until the process is gone with its locks, which it lets go after its end of the line."""
        with contextlib.suppress(ProcessLookupError):
            while True:
                os.kill(self.pid, 0)
                time.sleep(0.002)

    def kill(self) -> None:
        """End the process as `kill -9` does, and wait until it is gone."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        self._wait()
        self.close()

    def close(self) -> None:
        self._file.close()
        self._line.close()


class Starter:
    """Starts operations in processes below a folder, until it is closed."""

    def __init__(self, root: Path) -> None:
        self._address = str(root / "socket")
        library, work = faulty_disk.build(root), root / "work"
        work.mkdir()
        words = [sys.executable, "-m", "tests.store.stateful_processes", self._address]
        self._process = subprocess.Popen(words, env=faulty_disk.environment(library, work))
        while not Path(self._address).exists():
            if self._process.poll() is not None:
                raise RuntimeError("the process of the machine ended at its start")
            time.sleep(0.02)

    def start(
        self, operation: str, folder: Path, *, full: int = -1, death: int = -1, **given: Any
    ) -> Process:
        """Start an operation; the disk is full, or the process dies, from so many writes on."""
        line = socket.socket(socket.AF_UNIX)
        line.settimeout(2 * SECONDS)
        line.connect(self._address)
        asked = {"do": operation, "folder": str(folder), "full": full, "death": death, "given": given}
        line.sendall(json.dumps(asked).encode() + b"\n")
        return Process(line)

    def close(self) -> None:
        self._process.terminate()
        self._process.wait()


# --- the side of the processes ----------------------------------------------------------------------
def main(address: str) -> None:
    """Fork for each request at a socket."""
    warm()
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # whoever asked hears of the end by the line
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(address + ".new")
    listener.listen(16)
    Path(address + ".new").rename(address)
    while True:
        line, _ = listener.accept()
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            listener.close()
            try:
                work(line)
            finally:
                os._exit(0)
        line.close()


def warm() -> None:
    """Import what the operations need, and load what is compiled."""
    import disputatio.api.calibrating
    import disputatio.server.app
    import disputatio.store.record.check
    import disputatio.store.record.replicate  # noqa: F401
    from disputatio.store.record import transaction, writer
    from disputatio.store.segments.searcher import Searcher
    from disputatio.store.segments.segment import Segment
    from disputatio.types import Passage

    warnings.simplefilter("ignore")
    # Small batches and a small fan make many commits and merges of few passages.
    writer._BATCH, writer._LARGEST, transaction.FAN, transaction.SMALLEST_TIER = 4, 8, 3, 4
    segment = Segment.build([Passage(text="warm", id="w", source="s")], np.ones((1, 16), np.float32))
    Searcher([segment]).search("warm", np.ones(16, np.float32))


def work(line: socket.socket) -> None:
    """Carry out one request, and tell its outcome."""
    asked = json.loads(line.makefile("rb").readline())

    def tell(message: Message) -> None:
        line.sendall(json.dumps(message, default=str).encode() + b"\n")

    tell({"pid": os.getpid()})
    folder = Path(asked["folder"])
    operation = OPERATIONS.get(asked["do"])
    if operation is None:
        serve(folder, asked, tell)
        return
    signal.alarm(SECONDS)
    tell(outcome(lambda: operation(folder, **asked["given"]), asked))


def outcome(do: Callable[[], Any], asked: Message) -> Message:
    """Return what became of an operation, with its faults."""
    from disputatio.errors import DisputatioError, IndexBusy

    told: Message = {"outcome": "done", "value": None, "said": ""}
    faulty_disk.fill(asked["full"])
    faulty_disk.die(asked["death"])
    try:
        told["value"] = do()
    except DisputatioError as error:
        kind = "busy" if isinstance(error, IndexBusy) else "told"
        told |= {"outcome": kind if "\n" not in str(error) else "traceback", "said": str(error)}
    except Exception:  # noqa: BLE001 - what nothing else catches is counted
        told |= {"outcome": "traceback", "said": traceback.format_exc()}
    faulty_disk.fill(-1)
    faulty_disk.die(-1)
    return told


def opened(folder: Path, vectors: bool) -> Any:
    from disputatio.api.indexing import Index

    return Index.open(folder / INDEX, embedder=Embedder() if vectors else "none")


def ingest(folder: Path, vectors: bool, names: Sequence[str]) -> Any:
    summary = opened(folder, vectors).ingest(*(folder / name for name in names))
    return {"refused": summary.refused}


def delete(folder: Path, vectors: bool, by: str, names: Sequence[str]) -> int:
    index = opened(folder, vectors)
    given = [str(folder / name) for name in names] if by == "paths" else list(names)
    return int(index.delete(**{by: given}))


def compact(folder: Path, vectors: bool) -> None:
    opened(folder, vectors).compact(keep=0.0)


def sync(folder: Path) -> None:
    from disputatio.store.record.replicate import sync

    sync(folder / INDEX, folder / COPY)


def check(folder: Path) -> list[str]:
    """Check the index, and repair it; return what was damaged."""
    from disputatio.store.record.check import check

    return [f"{damage.file} {damage.problem}" for damage in check(folder / INDEX).damaged]


def calibrate(folder: Path, vectors: bool, question: str) -> None:
    import disputatio
    from disputatio.llm.scripted import Scripted

    disputatio.calibrate(
        opened(folder, vectors),
        questions=[question],
        model=Scripted(reply, choices=lambda _: {"Yes": 0.9, "No": 0.1}),
        settings={"journal": "none", "encoder": "none"},
    )


def serve(folder: Path, asked: Message, tell: Callable[[Message], None]) -> None:
    """Serve the index until the process is killed; the faults begin when the server has started."""
    from disputatio.config import read_settings
    from disputatio.kit import Kit
    from disputatio.llm.scripted import Scripted
    from disputatio.server.app import create_app
    from disputatio.server.connections import open_listener, port_of, server_of
    from disputatio.server.options import Access, StorageOptions
    from disputatio.server.service import Service

    model = Scripted(reply, choices=lambda _: {"Yes": 0.9, "No": 0.1}, name="script")
    service = Service(
        kit=Kit(model=model),
        index=opened(folder, asked["given"]["vectors"]),
        settings=read_settings(model="scripted:", journal="none", encoder="none", embedder="none"),
        access=Access(writing=True),
        keeping=StorageOptions(uploads=folder / UPLOADS, answers=folder / "answers.sqlite"),
    )
    listener = open_listener("127.0.0.1", 0)
    server = server_of(create_app(service), service.limits)

    async def run() -> None:
        serving = asyncio.ensure_future(server.serve(sockets=[listener]))
        while not server.started and not serving.done():
            await asyncio.sleep(0.005)
        tell({"outcome": "done" if server.started else "traceback", "port": port_of(listener), "said": ""})
        faulty_disk.fill(asked["full"])
        faulty_disk.die(asked["death"])
        await serving

    asyncio.run(run())


OPERATIONS: dict[str, Callable[..., Any]] = {
    "ingest": ingest,
    "delete": delete,
    "compact": compact,
    "sync": sync,
    "check": check,
    "calibrate": calibrate,
}

if __name__ == "__main__":
    main(sys.argv[1])
