"""The journal of calibrations: appended, checked line by line, and a source's word can be taken out."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from disputatio.errors import StoreError
from disputatio.store.calibration_file import NAME, find_damaged_lines, open_log, read_outcomes
from disputatio.store.calibration_log import (
    NOBODY,
    UNKNOWN,
    FactQuestion,
    Outcomes,
    QuestionOutcome,
    check_id,
)

ONE = FactQuestion(id="f1", text="Who built it?", kind="anchor", gold=("Ada", "Ada L."))
TWO = FactQuestion(id="f2", text="When?", kind="drawn", passage="p1", source="a", spot="p1:0", said="1887")
SAID = QuestionOutcome(
    question="f1",
    answers={"a": "Ada", "b": "Bob", "c": "Bob"},
    clusters={"a": 0, "b": 1, "c": 1},
    winner=1,
    known=0,
    day="2026-11-21",
    states={"a": "1", "b": "2", "c": "3", "d": "4"},
)


def test_what_is_noted_is_read_back(tmp_path: Path) -> None:
    with open_log(tmp_path) as journal:
        journal.check(ONE)
        journal.check(TWO)
        journal.outcome(SAID)
        journal.note("tried", spot="p2:0")
        journal.note("owners", owners={"a": "town"})
        journal.note("spent", model="m", calls=3, seconds=1.5)
        journal.note("spent", model="m", calls=1, seconds=0.5)
    found = read_outcomes(tmp_path)
    assert found == Outcomes(
        checks={"f1": ONE, "f2": TWO},
        outcomes={"f1": SAID},
        tried=frozenset({"p2:0"}),
        owners={"a": "town"},
        spent={"m": (4, 2.0)},
    )


def test_the_newest_outcome_of_a_question_counts(tmp_path: Path) -> None:
    later = QuestionOutcome(question="f1", answers={}, clusters={}, day="2027-01-01")
    with open_log(tmp_path) as journal:
        journal.outcome(SAID)
        journal.outcome(later)
    assert read_outcomes(tmp_path).outcomes == {"f1": later}


def test_a_removed_source_leaves_what_there_would_be_without_it(tmp_path: Path) -> None:
    with open_log(tmp_path) as journal:
        journal.outcome(SAID)
        journal.note("removed", sources=["a"])
    [found] = read_outcomes(tmp_path).outcomes.values()
    assert found.answers == {"b": "Bob", "c": "Bob"}
    assert found.clusters == {"b": 0, "c": 0}
    assert (found.winner, found.known) == (0, NOBODY)
    assert "a" not in found.states


def test_removal_numbers_clusters_in_the_order_in_which_the_others_answered() -> None:
    said = QuestionOutcome(question="f", answers={}, clusters={"a": 0, "b": 1, "c": 0}, states={"a": ""})
    assert said.without(["a"]).clusters == {"b": 0, "c": 1}
    assert said.without(["z"]) is said
    assert said.without(["b"]).known == UNKNOWN


def test_what_a_removed_source_says_later_counts_again(tmp_path: Path) -> None:
    with open_log(tmp_path) as journal:
        journal.outcome(SAID)
        journal.note("removed", sources=["a"])
        journal.outcome(SAID)
    assert read_outcomes(tmp_path).outcomes["f1"] == SAID


def test_beginning_anew_keeps_owners_and_what_calls_cost(tmp_path: Path) -> None:
    with open_log(tmp_path) as journal:
        journal.check(ONE)
        journal.outcome(SAID)
        journal.note("owners", owners={"a": "town"})
        journal.note("spent", model="m", calls=3, seconds=1.5)
        journal.note("anew")
    found = read_outcomes(tmp_path)
    assert (found.checks, found.outcomes, found.tried) == ({}, {}, frozenset())
    assert (found.owners, found.spent) == ({"a": "town"}, {"m": (3, 1.5)})


@pytest.mark.long
def test_a_line_that_a_kill_cut_short_is_not_there_and_the_next_one_is_whole(tmp_path: Path) -> None:
    with open_log(tmp_path) as journal:
        journal.check(ONE)
        journal.check(TWO)
    whole = (tmp_path / NAME).read_bytes()
    first = whole.index(b"\n") + 1
    for cut in range(first, len(whole)):
        (tmp_path / NAME).write_bytes(whole[:cut])
        assert read_outcomes(tmp_path).checks == {"f1": ONE}
        assert find_damaged_lines(tmp_path) == []
        with open_log(tmp_path) as journal:
            journal.check(TWO)
        assert read_outcomes(tmp_path).checks == {"f1": ONE, "f2": TWO}


@pytest.mark.long
def test_every_flipped_bit_is_found_and_its_row_named(tmp_path: Path) -> None:
    with open_log(tmp_path) as journal:
        journal.check(ONE)
        journal.outcome(SAID)
        journal.check(TWO)
    whole = (tmp_path / NAME).read_bytes()
    lines = whole.split(b"\n")
    begin, end = len(lines[0]) + 1, len(lines[0]) + 1 + len(lines[1])
    for at in range(begin, end, 3):
        raw = bytearray(whole)
        raw[at] ^= 0x04
        (tmp_path / NAME).write_bytes(raw)
        assert find_damaged_lines(tmp_path) == [2]
        with pytest.raises(StoreError, match="row 2: is damaged"):
            read_outcomes(tmp_path)


def test_a_flipped_line_end_of_the_last_row_is_damage_and_no_line_cut_short(tmp_path: Path) -> None:
    with open_log(tmp_path) as journal:
        journal.check(ONE)
        journal.outcome(SAID)
    raw = bytearray((tmp_path / NAME).read_bytes())
    raw[-1] ^= 0x04
    (tmp_path / NAME).write_bytes(raw)
    assert find_damaged_lines(tmp_path) == [2]
    with open_log(tmp_path):
        assert (tmp_path / NAME).read_bytes() == raw


def test_a_line_of_another_program_is_not_guessed_at(tmp_path: Path) -> None:
    with open_log(tmp_path) as journal:
        journal.note("prophecy", day="tomorrow")
    with pytest.raises(StoreError, match="row 1"):
        read_outcomes(tmp_path)


def test_one_process_writes_at_a_time(tmp_path: Path) -> None:
    with open_log(tmp_path), pytest.raises(StoreError, match="another process"), open_log(tmp_path):
        pass


def test_no_calibration_is_an_empty_record(tmp_path: Path) -> None:
    assert read_outcomes(tmp_path) == Outcomes()
    assert find_damaged_lines(tmp_path / "nowhere") == []


def test_a_question_is_one_however_it_is_written() -> None:
    assert check_id("Who built it?") == check_id("who  built IT") != check_id("Who broke it?")


@pytest.mark.long
def test_a_kill_at_any_moment_leaves_whole_lines(tmp_path: Path) -> None:
    writer = (
        "import sys; from pathlib import Path; from disputatio.store.calibration_file import *; "
        "from disputatio.store.calibration_log import FactQuestion\n"
        f"with open_log(Path({str(tmp_path)!r})) as journal:\n"
        "    for n in range(10**6):\n"
        "        journal.check(FactQuestion(id=f'f{n}', text='x' * 500, kind='given'))\n"
        "        print(n, flush=True)\n"
    )
    said = 0
    for _ in range(3):
        process = subprocess.Popen([sys.executable, "-c", writer], stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        for line in process.stdout:
            said = int(line)
            if said >= 20:
                break
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
        assert len(read_outcomes(tmp_path).checks) > said
        assert find_damaged_lines(tmp_path) == []
