"""`disputatio serve`: what it says in one line, and how its process starts, ends and dies."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from tests.server.ferry import QUESTION, ferry_index
from tests.shell import run

Capture = pytest.CaptureFixture[str]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--host", "0.0.0.0"], "give a token by --token-file"),
        (["--token", "short"], "at least 20"),
        (["--token-file", "absent"], "cannot be read"),
        (["--port", "70000"], "choose from 0 to 65535"),
        (["--allow-origin", "*"], "write one site"),
        (["--allow-host", "*.example"], "write a name"),
        (["--in-flight", "0"], "at least 1"),
        (["--runs", "absent"], "no such folder"),
        (["--strategy", "disputatoin"], "did you mean 'disputation'"),
        (["--index", "absent"], "disputatio ingest"),
    ],
)
def test_wrong_options_are_reported_in_one_line(
    words: list[str], sentence: str, capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ferry_index(tmp_path)
    given = [*(["--index", "ferry.index"] if "--index" not in words else []), *words]
    done = run(capsys, "serve", "--port", "0", "--model", "scripted:", "--answers", "none", *given)
    assert done.code == 2
    assert sentence in done.err
    assert done.err.count("\n") == 1


def test_a_port_in_use_is_reported(capsys: Capture, tmp_path: Path) -> None:
    ferry_index(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = run(capsys, "serve", "--index", str(tmp_path / "ferry.index"), "--port", port)
    assert (done.code, done.err) == (2, f"disputatio: port {port} is in use: choose another with --port N\n")


@contextmanager
def process(folder: Path, *words: str, **variables: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Start a server in a process of its own over the ferry's index, and its address."""
    index, answers = str(folder / "ferry.index"), str(folder / "answers.sqlite")
    more = ["--index", index, "--port", "0", "--model", "scripted:", "--answers", answers, *words]
    code = "import sys; from disputatio.cli.main import main; sys.argv[0] = 'disputatio'; main()"
    serving = subprocess.Popen(
        [sys.executable, "-c", code, "serve", *more],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "DISPUTATIO_ENCODER": "none", "DISPUTATIO_JOURNAL": "none", **variables},
        cwd=folder,
    )
    assert serving.stderr is not None
    try:
        said = serving.stderr.readline()
        match = re.search(r"http://\S+", said)
        assert match, said + serving.stderr.read()
        yield serving, match[0]
    finally:
        serving.kill()
        serving.wait()
        serving.stderr.close()


@pytest.mark.slow
def test_a_server_that_is_terminated_finishes_its_answers(tmp_path: Path) -> None:
    ferry_index(tmp_path)
    with process(tmp_path) as (serving, url):
        answer = httpx.post(f"{url}/api/ask", json={"question": QUESTION}, timeout=60)
        assert answer.status_code == 200
        serving.send_signal(signal.SIGTERM)
        assert serving.wait(30) == 0


@pytest.mark.slow
def test_answers_outlive_a_server_that_is_killed(tmp_path: Path) -> None:
    ferry_index(tmp_path)
    with process(tmp_path) as (serving, url):
        response = httpx.post(f"{url}/api/ask", json={"question": QUESTION}, timeout=60)
        serving.kill()
        serving.wait()
    assert (tmp_path / "answers.sqlite").stat().st_mode & 0o777 == 0o600
    with process(tmp_path) as (_, url):
        kept = httpx.get(url + response.headers["content-location"])
        assert kept.json() == response.json()


@pytest.mark.slow
def test_a_token_from_the_environment_is_required_and_never_logged(tmp_path: Path) -> None:
    ferry_index(tmp_path)
    token = "canary-0123456789abcdef"
    with process(tmp_path, "--audit", "audit.log", DISPUTATIO_TOKEN=token) as (serving, url):
        assert httpx.get(f"{url}/api/ready").status_code == 401
        headers = {"Authorization": f"Bearer {token}"}
        httpx.post(f"{url}/api/ask", json={"question": QUESTION}, headers=headers, timeout=60)
        metrics = httpx.get(f"{url}/metrics", headers=headers).text
        serving.send_signal(signal.SIGTERM)
        serving.wait(30)
        assert serving.stderr is not None
        said = serving.stderr.read()
    audit = tmp_path / "audit.log"
    assert audit.stat().st_mode & 0o777 == 0o600
    assert QUESTION in audit.read_text(encoding="utf-8")
    assert token not in said + metrics + audit.read_text(encoding="utf-8")
