"""Passages in files and on standard input: every format, bad rows beside good ones, bounds."""

from __future__ import annotations

import io
import json
import os
import threading
from pathlib import Path

import pytest

from disputatio.errors import InputError
from disputatio.store.ingesting.rows import LONGEST_ROW
from disputatio.store.passage_files import load_passages, read_passages

ROWS = [
    {"text": "It opened in 1887.", "source": "museum.example", "date": "1990"},
    {"text": "It opened in 1901.", "url": "http://www.buzz.example/1", "extra": [1]},
]
CSV = "Text,source,date,url\nIt opened in 1887.,museum.example,1990,\nIt opened in 1901.,,,http://www.buzz.example/1\n"
LINES = "".join(json.dumps(row) + "\n" for row in ROWS)
INDENTED = json.dumps(ROWS, indent=2)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("p.jsonl", LINES),
        ("p.ndjson", "\ufeff\n" + LINES),
        ("p.json", INDENTED),
        ("p.json", LINES),
        ("p.csv", CSV),
        ("p.csv", "\ufeff" + CSV.replace(",", ";").replace("\n", "\r\n")),
        ("p.tsv", CSV.replace(",", "\t")),
        ("p.txt", " \n\n" + LINES),
        ("p", "\n" + INDENTED),
        ("p.txt", CSV),
        ("p.jsonl", INDENTED),  # the suffix does not fit
        ("p.json", CSV),
        ("p.csv", LINES),
    ],
)
def test_a_file_is_read_by_its_suffix_or_else_by_its_content(name: str, content: str, tmp_path: Path) -> None:
    file = tmp_path / name
    file.write_text(content, encoding="utf-8", newline="")
    passages, refused = read_passages(file)
    assert [(one.text, one.source, one.date) for one in passages] == [
        ("It opened in 1887.", "museum.example", "1990"),
        ("It opened in 1901.", "buzz.example", ""),
    ]
    assert refused == []
    streamed, _ = read_passages("-", stdin=io.BytesIO(content.encode()))
    assert name == "p.tsv" or streamed == passages


def test_text_is_cleaned_and_numbers_are_written_out(tmp_path: Path) -> None:
    file = tmp_path / "p.jsonl"
    file.write_text('\ufeff{"text": "one\u200b", "id": 3, "metadata": {"page": 4}}\n', encoding="utf-8")
    (passage,) = load_passages(file)
    assert (passage.text, passage.id, passage.metadata) == ("one", "3", {"page": "4"})


def test_an_array_of_strings_is_passages_without_a_source() -> None:
    passages, refused = read_passages(
        "-", stdin=io.BytesIO(b'["It rained.", 3, {"text": "It did not."}, ""]')
    )
    assert [one.text for one in passages] == ["It rained.", "It did not."]
    assert [str(one) for one in refused] == ["-:2: is not a JSON object", "-:4: has no text"]
    renamed, _ = read_passages("-", columns={"text": "body"}, stdin=io.BytesIO(b'["It rained."]'))
    assert [one.text for one in renamed] == ["It rained."]


def test_an_object_on_several_lines_is_one_passage() -> None:
    whole = json.dumps(ROWS[0], indent=2).encode()
    assert [one.source for one in read_passages("-", stdin=io.BytesIO(whole))[0]] == ["museum.example"]


@pytest.mark.parametrize(
    "content",
    [
        '{"body": "It opened.", "site": "a.example"}',
        '[{"body": "It opened.", "site": "a.example"}]',
        "body,site,metadata\nIt opened.,a.example,x",
    ],
)
def test_columns_are_named_as_for_an_ingest(content: str) -> None:
    raw = io.BytesIO(content.encode())
    (passage,), _ = read_passages("-", columns={"text": "body", "source": "site"}, stdin=raw)
    assert (passage.text, passage.source, passage.metadata) == ("It opened.", "a.example", {})
    with pytest.raises(InputError, match=r"body, site.*--text-column"):
        read_passages("-", stdin=io.BytesIO(content.encode()))


@pytest.mark.parametrize(
    ("name", "bad", "reason"),
    [
        ("p.jsonl", '{"text": }', "is not a JSON object (Expecting value"),
        ("p.jsonl", '{"title": "b"}', "has no field 'text' (its fields: title)"),
        ("p.jsonl", '{"text": "  "}', "has no text"),
        ("p.jsonl", '{"text": ["a"]}', "'text' is not text"),
        ("p.jsonl", '{"text": "a", "source": {"x": 1}}', "'source' is not text"),
        ("p.jsonl", '{"text": "a", "metadata": "x"}', "'metadata' is no object"),
        ("p.jsonl", '{"text": "Another.", "id": "x"}', "its id 'x' stands for another text already"),
        ("p.jsonl", "[" * 100_000, "is not a JSON object"),
        ("p.jsonl", '{"text": "' + "a" * LONGEST_ROW + '"}', "is longer than 8 MB, the limit of a row"),
        ("p.jsonl", json.dumps({"text": "a", "title": "t" * 2001}), "its title is longer than 2,000"),
        ("p.csv", "a,b,c", "has 3 fields where the header has 2"),
        ("p.csv", ",y", "has no text"),
    ],
)
def test_a_bad_row_is_listed_and_the_good_ones_are_used(
    name: str, bad: str, reason: str, tmp_path: Path
) -> None:
    file = tmp_path / name
    good = ("text,id", "Good.,x", bad, "Good too.,y") if name == "p.csv" else (
        '{"text": "Good.", "id": "x"}', bad, '{"text": "Good too."}')  # fmt: skip
    file.write_text("\n".join(good) + "\n")
    passages, refused = read_passages(file)
    assert [one.text for one in passages] == ["Good.", "Good too."]
    assert [str(one)[: len(str(file)) + 4 + len(reason)] for one in refused] == [f"{file}:2: {reason}"]
    with pytest.raises(InputError, match=":2: "):
        load_passages(file)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("p.jsonl", b"\n \n", "p.jsonl: has no passages"),
        ("p.jsonl", b"", "p.jsonl: has no passages"),
        ("p.json", b"[]", "p.json: has no passages"),
        ("p.csv", b"text,source\n", "p.csv: has no passages"),
        ("p.jsonl", b"\xff\xfe\n", "p.jsonl:1: is not UTF-8 text"),
        ("p.jsonl", b'{"text": ""}\n{"text": 1}\n', "p.jsonl: no row can be used; the first: "),
        ("p.json", b'[{"text": "a"}', "p.json: is not proper JSON"),
        (
            "p.json",
            b'{"passages":\n [{"text": "a"}]}',
            "p.json:1: has no field 'text' (its fields: passages)",
        ),
        ("p.csv", b"name,body\na,b\n", "p.csv: has no column 'text' (its columns: name, body)"),
        ("p.bin", b"PK\0\0", "p.bin: is a binary file"),
        ("p.docx", b"PK\0\0", "p.docx: is a binary file; passages are JSON lines, a JSON array or CSV; for"),
        (
            "p.pdf",
            b"%PDF-1.4\n\0broken",
            "p.pdf: has no column 'text' (or another, by --text-column); passages are",
        ),
    ],
)
def test_a_file_without_a_good_row_is_one_input_error(
    name: str, content: bytes, message: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError) as caught:
        read_passages(tmp_path / name)
    assert str(caught.value).startswith(f"{tmp_path}/{message}")
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.jsonl: no such file"):
        read_passages(tmp_path / "none.jsonl")
    with pytest.raises(InputError, match="is a directory"):
        read_passages(tmp_path)


def test_a_named_pipe_is_read_as_it_comes(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_text(LINES))
    writer.start()
    passages, _ = read_passages(pipe)
    writer.join()
    assert len(passages) == 2


def test_a_large_array_is_refused_before_it_is_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("disputatio.store.passage_files.LARGEST_FILE", 1 << 20)
    with pytest.raises(InputError, match="is larger than 1 MB, the limit of a JSON array: use JSON lines"):
        read_passages("-", stdin=io.BytesIO(b"[" + b" " * (1 << 20) + b'"a"]'))
