"""Tests of uploads: every accepted document is there with its own bytes, and nothing that was refused."""

from __future__ import annotations

import os
import random
import shutil
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from disputatio.api.indexing import Index
from disputatio.errors import InputError, StoreError
from disputatio.server.options import Access, Limits, StorageOptions
from disputatio.server.uploads import Uploads, file_name
from tests.server.ferry import Served, ferry, ferry_index, served
from tests.server.test_index import finished

TOKEN = "t" * 32
ROUNDS = int(os.environ.get("DISPUTATIO_UPLOAD_ROUNDS", "200"))


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Served]:
    with serving(tmp_path) as running:
        yield running


def serving(folder: Path, *, token: str = "", limits: Limits | None = None, gigabytes: float = 1.0) -> Any:
    """Serve an index that clients may write to; call it again to start over the same index."""
    keeping = StorageOptions(uploads=folder / "up", upload_bytes=int(gigabytes * (1 << 30)))
    opened = Index.open(folder / "ferry.index", embedder="none") if (folder / "up").exists() else None
    service = ferry(
        folder,
        access=Access(writing=True, token=token),
        keeping=keeping,
        limits=limits,
        index=opened or ferry_index(folder),
    )
    return served(service, token=token)


def post(server: Served, *files: tuple[str, bytes], **fields: str) -> httpx.Response:
    """Upload files in one request."""
    return server.client.post("/api/ingest", files=[("files", file) for file in files], data=fields)


def upload(server: Served, *files: tuple[str, bytes], **fields: str) -> dict[str, Any]:
    """Upload files, and return the job at its end."""
    return finished(server, post(server, *files, **fields).json())


def texts(server: Served) -> dict[str, str]:
    """Return the texts of the index by file, without those that it began with."""
    rows = server.service.require_index().documents()
    return {Path(row.path).name: row.text for row in rows if Path(row.path).parent.name == "up"}


def contents(folder: Path) -> dict[str, bytes]:
    """Return the files of the folder of uploads by name, with what is staged."""
    return {path.name: path.read_bytes() for path in (folder / "up").rglob("*") if path.is_file()}


def kind(response: httpx.Response) -> tuple[int, str]:
    return response.status_code, response.json()["error"]["kind"]


# --- what is refused replaces nothing ---------------------------------------------------------------
def test_an_upload_that_a_running_job_refuses_replaces_nothing(server: Served, tmp_path: Path) -> None:
    upload(server, ("a.txt", b"The first."))
    with held(server):
        assert kind(post(server, ("a.txt", b"I was refused."))) == (409, "Conflicting")
        assert contents(tmp_path) == {"a.txt": b"The first."}
    assert texts(server) == {"a.txt": "The first."}


def held(server: Served) -> Any:
    """Keep a job of the kind running within this context."""
    release = threading.Event()

    class Held:
        def __enter__(self) -> None:
            self.job = server.service.jobs.start("ingest", lambda _: {"refused": [], "x": release.wait(30)})

        def __exit__(self, *_: object) -> None:
            release.set()
            while self.job.state == "running":
                time.sleep(0.005)

    return Held()


def test_a_wrong_option_is_refused_before_a_byte_is_kept(server: Served, tmp_path: Path) -> None:
    upload(server, ("a.txt", b"The first."))
    assert kind(post(server, ("a.txt", b"Wrong."), source_by="nothing")) == (400, "InputError")
    assert contents(tmp_path) == {"a.txt": b"The first."}


def test_an_unreadable_file_replaces_nothing_and_is_not_kept(server: Served, tmp_path: Path) -> None:
    upload(server, ("a.txt", b"The first."))
    job = upload(server, ("a.txt", b""), ("b.pdf", b"no pdf"), ("c.txt", b"The third."))
    assert sorted(refusal["path"] for refusal in job["result"]["refused"]) == ["a.txt", "b.pdf"]
    assert contents(tmp_path) == {"a.txt": b"The first.", "c.txt": b"The third."}
    assert texts(server) == {"a.txt": "The first.", "c.txt": "The third."}


@pytest.mark.long
def test_uploads_of_one_name_at_once_never_change_places(server: Served, tmp_path: Path) -> None:
    def send(letter: str) -> tuple[int, str]:
        content = letter.encode() * 3_000_000
        with httpx.Client(base_url=server.url, timeout=30) as client:
            response = client.post("/api/ingest", files=[("files", ("a.txt", content))])
        if response.status_code == 202:
            assert finished(server, response.json())["state"] == "done"
        return response.status_code, letter

    for _ in range(3):
        with ThreadPoolExecutor(3) as pool:
            ended = list(pool.map(send, "xyz"))
        accepted = [letter for status, letter in ended if status == 202]
        assert {status for status, _ in ended} <= {202, 409}
        content = contents(tmp_path)["a.txt"]
        assert content[:1].decode() in accepted
        assert texts(server)["a.txt"] == content.decode()


def test_a_job_that_fails_puts_back_what_it_replaced(
    server: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    upload(server, ("a.txt", b"The first."))
    with monkeypatch.context() as patched:
        patched.setattr(Index, "ingest", fail)
        assert upload(server, ("a.txt", b"The second."), ("b.txt", b"Another."))["state"] == "failed"
    assert contents(tmp_path) == {"a.txt": b"The first."}
    assert texts(server) == {"a.txt": "The first."}
    assert upload(server, ("a.txt", b"The second."))["result"]["replaced"] == 1
    assert texts(server) == {"a.txt": "The second."}


def fail(*_: object, **__: object) -> None:
    raise StoreError("no")


@pytest.mark.long
@pytest.mark.parametrize("then", ["the next job", "a start"])
def test_a_job_that_cannot_be_undone_now_is_undone_later(
    then: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(tmp_path) as server:
        upload(server, ("a.txt", b"The first."))
        with monkeypatch.context() as patched:  # the disk is full once the first file has been committed
            patched.setattr(Index, "ingest", fail_the_second())
            patched.setattr("disputatio.server.uploads._fingerprints", fail)
            assert upload(server, ("a.txt", b"Refused."), ("b.txt", b"Refused."))["state"] == "failed"
        if then == "the next job":
            upload(server, ("c.txt", b"The third."))
    with serving(tmp_path) as server:
        kept = {"a.txt": "The first.", **({"c.txt": "The third."} if then == "the next job" else {})}
        assert texts(server) == kept
        assert contents(tmp_path) == {name: text.encode() for name, text in kept.items()}


INGEST = Index.ingest


def fail_the_second() -> Any:
    """Return an `Index.ingest` that fails from its second call on."""
    calls: list[Any] = []

    def ingest(*given: Any, **options: Any) -> Any:
        calls.append(given)
        return INGEST(*given, **options) if len(calls) == 1 else fail()

    return ingest


def fail_late(*given: Any, **options: Any) -> None:
    """Fail once the documents are in."""
    INGEST(*given, **options)
    raise StoreError("no")


# --- names ------------------------------------------------------------------------------------------
def test_names_keep_their_letters_and_marks() -> None:
    assert file_name("कि.txt") != file_name("की.txt")
    assert file_name("cafe\u0301.txt") == ("caf\xe9.txt", True)
    long = file_name("中" * 90 + ".txt")[0]
    assert (len(long.encode()) <= 255, long[-5:]) == (True, "中.txt")
    with pytest.raises(InputError):
        file_name("../..")


def test_equal_names_in_one_request_are_kept_apart(server: Served) -> None:
    job = upload(server, ("x/readme.txt", b"One."), ("y/readme.txt", b"Two."), ("readme.txt", b"One."))
    assert job["result"]["added"] == 2
    assert sorted(texts(server).values()) == ["One.", "Two."]
    assert len(set(job["result"]["files"])) == 2


def test_names_that_differ_by_a_mark_alone_are_two_documents(server: Served) -> None:
    upload(server, ("कि.txt", b"One."))
    upload(server, ("की.txt", b"Two."))
    upload(server, ("a?.txt", b"Three."))
    upload(server, ("a*.txt", b"Four."))
    assert sorted(texts(server).values()) == ["Four.", "One.", "Three.", "Two."]


def test_a_name_of_270_bytes_is_taken(server: Served) -> None:
    assert upload(server, ("中" * 90 + ".txt", b"Long."))["result"]["added"] == 1
    assert list(texts(server).values()) == ["Long."]


@pytest.mark.long
def test_with_a_token_no_upload_replaces_another(tmp_path: Path) -> None:
    with serving(tmp_path, token=TOKEN) as server:
        for text in (b"Mine.", b"Yours.", b"Mine."):
            upload(server, ("notes.txt", text))
        assert sorted(texts(server).values()) == ["Mine.", "Yours."]
        assert texts(server)["notes.txt"] == "Mine."


# --- quotas and bounds ------------------------------------------------------------------------------
def test_uploads_beyond_the_quota_are_refused_and_leave_nothing(tmp_path: Path) -> None:
    with serving(tmp_path, gigabytes=1e-3) as server:
        upload(server, ("a.txt", b"The first."))
        assert kind(post(server, ("b.txt", b"small"), ("c.txt", b"x" * 1_100_000))) == (507, "NoRoom")
        assert contents(tmp_path) == {"a.txt": b"The first."}


def test_a_full_disk_is_reported_and_leaves_nothing(
    server: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("disputatio.server.uploads._write", full)
    assert kind(post(server, ("a.txt", b"text"))) == (507, "NoRoom")
    assert contents(tmp_path) == {}


@pytest.mark.parametrize("fields", [{"source_by": "f" * 10_000}, {f"f{number}": "" for number in range(20)}])
def test_form_fields_that_are_no_files_are_few_and_small(server: Served, fields: dict[str, str]) -> None:
    assert post(server, ("a.txt", b"text"), **fields).status_code == 400


def begin(server: Served) -> socket.socket:
    """Begin an upload of 50 kB, and leave it after 40 kB."""
    host, _, port = server.url.removeprefix("http://").partition(":")
    line = socket.create_connection((host, int(port)), timeout=10)
    head = f"POST /api/ingest HTTP/1.1\r\nHost: {host}\r\nContent-Length: 50000\r\n"
    part = '--b\r\nContent-Disposition: form-data; name="files"; filename="a.txt"\r\n\r\n'
    line.sendall(
        f"{head}Content-Type: multipart/form-data; boundary=b\r\n\r\n{part}".encode() + b"x" * 40_000
    )
    return line


@pytest.mark.long
def test_a_body_that_rests_is_cut_however_much_of_it_came(tmp_path: Path) -> None:
    with serving(tmp_path, limits=Limits(rest_seconds=0.3)) as server, begin(server) as line:
        began = time.monotonic()
        assert b"408" in line.recv(1_000)[:20]
        assert time.monotonic() - began < 5


@pytest.mark.long
def test_few_uploads_are_received_at_a_time(tmp_path: Path) -> None:
    with serving(tmp_path, limits=Limits(uploads=1)) as server:
        with begin(server):
            time.sleep(0.2)
            assert kind(post(server, ("a.txt", b"text"))) == (429, "Full")
        time.sleep(0.2)
        assert upload(server, ("a.txt", b"text"))["result"]["added"] == 1


# --- restarts ---------------------------------------------------------------------------------------
def kill(uploads: Uploads | None) -> None:
    """Leave everything as a killed process does: nothing is undone, and its lock is gone."""
    assert uploads is not None
    os.close(uploads._lock)
    uploads._own = None


@pytest.mark.long
def test_a_start_ends_what_a_kill_cut_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(tmp_path) as server:
        upload(server, ("a.txt", b"The first."))
        (tmp_path / "up" / ".b.txt.part").write_bytes(b"of an older version")
        uploads = server.service.uploads
        assert uploads is not None
        with monkeypatch.context() as patched:
            patched.setattr(Index, "ingest", fail)
            patched.setattr(Uploads, "_undo", lambda *_: None)
            upload(server, ("a.txt", b"Cut off."), ("b.txt", b"Cut off, too."))
        kill(uploads)
        assert (tmp_path / "up" / "b.txt").read_bytes() == b"Cut off, too."
    with serving(tmp_path) as server:
        assert contents(tmp_path) == {"a.txt": b"The first."}
        assert texts(server) == {"a.txt": "The first."}


def test_a_start_leaves_alone_what_another_process_is_receiving(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        first = server.service.uploads
        assert first is not None
        with (tmp_path / "x").open("w+b") as content:
            content.write(b"text")
            content.seek(0)
            _, [staged] = first.stage([("a.txt", content)])
        with serving(tmp_path):
            assert staged.path.read_bytes() == b"text"
    assert not staged.path.exists()


# --- interleavings ----------------------------------------------------------------------------------
@pytest.mark.slow
@pytest.mark.parametrize("token", ["", TOKEN], ids=["replacing", "kept apart"])
def test_random_interleavings_lose_and_swap_nothing(
    token: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Set DISPUTATIO_UPLOAD_ROUNDS to run more."""
    for number in range(ROUNDS // 20):
        folder = tmp_path / str(number)
        folder.mkdir()
        interleave(folder, random.Random(number), token, monkeypatch)
        shutil.rmtree(folder)


def interleave(folder: Path, rng: random.Random, token: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run 20 rounds of random requests, deletions, failures and kills; compare after each."""
    kept: dict[str, str] = {}  # the accepted text of each file
    count, tried = 0, list[bytes]()

    def text() -> bytes:
        nonlocal count
        count += 1
        return f"Text number {count}.".encode()

    rounds, step = 0, ""
    while rounds < 20:
        with serving(folder, token=token) as server:
            kept = settled(server, kept, tried, token)
            while rounds < 20:
                rounds += 1
                step = rng.choice(("one", "one", "many", "at once", "refused", "delete", "fail", "kill"))
                names = rng.sample(("a.txt", "b.txt", "ä.txt", "कि.txt", "की.txt"), 2)
                if step == "delete" and kept:
                    gone = rng.choice(sorted(kept))
                    server.service.require_index().delete(paths=[folder / "up" / gone])
                    (folder / "up" / gone).unlink()
                    del kept[gone]
                elif step == "refused":
                    post(server, (names[0], text()), source_by="nothing")
                    upload(server, (names[0], b""), ("c.pdf", b"no pdf"))
                elif step == "at once":
                    accept_at_once(server, names[0], [text() for _ in range(3)], kept)
                elif step in ("fail", "kill"):
                    tried = [text(), text()]
                    with monkeypatch.context() as patched:
                        patched.setattr(Index, "ingest", rng.choice((fail, fail_late)))
                        patched.setattr(Uploads, "_undo", Uploads._undo if step == "fail" else leave)
                        upload(server, *zip(names, tried, strict=True))
                    if step == "kill":
                        break
                    kept = settled(server, kept, tried, token)
                else:
                    files = [(name, text()) for name in (names * 2 if step == "many" else names[:1])]
                    accept(upload(server, *files), [content for _, content in files], kept)
                assert_same(server, folder, kept)
            if step == "kill":
                kill(server.service.uploads)
    with serving(folder, token=token) as server:
        kept = settled(server, kept, tried, token)
        assert_same(server, folder, kept)


def accept(job: dict[str, Any], given: list[bytes], kept: dict[str, str]) -> None:
    """Note what a job accepted."""
    assert (job["state"], job["result"]["refused"]) == ("done", [])
    kept.update(zip(job["result"]["files"], map(bytes.decode, given), strict=True))


def accept_at_once(server: Served, name: str, given: list[bytes], kept: dict[str, str]) -> None:
    """Upload several files of one name at once, and note which were accepted, in their order."""
    with ThreadPoolExecutor(len(given)) as pool:
        replies = list(pool.map(lambda content: post(server, (name, content)), given))
    assert {reply.status_code for reply in replies} <= {202, 409}
    accepted = {reply.json()["id"]: content for reply, content in zip(replies, given, strict=True)
                if reply.status_code == 202}  # fmt: skip
    for job in reversed(server.service.jobs.all()):
        if job.id in accepted:
            accept(finished(server, job.to_dict()), [accepted[job.id]], kept)


def settled(server: Served, kept: dict[str, str], tried: list[bytes], token: str) -> dict[str, str]:
    """Return what is there after a job that was cut off: each file as it was, or as the job had it."""
    now, cut_off = texts(server), {content.decode() for content in tried}
    assert kept.keys() <= now.keys()
    assert all(kept.get(name) == text or text in cut_off for name, text in now.items())
    if token:
        assert kept.items() <= now.items()
    return now


def assert_same(server: Served, folder: Path, kept: dict[str, str]) -> None:
    """Compare the index and the folder with what was accepted."""
    assert texts(server) == kept
    assert contents(folder) == {name: text.encode() for name, text in kept.items()}


def leave(*_: object) -> None:
    """Undo nothing, as a killed process does."""
