"""The statements of the person who ingests: by flags for all of the documents, by sidecars for files."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from disputatio.errors import InputError
from disputatio.store.ingesting.description import SIDECAR, Description, check_fields, member_of, target_of
from disputatio.store.ingesting.files import shown
from disputatio.store.ingesting.ingest import Run
from disputatio.store.ingesting.options import SIDECAR as SIDECAR_FILE
from disputatio.store.ingesting.options import ReadOptions
from disputatio.store.ingesting.sidecar import Sidecar, find_sidecar, named_sidecar


@dataclass(frozen=True, slots=True, kw_only=True)
class Stating:
    """The statements of one ingest: the `fields` of all its documents, and the sidecars of its folders."""

    fields: dict[str, str]
    sidecars: tuple[Sidecar, ...]

    @property
    def states(self) -> bool:
        """True if anything is stated."""
        return bool(self.fields or any(sidecar.entries for sidecar in self.sidecars))

    def of(
        self, files: Collection[str], unfiled: Collection[str], file: str, path: str, row: int, document: str
    ) -> Iterator[Description]:
        """Yield what is stated of a document; `files` and `unfiled` are what the ingest was of."""
        if file not in files if file else document not in unfiled:
            return
        target = target_of(file, path, row, document)
        for sidecar in self.sidecars if file else ():
            fields = sidecar.of(file, member_of(file, path))
            if fields is not None:
                yield Description(
                    target=target, fields=fields, by=f"{SIDECAR}{shown(sidecar.path.resolve())}"
                )
        if self.fields:
            yield Description(target=target, fields=self.fields, by="ingest")


def stating_of(paths: Sequence[str | Path], options: ReadOptions, run: Run) -> Stating:
    """Return what is stated of what is under some paths; the run notes what was not taken of a sidecar.

    A folder that had a sidecar and has none now states nothing any more. Raises `InputError` for a field or
    a sidecar that is wrong.
    """
    fields = {name: value for name, value in check_fields(options.stated).items() if value}
    if options.unverified:
        if options.sidecar is not None or "authority" in fields:
            raise InputError("documents of strangers (--unverified) get no authority and no sidecar")
        return Stating(fields=fields, sidecars=())
    sidecars = [] if options.sidecar is None else [named_sidecar(options.sidecar)]
    for root in dict.fromkeys(map(Path, paths)):
        if not root.is_dir():
            continue
        sidecar = find_sidecar(root, named=options.sidecar)
        if sidecar is not None and sidecar.notice:
            run.notices.append(sidecar.notice)
        none = Sidecar(path=root / SIDECAR_FILE, folder=root.resolve(), entries=())
        if all(other.path.resolve() != none.path.resolve() for other in sidecars):
            sidecars.append(sidecar or none)
    return Stating(fields=fields, sidecars=tuple(sidecars))
