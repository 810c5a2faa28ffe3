"""The statements of the person who ingests: by flags for all of the documents, by sidecars for files."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePath

from disputatio.errors import IngestError, InputError
from disputatio.store.allowed import allow_sidecar, is_allowed_sidecar
from disputatio.store.ingesting.description import SIDECAR, Description, check_fields, member_of, target_of
from disputatio.store.ingesting.documents import Document
from disputatio.store.ingesting.files import display_path, open_regular
from disputatio.store.ingesting.ingest import Run
from disputatio.store.ingesting.options import SIDECAR as SIDECAR_FILE
from disputatio.store.ingesting.options import ReadOptions, is_excluded
from disputatio.store.ingesting.prepare import passage_at
from disputatio.text import one_line
from disputatio.versions.families import is_named


@dataclass(frozen=True, slots=True, kw_only=True)
class Stating:
    """The statements of one ingest: the `fields` of all its documents, and the sidecars of its folders."""

    fields: dict[str, str]
    sidecars: tuple[Sidecar, ...]

    @property
    def states(self) -> bool:
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
                    target=target, fields=fields, by=f"{SIDECAR}{display_path(sidecar.path.resolve())}"
                )
        if self.fields:
            yield Description(target=target, fields=self.fields, by="ingest")

    def find_unnamed(self, documents: Callable[[], Iterable[Document]]) -> list[str]:
        """Return a warning for each document that is replaced and not there, with the line that says so."""
        by_whom = {
            fields["replaces"]: f"{display_path(sidecar.path)}:{line}: {pattern!r}"
            for sidecar in self.sidecars
            for pattern, fields, line in sidecar.entries
            if fields.get("replaces")
        }
        by_whom |= {self.fields["replaces"]: "what is ingested"} if "replaces" in self.fields else {}
        missing = find_unnamed(by_whom, documents()) if by_whom else {}
        return [f"warning: {by_whom[target]} {words}" for target, words in missing.items()]

    def idle(self, paths: Sequence[str | Path], files: Collection[str]) -> list[str]:
        """Return a line for each pattern that fits no file, of sidecars whose whole folder was ingested.

        A sidecar in whose folder nothing that was ingested lies states nothing at all: one line, too.
        """
        whole = {Path(path).resolve() for path in paths}
        elsewhere = [
            f"{display_path(sidecar.path)}: states nothing of what was read: its patterns are of files below "
            f"{display_path(sidecar.folder)}"
            for sidecar in self.sidecars
            if sidecar.entries
            and files
            and not any(Path(file).is_relative_to(sidecar.folder) for file in files)
        ]
        return elsewhere + [
            f"{display_path(sidecar.path)}: {pattern!r} fits no file of the folder"
            for sidecar in self.sidecars
            if sidecar.folder in whole
            for pattern, _, _ in sidecar.entries
            if not any(_may_fit(pattern, file, sidecar.folder) for file in files)
        ]


def find_unnamed(targets: Iterable[str], documents: Iterable[Document]) -> dict[str, str]:
    """Return those names of documents that are replaced which no document has, each with a message."""
    left = list(dict.fromkeys(targets))
    known: dict[str, None] = {}
    for each in documents if left else ():
        passage = passage_at(each, each.id, 0, 0)
        left = [target for target in left if not is_named(target, passage)]
        known |= dict.fromkeys(filter(None, (PurePath(each.path).name, each.title)))
    return {target: _describe_unnamed(target, known) for target in left}


def _describe_unnamed(target: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(target, known, n=1, cutoff=0.5)
    hint = f"did you mean {one_line(near[0])[:200]!r}?" if near else "give its file, title or id"
    return f"replaces {one_line(target)[:200]!r}: no document here has that name; {hint}"


def check_all(
    stated: Iterable[tuple[str | Path, Mapping[str, object]]], documents: Callable[[], Iterable[Document]]
) -> list[tuple[str | Path, dict[str, str]]]:
    """Return what is stated of documents as it is kept; raises `InputError` for a field that is wrong, or one
    that replaces a document that is not there.
    """
    checked = [(name, check_fields(fields)) for name, fields in stated]
    for name, fields in checked:
        if fields.get("replaces") == str(name):
            raise InputError(f"replaces {one_line(str(name))[:200]!r}: a document does not replace itself")
    targets = [fields["replaces"] for _, fields in checked if fields.get("replaces")]
    for words in find_unnamed(targets, documents()).values() if targets else ():
        raise InputError(words)
    return checked


def _may_fit(pattern: str, file: str, folder: Path) -> bool:
    """Return whether a pattern fits a file of a folder; by its first parts, a member of one."""
    path, parts = Path(file), pattern.split("/")
    starts = ["/".join(parts[:count]) for count in range(1, len(parts) + 1)]
    return path.is_relative_to(folder) and is_excluded(path.relative_to(folder), starts)


def read_stating(paths: Sequence[str | Path], options: ReadOptions, run: Run) -> Stating:
    """Return what is stated of what is under some paths; the run notes what was not taken of a sidecar."""
    fields = {name: value for name, value in check_fields(options.stated).items() if value}
    if options.unverified:
        if options.sidecar is not None or "authority" in fields:
            raise InputError("documents of strangers (--unverified) get no authority and no sidecar")
        return Stating(fields=fields, sidecars=())
    sidecars = [] if options.sidecar is None else [accept_sidecar(options.sidecar)]
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


# --- sidecars -------------------------------------------------------------------------------------
# The sidecar `disputatio.yaml`: what the person who ingests a folder states about the files in it.
#
# It maps patterns of files, as `--exclude` has them, to fields of a description:
#
#     "policies/*.pdf":
#       owner: Legal department
#       authority: official
#     travel-v2.docx:
#       date: 2025-02-01
#       replaces: travel-v1.md
#
# Later entries stand above earlier ones, field by field. This is a small part of YAML, read line by
# line: two levels, plain or quoted words, comments. Only the file at the top of a folder that is named
# is read: never one in an archive, in a folder further down, or beside uploads. What reaches beyond its
# own folder (`BEYOND`) counts only where the person named the file, once (`--sidecar`).

BEYOND = ("authority", "replaces")
_LARGEST = 1_048_576
_MOST = 10_000  # entries
_LINE = re.compile(r"(?P<key>\"[^\"]*\"|'[^']*'|[^\s\"'#:][^\"#:]*+)\s*:(?:\s+(?P<value>\S.*))?")
_COMMENT = re.compile(r"\s#")


Entry = tuple[str, Mapping[str, str], int]  # a pattern of files, what is stated of them, and its line


@dataclass(frozen=True, slots=True, kw_only=True)
class Sidecar:
    """A sidecar as it was read, for its `folder`; `notice` says what was not taken, and how to allow it."""

    path: Path
    folder: Path
    entries: tuple[Entry, ...]
    notice: str = ""

    def of(self, file: str, member: str = "") -> dict[str, str] | None:
        """Return what it states of a file by its full path, or of a member of one; None for other folders."""
        path = Path(file)
        if not path.is_relative_to(self.folder):
            return None
        relative = path.relative_to(self.folder)
        names = [relative, *([relative / member] if member else [])]
        fields: dict[str, str] = {}
        for pattern, stated, _ in self.entries:
            if any(is_excluded(name, [pattern]) for name in names):
                fields |= stated
        return {name: value for name, value in fields.items() if value}


def find_sidecar(root: Path, *, named: Path | None = None) -> Sidecar | None:
    """Return a folder's sidecar; one that was never `named` states nothing that reaches beyond it."""
    path = root / SIDECAR_FILE
    if not root.is_dir() or not path.is_file() or (named is not None and path.resolve() == named.resolve()):
        return None
    sidecar = read_sidecar(path)
    left_out = [name for name in BEYOND if any(name in stated for _, stated, _ in sidecar.entries)]
    if not left_out or is_allowed_sidecar(path):
        return sidecar
    entries = [
        (pattern, {name: value for name, value in stated.items() if name not in BEYOND}, line)
        for pattern, stated, line in sidecar.entries
    ]
    notice = (
        f"{display_path(path)}: {' and '.join(left_out)} not taken from a file that was only found: "
        f"if it is yours, name it once: --sidecar {display_path(path)}"
    )
    return replace(sidecar, entries=tuple(entries), notice=notice)


def accept_sidecar(path: Path) -> Sidecar:
    """Return a sidecar that the person named, and take all of it from now on; raises as `read_sidecar`."""
    sidecar = read_sidecar(path)
    try:
        allow_sidecar(path)
    except OSError as error:
        raise InputError(f"{display_path(path)}: cannot be noted as yours: {error.strerror}") from error
    return sidecar


def read_sidecar(path: Path) -> Sidecar:
    """Return a sidecar; raises `InputError` that names the file and the line."""
    try:
        with open_regular(path) as file:
            raw = file.read(_LARGEST + 1)
    except IngestError as error:
        raise InputError(str(error)) from error
    if len(raw) > _LARGEST:
        raise InputError(f"{display_path(path)}: is larger than {_LARGEST >> 20} MB, the limit of a sidecar")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{display_path(path)}: is not UTF-8") from error
    entries = tuple(_entries(text, display_path(path)))
    if len(entries) > _MOST:
        raise InputError(f"{display_path(path)}: has more than {_MOST:,} entries")
    return Sidecar(path=path, folder=path.resolve().parent, entries=entries)


def _entries(text: str, where: str) -> list[Entry]:
    entries: list[Entry] = []
    pattern, begins, fields = "", 0, dict[str, str]()

    def finish() -> None:
        if pattern and not fields:
            raise InputError(f"{where}:{begins}: {pattern!r} states nothing")
        if pattern:
            entries.append((pattern, dict(fields), begins))

    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.lstrip().startswith("#") or line.rstrip() == "---":
            continue
        at = f"{where}:{number}"
        if line.startswith("\t") or "\t" in line[: len(line) - len(line.lstrip())]:
            raise InputError(f"{at}: is indented by a tab: use blanks")
        key, value = _pair(line, at)
        if line[0] != " ":
            if value:
                raise InputError(f"{at}: write fields on lines of their own below {key!r}")
            finish()
            pattern, begins, fields = key.removeprefix("./"), number, {}
            if not pattern.strip("/ ") or pattern.startswith("/") or ".." in Path(pattern).parts:
                raise InputError(f"{at}: a pattern names files below this folder")
        elif not pattern:
            raise InputError(f"{at}: stands below no pattern of files")
        elif key in fields:
            raise InputError(f"{at}: {key} is stated twice of {pattern!r}")
        else:
            try:
                fields |= check_fields({key: value})
            except InputError as error:
                raise InputError(f"{at}: {error}") from error
    finish()
    return entries


def _pair(line: str, at: str) -> tuple[str, str]:
    match = _LINE.fullmatch(line.strip())
    if match is None:
        raise InputError(f"{at}: write it as name: value")
    key, value = match["key"].rstrip(), match["value"] or ""
    quote = value[:1]
    if quote in ("'", '"'):
        end = value.find(quote, 1)
        rest = value[end + 1 :].strip()
        if end < 0 or (rest and not rest.startswith("#")):
            raise InputError(f"{at}: the quote is not closed")
        value = value[1:end]
    else:
        comment = _COMMENT.search(" " + value)
        value = value if comment is None else value[: max(comment.start() - 1, 0)].rstrip()
        if value[:1] in ("[", "{", "&", "*", "|", ">"):
            raise InputError(f"{at}: one value a field: a word, a date or a quoted text")
    return key.strip("\"'"), value
