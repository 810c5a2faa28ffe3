"""The hook of the wheel: a release without the built page is not made, other wheels say what they lack."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from scripts import page_hook
from scripts.build_page import CannotBuild


def packed(root: Path, version: str = "standard") -> list[str]:
    """Return what the hook warns of when a wheel of `root` is packed."""
    said: list[str] = []
    app: Any = SimpleNamespace(display_warning=said.append)
    hook = page_hook.PageHook(str(root), {}, None, None, str(root / "dist"), "wheel", app)  # type: ignore[arg-type]
    hook.initialize(version, {})
    return said


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout on a machine without Node."""
    monkeypatch.setenv("PATH", str(tmp_path))
    (tmp_path / "page").mkdir()
    (tmp_path / "page" / "package.json").write_text("{}")
    (tmp_path / "page" / "package-lock.json").write_text("{}")
    return tmp_path


def test_a_release_without_the_built_page_is_not_made(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(page_hook.RELEASE, "1")
    with pytest.raises(CannotBuild, match="takes Node"):
        packed(checkout)


def test_another_wheel_is_made_without_it_and_says_so(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(page_hook.RELEASE, raising=False)
    [said] = packed(checkout)
    assert "without the page" in said


def test_an_archive_of_the_sources_must_hold_the_page_where_it_is_a_release(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert packed(tmp_path) == []
    monkeypatch.setenv(page_hook.RELEASE, "1")
    with pytest.raises(CannotBuild, match="neither"):
        packed(tmp_path)
    built = tmp_path / "src" / "disputatio" / "server" / "page"
    built.mkdir(parents=True)
    (built / "index.html").write_text("<!doctype html>")
    assert packed(tmp_path) == []


def test_an_editable_install_builds_nothing(checkout: Path) -> None:
    assert packed(checkout, "editable") == []
