"""Zip archives: which members may be read, and why the others are not; one member opened at a time.

A bomb is refused by what its directory declares, and the declared size binds what is unpacked later
(`zipfile` gives no byte more), so nothing is unpacked to find out.
"""

from __future__ import annotations

import io
import re
import stat
import unicodedata
import zipfile
from collections.abc import Iterator, Sequence
from typing import BinaryIO

from disputatio.errors import RefusalCode
from disputatio.store.ingesting.parsers import (
    LARGEST_FILE,
    Format,
    ParsedPart,
    RefusedDocument,
    past_limit,
    refusal_part,
)

FORMATS = (
    Format(
        kind="zip",
        suffixes=(".zip",),
        content_types=("application/zip", "application/x-zip-compressed"),
        largest=None,
    ),
)

MOST_MEMBERS = 10_000
LARGEST_TOTAL = 2_147_483_648  # bytes that all members unpack to
MOST_TIMES = 200  # how many times larger than packed a member may be
_SMALL = 1_048_576  # bytes up to which no ratio counts: a page of spaces packs well
_DRIVE = re.compile(r"\A[A-Za-z]:")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def parse(file: BinaryIO) -> Iterator[ParsedPart]:
    """Yield the members to be asked for, and the refused ones; an archive in the archive is opened once."""
    count = total = 0
    with _archive(file) as archive:
        for place, name, refusal in _members(archive):
            member = archive.infolist()[place]
            if refusal is None and name.lower().endswith(".zip"):
                for inner in _list_nested(archive, place, name):
                    count, total = count + 1, total + inner.pop("size", 0)
                    yield _apply_limits(inner, count, total)
                continue
            count, total = count + 1, total + (0 if refusal else member.file_size)
            part = refusal_part(refusal) if refusal else {"member": [place]}
            yield _apply_limits({**part, "name": name}, count, total)
    if not count:
        raise RefusedDocument("is an empty archive", "no_text")


def _apply_limits(part: ParsedPart, count: int, total: int) -> ParsedPart:
    if count > MOST_MEMBERS:
        message = f"holds more than {MOST_MEMBERS:,} files, the limit: the rest of them are not read"
        raise past_limit(message, MOST_MEMBERS, "files")
    if total > LARGEST_TOTAL and "member" in part:
        reason = f"is past the {LARGEST_TOTAL >> 30} GB that an archive may unpack to"
        return {**refusal_part(past_limit(reason, LARGEST_TOTAL)), "name": part["name"]}
    return part


def _list_nested(archive: zipfile.ZipFile, place: int, name: str) -> Iterator[ParsedPart]:
    """Yield the members of an archive in the archive; one that is broken is refused by its own name."""
    try:
        with _archive(_unpack(archive, place)) as inner:
            for number, inner_name, member_refusal in _members(inner):
                refusal = member_refusal
                if refusal is None and inner_name.lower().endswith(".zip"):
                    refusal = RefusedDocument(
                        "is an archive within an archive within an archive", "too_large"
                    )
                part = refusal_part(refusal) if refusal else {"member": [place, number]}
                size = 0 if refusal else inner.infolist()[number].file_size
                yield {**part, "name": f"{name}/{inner_name}", "size": size}
    except RefusedDocument as error:
        yield {**refusal_part(error), "name": name}
    except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError) as error:  # broken
        yield {"refused": f"is not a readable ZIP file ({error})", "name": name}


def member(file: BinaryIO, places: Sequence[int]) -> BinaryIO:
    """Return the unpacked bytes of a member that `parse` named; raises for a broken one."""
    with _archive(file) as archive:
        raw = _unpack(archive, places[0])
    for place in places[1:]:
        with _archive(raw) as inner:
            raw = _unpack(inner, place)
    return raw


def _archive(file: BinaryIO) -> zipfile.ZipFile:
    try:
        archive = zipfile.ZipFile(file)
    except (zipfile.BadZipFile, ValueError, NotImplementedError) as error:  # broken, or of an unknown kind
        raise RefusedDocument(f"is not a readable ZIP file ({str(error)[:100]})") from error
    if (size := len(archive.infolist())) > 2 * MOST_MEMBERS:
        reason = f"holds {size:,} files; the limit is {MOST_MEMBERS:,}"
        raise past_limit(reason, MOST_MEMBERS, "files", size=size)
    return archive


def _unpack(archive: zipfile.ZipFile, place: int) -> BinaryIO:
    try:
        return io.BytesIO(archive.read(archive.infolist()[place]))
    except (RuntimeError, NotImplementedError) as error:  # locked, or packed in an unknown way
        code: RefusalCode = "encrypted" if archive.infolist()[place].flag_bits & 1 else "unreadable"
        raise RefusedDocument(f"cannot be unpacked ({str(error)[:100]})", code) from error


def _members(archive: zipfile.ZipFile) -> Iterator[tuple[int, str, RefusedDocument | None]]:
    """Place, name and refusal (None for a good one) of each member that is not hidden."""
    seen: set[str] = set()
    overlapping = _find_overlapping(archive)
    for place, info in enumerate(archive.infolist()):
        # `filename` is cut at a NUL by the library; what the file says is judged and shown.
        name = info.orig_filename
        parts = name.replace("\\", "/").split("/")
        if name.endswith("/") or (any(part.startswith(".") for part in parts) and ".." not in parts):
            continue
        if parts[0] == "__MACOSX":
            continue
        same = unicodedata.normalize("NFC", name)
        refusal = _refusal(info, parts)
        if refusal is None and same in seen:
            refusal = RefusedDocument("stands twice in the archive: the first is read", "unsafe")
        if refusal is None and place in overlapping:
            refusal = RefusedDocument("shares its bytes with another member, as bombs do", "unsafe")
        seen.add(same)
        yield place, _CONTROL.sub("?", name)[:500], refusal


def _refusal(info: zipfile.ZipInfo, parts: list[str]) -> RefusedDocument | None:
    kind = stat.S_IFMT(info.external_attr >> 16)
    if ".." in parts:
        return RefusedDocument("leads out of the archive (..)", "unsafe")
    if not any(parts):
        return RefusedDocument("has no name", "unsafe")
    if not parts[0] or _DRIVE.match(parts[0]):
        return RefusedDocument("has an absolute path", "unsafe")
    if "\0" in info.orig_filename or len(info.orig_filename) > 1000:
        return RefusedDocument("has a name that no file has", "unsafe")
    if kind == stat.S_IFLNK:
        return RefusedDocument("is a link", "unsafe")
    if kind not in (0, stat.S_IFREG):
        return RefusedDocument("is not a regular file", "unsafe")
    if info.flag_bits & 1:
        return RefusedDocument("is locked by a password", "encrypted")
    if info.file_size > LARGEST_FILE:
        sizes = f"{info.file_size >> 20:,} MB; the limit is {LARGEST_FILE >> 20} MB"
        return past_limit(f"unpacks to {sizes}", LARGEST_FILE, size=info.file_size)
    if info.file_size > _SMALL and info.file_size > MOST_TIMES * info.compress_size:
        return RefusedDocument(f"unpacks to more than {MOST_TIMES} times its size, as bombs do", "unsafe")
    return None


def _find_overlapping(archive: zipfile.ZipFile) -> set[int]:
    infos = archive.infolist()
    order = sorted(range(len(infos)), key=lambda place: infos[place].header_offset)
    visited: set[int] = set()
    end = -1
    for place in order:
        info = infos[place]
        if info.header_offset < end:
            visited.add(place)
        end = max(end, info.header_offset + 30 + info.compress_size)
    return visited
