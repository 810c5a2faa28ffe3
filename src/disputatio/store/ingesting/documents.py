"""The output of readers: documents, and the rows and files that were refused."""

from __future__ import annotations

import bisect
import functools
import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from disputatio.errors import IngestError
from disputatio.store.ingesting.exported import is_nan, of_export
from disputatio.store.ingesting.hidden import clean_and_count
from disputatio.types import DateOrigin, Relation
from disputatio.versions.dates import iso_day

FIELDS = ("text", "title", "url", "date", "source", "owner")
LONGEST = {"title": 2_000, "url": 8_000, "date": 200, "source": 500, "owner": 500}
_LONGEST_VALUE = 10_000  # characters of one field of metadata, for each passage carries them all
_MOST_FIELDS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A document read from a file, or from one row of it (`row` is then its number, from 1).

    `text` is the text that is stored and that passages point into. `folder` is the top folder of
    the file under the path that was given. `date_origin`, `date_quote`, `version`, `family`, `authority`,
    `relations` and `by_people` are those of its passages. `id` is given by the index from the content.
    `metadata` may hold `hidden` (the number of characters removed because no reader would see them) and, for
    paged formats, `pages` (see `page_of`), for those that mark headings, `outline` (see `outline_of`).
    """

    text: str
    path: str = ""
    row: int = 0
    title: str = ""
    url: str = ""
    date: str = ""
    date_origin: DateOrigin = ""
    date_quote: str = ""
    version: str = ""
    family: str = ""
    authority: str = ""
    relations: tuple[Relation, ...] = ()
    by_people: Mapping[str, str] = field(default_factory=dict)
    source: str = ""
    owner: str = ""
    folder: str = ""
    id: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class FileReading:
    """The result of reading one file: good documents, rows that were refused, reasons of what was left out.
    `documents` of a large file are an iterator, to be gone through once, which may raise `IngestError`; only
    then are the others complete.
    """

    path: str
    documents: Iterable[Document] = ()
    refused: Sequence[IngestError] = ()
    left_out: Mapping[str, int] = field(default_factory=dict)


class Refusals(list[IngestError]):
    """The refused rows of one file, in bounded memory: the first kept, the others counted."""

    MOST = 1_000

    def __init__(self, path: str) -> None:
        super().__init__()
        self._path, self._more = path, 0

    def add(self, error: IngestError) -> None:
        if len(self) < self.MOST:
            self.append(error)
            return
        self._more += 1
        more = IngestError(self._path, f"{self._more} more rows were refused", "bad_row")
        self[self.MOST :] = [more]


def place(document: Document) -> str:
    """Return where a document was read, as a message names it: the file, or file and row."""
    return f"{document.path}:{document.row}" if document.row else document.path


def document_of(
    fields: Mapping[str, object],
    path: str,
    row: int = 0,
    *,
    hidden: int = 0,
    pages: Sequence[int] = (),
    outline: Sequence[int] = (),
) -> Document:
    """Return a document from named fields; those without a place of their own are metadata, unless too long.
    `hidden` counts what a parser removed, `pages` holds the offset of each page, `outline` what
    `plain_text.outline_text` found. A row of an export keeps its id, for what it states is read already.
    Raises `IngestError` for a field that is no text, too long, or a row without text.

    >>> document_of({"text": "a\u200bb", "year": 2010}, "f.jsonl", 1).metadata
    {'year': '2010', 'hidden': '1'}
    """
    where = f"{path}:{row}" if row else path
    fields, kept = _unfold(fields, where)
    stated: dict[str, str] = {}
    metadata: dict[str, str] = {}
    left_out: list[str] = []
    for name, value in fields.items():
        if name == "date_origin" or is_nan(value):
            continue
        if isinstance(value, bool) or value is None or not isinstance(value, str | int | float):
            if name in FIELDS and value is not None:
                raise IngestError(where, f"{name!r} is not text", "bad_row", field=name)
            continue
        words, removed = clean_and_count(_as_text(value))
        hidden += removed
        if name in FIELDS:
            stated[name] = _field(name, value, words, where)
        elif len(words) > _LONGEST_VALUE or len(metadata) >= _MOST_FIELDS:
            left_out.append(clean_and_count(name)[0][:100])
        elif words:
            metadata[clean_and_count(name)[0][:100]] = words
    if row and not stated.get("text", "").strip():
        raise IngestError(where, "has no text", "no_text")
    if left_out:
        metadata["left_out"] = ", ".join(left_out[:_MOST_FIELDS])
    if pages:
        metadata["pages"] = ",".join(map(str, pages))
    if outline:
        metadata["outline"] = ",".join(map(str, outline))
    if hidden:
        metadata["hidden"] = str(hidden)
    origin = _origin(fields.get("date_origin", "stated")) if stated.get("date") else ""
    about: dict[str, Any] = {"text": "", **stated, "date_origin": origin, "path": path, "row": row}
    return Document(**about | kept, metadata=metadata)


def _unfold(fields: Mapping[str, object], where: str) -> tuple[Mapping[str, object], dict[str, Any]]:
    """Return fields, of a row of an export with its metadata among them, and what its index read of it."""
    kept = of_export(fields)
    if kept is None:
        return fields, {}
    own = {name: value for name, value in kept.pop("metadata").items() if name not in FIELDS}
    kept["id"] = str(fields.get("id") or where)
    return {**{name: fields[name] for name in FIELDS if name in fields}, **own}, kept


def _in_iso_form(date: str) -> str:
    """Return a date as it is filtered and compared; one that cannot be read stays as it is."""
    day = iso_day(date)
    return day if day and not date.startswith(day) else date


def _origin(name: object) -> DateOrigin:
    """Return the origin of a date by its name; one that is not known counts as none."""
    return "stated" if name == "stated" else "file" if name == "file" else ""


def _field(name: str, value: object, words: str, where: str) -> str:
    """Return a field that has its own place; raises `IngestError` for what is no text, or too long."""
    if name == "text":
        if not isinstance(value, str):
            raise IngestError(where, "'text' is not text", "bad_row", field="text")
        return words
    line = " ".join(words.split())
    if len(line) > LONGEST[name]:
        raise too_long(where, name)
    return _in_iso_form(line) if name == "date" else line


def too_long(where: str, name: str) -> IngestError:
    most = LONGEST[name]
    reason = f"its {name} is longer than {most:,} characters"
    return IngestError(where, reason, "too_large", limit=most, unit="characters", field=name)


def _as_text(value: str | float) -> str:
    try:
        return str(value)
    except ValueError:  # an integer of more digits than Python writes
        return ""


def hidden_in(document: Document) -> int:
    """Return how many characters of a document were removed because no reader would see them."""
    hidden = str(document.metadata.get("hidden", ""))
    return int(hidden) if hidden.isascii() and hidden.isdigit() and len(hidden) < 12 else 0


def page_of(document: Document, start: int) -> str:
    """Return the page, from 1, that the character at `start` stands on; empty when there are no pages.

    >>> paged = Document(text="one\\n\\ntwo", metadata={"pages": "0,5"})
    >>> page_of(paged, 2), page_of(paged, 5), page_of(Document(text="x"), 0)
    ('1', '2', '')
    """
    starts = _starts(document.metadata.get("pages", ""))
    return str(bisect.bisect_right(starts, max(start, 0))) if starts else ""


def passage_metadata(document: Document, start: int, end: int) -> dict[str, str]:
    """Return the metadata of the passage at `start:end`: its document's, with `page` in place of `pages`.

    >>> paged = Document(text="one\\n\\ntwo", metadata={"pages": "0,5", "team": "red"})
    >>> passage_metadata(paged, 0, 3), passage_metadata(paged, 0, 8)["page"]
    ({'team': 'red', 'page': '1'}, '1-2')
    """
    metadata = dict(document.metadata)
    if outline_of(metadata.get("outline", "")):
        del metadata["outline"]
    first, last = page_of(document, start), page_of(document, max(start, end - 1))
    if not first:
        return metadata
    del metadata["pages"]
    return {**metadata, "page": first if first == last else f"{first}-{last}"}


@functools.lru_cache(maxsize=16)
def outline_of(outline: str) -> tuple[tuple[int, int, int], ...]:
    """Return the parts that a field `outline` marks: where each begins and ends, and its level as a
    heading, 0 for code; none where it is some other field of that name.

    >>> outline_of("0,5,1,9,20,0"), outline_of("a plan"), outline_of("")
    (((0, 5, 1), (9, 20, 0)), (), ())
    """
    words = outline.split(",")
    if len(words) % 3 or not all(word.isascii() and word.isdigit() and len(word) < 12 for word in words):
        return ()
    numbers = [*map(int, words)]
    parts = [*zip(numbers[::3], numbers[1::3], numbers[2::3], strict=True)]
    ends = [number for start, end, _ in parts for number in (start, end)]
    return tuple(parts) if all(a <= b for a, b in itertools.pairwise(ends)) else ()


@functools.lru_cache(maxsize=16)
def _starts(pages: str) -> tuple[int, ...]:
    """Return the offsets in a `pages` field; none when it is some other field of that name."""
    parts = pages.split(",")
    if parts[0] != "0" or not all(part.isascii() and part.isdigit() and len(part) < 12 for part in parts):
        return ()
    starts = tuple(map(int, parts))
    return starts if all(a <= b for a, b in itertools.pairwise(starts)) else ()
