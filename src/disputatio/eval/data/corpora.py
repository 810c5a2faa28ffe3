"""The texts that a data set's questions are asked over, as rows for an index, each once with its id."""

from __future__ import annotations

import gzip
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from disputatio.errors import InputError
from disputatio.eval.builders.material import write_lines
from disputatio.eval.data.datasets import FileRow, load
from disputatio.eval.data.formats.attributed import page_source
from disputatio.eval.data.rows import Place, optional, string

PAGES, BEIR = "datamorgana", "beir"


def corpus(spec: str) -> Iterator[dict[str, str]]:
    """Yield rows for `disputatio ingest`: text, source, and title, url, date and id if known.

    `datamorgana:PATH` names the corpus file (JSON lines of id and text, gzip or plain), `beir:PATH` a
    folder of BEIR, whose documents are sources of their own; any other `NAME:PATH` a data set whose rows
    carry their passages. Raises `InputError` naming file and row.
    """
    name, _, path = spec.partition(":")
    if name == PAGES and path:
        yield from _pages(Path(path))
        return
    if name == BEIR and path:
        yield from _documents(Path(path.partition("#")[0]))
        return
    seen: set[str] = set()
    for example in load(spec):
        for passage in example.passages:
            if passage.id in seen:
                continue
            seen.add(passage.id)
            known = {"title": passage.title, "url": passage.url, "date": passage.date}
            yield {
                "text": passage.text,
                "source": passage.source,
                **{key: value for key, value in known.items() if value},
                "id": str(example.metadata.get("document", passage.id)),
            }
    if not seen:
        raise InputError(f"{spec}: its rows have no passages")


def write_corpus(spec: str, out: Path) -> int:
    """Write the rows of a corpus to a file, whole or not at all; how many there are."""
    return write_lines(out, corpus(spec))


def _pages(path: Path) -> Iterator[dict[str, str]]:
    for row, place in _objects(path):
        if "document_ids" in row:
            raise place.wrong("a question; the pages stand in the corpus file (corpus.jsonl.gz)")
        page = string(row, "id", place)
        yield {"text": string(row, "text", place), "source": page_source(page), "id": page}


def _documents(folder: Path) -> Iterator[dict[str, str]]:
    """Yield the documents of a folder of BEIR; one without a text is its title."""
    files = [folder / name for name in ("corpus.jsonl", "corpus.jsonl.gz")]
    for row, place in _objects(next((file for file in files if file.is_file()), files[0])):
        name, title = string(row, "_id", place), optional(row, "title", place)
        text = optional(row, "text", place).strip() or title
        if text.strip():
            known = {"title": title} if title else {}
            yield {"text": text, "source": name, **known, "id": name}


def _objects(path: Path) -> Iterator[tuple[Mapping[str, Any], Place]]:
    count = 0
    try:
        with path.open("rb") as raw:
            packed = raw.read(2) == b"\x1f\x8b"
        with gzip.open(path, "rt", encoding="utf-8") if packed else path.open(encoding="utf-8") as file:
            for number, line in enumerate(file):
                if line.strip():
                    row = FileRow(path=path, row=number, raw=line)
                    count += 1
                    yield row.read(path.name), row.place(path.name)
    except (OSError, EOFError) as error:
        raise InputError(f"{path}: {getattr(error, 'strerror', None) or error}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 text (byte {error.start})") from error
    if not count:
        raise InputError(f"{path}: no rows")
