"""The notebook of the examples: every cell runs, in order, and shows what it is about."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import disputatio as d

NOTEBOOK = Path(__file__).resolve().parent.parent / "examples" / "notebooks" / "tour.ipynb"


def cells() -> list[str]:
    """Return the code of the notebook, cell by cell."""
    notebook = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    assert (notebook["nbformat"], notebook["metadata"]["kernelspec"]["language"]) == (4, "python")
    return ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]


def run() -> dict[str, Any]:
    """Return the names that the cells leave behind."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    for number, source in enumerate(cells(), start=1):
        exec(compile(source, f"{NOTEBOOK.name}, cell {number}", "exec"), namespace)
    return namespace


@pytest.mark.long
def test_every_cell_runs_with_a_scripted_model(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DISPUTATIO_MODEL", "scripted:")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    names = run()
    printed = capsys.readouterr().out
    assert "found 4 passages" in printed
    assert "without buzz.example: " in printed
    assert "(0 calls)" in printed
    assert isinstance(names["answer"], d.Answer)
    assert [row["n"] for row in names["results"].rows()] == [2, 2]


@pytest.mark.slow
@pytest.mark.usefixtures("small_model")
def test_every_cell_runs_with_a_real_model(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DISPUTATIO_MODEL", "local:qwen2.5-coder-0.5b")
    names = run()
    assert names["answer"].answers[0] == "1931"
    assert names["voted"].answers == ("1931",)
    assert "without the three that agree: 1934 (0 calls)" in capsys.readouterr().out


def test_the_outputs_that_are_kept_name_no_folder_of_a_machine() -> None:
    text = NOTEBOOK.read_text(encoding="utf-8")
    assert str(Path.home()) not in text
    assert '"output_type": "error"' not in text
    assert '"output_type": "execute_result"' in text
