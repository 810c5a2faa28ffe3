"""`index check`: find what is damaged, quarantine it, and make again what can be made again."""

from __future__ import annotations

from pathlib import Path

from disputatio.errors import IndexBusy, StoreError
from disputatio.store.record import manifest as manifests
from disputatio.store.record.audit import Findings, agree, audit_files, audit_rows, find_manifest
from disputatio.store.record.layout import refuse_links
from disputatio.store.record.manifest import SEGMENTS
from disputatio.store.record.repair import new_place, repair_files, repair_rows, write_list
from disputatio.store.record.report import CheckReport, Damage, LostDocument
from disputatio.store.record.tables import writing

__all__ = ["CheckReport", "Damage", "LostDocument", "check"]

_TRIES = 5


def check(path: str | Path, *, repair: bool = True) -> CheckReport:
    """Compare all that is stored with its checksums.

    With `repair` what is damaged goes to `quarantine/` (nothing is deleted), what can be made again is,
    and documents that cannot be verified are taken out of what is searched. Without, nothing is
    changed, and neither in a copy that `sync` made: that is made anew from its index.

    Raises `StoreError` when there is no index, it holds a link, or its manifest and the copy of that are
    damaged both; `IndexVersion` when it is of another version, `IndexBusy` when another process is
    writing to it.
    """
    path = Path(path)
    refuse_links(path)
    findings = find_manifest(path)  # before anything is made in a folder that holds no index
    if repair and not findings.replica:
        with writing(path):
            return _repair(path)
    for _ in range(_TRIES):
        audit_files(path, findings)
        audit_rows(path, findings)
        if not findings.damaged and not agree(path, findings):
            findings.note(SEGMENTS, "do not hold the passages that are on record")
        if not findings.damaged or not _moved_on(path, findings):
            return _report(path, findings)
        findings = find_manifest(path)
    raise IndexBusy(f"{path}: another process is writing to this index; check it when that is done")


def _repair(path: Path) -> CheckReport:
    findings = find_manifest(path)
    audit_files(path, findings)
    place = new_place(path) if findings.damaged else ""
    repair_files(path, findings, place)
    audit_rows(path, findings)
    lost: list[LostDocument] = []
    if not (findings.tables or findings.segments) and not agree(path, findings):
        findings.note(SEGMENTS, "do not hold the passages that are on record")
        findings.segments = {entry.name for entry in findings.manifest.segments}
    if findings.damaged:
        place = place or new_place(path)
        if findings.tables or findings.segments:
            lost = repair_rows(path, findings, place)
        else:
            manifests.switch(path, manifests.after(findings.manifest))
        write_list(path, place, findings, lost)
    return _report(path, findings, lost=lost, repaired=bool(findings.damaged))


def _moved_on(path: Path, findings: Findings) -> bool:
    """Return whether a writer has committed since, so that what seems missing may only be older."""
    try:
        return find_manifest(path).manifest.number != findings.manifest.number
    except StoreError:
        return False


def _report(
    path: Path, findings: Findings, *, lost: list[LostDocument] | None = None, repaired: bool = False
) -> CheckReport:
    return CheckReport(
        path=str(path),
        files=findings.files,
        documents=findings.documents,
        passages=findings.passages,
        damaged=tuple(findings.damaged),
        lost=tuple(lost or ()),
        repaired=repaired,
        replica=findings.replica,
    )
