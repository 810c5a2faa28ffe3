"""The one writer of an index: documents are queued, embedded in batches, and committed."""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from disputatio.errors import InputError, StoreError
from disputatio.protocols import Embedder
from disputatio.store.ingesting.documents import Document
from disputatio.store.ingesting.history import History, Row, about_of, own_row, reapply_description
from disputatio.store.ingesting.ingest import Statements
from disputatio.store.ingesting.prepare import PreparedDocument, metadata_of
from disputatio.store.ingesting.statements import read_metadata, write_metadata
from disputatio.store.record.database import RecordFile
from disputatio.store.record.manifest import SegmentEntry, check_command, lock_index, report_faults
from disputatio.store.record.transaction import FAN, Transaction, choose_stemmer, due
from disputatio.store.segments.terms import make_search_text
from disputatio.types import Passage

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from disputatio.store.ingesting.ingest import Fingerprint

_BATCH = 256
"""Passages in the first batch that is embedded; later ones are as many as take two seconds."""
_LARGEST = 8192
_SECONDS = 2.0
_ROWS = 8192  # passages that are described anew together


class Writer:
    """Holds the index's lock from entering to leaving; leaving does not write, `finish` does. New documents
    are committed batch by batch, and acknowledged to `on_commit`; a file that is in the index already changes
    in one commit. `counts` has documents by what became of them, and passages.
    """

    def __init__(
        self,
        path: Path,
        embedder: Embedder | None,
        ensure: Callable[[], Transaction],
        on_commit: Callable[[int], None] = lambda _: None,
    ) -> None:
        """`ensure` opens or makes the index on disk; it is called once the lock is taken."""
        self._path, self._embedder, self._ensure, self._on_commit = path, embedder, ensure, on_commit
        self._held = contextlib.ExitStack()
        self.counts: Counter[str] = Counter()
        self.fingerprints: dict[str, Fingerprint] = {}
        self._documents: list[PreparedDocument] = []
        self._passages: list[Passage] = []
        self._metadata: list[str] = []
        self._vectors: list[NDArray[np.float32] | None] = []
        self._unembedded = 0  # queued passages without a vector
        self._uncommitted = 0  # passages that wait for a switch
        self._dropped_entries: dict[tuple[str, str], None] = {}  # a file and a document's id
        self._dropped: dict[str, None] = {}  # documents that nothing stands for any longer
        self._holders: Counter[str] = Counter()  # document id -> how many files stand for it
        self._by_file: dict[str, str | dict[str, None]] = {}  # file -> its document's id, or several
        self._queued: dict[str, bool] = {}  # documents whose passages are queued; False: dropped again
        self._prints: dict[str, Fingerprint] = {}
        self._unknown: dict[str, None] = {}
        self._statements: list[Statements] = []
        self._replacing = False
        self._pending = False  # rows are written that wait for a switch
        self._batch, self._since = (_LARGEST if embedder is None else _BATCH), 0.0

    def __enter__(self) -> Self:
        with report_faults(self._path, "making the index"):
            self._path.mkdir(parents=True, exist_ok=True)
        with contextlib.ExitStack() as stack:
            stack.enter_context(lock_index(self._path))
            self.transaction = self._ensure()
            stack.callback(self.transaction.close)
            for file, identity in self.transaction.record.identities():
                self._note(file, identity)
            self.fingerprints = self.transaction.record.fingerprints()
            self._since = time.perf_counter()
            self._held = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._held.close()

    # --- what callers do ----------------------------------------------------------------------------
    def holds(self, document: str) -> bool:
        """Return whether the passages of a document, by its id, are in the index or in the queue."""
        return self._holders[document] > 0

    def put(self, file: str, prepared: Iterable[PreparedDocument]) -> int:
        """Make the documents all of `file`, if named, and count them; an `InputError` leaves what was."""
        old = self._known(file)
        seen: dict[str, None] = {}
        self._replacing = bool(old)
        try:
            fresh, same = self._put_each(file, prepared, old, seen)
        except InputError:
            for identity in [name for name in seen if name not in old] if file else []:
                self._drop(file, identity)
            raise
        finally:
            self._replacing = False
        gone = [identity for identity in old if identity not in seen]
        for identity in gone:
            self._drop(file, identity)
        replaced = min(len(gone), fresh)
        self.counts["replaced"] += replaced
        self.counts["added"] += fresh - replaced
        self.counts["removed"] += len(gone) - replaced
        self.counts["unchanged"] += same
        self._forget(file)
        self._flush_if_full()
        return fresh + same

    def keep(self, print_of: Fingerprint) -> None:
        self.counts["unchanged"] += print_of.documents or len(self._known(print_of.path))
        if print_of != self.fingerprints.get(print_of.path):
            self.remember(print_of)

    def remember(self, print_of: Fingerprint) -> None:
        """Know a file whose documents have been put by its fingerprint."""
        self._prints[print_of.path] = self.fingerprints[print_of.path] = print_of
        self._unknown.pop(print_of.path, None)

    def remove(self, condition: str, values: Sequence[object]) -> int:
        """Take out the documents that meet a condition (see `RecordFile.find_matching`); how many."""
        entries = [
            entry
            for entry in self.transaction.record.find_matching(condition, values)
            if entry not in self._dropped_entries  # by another condition
        ]
        for file, identity in entries:
            self._drop(file, identity)
            self._forget(file)
        self.counts["removed"] += len(entries)
        return len(entries)

    def put_back(self, file: str, prepared: PreparedDocument) -> None:
        if prepared.document.id not in self._known(file):
            self._queue(file, prepared)
            self.counts["added"] += 1

    def describe(self, statements: Statements) -> None:
        self._statements.append(statements)

    def state(self, rows: Sequence[Row]) -> None:
        """Add rows to the history of what people stated; `finish` puts them in force."""
        self.commit()
        if rows:
            self.transaction.record.insert("descriptions", rows)

    def finish(self) -> None:
        self.commit()
        record = self.transaction.record
        if self._statements:
            places = list(record.places())
            fresh = [each for state in self._statements for place in places for each in state(*place)]
            self.state(history_of(record).rows_of(fresh))
            self._statements = []
        self.counts["described"] += restate(self.transaction)

    def commit(self) -> None:
        self._write_queued()
        if not (self._pending or self._dropped_entries or self._prints or self._unknown):
            return
        self.transaction.switch(
            drop_entries=list(self._dropped_entries),
            drop_documents=self._dropped,
            prints=list(self._prints.values()),
            unknown=list(self._unknown),
        )
        self.counts["passages"] += self._uncommitted
        self._uncommitted, self._pending = 0, False
        self._dropped_entries, self._dropped = {}, {}
        self._prints, self._unknown = {}, {}
        self._on_commit(self.counts["passages"])
        self.transaction.merge_due()
        self._since = time.perf_counter()

    # --- how it is done -----------------------------------------------------------------------------
    def _put_each(
        self, file: str, prepared: Iterable[PreparedDocument], old: dict[str, None], seen: dict[str, None]
    ) -> tuple[int, int]:
        fresh = same = 0
        for document in prepared:
            identity = document.document.id
            known = identity in old or identity in seen or (not file and self._holders[identity] > 0)
            seen[identity] = None
            if known:
                same += 1
                continue
            fresh += 1
            self._flush_if_full()
            self._queue(file, document)
        return fresh, same

    def _known(self, file: str) -> dict[str, None]:
        """Return the ids of the documents that the index holds, or will hold, of a file."""
        known = self._by_file.get(file, {})
        return {known: None} if isinstance(known, str) else dict(known)

    def _note(self, file: str, identity: str) -> None:
        self._holders[identity] += 1
        if not file:  # what has no file is never replaced
            return
        known = self._by_file.setdefault(file, identity)
        if isinstance(known, dict):
            known[identity] = None
        elif known != identity:
            self._by_file[file] = {known: None, identity: None}

    def _unnote(self, file: str, identity: str) -> bool:
        known = self._by_file.get(file)
        if isinstance(known, dict) and identity in known:
            del known[identity]
        elif known == identity:
            del self._by_file[file]
        elif file:
            return False
        self._holders[identity] -= 1
        return True

    def _queue(self, file: str, prepared: PreparedDocument) -> None:
        identity = prepared.document.id
        entry = (file, identity)
        there = self._holders[identity] > 0
        self._note(file, identity)
        if entry in self._dropped_entries:  # its row is there still
            del self._dropped_entries[entry]
        else:
            self._documents.append(prepared)
        if identity in self._dropped:  # so are its passages
            del self._dropped[identity]
        elif identity in self._queued:
            self._queued[identity] = True
        elif not there:
            self._queued[identity] = True
            self._passages += prepared.passages
            self._metadata += (metadata_of(passage, prepared) for passage in prepared.passages)
            if prepared.vectors is None:
                self._vectors += [None] * len(prepared.passages)
                self._unembedded += len(prepared.passages)
            else:
                self._vectors += list(prepared.vectors)

    def _drop(self, file: str, identity: str) -> None:
        if not self._unnote(file, identity):
            return
        self._dropped_entries[file, identity] = None
        if not self._holders[identity]:
            del self._holders[identity]
            if identity in self._queued:
                self._queued[identity] = False
            else:
                self._dropped[identity] = None

    def _forget(self, file: str) -> None:
        if self.fingerprints.pop(file, None) is not None:
            self._prints.pop(file, None)
            self._unknown[file] = None

    def _flush_if_full(self) -> None:
        count = len(self._passages)
        late = count > 0 and time.perf_counter() - self._since > _SECONDS
        if self._embedder is None:
            full = late or count >= self._batch
        elif self._unembedded:
            full = count >= self._batch
        else:  # they came with their vectors: a commit costs more than they do
            full = count >= _LARGEST or (late and count >= _BATCH)
        if not full:
            return
        if self._replacing:
            self._write_queued()
        else:
            self.commit()

    def _write_queued(self) -> None:
        if not self._documents:
            return
        if not all(self._queued.values()):
            queued = [
                number for number, passage in enumerate(self._passages) if self._queued[passage.document]
            ]
            self._passages = [self._passages[number] for number in queued]
            self._metadata = [self._metadata[number] for number in queued]
            self._vectors = [self._vectors[number] for number in queued]
        self._check_ids()
        self.transaction.add(self._documents, self._passages, self._metadata, self._embed_queue())
        self._uncommitted += len(self._passages)
        self._pending = True
        self._documents, self._passages, self._metadata, self._vectors = [], [], [], []
        self._queued, self._unembedded = {}, 0

    def _check_ids(self) -> None:
        """Raise `InputError` when a passage came with an id that stands for another passage already."""
        taken = self.transaction.taken([passage.id for passage in self._passages], self._dropped)
        if taken:
            raise InputError(
                f"the id {taken[0]!r} stands for another passage of {self._path} already; "
                "give the passage another id, or delete that one first"
            )

    def _embed_queue(self) -> NDArray[np.float32] | None:
        """Return the vectors of the queue, shape (passages, dimension); None for an index of keywords."""
        if self._embedder is None or not self._passages:
            return None
        import numpy as np

        start = time.perf_counter()
        without = [number for number, vector in enumerate(self._vectors) if vector is None]
        embedded = self._embedder.embed([make_search_text(self._passages[number]) for number in without])
        if len(without) == len(self._passages):
            vectors = embedded
        else:
            vectors = np.zeros((len(self._passages), self._embedder.dimension), dtype=np.float32)
            with_vectors = [number for number, vector in enumerate(self._vectors) if vector is not None]
            vectors[with_vectors] = [self._vectors[number] for number in with_vectors]
            if without:
                vectors[without] = embedded
        if without:
            rate = len(without) / max(time.perf_counter() - start, 1e-6)
            self._batch = int(max(_BATCH, min(_LARGEST, rate * _SECONDS)))
        return np.ascontiguousarray(vectors, dtype=np.float32)


# --- what people state, put in force in the rows of the record ---------------------------------------
def restate(transaction: Transaction) -> int:
    """Put in force, in one commit, what people state of documents; how many of them changed."""
    record = transaction.record
    history = history_of(record)
    if not history:
        return 0
    own, wanted = history.own, history.find_stated(record.places())
    changed: list[str] = []
    fresh: list[tuple[Any, ...]] = []
    segments = SegmentBuilder(transaction)
    waiting: list[Passage] = []
    vectors: list[NDArray[np.float32]] = []
    for document in dict.fromkeys([*wanted, *own]):
        about, stated = record.about(document), wanted.get(document, {})
        if about is None or read_metadata(about["metadata"]).get("by_people", {}) == stated:
            continue
        if document not in own:
            own[document] = about
            fresh.append(own_row(document, about))
        passages, numbers = _restate_one(record, document, own[document], stated)
        changed.append(document)
        waiting += passages
        vectors += [] if numbers is None else [numbers]
        if len(waiting) >= _ROWS:
            segments.add(waiting, _join_vectors(vectors))
            waiting, vectors = [], []
    if fresh:
        record.insert("descriptions", fresh)
    segments.add(waiting, _join_vectors(vectors))
    if not (changed or record.is_writing):
        return 0
    names = set(changed)
    entries = [
        transaction.without(entry, names) if names else entry for entry in transaction.manifest.segments
    ]
    transaction.put_in_force([*entries, *segments.entries])
    transaction.merge_due()
    return len(changed)


def _restate_one(
    record: RecordFile, document: str, own: Mapping[str, str], stated: Mapping[str, str]
) -> tuple[list[Passage], NDArray[np.float32] | None]:
    """Change the rows of a document; its passages as they are now, with their vectors."""
    rows = record.rows_of(document)
    passages, vectors = record.batch_of(rows)
    now = [reapply_description(passage, own, stated) for passage in passages]
    first = Document(text="", url=own["url"], metadata=read_metadata(own["metadata"])["metadata"])
    about = about_of(reapply_description(first, own, stated))
    record.restate(document, about, rows, [write_metadata(passage) for passage in now])
    return now, vectors


def _join_vectors(vectors: Sequence[NDArray[np.float32]]) -> NDArray[np.float32] | None:
    import numpy as np

    return np.concatenate(vectors) if vectors else None


# --- new vectors for every passage --------------------------------------------------------------------
_EMBEDDED = 256

Progress = Callable[[int, int], None]


def reembed(transaction: Transaction, embedder: Embedder | None, progress: Progress = lambda *_: None) -> int:
    """Give every passage a new vector, or none; how many there are. Raises `StoreError`."""
    record, total = transaction.record, transaction.manifest.passages
    segments = SegmentBuilder(transaction)
    done = 0
    for rows in record.passage_rows(_ROWS):
        passages = record.batch_of(rows).passages
        vectors = None
        if embedder is not None:
            vectors = _embed(embedder, passages, lambda part, done=done: progress(done + part, total))  # type: ignore[misc]
        record.set_vectors(rows, vectors)
        segments.add(passages, vectors)
        done += len(passages)
        progress(done, total)
    if done != total:
        raise StoreError(
            f"{transaction.path}: {total} passages are on record and {done} could be read; run: "
            f"{check_command(transaction.path)}"
        )
    transaction.put_in_force(
        segments.entries,
        embedder="" if embedder is None else embedder.name,
        dimension=0 if embedder is None else embedder.dimension,
    )
    return done


def _embed(
    embedder: Embedder, passages: list[Passage], progress: Callable[[int], None]
) -> NDArray[np.float32]:
    """Embed passages in parts of 256; `progress` gets the number done after each."""
    import numpy as np

    parts = []
    for at in range(0, len(passages), _EMBEDDED):
        part = passages[at : at + _EMBEDDED]
        parts.append(embedder.embed([*map(make_search_text, part)]))
        progress(at + len(part))
    return np.concatenate(parts).astype(np.float32, copy=False)


class SegmentBuilder:
    """Segments of a stream of passages, few in number however many passages there are."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction
        self.entries: list[SegmentEntry] = []

    def add(self, passages: list[Passage], vectors: NDArray[np.float32] | None) -> None:
        """Save one more segment; eight of a size become one."""
        from disputatio.store.segments.segment import Segment

        if not passages:
            return
        language = choose_stemmer(self._transaction.manifest.language)
        self.entries.append(self._transaction.save(Segment.build(passages, vectors, language=language)))
        while len(self.entries) >= FAN and (group := due(self.entries)):
            merged = self._transaction.merge_group(group)
            gone = {entry.name for entry in group}
            self.entries = [merged, *(entry for entry in self.entries if entry.name not in gone)]
            self._transaction.discard(gone)


# --- single documents ---------------------------------------------------------------------------------
_AT_ONCE = 500  # ids in one statement
_OWN = (
    "(SELECT {} FROM entries o JOIN documents n ON n.key = o.document WHERE n.id = ?1 AND o.row > 0 LIMIT 1)"
)


def history_of(record: RecordFile) -> History:
    return History(record.descriptions())


def find_muted_documents(record: RecordFile) -> list[str]:
    wanted = history_of(record).find_stated(record.places())
    return [name for name, fields in wanted.items() if fields.get("mute") == "yes"]


def document_of(record: RecordFile, document: str) -> Iterator[dict[str, Any]]:
    yield from record.documents_of("entries", "WHERE d.id = ? ORDER BY e.path, e.row", document, text=True)


def facts_of(record: RecordFile, documents: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    """Yield id, file, size, hash, moment of reading and number of passages of some documents."""
    counted = "(SELECT count(*) FROM passages p WHERE p.document = d.key)"
    for first in range(0, len(documents), _AT_ONCE):
        some = documents[first : first + _AT_ONCE]
        yield from record.rows(
            f"SELECT d.id, e.file, f.size, f.hash, f.seen_ns, {counted} FROM documents d "
            "JOIN entries e ON e.document = d.key LEFT JOIN files f ON f.path = e.file "
            f"WHERE d.id IN ({', '.join('?' * len(some))})",
            some,
        )


def siblings_of(record: RecordFile, document: str, count: int) -> list[dict[str, Any]]:
    """Return the rows of the table that a document is a row of, up to `count` on either side."""
    where = f"WHERE e.path = {_OWN.format('o.path')} AND e.row {{}} {_OWN.format('o.row')} "
    order = "ORDER BY e.row {} LIMIT ?2"
    before = (where + order).format("<", "DESC")
    after = (where + order).format(">=", "ASC")
    return [
        *list(record.documents_of("entries", before, document, count, text=True))[::-1],
        *record.documents_of("entries", after, document, count + 1, text=True),
    ]


# --- a document that is taken out and put back --------------------------------------------------------
def taken_of(record: RecordFile, document: str) -> dict[str, Any]:
    """Return what is kept of a document that is taken out; raises `InputError` for none."""
    about = record.about(document)
    if about is None:
        raise InputError(f"there is no document {document[:80]!r}")
    [text, *_] = [row["text"] for row in document_of(record, document)]
    places = [[file, path, row] for file, path, row, name in record.places() if name == document]
    prints = record.fingerprints()
    return {
        "id": document,
        "about": history_of(record).own.get(document, about),
        "text": text,
        "places": places,
        "passages": [[row[1], row[3], row[4]] for row in record.rows_of(document)],
        "prints": [asdict(prints[file]) for file, _, row in places if not row and file in prints],
    }
