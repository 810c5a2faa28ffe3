"""Documents as rows of a vector engine's tables: passages, entries of files, texts, estimates."""

from __future__ import annotations

import itertools
import json
import time
import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from hashlib import blake2b
from typing import Any

from disputatio.errors import IngestError
from disputatio.protocols import Embedder
from disputatio.store.ingesting.documents import Document, place
from disputatio.store.ingesting.history import Row as StatementRow
from disputatio.store.ingesting.prepare import PreparedDocument, entry_of
from disputatio.store.ingesting.statements import with_relations
from disputatio.store.remote.engine import Row, StoredRow, row_id
from disputatio.store.remote.served import MUTED, check_texts, fact, facts_of
from disputatio.store.remote.served_index import count_and_embed
from disputatio.store.segments.days import first_day
from disputatio.types import Passage

ENTRY = fact("kind", "entry")
TEXT = fact("kind", "text")
LOGGED = fact("kind", "calibration")
STATED = fact("kind", "statement")
_PIECE = 10_000  # characters of a text in a row: at most 60,000 bytes as JSON
_ESTIMATES = 100  # sources whose estimates are in a row


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentEntry:
    """A document of a file; `passages` is the number and `mark` the hash of its passages in the tables."""

    id: str
    file: str
    document: Document
    passages: int
    mark: int


def entry_row(file: str, prepared: PreparedDocument) -> Row:
    """Return the row of a document of a file, which is found by the file and the folders above it."""
    document = prepared.document
    about = asdict(replace(document, text=""))
    body = {"file": file, "document": about, "passages": len(prepared.passages), "mark": _mark_of(prepared)}
    above = [file[:at] for at, letter in enumerate(file) if letter == "/" and at]
    names = [("document", document.id), ("source", document.source), ("path", document.path), ("file", file)]
    muted = [MUTED] if document.by_people.get("mute") == "yes" else []
    return Row(
        id=row_id(entry_of(file, document.id)),
        facts=[ENTRY, *muted, *(fact(*each) for each in names), *(fact("under", folder) for folder in above)],
        body=_json(body),
        order=time.time_ns(),
    )


def entry_in(row: str, body: str) -> DocumentEntry:
    about = json.loads(body)
    return DocumentEntry(
        id=row,
        file=about["file"],
        document=check_texts(Document(**with_relations(about["document"]))),
        passages=about["passages"],
        mark=about["mark"],
    )


def text_rows(document: Document) -> Iterator[Row]:
    for number, start in enumerate(range(0, len(document.text), _PIECE)):
        piece = {"document": document.id, "number": number, "text": document.text[start : start + _PIECE]}
        yield Row(
            id=row_id("text", document.id, str(number)),
            facts=[TEXT, fact("text", document.id)],
            body=_json(piece),
            order=time.time_ns(),
        )


def texts_in(bodies: Iterable[str]) -> dict[str, str]:
    pieces: dict[str, dict[int, str]] = {}
    for body in bodies:
        piece = json.loads(body)
        pieces.setdefault(piece["document"], {})[piece["number"]] = piece["text"]
    return {name: "".join(text for _, text in sorted(found.items())) for name, found in pieces.items()}


def passage_rows(prepared: Sequence[PreparedDocument], embedder: Embedder | None, language: str) -> list[Row]:
    """Return the passages of documents, with their terms and, by an embedder, their vectors."""
    passages = [passage for each in prepared for passage in each.passages]
    if not passages:
        return []
    counted, vectors = count_and_embed(passages, language, embedder)
    spans = itertools.pairwise([0, *counted.ends.tolist()])
    terms = [counted.hashes[counted.tokens[start:end]] for start, end in spans]
    now = time.time_ns()
    return [
        Row(
            id=row_id(passage.id),
            facts=facts_of(passage),
            body=_passage_json(passage),
            order=now + number,
            source=passage.source,
            day=int(first_day(passage.date)),
            terms=terms[number],
            vector=None if vectors is None else vectors[number].tolist(),
        )
        for number, passage in enumerate(passages)
    ]


def passage_in(body: str) -> Passage:
    return check_texts(Passage(**with_relations(json.loads(body))))


def mark(passage: Passage) -> int:
    """Hash a passage; the XOR of all hashes detects changes in a document."""
    identity = "\x1f".join((passage.id, passage.source, passage.text)).encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(identity, digest_size=6).digest())


def statement_rows(stated: Sequence[StatementRow], order: int) -> list[Row]:
    """Return rows of the history of what people stated, whose keys are the numbers in their order."""
    return [
        Row(id=str(uuid.uuid4()), facts=[STATED], body=_json(row[1:]), order=order + number)
        for number, row in enumerate(stated)
    ]


def statements_in(kept: Iterable[StoredRow]) -> list[StatementRow]:
    ordered = sorted(kept, key=lambda row: (row.order, row.id))
    return [(number, *json.loads(row.body)) for number, row in enumerate(ordered, start=1)]


def estimate_rows(run: str, estimates: Sequence[tuple[str, str, str | None]]) -> list[Row]:
    return [
        Row(
            id=row_id("estimates", run, str(start)),
            facts=[fact("estimates", run)],
            body=_json(estimates[start : start + _ESTIMATES]),
            order=time.time_ns(),
        )
        for start in range(0, len(estimates), _ESTIMATES)
    ]


def log_rows(entry: str, order: int) -> Iterator[Row]:
    name, starts = uuid.uuid4().hex, range(0, len(entry), _PIECE)
    for number, start in enumerate(starts):
        piece = {"entry": name, "number": number, "of": len(starts), "text": entry[start : start + _PIECE]}
        yield Row(id=row_id("calibration", name, str(number)), facts=[LOGGED], body=_json(piece), order=order)


def join_log(kept: Iterable[StoredRow]) -> list[str]:
    """Return the entries of the log of calibrations, in order; one that was cut short is not there."""
    pieces: dict[tuple[int, str, int], dict[int, str]] = {}
    for row in kept:
        piece = json.loads(row.body)
        whose = (row.order, piece["entry"], piece["of"])
        pieces.setdefault(whose, {})[piece["number"]] = piece["text"]
    whole = sorted(whose for whose, found in pieces.items() if len(found) == whose[2])
    return ["".join(text for _, text in sorted(pieces[whose].items())) for whose in whole]


def check_sizes(prepared: PreparedDocument, longest: int) -> None:
    """Raise `IngestError` for a document that the engine cannot keep: too long fields, half a character."""
    document = prepared.document
    try:
        sizes = [len(_passage_json(each).encode()) for each in prepared.passages]
        sizes.append(len(entry_row(prepared.file, prepared).body.encode()))
        document.text.encode()
    except UnicodeEncodeError as error:
        where = place(document).encode("utf-8", "replace").decode()
        raise IngestError(
            where, "holds half a character, which the server cannot keep", "encoding"
        ) from error
    if max(sizes) > longest:
        reason = f"a passage with its metadata has {max(sizes):,} bytes, the server keeps {longest:,}"
        raise IngestError(place(document), reason, "too_large", limit=longest, size=max(sizes), unit="bytes")


def _mark_of(prepared: PreparedDocument) -> int:
    mixed = 0
    for passage in prepared.passages:
        mixed ^= mark(passage)
    return mixed


def _passage_json(passage: Passage) -> str:
    return _json({**asdict(replace(passage, metadata={})), "metadata": dict(passage.metadata)})


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
