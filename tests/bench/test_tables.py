"""Every table of a paper can be asked: its strategies, options, data sets and the paper's numbers exist."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench import RESULTS
from bench.papers import tables
from disputatio.errors import InputError
from disputatio.eval.data.datasets import datasets
from disputatio.eval.reporting.paper_tables import _numbers
from disputatio.eval.running.entrants import entrants

NAMES = sorted(file.stem for file in tables.FOLDER.glob("*.toml"))
AGAIN = "**Run again:** `python -m bench.papers.tables run "


@pytest.mark.parametrize("name", NAMES)
def test_a_table_asks_strategies_and_options_that_exist_and_names_known_paper_tables(name: str) -> None:
    asked = tables.read_table(name)
    for run in asked.runs:
        options = [f"{key}={str(value).lower()}" for key, value in run.options.items()]
        labels = {entrant.label for entrant in entrants(run.strategies, options)}
        assert not run.against or run.against in labels
        assert run.dataset.partition(":")[0] in {form.name for form in datasets()}
        assert not run.rows or (tables.FOLDER / run.rows).is_file()
    if asked.paper:
        known = {table["id"] for table in _numbers()[asked.paper]["tables"]}
        assert set(asked.tables) <= known


@pytest.mark.parametrize("name", NAMES)
def test_a_table_says_that_a_strategy_is_told_how_many_are_right_and_has_an_auto_row(
    name: str,
) -> None:
    told = {form.name for form in datasets() if form.expects}
    asked = tables.read_table(name)
    for run in asked.runs:
        options = [f"{key}={str(value).lower()}" for key, value in run.options.items()]
        hints = {entrant.options.get("expect") for entrant in entrants(run.strategies, options)}
        if "declared" in hints and run.dataset.partition(":")[0] in told:
            assert "auto" in hints
            assert "told" in asked.differs and "`expect`" in asked.differs


def test_pages_that_name_a_table_name_one_that_is_there() -> None:
    for page in RESULTS.rglob("*.md"):
        _, found, rest = page.read_text(encoding="utf-8").partition(AGAIN)
        assert not found or rest.partition("`")[0] in NAMES, page.name


def test_an_unknown_key_of_a_table_is_refused(tmp_path: Path) -> None:
    (tmp_path / "odd.toml").write_text('title = "T"\npage = "p.md"\ncolour = "red"\nruns = []\n')
    with pytest.raises(InputError, match="colour"):
        tables.read_table("odd", tmp_path)
    with pytest.raises(InputError, match="known: odd"):
        tables.read_table("even", tmp_path)


def test_rows_are_shuffled_the_same_way_each_time_and_keep_their_documents() -> None:
    row = {"question": "q", "documents": [{"text": str(n)} for n in range(9)]}
    lines = "\n".join([json.dumps(row)] * 2)
    shuffled = [json.loads(line)["documents"] for line in tables.shuffle(lines).splitlines()]
    assert tables.shuffle(lines) == tables.shuffle(lines)
    assert shuffled[0] != shuffled[1]
    assert all(sorted(some, key=lambda text: text["text"]) == row["documents"] for some in shuffled)


@pytest.mark.long
def test_a_table_is_asked_and_its_page_has_intervals_and_the_papers_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    documents = [
        {"text": f"The mill was built in {year}.", "type": kind, "answer": year}
        for year, kind in (("1901", "correct"), ("1901", "correct"), ("1887", "misinfo"))
    ]
    row = {
        "question": "When was the mill built?", "documents": documents, "gold_answers": ["1901"],
        "wrong_answers": ["1887"], "disambig_entity": ["mill"],
    }  # fmt: skip
    (tmp_path / "rows.jsonl").write_text("\n".join([json.dumps(row)] * 3) + "\n")
    (tmp_path / "short.toml").write_text(
        """
        title = "A short table"
        page = "short.md"
        paper = "madam"
        tables = ["Table 1"]
        numbers = [{ title = "Figure 9", head = ["method", "EM"], rows = [["concat", "9.9"]] }]
        [[runs]]
        name = "ramdocs"
        dataset = "ramdocs:{data}/rows.jsonl"
        strategies = "disputation,alone=disputation"
        options = { "alone.standing" = false }
        shuffle = true
        against = "alone"
        """
    )
    monkeypatch.setattr(tables, "FOLDER", tmp_path)
    words = ["short", "--data", str(tmp_path), "--runs", str(tmp_path / "runs"), "--out", str(tmp_path)]
    assert tables.main(["run", *words, "--model", "none"]) == 0
    page = (tmp_path / "short.md").read_text(encoding="utf-8")
    assert "`python -m bench.papers.tables run short`" in page
    assert "| Llama3.3-70B-Inst | MADAM-RAG | 43.10 | 58.20 | 34.40 |" in page
    assert "| concat | 9.9 |" in page
    assert "| alone | 3 | 0 | 0 |" in page and "[" in page
    assert tables.main(["page", *words]) == 0
    assert (tmp_path / "short.md").read_text(encoding="utf-8") == page


def test_a_page_of_a_table_never_asked_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert tables.main(["page", NAMES[0], "--runs", str(tmp_path), "--out", str(tmp_path)]) == 2
    assert "nothing was asked yet" in capsys.readouterr().err
