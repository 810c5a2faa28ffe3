"""Documents into PostgreSQL: prepared, embedded, and put in whole or not at all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import Any

from disputatio.errors import InputError
from disputatio.protocols import Embedder
from disputatio.store.ingesting.prepare import Prepared, metadata_json
from disputatio.store.remote.batched_writer import BatchedWriter, counted_terms, dropped
from disputatio.store.remote.postgres_tables import Address, lock, reported
from disputatio.store.remote.served import facts_of
from disputatio.store.segments.days import NO_DAY, first_day
from disputatio.types import Passage


class PostgresWriter(BatchedWriter):
    """Puts each batch in by one transaction; several may write to one index at a time, in turns."""

    def __init__(
        self,
        address: Address,
        connection: Any,
        embedder: Embedder | None,
        language: str,
        on_commit: Callable[[int], None] = lambda _: None,
    ) -> None:
        super().__init__(embedder, language, on_commit)
        self._address, self._connection = address, connection

    def _commit(self, waiting: dict[str, list[Prepared]]) -> Counter[str]:
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
        return counts

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
        gone = dropped(file, old, names, counts)
        if gone:
            self._connection.execute(
                "DELETE FROM entries WHERE file = %s AND document = ANY(%s)", (file, list(gone))
            )
        return gone

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

        passages = [passage for each in documents for passage in each.passages]
        if not passages:
            return {each.document.id: [] for each in documents}
        found, vectors = counted_terms(passages, self._language, self._embedder)
        result: dict[str, list[tuple[Any, ...]]] = {}
        at = 0
        for each in documents:
            result[each.document.id] = []
            for passage in each.passages:
                terms, frequencies = np.unique(found[at].view(np.int64), return_counts=True)
                facts = [_kept(each) for each in facts_of(passage)]
                row = [*_columns(passage, each), found[at].size, facts]
                if vectors is not None:
                    row.append(vector_text(vectors[at]))
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


def _kept(text: str) -> str:
    """A text as PostgreSQL can keep it: without the character zero."""
    return text.replace("\x00", " ") if "\x00" in text else text
