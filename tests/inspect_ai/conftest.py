"""Inspect in tests: no display, logs and traces in a temporary folder, a data set of two rows."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from inspect_ai import Task
from inspect_ai import eval as run_tasks
from inspect_ai._util import _async as inspect_async
from inspect_ai.log import EvalLog
from inspect_ai.model import ChatMessage, GenerateConfig, Model, ModelOutput, ModelUsage, get_model

Say = Callable[[list[ChatMessage], GenerateConfig], "str | ModelOutput | Exception"]
Mock = Callable[..., Model]
Evaluate = Callable[..., EvalLog]

ROWS = [
    {
        "question": "When was the pier of Tarnwick built?",
        "gold": ["1901"],
        "wrong": ["1950"],
        "passages": [
            {"text": "The pier of Tarnwick was built in 1901.", "source": "a.example", "id": "p1"},
            {"text": "Tarnwick has a pier, finished in 1901.", "source": "b.example", "id": "p2"},
        ],
    },
    {
        "question": "Who designed the lighthouse of Orrin?",
        "gold": ["Ada Lund"],
        "wrong": ["Bo Falk"],
        "passages": [
            {"text": "Bo Falk designed the lighthouse of Orrin.", "source": "c.example", "id": "p3"}
        ],
    },
]


def reply(answer: str, quote: str = "") -> str:
    """Return an agent's reply."""
    return json.dumps(
        {"answer": answer, "explanation": f"The passage says {answer}.", "quote": quote or answer}
    )


def reads(messages: list[ChatMessage], config: GenerateConfig) -> str:
    """Return an agent that finds in its passage what stands there."""
    del config
    return reply(next((one for one in ("1901", "Bo Falk") if one in messages[-1].text), "unknown"))


@pytest.fixture(autouse=True)
def _inspect_at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DATA", "CACHE", "STATE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))


_PATCHED = (asyncio, asyncio.events, asyncio.tasks, asyncio.futures)
_PATCHED_LOOPS = tuple(kind for kind in asyncio.SelectorEventLoop.__mro__ if kind is not object)


@pytest.fixture(autouse=True)
def _asyncio_as_it_was() -> Iterator[None]:
    """Take back what Inspect does to asyncio in a whole process, which lets other tests leave loops open."""
    # Python 3.14 deprecates the public name; Inspect's patch takes the private one there, too.
    policy = getattr(asyncio.events, "_get_event_loop_policy", asyncio.get_event_loop_policy)
    owners = [*_PATCHED, *_PATCHED_LOOPS, type(policy()), inspect_async]
    before = [dict(vars(owner)) for owner in owners]
    yield
    if asyncio.run is not before[0]["run"]:
        asyncio.get_event_loop().close()
        asyncio.set_event_loop(None)
    for owner, names in zip(owners, before, strict=True):
        for name in vars(owner).keys() - names.keys() - {"__abstractmethods__"}:
            delattr(owner, name)
        for name, value in names.items():
            if vars(owner)[name] is not value:
                setattr(owner, name, value)


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    """The two rows as a file of our own format."""
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS), encoding="utf-8")
    return path


@pytest.fixture
def mock() -> Mock:
    """Inspect's mock model with what it says; a call costs 10 + 5 tokens."""

    def made(say: Say, **options: Any) -> Model:
        def output(
            messages: list[ChatMessage], tools: object, tool_choice: object, config: GenerateConfig
        ) -> ModelOutput:
            said = say(messages, config)
            if isinstance(said, Exception):
                raise said
            whole = said if isinstance(said, ModelOutput) else ModelOutput.from_content("mockllm", said)
            whole.usage = whole.usage or ModelUsage(input_tokens=10, output_tokens=5, total_tokens=15)
            return whole

        return get_model("mockllm/model", custom_outputs=output, memoize=False, **options)

    return made


@pytest.fixture
def evaluate(tmp_path: Path) -> Evaluate:
    """Run one task to its log, as `inspect eval` does."""

    def run(task: Task, model: Model | str, **options: Any) -> EvalLog:
        [log] = run_tasks(task, model=model, log_dir=str(tmp_path / "logs"), display="none", **options)
        return log

    return run
