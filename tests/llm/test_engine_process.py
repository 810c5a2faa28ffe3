"""The embedded engine without its model: what is said between the processes, and what the engine drops."""

from __future__ import annotations

import queue
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from disputatio.errors import Cancelled, ContextTooLong
from disputatio.kit import chat
from disputatio.llm import embedded, local
from disputatio.llm.embedded import Engine
from disputatio.llm.local import Local
from disputatio.protocols import Cancel
from disputatio.types import Sampling

PROMPTS = [chat("", text) for text in ("first", "second", "third")]

# Answers the first prompt of a request and no more, and writes the requests that it gets to a file.
ENGINE = """
import json, sys
out = open(sys.argv[1], "a")
def send(message):
    print(json.dumps(message), flush=True)
send({"say": "loading"})
send({"id": 0, "done": True})
for line in sys.stdin:
    message = json.loads(line)
    out.write(message["do"] + "\\n")
    out.flush()
    if message["do"] == "cancel":
        continue
    reply = {"text": "one", "finish_reason": "stop", "tokens": [["one", -0.1]], "logprobs": [-0.1, -2.0]}
    reply |= {"prompt_tokens": 3, "cached_tokens": 2, "core_seconds": 0.5}
    send({"id": message["id"], "index": 0, "reply": reply})
    if len(message["prompts"]) == 1:
        send({"id": message["id"], "done": True})
    if "too long" in str(message["prompts"]):
        send({"id": message["id"], "fault": "ContextTooLong", "message": "it does not fit"})
"""


# Starts an engine that is within one long step, and waits.
PARENT = """
import subprocess, sys
engine = subprocess.Popen([sys.executable, "-c", sys.argv[1]], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
engine.stdout.readline()
print(engine.pid, flush=True)
engine.wait()
"""
STEP = """
from disputatio.platforms import end_with_parent
end_with_parent()
print("ready", flush=True)
sum(range(10**12))  # holds Python's lock, as a step does
"""


@pytest.mark.long
def test_the_engine_ends_with_a_parent_that_is_killed_in_the_midst_of_a_step() -> None:
    with subprocess.Popen([sys.executable, "-c", PARENT, STEP], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        engine = Path("/proc") / parent.stdout.readline().strip()
        time.sleep(0.3)
        assert engine.exists()
        parent.kill()
        until = time.monotonic() + 2
        with suppress(FileNotFoundError, ProcessLookupError):
            while "State:\tZ" not in (engine / "status").read_text():
                assert time.monotonic() < until, "the engine computes on"
                time.sleep(0.02)


def test_what_stops_the_engine_from_loading_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[Mapping[str, Any]] = []

    def fail(*_: object) -> None:
        raise TypeError("no such setting")

    monkeypatch.setattr(embedded, "Engine", fail)
    monkeypatch.setattr(embedded, "_sender", lambda: said.append)
    monkeypatch.setattr(embedded, "_listen", lambda *_: None)
    monkeypatch.setattr("disputatio.platforms.end_with_parent", lambda: None)
    monkeypatch.setattr("signal.signal", lambda *_: None)
    embedded.main("small.gguf", "cache", "1", "4096")
    [fault] = said
    assert (fault["id"], fault["fault"]) == (0, "LLMError")
    assert fault["message"] == "small.gguf: the engine cannot load it: TypeError: no such setting"


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Local]:
    """The engine's client with a process that plays the engine; its requests are in the file `requests`."""
    script = tmp_path / "engine.py"
    script.write_text(ENGINE)
    monkeypatch.setattr(local, "_COMMAND", (str(script),))
    monkeypatch.setattr(local, "_ENGINES", {})
    yield Local("fake", lambda: tmp_path / "requests", cache=tmp_path)
    for process in local._ENGINES.values():
        process.end()


def requests_of(folder: Path, times: int) -> list[str]:
    """Wait until the process got so many requests, and return them."""
    deadline = time.monotonic() + 30
    lines: list[str] = []
    while len(lines) < times and time.monotonic() < deadline:
        time.sleep(0.01)
        lines = (folder / "requests").read_text().split()
    return lines


def test_an_engine_may_be_ready_before_anybody_waits_for_it(
    model: Local, monkeypatch: pytest.MonkeyPatch
) -> None:
    ready = local._Process.ready

    def late(process: local._Process) -> None:
        while process._waiting:  # until the message of the end of loading has been read
            time.sleep(0.01)
        ready(process)

    monkeypatch.setattr(local._Process, "ready", late)
    [completion] = model.complete(PROMPTS[:1], Sampling())
    assert completion.text == "one"


def test_each_reply_is_reported_when_it_comes_and_a_cancel_reaches_the_engine(
    model: Local, tmp_path: Path
) -> None:
    cancel, texts = Cancel(), list[str]()
    began = time.perf_counter()

    def reported(index: int, completion: Any) -> None:
        texts.append(f"{index} {completion.text}")
        threading.Timer(0.05, cancel.cancel).start()  # the others never come

    with pytest.raises(Cancelled):
        model.complete(PROMPTS, Sampling(), on_done=reported, cancel=cancel)
    assert texts == ["0 one"]
    assert time.perf_counter() - began < 30
    assert requests_of(tmp_path, 2) == ["complete", "cancel"]
    usage = model.complete(PROMPTS[:1], Sampling())[0].usage  # and it goes on
    assert (usage.cached_tokens, usage.core_seconds) == (2, 0.5)
    [choice] = model.choose(PROMPTS[:1], ("Yes", "No"))
    assert choice.logprobs == (-0.1, -2.0)


def test_an_interrupted_wait_is_a_cancel_too(model: Local, tmp_path: Path) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        model.complete(PROMPTS, Sampling(), on_done=interrupted)
    assert requests_of(tmp_path, 2) == ["complete", "cancel"]


def test_a_fault_comes_as_itself_and_nothing_is_cancelled_after_it(model: Local, tmp_path: Path) -> None:
    with pytest.raises(ContextTooLong, match="it does not fit"):
        model.complete([chat("", "too long"), chat("", "b")], Sampling())
    assert model.complete(PROMPTS[:1], Sampling())[0].text == "one"
    assert requests_of(tmp_path, 2) == ["complete", "complete"]


# --- the engine itself, over a pipeline that is played ---------------------------------------------
class Handle:
    """A request in the played pipeline: read at its first step, written after as many as it has tokens."""

    def __init__(self, tokens: int) -> None:
        self.left, self.steps, self.cancelled = tokens, 0, False

    def get_status(self) -> str:
        return "running" if self.left else "finished"

    def can_read(self) -> bool:
        return self.steps > 0

    def cancel(self) -> None:
        self.cancelled = True

    def read_all(self) -> list[Any]:
        return [SimpleNamespace(generated_ids=[7], generated_log_probs=[-0.5], finish_reason="stop")]


class Pipeline:
    """Writes one token a step for each request that was not cancelled; the first token id says how many."""

    def __init__(self) -> None:
        self.handles: list[Handle] = []

    def add_request(self, _number: int, ids: Any, _config: Any) -> Handle:
        self.handles.append(Handle(ids.data[0].tolist()[0]))
        return self.handles[-1]

    def step(self) -> None:
        for handle in self.handles:
            if handle.left and not handle.cancelled:
                handle.left -= 1
                handle.steps += 1


class Ids:
    """Token ids as the engine's tensors have them."""

    def __init__(self, ids: list[int]) -> None:
        import numpy as np

        self.data = np.array([ids])
        self.input_ids = self
        self.shape = self.data.shape


class Tokenizer:
    """A prompt's text is how many tokens its reply has."""

    def apply_chat_template(self, chat: list[dict[str, str]], **_: object) -> str:
        return chat[-1]["content"]

    def encode(self, text: str, **_: object) -> Ids:
        return Ids([int(text) if text.isdigit() else ord(text[0]), 1])

    def decode(self, ids: list[Any]) -> Any:
        return ["word"] * len(ids) if ids and isinstance(ids[0], list) else "word"


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> tuple[Engine, Pipeline, list[Mapping[str, Any]]]:
    """An engine over a played pipeline, and what it sends."""
    genai = SimpleNamespace(
        GenerationStatus=SimpleNamespace(RUNNING="running", IGNORED="ignored"),
        GenerationFinishReason=SimpleNamespace(LENGTH="length"),
        GenerationConfig=SimpleNamespace,
        StructuredOutputConfig=SimpleNamespace,
    )
    pipeline, sent = Pipeline(), list[Mapping[str, Any]]()
    monkeypatch.setitem(sys.modules, "openvino_genai", genai)
    monkeypatch.setattr(embedded, "ensure_converted", lambda *_: Path())
    monkeypatch.setattr(embedded, "open_pipeline", lambda *_: (pipeline, Tokenizer()))
    return Engine(Path("fake.gguf"), Path(), 1, 2_048, sent.append), pipeline, sent


def request(number: int, *texts: str, **more: object) -> dict[str, Any]:
    chats = [[["user", text]] for text in texts]
    how = {"do": "complete", "sampling": {"max_tokens": 8}} | more
    return {"id": number, "prompts": chats, **how}


@pytest.mark.long
def test_the_engine_sends_each_reply_when_it_is_whole_and_the_end_last(
    played: tuple[Engine, Pipeline, list[Mapping[str, Any]]],
) -> None:
    engine, _, sent = played
    inbox: queue.SimpleQueue[Mapping[str, Any]] = queue.SimpleQueue()
    inbox.put(request(1, "3", "1", "2"))
    after: list[list[int]] = []
    for _ in range(3):
        engine.step(inbox)
        after.append([message["index"] for message in sent if "reply" in message])
    assert after == [[1], [1, 2], [1, 2, 0]]
    assert sent[-1] == {"id": 1, "done": True}


@pytest.mark.long
def test_the_engine_drops_what_is_cancelled_and_answers_the_rest(
    played: tuple[Engine, Pipeline, list[Mapping[str, Any]]],
) -> None:
    engine, pipeline, sent = played
    inbox: queue.SimpleQueue[Mapping[str, Any]] = queue.SimpleQueue()
    inbox.put(request(1, "90", "1"))
    inbox.put(request(2, "2"))
    engine.step(inbox)
    inbox.put({"id": 1, "do": "cancel"})
    inbox.put({"id": 9, "do": "cancel"})  # one that is not there
    engine.step(inbox)
    assert [handle.cancelled for handle in pipeline.handles] == [True, False, False]
    assert [(message["id"], message.get("done", False)) for message in sent] == [
        (1, False),
        (2, False),
        (2, True),
    ]


@pytest.mark.long
def test_a_choice_is_sent_with_the_log_probability_of_each_option(
    played: tuple[Engine, Pipeline, list[Mapping[str, Any]]],
) -> None:
    engine, _, sent = played
    inbox: queue.SimpleQueue[Mapping[str, Any]] = queue.SimpleQueue()
    inbox.put(request(1, "1", do="choose", options=["Yes", "No"]))
    engine.step(inbox)
    engine.step(inbox)  # the second option follows the first, whose prefix it shares
    assert sent[0]["reply"]["logprobs"] == [-0.5, -0.5]
    assert sent[-1] == {"id": 1, "done": True}


@pytest.mark.long
def test_processor_time_is_divided_among_calls_by_their_work(
    played: tuple[Engine, Pipeline, list[Mapping[str, Any]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    engine, _, sent = played
    inbox: queue.SimpleQueue[Mapping[str, Any]] = queue.SimpleQueue()
    inbox.put(request(1, "1", "3"))
    clock = iter([1.0, 2.0, 4.0])
    engine._charged = 0.0
    monkeypatch.setattr(time, "process_time", lambda: next(clock))
    for _ in range(3):
        engine.step(inbox)
    cores = {each["index"]: each["reply"]["core_seconds"] for each in sent if "reply" in each}
    assert cores == {0: 0.5, 1: 3.5}  # half of the first second, then all of it


@pytest.mark.parametrize("ending", ["done", "fault"])
def test_the_end_of_loading_is_told_as_its_begin_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    script = tmp_path / "engine.py"
    loaded = '"done": True' if ending == "done" else '"fault": "ContextTooLong", "message": "no"'
    script.write_text(ENGINE.replace('"id": 0, "done": True', f'"id": 0, {loaded}'))
    monkeypatch.setattr(local, "_COMMAND", (str(script),))
    monkeypatch.setattr(local, "_ENGINES", {})
    said: list[str] = []
    model = Local("fake", lambda: tmp_path / "requests", cache=tmp_path, say=said.append)
    with suppress(ContextTooLong):
        model.complete(PROMPTS[:1], Sampling())
    assert said == ["loading", ""]
    for process in local._ENGINES.values():
        process.end()
