"""Answers that are kept: for the user alone, for some days, and not too many."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from disputatio.errors import StoreError
from disputatio.server.answer_store import AnswerStore
from disputatio.server.audit_log import AuditLog
from disputatio.server.faults import NotFound
from disputatio.types import Answer

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
    with pytest.raises(StoreError, match="cannot keep answers"):
        AnswerStore(tmp_path / "answers.sqlite")


def test_a_line_of_the_audit_log_is_one_line_whatever_was_asked(tmp_path: Path) -> None:
    log = AuditLog(tmp_path / "audit.log")
    log.write("asked", question="a\nb\u2028\u202ec\x1b[31m")
    log.close()
    text = (tmp_path / "audit.log").read_text(encoding="utf-8")
    assert text.count("\n") == 1
    assert not any(mark in text for mark in ("\x1b", "\u2028", "\u202e"))
