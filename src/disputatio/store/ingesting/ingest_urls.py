"""Addresses of the web into an index: fetched behind the guard, and each put as one file is."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import TYPE_CHECKING

from disputatio.errors import IngestError, InputError
from disputatio.store.ingesting.addresses import PORTS
from disputatio.store.ingesting.description import NO_DESCRIPTIONS
from disputatio.store.ingesting.documents import Document, FileReading
from disputatio.store.ingesting.fetch import read_url
from disputatio.store.ingesting.ingest import IngestSummary, Run, summary_of
from disputatio.store.ingesting.options import DEFAULT, ReadOptions, check_options
from disputatio.store.ingesting.readers import open_reader
from disputatio.store.ingesting.stating import Stating, stating_of
from disputatio.store.ingesting.wire import DEFAULT_LIMITS, Connect, Limits, Resolve

if TYPE_CHECKING:
    from disputatio.store.contract import Index

_HELD = 16_777_216  # characters that are held until they are put


def ingest_urls(
    index: Index,
    urls: Sequence[str],
    *,
    options: ReadOptions = DEFAULT,
    progress: Callable[[int, int], None] | None = None,
    allow_private: bool = False,
    ports: Collection[int] = PORTS,
    limits: Limits = DEFAULT_LIMITS,
    resolve: Resolve | None = None,
    connect: Connect | None = None,
) -> IngestSummary:
    """Fetch addresses and put what they gave in; an address ingested again replaces what it gave before.

    The index is locked only while something is put, not while a server is waited for. What cannot be
    fetched or read is listed in the summary, and the rest goes on. `progress(done, total)` is called for
    each address. The other parameters are those of `fetch`.

    Raises `InputError` for wrong `options`, `StoreError` as `Index.ingest` does.
    """
    check_options(options)
    start = time.perf_counter()
    run, counts = Run(), Counter[str]()
    stating = stating_of((), options, run)
    if stating.fields and not index.keeps_descriptions:
        raise InputError(NO_DESCRIPTIONS)
    batch: list[tuple[str, Sequence[Document]]] = []
    with open_reader(options) as read:
        for number, url in enumerate(urls, start=1):
            try:
                reading = read_url(
                    url,
                    read,
                    allow_private=allow_private,
                    ports=ports,
                    limits=limits,
                    resolve=resolve,
                    connect=connect,
                )
                batch.append(_held(reading, run))
            except IngestError as error:
                run.refused.append(error)
            if (
                number == len(urls)
                or sum(len(document.text) for _, url_documents in batch for document in url_documents) > _HELD
            ):
                counts += _put(index, batch, run, options.source_by, stating)
                batch = []
            if progress is not None:
                progress(number, len(urls))
    return summary_of(counts, start, run)


def _held(reading: FileReading, run: Run) -> tuple[str, Sequence[Document]]:
    documents = tuple(reading.documents)
    run.note(reading)
    return reading.path, documents


def _put(
    index: Index,
    batch: Sequence[tuple[str, Sequence[Document]]],
    run: Run,
    source_by: str | None,
    stating: Stating,
) -> Counter[str]:
    """Put what addresses gave, each as all that the index holds of it."""
    if not batch:
        return Counter()
    with index.open_writer() as writer:
        for url, documents in batch:
            writer.put(url, run.prepared(documents, url, source_by))
        if stating.fields:
            writer.describe(partial(stating.of, {url for url, _ in batch}, ()))
        writer.finish()
    return writer.counts
