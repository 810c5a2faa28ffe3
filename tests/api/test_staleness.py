"""Superseded and old documents of an index, by how many kept answers cite them."""

from __future__ import annotations

import datetime
from pathlib import Path

import pytest
from typer.testing import CliRunner

from disputatio.api.staleness import find_stale
from disputatio.cli.main import app
from disputatio.errors import InputError
from disputatio.server.answer_store import AnswerStore
from disputatio.store.folder_index import FolderIndex
from disputatio.types import Answer, Citation, Claim

TODAY = datetime.date(2026, 11, 24)
FILES = {
    "fees-v1.txt": "Mooring fees\nVersion 1, March 2019\n\nThe fee is 12 crowns.",
    "fees-v2.txt": "Mooring fees\nVersion 2\nIn force from 1 May 2024. It replaces version 1.\n\nIt is 15.",
    "fees-v3.txt": "Mooring fees\nVersion 3\nDRAFT\n\nIt is 18.",
    "wall.txt": "The wall\nLast updated on 3 May 2015.\n\nThe wall has nine gates.",
    "flag.txt": "The flag\nStatus: withdrawn\n\nThe flag is red.",
    "gate.txt": "The gate\nLast updated on 3 May 2026.\n\nThe gate is open.",
}


@pytest.fixture
def index(tmp_path: Path) -> FolderIndex:
    folder = tmp_path / "papers"
    folder.mkdir()
    for name, text in FILES.items():
        (folder / name).write_text(text)
    made = FolderIndex.open(tmp_path / "i", embedder=None)
    made.ingest(folder)
    return made


def keep(file: Path, index: FolderIndex, query: str, times: int) -> None:
    """Keep answers that cite the best passage of a query."""
    passage = index.search(query, k=1)[0].passage
    citation = Citation(n=1, passage=passage.id, source=passage.source, quote="x", start=0, end=1)
    store = AnswerStore(file)
    for number in range(times):
        claim = Claim(text="So it is", citations=(citation,))
        store.keep(f"{query}{number}", Answer(question="?", claims=(claim,), passages=(passage,)))
    store.close()


def test_what_most_answers_cite_comes_first_and_says_why_it_is_stale(
    index: FolderIndex, tmp_path: Path
) -> None:
    file = tmp_path / "answers.sqlite"
    keep(file, index, "wall gates", 2)
    keep(file, index, "fee of 12 crowns", 3)
    found = find_stale(index, today=TODAY, answers=[file])
    assert [(Path(each.path).name, each.state, each.answers) for each in found] == [
        ("fees-v1.txt", "replaces", 3),
        ("wall.txt", "old", 2),
        ("fees-v3.txt", "draft", 0),
        ("flag.txt", "withdrawn", 0),
    ]
    assert Path(found[2].by).name == "fees-v2.txt"  # which is in force, not version 1
    assert Path(found[0].by).name == "fees-v2.txt"
    assert found[0].quote == "It replaces version 1."
    assert found[1].age == "11 years old"
    assert len(find_stale(index, today=TODAY, years=20)) == 3


def test_a_correction_stands_for_what_it_corrects_alone(tmp_path: Path) -> None:
    (tmp_path / "ferry").mkdir()
    for name, text in {
        "timetable-2023.md": "# Timetable 2023\n\nValid from 1 April 2023.\n\nIt leaves at 9:30.",
        "timetable-2025.md": "# Timetable 2025\n\nValid from 29 March 2025.\n\nIt leaves at 9:45.",
        "correction-timetable.md": "# Correction of 3 April 2025 to the timetable 2025\n\nAt 10:15.",
    }.items():
        (tmp_path / "ferry" / name).write_text(text)
    made = FolderIndex.open(tmp_path / "i", embedder=None)
    made.ingest(tmp_path / "ferry")
    found = {Path(each.path).name: each for each in find_stale(made, today=TODAY)}
    old, corrected = found["timetable-2023.md"], found["timetable-2025.md"]
    assert (old.state, Path(old.by).name) == ("date", "timetable-2025.md")
    assert (corrected.state, Path(corrected.by).name) == ("corrects", "correction-timetable.md")


def test_a_file_that_holds_no_answers_is_named(index: FolderIndex, tmp_path: Path) -> None:
    (tmp_path / "x").write_text("no database")
    with pytest.raises(InputError, match="cannot be read as a file of kept answers"):
        find_stale(index, today=TODAY, answers=[tmp_path / "x"])


def test_what_people_retracted_is_not_told_as_if_it_withdrew_itself(index: FolderIndex) -> None:
    wall = next(each for each in index.documents() if Path(each.path).name == "wall.txt")
    index.describe(wall.id, status="retracted")
    run = CliRunner().invoke(app, ["stale", "--index", str(index.path)])
    assert "wall.txt (2015-05-03): retracted, as people stated\n" in run.output
    assert "flag.txt: withdrawn: “Status: withdrawn”" in run.output


def test_the_command_lists_them(index: FolderIndex, tmp_path: Path) -> None:
    file = tmp_path / "answers.sqlite"
    keep(file, index, "fee of 12 crowns", 1)
    (tmp_path / "prices-2015.csv").write_text("product,price\nrope,4\nchain,9\nanchor,80\n")
    index.ingest(tmp_path / "prices-2015.csv")
    run = CliRunner().invoke(app, ["stale", "--index", str(index.path), "--answers", str(file)])
    assert run.exit_code == 0, run.output
    assert "fees-v1.txt (2019-03): replaced by fees-v2.txt: “It replaces version 1.”" in run.output
    assert "wall.txt (2015-05-03): 11 years old" in run.output
    assert run.output.count("prices-2015.csv") == 1  # whose rows are three documents
    none = CliRunner().invoke(app, ["stale", "--index", str(tmp_path / "nowhere")])
    assert none.exit_code != 0
