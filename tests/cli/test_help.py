"""Tests of `--help`: defaults that hold, no types that say nothing, eighty columns."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from importlib import metadata
from typing import Any

import pytest
import typer.main

from disputatio.cli.main import app
from disputatio.config import Settings
from tests.shell import run

Capture = pytest.CaptureFixture[str]


def commands(group: Any = None, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield every command of the command line, as the words that call it."""
    group = group or typer.main.get_command(app)
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, (*path, name))
        else:
            yield (*path, name)


ALL = list(commands())


@pytest.mark.parametrize("words", ALL, ids=" ".join)
def test_a_help_text_fits_eighty_columns_and_names_no_type_of_a_flag(
    words: tuple[str, ...], capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    done = run(capsys, *words, "--help")
    assert done.code == 0
    assert max(map(len, done.out.splitlines())) <= 80
    assert "<bool>" not in done.out
    assert not re.search(r"^  -.*<", done.out, re.MULTILINE), "an option has no metavar"


@pytest.mark.parametrize(
    ("command", "name"),
    [*(("ask", name) for name in ("index", "model", "strategy", "journal")), ("ingest", "embedder")],
)
def test_a_help_text_shows_the_defaults_of_the_settings(command: str, name: str, capsys: Capture) -> None:
    default = Settings.model_fields[name].default
    lines = " ".join(run(capsys, command, "--help").out.split())
    about = lines.split(f" --{name} ")[1].split(" --")[0]
    assert about.endswith(f"[default: {default}]")


def test_the_help_of_export_says_how_documents_are_listed(capsys: Capture) -> None:
    assert "`--what documents` lists" in run(capsys, "index", "export", "--help").out


def test_the_help_of_check_says_that_no_model_is_its_default(capsys: Capture) -> None:
    about = (
        " ".join(run(capsys, "check", "--help").out.split()).split(" --model MODEL ")[1].split(" --calls")[0]
    )
    assert about.endswith("[default: none]")


@pytest.mark.parametrize("group", [(), ("index",), ("eval",), ("model",)])
def test_a_list_of_commands_says_whole_sentences(
    group: tuple[str, ...], capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    listed = run(capsys, *group, "--help").out.partition("Commands:")[2]
    assert listed and "..." not in listed


def test_completion_can_be_installed_and_shown(capsys: Capture) -> None:
    lines = run(capsys, "--help").out
    assert "--install-completion" in lines
    assert "--show-completion" in lines


@pytest.mark.long
def test_the_package_run_as_a_module_is_the_command() -> None:
    command = [sys.executable, "-m", "disputatio"]
    told = subprocess.run([*command, "--version"], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == metadata.version("disputatio")
    refused = subprocess.run([*command, "ask"], capture_output=True, text=True, check=False)
    assert (refused.returncode, "Traceback" in refused.stderr) == (2, False)
