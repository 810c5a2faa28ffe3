"""Markdown: what a reader of the rendered page sees, as plain text; front matter and title as fields."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import BinaryIO

from disputatio.store.ingesting.hidden import clean_and_count, ink_of, orders_in
from disputatio.store.ingesting.parsers import (
    LARGEST_FILE,
    LARGEST_TEXT,
    Format,
    ParsedPart,
    RefusedDocument,
    too_much_text,
)
from disputatio.store.ingesting.parsers.plain_text import join_outlined, outline_text
from disputatio.store.ingesting.parsers.web import visible_tree
from disputatio.store.ingesting.rows import decode, front_matter

FORMATS = (
    Format(
        kind="markdown",
        suffixes=(".md", ".markdown"),
        content_types=("text/markdown", "text/x-markdown"),
        packages={
            "lxml": "lxml",
            "markdown_it": "markdown-it-py",
            "tinycss2": "tinycss2",
            "cssselect2": "cssselect2",
        },
        is_text=True,
        is_attachment=True,
    ),
)

_PIECE = 262_144  # characters, about, that are rendered at a time: cost can grow faster than length
_HEADING = re.compile(r"#{1,6}[ \t]")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_NESTED = 100  # blocks within blocks; what lies deeper is not rendered


def parse(file: BinaryIO, translate: Callable[[str], str] = str) -> Iterator[ParsedPart]:
    """Yield the whole file as one document; its first heading of the first level is its title."""
    text, removed = clean_and_count(decode(file.read(LARGEST_FILE)))
    if len(text) > LARGEST_TEXT:
        raise too_much_text()
    fields, body = front_matter(text, certain=True)
    texts: list[tuple[str, list[int]]] = []
    orders: dict[str, str] = {}
    title = ""
    for page in _render(translate(body)):
        if not page.strip():
            continue
        tree, hidden = visible_tree(page.encode(), "utf-8")
        words, outline, unseen = outline_text(tree)
        removed += ink_of(hidden) + unseen
        orders |= orders_in(hidden)
        texts.append((words, outline))
        if not title:
            title = next((" ".join("".join(heading.itertext()).split()) for heading in tree.iter("h1")), "")
    whole, outline = join_outlined(texts)
    if not whole:
        raise RefusedDocument("has no text", "no_text")
    about = {"text": whole, "title": title[:1000], **fields, **orders}
    yield {"document": about, "hidden": removed, "outline": outline}


def _render(body: str) -> Iterator[str]:
    """Yield the pieces of a text as HTML; definitions of links hold in what follows them."""
    from markdown_it import MarkdownIt

    renderer = MarkdownIt("commonmark", {"html": True, "maxNesting": _NESTED}).enable(
        ["table", "strikethrough"]
    )
    definitions: dict[str, object] = {}
    for piece in _pieces(body):
        yield renderer.render(piece, definitions)


def _pieces(body: str) -> Iterator[str]:
    """Yield a long text cut before headings, where no block of code is open."""
    if len(body) <= 2 * _PIECE:
        yield body
        return
    piece: list[str] = []
    size, fence = 0, ""
    for line in body.splitlines(keepends=True):
        if size >= _PIECE and not fence and _HEADING.match(line):
            yield "".join(piece)
            piece, size = [], 0
        piece.append(line)
        size += len(line)
        mark = _FENCE.match(line)
        if mark and (not fence or (mark[1].startswith(fence) and not line[mark.end() :].strip())):
            fence = "" if fence else mark[1]
    yield "".join(piece)
