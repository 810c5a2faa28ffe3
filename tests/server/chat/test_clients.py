"""Clients that nobody here wrote: OpenAI's for Python and Node, curl, and the shapes of front ends."""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import openai
import pytest

from disputatio.server.options import Access
from tests.server.chat.chats import chatting, content
from tests.server.ferry import QUESTION, Served


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with chatting(tmp_path_factory.mktemp("clients")) as running:
        yield running


@pytest.fixture
def client(server: Served) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{server.url}/v1", api_key="none") as made:
        yield made


def asked(text: str = QUESTION) -> list[Any]:
    return [{"role": "user", "content": text}]


# --- OpenAI's client for Python -----------------------------------------------------------------
def test_openais_client_lists_the_models_and_gets_a_typed_completion(client: openai.OpenAI) -> None:
    assert "disputatio/madam_rag" in [model.id for model in client.models.list()]
    assert client.models.retrieve("disputatio").owned_by == "disputatio"
    completion = client.chat.completions.create(model="disputatio", messages=asked())
    [choice] = completion.choices
    text = choice.message.content or ""
    [first, *_] = choice.message.annotations or []
    citation = first.url_citation
    assert text[citation.start_index : citation.end_index] == "[1]"
    assert completion.usage is not None
    assert completion.usage.total_tokens > 0
    assert completion.to_dict()["disputatio"]["answers"] == ["1887"]  # type: ignore[index]


def test_openais_client_streams(client: openai.OpenAI) -> None:
    whole = client.chat.completions.create(model="disputatio", messages=asked()).choices[0].message.content
    stream = client.chat.completions.create(
        model="disputatio", messages=asked(), stream=True, stream_options={"include_usage": True}
    )
    chunks = list(stream)
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices) == whole
    assert [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices][-1] == "stop"
    assert chunks[-1].usage is not None


def test_openais_client_accumulates_a_stream(client: openai.OpenAI) -> None:
    with client.chat.completions.stream(model="disputatio", messages=asked()) as stream:
        final = stream.get_final_completion()
    assert "1887" in (final.choices[0].message.content or "")


def test_openais_awaiting_client_asks_several_questions_at_once(server: Served) -> None:
    async def ask() -> list[Any]:
        async with openai.AsyncOpenAI(base_url=f"{server.url}/v1", api_key="none") as waiting:
            calls = [waiting.chat.completions.create(model="disputatio", messages=asked()) for _ in range(3)]
            return await asyncio.gather(*calls)

    texts = {completion.choices[0].message.content for completion in asyncio.run(ask())}
    assert len(texts) == 1


def test_openais_client_raises_its_own_errors(client: openai.OpenAI) -> None:
    with pytest.raises(openai.NotFoundError, match="did you mean 'disputatio/madam_rag'") as missing:
        client.chat.completions.create(model="disputatio/madam_rga", messages=asked())
    assert missing.value.code == "model_not_found"
    assert missing.value.param == "model"
    with pytest.raises(openai.BadRequestError, match="unknown option 'rouds'"):
        client.chat.completions.create(
            model="disputatio", messages=asked(), extra_body={"disputatio": {"options": {"rouds": 1}}}
        )


@pytest.mark.long
def test_openais_client_knocks_with_a_token(tmp_path: Path) -> None:
    token = "t" * 43
    with chatting(tmp_path, access=Access(token=token)) as guarded:
        address = f"{guarded.url}/v1"
        with openai.OpenAI(base_url=address, api_key=token) as known:
            assert known.models.list().data
        stranger = openai.OpenAI(base_url=address, api_key="guess")
        with stranger, pytest.raises(openai.AuthenticationError):
            stranger.models.list()


# --- OpenAI's client for Node -------------------------------------------------------------------
NODE = """
import OpenAI from "openai";
const client = new OpenAI({ baseURL: process.env.ADDRESS, apiKey: "none" });
const messages = [{ role: "user", content: process.env.QUESTION }];
const whole = await client.chat.completions.create({ model: "disputatio", messages });
let text = "", annotations = [], usage = null;
const options = { stream: true, stream_options: { include_usage: true } };
const stream = await client.chat.completions.create({ model: "disputatio", messages, ...options });
for await (const chunk of stream) {
  text += chunk.choices[0]?.delta?.content ?? "";
  annotations = chunk.choices[0]?.delta?.annotations ?? annotations;
  usage = chunk.usage ?? usage;
}
let code = "";
try {
  await client.chat.completions.create({ model: "disputatio/none", messages });
} catch (error) {
  code = `${error.constructor.name} ${error.status} ${error.code}`;
}
const message = whole.choices[0].message;
console.log(JSON.stringify({
  same: text === message.content,
  annotations: annotations.length === message.annotations.length,
  answers: whole.disputatio.answers, tokens: usage.total_tokens, code,
}));
"""


@pytest.mark.slow
def test_openais_client_for_node_gets_the_same_whole_and_streamed(server: Served, tmp_path: Path) -> None:
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        pytest.skip("there is no Node here")
    (tmp_path / "package.json").write_text('{"type": "module", "private": true}')
    installed = subprocess.run(
        [npm, "install", "openai", "--no-audit", "--no-fund", "--ignore-scripts"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    if installed.returncode != 0:
        pytest.skip("the client for Node cannot be installed here")
    (tmp_path / "ask.mjs").write_text(NODE)
    done = subprocess.run(
        [node, "ask.mjs"],
        cwd=tmp_path,
        env={"ADDRESS": f"{server.url}/v1", "QUESTION": QUESTION, "PATH": str(Path(node).parent)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result.pop("tokens") > 0
    assert result == {
        "same": True,
        "annotations": True,
        "answers": ["1887"],
        "code": "NotFoundError 404 model_not_found",
    }


# --- curl ---------------------------------------------------------------------------------------
@pytest.mark.skipif(shutil.which("curl") is None, reason="there is no curl here")
def test_curl_shows_a_stream_line_by_line(server: Served) -> None:
    body = json.dumps({"model": "disputatio", "stream": True, "messages": asked()})
    words = ["curl", "-sN", f"{server.url}/v1/chat/completions", "-H", "Content-Type: application/json"]
    done = subprocess.run([*words, "-d", body], capture_output=True, text=True, timeout=60, check=True)
    lines = [line for line in done.stdout.splitlines() if line]
    assert all(line.startswith("data: ") for line in lines)
    assert lines[-1] == "data: [DONE]"
    chunks = [json.loads(line.removeprefix("data: ")) for line in lines[:-1]]
    assert "1887" in content(chunks)


# --- front ends: what they send, and what they read of the reply -----------------------------------
# The bodies are those that the two front ends send, written down from their sources.
OPEN_WEBUI = {
    "stream": True,
    "model": "disputatio",
    "messages": [
        {"role": "system", "content": "The user's name is Ada."},
        {"role": "user", "content": "Tell me of the ferry."},
        {"role": "assistant", "content": '<details type="reasoning">thinking</details>\nIt is red [1].'},
        {"role": "user", "content": "and when did it first cross?"},
    ],
    "stream_options": {"include_usage": True},
    "temperature": 0.8,
    "max_tokens": 2048,
}
LIBRE_CHAT = {
    "model": "disputatio/disputation",
    "user": "6639f2",
    "temperature": 1,
    "top_p": 1,
    "presence_penalty": 0,
    "frequency_penalty": 0,
    "stream": True,
    "stream_options": {"include_usage": True},
    "tools": [{"type": "function", "function": {"name": "web_search", "parameters": {"type": "object"}}}],
    "tool_choice": "auto",
    "messages": [{"role": "user", "content": [{"type": "text", "text": QUESTION}]}],
}


def streamed(server: Served, body: Any) -> list[Any]:
    with server.client.stream("POST", "/v1/chat/completions", json=body) as response:
        lines = [line.removeprefix("data: ") for line in response.iter_lines() if line.startswith("data: ")]
    assert response.status_code == 200
    return [json.loads(line) for line in lines if line != "[DONE]"]


def test_open_webui_gets_text_sources_reasoning_and_usage(server: Served) -> None:
    listed = server.client.get("/v1/models").json()
    assert all({"id", "object", "created", "owned_by"} <= model.keys() for model in listed["data"])
    chunks = streamed(server, OPEN_WEBUI)
    deltas = [chunk["choices"][0]["delta"] for chunk in chunks if chunk["choices"]]
    # It makes a source of every annotation, named by the title and opened by the address.
    sources = {
        (each["url_citation"]["title"], each["url_citation"]["url"].partition("?")[0])
        for delta in deltas
        for each in delta.get("annotations") or []
        if each["type"] == "url_citation"
    }
    assert sources == {
        ("museum.example", f"{server.url}/passages/p1"),
        ("almanac.example", f"{server.url}/passages/p2"),
    }
    assert any(delta.get("reasoning_content") for delta in deltas)
    assert "1887" in "".join(delta.get("content") or "" for delta in deltas)
    assert [chunk["usage"]["total_tokens"] > 0 for chunk in chunks if chunk.get("usage")] == [True]


def test_libre_chat_gets_text_from_a_message_of_parts(server: Served) -> None:
    chunks = streamed(server, LIBRE_CHAT)
    assert "1887" in content(chunks)
    assert chunks[0]["choices"][0]["delta"]["role"] == "assistant"
    assert all(chunk["object"] == "chat.completion.chunk" for chunk in chunks)
    assert chunks[-1]["usage"]["completion_tokens"] >= 0
