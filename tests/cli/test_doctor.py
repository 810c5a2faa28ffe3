"""`disputatio doctor`: what is broken is named, and nothing is fetched or called."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from disputatio.encoder import model as encoder_model
from tests.llm.fake_server import Asked, FakeServer, Wire, capable, fails, says
from tests.shell import Run, run, write_passages
from tests.train.material import write_model

Capture = pytest.CaptureFixture[str]
OURS = ("--model", "scripted:")


@pytest.fixture(autouse=True)
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DISPUTATIO_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("no_proxy", "*")
    return tmp_path


def doctor(capsys: Capture, *words: str) -> tuple[Run, dict[str, dict[str, str]]]:
    """Return the command's end and its checks by name."""
    done = run(capsys, "doctor", *words, "--json")
    assert done.code == int(not done.json["healthy"]), done.err
    return done, {check["name"]: check for check in done.json["checks"]}


@pytest.mark.long
def test_without_a_language_model_the_trained_encoder_is_needed(
    capsys: Capture, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(encoder_model, "SHIPPED", write_model(workspace / "shipped"))
    _, checks = doctor(capsys, "--model", "none")
    assert checks["model none"]["state"] == "ok"
    assert checks["encoder"]["detail"].startswith("encoder:")
    config = workspace / "disputatio.toml"
    monkeypatch.setenv("DISPUTATIO_CONFIG", str(config))
    config.write_text('encoder = "none"\n')
    checks = doctor(capsys, "--model", "none")[1]
    assert checks["encoder"]["state"] == "broken"
    assert "leave encoder at default" in checks["encoder"]["detail"]
    config.write_text('encoder = "reader"\n')
    assert "an encoder needs" in doctor(capsys, "--model", "none")[1]["encoder"]["detail"]
    config.write_text(f'encoder = "{write_model(workspace / "reader")}"\n')
    assert doctor(capsys, "--model", "none")[1]["encoder"]["detail"].startswith("encoder:")


@contextmanager
def server(status: int, seen: list[Any] | None = None) -> Iterator[str]:
    """Serve on loopback, as a server that answers every request with one status; its base URL."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if seen is not None:
                seen.append((self.path, self.headers.get("Authorization")))
            self.send_response(status)
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as http:
        thread = threading.Thread(target=http.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{http.server_port}/v1"
        finally:
            http.shutdown()
            thread.join()


@pytest.mark.long
def test_a_healthy_setup_exits_with_0(workspace: Path, capsys: Capture) -> None:
    write_passages(workspace / "passages.jsonl")
    assert run(capsys, "ingest", "passages.jsonl", "--embedder", "none").code == 0
    done, checks = doctor(capsys, *OURS)
    assert done.code == 0
    assert checks["index"]["detail"].endswith("4 documents, 4 passages, embedder none")
    assert checks["extra store"]["state"] == "ok"
    assert f"pypdf {metadata.version('pypdf')}" in checks["extra store"]["detail"]
    assert f"uvicorn {metadata.version('uvicorn')}" in checks["extra serve"]["detail"]
    assert checks["disk"]["state"] == "ok"
    assert "endpoint" not in checks
    assert not (workspace / "cache").exists()


@pytest.mark.long
def test_parts_that_are_not_here_yet_are_missing_and_not_broken(workspace: Path, capsys: Capture) -> None:
    _, checks = doctor(capsys, *OURS)
    assert checks["index"]["state"] == "missing"
    assert "make one with: disputatio ingest PATH" in checks["index"]["detail"]
    assert checks["embedder multilingual-e5-small"]["state"] == "missing"
    assert "disputatio model pull multilingual-e5-small" in checks["embedder multilingual-e5-small"]["detail"]


@pytest.mark.long
@pytest.mark.parametrize(
    ("words", "listed"),
    [
        ((), True),
        (("--model", "local:qwen2.5-coder-0.5b"), False),
        (("--role", "reader=scripted:"), False),
        (("--role", "trained_reader=scripted:"), False),
    ],
)
def test_the_trained_reader_is_listed_where_it_reads(
    workspace: Path, capsys: Capture, words: tuple[str, ...], listed: bool
) -> None:
    _, checks = doctor(capsys, *words)
    assert ("model reader-1.5b" in checks) is listed


@pytest.mark.long
def test_a_named_index_that_is_absent_or_no_index_is_broken(workspace: Path, capsys: Capture) -> None:
    done, checks = doctor(capsys, *OURS, "--index", "nowhere")
    assert (done.code, checks["index"]["state"]) == (1, "broken")
    (workspace / "docs").mkdir()
    (workspace / "docs" / "note.txt").write_text("no index")
    for named in ("docs", "s3://our-bucket/town", "a,,b"):
        done, checks = doctor(capsys, *OURS, "--index", named)
        assert (done.code, checks["index"]["state"]) == (1, "broken")


@pytest.mark.long
@pytest.mark.parametrize(("package", "broken"), [("openai", True), ("ray", False)])
def test_a_missing_package_is_broken_only_if_it_is_needed(
    package: str, broken: bool, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    version = metadata.version

    def lacking(name: str) -> str:
        if name == package:
            raise metadata.PackageNotFoundError(name)
        return version(name)

    monkeypatch.setattr("disputatio.cli.doctor.metadata.version", lacking)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1")
    done, checks = doctor(capsys, "--model", "openai:m")
    extra = {"openai": "openai", "ray": "scale"}[package]
    assert checks[f"extra {extra}"]["state"] == ("broken" if broken else "missing")
    assert f"run pip install 'disputatio[{extra}]'" in checks[f"extra {extra}"]["detail"]
    assert done.code == int(broken)


@pytest.mark.long
def test_a_model_of_the_endpoint_needs_a_key_or_an_address(capsys: Capture) -> None:
    done, checks = doctor(capsys, "--model", "openai:m")
    assert (done.code, checks["model m"]["state"]) == (1, "broken")
    assert "OPENAI_API_KEY" in checks["model m"]["detail"]


@pytest.mark.long
def test_a_name_that_is_no_model_is_answered_with_a_name_that_is(capsys: Capture) -> None:
    _, checks = doctor(capsys, "--model", "groq:llama3")
    assert checks["model groq:llama3"]["state"] == "broken"
    assert "write openai:llama3" in checks["model groq:llama3"]["detail"]
    _, checks = doctor(capsys, *OURS, "--role", "judge=local:nope")
    assert checks["model nope"]["state"] == "broken"


@pytest.mark.long
@pytest.mark.parametrize(
    ("status", "state", "words"),
    [
        (200, "ok", "answers"),
        (404, "ok", "answers with 404"),
        (401, "broken", "refuses OPENAI_API_KEY (401)"),
        (503, "broken", "answers with 503"),
    ],
)
def test_the_endpoint_is_asked_for_its_models(
    status: int, state: str, words: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Any] = []
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    with server(status, seen) as url:
        monkeypatch.setenv("OPENAI_BASE_URL", url.replace("//", "//me:hidden@"))
        done, checks = doctor(capsys, "--model", "openai:m")
        assert checks["endpoint"] == {"name": "endpoint", "state": state, "detail": f"{url} {words}"}
    assert seen == [("/v1/models", "Bearer sk-secret")]
    assert "secret" not in done.out + done.err
    assert "hidden" not in done.out + done.err


@pytest.mark.long
def test_an_unreachable_endpoint_is_broken_only_if_it_is_needed(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    with server(200) as url:
        pass
    monkeypatch.setenv("OPENAI_BASE_URL", url)
    done, checks = doctor(capsys, "--model", "openai:m")
    assert (done.code, checks["endpoint"]["state"]) == (1, "broken")
    assert f"{url} cannot be reached" in checks["endpoint"]["detail"]
    done, checks = doctor(capsys, *OURS)
    assert (done.code, checks["endpoint"]["state"]) == (0, "missing")
    monkeypatch.setenv("DISPUTATIO_RERANKER", "openai:bge")
    done, checks = doctor(capsys, *OURS)
    assert (done.code, checks["endpoint"]["state"]) == (1, "broken")
    monkeypatch.setenv("OPENAI_BASE_URL", "file:///etc/passwd")
    assert doctor(capsys, "--model", "openai:m")[1]["endpoint"]["state"] == "broken"


def served(request: Asked) -> Wire:
    """Serve a language model, an embedder and a reranker."""
    if request.path == "/v1/embeddings":
        vectors = [{"index": at, "embedding": [1.0, float(at)]} for at, _ in enumerate(request.body["input"])]
        return Wire(kind="application/json", pieces=[json.dumps({"data": vectors})])
    if request.path == "/v1/rerank":
        texts = enumerate(request.body["documents"])
        results = [{"index": at, "relevance_score": float("ferry" in text)} for at, text in texts]
        return Wire(kind="application/json", pieces=[json.dumps({"results": results})])
    return capable(says("yes", cached=9), top=5)(request)


@pytest.mark.long
def test_what_is_at_a_server_is_called_only_when_that_is_asked_for(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DISPUTATIO_EMBEDDER", "openai:e")
    monkeypatch.setenv("DISPUTATIO_RERANKER", "openai:r")
    words = ("--model", "openai:m", "--role", "judge=openai:j")
    with FakeServer(served) as fake:
        fake.lists = {"/v1/models": {"data": [{"id": "m", "max_model_len": 32768}]}}
        monkeypatch.setenv("OPENAI_BASE_URL", fake.url)
        assert doctor(capsys, *words)[0].code == 0
        assert fake.asked == []
        done, checks = doctor(capsys, *words, "--try")
    assert done.code == 0, "what a server lacks prevents no answer"
    tried = {name.strip(): (check["state"], check["detail"]) for name, check in checks.items()}
    assert tried["try openai:m"][1].startswith("answers: 5 calls, 62 tokens, ")
    assert tried["openai:m listed"] == ("ok", "yes")
    assert tried["openai:m schema"] == ("ok", "replies are held to it")
    assert tried["openai:m log-probabilities"] == ("ok", "of 5 alternatives")
    assert tried["openai:m prefix cache"] == ("ok", "9 of 11 tokens of a repeated prompt")
    assert tried["openai:m thinking"][0] == "ok"
    assert tried["openai:m context"] == ("ok", "32,768 tokens")
    assert tried["openai:j listed"][0] == "missing"
    assert tried["try openai:e"] == ("ok", "embeds: vectors of 2 numbers")
    assert tried["try openai:r"] == ("ok", "reranks: the passage that answers comes first")


@pytest.mark.long
def test_a_context_that_is_too_small_says_how_to_widen_it(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    with FakeServer(capable(says("yes"))) as fake:
        fake.lists = {"/api/ps": {"models": [{"name": "m:latest", "context_length": 4096}]}}
        monkeypatch.setenv("OLLAMA_HOST", fake.url.removesuffix("/v1"))
        _, checks = doctor(capsys, "--model", "ollama:m", "--try")
    context = next(check for name, check in checks.items() if name.endswith("context"))
    assert context["state"] == "missing"
    assert "OLLAMA_CONTEXT_LENGTH=16384 ollama serve" in context["detail"]


@pytest.mark.long
def test_a_trial_that_fails_is_one_line_and_the_others_go_on(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DISPUTATIO_RERANKER", "openai:r")
    with FakeServer([fails(404, "no such route")]) as fake:
        monkeypatch.setenv("OPENAI_BASE_URL", fake.url)
        done, checks = doctor(capsys, "--model", "openai:m", "--try")
    assert done.code == 1
    assert "is there a model 'm'" in checks["try openai:m"]["detail"]
    assert checks["try openai:r"]["state"] == "broken"
    monkeypatch.delenv("DISPUTATIO_RERANKER")
    assert doctor(capsys, *OURS, "--try")[1]["try"]["state"] == "missing"


@pytest.mark.long
@pytest.mark.parametrize(
    ("code", "state", "words"),
    [("pass", "ok", "loads"), ("raise ImportError('libopenvino.so: cannot open')", "broken", "cannot open")],
)
def test_the_engine_is_loaded_in_a_process_of_its_own(
    code: str, state: str, words: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("disputatio.cli.doctor._LOAD_ENGINE", code)
    _, checks = doctor(capsys, "--model", "local:qwen2.5-coder-0.5b")
    assert checks["engine"]["state"] == state
    assert words in checks["engine"]["detail"]
    assert "openvino-genai" in checks["engine"]["detail"]


@pytest.mark.long
def test_a_full_disk_is_broken(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    class Usage:
        free = 1_000_000

    monkeypatch.setattr("disputatio.cli.doctor.shutil.disk_usage", lambda _: Usage())
    done, checks = doctor(capsys, *OURS)
    assert (done.code, checks["disk"]["state"]) == (1, "broken")
    assert "DISPUTATIO_CACHE" in checks["disk"]["detail"]


@pytest.mark.long
def test_a_person_reads_a_line_a_check_in_eighty_columns(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    done = run(capsys, "doctor", *OURS)
    lines = done.out.splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[0].startswith("✓ program")
    assert any(line.startswith("- index") for line in lines)
