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
from tests.llm.fake_server import Asked, FakeServer, Wire, chooses, says

NAMES = sorted(file.stem for file in tables.FOLDER.glob("*.toml"))
AGAIN = "**Run again:** `python -m bench.papers.tables run "


@pytest.mark.long
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


def _town(folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Write two tables, one without its data, and return the words that name the folders."""
    row = {
        "question": "When was the mill built?", "gold_answers": ["1901"], "wrong_answers": ["1887"],
        "documents": [{"text": f"The mill was built in {year}.", "type": kind, "answer": year}
                      for year, kind in (("1901", "correct"), ("1887", "misinfo"))],
        "disambig_entity": ["mill"],
    }  # fmt: skip
    (folder / "rows.jsonl").write_text("\n".join([json.dumps(row)] * 2) + "\n")
    for name, file in (("near", "rows.jsonl"), ("far", "nowhere.jsonl")):
        (folder / f"{name}.toml").write_text(
            f'title = "T"\npage = "{name}.md"\n[[runs]]\nname = "mill"\ndataset = "ramdocs:{{data}}/{file}"\n'
            'strategies = "disputation,one=concat"\nlimit = 2\n'
        )
    monkeypatch.setattr(tables, "FOLDER", folder)
    return ["--data", str(folder), "--runs", str(folder / "runs"), "--out", str(folder)]


def test_the_cost_is_said_before_anything_is_asked_and_a_table_without_data_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = _town(tmp_path, monkeypatch)
    assert tables.main(["run", "all", *words, "--dry-run", "--model", "openai:gpt-4o-mini"]) == 0
    done = capsys.readouterr()
    assert "far: left out, there is no " in done.err
    assert "near: 4 answers, about 17 calls, " in done.err and "USD at list prices" in done.err
    assert done.out.count("disputatio eval run") == 1 and "--model openai:gpt-4o-mini" in done.out
    assert tables.main(["run", "far", *words]) == 2
    assert "there is no" in capsys.readouterr().err
    assert not (tmp_path / "runs").exists()


def test_texts_of_a_data_set_are_written_by_the_model_that_is_asked(tmp_path: Path) -> None:
    asked = tables.read_table("ra_rag_adversaries")
    folders = tables.Folders(data=tmp_path, runs=tmp_path)
    build, *_ = tables.commands(asked, folders, None, ["--model", "openai:mine"])
    assert build[:5] == ["eval", "build", "multisource", "--model", "openai:mine"]


@pytest.mark.long
def test_all_tables_are_asked_of_an_endpoint_with_one_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = _town(tmp_path, monkeypatch)

    def reply(request: Asked) -> Wire:
        """Read the last year of a prompt, in the fields that it asks for."""
        prompt = json.dumps(request.body)
        if request.body.get("max_tokens", 2) == 1:
            return chooses(("A", -0.1), ("B", -2.4))
        year = "1887" if "in 1887" in prompt and "in 1901" not in prompt else "1901"
        by_itself = {"subject": "mill", "answer": year}
        fields = by_itself if "subject" in prompt else {"answers": [year], "explanation": ""}
        return says(json.dumps(fields))

    with FakeServer(reply) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        assert tables.main(["run", "all", *words, "--model", "openai:served", "--in-flight", "2"]) == 0
        asked = sum("mill" in json.dumps(request.body) for request in server.asked)  # apart from what it can
        assert asked >= 4
        assert tables.main(["run", "all", *words, "--model", "openai:served", "--in-flight", "2"]) == 0
        again = sum("mill" in json.dumps(request.body) for request in server.asked)
        assert again == asked  # what was asked is kept
    page = (tmp_path / "near.md").read_text(encoding="utf-8")
    assert "openai:served" in page and "| one | 2 |" in page
    assert not (tmp_path / "far.md").exists()
