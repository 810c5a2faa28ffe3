"""Copies of an index for readers: files that never change first, the manifest last.

Either side is a folder or the URL of a bucket (`s3://`, `gs://`, `file://`: what Arrow opens). One machine
writes an index and syncs it to a bucket; each reader syncs the bucket to a folder of its own, where
segments can be mapped into memory. A reader of the target sees the state before a sync or the one
after it, whenever the sync is cut short; the next one takes up what is there.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO
from urllib.parse import unquote, urlsplit

from disputatio.errors import BucketFault, InputError, StoreError
from disputatio.store.addresses import is_served, mask_secrets
from disputatio.store.record import manifest as manifests
from disputatio.store.record.checksums import Entry, parse_checksums
from disputatio.store.record.layout import LARGEST_CHECKSUMS, LARGEST_NOTE, is_table_file, refuse_links
from disputatio.store.record.lease import LEASE, Lease, leased, shown
from disputatio.store.record.manifest import CHECKSUMS, LOCK, SEGMENTS, Manifest, reported
from disputatio.store.record.places import Place, place_of
from disputatio.store.record.tables import writing
from disputatio.store.reliabilities import NAME as RELIABILITIES

_TRIES = 5
MARK = "replica.json"
"""Lies in a copy, and says of what: an index without it is an original, and nothing is copied over it."""
_OURS = (CHECKSUMS, LEASE, LOCK, MARK, RELIABILITIES, SEGMENTS)
_TABLE_FOLDERS = ("_versions", "_deletions", "_transactions", "_indices", "data")


@dataclass(frozen=True, slots=True, kw_only=True)
class Synced:
    """What a sync did: the number of the commit that the target now is at, files and bytes copied.

    `lease` says how a bucket kept other writers out: `conditional` by its own means, `advisory` where it has
    none (two that begin within a second may both go on); empty for a folder, which has a lock.
    """

    commit: int
    files: int
    bytes: int
    lease: str = ""


def sync(source: str | Path, target: str | Path, *, tables: bool = True) -> Synced:
    """Bring `target` to the state of the index at `source`; what it has already is not copied again.

    What is copied is compared with the manifest's hashes (the tables' files with their checksums) on its
    way. `tables=False` leaves out the system of record, which a search does not need (documents cannot
    be listed or exported from such a copy, nor anything added to it). What neither this state nor
    the one before needs is removed from the target. Raises `StoreError` when the source is no index,
    damaged or holds a link, when the target is ahead of it (it is another index then), or cannot be written
    to; `LeaseHeld` when another writer has the bucket, `BucketFault` when a bucket fails, which leaves the
    state before: the next sync takes up what has been copied. Raises `InputError` for an address of a server.
    """
    for place in (source, target):
        if is_served(place):
            raise InputError(
                f"{mask_secrets(place)}: is kept by a server; a sync is between folders and buckets"
            )
        if (folder := _folder_of(place)) is not None:
            refuse_links(folder)
    here, there = place_of(source), place_of(target)
    with _told(source, target), _locked(target) as lease:
        before = _manifest(there, target, older=True)
        lost: OSError = FileNotFoundError()
        for _ in range(_TRIES):
            now = _manifest(here, source)
            if now is None:
                raise StoreError(f"{source}: there is no index here")
            if before is not None and not _is_there(there, MARK):
                raise StoreError(f"{target}: is an index of its own, not a copy; choose an empty place")
            if before is not None and before.number > now.number:
                raise StoreError(
                    f"{target}: is at commit {before.number}, ahead of {source} at {now.number}: "
                    "it is a copy of another index, or was written to; choose an empty place"
                )
            if before is None:
                there.switch(MARK, json.dumps({"of": str(source)}).encode())
            try:
                return _copied(here, there, now, before, tables=tables, lease=lease)
            except FileNotFoundError as error:
                lost = error  # merged away meanwhile: try the newest state
    raise StoreError(f"{source}: lacks a file that its manifest names: {lost.filename or lost}")


def _copied(
    here: Place, there: Place, now: Manifest, before: Manifest | None, *, tables: bool, lease: Lease | None
) -> Synced:
    files = size = 0
    copied = there.names(SEGMENTS)
    # Only what the target's own manifest names is known to be whole: the rest was left by a sync cut short.
    known = {} if before is None else dict(_hashes(before))
    for name, digest in _hashes(now):
        if known.get(name) != digest or name not in copied:
            size += _copy(here, there, name, digest)
            files += 1
    for table in (now.documents, now.passages, now.files):
        there.make(
            f"{table.name}.lance"
        )  # where it stays empty too, else the copy would pass for half of one
    unused: list[str] = []
    if tables:
        more = _copy_tables(here, there, now)
        files, size, unused = files + more[0], size + more[1], more[2]
    with contextlib.suppress(FileNotFoundError), here.read(RELIABILITIES) as estimates:
        there.switch(RELIABILITIES, _bounded(estimates, RELIABILITIES, LARGEST_NOTE))
    if lease is not None:
        lease.check()
    for name in (manifests.COPY, manifests.NAME):
        there.switch(name, manifests.written(now))
    used = {segment.name for state in (now, before) if state is not None for segment in state.segments}
    unused += [f"{SEGMENTS}/{folder}" for folder in {name.split("/")[0] for name in copied} - used]
    for name in unused:
        there.remove(name)
    return Synced(commit=now.number, files=files, bytes=size, lease="" if lease is None else lease.kind)


def _copy_tables(here: Place, there: Place, now: Manifest) -> tuple[int, int, list[str]]:
    """Copy the tables' files; how many, their bytes, and what of the target neither state needs.

    Versions are listed first and written last: each before what it names, and after it.
    """
    checksums, known = _checksums_of(here), _entries(_checksums_of(there))
    entries = _entries(checksums)
    files = size = 0
    unused: list[str] = []
    for table in (now.documents.name, now.passages.name, now.files.name):
        wanted = {
            f"{table}.lance/{folder}/{name}": length
            for folder in _TABLE_FOLDERS
            for name, length in here.names(f"{table}.lance/{folder}").items()
            if not name.endswith((".json", ".tmp", ".part"))
        }
        if strange := [name for name in wanted if not is_table_file(name)]:  # a bucket's key may be anything
            raise StoreError(f"{strange[0]!r:.200}: is no name of a file of an index; nothing is copied")
        copied = {f"{table}.lance/{name}": length for name, length in there.names(f"{table}.lance").items()}
        for name, length in reversed(wanted.items()):
            if copied.get(name) != length:
                entry = entries.get(name)
                size += _copy(here, there, name, "" if entry is None else entry.hash)
                files += 1
        unused += [name for name in copied if name not in wanted and name not in known]
    there.switch(CHECKSUMS, checksums)
    return files, size, unused


def _checksums_of(place: Place) -> bytes:
    try:
        with place.read(CHECKSUMS) as raw:
            return _bounded(raw, CHECKSUMS, LARGEST_CHECKSUMS)
    except FileNotFoundError:
        return b""


def _entries(checksums: bytes) -> dict[str, Entry]:
    return parse_checksums(checksums)[0]


def _bounded(raw: IO[bytes], name: str, largest: int) -> bytes:
    """Return the bytes of a small file; raises `StoreError` when there are more than it can need."""
    content = raw.read(largest + 1)
    if len(content) > largest:
        raise StoreError(f"{name}: has more than {largest:,} bytes, which no index needs")
    return content


def _hashes(manifest: Manifest) -> Iterator[tuple[str, str]]:
    """Yield every file of the segments, relative to their folder, with its hash."""
    for segment in manifest.segments:
        yield from ((f"{segment.name}/{name}", digest) for name, digest in segment.files.items())
        if segment.dead:
            yield f"{segment.name}/{segment.dead}", segment.dead_hash


def _copy(here: Place, there: Place, name: str, digest: str) -> int:
    full = name if ".lance/" in name else f"{SEGMENTS}/{name}"
    with here.read(full) as file:
        return there.put(full, file, digest)


def _is_there(place: Place, name: str) -> bool:
    try:
        place.read(name).close()
    except FileNotFoundError:
        return False
    return True


def _manifest(place: Place, where: str | Path, *, older: bool = False) -> Manifest | None:
    try:
        with place.read(manifests.NAME) as raw:
            content = _bounded(raw, manifests.NAME, LARGEST_NOTE)
            return manifests.parse(content, Path(str(where)) / manifests.NAME, older=older)
    except FileNotFoundError:
        return None


def _folder_of(where: str | Path) -> Path | None:
    """Return the folder of this machine that a place is; None for a bucket elsewhere."""
    if not isinstance(where, str) or "://" not in where:
        return Path(where)
    url = urlsplit(where)
    return Path(unquote(url.path)) if url.scheme == "file" else None


@contextmanager
def _told(source: str | Path, target: str | Path) -> Iterator[None]:
    """Faults of either side in one line; where one of them is a bucket, as faults from outside."""
    bucket = next((str(place) for place in (target, source) if "://" in str(place)), "")
    try:
        with reported(Path(str(target)), "copying the index"):
            yield
    except StoreError as error:
        cause = error.__cause__
        if not bucket or not isinstance(cause, OSError) or isinstance(cause, FileNotFoundError):
            raise
        reason = " ".join(str(cause).split())[:300]
        raise BucketFault(f"{shown(bucket)}: copying the index failed: {reason}") from error


@contextmanager
def _locked(target: str | Path) -> Iterator[Lease | None]:
    """Hold the lock of a folder, or the lease of a bucket, so that nothing else writes to it."""
    if isinstance(target, str) and "://" in target:
        with leased(target) as lease:
            yield lease
        return
    folder = Path(target)
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / manifests.NAME).exists():
        names = sorted(file.name for file in folder.iterdir() if file.name not in _OURS)
        # What a first sync that was cut short has left is no stranger.
        if strange := [name for name in names if not name.endswith((".lance", ".part", ".json"))]:
            raise StoreError(
                f"{target}: holds {strange[0]}, which is no part of an index; choose an empty folder"
            )
    with writing(Path(target)):
        yield None
