"""What is stored compared with its hashes: files first, then rows. Nothing is changed here."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from disputatio.errors import IndexVersion, StoreError
from disputatio.store.calibration_file import NAME as CALIBRATION
from disputatio.store.calibration_file import damaged_lines
from disputatio.store.record import manifest as manifests
from disputatio.store.record.checksums import Entry, hash_file, immutable_files, read_checksums
from disputatio.store.record.layout import read_note
from disputatio.store.record.manifest import (
    CHECKSUMS,
    COPIES,
    COPY,
    NAME,
    SEGMENTS,
    Manifest,
    SegmentEntry,
    reported,
)
from disputatio.store.record.replicate import MARK
from disputatio.store.record.report import Damage
from disputatio.store.record.salvage import row_is_good
from disputatio.store.record.tables import NAMES, Pinned
from disputatio.store.record.transaction import read_dead
from disputatio.store.reliabilities import NAME as RELIABILITY
from disputatio.store.reliabilities import read_reliabilities

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from disputatio.store.segments.segment import Segment

CHANGED, MISSING = "its bytes have changed", "is missing"


@dataclass(slots=True, kw_only=True)
class Findings:
    """What is wrong with an index; names of files are relative to its folder.

    `tables` are those that may have bad rows (documents, passages, files), `segments` the damaged ones
    by name, `restorable` files of the tables that have a good copy, `useless` those that nothing needs,
    `copies` damaged copies of sound files. `documents` and `passages` count the rows that were read.
    `replica`: it is a copy that another index feeds; `recorded`: it has tables (a replica may lack them).
    """

    manifest: Manifest
    replica: bool = False
    recorded: bool = True
    damaged: list[Damage] = field(default_factory=list)
    files: int = 0
    documents: int = 0
    passages: int = 0
    tables: set[str] = field(default_factory=set)
    segments: set[str] = field(default_factory=set)
    restorable: set[str] = field(default_factory=set)
    useless: set[str] = field(default_factory=set)
    copies: set[str] = field(default_factory=set)

    def note(self, file: str, problem: str) -> None:
        """One more damaged file."""
        self.damaged.append(Damage(file=file, problem=problem))

    def has(self, file: str) -> bool:
        """Return whether a file is damaged."""
        return any(damage.file == file for damage in self.damaged)


def find_manifest(path: Path) -> Findings:
    """Return the manifest to check against: the one in force, or its copy where that is damaged.

    Raises `StoreError` when there is no index, or both are damaged; `IndexVersion` when it is of
    another version.
    """
    findings = _find_manifest(path)
    findings.replica = (path / MARK).exists()
    findings.recorded = not findings.replica or (path / CHECKSUMS).exists()
    return findings


def _find_manifest(path: Path) -> Findings:
    copy = _copy_of_manifest(path)
    try:
        manifest = manifests.read(path)
    except IndexVersion:
        raise
    except StoreError as error:
        if not any((path / name).exists() for name in (NAME, COPY)):
            raise
        if copy is None:
            raise StoreError(
                f"{path}: {NAME} and its copy are damaged; ingest the documents into a new folder"
            ) from error
        findings = Findings(manifest=copy)
        findings.note(NAME, CHANGED if (path / NAME).exists() else MISSING)
        return findings
    if manifest is None:
        raise StoreError(f"{path}: there is no index here; make one with: disputatio ingest PATH")
    findings = Findings(manifest=manifest)
    if copy is None and (path / COPY).exists():
        findings.note(COPY, CHANGED)
    return findings


def _copy_of_manifest(path: Path) -> Manifest | None:
    """Return the manifest's copy; None where it is missing or damaged."""
    try:
        return manifests.parse(read_note(path / COPY), path / COPY)
    except (OSError, StoreError):
        return None


# --- files ------------------------------------------------------------------------------------------
def audit_files(path: Path, findings: Findings) -> None:
    """Compare every file with its hash, and note what differs or is missing."""
    with reported(path, "checking the index"):
        if findings.recorded:
            _audit_tables(path, findings)
        for entry in findings.manifest.segments:
            wanted = dict(entry.files) | ({entry.dead: entry.dead_hash} if entry.dead else {})
            for name, digest in wanted.items():
                findings.files += 1
                problem = differs(path / SEGMENTS / entry.name / name, digest)
                if problem:
                    findings.segments.add(entry.name)
                    findings.note(f"{SEGMENTS}/{entry.name}/{name}", problem)
    try:
        read_reliabilities(path)
    except StoreError:
        findings.note(RELIABILITY, CHANGED)
    if lines := damaged_lines(path):
        findings.note(CALIBRATION, f"{len(lines)} of its lines have changed")


def differs(file: Path, digest: str) -> str:
    """Return what is wrong with a file that ought to have a hash; empty when nothing is."""
    try:
        return "" if hash_file(file) == digest else CHANGED
    except FileNotFoundError:
        return MISSING


def _audit_tables(path: Path, findings: Findings) -> None:
    manifest = findings.manifest
    named = {getattr(manifest, name).name: name for name in NAMES}
    known, lines = read_checksums(path)
    if lines:
        findings.note(CHECKSUMS, f"{lines} of its lines have changed")
    elif not (path / CHECKSUMS).exists():
        findings.note(CHECKSUMS, MISSING)
    for table, name in named.items():
        version = f"{table}.lance/_versions/{_version_file(manifest, name)}"
        if not (path / f"{table}.lance").is_dir():
            findings.tables.add(name)
            findings.note(f"{table}.lance", MISSING)
        elif not (path / version).exists():
            _note_file(path, findings, name, known.get(version), version, MISSING)
        elif version not in known and not findings.has(CHECKSUMS):
            findings.note(CHECKSUMS, "does not know all files of the tables")
    for file in immutable_files(path, named):
        findings.files += 1
        entry = known.get(file)
        if entry is None or not differs(path / file, entry.hash):
            continue  # a file without an entry was left by a kill before its commit
        table, kind, base = file.split("/")
        name = named[table.removesuffix(".lance")]
        if kind == "_transactions" or (kind == "_versions" and base != _version_file(manifest, name)):
            findings.useless.add(file)
            findings.note(file, CHANGED)
        else:
            _note_file(path, findings, name, entry, file, CHANGED)
    for name in NAMES:
        _audit_missing(path, findings, name, known.values())
    _audit_copies(path, findings, known)


def _audit_copies(path: Path, findings: Findings, known: Mapping[str, Entry]) -> None:
    for copy in sorted(file for file in (path / COPIES).rglob("*") if file.is_file()):
        file = str(copy.relative_to(path / COPIES))
        if file in known and file not in findings.restorable and differs(copy, known[file].hash):
            findings.copies.add(file)
            findings.note(f"{COPIES}/{file}", CHANGED)


def _note_file(
    path: Path, findings: Findings, name: str, entry: Entry | None, file: str, problem: str
) -> None:
    """Note a file that the table `name` needs: it comes back from its copy, or the table is suspect."""
    findings.note(file, problem)
    if entry is not None and not differs(path / COPIES / file, entry.hash):
        findings.restorable.add(file)
    else:
        findings.tables.add(name)


def _audit_missing(path: Path, findings: Findings, name: str, known: Collection[Entry]) -> None:
    """Note files of a table that are gone, where the table cannot be read without them.

    The checksums may name files for a while that are gone rightly: a kill may fall between the two.
    """
    table = getattr(findings.manifest, name).name
    kinds = tuple(f"{table}.lance/{kind}/" for kind in ("data", "_deletions"))
    gone = [entry for entry in known if entry.file.startswith(kinds) and not (path / entry.file).exists()]
    if gone and name not in findings.tables and not _waits(findings, table):
        try:
            for _ in Pinned(path, findings.manifest, [name]).batches(name, _FIRST[name]):
                pass
        except StoreError:
            for entry in gone:
                _note_file(path, findings, name, entry, entry.file, MISSING)


_FIRST = {"documents": ["id"], "passages": ["id"], "files": ["path"]}


def _waits(findings: Findings, table: str) -> bool:
    """Return whether a table cannot be read before some of its files are restored."""
    return any(file.startswith(f"{table}.lance/") for file in findings.restorable)


def _version_file(manifest: Manifest, name: str) -> str:
    """Return how the engine names the file of a version: so that the newest comes first."""
    return f"{2**64 - 1 - getattr(manifest, name).version:020d}.manifest"


# --- rows -------------------------------------------------------------------------------------------
def audit_rows(path: Path, findings: Findings) -> None:
    """Compare every row with its checksum, in the tables whose files are sound or have been restored."""
    findings.documents = findings.passages = 0
    for name in NAMES if findings.recorded else ():
        table = getattr(findings.manifest, name)
        if name in findings.tables or _waits(findings, table.name):
            continue
        count, good = 0, True
        try:
            pinned = Pinned(path, findings.manifest, [name])
            for batch in pinned.batches(name, pinned.table(name).schema.names):
                count += batch.num_rows
                good = all(map(row_is_good, batch.to_pylist())) and good
        except StoreError as error:
            reason = str(error).rpartition("failed: ")[2][:120]
            findings.note(f"{table.name}.lance", f"cannot be read ({reason})")
            findings.tables.add(name)
            continue
        if not good or count != table.rows:
            problem = (
                f"has {count} rows, not {table.rows}" if good else "has rows that are not what was written"
            )
            findings.note(f"{table.name}.lance", problem)
            findings.tables.add(name)
        if name == "documents":
            findings.documents = count
        elif name == "passages":
            findings.passages = count


Opened = tuple[SegmentEntry, "Segment", "NDArray[np.bool_] | None"]


def sound_segments(path: Path, findings: Findings) -> list[Opened]:
    """Return each sound segment with its entry and its dead rows."""
    from disputatio.store.segments.segment import Segment

    sound = [entry for entry in findings.manifest.segments if entry.name not in findings.segments]
    return [
        (entry, Segment.open(path / SEGMENTS / entry.name, entry.files), read_dead(path, entry))
        for entry in sound
    ]


def agree(path: Path, findings: Findings) -> bool:
    """Return whether the segments find every passage on record, and no other; all of them are sound."""
    if not findings.recorded:
        return True
    opened = sound_segments(path, findings)
    count = 0
    for batch in Pinned(path, findings.manifest, ["passages"]).batches("passages", ["id"]):
        present = found_in(opened, list(map(str, batch.column("id").to_pylist())))
        if not present.all():
            return False
        count += len(present)
    return count == findings.manifest.live


def found_in(opened: Sequence[Opened], ids: Sequence[str]) -> NDArray[np.bool_]:
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
