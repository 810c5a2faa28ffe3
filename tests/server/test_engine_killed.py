"""The engine's process is killed in the midst of a question: one fault, then service."""

from __future__ import annotations

import os
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from disputatio.llm import local
from disputatio.llm.local import Local
from disputatio.llm.scripted import Scripted
from tests.server.ferry import Served, ferry, served
from tests.server.test_load import until

# The first process says who it is when it is asked, and answers nothing; the next ones answer.
ENGINE = """
import json, os, sys, time
def send(message):
    print(json.dumps(message), flush=True)
send({"say": "loading"})
send({"id": 0, "done": True})
for line in sys.stdin:
    message = json.loads(line)
    if message["do"] == "cancel":
        continue
    try:
        with open(sys.argv[1], "x") as file:
            file.write(f"{os.getpid()} ")
        time.sleep(600)
    except FileExistsError:
        pass
    for index, _ in enumerate(message["prompts"]):
        text = json.dumps({"explanation": "", "answers": ["1887"]})
        reply = {"text": text, "finish_reason": "stop", "tokens": [["one", -0.1]], "logprobs": [-0.1, -2.0]}
        reply |= {"prompt_tokens": 3, "cached_tokens": 2, "core_seconds": 0.5}
        send({"id": message["id"], "index": index, "reply": reply})
    send({"id": message["id"], "done": True})
"""
FIELDS: dict[str, Any] = {"strategy": "concat", "verify": False}


def answered(server: Served) -> list[str]:
    """Return the answers to a question that is asked now."""
    response = server.ask(**FIELDS)
    assert response.status_code == 200, response.text
    found: list[str] = response.json()["answers"]
    return found


@pytest.mark.long
def test_a_killed_engine_is_one_fault_and_the_next_question_is_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script, first = tmp_path / "engine.py", tmp_path / "first"
    script.write_text(ENGINE, encoding="utf-8")
    monkeypatch.setattr(local, "_COMMAND", (str(script),))
    monkeypatch.setattr(local, "_ENGINES", {})
    service = ferry(tmp_path, model=Scripted([], name="unused"))
    model = Local("fake", lambda: first, cache=tmp_path)
    service.kit = service.kits["fake"] = type(service.kit)(model=model)
    try:
        with served(service) as server, ThreadPoolExecutor(1) as pool:
            asked = pool.submit(server.ask, **FIELDS)
            assert until(lambda: first.is_file() and first.read_text(encoding="utf-8").endswith(" "))
            os.kill(int(first.read_text(encoding="utf-8")), signal.SIGKILL)
            failed = asked.result(30)
            assert failed.status_code in (502, 503), failed.text
            assert failed.json()["error"]["message"]
            assert answered(server) == ["1887"]
            assert answered(server) == ["1887"]
            assert server.client.get("/api/ready").json()["running"] == 0
    finally:
        for process in local._ENGINES.values():
            process.end()
