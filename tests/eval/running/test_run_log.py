"""The journal keeps what it acknowledged, refuses what does not belong, and is never rewritten."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from disputatio.errors import InputError
from disputatio.eval.running.run_log import (
    Entrant,
    Record,
    RunManifest,
    open_run_log,
    read_answer,
    read_journal,
    read_spending,
    read_trace,
)
from disputatio.eval.running.run_log_file import FILE
from disputatio.types import Answer, Passage, Usage
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


def _begin(out: Path, manifest: RunManifest = MANIFEST, entrants: tuple[Entrant, ...] = (RIGHT,)) -> None:
    with open_run_log(out, manifest, entrants, examples(2)):
        pass


def test_a_record_comes_back_as_it_was_given(tmp_path: Path) -> None:
    record = _record()
    with open_run_log(tmp_path, MANIFEST, [RIGHT], examples(1), run={"versions": {"python": "3"}}) as journal:
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


ANSWER = Answer(
    question="q", answers=("a",), passages=(Passage(text="A LONG TEXT", id="p1", source="s.example"),)
)


def test_an_answer_comes_back_with_its_passages_and_each_is_kept_once(tmp_path: Path) -> None:
    with open_run_log(tmp_path, MANIFEST, [RIGHT, HALF], examples(1)) as journal:
        journal.append("right", _record(), state="done", answer=ANSWER)
        journal.append("half", _record(), state="done", answer=ANSWER)
    assert read_answer(tmp_path, "right", "x0") == ANSWER.to_dict()
    assert read_answer(tmp_path, "half", "x0") == ANSWER.to_dict()
    assert read_answer(tmp_path, "half", "x1") is None
    stored = sqlite3.connect(tmp_path / FILE)
    stored.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    stored.close()
    whole = (tmp_path / FILE).read_bytes()
    assert whole.count(b"A LONG TEXT") == 1
    (tmp_path / FILE).write_bytes(whole.replace(b"A LONG TEXT", b"A WRONG TXT"))
    with pytest.raises(InputError, match="passages 'p1' is not what was written"):
        read_answer(tmp_path, "right", "x0")


def test_a_changed_bit_of_a_record_or_of_what_it_is_scored_against_is_told(tmp_path: Path) -> None:
    with open_run_log(tmp_path, MANIFEST, [RIGHT], examples(1)) as journal:
        journal.append("right", _record(), state="done", answer=Answer(question="q", answers=("gold 0",)))
    stored = sqlite3.connect(tmp_path / FILE)
    stored.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    stored.close()
    whole = (tmp_path / FILE).read_bytes()
    read_journal(tmp_path)
    places = [at for at in range(len(whole)) if whole.startswith((b"gold 0", b'"em":1.0', b"right"), at)]
    assert len(places) > 5
    for at in places:
        raw = bytearray(whole)
        raw[at + 3] ^= 1
        (tmp_path / FILE).write_bytes(raw)
        with pytest.raises(InputError, match=r"damaged|not a journal"):
            read_journal(tmp_path)


@pytest.mark.parametrize(
    ("guard", "damage"),
    [
        ("records_stay", "UPDATE records SET body = CAST(body AS BLOB)"),
        ("records_last", "DELETE FROM records"),
    ],
)
def test_a_record_of_bytes_or_that_has_vanished_is_told(tmp_path: Path, guard: str, damage: str) -> None:
    with open_run_log(tmp_path, MANIFEST, [RIGHT], examples(1)) as journal:
        journal.append("right", _record(), state="done")
    stored = sqlite3.connect(tmp_path / FILE)
    stored.executescript(f"DROP TRIGGER {guard}; {damage}")
    stored.close()
    with pytest.raises(InputError, match="records 1 is not what was written"):
        read_journal(tmp_path)


def test_text_that_is_no_valid_unicode_can_be_recorded(tmp_path: Path) -> None:
    record = _record(answers=("half a \ud83d pair",), fault="")
    with open_run_log(tmp_path, MANIFEST, [RIGHT], examples(1)) as journal:
        answer = Answer(question="q \ud83d", answers=record.answers, confidence=float("nan"))
        journal.append("right", record, state="done", answer=answer, detail="\udcff")
    assert read_journal(tmp_path).entries[0].record.answers == record.answers


def test_a_pair_is_done_at_most_once(tmp_path: Path) -> None:
    with open_run_log(tmp_path, MANIFEST, [RIGHT], examples(1)) as journal:
        journal.append("right", _record(), state="done")
        with pytest.raises(sqlite3.IntegrityError):
            journal.append("right", _record(), state="done")
        assert len(read_journal(tmp_path).entries) == 1


def test_the_newest_fault_is_read_until_there_is_an_answer(tmp_path: Path) -> None:
    with open_run_log(tmp_path, MANIFEST, [RIGHT], examples(1)) as journal:
        for reason in ("first", "second"):
            journal.append("right", _record(fault=reason), state="fault")
        assert [entry.record.fault for entry in read_journal(tmp_path).entries] == ["second"]
        journal.append("right", _record(), state="done")
        assert [entry.state for entry in read_journal(tmp_path).entries] == ["done"]


@pytest.mark.parametrize("statement", ["UPDATE records SET body = '{}'", "DELETE FROM records"])
def test_records_are_neither_changed_nor_deleted(tmp_path: Path, statement: str) -> None:
    with open_run_log(tmp_path, MANIFEST, [RIGHT], examples(1)) as journal:
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


def test_code_that_changed_is_refused_by_the_names_of_its_modules(tmp_path: Path) -> None:
    begun = replace(RIGHT, code={"a.agents": "1", "a.text": "1", "a.trace": "1"})
    _begin(tmp_path, entrants=(begun,))
    changed = replace(begun, code={"a.agents": "2", "a.text": "1", "a.kit": "1"})
    with pytest.raises(InputError, match=r"other code, changed since in a\.agents, a\.kit, a\.trace:"):
        _begin(tmp_path, entrants=(changed,))


def test_all_differences_are_named_and_a_folder_for_a_new_run(tmp_path: Path) -> None:
    out = tmp_path / "runs"
    _begin(out)
    (tmp_path / "runs-2").mkdir()
    other = replace(MANIFEST, model="local:other", engine="2")
    with pytest.raises(InputError) as refused:
        _begin(out, manifest=other, entrants=(replace(RIGHT, prompts="h9"),))
    refusal = str(refused.value)
    assert 'begun with model "scripted:toy", now it is "local:other"; begun with engine' in refusal
    assert 'strategy right was begun with prompts "h1", now it is "h9"' in refusal
    assert refusal.endswith(f"begin a new run with --out {tmp_path / 'runs-3'}, or ask as before")


def test_rows_that_are_read_otherwise_than_before_are_refused(tmp_path: Path) -> None:
    _begin(tmp_path)
    rows = [examples(1)[0], replace(examples(2)[1], gold=("gold 1", "another"))]
    with (
        pytest.raises(InputError, match=r'row 1 was begun with gold \["gold 1"\], now it is .*another'),
        open_run_log(tmp_path, MANIFEST, [RIGHT], rows),
    ):
        raise AssertionError("it went on")


def test_rows_whose_strata_are_told_otherwise_go_on(tmp_path: Path) -> None:
    _begin(tmp_path)
    first, second = examples(2)
    told = replace(second, metadata={**second.metadata, "strata": {"parity": "odd", "size": "small"}})
    with open_run_log(tmp_path, MANIFEST, [RIGHT], [first, told]):
        pass
    assert len(read_journal(tmp_path).runs) == 2


def test_a_trace_is_kept_with_its_record_and_the_newest_is_read(tmp_path: Path) -> None:
    with open_run_log(tmp_path, MANIFEST, [RIGHT], examples(2)) as journal:
        journal.append("right", _record(fault="f"), state="fault", events=[{"event": "search"}])
        assert read_trace(tmp_path, "right", "x0") == [{"event": "search"}]
        journal.append("right", _record(), state="done", events=[{"event": "complete", "at": 0.5}])
        journal.append("right", _record("x1"), state="done")
    assert read_trace(tmp_path, "right", "x0") == [{"event": "complete", "at": 0.5}]
    assert read_trace(tmp_path, "right", "x1") == []
    assert read_trace(tmp_path, "half", "x0") == []


def test_what_calls_took_is_summed_by_model_and_by_question(tmp_path: Path) -> None:
    with open_run_log(tmp_path, MANIFEST, [RIGHT], examples(1)) as journal:
        journal.spend("x0", "right", "a", Usage(calls=1, prompt_tokens=5, completion_tokens=2))
        journal.spend("x0", "right", "a", Usage(calls=2, prompt_tokens=7, cached_tokens=4))
        journal.spend("x1", "right", "b", Usage(calls=1))
        both = Usage(calls=3, prompt_tokens=12, cached_tokens=4, completion_tokens=2)
        assert journal.spent() == [("x0", "right", "a", both), ("x1", "right", "b", Usage(calls=1))]
    assert read_spending(tmp_path) == {"a": both, "b": Usage(calls=1)}


def test_another_strategy_and_more_rows_may_join(tmp_path: Path) -> None:
    _begin(tmp_path)
    with open_run_log(tmp_path, MANIFEST, [HALF], examples(4)):
        pass
    contents = read_journal(tmp_path)
    assert [entrant.label for entrant in contents.entrants] == ["right", "half"]
    assert len(contents.examples) == 4


def test_a_label_names_one_strategy(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="right is named twice"):
        _begin(tmp_path, entrants=(RIGHT, RIGHT))


def test_a_directory_has_one_writer(tmp_path: Path) -> None:
    with (
        open_run_log(tmp_path, MANIFEST, [RIGHT], examples(1)),
        pytest.raises(InputError, match="another evaluation is writing"),
    ):
        _begin(tmp_path)
    _begin(tmp_path)


@pytest.mark.parametrize("name", ["records.lock", FILE])
def test_a_link_in_the_place_of_a_file_is_not_followed(tmp_path: Path, name: str) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / name).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InputError, match="link"):
        _begin(tmp_path / "out")
    assert not (tmp_path / "elsewhere").exists()


def test_what_is_no_journal_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no evaluation here"):
        read_journal(tmp_path)
    (tmp_path / FILE).write_text("this is not a database, it is a text of some length")
    with pytest.raises(InputError, match="not a journal"):
        read_journal(tmp_path)
    with pytest.raises(InputError, match="is not a database"):
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
