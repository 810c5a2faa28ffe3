"""Files of rows as they are published: JSON lines, one JSON value, tables, parquet; packed or not.

A data set is a file, or a folder of which its format knows the files. Nothing is run or unpacked beyond
reading: parquet by pyarrow, the others by the standard library.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from disputatio.errors import InputError, MissingDependency
from disputatio.eval.data.formats.format import Format
from disputatio.eval.data.formats.shapes import hint
from disputatio.eval.data.rows import Place, read_text

SUFFIXES = (".jsonl", ".json", ".tsv", ".csv", ".parquet")
TABLES = {".tsv": "\t", ".csv": ","}
_WRAPPERS = ("data", "Data", "rows", "examples")  # where one JSON object holds a list of rows
_LONGEST_CELL = 1 << 27  # characters; the standard library's own limit is below the longest contract
_GZIP, _PARQUET = b"\x1f\x8b", b"PAR1"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRow:
    """A row before it is read: an object, or the text of its line.

    `row` is its number in the data set, from 0, `line` its line in its file, where it has one.
    """

    path: Path
    row: int
    raw: Any
    name: str = ""
    line: int | None = None

    def place(self, dataset: str, *, part: str = "", facts: Mapping[str, Any] | None = None) -> Place:
        """Return the place of the row, for messages."""
        return Place(
            dataset=dataset,
            path=self.path,
            row=self.row,
            name=self.name,
            line=self.line,
            part=part,
            facts=facts or {},
        )

    def read(self, dataset: str) -> Mapping[str, Any]:
        """Return the row as an object; raises `InputError` that names it where it is none."""
        row = self.raw
        if isinstance(row, str):
            try:
                row = json.loads(row)
            except (json.JSONDecodeError, RecursionError) as error:
                raise self.place(dataset).wrong(f"not JSON: {error}") from error
        if not isinstance(row, dict):
            raise self.place(dataset).wrong("not a JSON object")
        return row


def files_of(form: Format, path: Path, part: str = "") -> list[Path]:
    """Return the files that a data set's rows stand in, in order: the file itself, or those of a folder.

    Of a folder that has a file for each part, the file of the one that is asked for.

    Raises `InputError` where a folder holds none, or several and the format does not know which.
    """
    if not path.is_dir():
        return [path]
    known = {file for pattern in form.files for file in path.glob(pattern) if file.is_file()}
    if part and (named := sorted(file for file in known if file.name.partition(".")[0] == part)):
        return named
    for pattern in form.files:
        matching = sorted(file for file in path.glob(pattern) if file.is_file())
        if matching:
            return matching
    some = sorted(
        file
        for at in (path, path / "data")
        if at.is_dir()
        for file in at.iterdir()
        if _suffix(file) in SUFFIXES
    )
    if len(some) == 1:
        return some
    names = ", ".join(file.relative_to(path).as_posix() for file in some[:8]) + (", ..." if some[8:] else "")
    if not some:
        raise InputError(f"{path}: a folder without a file of rows ({', '.join(SUFFIXES)}, also .gz)")
    raise InputError(f"{path}: a folder with several files of rows, name one: {names}")


def read_rows(form: Format, path: Path, part: str = "") -> Iterator[FileRow]:
    """Yield the rows of a data set's files, numbered from 0 over all of them; a line keeps its line's number.

    Raises `InputError` naming the file that cannot be read, and `MissingDependency` for parquet.
    """
    start = 0
    for file in files_of(form, path, part):
        last = -1
        for number, (name, line, raw) in enumerate(_rows(form, file)):
            last = number if line is None or _is_table(form, file) else line
            yield FileRow(path=file, row=start + last, raw=raw, name=name, line=line)
        start += last + 1


def read_packed(path: Path) -> str:
    """Return a file's text, unpacked where it is gzip; raises `InputError`."""
    if _head(path, 2) != _GZIP:
        return read_text(path)
    try:
        with gzip.open(path, "rb") as file:
            return file.read().decode("utf-8-sig")
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path}: cannot be unpacked: {error}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 text (byte {error.start})") from error


Row = tuple[str, int | None, Any]  # its name in messages, its line, and what it is


def _rows(form: Format, path: Path) -> Iterator[Row]:
    if _head(path, 4) == _PARQUET:
        return _parquet(path)
    text = read_packed(path)
    if _is_table(form, path):
        return _table(form, path, text)
    return _json(form, path, text)


def _head(path: Path, size: int) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(size)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from error


def _suffix(path: Path) -> str:
    """Return the kind of file that a name promises, packed or not."""
    return Path(path.name.removesuffix(".gz")).suffix.lower()


def _is_table(form: Format, path: Path) -> bool:
    return _suffix(path) in TABLES or (bool(form.columns) and _suffix(path) not in SUFFIXES)


# --- JSON ---------------------------------------------------------------------------------------
def _json(form: Format, path: Path, text: str) -> Iterator[Row]:
    """Lines where the first one is a value of its own with others behind it, else one JSON value."""
    first, _, rest = text.lstrip().partition("\n")
    head, alone = _value(first), not rest.strip()
    if first[:1] not in ("{", "["):
        whole = None
    elif head is None:
        whole = _value(text)
    else:
        whole = head if alone and not (isinstance(head, dict) and form.knows(head)) else None
    if whole is None:
        for line, row in enumerate(text.split("\n")):
            if row.strip():
                yield "", line, row
    else:
        yield from _whole(form, path, whole)


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _whole(form: Format, path: Path, whole: Any) -> Iterator[Row]:
    """Yield the rows of one JSON value: a list, an object that holds one, or objects under their names."""
    if isinstance(whole, dict) and form.knows(whole):
        whole = [whole]
    if isinstance(whole, dict) and form.whole is not None:
        if other := hint(whole, path, form):
            raise InputError(f"{path}: not what {form.name} reads{other}")
        for name, row in form.whole(whole, path):
            yield name, None, row
        return
    listed = (
        whole if isinstance(whole, list) else next((whole[key] for key in _WRAPPERS if key in whole), None)
    )
    if isinstance(listed, list):
        for number, row in enumerate(listed):
            inner = row.get("row") if isinstance(row, dict) and isinstance(row.get("row"), dict) else row
            yield f"row {number}", None, inner
        return
    if not all(isinstance(row, dict) and form.knows(row) for row in whole.values()):
        other = hint(whole, path, form) or "; one JSON object on each line, or a list of them, is"
        raise InputError(f"{path}: not what {form.name} reads{other}")
    for name, row in whole.items():
        yield name, None, {"id": name, **row}


# --- tables and parquet -------------------------------------------------------------------------
def _table(form: Format, path: Path, text: str) -> Iterator[Row]:
    """Yield the rows of a table, by its head, or by the format's columns where it has none."""
    delimiter = TABLES.get(_suffix(path), "\t")
    before = csv.field_size_limit(_LONGEST_CELL)
    reader = csv.reader(
        io.StringIO(text, newline=""),
        delimiter=delimiter,
        quoting=csv.QUOTE_MINIMAL if form.quoted else csv.QUOTE_NONE,
    )
    try:
        lines, start = [], 0
        for cells in reader:
            lines.append((start, cells))
            start = reader.line_num
    except csv.Error as error:
        raise InputError(f"{path}:{reader.line_num}: not a table: {error}") from error
    finally:
        csv.field_size_limit(before)
    lines = [(line, cells) for line, cells in lines if any(cell.strip() for cell in cells)]
    columns = form.columns
    numbered = dict(enumerate(lines[0][1])) if lines else {}
    other = hint({str(number): cell for number, cell in numbered.items()}, path, form)
    if other and not form.columns:
        raise InputError(f"{path}: a table without a head, not what {form.name} reads{other}")
    if lines and (not columns or form.knows(dict.fromkeys(lines[0][1]))):
        columns = tuple(cell.strip() for cell in lines.pop(0)[1])
    for line, cells in lines:
        if len(cells) != len(columns):
            row = dict(zip(map(str, range(len(cells))), cells, strict=True))
            reason = f"{len(cells)} cells where {form.name} has {len(columns)} columns"
            raise InputError(f"{path}:{line + 1}: {reason}{hint(row, path, form)}")
        yield "", line, dict(zip(columns, cells, strict=True))


def _parquet(path: Path) -> Iterator[Row]:
    try:
        from pyarrow import ArrowException, parquet
    except ImportError as error:
        raise MissingDependency("pyarrow", "arrow") from error
    number = 0
    try:
        with parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=1024):
                for row in batch.to_pylist():
                    yield f"row {number}", None, row
                    number += 1
    except (ArrowException, OSError) as error:
        raise InputError(f"{path}: cannot be read as parquet: {error}") from error
