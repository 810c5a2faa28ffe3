"""Documents of an index that are superseded or old, by how many kept answers rest on them."""

from __future__ import annotations

import contextlib
import datetime
import json
import sqlite3
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from disputatio.authority import is_retracted
from disputatio.errors import UNREADABLE, InputError
from disputatio.reliability.succession import Succession, claims_over, why_not_in_force
from disputatio.serialisation import Serialisable
from disputatio.store.contract import Index
from disputatio.store.ingesting.documents import Document
from disputatio.types import Passage
from disputatio.versions.dates import age_of, iso_day
from disputatio.versions.families import IN_PART, changes_in_part, family_names, one_publisher

OLD = 3.0  # years from which a document is old, where nothing else is said
_LARGEST = 64 << 20  # bytes of a kept answer
_MOST = 200  # documents of one family that are compared
_COMPARED = 2_000_000  # pairs of a document and one that names others
_ACTS = ("replaces", "amends")  # a correction need not name what it corrects
_PASSAGE = {field.name for field in fields(Passage)}


@dataclass(frozen=True, slots=True, kw_only=True)
class StaleDocument(Serialisable):
    """A document that is superseded (how: `state`, by which: `by`, in which words: `quote`) or `old`.

    `answers` is how many kept answers cite it.
    """

    document: str
    path: str
    title: str
    source: str
    date: str
    date_origin: str
    age: str
    state: str
    by: str = ""
    quote: str = ""
    answers: int = 0


def find_stale(
    index: Index, *, today: datetime.date, years: float = OLD, answers: Iterable[Path] = ()
) -> list[StaleDocument]:
    """Return what is superseded or older than some years: first what most kept answers cite.

    `answers` are files of a server or of `ask_many`. Raises `InputError` for any other file.
    """
    cited: Counter[str] = Counter()
    for file in answers:
        cited.update(count_cited_documents(file))
    documents = list({document.id: document for document in index.documents(text=False)}.values())
    claims = find_superseded(documents, today.isoformat())
    names = {document.id: document.path or document.title or document.id for document in documents}
    stale = []
    for document in documents:
        claim = claims.get(document.id)
        alone = None if claim else _why_alone(_passage_of(document), today.isoformat())
        age = age_of(document.date, today)
        if claim is None and alone is None and not _is_old(document.date, today, years):
            continue
        stale.append(
            StaleDocument(
                document=document.id,
                path=document.path,
                title=document.title,
                source=document.source,
                date=document.date,
                date_origin=document.date_origin,
                age=age,
                state=claim.kind if claim else alone[0] if alone else "old",
                by=names.get(claim.newer.document, "") if claim else "",
                quote=claim.quote if claim else alone[1] if alone else "",
                answers=cited[document.id],
            )
        )
    return sorted(stale, key=lambda each: (-each.answers, each.state == "old", each.date or "9", each.path))


def find_superseded(documents: Sequence[Document], day: str) -> dict[str, Succession]:
    """Return how each document is superseded on a day, by its id: within its family, or by name."""
    passages = [_passage_of(document) for document in documents]
    families: defaultdict[str, list[Passage]] = defaultdict(list)
    speaking = [passage for passage in passages if any(r.kind in _ACTS for r in passage.relations)]
    speaking = speaking[: max(_COMPARED // max(len(passages), 1), 1)]
    for passage in passages:
        for name in family_names(passage):
            families[name].append(passage)
    found: dict[str, list[Succession]] = {}
    for passage in passages:
        rivals = [other for name in family_names(passage) for other in families[name][-_MOST:]]
        rivals += [other for other in speaking if other.document != passage.document]
        rivals = [other for other in rivals if one_publisher(other, passage) or _is_by_person(other)]
        if claims := [claim for claim in claims_over(passage, rivals, day) if claim.believed]:
            found[passage.document] = claims
    # What takes a document's place is best named by one whose own place nothing took, and by no correction.
    gone = {
        document for document, claims in found.items() if any(each.kind not in IN_PART for each in claims)
    }
    return {
        document: max(
            claims,
            key=lambda each: (
                each.newer.document not in gone,
                not changes_in_part(each.newer),
                bool(each.quote),
            ),
        )
        for document, claims in found.items()
    }


def _why_alone(passage: Passage, day: str) -> tuple[str, str] | None:
    """Return why a document is not in force whatever others say, and its words; people's word goes first."""
    return ("retracted", "") if is_retracted(passage) else why_not_in_force(passage, day)


def _is_by_person(passage: Passage) -> bool:
    return any(relation.by_person for relation in passage.relations)


def _passage_of(document: Document) -> Passage:
    """Return a document as a passage without its text, which nothing here reads."""
    about = {name: getattr(document, name) for name in _PASSAGE if hasattr(document, name)}
    return Passage(**about | {"text": document.id, "id": document.id, "document": document.id})


def _is_old(date: str, today: datetime.date, years: float) -> bool:
    day = iso_day(date)
    limit = today - datetime.timedelta(days=365.25 * years)
    return bool(day) and day < limit.isoformat()[: len(day)]


def count_cited_documents(file: Path) -> Counter[str]:
    """Return how many answers of a file cite each document; raises `InputError` for any other file."""
    counts: Counter[str] = Counter()
    try:
        uri = f"{file.absolute().as_uri()}?mode=ro"
        with contextlib.closing(sqlite3.connect(uri, uri=True)) as database:
            for (body,) in database.execute("SELECT answer FROM answers"):
                counts.update(documents_of(_read(body)))
    except (sqlite3.Error, zlib.error, *UNREADABLE) as error:
        raise InputError(f"{file}: cannot be read as a file of kept answers ({error})") from error
    return counts


def _read(body: object) -> Any:
    if isinstance(body, bytes):
        unpacking = zlib.decompressobj()
        return json.loads(unpacking.decompress(body, _LARGEST))
    return json.loads(str(body))


def documents_of(answer: Any) -> set[str]:
    """Return the documents whose passages an answer cites; of what is no answer, none."""
    if not isinstance(answer, dict):
        return set()
    cited = {
        citation.get("passage")
        for claim in answer.get("claims") or ()
        for citation in claim.get("citations") or ()
    }
    return {
        str(passage["document"])
        for passage in answer.get("passages") or ()
        if passage.get("id") in cited and passage.get("document")
    }
