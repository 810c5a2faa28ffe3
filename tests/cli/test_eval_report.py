"""The commands of reports print what was asked for, and write files whole or not at all."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from disputatio.cli import eval_run as cli_eval
from disputatio.cli.eval_report import keep
from disputatio.errors import InputError
from tests.eval.fakes import HALF, MANIFEST, RIGHT, ask, examples, run


@pytest.fixture
def out(tmp_path: Path) -> Path:
    run(examples(6), [RIGHT, HALF], ask=ask, out=tmp_path / "out", manifest=MANIFEST)
    return tmp_path / "out"


def _call(*words: object) -> Result:
    return CliRunner().invoke(cli_eval.app, [str(word) for word in words])


@pytest.mark.long
def test_a_report_is_markdown_json_or_csv(out: Path) -> None:
    plain, as_json, as_csv = (_call("report", out, *more) for more in ([], ["--json"], ["--csv"]))
    assert (plain.exit_code, as_json.exit_code, as_csv.exit_code) == (0, 0, 0)
    assert plain.stdout.startswith("# Evaluation\n\n**No winner beyond chance.** right: EM 100.0 %")
    assert json.loads(as_json.stdout)["datasets"][0]["headline"]["leader"] == "right"
    assert len(list(csv.DictReader(as_csv.stdout.splitlines()))) > 20


@pytest.mark.long
def test_a_page_is_written_beside_what_is_printed(out: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    only = _call("report", out, "--html", page)
    assert (only.exit_code, only.stdout, only.stderr) == (0, "", f"{page} written\n")
    first = page.read_bytes()
    assert first.startswith(b"<!DOCTYPE html>")
    both = _call("report", out, "--html", page, "--json")
    assert json.loads(both.stdout)["progress"]["complete"]
    assert page.read_bytes() == first


def test_an_interrupted_write_leaves_the_old_file_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = tmp_path / "page.html"
    keep(page, "old")

    def interrupted(_number: int) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("os.fsync", interrupted)
        with pytest.raises(KeyboardInterrupt):
            keep(page, "new and never finished")
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]
    assert page.read_text() == "old"
    keep(page, "new")
    assert page.read_text() == "new"


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nowhere/page\.html: cannot be written: No such file"):
        keep(tmp_path / "nowhere" / "page.html", "text")
    (tmp_path / "folder").mkdir()
    with pytest.raises(InputError, match="folder: cannot be written: Is a directory"):
        keep(tmp_path / "folder", "text")
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_wrong_options_are_refused(out: Path) -> None:
    assert isinstance(_call("report", out, "--json", "--csv").exception, InputError)
    assert isinstance(_call("report", out, "--metric", "charm").exception, InputError)
    assert isinstance(_call("compare", out, "--strategies", "right").exception, InputError)
    assert _call("tables", out).exit_code == 2


def test_a_comparison_is_side_by_side_on_a_terminal(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    result = _call("compare", out, "--limit", 2)
    assert result.exit_code == 0
    output = result.stdout
    assert "They differ on 3 of 6 questions" in output
    assert "row 1: question 1" in output
    assert "right: gold 1 · wrong: wrong 1" in output
    (line,) = (text for text in output.splitlines() if text.strip().startswith("gold 1"))
    assert line.split() == ["gold", "1", "wrong", "1"]
    assert "1 more: --limit N" in output


def test_a_comparison_is_json_or_a_page(out: Path, tmp_path: Path) -> None:
    data = json.loads(_call("compare", out, "--json", "--limit", 1).stdout)
    assert len(data["questions"]) == 3
    page = tmp_path / "page.html"
    assert _call("compare", out, "--html", page).stdout == ""
    assert "question 5" in page.read_text()


@pytest.mark.long
def test_a_papers_tables_are_printed_or_json(out: Path) -> None:
    plain = _call("tables", out, "--paper", "ragenta")
    assert (plain.exit_code, plain.stdout[:2]) == (0, "# ")
    assert json.loads(_call("tables", out, "--paper", "madam", "--json").stdout)["paper"] == "madam"
