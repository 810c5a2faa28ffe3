"""`disputatio search`, `ingest` and `index` from the command line, over real files and a real index."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from disputatio.store.folder_index import FolderIndex
from disputatio.store.passage_files import load_passages
from tests.shell import finish, run, start
from tests.store.hashing import HashEmbedder

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DISPUTATIO_CACHE", str(tmp_path / "cache"))
    rows = [
        {"text": "The ferry first crossed in 1887.", "source": "museum.example", "date": "2019-05-01"},
        {"text": "The ferry first crossed in 1902.", "source": "buzz.example", "date": "2023-10-05"},
        {"text": "The mill ground barley.", "source": "museum.example", "date": "2020", "page": "4"},
    ]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = run(capsys, "ingest", "rows.jsonl", "--index", "x.index", "--embedder", "none")
    assert (done.code, done.err) == (0, "")
    return tmp_path


def test_a_search_gives_the_best_of_each_source_with_the_score_of_each_scorer(
    workspace: Path, capsys: Capture
) -> None:
    hits = run(capsys, "search", "ferry", "--index", "x.index", "--per-source", "1", "--json").json
    assert [hit["passage"]["source"] for hit in hits] == ["museum.example", "buzz.example"]
    assert set(hits[0]["scores"]) == {"sparse", "bm25"}


def test_a_file_that_was_deleted_is_named_with_what_takes_it_out(workspace: Path, capsys: Capture) -> None:
    (workspace / "docs").mkdir()
    for name in ("one", "two", "a\nb"):
        (workspace / "docs" / f"{name}.md").write_text(
            f"The {name.split()[0]} ferry first crossed in 1887.\n"
        )
    line = ("ingest", "docs", "--index", "y.index", "--embedder", "none")
    assert run(capsys, *line).err == ""
    gone = workspace / "docs" / "two.md"
    gone.unlink()
    told = run(capsys, *line).err
    assert told.startswith(
        f"no longer there, but in the index: {gone}; answers still use them; take each out"
    )
    run(capsys, "index", "delete", "--path", str(gone), "--index", "y.index")
    assert run(capsys, *line).err == ""


def test_a_person_reads_rank_score_source_and_what_fits_the_query(
    workspace: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    row = {
        "text": "Barley was ground here. " * 20 + "The ferry first crossed in 1887. It was painted red. " * 9,
        "source": "museum.example",
        "title": "The ferry of the sound",
        "url": "https://museum.example/ferry",
        "page": "12",
    }
    Path("long.jsonl").write_text(json.dumps(row) + "\n")
    run(capsys, "ingest", "long.jsonl", "--index", "y.index", "--embedder", "none")
    lines = run(capsys, "search", "when did the ferry cross", "--index", "y.index").out.splitlines()
    assert lines[0] == " 1  1.000  museum.example · The ferry of the sound · page 12"
    assert lines[1].startswith("           … The ferry first crossed in 1887. It was painted red.")
    assert lines[-2].endswith(" …")
    assert lines[-1].strip() == "https://museum.example/ferry"
    assert len(lines) <= 8
    assert max(map(len, lines)) <= 80
    shown = run(capsys, "search", "ferry", "--index", "y.index", "--verbose").out
    assert "bm25" in shown
    assert shown.count("Barley was ground") >= 15


def test_a_search_is_narrowed_by_date_source_and_metadata(workspace: Path, capsys: Capture) -> None:
    def sources(*words: str) -> list[str]:
        done = run(capsys, "search", "ferry mill", "--index", "x.index", "--json", *words)
        return [hit["passage"]["source"] for hit in done.json]

    assert sources("--after", "2021") == ["buzz.example"]
    assert set(sources("--source", "museum.example")) == {"museum.example"}
    assert sources("--where", "page=4") == ["museum.example"]


@pytest.mark.parametrize("query", ["zeppelin", "渡船什么时候首航", "متى عبرت العبارة", "…—!?"])
def test_a_search_that_finds_nothing_says_so_and_is_no_failure(
    workspace: Path, capsys: Capture, query: str
) -> None:
    done = run(capsys, "search", query, "--index", "x.index")
    assert (done.code, done.out.strip(), done.err) == (0, "no passage was found", "")
    assert run(capsys, "search", query, "--index", "x.index", "--json").json == []
    refused = run(capsys, "search", "ferry", "--source", "none.example", "--index", "x.index")
    assert (refused.code, "did you mean" in refused.err) == (2, True)


@pytest.mark.parametrize(
    "words",
    [
        ["-k", "0"],
        ["--alpha", "2"],
        ["--fusion", "sum"],
        ["--after", "yesterday"],
        ["--where", "page"],
        ["--per-source", "0"],
    ],
)
def test_an_option_out_of_range_is_one_line_and_exit_two(
    workspace: Path, capsys: Capture, words: list[str]
) -> None:
    done = run(capsys, "search", "ferry", "--index", "x.index", *words)
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)


def test_an_index_that_is_not_there_is_named(workspace: Path, capsys: Capture) -> None:
    done = run(capsys, "search", "ferry", "--index", "nowhere")
    assert done.code == 2
    assert "nowhere" in done.err


@pytest.mark.long
def test_an_index_is_described_compacted_and_emptied_of_a_source(workspace: Path, capsys: Capture) -> None:
    assert run(capsys, "index", "delete", "--source", "buzz.example", "--index", "x.index").code == 0
    result = run(capsys, "index", "info", "--index", "x.index", "--json").json
    assert (result["passages"], result["sources"]) == (2, 1)
    assert run(capsys, "index", "compact", "--index", "x.index").code == 0
    result = run(capsys, "index", "info", "--index", "x.index", "--json").json
    assert (result["passages"], result["dead"], result["segments"]) == (2, 0, 1)
    assert "passages" in run(capsys, "index", "info", "--index", "x.index").out


def test_deleting_without_a_filter_is_refused(workspace: Path, capsys: Capture) -> None:
    done = run(capsys, "index", "delete", "--index", "x.index")
    assert done.code == 2
    assert "--source" in done.err


@pytest.mark.long
def test_a_document_is_deleted_and_counted_once_by_whichever_name(workspace: Path, capsys: Capture) -> None:
    done = run(capsys, "index", "delete", "--path", "rows.jsonl", "--index", "x.index")
    assert (done.code, done.out) == (0, "3 documents deleted\n")
    Path("one.jsonl").write_text('{"text": "The mill."}\n')
    run(capsys, "ingest", "one.jsonl", "--index", "x.index", "--embedder", "none")
    done = run(capsys, "index", "delete", "--path", "one.jsonl", "--index", "x.index")
    assert (done.code, done.out) == (0, "1 document deleted\n")


@pytest.mark.long
def test_a_check_finds_what_has_changed_and_mends_it(workspace: Path, capsys: Capture) -> None:
    done = run(capsys, "index", "check", "--index", "x.index")
    assert (done.code, done.err) == (0, "")
    assert done.out.endswith("3 documents and 3 passages checked; nothing damaged\n")
    [file] = (workspace / "x.index" / "segments").glob("*/stored_bytes.npy")
    raw = bytearray(file.read_bytes())
    raw[150] ^= 1
    file.write_bytes(raw)
    looked = run(capsys, "index", "check", "--no-repair", "--index", "x.index")
    assert looked.code == 1
    assert "stored_bytes.npy: its bytes have changed; left as it is" in looked.out
    assert looked.out.endswith("repair it with: disputatio index check --index x.index\n")
    mended = run(capsys, "index", "check", "--index", "x.index", "--json")
    assert mended.code == 1
    assert [damage["problem"] for damage in mended.json["damaged"]] == ["its bytes have changed"]
    assert "quarantine" in mended.json["damaged"][0]["action"]
    again = run(capsys, "index", "check", "--index", "x.index", "--json")
    assert (again.code, again.json["damaged"]) == (0, [])
    assert len(run(capsys, "search", "ferry mill", "--index", "x.index", "--json").json) == 3
    assert list((workspace / "x.index" / "quarantine").rglob("stored_bytes.npy"))


@pytest.mark.long
def test_an_index_of_an_embedder_that_is_gone_can_be_kept_and_given_another(
    workspace: Path, capsys: Capture
) -> None:
    FolderIndex.open(workspace / "y.index", embedder=HashEmbedder()).ingest(workspace / "rows.jsonl")
    assert run(capsys, "index", "compact", "--index", "y.index").code == 0
    assert run(capsys, "index", "delete", "--source", "buzz.example", "--index", "y.index").code == 0
    assert run(capsys, "index", "reembed", "none", "--index", "y.index").code == 0
    assert len(run(capsys, "search", "ferry mill", "--index", "y.index", "--json").json) == 2


def test_exported_passages_can_be_asked_over(workspace: Path, capsys: Capture) -> None:
    done = run(capsys, "index", "export", "out.jsonl", "--index", "x.index")
    assert done.code == 0
    assert {passage.source for passage in load_passages("out.jsonl")} == {"museum.example", "buzz.example"}
    assert run(capsys, "index", "export", "out.xls", "--index", "x.index").code == 2
    assert run(capsys, "index", "export", "o.jsonl", "--what", "words", "--index", "x.index").code == 2


def test_a_copy_through_a_bucket_answers_as_the_index_does(workspace: Path, capsys: Capture) -> None:
    bucket = f"file://{workspace / 'bucket'}"
    first = run(capsys, "index", "sync", "x.index", bucket, "--json").json
    assert first["files"] > 0
    result = run(capsys, "index", "sync", bucket, "copy.index", "--no-tables")
    assert (result.code, result.err) == (0, "")
    assert f"copy.index: at commit {first['commit']}; " in result.out
    hits = [
        run(capsys, "search", "ferry", "--index", name, "--json").json for name in ("x.index", "copy.index")
    ]
    assert hits[0] == hits[1] != []
    assert run(capsys, "index", "sync", "x.index", bucket, "--json").json["files"] == 0


def test_a_copy_is_not_laid_over_another_index(workspace: Path, capsys: Capture) -> None:
    assert run(capsys, "ingest", "rows.jsonl", "--index", "y.index", "--embedder", "none").code == 0
    done = run(capsys, "index", "sync", "x.index", "y.index")
    assert (done.code, done.out) == (2, "")
    assert "y.index: is an index of its own, not a copy; choose an empty place" in done.err


def test_an_index_of_this_version_is_not_converted(workspace: Path, capsys: Capture) -> None:
    done = run(capsys, "index", "convert", "x.index")
    assert (done.code, done.err) == (2, "disputatio: x.index: has the present format already\n")


def test_an_ingest_that_is_run_again_changes_nothing(workspace: Path, capsys: Capture) -> None:
    done = run(capsys, "ingest", "*.jsonl", "--index", "x.index", "--json")
    assert (done.code, done.json["unchanged"], done.json["added"]) == (0, 3, 0)


@pytest.mark.slow
@pytest.mark.xdist_group("ray")
def test_an_ingest_by_a_cluster_started_for_it_says_what_a_local_one_says(
    workspace: Path, capsys: Capture
) -> None:
    words = ("--embedder", "none", "--ray", "local", "--json")
    done = finish(start("ingest", "rows.jsonl", "--index", "y.index", *words))  # where no cluster runs yet
    assert (done.code, done.json["added"], done.json["refused"], done.err) == (0, 3, [], "")
    hits = [run(capsys, "search", "ferry", "--index", name, "--json").json for name in ("x.index", "y.index")]
    assert hits[0] == hits[1] != []


@pytest.mark.slow
def test_a_cluster_that_is_not_there_is_one_line(workspace: Path) -> None:
    words = ("--embedder", "none", "--ray", "127.0.0.1:1")
    done = finish(start("ingest", "rows.jsonl", "--index", "y.index", *words))
    assert (done.code, done.err.count("\n")) == (3, 1)
    assert "127.0.0.1:1: no Ray cluster could be had" in done.err


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_watch_that_is_stopped_ends_well_and_says_what_it_did_in_all(workspace: Path, number: int) -> None:
    (workspace / "notes").mkdir()
    (workspace / "notes" / "a.txt").write_text("A zebra.")
    process = start("ingest", "notes", "--index", "y.index", "--embedder", "none", "--watch", "--json")
    assert process.stdout is not None
    assert json.loads(process.stdout.readline())["added"] == 1
    (workspace / "notes" / "b.txt").write_text("An okapi.")
    assert json.loads(process.stdout.readline())["added"] == 1
    process.send_signal(number)
    done = finish(process)
    assert (done.code, done.err) == (0, "")
    result = done.json["watched"]
    assert (result["added"], result["unchanged"], result["refused"]) == (2, 1, 0)


def test_an_address_is_not_fetched_unless_asked(workspace: Path, capsys: Capture) -> None:
    done = run(capsys, "ingest", "http://127.0.0.1/x.html", "--index", "x.index")
    assert done.code == 2
    assert "--urls" in done.err


def test_an_address_of_this_machine_is_refused_with_its_reason(workspace: Path, capsys: Capture) -> None:
    done = run(capsys, "ingest", "http://127.0.0.1/x.html", "--urls", "--index", "x.index", "--json")
    assert done.code == 1
    [refused] = done.json["refused"]
    assert "127.0.0.1" in refused["path"]


@pytest.mark.parametrize(
    "words",
    [
        ["--watch", "-"],
        ["--watch", "--urls", "http://a.example/"],
        ["--watch", "--ray", "local", "rows.jsonl"],
        ["--ray", "local", "-"],
        ["--ray", "local", "--urls", "http://a.example/"],
        ["--ray", "", "rows.jsonl"],
        ["no-such-file"],
    ],
)
def test_options_that_do_not_go_together_are_refused_before_anything_is_read(
    workspace: Path, capsys: Capture, words: list[str]
) -> None:
    done = run(capsys, "ingest", "--index", "y.index", *words)
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert not (workspace / "y.index").exists()
