"""`disputatio ask` reads so many passages, of these sources, of these dates."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from disputatio.pipeline import load_strategy, strategy_names, strategy_options
from disputatio.store.folder_index import FolderIndex
from disputatio.types import Passage
from tests.shell import QUESTION, Run, bind_agents, run, write_passages, write_script

Capture = pytest.CaptureFixture[str]
PASSAGES = [
    {"text": "The ferry first crossed in 1887.", "source": "museum.example", "date": "1990-03-01"},
    {
        "text": "The ferry first crossed in 1887, in May.",
        "source": "almanac.example",
        "date": "2001",
    },
    {"text": "They say the ferry first crossed in 1901.", "source": "hearsay.example", "date": "2010-06"},
    {"text": "Sheep took the ferry that crossed first.", "source": "farm.example"},
]


@pytest.fixture(autouse=True)
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a script and an index of passages."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DISPUTATIO_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("DISPUTATIO_STRATEGY", "madam_rag")
    bind_agents(monkeypatch)
    write_script(tmp_path / "script.json")
    write_passages(tmp_path / "passages.jsonl", PASSAGES)
    return tmp_path


@pytest.fixture
def index(workspace: Path, capsys: Capture) -> Path:
    assert run(capsys, "ingest", "passages.jsonl", "--embedder", "none").code == 0
    return workspace / "disputatio.index"


def ask(capsys: Capture, *words: str) -> Run:
    return run(capsys, "ask", QUESTION, "--model", "scripted:script.json", "--json", *words)


def sources(done: Run) -> list[str]:
    assert done.code == 0, done.err
    return sorted(passage["source"].removesuffix(".example") for passage in done.json["passages"])


@pytest.mark.long
@pytest.mark.parametrize(
    ("words", "read"),
    [
        ("", ["almanac", "farm", "hearsay", "museum"]),
        ("--source museum.example", ["museum"]),
        ("--source museum.example --source farm.example", ["farm", "museum"]),
        ("--after 2001", ["almanac", "hearsay"]),
        ("--before 2001", ["almanac", "museum"]),
        ("--after 1990-03-02 --before 2010-05", ["almanac"]),
        ("--after 1990 --source farm.example", []),
    ],
)
def test_only_what_passes_the_filters_is_read(
    words: str, read: list[str], index: Path, capsys: Capture
) -> None:
    done = ask(capsys, *words.split())
    assert sources(done) == read
    assert sources(ask(capsys, "--passages", "passages.jsonl", *words.split())) == read


REMEMBER = {"ac_rag", "astute_rag", "closed_book", "self_rag"}  # answer from the model's memory, too


@pytest.mark.long
@pytest.mark.parametrize("strategy", sorted(set(strategy_names()) - REMEMBER))
def test_a_question_about_nothing_that_is_there_finds_nothing(
    strategy: str, index: Path, capsys: Capture
) -> None:
    options = ("--set", "votes=1") if "votes" in strategy_options(load_strategy(strategy)) else ()
    done = run(capsys, "ask", "qqqq zzzz", "--model", "scripted:", "--strategy", strategy, *options)
    assert (done.code, done.err) == (0, "")
    assert "No answer: nothing was found for the question" in done.out


def test_k_is_how_many_passages_are_read(index: Path, capsys: Capture) -> None:
    assert len(sources(ask(capsys, "-k", "2"))) == 2
    assert sources(ask(capsys, "-k", "2")) == sources(ask(capsys, "--set", "k=2"))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("-k 0", "-k"),
        ("-k 3 --set k=2", "k is given twice: 3, and 2 among the options"),
        ("--expect one --strategy concat", "expect: concat has no option expect"),
        (
            "--strategy disputation --expect one --set expect=several",
            "expect is given twice: one, and several among the options",
        ),
        ("--expect two", "Invalid value for '--expect'"),
        ("-k 3 --strategy ra_rag", "k: ra_rag has no option k (see: disputatio strategies ra_rag)"),
        ("--after spring", "after: 'spring' is not a date; write 2021, 2021-05 or 2021-05-31"),
        ("--before 2021-13", "before: '2021-13' is not a date"),
    ],
)
def test_what_cannot_be_a_filter_is_one_line(words: str, message: str, capsys: Capture) -> None:
    done = ask(capsys, "--passages", "passages.jsonl", *words.split())
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert message in done.err


def test_the_estimates_of_sources_count_where_sources_are_filtered(index: Path, capsys: Capture) -> None:
    from disputatio.types import Source

    estimates = {
        name: Source(name=name, reliability=share, low=share, high=share)
        for name, share in (("museum.example", 0.6), ("hearsay.example", 0.95))
    }
    FolderIndex.open(index).set_estimates(estimates)
    words = ("--strategy", "ra_rag", "--source", "museum.example")
    assert ask(capsys, *words).err == ""
    unknown = ask(capsys, *words, "--source", "almanac.example")
    assert "1 source without an estimate of reliability" in unknown.err


@pytest.mark.parametrize("command", ["ask", "search"])
def test_a_source_that_is_not_there_is_refused_with_the_nearest_name(
    command: str, index: Path, capsys: Capture
) -> None:
    model = ("--model", "scripted:script.json") if command == "ask" else ()
    refused = run(capsys, command, QUESTION, *model, "--source", "musem.example")
    assert refused.code == 2
    assert "unknown source 'musem.example': did you mean 'museum.example'?" in refused.err


def test_a_source_that_is_not_among_passages_in_hand_is_refused(workspace: Path, capsys: Capture) -> None:
    refused = ask(capsys, "--passages", "passages.jsonl", "--source", "farms.example")
    assert refused.code == 2
    assert "did you mean 'farm.example'?" in refused.err


@pytest.mark.long
def test_a_muted_document_is_not_read_whatever_names_it(
    index: Path, workspace: Path, capsys: Capture
) -> None:
    (workspace / "notes").mkdir()
    (workspace / "notes" / "old.md").write_text("# Old notes\n\nThe ferry first crossed in 1700.\n")
    assert run(capsys, "ingest", "notes", "--source", "notes.example", "--embedder", "none").code == 0
    assert "notes" in sources(ask(capsys))
    assert "notes" not in sources(ask(capsys, "--mute", "old.md"))
    assert "notes" not in sources(ask(capsys, "--mute", "Old notes"))
    refused = ask(capsys, "--mute", "odl.md")
    assert refused.code == 2
    assert "unknown document 'odl.md': did you mean 'old.md'?" in refused.err


@pytest.mark.long
def test_a_passage_is_muted_by_the_id_that_its_owner_gave_it(
    index: Path, workspace: Path, capsys: Capture
) -> None:
    rows = [{"id": "r7", "text": "The ferry first crossed in 1688.", "source": "rows.example"}]
    (workspace / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert run(capsys, "ingest", "rows.jsonl", "--embedder", "none").code == 0
    opened = FolderIndex.open(index)
    opened.add([Passage(text="The ferry first crossed in 1701.", id="own8", source="own.example")])
    [own] = [hit.passage for hit in opened.search("1701", k=1)]
    for name in ("own8", "passage:own8", own.document):
        assert "own.example" not in sources(ask(capsys, "--mute", name))
    assert "rows.example" not in sources(ask(capsys, "--mute", "r7"))
    assert opened.describe("own8", owner="Harbour") == 1
    assert ask(capsys, "--mute", "own9").code == 2
