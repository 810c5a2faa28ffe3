"""The one writer of an index: what is queued for it goes to disk in whole batches."""

from __future__ import annotations

import contextlib
import json
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from disputatio.protocols import Embedder
from disputatio.store import tables
from disputatio.store.readers import Document
from disputatio.store.split import split
from disputatio.text import content_id

if TYPE_CHECKING:
    from disputatio.store.tables import Tables

_BATCH = 256


class Writer:
    """Holds the index's lock from entering to leaving; leaving does not write, `finish` does.

    `counts` has added, unchanged, replaced and removed documents, and the passages put in.
    """

    def __init__(self, path: Path, embedder: Embedder | None, ensure: Callable[[], Tables]) -> None:
        """`ensure` opens or makes the tables; it is called once the lock is held."""
        self._path, self._embedder, self._ensure = path, embedder, ensure
        self._held = contextlib.ExitStack()
        self.counts: Counter[str] = Counter()
        self._documents: list[dict[str, object]] = []
        self._passages: list[dict[str, object]] = []
        self._dropped: dict[str, list[str]] = {}  # document id -> entries to take out
        self._holders: dict[str, set[str]] = {}  # document id -> entries that stand for it
        self._by_path: dict[str, dict[str, str]] = {}  # path -> document id -> entry

    def __enter__(self) -> Self:
        with tables.reported(self._path, "making the index"):
            self._path.mkdir(parents=True, exist_ok=True)
        with contextlib.ExitStack() as held:
            held.enter_context(tables.writing(self._path))
            self._tables = self._ensure()
            self._tables.mend()
            for row in self._tables.entries():
                self._note(row["path"], row["id"], row["entry"])
            self._held = held.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._held.close()

    def put(self, path: str, documents: Sequence[Document], passage_id: str = "") -> None:
        """Make `documents` all that the index holds of `path`; an empty path replaces nothing.

        `passage_id` names the passage of a document that is not split.
        """
        old = dict(self._by_path.get(path, {})) if path else {}
        seen: set[str] = set()
        replaced = 0
        for document in documents:
            identity = _identity(document, passage_id)
            known = identity in old or identity in seen or (not path and bool(self._holders.get(identity)))
            seen.add(identity)
            if known:
                self.counts["unchanged"] += 1
                continue
            replaced += bool(old)
            self.counts["replaced" if old else "added"] += 1
            self._flush_if_full()
            self._queue(path, document, identity, passage_id)
        gone = [identity for identity in old if identity not in seen]
        for identity in gone:
            entry = self._by_path[path].pop(identity)
            self._holders[identity].discard(entry)
            self._dropped.setdefault(identity, []).append(entry)
        self.counts["removed"] += max(0, len(gone) - replaced)
        self._flush_if_full()  # only now, so that the old goes in the commit that brings the new

    def finish(self) -> None:
        """Write what is still queued and bring it into the full-text index."""
        self._flush()
        self._tables.tidy()

    def _note(self, path: str, identity: str, entry: str) -> None:
        self._holders.setdefault(identity, set()).add(entry)
        self._by_path.setdefault(path, {})[identity] = entry

    def _queue(self, path: str, document: Document, identity: str, passage_id: str) -> None:
        entry = content_id("e", path, identity)
        about = {
            "title": document.title,
            "url": document.url,
            "date": document.date,
            "source": document.source,
            "owner": document.owner,
            "metadata": _json(document),
        }
        row = {"entry": entry, "id": identity, "path": path, "row": document.row, "text": document.text}
        self._documents.append({**row, **about})
        if not self._holders.get(identity):
            spans = split(document.text)
            for start, end in spans:
                text = document.text[start:end]
                named = passage_id if len(spans) == 1 else ""
                self._passages.append(
                    {
                        "id": named or content_id("p", identity, f"{start}:{end}"),
                        "document": identity,
                        "start": start,
                        "end": end,
                        "text": text,
                        "words": words(document.title, text),
                        **about,
                    }
                )
        self._note(path, identity, entry)

    def _flush_if_full(self) -> None:
        if len(self._passages) >= _BATCH:
            self._flush()

    def _flush(self) -> None:
        """Put one batch on disk: after this it is acknowledged."""
        if self._embedder is not None and self._passages:
            vectors = self._embedder.embed([str(one["words"]) for one in self._passages])
            for passage, vector in zip(self._passages, vectors, strict=True):
                passage["vector"] = vector
        self._tables.commit(
            self._documents,
            self._passages,
            drop_documents=[one for one in self._dropped if not self._holders.get(one)],
            drop_entries=[entry for entries in self._dropped.values() for entry in entries],
        )
        self.counts["passages"] += len(self._passages)
        self._documents, self._passages, self._dropped = [], [], {}


def words(title: str, text: str) -> str:
    """What a passage is found by: its document's title and its text.

    >>> words("Broken Bow", "It has 3,559 people.")
    'Broken Bow\\nIt has 3,559 people.'
    """
    return text if not title or text.lstrip("# ").startswith(title) else f"{title}\n{text}"


def _json(document: Document) -> str:
    return json.dumps(dict(document.metadata), ensure_ascii=False, sort_keys=True)


def _identity(document: Document, passage_id: str) -> str:
    """A document's id: a hash of all that it says, and not of where the file lies."""
    parts: list[Any] = [document.source, document.owner, document.title, document.url, document.date]
    return content_id("d", *parts, _json(document), passage_id, document.text)
