"""An index on a server: the part that a database and a vector engine share."""

from __future__ import annotations

import functools
import json
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Concatenate, NamedTuple, ParamSpec, Self, TypeVar, Unpack

from disputatio.errors import UNREADABLE, IndexServerFault, InputError, StoreError
from disputatio.protocols import Embedder, Reranker, Search, SearchOptions
from disputatio.store.calibration_log import CalibrationLog, Outcomes, outcomes_of
from disputatio.store.contract import (
    DEFAULT_LANGUAGE,
    DocumentFacts,
    Index,
    IndexInfo,
    Sketches,
    SourceCount,
    SourcePassages,
    nearest,
)
from disputatio.store.ingesting.description import Description
from disputatio.store.ingesting.documents import Document
from disputatio.store.ingesting.history import History, about_of, own_row, reapply_description, targets_of
from disputatio.store.ingesting.history import Row as StatementRow
from disputatio.store.ingesting.ingest import DocumentWriter, Statements
from disputatio.store.ingesting.prepare import PreparedDocument
from disputatio.store.ingesting.statements import write_metadata
from disputatio.store.ingesting.stating import check_all
from disputatio.store.options import DEFAULT_K, check_search, search_of
from disputatio.store.reliabilities import reliable_sources
from disputatio.store.remote.served import mark_duplicates, sketches_of
from disputatio.store.segments.terms import query_terms, stemmer
from disputatio.types import Hit, Passage, Source

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from disputatio.store.ingesting.ingest import Fingerprint
    from disputatio.store.segments.terms import Counted

_AT_ONCE = 256  # documents that are described anew together
_NOT_KEPT = ("name", "stale")
_Given = ParamSpec("_Given")
_Result = TypeVar("_Result")


@contextmanager
def report_bad_rows(shown: str) -> Iterator[None]:
    """Raise `IndexServerFault` where the rows of a server are none that this program writes."""
    try:
        yield
    except (*UNREADABLE, IndexError, ArithmeticError) as error:
        reason = f"the server gave rows that this program does not write ({type(error).__name__})"
        raise IndexServerFault(f"{shown}: {reason}; ingest into a new index") from error


def reads_rows(
    method: Callable[Concatenate[Any, _Given], _Result],
) -> Callable[Concatenate[Any, _Given], _Result]:
    """Raise what `report_bad_rows` does where a method of an index meets such rows."""

    @functools.wraps(method)
    def call(index: Any, /, *given: _Given.args, **options: _Given.kwargs) -> _Result:
        with report_bad_rows(index.shown):
            return method(index, *given, **options)

    return call


class ServerQuery(NamedTuple):
    """A search as a server takes it: the query's terms and vector, the filters, how many to look at."""

    terms: Mapping[int, int]
    vector: NDArray[np.float32] | None
    search: Search
    most: int


class ServedIndex(Index, ABC):
    """Passages kept by a server (`Retriever`); faults of the server are `StoreError`."""

    format: ClassVar[int]
    listing = "Index.list_documents() in Python, GET /api/documents of a server"

    def __init__(self, shown: str, embedder: Embedder | None, language: str | None = None) -> None:
        self.shown, self.path = shown, Path(shown)
        self.paths = (self.path,)
        self._embedder, self._language = embedder, language

    @classmethod
    @abstractmethod
    def at(cls, path: str | Path, embedder: Embedder | None = None, language: str | None = None) -> Self:
        """Return the index at an address without connecting; raises `InputError` for no address."""

    @classmethod
    def open(
        cls,
        path: str | Path,
        *,
        embedder: Embedder | None = None,
        create: bool = True,
        language: str | None = None,
    ) -> Self:
        """Open the index at an address, or promise a new one for the first ingest. Raises as `open_index`
        does.
        """
        if language not in (None, "none"):
            stemmer(language or "")
        index = cls.at(path, embedder, language)
        settings = index.note()
        if settings is None and not create:
            raise StoreError(f"{index.shown}: there is no index here; make one by: disputatio ingest PATH")
        if settings is not None:
            if embedder is not None and embedder.name != settings["embedder"]:
                other = f"the embedder {settings['embedder']}" if settings["embedder"] else "no embedder"
                raise StoreError(
                    f"{index.shown}: was made with {other}, not with {embedder.name}; open it with its "
                    "own, or ingest into a new one"
                )
            if settings["version"] < cls.format:
                raise StoreError(
                    f"{index.shown}: is of an earlier version; ingest into a new one, or use the program "
                    "that made it"
                )
        return index

    @abstractmethod
    def close(self) -> None:
        """Close the connections; the next call opens one anew."""

    @reads_rows
    def note(self) -> dict[str, Any] | None:
        """Return the settings of the index, embedder and dimension among them, None where there is none."""
        return self._settings()

    # --- writing ------------------------------------------------------------------------------------
    @contextmanager
    def open_writer(self, on_commit: Callable[[int], None] = lambda _: None) -> Iterator[DocumentWriter]:
        writer = self._writer(on_commit)
        writer.put_in_force = self._put_in_force
        yield writer
        self._grow()

    @reads_rows
    def take_out(self, document: str) -> dict[str, Any] | None:
        entries = self._entries_of([document])
        if not entries:
            raise InputError(f"there is no document {document[:80]!r}")
        _, known = entries[0]
        taken = {
            "id": document,
            "about": History(self._statements()).own.get(document, about_of(known)),
            "text": known.text,
            "places": [[file, each.path, each.row] for file, each in entries],
            "passages": self.spans(document),
            "prints": [],
        }
        self.delete(documents=[document])
        return taken

    # --- what people state --------------------------------------------------------------------------
    def describe_all(
        self, stated: Sequence[tuple[str | Path, Mapping[str, object]]], *, by: str = "python"
    ) -> int:
        self._require()
        checked = check_all(stated, functools.partial(self.documents, text=False))

        def add(history: History) -> list[StatementRow]:
            found = targets_of([document for document, _ in checked], self.places(), listing=self.listing)
            fresh = (
                Description(target=target, fields=fields, by=by)
                for document, fields in checked
                for target in found[str(document)]
            )
            return history.rows_of(fresh)

        return self._restate(add)

    @reads_rows
    def descriptions(self, document: str | Path | None = None) -> list[Description]:
        if self._settings() is None:
            return []
        history = History(self._statements())
        if document is None:
            return history.descriptions
        return history.of(targets_of([document], self.places(), listing=self.listing)[str(document)])

    def take_back(self, key: int) -> int:
        self._require()
        return self._restate(lambda history: [history.row_of_undo(key)])

    def _require(self) -> None:
        if self.note() is None:
            raise StoreError(f"{self.shown}: there is no index here; make one with: disputatio ingest PATH")

    def _put_in_force(self, statements: Sequence[Statements]) -> int:
        """Add what is stated of each document that is there, and put all in force; how many changed."""

        def add(history: History) -> list[StatementRow]:
            places = list(self.places()) if statements else []
            return history.rows_of(each for state in statements for place in places for each in state(*place))

        return 0 if self._settings() is None else self._restate(add)

    @reads_rows
    def _restate(self, add: Callable[[History], list[StatementRow]]) -> int:
        """Add rows to the history and put it in force; how many documents changed. The rows are kept last:
        without transactions, the next call undoes what an interrupted one changed.
        """
        changed: set[str] = set()
        with self._begin_changes():
            history = History(self._statements())
            rows = add(history)
            history = history.with_rows(rows)
            if not history:
                return 0
            wanted = history.find_stated(self.places())
            every = sorted({*wanted, *history.own})
            for start in range(0, len(every), _AT_ONCE):
                entries = [
                    (file, document)
                    for file, document in self._entries_of(every[start : start + _AT_ONCE], text=False)
                    if dict(document.by_people) != wanted.get(document.id, {})
                ]
                own = {each.id: history.own.get(each.id) or about_of(each) for _, each in entries}
                fresh = [own_row(name, about) for name, about in own.items() if name not in history.own]
                self._keep_statements(fresh)
                self._put_anew(self._prepare(entries, own, wanted))
                changed |= own.keys()
            self._keep_statements(rows)
        return len(changed)

    def _prepare(
        self,
        entries: Sequence[tuple[str, Document]],
        own: Mapping[str, Mapping[str, str]],
        wanted: Mapping[str, Mapping[str, str]],
    ) -> list[PreparedDocument]:
        """Return documents and their passages as people describe them, one for each file."""
        passages: dict[str, list[Passage]] = {}
        for passage in self._passages_of(sorted(own)) if own else ():
            stated = reapply_description(passage, own[passage.document], wanted.get(passage.document, {}))
            passages.setdefault(passage.document, []).append(stated)
        prepared = []
        for file, each in entries:
            document = reapply_description(each, own[each.id], wanted.get(each.id, {}))
            own_passages = tuple(passages.get(each.id, ()))
            metadata = write_metadata(document)
            prepared.append(
                PreparedDocument(document=document, passages=own_passages, file=file, metadata=metadata)
            )
        return prepared

    @abstractmethod
    def check(self) -> list[str]:
        """Find rows that do not fit together; return a line for each kind."""

    # --- reading ------------------------------------------------------------------------------------
    def search(
        self,
        query: str,
        search: Search | None = None,
        *,
        reranker: Reranker | None = None,
        **options: Unpack[SearchOptions],
    ) -> list[Hit]:
        from disputatio.store.segments.search import CANDIDATES
        from disputatio.store.segments.searcher import rerank_best, widen

        search = search_of(search, options)
        check_search(query, search)
        settings = self.note()
        if search.min_reliability is not None:
            with report_bad_rows(self.shown):
                names = reliable_sources(self.reliabilities(), search.min_reliability, search.sources)
            search = replace(search, sources=names)
        if settings is None or (search.sources is not None and not search.sources):
            return []
        with report_bad_rows(self.shown):
            search = replace(search, exclude=[*search.exclude, *self._find_muted()])
        pool = replace(search, k=DEFAULT_K if search.k is None else search.k)
        if reranker is not None:
            pool = widen(pool)
        language = choose_stemmer(settings)
        vector = None
        if self._embedder is not None and settings["dimension"]:
            vector = self._embedder.embed([query], query=True)[0]
        asked = ServerQuery(query_terms(query, language), vector, pool, max(pool.k or 0, CANDIDATES))
        with report_bad_rows(self.shown):
            hits = self._hits(asked)
        if reranker is not None and hits:
            hits, _ = rerank_best(reranker, query, hits, search)
        with report_bad_rows(self.shown):
            return mark_duplicates(hits, language, self._sketches(hits) if len(hits) > 1 else {})

    def _sketches(self, hits: Sequence[Hit]) -> Mapping[str, bytes | None]:
        """Return the sketches of these passages that the engine has, by id; the others are made anew."""
        del hits
        return {}

    @reads_rows
    def passage(self, passage_id: str) -> Passage:
        passage = None if self._settings() is None else self._passage(passage_id)
        if passage is None:
            raise InputError(f"{self.shown}: there is no passage {passage_id!r}")
        return passage

    @reads_rows
    def around(self, passage: Passage, count: int) -> tuple[list[Passage], list[Passage]]:
        if not passage.document or not count or self._settings() is None:
            return [], []
        return nearest(self._passages_of([passage.document]), passage, count)

    @reads_rows
    def documents(self, *, text: bool = True) -> list[Document]:
        documents = [each for _, each in self._entries_of(None, text=text)]
        return sorted(documents, key=lambda each: (each.path, each.row or 0, each.id))

    @reads_rows
    def document(self, document: str) -> Document | None:
        return next((each for _, each in self._entries_of([document])), None)

    @reads_rows
    def facts(self, documents: Collection[str]) -> dict[str, DocumentFacts]:
        """Return file and number of passages of each; a server keeps no size, hash or time of files."""
        found = [] if self._settings() is None else self._files_of(list(documents))
        return {name: DocumentFacts(file=file, passages=passages) for name, file, passages in found}

    @abstractmethod
    def _files_of(self, documents: Sequence[str]) -> Iterable[tuple[str, str, int]]:
        """Yield id, file and number of passages of some documents."""

    @reads_rows
    def spans(self, document: str) -> list[tuple[str, int, int]]:
        passages = [] if self._settings() is None else self._passages_of([document])
        return sorted(((each.id, each.start, each.end) for each in passages), key=lambda each: each[1:])

    @reads_rows
    def sources(self) -> list[SourceCount]:
        sources = [] if self._settings() is None else self._sources()
        return sorted(sources, key=lambda each: each.name)

    @reads_rows
    def info(self) -> IndexInfo:
        settings = self._settings()
        documents, passages, sources, commit = (0, 0, 0, 0) if settings is None else self._count_all()
        settings = settings or {"version": self.format, "embedder": "", "dimension": 0}
        return IndexInfo(
            path=self.shown,
            format=settings["version"],
            embedder=settings["embedder"],
            dimension=settings["dimension"],
            language=settings.get("language", self._language or DEFAULT_LANGUAGE),
            documents=documents,
            passages=passages,
            sources=sources,
            segments=0,
            dead=0,
            commit=commit,
        )

    @reads_rows
    def estimates(self) -> dict[str, Source]:
        estimates = [] if self._settings() is None else self._estimates()
        if not estimates:
            return {}
        states = self._states()
        sources = {name: Source(name=name) for name in states}
        for name, fields, state in estimates:
            source = Source(name=name, **json.loads(fields))
            sources[name] = replace(source, stale=states.get(name) != state)
        return sources

    def set_estimates(
        self, estimates: Mapping[str, Source], *, states: Mapping[str, str] | None = None
    ) -> None:
        self._require()
        states = self._states() if states is None else states
        new = []
        for name, source in sorted(estimates.items()):
            if source.reliability is not None and not 0 <= source.reliability <= 1:
                raise InputError(f"{name}: a reliability lies between 0 and 1, not at {source.reliability:g}")
            fields = {key: value for key, value in asdict(source).items() if key not in _NOT_KEPT}
            new.append((name, json.dumps(fields), states.get(name)))
        self._keep_estimates(new)

    @reads_rows
    def reliabilities(self) -> dict[str, float]:
        estimates = [] if self._settings() is None else self._estimates()
        reliabilities = {name: json.loads(fields)["reliability"] for name, fields, _ in estimates}
        return {name: value for name, value in reliabilities.items() if value is not None}

    # --- what a calibration reads and keeps -----------------------------------------------------------
    @reads_rows
    def estimated_states(self) -> dict[str, str]:
        estimates = [] if self._settings() is None else self._estimates()
        return {name: state for name, _, state in estimates if state}

    def source_passages(self) -> SourcePassages | None:
        return None if self._settings() is None else self

    @reads_rows
    def counts(self) -> dict[str, int]:
        return {each.name: each.passages for each in self._sources()}

    @reads_rows
    def states(self) -> dict[str, str]:
        """Return one word a source that changes whenever one of its passages is added, changed or removed."""
        return self._states()

    @abstractmethod
    def draw(self, sources: Sequence[str], per_source: int, salt: int) -> list[Passage]:
        """Draw up to `per_source` passages of each source at random, source by source; a salt fixes them."""

    @reads_rows
    def sketches(self, sources: Sequence[str]) -> Sketches:
        """Return the sketches of all passages of some sources, made anew where the server has none."""
        language = choose_stemmer(self._settings() or self._make_settings())
        return Sketches(*sketches_of(self._read_sketches(), sources, language))

    @reads_rows
    def records(self) -> list[Outcomes]:
        lines = [] if self._settings() is None else self._read_log()
        return [_outcomes(lines, self.shown)]

    @contextmanager
    def open_log(self) -> Iterator[CalibrationLog]:
        self._require()
        with self._open_log() as append:
            yield CalibrationLog(lambda entry: append(json.dumps(entry, separators=(",", ":"))))

    # --- what an engine does ------------------------------------------------------------------------
    @abstractmethod
    def _entries_of(self, documents: list[str] | None, *, text: bool = True) -> list[tuple[str, Document]]:
        """Return the files that hold some documents, or all, each with the document in its place there."""

    @abstractmethod
    def _statements(self) -> list[StatementRow]:
        """Return the history of what people stated, the oldest first."""

    @abstractmethod
    def _keep_statements(self, rows: Sequence[StatementRow]) -> None:
        """Add rows to that history."""

    @abstractmethod
    def _put_anew(self, prepared: Sequence[PreparedDocument]) -> None:
        """Put documents with the same text, ids and vectors in place of those that are there."""

    @abstractmethod
    def _find_muted(self) -> list[str]:
        """Return the ids of the documents that people muted."""

    @abstractmethod
    def _begin_changes(self) -> AbstractContextManager[None]:
        """Change several documents at once, alone, where the server has transactions."""

    @abstractmethod
    def _read_sketches(self) -> Iterable[tuple[str, bytes | None, str]]:
        """Yield the source of every passage and its sketch, or its text where the server has no sketch."""

    @abstractmethod
    def _read_log(self) -> Iterable[str]:
        """Return the entries of the log of calibrations, in order."""

    @abstractmethod
    def _open_log(self) -> AbstractContextManager[Callable[[str], None]]:
        """Open the log for appending entries, for one process at a time where the server has locks."""

    @abstractmethod
    def _settings(self) -> dict[str, Any] | None:
        """Return version, embedder, dimension and language, None without an index; raises `StoreError`."""

    @abstractmethod
    def _writer(self, on_commit: Callable[[int], None] = lambda _: None) -> BatchedWriter:
        """Return a writer for documents; raises `StoreError` as `_check_writing` does."""

    @abstractmethod
    def _grow(self) -> None:
        """Build indexes once documents are in."""

    @abstractmethod
    def _hits(self, asked: ServerQuery) -> list[Hit]:
        """Return the best passages by the fused score."""

    @abstractmethod
    def _passage(self, passage_id: str) -> Passage | None:
        """Return the passage of an id."""

    @abstractmethod
    def _passages_of(self, documents: Sequence[str]) -> Iterable[Passage]:
        """Return the passages of some documents, in any order."""

    @abstractmethod
    def _sources(self) -> list[SourceCount]:
        """Return every source, in any order."""

    @abstractmethod
    def _count_all(self) -> tuple[int, int, int, int]:
        """Count documents, passages and sources; the last number changes with each change of a passage."""

    @abstractmethod
    def _estimates(self) -> list[tuple[str, str, str | None]]:
        """Return the name of each source, the fields of its estimate as JSON, and its state then."""

    @abstractmethod
    def _keep_estimates(self, rows: list[tuple[str, str, str | None]]) -> None:
        """Replace the estimates, whole or not at all."""

    @abstractmethod
    def _states(self) -> dict[str, str]:
        """Return the state of each source, in a few characters."""

    def _make_settings(self) -> dict[str, Any]:
        return {
            "version": self.format,
            "embedder": "" if self._embedder is None else self._embedder.name,
            "dimension": 0 if self._embedder is None else self._embedder.dimension,
            "language": self._language or DEFAULT_LANGUAGE,
        }

    def _check_writing(self, settings: Mapping[str, Any]) -> None:
        """Raise `StoreError` unless the index is opened with the language and the embedder that it has."""
        if self._language is not None and self._language != settings["language"]:
            raise StoreError(f"{self.shown}: was made for {settings['language']}, not for {self._language}")
        if settings["embedder"] != ("" if self._embedder is None else self._embedder.name):
            made_with = settings["embedder"] or "none"
            raise StoreError(f"{self.shown}: open it with its embedder {made_with} to write to it")


def check_settings(settings: dict[str, Any]) -> dict[str, Any]:
    """Return the settings that an index was made with; raises `TypeError`, `ValueError` for others."""
    names = settings["embedder"], settings["language"]
    numbers = settings["version"], settings["dimension"]
    if not all(isinstance(name, str) and len(name) < 1_000 for name in names) or not settings["version"]:
        raise TypeError("a name or a version is none")
    if not all(type(each) is int and 0 <= each < 1 << 20 for each in numbers):
        raise TypeError("a version or a dimension is no number")
    return settings


def choose_stemmer(settings: Mapping[str, Any]) -> str:
    return "" if settings["language"] == "none" else str(settings["language"])


def _outcomes(entries: Iterable[str], shown: str) -> Outcomes:
    """Replay the log of the index `shown`, entries as JSON; raises `StoreError` that names a damaged one."""

    def make_error(number: int) -> StoreError:
        return StoreError(f"{shown}: row {number} of its calibrations is damaged; ingest into a new index")

    def parse_entries() -> Iterator[tuple[int, dict[str, Any]]]:
        for number, entry in enumerate(entries, start=1):
            try:
                yield number, dict(json.loads(entry))
            except (ValueError, TypeError) as error:
                raise make_error(number) from error

    return outcomes_of(parse_entries(), make_error)


# --- documents on their way to a server ---------------------------------------------------------------
BATCH = 512  # passages that are put in at once, the last document's whole


class BatchedWriter(ABC):
    """A writer for `put_files`; a file is put whole in one batch, several small ones together."""

    def __init__(
        self, embedder: Embedder | None, language: str, on_commit: Callable[[int], None] = lambda _: None
    ) -> None:
        self._embedder, self._language, self._on_commit = embedder, language, on_commit
        self.counts: Counter[str] = Counter()
        self.fingerprints: dict[str, Fingerprint] = {}
        self._waiting: dict[str, list[PreparedDocument]] = {}  # by file
        self._passages = 0
        self._beside = False  # what is queued stands beside what else its file holds
        self._statements: list[Statements] = []
        self.put_in_force: Callable[[Sequence[Statements]], int] = lambda _: 0  # set by the index

    def put(self, file: str, prepared: Iterable[PreparedDocument]) -> int:
        """Replace the documents of `file`, if named, by these, and return how many they are."""
        documents = {each.document.id: each for each in prepared}
        if file and file in self._waiting:
            self.commit()
        self._waiting.setdefault(file, []).extend(documents.values())
        self._passages += sum(len(each.passages) for each in documents.values())
        if self._passages >= BATCH:
            self.commit()
        return len(documents)

    def keep(self, print_of: Fingerprint) -> None:
        self.counts["unchanged"] += print_of.documents

    def remember(self, print_of: Fingerprint) -> None:
        """Forget it: files are read again, and documents that are in already are left alone."""
        del print_of

    def put_back(self, file: str, prepared: PreparedDocument) -> None:
        self.commit()
        self._waiting, self._beside = {file: [prepared]}, True
        try:
            self.commit()
        finally:
            self._beside = False

    def describe(self, statements: Statements) -> None:
        self._statements.append(statements)

    def finish(self) -> None:
        self.commit()
        stated, self._statements = self._statements, []
        self.counts["described"] += self.put_in_force(stated)

    def commit(self) -> None:
        waiting, self._waiting, self._passages = self._waiting, {}, 0
        if waiting:
            self.counts.update(self._commit(waiting))
            self._on_commit(self.counts["passages"])

    @abstractmethod
    def _commit(self, waiting: dict[str, list[PreparedDocument]]) -> Counter[str]:
        """Put in the queued documents, by file, and count."""


def count_changes(file: str, old: Collection[str], new: Collection[str], counts: Counter[str]) -> set[str]:
    """Return the documents that a file no longer holds; the changes are counted.

    >>> counts = Counter()
    >>> count_changes("a.txt", ["d1", "d2"], ["d2", "d3"], counts), sorted(counts.items())
    ({'d1'}, [('added', 0), ('removed', 0), ('replaced', 1), ('unchanged', 1)])
    """
    fresh = len(set(new) - set(old))
    gone = set(old) - set(new) if file else set()
    replaced = min(len(gone), fresh)
    counts.update(
        added=fresh - replaced, removed=len(gone) - replaced, replaced=replaced, unchanged=len(new) - fresh
    )
    return gone


def count_and_embed(
    passages: list[Passage], language: str, embedder: Embedder | None
) -> tuple[Counted, NDArray[np.float32] | None]:
    from disputatio.store.segments.terms import count, make_search_text, name_of

    counted = count([*map(name_of, passages)], [passage.text for passage in passages], language)
    if embedder is None or not passages:
        return counted, None
    return counted, embedder.embed([*map(make_search_text, passages)])
