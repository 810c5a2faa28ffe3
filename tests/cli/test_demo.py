"""The demo: what a newcomer runs first answers its questions as its file says, without a checkout's tools."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from disputatio.cli.demo import demo, examples
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
    assert "3 contradictions in 14 documents" in shown.partition("$ disputatio ask")[0]
    assert "The same on a page: disputatio serve --index demo.index" in shown


@pytest.mark.parametrize(
    ("options", "last"),
    [({}, "calibrate"), ({"calibrate": False}, "ask"), ({"model": "none"}, "ask")],
)
def test_the_demo_answers_first_and_estimates_sources_where_it_is_told_to_and_has_a_model(
    tmp_path: Path, options: dict[str, Any], last: str
) -> None:
    done: list[str] = []

    def main(words: list[str], **_: object) -> int:
        done.append(words[0])
        return int(words[0] == "check")  # as it does where it finds contradictions

    program = SimpleNamespace(command=SimpleNamespace(main=main))
    context: Any = SimpleNamespace(find_root=lambda: program)
    demo(context, index=tmp_path / "demo.index", **options)
    assert done == ["ingest", "check", *["ask"] * 4, *[last] * (last != "ask")]


def test_the_demo_fails_as_the_step_that_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("demo.index").write_text("no index")
    done = run(capsys, "demo", "--model", "none", "--index", "demo.index")
    assert (done.code, "demo.index" in done.err) == (2, True)
