"""Questions over HTTP: answers, events, stopping, permalinks, what if."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.server.ferry import QUESTION, Served, ferry, read_events, script, served


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Served]:
    with served(ferry(tmp_path)) as running:
        yield running


def test_a_question_is_answered_in_the_form_of_the_command_line(server: Served) -> None:
    response = server.ask()
    answer = response.json()
    assert response.status_code == 200
    assert answer["answers"] == ["1887"]
    assert {"question", "claims", "conflict", "passages", "usage", "basis"} <= answer.keys()


def test_the_events_are_those_of_the_library_after_one_that_names_the_question(server: Served) -> None:
    events = server.events()
    order = list(dict.fromkeys(name for name, _ in events))
    assert order == [
        "asked",
        "started",
        "found",
        "evidence",
        "read",
        "sides",
        "side",
        "claim",
        "answer",
        "cost",
    ]
    assert all(data["event"] == name for name, data in events)


@pytest.mark.long
def test_an_answer_is_stored_before_its_event_is_sent(server: Served) -> None:
    events = dict(server.events())
    kept = server.client.get(f"/api/answers/{events['asked']['id']}")
    assert kept.json() == events["answer"]["answer"]


def test_an_answer_is_decided_again_without_a_source_and_without_a_call(server: Served) -> None:
    address = server.ask().headers["content-location"]
    calls = len(server.service.kit.model.calls)  # type: ignore[attr-defined]
    without = {"sources": ["museum.example", "almanac.example"]}
    decided = server.client.post(f"{address}/without", json=without)
    assert decided.json()["answers"] == ["1901"]
    assert len(server.service.kit.model.calls) == calls  # type: ignore[attr-defined]


def test_each_source_is_told_with_its_answer_where_that_is_asked_for(server: Served) -> None:
    rows = server.ask(each_source=True).json()["each_source"]
    assert [(row["source"].removesuffix(".example"), row["relation"], row["answer"]) for row in rows] == [
        ("museum", "agrees", "1887"),
        ("almanac", "agrees", "1887"),
        ("buzz", "contradicts", "1901"),
    ]
    assert server.ask().json()["each_source"] == []


def test_an_answer_that_is_less_likely_than_asked_for_is_withheld(server: Served) -> None:
    plain = server.ask().json()
    asked = {"question": QUESTION, "min_confidence": 1}
    doubted = server.client.post("/api/ask", json=asked).json()
    assert (doubted["answers"], doubted["abstained"]) == ([], "conflict")
    assert doubted["confidence"] == plain["confidence"] < 1
    assert server.client.post("/api/ask", json=asked | {"min_confidence": 2}).status_code == 400


@pytest.mark.long
def test_a_question_is_stopped_and_its_calls_end(tmp_path: Path) -> None:
    with (
        served(ferry(tmp_path, model=script(delay=5))) as server,
        server.client.stream(
            "POST", "/api/ask", json={"question": QUESTION}, headers={"Accept": "text/event-stream"}
        ) as response,
    ):
        events = read_events(response)
        _, asked = next(events)
        assert server.client.delete(f"/api/ask/{asked['id']}").status_code == 200
        last = list(events)[-1]
        assert (last[0], last[1]["kind"]) == ("fault", "Cancelled")
        assert server.service.kit.model.calls == []  # type: ignore[attr-defined]


def test_a_body_that_is_no_json_and_an_address_that_is_not_there_are_named(server: Served) -> None:
    ask = "/api/ask"
    for body in (server.client.post(ask, content=b'{"q": '), server.client.post(ask, data={"question": "x"})):
        assert body.status_code == 400
        assert body.json()["error"]["message"].endswith(
            "a JSON object sent with Content-Type: application/json"
        )
    nowhere = server.client.get("/api/nothing")
    assert nowhere.json()["error"]["message"] == "GET /api/nothing: not found"


@pytest.mark.long
@pytest.mark.parametrize(
    ("fields", "word"),
    [
        ({"strategy": "disputatoin"}, "disputation"),
        ({"strategy": "os:system"}, "unknown strategy"),
        ({"options": {"rouds": 2}}, "unknown option"),
        ({"model": "openai:other"}, "script"),
        ({"question": "  "}, "empty"),
        ({"sorces": []}, "sorces"),
        ({"after": "soon"}, "soon"),
    ],
)
def test_what_is_wrong_with_a_question_is_said_in_one_line(
    server: Served, fields: dict[str, object], word: str
) -> None:
    response = server.ask(**{"question": QUESTION, **fields})  # type: ignore[arg-type]
    assert response.status_code == 400
    assert word in response.json()["error"]["message"]
