"""Data sets by name (`load`): each loader reads one published file format, in place.

What a data set knows about a passage (its type, the answer it bears) stays in `Example.metadata`, where no
strategy sees it.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import json
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from disputatio.errors import InputError, UnknownName, require_package
from disputatio.eval.data.formats.catalogue import FORMATS, hint
from disputatio.eval.data.formats.format import DatasetFormat
from disputatio.eval.data.formats.own import FORMATS as PLAIN
from disputatio.eval.data.hub import PREFIX, SUFFIXES, fetch_file
from disputatio.eval.data.rows import Place, read_text
from disputatio.eval.metrics import answer_set
from disputatio.types import Example

_NAMED = 12  # rows that a message names


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """The identity of a data set's file: `name` as tables call it, and SHA-256 of its bytes."""

    name: str
    sha256: str
    metrics: tuple[str, ...]
    judged: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class _Request:
    """A parsed `NAME:PATH#PART`: `path` is the file, `label` its name in tables."""

    form: DatasetFormat
    path: Path
    part: str
    label: str


def datasets() -> tuple[DatasetFormat, ...]:
    return tuple(FORMATS.values())


def describe_format(form: DatasetFormat) -> dict[str, Any]:
    """Return all that is told of a format, as JSON values, in the order in which it is told."""
    names = ("name", "description", "origin", "licence", "shape", "fields", "passages")
    values = {name: getattr(form, name) for name in (*names, "views", "metrics", "measure", "judged")}
    return {**values, "views": list(form.views), "metrics": list(form.metrics)}


def load(spec: str, *, limit: int | None = None, rows: Path | Sequence[int] | None = None) -> list[Example]:
    """Return the examples of `NAME:PATH` or `NAME:PATH#PART`, in the order of the file.

    `rows` are row numbers from 0, or a file of them, one a line; their order is kept. `limit` keeps the first
    so many. Raises `UnknownName` for the name or the part, and `InputError` naming file and row for a
    file that cannot be read, rows that are not what the format promises (all are counted), or a row that
    is not there; `DownloadError` where a hub's file cannot be had.
    """
    request = _parse(spec)
    wanted = None if rows is None else row_numbers(rows)
    if limit is not None and limit < 1:
        raise InputError(f"a limit of {limit} leaves no rows")
    examples: dict[int, Example] = {}
    parts: set[str] = set()
    bad: dict[int, InputError] = {}
    seen = 0
    for file_row, facts in _with_facts(request):
        if wanted is None and limit is not None and len(examples) == limit:
            break
        if wanted is not None and file_row.row not in wanted:
            continue
        seen += 1
        try:
            example = _example(file_row, request, facts)
        except InputError as error:
            if seen == 1 and (other := _whose(file_row, request.form)):
                raise InputError(f"{error}{other}") from error
            bad[file_row.row] = error
            continue
        parts.add(str(example.metadata.get("part", "")))
        if not request.part or example.metadata.get("part") == request.part:
            examples[file_row.row] = example
    if bad:
        raise _refusal(bad, seen)
    if request.part and parts and request.part not in parts:
        raise UnknownName(f"part of {request.path}", request.part, parts)
    for row, at in (wanted or {}).items():
        if row not in examples:
            what = f"part {request.part} of {request.path}" if request.part else str(request.path)
            where = f"{rows}:{at}: " if isinstance(rows, Path) else ""
            raise InputError(f"{where}{what} has no row {row} (rows count from 0)")
    if not examples:
        raise InputError(f"{request.path}: no rows")
    ordered = list(examples) if wanted is None else list(wanted)
    return [examples[row] for row in ordered[:limit]]


def identify(spec: str) -> Identity:
    """Identify the file of `NAME:PATH`; raises as `load` does."""
    request = _parse(spec)
    digest = hashlib.sha256()
    files = files_of(request.form, request.path, request.part)
    beside = [files[0].parent / name for name in request.form.beside]
    for path in [*files, *(file for file in beside if file.is_file())]:
        try:
            with path.open("rb") as file:
                while block := file.read(1 << 20):
                    digest.update(block)
        except OSError as error:
            raise InputError(f"{path}: {error.strerror or error}") from error
    form = request.form
    return Identity(name=request.label, sha256=digest.hexdigest(), metrics=form.metrics, judged=form.judged)


def check(examples: Sequence[Example], *, searched: bool = False) -> list[str]:
    """List what a reader of the scores should know about these rows; no row is dropped for it.

    `searched` where an index is searched, so that a row needs no passages of its own.
    """
    notes = []
    both = [e.row for e in examples if set(answer_set(e.gold)) & set(answer_set(e.wrong))]
    if both:
        notes.append(
            f"{len(both)} of {len(examples)} rows list an answer as both gold and wrong "
            f"({_list_rows(both)}): it counts as gold, and as wrong only under em_literal"
        )
    without = [e.row for e in examples if not _has_gold(e) and not e.metadata.get("abstain")]
    if without and len(without) == len(examples):
        notes.append("no row has a gold answer: nothing is scored but by a judge")
    elif without:
        notes.append(
            f"{len(without)} of {len(examples)} rows have no gold answer ({_list_rows(without)}): "
            "they are asked and unscored"
        )
    again = _again(examples)
    if again:
        notes.append(
            f"{len(again)} of {len(examples)} rows have the id of an earlier row, or are that row again "
            f"({_list_rows(again)}): they count on their own"
        )
    bare = [e.row for e in examples if not e.passages]
    if bare and not searched:
        named = "" if len(bare) == len(examples) else f" ({_list_rows(bare)})"
        notes.append(
            f"{len(bare)} of {len(examples)} rows have no passages{named}: search an index (--index)"
        )
    return notes


def _has_gold(example: Example) -> bool:
    """Return True if there is an answer to compare with; an option is compared by its letter too."""
    return bool(example.gold if example.metadata.get("options") else answer_set(example.gold))


def _again(examples: Sequence[Example]) -> list[int]:
    """Return the rows whose id (or content, where there are no ids) an earlier row has."""
    keys = [
        str(e.metadata["id"]) if e.metadata.get("id") else (e.question, e.gold, *_content(e))
        for e in examples
    ]
    seen: Counter[object] = Counter()
    again = []
    for example, key in zip(examples, keys, strict=True):
        if seen[key]:
            again.append(example.row)
        seen[key] += 1
    return again


def _content(example: Example) -> tuple[str, ...]:
    """Return the fields besides the question that tell examples apart: passages and their data."""
    fields = (str(example.metadata.get(key)) for key in ("part", "claim", "answer"))
    return (*fields, *(passage.text for passage in example.passages))


def _list_rows(rows: Sequence[int]) -> str:
    """Return row numbers, the first dozen of them.

    >>> _list_rows([4, 7])
    'rows 4, 7'
    """
    return f"rows {', '.join(map(str, rows[:_NAMED]))}" + (", ..." if len(rows) > _NAMED else "")


# --- reading ------------------------------------------------------------------------------------
def _parse(spec: str) -> _Request:
    name, colon, path = spec.partition(":")
    if name not in FORMATS:
        raise UnknownName("data set", name, FORMATS, command="disputatio eval datasets")
    if not colon or not path:
        raise InputError(f"{spec}: say which file, as in {name}:PATH")
    form = FORMATS[name]
    file, sign, part = path.rpartition("#")
    if not sign or not part or Path(path).exists():
        file, part = path, ""
    if part and not form.parted and not form.views:
        raise InputError(f"{spec}: {name} has no parts, so leave out #{part}")
    if part and form.views and part not in form.views:
        raise UnknownName(f"part of {name}", part, form.views)
    label = f"{name}:{file if file.startswith(PREFIX) else Path(file).absolute().name}"
    path_there = fetch_file(file, form.files, form.beside) if file.startswith(PREFIX) else Path(file)
    return _Request(form=form, path=path_there, part=part, label=label + (f"#{part}" if part else ""))


def _with_facts(request: _Request) -> Iterable[tuple[FileRow, Mapping[str, Any]]]:
    """Return the rows as they are found, with what their format finds in all rows of their file."""
    if request.form.gather is None:
        for file_row in read_rows(request.form, request.path, request.part):
            yield file_row, {}
        return
    by_file: dict[Path, list[FileRow]] = {}
    for file_row in read_rows(request.form, request.path, request.part):
        by_file.setdefault(file_row.path, []).append(file_row)
    for path, rows in by_file.items():
        facts = request.form.gather([row for row in map(_whole_row, rows) if row is not None], path)
        for file_row in rows:
            yield file_row, facts


def _whole_row(file_row: FileRow) -> Mapping[str, Any] | None:
    """Return a row as an object, None where it is none; that is said when the row is read."""
    try:
        return file_row.read("")
    except InputError:
        return None


def _find_missing(form: DatasetFormat, row: Mapping[str, Any]) -> str:
    """Return the first field that a row lacks of the shape that it is nearest to."""
    keys = min(form.shapes, key=lambda keys: sum(key not in row for key in keys))
    return next(key for key in keys if key not in row)


def _example(file_row: FileRow, request: _Request, facts: Mapping[str, Any]) -> Example:
    form = request.form
    row = file_row.read(form.name)
    place = file_row.place(request.label, part=request.part, facts=facts)
    if not form.knows(row):
        raise place.wrong(f"the field {_find_missing(form, row)} is missing")
    example = form.loader(row, place)
    declared = {"expects": form.expects} if form.expects else {}
    return replace(example, metadata={**example.metadata, **declared})


def _whose(file_row: FileRow, form: DatasetFormat) -> str:
    """Suggest the loader that fits a row, for the error message that ends the reading."""
    row = _whole_row(file_row)
    return "" if row is None else hint(row, file_row.path, form, above=form.knows(row))


def _refusal(bad: Mapping[int, InputError], seen: int) -> InputError:
    """Return the first row that cannot be read, and how many others there are, by number."""
    first, *others = bad
    if not others:
        return bad[first]
    return InputError(
        f"{bad[first]}; {len(bad)} of {seen} rows cannot be read ({_list_rows(list(bad))}): mend them, "
        "or name the others in a file for --rows"
    )


def row_numbers(path: Path | Sequence[int]) -> dict[int, int]:
    """Return row numbers in the order given, each with the line (from 1) of the file that names it."""
    if not isinstance(path, Path):
        return {number: at for at, number in enumerate(path, 1)}
    numbers: dict[int, int] = {}
    for at, line in enumerate(read_text(path).split("\n"), 1):
        text = line.strip()
        if not text:
            continue
        if not (text.isascii() and text.isdigit()):
            raise InputError(f"{path}:{at}: {text[:40]!r} is not a row number")
        if int(text) in numbers:
            raise InputError(f"{path}:{at}: row {text} stands twice, first on line {numbers[int(text)]}")
        numbers[int(text)] = at
    if not numbers:
        raise InputError(f"{path}: no row numbers")
    return numbers


NAME = "examples"  # of a data set whose examples name none


def as_dataset(
    examples: Sequence[Example], *, limit: int | None = None, rows: Sequence[int] | None = None
) -> tuple[list[Example], list[Identity]]:
    """Return the examples with the name of their data set in their metadata, and an identity for each name.

    Examples of `load` keep their data set and its metrics; others are the data set `examples`, measured as
    `jsonl` is. `rows` keeps the examples of these row numbers, `limit` the first so many. Raises
    `InputError` where nothing is left, for a row that is not there and for an id that stands twice.
    """
    if limit is not None and limit < 1:
        raise InputError(f"a limit of {limit} leaves no rows")
    if rows is not None:
        by_row = {example.row: example for example in examples}
        for row in rows:
            if row not in by_row:
                raise InputError(f"the examples have no row {row} (rows count from 0)")
        examples = [by_row[row] for row in dict.fromkeys(rows)]
    named = [_name_dataset(example) for example in examples[:limit]]
    if not named:
        raise InputError("no examples")
    ids: set[str] = set()
    for example in named:
        if not example.id or example.id in ids:
            raise InputError(f"row {example.row}: the id {example.id!r} must be there, and stand once")
        ids.add(example.id)
    names = dict.fromkeys(example.metadata["dataset"] for example in named)
    return named, [_identity(name, named) for name in names]


def _name_dataset(example: Example) -> Example:
    if example.metadata.get("dataset"):
        return example
    return replace(example, metadata={**example.metadata, "dataset": NAME})


def _identity(name: str, examples: Sequence[Example]) -> Identity:
    digest = hashlib.sha256()
    for example in examples:
        if example.metadata["dataset"] == name:
            digest.update(json.dumps(asdict(example), sort_keys=True, default=str).encode())
    form = FORMATS.get(name.partition(":")[0], PLAIN[0])
    return Identity(name=name, sha256=digest.hexdigest(), metrics=form.metrics, judged=form.judged)


# --- files ----------------------------------------------------------------------------------------
# Files of rows as they are published: JSON lines, one JSON value, tables, parquet; packed or not.
#
# A data set is a file, or a folder of which its format knows the files. Nothing is run or unpacked beyond
# reading: parquet by pyarrow, the others by the standard library.

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
            except (ValueError, RecursionError) as error:
                raise self.place(dataset).wrong(f"not JSON: {error}") from error
        if not isinstance(row, dict):
            raise self.place(dataset).wrong("not a JSON object")
        return row


def files_of(form: DatasetFormat, path: Path, part: str = "") -> list[Path]:
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


def read_rows(form: DatasetFormat, path: Path, part: str = "") -> Iterator[FileRow]:
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


def _rows(form: DatasetFormat, path: Path) -> Iterator[Row]:
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
    return Path(path.name.removesuffix(".gz")).suffix.lower()


def _is_table(form: DatasetFormat, path: Path) -> bool:
    return _suffix(path) in TABLES or (bool(form.columns) and _suffix(path) not in SUFFIXES)


# --- JSON ---------------------------------------------------------------------------------------
def _json(form: DatasetFormat, path: Path, text: str) -> Iterator[Row]:
    """Yield lines where the first one is a value of its own with others behind it, else one JSON value."""
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


def _whole(form: DatasetFormat, path: Path, whole: Any) -> Iterator[Row]:
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
        alone = f": as one row it lacks the field {_find_missing(form, whole)}"
        other = hint(whole, path, form) or f"{alone}; one JSON object on each line, or a list of them, is"
        raise InputError(f"{path}: not what {form.name} reads{other}")
    for name, row in whole.items():
        yield name, None, {"id": name, **row}


# --- tables and parquet -------------------------------------------------------------------------
def _table(form: DatasetFormat, path: Path, text: str) -> Iterator[Row]:
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
    with require_package("pyarrow", "arrow"):
        from pyarrow import ArrowException, parquet
    number = 0
    try:
        with parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=1024):
                for row in batch.to_pylist():
                    yield f"row {number}", None, row
                    number += 1
    except (ArrowException, OSError) as error:
        raise InputError(f"{path}: cannot be read as parquet: {error}") from error
