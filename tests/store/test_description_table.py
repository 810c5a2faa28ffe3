"""A table that people bring describes many documents at once, by id, by file, or by DOI."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from disputatio.errors import InputError
from disputatio.store.description_table import describe_from
from disputatio.store.folder_index import FolderIndex
from disputatio.types import Passage


@pytest.fixture
def index(tmp_path: Path) -> FolderIndex:
    folder = tmp_path / "papers"
    folder.mkdir()
    (folder / "tides.md").write_text("---\ndoi: 10.1234/TIDES.7\n---\nTides rise twice a day in Vell.\n")
    (folder / "moss.md").write_text(
        "Moss of the north. https://doi.org/10.1234/moss.9.\n\nMoss grows slowly.\n"
    )
    later = "Nothing else. " * 300 + "It cites doi:10.1234/tides.7.\n"
    (folder / "cites.md").write_text(later)
    index = FolderIndex.open(tmp_path / "index")
    index.ingest(folder)
    return index


def named(index: FolderIndex) -> dict[str, Passage]:
    return {Path(d.path).stem: Passage(text=d.text, authority=d.authority, by_people=d.by_people, date=d.date)
            for d in index.documents()}  # fmt: skip


def test_a_table_of_retractions_is_read_as_it_is(index: FolderIndex, tmp_path: Path) -> None:
    table = tmp_path / "retractions.csv"
    table.write_text(
        "Record ID,Title,OriginalPaperDOI,RetractionNature\n"
        "1,Tides,10.1234/tides.7,Retraction\n2,Moss,https://doi.org/10.1234/MOSS.9,Expression of concern\n"
        "3,Other,10.9999/none,Retraction\n4,Unknown,unavailable,Retraction\n"
    )
    summary = describe_from(index, table)
    assert (summary.rows, summary.matched, summary.described) == (3, 2, 2)
    assert summary.unused == ("Record ID",)
    found = named(index)
    assert found["tides"].by_people == {"status": "retracted", "title": "Tides"}
    assert found["moss"].by_people["status"] == "concern"
    assert found["cites"].by_people == {}


@pytest.mark.parametrize("suffix", [".jsonl", ".json", ".csv", ".tsv"])
def test_documents_are_named_by_file_and_by_id(suffix: str, index: FolderIndex, tmp_path: Path) -> None:
    moss = next(document.id for document in index.documents() if document.path.endswith("moss.md"))
    rows = [{"file": "tides.md", "authority": "primary"}, {"document": moss, "date": "2020-05"}]
    table = tmp_path / f"table{suffix}"
    if suffix == ".jsonl":
        table.write_text("\n".join(map(json.dumps, rows)))
    elif suffix == ".json":
        table.write_text(json.dumps(rows))
    else:
        mark = "\t" if suffix == ".tsv" else ","
        head = ("file", "document", "authority", "date")
        table.write_text(
            "\n".join(
                mark.join(row.get(name, "") for name in head)
                for row in [dict(zip(head, head, strict=True)), *rows]
            )
        )
    assert describe_from(index, table).described == 2
    found = named(index)
    assert (found["tides"].authority, found["moss"].date) == ("primary", "2020-05")


def test_a_row_of_a_document_that_is_not_here_is_named(index: FolderIndex, tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    table.write_text("file,owner,replaces\nfens.md,x,bogs.md\ntides.md,x,moss.md\n")
    summary = describe_from(index, table)
    assert (summary.described, [name.removeprefix(f"{tmp_path}/") for name in summary.missing]) == (
        1,
        ["t.csv:2: fens.md"],
    )


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.csv", "file,authority\ntides.md,offical\n", "a.csv:2: unknown authority 'offical'"),
        ("a.csv", "title,owner\nTides,x\n", "a.csv: has no column document, file or doi"),
        ("a.jsonl", '{"file": "tides.md", "owner": "x"}\nnone\n', "a.jsonl:2: is not JSON"),
        ("a.json", "[1]", "a.json:1: is no JSON object"),
        ("a.csv", "file,owner\ntides.md,x,y\n", "a.csv:2: has more values than columns"),
        ("a.csv", "", "a.csv: has no rows"),
        ("a.csv", "file,replaces\ntides.md,fens.md\n", "a.csv:2: replaces 'fens.md': no document here"),
    ],
)
def test_a_row_that_is_wrong_is_named_and_nothing_is_stated(
    name: str, text: str, message: str, index: FolderIndex, tmp_path: Path
) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError) as caught:
        describe_from(index, tmp_path / name)
    assert message in str(caught.value)
    assert index.descriptions() == []
