"""New vectors for every passage of an index, put in force by one switch."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from disputatio.errors import StoreError
from disputatio.protocols import Embedder
from disputatio.store.record.manifest import SegmentEntry, reported
from disputatio.store.record.stage import FAN, Stage, due, stemming
from disputatio.store.record.tables import PASSAGE_COLUMNS, Pinned, Tables, make_table, passage_rows, schema
from disputatio.store.segments.words import words
from disputatio.types import Passage

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_EMBEDDED = 256
_ROWS = 8192


def reembed(
    stage: Stage, embedder: Embedder | None, progress: Callable[[int, int], None] | None = None
) -> int:
    """Give every passage a new vector (none without an embedder); how many passages there are.

    They go into a table and segments of their own, and the manifest is switched when all are there.
    Raises `StoreError` when the disk is full, or passages and vectors do not fit one another.
    """
    path, manifest = stage.path, stage.manifest
    dimension = 0 if embedder is None else embedder.dimension
    name = next_name(path, stage.tables.names["passages"])
    table = make_table(path, name, schema("passages", dimension))
    build = Building(stage)
    done, total = 0, manifest.passages.rows
    for passages, metadata in _batches(Pinned(path, manifest)):
        vectors = _vectors(embedder, passages, progress, done, total)
        with reported(path, "writing to the index"):
            table.add(passage_rows(passages, metadata, vectors))
        build.add(passages, vectors)
        done += len(passages)
        _tell(progress, done, total)
    if done != total:
        raise StoreError(
            f"{path}: {total} passages are on record and {done} could be read; run: "
            f"disputatio index check --index {path}"
        )
    stage.adopt(
        Tables(path, {**stage.tables.names, "passages": name}, dimension),
        build.entries,
        embedder="" if embedder is None else embedder.name,
        dimension=dimension,
    )
    return done


class Building:
    """Segments made of a stream of passages, few in number however many there are."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self.entries: list[SegmentEntry] = []

    def add(self, passages: list[Passage], vectors: NDArray[np.float32] | None) -> None:
        """One more segment; eight of a size become one."""
        from disputatio.store.segments.segment import Segment

        if not passages:
            return
        language = stemming(self._stage.manifest.language)
        self.entries.append(self._stage.save(Segment.build(passages, vectors, language=language)))
        while len(self.entries) >= FAN and (group := due(self.entries)):
            merged = self._stage.joined(group)
            gone = {one.name for one in group}
            self.entries = [merged, *(one for one in self.entries if one.name not in gone)]
            self._stage.discard(gone)


def next_name(path: Path, name: str) -> str:
    """A name for a table that takes the place of `name`: `passages-2`, `passages-3`."""
    table, number = name.partition("-")[0], 2
    while (new := f"{table}-{number}") == name or (path / f"{new}.lance").exists():
        number += 1
    return new


def _batches(pinned: Pinned) -> Iterator[tuple[list[Passage], list[str]]]:
    """Passages with their metadata as JSON, in lists of 8,192."""
    passages: list[Passage] = []
    metadata: list[str] = []
    for batch in pinned.batches("passages", [*PASSAGE_COLUMNS, "start", "end"]):
        for row in batch.to_pylist():
            metadata.append(row["metadata"])
            passages.append(passage_of(row))
            if len(passages) >= _ROWS:
                yield passages, metadata
                passages, metadata = [], []
    if passages:
        yield passages, metadata


def passage_of(row: dict[str, Any]) -> Passage:
    """The passage that a row of the table stands for."""
    told = {name: row[name] for name in (*PASSAGE_COLUMNS, "start", "end")}
    return Passage(**{**told, "metadata": json.loads(told["metadata"])})


def _vectors(
    embedder: Embedder | None,
    passages: list[Passage],
    progress: Callable[[int, int], None] | None,
    done: int,
    total: int,
) -> NDArray[np.float32] | None:
    if embedder is None:
        return None
    import numpy as np

    made = []
    for at in range(0, len(passages), _EMBEDDED):
        part = passages[at : at + _EMBEDDED]
        made.append(embedder.embed([words(one.title, one.text) for one in part]))
        _tell(progress, done + at + len(part), total)
    return np.concatenate(made).astype(np.float32, copy=False)


def _tell(progress: Callable[[int, int], None] | None, done: int, total: int) -> None:
    if progress is not None:
        progress(done, total)
