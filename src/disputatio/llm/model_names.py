"""Advice for a language model's name that is neither `local:NAME` nor `openai:NAME`."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from pathlib import Path

# Servers that speak OpenAI's protocol: the name people write, the address, whether a key is needed.
SERVERS = {
    "anthropic": ("https://api.anthropic.com/v1", True),
    "gemini": ("https://generativelanguage.googleapis.com/v1beta/openai", True),
    "groq": ("https://api.groq.com/openai/v1", True),
    "llama.cpp": ("http://localhost:8080/v1", False),
    "lmstudio": ("http://localhost:1234/v1", False),
    "mistral": ("https://api.mistral.ai/v1", True),
    "ollama": ("http://localhost:11434/v1", False),
    "openrouter": ("https://openrouter.ai/api/v1", True),
    "vllm": ("http://localhost:8000/v1", False),
}
# The service whose models have names that begin so; empty for OpenAI's own address.
_FAMILIES = {
    "gpt-": "", "chatgpt-": "", "o1": "", "o3": "", "o4": "",
    "claude-": "anthropic", "gemini-": "gemini",
}  # fmt: skip
_EITHER = (
    "write local:NAME for a model on this machine (see: disputatio model list), "
    "or openai:NAME for one of a server and set OPENAI_BASE_URL"
)


def suggest_name(name: str, known: Iterable[str]) -> str:
    """Suggest what to write in place of a model's name that has no known kind; `known` are local models.

    >>> suggest_name("gpt-4o-mini", [])
    'write openai:gpt-4o-mini and set OPENAI_API_KEY'
    >>> suggest_name("ollama:llama3", [])
    'set OPENAI_BASE_URL=http://localhost:11434/v1 and write openai:llama3'
    >>> suggest_name("qwen-1.5", ["qwen-1.5b"])
    'write local:qwen-1.5b'
    """
    local = sorted(known)
    server, _, model = name.partition(":")
    server = server.casefold().replace("llamacpp", "llama.cpp")
    if server in SERVERS:
        return _at_server(server, model or "NAME")
    if name in local or (name.endswith((".gguf", ".xml")) and Path(name).exists()):
        return f"write local:{name}"
    for start, service in _FAMILIES.items():
        if name.casefold().startswith(start):
            return _at_server(service, name)
    near = difflib.get_close_matches(model or name, local, n=1, cutoff=0.8)
    return f"write local:{near[0]}" if near else _EITHER


def _at_server(server: str, model: str) -> str:
    """Return the advice for a model of a service or server of this name."""
    if not server:
        return f"write openai:{model} and set OPENAI_API_KEY"
    address, needs_key = SERVERS[server]
    key = " and OPENAI_API_KEY," if needs_key else ""
    return f"set OPENAI_BASE_URL={address}{key} and write openai:{model}"
