"""The journal keeps what it acknowledged, refuses what does not belong, and is never rewritten."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from disputatio.errors import InputError
from disputatio.eval.journal import Entrant, Manifest, open_journal, read_journal
from disputatio.eval.journal_file import FILE
from disputatio.types import Answer, Passage, Record, Usage
from tests.eval.fakes import HALF, MANIFEST, RIGHT, examples


def _record(example: str = "x0", **changes: Any) -> Record:
    plain: dict[str, Any] = {
        "example": example,
        "row": int(example[1:]),
        "strategy": "right",
        "options": {"rounds": 1},
        "answers": ("gold 0",),
        "abstained": None,
        "scores": {"em": 1.0, "precision": None},
        "usage": Usage(calls=1, prompt_tokens=3),
        "seconds": 0.25,
    }
    return Record(**{**plain, **changes})


def _begin(out: Path, manifest: Manifest = MANIFEST, entrants: tuple[Entrant, ...] = (RIGHT,)) -> None:
    with open_journal(out, manifest, entrants, examples(2)):
        pass


def test_a_record_comes_back_as_it_was_given(tmp_path: Path) -> None:
    record = _record()
    with open_journal(tmp_path, MANIFEST, [RIGHT], examples(1), run={"versions": {"python": "3"}}) as journal:
        assert journal.done() == set()
        journal.append("right", record, state="done", answer=Answer(question="q", answers=("gold 0",)))
        assert journal.done() == {("x0", "right")}
    contents = read_journal(tmp_path)
    (entry,) = contents.entries
    assert entry.record == record
    assert (entry.entrant, entry.dataset, entry.state) == ("right", "toy:rows.jsonl", "done")
    assert contents.manifest == replace(MANIFEST, metrics={"toy:rows.jsonl": [*_metrics()]})
    assert contents.entrants == (RIGHT,)
    assert contents.runs == ({"versions": {"python": "3"}},)


def _metrics() -> tuple[str, ...]:
    return ("em", "precision", "recall", "f1")


def test_an_answer_is_kept_without_the_text_of_its_passages(tmp_path: Path) -> None:
    answer = Answer(question="q", answers=("a",), passages=(Passage(text="SECRET TEXT", id="p1"),))
    with open_journal(tmp_path, MANIFEST, [RIGHT], examples(1)) as journal:
        journal.append("right", _record(), state="done", answer=answer)
    stored = sqlite3.connect(tmp_path / FILE)
    (word,) = stored.execute("SELECT answer FROM records").fetchone()
    stored.close()
    assert '"p1"' in word
    assert "SECRET TEXT" not in word


def test_text_that_is_no_valid_unicode_can_be_recorded(tmp_path: Path) -> None:
    record = _record(answers=("half a \ud83d pair",), fault="")
    with open_journal(tmp_path, MANIFEST, [RIGHT], examples(1)) as journal:
        answer = Answer(question="q \ud83d", answers=record.answers, confidence=float("nan"))
        journal.append("right", record, state="done", answer=answer, detail="\udcff")
    assert read_journal(tmp_path).entries[0].record.answers == record.answers


def test_a_pair_is_done_at_most_once(tmp_path: Path) -> None:
    with open_journal(tmp_path, MANIFEST, [RIGHT], examples(1)) as journal:
        journal.append("right", _record(), state="done")
        with pytest.raises(sqlite3.IntegrityError):
            journal.append("right", _record(), state="done")
        assert len(read_journal(tmp_path).entries) == 1


def test_the_newest_fault_is_read_until_there_is_an_answer(tmp_path: Path) -> None:
    with open_journal(tmp_path, MANIFEST, [RIGHT], examples(1)) as journal:
        for reason in ("first", "second"):
            journal.append("right", _record(fault=reason), state="fault")
        assert [entry.record.fault for entry in read_journal(tmp_path).entries] == ["second"]
        journal.append("right", _record(), state="done")
        assert [entry.state for entry in read_journal(tmp_path).entries] == ["done"]


@pytest.mark.parametrize("statement", ["UPDATE records SET body = '{}'", "DELETE FROM records"])
def test_records_are_neither_changed_nor_deleted(tmp_path: Path, statement: str) -> None:
    with open_journal(tmp_path, MANIFEST, [RIGHT], examples(1)) as journal:
        journal.append("right", _record(), state="done")
    stored = sqlite3.connect(tmp_path / FILE)
    with pytest.raises(sqlite3.IntegrityError, match="never"):
        stored.execute(statement)
    stored.close()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model": "local:other"}, r'begun with model "scripted:toy", now it is "local:other"'),
        ({"datasets": {"toy:rows.jsonl": "ff"}}, "begun with datasets .*ab12.*ff"),
        ({"roles": {"judge": "local:other"}}, "begun with roles"),
        ({"engine": "scripted 2"}, "begun with engine"),
        ({"seed": 6}, "begun with seed 5, now it is 6"),
        ({"verify": True}, "begun with verify false, now it is true"),
        ({"metrics_version": 2}, "begun with metrics version 1"),
    ],
)
def test_another_setting_is_refused_by_name(tmp_path: Path, changes: Mapping[str, Any], message: str) -> None:
    _begin(tmp_path)
    with pytest.raises(InputError, match=message):
        _begin(tmp_path, manifest=replace(MANIFEST, **changes))
    _begin(tmp_path)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"options": {"rounds": 2}}, r"strategy right was begun with options .*1.*, now it is .*2"),
        ({"prompts": "h9"}, r'strategy right was begun with prompts "h1", now it is "h9"'),
        ({"strategy": "other"}, "strategy right was begun with strategy"),
    ],
)
def test_a_changed_strategy_is_refused_by_name(
    tmp_path: Path, changes: Mapping[str, Any], message: str
) -> None:
    _begin(tmp_path)
    with pytest.raises(InputError, match=message):
        _begin(tmp_path, entrants=(replace(RIGHT, **changes),))
    assert len(read_journal(tmp_path).runs) == 1


def test_another_strategy_and_more_rows_may_join(tmp_path: Path) -> None:
    _begin(tmp_path)
    with open_journal(tmp_path, MANIFEST, [HALF], examples(4)):
        pass
    contents = read_journal(tmp_path)
    assert [entrant.label for entrant in contents.entrants] == ["right", "half"]
    assert len(contents.examples) == 4


def test_a_label_names_one_strategy(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="right is named twice"):
        _begin(tmp_path, entrants=(RIGHT, RIGHT))


def test_a_directory_has_one_writer(tmp_path: Path) -> None:
    with (
        open_journal(tmp_path, MANIFEST, [RIGHT], examples(1)),
        pytest.raises(InputError, match="another evaluation is writing"),
    ):
        _begin(tmp_path)
    _begin(tmp_path)


def test_what_is_no_journal_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no evaluation here"):
        read_journal(tmp_path)
    (tmp_path / FILE).write_text("this is not a database, it is a text of some length")
    with pytest.raises(InputError, match="not a journal"):
        read_journal(tmp_path)
    with pytest.raises(InputError, match="not a journal"):
        _begin(tmp_path)
    file = tmp_path / "file"
    file.write_text("x")
    with pytest.raises(InputError, match="file"):
        _begin(file)


def test_a_journal_of_another_version_is_refused(tmp_path: Path) -> None:
    _begin(tmp_path)
    stored = sqlite3.connect(tmp_path / FILE)
    stored.execute("PRAGMA user_version = 9")
    stored.close()
    with pytest.raises(InputError, match="version 9"):
        read_journal(tmp_path)
    with pytest.raises(InputError, match="version 9"):
        _begin(tmp_path)
