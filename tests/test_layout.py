"""Rules for the files of the project, its Makefile and its lock."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
LARGEST = 2_000_000
ADAPTERS = 20_000_000  # bytes of all that we trained, as they are in the wheel
# Machine paths, and hosts of package registries, which are the reader's own choice.
# Each pattern is completed with names, so that this file has no such path or host.
NAMES = {
    r"/{}/\w+/": ("home", "Users"),
    r"/{}/": ("root",),
    r"(?<![\w.])/{}/": ("work",),
    r"/{}/[a-z]": ("tmp",),
    r"\b{}\.[a-z]{{2,3}}\b": tuple("".join(parts) for parts in (("py", "pi"), ("python", "hosted"))),
    r"\.{}/": ("library",),
}
FOREIGN = re.compile("|".join(pattern.format(name) for pattern, names in NAMES.items() for name in names))


def tracked() -> list[Path]:
    """Return the files under version control; where there is none (an archive), nothing is checked."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a checkout")
    run = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    return [ROOT / name for name in run.stdout.split("\0") if name and (ROOT / name).is_file()]


@pytest.mark.long
def test_no_file_names_a_machine_or_a_registry() -> None:
    found = []
    for path in tracked():
        text = path.read_text(encoding="utf-8", errors="replace")
        for number, line in enumerate(text.splitlines(), 1):
            if match := FOREIGN.search(line):
                found.append(f"{path.relative_to(ROOT)}:{number}: {match[0]}")
    assert found == []


@pytest.mark.parametrize("name", [name for names in NAMES.values() for name in names])
def test_a_path_of_a_machine_or_a_host_of_a_registry_is_found(name: str) -> None:
    assert any(FOREIGN.search(line) for line in (f"see /{name}/a/b", f"files.{name}.org", f"../.{name}/env"))
    assert not FOREIGN.search(f"a {name} of one's own")


def test_no_file_is_large() -> None:
    weights = ROOT / "src" / "disputatio" / "encoder"  # bounded by a test of its own
    large = {path: path.stat().st_size for path in tracked() if path.parent != weights}
    adapters = [large.pop(path) for path in list(large) if path.suffix == ".safetensors"]
    assert sum(adapters) <= ADAPTERS
    assert [path for path, size in large.items() if size > LARGEST] == []


def test_no_file_is_a_database_that_a_run_left_behind() -> None:
    left = [path for path in tracked() if path.parent == ROOT and path.read_bytes()[:6] == b"SQLite"]
    assert left == []


def test_the_lock_has_exact_versions_with_hashes_and_nothing_else() -> None:
    lines = (ROOT / "requirements.lock").read_text(encoding="utf-8").splitlines()
    kept = [line for line in lines if not line.startswith("#")]
    odd = [
        line
        for line in kept
        if not re.fullmatch(
            r"[a-z0-9.-]+==[\w.+!-]+(?: ; [\w .'<>=!()]+)? \\| {4}--hash=sha256:[0-9a-f]{64}(?: \\)?", line
        )
    ]
    assert odd == []


def test_every_package_that_the_project_needs_is_in_the_lock() -> None:
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    needed = list(project["project"]["dependencies"]) + list(project["dependency-groups"]["dev"])
    for extra in project["project"]["optional-dependencies"].values():
        needed += extra
    names = {re.split(r"[\[<>=!~ ;]", need)[0].lower().replace("_", "-") for need in needed} - {"disputatio"}
    locked = set(re.findall(r"^([a-z0-9.-]+)==", (ROOT / "requirements.lock").read_text("utf-8"), re.M))
    assert sorted(names - locked) == [], "run make lock"


def test_every_target_of_the_makefile_says_what_it_does() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    [phony] = re.findall(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)
    documented = re.findall(r"^([a-z]+):[^\n]*## \S", makefile, re.MULTILINE)
    assert sorted(documented) == sorted(phony.split())


@pytest.mark.parametrize("name", [".ci/run", "scripts/setup.sh", "scripts/train.sh"])
def test_scripts_can_be_run(name: str) -> None:
    assert os.access(ROOT / name, os.X_OK)
