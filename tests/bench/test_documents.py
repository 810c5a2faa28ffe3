"""The folder has the same bytes each time, its questions are as they were written, grades are right."""

from __future__ import annotations

import fnmatch
import io
import json
import math
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import get_args
from unittest.mock import patch

import pytest

from bench.documents import ask
from bench.documents.ask import Given, Run, by_kind, core_seconds, in_turns, read_run
from bench.documents.build import SIDECAR, build, documents, read_text
from bench.documents.page import Condition, page
from bench.documents.public import public_names
from bench.documents.questions import HERE, Part, Question, path_of, read_questions
from bench.documents.recall import ranks_of
from bench.documents.score import grade, states
from disputatio.eval.metrics import normalise_predicted
from disputatio.store.folder_index import FolderIndex
from tests.store.hashing import HashEmbedder

PARTS = [part for part in get_args(Part) if path_of(part).exists()]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("documents")
    build(made)
    return made


def question(*names: str, wrong: tuple[str, ...] = (), yes_no: bool = False) -> Question:
    accept = [list(names)] if names else []
    return Question(id="q", kind="fact", question="?", accept=accept, wrong=wrong, reason="", yes_no=yes_no)


# --- the folder -----------------------------------------------------------------------------------
@pytest.mark.long
def test_the_folder_has_the_same_bytes_each_time(tmp_path: Path) -> None:
    assert build(tmp_path / "one") == build(tmp_path / "two")
    assert len([path for path in (tmp_path / "one").rglob("*") if path.is_file()]) >= 80


@pytest.mark.long
@pytest.mark.parametrize("part", PARTS)
def test_the_folder_of_each_part_is_built_and_its_sidecar_names_files_of_it(part: Part) -> None:
    def not_fetched(part: str) -> Iterable[tuple[str, bytes]]:
        return dict.fromkeys(public_names(part), b"").items()

    with patch("bench.documents.build.public_documents", side_effect=not_fetched):
        laid = dict(documents("stated", part))
    names, stated = list(laid), laid[SIDECAR].decode()
    for line in stated.splitlines():
        if line.startswith('"'):
            assert fnmatch.filter(names, line.strip('":')), line


@pytest.mark.long
def test_packages_tell_nothing_of_the_day_they_were_made(folder: Path) -> None:
    for path in [
        path for ending in ("docx", "pptx", "xlsx", "ods", "epub") for path in folder.rglob(f"*.{ending}")
    ]:
        with zipfile.ZipFile(path) as archive:
            assert {member.date_time for member in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}


@pytest.mark.long
def test_stated_metadata_adds_one_file_and_names_files_that_exist(folder: Path) -> None:
    found, stated = dict(documents()), dict(documents("stated"))
    assert stated.keys() - found.keys() == {SIDECAR}
    for line in stated[SIDECAR].decode().splitlines():
        if line.startswith('"'):
            assert list(folder.glob(line.strip('":'))), line
        elif line.strip().startswith("replaces: "):
            assert list(folder.rglob(line.split(": ")[1])), line


def test_documents_of_every_format_hold_their_text(folder: Path) -> None:
    import docx
    from pypdf import PdfReader

    word = docx.Document(str(folder / "policies" / "travel-policy-v2.docx"))
    assert any("34 euros" in paragraph.text for paragraph in word.paragraphs)
    printed = PdfReader(folder / "intl" / "gebuehren-hallenbad-2021.pdf").pages[0].extract_text()
    assert "Gebührenordnung für das Hallenbad" in printed
    with zipfile.ZipFile(folder / "tables" / "holidays-2026.ods") as archive:
        assert archive.namelist()[0] == "mimetype"
        assert "Founders&#x27; Day" in archive.read("content.xml").decode()
    with zipfile.ZipFile(io.BytesIO((folder / "tables" / "price-list-2026.xlsx").read_bytes())) as archive:
        assert b"<v>1620</v>" in archive.read("xl/worksheets/sheet1.xml")


def test_a_source_has_properties_headings_items_and_tables() -> None:
    text = read_text(
        "---\ntitle: T\ncreated: 2024-05-01\n---\n# Head\n\nTwo\nlines.\n\n"
        "- a\n- b\n\n| x | y |\n|---|---|\n| 1 | 2 |"
    )
    assert (text.title, text.created.date().isoformat()) == ("T", "2024-05-01")
    assert [block.kind for block in text.blocks] == ["heading", "paragraph", "item", "item", "table"]
    assert text.blocks[1].text == "Two lines."
    assert text.blocks[-1].rows == [["x", "y"], ["1", "2"]]


# --- the questions --------------------------------------------------------------------------------
@pytest.mark.parametrize("part", PARTS)
def test_questions_are_those_that_were_written_and_agree_with_their_own_grades(part: Part) -> None:
    asked = read_questions(part)
    assert (
        len(asked)
        == {
            "development": 80,
            "aside": 40,
            "aside2": 49,
            "aside3": 60,
            "aside4": 60,
            "aside5": 80,
            "aside6": 80,
            "aside7": 80,
            "aside8": 80,
            "aside9": 80,
            "aside10": 80,
            "aside11": 80,
            "aside12": 80,
            "aside13": 80,
            "public": 60,
            "public2": 60,
            "public3": 60,
            "public4": 48,
            "public5": 48,
            "public6": 48,
            "yesno": 40,
            "yesno2": 40,
        }[part]
    )
    for each in asked:
        assert each.reason
        for value in each.wrong if each.accept else ():
            assert grade([value], each) == "wrong", (each.id, value)
        if len(each.accept) == 1:
            names = [name for name in each.accept[0] if normalise_predicted([name])]  # "nothing" is none
            assert {grade([name], each) for name in names} == {"right"}, each.id


def test_a_question_that_was_changed_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bench.documents.questions.HERE", tmp_path)
    (tmp_path / "development.jsonl").write_text("{}\n", encoding="utf-8")
    with pytest.raises(ValueError, match="were changed"):
        read_questions("development")


def test_any_first_part_has_all_kinds_in_it() -> None:
    order = in_turns(read_questions("development"))
    kinds = {each.kind for each in order}
    assert {each.kind for each in order[: len(kinds)]} == kinds


# --- grades ---------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        (["34 euros"], "right"),
        (["The allowance is €34."], "right"),
        (["34", "thirty-four euros a day: 34"], "right"),
        (["34 euros", "28 euros"], "half"),
        (["34 euros, before 28 euros"], "half"),
        (["34 euros", "Branholm"], "half"),
        (["28 euros"], "wrong"),
        (["134 euros"], "wrong"),
        (["nothing of the kind"], "wrong"),
        ([], "abstained"),
        (["unknown"], "abstained"),
    ],
)
def test_an_answer_is_graded_by_what_a_reader_is_given(answers: list[str], expected: str) -> None:
    assert grade(answers, question("34 euros", "34", wrong=("28",))) == expected


def test_to_abstain_is_right_where_there_is_no_answer() -> None:
    assert grade([], question()) == "right"
    assert grade(["12"], question()) == "wrong"


def test_of_several_values_that_are_asked_for_one_is_half() -> None:
    both = Question(id="q", kind="fact", question="?", accept=[["2,140"], ["18,760"]], wrong=[], reason="")
    assert grade(["2140", "18 760", "18760"], both) == "half"
    assert grade(["2140 in Kelland", "18,760 in Orland"], both) == "right"
    assert grade(["2140"], both) == "half"


def test_yes_or_no_is_decided_by_the_accepted_word() -> None:
    sold = question("no", "false", wrong=("yes", "will be sold"), yes_no=True)
    assert grade(["No"], sold) == "right"
    assert grade(["Reports that it will be sold are false"], sold) == "right"
    assert grade(["Yes, it will be sold"], sold) == "wrong"


def test_words_of_other_scripts_and_figures_of_other_countries_are_compared() -> None:
    assert states("最多可以借阅12册图书", "12册")
    assert states("6,20 Euro", "6.20")
    assert states("five years", "5")
    assert not states("12.5", "12")


def test_faults_are_counted_apart_and_the_newest_answer_counts(tmp_path: Path) -> None:
    first, second = (replace_id(question("34"), name) for name in ("a", "b"))
    run = Run(
        about={},
        given=[
            Given(question="a", strategy="s", fault="Timeout"),
            Given(question="a", strategy="s", answers=["34"]),
            Given(question="b", strategy="s", fault="Timeout"),
        ],
    )
    assert by_kind(run, "s", [first, second]).splitlines()[-1] == "| **all** | 1 | 1 | 0 | 0 | 0 | 1 |"
    assert read_run(tmp_path).given == []


def replace_id(asked: Question, name: str) -> Question:
    return Question(id=name, kind=asked.kind, question="?", accept=asked.accept, wrong=asked.wrong, reason="")


def test_core_seconds_grow_with_work() -> None:
    before = core_seconds()
    sum(number * number for number in range(2_000_000))
    assert core_seconds() > before


def test_a_page_compares_conditions_by_kind_and_lists_what_was_not_right() -> None:
    about = {"commit": "abc", "cores": 2, "metadata": "found", "documents": "0"}
    asked = read_questions("development")
    one = Run(
        about=about, given=[Given(question=each.id, strategy="disputation", answers=["34"]) for each in asked]
    )
    two = Run(about=about, given=[Given(question=each.id, strategy="concat") for each in asked])
    text = page(
        [
            Condition(label="default", run=one, strategy="disputation"),
            Condition(label="concat", run=two, strategy="concat"),
        ],
        ["concat"],
        "development",
        "python -m bench.documents.ask",
    )
    unanswerable = sum(each.kind == "unanswerable" for each in asked)
    assert f"| unanswerable | 0 / 0 / {unanswerable} / 0 | {unanswerable} / 0 / 0 / 0 |" in text
    assert "| default - concat | " in text
    assert "Wanted no answer; got 34." in text


def test_a_run_goes_on_where_it_was_stopped_and_stops_after_faults_in_a_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[str] = []

    def answer(question: Question, strategy: str, **parts: object) -> Given:
        asked.append(question.id)
        fault = "" if len(asked) in (1, 2) else "Timeout"
        return Given(question=question.id, strategy=strategy, answers=["34"], fault=fault)

    monkeypatch.setattr(ask, "ingest", lambda *_: (tmp_path, "0"))
    monkeypatch.setattr(ask, "ask_one", answer)
    monkeypatch.setenv("DISPUTATIO_JOURNAL", "none")
    words = ["ask", "--part", "development", "--model", "none", "--out", str(tmp_path)]
    monkeypatch.setattr("sys.argv", words)
    ask.main()
    assert len(asked) == 5
    assert "stopped: 3 faults in a row" in capsys.readouterr().err
    ask.main()
    assert asked[5:8] == asked[2:5]
    monkeypatch.setattr("sys.argv", [*words[:4], "other", *words[5:]])
    with pytest.raises(SystemExit, match="name another folder"):
        ask.main()


@pytest.mark.long
@pytest.mark.parametrize(
    "part",
    ["aside3", "aside4", "aside5", "aside6", "aside8", "aside9", "aside10", "aside11", "aside12", "aside13"],
)
def test_each_question_that_a_folder_answers_has_evidence_in_files_of_it(part: Part) -> None:
    rows = map(json.loads, (HERE / "evidence.jsonl").read_text(encoding="utf-8").splitlines())
    evidence = {row["question"]: row["evidence"] for row in rows if row["part"] == part}
    assert list(evidence) == [each.id for each in read_questions(part) if each.accept]
    names = dict(documents("found", part))
    files = [file for each in evidence.values() for file, words in each if words]
    assert all(any(f"{file}/".startswith(f"{name}/") for name in names) for file in files)


@pytest.mark.long
def test_the_rank_is_that_of_the_last_evidence_that_is_found(tmp_path: Path) -> None:
    build(tmp_path / "documents", part="aside3")
    index = FolderIndex.open(tmp_path / "index", embedder=HashEmbedder())
    index.ingest(tmp_path / "documents")
    ranks = ranks_of("aside3", index, 1.0)
    assert len(ranks) == 53
    assert (ranks["aside3 fact t010"], ranks["aside3 change t055"]) == (1, 6)
    index.delete(paths=[tmp_path / "documents" / "museum" / "volunteers.docx"])
    assert ranks_of("aside3", index, 1.0)["aside3 fact t010"] == math.inf
