"""`disputatio ask --stream`: events as lines and as JSON, pipes, hostile text, and Ctrl-C."""

from __future__ import annotations

import json
import os
import re
import signal
import time
from pathlib import Path

import pytest

from disputatio.cli import screen
from tests.llm.fake_server import FakeServer, Wire
from tests.shell import (
    PASSAGES,
    QUESTION,
    SCRIPT,
    Run,
    bind_agents,
    finish,
    run,
    start,
    write_passages,
    write_script,
)

Capture = pytest.CaptureFixture[str]
WORDS = ("ask", QUESTION, "--passages", "passages.jsonl", "--stream")


@pytest.fixture(autouse=True)
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in, with a script and passages; the debate is asked, for it has rounds."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DISPUTATIO_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "300")
    monkeypatch.setenv("DISPUTATIO_STRATEGY", "madam_rag")
    bind_agents(monkeypatch)
    monkeypatch.setenv("DISPUTATIO_MODEL", write_script(tmp_path / "script.json"))
    write_passages(tmp_path / "passages.jsonl")
    return tmp_path


def events(done: Run) -> list[dict[str, object]]:
    return [json.loads(line) for line in done.out.splitlines()]


def test_the_events_come_before_the_answer_as_it_is_usually_printed(capsys: Capture) -> None:
    done, usual = run(capsys, *WORDS), run(capsys, *WORDS[:-1])
    assert (done.code, done.err) == (0, "")
    progress, _, answer = done.out.partition("\n\n")
    assert answer == usual.out
    lines = progress.splitlines()
    assert lines[0] == f"strategy    madam_rag · scripted:{Path('script.json').resolve()}"
    assert lines[1].startswith("found       4 passages of museum.example, almanac.example, ")
    assert lines[2].startswith("evidence    ")
    said = [line.partition(" · ")[0] for line in lines]
    assert "read 1/4    museum.example: 1887" in said
    assert "read 4/4    farm.example: no answer" in said
    assert "call        aggregator 1/1: 1887" in said
    assert re.search(r" · [\d,]+ tokens, \d+ s so far", progress)
    assert "round 2     over, and the last" in lines


def test_each_event_is_a_line_of_json_and_the_answer_and_its_cost_come_last(capsys: Capture) -> None:
    done, usual = run(capsys, *WORDS, "--json"), run(capsys, *WORDS[:-1], "--json")
    assert (done.code, done.err) == (0, "")
    seen = events(done)
    kinds = list(dict.fromkeys(event["event"] for event in seen))
    assert kinds[:4] == ["started", "found", "evidence", "read"]
    assert set(kinds) == {
        *("started", "found", "evidence", "read", "side", "round", "claim", "answer", "cost")
    }
    assert [event["event"] for event in seen[-2:]] == ["answer", "cost"]
    assert seen[-2]["answer"] == usual.json
    assert seen[-1]["usage"] == usual.json["usage"]
    first = next(event for event in seen if event["event"] == "read")
    assert json.loads(str(first["reply"])) == SCRIPT["in 1887"]


@pytest.mark.long
def test_the_default_strategy_shows_its_sides(capsys: Capture) -> None:
    script = {
        words: {"subject": "", "answer": reply["answer"]}
        for words, reply in SCRIPT.items()
        if "answer" in reply
    }
    write_script(Path("script.json"), script)
    done = run(capsys, *WORDS, "--strategy", "disputation")
    votes = r"^so far +1887 \(2 votes\), 1901 \(1 vote\)"
    assert re.search(votes, done.out, re.MULTILINE)
    assert re.search(
        r"^side +1887 — The ferry \(2 passages of museum.example, almanac.example", done.out, re.MULTILINE
    )
    assert re.search(r"^side +1901 \(1 passage of a-very", done.out, re.MULTILINE)


def test_eighty_columns_hold_and_nothing_is_coloured_off_a_terminal(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("NO_COLOR", raising=False)
    done = run(capsys, *WORDS)
    assert max(map(len, done.out.splitlines())) <= 80
    assert "\x1b" not in done.out + done.err


@pytest.mark.long
def test_no_text_of_a_document_or_of_a_model_can_steer_the_terminal(capsys: Capture) -> None:
    nasty = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202egnp\r\nread 9/9  forged: 1901"
    write_passages(Path("passages.jsonl"), [{**PASSAGES[0], "source": f"museum{nasty}", "id": f"p{nasty}"}])
    script = {words: dict(reply) for words, reply in SCRIPT.items()}
    script["in 1887"]["answer"] = f"1887{nasty} [blink]"
    write_script(Path("script.json"), script)
    for words in (WORDS, (*WORDS, "--json"), (*WORDS, "--strategy", "disputation")):
        done = run(capsys, *words)
        assert done.code == (3 if "disputation" in words else 0)  # to it every reply of the script is a fault
        for bad in "\x1b\x07\x9b\u202e\r":
            assert bad not in done.out + done.err
        assert not re.search(r"^read 9/9", done.out, re.MULTILINE)


def test_the_trace_of_a_stream_keeps_text_only_where_that_was_asked_for(capsys: Capture) -> None:
    run(capsys, *WORDS, "--trace", "trace.jsonl")
    assert "Sheep" not in Path("trace.jsonl").read_text()
    run(capsys, *WORDS, "--trace", "trace.jsonl", "--trace-text")
    assert "Sheep" in Path("trace.jsonl").read_text()


def test_strict_and_faults_end_a_stream_as_they_end_an_answer(capsys: Capture) -> None:
    write_script(Path("script.json"), {"": SCRIPT[""]})
    strict = run(capsys, *WORDS, "--strict", "--json")
    assert strict.code == 1
    assert events(strict)[-1]["event"] == "cost"
    write_script(Path("script.json"), {**SCRIPT, "You aggregate a debate": {"answers": "1887"}})
    fault = run(capsys, *WORDS)
    assert (fault.code, fault.err.count("\n")) == (3, 1)
    assert "the model's reply was not usable" in fault.err
    assert run(capsys, *WORDS, "--no-verify", "--strict").code == 2


def test_a_reader_that_goes_away_ends_the_question(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[str] = []

    def write_once(text: str) -> bool:
        written.append(text)
        return False

    monkeypatch.setattr(screen, "write", write_once)
    done = run(capsys, *WORDS)
    assert (done.code, done.out, done.err, len(written)) == (0, "", "", 1)


@pytest.mark.slow
def test_a_pipe_gets_each_event_when_it_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    with FakeServer([Wire(delay=60.0)]) as server:
        monkeypatch.setenv("DISPUTATIO_MODEL", "openai:m")
        monkeypatch.setenv("OPENAI_API_KEY", "sk-none")
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        process = start(
            *WORDS, "--json", before="import signal; signal.signal(2, signal.default_int_handler)"
        )
        assert process.stdout is not None
        kinds = [json.loads(process.stdout.readline())["event"] for _ in range(3)]
        assert kinds == ["started", "found", "evidence"]  # while the model is still thinking
        until = time.monotonic() + 30
        while not server.asked and time.monotonic() < until:
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        done = finish(process)
    assert (done.code, done.out, done.err) == (130, "", "disputatio: stopped\n")


@pytest.mark.slow
def test_ctrl_c_leaves_no_engine_running(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stand in for the engine in a process: it reports that it is ready and never answers."""
    (workspace / "model.gguf").write_bytes(b"GGUF")
    (workspace / "engine.py").write_text(
        "import os, sys, time\n"
        "open('engine.pid', 'w').write(str(os.getpid()))\n"
        "print('{\"id\": 0}', flush=True)\n"
        "time.sleep(120)\n"
    )
    monkeypatch.setenv("DISPUTATIO_MODEL", "local:./model.gguf")
    before = (
        "import signal; signal.signal(2, signal.default_int_handler)\n"
        "from disputatio.llm import local\n"
        "local._COMMAND = ('engine.py',)\n"
        "local.engine_name = lambda: 'none'"
    )
    process = start(*WORDS, before=before)
    until = time.monotonic() + 30
    while not (workspace / "engine.pid").exists() and time.monotonic() < until:
        time.sleep(0.02)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    done = finish(process)
    assert (done.code, done.err.splitlines()[-1]) == (130, "disputatio: stopped")
    with pytest.raises(ProcessLookupError):
        os.kill(int((workspace / "engine.pid").read_text()), 0)
