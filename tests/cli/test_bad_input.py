"""Wrong words, bad files, faulty endpoints, full disks, closed pipes: one line, the right exit code."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import subprocess
import sys
import time
import tomllib
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from disputatio.llm.connection import Connection
from tests.llm.fake_server import Asked, FakeServer, Wire, capable, chooses, chunk, fails, says
from tests.shell import (
    PASSAGES,
    QUESTION,
    SCRIPT,
    bind_agents,
    finish,
    run,
    start,
    write_passages,
    write_script,
)

Capture = pytest.CaptureFixture[str]
KEY = "sk-secret-1234567890"
LIMITED = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({0}, {0}))"


@pytest.fixture(autouse=True)
def _debate(monkeypatch: pytest.MonkeyPatch) -> None:
    """The debate is asked here, whatever the default: it has roles and options of every kind."""
    monkeypatch.setenv("DISPUTATIO_STRATEGY", "madam_rag")
    bind_agents(monkeypatch)


@pytest.fixture(autouse=True)
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in, with a script and passages."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DISPUTATIO_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("DISPUTATIO_MODEL", write_script(tmp_path / "script.json"))
    write_passages(tmp_path / "passages.jsonl")
    (tmp_path / "broken.pdf").write_bytes(b"%PDF-1.4\n\0broken")
    return tmp_path


# --- wrong words --------------------------------------------------------------------------------
@pytest.mark.long
@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("nope", "No such command 'nope'"),
        ("ask", "Missing argument 'QUESTION'"),
        ("ask q --nope", "No such option: --nope"),
        (
            "ask q --strategy madam-rag",
            "did you mean 'madam_rag'? all are listed by: disputatio strategies\n",
        ),
        ("ask q --strategy no.module:run", "strategy 'no.module:run' cannot be imported"),
        ("ask q --set rounds", "--set 'rounds': write it as key=value"),
        ("ask q --set rounds=", "--set 'rounds=': write it as key=value"),
        ("ask q --set rounds=1 --set rounds=2", "--set rounds: is given twice"),
        ("ask q --set rounds=many", "option rounds: 'many' is not of type int"),
        ("ask q --set aggregator=perhaps", "option aggregator: 'perhaps' is not true or false"),
        ("ask q --set history=peer", "unknown value of history 'peer': did you mean 'peers'?"),
        (
            "ask q --set roundz=2",
            "did you mean 'rounds'? all are listed by: disputatio strategies madam_rag\n",
        ),
        ("ask q --role judge", "--role 'judge': write it as ROLE=MODEL"),
        ("ask q --role judge=local:xyzzy", "unknown language model 'local:xyzzy'"),
        ("ask q --model local:xyzzy", "'local:xyzzy': all are listed by: disputatio model list"),
        ("ask q --model local:qwen2.5-coder-1.5", "did you mean 'local:qwen2.5-coder-1.5b'?"),
        ("ask q --model local:minilm-l6-v2", "minilm-l6-v2 is no language model"),
        ("ask q --model local:./none.gguf", "./none.gguf: no such file or folder"),
        ("ask q --model qwen2.5-coder-1.5b", "write local:qwen2.5-coder-1.5b"),
        ("ask q --model gpt", "model 'gpt': write local:NAME for a model on this machine"),
        ("ask q --model openai:", "model 'openai:': write local:NAME for a model on this machine"),
        ("ask q --model openai:gpt --passages passages.jsonl", "openai:gpt needs OPENAI_API_KEY"),
        ("ask q --model scripted:none.json", "none.json: no such file or directory"),
        ("ask q --model scripted:passages.jsonl", "passages.jsonl: is not a JSON object of replies"),
        ("ask q", "there is nothing to search: give --index DIR or --passages FILE"),
        ("ask q --index none.index", "none.index: there is no index here"),
        ("ask q --index passages.jsonl", "passages.jsonl: is a file, not an index"),
        ("ask q --index .", "is not an index"),
        ("ask q --index none.index --passages passages.jsonl", "give --index or --passages, not both"),
        ("ask q --passages none.jsonl", "none.jsonl: no such file or directory"),
        ("ask q --passages .", ".: is a directory; passages are a file; for a folder: disputatio ingest ."),
        ("ask q --passages broken.pdf", "for a document: disputatio ingest broken.pdf"),
        ("ask q --passages passages.jsonl --map when=x", "is mapped to one of text, title, url"),
        ("ask q --passages passages.jsonl --map text", "write it as field=column"),
        ("ask q --index none.index --text-column body", "give it as --passages FILE"),
        ("ask q --passages passages.jsonl --trace none/trace", "there is no folder"),
        ("ask q --passages passages.jsonl --trace .", "no file can be written there"),
        ("ask q --passages passages.jsonl --journal .", "is a folder, not a journal"),
        (
            "ask q --passages passages.jsonl --journal script.json",
            "script.json: is not a database, and so no journal",
        ),
        ("ask q --passages passages.jsonl --journal none --replay", "--replay needs a journal"),
        ("ingest none", "none: no such file or folder"),
        (
            "ingest passages.jsonl --embedder nope",
            "unknown embedder 'nope': all are listed by: disputatio model list",
        ),
        ("ingest passages.jsonl --embedder qwen2.5-coder-0.5b", "is no embedder"),
        ("ingest passages.jsonl --source-by nope", "sources are told by"),
        ("ingest passages.jsonl --index script.json", "script.json: is a file, not an index"),
        ("model path nope", "unknown model 'nope'"),
        ("model pull qwen2.5-coder", "did you mean 'qwen2.5-coder-"),
        (
            "eval run ramdoc:x --strategy concat --out out",
            "did you mean 'ramdocs'? all are listed by: disputatio eval datasets\n",
        ),
        ("eval report none", "none"),
        (
            "eval run x:y --strategy concat --out out --rubric words",
            "'words' is not one of 'menu', 'release'",
        ),
        ("eval run x:y --strategy concat --out out --estimator ours2", "is not one of 'paper', 'ours'"),
        ("simulate --prior alpha", "'--prior': 'alpha' is not one of 'beta', 'adversary-hammer'"),
        *(
            (f"{command} my.index", "unexpected my.index: an index is named by an option, --index my.index")
            for command in ("index check", "index info", "index compact", "sources", "stale", "serve")
        ),
        ("ask what is this", "unexpected is this: put the words in quotes"),
        ("ask q --after 2024 --before 2021-06", "no day is both after 2024 and before 2021-06"),
        (
            "ask q --passages passages.jsonl --model none --strategy concat",
            "concat needs a language model: give one (model=, --model), or a strategy that reads without",
        ),
        ("doctor my.index", "unexpected my.index"),
        ("index export out.jsonl --what rows", "'--what': 'rows' is not one of 'passages', 'documents'"),
    ],
)
def test_wrong_arguments_are_reported_in_one_line_and_nothing_is_made(
    line: str, message: str, workspace: Path, capsys: Capture
) -> None:
    before = sorted(path.name for path in workspace.iterdir())
    done = run(capsys, *line.split(" "))
    assert done.code == 2
    assert done.out == ""
    assert done.err.count("\n") == 1
    assert done.err.startswith("disputatio: ")
    assert message in done.err
    assert sorted({path.name for path in workspace.iterdir()} - {"cache"}) == before


@pytest.mark.parametrize("question", ["", "  \n", "\udcff"])
def test_an_empty_or_undecodable_question_is_refused(question: str, capsys: Capture) -> None:
    done = run(capsys, "ask", question, "--passages", "passages.jsonl")
    assert (done.code, done.out) == (2, "")
    assert re.fullmatch(r"disputatio: the question is (empty: .*|not UTF-8 text)\n", done.err)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("", "passages.jsonl: has no passages"),
        ('{"title": "Two"}\n', "passages.jsonl:1: has no field 'text' (its fields: title)"),
        ('\n\n{"text": "Thr', "passages.jsonl:3: is not a JSON object"),
        ('{"text": " "}', "passages.jsonl:1: has no text"),
        ("[1]", "passages.jsonl:1: is not a JSON object"),
        ('{"text": "a", "source": ["b"]}', "passages.jsonl:1: 'source' is not text"),
        ('{"text": ""}\n{"text": 1}', "no row can be used; the first: passages.jsonl:1: has no text"),
    ],
)
def test_a_file_without_a_usable_passage_names_its_first_row(
    lines: str, message: str, workspace: Path, capsys: Capture
) -> None:
    (workspace / "passages.jsonl").write_text(lines)
    done = run(capsys, "ask", QUESTION, "--passages", "passages.jsonl", "--json")
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert message in done.err


@pytest.mark.long
def test_a_passage_of_a_hundred_thousand_characters_is_divided(workspace: Path, capsys: Capture) -> None:
    filler = "The weather on the island changes from hour to hour. " * 1_900
    passages = [
        {"text": filler + "The ferry first crossed in 1887. " + filler[:2_000], "source": "long.example"}
    ]
    write_passages(workspace / "passages.jsonl", passages)
    answer = run(capsys, "ask", QUESTION, "--passages", "passages.jsonl", "--json").json
    assert answer["answers"] == ["1887"]
    assert 1 < len(answer["passages"]) <= 24
    assert answer["claims"][0]["citations"][0]["quote"] == "first crossed in 1887"


@pytest.mark.parametrize(
    ("question", "text", "word"),
    [
        ("渡轮何时首航？", "渡轮于 1887年 首航。", "1887年"),
        ("When did the ⛴️ first 🌊 cross? 👨‍👩‍👧", "The ⛴️ first crossed 🎉 in 1887.", "1887"),
        ("متى أبحرت العبارة؟", "أبحرت العبارة أول مرة عام ١٨٨٧", "١٨٨٧"),
    ],
)
def test_questions_in_other_scripts_are_answered(
    question: str, text: str, word: str, workspace: Path, capsys: Capture
) -> None:
    write_passages(workspace / "passages.jsonl", [{"text": text, "source": "a.example"}])
    script = {"You aggregate": {"answers": [word], "explanation": ""}}
    write_script(
        workspace / "script.json", {**script, word: {"answer": word, "explanation": text, "quote": word}}
    )
    done = run(capsys, "ask", question, "--passages", "passages.jsonl", "--json")
    assert done.json["question"] == question
    assert done.json["answers"] == [word]
    assert done.json["claims"][0]["citations"][0]["quote"] == word
    assert word in run(capsys, "ask", question, "--passages", "passages.jsonl").out


def test_a_model_whose_replies_are_never_usable_is_a_fault(workspace: Path, capsys: Capture) -> None:
    script: dict[str, Any] = {**SCRIPT, "You aggregate a debate": "The answer is 1887."}
    write_script(workspace / "script.json", script)
    done = run(capsys, "ask", QUESTION, "--passages", "passages.jsonl", "--trace", "trace.jsonl")
    assert (done.code, done.out, done.err.count("\n")) == (3, "", 1)
    assert "the model's reply was not usable" in done.err
    assert (workspace / "trace.jsonl").read_text().count("\n") > 4  # what led to it can be read


# --- endpoints ----------------------------------------------------------------------------------
def _replies(asked: Asked) -> Wire:
    """Return a model that answers as the script does."""
    if "top_logprobs" in asked.body:
        return chooses(("Yes", -0.1), ("No", -2.5))
    words = json.dumps(asked.body["messages"], ensure_ascii=False)
    return says(next(json.dumps(reply) for part, reply in SCRIPT.items() if part in words))


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    """Endpoints are tried once, with a key that must not be shown."""
    monkeypatch.setattr("disputatio.llm.connection.Connection", partial(Connection, retries=0))
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("DISPUTATIO_MODEL", "openai:m")


HTML = Wire(kind="text/html", pieces=["<html><body>Sign in</body></html>"])


@pytest.mark.long
@pytest.mark.parametrize(
    ("script", "message"),
    [
        ([fails(401, f"bad key {KEY}")], "answered 401"),
        ([fails(404, "no such model")], "is there a model 'm'"),
        ([fails(429, "You exceeded your current quota")], "exhausted"),
        ([fails(500, f"oh {KEY}")], "answered 500"),
        ([HTML], ""),
        ([Wire(silent=True)], ""),
        (capable(HTML), ""),
        (capable(Wire(pieces=[chunk('{"answer'), chunk("s")], cut=True)), ""),
        (capable(Wire(pieces=[chunk('{"answer'), chunk("s")])), ""),
        (capable(says("")), "it is empty"),
        (capable(Wire(pieces=[])), ""),
    ],
)
def test_a_faulty_endpoint_is_one_line_without_the_key(
    script: Any, message: str, endpoint: None, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    with FakeServer(script) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        done = run(capsys, "ask", QUESTION, "--passages", "passages.jsonl", "--trace", "trace.jsonl")
    assert (done.code, done.out, done.err.count("\n")) == (3, "", 1)
    assert message in done.err
    assert "127.0.0.1" in done.err
    assert KEY not in done.err + Path("trace.jsonl").read_text()


def test_an_endpoint_that_is_not_there_is_one_line(
    endpoint: None, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    with FakeServer([]) as server:
        url = server.url
    monkeypatch.setenv("OPENAI_BASE_URL", url)
    done = run(capsys, "ask", QUESTION, "--passages", "passages.jsonl")
    assert (done.code, done.out, done.err.count("\n")) == (3, "", 1)
    assert url in done.err


@pytest.mark.long
def test_an_endpoint_answers_and_its_password_stays_out_of_the_journal(
    endpoint: None, workspace: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    with FakeServer(capable(_replies)) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url.replace("//", "//me:hunter2@"))
        words = ("ask", QUESTION, "--passages", "passages.jsonl", "--json", "--journal", "calls.sqlite")
        done = run(capsys, *words)
        assert (done.code, done.err) == (0, "")
        assert done.json["answers"] == ["1887"]
        assert {citation["verdict"] for citation in done.json["claims"][0]["citations"]} == {"supported"}
    stored = b"".join(path.read_bytes() for path in workspace.glob("calls.sqlite*"))
    assert b"hunter2" not in stored
    assert KEY.encode() not in stored
    assert run(capsys, *words, "--replay").out == done.out


@pytest.mark.long
def test_without_log_probabilities_the_answer_comes_with_its_citations_unjudged(
    endpoint: None, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    with FakeServer(capable(_replies, top=0)) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        words = ("ask", QUESTION, "--passages", "passages.jsonl")
        done = run(capsys, *words, "--json", "--trace", "trace.jsonl")
        quiet = run(capsys, *words, "--no-verify", "--json")
        needed = run(capsys, *words, "--strategy", "tests.cli.test_bad_input:chooses_yes")
    assert done.code == 0
    assert done.json["answers"] == ["1887"]
    assert {citation["verdict"] for citation in done.json["claims"][0]["citations"]} == {"unchecked"}
    assert done.err.count("\n") == 1
    assert done.err.startswith("the citations are not judged: ")
    assert '"unchecked"' in Path("trace.jsonl").read_text()
    assert (quiet.code, quiet.err) == (0, "")
    assert (needed.code, needed.out, needed.err.count("\n")) == (3, "", 1)
    assert "gives no log-probabilities" in needed.err


def chooses_yes(question: str, kit: Any) -> Any:
    """Return a strategy that cannot do without log-probabilities."""
    from disputatio.kit import chat

    return kit.choose("detector", [chat("", question)], ("Yes", "No"))


@pytest.mark.slow
# --- disks, pipes, signals ----------------------------------------------------------------------
def test_a_full_disk_for_the_trace_costs_the_trace_and_not_the_answer(workspace: Path) -> None:
    words = ("ask", QUESTION, "--passages", "passages.jsonl", "--trace", "trace.jsonl", "--trace-text")
    quoting = ("--set", "bound=true")  # as the script does
    done = finish(start(*words, *quoting, "--journal", "none", "--json", before=LIMITED.format(2_000)))
    assert done.code == 3
    assert done.json["answers"] == ["1887"]
    assert done.err == "disputatio: --trace trace.jsonl could not be written: File too large\n"
    assert not list(workspace.glob("trace.jsonl*"))


@pytest.mark.slow
def test_a_full_disk_for_the_index_is_a_fault_outside_and_ingesting_again_goes_on(
    workspace: Path, capsys: Capture
) -> None:
    rows = [{"text": f"The ferry {n} first crossed in 1887. " * 20, "source": f"s{n}"} for n in range(150)]
    write_passages(workspace / "rows.jsonl", rows)
    words = ("ingest", "rows.jsonl", "--index", "rows.index", "--embedder", "none")
    full = finish(start(*words, before=LIMITED.format(20_000)))
    assert (full.code, full.out) == (3, "")
    assert "rows.index" in full.err
    assert full.err.count("\n") == 1
    again = run(capsys, *words, "--json")
    assert again.code == 0, again.err
    assert again.json["added"] + again.json["unchanged"] == 150


@pytest.mark.slow
def test_a_full_disk_for_the_output_is_a_fault_outside() -> None:
    if not os.path.exists("/dev/full"):  # noqa: PTH110 - a device
        pytest.skip("there is no /dev/full")
    with open("/dev/full", "w") as full:  # noqa: PTH123
        done = finish(start("ask", QUESTION, "--passages", "passages.jsonl", stdout=full))
    assert done.code == 3
    assert done.err == "disputatio: the output could not be written: No space left on device\n"


@pytest.mark.slow
def test_a_reader_that_goes_away_is_no_fault() -> None:
    reading, writing = os.pipe()
    words = ("ask", QUESTION, "--passages", "passages.jsonl", "--set", "bound=true")
    process = start(*words, stdout=writing)
    os.close(writing)
    os.close(reading)
    done = finish(process)
    assert (done.code, done.err) == (0, "")


@pytest.mark.long
def test_a_command_without_stdout_and_stderr_does_its_work(workspace: Path) -> None:
    for words, code in [("strategies", 0), ("ask q", 2)]:
        shell = ["sh", "-c", f'exec "$0" -m disputatio {words} >&- 2>&-', sys.executable]
        assert subprocess.run(shell, check=False, timeout=60).returncode == code


def test_stdout_that_is_not_utf_8_gets_json_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    from disputatio.cli.screen import write, write_json

    raw = io.BytesIO()
    with io.TextIOWrapper(raw, encoding="ascii") as stdout:
        monkeypatch.setattr("sys.stdout", stdout)
        write_json({"question": "渡轮?", "half": "\ud83d", "control": "\x9b"})
        write("渡轮 1887 ✓\n")
        stdout.flush()
        first, second = raw.getvalue().decode("ascii").splitlines()
    assert json.loads(first) == {"question": "渡轮?", "half": "\ud83d", "control": "\x9b"}
    assert second == "?? 1887 ?"


@pytest.mark.slow
def test_ctrl_c_ends_with_130_and_leaves_nothing_half_written(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DISPUTATIO_MODEL", "openai:m")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    raise_on_sigint = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    with FakeServer([Wire(delay=60.0)]) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        words = ("ask", QUESTION, "--passages", "passages.jsonl", "--trace", "trace.jsonl")
        process = start(*words, before=raise_on_sigint)
        until = time.monotonic() + 30
        while not server.asked and time.monotonic() < until:
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        done = finish(process)
    assert (done.code, done.out, done.err) == (130, "", "disputatio: stopped\n")
    assert not list(workspace.glob("*.part"))
    for line in (workspace / "trace.jsonl").read_text().splitlines():
        json.loads(line)


def test_progress_and_colour_are_for_terminals_only(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR")
    done = run(capsys, "ask", QUESTION, "--passages", "passages.jsonl")
    assert done.err == ""
    assert "\x1b" not in done.out
    assert PASSAGES[0]["source"] in done.out


@pytest.mark.long
def test_ctrl_c_while_modules_are_loaded_ends_with_130_and_no_traceback() -> None:
    pyproject = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))
    module, _, function = pyproject["project"]["scripts"]["disputatio"].partition(":")
    code = f"""
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
class Interrupt:
    def find_spec(self, name, *_):
        if name == "disputatio.cli.screen":
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupt())
from {module} import {function}
{function}()
"""
    done = subprocess.run([sys.executable, "-c", code, "--help"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "disputatio: stopped\n")
