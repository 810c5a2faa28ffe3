"""Strategies as models, chats as questions, citations as annotations, faults in OpenAI's form."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from disputatio.errors import Malformed
from disputatio.kit import Kit
from disputatio.llm.scripted import Scripted
from disputatio.pipeline import strategy_names
from disputatio.server.options import Limits
from tests.server.chat.chats import chat, chatting, chunks, content, reads, request, without_model
from tests.server.ferry import QUESTION, Served, ferry, held, served


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with chatting(tmp_path_factory.mktemp("chat")) as running:
        yield running


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with chatting(tmp_path_factory.mktemp("hostile"), hostile=True) as running:
        yield running


def test_strategies_are_models(server: Served) -> None:
    models = server.client.get("/v1/models").json()
    assert models["object"] == "list"
    names = [model["id"] for model in models["data"]]
    assert names == ["disputatio", *(f"disputatio/{name}" for name in strategy_names())]
    one = server.client.get("/v1/models/disputatio/madam_rag").json()
    assert one == next(model for model in models["data"] if model["id"] == "disputatio/madam_rag")


def test_a_completion_has_the_answer_with_citations_positions_and_cost(server: Served) -> None:
    completion = chat(server).json()
    assert completion["object"] == "chat.completion"
    [choice] = completion["choices"]
    assert choice["finish_reason"] == "stop"
    text = choice["message"]["content"]
    assert "1887" in text.splitlines()[0]
    assert "rejected: 1901 (by buzz.example)" in text
    usage = completion["usage"]
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"] > 0
    ours = completion["disputatio"]
    assert ours["answers"] == ["1887"]
    assert {position["answer"] for position in ours["conflict"]["positions"]} == {"1887", "1901"}
    assert ours["usage"]["calls"] > 0
    assert server.client.get(ours["url"]).json()["answers"] == ["1887"]


@pytest.mark.long
def test_every_mark_has_an_annotation_whose_address_shows_the_passage(server: Served) -> None:
    message = chat(server).json()["choices"][0]["message"]
    citations = [each["url_citation"] for each in message["annotations"]]
    marks = [match.span() for match in re.finditer(r"\[\d+\]", message["content"])]
    assert marks
    assert [(each["start_index"], each["end_index"]) for each in citations] == marks
    for citation in citations:
        assert citation["url"].startswith(server.url)
        shown = server.client.get(citation["url"])
        assert shown.headers["content-type"] == "text/plain; charset=utf-8"
        assert "1887" in shown.text
        assert citation["title"] in ("museum.example", "almanac.example")


@pytest.mark.long
def test_the_passage_of_an_answer_outlives_the_index_that_it_was_read_from(tmp_path: Path) -> None:
    with chatting(tmp_path) as server:
        given = [{"text": "The ferry first crossed in 1887.", "source": "mine.example"}]
        message = chat(server, disputatio={"passages": given}).json()["choices"][0]["message"]
        [citation, *_] = message["annotations"]
        address = citation["url_citation"]["url"]
        assert "mine.example" in server.client.get(address).text
        assert server.client.get(address.partition("?")[0]).status_code == 404
        assert server.client.get("/passages/p3").text.startswith("Source: buzz.example\n")


@pytest.mark.parametrize("name", ["a b/c?d#e", "p%41", 'x"><b>', "é"])
def test_an_odd_id_makes_an_address_that_leads_back(server: Served, name: str) -> None:
    given = [{"text": "The ferry first crossed in 1887.", "source": "mine.example", "id": name}]
    message = chat(server, disputatio={"passages": given}).json()["choices"][0]["message"]
    address = message["annotations"][0]["url_citation"]["url"]
    assert re.fullmatch(r"[\w:/.?=%-]+", address)
    assert "mine.example" in server.client.get(address).text


def test_a_stream_has_the_same_text_in_pieces_and_then_the_usage(server: Served) -> None:
    whole = chat(server).json()
    streamed = chunks(server, stream_options={"include_usage": True})
    assert streamed[0]["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    assert streamed[-1] == "[DONE]"
    assert len({chunk["id"] for chunk in streamed[:-1]}) == 1
    message = whole["choices"][0]["message"]
    assert content(streamed) == message["content"]
    assert sum('"content"' in json.dumps(chunk) for chunk in streamed) > 2
    [annotated] = [
        chunk["choices"][0]["delta"]["annotations"]
        for chunk in streamed[:-1]
        if chunk["choices"] and "annotations" in chunk["choices"][0]["delta"]
    ]
    spans = [[each["url_citation"][name] for name in ("start_index", "end_index")] for each in annotated]
    assert spans == [
        [each["url_citation"][name] for name in ("start_index", "end_index")]
        for each in message["annotations"]
    ]
    last, cost = streamed[-3], streamed[-2]
    assert last["choices"][0]["finish_reason"] == "stop"
    assert last["disputatio"]["answers"] == ["1887"]
    assert cost["choices"] == []
    assert cost["usage"] == whole["usage"]


def test_a_stream_tells_what_happens_before_the_answer(server: Served) -> None:
    streamed = chunks(server)
    told = "".join(
        chunk["choices"][0]["delta"].get("reasoning_content", "")
        for chunk in streamed[:-1]
        if chunk["choices"]
    )
    assert told.startswith("Found 3 passages of ")
    assert "museum.example: “The ferry first crossed in 1887.”" in told
    assert re.search(r"Read 3 of 3.* \([\d,]+ tokens, \d+ s so far", told)
    assert "calls done (" in told
    assert all("usage" not in chunk for chunk in streamed[:-1])


def test_the_model_and_its_options_choose_the_strategy(server: Served) -> None:
    options = {"options": {"rounds": 1}, "sources": ["buzz.example"], "text": "answer"}
    completion = chat(server, model="disputatio/madam_rag", disputatio=options).json()
    ours = completion["disputatio"]
    assert ours["strategy"] == "madam_rag"
    assert completion["model"] == "disputatio/madam_rag"
    assert "museum.example" not in str(ours)
    alone = chat(server, disputatio={"text": "answer"}).json()
    assert "\n" not in alone["choices"][0]["message"]["content"]


# --- follow-up questions ------------------------------------------------------------------------
def test_a_follow_up_question_is_made_to_stand_alone(server: Served) -> None:
    completion = chat(server, "Tell me of the ferry.", "It is red.", "and when did it first cross?").json()
    ours = completion["disputatio"]
    assert (ours["question"], ours["rewriting"]) == (QUESTION, "done")
    assert ours["asked"] == "and when did it first cross?"
    assert completion["usage"]["prompt_tokens"] > ours["usage"]["prompt_tokens"]
    streamed = chunks(server, "Tell me of the ferry.", "It is red.", "and when did it first cross?")
    text = completion["choices"][0]["message"]["content"]
    assert text.startswith(f"Understood as: {QUESTION}\n\n")
    assert content(streamed) == text
    assert f"Understood as: {QUESTION}\n" in [
        chunk["choices"][0]["delta"].get("reasoning_content") for chunk in streamed[:-1] if chunk["choices"]
    ]


def test_a_first_question_is_asked_as_it_is(server: Served) -> None:
    body = request()
    body["messages"].insert(0, {"role": "system", "content": "You are a pirate."})
    ours = server.client.post("/v1/chat/completions", json=body).json()["disputatio"]
    assert (ours["question"], ours["rewriting"]) == (QUESTION, "first")


@pytest.mark.long
def test_without_a_model_a_follow_up_is_asked_unchanged_with_a_note(tmp_path: Path) -> None:
    with served(without_model(tmp_path)) as server:
        listed = [model["id"] for model in server.client.get("/v1/models").json()["data"]]
        assert "disputatio/disputation" in listed and "disputatio/concat" not in listed
        completion = chat(server, "Tell me.", "What?", QUESTION).json()
        ours = completion["disputatio"]
        assert (ours["rewriting"], ours["question"], ours["answers"]) == ("no_model", QUESTION, ["1887"])
        text = completion["choices"][0]["message"]["content"]
        assert "asked as it stands: there is no language model" in text
        first = chat(server).json()["choices"][0]["message"]["content"]
        assert "asked as it stands" not in first


@pytest.mark.long
def test_an_unusable_rewriting_is_reported_and_not_guessed(tmp_path: Path) -> None:
    def rambles(prompt: str) -> str:
        return "Sure!" if "last question of a conversation" in prompt else reads(prompt)

    service = ferry(tmp_path, model=Scripted(rambles, choices=lambda _: {"Yes": 0.9, "No": 0.1}))
    with served(service) as server:
        completion = chat(server, "Tell me.", "What?", QUESTION).json()
    assert completion["disputatio"]["rewriting"] == "unusable"
    assert "asked as it stands" in completion["choices"][0]["message"]["content"]


# --- hostile documents --------------------------------------------------------------------------
FORBIDDEN = ("](", "<img", "<b>", "```", "https://evil", "\u202e", "\x1b")


@pytest.mark.long
def test_text_of_documents_is_inert_in_a_completion(hostile: Served) -> None:
    answer = chat(hostile, disputatio={"sources": ["<b>evil</b>.example"], "expect": "one"}).json()
    message = answer["choices"][0]["message"]
    assert "1950" in message["content"]
    shown = message["content"] + " ".join(each["url_citation"]["title"] for each in message["annotations"])
    assert [mark for mark in FORBIDDEN if mark in shown] == []
    marks = re.findall(r"\[\d+\]", message["content"])
    assert len(marks) == len(message["annotations"])
    page = hostile.client.get(message["annotations"][0]["url_citation"]["url"])
    assert page.headers["x-content-type-options"] == "nosniff"
    assert page.headers["content-type"].startswith("text/plain")
    assert "\x1b" not in page.text and "\u202e" not in page.text


def test_text_of_documents_is_inert_in_a_stream_across_its_pieces(hostile: Served) -> None:
    streamed = chunks(hostile)
    text = content(streamed) + "".join(
        chunk["choices"][0]["delta"].get("reasoning_content", "")
        for chunk in streamed[:-1]
        if chunk["choices"]
    )
    assert "1950" in text
    assert [mark for mark in FORBIDDEN if mark in text] == []


# --- what cannot be done ------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("fields", "status", "code", "word"),
    [
        ({"model": "disputatio/madam_rga"}, 404, "model_not_found", "did you mean 'disputatio/madam_rag'"),
        ({"model": "gpt-4o"}, 404, "model_not_found", "models.list()"),
        ({"messages": []}, 400, "invalid_value", "messages"),
        ({"messages": [{"role": "assistant", "content": "Hi"}]}, 400, "InputError", "question of the user"),
        ({"messages": [{"role": "user", "content": "  "}]}, 400, "InputError", "question of the user"),
        (
            {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}]},
            400,
            "InputError",
            "image_url",
        ),
        ({"n": 2}, 400, "InputError", "one answer"),
        ({"tool_choice": "required"}, 400, "InputError", "tools"),
        ({"response_format": {"type": "json_object"}}, 400, "InputError", "disputatio"),
        ({"logprobs": True}, 400, "InputError", "positions"),
        ({"disputatio": {"optoins": {}}}, 400, "invalid_value", "optoins"),
        ({"disputatio": {"options": {"rouds": 1}}}, 400, "UnknownName", "unknown option 'rouds'"),
        ({"disputatio": {"model": "other"}}, 404, "model_not_found", "script"),
    ],
)
def test_what_is_wrong_is_said_in_openais_form(
    server: Served, fields: dict[str, Any], status: int, code: str, word: str
) -> None:
    response = server.client.post("/v1/chat/completions", json={**request(), **fields})
    error = response.json()["error"]
    assert response.status_code == status
    assert error.keys() == {"message", "type", "param", "code"}
    assert error["type"] == "invalid_request_error"
    assert error["code"] == code
    assert word in error["message"]


@pytest.mark.parametrize("body", ["{bad", "[]"])
@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/responses"])
def test_a_body_that_is_no_object_is_named_as_such(server: Served, path: str, body: str) -> None:
    headers = {"Content-Type": "application/json"}
    response = server.client.post(path, content=body, headers=headers)
    assert response.status_code == 400
    assert response.json()["error"]["message"].startswith("the body is not a JSON object")
    assert response.json()["error"]["param"] is None


def test_an_unknown_model_is_not_found(server: Served) -> None:
    response = server.client.get("/v1/models/disputatio/concta")
    assert response.status_code == 404
    assert "did you mean 'disputatio/concat'" in response.json()["error"]["message"]


@pytest.mark.long
def test_a_full_server_asks_to_come_back(tmp_path: Path) -> None:
    released = threading.Event()
    limits = Limits(in_flight=1, waiting=0)
    with served(ferry(tmp_path, model=held(released), limits=limits)) as server:
        first = threading.Thread(target=lambda: chat(server))
        first.start()
        deadline = time.monotonic() + 10
        while not server.service.turns.running and time.monotonic() < deadline:
            time.sleep(0.01)
        try:
            for stream in (False, True):
                response = server.client.post("/v1/chat/completions", json=request(stream=stream))
                assert response.status_code == 429
                assert int(response.headers["retry-after"]) >= 1
                assert response.json()["error"]["type"] == "rate_limit_error"
        finally:
            released.set()
        first.join(30)


def faulty(folder: Path) -> Any:
    """Return a service whose model fails."""
    service = ferry(folder)
    service.kit = Kit(model=Scripted(lambda _: Malformed("model.example sent a page")))
    return service


@pytest.mark.long
def test_a_fault_of_the_model_is_one_error_that_no_client_repeats(tmp_path: Path) -> None:
    with served(faulty(tmp_path)) as server:
        response = chat(server)
        assert response.status_code == 502
        assert response.headers["x-should-retry"] == "false"
        assert response.json()["error"]["type"] == "server_error"
        streamed = chunks(server)
        [error] = [chunk for chunk in streamed if "error" in chunk]
        assert "model.example sent a page" in error["error"]["message"]
        assert '"stop"' not in json.dumps(streamed)


@pytest.mark.long
def test_an_unexpected_error_ends_a_stream_with_an_error(tmp_path: Path) -> None:
    def breaks(_: str) -> str:
        raise RuntimeError("a secret of the machine")

    with served(ferry(tmp_path, model=Scripted(breaks))) as server:
        streamed = chunks(server)
    [error] = [chunk["error"] for chunk in streamed if "error" in chunk]
    assert error["type"] == "server_error"
    assert "secret" not in json.dumps(streamed)


@pytest.mark.long
def test_a_client_that_leaves_a_stream_ends_the_question(tmp_path: Path) -> None:
    with chatting(tmp_path, delay=5) as server:
        body = request(stream=True)
        with server.client.stream("POST", "/v1/chat/completions", json=body) as response:
            next(response.iter_lines())
        deadline = time.monotonic() + 10
        while server.service.turns.running and time.monotonic() < deadline:
            time.sleep(0.01)
        assert server.service.turns.running == 0
        assert server.service.kit.model.calls == []  # type: ignore[attr-defined]
