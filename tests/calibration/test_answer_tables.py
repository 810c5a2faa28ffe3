"""`disputatio calibrate --answers`: estimates from a table of answers, without a model."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.csv
import pyarrow.parquet
import pytest

from disputatio.store.folder_index import FolderIndex
from disputatio.types import Passage
from tests.reliability.test_answers import rows
from tests.shell import run

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "answers.csv"
    lines = ["question,source,answer", *(",".join(row) for row in rows(1))]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.mark.long
def test_a_table_gives_a_row_for_each_source(table: Path, capsys: Capture) -> None:
    out = table.with_name("found.parquet")
    done = run(capsys, "calibrate", "--answers", table, "--out", out, "--json")
    assert done.code == 0
    assert json.loads(done.out)["sources"] == 15
    found = {row["source"]: row["reliability"] for row in pyarrow.parquet.read_table(out).to_pylist()}
    assert found["s14"] > found["s8"] > found["s0"]
    shown = run(capsys, "calibrate", "--answers", table, "--estimator", "paper").out
    assert shown.splitlines()[1].split()[0] in ("s12", "s13", "s14")


@pytest.mark.long
def test_a_named_index_keeps_the_estimates_of_its_sources(
    table: Path, tmp_path: Path, capsys: Capture
) -> None:
    index = FolderIndex.open(tmp_path / "x.index")
    index.add([Passage(text="A bridge.", source="s14"), Passage(text="A river.", source="other")])
    assert run(capsys, "calibrate", "--answers", table, "--index", tmp_path / "x.index").code == 0
    assert set(FolderIndex.open(tmp_path / "x.index").reliabilities()) == {"s14"}


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--answers", "none.csv"], "there is no such file"),
        (["--answers", "bad.csv"], "no column question or source or answer"),
        (["--answers", "bad.parquet"], "cannot be read as a table"),
        (["--answers", "bad.doc"], "a table of answers is one of"),
        (["--answers", "empty.csv"], "has no answers"),
        (["--answers", "answers.csv", "--out", "x.txt"], "written as .parquet or .csv"),
        (["--answers", "answers.csv", "--out", "nowhere/x.csv"], "no such folder"),
        (["--answers", "answers.csv", "--estimator", "mine"], "choose paper or ours"),
        (["--out", "x.csv"], "--out goes with --answers"),
    ],
)
def test_bad_tables_are_reported_in_one_line(
    words: list[str], reason: str, table: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(table.parent)
    Path("bad.csv").write_text("x\n1\n", encoding="utf-8")
    Path("bad.parquet").write_bytes(b"not a table")
    Path("bad.doc").write_bytes(b"x")
    Path("empty.csv").write_text("question,source,answer\n", encoding="utf-8")
    done = run(capsys, "calibrate", *words)
    assert done.code == 2
    assert reason in done.err
    assert len(done.err.splitlines()) == 1
