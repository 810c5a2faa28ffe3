"""Lists and tables of the command line: a line each, details by name, eighty columns."""

from __future__ import annotations

import json

import pytest

from disputatio.eval.data.datasets import datasets
from tests.shell import run

Capture = pytest.CaptureFixture[str]
NAMES = [form.name for form in datasets()]


@pytest.fixture(autouse=True)
def _eighty_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


def test_the_list_of_data_sets_has_one_line_each(capsys: Capture) -> None:
    *lines, blank, hint = run(capsys, "eval", "datasets").out.splitlines()
    assert [line.split()[0] for line in lines] == NAMES
    assert any(line.endswith("  ambiguity, misinformation and noise at once") for line in lines)
    assert max(map(len, lines)) <= 80
    assert (blank, hint.endswith("disputatio eval datasets NAME")) == ("", True)


@pytest.mark.parametrize("name", NAMES)
def test_a_data_set_is_described_by_its_name(name: str, capsys: Capture) -> None:
    done = run(capsys, "eval", "datasets", name)
    lines = done.out.splitlines()
    assert (done.code, lines[0]) == (0, name)
    assert max(map(len, lines)) <= 80
    [line] = [line for line in lines if line.startswith("    write:")]
    assert line.split()[1] == f"{name}:PATH"


def test_an_unknown_data_set_is_answered_by_the_nearest(capsys: Capture) -> None:
    done = run(capsys, "eval", "datasets", "ramdoc")
    assert (done.code, done.out) == (2, "")
    assert "unknown data set 'ramdoc': did you mean 'ramdocs'?" in done.err


def test_data_sets_are_given_as_json(capsys: Capture) -> None:
    rows = {row["name"]: row for row in run(capsys, "eval", "datasets", "--json").json}
    assert list(rows) == NAMES
    assert "gold_answers" in rows["ramdocs"]["fields"]
    assert run(capsys, "eval", "datasets", "ramdocs", "--json").json == rows["ramdocs"]


@pytest.mark.long
def test_a_simulation_is_a_table_for_people_and_json_for_programs(capsys: Capture) -> None:
    words = ("simulate", "--trials", "2", "--sources", "5", "--tested", "50", "--estimated", "20")
    shown, data = run(capsys, *words), run(capsys, *words, "--json")
    head, *lines = shown.out.splitlines()
    assert head.split() == ["adversaries", "method", "accuracy", "95", "%", "over", "trials", "paper"]
    assert "|" not in shown.out
    assert max(map(len, lines)) <= 80
    outcomes = [json.loads(line) for line in data.out.splitlines()]
    assert [outcome["adversaries"] for outcome in outcomes] == [1, 2, 3]
    assert [line.split()[0] for line in lines if line[10] != " "] == ["1", "2", "3"]
    methods = list(outcomes[0]["accuracy"])
    assert len(lines) == 3 * len(methods)
    first = outcomes[0]["accuracy"][methods[0]]["mean"]
    assert lines[0].split()[2] == f"{first:.3f}"


def test_a_simulation_of_one_trial_has_no_interval(capsys: Capture) -> None:
    words = ("--trials", "1", "--adversaries", "2", "--tested", "50", "--estimated", "20")
    shown = run(capsys, "simulate", *words).out
    assert " to " not in shown
