"""Installs as users make them: each set of extras from the wheel, asked in another folder."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.llm.fake_server import Asked, FakeServer, Wire, capable, says
from tests.test_release import QUESTION, ROOT, built, tracked

ROWS = "".join(
    json.dumps({"text": f"The Elm Bridge was opened in May 1921, says {name}.", "source": name}) + "\n"
    for name in ("a", "b")
)
MOST_MEGABYTES = 700  # of `[local,store]`, with the interpreter's files and bytecode


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    """Make a folder on the disk of uv's cache, whose files are linked and not copied."""
    with tempfile.TemporaryDirectory(prefix="disputatio-install-", dir="/var/tmp") as name:
        yield Path(name)


@pytest.fixture(scope="module")
def wheel(place: Path) -> Path:
    """Build the wheel from a copy of what git has."""
    return built(tracked(place / "source"), "wheel", place / "dist")


def install(wheel: Path, extras: str, folder: Path) -> Path:
    """Install extras of a wheel in a new environment, at the versions of the lock; return its command."""
    uv = [sys.executable, "-m", "uv"]
    subprocess.run([*uv, "venv", "--quiet", "--python", sys.executable, str(folder)], check=True)
    wanted = ["--quiet", "--python", str(folder), "--only-binary", ":all:", f"{wheel}[{extras}]"]
    lock = ["--constraint", str(ROOT / "requirements.lock")]
    cached = [*uv, "pip", "install", "--offline", *lock, *wanted]
    if subprocess.run(cached, check=False, capture_output=True).returncode:
        subprocess.run([*uv, "pip", "install", *lock, *wanted], check=True)
    return folder / "bin" / "disputatio"


def _reply(asked: Asked) -> Wire:
    del asked
    return says(json.dumps({"answers": ["May 1921"], "explanation": "Both say so."}))


@pytest.mark.slow
@pytest.mark.parametrize("extras", ["local,store", "openai,store,serve", "all"])
def test_each_set_of_extras_answers_from_the_wheel_in_another_folder(
    extras: str, wheel: Path, place: Path
) -> None:
    elsewhere = place / f"elsewhere-{extras}"
    elsewhere.mkdir()
    (elsewhere / "passages.jsonl").write_text(ROWS)
    command = install(wheel, extras, place / extras)
    environment = {"PATH": os.environ["PATH"], "HOME": str(elsewhere), "OPENAI_API_KEY": "none"}
    line = [str(command), "ask", QUESTION, "--passages", "passages.jsonl", "--json"]
    with FakeServer(capable(_reply)) as server:
        environment["OPENAI_BASE_URL"] = server.url
        own = (
            ["--model", "none"] if "openai" not in extras else ["--model", "openai:m", "--strategy", "concat"]
        )
        done = subprocess.run(
            [*line, *own], cwd=elsewhere, env=environment, capture_output=True, text=True, check=False
        )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["answers"] == ["May 1921"]
    if extras == "local,store":
        sizes = [path.lstat().st_size for path in (place / extras).rglob("*") if not path.is_symlink()]
        assert sum(sizes) / 1e6 <= MOST_MEGABYTES
    shutil.rmtree(place / extras)
