"""Files into an index: found, left alone where they are unchanged, read, prepared and put."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from disputatio.errors import IngestError, RefusalCode, RefusalData
from disputatio.store.ingesting.description import Description
from disputatio.store.ingesting.documents import Document, FileReading, hidden_in
from disputatio.store.ingesting.files import check_paths, display_path, find_files
from disputatio.store.ingesting.options import DEFAULT, ReadOptions, settings_of
from disputatio.store.ingesting.parsers import kind_of, largest
from disputatio.store.ingesting.prepare import PreparedDocument, passage_at, prepare, prepare_item
from disputatio.store.ingesting.readers import open_reader
from disputatio.store.ingesting.source import STDIN, mark_unverified, with_source
from disputatio.store.ingesting.statements import read_metadata
from disputatio.types import Passage
from disputatio.versions.dates import iso_day

Progress = Callable[[int, int, int], None]
"""Called with (files done, files in all, passages committed)."""


class Refusal(NamedTuple):
    """A file or a row that was refused: `path`, or `path:row`, why, of what kind that is, what it names.

    `data` is for programs that write words of their own (`errors.RefusalData`); it may be empty.
    """

    path: str
    reason: str
    code: RefusalCode
    data: RefusalData


_MOST_NOTICES = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestSummary:
    """The result of an ingest, in documents, with what was `refused`.

    `left_out` counts what was not read on purpose: files of `code` or `configuration` in folders, what was
    `excluded` by a pattern, and `hidden` sheets, rows and columns of workbooks.

    `removed` counts documents that their file no longer holds, beside those replaced; `hidden` the
    characters of new documents that were left out because no reader would see them. `described` counts the
    documents of which people state something else than before; `notices` say what else is to be known.
    """

    added: int = 0
    unchanged: int = 0
    replaced: int = 0
    removed: int = 0
    refused: tuple[Refusal, ...] = ()
    left_out: Mapping[str, int] = field(default_factory=dict)
    passages: int = 0
    hidden: int = 0
    described: int = 0
    notices: tuple[str, ...] = ()
    seconds: float = 0.0


@dataclass(slots=True)
class Run:
    """The state of one ingest under way. `unverified` says that the documents are strangers'."""

    unverified: bool = False
    unfiled: set[str] = field(default_factory=set)  # ids of documents that have no file
    notices: list[str] = field(default_factory=list)
    refused: list[IngestError] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    hidden: int = 0
    undated: int = 0  # documents whose date cannot be read
    first_undated: str = ""
    done: int = 0
    total: int = 0

    def note(self, reading: FileReading) -> None:
        """Take up what was refused and left out of a file, once its documents have been gone through."""
        self.refused += reading.refused
        self.left_out.update(reading.left_out)

    def prepare_all(
        self, documents: Iterable[Document], file: str, source_by: str | None
    ) -> Iterator[PreparedDocument]:
        """Yield the documents of a file made ready; those without a source are refused."""
        for document in documents:
            try:
                sourced = (mark_unverified if self.unverified else with_source)(document, source_by)
            except IngestError as error:
                self.refused.append(error)
                continue
            self.hidden += hidden_in(document)
            if (order := document.metadata.get("hides_orders")) and len(self.notices) < _MOST_NOTICES:
                self.notices.append(f"{document.path} hides an instruction to programs: “{order[:100]}”")
            prepared = prepare(sourced, file=file)
            if (date := prepared.document.date) and not iso_day(date):
                where = f"{document.path}:{document.row}" if document.row else document.path
                self.undated += 1
                self.first_undated = self.first_undated or f"{date[:40]!r} of {where}"
            if not file:
                self.unfiled.add(prepared.document.id)
            yield prepared


def find_all(paths: Sequence[str | Path], run: Run, options: ReadOptions = DEFAULT) -> list[tuple[Path, str]]:
    """Return the files under the paths, each with its top folder; the run notes what is passed over."""
    files: dict[Path, str] = {}
    check_paths(paths)
    for root in paths:
        try:
            search = find_files(Path(root), run.refused, exclude=options.exclude, left_out=run.left_out)
            for path, folder in search:
                files.setdefault(path, folder)
        except IngestError as error:
            run.refused.append(error)
    return list(files.items())


def file_key(path: Path) -> str:
    """Return what a file's documents are filed under: its full path; nothing for standard input."""
    return "" if str(path) == STDIN else display_path(path.resolve())


def put_files(
    writer: DocumentWriter,
    files: Sequence[tuple[Path, str]],
    run: Run,
    options: ReadOptions,
    told: Callable[[], None],
) -> None:
    """Read the files that have changed and put what is in them; `told` is called after each."""
    run.total = len(files)
    with open_reader(options) as read:
        for path, folder in files:
            file, settings = file_key(path), settings_of(options, folder)
            seen = look(path, settings, writer.fingerprints.get(file)) if file else Look(None, False)
            if seen.now is not None and seen.unchanged:
                writer.keep(seen.now)
            else:
                before = len(run.refused)
                try:
                    reading = read(path, folder)
                    try:
                        documents = writer.put(
                            file, run.prepare_all(reading.documents, file, options.source_by)
                        )
                    finally:
                        run.note(reading)
                    # Rows that were refused are to be named again, so their file is read again.
                    if seen.now is not None and len(run.refused) == before and is_unchanged(path, seen.now):
                        writer.remember(replace(seen.now, documents=documents))
                except IngestError as error:
                    run.refused.append(error)
            run.done += 1
            told()


def _note_undated(run: Run) -> list[str]:
    if not run.undated:
        return []
    count = "1 date" if run.undated == 1 else f"{run.undated:,} dates, the first of them"
    return [
        f"cannot read {count} {run.first_undated}, which decides nothing: write 2021, 2021-05 or 2021-05-31"
    ]


def summary_of(counts: Counter[str], start: float, run: Run) -> IngestSummary:
    """Return the summary of what a writer counted since `start`, a moment of `time.perf_counter`."""
    return IngestSummary(
        added=counts["added"],
        unchanged=counts["unchanged"],
        replaced=counts["replaced"],
        removed=counts["removed"],
        refused=tuple(Refusal(error.path, error.reason, error.code, error.data) for error in run.refused),
        left_out=dict(sorted(run.left_out.items())),
        passages=counts["passages"],
        hidden=run.hidden,
        described=counts["described"],
        notices=(*run.notices, *_note_undated(run)),
        seconds=round(time.perf_counter() - start, 3),
    )


# --- fingerprints -------------------------------------------------------------------------------------
_RACY_NS = 2_000_000_000
_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Fingerprint:
    """A file as it was when it was read whole, at `seen_ns` (nanoseconds since 1970, as `mtime_ns`).

    `hash` is the BLAKE2b-128 of its bytes, `documents` how many it gave.
    """

    path: str
    size: int
    mtime_ns: int
    seen_ns: int
    hash: str
    settings: str
    documents: int = 0

    def proves(self, size: int, mtime_ns: int, settings: str) -> bool:
        """Return whether size and time alone show the same; a file as new as the look shows nothing."""
        same = (self.size, self.mtime_ns, self.settings) == (size, mtime_ns, settings)
        return same and abs(self.seen_ns - self.mtime_ns) >= _RACY_NS


class Look(NamedTuple):
    """A file's fingerprint now (None where it cannot be had), and whether the file is unchanged."""

    now: Fingerprint | None
    unchanged: bool


def look(path: Path, settings: str, known: Fingerprint | None = None) -> Look:
    """Look at a file; its content is read where size and time alone prove nothing."""
    digest = blake2b(digest_size=16)
    try:
        if not path.is_file():  # a pipe would wait for ever
            return Look(None, False)
        with path.open("rb") as file:
            seen_ns = time.time_ns()
            seen = os.fstat(file.fileno())
            if known is not None and known.proves(seen.st_size, seen.st_mtime_ns, settings):
                return Look(known, True)
            limit = largest(kind_of(path.name, file.read(8)))
            if limit is not None and seen.st_size > limit:  # it will be refused: no need to read it all
                return Look(None, False)
            file.seek(0)
            while block := file.read(_BLOCK):
                digest.update(block)
            after = os.fstat(file.fileno())
    except OSError:
        return Look(None, False)
    if (seen.st_size, seen.st_mtime_ns) != (after.st_size, after.st_mtime_ns):
        return Look(None, False)
    now = Fingerprint(
        path=display_path(path.resolve()),
        size=seen.st_size,
        mtime_ns=seen.st_mtime_ns,
        seen_ns=seen_ns,
        hash=digest.hexdigest(),
        settings=settings,
    )
    if known is None or (known.hash, known.settings) != (now.hash, now.settings):
        return Look(now, False)
    return Look(replace(now, documents=known.documents), True)


def is_unchanged(path: Path, now: Fingerprint) -> bool:
    try:
        seen = path.stat()
    except OSError:
        return False
    return (seen.st_size, seen.st_mtime_ns) == (now.size, now.mtime_ns)


# --- the writer of documents --------------------------------------------------------------------------
Statements = Callable[[str, str, int, str], Iterable[Description]]
"""What people state of a document, by its file, its path, its row, and its id."""


class DocumentWriter(Protocol):
    """Writes documents into an index; `counts` them, and has the `fingerprints` of known files by path."""

    counts: Counter[str]
    fingerprints: dict[str, Fingerprint]

    def put(self, file: str, prepared: Iterable[PreparedDocument]) -> int:
        """Make the documents all that is kept of a file, and say how many they are."""

    def keep(self, print_of: Fingerprint) -> None:
        """Count a file as unchanged."""

    def remember(self, print_of: Fingerprint) -> None:
        """Know a file whose documents have been put by how it looked."""

    def put_back(self, file: str, prepared: PreparedDocument) -> None:
        """Add a document that was taken out of a file, beside all others of the file."""

    def describe(self, statements: Statements) -> None:
        """Add, at the end, what people state about each document: `statements` gets its place."""

    def finish(self) -> None:
        """Commit what is queued."""


def put_items(writer: DocumentWriter, items: Iterable[Document | Passage]) -> None:
    """Put documents or passages in that the caller holds, and finish; raises what `prepare_item` does."""
    for number, item in enumerate(items, start=1):
        prepared = prepare_item(item, number)
        writer.put(prepared.file, (prepared,))
    writer.finish()


def put_back(writer: DocumentWriter, taken: Mapping[str, Any]) -> None:
    """Queue a document that was taken out (`Index.take_out`), under its id and in its places, and finish."""
    about = dict(taken["about"])
    fields: dict[str, Any] = {**about, **read_metadata(about["metadata"])}
    for file, path, row in taken["places"]:
        document = Document(**fields, text=taken["text"], path=path, row=row, id=taken["id"])
        passages = tuple(passage_at(document, name, start, end) for name, start, end in taken["passages"])
        writer.put_back(
            file,
            PreparedDocument(document=document, passages=passages, file=file, metadata=about["metadata"]),
        )
    for known in (Fingerprint(**each) for each in taken["prints"]):
        if look(Path(known.path), known.settings, known).unchanged:
            writer.remember(known)
    writer.finish()
