"""The folder of uploaded originals: staged per request, placed by the job that ingests them, or removed.

A request's files are staged below `.incoming`, in a folder of the process that holds a lock on it. The job
moves them to their names, with a mark for each and what they replace beside it, so that whatever ends the
job, a kill too, leaves every name with the file whose documents the index has.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import shutil
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any, BinaryIO

from disputatio import platforms
from disputatio.errors import IndexBusy, InputError, StoreError
from disputatio.rendering.refusals import REMEDIES
from disputatio.server.faults import NoRoom, is_of_full_disk, shown
from disputatio.store.contract import Index
from disputatio.store.ingesting.ingest import Fingerprint, IngestSummary, file_key, look
from disputatio.text import one_line

_INCOMING = ".incoming"
_LONGEST, _LONGEST_SUFFIX = 255, 40  # bytes of a name and of its ending
_PIECE = 1 << 20

Progress = Callable[[int, int], None]


def file_name(given: str) -> tuple[str, bool]:
    """Choose a safe file name for an upload; the second is true if it is the given name, unchanged.

    Raises `InputError` if nothing is left.

    >>> file_name("../../etc/pass wd.txt"), file_name("C:\\\\a\\\\b.md"), file_name("café.txt")
    (('pass wd.txt', False), ('b.md', False), ('café.txt', True))
    """
    last = PureWindowsPath(PurePosixPath(one_line(given)).name).name
    composed = unicodedata.normalize("NFC", last)
    kept = "".join(letter if _is_kept(letter) else "_" for letter in composed)
    stem = PurePosixPath(kept).stem.strip(" .")
    suffix = _cut(PurePosixPath(kept).suffix, _LONGEST_SUFFIX)
    if not stem:
        raise InputError(f"the name {one_line(given)[:50]!r} of an upload is none that a file can have")
    name = _cut(stem, _LONGEST - len(suffix.encode())) + suffix
    return name, name == unicodedata.normalize("NFC", given)


def _is_kept(letter: str) -> bool:
    return letter.isalnum() or letter in " .-_()" or unicodedata.category(letter).startswith("M")


def _cut(text: str, most: int) -> str:
    """Cut text to a number of bytes, between characters."""
    return text.encode()[:most].decode(errors="ignore")


@dataclass(frozen=True, slots=True, kw_only=True)
class Staged:
    """One uploaded file before its job: where it is staged, its name, and the SHA-256 of its content."""

    path: Path
    name: str
    exact: bool
    digest: str

    def apart(self) -> str:
        """Return the name with the content's hash, for a name that other content has."""
        suffix = PurePosixPath(self.name).suffix
        end = f"-{self.digest[:16]}{suffix}"
        return _cut(PurePosixPath(self.name).stem, _LONGEST - len(end.encode())) + end


class Uploads:
    """The folder of uploads, with at most `most` bytes in it; one event loop and its jobs use it."""

    def __init__(self, folder: Path, most: int) -> None:
        self._folder, self._most = folder, most
        self._own: Path | None = None
        self._unfinished: set[Path] = set()  # batches that could not be undone
        self._lock = -1

    # --- staging ------------------------------------------------------------------------------------
    def stage(self, files: Sequence[tuple[str, BinaryIO]]) -> tuple[Path, list[Staged]]:
        """Write the files of a request to a folder of its own, all or none; one request at a time.

        Raises `InputError` for a name, and `NoRoom`.
        """
        names = [file_name(name) for name, _ in files]
        try:
            batch = self._open_own_folder() / secrets.token_hex(8)
            batch.mkdir(mode=0o700)
            try:
                room = self._most - self._count_bytes()
                staged = []
                for number, ((name, exact), (_, content)) in enumerate(zip(names, files, strict=True)):
                    path = batch / str(number)
                    digest, size = _write(path, content, room)
                    room -= size
                    staged.append(Staged(path=path, name=name, exact=exact, digest=digest))
            except BaseException:
                shutil.rmtree(batch, ignore_errors=True)
                raise
        except OSError as error:
            if is_of_full_disk(error):
                raise NoRoom("nothing of this upload was kept") from error
            raise
        return batch, staged

    def _open_own_folder(self) -> Path:
        """Return this process's folder for staged files, locked as long as the process lives."""
        if self._own is None:
            own = self._folder / _INCOMING / secrets.token_hex(8)
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            own.parent.mkdir(exist_ok=True, mode=0o700)
            with _lock_folder(own.parent, wait=True):  # no other process sweeps it before it is locked
                own.mkdir(mode=0o700)
                self._lock = platforms.open_lock(own)
                platforms.lock(self._lock, wait=True)
            self._own = own
        return self._own

    def _count_bytes(self) -> int:
        total = 0
        for root, _, names in os.walk(self._folder):
            for name in names:
                try:
                    total += (Path(root) / name).lstat().st_size
                except FileNotFoundError:
                    continue  # a job of this server has moved it
        return total

    def close(self) -> None:
        """Remove what is staged and not placed, and release the lock."""
        if self._own is not None:
            for batch in self._own.iterdir():
                if not (batch / "placed").is_dir():
                    shutil.rmtree(batch, ignore_errors=True)
            if not any(self._own.iterdir()):
                self._own.rmdir()
            os.close(self._lock)
            self._own = None

    # --- ingesting ----------------------------------------------------------------------------------
    def ingest(
        self,
        index: Index,
        batch: Path,
        staged: Sequence[Staged],
        *,
        source_by: str | None,
        shared: bool,
        progress: Progress,
    ) -> dict[str, Any]:
        """Place staged files and ingest them; return the counts, and the refused files with reasons.

        With `shared` the documents may be from anyone: they get one owner, the sources that they state are
        kept apart (`store.ingesting.source.mark_unverified`), and no file replaces another. Raises
        `StoreError`, `Cancelled`, `InputError`.
        """
        with self._lock_for_writing(batch):
            for left in sorted(self._unfinished):
                self._undo(index, left)
            try:
                paths: list[Path] = []
                for each in staged:
                    paths.append(self._place(batch, each, paths, shared=shared))
                replacing = [path for path in dict.fromkeys(paths) if (batch / "old" / path.name).exists()]
                others = [path for path in dict.fromkeys(paths) if path not in replacing]
                total, done, summaries = len(replacing) + len(others), 0, []
                # Each file that replaces another by itself, to know if it was refused as a whole.
                for group in [[path] for path in replacing] + ([others] if others else []):
                    summary = index.ingest(
                        *group,
                        source_by=source_by,
                        unverified=shared,
                        progress=lambda more, _, __: progress(done + more, total),  # noqa: B023 (called within the turn)
                    )
                    summaries.append(summary)
                    done += len(group)
                    if group[0] in replacing and _is_refused(summary):
                        (batch / "old" / group[0].name).replace(group[0])
            except BaseException:
                self._undo(index, batch)
                raise
            if any(summary.refused for summary in summaries):
                self._remove_unread(index, batch)
            shutil.rmtree(batch)
        refused = [refusal for summary in summaries for refusal in summary.refused]
        return _sum(summaries) | {
            "files": [path.name for path in paths],
            "refused": [
                {
                    "path": self._name(path),
                    "reason": shown(reason),
                    "code": code,
                    "remedy": REMEDIES[code],
                    "data": dict(data),
                }
                for path, reason, code, data in refused
            ],
        }

    def _name(self, path: str) -> str:
        """Return a place in the folder as the client named it: a file, and what lies within it."""
        return one_line(path.rpartition(f"{self._folder.name}/")[2])[:500]

    def _place(self, batch: Path, staged: Staged, placed: Collection[Path], *, shared: bool) -> Path:
        """Move a staged file to its name; a file that it replaces is put aside.

        A name that other content of this request has, or that the upload may not replace, gets the hash of
        the content. Raises `InputError` if that is taken, too.
        """
        path, marks, old = self._folder / staged.name, batch / "placed", batch / "old"
        if _is_taken(path, staged) and (shared or not staged.exact or path in placed or not path.is_file()):
            path = self._folder / staged.apart()
            if _is_taken(path, staged):
                raise InputError(f"the name {staged.name!r} of an upload is taken by another document")
        if _has(path, staged.digest):
            return path
        marks.mkdir(exist_ok=True)
        old.mkdir(exist_ok=True)
        (marks / path.name).touch()
        if path.exists():
            path.rename(old / path.name)
        staged.path.rename(path)
        return path

    @contextmanager
    def _lock_for_writing(self, batch: Path | None = None) -> Iterator[None]:
        """Lock the folder against jobs of other processes; else remove the batch, and raise `IndexBusy`."""
        with _lock_folder(self._folder) as locked:
            if not locked:
                if batch is not None:
                    shutil.rmtree(batch)
                raise IndexBusy("another server is putting uploads into this index: try again in a moment")
            yield

    def _undo(self, index: Index, batch: Path) -> None:
        """End a batch whose job did not: every name gets the file whose documents the index has.

        If the index cannot be read or written now, the old files are put back, and the batch stays for
        the next job or start, which takes what was added meanwhile out of the index.
        """
        olds = {old.name: old for old in _files(batch / "old")}
        try:
            prints = _fingerprints(index) if (batch / "placed").is_dir() else {}
            for mark in _files(batch / "placed"):
                path, old = self._folder / mark.name, olds.get(mark.name)
                known = prints.get(file_key(path))
                if known is not None and look(path, known.settings, known).unchanged:
                    continue  # the new file's documents had been committed, or the old one is back already
                if old is not None:
                    old.replace(path)
                elif known is None or not path.is_file():
                    continue
                if known is None or not look(path, known.settings, known).unchanged:
                    index.ingest(path)
            self._remove_unread(index, batch)
        except StoreError:
            for old in _files(batch / "old"):
                old.replace(self._folder / old.name)
            self._unfinished.add(batch)
            return
        self._unfinished.discard(batch)
        shutil.rmtree(batch)

    def _remove_unread(self, index: Index, batch: Path) -> None:
        """Remove files that were placed and gave the index no document."""
        known = {document.path for document in index.documents(text=False)}
        for mark in _files(batch / "placed"):
            path = self._folder / mark.name
            if file_key(path) not in known:
                path.unlink(missing_ok=True)

    # --- after a kill -------------------------------------------------------------------------------
    def sweep(self, index: Index) -> None:
        """Remove what processes that are gone have left behind, and end their batches.

        Raises `StoreError`; the next start tries again.
        """
        for part in self._folder.glob(".*.part"):  # of versions that had no folder for them
            part.unlink(missing_ok=True)
        incoming = self._folder / _INCOMING
        if not incoming.is_dir():
            return
        with _lock_folder(incoming, wait=True):
            for stage in incoming.iterdir():
                with _lock_folder(stage) as dead:
                    if not dead:
                        continue
                    for batch in stage.iterdir():
                        if (batch / "placed").is_dir():
                            with self._lock_for_writing():
                                self._undo(index, batch)
                        else:
                            shutil.rmtree(batch)
                    if not any(stage.iterdir()):
                        stage.rmdir()


@contextmanager
def _lock_folder(folder: Path, *, wait: bool = False) -> Iterator[bool]:
    """Lock a folder; yields false if another process has the lock and this one does not wait."""
    handle = platforms.open_lock(folder)
    try:
        yield platforms.lock(handle, wait=wait)
    finally:
        os.close(handle)


def _write(path: Path, content: BinaryIO, room: int) -> tuple[str, int]:
    """Write an upload to a new file; return its SHA-256 and its size. Raises `NoRoom` beyond `room` bytes."""
    digest, size = hashlib.sha256(), 0
    handle = platforms.open_handle(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    with os.fdopen(handle, "wb") as out:
        while piece := content.read(_PIECE):
            size += len(piece)
            if size > room:
                raise NoRoom("the folder of uploads is full: start the server with a larger --upload-gb")
            digest.update(piece)
            out.write(piece)
    return digest.hexdigest(), size


def _has(path: Path, digest: str) -> bool:
    """Check whether a path is a regular file with this content."""
    if path.is_symlink() or not path.is_file():
        return False
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() == digest


def _is_taken(path: Path, staged: Staged) -> bool:
    return os.path.lexists(path) and not _has(path, staged.digest)


def _files(folder: Path) -> list[Path]:
    return sorted(folder.iterdir()) if folder.is_dir() else []


def _fingerprints(index: Index) -> dict[str, Fingerprint]:
    with index.open_writer() as writer:
        return dict(writer.fingerprints)


def _is_refused(summary: IngestSummary) -> bool:
    """Check whether a file was refused as a whole."""
    taken = summary.added + summary.unchanged + summary.replaced + summary.removed
    return bool(summary.refused) and not taken


def _sum(summaries: Sequence[IngestSummary]) -> dict[str, Any]:
    """Add up the counts of several ingests."""
    rows = [asdict(summary) for summary in summaries]
    left_out: Counter[str] = Counter()
    for row in rows:
        left_out.update(row["left_out"])
    names = ("added", "unchanged", "replaced", "removed", "passages", "hidden")
    counts = {name: sum(row[name] for row in rows) for name in names}
    seconds = round(sum(row["seconds"] for row in rows), 3)
    return counts | {"left_out": dict(sorted(left_out.items())), "seconds": seconds}
