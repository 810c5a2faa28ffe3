"""Convert an index of the last format that kept its record in LanceDB (3) to the present one.

Rows are read at the versions that the old manifest names and compared with their checksums; segments are
taken over as they are. `lancedb` is needed for this alone.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any

from disputatio import platforms
from disputatio.errors import StoreError, require_package
from disputatio.store.calibration_file import NAME as CALIBRATION
from disputatio.store.record import manifest as manifests
from disputatio.store.record.database import ABOUT, RecordFile, replace_record
from disputatio.store.record.layout import check_manifest, read_bytes, refuse_links
from disputatio.store.record.manifest import (
    FIRST_NOTE,
    MARK,
    NAME,
    RECORD,
    SEGMENTS,
    Manifest,
    SegmentEntry,
    lock_index,
    report_faults,
)
from disputatio.store.record.transaction import Transaction
from disputatio.store.reliabilities import NAME as RELIABILITIES

_FORMAT = 3
_DOCUMENT = ("entry", "id", "file", "path", "text", *ABOUT)
_PASSAGE = ("id", "document", "text", *ABOUT, "start", "end")
_FRESH = "record.converted.part"
_ROWS = 4096
_OLD = ("manifest.copy.json", "ledger.jsonl", "copies", "lease.json")


def convert(old: str | Path, new: str | Path | None = None) -> Manifest:
    """Convert an index, in place or into an empty folder; a kill leaves the old one. Raises `StoreError`."""
    old = Path(old)
    new = old if new is None else Path(new)
    fields = _read_manifest(old)
    if (old / MARK).exists():
        raise StoreError(f"{old}: is a copy; convert the index that it is of, and sync the copy again")
    with report_faults(new, "converting the index"):
        new.mkdir(parents=True, exist_ok=True)
        if new != old and any(new.iterdir()):
            raise StoreError(f"{new}: is not empty; choose a new folder")
    with contextlib.ExitStack() as stack:
        for folder in {old, new}:
            stack.enter_context(lock_index(folder))
        with report_faults(new, "converting the index"):
            manifest = _write(old, new, fields)
            if new == old:
                for name in (*(path.name for path in old.glob("*.lance")), *_OLD):
                    _remove(old / name)
    return manifest


def _read_manifest(path: Path) -> dict[str, Any]:
    """Read the manifest of an old index; raises `StoreError` where there is none that can be converted."""
    refuse_links(path)
    try:
        fields = json.loads(read_bytes(path / NAME))
        version = fields.pop(manifests._KEY)
        checksum = fields.pop("checksum")
    except FileNotFoundError as error:
        if (path / FIRST_NOTE).exists():
            raise StoreError(_too_old(path, 1)) from error
        raise StoreError(f"{path}: there is no index here") from error
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise StoreError(f"{path / NAME}: is damaged; repair it with the program that wrote it") from error
    if version == manifests.FORMAT:
        raise StoreError(f"{path}: has the present format already")
    if version != _FORMAT:
        raise StoreError(_too_old(path, version))
    text = json.dumps([_FORMAT, fields], sort_keys=True, separators=(",", ":"))
    try:
        if checksum != blake2b(text.encode(), digest_size=16).hexdigest():
            raise ValueError("its bytes have changed")
        tables = {name: dict(fields[name]) for name in ("documents", "passages", "files")}
        check_manifest({**fields, **{name: table["rows"] for name, table in tables.items()}})
        for table in tables.values():
            if not str(table["name"]).replace("-", "").isalnum():
                raise ValueError("a strange name of a table")
    except (ValueError, KeyError, TypeError) as error:
        raise StoreError(f"{path / NAME}: is damaged; repair it with the program that wrote it") from error
    return dict(fields)


def _too_old(path: Path, version: object) -> str:
    return (
        f"{path}: is an index of version {version}, and only version {_FORMAT} is converted; bring it to "
        "that with the program that wrote it (index migrate), or ingest the documents into a new folder"
    )


def _write(old: Path, new: Path, fields: dict[str, Any]) -> Manifest:
    segments = tuple(SegmentEntry(**entry) for entry in fields["segments"])
    manifest = Manifest(
        number=fields["number"] + 1,
        embedder=fields["embedder"],
        dimension=fields["dimension"],
        language=fields["language"],
        segments=segments,
    )
    record = RecordFile.make(new, manifest, _FRESH)
    with contextlib.closing(record):
        _copy_rows(old, record, fields)
        transaction = Transaction(new, manifest, record)
        manifest = transaction.make_next_manifest(segments)
        for name in ("documents", "passages", "files"):
            if getattr(manifest, name) != fields[name]["rows"]:
                raise StoreError(
                    f"{old}: {fields[name]['rows']} {name} are on record, and not all can be read"
                )
        record.commit(manifest)
    if new != old:
        for entry in segments:
            shutil.copytree(old / SEGMENTS / entry.name, new / SEGMENTS / entry.name)
        for name in (RELIABILITIES, CALIBRATION):
            with contextlib.suppress(FileNotFoundError):
                shutil.copyfile(old / name, new / name)
        _sync_all(new)
    (new / SEGMENTS).mkdir(exist_ok=True)
    replace_record(new / _FRESH, new / RECORD)
    manifests.publish(new, manifest)
    with contextlib.closing(Transaction.open(new, manifest)) as transaction:
        return transaction.manifest


def _copy_rows(old: Path, record: RecordFile, fields: Mapping[str, Any]) -> None:
    """Copy the rows of the three tables; raises `StoreError` for one that is not what was written."""
    keys: dict[str, int] = {}
    stated: dict[str, str] = {}
    for batch in _batches(old, fields["documents"]):
        documents, entries = [], []
        for row in batch:
            _verify(old, row, (*_DOCUMENT, "row"))
            if row["id"] not in keys:
                keys[row["id"]] = key = len(keys) + 1
                stated[row["id"]] = row["metadata"]
                documents.append((key, row["id"], *(row[name] for name in ABOUT), row["text"]))
            entries.append((None, row["file"], row["path"], row["row"], keys[row["id"]]))
        record.insert("documents", documents)
        record.insert("entries", entries)
    for batch in _batches(old, fields["passages"]):
        passages = []
        for row in batch:
            vector = _vector(row)
            _verify(old, row, _PASSAGE, vector or b"")
            if row["document"] not in keys:
                raise StoreError(f"{old}: passage {row['id']} has no document; {_REPAIR}")
            own = None if row["metadata"] == stated[row["document"]] else row["metadata"]
            passages.append((None, row["id"], keys[row["document"]], row["start"], row["end"], own, vector))
        record.insert("passages", passages)
    names = ("path", "size", "mtime_ns", "seen_ns", "hash", "settings", "documents")
    for batch in _batches(old, fields["files"]):
        record.insert("files", [(None, *(row[name] for name in names)) for row in batch])


_REPAIR = "repair it with the program that wrote it, or ingest the documents into a new folder"


def _batches(path: Path, table: Mapping[str, Any]) -> Iterator[list[dict[str, Any]]]:
    os.environ.setdefault("LANCE_LOG", "error")
    with require_package("lancedb", "convert"):
        import lancedb
    try:
        opened = lancedb.connect(str(path)).open_table(table["name"])
        opened.checkout(table["version"])
        for batch in opened.search().to_batches(_ROWS):
            yield batch.to_pylist()
    except (OSError, RuntimeError, ValueError) as error:
        reason = str(error).strip().splitlines()[0][:200]
        raise StoreError(f"{path}: a table cannot be read ({reason}); {_REPAIR}") from error


def _vector(row: Mapping[str, Any]) -> bytes | None:
    import numpy as np

    return None if row.get("vector") is None else np.array(row["vector"], dtype="<f4").tobytes()


def _verify(path: Path, row: Mapping[str, Any], names: tuple[str, ...], vector: bytes = b"") -> None:
    text = "\x1f".join(str(row[name]) for name in names)
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8)
    digest.update(vector)
    if int.from_bytes(digest.digest(), "little", signed=True) != row["check"]:
        raise StoreError(f"{path}: a row of its tables is damaged; {_REPAIR}")


def _sync_all(path: Path) -> None:
    for entry in sorted(path.rglob("*")):
        if entry.is_dir():
            platforms.sync_folder(entry)
        elif entry.is_file():
            with entry.open("rb") as raw:
                os.fsync(raw.fileno())


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
