"""A server over the ferry whose documents try everything, and chats to it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from disputatio.kit import Kit
from disputatio.llm.scripted import NoModel, Scripted
from disputatio.server.service import Service
from disputatio.types import Extraction, Passage
from tests.server.ferry import QUESTION, Served, ferry, ferry_index, says, served

HOSTILE = Passage(
    id="p4",
    text="The ferry first crossed in 1950 ![x](https://evil.example/p.png) <img src=x> [1] \u202ee\x1b[2J.",
    source="<b>evil</b>.example",
    title="[click](https://evil.example) ```html",
)


def reads(prompt: str) -> str:
    """Return a reader of one passage, which also rewrites follow-up questions."""
    if "last question of a conversation" in prompt:
        return json.dumps({"question": QUESTION})
    if "1950" in prompt.partition("<passage")[2]:
        return json.dumps({"subject": "", "answer": "1950 ![x](https://evil.example/p.png) <img src=x>"})
    return says(prompt)


def model(delay: float = 0.0) -> Scripted:
    """Return the reader as a model."""
    return Scripted(reads, choices=lambda _: {"Yes": 0.9, "No": 0.1}, name="script", delay=delay)


@contextmanager
def chatting(folder: Path, *, hostile: bool = False, delay: float = 0.0, **parts: Any) -> Iterator[Served]:
    """Start a server to chat with."""
    index = ferry_index(folder)
    if hostile:
        index.add([HOSTILE])
    with served(ferry(folder, model=model(delay), index=index, **parts)) as running:
        yield running


class Years:
    """A reader (`PassageReader`) that needs no language model."""

    name = "years"

    def read(self, question: str, passages: Sequence[Passage]) -> list[Extraction]:
        """Return the first of two years that stands in each passage."""
        read = []
        for passage in passages:
            year = next((year for year in ("1887", "1901") if year in passage.text), "")
            at = passage.text.find(year)
            sure = 0.95 if year else 0.0
            read.append(Extraction(answer=year, start=at, end=at + len(year), probability=sure))
        return read


def without_model(folder: Path) -> Service:
    """Return a service without a language model."""
    service = ferry(folder)
    service.kit = Kit(model=NoModel(), reader=Years())
    return service


def chat(server: Served, *said: str, **fields: Any) -> Any:
    """Return the completion of a chat, as JSON; what is said alternates between user and assistant."""
    return server.client.post("/v1/chat/completions", json=request(*said, **fields))


def request(*said: str, **fields: Any) -> dict[str, Any]:
    """Return the body of a request."""
    roles = ("user", "assistant")
    messages = [{"role": roles[at % 2], "content": text} for at, text in enumerate(said or (QUESTION,))]
    return {"model": "disputatio", "messages": messages, **fields}


def chunks(server: Served, *said: str, **fields: Any) -> list[Any]:
    """Return the chunks of a streamed completion; the last is the text `[DONE]` or an error."""
    body = request(*said, stream=True, **fields)
    with server.client.stream("POST", "/v1/chat/completions", json=body) as response:
        assert response.status_code == 200, response.read()
        assert response.headers["content-type"].startswith("text/event-stream")
        lines = [line.removeprefix("data: ") for line in response.iter_lines() if line.startswith("data: ")]
    return [line if line == "[DONE]" else json.loads(line) for line in lines]


def content(streamed: list[Any]) -> str:
    """Return the text of streamed chunks."""
    choices = [chunk["choices"][0] for chunk in streamed if chunk != "[DONE]" and chunk.get("choices")]
    return "".join(choice["delta"].get("content") or "" for choice in choices)
