"""Files to documents: text, Markdown, HTML, PDF, JSONL and CSV, from files and folders.

A file that cannot be read, or a row of one, is an `IngestError` that names it; it never stops the
others. HTML and PDF are parsed in a child process (`sandbox.py`), since both formats are complex
and come from strangers.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import urlsplit

from disputatio.errors import IngestError, InputError
from disputatio.store.sandbox import Sandbox

_FIELDS = ("text", "title", "url", "date", "source", "owner")
_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(.*?\n)---[ \t]*(?:\n|\Z)", re.DOTALL)
_FRONT_LINE = re.compile(r"([A-Za-z][\w-]{0,40})\s*:\s*(.*)")
_HEADING = re.compile(r"^# +(.+?)\s*#*\s*$", re.MULTILINE)
_CHARSET = re.compile(rb"charset\s*=\s*[\"']?([\w.:-]{2,40})", re.IGNORECASE)
_INVISIBLE = re.compile(
    "[\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e0fff]"
)
_JOINER = re.compile("[\u200c\u200d]")
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x9f]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_LARGEST_FIELD = 100_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """What was read from a file, or from one row of it (`row` is then its number, from 1).

    `text` is the text that is stored and that passages point into. `folder` is the top folder of
    the file under the path that was given. `id` is given by the index from the content.
    """

    text: str
    path: str = ""
    row: int = 0
    title: str = ""
    url: str = ""
    date: str = ""
    source: str = ""
    owner: str = ""
    folder: str = ""
    id: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What came of one file: the good documents, and the rows that were refused."""

    path: str
    documents: tuple[Document, ...] = ()
    refused: tuple[IngestError, ...] = ()


def clean(text: str) -> str:
    r"""Text without invisible characters (zero width, direction overrides, controls), lines ended by \n.

    Joiners are kept where scripts and emoji need them.

    >>> clean("pass\u200bword\u202e\r\nnext")
    'password\nnext'
    >>> clean("\U0001f469\u200d\U0001f52c") == "\U0001f469\u200d\U0001f52c"
    True
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\x0b", "\n").replace("\x0c", "\n")
    text = _CONTROL.sub("", _INVISIBLE.sub("", text))
    text = _JOINER.sub(lambda match: match[0] if _joins(text, match.start()) else "", text)
    return _SURROGATE.sub("\ufffd", text)


def _joins(text: str, at: int) -> bool:
    """Whether a joiner stands between characters of scripts that use one (none below Armenian)."""
    return 0 < at < len(text) - 1 and text[at - 1] > "\u052f" and text[at + 1] > "\u052f"


def domain(url: str) -> str:
    """The host that a URL names, without `www.`; empty when there is none.

    >>> domain("https://www.census.example/a?b"), domain("nonsense"), domain("http://[bad")
    ('census.example', '', '')
    """
    try:
        host = urlsplit(url.strip()).hostname or ""
    except ValueError:
        return ""
    return host.removeprefix("www.")


def with_source(document: Document, source_by: str | None = None) -> Document:
    """The document with its source settled.

    By default: the source it states, else the domain of its URL, else its top folder, else the
    name of its file. `source_by` puts `domain`, `folder`, `file` or `field:NAME` first.

    Raises `InputError` for another `source_by`, `IngestError` where the field is missing.

    >>> with_source(Document(text="x", path="a/b.md", url="http://x.example/p")).source
    'x.example'
    >>> with_source(Document(text="x", path="a/b.md", url="http://x.example/p"), "file").source
    'b'
    """
    check_source_by(source_by)
    stem = Path(document.path).stem
    if source_by is None:
        chosen = document.source
    elif source_by == "domain":
        chosen = domain(document.url)
    elif source_by == "folder":
        chosen = document.folder or Path(document.path).parent.name
    elif source_by == "file":
        chosen = stem
    else:
        name = source_by.removeprefix("field:")
        own = getattr(document, name) if name in _FIELDS[1:] else ""
        chosen = own or document.metadata.get(name, "")
        if not chosen:
            raise IngestError(place(document), f"has no field {name!r} to take its source from")
    chosen = chosen or document.source or domain(document.url) or document.folder or stem
    return replace(document, source=chosen)


def check_source_by(source_by: str | None) -> None:
    """Raise `InputError` unless it is None, `domain`, `folder`, `file` or `field:NAME`."""
    if source_by not in (None, "domain", "folder", "file") and not re.fullmatch(r"field:.+", source_by or ""):
        raise InputError(f"sources are told by domain, folder, file or field:NAME, not {source_by!r}")


def place(document: Document) -> str:
    """Where a document was read, as a message names it: the file, or file and row."""
    return f"{document.path}:{document.row}" if document.row else document.path


def find_files(root: Path) -> list[tuple[Path, str]]:
    """The files under a path in a stable order, each with its top folder under it.

    Hidden files and folders, and an index, are skipped. Raises `IngestError` when nothing is there.
    """
    if not root.exists():
        raise IngestError(str(root), "there is no such file or folder")
    if not root.is_dir():
        return [(root, "")]
    found: list[Path] = []

    def fail(error: OSError) -> None:
        raise IngestError(str(error.filename), _reason(error))

    for folder, names, files in os.walk(root, onerror=fail):
        if "passages.lance" in names and "documents.lance" in names:  # an index among the documents
            names.clear()
            continue
        names[:] = sorted(name for name in names if not name.startswith("."))
        found += [Path(folder, name) for name in files if not name.startswith(".")]
    found.sort(key=lambda path: path.relative_to(root).parts)
    return [(path, parts[0] if len(parts := path.relative_to(root).parts) > 1 else "") for path in found]


@contextmanager
def open_reader() -> Iterator[Callable[[Path, str], Reading]]:
    """A function that reads one file, `(path, top folder) -> Reading`, for as long as it is open.

    The function raises `IngestError` when the whole file is unusable.
    """
    with Sandbox() as sandbox:

        def read(path: Path, folder: str = "") -> Reading:
            return _read(path, folder, sandbox)

        yield read


def _read(path: Path, folder: str, sandbox: Sandbox) -> Reading:
    kind = path.suffix.lower()
    if not path.is_file():
        raise IngestError(str(path), "is not a regular file")
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise IngestError(str(path), _reason(error)) from error
    if not raw.strip():
        raise IngestError(str(path), "is empty")
    refused: list[IngestError] = []
    if kind == ".pdf" or raw.startswith(b"%PDF-"):
        documents = [_document(sandbox.parse("pdf", path), str(path))]
    elif kind in (".html", ".htm", ".xhtml"):
        _decode(raw, path, declared=_CHARSET.search(raw[:2048]))
        documents = [_document(sandbox.parse("html", path), str(path))]
    elif kind in (".jsonl", ".ndjson"):
        documents = list(_rows(_json_rows(raw, path), path, refused))
    elif kind == ".csv":
        documents = list(_rows(_csv_rows(_decode(raw, path), path), path, refused))
    else:
        documents = [_plain(_decode(raw, path), path)]
    good = []
    for document in documents:
        if document.text.strip():
            good.append(replace(document, folder=folder))
        else:
            refused.append(IngestError(place(document), "has no text"))
    if not good and len(refused) < 2:
        raise refused[0] if refused else IngestError(str(path), "has no rows")
    return Reading(path=str(path), documents=tuple(good), refused=tuple(refused))


def _decode(raw: bytes, path: Path, declared: re.Match[bytes] | None = None) -> str:
    if b"\0" in raw:
        raise IngestError(str(path), "is a binary file")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if declared is None:
            raise IngestError(str(path), f"is not UTF-8 text (byte {error.start})") from error
    try:
        return raw.decode(declared[1].decode("ascii"))
    except (LookupError, UnicodeDecodeError) as error:
        raise IngestError(str(path), "is not in the encoding that it declares") from error


def _plain(text: str, path: Path) -> Document:
    """A text or Markdown file, with its front matter taken off."""
    text = clean(text)
    fields: dict[str, object] = {}
    front = _FRONT_MATTER.match(text)
    if front:
        lines = [line for line in front[1].splitlines() if line.strip() and not line.startswith("#")]
        found = [_FRONT_LINE.fullmatch(line.strip()) for line in lines]
        if found and all(found):
            fields = {line[1].lower(): line[2].strip().strip("\"'") for line in found if line}
            text = text[front.end() :]
    fields.pop("text", None)
    if "title" not in fields and path.suffix.lower() in (".md", ".markdown"):
        heading = _HEADING.search(text)
        fields["title"] = heading[1] if heading else ""
    return _document({"text": text.strip("\n"), **fields}, str(path))


def _rows(
    rows: Iterator[Mapping[str, object] | IngestError], path: Path, refused: list[IngestError]
) -> Iterator[Document]:
    for number, row in enumerate(rows, start=1):
        if isinstance(row, IngestError):
            refused.append(row)
        elif row:
            try:
                yield _document(row, str(path), number)
            except IngestError as error:
                refused.append(error)


def _json_rows(raw: bytes, path: Path) -> Iterator[Mapping[str, object] | IngestError]:
    """The rows of a JSONL file; an empty one for a blank line, so that numbers are lines."""
    for number, line in enumerate(raw.removeprefix(b"\xef\xbb\xbf").split(b"\n"), start=1):
        where = f"{path}:{number}"
        if not line.strip():
            yield {}
            continue
        try:
            row = json.loads(line.decode("utf-8"))
        except UnicodeDecodeError:
            yield IngestError(where, "is not UTF-8 text")
        except (ValueError, RecursionError) as error:
            yield IngestError(where, f"is not a JSON object ({str(error)[:80]})")
        else:
            if not isinstance(row, dict):
                yield IngestError(where, "is not a JSON object")
            else:
                yield row or IngestError(where, "has no text")


def _csv_rows(text: str, path: Path) -> Iterator[Mapping[str, object] | IngestError]:
    limit = csv.field_size_limit(_LARGEST_FIELD)
    try:
        table = csv.reader(io.StringIO(text, newline=""), strict=True)
        header = [name.strip().lower() for name in next(table, [])]
        if "text" not in header:
            raise IngestError(str(path), f"has no column 'text' (its columns: {', '.join(header)[:120]})")
        for number, row in enumerate(table, start=1):
            if row and len(row) != len(header):
                reason = f"has {len(row)} fields where the header has {len(header)}"
                yield IngestError(f"{path}:{number}", reason)
            else:
                yield dict(zip(header, row, strict=True)) if row else {}
    except csv.Error as error:
        raise IngestError(str(path), f"is not proper CSV ({error})") from error
    finally:
        csv.field_size_limit(limit)


def _document(fields: Mapping[str, object], path: str, row: int = 0) -> Document:
    """A document from named fields; those without a place of their own are metadata."""
    where = f"{path}:{row}" if row else path
    told: dict[str, str] = {}
    metadata: dict[str, str] = {}
    for name, value in fields.items():
        if isinstance(value, bool) or value is None or not isinstance(value, str | int | float):
            if name in _FIELDS and value is not None:
                raise IngestError(where, f"{name!r} is not text")
            continue
        if name == "text" and not isinstance(value, str):
            raise IngestError(where, "'text' is not text")
        words = clean(str(value))
        if name == "text":
            told[name] = words
        elif name in _FIELDS:
            told[name] = " ".join(words.split())
        elif words:
            metadata[name] = words
    if row and not told.get("text", "").strip():
        raise IngestError(where, "has no text")
    return Document(**{"text": "", **told}, path=path, row=row, metadata=metadata)


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()


def read_all(paths: Sequence[Path]) -> tuple[list[Document], list[IngestError]]:
    """Every document under the paths, and every file or row that was refused."""
    documents: list[Document] = []
    refused: list[IngestError] = []
    with open_reader() as read:
        for root in paths:
            for path, folder in find_files(root):
                try:
                    reading = read(path, folder)
                except IngestError as error:
                    refused.append(error)
                else:
                    documents += reading.documents
                    refused += reading.refused
    return documents, refused
