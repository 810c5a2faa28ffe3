"""The protocol of an index: documents in, passages out, estimates of its sources, whatever the backend."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Unpack, runtime_checkable

from disputatio.errors import InputError
from disputatio.protocols import Reranker, Search, SearchOptions
from disputatio.store.calibration_log import CalibrationLog, Outcomes
from disputatio.store.ingesting.description import Description, check_fields
from disputatio.store.ingesting.documents import Document
from disputatio.store.ingesting.history import Place
from disputatio.store.ingesting.ingest import (
    DocumentWriter,
    IngestSummary,
    Progress,
    Run,
    file_key,
    find_all,
    put_back,
    put_files,
    put_items,
    summary_of,
)
from disputatio.store.ingesting.options import ReadOptions, check_options
from disputatio.store.ingesting.stating import read_stating
from disputatio.types import Hit, Passage, Source, Unsearched

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

DEFAULT_LANGUAGE = "english"


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceCount:
    """A source of the index with the number of its documents and passages."""

    name: str
    owner: str
    documents: int
    passages: int


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexInfo:
    """An index in figures; `embedder` is empty where it is searched by keyword alone.

    `commit` is the number of the newest commit, `dead` counts passages that wait for a merge to drop
    them. Several indexes are summed up; `unsearched` are those of them that cannot be read.
    """

    path: str
    format: int
    embedder: str
    dimension: int
    language: str
    documents: int
    passages: int
    sources: int
    segments: int
    dead: int
    commit: int
    unsearched: tuple[Unsearched, ...] = ()


class DocumentPage(NamedTuple):
    """Some documents of an index without their texts, and how many there are in all."""

    total: int
    documents: list[Document]


class DocumentFacts(NamedTuple):
    """The file that a document was read from: its size, its BLAKE2b-128, when; and the number of passages.

    `file` is no path for a document that was added in memory, `hash` and `read` where it is not on record.
    """

    file: str = ""
    size: int = 0
    hash: str = ""
    read: str = ""
    passages: int = 0


class Sketches(NamedTuple):
    """MinHash sketches of passages, 64 bins a row, and the position of each one's source among the names."""

    rows: NDArray[np.uint8]
    sources: NDArray[np.int64]


class SourcePassages(Protocol):
    """The passages of an index by their source, as a calibration reads them."""

    def counts(self) -> dict[str, int]:
        """Count the passages of each source."""

    def states(self) -> dict[str, str]:
        """Return one word a source that changes whenever one of its passages is added, changed or removed."""

    def draw(self, sources: Sequence[str], per_source: int, salt: int) -> list[Passage]:
        """Draw up to `per_source` passages of each source at random, source by source; a salt fixes them."""

    def sketches(self, sources: Sequence[str]) -> Sketches:
        """Return the sketches of all passages of some sources."""


@runtime_checkable
class Index(Protocol):
    """Passages searched by keyword and by meaning (`Retriever`), and the documents that they are parts of.

    Any number of threads and processes may read. `path` is the folder or the address without its secrets,
    `paths` the folders that are searched as one. Messages have `shown`: an address that went through a path
    has lost one of its two slashes. `listing` is how one lists the ids of its documents.
    """

    shown: str
    listing: str
    path: Path
    paths: tuple[Path, ...]

    def close(self) -> None:
        """Close connections and files; the next call opens them anew."""

    # --- writing ------------------------------------------------------------------------------------
    def open_writer(
        self, on_commit: Callable[[int], None] = lambda _: None
    ) -> AbstractContextManager[DocumentWriter]:
        """Open a writer for documents; `on_commit` receives the number of passages committed so far.

        Raises `StoreError` when the index cannot be written to, `InputError` for several folders.
        """
        ...

    def ingest(
        self,
        *paths: str | Path,
        source_by: str | None = None,
        columns: Mapping[str, str] | None = None,
        exclude: Sequence[str] = (),
        unverified: bool = False,
        stated: Mapping[str, object] | None = None,
        sidecar: str | Path | None = None,
        progress: Progress | None = None,
    ) -> IngestSummary:
        """Read files and folders and add their documents; safe to kill and to run again.

        A file that has not changed is left alone; a changed one replaces its own passages only, at
        once. What cannot be read is listed in the summary, and the rest goes on. `source_by` is
        how sources are named (`source.with_source`), `columns` which column of a table holds which
        field (`{"text": "content", "date": "published"}`), `exclude` the patterns of files to leave out.
        Code and configuration files are left out unless they are named, alone or by a pattern.
        `unverified` documents come from strangers: what they state as their source is kept apart in
        `stated_source`, and they share one owner. `stated` is what you state of all of these documents
        (`{"owner": ..., "authority": ...}`, see `describe`); a `disputatio.yaml` at the top of a folder
        states it by patterns, and one that is yours is named as `sidecar`, once.
        `progress(done, total, passages)` is called after each file and each batch of passages committed.

        Raises `InputError` for wrong options, `StoreError` when the index cannot be written
        to or another process is writing; batches acknowledged before that stay.
        """
        options = ReadOptions(
            source_by=source_by,
            columns=columns or {},
            exclude=tuple(exclude),
            unverified=unverified,
            stated=check_fields(stated or {}),
            sidecar=None if sidecar is None else Path(sidecar),
        )
        return self.ingest_as(paths, options, progress)

    def ingest_as(
        self, paths: Sequence[str | Path], options: ReadOptions, progress: Progress | None = None
    ) -> IngestSummary:
        """Read files and folders as `ingest` does, with its options as one object."""
        check_options(options)
        start, run = time.perf_counter(), Run(unverified=options.unverified)
        stating = read_stating(paths, options, run)
        files = find_all(paths, run, options)
        keys = {file_key(path) for path, _ in files}
        run.notices += stating.idle(paths, keys)

        def report(passages: int) -> None:
            if progress is not None:
                progress(run.done, run.total, passages)

        with self.open_writer(report) as writer:
            put_files(writer, files, run, options, lambda: report(writer.counts["passages"]))
            writer.describe(partial(stating.of, keys, run.unfiled))
            writer.finish()
        run.notices += stating.find_unnamed(partial(self.documents, text=False))
        return summary_of(writer.counts, start, run)

    def add(self, items: Iterable[Document | Passage]) -> IngestSummary:
        """Add documents or passages that the caller has in memory.

        A passage keeps its id where it has one and is short enough not to be divided; given again under the
        same id with another text, it is replaced. Raises `InputError` for one without text, or with an id
        that stands for another passage, `StoreError` as `ingest` does; batches acknowledged before that stay.
        """
        start = time.perf_counter()
        with self.open_writer() as writer:
            put_items(writer, items)
        return summary_of(writer.counts, start, Run())

    def delete(
        self,
        *,
        sources: Collection[str] = (),
        paths: Collection[str | Path] = (),
        documents: Collection[str] = (),
    ) -> int:
        """Delete documents: those of some sources, of files (or all files below a folder), or by id.

        Returns how many there were; a name that stands for nothing deletes nothing. Raises `StoreError`
        when the index cannot be written to.
        """
        ...

    def take_out(self, document: str) -> dict[str, Any] | None:
        """Delete one document, and return what `put_back` needs, if it can be; raises `InputError`."""
        if not self.delete(documents=[document]):
            raise InputError(f"there is no document {document[:80]!r}")
        return None

    def put_back(self, taken: Mapping[str, Any]) -> None:
        """Add a document that `take_out` deleted, under its id, with what people stated of it."""
        with self.open_writer() as writer:
            put_back(writer, taken)

    # --- what people state --------------------------------------------------------------------------
    def describe(
        self,
        document: str | Path,
        *,
        date: str | None = None,
        owner: str | None = None,
        source: str | None = None,
        authority: str | None = None,
        replaces: str | None = None,
        title: str | None = None,
        status: str | None = None,
        mute: bool | None = None,
        by: str = "python",
    ) -> int:
        """State what a document does not state itself, or states wrongly; how many documents that is of.

        `document` is an id, or a file: all documents in it. It stands above what the document states, stays
        when the document is read again, and changes no id. `authority` is a tier (`authority.TIERS`),
        `replaces` the document that it replaces, `status` is `retracted` for what is withdrawn, `mute` keeps
        it out of searches. An empty text takes back what people stated of a field. `by` stays in the history.

        Raises `UnknownName` for a document that is not there, `InputError` for a field that is wrong or
        `replaces` of a document that is not there, `StoreError` when the index cannot be written to.
        """
        fields = {"date": date, "owner": owner, "source": source, "authority": authority}
        fields |= {"replaces": replaces, "title": title, "status": status}
        return self.describe_all([(document, check_fields({**fields, "mute": mute}))], by=by)

    def describe_all(
        self, stated: Sequence[tuple[str | Path, Mapping[str, object]]], *, by: str = "python"
    ) -> int:
        """State fields of many documents in one commit, as `describe` does; how many documents changed."""
        ...

    def descriptions(self, document: str | Path | None = None) -> list[Description]:
        """Return what people stated of a document, or of all, the oldest first, with what was taken back."""
        ...

    def take_back(self, key: int) -> int:
        """Take back one statement by its number; how many documents changed. Raises as `describe` does."""
        ...

    def tiers(self) -> dict[str, dict[str, int]]:
        """Return of how many documents of each source people declared each authority, by its name."""
        tiers: dict[str, dict[str, int]] = {}
        for document in self.documents(text=False) if self.descriptions() else ():
            if document.authority:
                counts = tiers.setdefault(document.source, {})
                counts[document.authority] = counts.get(document.authority, 0) + 1
        return tiers

    def compact(self, *, keep: float = 300.0) -> None:
        """Free the space of what was replaced or deleted over `keep` seconds ago; raises `StoreError`."""

    # --- reading ------------------------------------------------------------------------------------
    def search(
        self,
        query: str,
        search: Search | None = None,
        *,
        reranker: Reranker | None = None,
        **options: Unpack[SearchOptions],
    ) -> list[Hit]:
        """Return the best `k` passages (8 when None), or the best `per_source` of every source that matches.

        Options are the fields of `Search`, as keywords or as one object, whose fields keywords replace.
        The score is alpha times the keyword score plus (1 - alpha) times that of meaning, each in
        [0, 1] over the candidates of this query; without an embedder the keyword score alone. A source
        that the index does not have has no hits. `reranker` orders the best passages anew. Raises
        `InputError` for an empty query or options out of range, `StoreError` for a damaged index.
        """
        ...

    def unsearched(self) -> tuple[Unsearched, ...]:
        """Return those of several indexes that the newest search left out, each with the reason."""
        return ()

    def passage(self, passage_id: str) -> Passage:
        """Return the passage of an id; raises `InputError` when there is none."""
        ...

    def around(self, passage: Passage, count: int) -> tuple[list[Passage], list[Passage]]:
        """Return up to `count` passages before and after one, in the order of its document."""
        ...

    def documents(self, *, text: bool = True) -> list[Document]:
        """Return every document, by path and row; `text=False` leaves out the texts."""
        ...

    def places(self) -> Iterable[Place]:
        """Return file, path, row and id of every document; a document of several files several times."""
        ...

    def list_documents(self, *, offset: int = 0, limit: int = 100, source: str | None = None) -> DocumentPage:
        """Return some documents (of one source) by path and row, without their texts."""
        known = [each for each in self.documents(text=False) if source in (None, each.source)]
        return DocumentPage(len(known), known[offset : offset + limit])

    def document(self, document: str) -> Document | None:
        """Return one document by its id, with its text; None where there is none."""
        return next((each for each in self.documents() if each.id == document), None)

    def facts(self, documents: Collection[str]) -> dict[str, DocumentFacts]:
        """Return where documents were read, by id; those of which nothing is on record are left out."""
        del documents
        return {}

    def spans(self, document: str) -> list[tuple[str, int, int]]:
        """Return the passages of a document, in order: id, start and end."""
        del document
        return []

    def siblings(self, document: str, count: int) -> list[Document]:
        """Return the rows of the same table around a document, itself among them, in order."""
        del document, count
        return []

    def sources(self) -> list[SourceCount]:
        """Return every source with its owner and its counts, by name."""
        ...

    def info(self) -> IndexInfo:
        """Return the index in figures."""
        ...

    # --- estimates of sources -----------------------------------------------------------------------
    def estimates(self) -> dict[str, Source]:
        """Return the estimates of each source, by name; `stale` where its passages have changed since.

        Empty where nothing was estimated. Else a source that has come since is there without a
        reliability. Raises `StoreError` when the estimates are damaged.
        """
        ...

    def set_estimates(
        self, estimates: Mapping[str, Source], *, states: Mapping[str, str] | None = None
    ) -> None:
        """Replace the estimates, whole or not at all; `states` are those of the sources (now, when None).

        Raises `InputError` for one that is no probability, `StoreError` when there is no index.
        """

    def reliabilities(self) -> dict[str, float]:
        """Return the probability of being right of each source that has an estimate."""
        ...

    def estimated_states(self) -> dict[str, str]:
        """Return the state of each source when it was estimated, where that is on record."""
        ...

    def source_passages(self) -> SourcePassages | None:
        """Return the passages by source as they are now, for a calibration; None where there is no index."""
        ...

    def records(self) -> list[Outcomes]:
        """Replay the log of calibrations of each folder; raises `StoreError` for a damaged one."""
        ...

    def open_log(self) -> AbstractContextManager[CalibrationLog]:
        """Open the log of calibrations, for one process at a time; raises `StoreError`, `InputError`."""
        ...


def nearest(passages: Iterable[Passage], passage: Passage, count: int) -> tuple[list[Passage], list[Passage]]:
    """Return up to `count` of some passages before and after one, in the order of its document."""
    spans = {
        (other.start, other.end): other
        for other in passages
        if other.document == passage.document and other.id != passage.id
    }
    own = (passage.start, passage.end)
    before = [spans[span] for span in sorted(spans) if span < own]
    after = [spans[span] for span in sorted(spans) if span > own]
    return before[-count:], after[:count]
