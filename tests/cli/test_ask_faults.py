"""Faults are told: on the screen, in the JSON, in the trace and by the exit code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.shell import Run, run, write_passages

Capture = pytest.CaptureFixture[str]

PASSAGES = [
    {"text": "The ferry was built by Ann.", "source": "a.example"},
    {"text": "The ferry was built by Bob.", "source": "b.example"},
    {"text": "The ferry, built by Bob, is red.", "source": "c.example"},
]


def ask(capsys: Capture, folder: Path, broken: tuple[str, ...], *words: str) -> Run:
    """Ask the default strategy; readers of the passages with some words reply with garbage."""
    script: dict[str, Any] = {}
    for passage in PASSAGES:
        text = passage["text"]
        name = "Ann" if "Ann" in text else "Bob"
        reply = json.dumps({"subject": "", "answer": name})
        script[text] = "}{ garbage" if any(word in text for word in broken) else reply
    script[""] = "}{ garbage" if len(broken) == len(PASSAGES) else "no"
    (folder / "script.json").write_text(json.dumps(script))
    file = write_passages(folder / "passages.jsonl", PASSAGES)
    model = f"scripted:{folder / 'script.json'}"
    return run(capsys, "ask", "Who built it?", "--passages", file, "--model", model, *words)


PARTLY = ("by Bob.", "is red")
WHOLLY = ("Ann", *PARTLY)


@pytest.mark.long
def test_passages_that_could_not_be_read_are_told_and_never_agree(capsys: Capture, tmp_path: Path) -> None:
    done = ask(capsys, tmp_path, PARTLY)
    assert done.code == 0
    assert "2 of 3 passages could not be read" in " ".join(done.out.split())
    assert "the passages agree" not in done.out
    trace = tmp_path / "trace.jsonl"
    answer = ask(capsys, tmp_path, PARTLY, "--json", "--trace", str(trace)).json
    assert answer["answers"] == ["Ann"]
    assert answer["read"] == {
        "found": 3,
        "read": 1,
        "failed": 2,
        "set_aside": 0,
        "faults": 2,
        "unsearched": [],
        "late": [],
    }
    assert answer["conflict"]["kind"] == "unresolved"
    assert (answer["certificate"]["owners"], answer["certificate"]["unread"]) == (0, 2)
    assert json.loads(trace.read_text().splitlines()[-1])["read"] == answer["read"]


@pytest.mark.long
@pytest.mark.parametrize("words", [(), ("--json",), ("--stream",), ("--stream", "--json")])
def test_where_no_answer_came_for_faults_the_exit_code_is_3(
    capsys: Capture, tmp_path: Path, words: tuple[str, ...]
) -> None:
    done = ask(capsys, tmp_path, WHOLLY, *words)
    assert done.code == 3
    if not words:
        assert "3 of 3 passages could not be read" in " ".join(done.out.split())


@pytest.mark.long
def test_readable_passages_agree_or_contradict_as_they_do(capsys: Capture, tmp_path: Path) -> None:
    answer = ask(capsys, tmp_path, (), "--json").json
    assert answer["read"]["failed"] == 0
    assert answer["conflict"]["kind"] != "none"
