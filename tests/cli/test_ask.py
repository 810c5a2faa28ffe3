"""The command line as a user meets it: what is printed where, exit codes, replay, files that are bad."""

from __future__ import annotations

import io
import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from disputatio.rendering.refusals import REMEDIES
from disputatio.server.changes import ChangeLog
from disputatio.store.folder_index import FolderIndex
from disputatio.store.ingesting.ingest import Refusal
from disputatio.types import Answer
from tests.shell import PASSAGES, QUESTION, SCRIPT, Run, bind_agents, run, write_passages, write_script
from tests.store import files
from tests.store.hashing import HashEmbedder

Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def _debate(monkeypatch: pytest.MonkeyPatch) -> None:
    """The debate is asked here, whatever the default: it has roles and options of every kind."""
    monkeypatch.setenv("DISPUTATIO_STRATEGY", "madam_rag")
    bind_agents(monkeypatch)


@pytest.fixture(autouse=True)
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in, with a script and passages."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DISPUTATIO_CACHE", str(tmp_path / "cache"))
    write_script(tmp_path / "script.json")
    write_passages(tmp_path / "passages.jsonl")
    return tmp_path


def ask(capsys: Capture, *words: str | Path, question: str = QUESTION) -> Run:
    """Ask the script about the passages; more words may be given."""
    searched = ("--passages", "passages.jsonl") if "--index" not in words else ()
    return run(capsys, "ask", question, "--model", "scripted:script.json", *searched, *words)


# --- an answer ----------------------------------------------------------------------------------
def test_json_is_one_object_of_the_documented_fields_and_nothing_else(capsys: Capture) -> None:
    done = ask(capsys, "--json")
    assert (done.code, done.err, done.out.count("\n")) == (0, "", 1)
    answer = done.json
    documented = [
        "question", "answers", "abstained", "text", "claims", "conflict", "confidence", "expect",
        "certificate", "read", "usage", "strategy",
        "model", "passages",
    ]  # fmt: skip
    assert list(answer)[: len(documented)] == documented
    assert Answer.from_dict(answer).to_dict() == answer  # what Python has is what is printed
    assert answer["answers"] == ["1887"]
    assert answer["abstained"] is None
    [claim] = answer["claims"]
    assert list(claim) == ["text", "citations", "verdict", "score"]
    cited = ["n", "passage", "source", "quote", "start", "end", "verdict", "score"]
    assert list(claim["citations"][0]) == cited
    assert list(answer["conflict"]) == ["kind", "positions"]
    names = [
        "answer", "subject", "verdict", "cause", "reason", "aliases", "probability", "passages", "sources",
        "weight", "moved", "details",
    ]  # fmt: skip
    assert list(answer["conflict"]["positions"][0]) == names
    assert answer["read"] == {
        "found": 4,
        "read": 4,
        "failed": 0,
        "set_aside": 0,
        "faults": 0,
        "unsearched": [],
        "late": [],
    }
    counts = ["calls", "prompt_tokens", "cached_tokens", "completion_tokens", "seconds", "core_seconds"]
    assert list(answer["usage"]) == counts
    assert all(
        {"id", "source", "title", "url", "date", "text"} <= set(passage) for passage in answer["passages"]
    )
    assert len(answer["passages"]) == len(PASSAGES)


def test_every_quote_stands_in_the_passage_it_names(capsys: Capture) -> None:
    answer = ask(capsys, "--json").json
    texts = {passage["id"]: passage["text"] for passage in answer["passages"]}
    citations = [citation for claim in answer["claims"] for citation in claim["citations"]]
    assert len(citations) == 2
    for citation in citations:
        assert texts[citation["passage"]][citation["start"] : citation["end"]] == citation["quote"]


def test_a_person_reads_the_positions_in_eighty_columns(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    done = ask(capsys)
    lines = done.out.splitlines()
    assert (done.code, done.err) == (0, "")
    assert max(map(len, lines)) <= 80
    assert "✓ accepted  1887 — The ferry" in lines
    assert "✗ rejected  1901" in lines
    assert "    by:  a-very-long-name-of-a-source.example" in lines
    assert any(line.startswith("    why: stated in 2 passages from 2 sources") for line in lines)
    assert any(line.startswith("Read: 4 passages of 4 sources:") for line in lines)
    assert any(line.startswith("Cost: madam_rag · scripted:script.json · ") for line in lines)
    assert not any(line.endswith(" ") for line in lines)


@pytest.mark.parametrize(
    ("columns", "width"), [("", 100), ("none", 100), ("0", 100), ("64", 64), ("150", 150)]
)
def test_off_a_terminal_the_width_is_that_of_columns_or_a_hundred(
    columns: str, width: int, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    script = dict(SCRIPT)
    script["You aggregate a debate"] = {"answers": ["1887"], "explanation": "In 1887 " + "it crossed " * 40}
    write_script(Path("script.json"), script)
    longest = max(map(len, ask(capsys).out.splitlines()))
    assert width - 12 <= longest <= width


def test_a_long_question_is_printed_whole(capsys: Capture) -> None:
    question = "When, " + "as far as anybody on the island can tell, " * 5 + "did the ferry first cross?"
    done = ask(capsys, question=question)
    assert question in " ".join(done.out.replace("\n", " ").split())


def test_strict_turns_an_abstention_into_exit_1(capsys: Capture) -> None:
    write_script(Path("script.json"), {"": SCRIPT[""]})
    assert ask(capsys).code == 0
    strict = ask(capsys, "--strict", "--json")
    assert (strict.code, strict.json["answers"], strict.json["abstained"]) == (1, [], "no_evidence")
    write_script(Path("script.json"))
    assert ask(capsys, "--strict").code == 0


def test_strict_without_verification_is_wrong_use(capsys: Capture) -> None:
    done = ask(capsys, "--strict", "--no-verify")
    assert (done.code, done.out) == (2, "")
    assert "it needs verify" in done.err


def test_strict_drops_a_claim_without_a_quote_and_abstains_with_exit_1(capsys: Capture) -> None:
    script = {"": {"answers": ["1887"], "explanation": "The ferry first crossed in 1887."}}
    write_script(Path("script.json"), script)
    loose = ask(capsys, "--strategy", "closed_book", "--json")
    assert (loose.code, loose.json["answers"], loose.json["claims"][0]["verdict"]) == (
        0,
        ["1887"],
        "unsupported",
    )
    strict = ask(capsys, "--strategy", "closed_book", "--strict", "--json")
    assert (strict.code, strict.json["answers"], strict.json["abstained"], strict.json["claims"]) == (
        1,
        [],
        "no_evidence",
        [],
    )
    shown = ask(capsys, "--strategy", "closed_book")
    assert "(unsupported: nothing is cited)" in " ".join(shown.out.split())


def test_without_verification_no_judge_is_asked(capsys: Capture) -> None:
    judged, unjudged = ask(capsys, "--json").json, ask(capsys, "--json", "--no-verify").json
    assert {citation["verdict"] for citation in unjudged["claims"][0]["citations"]} == {"unchecked"}
    assert unjudged["usage"]["calls"] == judged["usage"]["calls"] - 2


def test_a_trace_has_hashes_and_on_request_the_words(capsys: Capture) -> None:
    ask(capsys, "--trace", "trace.jsonl")
    events = [json.loads(line) for line in Path("trace.jsonl").read_text().splitlines()]
    assert [events[0]["event"], events[-1]["event"]] == ["strategy", "answer"]
    assert "Sheep" not in Path("trace.jsonl").read_text()
    ask(capsys, "--trace", "trace.jsonl", "--trace-text")
    assert "Sheep" in Path("trace.jsonl").read_text()
    assert not list(Path().glob("*.part"))


def test_a_role_that_no_model_call_has_is_reported(capsys: Capture) -> None:
    done = ask(capsys, "--role", "reeder=scripted:", "--role", "judge=scripted:", "--json")
    assert done.code == 0
    assert done.json["answers"] == ["1887"]
    message = "--role reeder: no model call has this role; the roles called were aggregator, judge, reader\n"
    assert done.err == message


def test_terminal_escapes_of_a_document_reach_no_terminal(capsys: Capture) -> None:
    nasty = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202egnp"
    passages = [{**PASSAGES[0], "source": f"museum{nasty}", "title": f"Ferry {nasty}"}]
    passages[0]["text"] = f"The {nasty}ferry{nasty} first crossed in 1887. [bold red]Markup[/bold red]"
    write_passages(Path("passages.jsonl"), passages)
    script = {words: dict(reply) for words, reply in SCRIPT.items()}
    script["in 1887"]["quote"] = f"ferry{nasty} first crossed in 1887"
    script["in 1887"]["explanation"] = f"It crossed{nasty} in 1887 [blink]"
    script["You aggregate a debate"]["answers"] = [f"1887{nasty}"]
    write_script(Path("script.json"), script)
    shown, data = ask(capsys, question=f"When?{nasty}"), ask(capsys, "--json", question=f"When?{nasty}")
    assert (shown.code, data.code) == (0, 0)
    for bad in "\x1b\x07\x9b\u202e":
        assert bad not in shown.out + shown.err + data.out + data.err
    assert "[bold red]Markup" in data.json["passages"][0]["text"]
    assert "\x9b" in data.json["question"]  # nothing is lost from the data


# --- passages in hand ---------------------------------------------------------------------------
def test_bad_rows_are_listed_and_the_answer_is_from_the_others(workspace: Path, capsys: Capture) -> None:
    with (workspace / "passages.jsonl").open("a") as file:
        file.write('{"text": ""}\nnot JSON \x1b[2J\n')
    done = ask(capsys, "--json")
    assert (done.code, done.json["answers"]) == (0, ["1887"])
    lines = done.err.splitlines()
    assert lines[0] == "refused passages.jsonl:5: has no text"
    assert lines[1].startswith("refused passages.jsonl:6: is not a JSON object")
    assert lines[2:] == ["correct or remove what was refused; the answer is from 4 passages"]
    assert "\x1b" not in done.err


@pytest.mark.parametrize("form", ["lines", "array", "csv"])
def test_passages_come_from_standard_input_in_any_format(
    form: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [{"body": passage["text"], "source": passage["source"]} for passage in PASSAGES]
    content = {
        "lines": "".join(json.dumps(row) + "\n" for row in rows),
        "array": json.dumps(rows, indent=1),
        "csv": "body,source\n" + "".join(f'"{row["body"]}",{row["source"]}\n' for row in rows),
    }[form]
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content.encode())))
    done = ask(capsys, "--passages", "-", "--text-column", "body", "--json")
    assert (done.code, done.err) == (0, "")
    assert done.json["answers"] == ["1887"]
    assert len(done.json["passages"]) == len(PASSAGES)


# --- lists --------------------------------------------------------------------------------------
@pytest.mark.parametrize("words", [("strategies",), ("model", "list")])
def test_lists_fit_eighty_columns(
    words: tuple[str, ...], capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    done = run(capsys, *words)
    assert done.code == 0
    assert max(map(len, done.out.splitlines())) <= 80


def test_models_are_listed_with_what_is_here(capsys: Capture) -> None:
    rows = {model["name"]: model for model in run(capsys, "model", "list", "--json").json}
    assert rows["minilm-l6-v2"]["present"] is False
    assert rows["minilm-l6-v2"]["sha256"]
    missing = run(capsys, "model", "path", "minilm-l6-v2")
    assert (missing.code, missing.out) == (2, "")
    assert "disputatio model pull minilm-l6-v2" in missing.err


def test_the_version_is_printed(capsys: Capture) -> None:
    from disputatio import __version__

    assert run(capsys, "--version").out == f"{__version__}\n"


# --- an index -----------------------------------------------------------------------------------
@pytest.mark.long
def test_good_files_are_ingested_and_bad_ones_listed(workspace: Path, capsys: Capture) -> None:
    folder = workspace / "docs"
    folder.mkdir()
    (folder / "good.md").write_text("# The ferry\n\nThe ferry first crossed in 1887.\n")
    (folder / "empty.txt").write_text("")
    (folder / "binary.txt").write_bytes(bytes(range(256)) * 20)
    (folder / "half.jsonl").write_text('{"text": "Whole."}\n{"text": "Hal\n{"title": "none"}\n')
    (folder / "broken.pdf").write_bytes(b"%PDF-1.4\nnothing of the kind")
    (folder / "gone.md").symlink_to(folder / "nowhere.md")
    done = run(capsys, "ingest", folder, "--index", "docs.index", "--embedder", "none", "--json")
    assert done.code == 0
    assert done.err == "6 files or rows were refused; the rest was ingested (--strict makes this an error)\n"
    refused = {Path(refusal["path"]).name for refusal in done.json["refused"]}
    assert refused >= {"empty.txt", "binary.txt", "broken.pdf", "half.jsonl:2", "half.jsonl:3"}
    assert done.json["added"] == 2
    again = run(capsys, "ingest", folder, "--index", "docs.index", "--strict")
    assert again.code == 1
    assert "2 unchanged" in again.out
    assert again.err.count("refused ") == len(done.json["refused"])
    answered = ask(capsys, "--index", "docs.index", "--json")
    assert answered.json["answers"] == ["1887"]


def test_what_ingest_refused_is_on_record_with_its_remedy_until_it_was_read(
    workspace: Path, capsys: Capture
) -> None:
    folder = workspace / "harbour"
    folder.mkdir()
    (folder / "good.md").write_text("The gate opens at five.")
    (folder / "scan.pdf").write_bytes(files.pdf_of(b""))
    (folder / "tides.txt").write_bytes("für".encode("latin-1"))
    done = run(capsys, "ingest", folder, "--index", "docs.index", "--embedder", "none")
    told = done.err.splitlines()
    for name, code in (("scan.pdf", "scan"), ("tides.txt", "encoding")):
        at = next(number for number, line in enumerate(told) if line.startswith(f"refused {folder}/{name}: "))
        assert told[at + 1] == f"  what to do: {REMEDIES[code]}"
    changes = ChangeLog(workspace / "docs.index.changes.sqlite")
    assert {(each["path"], each["code"], each["by"]) for each in changes.list_refused()} == {
        ("harbour/scan.pdf", "scan", "command line"),
        ("harbour/tides.txt", "encoding", "command line"),
    }
    (folder / "tides.txt").write_text("für")
    run(capsys, "ingest", "harbour/*.txt", "--index", "docs.index")
    assert [each["path"] for each in changes.list_refused()] == ["harbour/scan.pdf"]
    changes.close()


def test_what_is_refused_while_a_folder_is_watched_is_on_record_too(
    workspace: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = workspace / "harbour"
    folder.mkdir()
    (folder / "good.md").write_text("The gate opens at five.")
    scan = Refusal(f"{folder}/scan.pdf", "has no text", "scan", {})
    large = Refusal("harbour/big.txt", "is larger than 64 MB, the limit", "too_large", {"limit": 64 << 20})

    def watch_once(*_: object, on_refused: Callable[..., None], **__: object) -> None:
        on_refused([scan, large], [Path("harbour")])
        on_refused([large], [Path("harbour")])

    monkeypatch.chdir(workspace)
    monkeypatch.setattr("disputatio.store.ingesting.watch.watch", watch_once)
    run(capsys, "ingest", "harbour", "--index", "docs.index", "--embedder", "none", "--watch")
    changes = ChangeLog(workspace / "docs.index.changes.sqlite")
    [left] = changes.list_refused()
    changes.close()
    assert (left["path"], left["data"]) == ("harbour/big.txt", {"limit": 64 << 20})


def test_columns_are_named_and_files_left_out_by_options_of_ingest(workspace: Path, capsys: Capture) -> None:
    folder = workspace / "docs"
    (folder / "old").mkdir(parents=True)
    (folder / "rows.csv").write_text("name,body,year\nFerry,It first crossed in 1887.,1990\n")
    (folder / "old" / "a.txt").write_text("An old text.")
    (folder / "tool.py").write_text("x = 1\n")
    index = ("--index", "docs.index", "--embedder", "none")
    bare = run(capsys, "ingest", folder / "rows.csv", *index)
    assert (bare.code, bare.err) == (0, "")
    (row,) = FolderIndex.open("docs.index").documents()
    assert row.text == "Name: Ferry; Body: It first crossed in 1887.; Year: 1990."
    named = ("--text-column", "body", "--map", "title=name,date=year", "--exclude", "old")
    done = run(capsys, "ingest", folder, *index, *named)
    assert (done.code, done.err) == (0, "")
    assert "left out: 1 of code, 1 excluded by a pattern" in done.out
    again = run(capsys, "ingest", folder, *index, *named, "--json").json
    assert (again["unchanged"], again["left_out"]) == (1, {"code": 1, "excluded": 1})
    (row,) = FolderIndex.open("docs.index").documents()
    assert (row.text, row.title, row.date, row.date_origin) == (
        "It first crossed in 1887.", "Ferry", "1990", "stated",
    )  # fmt: skip
    wrong = run(capsys, "ingest", folder, *index, "--map", "body=x")
    assert (wrong.code, wrong.err.count("\n")) == (2, 1)
    assert "is mapped to one of text, title, url, date, source, owner" in wrong.err


def test_an_ingest_that_finds_nothing_says_so(workspace: Path, capsys: Capture) -> None:
    (workspace / "empty").mkdir()
    done = run(capsys, "ingest", workspace / "empty", "--index", "docs.index", "--embedder", "none")
    assert (done.code, done.err) == (1, "nothing was ingested: no document was found that could be read\n")


def _hashed(monkeypatch: pytest.MonkeyPatch) -> HashEmbedder:
    embedder = HashEmbedder()
    monkeypatch.setattr("disputatio.parts.open_embedder", lambda *_, **__: embedder)
    monkeypatch.setattr("disputatio.parts._is_here", lambda *_: True)
    return embedder


def _ingested(workspace: Path, capsys: Capture, *words: str) -> None:
    (workspace / "docs.jsonl").write_text((workspace / "passages.jsonl").read_text())
    done = run(capsys, "ingest", "docs.jsonl", "--index", "docs.index", *words)
    assert done.code == 0, done.err


@pytest.mark.long
def test_an_answer_replays_to_the_byte_without_model_script_or_embedder(
    workspace: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    embedder = _hashed(monkeypatch)
    _ingested(workspace, capsys)
    words = ("--index", "docs.index", "--journal", "calls.sqlite")
    first = ask(capsys, *words, "--json")
    assert first.json["answers"] == ["1887"]
    shown = ask(capsys, *words)
    calls = embedder.calls

    def unavailable(*_: object, **__: object) -> Any:
        raise AssertionError("an embedder was opened")

    monkeypatch.setattr("disputatio.parts.open_embedder", unavailable)
    (workspace / "script.json").unlink()
    before = _rows(workspace / "calls.sqlite")
    again = ask(capsys, *words, "--replay", "--json")
    assert (again.code, again.out, again.err) == (0, first.out, "")
    assert ask(capsys, *words, "--replay").out == shown.out
    assert embedder.calls == calls == 2  # the passages, and the question once
    assert _rows(workspace / "calls.sqlite") == before


def _rows(journal: Path) -> list[str]:
    """Return all that a journal holds; its bytes also change when SQLite folds its log into it."""
    with closing(sqlite3.connect(journal)) as database:
        return list(database.iterdump())


def test_a_replay_of_another_question_says_what_is_missing(
    workspace: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    _hashed(monkeypatch)
    _ingested(workspace, capsys)
    words = ("--index", "docs.index", "--journal", "calls.sqlite")
    ask(capsys, *words)
    other = ask(capsys, *words, "--replay", question="When did the sheep first cross?")
    assert (other.code, other.out) == (3, "")
    assert "holds no vector of hash-32: 'When did the sheep first cross?'" in other.err
    lost = ask(capsys, "--journal", "nowhere.sqlite", "--replay")
    assert lost.code == 2
    assert lost.err == "disputatio: nowhere.sqlite: there is no journal to replay\n"
    assert not Path("nowhere.sqlite").exists()


@pytest.mark.long
def test_an_index_is_opened_once_and_with_the_embedder_it_was_made_with(
    workspace: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    from disputatio.store.folders import Folders

    _ingested(workspace, capsys, "--embedder", "none")
    opened: list[Path] = []
    view = Folders.view

    def noted(self: Folders) -> object:
        if self._view is None:
            opened.extend(self.paths)
        return view(self)

    monkeypatch.setattr(Folders, "view", noted)
    done = ask(capsys, "--index", "docs.index", "--json")  # no embedder is here, and none is needed
    assert done.json["answers"] == ["1887"]
    assert opened == [Path("docs.index")]


def test_an_index_of_another_embedder_says_what_to_set(
    workspace: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    _hashed(monkeypatch)
    _ingested(workspace, capsys)
    other = HashEmbedder("other-32")
    monkeypatch.setattr("disputatio.parts.open_embedder", lambda *_, **__: other)
    done = ask(capsys, "--index", "docs.index")
    assert (done.code, done.out) == (2, "")
    assert "made with the embedder hash-32, not with other-32: set DISPUTATIO_EMBEDDER" in done.err
    monkeypatch.setenv("DISPUTATIO_EMBEDDER", "none")  # by keyword alone it can be read
    assert ask(capsys, "--index", "docs.index", "--json").json["answers"] == ["1887"]


def test_min_confidence_abstains_and_shows_the_positions(capsys: Capture) -> None:
    plain = ask(capsys, "--json").json
    assert plain["answers"]
    doubted = ask(capsys, "--min-confidence", "1", "--json").json
    assert (doubted["answers"], doubted["abstained"], doubted["text"]) == ([], "conflict", "")
    assert doubted["confidence"] == plain["confidence"] < 1
    shown = ask(capsys, "--min-confidence", "1").out
    assert "none is likely enough to be right" in shown
    assert "nothing settles it" not in shown
    wrong = ask(capsys, "--min-confidence", "1.5")
    assert wrong.code == 2 and "--min-confidence" in wrong.err


@pytest.mark.long
def test_a_deadline_on_the_command_line_is_a_time(capsys: Capture) -> None:
    done = run(capsys, "ask", QUESTION, "--passages", "passages.jsonl", "--within", "soon")
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert "write 20s, 500ms or 2m" in done.err
    words = ("ask", QUESTION, "--passages", "passages.jsonl", "--strategy", "disputation", "--within", "2m")
    timed = run(capsys, *words, "--json", "--model", "none")
    assert (timed.code, timed.json["read"]["late"]) == (0, [])
