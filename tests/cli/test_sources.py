"""`disputatio calibrate`, `sources` and `ask --learn` from the command line, over a real index."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path

import pytest

from disputatio.store.calibration_file import find_damaged_lines, read_outcomes
from disputatio.store.folder_index import FolderIndex
from disputatio.types import Source
from tests.calibration.towns import TOWNS, YEARS, index_of, question
from tests.shell import Run, finish, run, start

Capture = pytest.CaptureFixture[str]
# The scripted model of the command line reads replies from a file; this one reads the towns.
MODEL = """
import time
import disputatio.config as config
from disputatio.llm.scripted import Scripted
from tests.calibration.towns import say
def slowly(prompt):
    time.sleep({pause})
    return say(prompt)
class Towns(Scripted):
    def __init__(self, script, *, name):
        super().__init__(slowly, name=name, choices={{"": {{"Yes": 0.9, "No": 0.1}}}})
import disputatio.llm.scripted as module
module.Scripted = Towns
"""
LIES = {"archive": 0, "museum": 0, "parish": 0, "buzz": 3}


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DISPUTATIO_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).resolve().parents[2]))
    index_of(tmp_path / "x.index", LIES)
    return tmp_path


@pytest.fixture
def towns(monkeypatch: pytest.MonkeyPatch) -> None:
    """The scripted model of this process reads towns."""
    from disputatio.llm import scripted
    from tests.calibration.towns import say

    class Towns(scripted.Scripted):
        def __init__(self, script: object, *, name: str) -> None:
            super().__init__(say, name=name, choices={"": {"Yes": 0.9, "No": 0.1}})

    monkeypatch.setattr(scripted, "Scripted", Towns)


def calibrate(capsys: Capture, *words: str | Path) -> Run:
    return run(capsys, "calibrate", "--index", "x.index", "--model", "scripted:", *words)


@pytest.mark.long
@pytest.mark.usefixtures("towns")
def test_a_calibration_prints_its_cost_first_and_then_the_table(workspace: Path, capsys: Capture) -> None:
    done = calibrate(capsys, "--questions", "6")
    assert done.code == 0
    assert done.err.splitlines()[0].startswith(
        "6 questions for 4 sources, 6 of them to be written first: about "
    )
    rows = [line.split() for line in done.out.splitlines()]
    assert {row[0] for row in rows[1:4]} == {"archive", "museum", "parish"}
    assert rows[4][:5] == ["buzz", "0.12", "0.00", "to", "0.41"]
    assert "6 questions on record, 6 of them cross-checked" in done.out
    again = calibrate(capsys, "--questions", "6")
    assert again.err.splitlines()[0] == "no question is left to ask, 6 on record"
    assert again.out.splitlines()[:6] == done.out.splitlines()[:6]


@pytest.mark.long
@pytest.mark.usefixtures("towns")
def test_an_index_on_a_server_is_calibrated_as_one_in_a_folder(workspace: Path, capsys: Capture) -> None:
    from tests.store.remote import served_postgres

    place = served_postgres.address()
    index_of(place, LIES)
    told = {
        named: run(
            capsys, "calibrate", "--index", named, "--model", "scripted:", "--questions", "8", "--json"
        )
        for named in (place, "x.index")
    }
    assert told[place].json["sources"] == told["x.index"].json["sources"]
    assert told[place].json["questions"] == 8
    again = run(capsys, "calibrate", "--index", place, "--model", "scripted:", "--questions", "8")
    assert again.err.splitlines()[0] == "no question is left to ask, 8 on record"
    left = run(capsys, "sources", "--index", place, "--remove", "buzz", "--json").json
    assert [source["name"] for source in left if source["reliability"] is None] == ["buzz"]
    assert {path.name for path in workspace.iterdir()} <= {"cache", "x.index"}


@pytest.mark.long
@pytest.mark.usefixtures("towns")
def test_json_has_every_figure(workspace: Path, capsys: Capture) -> None:
    result = calibrate(capsys, "--questions", "6", "--json").json
    assert (result["questions"], result["cross_checked"], result["anchors"]) == (6, 6, 0)
    buzz = run(capsys, "sources", "--index", "x.index", "--json").json[1]
    assert buzz == {**result["sources"][1], "declared": {}}
    assert buzz["name"] == "buzz"
    assert (buzz["questions"], buzz["answered"], buzz["agreed"]) == (6, 6.0, 0.0)
    assert buzz["low"] < buzz["reliability"] < buzz["high"]
    assert (buzz["owner"], buzz["group"], buzz["stale"]) == (None, None, False)
    assert (buzz["told_from_chance"], buzz["questions_needed"]) == (True, 5)
    assert (buzz["owners"], buzz["honest_owners_needed"]) == (4, 3)
    shown = run(capsys, "sources", "--index", "x.index").out
    assert "at least 3 of 4 owners are honest" in shown and " of 4 told from chance (at least 5 " in shown


@pytest.mark.long
@pytest.mark.usefixtures("towns")
def test_files_of_questions_anchors_and_owners_are_taken(workspace: Path, capsys: Capture) -> None:
    Path("q.txt").write_text("".join(question(town) + "\n" for town in TOWNS[:2]))
    rows = [{"question": question(town), "answer": YEARS[town]} for town in TOWNS[2:4]]
    Path("a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    Path("o.csv").write_text("source,owner\nmuseum,town hall\nparish,town hall\n")
    result = calibrate(
        capsys, "--questions", "q.txt", "--anchors", "a.jsonl", "--owners", "o.csv", "--json"
    ).json
    assert (result["questions"], result["anchors"]) == (4, 2)
    assert [source["owner"] for source in result["sources"]] == [None, None, "town hall", "town hall"]


def test_sources_are_listed_before_anything_is_estimated(workspace: Path, capsys: Capture) -> None:
    done = run(capsys, "sources", "--index", "x.index")
    assert done.code == 0
    assert "unknown" in done.out
    assert "nothing is estimated yet" in done.err


@pytest.mark.long
@pytest.mark.usefixtures("towns")
def test_sources_that_have_changed_since_are_named(workspace: Path, capsys: Capture) -> None:
    from tests.calibration.towns import passage_on

    calibrate(capsys, "--questions", "4")
    FolderIndex.open("x.index").add([passage_on("Zembla", 1900, "buzz")])
    done = run(capsys, "sources", "--index", "x.index")
    assert "buzz" in done.out and "\n  stale: its passages have changed since\n" in done.out
    assert "changed since they were estimated: buzz;" in done.err


@pytest.mark.long
@pytest.mark.usefixtures("towns")
def test_a_source_is_taken_back_from_the_estimates(workspace: Path, capsys: Capture) -> None:
    calibrate(capsys, "--questions", "6")
    done = run(capsys, "sources", "--index", "x.index", "--remove", "buzz", "--json").json
    assert [source["name"] for source in done if source["reliability"] is not None] == [
        "archive",
        "museum",
        "parish",
    ]
    wrong = run(capsys, "sources", "--index", "x.index", "--remove", "buz")
    assert wrong.code == 2
    assert "did you mean" in wrong.err


@pytest.mark.usefixtures("towns")
def test_nothing_to_cross_check_exits_with_one(workspace: Path, capsys: Capture) -> None:
    index_of(workspace / "one.index", {"archive": 0})
    done = run(capsys, "calibrate", "--index", "one.index", "--model", "scripted:")
    assert done.code == 1
    assert "no other owner to cross-check with" in done.err


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--questions", "-3"], "choose from 0"),
        (["--questions", "none.txt"], "none.txt: no such file"),
        (["--anchors", "none.jsonl"], "none.jsonl: no such file"),
        (["--owners", "x.index"], "x.index: is a directory"),
        (["--half-life", "0"], "half-life"),
        (["--role", "reader"], "ROLE=MODEL"),
    ],
)
def test_a_wrong_word_is_one_line_and_exit_two(
    workspace: Path, capsys: Capture, words: list[str], complaint: str
) -> None:
    done = calibrate(capsys, *words)
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert complaint in done.err


def test_without_a_language_model_no_cost_is_told(workspace: Path, capsys: Capture) -> None:
    done = run(capsys, "calibrate", "--index", "x.index", "--model", "none")
    assert (done.code, done.out) == (2, "")
    assert done.err == "disputatio: a calibration needs a language model: give one (model=, --model)\n"


def test_an_index_that_is_not_there_is_named(workspace: Path, capsys: Capture) -> None:
    for command in ("calibrate", "sources"):
        done = run(capsys, command, "--index", "nowhere")
        assert done.code == 2
        assert "nowhere" in done.err


def test_the_table_of_sources_fits_eighty_columns(
    workspace: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    name, copy = "northcoast-almanac-and-record.example", "copy-of-northcoast-almanac-and-record.example"
    passages = [{"text": f"The mill of {each} is old.", "source": each} for each in (name, copy)]
    Path("rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in passages))
    run(capsys, "ingest", "rows.jsonl", "--index", "y.index", "--embedder", "none")
    of = {"reliability": 0.864, "low": 0.71, "high": 0.94, "questions": 40, "answered": 12.0}
    estimates = {
        each: Source(name=each, owner="Northcoast Press", group="1", updated="2026-11-22", **of)  # type: ignore[arg-type]
        for each in (name, copy)
    }
    FolderIndex.open("y.index").set_estimates(estimates)
    shown = run(capsys, "sources", "--index", "y.index").out
    assert max(map(len, shown.splitlines())) <= 80
    rows = [line.split() for line in shown.splitlines() if "0.86" in line]
    assert [row[-8:] for row in rows] == [["0.86", "0.71", "to", "0.94", "12", "of", "40", "2026-11-22"]] * 2
    assert "  owner Northcoast Press" in shown
    assert "2 sources: 1 independent, 1 copy" in shown


def test_learning_needs_an_index(workspace: Path, capsys: Capture) -> None:
    Path("p.jsonl").write_text('{"text": "The mill was finished in 1801."}\n')
    done = run(capsys, "ask", "When?", "--passages", "p.jsonl", "--learn")
    assert done.code == 2
    assert "--learn needs an index" in done.err


@pytest.mark.slow
def test_a_calibration_that_is_killed_goes_on_and_ends_the_same(workspace: Path, capsys: Capture) -> None:
    words = ["--model", "scripted:", "--questions", "5", "--json"]
    index_of(workspace / "whole.index", LIES)
    whole = finish(start("calibrate", "--index", "whole.index", *words, before=MODEL.format(pause=0)))
    assert whole.code == 0, whole.err
    size = (workspace / "whole.index" / "calibration.jsonl").stat().st_size
    kills = 0
    for share in (0.0, 0.4, 0.8):  # of the file that a whole run writes, at which this one is killed
        process = start("calibrate", "--index", "x.index", *words, before=MODEL.format(pause=0.05))
        file = workspace / "x.index" / "calibration.jsonl"
        deadline = time.monotonic() + 60
        while process.poll() is None and time.monotonic() < deadline:
            if file.exists() and file.stat().st_size > share * size:
                os.kill(process.pid, signal.SIGKILL)
                break
            time.sleep(0.002)
        process.communicate(timeout=60)
        kills += process.returncode == -signal.SIGKILL
        assert find_damaged_lines(workspace / "x.index") == []
    assert kills >= 2
    cut = finish(start("calibrate", "--index", "x.index", *words, before=MODEL.format(pause=0)))
    assert cut.json["sources"] == whole.json["sources"]
    assert read_outcomes(workspace / "x.index").outcomes == read_outcomes(workspace / "whole.index").outcomes


@pytest.mark.long
def test_a_settled_conflict_is_learned_where_asked_and_not_otherwise(
    workspace: Path, capsys: Capture
) -> None:
    from tests.shell import QUESTION, write_passages, write_script

    texts = {
        "museum.example": "A museum book: the ferry first crossed in 1887, a May day.",
        "almanac.example": "By the almanac the island's ferry first crossed in 1887.",
        "buzz.example": "They say that the ferry first crossed in 1901, in snow.",
    }
    rows = [{"text": text, "source": name, "title": "The ferry"} for name, text in texts.items()]
    script = {f"crossed in {year}": {"subject": "The ferry", "answer": year} for year in ("1887", "1901")}
    write_passages(workspace / "rows.jsonl", rows)
    run(capsys, "ingest", "rows.jsonl", "--index", "ferry.index", "--embedder", "none")
    model = write_script(workspace / "script.json", script)
    words = ["ask", QUESTION, "--index", "ferry.index", "--model", model]
    assert run(capsys, *words, "--no-verify").code == 0
    assert not (workspace / "ferry.index" / "calibration.jsonl").exists()
    assert "unknown" in run(capsys, "sources", "--index", "ferry.index").out
    done = run(capsys, *words, "--no-verify", "--learn")
    assert "recorded in the estimates of ferry.index" in done.err
    [outcome] = read_outcomes(workspace / "ferry.index").outcomes.values()
    assert outcome.clusters["museum.example"] == outcome.clusters["almanac.example"]
    assert outcome.clusters["buzz.example"] != outcome.clusters["museum.example"]
    known = run(capsys, "sources", "--index", "ferry.index", "--json").json
    assert [(source["name"], source["answered"], source["agreed"]) for source in known] == [
        ("almanac.example", 0.0, 0.0),  # the others are one against one
        ("buzz.example", 1.0, 0.0),
        ("museum.example", 0.0, 0.0),
    ]
