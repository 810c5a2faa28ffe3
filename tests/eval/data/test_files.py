"""Files of rows are read in every form they are published in, and one that cannot be is named."""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from pyarrow import parquet

from disputatio.errors import InputError, MissingDependency
from disputatio.eval.data.datasets import check, identify, load
from tests.eval.data.formats.published import NQ_OPEN, RAMDOCS


def test_one_row_is_the_same_in_lines_a_list_an_object_a_packed_file_and_parquet(tmp_path: Path) -> None:
    rows = [RAMDOCS, {**RAMDOCS, "question": "Und Ada Fén? 🌉"}]
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (tmp_path / "a.jsonl").write_text(lines, encoding="utf-8")
    (tmp_path / "b.json").write_text(json.dumps(rows, indent=1), encoding="utf-8-sig")
    (tmp_path / "c.json").write_text(json.dumps({"data": rows}), encoding="utf-8")
    (tmp_path / "d.json").write_text(json.dumps({"rows": [{"row_idx": 0, "row": row} for row in rows]}))
    (tmp_path / "e.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
    parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "f.parquet")
    read = [load(f"ramdocs:{path}") for path in sorted(tmp_path.iterdir())]
    assert len(read) == 6
    for examples in read:
        assert [e.row for e in examples] == [0, 1]
        assert [(e.question, e.gold, e.passages) for e in examples] == [
            (e.question, e.gold, e.passages) for e in read[0]
        ]


def test_a_row_of_a_file_without_lines_is_named_by_its_number(tmp_path: Path) -> None:
    path = tmp_path / "rows.json"
    path.write_text(json.dumps([RAMDOCS, {**RAMDOCS, "question": ""}]), encoding="utf-8")
    with pytest.raises(InputError, match=r"rows\.json: row 1: question must be text"):
        load(f"ramdocs:{path}")


def test_every_row_that_cannot_be_read_is_counted_and_named(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    rows: list[Any] = [RAMDOCS, {"question": "x"}, RAMDOCS, "not a row", RAMDOCS]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows) + "{\n", encoding="utf-8")
    with pytest.raises(
        InputError,
        match=r"rows\.jsonl:2: the field documents is missing; 3 of 6 rows cannot be read \(rows 1, 3, 5\)",
    ):
        load(f"ramdocs:{path}")
    good = tmp_path / "good.txt"
    good.write_text("0\n2\n4\n")
    assert [e.row for e in load(f"ramdocs:{path}", rows=good)] == [0, 2, 4]
    assert [e.row for e in load(f"ramdocs:{path}", limit=1)] == [0]


def test_rows_without_a_gold_answer_are_kept_counted_and_named(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    rows = [RAMDOCS, {**RAMDOCS, "gold_answers": []}, {**RAMDOCS, "gold_answers": [" ", "."]}]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    examples = load(f"ramdocs:{path}")
    assert len(examples) == 3
    assert check(examples) == [
        "2 of 3 rows have no gold answer (rows 1, 2): they are asked and unscored",
        # Without gold answers the second and the third ask and hold the same.
        "1 of 3 rows have the id of an earlier row, or are that row again (rows 2): they count on their own",
    ]
    assert check(examples[1:2]) == ["no row has a gold answer: nothing is scored but by a judge"]


def test_ids_that_stand_twice_are_counted_and_named(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    row = {"question": "q", "gold": ["Lund"], "passages": [{"text": "In Lund."}]}
    rows = [{**row, "id": name, "question": f"q{n}"} for n, name in enumerate(["x", "y", "x", "x"])]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    (note,) = check(load(f"jsonl:{path}"))
    assert note.startswith("2 of 4 rows have the id of an earlier row, or are that row again (rows 2, 3)")


def test_a_folder_stands_for_its_only_file_and_others_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"a folder without a file of rows \(\.jsonl, \.json, "):
        load(f"nq_open:{tmp_path}")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "rows.jsonl").write_text(json.dumps(NQ_OPEN), encoding="utf-8")
    (tmp_path / "README.md").write_text("# rows")
    assert len(load(f"nq_open:{tmp_path}")) == 1
    assert identify(f"nq_open:{tmp_path}").name == f"nq_open:{tmp_path.name}"
    (tmp_path / "more.csv").write_text("a,b\n")
    with pytest.raises(InputError, match=r"several files of rows, name one: data/rows\.jsonl, more\.csv"):
        load(f"nq_open:{tmp_path}")


def test_a_broken_packed_file_and_a_broken_parquet_file_are_named(tmp_path: Path) -> None:
    packed = tmp_path / "rows.jsonl.gz"
    packed.write_bytes(gzip.compress(json.dumps(NQ_OPEN).encode())[:-9])
    with pytest.raises(InputError, match=r"rows\.jsonl\.gz: cannot be unpacked"):
        load(f"nq_open:{packed}")
    table = tmp_path / "rows.parquet"
    table.write_bytes(b"PAR1 and then nothing of use")
    with pytest.raises(InputError, match=r"rows\.parquet: cannot be read as parquet"):
        load(f"nq_open:{table}")


def test_parquet_without_its_reader_names_the_install_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "rows.parquet"
    parquet.write_table(pyarrow.Table.from_pylist([NQ_OPEN]), path)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingDependency, match=r"pip install 'disputatio\[arrow\]'"):
        load(f"nq_open:{path}")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("question,answer\nq\n", r"rows\.csv:2: 1 cells where nq_open has 2 columns"),
        ('question,answer\nq,"[""a""]"\nq,a,b\n', r"rows\.csv:3: 3 cells where nq_open has 2 columns"),
        ("", r"rows\.csv: no rows"),
        ("question,answer\n", r"rows\.csv: no rows"),
        ("question,reply\nq,r\n", r"rows\.csv:2: the field answer is missing"),
    ],
)
def test_a_table_that_is_none_of_the_formats_is_named_with_its_line(
    tmp_path: Path, text: str, message: str
) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        load(f"nq_open:{path}")


def test_a_cell_longer_than_the_library_allows_is_read(tmp_path: Path) -> None:
    path = tmp_path / "test.tsv"
    contract = "pets " * 40_000
    path.write_text(f"index\tcontract\tquestion\tanswer\n0\t{contract}\tMay I?\tNo\n", encoding="utf-8")
    (example,) = load(f"legalbench:{path}")
    assert len(example.passages[0].text) == len(contract)


@pytest.mark.parametrize("text", ["[" * 50_000, "{" * 50_000, '{"a": 1', "[1, 2]", '"text"', "null", "{}"])
def test_json_that_holds_no_rows_is_an_input_error(tmp_path: Path, text: str) -> None:
    path = tmp_path / "rows.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=r"rows\.json"):
        load(f"nq_open:{path}")
