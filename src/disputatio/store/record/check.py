"""`index check`: find what is damaged, quarantine it, and make again what can be made again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from disputatio.errors import IndexBusy, StoreError
from disputatio.store.record import manifest as manifests
from disputatio.store.record.audit import CheckReport, Findings, LostDocument, audit, find_manifest
from disputatio.store.record.layout import refuse_links
from disputatio.store.record.manifest import RECORD, writing
from disputatio.store.record.repair import repair_index

_TRIES = 5


def check(path: str | Path, *, repair: bool = True) -> CheckReport:
    """Compare all that is stored with its checksums.

    With `repair` what is damaged goes to `quarantine/` (nothing is deleted), what can be made again is,
    and documents that cannot be verified are taken out of what is searched. Without, nothing is
    changed, and neither in a copy that `sync` made: that is made anew from its index.

    Raises `StoreError` when there is no index, it holds a link, or its manifest and its record are
    damaged both; `IndexVersion` when it is of another version, `IndexBusy` when another process is
    writing to it.
    """
    path = Path(path)
    refuse_links(path)
    findings = find_manifest(path)  # before anything is made in a folder that holds no index
    if repair and not findings.replica:
        with writing(path):
            findings = find_manifest(path)
            audit(path, findings)
            lost = repair_index(path, findings) if findings.damaged else []
            if not findings.damaged and manifests.read(path) != findings.manifest:
                manifests.publish(path, findings.manifest)  # a killed writer had not come to it
            return _report(path, findings, lost=lost, repaired=bool(findings.damaged))
    for _ in range(_TRIES):
        audit(path, findings)
        if not findings.damaged or not _moved_on(path, findings):
            return _report(path, findings)
        findings = find_manifest(path)
    raise IndexBusy(f"{path}: another process is writing to this index; check it when that is done")


def _moved_on(path: Path, findings: Findings) -> bool:
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
