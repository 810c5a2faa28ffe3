"""Build the page's assets from `page/` into the package, where they are not built yet.

Run by `make page`, by the hook of the wheel and by the tests. Users of a wheel need none of it.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows, where nothing builds twice at a time
    fcntl = None  # type: ignore[assignment]  # a module or none

ROOT = Path(__file__).resolve().parent.parent
_OLDEST_NODE = (20, 19)
NOTICES, RULER = "THIRD_PARTY.txt", "\n" + "=" * 80 + "\n\n"


class CannotBuild(Exception):
    """The page cannot be built here; the message says what to do."""


def build(root: Path = ROOT) -> bool:
    """Build the page where its sources have changed since; whether anything was done.

    Processes that build at the same time take turns: npm empties the folder of packages before it fills it.
    Raises `CannotBuild` where Node is not there, or a step fails.
    """
    with (root / "page" / ".made-lock").open("w") as lock:
        if fcntl is not None:
            fcntl.flock(lock, fcntl.LOCK_EX)
        return _build(root)


def _build(root: Path) -> bool:
    page, built = root / "page", root / "src" / "disputatio" / "server" / "page"
    wanted = digest(_sources(page) + sorted((root / "examples").glob("disagreement/sources/*/*")))
    stamp = built / "made-from.txt"
    if stamp.is_file() and stamp.read_text(encoding="utf-8").strip() == wanted:
        return False
    npm = _npm()
    packages, lock = page / "node_modules", digest([page / "package-lock.json"])
    installed = packages / ".made-from"
    if not installed.is_file() or installed.read_text(encoding="utf-8") != lock:
        _run([npm, "ci", "--no-audit", "--no-fund", "--ignore-scripts", "--prefer-offline"], page)
        installed.write_text(lock, encoding="utf-8")
    _run([npm, "run", "--silent", "build"], page)
    (built / NOTICES).write_text(third_party(page), encoding="utf-8")
    stamp.write_text(f"{wanted}\n", encoding="utf-8")
    return True


def third_party(page: Path) -> str:
    """Return the packages that may be bundled, by the text of their licence; types and tools are not.

    Raises `CannotBuild` where a package names no licence and has no text of one.
    """
    lock = json.loads((page / "package-lock.json").read_text(encoding="utf-8"))
    by_text: dict[str, list[str]] = {}
    for place, about in sorted(lock["packages"].items()):
        name, licence = place.rpartition("node_modules/")[2], about.get("license", "")
        if not place or about.get("dev") or about.get("optional"):
            continue
        text = "\n\n".join(
            file.read_text(encoding="utf-8").strip()
            for file in sorted((page / place).glob("*"))
            if file.name.lower().startswith(("licen", "copying", "notice"))
        )
        if not text and not licence:
            raise CannotBuild(f"the package {name} names no licence, so it cannot be bundled")
        text = text or f"The package names this licence and brings no text of it: {licence}"
        by_text.setdefault(text, []).append(f"{name} {about['version']} ({licence or 'see below'})")
    parts = ["The page bundles parts of these packages.\n"]
    parts += ["\n".join([*names, "", text, ""]) for text, names in by_text.items()]
    return RULER.join(parts)


def digest(files: list[Path]) -> str:
    """Return one name for the names and contents of files."""
    found = hashlib.sha256()
    for file in files:
        found.update(f"{file.name}\0{file.stat().st_size}\0".encode())
        found.update(file.read_bytes())
    return found.hexdigest()[:16]


def _sources(page: Path) -> list[Path]:
    return sorted(_walk(page), key=lambda file: file.relative_to(page).as_posix())


def _walk(folder: Path) -> Iterator[Path]:
    for entry in folder.iterdir():
        if entry.is_dir() and entry.name != "node_modules":
            yield from _walk(entry)
        elif entry.is_file() and not entry.name.startswith(".made"):
            yield entry


def _npm() -> str:
    node, npm = shutil.which("node"), shutil.which("npm")
    wanted = ".".join(map(str, _OLDEST_NODE))
    if node is None or npm is None:
        raise CannotBuild(
            f"building the page takes Node {wanted} or newer with npm, and it is not on the PATH"
        )
    said = subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout.strip()
    numbers = said.removeprefix("v").split(".")[:2]
    if not all(number.isdigit() for number in numbers) or tuple(map(int, numbers)) < _OLDEST_NODE:
        raise CannotBuild(f"building the page takes Node {wanted} or newer, and here is {said or 'another'}")
    return npm


def _run(command: list[str], folder: Path) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        words = " ".join([Path(command[0]).name, *command[1:]])
        raise CannotBuild(f"{words} failed:\n{(done.stdout + done.stderr).strip()[-4000:]}")


if __name__ == "__main__":
    try:
        made = build()
    except CannotBuild as error:
        sys.exit(f"page: {error}")
    print("page: built" if made else "page: up to date", file=sys.stderr)
