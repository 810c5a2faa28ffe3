"""Hostile paths, archives, names and URLs through the real entry points: none gets through."""

from __future__ import annotations

from pathlib import Path

import pytest

from disputatio.store.ingesting import fetch as fetching
from disputatio.store.ingesting.documents import Document, FileReading
from disputatio.store.ingesting.readers import open_reader
from tests.store import hostile_inputs as hostile


@pytest.mark.slow
def test_none_of_three_hundred_hostile_inputs_gets_through() -> None:
    found = list(hostile.results())
    assert len(found) >= 300
    assert [(one.case, one.through) for one in found if one.through] == []
    assert all(one.reason for one in found)


def test_no_hostile_url_gets_through() -> None:
    found = list(hostile.url_results())
    assert len(found) >= 300
    assert [(one.case, one.through) for one in found if one.through] == []
    assert all(one.reason for one in found)


def test_no_hostile_path_gets_through(tmp_path: Path) -> None:
    with open_reader() as read, hostile.listener() as web:
        for number, (case, make) in enumerate(hostile.path_cases()):
            result = hostile.run_path(read, "paths", case, make, tmp_path / str(number), web)
            assert result.through == "", case


# --- that the check itself can fail -------------------------------------------------------------------
def test_a_reader_that_follows_what_it_is_given_is_found_out(tmp_path: Path) -> None:
    def careless(path: Path, folder: str) -> FileReading:
        secret = path.parent.parent / "outside" / "secret.txt"
        return FileReading(path=str(path), documents=(Document(text=secret.read_text(), path=str(path)),))

    def make(at: object) -> None:
        folder: Path = at.folder  # type: ignore[attr-defined]
        (folder / "a.txt").write_text("a")

    with hostile.listener() as web:
        result = hostile.run_path(careless, "paths", "x", make, tmp_path / "x", web)
    assert result.through == "a file outside was read"


@pytest.mark.long
def test_a_guard_that_lets_an_address_pass_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetching, "check_ip", lambda ip, allow_private: "")
    through = [one for one in hostile.url_results() if one.through]
    assert len(through) > 100
    assert any(one.group == "redirects" for one in through)
    assert any(one.group == "names that change" for one in through)
