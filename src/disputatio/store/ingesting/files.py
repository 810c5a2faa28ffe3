"""Files found under a path, and opened so that nothing but a still, regular file is read."""

from __future__ import annotations

import glob
import os
import re
import stat
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import BinaryIO

from disputatio import platforms
from disputatio.errors import IngestError, InputError
from disputatio.store.ingesting.options import (
    CODE,
    EXCLUDED,
    SIDECAR,
    is_excluded,
    is_folder_of_code,
    why_left_out,
)
from disputatio.store.ingesting.source import STDIN
from disputatio.versions.families import folder_version

_INDEX = ({"manifest.json", "segments"}, {"passages.lance", "documents.lance"})  # what each format has
_MAGIC = re.compile(r"[*?\[]")
_UNSHOWN = re.compile(
    r"[\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff"
    r"\U000e0000-\U000e0fff]"
)


CHANGES = ".changes.sqlite"  # ends the name of the record of changes beside an index


def display_path(path: Path | str) -> str:
    r"""Return a path as text that can be stored and printed: bytes that are not UTF-8, and controls, as \xNN.

    >>> display_path("caf\udce9.txt"), display_path("a\nb")
    ('caf\\xe9.txt', 'a\\x0ab')
    """

    def escape(match: re.Match[str]) -> str:
        point = ord(match[0])
        return f"\\x{point - 0xDC00 if 0xDC80 <= point <= 0xDCFF else point:02x}"

    return _UNSHOWN.sub(escape, str(path))


def check_paths(paths: Iterable[str | Path]) -> None:
    """Raise `InputError` for a path that is empty, which would be read as the folder that one is in."""
    if not all(map(str, paths)):
        raise InputError("a path is empty; name a file or a folder, or . for this one")


def is_gone(path: Path) -> bool:
    """Return whether nothing is at a path; what cannot be looked at (a locked folder) is not gone."""
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
    return False


def find_files(
    root: Path,
    refused: list[IngestError] | None = None,
    *,
    exclude: Sequence[str] = (),
    left_out: Counter[str] | None = None,
) -> list[tuple[Path, str]]:
    """Return the files under a path in a stable order, each with its top folder under it.

    `root` is a file, a folder, a pattern (`docs/**/*.md`) or `-` for standard input. Hidden files and
    folders, and an index, are skipped. Links are followed where they stay inside of the folder, each
    folder once. What is passed over (a link out of the folder, a folder that cannot be listed) is
    added to `refused`; without that list the first such thing is raised. Code and configuration in a
    folder, and what a pattern of `exclude` fits, are counted in `left_out` by reason; a folder counts once.

    Raises `IngestError` when nothing is there.
    """
    if str(root) == STDIN:
        return [(root, "")]
    search = _Search(exclude=exclude)
    if not os.path.lexists(root):
        matches = search.matches(root)
    elif root.is_dir():
        matches = search.walk(root, root)
    elif root.exists():
        matches = [root] if search.wants(root, root.parent, named=True) else []
    else:
        raise IngestError(display_path(root), "is a link to nothing", "not_found")
    if search.passed and refused is None:
        raise search.passed[0]
    if refused is not None:
        refused += search.passed
    if left_out is not None:
        left_out.update(search.left_out)
    base = root if root.is_dir() else _find_base(root)
    return [(path, _top(path, base)) for path in matches]


def _top(path: Path, base: Path) -> str:
    """Return the folder that a file counts to: one that names a version by its name without, in its own."""
    parts = path.relative_to(base).parts if path.is_relative_to(base) else ()
    if folder_version(base.name)[1]:
        parts, base = (base.name, *parts), base.parent
    if len(parts) < 2:
        return ""
    name, version = folder_version(parts[0])
    where = base.resolve().name if version else ""
    return display_path("/".join(dict.fromkeys(filter(None, (where, name)))) or parts[0])


def _find_base(pattern: Path) -> Path:
    """Return the folders of a pattern before its first wild part; of a file, its folder."""
    fixed = []
    for part in pattern.parts[:-1]:
        if _MAGIC.search(part):
            break
        fixed.append(part)
    return Path(*fixed)


@dataclass(slots=True, kw_only=True)
class _Search:
    """One search for files: what it passed over, and what it left out for which reason."""

    exclude: Sequence[str]
    passed: list[IngestError] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)

    def wants(self, path: Path, base: Path, *, named: bool) -> bool:
        relative = path.relative_to(base) if path.is_relative_to(base) else PurePath(path.name)
        reason = why_left_out(relative, self.exclude, named=named)
        if reason:
            self.left_out[reason] += 1
        return not reason

    def enters(self, folder: Path, base: Path) -> bool:
        """Return whether a folder is to be walked through; one that is not is counted."""
        if is_folder_of_code(folder.name):
            self.left_out[CODE] += 1
        elif is_excluded(folder.relative_to(base), self.exclude):
            self.left_out[EXCLUDED] += 1
        else:
            return True
        return False

    def matches(self, pattern: Path) -> list[Path]:
        """Return the files that a pattern fits, and those of the folders that it fits."""
        if not _MAGIC.search(str(pattern)):
            raise IngestError(display_path(pattern), "there is no such file or folder", "not_found")
        base = _find_base(pattern)
        inside = base.resolve()
        files: dict[Path, None] = {}
        for name in sorted(glob.iglob(str(pattern), recursive=True)):  # noqa: PTH207  (a whole pattern, also an absolute one)
            path = Path(name)
            if path.is_dir():
                files |= dict.fromkeys(
                    self.walk(path, base) if path == base or self.enters(path, base) else ()
                )
            elif _stays(path, inside, base, self.passed) and self.wants(path, base, named=True):
                files[path] = None
        if not files and not self.passed and not self.left_out:
            raise IngestError(display_path(pattern), "no file matches", "not_found")
        return list(files)

    def walk(self, root: Path, base: Path) -> list[Path]:
        """Return the files under a folder, in order of their parts; each real folder once."""
        inside = base.resolve()
        if not _stays(root, inside, base, self.passed):
            return []
        files: list[Path] = []
        seen: set[tuple[int, int]] = set()
        linked: list[Path] = []  # folders behind links wait, so that their own place comes first
        waiting = [root]
        while waiting or linked:
            folder = waiting.pop() if waiting else linked.pop(0)
            try:
                about = folder.stat()
                entries = list(os.scandir(folder))
            except OSError as error:
                if folder == base:
                    raise IngestError(display_path(folder), reason_of(error), "not_found") from error
                self.passed.append(IngestError(display_path(folder), reason_of(error), "not_found"))
                continue
            names = {entry.name for entry in entries}
            if (about.st_dev, about.st_ino) in seen or any(index <= names for index in _INDEX):
                continue  # walked already; or an index among the documents
            seen.add((about.st_dev, about.st_ino))
            for entry in sorted(entries, key=lambda entry: entry.name):
                path = Path(entry.path)
                if entry.name.startswith(".") or (entry.name == SIDECAR and folder == root):
                    continue
                beside, of_index, _ = entry.name.rpartition(CHANGES)
                if of_index and beside in names:
                    continue  # the record of changes beside an index among the documents
                if entry.is_symlink() and not _stays(path, inside, base, self.passed):
                    continue
                if not entry.is_dir():
                    files += [path] if self.wants(path, base, named=False) else []
                elif self.enters(path, base):
                    (linked if entry.is_symlink() else waiting).append(path)
        return sorted(files, key=lambda path: path.parts)


def _stays(path: Path, inside: Path, base: Path, passed: list[IngestError]) -> bool:
    """Return whether a path leads to a place inside of the folder; noted in `passed` when not."""
    try:
        real = path.resolve()
        with suppress(FileNotFoundError):
            path.stat()  # where Python 3.13 and later resolve a circle without a word
    except (OSError, RuntimeError):  # links that go round in a circle
        passed.append(IngestError(display_path(path), "is a link that leads nowhere", "not_found"))
        return False
    if real.is_relative_to(inside):
        return True
    reason = f"is a link out of {display_path(base)}: give the file itself to read it"
    passed.append(IngestError(display_path(path), reason, "unsafe"))
    return False


@contextmanager
def open_regular(path: Path) -> Iterator[BinaryIO]:
    """Open a regular file, which waits for no pipe; raises `IngestError`, also where it changed meanwhile."""
    try:
        check_regular(path, path.stat().st_mode)
        with os.fdopen(platforms.open_handle(path, os.O_RDONLY, follow=True), "rb") as file:
            before = os.fstat(file.fileno())
            check_regular(path, before.st_mode)
            try:
                yield file
            except IngestError as error:
                _check_still(path, before, file, error)
                raise
            _check_still(path, before, file)
    except OSError as error:
        raise IngestError(display_path(path), reason_of(error), "not_found") from error


def _check_still(
    path: Path, before: os.stat_result, file: BinaryIO, error: IngestError | None = None
) -> None:
    after = os.fstat(file.fileno())
    if (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns):
        raise IngestError(display_path(path), "changed while it was read", "changed") from error


def check_regular(path: Path, mode: int) -> None:
    """Raise `IngestError` that says what it is unless the mode is that of a regular file."""
    kinds = (
        (stat.S_ISDIR, "a folder"),
        (stat.S_ISFIFO, "a named pipe"),
        (stat.S_ISSOCK, "a socket"),
        (stat.S_ISCHR, "a device"),
        (stat.S_ISBLK, "a device"),
    )
    if not stat.S_ISREG(mode):
        name = next((name for test, name in kinds if test(mode)), "something else")
        raise IngestError(display_path(path), f"is {name}, not a regular file", "unknown_type", type=name)


def reason_of(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
