"""What a check of an index found, and what became of it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Damage:
    """A file of the index that is not what was written; `action`: what was done about it, if anything."""

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
            lines.append(f"repair it with: disputatio index check --index {self.path}")
        return "\n".join(lines)
