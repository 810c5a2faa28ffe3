"""Answers that are kept: for the user alone, for some days, and not too many."""

from __future__ import annotations

import errno
import os
import resource
import signal
import sqlite3
import time
import zlib
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from disputatio.errors import DamagedFile, StoreError
from disputatio.server.answer_store import AnswerStore
from disputatio.server.audit_log import AuditLog
from disputatio.server.faults import NotFound, fault_of
from disputatio.server.options import Access, StorageOptions
from disputatio.types import Answer
from tests.server.ferry import ferry, served

ANSWER = Answer(question="Who?", answers=("Ada",), strategy="concat")


def test_an_answer_comes_back_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "answers.sqlite"
    store = AnswerStore(path)
    store.keep("a1", ANSWER)
    assert store.answer("a1") == ANSWER
    store.close()
    again = AnswerStore(path)
    assert again.json("a1") == ANSWER.to_json()
    again.close()


def test_the_file_is_for_the_user_alone_even_where_it_was_not(tmp_path: Path) -> None:
    path = tmp_path / "answers.sqlite"
    path.touch(0o644)
    store = AnswerStore(path)
    assert path.stat().st_mode & 0o777 == 0o600
    store.keep("a1", ANSWER)
    for file in tmp_path.iterdir():
        assert file.stat().st_mode & 0o077 == 0, file.name
    store.close()


def test_answers_that_are_too_old_are_not_given_and_go(tmp_path: Path) -> None:
    store = AnswerStore(tmp_path / "answers.sqlite", days=1)
    store.keep("old", ANSWER)
    with sqlite3.connect(tmp_path / "answers.sqlite") as other:
        other.execute("UPDATE answers SET at = at - 90000")
    other.close()
    with pytest.raises(NotFound):
        store.json("old")
    store.keep("new", ANSWER)
    assert store.count() == 1
    store.close()


def test_the_oldest_answers_go_when_there_are_too_many() -> None:
    store = AnswerStore(None, most=2)
    for name in ("a", "b", "c"):
        store.keep(name, ANSWER)
    assert store.count() == 2
    with pytest.raises(NotFound, match="'a'"):
        store.json("a")
    store.close()


def test_a_link_in_the_place_of_the_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "victim").write_text("mine")
    (tmp_path / "answers.sqlite").symlink_to(tmp_path / "victim")
    with pytest.raises(StoreError):
        AnswerStore(tmp_path / "answers.sqlite")
    (tmp_path / "audit.log").symlink_to(tmp_path / "victim")
    with pytest.raises(StoreError):
        AuditLog(tmp_path / "audit.log")
    assert (tmp_path / "victim").read_text() == "mine"


def test_a_file_that_is_no_store_is_said(tmp_path: Path) -> None:
    (tmp_path / "answers.sqlite").write_bytes(b"no database at all" * 100)
    with pytest.raises(StoreError, match="is not a database"):
        AnswerStore(tmp_path / "answers.sqlite")


def test_a_line_of_the_audit_log_is_one_line_whatever_was_asked(tmp_path: Path) -> None:
    log = AuditLog(tmp_path / "audit.log")
    log.write("asked", question="a\nb\u2028\u202ec\x1b[31m")
    log.close()
    text = (tmp_path / "audit.log").read_text(encoding="utf-8")
    assert text.count("\n") == 1
    assert not any(mark in text for mark in ("\x1b", "\u2028", "\u202e"))


@pytest.mark.parametrize(
    "body",
    [
        b"no zlib",
        zlib.compress(b'{"question": "Who?"')[:-3],
        zlib.compress(b"no JSON"),
        zlib.compress(b"[1]"),
        zlib.compress(bytes(65 << 20)),
        "text",
        None,
    ],
)
def test_a_damaged_answer_is_a_typed_fault_and_the_others_are_read(tmp_path: Path, body: object) -> None:
    store = AnswerStore(tmp_path / "answers.sqlite")
    for name in ("a1", "a2"):
        store.keep(name, ANSWER)
    with closing(sqlite3.connect(tmp_path / "answers.sqlite")) as other:
        other.execute("UPDATE answers SET answer = coalesce(?, 7) WHERE id = 'a1'", (body,))
        other.commit()
    for read in (store.json, store.answer):
        with pytest.raises(DamagedFile, match="is damaged at the answer 'a1'") as caught:
            read("a1")
        assert fault_of(caught.value).status == 503
    assert store.answer("a2") == ANSWER
    store.close()


def test_an_answer_of_another_shape_is_damage_too(tmp_path: Path) -> None:
    store = AnswerStore(tmp_path / "answers.sqlite")
    store.keep("a1", ANSWER)
    with closing(sqlite3.connect(tmp_path / "answers.sqlite")) as other:
        other.execute("UPDATE answers SET answer = ?", (zlib.compress(b'{"answers": 7}'),))
        other.commit()
    with pytest.raises(DamagedFile):
        store.answer("a1")
    store.close()


def test_a_line_that_the_disk_has_no_room_for_leaves_none(tmp_path: Path) -> None:
    log = AuditLog(tmp_path / "audit.log")
    log.write("asked", question="first")
    before = (tmp_path / "audit.log").read_bytes()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 10, hard))
    try:
        with pytest.raises(StoreError, match="no question is asked without it"):
            log.write("asked", question="second")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, ignored)
    assert (tmp_path / "audit.log").read_bytes() == before
    log.write("asked", question="third")
    log.close()
    assert (tmp_path / "audit.log").read_text(encoding="utf-8").count("\n") == 2


def test_a_question_that_cannot_be_logged_is_not_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = ferry(tmp_path, keeping=StorageOptions(audit=tmp_path / "audit.log"))
    assert service.audit is not None
    write, full = service.audit.write, ["asked"]

    def fail(what: str, **fields: object) -> None:
        if what in full:
            raise StoreError("the audit log cannot be written") from OSError(errno.ENOSPC, "No space left")
        write(what, **fields)

    monkeypatch.setattr(service.audit, "write", fail)
    with served(service) as server:
        refused = server.ask()
        assert (refused.status_code, "audit log" in refused.text) == (507, True)
        time.sleep(0.2)
        assert service.kit.model.calls == []  # type: ignore[attr-defined]
        assert service.answers.count() == 0
        full[:] = ["ended"]
        assert server.ask().status_code == 200  # what was asked and paid for is given


def test_an_audit_log_over_something_else_is_refused_and_leaves_it_alone(tmp_path: Path) -> None:
    notes = tmp_path / "notes.txt"
    notes.write_text("buy bread\n")
    notes.chmod(0o644)
    with pytest.raises(StoreError, match=r"notes\.txt: is no audit log"):
        AuditLog(notes)
    assert (notes.read_text(), notes.stat().st_mode & 0o777) == ("buy bread\n", 0o644)
    log = AuditLog(tmp_path / "audit.log")
    log.write("asked", question="Who?")
    log.close()
    (tmp_path / "audit.log").chmod(0o644)
    AuditLog(tmp_path / "audit.log").close()
    assert (tmp_path / "audit.log").stat().st_mode & 0o777 == 0o600
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(StoreError, match="pipe"):
        AuditLog(tmp_path / "pipe")


def test_a_store_of_answers_that_was_full_for_a_moment_holds_no_lock_and_goes_on(tmp_path: Path) -> None:
    store = AnswerStore(tmp_path / "answers.sqlite")
    store.keep("a1", ANSWER)
    [pages] = store._db.execute("PRAGMA page_count").fetchone()
    store._db.execute(f"PRAGMA max_page_count = {pages}")
    large = replace(ANSWER, question="".join(chr(33 + (n * n) % 90) for n in range(200_000)))
    with pytest.raises(StoreError, match="full") as caught:
        store.keep("a2", large)
    assert fault_of(caught.value).status == 507
    with closing(
        sqlite3.connect(tmp_path / "answers.sqlite", timeout=0)
    ) as other:  # no transaction is left open
        other.execute("DELETE FROM answers WHERE id = 'none'")
        other.commit()
    store._db.execute("PRAGMA max_page_count = 100000")
    store.keep("a3", ANSWER)
    assert (store.count(), store.answer("a1")) == (2, ANSWER)
    store.close()


def test_a_reply_whose_answer_was_not_kept_names_no_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = ferry(tmp_path)
    with served(service) as server:
        assert server.ask().headers["content-location"].startswith("/api/answers/a")

        def fail(*_: object) -> None:
            raise StoreError("cannot keep answers") from OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr(service.answers, "keep", fail)
        reply = server.ask()
        assert (reply.status_code, "content-location" in reply.headers) == (200, False)


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_is_507_in_words_in_every_route_that_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    keeping = StorageOptions(uploads=tmp_path / "uploads")

    def full(*_: object, **__: object) -> None:
        raise OSError(code, os.strerror(code))

    class FullFile:
        write = rollover = full

        def close(self) -> None:
            pass

    monkeypatch.setattr("starlette.formparsers.SpooledTemporaryFile", lambda **_: FullFile())
    monkeypatch.setattr("disputatio.server.routers.sources.set_owner", full)
    monkeypatch.setattr("disputatio.server.routers.jobs.calibrate_index", full)
    with served(ferry(tmp_path, access=Access(writing=True), keeping=keeping)) as server:
        upload = server.client.post("/api/ingest", files=[("files", ("a.txt", b"text"))])
        owner = server.client.patch("/api/sources/buzz.example", json={"owner": "city"})
        for response in (upload, owner):
            assert response.status_code == 507
            assert response.json()["error"]["kind"] == "NoRoom"
            assert response.json()["error"]["message"].startswith("the disk of the server is full")
        job = server.client.post("/api/calibrate", json={"questions": 1}).json()
        until = time.monotonic() + 10
        while job["state"] == "running" and time.monotonic() < until:
            job = server.client.get(f"/api/jobs/{job['id']}").json()
        assert job["error"]["message"].startswith("the disk of the server is full")
