"""The recipes for agent frameworks run against a server, each with its framework.

They are skipped where a framework is missing. With `DISPUTATIO_RECIPES=FOLDER` (`make recipes`) each gets an
environment of its own there, as its section of the page installs it.
"""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.server.chat.chats import chatting
from tests.server.ferry import Served
from tests.test_docs import ADDRESS, ROOT, blocks, commands, words_of

PAGE = ROOT / "docs" / "how-to" / "agent-frameworks.md"
FOLDER = os.environ.get("DISPUTATIO_RECIPES", "")


def recipes() -> dict[str, tuple[str, list[str]]]:
    """Return the code of each recipe, and what it is installed by, by the module that it needs."""
    found = {}
    for section in re.split(r"^## ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        install, code = blocks(section)
        found[code.needs] = (code.text, words_of(commands(install)[0])[2:])
    return found


RECIPES = recipes()


def interpreter(module: str, packages: list[str]) -> str:
    """Return the Python to run a recipe with; skips the test where there is none."""
    if not FOLDER:
        try:
            found = importlib.util.find_spec(module) is not None
        except ModuleNotFoundError:
            found = False
        if not found:
            pytest.skip(f"{module} is not installed here; `make recipes` installs it")
        return sys.executable
    python = Path(FOLDER).resolve() / module / "bin" / "python"
    uv = str(Path(sys.executable).with_name("uv"))
    if not python.exists():
        subprocess.run(
            [uv, "venv", "--quiet", "--python", sys.executable, str(python.parents[1])], check=True
        )
        install = [uv, "pip", "install", "-q", "--python", str(python), "--only-binary", ":all:", *packages]
        subprocess.run(install, check=True)
    return str(python)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with chatting(tmp_path_factory.mktemp("recipes")) as running:
        yield running


def test_each_framework_that_is_named_has_a_recipe() -> None:
    assert len(RECIPES) == 6
    assert all(packages and ADDRESS in code for code, packages in RECIPES.values())


@pytest.mark.slow
@pytest.mark.parametrize("module", RECIPES)
def test_a_recipe_runs(module: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    code, packages = RECIPES[module]
    python = interpreter(module, packages)
    server: Served = request.getfixturevalue("server")
    done = subprocess.run(
        [python, "-c", code.replace(ADDRESS, server.url)],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=tmp_path,
        check=False,
    )
    assert done.returncode == 0, done.stderr
