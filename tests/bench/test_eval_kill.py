"""The bench that kills evaluations sees a record that is lost, doubled or changed."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from disputatio.eval.running.entrants import entrants
from disputatio.eval.running.run_log_file import FILE
from tests.bench.scripts import script


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    yield script("eval_kill")


@pytest.fixture
def whole(bench: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An evaluation of three questions by one strategy."""
    monkeypatch.setattr(bench, "QUESTIONS", 3)
    bench.evaluate(tmp_path, entrants("concat", []), 1, lambda _: None)
    return tmp_path


def _tamper(out: Path, *statements: str) -> None:
    database = sqlite3.connect(out / FILE, isolation_level=None)
    for name in ("records_stay", "records_last"):
        database.execute(f"DROP TRIGGER IF EXISTS {name}")
    for statement in statements:
        database.execute(statement)
    database.close()


def test_nothing_is_wrong_with_an_evaluation_that_is_whole(bench: ModuleType, whole: Path) -> None:
    life = bench.Life(number=0, told={("concat", "x000"), ("concat", "x002")})
    assert bench.look(whole, life) == (3, [])
    assert bench.look(whole, life) == (3, [])


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("DELETE FROM records WHERE example = 'x002'", "acknowledged and lost"),
        ("UPDATE records SET body = '{}' WHERE example = 'x001'", "have changed"),
        ("DELETE FROM records WHERE example = 'x001'", "traces without a record"),
    ],
)
def test_what_is_lost_or_changed_is_seen(bench: ModuleType, whole: Path, statement: str, said: str) -> None:
    life = bench.Life(number=0, told={("concat", "x002")})
    bench.look(whole, life)
    _tamper(whole, statement)
    assert any(said in fault for fault in bench.look(whole, life)[1])


def test_a_record_that_is_there_twice_is_seen(bench: ModuleType, whole: Path) -> None:
    columns = "example, entrant, state, body, answer, detail"
    copy = f"INSERT INTO records ({columns}) SELECT {columns} FROM records WHERE example = 'x000'"
    _tamper(whole, "DROP INDEX done_once", copy)
    assert bench.look(whole, bench.Life(number=0))[1] == ["counted twice: 1"]


def test_a_journal_that_is_gone_is_seen(bench: ModuleType, tmp_path: Path) -> None:
    life = bench.Life(number=0, told={("concat", "x000")})
    assert bench.look(tmp_path / "none", life) == (0, ["1 records lost with the journal"])
    assert bench.look(tmp_path / "none", bench.Life(number=0)) == (0, [])
