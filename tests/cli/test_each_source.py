"""`ask --each-source` over files: what each source answers, and how it stands to what was accepted."""

from __future__ import annotations

from pathlib import Path

import pytest

import disputatio
from disputatio.types import Answer
from tests.shell import Run, run

Capture = pytest.CaptureFixture[str]
QUESTION = "What does a night at the Varne pilots' hut cost?"
NIGHT = "A night at the Varne pilots' hut costs"
FILES = {
    "club/guide-v1.md": f"# Coast guide, version 1\n\nIn force from 1 March 2015.\n\n{NIGHT} 12 crowns.\n",
    "club/guide-v2.md": "# Coast guide, version 2\n\nIn force from 1 May 2024. This version replaces "
    f"version 1.\n\n{NIGHT} 15 crowns.\n",
    "board/notice.html": f"<html><body><p>{NIGHT} 15 crowns, payable in the kitchen.</p></body></html>",
    "letters/may.txt": f"We stayed long. {NIGHT} 19 crowns, and the tea is free.\n",
    "birds/terns.md": "# Terns\n\nTerns nest near the Varne pilots' hut in May, by the pier.\n",
}


@pytest.fixture(autouse=True)
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    """An index of the files, where each folder is a source."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DISPUTATIO_CACHE", str(tmp_path / "cache"))
    for name, text in FILES.items():
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text(text)
    folders = sorted({name.partition("/")[0] for name in FILES})
    assert run(capsys, "ingest", *folders, "--source-by", "folder", "--embedder", "none").code == 0


def ask(capsys: Capture, *words: str) -> Run:
    return run(capsys, "ask", QUESTION, "--model", "none", "--journal", "none", "--each-source", *words)


def standings(rows: list[dict[str, str]]) -> list[tuple[str, str, str]]:
    return sorted((row["source"], row["relation"], row["answer"]) for row in rows)


STANDINGS = [
    ("birds", "silent", ""),
    ("board", "agrees", "15 crowns"),
    ("club", "agrees", "15 crowns"),
    ("club", "superseded", "12 crowns"),
    ("letters", "contradicts", "19 crowns"),
]


@pytest.mark.long
def test_each_source_has_its_answer_with_a_verbatim_quote(capsys: Capture) -> None:
    done = ask(capsys, "--json")
    assert done.code == 0, done.err
    assert done.json["answers"] == ["15 crowns"]
    assert standings(done.json["each_source"]) == STANDINGS
    texts = {passage["id"]: passage["text"] for passage in done.json["passages"]}
    for row in done.json["each_source"]:
        if row["relation"] != "silent":
            assert row["quote"] == texts[row["passage"]][row["start"] : row["end"]]
            assert row["answer"] in row["quote"]
    assert Answer.from_dict(done.json).to_dict() == done.json


@pytest.mark.long
def test_the_table_stands_below_the_positions(capsys: Capture) -> None:
    out = ask(capsys).out
    below = out.partition("Positions:")[2]
    assert "Each source: agrees: 2, contradicts: 1, superseded: 1, silent: 1" in below
    [letters] = [line for line in below.splitlines() if line.startswith("letters")]
    assert letters.split("letters", 1)[1].split("“")[0].split()[-3:] == ["contradicts", "19", "crowns"]


@pytest.mark.long
def test_an_ordinary_answer_has_no_table(capsys: Capture) -> None:
    done = run(capsys, "ask", QUESTION, "--model", "none", "--journal", "none", "--json")
    assert done.json["each_source"] == []


@pytest.mark.long
def test_a_source_with_many_passages_does_not_keep_the_others_out(capsys: Capture) -> None:
    for number in range(12):
        Path(f"club/hut-{number}.md").write_text(
            f"# Hut diary {number}\n\n{NIGHT} 15 crowns, cost of note {number}.\n"
        )
    assert run(capsys, "ingest", "club", "--source-by", "folder").code == 0
    done = ask(capsys, "--json")
    assert {row["source"] for row in done.json["each_source"]} == {"birds", "board", "club", "letters"}
    plain = run(capsys, "ask", QUESTION, "--model", "none", "--journal", "none", "-k", "8", "--json").json
    assert {passage["source"] for passage in plain["passages"]} < {"birds", "board", "club", "letters"}


@pytest.mark.long
def test_sources_that_there_is_no_room_for_are_counted(capsys: Capture) -> None:
    done = ask(capsys, "-k", "1", "--set", "wider=0", "--json")
    read = {row["source"] for row in done.json["each_source"]}
    assert done.json["details"]["unread_sources"] == 4 - len(read) > 0
    shown = ask(capsys, "-k", "1", "--set", "wider=0").out
    assert "more match and were not read" in shown.replace("\n", " ")


def test_a_strategy_that_does_not_read_sources_apart_is_refused(capsys: Capture) -> None:
    done = ask(capsys, "--strategy", "concat")
    assert done.code == 2
    assert "each_source: concat does not read sources apart" in done.err


@pytest.mark.long
def test_without_a_source_the_table_is_told_again() -> None:
    settings = {"journal": "none"}
    answer = disputatio.ask(
        QUESTION, index="disputatio.index", model="none", each_source=True, settings=settings
    )
    left = answer.without(sources=["letters"])
    assert standings([row.to_dict() for row in left.each_source]) == [
        row for row in STANDINGS if row[0] != "letters"
    ]
    assert "Each source: agrees: 2" in str(answer)
