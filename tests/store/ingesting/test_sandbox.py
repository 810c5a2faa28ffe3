"""A parser that hangs, dies or eats memory costs its own file only; what the child says is checked."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from disputatio.errors import IngestError
from disputatio.store.ingesting import sandbox
from disputatio.store.ingesting.parsers import Format, ParsedPart, formats
from disputatio.store.ingesting.readers import open_reader
from disputatio.store.ingesting.sandbox import Sandbox
from tests.store import files
from tests.store.ingesting.damaged_files import fuzz


def _parse(box: Sandbox, path: Path, kind: str = "html") -> list[ParsedPart]:
    with path.open("rb") as file:
        return list(box.parse(kind, file, path.name, where=str(path)))


def _text(parts: list[ParsedPart]) -> str:
    (part,) = parts
    return str(part["document"]["text"])


@pytest.fixture
def good(tmp_path: Path) -> Path:
    path = tmp_path / "good.html"
    path.write_text("<p>Good words.</p>")
    return path


@pytest.mark.slow
def test_a_parser_that_hangs_is_ended_and_the_next_file_is_read(tmp_path: Path, good: Path) -> None:
    slow = tmp_path / "slow.html"  # attributes of one element are compared with each other
    slow.write_text("<p " + " ".join(f"a{number}=x" for number in range(200_000)) + ">words</p>")
    with Sandbox(seconds=0.5) as box:
        with pytest.raises(IngestError, match=r"slow\.html: took more than 0\.5 s") as refused:
            _parse(box, slow)
        assert refused.value.code == "too_slow"
        box._seconds = 20.0
        assert _text(_parse(box, good)) == "Good words."


PARENT = """
import sys, threading, time
from pathlib import Path
from disputatio.store.ingesting.sandbox import Sandbox
box, slow = Sandbox(seconds=60), Path(sys.argv[1])
def parse():
    with slow.open("rb") as file:
        list(box.parse("html", file, slow.name, where=str(slow)))
threading.Thread(target=parse, daemon=True).start()
while box._child is None:
    time.sleep(0.01)
print(box._child.pid, flush=True)
time.sleep(60)
"""


@pytest.mark.slow
def test_a_parser_ends_with_a_parent_that_is_killed_while_it_parses(tmp_path: Path) -> None:
    slow = tmp_path / "slow.html"  # attributes of one element are compared with each other
    slow.write_text("<p " + " ".join(f"a{number}=x" for number in range(400_000)) + ">words</p>")
    with subprocess.Popen(
        [sys.executable, "-c", PARENT, str(slow)], stdout=subprocess.PIPE, text=True
    ) as parent:
        try:
            assert parent.stdout is not None
            child = Path("/proc") / parent.stdout.readline().strip()
            while _seconds_of(child) < 2:  # what its libraries take to load is less
                time.sleep(0.05)
        finally:
            parent.kill()
    until = time.monotonic() + 5
    with suppress(FileNotFoundError, ProcessLookupError):
        while "State:\tZ" not in (child / "status").read_text():
            assert time.monotonic() < until, "the parser goes on"
            time.sleep(0.02)


def _seconds_of(process: Path) -> float:
    user, system = (process / "stat").read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


@pytest.mark.slow
def test_memory_is_bounded_above_what_the_libraries_take(tmp_path: Path, good: Path) -> None:
    wide = tmp_path / "wide.html"
    wide.write_text("<p>words</p>" * 300_000)
    with Sandbox(megabytes=96) as box:
        with pytest.raises(IngestError, match=r"wide\.html: takes more than 96 MB of memory"):
            _parse(box, wide)
        assert _text(_parse(box, good)) == "Good words."


@pytest.mark.slow
def test_a_child_that_was_killed_is_replaced(good: Path) -> None:
    with Sandbox() as box:
        assert _text(_parse(box, good)) == "Good words."
        child = box._child
        assert child is not None
        assert _text(_parse(box, good)) == "Good words."
        assert box._child is child
        child.kill()
        child.wait()
        assert _text(_parse(box, good)) == "Good words."
        assert box._child is not child


def test_a_child_that_dies_at_a_file_says_how(good: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def killed(line: object, rest: bytes, seconds: float) -> tuple[bytes, bytes]:
        assert box._child is not None
        box._child.kill()
        raise EOFError

    monkeypatch.setattr(Sandbox, "_answer", staticmethod(killed))
    with Sandbox() as box, pytest.raises(IngestError, match=r"its parser died: SIGKILL"):
        _parse(box, good)


@pytest.mark.long
def test_the_child_keeps_no_secret_and_writes_no_file(
    good: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    with Sandbox() as box:
        _parse(box, good)
        assert box._child is not None
        told = Path(f"/proc/{box._child.pid}")
        assert b"secret" not in (told / "environ").read_bytes()
        limits = (told / "limits").read_text().splitlines()
        found = {line[:26].strip(): line[26:].split()[0] for line in limits}
        assert found["Max file size"] == "0"
        assert found["Max core file size"] == "0"
        assert str((told / "fd" / "1").readlink()) == "/dev/null"


def test_a_missing_parser_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lacking = Format(kind="pdf", suffixes=(".pdf",), packages={"no_such_parser": "no-such-parser"})
    monkeypatch.setattr(sandbox, "formats", lambda: {**formats(), "pdf": lacking})
    (tmp_path / "x.pdf").write_bytes(b"%PDF-")
    with Sandbox() as box, pytest.raises(IngestError, match=r"disputatio\[store\]") as refused:
        _parse(box, tmp_path / "x.pdf", "pdf")
    assert refused.value.code == "missing_package"


@pytest.mark.parametrize(
    "answer",
    [
        b"[]",
        b"{",
        b'{"document": {"text": 5}}',
        b'{"document": []}',
        b'{"rows": [[1, "x"]]}',
        b'{"rows": [["1", {}]]}',
        b'{"hidden": -1}',
        b'{"pages": ["x"]}',
        b'{"member": [-1]}',
        b'{"refused": ""}',
        b'{"refused": "odd", "code": "odd"}',
        b'{"run": "rm"}',
        b"[" * 100_000,
    ],
)
def test_a_wrong_answer_of_the_child_is_refused(answer: bytes) -> None:
    with pytest.raises(ValueError, match=r".+"):
        sandbox._parse_part(answer)


@pytest.mark.slow
def test_an_answer_without_end_is_refused(good: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "_LARGEST_ANSWER", 10)
    good.write_text("<p>" + "words " * 500_000)
    with Sandbox() as box, pytest.raises(IngestError, match="no proper answer"):
        _parse(box, good)


@pytest.mark.slow
def test_a_file_left_half_read_says_so_and_the_next_is_read(tmp_path: Path, good: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = [f"row {number} " + "words " * 20 for number in range(20_000)]
    table = pa.Table.from_arrays([pa.array(rows)], schema=pa.schema([("text", pa.string())]))
    pq.write_table(table, tmp_path / "rows.parquet")
    with open_reader() as read:
        reading = iter(read(tmp_path / "rows.parquet", "").documents)
        assert next(reading).row == 1
        (document,) = read(good, "").documents
        assert document.text == "Good words."
        with pytest.raises(IngestError, match="left half-read"):
            list(reading)
        assert sum(1 for _ in read(tmp_path / "rows.parquet", "").documents) == 20_000


def _bombs(folder: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    run = "<w:body><w:p><w:r><w:t>&a;</w:t></w:r></w:p></w:body>"
    laughing = f'{files.LAUGHS}<w:document xmlns:w="{files.WORD}">{run}</w:document>'
    (folder / "laughs.docx").write_bytes(files.replaced(files.docx_of(""), "word/document.xml", laughing))
    files.epub(
        folder / "laughs.epub", "x", package=f"{files.LAUGHS}<package><metadata>&a;</metadata></package>"
    )
    (folder / "deep.html").write_text("<div>" * 100_000 + "words")
    (folder / "stream.pdf").write_bytes(files.pdf_of(bytes(200_000_000)))
    (folder / "field.csv").write_text('text,source\ngood,s\n"' + "a" * 9_000_000 + '",s\n')
    (folder / "nested.jsonl").write_text('{"text": "x", "a": ' + "[" * 100_000 + "]" * 100_000 + "}\n")
    huge = pa.Table.from_arrays([pa.array(["a" * 250_000_000])], schema=pa.schema([("text", pa.string())]))
    pq.write_table(huge, folder / "huge.parquet", compression="zstd")
    nested = b"".join(
        b'--b%d\nContent-Type: multipart/mixed; boundary="b%d"\n\n' % (number, number + 1)
        for number in range(1000)
    )
    head = b'From: a@b.example\nContent-Type: multipart/mixed; boundary="b0"\n\n'
    (folder / "deep.eml").write_bytes(head + nested)


@pytest.mark.slow
def test_known_bombs_are_refused_with_a_reason_and_little_memory_here(tmp_path: Path, good: Path) -> None:
    bombs = tmp_path / "bombs"
    bombs.mkdir()
    _bombs(bombs)
    reasons: dict[str, str] = {}
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with open_reader() as read:
        for path in sorted(bombs.iterdir()):
            try:
                reading = read(path, "")
                assert sum(1 for _ in reading.documents) <= 1
                (error,) = reading.refused
            except IngestError as refusal:
                error = refusal
            reasons[path.name] = error.reason
            (document,) = read(good, "").documents
            assert document.text == "Good words."
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000  # kB
    assert "declares entities" in reasons["laughs.docx"]
    assert "amplification" in reasons["laughs.epub"]
    assert "too deeply" in reasons["deep.html"]
    assert "Limit" in reasons["stream.pdf"]
    assert "limit of a row" in reasons["field.csv"]
    assert "not a JSON object" in reasons["nested.jsonl"]
    assert "512 MB" in reasons["huge.parquet"]
    assert reasons["deep.eml"]


@pytest.mark.slow
def test_damaged_files_of_every_format_are_read_or_refused_with_a_reason(tmp_path: Path) -> None:
    tally = fuzz(110, 3, tmp_path)
    assert (tally.files, tally.faults, tally.no_reason) == (110, [], [])
    assert sum(tally.read.values()) > 20
    assert len(tally.refused) > 8


def test_the_child_runs_the_package_of_its_parent_wherever_it_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    ours = Path(sandbox.__file__).parents[3]
    monkeypatch.chdir(ours.parent)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([".", "", "scripts"]))
    code = "import disputatio.store.ingesting.child as child; print(child.__file__)"
    run = subprocess.run(
        [sys.executable, "-Pc", code],
        cwd="/",
        env=sandbox.child_environment(),
        check=True,
        capture_output=True,
        text=True,
    )
    assert Path(run.stdout.strip()).parents[3] == ours
    paths = sandbox.child_environment()["PYTHONPATH"].split(os.pathsep)
    assert paths == [str(ours), str(ours.parent), str(ours.parent / "scripts")]
