"""Servers by the names that people know them by, and advice for a model's name of no known kind."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """A server that needs no key: its address, the variable that moves it, fields that switch thinking off
    (`quick`), and how it is started to read more tokens at once.
    """

    address: str
    variable: str = ""
    quick: Mapping[str, Any] = field(default_factory=dict)
    widened: str = ""

    @property
    def base_url(self) -> str:
        """The address that its variable names, else the usual one."""
        return _address_of(os.environ.get(self.variable, "") if self.variable else "") or self.address


_NO_THINKING = {"chat_template_kwargs": {"enable_thinking": False}}
# What may stand before the name of a model, as in ollama:qwen3.5:4b.
ENGINES: Mapping[str, Engine] = {
    "ollama": Engine(
        address="http://localhost:11434/v1",
        variable="OLLAMA_HOST",
        quick={"reasoning_effort": "none"},
        widened="OLLAMA_CONTEXT_LENGTH=16384 ollama serve",  # a request cannot
    ),
    "llama.cpp": Engine(
        address="http://localhost:8080/v1",
        variable="LLAMA_CPP_HOST",
        quick=_NO_THINKING,
        widened="llama-server --ctx-size 16384",
    ),
    "lmstudio": Engine(address="http://localhost:1234/v1", variable="LMSTUDIO_HOST"),
    "vllm": Engine(address="http://localhost:8000/v1", variable="VLLM_HOST", quick=_NO_THINKING),
    "ovms": Engine(address="http://localhost:8000/v3", variable="OVMS_HOST", quick=_NO_THINKING),
}
# Services that speak OpenAI's protocol and need a key: the name people write, and the address.
SERVICES = {
    "anthropic": "https://api.anthropic.com/v1",
    "gemini": "https://generativelanguage.googleapis.com/v1beta/openai",
    "groq": "https://api.groq.com/openai/v1",
    "mistral": "https://api.mistral.ai/v1",
    "openrouter": "https://openrouter.ai/api/v1",
}
# The service whose models have names that begin so; empty for OpenAI's own address.
_FAMILIES = {
    "gpt-": "", "chatgpt-": "", "o1": "", "o3": "", "o4": "",
    "claude-": "anthropic", "gemini-": "gemini",
}  # fmt: skip
_EITHER = (
    "write local:NAME for a model on this machine (see: disputatio model list), "
    "ollama:NAME for one of Ollama, or openai:NAME for one of a server and set OPENAI_BASE_URL"
)


def suggest_name(name: str, known: Iterable[str]) -> str:
    """Suggest what to write in place of a model's name that has no known kind; `known` are local models.

    >>> suggest_name("gpt-4o-mini", [])
    'write openai:gpt-4o-mini and set OPENAI_API_KEY'
    >>> suggest_name("groq:llama3", [])
    'set OPENAI_BASE_URL=https://api.groq.com/openai/v1 and OPENAI_API_KEY, and write openai:llama3'
    >>> suggest_name("Ollama:llama3", [])
    'write ollama:llama3'
    >>> suggest_name("qwen-1.5", ["qwen-1.5b"])
    'write local:qwen-1.5b'
    """
    local = sorted(known)
    server, _, model = name.partition(":")
    server = server.casefold().replace("llamacpp", "llama.cpp")
    if server in ENGINES:
        return f"write {server}:{model or 'NAME'}"
    if server in SERVICES:
        return _at_service(server, model or "NAME")
    if name in local or (name.endswith((".gguf", ".xml")) and Path(name).exists()):
        return f"write local:{name}"
    for start, service in _FAMILIES.items():
        if name.casefold().startswith(start):
            return _at_service(service, name)
    near = difflib.get_close_matches(model or name, local, n=1, cutoff=0.8)
    return f"write local:{near[0]}" if near else _EITHER


def _at_service(service: str, model: str) -> str:
    if not service:
        return f"write openai:{model} and set OPENAI_API_KEY"
    return f"set OPENAI_BASE_URL={SERVICES[service]} and OPENAI_API_KEY, and write openai:{model}"


def _address_of(host: str) -> str:
    """Return the address of a host as Ollama's variable writes it; of every address, this machine's.

    >>> _address_of("gpu.example:11434"), _address_of("http://gpu.example/"), _address_of("0.0.0.0:9")
    ('http://gpu.example:11434/v1', 'http://gpu.example/v1', 'http://127.0.0.1:9/v1')
    """
    host = host.strip().rstrip("/")
    if not host:
        return ""
    scheme, separator, rest = host.rpartition("://")
    rest = rest.replace("0.0.0.0", "127.0.0.1", 1) if rest.startswith("0.0.0.0") else rest
    version = "" if rest.endswith(("/v1", "/v3")) else "/v1"
    return f"{scheme or 'http'}{separator or '://'}{rest}{version}"
