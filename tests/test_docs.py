"""Documentation that cannot lie: its Python runs, its command lines exist, its links lead somewhere.

A fence ```python runs (one namespace a page), with a server where it asks one. In ```sh and ```console (lines
after `$ `) every command is known: `disputatio ...` to the command line's own parser, `inspect ...` to
Inspect's, `make ...` to the Makefile; those under `<!-- run -->` are run. Model calls go to a scripted model,
files into a temporary folder.
"""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

import disputatio

ROOT = Path(__file__).resolve().parent.parent
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "CHANGELOG.md",
    *sorted(ROOT.glob("docs/**/*.md")),
]
SLOW = {"tutorial", "search", "frameworks", "mcp"}
LANGUAGES = {"python", "sh", "console", "text", "json", "jsonl", "toml", "yaml"}
ADDRESS = "http://127.0.0.1:8377"  # where the documentation says that a server is
PROGRAMS = {
    *("cd", "curl", "export", "git", "llama-server", "mypy", "openssl"),
    *("pip", "pytest", "python", "python3", "ruff", "uv"),
}
OURS_OF_INSPECT = ("strategy", "model", "rows", "index", "verify", "seed")
_FENCE = re.compile(r"^( *)```([^\n`]*)\n(.*?)^\1```[ ]*$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """One fenced block: its language, its text, the line it starts at, whether it is to be run.

    `needs` is a module that its code needs and that is not installed for tests (tests/test_recipes.py).
    """

    language: str
    text: str
    line: int
    run: bool
    needs: str = ""


def blocks(page: str) -> Iterator[Block]:
    """Yield the fenced blocks of a page of Markdown."""
    for match in _FENCE.finditer(page):
        indent = len(match[1])
        text = "".join(line[indent:] for line in match[3].splitlines(keepends=True))
        line = page.count("\n", 0, match.start()) + 1
        before = page[: match.start()].rstrip().rpartition("\n")[2].strip()
        needs = re.fullmatch(r"<!-- needs ([\w.]+) -->", before)
        yield Block(
            language=match[2].strip(),
            text=text,
            line=line,
            run=before == "<!-- run -->",
            needs=needs[1] if needs else "",
        )


def commands(block: Block) -> list[str]:
    """Return the command lines of a shell block; in a console block those after `$ `, without what they
    print.
    """
    lines = block.text.replace("\\\n", " ").splitlines()
    if block.language == "console":
        lines = [line[2:] for line in lines if line.startswith("$ ")]
    return [line.strip() for line in lines if line.strip() and not line.lstrip().startswith("#")]


def words_of(command: str) -> list[str]:
    """Return the words of a command line, without variables set before it and pipes after it."""
    words = shlex.split(command, comments=True)
    while words and re.fullmatch(r"[A-Z_]+=.*", words[0]):
        words.pop(0)
    ends = [at for at, word in enumerate(words) if word in ("|", ">", "&&", "2>")]
    return words[: ends[0]] if ends else words


def wrong_with(command: str) -> str:
    """Return why a command line of the documentation would not be understood, or nothing."""
    program, *rest = words_of(command) or [""]
    name = program.removeprefix(".venv/bin/")
    if name == "make":
        targets = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
        unknown = [word for word in rest if "=" not in word and word not in targets]
        return f"make knows no {unknown[0]}" if unknown else ""
    if name == "disputatio":
        return wrong_with_ours(rest)
    if name == "inspect":
        return wrong_with_inspect(rest)
    return (
        "" if name in PROGRAMS else f"{program or 'an empty line'} is no program that the reader is told of"
    )


def wrong_with_ours(words: list[str]) -> str:
    """Return why our command line would refuse these words, or nothing; nothing is opened or run."""
    from typer.exceptions import TyperException
    from typer.main import get_command

    from disputatio.cli.main import app

    command: Any = get_command(app)
    context = command.make_context("disputatio", [], resilient_parsing=True)
    while hasattr(command, "get_command"):
        if words and words[0] in ("--help", "--version"):
            return ""
        below = command.get_command(context, words[0]) if words else None
        if below is None:
            return f"there is no command {' '.join(words[:1]) or '(none given)'}"
        words = words[1:]
        context = type(context)(below, info_name=below.name, parent=context)
        command = below
    try:
        values, left, _ = command.make_parser(context).parse_args(list(words))
    except TyperException as error:
        return str(error)
    needed = [one.name for one in command.params if one.required and values.get(one.name) in (None, ())]
    if "--help" not in words and needed:
        return f"{command.name} needs {needed[0]}"
    return f"{command.name} takes no {left[0]!r}" if left else ""


def wrong_with_inspect(words: list[str]) -> str:
    """Return why Inspect's command line, or a task of ours under it, would refuse these words, or nothing."""
    import click
    from inspect_ai._cli.main import inspect

    from disputatio.inspect_ai.tasks import TASKS
    from disputatio.pipeline import load_strategy, strategy_options

    command = inspect.get_command(click.Context(inspect), words[0]) if words else None
    if command is None:
        return f"inspect has no command {' '.join(words[:1]) or '(none given)'}"
    try:
        context = command.make_context(f"inspect {words[0]}", words[1:])
    except click.ClickException as error:
        return str(error)
    if command.name != "eval":
        return ""
    given = dict(option.split("=", 1) for option in context.params["t"])
    [task] = context.params["tasks"]
    known = {f"disputatio/{name}" for name in TASKS}
    options = strategy_options(load_strategy(given.get("strategy", "disputation")))
    unknown = [name for name in given if name not in {"path", *OURS_OF_INSPECT, *options}]
    if task not in known or "path" not in given or unknown:
        return f"{task} is none of {sorted(known)}, has no path, or does not take {unknown}"
    return ""


def page_id(page: Path) -> str:
    return str(page.relative_to(ROOT))


each_page = pytest.mark.parametrize("page", PAGES, ids=page_id)


@pytest.fixture
def workshop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder like the checkout's root for a reader to work in, with a scripted model."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DISPUTATIO_MODEL", "scripted:")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return tmp_path


@each_page
def test_every_fence_names_a_known_language(page: Path) -> None:
    unknown = [
        f"{page_id(page)}:{block.line}: {block.language or 'no language'}"
        for block in blocks(page.read_text(encoding="utf-8"))
        if block.language not in LANGUAGES
    ]
    assert unknown == []


@pytest.mark.long
@pytest.mark.parametrize(
    "page",
    [
        # Those that read and index the examples, or load a framework, take seconds.
        pytest.param(page, id=page_id(page), marks=pytest.mark.slow if page.stem in SLOW else ())
        for page in PAGES
    ],
)
def test_python_in_the_documentation_runs(page: Path, workshop: Path) -> None:
    namespace: dict[str, Any] = {"__name__": "__main__"}
    text = page.read_text(encoding="utf-8")
    python = [block for block in blocks(text) if block.language == "python" and not block.needs]
    with served_for(python, workshop) as address:
        for block in python:
            # So many lines before it that a traceback names the page's.
            lines = "\n" * block.line + block.text.replace(ADDRESS, address)
            exec(compile(lines, str(page), "exec"), namespace)


@contextmanager
def served_for(python: list[Block], folder: Path) -> Iterator[str]:
    """Give the address of a server, for code that asks one."""
    if not any(ADDRESS in block.text for block in python):
        yield ADDRESS
        return
    from tests.server.chat.chats import chatting

    with chatting(folder) as server:
        yield server.url


@pytest.mark.long
@each_page
def test_command_lines_in_the_documentation_are_understood(page: Path) -> None:
    wrong = [
        f"{page_id(page)}:{block.line}: {command}: {reason}"
        for block in blocks(page.read_text(encoding="utf-8"))
        if block.language in ("sh", "console")
        for command in commands(block)
        if (reason := wrong_with(command))
    ]
    assert wrong == []


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, id=page_id(page), marks=pytest.mark.slow if page.stem == "inspect" else ())
        for page in PAGES
    ],
)
def test_commands_marked_to_run_do(page: Path, workshop: Path) -> None:
    for block in blocks(page.read_text(encoding="utf-8")):
        for command in commands(block) if block.run else []:
            program, *rest = words_of(command)
            assert program in ("disputatio", "inspect"), "only what we answer for is run by the tests"
            run = subprocess.run(
                [Path(sys.executable).parent / program, *rest],
                capture_output=True,
                text=True,
                cwd=workshop,
                check=False,
            )
            assert run.returncode == 0, f"{command}\n{run.stderr}"


@each_page
def test_links_within_the_project_lead_somewhere(page: Path) -> None:
    text = _FENCE.sub("", page.read_text(encoding="utf-8"))
    inside = [link.partition("#")[0] for link in _LINK.findall(text) if "://" not in link and link[0] != "#"]
    assert [link for link in inside if not (page.parent / link).exists()] == []


# --- the checks themselves ----------------------------------------------------------------------
def test_the_picture_of_an_answer_is_small_and_loads_nothing() -> None:
    picture = (ROOT / "docs" / "screens" / "answer.svg").read_text(encoding="utf-8")
    elements = [element.tag.rpartition("}")[2] for element in ElementTree.fromstring(picture).iter()]
    assert {"script", "image", "foreignObject", "a"}.isdisjoint(elements)
    assert "@import" not in picture and "url(http" not in picture
    assert len(picture) < 200_000


def test_every_strategy_that_is_listed_exists() -> None:
    page = (ROOT / "docs" / "how-to" / "strategies.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE)
    assert listed
    assert set(listed) <= {strategy.name for strategy in disputatio.strategies()}


def test_every_strategy_that_is_said_to_decide_by_log_probabilities_does() -> None:
    page = (ROOT / "docs" / "how-to" / "strategies.md").read_text(encoding="utf-8")
    [sentence] = re.findall(r"^(.+?) decide by log-probabilities of a word", page, re.MULTILINE)
    needing = {one.name for one in disputatio.strategies() if "or --set votes=10" in one.logprobs}
    assert set(re.findall(r"`(\w+)`", sentence)) <= needing


def test_blocks_are_found_with_their_language_and_mark() -> None:
    page = (
        "Text\n\n```python\nx = 1\n```\n\n<!-- run -->\n```console\n$ disputatio ask \\\n  'a b'\nout\n```\n"
    )
    first, second = blocks(page)
    assert (first.language, first.text, first.line, first.run) == ("python", "x = 1\n", 3, False)
    assert second.run
    assert [words_of(command) for command in commands(second)] == [["disputatio", "ask", "a b"]]


@pytest.mark.parametrize(
    "command",
    [
        "make nonsense",
        "disputatio nonsense",
        "disputatio ask --nonsense 1 q",
        "disputatio ask",
        "ingest examples",
        pytest.param("inspect evil disputatio/ramdocs", marks=pytest.mark.long),  # imports Inspect
        "inspect eval disputatio/ramdoc -T path=dev.jsonl",
        "inspect eval disputatio/ramdocs -T path=dev.jsonl -T round=2",
    ],
)
def test_a_command_that_does_not_exist_is_found_out(command: str) -> None:
    assert wrong_with(command)


@pytest.mark.parametrize(
    "command",
    [
        "make demo",
        "make bench RUN=tables",
        "OPENAI_BASE_URL=http://localhost:8000/v1 disputatio ask 'Who?' --index town.index --json | less",
        "disputatio ask 'Who?' --strategy madam_rag --set rounds=2 --passages some.jsonl",
        "disputatio --help",
    ],
)
def test_a_command_that_exists_is_understood(command: str) -> None:
    assert wrong_with(command) == ""
