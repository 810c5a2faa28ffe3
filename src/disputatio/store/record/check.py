"""`index check`: find what is damaged, quarantine it, and make again what can be made again."""

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
from typing import TYPE_CHECKING

from disputatio.errors import IndexBusy, IndexVersion, StoreError
from disputatio.store.calibration_file import NAME as CALIBRATION
from disputatio.store.calibration_file import find_damaged_lines, open_log
from disputatio.store.ingesting.statements import write_metadata
from disputatio.store.record import manifest as manifests
from disputatio.store.record.database import COLUMNS, RecordFile, find_cut, open_record, replace_record
from disputatio.store.record.layout import refuse_links
from disputatio.store.record.manifest import (
    MARK,
    NAME,
    RECORD,
    SEGMENTS,
    Manifest,
    SegmentEntry,
    hash_file,
    lock_index,
    report_faults,
)
from disputatio.store.record.transaction import Transaction, read_dead
from disputatio.store.record.writer import SegmentBuilder
from disputatio.store.reliabilities import NAME as RELIABILITY
from disputatio.store.reliabilities import read_reliabilities

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from disputatio.store.segments.segment import Segment

# --- what a check compares ----------------------------------------------------------------------------
CHANGED, MISSING = "its bytes have changed", "is missing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Damage:
    """A file of the index that is not what was written; `action` is empty where nothing was done about it."""

    file: str
    problem: str
    action: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LostDocument:
    """A document (its id, its file, or both) that is searched no more; ingest its file to bring it back."""

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
        lines = [
            f"{self.path}: {self.files:,} files, {self.documents:,} documents and {self.passages:,} passages "
            f"checked; {len(self.damaged) or 'nothing'} damaged"
        ]
        lines += [
            f"damaged {damage.file}: {damage.problem}; {damage.action or 'left as it is'}"
            for damage in self.damaged
        ]
        if self.lost and not self.documents:  # a line for each would hide that it is all of them
            everything = sum(bool(document.document) for document in self.lost)
            lines.append(f"lost all {everything:,} documents: {QUARANTINE}/list.jsonl of the index has them")
        else:
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
    """The damage of an index, segments by name; a `replica` may lack what is `recorded`."""

    manifest: Manifest
    replica: bool
    recorded: bool
    damaged: list[Damage] = field(default_factory=list)
    files: int = 0
    segments: set[str] = field(default_factory=set)

    def note(self, file: str, problem: str) -> None:
        self.damaged.append(Damage(file=file, problem=problem))

    def has(self, file: str) -> bool:
        return any(damage.file == file for damage in self.damaged)


def find_manifest(path: Path) -> Findings:
    """Return the manifest to check against, the record's or else the file's; raises `StoreError`."""
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
            with open_record(path) as record:
                committed = record.manifest()
        except IndexVersion:
            raise
        except StoreError:
            pass  # the audit finds out what is wrong with it
    if committed is not None and (file is None or committed.number >= file.number):
        findings = Findings(manifest=committed, replica=replica, recorded=recorded)
        if fault is not None:
            findings.note(NAME, CHANGED if (path / NAME).exists() else MISSING)
        return findings
    if file is None:
        raise StoreError(
            f"{path}: {NAME} and {RECORD} are damaged; ingest the documents into a new folder"
        ) from fault
    findings = Findings(manifest=file, replica=replica, recorded=recorded)
    if committed is not None:
        findings.note(RECORD, f"is at commit {committed.number}, and the index at {file.number}")
    return findings


def audit(path: Path, findings: Findings) -> None:
    """Compare the files of the segments, the rows of the record and the small files with their checksums."""
    with report_faults(path, "checking the index"):
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
    if lines := find_damaged_lines(path):
        findings.note(CALIBRATION, f"{len(lines)} of its lines have changed")
    if not findings.recorded or findings.has(RECORD):
        return
    findings.files += 1
    if not (path / RECORD).exists():
        findings.note(RECORD, MISSING)
        return
    try:
        with open_record(path) as record:
            if problems := record.problems():
                findings.note(RECORD, find_cut(path / RECORD) or problems[0])
            elif not findings.segments and not _agree(path, findings, record.passage_ids()):
                findings.note(SEGMENTS, "do not hold the passages that are on record")
                findings.segments = {entry.name for entry in findings.manifest.segments}
    except StoreError as error:
        cut = find_cut(path / RECORD)
        findings.note(
            RECORD, cut or f"cannot be read ({str(error).rpartition('failed: ')[2].partition(';')[0][:100]})"
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
    import numpy as np

    present = np.zeros(len(ids), dtype=np.bool_)
    for _, segment, dead in opened:
        rows = segment.find(ids)
        live = rows >= 0
        if dead is not None:
            live[live] = ~dead[rows[live]]
        present |= live
    return present


_TRIES = 5


def check(path: str | Path, *, repair: bool = True) -> CheckReport:
    """Compare all that is stored with its checksums.

    With `repair` what is damaged goes to `quarantine/` (nothing is deleted), what can be made again is,
    and documents that cannot be verified are taken out of what is searched. Without, nothing is
    changed, and neither in a copy that `sync` made: that is made anew from its index.

    Raises `StoreError` when there is no index, it holds a link, or its manifest and its record are damaged
    both; `IndexVersion` when it is of another version, `IndexBusy` when another process is writing to it.
    """
    path = Path(path)
    refuse_links(path)
    findings = find_manifest(path)  # before anything is made in a folder that holds no index
    if repair and not findings.replica:
        with lock_index(path):
            findings = find_manifest(path)
            audit(path, findings)
            lost = repair_index(path, findings) if findings.damaged else []
            if not findings.damaged and manifests.read(path) != findings.manifest:
                manifests.publish(path, findings.manifest)  # a killed writer had not come to it
            return _report(path, findings, lost=lost, repaired=bool(findings.damaged))
    for _ in range(_TRIES):
        audit(path, findings)
        if not findings.damaged or not _has_moved_on(path, findings):
            return _report(path, findings)
        findings = find_manifest(path)
    raise IndexBusy(f"{path}: another process is writing to this index; check it when that is done")


def _has_moved_on(path: Path, findings: Findings) -> bool:
    """Return whether a writer has committed since, so that what seems missing may only be older."""
    try:
        return find_manifest(path).manifest.number != findings.manifest.number
    except StoreError:
        return False


def _report(
    path: Path, findings: Findings, *, lost: Sequence[LostDocument] = (), repaired: bool = False
) -> CheckReport:
    counted = findings.recorded and (repaired or not findings.has(RECORD))
    return CheckReport(
        path=str(path),
        files=findings.files,
        documents=findings.manifest.documents if counted else 0,
        passages=findings.manifest.passages if counted else 0,
        damaged=tuple(findings.damaged),
        lost=tuple(lost),
        repaired=repaired,
        replica=findings.replica,
    )


# --- repair ---------------------------------------------------------------------------------------
# Repair a damaged index: damaged files go to `quarantine/`, what can be made again is made again.
#
# A damaged record is written anew from its good rows, and passages that it lacks come from the segments;
# damaged segments are made anew from the record. Documents that cannot be verified are taken out, and named.
# One commit puts all of it in force.

QUARANTINE = "quarantine"
FRESH = "record.fresh.part"
_ROWS = 8192


def repair_index(path: Path, findings: Findings) -> list[LostDocument]:
    """Repair what the audit found; the documents that are lost."""
    place = _new_place(path)
    lost: list[LostDocument] = []
    with report_faults(path, "repairing the index"):
        _repair_notes(path, findings, place)
        for name in sorted(findings.segments):
            _quarantine(path, place, f"{SEGMENTS}/{name}")
        if findings.has(RECORD):
            _quarantine(path, place, RECORD)
            lost = _renew_record(path, findings)
            left = "its good rows written anew" if findings.manifest.documents else "none of it can be read"
            _note_action(findings, RECORD, f"kept in quarantine, {left}")
        else:
            transaction = Transaction(path, findings.manifest, RecordFile.open(path))
            with contextlib.closing(transaction):
                if findings.segments:
                    opened = sound_segments(path, findings)
                    entries = [entry for entry, _, _ in opened]
                    transaction.put_in_force([*entries, *_build_missing_segments(transaction, opened)])
                else:
                    manifests.publish(path, findings.manifest)
                transaction.clear()
                findings.manifest = transaction.manifest
        for name in findings.segments:
            _note_action(findings, f"{SEGMENTS}/{name}/", "kept in quarantine, made anew from the record")
        _note_action(findings, SEGMENTS, "kept in quarantine, made anew from the record")
    _write_list(path, place, findings, lost)
    return lost


def _repair_notes(path: Path, findings: Findings, place: str) -> None:
    if findings.has(NAME):
        _quarantine(path, place, NAME)
        _note_action(findings, NAME, "written anew from the record")
    for name, lock in ((RELIABILITY, contextlib.nullcontext()), (CALIBRATION, open_log(path))):
        if findings.has(name):
            with lock:  # while no one appends to it
                _quarantine(path, place, name)
                (path / name).unlink()
            _note_action(findings, name, "moved to quarantine; estimate anew with: disputatio calibrate")


# --- the record -------------------------------------------------------------------------------------
def _renew_record(path: Path, findings: Findings) -> list[LostDocument]:
    """Write the record anew beside the damaged one, then in its place; the documents that are lost."""
    old = findings.manifest
    opened = sound_segments(path, findings)
    start = replace(old, segments=(), documents=0, passages=0, files=0)
    record = RecordFile.make(path, start, FRESH)
    transaction = Transaction(path, old, record)
    with contextlib.closing(transaction):
        _copy_good_rows(path, record)
        lost = _complete(record, opened)
        lost += _forget_files(record)
        gone = {document.document for document in lost if document.document}
        entries = [transaction.without(entry, gone) if gone else entry for entry, _, _ in opened]
        entries += _build_missing_segments(transaction, opened)
        following = transaction.make_next_manifest(entries)
        record.commit(following)
    replace_record(path / FRESH, path / RECORD)
    manifests.publish(path, following)
    with contextlib.closing(Transaction.open(path, following)):
        pass  # which clears what the manifest does not name
    findings.manifest = following
    return lost


def _copy_good_rows(path: Path, record: RecordFile) -> None:
    """Copy the good rows of the damaged record; a row that names a document needs a good one."""
    if not (path / RECORD).exists():
        return
    with contextlib.suppress(StoreError), open_record(path, checked=False) as damaged:
        documents: set[int] = set()
        for table in damaged.tables():
            at = COLUMNS[table].index("document") if table in ("entries", "passages") else None
            rows = []
            for row in damaged.good_rows(table):
                if table == "documents":
                    documents.add(row[0])
                if at is None or row[at] in documents:
                    rows.append(row)
                if len(rows) >= _ROWS:
                    record.insert(table, rows)
                    rows = []
            record.insert(table, rows)


def _complete(record: RecordFile, opened: Sequence[Opened]) -> list[LostDocument]:
    """Add the passages that only the segments hold, and take out documents that are not whole."""
    import numpy as np

    keys = {identity: key for key, identity in record.ids("documents")}
    present = {name for _, name in record.ids("passages")}
    lost: dict[str, LostDocument] = {}
    for entry, segment, dead in opened:
        live = np.arange(entry.rows) if dead is None else np.flatnonzero(~dead)
        for at in range(0, len(live), _ROWS):
            part = live[at : at + _ROWS]
            vectors = None
            if segment.vectors is not None:
                vectors = segment.vectors.numbers[part] * segment.vectors.scales[part, None]
            rows = []
            for number, passage in enumerate(segment.passages(part)):
                key = keys.get(passage.document)
                if key is None:
                    about = (passage.source, passage.title, passage.url, f"passage {passage.id}")
                    reason = f"it cannot be verified ({', '.join(part for part in about if part)})"
                    lost.setdefault(passage.document, LostDocument(document=passage.document, reason=reason))
                elif passage.id not in present:
                    present.add(passage.id)
                    vector = None if vectors is None else vectors[number].astype("<f4").tobytes()
                    metadata = write_metadata(passage)
                    rows.append((None, passage.id, key, passage.start, passage.end, metadata, vector))
            record.insert("passages", rows)
    for identity, path, reason in record.incomplete():
        lost[identity] = LostDocument(document=identity, path=path, reason=reason)
    record.remove_documents(list(lost))
    return list(lost.values())


def _forget_files(record: RecordFile) -> list[LostDocument]:
    """Forget files that lack documents, or seem to, so that the next ingest reads them again."""
    documents_of = Counter(file for file, _ in record.identities())
    missing = [file for file in record.fingerprints().values() if documents_of[file.path] != file.documents]
    record.note_files([], [file.path for file in missing])
    return [
        LostDocument(
            path=file.path, reason=f"{documents_of[file.path]} of its {file.documents} documents are left"
        )
        for file in missing
    ]


def _build_missing_segments(transaction: Transaction, opened: Sequence[Opened]) -> list[SegmentEntry]:
    """Make segments of the passages on record that no sound segment has."""
    segments = SegmentBuilder(transaction)
    for rows in transaction.record.passage_rows(_ROWS):
        present = find_live(opened, [row[1] for row in rows])
        lacking = [row for row, is_present in zip(rows, present.tolist(), strict=True) if not is_present]
        if lacking:
            segments.add(*transaction.record.batch_of(lacking))
    return segments.entries


# --- the quarantine ---------------------------------------------------------------------------------
def _new_place(path: Path) -> str:
    """Make a new folder of the quarantine, named by the time; its name relative to the index."""
    with report_faults(path, "making the quarantine"):
        stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
        place, number = f"{QUARANTINE}/{stamp}", 1
        while (path / place).exists():
            number += 1
            place = f"{QUARANTINE}/{stamp}-{number}"
        (path / place).mkdir(parents=True)  # the index is locked: nobody else makes one
        return place


def _quarantine(path: Path, folder: str, name: str) -> None:
    """Copy a file, or all of a folder, to the quarantine; files of segments never change and are linked."""
    source, target = path / name, path / folder / name
    if source.is_dir():
        shutil.copytree(source, target, copy_function=_link, dirs_exist_ok=True)
    elif source.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, target)


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:  # a file system without links
        shutil.copy2(source, target)


def _write_list(path: Path, folder: str, findings: Findings, lost: Sequence[LostDocument]) -> None:
    when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    entries = [asdict(entry) for entry in findings.damaged] + [asdict(entry) for entry in lost]
    with report_faults(path, "writing to the index"), (path / QUARANTINE / "list.jsonl").open("ab") as out:
        for entry in entries:
            out.write(json.dumps({"when": when, "place": folder, **entry}).encode() + b"\n")
        out.flush()
        os.fsync(out.fileno())


def _note_action(findings: Findings, file: str, action: str) -> None:
    """Note what was done about a damaged file, or about those of a folder whose name ends in a slash."""
    findings.damaged[:] = [
        replace(damage, action=action)
        if damage.file == file or (file.endswith("/") and damage.file.startswith(file))
        else damage
        for damage in findings.damaged
    ]
