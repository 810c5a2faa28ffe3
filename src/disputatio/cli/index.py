"""`disputatio index`: show an index, check, compact, copy, export and change it."""

from __future__ import annotations

import contextlib
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from disputatio.cli.opening import locate_index, open_named
from disputatio.cli.options import (
    Indexes,
    IndexFolder,
    Json,
    StatedAuthority,
    StatedDate,
    StatedOwner,
    StatedReplaces,
    StatedSource,
)
from disputatio.cli.screen import ProgressBar, say, write, write_json
from disputatio.errors import InputError, StoreError
from disputatio.rendering.wording import count
from disputatio.store.ingesting.description import check_fields
from disputatio.text import one_line

if TYPE_CHECKING:
    from disputatio.store.contract import Index
    from disputatio.store.record.transaction import CompactionPlan

app = typer.Typer(help="Show, check, compact, copy, export and change an index.", no_args_is_help=True)


@app.command()
def info(index: Indexes = None, as_json: Json = False) -> None:
    """Show what the index holds, in figures."""
    from disputatio.store.addresses import is_served

    opened = open_named(index)
    figures = asdict(opened.info())
    if as_json:
        write_json(figures)
        return
    unsearched = figures.pop("unsearched")
    if is_served(opened.path):
        figures |= dict.fromkeys(("segments", "dead"), "the server's affair")
    width = max(map(len, figures))
    write("".join(f"{name:<{width}}  {_shown(value)}\n" for name, value in figures.items()))
    for each in unsearched:
        say(f"not counted: {each['index']}: {each['reason']}")


@app.command()
def compact(index: IndexFolder = None) -> None:
    """Merge segments, and drop what was replaced or deleted.

    It says first how much of the disk that takes, and does nothing where there is less.
    """
    from disputatio.store.folder_index import FolderIndex

    opened = open_one(index)
    if isinstance(opened, FolderIndex):
        opened.compact(planned=lambda plan: say(_describe_plan(plan)))
    else:
        opened.compact()
    figures = opened.info()
    segments = count(figures.segments, "segment")
    write(f"{_shown(figures.path)}: {count(figures.passages, 'passage')} in {segments}\n")


@app.command()
def check(
    index: IndexFolder = None,
    repair: Annotated[bool, typer.Option(help="Quarantine what is damaged, rebuild what can be.")] = True,
    as_json: Json = False,
) -> None:
    """Compare all that is stored with its checksums.

    What is damaged is moved to the folder `quarantine` of the index, never deleted. The exit code is 1
    when damage is found.
    """
    from disputatio.store.addresses import is_served, server_class
    from disputatio.store.record.check import check as check_index

    folder = locate_index(index)
    if is_served(folder):
        opened = server_class(folder).open(folder, create=False)
        wrong = opened.check()
        if as_json:
            write_json({"path": opened.shown, "damaged": wrong})
        else:
            write("\n".join(wrong or ["nothing is damaged"]) + "\n")
        raise typer.Exit(1 if wrong else 0)
    report = check_index(folder, repair=repair)
    if as_json:
        write_json(asdict(report))
    else:
        write(report.text() + "\n")
    raise typer.Exit(1 if report.damaged else 0)


@app.command()
def sync(
    source: Annotated[
        str, typer.Argument(metavar="SOURCE", help="Folder or bucket (s3://, gs://) of the index.")
    ],
    target: Annotated[str, typer.Argument(metavar="TARGET", help="Folder or bucket of the copy.")],
    tables: Annotated[bool, typer.Option(help="Copy the record of the documents, too.")] = True,
    as_json: Json = False,
) -> None:
    """Bring a copy of an index up to date, to be read elsewhere.

    Segments that the copy has are not copied again; the record of the documents is copied whole, and a
    search does not need it.
    """
    from disputatio.store.record.replicate import sync as sync_index

    copied = sync_index(source, target, tables=tables)
    if as_json:
        write_json(asdict(copied))
        return
    files = count(copied.files, "file")
    write(f"{_shown(target)}: at commit {copied.commit}; {files}, {copied.bytes:,} bytes copied\n")


@app.command()
def export(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="File to write: .parquet or .jsonl.")],
    index: IndexFolder = None,
    what: Annotated[
        Literal["passages", "documents"], typer.Option(metavar="WHAT", help="passages or documents.")
    ] = "passages",
) -> None:
    """Write every passage or document to a Parquet or JSON-lines file.

    `--what documents` lists what the index holds: id, file, title, source, owner, date and version of each.
    """
    from disputatio.store.opening import require_folder
    from disputatio.store.record.export import export as export_index

    opened = require_folder(open_one(index), "read at length (as export and compare do)")
    rows = export_index(opened, file, documents=what == "documents")
    write(f"{_shown(file)}: {count(rows, what.removesuffix('s'))}\n")


@app.command()
def delete(
    index: IndexFolder = None,
    source: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="All documents of a source; may be repeated.")
    ] = None,
    path: Annotated[
        list[Path] | None, typer.Option(metavar="FILE", help="All documents of a file; may be repeated.")
    ] = None,
    document: Annotated[
        list[str] | None, typer.Option(metavar="ID", help="A document by its id; may be repeated.")
    ] = None,
) -> None:
    """Delete documents from the index: by source, file or id.

    The exit code is 1 when there was nothing to delete.
    """
    if not (source or path or document):
        raise InputError("say what to delete: --source NAME, --path FILE or --document ID")
    files = [str(file) for file in path or ()]
    deleted = open_one(index).delete(sources=source or (), paths=files, documents=document or ())
    write(f"{count(deleted, 'document')} deleted\n")
    raise typer.Exit(0 if deleted else 1)


@app.command()
def describe(
    documents: Annotated[
        list[str] | None,
        typer.Argument(metavar="[DOCUMENT]...", help="Ids of documents, or files: all documents in them."),
    ] = None,
    index: IndexFolder = None,
    date: StatedDate = None,
    owner: StatedOwner = None,
    source: StatedSource = None,
    authority: StatedAuthority = None,
    replaces: StatedReplaces = None,
    title: Annotated[str | None, typer.Option(metavar="TITLE", help="Its title.")] = None,
    status: Annotated[
        str | None, typer.Option(metavar="STATUS", help="current, corrected, concern or retracted.")
    ] = None,
    mute: Annotated[
        bool | None, typer.Option("--mute/--no-mute", help="Keep it out of searches, or let it in again.")
    ] = None,
    table: Annotated[
        Path | None,
        typer.Option(
            "--from",
            metavar="FILE",
            help="Rows (.csv, .json, .jsonl) that name document, file or doi, and state fields.",
        ),
    ] = None,
    undo: Annotated[
        int | None, typer.Option(metavar="NUMBER", help="Take back one statement, by its number.")
    ] = None,
    as_json: Json = False,
) -> None:
    """State what documents do not state themselves.

    Or what they state wrongly: date, owner, source, authority and so on. It stands above what a document
    states, stays when its file is read again, and changes no id; an empty text takes a field back. Without
    anything to state, the history of the documents is shown, or of all.
    """
    from disputatio.store.description_table import describe_from

    stated = check_fields({
        "date": date, "owner": owner, "source": source, "authority": authority, "replaces": replaces,
        "title": title, "status": status, "mute": mute,
    })  # fmt: skip
    chosen = [bool(stated), table is not None, undo is not None]
    if sum(chosen) > 1 or (documents and not chosen[0] and any(chosen)):
        raise InputError("state fields of documents, or give --from FILE, or --undo NUMBER")
    if stated and not documents:
        raise InputError("say of which documents: an id, or a file")
    opened = open_one(index)
    if not any(chosen):
        _show_history(opened, documents or [], as_json=as_json)
        return
    rows: dict[str, object] = {}
    if table is not None:
        summary = describe_from(opened, table)
        rows = {"rows": summary.rows, "matched": summary.matched, "unused": list(summary.unused)}
        rows["missing"] = list(summary.missing)
        changed = summary.described
        if not as_json:
            say(f"{count(summary.rows, 'row')}, {summary.matched:,} of them of documents that are here")
            for name in summary.missing[:20]:
                say(f"not here: {name}")
        if summary.unused and not as_json:
            say(f"not used: {', '.join(summary.unused[:20])}")
    elif undo is not None:
        changed = opened.take_back(undo)
    else:
        changed = opened.describe_all([(name, stated) for name in documents or []], by="command line")
    if as_json:
        write_json({"described": changed, **rows})
        return
    write(f"{count(changed, 'document')} described anew\n")


def _show_history(opened: Index, documents: list[str], *, as_json: bool) -> None:
    known = [each for name in documents for each in opened.descriptions(name)]
    history = known if documents else opened.descriptions()
    if as_json:
        write_json([asdict(each) for each in history])
        return
    for each in history:
        target = each.target
        place = "/".join(filter(None, (target.file, target.member))) or target.id
        place += f":{target.row}" if target.row else ""
        fields = ", ".join(f"{name}: {value or 'taken back'}" for name, value in each.fields.items())
        undone = f"  (taken back {each.undone})" if each.undone else ""
        write(_shown(f"{each.key:>4}  {each.at}  {each.by}  {place}  {fields or 'nothing'}{undone}") + "\n")
    if not history:
        write("nothing is stated by people\n")


@app.command()
def reembed(
    embedder: Annotated[str, typer.Argument(metavar="EMBEDDER", help="Embedding model, or none.")],
    index: IndexFolder = None,
) -> None:
    """Give every passage a new vector, of another model.

    Searches see all old vectors until all new ones are there.
    """
    from disputatio.parts import open_embedder
    from disputatio.store.opening import require_folder
    from disputatio.store.trust import trust as trust_index

    opened = require_folder(open_one(index), "give new vectors")
    with ProgressBar("embedding") as meter:
        part = open_embedder(embedder, pull=True)
        opened.reembed(part, progress=lambda done, total: meter.update(done, total, "embedding"))
    figures = opened.info()
    if figures.embedder.startswith("openai:"):
        with contextlib.suppress(OSError):
            trust_index(opened.path, figures.embedder)
    passages = count(figures.passages, "passage")
    write(f"{_shown(figures.path)}: {passages}, embedder {figures.embedder or 'none'}\n")


@app.command()
def trust(
    index: Annotated[Path, typer.Argument(metavar="DIR", help="The index, a folder or an address.")],
) -> None:
    """Allow an index that you did not make to use its embedder.

    The embedder is on a server, and every query is then sent there (OPENAI_BASE_URL), with your key. It is
    recorded in your folder of configuration, for this place of the index and this model.
    """
    from disputatio.store.addresses import mask_secrets
    from disputatio.store.allowed import file_of_user
    from disputatio.store.opening import read_index_note
    from disputatio.store.trust import trust as trust_index

    note, shown = read_index_note(index), _shown(mask_secrets(index))
    if note is None:
        raise StoreError(f"{shown}: there is no index here")
    embedder = str(note.get("embedder") or "")
    if not embedder.startswith("openai:"):
        write(f"{shown}: uses no embedder on a server; there is nothing to allow\n")
        return
    try:
        trust_index(index, embedder)
    except OSError as error:
        raise StoreError(f"{file_of_user()}: cannot be written to: {error.strerror}") from error
    write(f"{shown}: may use {_shown(embedder.partition('#')[0])}\n")


@app.command()
def convert(
    old: Annotated[Path, typer.Argument(metavar="OLD", help="Index of format 3.")],
    new: Annotated[
        Path | None, typer.Argument(metavar="[NEW]", help="New folder for the result; in place without it.")
    ] = None,
) -> None:
    """Convert an index of format 3. Its record is in LanceDB."""
    from disputatio.store.record.convert import convert as convert_index

    manifest = convert_index(old, new)
    write(f"{_shown(new or old)}: {count(manifest.passages, 'passage')} converted\n")


def _describe_plan(plan: CompactionPlan) -> str:
    """Return what a compaction takes, in one sentence."""
    from disputatio.store.record.transaction import gigabytes

    needed, free = gigabytes(plan.disk), gigabytes(plan.free)
    return (
        f"compacting needs up to {needed} of the disk while it runs ({free} are free), and "
        f"{gigabytes(plan.memory)} of memory"
    )


def open_one(index: Path | None) -> Index:
    """Return the one index that is worked on; raises as `open_named` does, and `InputError` for several."""
    return open_named(locate_index(index))


def _shown(value: object) -> str:
    """Return a figure or a name as a person reads it.

    >>> _shown(12000), _shown(""), _shown("my\\nindex")
    ('12,000', 'none', 'my index')
    """
    return f"{value:,}" if isinstance(value, int) else one_line(str(value)) or "none"
