"""Documents into PostgreSQL: prepared, embedded, and put in whole or not at all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from disputatio.errors import InputError
from disputatio.protocols import Embedder
from disputatio.store.ingesting.prepare import Prepared, metadata_json
from disputatio.store.remote.postgres_tables import Address, lock, reported
from disputatio.store.remote.qdrant_points import fact
from disputatio.store.segments.days import NO_DAY, first_day

if TYPE_CHECKING:
    from disputatio.store.ingesting.fingerprint import Fingerprint
    from disputatio.types import Passage

_BATCH = 512  # passages in a transaction, the last document's whole
_FIELDS = ("owner", "title", "url", "document")


class PostgresWriter:
    """What `put_files` writes to; several may write to one index at a time, in turns.

    A file is put whole in one transaction, several small ones together. `counts` has added, unchanged,
    replaced and removed documents, and passages put in.
    """

    def __init__(
        self,
        address: Address,
        connection: Any,
        embedder: Embedder | None,
        language: str,
        on_commit: Callable[[int], None] = lambda _: None,
    ) -> None:
        self._address, self._connection, self._embedder = address, connection, embedder
        self._language, self._on_commit = language, on_commit
        self.counts: Counter[str] = Counter()
        self.fingerprints: dict[str, Fingerprint] = {}
        self._waiting: dict[str, list[Prepared]] = {}  # by file
        self._passages = 0

    def put(self, file: str, prepared: Iterable[Prepared]) -> int:
        """Make the documents all that the index holds of `file`, and say how many they are.

        An empty name replaces nothing. Raises `InputError` of the iterable before anything changes.
        """
        documents = {each.document.id: each for each in prepared}
        if file and file in self._waiting:
            self.commit()
        self._waiting.setdefault(file, []).extend(documents.values())
        self._passages += sum(len(each.passages) for each in documents.values())
        if self._passages >= _BATCH:
            self.commit()
        return len(documents)

    def keep(self, print_of: Fingerprint) -> None:
        """Count a file as unchanged."""
        self.counts["unchanged"] += print_of.documents

    def remember(self, print_of: Fingerprint) -> None:
        """Nothing: files are read again, and documents that are in already are left alone."""

    def finish(self) -> None:
        """Commit what waits."""
        self.commit()

    def commit(self) -> None:
        """Put in what waits, in one transaction; raises `InputError`, `StoreError`."""
        waiting, self._waiting, self._passages = self._waiting, {}, 0
        if not waiting:
            return
        every = {each.document.id: each for documents in waiting.values() for each in documents}
        with reported(self._address, "reading"):
            known = self._held(list(every))
        rows = self._rows([each for name, each in every.items() if name not in known])
        counts: Counter[str] = Counter()
        try:
            with reported(self._address, "writing"), self._connection.transaction():
                lock(self._connection, self._address)
                gone: set[str] = set()
                for file, documents in waiting.items():
                    gone |= self._put_file(file, documents, counts)
                missing = [name for name in every if name not in rows and name not in self._held(list(every))]
                if missing:  # another writer took them out since
                    rows |= self._rows([every[name] for name in missing])
                held = self._held(list(every))
                for file, documents in waiting.items():
                    self._enter(file, documents, rows, held, counts)
                drop_unheld(self._connection, list(gone))
        except UnicodeEncodeError as error:
            raise InputError("a document holds half a character, which PostgreSQL cannot keep") from error
        self.counts.update(counts)
        self._on_commit(self.counts["passages"])

    # --- how it is done -----------------------------------------------------------------------------
    def _held(self, documents: list[str]) -> set[str]:
        found = self._connection.execute("SELECT id FROM documents WHERE id = ANY(%s)", (documents,))
        return {name for (name,) in found}

    def _put_file(self, file: str, documents: list[Prepared], counts: Counter[str]) -> set[str]:
        """Take out what the file no longer holds, and count; which documents it was."""
        names = [each.document.id for each in documents]
        old = {
            name
            for (name,) in self._connection.execute("SELECT document FROM entries WHERE file = %s", (file,))
        }
        fresh = len(set(names) - old)
        gone = list(old - set(names)) if file else []
        if gone:
            self._connection.execute(
                "DELETE FROM entries WHERE file = %s AND document = ANY(%s)", (file, gone)
            )
        replaced = min(len(gone), fresh)
        counts["replaced"] += replaced
        counts["added"] += fresh - replaced
        counts["removed"] += len(gone) - replaced
        counts["unchanged"] += len(names) - fresh
        return set(gone)

    def _enter(
        self,
        file: str,
        documents: list[Prepared],
        rows: dict[str, list[tuple[Any, ...]]],
        held: set[str],
        counts: Counter[str],
    ) -> None:
        """Put the documents of a file in that are not there."""
        for each in documents:
            about = each.document
            if about.id not in held:
                held.add(about.id)
                fields = (about.id, about.title, about.url, about.date, about.date_origin)
                self._connection.execute(
                    "INSERT INTO documents VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s)",
                    (*map(_kept, (*fields, about.source, about.owner, each.metadata, about.text)),),
                )
                counts["passages"] += self._put_passages(rows[about.id])
            self._connection.execute(
                "INSERT INTO entries VALUES (%s, %s, %s, %s) ON CONFLICT DO NOTHING",
                (file, about.id, _kept(about.path), about.row),
            )

    def _put_passages(self, rows: list[tuple[Any, ...]]) -> int:
        """Put the passages of a document in with their postings; raises `InputError` for a taken id."""
        names = [row[0][0] for row in rows]
        taken = self._connection.execute(
            "SELECT p.id FROM passages p JOIN entries e USING (document) WHERE p.id = ANY(%s)", (names,)
        ).fetchone()
        if taken is not None:
            raise InputError(f"passage {taken[0]}: the id stands for another passage")
        self._connection.execute(  # left by a document that this one takes the place of
            "DELETE FROM postings WHERE row IN (SELECT row FROM passages WHERE id = ANY(%s))", (names,)
        )
        self._connection.execute("DELETE FROM passages WHERE id = ANY(%s)", (names,))
        columns = "id, document, source, first, past, metadata, text, day, length, facts"
        if self._embedder is not None:
            columns += ", vector"
        marks = ", ".join(["%s"] * (columns.count(",") + 1))
        postings = []
        for passage, terms in rows:
            row = self._connection.execute(
                f"INSERT INTO passages ({columns}) VALUES ({marks}) RETURNING row", passage
            ).fetchone()[0]
            postings += [(term, row, frequency, passage[8]) for term, frequency in terms]
        with self._connection.cursor().copy("COPY postings FROM STDIN") as copy:
            for posting in postings:
                copy.write_row(posting)
        return len(rows)

    def _rows(self, documents: list[Prepared]) -> dict[str, list[tuple[Any, ...]]]:
        """For each document: the row of each passage, and its terms with their frequencies."""
        import numpy as np

        from disputatio.store.segments.terms import count, searched_text

        passages = [passage for each in documents for passage in each.passages]
        if not passages:
            return {each.document.id: [] for each in documents}
        titles, texts = [each.title for each in passages], [each.text for each in passages]
        counted = count(titles, texts, self._language)
        vectors: list[str | None] = [None] * len(passages)
        if self._embedder is not None:
            searched = [searched_text(title, text) for title, text in zip(titles, texts, strict=True)]
            vectors = [vector_text(row) for row in self._embedder.embed(searched)]
        result: dict[str, list[tuple[Any, ...]]] = {}
        at = begin = 0
        for each in documents:
            result[each.document.id] = []
            for passage in each.passages:
                tokens = counted.hashes[counted.tokens[begin : int(counted.ends[at])]].view(np.int64)
                begin = int(counted.ends[at])
                terms, frequencies = np.unique(tokens, return_counts=True)
                row = [*_columns(passage, each), tokens.size, _facts(passage)]
                if self._embedder is not None:
                    row.append(vectors[at])
                pairs = list(zip(terms.tolist(), frequencies.tolist(), strict=True))
                result[each.document.id].append((row, pairs))
                at += 1
        return result


def remove(
    connection: Any, sources: Collection[str], paths: Iterable[str], documents: Collection[str]
) -> int:
    """Take out the documents of sources, of files or folders, or by id; how many there were."""
    clauses: list[tuple[str, tuple[Any, ...]]] = [
        ("d.source = ANY(%s)", (list(sources),)),
        ("d.id = ANY(%s)", (list(documents),)),
    ]
    for path in paths:
        for name in {path, str(Path(path).resolve())}:
            folder = name.rstrip("/") + "/"
            clauses.append(("e.path = %s OR e.file = %s OR starts_with(e.file, %s)", (name, name, folder)))
    where = " OR ".join(f"({sql})" for sql, _ in clauses)
    gone = connection.execute(
        "DELETE FROM entries x USING entries e JOIN documents d ON d.id = e.document "
        f"WHERE x.file = e.file AND x.document = e.document AND ({where}) RETURNING x.document",
        [value for _, given in clauses for value in given],
    ).fetchall()
    drop_unheld(connection, [name for (name,) in gone])
    return len(gone)


def drop_unheld(connection: Any, documents: list[str]) -> None:
    """Take out those of the documents that no file stands for, with their passages."""
    if not documents:
        return
    gone = [
        name
        for (name,) in connection.execute(
            "SELECT id FROM documents d WHERE id = ANY(%s) "
            "AND NOT EXISTS (SELECT 1 FROM entries e WHERE e.document = d.id)",
            (documents,),
        )
    ]
    rows = "SELECT row FROM passages WHERE document = ANY(%s)"
    connection.execute(f"DELETE FROM postings WHERE row IN ({rows})", (gone,))
    connection.execute("DELETE FROM passages WHERE document = ANY(%s)", (gone,))
    connection.execute("DELETE FROM documents WHERE id = ANY(%s)", (gone,))


def vector_text(vector: Any) -> str:
    """A vector as pgvector reads it.

    >>> vector_text([0.5, 1.0])
    '[0.5,1.0]'
    """
    return "[" + ",".join(map(str, vector.tolist() if hasattr(vector, "tolist") else vector)) + "]"


def _columns(passage: Passage, prepared: Prepared) -> list[Any]:
    """The columns of a passage up to its day."""
    shared = passage.metadata is prepared.document.metadata
    day = first_day(passage.date)
    return [
        passage.id,
        passage.document,
        _kept(passage.source),
        passage.start,
        passage.end,
        None if shared else _kept(metadata_json(passage.metadata)),
        _kept(passage.text),
        None if day == NO_DAY else int(day),
    ]


def _facts(passage: Passage) -> list[str]:
    fields = [(name, getattr(passage, name)) for name in _FIELDS] + list(passage.metadata.items())
    return [_kept(fact(str(name), str(value))) for name, value in fields if value]


def _kept(text: str) -> str:
    """A text as PostgreSQL can keep it: without the character zero."""
    return text.replace("\x00", " ") if "\x00" in text else text
