"""EPUB: the chapters in their reading order, title, date, author and publisher."""

from __future__ import annotations

import posixpath
import zipfile
from collections.abc import Iterator
from typing import Any, BinaryIO
from urllib.parse import unquote

from disputatio.store.ingesting.hidden import ink_of, orders_in
from disputatio.store.ingesting.parsers import (
    LARGEST_BOOK,
    LARGEST_TEXT,
    Format,
    ParsedPart,
    RefusedDocument,
    past_limit,
    too_much_text,
)
from disputatio.store.ingesting.parsers.plain_text import join_outlined, outline_text
from disputatio.store.ingesting.parsers.web import visible_tree
from disputatio.store.ingesting.parsers.word import check_package, strict_xml

FORMATS = (
    Format(
        kind="epub",
        suffixes=(".epub",),
        content_types=("application/epub+zip",),
        packages={"lxml": "lxml", "tinycss2": "tinycss2", "cssselect2": "cssselect2"},
        largest=LARGEST_BOOK,
        is_attachment=True,
    ),
)

_LARGEST_MEMBER = 16_777_216
_MOST_CHAPTERS = 5_000
_PAGES = frozenset({"application/xhtml+xml", "text/html", "application/x-dtbook+xml", ""})


def parse(file: BinaryIO) -> Iterator[ParsedPart]:
    check_package(file)
    with zipfile.ZipFile(file) as book:
        root = _xml(book, "META-INF/container.xml")
        package_path = next(
            (str(rootfile.get("full-path") or "") for rootfile in root.iter("{*}rootfile")), ""
        )
        package = _xml(book, package_path)
        locked = _find_locked(book)
        items = {str(item.get("id")): item for item in package.iter("{*}item")}
        folder = posixpath.dirname(package_path)
        texts: list[tuple[str, list[int]]] = []
        hidden = size = 0
        orders: dict[str, str] = {}
        for number, reference in enumerate(package.iter("{*}itemref")):
            item = items.get(str(reference.get("idref")))
            if item is None or str(item.get("media-type") or "") not in _PAGES:
                continue
            if number >= _MOST_CHAPTERS:
                reason = f"has more than {_MOST_CHAPTERS:,} chapters, the limit"
                raise past_limit(reason, _MOST_CHAPTERS, "chapters")
            name = posixpath.normpath(posixpath.join(folder, unquote(str(item.get("href") or ""))))
            if name in locked:
                raise RefusedDocument("is locked by its seller (DRM)", "encrypted")
            tree, unseen = visible_tree(_read(book, name), "utf-8")
            text, outline, removed = outline_text(tree)
            hidden += ink_of(unseen) + removed
            orders |= orders_in(unseen)
            texts.append((text, outline))
            size += len(text)
            if size > LARGEST_TEXT:
                raise too_much_text()
    names = {"title": "title", "date": "date", "author": "creator", "publisher": "publisher"}
    about = {name: _said(package, element) for name, element in names.items()}
    text, outline = join_outlined(texts)
    yield {"document": {"text": text, **about, **orders}, "hidden": hidden, "outline": outline}


def _read(book: zipfile.ZipFile, name: str) -> bytes:
    try:
        member = book.getinfo(name)
    except KeyError as error:
        raise RefusedDocument(f"is not a whole EPUB file: it lacks {name[:120]!r}") from error
    if member.file_size > _LARGEST_MEMBER:
        sizes = f"{member.file_size >> 20} MB; the limit is {_LARGEST_MEMBER >> 20} MB"
        raise past_limit(f"has a chapter of {sizes}", _LARGEST_MEMBER, size=member.file_size)
    return book.read(member)


def _xml(book: zipfile.ZipFile, name: str) -> Any:
    return strict_xml(_read(book, name))


def _find_locked(book: zipfile.ZipFile) -> set[str]:
    """Return the members that are encrypted (fonts often are, by themselves: that is no lock)."""
    if "META-INF/encryption.xml" not in book.namelist():
        return set()
    references = _xml(book, "META-INF/encryption.xml").iter("{*}CipherReference")
    return {unquote(str(reference.get("URI") or "")) for reference in references}


def _said(package: Any, element: str) -> str:
    for node in package.iter(f"{{http://purl.org/dc/elements/1.1/}}{element}"):
        words = " ".join("".join(node.itertext()).split())
        if words:
            return words[:1000] if element != "date" else words[:10]
    return ""
