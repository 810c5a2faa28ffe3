"""Installs as users make them: each set of extras from the wheel, the image in a root of its own."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.llm.fake_server import Asked, FakeServer, Wire, capable, says
from tests.test_release import QUESTION, ROOT, built, can_make_roots, tracked

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


# --- the image --------------------------------------------------------------------------------------
Step = tuple[str, str]  # an instruction and what follows it


def stages(dockerfile: str) -> list[list[Step]]:
    """Return the instructions of each stage, in order, without the line that begins it."""
    lines = re.sub(r"^#.*\n", "", dockerfile, flags=re.MULTILINE).replace("\\\n", " ").splitlines()
    found: list[list[Step]] = []
    for line in filter(None, map(str.strip, lines)):
        name, _, rest = line.partition(" ")
        if name == "FROM":
            found.append([])
        else:
            found[-1].append((name, rest))
    return found


def script_of(stage: list[Step], root: str, context: str, before: str) -> str:
    """Return the lines of a shell that does what a stage's instructions say in a root of their own."""
    where, user, home = "/", "", "/root"
    lines = []
    for name, rest in stage:
        if name == "WORKDIR":
            where = rest
            lines.append(f"mkdir -p {root}{where}")
        elif name == "COPY":
            words = shlex.split(rest)
            of = before if words[0].startswith("--from") else context
            *sources, target = [word for word in words if not word.startswith("--")]
            end = str(Path(where, target))
            for source in sources:
                whole = (Path(of) / source.lstrip("/")).is_dir() or words[0].startswith("--from")
                lines += [f"mkdir -p {root}{end}" if whole or target.endswith("/") else ":"]
                lines.append(f"cp -r {of}/{source.lstrip('/')}{'/.' if whole else ''} {root}{end}")
        elif name == "USER":
            user, home = f"--userspec={rest}", f"/home/{rest}"
        elif name in ("RUN", "CMD"):
            command = shlex.join(json.loads(rest)) if name == "CMD" else rest
            inside = f"cd {where} && export HOME={home} && {command}"
            lines.append(f"chroot {user} {root} /bin/sh -ec {shlex.quote(inside)}")
        else:
            assert name == "EXPOSE", name
    return "\n".join(lines)


# A root of its own: what this machine has, with all changes in memory. It stands for the bases of the image,
# which come from a registry; `pip` and `python` of the second base are those of an environment of its Python.
ROOTS = """
set -eu
mount -t tmpfs -o size=4g none {top}
for stage in 0 1; do
    mkdir -p {top}/up$stage {top}/work$stage {top}/root$stage
    mount -t overlay overlay -o lowerdir=/,upperdir={top}/up$stage,workdir={top}/work$stage {top}/root$stage
    mount --bind /dev {top}/root$stage/dev
    mount -t proc proc {top}/root$stage/proc
    mount -t tmpfs none {top}/root$stage/tmp && chmod 1777 {top}/root$stage/tmp
done
"""


@pytest.mark.slow
@pytest.mark.skipif(not can_make_roots(), reason="takes a user who may mount; the release builds the image")
def test_the_steps_of_the_image_run_in_a_root_of_their_own_and_it_answers(place: Path) -> None:
    context, top = tracked(place / "context"), place / "roots"
    top.mkdir()
    first, second = stages((context / "deploy" / "Dockerfile").read_text(encoding="utf-8"))
    asking = ["disputatio", "ask", QUESTION, "--passages", "/tmp/p.jsonl", "--model", "none", "--json"]
    write = f"printf %s {shlex.quote(ROWS)} > /tmp/p.jsonl"
    second += [
        ("RUN", f"{write} && {shlex.join(asking)} > /tmp/answer.json"),
        ("RUN", "cat /tmp/answer.json"),
    ]
    base = f"chmod 755 {top}/root1/root && chroot {top}/root1 {Path(sys.executable).resolve()} -m venv /base"
    lines = [
        ROOTS.format(top=top),
        script_of(first, f"{top}/root0", str(context), ""),
        f"{sys.executable} -m zipfile -l {top}/root0/dist/*.whl | grep -c server/page/THIRD_PARTY.txt",
        f"{sys.executable} -m zipfile -l {top}/root0/dist/*.whl | grep -c server/page/index.html",
        base,
        "export PATH=/base/bin:$PATH",
        script_of(second, f"{top}/root1", str(context), f"{top}/root0"),
    ]
    done = subprocess.run(
        ["unshare", "--mount", "bash", "-c", "\n".join(lines)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert "Usage: disputatio serve" in done.stdout
    assert json.loads(done.stdout.rpartition("\n{")[2].join(("{", "")))["answers"] == ["May 1921"]
