"""The demo: what a newcomer runs first answers its questions as its file says, without a checkout's tools."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from disputatio.cli.demo import examples
from tests.shell import run


@pytest.mark.slow
def test_the_demo_ingests_and_answers_every_question_without_a_language_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    done = run(capsys, "demo", "--model", "none", "--index", "demo.index")
    assert done.code == 0, done.err
    shown = done.out
    questions = json.loads((examples() / "questions.json").read_text(encoding="utf-8"))
    for question in questions:
        assert f'ask "{question["question"]}" --index demo.index --model none' in shown
    assert "calibrate" not in shown  # it needs a model
    assert "The same on a page: disputatio serve --index demo.index" in shown


def test_the_demo_fails_as_the_step_that_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("demo.index").write_text("no index")
    done = run(capsys, "demo", "--model", "none", "--index", "demo.index")
    assert (done.code, "demo.index" in done.err) == (2, True)
