"""An index in the collections of a vector engine (Qdrant, Milvus), with the calls of one in a folder.

The same as in `FolderIndex`: documents, passages and their ids, the terms, BM25's form, the fusion and the
choice of the best of each source. Different, as such engines require: k1 and b are settled when the
collections are made; the rarity of words is counted by the server, in its parts; the scorer by meaning is the
server's approximate index; a batch is not one transaction, and a search is several calls.
"""

from __future__ import annotations

import heapq
import json
import time
import uuid
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import Any, ClassVar, Self, TypeVar

from disputatio.errors import InputError, StoreError
from disputatio.protocols import Embedder
from disputatio.store.contract import SourceCount
from disputatio.store.ingesting.documents import Document
from disputatio.store.ingesting.history import Place
from disputatio.store.ingesting.history import Row as StatementRow
from disputatio.store.ingesting.prepare import PreparedDocument
from disputatio.store.options import K1, B
from disputatio.store.remote import vector_rows as rows
from disputatio.store.remote.engine import (
    DENSE,
    DOCUMENTS,
    PASSAGES,
    SPARSE,
    AddressForm,
    CollectionAddress,
    Condition,
    Engine,
    Query,
    Row,
    ScoredRow,
    Scorer,
    Table,
    condition_of,
    row_id,
)
from disputatio.store.remote.served import MUTED, ScoredPassage, fact, rank_candidates
from disputatio.store.remote.served_index import (
    BATCH,
    BatchedWriter,
    ServedIndex,
    ServerQuery,
    check_settings,
    choose_stemmer,
    count_changes,
    reads_rows,
)
from disputatio.store.remote.vector_rows import ENTRY, DocumentEntry
from disputatio.types import Hit, Passage

FORMAT = 2  # 1 held passages alone
_POINTER, _CHANGED = row_id("estimates"), row_id("changed")


class VectorIndex(ServedIndex):
    """Passages in a vector engine; each engine's subclass has its class and the form of its addresses."""

    form: ClassVar[AddressForm]
    engine: ClassVar[type[Engine]]
    format: ClassVar[int] = FORMAT

    def __init__(
        self,
        address: CollectionAddress,
        engine: Engine,
        embedder: Embedder | None,
        language: str | None = None,
    ) -> None:
        super().__init__(address.shown, embedder, language)
        self._engine = engine
        self._known: dict[str, Any] | None = None

    @classmethod
    def at(cls, path: str | Path, embedder: Embedder | None = None, language: str | None = None) -> Self:
        address = cls.form.parse(path)
        return cls(address, cls.engine(address), embedder, language)

    def close(self) -> None:
        self._known = None
        self._engine.close()

    # --- writing ------------------------------------------------------------------------------------
    @reads_rows
    def delete(
        self,
        *,
        sources: Collection[str] = (),
        paths: Collection[str | Path] = (),
        documents: Collection[str] = (),
    ) -> int:
        facts = {fact("source", name) for name in sources} | {fact("document", name) for name in documents}
        for path in map(str, paths):
            for name in {path, str(Path(path).resolve())}:
                facts |= {fact("path", name), fact("file", name), fact("under", name.rstrip("/"))}
        if not facts or self._settings() is None:
            return 0
        entries = entries_with(self._engine, facts)
        delete_entries(self._engine, entries)
        mark_change(self._engine)
        return len(entries)

    @reads_rows
    def compact(self, *, keep: float = 300.0) -> None:
        """Delete rows that an interrupted writer left `keep` seconds ago, and let the server clear up."""
        if self._settings() is None:
            return
        listed = {entry.document.id for entry in self._entries()}
        before = time.time_ns() - int(keep * 1e9)
        left = [
            rows.passage_in(kept.body).document for kept in self._engine.scan(PASSAGES) if kept.order < before
        ]
        delete_documents(self._engine, {name for name in left if name not in listed})
        self._engine.tidy()

    @reads_rows
    def check(self) -> list[str]:
        """Compare the rows of each document with its marks; return a line for each kind of difference."""
        if self._settings() is None:
            return []
        expected = {entry.document.id: entry for entry in self._entries()}
        many: dict[str, int] = {}
        marks: dict[str, int] = {}
        for kept in self._engine.scan(PASSAGES):
            passage = rows.passage_in(kept.body)
            many[passage.document] = many.get(passage.document, 0) + 1
            marks[passage.document] = marks.get(passage.document, 0) ^ rows.mark(passage)
        texts = {json.loads(kept.body)["document"] for kept in self._engine.scan(DOCUMENTS, [rows.TEXT])}
        wrong = {
            "passages without their document": sum(
                count for name, count in many.items() if name not in expected
            ),
            "documents without some of their passages": sum(
                many.get(name, 0) < entry.passages for name, entry in expected.items()
            ),
            "documents with passages that have changed": sum(
                many.get(name, 0) == entry.passages and marks.get(name, 0) != entry.mark
                for name, entry in expected.items()
            ),
            "documents without their text": sum(
                entry.passages > 0 and name not in texts for name, entry in expected.items()
            ),
        }
        return [f"{count} {what}" for what, count in wrong.items() if count]

    # --- what this engine does ----------------------------------------------------------------------
    def _settings(self) -> dict[str, Any] | None:
        """Return the settings, which never change: a search need not ask for them."""
        if self._known is not None:
            return self._known
        settings = self._engine.settings()
        self._known = settings = None if settings is None else check_settings(settings)
        if settings is not None and settings["version"] > FORMAT:
            raise StoreError(
                f"{self.shown}: is of version {settings['version']}, this program reads version {FORMAT}"
            )
        return settings

    def _writer(self, on_commit: Callable[[int], None] = lambda _: None) -> VectorWriter:
        self._known = None
        settings = self._settings()
        if settings is not None:
            self._check_writing(settings)

        def ready(first: list[Row]) -> None:
            """Make the tables where they are not there; the first passages settle the mean length."""
            lengths = [row.terms.size for row in first if row.terms is not None]
            mean = max(1.0, sum(lengths) / len(lengths)) if lengths else 1.0
            if self._settings() is None:
                self._engine.make({**self._make_settings(), "k1": K1, "b": B, "mean_length": mean})
                self._check_writing(self._settings() or self._make_settings())

        return VectorWriter(
            self._engine, self._embedder, choose_stemmer(settings or self._make_settings()), ready, on_commit
        )

    def _grow(self) -> None:
        """Do nothing: the server makes its own indexes."""

    def _hits(self, asked: ServerQuery) -> list[Hit]:
        search = asked.search
        for name, settled in (("k1", K1), ("b", B)):
            wanted = getattr(search, name)
            if wanted is not None and wanted != settled:
                raise InputError(
                    f"{name} is {settled:g} in {self.shown}, not {wanted:g}: it is settled in a vector engine"
                )
        queries: dict[Scorer, Query] = {}
        if asked.terms:
            queries[SPARSE] = asked.terms
        if asked.vector is not None:
            queries[DENSE] = asked.vector.tolist()
        condition = condition_of(search)
        if not queries or condition.sources == ():
            return []
        candidates = self._candidates(queries, condition, asked.most, search.per_source)
        winners = rank_candidates(candidates, search, dense=DENSE in queries)
        bodies = fetch_bodies(self._engine, [winner.id for winner in winners])
        return [
            Hit(passage=rows.passage_in(bodies[winner.id]), score=winner.score, scores=winner.scores)
            for winner in winners
            if winner.id in bodies
        ]

    def _candidates(
        self, queries: dict[Scorer, Query], condition: Condition, most: int, per_source: int | None
    ) -> dict[str, ScoredPassage]:
        """Return the best of each scorer, or some of every source that matches, with both scores."""
        candidates: dict[str, ScoredPassage] = {}

        def keep(scorer: Scorer, found: Iterable[ScoredRow]) -> None:
            for each in found:
                new = ScoredPassage(each.source, each.order, {})
                candidates.setdefault(each.id, new).scores[scorer] = each.score

        for scorer, query in queries.items():
            if per_source is None or scorer == DENSE:
                keep(scorer, self._engine.best(scorer, query, condition, most))
            else:
                keep(scorer, self._engine.best_of_each(scorer, query, condition, per_source))
        if per_source is not None and DENSE in queries and candidates:
            matching = tuple(sorted({candidate.source for candidate in candidates.values()}))
            of_them = replace(condition, sources=matching)
            keep(DENSE, self._engine.best_of_each(DENSE, queries[DENSE], of_them, per_source))
        for scorer, query in queries.items():
            missing = [name for name, candidate in candidates.items() if scorer not in candidate.scores]
            if missing:
                keep(scorer, self._engine.best(scorer, query, Condition(), len(missing), missing))
        return candidates

    def _passage(self, passage_id: str) -> Passage | None:
        bodies = self._engine.fetch(PASSAGES, [row_id(passage_id)])
        return next((rows.passage_in(body) for body in bodies.values()), None)

    def _passages_of(self, documents: Sequence[str]) -> Iterable[Passage]:
        kept_rows = self._engine.scan(PASSAGES, [fact("document", name) for name in documents])
        return (rows.passage_in(kept.body) for kept in kept_rows)

    def _entries_of(self, documents: list[str] | None, *, text: bool = True) -> list[tuple[str, Document]]:
        if documents == [] or self._settings() is None:
            return []
        named, facts = [ENTRY], [rows.TEXT]
        if documents is not None:
            named = [fact("document", name) for name in documents]
            facts = [fact("text", name) for name in documents]
        entries = entries_with(self._engine, named)
        texts = rows.texts_in(kept.body for kept in self._engine.scan(DOCUMENTS, facts)) if text else {}
        return [
            (entry.file, replace(entry.document, text=texts.get(entry.document.id, ""))) for entry in entries
        ]

    def _files_of(self, documents: Sequence[str]) -> Iterable[tuple[str, str, int]]:
        entries = entries_with(self._engine, [fact("document", name) for name in documents])
        return [(each.document.id, each.file, each.passages) for each in entries]

    @reads_rows
    def places(self) -> Iterable[Place]:
        entries = [] if self._settings() is None else self._entries()
        return [(each.file, each.document.path, each.document.row, each.document.id) for each in entries]

    # --- what people state --------------------------------------------------------------------------
    def _statements(self) -> list[StatementRow]:
        return rows.statements_in(self._engine.scan(DOCUMENTS, [rows.STATED]))

    def _keep_statements(self, stated: Sequence[StatementRow]) -> None:
        if stated:
            kept = self._engine.scan(DOCUMENTS, [rows.STATED])
            order = max([time.time_ns(), *(row.order + 1 for row in kept)])
            put_rows(self._engine, DOCUMENTS, rows.statement_rows(stated, order))

    def _put_anew(self, prepared: Sequence[PreparedDocument]) -> None:
        for each in prepared:
            rows.check_sizes(each, self._engine.longest)
        every = list({each.document.id: each for each in prepared}.values())
        language = choose_stemmer(self._settings() or self._make_settings())
        facts = [fact("document", each.document.id) for each in every]
        orders = {kept.id: kept.order for kept in self._engine.scan(PASSAGES, facts)} if every else {}
        new = rows.passage_rows(every, None, language)
        for some in _batches(new):
            vectors = self._engine.vectors([row.id for row in some])
            same = (replace(row, vector=vectors.get(row.id), order=orders[row.id]) for row in some)
            put_rows(self._engine, PASSAGES, same)
        put_rows(self._engine, DOCUMENTS, (rows.entry_row(each.file, each) for each in prepared))
        if every:
            mark_change(self._engine)

    def _find_muted(self) -> list[str]:
        return [entry.document.id for entry in entries_with(self._engine, [MUTED])]

    @contextmanager
    def _begin_changes(self) -> Iterator[None]:
        yield

    def _entries(self) -> list[DocumentEntry]:
        return entries_with(self._engine, [ENTRY])

    def _sources(self) -> list[SourceCount]:
        return [
            SourceCount(
                name=name,
                owner=max(entry.document.owner for entry in entries.values()),
                documents=len(entries),
                passages=sum(entry.passages for entry in entries.values()),
            )
            for name, entries in self._by_source().items()
        ]

    def _by_source(self) -> dict[str, dict[str, DocumentEntry]]:
        by_source: dict[str, dict[str, DocumentEntry]] = {}
        for entry in self._entries():
            if entry.passages:
                by_source.setdefault(entry.document.source, {})[entry.document.id] = entry
        return by_source

    def _count_all(self) -> tuple[int, int, int, int]:
        entries = self._entries()
        sources = {entry.document.source for entry in entries if entry.passages}
        changed = self._engine.fetch(DOCUMENTS, [_CHANGED]).get(_CHANGED, "0")
        return len(entries), self._engine.count(PASSAGES), len(sources), int(json.loads(changed))

    def _estimates(self) -> list[tuple[str, str, str | None]]:
        for _ in range(3):  # another writer may replace them meanwhile
            pointer = self._engine.fetch(DOCUMENTS, [_POINTER]).get(_POINTER)
            if pointer is None:
                return []
            about = json.loads(pointer)
            parts = list(self._engine.scan(DOCUMENTS, [fact("estimates", about["run"])]))
            if len(parts) == about["rows"]:
                return [
                    (name, fields, state) for row in parts for name, fields, state in json.loads(row.body)
                ]
        raise StoreError(f"{self.shown}: the estimates are damaged; make them anew: disputatio calibrate")

    def _keep_estimates(self, estimates: list[tuple[str, str, str | None]]) -> None:
        old = self._engine.fetch(DOCUMENTS, [_POINTER]).get(_POINTER)
        run = uuid.uuid4().hex
        new = rows.estimate_rows(run, estimates)
        put_rows(self._engine, DOCUMENTS, new)
        pointer = json.dumps({"run": run, "rows": len(new)})
        kind = [fact("kind", "estimates")]
        put_rows(self._engine, DOCUMENTS, [Row(id=_POINTER, facts=kind, body=pointer, order=time.time_ns())])
        if old is not None:
            self._engine.erase(DOCUMENTS, facts=[fact("estimates", json.loads(old)["run"])])

    @reads_rows
    def draw(self, sources: Sequence[str], per_source: int, salt: int) -> list[Passage]:
        by_source = self._by_source()
        drawn: list[Passage] = []
        for name in sources:
            documents = sorted(by_source.get(name, {}), key=lambda document: _hash(salt, document))
            facts = [fact("document", document) for document in documents[:per_source]]
            kept = self._engine.scan(PASSAGES, facts) if facts else ()
            passages = [rows.passage_in(row.body) for row in kept]
            drawn += heapq.nsmallest(per_source, passages, key=lambda passage: _hash(salt, passage.id))
        return drawn

    def _read_sketches(self) -> Iterable[tuple[str, bytes | None, str]]:
        for kept in self._engine.scan(PASSAGES):
            passage = rows.passage_in(kept.body)
            yield passage.source, None, passage.text

    def _read_log(self) -> list[str]:
        return rows.join_log(self._engine.scan(DOCUMENTS, [rows.LOGGED]))

    @contextmanager
    def _open_log(self) -> Iterator[Callable[[str], None]]:
        last = max((kept.order for kept in self._engine.scan(DOCUMENTS, [rows.LOGGED])), default=0)

        def append(entry: str) -> None:
            nonlocal last
            last = max(last + 1, time.time_ns())  # in order, also where a clock goes back
            put_rows(self._engine, DOCUMENTS, rows.log_rows(entry, last))

        yield append

    def _states(self) -> dict[str, str]:
        states = {}
        for name, entries in self._by_source().items():
            mixed = 0
            for document in entries:
                mixed ^= int.from_bytes(blake2b(document.encode(), digest_size=8).digest())
            states[name] = f"{len(entries)}:{mixed:x}"
        return states


def _hash(salt: int, name: str) -> bytes:
    return blake2b(f"{salt}\0{name}".encode("utf-8", "surrogatepass"), digest_size=8).digest()


# --- writing --------------------------------------------------------------------------------------
# Writing documents into the tables of a vector engine, which has no transactions.
#
# New rows are written before the entry of their document, and old ones deleted before theirs: whatever
# interrupts a writer, the same call again finishes its work. All rows are named by their content, so
# writers of the same documents write the same rows.

_MESSAGE = 4_000_000  # characters of the bodies in one call
_T = TypeVar("_T")


class VectorWriter(BatchedWriter):
    """Puts each batch in; `ready` is called with its first passages, and makes the tables."""

    def __init__(
        self,
        engine: Engine,
        embedder: Embedder | None,
        language: str,
        ready: Callable[[list[Row]], None],
        on_commit: Callable[[int], None] = lambda _: None,
    ) -> None:
        super().__init__(embedder, language, on_commit)
        self._engine, self._ready, self._is_ready = engine, ready, False

    def put(self, file: str, prepared: Iterable[PreparedDocument]) -> int:
        return super().put(file, self._check_each(prepared))

    def _check_each(self, prepared: Iterable[PreparedDocument]) -> Iterator[PreparedDocument]:
        for each in prepared:
            rows.check_sizes(each, self._engine.longest)
            yield each

    def _commit(self, waiting: dict[str, list[PreparedDocument]]) -> Counter[str]:
        every = {each.document.id: each for documents in waiting.values() for each in documents}
        exists = self._is_ready or self._engine.settings() is not None
        facts = [fact("file", file) for file in waiting if file]
        facts += [fact("document", name) for name in every]
        entries = entries_with(self._engine, facts) if exists else []
        listed = {entry.document.id for entry in entries}
        counts: Counter[str] = Counter()
        gone: list[DocumentEntry] = []
        for file, documents in waiting.items():
            old = {entry.document.id: entry for entry in entries if entry.file == file}
            names = [each.document.id for each in documents]
            replaced = "" if self._beside else file
            gone += [old[name] for name in count_changes(replaced, old, names, counts)]
        new = [each for name, each in every.items() if name not in listed]
        passages = rows.passage_rows(new, self._embedder, self._language)
        if not self._is_ready:
            self._ready(passages)
            self._is_ready = True
        if exists:
            self._check_free(new, {entry.id for entry in gone})
        put_rows(self._engine, PASSAGES, passages)
        put_rows(self._engine, DOCUMENTS, (row for each in new for row in rows.text_rows(each.document)))
        of_files = [(file, each) for file, documents in waiting.items() for each in documents]
        known = {entry.id for entry in entries}
        entered = (rows.entry_row(file, each) for file, each in of_files)
        put_rows(self._engine, DOCUMENTS, (row for row in entered if row.id not in known))
        delete_entries(self._engine, gone)
        mark_change(self._engine)
        counts["passages"] += len(passages)
        return counts

    def _check_free(self, new: list[PreparedDocument], gone: Collection[str]) -> None:
        """Raise `InputError` where a passage's id stands for one of a document that stays."""
        owners = {row_id(each.id): each for document in new for each in document.passages}
        taken: dict[str, str] = {}
        for row, body in fetch_bodies(self._engine, list(owners)).items():
            document = rows.passage_in(body).document
            if document != owners[row].document:
                taken[document] = owners[row].id
        for entry in entries_with(self._engine, [fact("document", name) for name in taken]):
            if entry.id not in gone:
                raise InputError(f"passage {taken[entry.document.id]}: the id stands for another passage")


def entries_with(engine: Engine, facts: Collection[str]) -> list[DocumentEntry]:
    entries = {
        kept.id: rows.entry_in(kept.id, kept.body)
        for batch in _batches(sorted(facts))
        for kept in engine.scan(DOCUMENTS, batch)
    }
    return list(entries.values())


def fetch_bodies(engine: Engine, ids: list[str]) -> dict[str, str]:
    return {row: body for batch in _batches(ids) for row, body in engine.fetch(PASSAGES, batch).items()}


def put_rows(engine: Engine, table: Table, new: Iterable[Row]) -> None:
    """Write rows, batch by batch; a batch is no more than a server takes in one message."""
    batch: list[Row] = []
    size = 0
    for row in new:
        if batch and (len(batch) == BATCH or size + len(row.body) > _MESSAGE):
            engine.put(table, batch)
            batch, size = [], 0
        batch.append(row)
        size += len(row.body)
    if batch:
        engine.put(table, batch)


def mark_change(engine: Engine) -> None:
    """Note the moment of a change, in milliseconds: what was read before it is out of date."""
    now = time.time_ns()
    row = Row(id=_CHANGED, facts=[fact("kind", "changed")], body=str(now // 1_000_000), order=now)
    engine.put(DOCUMENTS, [row])


def delete_entries(engine: Engine, gone: Collection[DocumentEntry]) -> None:
    mine = {entry.id for entry in gone}
    names = sorted({entry.document.id for entry in gone})
    others = entries_with(engine, [fact("document", name) for name in names])
    shared = {entry.document.id for entry in others if entry.id not in mine}
    delete_documents(engine, [name for name in names if name not in shared])
    for batch in _batches(sorted(mine)):
        engine.erase(DOCUMENTS, ids=batch)


def delete_documents(engine: Engine, documents: Collection[str]) -> None:
    for batch in _batches(list(documents)):
        engine.erase(PASSAGES, facts=[fact("document", name) for name in batch])
        engine.erase(DOCUMENTS, facts=[fact("text", name) for name in batch])


def _batches(items: list[_T]) -> Iterator[list[_T]]:
    for start in range(0, len(items), BATCH):
        yield items[start : start + BATCH]
