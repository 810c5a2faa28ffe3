"""Data sets by a hub's name: fetched from a loopback hub, and without a network said in one line."""

from __future__ import annotations

import hashlib
import json
import os
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import pytest
from huggingface_hub import constants

from disputatio.errors import DownloadError, InputError
from disputatio.eval.data import hub
from disputatio.eval.data.datasets import identify, load
from tests.eval.data.formats.published import NQ_OPEN, RAMDOCS

COMMIT = "1" * 40
FILES = {
    "RAMDocs_test.jsonl": (json.dumps(RAMDOCS) + "\n").encode() * 2,
    "README.md": b"# rows",
    "qrels/test.tsv": b"query-id\tcorpus-id\tscore\nq1\td1\t1\n",
    "queries.jsonl": b'{"_id": "q1", "text": "bridges"}\n',
}


class _Hub(BaseHTTPRequestHandler):
    """As much of the hub as its client asks: what a repository holds, and its files."""

    asked: ClassVar[list[str]]

    def do_HEAD(self) -> None:
        self._answer(body=False)

    def do_GET(self) -> None:
        self._answer(body=True)

    def _answer(self, *, body: bool) -> None:
        self.asked.append(f"{self.command} {self.path}")
        path = self.path.partition("?")[0]
        if path.startswith("/api/datasets/fen/bridges/tree/"):
            listed = [{"type": "file", "path": one, "size": 1, "oid": COMMIT} for one in FILES]
            content, kind = json.dumps(listed).encode(), "application/json"
        else:
            _, _, file = path.partition("/datasets/fen/bridges/resolve/")
            content = FILES.get(file.partition("/")[2], b"")
            kind = "application/octet-stream"
        self.send_response(200 if content else 404)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("ETag", f'"{hashlib.sha1(content).hexdigest()}"')
        self.send_header("X-Repo-Commit", COMMIT)
        if not content:
            self.send_header("X-Error-Code", "RepoNotFound" if "fen/bridges" not in path else "EntryNotFound")
        self.end_headers()
        if body:
            self.wfile.write(content)

    def log_request(self, code: object = "-", size: object = "-") -> None:
        """Log nothing on stderr."""


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[list[str]]:
    """A hub on loopback, with an empty cache; what it was asked."""
    _Hub.asked = []
    with ThreadingHTTPServer(("127.0.0.1", 0), _Hub) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
        monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
        monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
        hub.fetch_file.cache_clear()
        yield _Hub.asked
        server.shutdown()
        thread.join()
    hub.fetch_file.cache_clear()


@pytest.mark.long
def test_a_file_of_a_hub_is_fetched_once_and_named_by_its_repository(asked: list[str]) -> None:
    spec = "ramdocs:hf:fen/bridges/RAMDocs_test.jsonl"
    examples = load(spec)
    assert [e.question for e in examples] == [RAMDOCS["question"]] * 2
    assert examples[0].metadata["dataset"] == spec
    found = identify(spec)
    assert found.name == spec
    assert found.sha256 == hashlib.sha256(FILES["RAMDocs_test.jsonl"]).hexdigest()
    assert sum(line.startswith("GET /datasets/") for line in asked) == 1


@pytest.mark.long
def test_a_repository_stands_for_the_files_that_its_format_knows(asked: list[str]) -> None:
    (example,) = load("beir:hf:fen/bridges#test")
    assert example.question == "bridges"
    assert example.metadata["relevant"] == {"d1": 1}  # of the judgements beside it
    with pytest.raises(InputError, match=r"name the file, as in hf:fen/bridges/RAMDocs_test\.jsonl"):
        load("nq_open:hf:fen/bridges")


def test_what_the_hub_does_not_have_is_said_in_one_line(asked: list[str]) -> None:
    for spec, why in (
        ("ramdocs:hf:fen/nothing/rows.jsonl", "has no data set of this name, or asks for a token"),
        ("ramdocs:hf:fen/bridges/none.jsonl", "has no such file there"),
    ):
        with pytest.raises(DownloadError) as caught:
            load(spec)
        name = spec.partition(":")[2]
        told = f"{name}: {os.environ['HF_ENDPOINT']} {why}: fetch the file by hand and give its path instead"
        assert str(caught.value) == told


@pytest.mark.long
def test_without_a_network_the_name_and_what_to_do_are_said_in_one_line(
    asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")  # nobody listens there
    monkeypatch.setattr(time, "sleep", lambda seconds: None)  # the hub's client tries several times
    for spec in ("nq_open:hf:fen/bridges/rows.jsonl", "nq_open:hf:fen/bridges"):
        with pytest.raises(DownloadError, match="9 cannot be reached, and it is not in the cache") as caught:
            load(spec)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["hf:", "hf:bridges", "hf:fen/bridges/../x", "hf:../x/y", "hf:fen/br idges"])
def test_a_name_that_means_nothing_is_an_input_error(name: str) -> None:
    with pytest.raises(InputError, match="write hf:OWNER/NAME or hf:OWNER/NAME/FILE"):
        load(f"nq_open:{name}")


def test_a_local_file_needs_no_client_of_a_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> Path:
        raise AssertionError("a hub was asked")

    monkeypatch.setattr("disputatio.eval.data.datasets.fetch_file", refused)
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(NQ_OPEN), encoding="utf-8")
    assert len(load(f"nq_open:{path}")) == 1
