"""A server over a small index of a ferry and a scripted model, in a thread of its own on loopback."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from disputatio.api.indexing import Index
from disputatio.config import read_settings
from disputatio.kit import Kit
from disputatio.llm.scripted import Scripted
from disputatio.protocols import LLM
from disputatio.server.app import create_app
from disputatio.server.connections import open_listener, port_of, server_of
from disputatio.server.options import Access, Limits, StorageOptions
from disputatio.server.service import Service
from disputatio.types import Passage

QUESTION = "When did the ferry first cross?"
PASSAGES = (
    Passage(id="p1", text="The ferry first crossed in 1887.", source="museum.example", owner="city"),
    Passage(id="p2", text="The ferry first crossed in 1887, in May.", source="almanac.example"),
    Passage(id="p3", text="They say the ferry first crossed in 1901.", source="buzz.example"),
)


def says(prompt: str) -> str:
    """Return what a reader of one passage replies."""
    year = next((year for year in ("1887", "1901") if year in prompt.partition("<passage")[2]), "unknown")
    return json.dumps({"subject": "", "answer": year})


def script(delay: float = 0.0) -> Scripted:
    """Return a model that reads the passages; each call takes `delay` seconds."""
    return Scripted(says, choices=lambda _: {"Yes": 0.9, "No": 0.1}, name="script", delay=delay)


def held(released: threading.Event) -> Scripted:
    """Return a model that reads the passages once it is released."""
    return Scripted(lambda prompt: says(prompt) if released.wait(30) else "", name="script")


def ferry_index(folder: Path, passages: Sequence[Passage] = PASSAGES) -> Index:
    """Return an index of the passages, searched by keyword."""
    index = Index.open(folder / "ferry.index", embedder="none")
    index.add(passages)
    return index


def ferry(
    folder: Path,
    *,
    model: LLM | None = None,
    limits: Limits | None = None,
    access: Access | None = None,
    keeping: StorageOptions | None = None,
    index: Index | None = None,
) -> Service:
    """Return a service over the index, with a scripted model."""
    return Service(
        kit=Kit(model=model or script()),
        index=index or ferry_index(folder),
        settings=read_settings(model="scripted:", journal="none", encoder="none", embedder="none"),
        limits=limits,
        access=access,
        keeping=keeping,
    )


@dataclass(frozen=True, slots=True)
class Served:
    """A server under way, and a client of it."""

    service: Service
    url: str
    client: httpx.Client
    loop: asyncio.AbstractEventLoop

    def ask(self, question: str = QUESTION, **fields: Any) -> httpx.Response:
        """Return the response to a question."""
        return self.client.post("/api/ask", json={"question": question, **fields})

    def events(self, question: str = QUESTION, **fields: Any) -> list[tuple[str, Any]]:
        """Return the events of a question to its end: name and data."""
        with self.client.stream(
            "POST",
            "/api/ask",
            json={"question": question, **fields},
            headers={"Accept": "text/event-stream"},
        ) as response:
            return list(read_events(response))


def read_events(response: httpx.Response) -> Iterator[tuple[str, Any]]:
    """Yield the events of a response as they come: name and data."""
    name = ""
    for line in response.iter_lines():
        if line.startswith("event: "):
            name = line.removeprefix("event: ")
        elif line.startswith("data: "):
            yield name, json.loads(line.removeprefix("data: "))


@contextmanager
def served(service: Service, *, token: str = "") -> Iterator[Served]:
    """Serve within this context."""
    ready = threading.Event()
    loops: list[asyncio.AbstractEventLoop] = []
    listener = open_listener("127.0.0.1", 0)
    server = server_of(create_app(service), service.limits)

    async def run() -> None:
        loops.append(asyncio.get_running_loop())
        serving = asyncio.ensure_future(server.serve(sockets=[listener]))
        while not server.started and not serving.done():
            await asyncio.sleep(0.005)
        ready.set()
        await serving

    thread = threading.Thread(target=lambda: asyncio.run(run()), name="served", daemon=True)
    thread.start()
    ready.wait(30)
    url = f"http://127.0.0.1:{port_of(listener)}"
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    try:
        with httpx.Client(base_url=url, headers=headers, timeout=30) as client:
            yield Served(service, url, client, loops[0])
    finally:
        server.should_exit = True
        thread.join(30)
        listener.close()
