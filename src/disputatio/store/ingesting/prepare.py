"""A document made ready for the index: the same ids, offsets and texts, whatever process does it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from disputatio.errors import InputError
from disputatio.store.ingesting.documents import Document, passage_metadata
from disputatio.store.ingesting.hidden import clean
from disputatio.store.ingesting.source import domain, with_source
from disputatio.store.ingesting.split import find_heading, split
from disputatio.store.ingesting.statements import with_statements, write_metadata
from disputatio.text import content_id
from disputatio.types import PASSAGE, Passage
from disputatio.versions.dates import as_stated
from disputatio.versions.families import day_of_name, stem_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


_LONGEST_HEADING = 300  # characters
_SHARED = (
    "source", "owner", "title", "url", "date", "date_origin", "date_quote", "version", "family", "authority",
    "relations",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedDocument:
    """A document with its id, and the passages that its text is divided into.

    `file` says what it replaces: all that the index holds under that name; empty, nothing. It is the file's
    full path, where `document.path` may be a place within the file. `metadata` is the document's, as JSON.
    `vectors` has one unit row a passage where they were embedded already, shape (passages, dimension).
    """

    document: Document
    passages: tuple[Passage, ...]
    file: str = ""
    metadata: str = "{}"
    vectors: NDArray[np.float32] | None = None


def prepare(document: Document, *, file: str | None = None, passage_id: str = "") -> PreparedDocument:
    """Return a document's identity and passages; `passage_id` names its passage where it has only one.

    `file` is the full path of the file that it is of, by default its own path.

    The document's id is a hash of all that it says, and not of where it lies; the id of a passage
    is a hash of that and of its place `start:end` in the text.

    >>> done = prepare(Document(text="A zebra.", source="zoo"))
    >>> [(one.start, one.end, one.text, one.document == done.document.id) for one in done.passages]
    [(0, 8, 'A zebra.', True)]
    """
    if not document.id:  # an index has read what it states
        document = with_statements(document, "" if document.row else document.path, document.folder)
        if document.row and (not document.date or document.date_origin == "file"):
            document = _date_by_name(document)
    metadata = write_metadata(document)
    identity = identity_of(document, metadata, passage_id)
    spans = split(document.text, document.metadata.get("outline", ""))
    identified = replace(document, id=identity, folder="")
    passages = []
    for start, end in spans:
        named = passage_id if len(spans) == 1 else ""
        name = named or content_id("p", identity, f"{start}:{end}")
        passages.append(passage_at(identified, name, start, end))
    return PreparedDocument(
        document=identified,
        passages=tuple(passages),
        file=document.path if file is None else file,
        metadata=metadata,
    )


def _date_by_name(row: Document) -> Document:
    """Return a row with the day of its table's name: of its sheet, else of the workbook that this is in."""
    book = PurePath(row.path).parent
    is_sheet = book.suffix.lower() in (".xlsx", ".xlsm", ".ods")
    for name in (PurePath(row.path).name, book.stem) if is_sheet else (stem_of(row.path),):
        if day := day_of_name(name):
            return replace(row, date=day, date_origin="name", date_quote=name)
    return row


def passage_at(document: Document, passage_id: str, start: int, end: int) -> Passage:
    """Return the passage at `start:end` of a document, under the headings of that part."""
    metadata = document.metadata
    if "pages" in metadata or "outline" in metadata:
        metadata = passage_metadata(document, start, end)
    is_part = end - start < len(document.text.strip())
    outline = document.metadata.get("outline", "")
    heading = find_heading(document.text, start, outline) if is_part else ""
    while len(heading) > _LONGEST_HEADING and " › " in heading:
        heading = heading.partition(" › ")[2]
    heading = heading[:_LONGEST_HEADING]
    if heading and heading != document.title:
        metadata = {**metadata, "heading": heading}
    return Passage(
        **_get_shared(document), text=document.text[start:end], id=passage_id, by_people=document.by_people,
        document=document.id, start=start, end=end, metadata=metadata,
    )  # fmt: skip


def _get_shared(noun: Document | Passage) -> dict[str, Any]:
    return {name: getattr(noun, name) for name in _SHARED}


def prepare_item(item: Document | Passage, number: int = 1) -> PreparedDocument:
    """Return a caller's document or passage, which keeps its id unless divided; raises `InputError`."""
    if isinstance(item, Passage):
        document, name = from_passage(item), item.id
    elif not isinstance(item, Document):
        raise InputError(f"item {number} is {type(item).__name__}, not a Passage or a document")
    else:
        document, name = (with_source(item) if item.path else item), ""
        if document.date and not (document.date_origin or document.id):
            document = replace(document, date_origin="stated")  # by the caller
    text = clean(document.text)
    if not text.strip():
        raise InputError(f"item {number}: has no text")
    if text != document.text:
        document = replace(document, text=text)
    return prepare(document, passage_id=name)


def from_passage(passage: Passage) -> Document:
    """Return a passage that the caller holds as a document of one, whose path is its id."""
    passage = as_stated(passage)
    path = f"{PASSAGE}{passage.id}" if passage.id else ""
    metadata = {str(name): str(value) for name, value in passage.metadata.items()}
    fields = {**_get_shared(passage), "source": passage.source or domain(passage.url)}
    return Document(**fields, text=passage.text, path=path, metadata=metadata)


def identity_of(document: Document, metadata: str, passage_id: str = "") -> str:
    """Return a document's id: a hash of all that it says, but for the day on which it was fetched."""
    if document.path.startswith(("http://", "https://")) and "fetched" in document.metadata:
        said = {name: value for name, value in document.metadata.items() if name != "fetched"}
        metadata = write_metadata(replace(document, metadata=said))
    about = [document.source, document.owner, document.title, document.url, document.date]
    about += [document.date_origin] if document.date_origin else []
    return content_id("d", *about, metadata, passage_id, document.text)


def metadata_of(passage: Passage, prepared: PreparedDocument) -> str:
    """Return a passage's metadata as JSON: its document's, but for a document of pages."""
    shared = passage.metadata is prepared.document.metadata
    return prepared.metadata if shared else write_metadata(passage)


def entry_of(file: str, identity: str) -> str:
    """Return the key of a document's row: the same text in two files has two rows and one set of passages."""
    return content_id("e", file, identity)
