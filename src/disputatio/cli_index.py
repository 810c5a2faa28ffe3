"""`disputatio search` and `disputatio index`: look into an index, compact, export, delete."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from disputatio.errors import InputError

if TYPE_CHECKING:
    from disputatio.protocols import Embedder
    from disputatio.store.index import Index
    from disputatio.store.segments.search import Fusion
    from disputatio.types import Hit

app = typer.Typer(help="Look into an index, compact it, export it.", no_args_is_help=True)

_Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
_Index = Annotated[Path | None, typer.Option("--index", help="Folder of the index.", metavar="DIR")]


@app.command()
def info(index: _Index = None, as_json: _Json = False) -> None:
    """The index in figures."""
    from dataclasses import asdict

    from disputatio.cli_screen import write, write_json

    told = asdict(_open(index).info())
    if as_json:
        write_json(told)
        return
    width = max(map(len, told))
    write("".join(f"{name:<{width}}  {_shown(value)}\n" for name, value in told.items()))


@app.command()
def compact(index: _Index = None) -> None:
    """Merge what many small ingests left, and drop what was replaced or deleted."""
    from disputatio.cli_screen import write

    opened = _open(index)
    opened.compact()
    told = opened.info()
    write(f"{told.path}: {told.passages} passages in {told.segments} segments\n")


@app.command()
def check(
    index: _Index = None,
    repair: Annotated[bool, typer.Option(help="Quarantine what is damaged, rebuild what can be.")] = True,
    as_json: _Json = False,
) -> None:
    """Read all that is stored and compare it with its checksums; exit code 1 when damage is found.

    What is damaged is moved to the index's folder `quarantine`, never deleted.
    """
    from dataclasses import asdict

    from disputatio.cli_screen import write, write_json
    from disputatio.store.record.check import check as check_index

    report = check_index(_folder(index), repair=repair)
    if as_json:
        write_json(asdict(report))
    else:
        write(report.text() + "\n")
    raise typer.Exit(1 if report.damaged else 0)


@app.command()
def sync(
    source: Annotated[str, typer.Argument(help="Folder or bucket (s3://, gs://) of the index.")],
    target: Annotated[str, typer.Argument(help="Folder or bucket of the copy.")],
    tables: Annotated[
        bool, typer.Option(help="Copy the documents' tables too; no search needs them.")
    ] = True,
    as_json: _Json = False,
) -> None:
    """Bring a copy of an index up to date, for reading elsewhere; only what is new travels."""
    from dataclasses import asdict

    from disputatio.cli_screen import write, write_json
    from disputatio.store.record.replicate import sync as sync_index

    told = sync_index(source, target, tables=tables)
    if as_json:
        write_json(asdict(told))
        return
    from disputatio.text import one_line

    write(f"{one_line(target)}: at commit {told.commit}; {told.files} files, {told.bytes:,} bytes copied\n")


@app.command()
def export(
    file: Annotated[Path, typer.Argument(help="File to write: .parquet or .jsonl.")],
    index: _Index = None,
    what: Annotated[str, typer.Option(help="passages or documents.")] = "passages",
) -> None:
    """Write every passage (or whole document) to a Parquet or JSON-lines file."""
    from disputatio.cli_screen import write
    from disputatio.store.record.export import export as export_index

    if what not in ("passages", "documents"):
        raise InputError(f"--what {what}: choose passages or documents")
    rows = export_index(_open(index), file, documents=what == "documents")
    write(f"{file}: {rows} {what}\n")


@app.command()
def delete(
    index: _Index = None,
    source: Annotated[list[str] | None, typer.Option(help="A source to take out; may be repeated.")] = None,
    path: Annotated[list[Path] | None, typer.Option(help="A file to take out; may be repeated.")] = None,
    document: Annotated[list[str] | None, typer.Option(help="A document's id; may be repeated.")] = None,
) -> None:
    """Take documents out of the index: those of a source, of a file, or by id."""
    from disputatio.cli_screen import write

    if not (source or path or document):
        raise InputError("say what to delete: --source NAME, --path FILE or --document ID")
    gone = _open(index).delete(
        sources=source or (), paths=[str(one) for one in path or ()], documents=document or ()
    )
    write(f"{gone} documents deleted\n")
    raise typer.Exit(0 if gone else 1)


@app.command()
def reembed(
    embedder: Annotated[str, typer.Argument(help="Embedding model, or none.")], index: _Index = None
) -> None:
    """Give every passage a new vector, of another model; searches see the old or the new ones."""
    from disputatio.cli_screen import Meter, write
    from disputatio.config import open_embedder

    opened = _open(index)
    with Meter("embedding") as meter:
        part = open_embedder(embedder, pull=True)
        opened.reembed(part, progress=lambda done, total: meter.told(done, total, "embedding"))
    write(f"{opened.path}: {opened.info().passages} passages, embedder {opened.info().embedder or 'none'}\n")


@app.command()
def migrate(index: _Index = None) -> None:
    """Bring an index of an older version to the one that this program writes."""
    from disputatio.cli_screen import write
    from disputatio.store.record.migrate import migrate as migrate_index

    folder = _folder(index)
    steps = migrate_index(folder)
    write(f"{folder}: " + ("; ".join(steps) if steps else "is of this version already") + "\n")


def search(
    query: Annotated[str, typer.Argument(help="Words or a question.")],
    index: _Index = None,
    k: Annotated[int, typer.Option("-k", help="How many passages.")] = 8,
    alpha: Annotated[float, typer.Option(help="Weight of the keyword score; the rest is meaning.")] = 0.35,
    fusion: Annotated[str, typer.Option(help="weighted, or rrf: reciprocal rank fusion.")] = "weighted",
    per_source: Annotated[int | None, typer.Option(help="The best N of every source that matches.")] = None,
    source: Annotated[list[str] | None, typer.Option(help="Only this source; may be repeated.")] = None,
    after: Annotated[str | None, typer.Option(help="Dated on or after, as 2021 or 2021-05-30.")] = None,
    before: Annotated[str | None, typer.Option(help="Dated on or before.")] = None,
    where: Annotated[list[str] | None, typer.Option(help="FIELD=VALUE of the metadata.")] = None,
    min_reliability: Annotated[float | None, typer.Option(help="Only sources as reliable.")] = None,
    as_json: _Json = False,
) -> None:
    """Find passages, without a model: by keyword and meaning, best first or best of each source."""
    from disputatio.cli import read_pairs
    from disputatio.cli_screen import write_json

    hits = _open(index, searching=True).search(
        query,
        k=k,
        alpha=alpha,
        fusion=cast("Fusion", fusion),  # the search refuses another word
        per_source=per_source,
        sources=source,
        after=after,
        before=before,
        where=read_pairs("--where", where or [], "FIELD=VALUE") or None,
        min_reliability=min_reliability,
    )
    if as_json:
        write_json([_fields(hit) for hit in hits])
    else:
        _show_hits(hits)


def _fields(hit: Hit) -> dict[str, Any]:
    from dataclasses import asdict

    passage = asdict(hit.passage)
    return {
        "score": hit.score,
        "scores": dict(hit.scores),
        "duplicate_of": hit.duplicate_of or None,
        "passage": {**passage, "metadata": dict(hit.passage.metadata)},
    }


def _show_hits(hits: list[Hit]) -> None:
    from disputatio.cli_screen import plain, printing
    from disputatio.text import one_line

    with printing() as out:
        for number, hit in enumerate(hits, start=1):
            passage = hit.passage
            legs = ", ".join(f"{leg} {score:.2f}" for leg, score in hit.scores.items())
            about = "  ".join(part for part in (passage.source, passage.date, passage.title) if part)
            again = f"  (nearly the same as {hit.duplicate_of})" if hit.duplicate_of else ""
            out.print(plain(f"{number}. {hit.score:.3f}  {one_line(about)}{again}", "bold"))
            out.print(plain(f"   {passage.id}  {legs}", "dim"))
            out.print(plain(f"   {one_line(passage.text)}"))
        if not hits:
            out.print(plain("no passages"))


def _folder(index: Path | None) -> Path:
    from disputatio.config import read_settings

    return read_settings(index=index).index


def _open(index: Path | None, *, searching: bool = False) -> Index:
    """The index that is named or usual; with its embedder where one is needed, which is for a search."""
    from disputatio.cli_screen import Waiting
    from disputatio.config import embedder_for, read_settings
    from disputatio.store.index import Index

    settings = read_settings(index=index, journal="none", replay=False)
    part: Embedder | None = None
    if searching and settings.index.exists():
        with Waiting() as waiting:
            part = embedder_for(settings, settings.index, say=waiting.say, progress=waiting.fetched)
    return Index.open(settings.index, embedder=part, create=False)


def _shown(value: object) -> str:
    from disputatio.text import one_line

    return f"{value:,}" if isinstance(value, int) else one_line(str(value))
