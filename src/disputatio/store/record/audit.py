"""The damage of an index: all that is stored compared with its checksums. Nothing is changed here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from disputatio.errors import IndexVersion, StoreError
from disputatio.store.calibration_file import NAME as CALIBRATION
from disputatio.store.calibration_file import damaged_lines
from disputatio.store.record import manifest as manifests
from disputatio.store.record.database import reading
from disputatio.store.record.manifest import (
    MARK,
    NAME,
    RECORD,
    SEGMENTS,
    Manifest,
    SegmentEntry,
    hash_file,
    reported,
)
from disputatio.store.record.transaction import read_dead
from disputatio.store.reliabilities import NAME as RELIABILITY
from disputatio.store.reliabilities import read_reliabilities

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from disputatio.store.segments.segment import Segment

CHANGED, MISSING = "its bytes have changed", "is missing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Damage:
    """A file of the index that is not what was written; `action` is empty where nothing was done about it."""

    file: str
    problem: str
    action: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LostDocument:
    """A document that was taken out of what is searched; ingest its file again to bring it back.

    `document` is its id and `path` its file; one of them may not be known.
    """

    reason: str
    document: str = ""
    path: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckReport:
    """A check in figures: files compared with their hashes, rows with their checksums."""

    path: str
    files: int
    documents: int
    passages: int
    damaged: tuple[Damage, ...] = ()
    lost: tuple[LostDocument, ...] = ()
    repaired: bool = False
    replica: bool = False

    def text(self) -> str:
        """Return the report as a person reads it, one line a finding."""
        lines = [
            f"{self.path}: {self.files:,} files, {self.documents:,} documents and {self.passages:,} passages "
            f"checked; {len(self.damaged) or 'nothing'} damaged"
        ]
        lines += [
            f"damaged {damage.file}: {damage.problem}; {damage.action or 'left as it is'}"
            for damage in self.damaged
        ]
        lines += [
            f"lost {document.path or f'document {document.document}'}: {document.reason}"
            for document in self.lost
        ]
        if self.lost:
            lines.append("ingest the files of lost documents again to bring them back")
        elif self.damaged and self.replica:
            lines.append("it is a copy: make another with disputatio index sync, into an empty folder")
        elif self.damaged and not self.repaired:
            lines.append(f"repair it with: {manifests.check_command(Path(self.path))}")
        return "\n".join(lines)


@dataclass(slots=True, kw_only=True)
class Findings:
    """The damage of an index; names of files are relative to its folder.

    `segments` are the damaged ones by name. `readable`: the record's manifest can be read. `recorded`: the
    index has a record (a copy may lack it), `replica`: it is a copy.
    """

    manifest: Manifest
    readable: bool
    replica: bool
    recorded: bool
    damaged: list[Damage] = field(default_factory=list)
    files: int = 0
    segments: set[str] = field(default_factory=set)

    def note(self, file: str, problem: str) -> None:
        """Add a damaged file."""
        self.damaged.append(Damage(file=file, problem=problem))

    def has(self, file: str) -> bool:
        """Return whether a file is damaged."""
        return any(damage.file == file for damage in self.damaged)


def find_manifest(path: Path) -> Findings:
    """Return the manifest to check against: the record's, or `manifest.json` where that cannot be read.

    Raises `StoreError` when there is no index, or both are damaged; `IndexVersion` when it is of
    another version.
    """
    replica = (path / MARK).exists()
    file, committed, fault = None, None, None
    try:
        file = manifests.read(path)
    except IndexVersion:
        raise
    except StoreError as error:
        if not any((path / name).exists() for name in (NAME, RECORD)):
            raise
        fault = error
    if file is None and fault is None:
        raise StoreError(f"{path}: there is no index here; make one with: disputatio ingest PATH")
    recorded = not replica or (path / RECORD).exists()
    if recorded:
        try:
            with reading(path) as record:
                committed = record.manifest()
        except IndexVersion:
            raise
        except StoreError:
            pass  # the audit finds out what is wrong with it
    if committed is not None and (file is None or committed.number >= file.number):
        findings = Findings(manifest=committed, readable=True, replica=replica, recorded=recorded)
        if fault is not None:
            findings.note(NAME, CHANGED if (path / NAME).exists() else MISSING)
        return findings
    if file is None:
        raise StoreError(
            f"{path}: {NAME} and {RECORD} are damaged; ingest the documents into a new folder"
        ) from fault
    findings = Findings(manifest=file, readable=False, replica=replica, recorded=recorded)
    if committed is not None:
        findings.note(RECORD, f"is at commit {committed.number}, and the index at {file.number}")
    return findings


def audit(path: Path, findings: Findings) -> None:
    """Compare the files of the segments, the rows of the record and the small files with their checksums."""
    with reported(path, "checking the index"):
        for entry in findings.manifest.segments:
            wanted = dict(entry.files) | ({entry.dead: entry.dead_hash} if entry.dead else {})
            for name, digest in wanted.items():
                findings.files += 1
                problem = _differs(path / SEGMENTS / entry.name / name, digest)
                if problem:
                    findings.segments.add(entry.name)
                    findings.note(f"{SEGMENTS}/{entry.name}/{name}", problem)
    try:
        read_reliabilities(path)
    except StoreError:
        findings.note(RELIABILITY, CHANGED)
    if lines := damaged_lines(path):
        findings.note(CALIBRATION, f"{len(lines)} of its lines have changed")
    if not findings.recorded or findings.has(RECORD):
        return
    findings.files += 1
    if not (path / RECORD).exists():
        findings.note(RECORD, MISSING)
        return
    try:
        with reading(path) as record:
            if problems := record.problems():
                findings.note(RECORD, problems[0])
            elif not findings.segments and not _agree(path, findings, record.passage_ids()):
                findings.note(SEGMENTS, "do not hold the passages that are on record")
                findings.segments = {entry.name for entry in findings.manifest.segments}
    except StoreError as error:
        findings.note(
            RECORD, f"cannot be read ({str(error).rpartition('failed: ')[2].partition(';')[0][:100]})"
        )


def _differs(file: Path, digest: str) -> str:
    """Return what is wrong with a file that ought to have a hash; empty when nothing is."""
    try:
        return "" if hash_file(file) == digest else CHANGED
    except FileNotFoundError:
        return MISSING


# --- segments and rows ------------------------------------------------------------------------------
Opened = tuple[SegmentEntry, "Segment", "NDArray[np.bool_] | None"]


def sound_segments(path: Path, findings: Findings) -> list[Opened]:
    """Open each sound segment, with its entry and its dead rows."""
    from disputatio.store.segments.segment import Segment

    sound = [entry for entry in findings.manifest.segments if entry.name not in findings.segments]
    return [
        (entry, Segment.open(path / SEGMENTS / entry.name, entry.files), read_dead(path, entry))
        for entry in sound
    ]


def _agree(path: Path, findings: Findings, ids: Iterator[list[str]]) -> bool:
    """Return whether the segments find every passage on record, and no other; all of them are sound."""
    opened = sound_segments(path, findings)
    count = 0
    for batch in ids:
        if not find_live(opened, batch).all():
            return False
        count += len(batch)
    return count == findings.manifest.live


def find_live(opened: Sequence[Opened], ids: Sequence[str]) -> NDArray[np.bool_]:
    """Return which passages are live in some segments."""
    import numpy as np

    present = np.zeros(len(ids), dtype=np.bool_)
    for _, segment, dead in opened:
        rows = segment.find(ids)
        live = rows >= 0
        if dead is not None:
            live[live] = ~dead[rows[live]]
        present |= live
    return present
