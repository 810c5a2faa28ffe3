"""Contradictions between documents, without a question: in files and folders, an index, or passages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from disputatio.api.asking import kit_with
from disputatio.arguments import check_calls
from disputatio.authority import TIERS
from disputatio.contradictions.baseline import read_baseline
from disputatio.contradictions.standing import Text
from disputatio.errors import ConfigError, IngestError, InputError, UnknownName
from disputatio.protocols import ModelObject
from disputatio.store import contract
from disputatio.store.ingesting.description import apply_description, merge_descriptions
from disputatio.store.ingesting.documents import Document, page_of
from disputatio.store.ingesting.files import check_paths, find_files
from disputatio.store.ingesting.ingest import Run, file_key
from disputatio.store.ingesting.options import DEFAULT, ReadOptions
from disputatio.store.ingesting.readers import open_reader
from disputatio.store.ingesting.source import with_source
from disputatio.store.ingesting.stating import Stating, read_stating
from disputatio.store.own_passages import PassageLike, as_passages
from disputatio.store.passage_files import read_passages
from disputatio.types import Check, Contradiction, Passage, Severity, Source, Statement
from disputatio.versions.dates import as_stated, today
from disputatio.versions.families import family_names, family_of, stem_of, version_by_folder
from disputatio.versions.stating import read_statements

_ROWS = (".jsonl", ".ndjson")
CALLS = 200  # of a model, at most, unless another number is given
_SHARED = (  # fields of a document that its passage has, too
    *("text", "source", "owner", "title", "url", "date", "date_origin", "date_quote"),
    *("version", "family", "authority", "relations", "metadata"),
)


@check_calls
def check(
    what: str | Path | contract.Index | Iterable[str | Path] | Iterable[PassageLike],
    *,
    severity: Severity = "medium",
    baseline: str | Path | Iterable[str] = (),
    model: str | ModelObject | None = None,
    calls: int = CALLS,
    settings: Mapping[str, Any] | None = None,
    options: ReadOptions = DEFAULT,
    progress: Callable[[str, int, int], None] = lambda *_: None,
) -> Check:
    """Find where documents contradict each other, without a question.

    `what` is a file, a folder or several; an index, opened; or passages (`Passage`, mappings). `severity`
    is the least that is returned: `low` has those that may only differ in scope. `baseline` is a file that
    the command wrote, or ids: what they accept is returned and is not `new`. Without a `model` code alone
    compares values; a model, named or an object, judges up to `calls` pairs and drops those it finds
    unlikely. `progress(step, done, total)` is called as it goes on.

    Raises `InputError` for paths without a document and wrong options, `StoreError` for a damaged index,
    `LLMError` for faults of a model.
    """
    # Needs the packages of an index, which a core installation has not.
    from disputatio.contradictions.check import SEVERITIES, find

    if severity not in SEVERITIES:
        raise UnknownName("severity", str(severity), SEVERITIES)
    if calls < 0:
        raise InputError(f"calls: {calls}: choose 0 or more")
    kit = kit_with(model=model, settings=settings)[0] if model is not None else None
    if kit is not None and not kit.has_model:
        kit = None
    accepted = read_baseline(baseline) if isinstance(baseline, str | Path) else frozenset(baseline)
    run = Run()
    sources: Mapping[str, Source] = {}
    if isinstance(what, contract.Index):
        sources = what.estimates()
        texts: Iterable[Text] = (_text(document) for document in what.documents())
    else:
        texts = _texts(what, options, run)
    found = find(
        texts,
        sources=sources,
        tiers=TIERS,
        families=families_of,
        day=today().isoformat(),
        severity=severity,
        accepted=accepted,
        kit=kit,
        calls=calls if kit is not None else 0,
        progress=progress,
    )
    if not found.documents:
        raise InputError(str(run.refused[0]) if run.refused else "there is no document to check")
    paged = _with_pages(found, what) if isinstance(what, contract.Index) else found
    return replace(paged, refused=tuple(map(str, run.refused)), notices=tuple(run.notices))


def families_of(text: Text) -> frozenset[str]:
    """Return the names that versions of a document share: by its title and by its file's name."""
    by_file = "" if text.row else family_of(stem_of(text.path))
    return frozenset({*family_names(text.passage), by_file} - {""})


def _texts(what: object, options: ReadOptions, run: Run) -> Iterator[Text]:
    if isinstance(what, str | Path):
        yield from _of_paths([what], options, run)
        return
    if not isinstance(what, Iterable) or isinstance(what, bytes | Mapping | Passage):
        raise ConfigError(f"{type(what).__name__}: give paths, an open index or passages")
    items: Sequence[Any] = list(what)
    if items and all(_is_path(item) for item in items):
        yield from _of_paths(items, options, run)
    else:
        yield from (_of_passage(passage) for passage in as_passages(items))


def _is_path(item: object) -> bool:
    """Return whether an item of a list is a path: a text of several words is one only where a file has it."""
    if not isinstance(item, str):
        return isinstance(item, Path)
    if not any(map(str.isspace, item)):
        return True
    try:
        return len(item) < 4096 and Path(item).exists()
    except (OSError, ValueError):
        return False


def _of_paths(paths: Sequence[str | Path], options: ReadOptions, run: Run) -> Iterator[Text]:
    """Yield the documents of files and folders, with what sidecars state; a file of passages by rows."""
    check_paths(paths)
    stating = read_stating(paths, options, run)
    keys: set[str] = set()
    with open_reader(options) as read:
        for root in paths:
            if str(root) == "-" or Path(root).suffix.lower() in _ROWS:
                passages, bad = read_passages(root, columns=options.columns)
                run.refused += bad
                for number, passage in enumerate(passages, start=1):
                    yield _of_passage(passage, str(root), number)
                continue
            for path, folder in find_files(Path(root), run.refused):
                keys.add(key := file_key(path))
                try:
                    reading = read(path, folder)
                    for document in reading.documents:
                        text = _text(with_source(document, options.source_by or "folder"))
                        yield _as_stated(text, stating, key)
                    run.refused += reading.refused
                except IngestError as error:
                    run.refused.append(error)
    run.notices += stating.idle(paths, keys)


def _of_passage(passage: Passage, path: str = "", row: int = 0) -> Text:
    return Text(passage=as_stated(passage), path=path or passage.id, row=row)


def _text(document: Document) -> Text:
    fields = {name: getattr(document, name) for name in _SHARED}
    passage = Passage(document=document.id, end=len(document.text), **fields)
    return Text(passage=_with_statements(passage, document), path=document.path, row=document.row)


def _as_stated(text: Text, stating: Stating, file: str) -> Text:
    """Return a document of a file with what people state of it."""
    stated = stating.of((file,), (), file, text.path, text.row, text.passage.document)
    fields = merge_descriptions(list(stated))
    return replace(text, passage=apply_description(text.passage, fields)) if fields else text


def _with_statements(passage: Passage, document: Document) -> Passage:
    """Return a document with what its text and file's name state of its date, version and relations."""
    if passage.family or passage.relations or document.row:
        return passage
    stem = stem_of(document.path)
    read = read_statements(
        document.text,
        title=document.title,
        stem=stem,
        version=document.version,
        by_folder=version_by_folder(document.path, document.folder),
    )
    dated = passage.date_origin not in ("", "file") or not read.date
    passage = replace(passage, version=read.version, family=read.family, relations=read.relations)
    if dated:
        return passage
    return replace(passage, date=read.date, date_origin=read.date_origin, date_quote=read.date_quote)


def _with_pages(found: Check, index: contract.Index) -> Check:
    """Return a check whose statements name their page, where their documents have pages."""
    wanted = {side.document for each in found.contradictions for side in (each.first, each.second)}
    paged = {
        document.id: document
        for document in index.documents(text=False)
        if document.id in wanted and "pages" in document.metadata
    }
    if not paged:
        return found

    def with_page(statement: Statement) -> Statement:
        document = paged.get(statement.document)
        return statement if document is None else replace(statement, page=page_of(document, statement.start))

    def both(each: Contradiction) -> Contradiction:
        return replace(each, first=with_page(each.first), second=with_page(each.second))

    return replace(found, contradictions=tuple(both(each) for each in found.contradictions))
