"""Documents into PostgreSQL: prepared, embedded, and put in whole or not at all."""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from disputatio.errors import InputError
from disputatio.protocols import Embedder
from disputatio.store.ingesting.prepare import PreparedDocument
from disputatio.store.ingesting.statements import write_metadata
from disputatio.store.remote.postgres_tables import PostgresAddress, lock, report_faults
from disputatio.store.remote.served import facts_of
from disputatio.store.remote.served_index import BatchedWriter, count_and_embed, count_changes
from disputatio.store.segments.days import NO_DAY, first_day
from disputatio.types import Passage

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from disputatio.store.segments.terms import Counted


class PostgresWriter(BatchedWriter):
    """Puts each batch in by one transaction; several may write to one index at a time, in turns."""

    def __init__(
        self,
        address: PostgresAddress,
        connection: Any,
        embedder: Embedder | None,
        language: str,
        on_commit: Callable[[int], None] = lambda _: None,
    ) -> None:
        super().__init__(embedder, language, on_commit)
        self._address, self._connection = address, connection

    def _commit(self, waiting: dict[str, list[PreparedDocument]]) -> Counter[str]:
        every = {each.document.id: each for documents in waiting.values() for each in documents}
        with report_faults(self._address, "reading"):
            known = self._find_documents(list(every))
        batches = [self._rows([each for name, each in every.items() if name not in known])]
        counts: Counter[str] = Counter()
        try:
            with report_faults(self._address, "writing"), self._connection.transaction():
                lock(self._connection, self._address)
                gone: set[str] = set()
                for file, documents in waiting.items():
                    gone |= self._put_file(file, documents, counts)
                stored = self._find_documents(list(every))
                missing = [name for name in every if name in known and name not in stored]
                if missing:  # another writer took them out since
                    batches.append(self._rows([every[name] for name in missing]))
                for rows in batches:
                    counts["passages"] += self._put_documents(rows, stored)
                self._enter(waiting)
                drop_unheld(self._connection, list(gone))
        except UnicodeEncodeError as error:
            raise InputError("a document holds half a character, which PostgreSQL cannot keep") from error
        return counts

    # --- how it is done -----------------------------------------------------------------------------
    def _find_documents(self, documents: list[str]) -> set[str]:
        stored = self._connection.execute("SELECT id FROM documents WHERE id = ANY(%s)", (documents,))
        return {name for (name,) in stored}

    def _put_file(self, file: str, documents: list[PreparedDocument], counts: Counter[str]) -> set[str]:
        """Delete and count the documents that the file no longer holds, and return their ids."""
        names = [each.document.id for each in documents]
        old = {
            name
            for (name,) in self._connection.execute("SELECT document FROM entries WHERE file = %s", (file,))
        }
        gone = count_changes("" if self._beside else file, old, names, counts)
        if gone:
            self._connection.execute(
                "DELETE FROM entries WHERE file = %s AND document = ANY(%s)", (file, list(gone))
            )
        return gone

    def _enter(self, waiting: dict[str, list[PreparedDocument]]) -> None:
        entries = [(file, each.document) for file, documents in waiting.items() for each in documents]
        self._connection.execute(
            "INSERT INTO entries SELECT * FROM unnest(%s::text[], %s::text[], %s::text[], %s::int[]) "
            "ON CONFLICT DO NOTHING",
            (
                [file for file, _ in entries],
                [about.id for _, about in entries],
                [about.path.replace("\x00", " ") for _, about in entries],
                [about.row for _, about in entries],
            ),
        )

    def _put_documents(self, rows: _Rows, stored: set[str]) -> int:
        """Put in documents that are not stored; how many passages. Raises `InputError` for a taken id."""
        new = [each for each in rows.documents if each.document.id not in stored]
        passages = [passage.id for each in new for passage in each.passages]
        taken = [name for name, times in Counter(passages).items() if times > 1]
        taken += [
            name
            for (name,) in self._connection.execute(
                "SELECT p.id FROM passages p JOIN entries e USING (document) WHERE p.id = ANY(%s) LIMIT 1",
                (passages,),
            )
        ]
        if taken:
            raise InputError(f"passage {taken[0]}: the id stands for another passage")
        # Passages left by a document that one of these takes the place of.
        _drop_passages(self._connection, "id", passages)
        numbers = [
            number
            for (number,) in self._connection.execute(
                "SELECT nextval('passages_row_seq') FROM generate_series(1, %s)", (len(passages),)
            )
        ]
        copy_rows(self._connection, "documents", _DOCUMENT, map(_document_row, new))
        chosen = [at for each in new for at in rows.places[each.document.id]]
        owners = [each for each in new for _ in each.passages]
        data = (
            rows.passage(number, at, prepared)
            for number, at, prepared in zip(numbers, chosen, owners, strict=True)
        )
        columns = _PASSAGE if self._embedder is None else _PASSAGE | _VECTOR
        copy_rows(self._connection, "passages", columns, data)
        copy_postings(self._connection, rows.postings(numbers, chosen))
        self._connection.execute(
            "UPDATE disputatio_index SET passages = passages + %s, terms = terms + %s",
            (len(passages), int(rows.lengths[chosen].sum())),
        )
        return len(passages)

    def _rows(self, documents: list[PreparedDocument]) -> _Rows:
        passages = [passage for document in documents for passage in document.passages]
        return _Rows(documents, passages, *count_and_embed(passages, self._language, self._embedder))


class _Rows:
    """Passages ready to be copied: `places` are the positions of each document's, `lengths` their terms."""

    def __init__(
        self,
        documents: list[PreparedDocument],
        passages: list[Passage],
        counted: Counted,
        vectors: NDArray[np.float32] | None,
    ) -> None:
        import numpy as np

        from disputatio.store.segments import minhash

        self.documents, self._passages, self._vectors = documents, passages, vectors
        self._sketches = minhash.sketch(counted)
        self.lengths = np.diff(counted.ends, prepend=0)
        self.places: dict[str, range] = {}
        for each in documents:
            begin = next(reversed(self.places.values())).stop if self.places else 0
            self.places[each.document.id] = range(begin, begin + len(each.passages))
        terms = counted.hashes[counted.tokens].view(np.int64)
        owners = np.repeat(np.arange(len(passages)), self.lengths)
        order = np.lexsort((terms, owners))
        terms, owners = terms[order], owners[order]
        firsts = np.flatnonzero(
            np.r_[terms.size > 0, (terms[1:] != terms[:-1]) | (owners[1:] != owners[:-1])]
        )
        self._terms, self._owners = terms[firsts], owners[firsts]
        self._frequencies = np.diff(np.r_[firsts, terms.size]).astype(np.int32)

    def passage(self, number: int, at: int, prepared: PreparedDocument) -> list[object]:
        passage = self._passages[at]
        day = first_day(passage.date)
        shared = passage.metadata is prepared.document.metadata
        fields = [
            number,
            *map(plain, (passage.id, passage.document, passage.source)),
            passage.start,
            passage.end,
            None if shared else plain(write_metadata(passage)),
            plain(passage.text),
            None if day == NO_DAY else int(day),
            int(self.lengths[at]),
            [*map(plain, facts_of(passage))],
            self._sketches[at].tobytes(),
        ]
        if self._vectors is not None:
            vector = self._vectors[at]
            fields.append(struct.pack(">hh", len(vector), 0) + vector.astype(">f4").tobytes())
        return fields

    def postings(self, rows: list[int], chosen: Sequence[int]) -> bytes:
        """Return the postings of some passages, by term: an index takes rows in order fastest."""
        import numpy as np

        number = np.full(len(self._passages), -1, dtype=np.int64)
        number[chosen] = rows
        postings = np.flatnonzero(number[self._owners] >= 0)
        postings = postings[np.argsort(self._terms[postings], kind="stable")]
        owners = self._owners[postings]
        lengths = self.lengths[owners].astype(np.int32)
        return numbers((self._terms[postings], number[owners], self._frequencies[postings], lengths))


def put_anew(connection: Any, prepared: Sequence[PreparedDocument], language: str) -> None:
    """Change what is kept of documents and their passages but for their texts, ids and vectors."""
    every = list({each.document.id: each for each in prepared}.values())
    owners = [each for each in every for _ in each.passages]
    passages = [passage for each in every for passage in each.passages]
    if not every:
        return
    rows = _Rows(every, passages, *count_and_embed(passages, language, None))
    stored = connection.execute(
        "SELECT id, row, length FROM passages WHERE id = ANY(%s)", ([passage.id for passage in passages],)
    ).fetchall()
    numbers = {name: number for name, number, _ in stored}
    cursor = connection.cursor()
    cursor.executemany(
        "UPDATE documents SET title = %s, date = %s, date_origin = %s, source = %s, owner = %s, "
        "metadata = %s WHERE id = %s",
        [
            (about.title, about.date, about.date_origin, about.source, about.owner, each.metadata, about.id)
            for each in every
            for about in (each.document,)
        ],
    )
    fields = "source = %s, metadata = %s, day = %s, length = %s, facts = %s"
    changed = []
    for at, (passage, owner) in enumerate(zip(passages, owners, strict=True)):
        day, metadata = first_day(passage.date), write_metadata(passage)
        changed.append(
            (
                passage.source,
                None if metadata == owner.metadata else metadata,
                None if day == NO_DAY else int(day),
                int(rows.lengths[at]),
                facts_of(passage),
                passage.id,
            )
        )
    cursor.executemany(f"UPDATE passages SET {fields} WHERE id = %s", changed)
    connection.execute("DELETE FROM postings WHERE row = ANY(%s)", (list(numbers.values()),))
    chosen = range(len(passages))
    copy_postings(connection, rows.postings([numbers[each.id] for each in passages], chosen))
    more = int(rows.lengths.sum()) - sum(length for _, _, length in stored)
    connection.execute("UPDATE disputatio_index SET terms = terms + %s", (more,))


def remove(
    connection: Any, sources: Collection[str], paths: Iterable[str], documents: Collection[str]
) -> int:
    """Delete the documents of sources, of files or folders, or by id, and return how many there were."""
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
    _drop_passages(connection, "document", gone)
    connection.execute("DELETE FROM documents WHERE id = ANY(%s)", (gone,))


def _drop_passages(connection: Any, column: str, names: list[str]) -> None:
    lengths = dict(
        connection.execute(
            f"DELETE FROM passages WHERE {column} = ANY(%s) RETURNING row, length", (names,)
        ).fetchall()
    )
    if lengths:
        connection.execute("DELETE FROM postings WHERE row = ANY(%s)", (list(lengths),))
        connection.execute(
            "UPDATE disputatio_index SET passages = passages - %s, terms = terms - %s",
            (len(lengths), sum(lengths.values())),
        )


def vector_text(vector: Any) -> str:
    """Return a vector as pgvector reads it.

    >>> vector_text([0.5, 1.0])
    '[0.5,1.0]'
    """
    return "[" + ",".join(map(str, vector.tolist() if hasattr(vector, "tolist") else vector)) + "]"


def _document_row(prepared: PreparedDocument) -> list[str]:
    fields = (getattr(prepared.document, name) for name in _DOCUMENT if name != "metadata")
    return [*map(plain, (*fields, prepared.metadata))]


def plain(value: str) -> str:
    """Return a text without the character zero, which PostgreSQL cannot keep.

    >>> plain("a\\x00b")
    'a b'
    """
    return value.replace("\x00", " ")


# --- rows as COPY takes them in binary ----------------------------------------------------------------
_BEGIN = b"PGCOPY\n\xff\r\n\0" + struct.pack(">ii", 0, 0)
_END = struct.pack(">h", -1)
# Columns with their types.
_DOCUMENT = dict.fromkeys(
    ("id", "title", "url", "date", "date_origin", "source", "owner", "text", "metadata"), "text"
)
_PASSAGE = {
    "row": "int8", "id": "text", "document": "text", "source": "text", "first": "int4", "past": "int4",
    "metadata": "text", "text": "text", "day": "int4", "length": "int4", "facts": "text[]", "sketch": "bytea",
}  # fmt: skip
_VECTOR = {"vector": "bytea"}  # the driver does not know pgvector's type: its bytes go as they are


def copy_rows(connection: Any, table: str, columns: Mapping[str, str], rows: Iterable[Sequence[Any]]) -> None:
    """Copy rows into a table; raises `UnicodeEncodeError` for half a character."""
    with connection.cursor().copy(f"COPY {table} ({', '.join(columns)}) FROM STDIN (FORMAT binary)") as copy:
        copy.set_types(columns.values())
        for row in rows:
            copy.write_row(row)


def copy_postings(connection: Any, rows: bytes) -> None:
    """Copy postings, which are too many to be made one by one, as `numbers` gives them."""
    with connection.cursor().copy("COPY postings FROM STDIN (FORMAT binary)") as copy:
        copy.write(_BEGIN + rows + _END)


def numbers(columns: Sequence[NDArray[np.int64] | NDArray[np.int32]]) -> bytes:
    import numpy as np

    fields: list[tuple[str, str]] = [("count", ">i2")]
    for number, column in enumerate(columns):
        fields += [(f"size{number}", ">i4"), (f"value{number}", f">i{column.itemsize}")]
    rows = np.zeros(len(columns[0]), dtype=fields)
    rows["count"] = len(columns)
    for number, column in enumerate(columns):
        rows[f"size{number}"], rows[f"value{number}"] = column.itemsize, column
    return rows.tobytes()


def fetch_rows(connection: Any, query: str, values: Sequence[Any], types: Sequence[str]) -> NDArray[Any]:
    """Return the rows of a query as an array; `types` are numpy's of its columns, which are never NULL."""
    import numpy as np

    fields: list[tuple[str, str]] = [("count", ">i2")]
    for number, kind in enumerate(types):
        fields += [(f"size{number}", ">i4"), (f"value{number}", f">{kind}")]
    with connection.cursor().copy(f"COPY ({query}) TO STDOUT (FORMAT binary)", values) as copy:
        data = b"".join(bytes(block) for block in copy)
    return np.frombuffer(data[len(_BEGIN) : -len(_END)], dtype=fields)
