"""The log of one question: what happened, in order, what it cost, and nothing more than was asked for."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from disputatio.trace import Trace, prompt_hash, total_usage
from disputatio.types import Message, Prompt, Usage

USAGE = Usage(calls=1, prompt_tokens=10, cached_tokens=4, completion_tokens=5, seconds=0.25)


def prompt(*contents: str) -> Prompt:
    return Prompt(messages=tuple(Message(role="user", content=one) for one in contents))


def test_the_cost_of_nothing_is_nothing() -> None:
    assert total_usage([]) == Usage()


def test_every_part_of_a_cost_is_summed() -> None:
    total = total_usage([USAGE, USAGE])
    assert total == Usage(calls=2, prompt_tokens=20, cached_tokens=8, completion_tokens=10, seconds=0.5)


def test_a_prompt_is_named_by_roles_and_contents() -> None:
    names = {
        prompt_hash(prompt("a", "b")),
        prompt_hash(prompt("ab")),
        prompt_hash(prompt("b", "a")),
        prompt_hash(Prompt(messages=(Message(role="system", content="ab"),))),
    }
    assert len(names) == 4
    assert prompt_hash(prompt("a", "b")) == prompt_hash(prompt("a", "b"))


def test_events_keep_their_order_and_are_stamped_with_the_time_since_the_start() -> None:
    trace = Trace()
    trace.note("search", query="ferry")
    trace.note("answer", answers=["1887"])
    assert [event["event"] for event in trace.events] == ["search", "answer"]
    assert 0 <= trace.events[0]["at"] <= trace.events[1]["at"]
    assert trace.events[0]["query"] == "ferry"


def test_a_listener_hears_each_event_as_it_happens() -> None:
    heard: list[Mapping[str, Any]] = []
    trace = Trace(listener=heard.append)
    trace.note("round", round=1)
    assert [(one["event"], one["round"]) for one in heard] == [("round", 1)]
    trace.note("round", round=2)
    assert len(heard) == 2


def test_a_listener_may_write_to_the_trace_it_listens_to() -> None:
    trace = Trace()

    def echo(event: Mapping[str, Any]) -> None:
        if event["event"] == "round":
            trace.note("heard")

    trace.listener = echo
    trace.note("round")
    assert [event["event"] for event in trace.events] == ["round", "heard"]


def test_threads_lose_no_event_and_no_cost() -> None:
    trace = Trace()

    def work() -> None:
        for _ in range(200):
            trace.note("call")
            trace.spend([USAGE])

    threads = [threading.Thread(target=work) for _ in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert len(trace.events) == 800
    assert trace.usage().calls == 800


def test_a_trace_is_written_as_json_lines(tmp_path: Path) -> None:
    trace = Trace()
    trace.note("search", query="Où est 人口?")
    trace.note("answer", answers=[])
    trace.write(tmp_path / "trace.jsonl")
    text = (tmp_path / "trace.jsonl").read_text(encoding="utf-8")
    assert [json.loads(line) for line in text.splitlines()] == trace.events
    assert "人口" in text
    assert [one.name for one in tmp_path.iterdir()] == ["trace.jsonl"]


def test_half_a_character_in_a_reply_does_not_lose_the_trace(tmp_path: Path) -> None:
    trace = Trace()
    trace.note("complete", reply="\ud800 cut")
    trace.write(tmp_path / "trace.jsonl")
    line = (tmp_path / "trace.jsonl").read_text(encoding="utf-8")
    assert json.loads(line)["reply"] == "\ud800 cut"


def test_a_trace_that_cannot_be_written_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    path.write_text("before\n", encoding="utf-8")
    trace = Trace()
    trace.note("odd", thing=object())
    with pytest.raises(TypeError):
        trace.write(path)
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match="folder"):
        Trace().write(tmp_path / "folder")
    assert path.read_text(encoding="utf-8") == "before\n"
    assert sorted(one.name for one in tmp_path.iterdir()) == ["folder", "trace.jsonl"]
