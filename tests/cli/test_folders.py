"""`--index a,b`: what several indexes print, what is told of one that fails, what refuses them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import disputatio as d
from disputatio.types import Answer
from tests.shell import run

Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> Path:
    """A folder with two indexes of one passage each."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DISPUTATIO_CACHE", str(tmp_path / "cache"))
    for name, text in {
        "museum": "The ferry first crossed in 1887.",
        "buzz": "The ferry crossed in 1902.",
    }.items():
        row = {"text": text, "source": f"{name}.example", "date": "2019"}
        (tmp_path / "row.jsonl").write_text(json.dumps(row))
        done = run(capsys, "ingest", "row.jsonl", "--index", f"{name}.index", "--embedder", "none")
        assert done.code == 0
    return tmp_path


def test_a_search_of_several_has_the_best_of_all_and_says_what_was_left_out(capsys: Capture) -> None:
    done = run(capsys, "search", "ferry", "--index", "museum.index,buzz.index", "--json")
    assert [hit["passage"]["source"] for hit in done.json["hits"]] == ["buzz.example", "museum.example"]
    assert (done.json["unsearched"], done.err) == ([], "")
    done = run(capsys, "search", "ferry", "--index", "museum.index,gone.index", "--json")
    assert [each["index"] for each in done.json["unsearched"]] == ["gone.index"]
    assert len(done.json["hits"]) == 1
    done = run(capsys, "search", "ferry", "--index", "museum.index,gone.index")
    assert (done.code, done.err.startswith("not searched: gone.index: there is no index here")) == (0, True)


@pytest.mark.long
def test_an_answer_says_which_index_was_not_searched(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DISPUTATIO_INDEX", "museum.index,buzz.index,gone.index")
    question, how = "When did the ferry first cross?", ("--model", "none", "--journal", "none")
    done = run(capsys, "ask", question, *how, "--json")
    answer = Answer.from_dict(done.json)
    assert {passage.source for passage in answer.passages} == {"museum.example", "buzz.example"}
    assert answer.read is not None
    assert [each.index for each in answer.read.unsearched] == ["gone.index"]
    assert done.err.count("not searched: gone.index") == 1
    without = answer.without(sources=["buzz.example"])
    assert without.read is not None
    assert without.read.unsearched == answer.read.unsearched
    done = run(capsys, "ask", question, *how)
    assert "not searched: gone.index" in done.out
    same = d.ask(
        question, index="museum.index,buzz.index,gone.index", model="none", settings={"journal": "none"}
    )
    assert same.read == answer.read
    assert same.answers == answer.answers


@pytest.mark.long
def test_what_reads_takes_several(capsys: Capture) -> None:
    both = "museum.index,buzz.index"
    assert run(capsys, "index", "info", "--index", both, "--json").json["passages"] == 2
    assert [row["name"] for row in run(capsys, "sources", "--index", both, "--json").json] == [
        "buzz.example",
        "museum.example",
    ]
    done = run(capsys, "index", "info", "--index", "museum.index,gone.index")
    assert (done.code, "not counted: gone.index" in done.err) == (0, True)
    assert "2 documents" in str(d.Index.open(both))


@pytest.mark.long
@pytest.mark.parametrize(
    "words",
    [
        ("ingest", "row.jsonl"),
        ("calibrate", "--model", "none"),
        ("ask", "When?", "--learn", "--model", "none"),
        ("sources", "--remove", "buzz.example"),
        ("serve", "--allow-writing", "--port", "0"),
        *(("index", name) for name in ("compact", "check")),
        ("index", "delete", "--source", "buzz.example"),
        ("index", "reembed", "none"),
        ("index", "export", "out.jsonl"),
    ],
)
def test_a_command_that_writes_refuses_several_indexes(words: tuple[str, ...], capsys: Capture) -> None:
    before = sorted(Path().rglob("*"))
    done = run(capsys, *words, "--index", "museum.index,buzz.index")
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert "names 2 indexes" in done.err
    assert sorted(Path().rglob("*")) == before


def test_all_of_several_that_are_not_there_is_an_error_of_one_line(capsys: Capture) -> None:
    for words in (("search", "x"), ("ask", "x?", "--model", "none"), ("sources",)):
        done = run(capsys, *words, "--index", "p,q")
        assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
        assert "p,q: there is no index here" in done.err
    assert run(capsys, "search", "x", "--index", "p,,q").code == 2
