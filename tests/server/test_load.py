"""Many questions at once: turns, budgets, followers that leave and return, writing beside asking."""

from __future__ import annotations

import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from disputatio.errors import ServerFault
from disputatio.llm.scripted import Scripted
from disputatio.server.options import Access, Limits, StorageOptions
from tests.server.ferry import QUESTION, Served, ferry, read_events, says, script, served

STREAM = {"Accept": "text/event-stream"}


def begun(server: Served) -> str:
    """Return the id of a question that was begun, and whose first listener has gone."""
    with server.client.stream("POST", "/api/ask", json={"question": QUESTION}, headers=STREAM) as response:
        _, asked = next(read_events(response))
        return str(asked["id"])


def until(condition: object, seconds: float = 10.0) -> bool:
    """Return whether a condition comes true."""
    end = time.monotonic() + seconds
    while not (true := bool(condition())) and time.monotonic() < end:  # type: ignore[operator]
        time.sleep(0.01)
    return true


@pytest.mark.long
def test_concurrent_questions_are_answered_and_those_beyond_the_queue_get_a_retry_time(
    tmp_path: Path,
) -> None:
    limits = Limits(in_flight=2, waiting=3, waiting_each=3)
    with (
        served(ferry(tmp_path, model=script(delay=0.15), limits=limits)) as server,
        ThreadPoolExecutor(12) as pool,
    ):
        responses = [done.result() for done in [pool.submit(server.ask) for _ in range(12)]]
    statuses = sorted(response.status_code for response in responses)
    assert statuses == [200] * 5 + [429] * 7
    refused = [response for response in responses if response.status_code == 429]
    assert all(int(response.headers["retry-after"]) >= 1 for response in refused)
    assert {response.json()["error"]["kind"] for response in refused} == {"Full"}


@pytest.mark.long
@pytest.mark.parametrize(
    ("fields", "word"),
    [
        ({"calls": 1}, "the budget of 1 calls is spent"),
        ({"tokens": 5}, "tokens"),
        ({"seconds": 0.05}, "may take"),
    ],
)
def test_a_question_ends_where_its_budget_does(tmp_path: Path, fields: dict[str, Any], word: str) -> None:
    with served(ferry(tmp_path, model=script(delay=0.05))) as server:
        response = server.ask(**fields)
    assert response.status_code == 422
    assert response.json()["error"]["kind"] == "BudgetSpent"
    assert word in response.json()["error"]["message"]


@pytest.mark.long
def test_a_request_cannot_raise_the_servers_own_budget(tmp_path: Path) -> None:
    with served(ferry(tmp_path, limits=Limits(calls=1))) as server:
        assert server.ask(calls=1000).status_code == 422


@pytest.mark.long
def test_a_question_without_followers_is_stopped(tmp_path: Path) -> None:
    limits = Limits(abandoned=0.05)
    with served(ferry(tmp_path, model=script(delay=5), limits=limits)) as server:
        name = begun(server)
        assert until(lambda: server.service.find_running(name).state == "stopped")


@pytest.mark.long
def test_a_client_that_hangs_up_stops_its_question(tmp_path: Path) -> None:
    limits = Limits(abandoned=0.05)
    with served(ferry(tmp_path, model=script(delay=5), limits=limits)) as server:
        with pytest.raises(httpx.ReadTimeout):
            server.client.post("/api/ask", json={"question": QUESTION}, timeout=0.3)
        assert until(lambda: server.service.turns.running == 0)
        assert server.service.kit.model.calls == []  # type: ignore[attr-defined]


@pytest.mark.long
def test_a_follower_returns_and_misses_nothing(tmp_path: Path) -> None:
    with served(ferry(tmp_path, model=script(delay=0.1))) as server:
        name = begun(server)
        with server.client.stream("GET", f"/api/ask/{name}") as response:
            whole = list(read_events(response))
        with server.client.stream("GET", f"/api/ask/{name}", headers={"Last-Event-ID": "2"}) as response:
            rest = list(read_events(response))
    assert [event for event, _ in whole][:3] == ["asked", "started", "found"]
    assert whole[-1][0] == "cost"
    assert rest == whole[2:]


@pytest.mark.long
def test_a_waiting_question_is_stopped_before_its_turn(tmp_path: Path) -> None:
    limits = Limits(in_flight=1, abandoned=60)
    with served(ferry(tmp_path, model=script(delay=5), limits=limits)) as server:
        first, second = begun(server), begun(server)
        assert server.service.turns.waiting == 1
        server.client.delete(f"/api/ask/{second}")
        assert until(lambda: server.service.turns.waiting == 0, 1.0)
        server.client.delete(f"/api/ask/{first}")
        assert until(lambda: server.service.turns.running == 0, 1.0)


@pytest.mark.long
def test_after_a_model_fault_the_next_question_is_answered(tmp_path: Path) -> None:
    failing = threading.Event()
    failing.set()

    def replies(prompt: str) -> str | Exception:
        return ServerFault("the endpoint failed", 503) if failing.is_set() else says(prompt)

    model = Scripted(replies, choices=lambda _: {"Yes": 0.9, "No": 0.1}, name="script")
    with served(ferry(tmp_path, model=model)) as server:
        response = server.ask(strategy="concat")
        failing.clear()
        assert response.status_code == 502
        assert server.ask().status_code == 200


@pytest.mark.long
def test_a_bug_is_reported_without_details_and_the_next_question_is_answered(tmp_path: Path) -> None:
    bugs = [RuntimeError("a secret in a bug")]

    def replies(prompt: str) -> str:
        if bugs:
            raise bugs.pop()
        return says(prompt)

    model = Scripted(replies, choices=lambda _: {"Yes": 0.9, "No": 0.1}, name="script")
    with served(ferry(tmp_path, model=model)) as server:
        response = server.ask()
        assert response.status_code == 500
        assert response.json()["error"]["kind"] == "Internal"
        assert "secret" not in response.text
        assert server.ask().status_code == 200


@pytest.mark.long
def test_documents_are_put_in_while_questions_are_answered(tmp_path: Path) -> None:
    service = ferry(
        tmp_path,
        model=script(delay=0.02),
        access=Access(writing=True),
        keeping=StorageOptions(uploads=tmp_path / "uploads"),
    )
    rows = "\n".join(json.dumps({"text": f"Rope {number}.", "source": "ropes"}) for number in range(300))
    with served(service) as server, ThreadPoolExecutor(6) as pool:
        asked = [pool.submit(server.ask) for _ in range(12)]
        job = server.client.post("/api/ingest", files=[("files", ("ropes.jsonl", rows.encode()))]).json()
        assert until(lambda: server.client.get(f"/api/jobs/{job['id']}").json()["state"] == "done", 30)
        assert {done.result().json()["answers"][0] for done in asked} == {"1887"}
        assert server.client.get("/api/ready").json()["index"]["passages"] == 303


@pytest.mark.long
def test_control_characters_are_escaped_in_events_and_answers(tmp_path: Path) -> None:
    with served(ferry(tmp_path)) as server:
        question = "When did \u202ethe ferry\u2028 first cross\x9b?"
        text = server.client.post("/api/ask", json={"question": question}, headers=STREAM).text
        assert not any(mark in text for mark in ("\u202e", "\u2028", "\x9b"))
        assert "\\u202e" in text
