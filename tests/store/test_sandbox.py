"""A parser that hangs or dies costs its own file only."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from disputatio.errors import IngestError, MissingDependency
from disputatio.store import sandbox
from disputatio.store.sandbox import Sandbox


def test_a_parser_that_hangs_is_ended(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "endless.html")
    with Sandbox(seconds=0.2) as box, pytest.raises(IngestError, match=r"took more than 0\.2 s"):
        box.parse("html", tmp_path / "endless.html")


def test_the_next_file_is_read_after_a_parser_died(tmp_path: Path) -> None:
    (tmp_path / "good.html").write_text("<p>Good words.</p>")
    with Sandbox() as box:
        for _ in range(2):
            with pytest.raises(IngestError, match="FileNotFoundError"):
                box.parse("html", tmp_path / "none.html")
        assert box.parse("html", tmp_path / "good.html")["text"] == "Good words."
        child = box._child
        assert child is not None
        child.kill()
        child.wait()
        assert box.parse("html", tmp_path / "good.html")["text"] == "Good words."


def test_a_missing_parser_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sandbox._NEEDS, "pdf", "no_such_parser")
    with Sandbox() as box, pytest.raises(MissingDependency, match=r"disputatio\[store\]"):
        box.parse("pdf", tmp_path / "x.pdf")
