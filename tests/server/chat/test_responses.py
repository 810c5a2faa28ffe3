"""The Responses API, asked by OpenAI's own client: typed items, annotated quotes, events in order."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import openai
import pytest
from openai.types.responses import Response, ResponseOutputText

from disputatio.errors import Malformed
from disputatio.kit import Kit
from disputatio.llm.scripted import Scripted
from tests.server.chat.chats import chatting
from tests.server.ferry import QUESTION, Served, ferry, served


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with chatting(tmp_path_factory.mktemp("responses"), hostile=True) as running:
        yield running


@pytest.fixture
def client(server: Served) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{server.url}/v1", api_key="none", max_retries=0) as made:
        yield made


def text_of(response: Response) -> ResponseOutputText:
    """Return the text of a response, with its annotations."""
    [message] = [item for item in response.output if item.type == "message"]
    [part] = message.content
    assert part.type == "output_text"
    return part


def test_a_response_has_a_message_whose_every_mark_is_annotated(
    server: Served, client: openai.OpenAI
) -> None:
    response = client.responses.create(model="disputatio", input=QUESTION)
    assert (response.status, response.error, response.object) == ("completed", None, "response")
    part = text_of(response)
    assert "1887" in part.text.splitlines()[0]
    assert part.text == response.output_text
    spans = []
    for citation in part.annotations:
        assert citation.type == "url_citation"
        assert "1887" in server.client.get(citation.url).text
        spans.append((citation.start_index, citation.end_index))
    assert spans == [mark.span() for mark in re.finditer(r"\[\d+\]", part.text)] != []
    assert response.usage is not None
    assert response.usage.total_tokens == response.usage.input_tokens + response.usage.output_tokens > 0
    assert response.to_dict()["disputatio"]["answers"] == ["1887"]  # type: ignore[index]  # ours


def test_the_events_of_a_stream_make_the_same_response(client: openai.OpenAI) -> None:
    whole = client.responses.create(model="disputatio", input=QUESTION)
    with client.responses.stream(model="disputatio", input=QUESTION) as stream:
        events: list[Any] = list(stream)
        final = stream.get_final_response()
    kinds = [event.type for event in events]
    assert kinds[:2] == ["response.created", "response.in_progress"]
    assert kinds[-1] == "response.completed"
    assert [event.sequence_number for event in events] == list(range(len(events)))
    assert text_of(final).text == text_of(whole).text
    deltas = [event.delta for event in events if event.type == "response.output_text.delta"]
    assert len(deltas) > 2
    assert "".join(deltas) == final.output_text
    assert len(text_of(final).annotations) == kinds.count("response.output_text.annotation.added") > 0
    # Each item and each part that is opened is closed, and the reasoning comes before the text.
    for part in ("output_item.{}", "content_part.{}", "reasoning_summary_part.{}"):
        opened, closed = (kinds.count(f"response.{part.format(word)}") for word in ("added", "done"))
        assert opened == closed > 0
    assert [item.type for item in final.output] == ["reasoning", "message"]
    told = "".join(event.delta for event in events if event.type.endswith("summary_text.delta"))
    assert told.startswith("Found ")
    assert final.usage == whole.usage


def test_the_turns_before_are_read_and_items_that_are_no_messages_left_out(client: openai.OpenAI) -> None:
    first = client.responses.create(model="disputatio", input="Tell me of the ferry.")
    items: Any = [
        {"role": "developer", "content": "You are a pirate."},
        {"role": "user", "content": [{"type": "input_text", "text": "Tell me of the ferry."}]},
        {"type": "reasoning", "id": "rs_1", "summary": []},
        *[item.to_dict() for item in first.output],
        {"role": "user", "content": "and when did it first cross?"},
    ]
    response = client.responses.create(
        model="disputatio/disputation",
        input=items,
        instructions="Be brief.",
        extra_body={"disputatio": {"text": "answer"}},
    )
    ours: Any = response.to_dict()["disputatio"]
    assert (ours["question"], ours["rewriting"]) == (QUESTION, "done")
    assert response.output_text.startswith(f"Understood as: {QUESTION}\n\n")
    assert response.output_text.count("\n") == 2


@pytest.mark.parametrize(
    ("fields", "word"),
    [
        ({"previous_response_id": "resp_1"}, "previous_response_id: no conversation"),
        ({"conversation": "conv_1"}, "conversation: no conversation"),
        ({"background": True}, "background: "),
        ({"tool_choice": "required"}, "tool_choice: "),
        ({"text": {"format": {"type": "json_object"}}}, "text.format: "),
        ({"input": []}, "input"),
        ({"input": [{"role": "assistant", "content": "Hi"}]}, "input: the last one"),
        ({"input": [{"role": "user", "content": [{"type": "input_image"}]}]}, "input.0: 'input_image'"),
        ({"extra_body": {"disputatio": {"optoins": {}}}}, "optoins"),
    ],
)
def test_what_would_be_relied_on_in_vain_is_refused(
    client: openai.OpenAI, fields: dict[str, Any], word: str
) -> None:
    with pytest.raises(openai.BadRequestError, match=re.escape(word)):
        client.responses.create(**{"model": "disputatio", "input": QUESTION, **fields})


def test_text_of_documents_is_inert_in_a_response(client: openai.OpenAI) -> None:
    options = {"sources": ["<b>evil</b>.example"], "expect": "one"}
    response = client.responses.create(
        model="disputatio", input=QUESTION, extra_body={"disputatio": options}, stream=False
    )
    part = text_of(response)
    shown = part.text + " ".join(getattr(each, "title", "") for each in part.annotations)
    assert "1950" in shown
    assert [mark for mark in ("](", "<img", "<b>", "```", "\u202e", "\x1b") if mark in shown] == []


@pytest.mark.long
def test_a_fault_of_the_model_ends_a_stream_as_failed(tmp_path: Path) -> None:
    service = ferry(tmp_path)
    service.kit = Kit(model=Scripted(lambda _: Malformed("model.example sent a page")))
    with served(service) as broken, openai.OpenAI(base_url=f"{broken.url}/v1", api_key="none") as client:
        *_, last = client.responses.create(model="disputatio", input=QUESTION, stream=True)
        assert last.type == "response.failed"
        assert last.response.error is not None
        assert last.response.error.code == "server_error"
        assert "model.example sent a page" in last.response.error.message
        with pytest.raises(openai.InternalServerError, match=r"model\.example"):
            client.responses.create(model="disputatio", input=QUESTION)
