"""Keys and queries of the user never leave for a host that a stranger's folder or index chose."""

from __future__ import annotations

import json
import shlex
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

import disputatio
from disputatio.errors import ConfigError
from disputatio.store.allowed import file_of_user
from disputatio.store.folder_index import FolderIndex
from disputatio.types import Passage
from tests.llm.fake_server import Asked, FakeServer, Wire
from tests.shell import run
from tests.store.hashing import HashEmbedder
from tests.store.loopback import listening

Capture = pytest.CaptureFixture[str]
KEYS = ("OPENAI_API_KEY", "QDRANT_API_KEY", "MILVUS_TOKEN", "PGPASSWORD", "HF_TOKEN")
COMMANDS = {
    "ask": "ask 'my secret question' --model none",
    "search": "search 'my secret question'",
    "ingest": "ingest mine.txt",
    "ingest none": "ingest mine.txt --embedder none",
    "sources": "sources",
    "calibrate": "calibrate --model none --questions questions.txt",
    "serve": "serve --model none --port 0",
    "mcp": "mcp --model none",
    "info": "index info",
    "delete": "index delete --source s",
}


class Stranger:
    """A port of a stranger that takes what is sent, and answers nothing that helps."""

    def __init__(self) -> None:
        self.port = 0
        self.sent: list[bytes] = []

    def play(self, line: socket.socket) -> None:
        line.settimeout(0.5)
        try:
            self.sent.append(line.recv(1 << 16))
        except OSError:
            self.sent.append(b"")


@pytest.fixture
def stranger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stranger]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DISPUTATIO_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "settings"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    for name in KEYS:
        monkeypatch.setenv(name, f"canary-{name}")
    Path("mine.txt").write_text("The key lies under the mat.")
    Path("questions.txt").write_text("When did the ferry first cross?\n")
    there = Stranger()
    with listening(there.play) as there.port:
        monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{there.port}/v1")
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{there.port}")
        yield there


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    "line",
    [
        'index = "qdrant://127.0.0.1:PORT/town"',
        'index = "milvus://127.0.0.1:PORT/town"',
        'index = "postgresql://reader@127.0.0.1:PORT/town?connect_timeout=2"',
        'index = "stranger.index,postgresql://reader@127.0.0.1:PORT/town"',
        'model = "openai:spy"',
        'model = "local:stranger/model"',
        'embedder = "openai:spy"',
        'embedder = "stranger/model"',
        'OPENAI_BASE_URL = "http://127.0.0.1:PORT/v1"',
    ],
)
def test_a_found_file_sends_nothing_to_a_stranger(
    stranger: Stranger, line: str, command: str, capsys: Capture
) -> None:
    Path("disputatio.toml").write_text(line.replace("PORT", str(stranger.port)))
    name = line.partition(" ")[0]
    words = shlex.split(COMMANDS[command])
    if name in ("model", "embedder") and f"--{name}" in words:
        first = words.index(f"--{name}")  # a flag overrules the file
        del words[first : first + 2]
    done = run(capsys, *words)
    assert (done.code, stranger.sent) == (2, [])
    assert name in done.err
    assert len(done.err.splitlines()) == 1


@pytest.mark.parametrize("command", sorted(set(COMMANDS) - {"ingest"}))
@pytest.mark.parametrize("text", ["", "a note"])
def test_a_found_file_makes_no_journal_of_another_file(
    stranger: Stranger, text: str, command: str, capsys: Capture
) -> None:
    Path("disputatio.toml").write_text('journal = "notes.txt"')
    notes = Path("notes.txt")
    notes.write_text(text)
    notes.chmod(0o644)
    done = run(capsys, *shlex.split(COMMANDS[command]))
    assert done.code == (0 if command == "ingest none" else 2)  # an ingest has no journal
    assert (notes.read_text(), notes.stat().st_mode & 0o777, stranger.sent) == (text, 0o644, [])


def _stranger_index(folder: str = "disputatio.index") -> None:
    index = FolderIndex.open(folder, embedder=HashEmbedder("openai:spy"))
    index.add(
        [
            Passage(text="The ferry first crossed in 1887.", source="museum.example"),
            Passage(text="The ferry first crossed in 1901.", source="almanac.example"),
        ]
    )


@pytest.mark.parametrize("command", sorted(set(COMMANDS) - {"ingest none"}))
def test_an_index_of_a_stranger_sends_nothing_until_it_is_trusted(
    stranger: Stranger, command: str, capsys: Capture
) -> None:
    _stranger_index()
    done = run(capsys, *shlex.split(COMMANDS[command]))
    assert stranger.sent == []
    if command in ("ask", "search", "ingest", "calibrate", "serve", "mcp"):
        assert done.code == 2
        assert "disputatio index trust disputatio.index" in done.err


def test_python_and_several_indexes_are_held_to_the_same(stranger: Stranger, capsys: Capture) -> None:
    _stranger_index()
    _stranger_index("other.index")
    with pytest.raises(ConfigError, match="disputatio index trust"):
        disputatio.Index.open("disputatio.index")
    with pytest.raises(ConfigError, match="disputatio index trust"):
        disputatio.ask("my secret question", index="disputatio.index", model="none")
    done = run(capsys, "search", "my secret question", "--index", "disputatio.index,other.index")
    assert (done.code, stranger.sent) == (2, [])


# --- what the user allows --------------------------------------------------------------------------
def _embeddings(asked: Asked) -> Wire:
    vectors = [{"index": at, "embedding": [1.0] * 32} for at in range(len(asked.body["input"]))]
    return Wire(kind="application/json", pieces=[json.dumps({"data": vectors})])


@pytest.mark.long
def test_an_index_that_was_trusted_is_searched_by_meaning_where_it_lies(
    stranger: Stranger, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    _stranger_index()
    allowed = run(capsys, "index", "trust", "disputatio.index")
    assert (allowed.code, allowed.out) == (0, "disputatio.index: may use openai:spy\n")
    assert file_of_user().stat().st_mode & 0o777 == 0o600
    assert not list(Path("disputatio.index").rglob("*trust*"))
    with FakeServer(_embeddings) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        assert run(capsys, "search", "ferry").code == 0
        assert len(server.asked) == 1
        Path("disputatio.index").rename("moved.index")
        assert run(capsys, "search", "ferry", "--index", "moved.index").code == 2
        assert len(server.asked) == 1


def test_an_index_of_the_users_own_is_trusted_as_it_is_made(
    stranger: Stranger, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    with FakeServer(_embeddings) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        assert run(capsys, "ingest", "mine.txt", "--embedder", "openai:spy").code == 0
        assert run(capsys, "search", "the key").code == 0
        run(capsys, "ingest", "mine.txt", "--index", "two.index", "--embedder", "none")
        assert run(capsys, "index", "reembed", "openai:spy", "--index", "two.index").code == 0
        assert run(capsys, "search", "the key", "--index", "two.index").code == 0


@pytest.mark.parametrize("where", ["flag", "variable", "named file"])
def test_an_embedder_on_a_server_that_the_user_chose_needs_no_more(
    stranger: Stranger, capsys: Capture, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    _stranger_index()
    if where == "variable":
        monkeypatch.setenv("DISPUTATIO_EMBEDDER", "openai:spy")
    elif where == "named file":
        Path("disputatio.toml").write_text('embedder = "openai:spy"')
        monkeypatch.setenv("DISPUTATIO_CONFIG", "disputatio.toml")
    flag = ["--embedder", "openai:spy"] if where == "flag" else []
    with FakeServer(_embeddings) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        assert run(capsys, "ingest", "mine.txt", *flag).code == 0
        assert server.asked


def test_trust_of_what_needs_none_says_so(stranger: Stranger, capsys: Capture) -> None:
    run(capsys, "ingest", "mine.txt", "--embedder", "none")
    assert "nothing to allow" in run(capsys, "index", "trust", "disputatio.index").out
    assert run(capsys, "index", "trust", "nowhere.index").code == 2
    assert not file_of_user().exists()
