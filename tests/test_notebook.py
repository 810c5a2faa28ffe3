"""The notebooks of the examples: every cell runs, in order, and prints what the notebook keeps."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import disputatio as d

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
BOOKS = sorted((EXAMPLES / "notebooks").glob("*.ipynb"))
ASKS_A_MODEL = "compare-strategies"  # the one that a real model answers; the others need none


def cells(name: str) -> list[dict[str, Any]]:
    """Return the cells of a notebook that have code."""
    notebook = json.loads((EXAMPLES / "notebooks" / f"{name}.ipynb").read_text(encoding="utf-8"))
    assert (notebook["nbformat"], notebook["metadata"]["kernelspec"]["language"]) == (4, "python")
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def run(name: str) -> dict[str, Any]:
    """Return the names that the cells leave behind."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    for number, cell in enumerate(cells(name), start=1):
        exec(compile("".join(cell["source"]), f"{name}, cell {number}", "exec"), namespace)
    return namespace


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Return the folder of the notebooks in a copy of the examples, as the working folder."""
    shutil.copytree(EXAMPLES / "disagreement", tmp_path / "disagreement")
    working = tmp_path / "notebooks"
    working.mkdir()
    monkeypatch.chdir(working)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return working


def test_there_are_five() -> None:
    names = [book.stem for book in BOOKS]
    assert names == [
        "bring-your-model",
        "compare-strategies",
        "contradictions",
        "first-answer",
        "your-folder",
    ]


@pytest.mark.long
@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("name", [book.stem for book in BOOKS if book.stem != ASKS_A_MODEL])
def test_a_notebook_prints_what_it_keeps(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    monkeypatch.setenv("DISPUTATIO_EMBEDDER", "none")
    monkeypatch.setenv("DISPUTATIO_MODEL", "scripted:unused")
    run(name)
    kept = [
        "".join(output["text"])
        for cell in cells(name)
        for output in cell["outputs"]
        if output["output_type"] == "stream"
    ]
    assert capsys.readouterr().out == "".join(kept) != ""


@pytest.mark.long
@pytest.mark.usefixtures("folder")
def test_strategies_are_compared_with_a_scripted_model(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DISPUTATIO_MODEL", "scripted:")
    names = run(ASKS_A_MODEL)
    printed = capsys.readouterr().out
    assert "found 4 passages" in printed
    assert "without buzz.example: " in printed
    assert "(0 calls)" in printed
    assert isinstance(names["answer"], d.Answer)
    assert [row["n"] for row in names["results"].rows()] == [2, 2]


@pytest.mark.slow
@pytest.mark.usefixtures("small_model")
def test_strategies_are_compared_with_a_real_model(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DISPUTATIO_MODEL", "local:qwen2.5-coder-0.5b")
    names = run(ASKS_A_MODEL)
    assert names["answer"].answers[0] == "1931"
    assert names["voted"].answers == ("1931",)
    assert "without the three that agree: 1934 (0 calls)" in capsys.readouterr().out


@pytest.mark.parametrize("book", BOOKS, ids=[book.stem for book in BOOKS])
def test_the_outputs_that_are_kept_name_no_folder_of_a_machine(book: Path) -> None:
    text = book.read_text(encoding="utf-8")
    assert str(Path.home()) not in text
    assert '"output_type": "error"' not in text
    assert '"output_type": "execute_result"' in text or '"output_type": "stream"' in text
