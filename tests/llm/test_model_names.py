"""A model's name of no known kind is answered by what to write and what to set."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from disputatio.config import read_settings
from disputatio.errors import ConfigError, Malformed, Unreachable
from disputatio.llm.model_names import suggest_name
from disputatio.parts import build_kit
from disputatio.protocols import LLM
from disputatio.types import Sampling
from tests.llm.conftest import Serve
from tests.llm.fake_server import FakeServer, Wire, ask, fails, says

ANTHROPIC = "OPENAI_BASE_URL=https://api.anthropic.com/v1"
LOCAL = ["qwen2.5-coder-0.5b", "qwen2.5-coder-1.5b"]


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("gpt-4o-mini", "write openai:gpt-4o-mini and set OPENAI_API_KEY"),
        ("o3-mini", "write openai:o3-mini and set OPENAI_API_KEY"),
        ("Ollama:llama3:8b", "write ollama:llama3:8b"),
        ("ollama:", "write ollama:NAME"),
        ("llamacpp:phi", "write llama.cpp:phi"),
        (
            "groq:m",
            "set OPENAI_BASE_URL=https://api.groq.com/openai/v1 and OPENAI_API_KEY, and write openai:m",
        ),
        (
            "anthropic:claude-sonnet",
            f"set {ANTHROPIC} and OPENAI_API_KEY, and write openai:claude-sonnet",
        ),
        (
            "claude-sonnet",
            f"set {ANTHROPIC} and OPENAI_API_KEY, and write openai:claude-sonnet",
        ),
        ("qwen2.5-coder-1.5b", "write local:qwen2.5-coder-1.5b"),
        ("qwen2.5-coder-1.5", "write local:qwen2.5-coder-1.5b"),
        ("locl:qwen2.5-coder-1.5b", "write local:qwen2.5-coder-1.5b"),
    ],
)
def test_a_name_that_people_write_is_answered_by_suggest_name(name: str, advice: str) -> None:
    assert suggest_name(name, LOCAL) == advice


def test_a_model_file_is_local(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("tiny.gguf").write_bytes(b"")
    assert suggest_name("tiny.gguf", LOCAL) == "write local:tiny.gguf"


@pytest.mark.parametrize("name", ["llama3", "model.gguf", ":", ""])
def test_a_name_that_may_be_either_is_answered_by_both_ways(name: str) -> None:
    advice = suggest_name(name, LOCAL)
    assert "local:NAME" in advice
    assert "openai:NAME" in advice
    assert "OPENAI_BASE_URL" in advice


def test_the_advice_is_the_error_of_the_setting() -> None:
    with pytest.raises(ConfigError, match=r"model 'groq:llama3': set OPENAI_BASE_URL=https://api\.groq"):
        build_kit(read_settings(model="groq:llama3", journal="none"))


def ollama(
    monkeypatch: pytest.MonkeyPatch, serve: Serve, *replies: Wire, **settings: Any
) -> tuple[LLM, FakeServer]:
    """Return a model of a stand-in for Ollama, as `--model ollama:NAME` opens it, and the server."""
    server = serve(list(replies))
    monkeypatch.setenv("OLLAMA_HOST", server.url.removesuffix("/v1").removeprefix("http://"))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-another")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://192.0.2.1/v1")
    kit = build_kit(
        read_settings(model="ollama:qwen3.5:4b", journal="none", encoder="none", embedder="none", **settings)
    )
    return kit.model, server


def test_a_model_of_ollama_is_asked_where_ollama_listens_without_a_key_or_thoughts(
    monkeypatch: pytest.MonkeyPatch, serve: Serve
) -> None:
    model, server = ollama(monkeypatch, serve, says("Paris"), says("Paris"))
    assert model.name == "ollama:qwen3.5:4b"
    assert model.complete([ask("Where?")], Sampling())[0].text == "Paris"
    [asked] = server.asked
    assert asked.key == "Bearer none"
    assert asked.body["model"] == "qwen3.5:4b"
    assert asked.body["reasoning_effort"] == "none"
    assert "options" not in asked.body, "Ollama ignores them in this protocol"


def test_a_model_may_think_and_its_thoughts_are_no_part_of_its_reply(
    monkeypatch: pytest.MonkeyPatch, serve: Serve
) -> None:
    model, server = ollama(
        monkeypatch, serve, says("<think>", "Rome? No.", "</think>", "\nParis"), thinking=True
    )
    assert model.complete([ask("Where?")], Sampling())[0].text == "Paris"
    assert "reasoning_effort" not in server.asked[0].body


@pytest.mark.long
def test_a_fault_names_the_variable_that_moves_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_HOST", "127.0.0.1:9")
    model = build_kit(read_settings(model="ollama:m", journal="none", encoder="none", embedder="none")).model
    with pytest.raises(Unreachable, match="is OLLAMA_HOST right"):
        model.complete([ask("Where?")], Sampling())


def test_thoughts_that_have_no_end_are_no_reply(monkeypatch: pytest.MonkeyPatch, serve: Serve) -> None:
    model, _ = ollama(monkeypatch, serve, says("<think>", "Rome? No.", finish="length"), thinking=True)
    with pytest.raises(Malformed, match="allow more tokens"):
        model.complete([ask("Where?")], Sampling())


def test_a_model_that_cannot_think_is_asked_again_without_being_told_not_to(
    monkeypatch: pytest.MonkeyPatch, serve: Serve
) -> None:
    refusal = fails(400, 'think value "none" is not supported for this model')
    model, server = ollama(monkeypatch, serve, refusal, says("Paris"))
    assert model.complete([ask("Where?")], Sampling())[0].text == "Paris"
    assert ["reasoning_effort" in asked.body for asked in server.asked] == [True, False]
