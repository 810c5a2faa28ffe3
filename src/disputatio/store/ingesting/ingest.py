"""Files into an index: found, left alone where they are unchanged, read, prepared and put."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from disputatio.errors import IngestError, InputError, RefusalCode, RefusalData
from disputatio.store.ingesting.document_writer import DocumentWriter
from disputatio.store.ingesting.documents import Document, FileReading
from disputatio.store.ingesting.files import display_path
from disputatio.store.ingesting.fingerprint import Look, is_unchanged, look
from disputatio.store.ingesting.options import DEFAULT, ReadOptions, settings_of
from disputatio.store.ingesting.prepare import PreparedDocument, prepare
from disputatio.store.ingesting.readers import find_files, open_reader, with_source
from disputatio.store.ingesting.source import STDIN, unverified

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
    done: int = 0
    total: int = 0

    def note(self, reading: FileReading) -> None:
        """Take up what was refused and left out of a file, once its documents have been gone through."""
        self.refused += reading.refused
        self.left_out.update(reading.left_out)

    def prepared(
        self, documents: Iterable[Document], file: str, source_by: str | None
    ) -> Iterator[PreparedDocument]:
        """Yield the documents of a file made ready; those without a source are refused."""
        for document in documents:
            try:
                sourced = (unverified if self.unverified else with_source)(document, source_by)
            except IngestError as error:
                self.refused.append(error)
                continue
            hidden = document.metadata.get("hidden", "")
            self.hidden += int(hidden) if hidden.isascii() and hidden.isdigit() and len(hidden) < 12 else 0
            if (order := document.metadata.get("hides_orders")) and len(self.notices) < _MOST_NOTICES:
                self.notices.append(f"{document.path} hides an instruction to programs: “{order[:100]}”")
            prepared = prepare(sourced, file=file)
            if not file:
                self.unfiled.add(prepared.document.id)
            yield prepared


def find_all(paths: Sequence[str | Path], run: Run, options: ReadOptions = DEFAULT) -> list[tuple[Path, str]]:
    """Return the files under all of the paths, each with its top folder; the run records what is
    passed over.
    """
    files: dict[Path, str] = {}
    for root in paths:
        if not str(root):  # which would be read as the folder that one is in
            raise InputError("a path is empty; name a file or a folder, or . for this one")
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
                        documents = writer.put(file, run.prepared(reading.documents, file, options.source_by))
                    finally:
                        run.note(reading)
                    # Rows that were refused are to be named again, so their file is read again.
                    if seen.now is not None and len(run.refused) == before and is_unchanged(path, seen.now):
                        writer.remember(replace(seen.now, documents=documents))
                except IngestError as error:
                    run.refused.append(error)
            run.done += 1
            told()


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
        notices=tuple(run.notices),
        seconds=round(time.perf_counter() - start, 3),
    )
