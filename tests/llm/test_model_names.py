"""A model's name of no known kind is answered by what to write and what to set."""

from __future__ import annotations

from pathlib import Path

import pytest

from disputatio.config import read_settings
from disputatio.errors import ConfigError
from disputatio.llm.model_names import suggest_name
from disputatio.parts import build_kit

ANTHROPIC = "OPENAI_BASE_URL=https://api.anthropic.com/v1"
LOCAL = ["qwen2.5-coder-0.5b", "qwen2.5-coder-1.5b"]


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("gpt-4o-mini", "write openai:gpt-4o-mini and set OPENAI_API_KEY"),
        ("o3-mini", "write openai:o3-mini and set OPENAI_API_KEY"),
        ("ollama:llama3", "set OPENAI_BASE_URL=http://localhost:11434/v1 and write openai:llama3"),
        ("ollama:llama3:8b", "set OPENAI_BASE_URL=http://localhost:11434/v1 and write openai:llama3:8b"),
        ("Ollama:", "set OPENAI_BASE_URL=http://localhost:11434/v1 and write openai:NAME"),
        ("llamacpp:phi", "set OPENAI_BASE_URL=http://localhost:8080/v1 and write openai:phi"),
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
    with pytest.raises(ConfigError, match="model 'ollama:llama3': set OPENAI_BASE_URL=http://localhost"):
        build_kit(read_settings(model="ollama:llama3", journal="none"))
