"""Our command as a user types it: in this process, or in one of its own where signals and pipes count."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from disputatio.cli.main import main
from disputatio.strategies.madam_rag import madam_rag

SCRIPT: Mapping[str, Mapping[str, Any]] = {
    "You aggregate a debate": {"answers": ["1887"], "explanation": "The ferry first crossed in 1887."},
    "in 1887": {
        "answer": "1887",
        "explanation": "The ferry first crossed in 1887.",
        "quote": "first crossed in 1887",
    },
    "in 1901": {
        "answer": "1901",
        "explanation": "The ferry first crossed in 1901.",
        "quote": "first crossed in 1901",
    },
    "": {"answer": "unknown", "explanation": "It is about something else.", "quote": ""},
}
PASSAGES = [
    {"text": "The ferry first crossed in 1887.", "source": "museum.example", "title": "The ferry"},
    {"text": "The island's ferry first crossed in 1887, in May.", "source": "almanac.example"},
    {"text": "They say the ferry first crossed in 1901.", "source": "a-very-long-name-of-a-source.example"},
    {"text": "Sheep are kept on the island.", "source": "farm.example"},
]
QUESTION = "When did the ferry first cross?"


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """The result of a command."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one value that stdout is."""
        return json.loads(self.out)


def run(capsys: pytest.CaptureFixture[str], *words: str | Path) -> Run:
    """Run the command in this process."""
    capsys.readouterr()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["disputatio", *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            main()
    captured = capsys.readouterr()
    assert isinstance(ended.value.code, int)
    return Run(code=ended.value.code, out=captured.out, err=captured.err)


def start(*words: str | Path, before: str = "", **options: Any) -> subprocess.Popen[str]:
    """Start the command in a process of its own; `before` is Python that runs first in it."""
    code = f"{before}\nfrom disputatio.cli.main import main\nmain()"
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    return subprocess.Popen([sys.executable, "-c", code, *map(str, words)], text=True, **streams)


def finish(process: subprocess.Popen[str]) -> Run:
    """Wait for a command that was started."""
    out, err = process.communicate(timeout=60)
    return Run(code=process.returncode, out=out or "", err=err or "")


def write_script(path: Path, script: Mapping[str, Any] = SCRIPT) -> str:
    """Write a script; returns the model's name."""
    path.write_text(json.dumps({words: json.dumps(reply) for words, reply in script.items()}))
    return f"scripted:{path}"


def write_passages(path: Path, passages: list[dict[str, str]] | None = None) -> Path:
    """Write passages as JSON lines."""
    path.write_text("".join(json.dumps(passage) + "\n" for passage in passages or PASSAGES))
    return path


def bind_agents(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the debate our bound one: the script's replies carry quotes, which the paper's agents do not."""
    defaults = madam_rag.__kwdefaults__ or {}
    monkeypatch.setitem(defaults, "bound", True)
