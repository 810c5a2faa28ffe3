"""Questions and passages are for the user alone; what is put in is bounded."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path

import pytest

from disputatio import config, pipeline
from disputatio.config import read_settings
from disputatio.errors import InputError
from disputatio.eval.running import run_log_file
from disputatio.events import Found
from disputatio.kit import Kit
from disputatio.llm import catalogue
from disputatio.llm.call_cache import CallCache
from disputatio.llm.scripted import NoModel
from disputatio.parts import build_kit
from disputatio.store import passage_files
from disputatio.trace import Trace


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_trace_is_for_its_user_alone(tmp_path: Path) -> None:
    trace = Trace()
    trace.emit(Found(query="a private matter", passages=(), sources=()))
    (tmp_path / "trace.jsonl").touch(0o644)
    trace.write(tmp_path / "trace.jsonl")
    assert mode(tmp_path / "trace.jsonl") == 0o600


@pytest.mark.parametrize("made_before", [True, False])
def test_the_journal_of_calls_is_for_its_user_alone(tmp_path: Path, made_before: bool) -> None:
    file = tmp_path / "calls.sqlite"
    if made_before:
        CallCache(file).close()
        file.chmod(0o644)
    journal = CallCache(file)
    assert {mode(path) for path in tmp_path.iterdir()} == {0o600}
    journal.close()


def test_an_endless_question_is_refused() -> None:
    with pytest.raises(InputError, match="32,001 characters, more than 32,000"):
        pipeline.ask("x" * 32_001, kit=Kit(model=NoModel()))


def test_passages_in_hand_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "many.jsonl"
    file.write_text('{"text": "It rained."}\n' * 30)
    monkeypatch.setattr(passage_files, "MOST_ROWS", 20)
    with pytest.raises(InputError, match=r"many.jsonl:21: more than 20 rows"):
        passage_files.read_passages(file)
    monkeypatch.setattr(passage_files, "MOST_ROWS", 100)
    monkeypatch.setattr(passage_files, "MOST_CHARACTERS", 100)
    with pytest.raises(InputError, match=r"many.jsonl:11: more than"):
        passage_files.read_passages(file)


def test_the_journal_of_an_evaluation_is_for_its_user_alone(tmp_path: Path) -> None:
    (tmp_path / "records.sqlite").touch(0o644)
    database = run_log_file.connect(tmp_path / "records.sqlite")
    database.execute("CREATE TABLE t (a)")
    assert {mode(path) for path in tmp_path.iterdir()} == {0o600}
    database.close()


def test_a_pipe_that_nobody_writes_to_is_refused_and_one_that_is_written_to_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipe = tmp_path / "pipe.jsonl"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=('{"text": "It rained."}\n' * 3,), daemon=True)
    writer.start()
    passages, _ = passage_files.read_passages(pipe)
    assert len(passages) == 3
    writer.join()
    monkeypatch.setattr(passage_files, "PIPE_SECONDS", 0.05)
    with pytest.raises(
        InputError, match=r"pipe.jsonl: is a named pipe to which nothing was written in 0.05 s"
    ):
        passage_files.read_passages(pipe)


@pytest.mark.parametrize("kind", ["large", "pipe"])
def test_a_file_of_settings_that_is_none_is_refused(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    if kind == "pipe":
        os.mkfifo("disputatio.toml")
    else:
        Path("disputatio.toml").write_text("#" * (config.LARGEST_SETTINGS + 1))
    with pytest.raises(InputError, match=r"disputatio.toml: is (no regular file|larger than 256 KB)"):
        config.read_settings()


def test_what_a_test_keeps_is_not_in_the_cache_of_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    own = catalogue.cache_folder()
    kit = build_kit(read_settings())
    assert kit.speeds.file == own / "speeds.json"
    linked = {path.name for path in own.iterdir() if path.is_symlink()}
    assert linked <= {"models", "converted", "compiled"}
    monkeypatch.delenv("DISPUTATIO_CACHE")
    usual = catalogue.cache_folder()
    assert usual != own
    assert not own.is_relative_to(usual)
