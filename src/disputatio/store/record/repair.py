"""Repair a damaged index: damaged files go to `quarantine/`, what can be made again is made again.

A table with bad rows is written anew from its good rows; passages are restored from the segments, segments
from the table. Documents that cannot be verified are taken out, and named. One switch of the manifest
puts all of it in force; this program deletes nothing in the quarantine.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from disputatio.store.calibration_file import NAME as CALIBRATION
from disputatio.store.calibration_file import open_log
from disputatio.store.ingesting.prepare import metadata_json
from disputatio.store.record.audit import Findings, Opened, found_in, sound_segments
from disputatio.store.record.checksums import Checksums
from disputatio.store.record.manifest import (
    CHECKSUMS,
    COPIES,
    COPY,
    NAME,
    SEGMENTS,
    SegmentEntry,
    reported,
    sync_folder,
)
from disputatio.store.record.reembed import Building, next_name, passage_of
from disputatio.store.record.report import LostDocument
from disputatio.store.record.salvage import salvaged
from disputatio.store.record.tables import NAMES, Tables, make_table, quoted, schema
from disputatio.store.record.transaction import Transaction
from disputatio.store.reliabilities import NAME as RELIABILITY

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from disputatio.types import Passage

QUARANTINE = "quarantine"
_ROWS = 8192


# --- small files ------------------------------------------------------------------------------------
def repair_files(path: Path, findings: Findings, place: str) -> None:
    """Bring small files back from their copies, and put aside what nothing needs.

    `place` is the folder of the quarantine, relative to the index.
    """
    with reported(path, "repairing the index"):
        for name in sorted(findings.restorable):
            _quarantine(path, place, name)
            _put_copy(path, COPIES + "/" + name, name)
            _note_action(findings, name, "restored from its copy")
        for name in sorted(findings.useless):
            _quarantine(path, place, name)
            (path / name).unlink()
            _note_action(findings, name, "moved to quarantine, nothing needs it")
        for name in sorted(findings.copies):
            _quarantine(path, place, f"{COPIES}/{name}")
            (path / COPIES / name).unlink()
            if (path / name).exists():
                _put_copy(path, name, COPIES + "/" + name)
            _note_action(findings, f"{COPIES}/{name}", "copied anew")
        for name, action in ((NAME, "restored from its copy"), (COPY, "written anew")):
            if findings.has(name):  # the switch that follows writes both
                _quarantine(path, place, name)
                _note_action(findings, name, action)
        for name, lock in ((RELIABILITY, contextlib.nullcontext()), (CALIBRATION, open_log(path))):
            if findings.has(name):
                with lock:  # while no one appends to it
                    _quarantine(path, place, name)
                    (path / name).unlink()
                _note_action(findings, name, "moved to quarantine; estimate anew with: disputatio calibrate")
        if findings.has(CHECKSUMS):
            _quarantine(path, place, CHECKSUMS)
            checksums, tables = Checksums(path), [getattr(findings.manifest, name).name for name in NAMES]
            checksums.note(tables)
            checksums.forget_gone(tables)
            _note_action(findings, CHECKSUMS, "written anew")
    findings.restorable.clear()


def _put_copy(path: Path, source: str, target: str) -> None:
    """Copy a file of the index to a place in it, whole or not at all."""
    part = path / "restored.part"
    (path / target).parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(path / source, part)
    part.replace(path / target)
    sync_folder((path / target).parent)


# --- rows and segments ------------------------------------------------------------------------------
@dataclass(slots=True)
class _GoodRows:
    """What is good: ids of documents, of passages, visible characters of a document's passages."""

    documents: set[str] = field(default_factory=set)
    passages: set[str] = field(default_factory=set)
    visible: Counter[str] = field(default_factory=Counter)
    lost: dict[str, LostDocument] = field(default_factory=dict)


def repair_rows(path: Path, findings: Findings, place: str) -> list[LostDocument]:
    """Write damaged tables and segments anew and switch to them; the documents that are lost."""
    manifest, suspect = findings.manifest, findings.tables
    segments = sound_segments(path, findings)
    with reported(path, "repairing the index"):
        fresh = {name: next_name(path, getattr(manifest, name).name) for name in sorted(suspect)}
        for name in suspect:
            make_table(path, fresh[name], schema(name, manifest.dimension))
            _quarantine(path, place, f"{getattr(manifest, name).name}.lance")
        for name in findings.segments:
            _quarantine(path, place, f"{SEGMENTS}/{name}")
        tables = Tables.open(path, manifest, fresh)
        good = _GoodRows()
        if "documents" in suspect:
            for batch in salvaged(path, manifest.documents):
                tables.documents.add(batch)
        good.documents.update(tables.identities()[1])
        if "passages" in suspect:
            _write_passages(path, findings, tables, segments, good)
            _note_incomplete(tables, good)
        else:
            _note_orphans(tables, good)
        _take_out(tables, list(good.lost))
        lost = [*good.lost.values(), *_forget_files(tables)]
        transaction = Transaction(path, manifest, tables)
        entries = [transaction.without(entry, good.lost) if good.lost else entry for entry, _, _ in segments]
        rebuilt = _missing_segments(transaction, segments)
        transaction.adopt(
            tables,
            [entry for entry in (*entries, *rebuilt) if entry.live],
            embedder=manifest.embedder,
            dimension=manifest.dimension,
        )
        transaction.clear()
    findings.documents, findings.passages = transaction.manifest.documents.rows, transaction.manifest.live
    for name in suspect:
        _note_actions_below(findings, f"{getattr(manifest, name).name}.lance", _ACTIONS[name])
    if findings.segments:
        _note_actions_below(findings, SEGMENTS, "kept in quarantine, made anew from the tables")
    return lost


_ACTIONS = {
    "documents": "kept in quarantine, its good rows written anew",
    "passages": "kept in quarantine, its good rows written anew",
    "files": "kept in quarantine; the next ingest reads every file again",
}


def _write_passages(
    path: Path, findings: Findings, tables: Tables, segments: Sequence[Opened], good: _GoodRows
) -> None:
    """Good rows of the old table into the new one, then from the segments what they lack."""
    import numpy as np

    for batch in salvaged(path, findings.manifest.passages):
        rows = batch.to_pylist()
        vectors = None
        if tables.dimension:
            vectors = np.array([row["vector"] for row in rows], dtype=np.float32)
        _put(tables, [passage_of(row) for row in rows], vectors, good)
    for entry, segment, dead in segments:
        live = np.arange(entry.rows) if dead is None else np.flatnonzero(~dead)
        for at in range(0, len(live), _ROWS):
            part = live[at : at + _ROWS]
            vectors = None
            if segment.vectors is not None:
                vectors = segment.vectors.numbers[part] * segment.vectors.scales[part, None]
            _put(tables, segment.passages(part), vectors, good)


def _put(
    tables: Tables, passages: Sequence[Passage], vectors: NDArray[np.float32] | None, good: _GoodRows
) -> None:
    """Write the passages that are not there yet and whose document is; the documents of others are lost."""
    wanted = []
    for number, passage in enumerate(passages):
        if passage.document not in good.documents:
            _lose(good, passage)
        elif passage.id not in good.passages:
            good.passages.add(passage.id)
            good.visible[passage.document] += _visible(passage.text)
            wanted.append(number)
    if wanted:
        missing = [passages[number] for number in wanted]
        metadata = [metadata_json(passage.metadata) for passage in missing]
        tables.add([], missing, metadata, None if vectors is None else vectors[wanted])


def _lose(good: _GoodRows, passage: Passage) -> None:
    """Note the document of a passage as lost."""
    about = (passage.source, passage.title, passage.url, f"passage {passage.id}")
    reason = f"it cannot be verified ({', '.join(part for part in about if part)})"
    good.lost.setdefault(passage.document, LostDocument(document=passage.document, reason=reason))


def _note_orphans(tables: Tables, good: _GoodRows) -> None:
    """Documents that have passages and no row of their own."""
    names = [name for name in tables.passages.schema.names if name != "vector"]
    for batch in tables.passages.search().select(names).to_batches(_ROWS):
        for row in batch.to_pylist():
            if row["document"] not in good.documents:
                _lose(good, passage_of(row))


def _note_incomplete(tables: Tables, good: _GoodRows) -> None:
    """Documents that have lost a passage; passages hold every visible character of a text, once."""
    for batch in tables.documents.search().select(["id", "path", "text"]).to_batches(1024):
        for row in batch.to_pylist():
            if good.visible[row["id"]] != _visible(row["text"]):
                good.lost[row["id"]] = LostDocument(
                    document=row["id"], path=row["path"], reason="some of its passages cannot be verified"
                )


def _visible(text: str) -> int:
    return len("".join(text.split()))


def _take_out(tables: Tables, documents: Sequence[str]) -> None:
    for at in range(0, len(documents), 1000):
        part = quoted(documents[at : at + 1000])
        tables.documents.delete(f"id IN ({part})")
        tables.passages.delete(f"document IN ({part})")


def _forget_files(tables: Tables) -> list[LostDocument]:
    """Files that lack documents; their fingerprints go, so that the next ingest reads them again.

    A file with the same row twice seems to lack one; to read it again does no harm.
    """
    documents_of = Counter(tables.identities()[0])
    missing = [file for file in tables.fingerprints().values() if documents_of[file.path] != file.documents]
    tables.note_files([], [file.path for file in missing])
    return [
        LostDocument(
            path=file.path, reason=f"{documents_of[file.path]} of its {file.documents} documents are left"
        )
        for file in missing
    ]


def _missing_segments(transaction: Transaction, segments: Sequence[Opened]) -> list[SegmentEntry]:
    """Segments of the passages on record that no sound segment has."""
    import numpy as np

    build = Building(transaction)
    passages: list[Passage] = []
    vectors: list[Any] = []

    def flush() -> None:
        build.add(passages, np.array(vectors, dtype=np.float32) if transaction.tables.dimension else None)
        passages.clear()
        vectors.clear()

    for batch in transaction.tables.passages.search().to_batches(1024):
        present = found_in(segments, list(map(str, batch.column("id").to_pylist())))
        for row, is_present in zip(batch.to_pylist(), present.tolist(), strict=True):
            if not is_present:
                passages.append(passage_of(row))
                vectors.append(row.get("vector"))
        if len(passages) >= _ROWS:
            flush()
    flush()
    return build.entries


# --- the quarantine ---------------------------------------------------------------------------------
def new_place(path: Path) -> str:
    """Return a new folder of the quarantine, named by the time, relative to the index."""
    with reported(path, "making the quarantine"):
        stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
        for place in _names(f"{QUARANTINE}/{stamp}"):
            with contextlib.suppress(FileExistsError):
                (path / place).mkdir(parents=True)
                return place
    raise AssertionError


def _names(name: str) -> Iterator[str]:
    yield name
    number = 2
    while True:
        yield f"{name}-{number}"
        number += 1


def _quarantine(path: Path, folder: str, name: str) -> None:
    """Keep a file, or all of a folder, in the quarantine.

    Files of a folder never change, so that a second name keeps them; a single file may be replaced
    or written to, and is copied.
    """
    source, target = path / name, path / folder / name
    if source.is_dir():
        shutil.copytree(source, target, copy_function=_link, dirs_exist_ok=True)
    elif source.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, target)


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except FileExistsError:
        pass  # quarantined already, as it was before it was restored
    except OSError:  # a file system without links
        shutil.copy2(source, target)


def write_list(path: Path, folder: str, findings: Findings, lost: Sequence[LostDocument]) -> None:
    """Add to the list of what was quarantined, and why."""
    when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    entries = [asdict(entry) for entry in findings.damaged] + [asdict(entry) for entry in lost]
    with reported(path, "writing to the index"), (path / QUARANTINE / "list.jsonl").open("ab") as out:
        for entry in entries:
            out.write(json.dumps({"when": when, "place": folder, **entry}).encode() + b"\n")
        out.flush()
        os.fsync(out.fileno())


def _note_action(findings: Findings, file: str, action: str) -> None:
    """Note what was done about a damaged file."""
    findings.damaged[:] = [
        replace(damage, action=action) if damage.file == file else damage for damage in findings.damaged
    ]


def _note_actions_below(findings: Findings, folder: str, action: str) -> None:
    """Note what was done about the damaged files of a folder for which no action is noted yet."""
    findings.damaged[:] = [
        replace(damage, action=action)
        if not damage.action and f"{damage.file}/".startswith(f"{folder}/")
        else damage
        for damage in findings.damaged
    ]
