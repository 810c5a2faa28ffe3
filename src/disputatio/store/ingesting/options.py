"""Options of an ingest: the files that are left out, and the columns of tables that hold each field."""

from __future__ import annotations

import fnmatch
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePath

from disputatio.errors import InputError
from disputatio.store.ingesting.documents import FIELDS
from disputatio.store.ingesting.source import check_source_by

SIDECAR = "disputatio.yaml"
CODE, CONFIGURATION, EXCLUDED, HIDDEN = "code", "configuration", "excluded", "hidden"
"""Reasons to leave something out: kinds of files, a pattern of the user, sheets and rows not shown."""

READING = 11
"""Grows when the readers make something else of the same file, so that files are read again."""
_CODE = frozenset({
    ".bash", ".bat", ".c", ".cc", ".cjs", ".class", ".clj", ".cmd", ".cpp", ".cs", ".css", ".cxx",
    ".dart", ".erl", ".ex", ".exs", ".fs", ".go", ".gradle", ".groovy", ".h", ".hpp", ".hs", ".ipynb",
    ".java", ".jl", ".js", ".jsx", ".kt", ".less", ".lua", ".map", ".mjs", ".ml", ".php", ".pl", ".pm",
    ".ps1", ".py", ".pyc", ".pyi", ".pyx", ".r", ".rb", ".rs", ".sass", ".scala", ".scss", ".sh", ".sql",
    ".svelte", ".svg", ".swift", ".tf", ".ts", ".tsx", ".vb", ".vue", ".wasm", ".zig", ".zsh",
})  # fmt: skip
_CONFIGURATION = frozenset({
    ".cfg", ".conf", ".env", ".ini", ".json", ".json5", ".jsonc", ".lock", ".plist", ".properties", ".toml",
    ".yaml", ".yml",
})  # fmt: skip
_CODE_NAMES = frozenset({
    "cmakelists.txt", "dockerfile", "gemfile", "jenkinsfile", "justfile", "makefile", "rakefile",
    "vagrantfile",
})  # fmt: skip
_LONGEST_COLUMN = 1_000
_CODE_FOLDERS = frozenset({"node_modules", "__pycache__"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions:
    """Options of choosing and reading files.

    `source_by` is what tells sources apart (`source.with_source`). `columns` maps fields of a document
    (text, title, url, date, source, owner) to the columns of tables, or fields of JSON rows, that hold them;
    others go by their own names. A file or folder is excluded by a pattern (`*`, `?`, `[...]`) that fits its
    name or, where the pattern has a `/`, its path below what was named; `*` stands for any characters there.
    With `unverified` the documents are strangers': see `source.mark_unverified`. `stated` are fields of a
    description that the person states of all of them (`description.FIELDS`), `sidecar` is a file that they
    named (`SIDECAR`).
    """

    source_by: str | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    exclude: Sequence[str] = ()
    unverified: bool = False
    stated: Mapping[str, str] = field(default_factory=dict)
    sidecar: Path | None = None


DEFAULT = ReadOptions()


def check_options(options: ReadOptions) -> None:
    """Raise `InputError` for a `source_by`, a field of `columns` or a pattern without a meaning."""
    check_source_by(options.source_by)
    for name, column in options.columns.items():
        if name not in FIELDS:
            raise InputError(f"a column is mapped to one of {', '.join(FIELDS)}, not to {name!r}")
        if not column.strip():
            raise InputError(f"the column for {name} has no name")
        if len(column) > _LONGEST_COLUMN:
            raise InputError(f"the name of the column for {name} is longer than {_LONGEST_COLUMN} characters")
    if any(not pattern.strip("/ ") for pattern in options.exclude):
        raise InputError("a pattern to exclude is empty")


def read_columns(pairs: Iterable[str], text_column: str | None = None) -> dict[str, str]:
    """Return columns by field, from words such as `text=content,title=name`; raises `InputError`.

    >>> read_columns(["title=name, date=year"], "content")
    {'text': 'content', 'title': 'name', 'date': 'year'}
    """
    words = [] if text_column is None else [("text", text_column)]
    for pair in (part for word in pairs for part in word.split(",")):
        name, equals, column = (part.strip() for part in pair.partition("="))
        if not (name and equals and column):
            raise InputError(
                f"--map {pair.strip()!r}: write it as field=column, such as text=content,title=name"
            )
        words.append((name, column))
    columns: dict[str, str] = {}
    for name, column in words:
        if columns.setdefault(name, column) != column:
            raise InputError(f"--map {name}: is given twice, as {columns[name]!r} and as {column!r}")
    check_options(ReadOptions(columns=columns))
    return columns


def settings_of(options: ReadOptions, folder: str) -> str:
    """Return what, beside its bytes, decides what is read from a file."""
    columns = sorted(options.columns.items())
    settings = [READING, options.source_by or "", folder, columns, sorted(options.exclude)]
    return json.dumps([*settings, "unverified"] if options.unverified else settings)


def why_left_out(path: PurePath, exclude: Sequence[str], *, named: bool = False) -> str:
    """Return why a file below a folder is not read, or empty; one that is `named` is of any kind.

    >>> why_left_out(PurePath("src/a.py"), ()), why_left_out(PurePath("src/a.py"), (), named=True)
    ('code', '')
    >>> why_left_out(PurePath("old/a.md"), ["old"]), why_left_out(PurePath("old/a.md"), ["old/*.txt"])
    ('excluded', '')
    """
    for depth in range(1, len(path.parts) + 1):
        if is_excluded(PurePath(*path.parts[:depth]), exclude):
            return EXCLUDED
    return "" if named else kind_left_out(path)


def is_excluded(path: PurePath, exclude: Sequence[str]) -> bool:
    """Return whether a pattern fits a file or folder by its name, or by its path below what was named."""
    return any(
        fnmatch.fnmatchcase(path.as_posix() if "/" in pattern.strip("/") else path.name, pattern.strip("/"))
        for pattern in exclude
    )


def kind_left_out(path: PurePath) -> str:
    """Return `code` or `configuration` for a file that is no document, empty for others."""
    name, suffix = path.name.lower(), path.suffix.lower()
    if suffix in _CODE or name in _CODE_NAMES or not _CODE_FOLDERS.isdisjoint(path.parts):
        return CODE
    return CONFIGURATION if suffix in _CONFIGURATION else ""


def is_folder_of_code(name: str) -> bool:
    return name in _CODE_FOLDERS
