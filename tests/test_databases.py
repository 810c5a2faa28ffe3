"""Databases of ours: opened by SQLite alone, without following links, given rights once they are known."""

from __future__ import annotations

import ast
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import disputatio
from disputatio.api.many import KeptAnswers
from disputatio.databases import Database, is_damage, is_full
from disputatio.errors import DisputatioError
from disputatio.eval.running import run_log_file
from disputatio.llm.call_cache import CallCache
from disputatio.server.answer_store import AnswerStore


def open_records(path: Path) -> sqlite3.Connection:
    """Open the journal of an evaluation, as its first run leaves it."""
    database = run_log_file.connect(path)
    if run_log_file.version_of(database) == 0:
        with run_log_file.transaction(database):
            run_log_file.create_tables(database)
    return database


OPENERS: dict[str, Callable[[Path], Any]] = {
    "calls": CallCache,
    "answers": AnswerStore,
    "records": open_records,
    "kept": lambda path: KeptAnswers(path, {}),
}
each = pytest.mark.parametrize("opened", OPENERS.values(), ids=OPENERS)

# As another command does it: it opens the file, reads, and closes it as the last one that has it open.
OTHER = """
import sqlite3, sys
database = sqlite3.connect(sys.argv[1])
database.execute("SELECT count(*) FROM sqlite_schema").fetchone()
database.close()
"""


@each
def test_a_file_that_is_opened_twice_in_a_process_stays_locked(
    tmp_path: Path, opened: Callable[[Path], Any]
) -> None:
    file = tmp_path / "file.sqlite"
    first = opened(file)
    opened(file).close()
    log = tmp_path / "file.sqlite-wal"
    before = log.stat().st_ino
    subprocess.run([sys.executable, "-c", OTHER, str(file)], check=True)
    assert log.exists(), "another process could delete the log of a file that is open"
    assert log.stat().st_ino == before
    first.close()


@each
@pytest.mark.parametrize("foreign", ["text", "database", "link"])
def test_a_file_that_is_not_ours_stays_as_it_is(
    tmp_path: Path, opened: Callable[[Path], Any], foreign: str
) -> None:
    file, notes = tmp_path / "file.sqlite", tmp_path / "notes.txt"
    notes.write_text("what somebody wrote down, and wants to keep as it is\n" * 30)
    notes.chmod(0o644)
    if foreign == "text":
        notes.rename(file)
    elif foreign == "link":
        file.symlink_to(notes)
    else:
        with closing(sqlite3.connect(file)) as database:
            database.execute("CREATE TABLE diary (day TEXT)")
        file.chmod(0o644)
    before = file.read_bytes()
    with pytest.raises(DisputatioError, match=r"file\.sqlite") as caught:
        opened(file)
    assert "\n" not in str(caught.value)
    assert file.read_bytes() == before
    assert stat.S_IMODE(file.stat().st_mode) == 0o644
    assert {path.name for path in tmp_path.iterdir()} <= {"file.sqlite", "notes.txt"}


def test_an_error_of_the_python_module_has_no_code_of_sqlite() -> None:
    with closing(sqlite3.connect(":memory:")) as database:
        with pytest.raises(sqlite3.OperationalError, match="decode") as caught:
            database.execute("SELECT CAST(x'ff' AS TEXT)").fetchone()
        assert not hasattr(caught.value, "sqlite_errorcode")
        assert not is_full(caught.value)


@pytest.mark.parametrize(
    ("code", "damage", "full"),
    [
        (sqlite3.SQLITE_CORRUPT, True, False),
        (sqlite3.SQLITE_NOTADB, True, False),
        (sqlite3.SQLITE_IOERR_SHORT_READ, True, True),
        (sqlite3.SQLITE_IOERR_SHMSIZE, False, True),  # a full disk
        (sqlite3.SQLITE_FULL, False, True),
        (sqlite3.SQLITE_BUSY, False, False),
    ],
)
def test_a_full_disk_is_not_taken_for_damage(code: int, damage: bool, full: bool) -> None:
    error = sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorcode = code
    assert (is_damage(error), is_full(error)) == (damage, full)


def test_a_connection_is_closed_with_its_last_reference(tmp_path: Path) -> None:
    database = Database(tmp_path / "file")
    cursor = database.execute("SELECT 1")
    database.__del__()
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        cursor.fetchone()
    with pytest.raises(sqlite3.OperationalError):
        Database(tmp_path / "no folder" / "file")


@pytest.mark.long
def test_every_connection_of_ours_is_closed_in_its_block_or_with_its_last_reference() -> None:
    top = Path(disputatio.__file__).parent
    for path in top.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
        in_blocks = {id(each) for call in calls if "closing" in ast.unparse(call.func) for each in call.args}
        for call in calls:
            if ast.unparse(call.func) == "sqlite3.connect" and id(call) not in in_blocks:
                made_by = {word.arg: ast.unparse(word.value) for word in call.keywords}
                assert made_by.get("factory") == "Database", f"{path.name}:{call.lineno}"
