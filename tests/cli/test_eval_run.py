"""`disputatio eval` prints results on stdout, messages on stderr, and exits by what happened."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from disputatio.cli import eval_run as cli_eval
from disputatio.cli.main import _is_of_the_disk
from disputatio.config import Settings
from disputatio.errors import InputError, MissingPart, StoreError, UnknownName
from disputatio.eval.running.preparing import load_models
from disputatio.eval.running.runner import Left, Progress
from disputatio.kit import Kit
from disputatio.llm.scripted import Scripted
from disputatio.parts import build_kit
from disputatio.pipeline import strategy_names
from disputatio.store.folder_index import FolderIndex
from disputatio.types import Passage
from tests.eval import toy
from tests.eval.data.formats.rows import MORGANA, file_of

FIRST, EVERY = "first=tests.eval.toy:debate", "every=tests.eval.toy:vote"
ROWS = [
    {
        "question": f"Where was number {i} born?",
        "documents": [
            {"text": f"Number {i} was born in Lund.", "type": "correct", "answer": "Lund"},
            {"text": f"Number {i} was born in Oslo.", "type": "misinfo", "answer": "Oslo"},
        ],
        "disambig_entity": [],
        "gold_answers": ["Lund"],
        "wrong_answers": ["Oslo"],
    }
    for i in range(6)
]


@pytest.fixture
def settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[list[Settings]]:
    """The settings that kits were built from."""
    seen: list[Settings] = []

    def noting(settings: Settings, **parts: Any) -> Kit:
        seen.append(settings)
        return build_kit(settings, **parts)

    monkeypatch.setattr("disputatio.eval.running.preparing.build_kit", noting)
    monkeypatch.setenv("DISPUTATIO_MODEL", "scripted:")
    monkeypatch.setenv("DISPUTATIO_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    yield seen
    for record in (toy.asked, toy.down, toy.broken):
        record.clear()


@pytest.fixture
def data(tmp_path: Path) -> str:
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return f"ramdocs:{path}"


def _call(*words: object) -> Result:
    return CliRunner().invoke(cli_eval.app, [str(word) for word in words])


@pytest.mark.long
def test_a_run_prints_one_object_a_strategy_as_its_last_lines(
    settings: list[Settings], data: str, tmp_path: Path
) -> None:
    result = _call("run", data, "--strategy", f"{FIRST},{EVERY}", "--out", tmp_path / "out", "--json")
    assert result.exit_code == 0
    first, every = (json.loads(line) for line in result.stdout.splitlines())
    assert (first["strategy"], first["n"], first["em"], first["calls"]) == ("first", 6, 1.0, 1.0)
    assert (every["em"], every["precision"], every["dataset"]) == (0.0, 0.5, "ramdocs:rows.jsonl")
    assert result.stderr == ""


@pytest.mark.long
def test_a_strategy_sees_the_texts_of_its_row_and_nothing_of_the_labels(
    settings: list[Settings], data: str, tmp_path: Path
) -> None:
    _call("run", data, "--strategy", FIRST, "--limit", 1, "--out", tmp_path / "out")
    assert toy.asked == [
        (
            "debate 3 0",
            "Where was number 0 born?",
            ["Number 0 was born in Lund.", "Number 0 was born in Oslo."],
        )
    ]


@pytest.mark.long
def test_options_roles_and_the_seed_reach_kit_and_strategy(
    settings: list[Settings], data: str, tmp_path: Path
) -> None:
    rows, script = tmp_path / "rows.txt", tmp_path / "script.json"
    rows.write_text("3\n")
    script.write_text("{}")
    result = _call(
        "run", data, "--strategy", f"{FIRST},{EVERY}", "--set", "first.rounds=1", "--seed", 7, "--rows", rows,
        "--role", f"judge=scripted:{script}", "--out", tmp_path / "out",
    )  # fmt: skip
    assert result.exit_code == 0
    assert [asked[:2] for asked in toy.asked] == [
        ("debate 1 7", "Where was number 3 born?"),
        ("vote None", "Where was number 3 born?"),
    ]
    assert [chosen.role for chosen in settings] == [{"judge": f"scripted:{script}"}]
    assert "# Evaluation" in result.stdout
    assert re.search(
        rf"model: scripted:, encoder: encoder:\w+, judge: scripted:{re.escape(str(script))}", result.stdout
    )


@pytest.mark.long
def test_calls_are_not_taken_from_a_journal_unless_asked(
    settings: list[Settings], data: str, tmp_path: Path
) -> None:
    words = ("run", data, "--strategy", FIRST, "--limit", 1)
    assert "journal" not in _call(*words, "--out", tmp_path / "none").stdout
    with_one = _call(*words, "--out", tmp_path / "one", "--journal", tmp_path / "calls.sqlite")
    assert "may have been answered from a journal" in with_one.stdout
    assert [chosen.journal for chosen in settings] == ["none", str(tmp_path / "calls.sqlite")]


@pytest.mark.long
def test_every_shipped_strategy_runs_through_the_pipeline(
    settings: list[Settings], data: str, tmp_path: Path
) -> None:
    asked = [name for name in strategy_names() if name != "oracle"]  # which wants rows that tell the truth
    names = ",".join(asked)
    result = _call("run", data, "--strategy", names, "--limit", 2, "--out", tmp_path / "out", "--json")
    assert result.exit_code == 0
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    assert [line["strategy"] for line in lines] == asked
    assert all((line["n"], line["abstained"], line["recall"]) == (2, 2, 0.0) for line in lines)
    assert all(line["precision"] is None for line in lines)


@pytest.mark.long
def test_running_again_asks_only_what_is_missing_and_reports_the_same(
    settings: list[Settings], data: str, tmp_path: Path
) -> None:
    words = ("run", data, "--strategy", FIRST, "--out", tmp_path / "out", "--json")
    once = _call(*words)
    toy.asked.clear()
    twice = _call(*words)
    assert toy.asked == []
    assert once.stdout == twice.stdout


@pytest.mark.long
def test_failed_questions_exit_3_and_are_tried_again(
    settings: list[Settings], data: str, tmp_path: Path
) -> None:
    words = ("run", data, "--strategy", FIRST, "--out", tmp_path / "out", "--json")
    toy.down.add("Where was number 2 born?")
    toy.broken.add("Where was number 4 born?")
    result = _call(*words)
    assert result.exit_code == 3
    assert "2 questions failed, 1 by an unforeseen error" in result.stderr
    line = json.loads(result.stdout)
    assert (line["n"], line["failed"], line["em"]) == (0, 2, None)
    toy.down.clear()
    toy.broken.clear()
    toy.asked.clear()
    result = _call(*words)
    assert (result.exit_code, len(toy.asked)) == (0, 2)
    assert (json.loads(result.stdout)["n"], json.loads(result.stdout)["failed"]) == (6, 0)


@pytest.mark.long
def test_a_run_on_other_data_prompts_or_options_is_refused(
    settings: list[Settings], data: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("run", data, "--strategy", FIRST, "--out", tmp_path / "out")
    assert _call(*words).exit_code == 0
    assert isinstance(_call(*words, "--set", "rounds=2").exception, InputError)
    with monkeypatch.context() as changed:
        changed.setattr(toy, "PROMPT", "Answer from nothing.")
        other = _call(*words).exception
    assert isinstance(other, InputError)
    assert "strategy first was begun with prompts" in str(other)
    assert f"begin a new run with --out {tmp_path / 'out-2'}" in str(other)
    assert isinstance(_call(*words, "--seed", 1).exception, InputError)
    with Path(data.partition(":")[2]).open("a") as file:
        file.write(json.dumps(ROWS[0]) + "\n")
    refused = _call(*words).exception
    assert isinstance(refused, InputError)
    assert "begun with datasets" in str(refused)


@pytest.mark.long
def test_a_strategy_with_a_seed_runs_with_each_and_more_may_join(
    settings: list[Settings], data: str, tmp_path: Path
) -> None:
    words = ("run", data, "--strategy", f"{FIRST},{EVERY}", "--limit", 1, "--out", tmp_path / "out", "--json")
    assert _call(*words, "--seeds", "0,1", "--in-flight", 3).exit_code == 0
    assert sorted(name for name, _, _ in toy.asked) == ["debate 3 0", "debate 3 1", "vote None"]
    toy.asked.clear()
    result = _call(*words, "--seeds", "0,1,2")
    assert [name for name, _, _ in toy.asked] == ["debate 3 2"]
    names = [json.loads(line)["strategy"] for line in result.stdout.splitlines()]
    assert names == ["first", "every"]  # a question's figures are means over its seeds


@pytest.mark.long
def test_a_budget_stops_the_run_says_what_is_left_and_a_larger_one_goes_on(
    settings: list[Settings], data: str, tmp_path: Path
) -> None:
    words = ("run", data, "--strategy", "closed_book,concat", "--out", tmp_path / "out", "--json")
    result = _call(*words, "--budget-calls", 5)
    assert result.exit_code == 1
    assert "stopped (the budget of 5 calls is spent), 7 questions left" in result.stderr
    assert "the same command goes on there" in result.stderr
    assert "spent so far: 5 calls" in result.stderr
    assert "left: closed_book 3, concat 4, about 7 calls" in result.stderr
    assert result.stderr.endswith("give a larger --budget-calls\n")
    assert [json.loads(line)["n"] for line in result.stdout.splitlines()] == [2, 2]
    result = _call(*words, "--budget-calls", 12)
    assert result.exit_code == 0
    assert [json.loads(line)["n"] for line in result.stdout.splitlines()] == [6, 6]


@pytest.mark.long
def test_money_is_told_by_a_table_of_ones_own_and_a_model_without_a_price_is_refused(
    settings: list[Settings], data: str, tmp_path: Path
) -> None:
    table = tmp_path / "prices.toml"
    table.write_text('[models."scripted:"]\nprompt = 1000.0\ncompletion = 0.0\n')
    words = ("run", data, "--strategy", "concat", "--out", tmp_path / "out", "--budget-money", "0.5")
    result = _call(*words, "--prices", table)
    assert result.exit_code == 1
    assert "stopped (the budget of 0.5 USD is spent)" in result.stderr
    assert " USD; left: concat" in result.stderr
    table.write_text('[models."openai:*"]\nprompt = 1.0\ncompletion = 1.0\n')
    refused = _call(*words, "--prices", table).exception
    assert isinstance(refused, InputError)
    assert "no price of scripted:" in str(refused)


def test_the_table_of_prices_is_printed_as_it_is_read() -> None:
    printed = _call("prices").stdout
    assert printed.startswith("# What models cost")
    assert '[models."local:*"]' in printed


@pytest.mark.long
@pytest.mark.parametrize(
    ("words", "error", "message"),
    [
        (("--strategy", "madam_rga"), UnknownName, "did you mean 'madam_rag'"),
        (("--strategy", FIRST, "--set", "rounds=many"), InputError, "option rounds: 'many'"),
        (("--strategy", FIRST, "--role", "judge"), InputError, "write it as ROLE=MODEL"),
        (("--strategy", FIRST, "--seeds", "0;1"), InputError, "separated by commas, as 0,1,2"),
        (("--strategy", FIRST, "--seeds", "1,1"), InputError, "a seed stands twice"),
        (("--strategy", FIRST, "--prices", "none.toml"), InputError, "none.toml"),
        (
            ("--strategy", "disputation,concat", "--model", "none"),
            MissingPart,
            "concat needs a language model: give one",
        ),
        (("--strategy", FIRST, "--rows", "nowhere.txt"), InputError, "nowhere.txt"),
    ],
)
def test_wrong_use_is_an_error_of_ours_and_leaves_nothing(
    settings: list[Settings],
    data: str,
    tmp_path: Path,
    words: tuple[str, ...],
    error: type[Exception],
    message: str,
) -> None:
    result = _call("run", data, "--out", tmp_path / "out", *words)
    assert isinstance(result.exception, error)
    assert message in str(result.exception)
    assert not (tmp_path / "out").exists()


@pytest.mark.long
def test_two_data_sets_are_reported_side_by_side_and_need_different_names(
    settings: list[Settings], data: str, tmp_path: Path
) -> None:
    other = tmp_path / "plain.jsonl"
    other.write_text(json.dumps({"question": "q", "gold": ["Lund"], "passages": [{"text": "t"}]}))
    words = ("--strategy", FIRST, "--out", tmp_path / "out", "--json")
    result = _call("run", data, f"jsonl:{other}", *words)
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    assert [(line["dataset"], line["n"]) for line in lines] == [
        ("jsonl:plain.jsonl", 1),
        ("ramdocs:rows.jsonl", 6),
    ]
    assert (lines[0]["accuracy"], lines[1]["accuracy"]) == (1.0, None)
    again = _call("run", data, data, "--strategy", FIRST, "--out", tmp_path / "two")
    assert isinstance(again.exception, InputError)


@pytest.mark.long
def test_notes_on_the_rows_are_said_on_stderr_and_kept_in_the_report(
    settings: list[Settings], tmp_path: Path
) -> None:
    path = tmp_path / "both.jsonl"
    path.write_text(json.dumps({**ROWS[0], "wrong_answers": ["Lund"]}))
    result = _call("run", f"ramdocs:{path}", "--strategy", FIRST, "--out", tmp_path / "out", "--json")
    assert "1 of 1 rows list an answer as both gold and wrong" in result.stderr
    assert "both gold and wrong" in _call("report", tmp_path / "out").stdout


@pytest.mark.long
def test_a_report_is_printed_for_people_or_as_json(
    settings: list[Settings], data: str, tmp_path: Path
) -> None:
    _call("run", data, "--strategy", f"{FIRST},{EVERY}", "--out", tmp_path / "out")
    page = _call("report", tmp_path / "out")
    assert page.stdout.startswith("# Evaluation\n")
    report = json.loads(_call("report", tmp_path / "out", "--json").stdout)
    assert report["model"] == "scripted:"
    assert [score["strategy"] for score in report["datasets"][0]["strategies"]] == ["first", "every"]
    assert isinstance(_call("report", tmp_path / "none").exception, InputError)


@pytest.mark.long
@pytest.mark.parametrize("fault", [OSError(28, "No space left on device"), sqlite3.OperationalError("full")])
def test_a_disk_that_cannot_be_written_is_a_fault_that_says_what_is_kept(
    settings: list[Settings], data: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: Exception
) -> None:
    def full(*_: Any, **__: Any) -> None:
        fault.sqlite_errorcode = sqlite3.SQLITE_FULL  # type: ignore[attr-defined] # as SQLite itself sets it
        raise fault

    monkeypatch.setattr("disputatio.eval.evaluate.run", full)
    error = _call("run", data, "--strategy", FIRST, "--out", tmp_path / "out").exception
    assert isinstance(error, StoreError)
    assert "running again goes on there" in str(error)
    assert _is_of_the_disk(error)


def test_the_line_of_progress_says_what_remains(capsys: pytest.CaptureFixture[str]) -> None:
    line = cli_eval._Line()
    first, last = Left(3725.2, 3600.0, 3900.0), Left(0, None, None)
    line(Progress(done=1, total=2, faults=1, left=first, entrant="a", row=0, fault="Timeout: x"))
    line(Progress(done=2, total=2, faults=1, left=last, entrant="a", row=1))
    message = capsys.readouterr().err
    assert "row 0, a: Timeout: x\n" in message
    assert "1/2 a, row 0, 1 failed, about 1:02:05 (1:00:00 to 1:05:00) left" in message
    assert message.endswith("about 0:00:00 left\n")


def test_an_embedded_model_is_loaded_before_the_first_question_and_others_are_not_called() -> None:
    local, endpoint = Scripted(["yes"], name="local:small"), Scripted([], name="openai:large")
    load_models(Kit(model=local, roles={"judge": local, "detector": endpoint}))
    assert (len(local.calls), len(endpoint.calls)) == (1, 0)


def _morgana(folder: Path) -> str:
    return f"datamorgana:{file_of(folder, [MORGANA], 'questions')}"


@pytest.mark.long
def test_answers_are_graded_on_request_and_a_judge_without_a_verdict_gives_none(
    settings: list[Settings], tmp_path: Path
) -> None:
    words = ("run", _morgana(tmp_path), "--strategy", FIRST, "--out", tmp_path / "out", "--json")
    result = _call(*words, "--judge", "--role", "judge=scripted:")
    assert result.exit_code == 0
    (line,) = (json.loads(text) for text in result.stdout.splitlines())
    assert line["correctness"] is None  # the scripted judge finds all grades equally likely
    assert line["judged"]["correctness"]["unscored"] == 1
    assert settings[0].role == {"judge": "scripted:"}
    refused = _call(*words, "--role", "judge=scripted:")
    assert isinstance(refused.exception, InputError)
    assert "begun with judge" in str(refused.exception)


@pytest.mark.long
def test_a_data_set_that_only_a_judge_can_grade_says_so(settings: list[Settings], tmp_path: Path) -> None:
    result = _call("run", _morgana(tmp_path), "--strategy", FIRST, "--out", tmp_path / "out")
    assert "its answers are graded by a judge (--judge --role judge=MODEL)" in result.stderr


@pytest.mark.long
def test_an_index_takes_the_place_of_the_rows_own_passages(settings: list[Settings], tmp_path: Path) -> None:
    index = FolderIndex.open(tmp_path / "pages.index")
    index.add([Passage(text="The Vell bridge is the oldest bridge of all.", source="s")])
    out = tmp_path / "out"
    words = ("run", _morgana(tmp_path), "--strategy", FIRST, "--out", out)
    assert _call(*words, "--index", index.path).exit_code == 0
    assert [texts for _, _, texts in toy.asked] == [["The Vell bridge is the oldest bridge of all."]]
    assert "searched: pages.index, 1 documents, 1 passages" in _call("report", out).stdout
    assert "begun with index" in str(_call(*words).exception)
