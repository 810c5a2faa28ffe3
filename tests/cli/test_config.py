"""`disputatio config`: the settings in force, where each came from, and no secret."""

from __future__ import annotations

from pathlib import Path

import pytest

from disputatio.config import Settings
from tests.shell import run

Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DISPUTATIO_CACHE", str(tmp_path / "cache"))
    return tmp_path


def test_every_setting_is_shown_with_where_it_came_from(
    workspace: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("disputatio.toml").write_text(
        'strategy = "concat"\nmodel = "openai:file"\n[role]\njudge = "openai:j"\n'
    )
    monkeypatch.setenv("DISPUTATIO_CONFIG", "disputatio.toml")
    monkeypatch.setenv("DISPUTATIO_STRATEGY", "crag")
    monkeypatch.setenv("DISPUTATIO_ROLE", '{"reader": "openai:r"}')
    shown = run(capsys, "config", "--index", "my.index", "--json").json
    assert list(shown["settings"]) == list(Settings.model_fields)
    assert shown["settings"]["index"] == {"value": "my.index", "from": "flag"}
    assert shown["settings"]["strategy"] == {"value": "crag", "from": "environment"}
    assert shown["settings"]["model"] == {"value": "openai:file", "from": "file"}
    roles = {"judge": "openai:j", "reader": "openai:r"}
    assert shown["settings"]["role"] == {"value": roles, "from": "environment, file"}
    assert shown["settings"]["cache"] == {"value": str(workspace / "cache"), "from": "environment"}
    assert shown["settings"]["replay"] == {"value": False, "from": "default"}
    assert shown["file"] == str(workspace / "disputatio.toml")


def test_the_table_fits_eighty_columns(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    done = run(capsys, "config", "--role", "judge=openai:a-very-long-name-of-a-model" * 3)
    assert done.code == 0
    assert max(map(len, done.out.splitlines())) <= 80
    rows = {line.split()[0]: line.split()[1:] for line in done.out.splitlines()}
    assert rows["strategy"] == ["disputation", "default"]


def test_no_secret_is_shown(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    monkeypatch.setenv("OPENAI_BASE_URL", "https://me:hidden@models.example/v1?token=hushed")
    shown, data = run(capsys, "config"), run(capsys, "config", "--json")
    for secret in ("sk-secret", "hidden", "hushed"):
        assert secret not in shown.out + shown.err + data.out + data.err
    assert data.json["endpoint"] == {"OPENAI_BASE_URL": "https://models.example/v1", "OPENAI_API_KEY": "set"}


def test_a_wrong_setting_is_one_line(capsys: Capture) -> None:
    Path("disputatio.toml").write_text('modle = "openai:file"\n')
    done = run(capsys, "config")
    assert (done.code, done.out) == (2, "")
    assert done.err == "disputatio: unknown setting 'modle': did you mean 'model'? " + done.err.split("? ")[1]


@pytest.mark.parametrize(
    "index",
    [
        "a.index,postgresql://ada:s3cret@h/d",
        "a.index, qdrant://h/d?api_key=s3cret,b.index",
        "a.index,postgresql://ada:p,s3cret@h/d",
        "POSTGRESQL://ada:s3cret@h/d",
        "redis://ada:s3cret@h/d",
    ],
)
def test_no_password_of_an_index_is_shown_among_others(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch, index: str
) -> None:
    monkeypatch.setenv("DISPUTATIO_INDEX", index)
    for words in (("config",), ("config", "--json"), ("search", "ferry"), ("sources",), ("doctor",)):
        done = run(capsys, *words)
        assert "s3cret" not in done.out + done.err
