"""`disputatio ingest`: documents into an index, from files, folders, standard input and addresses."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields, replace
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from disputatio.cli.opening import path_beside
from disputatio.cli.options import (
    Columns,
    IndexFolder,
    Json,
    Sidecar,
    StatedAuthority,
    StatedDate,
    StatedOwner,
    StatedReplaces,
    StatedSource,
    TextColumn,
)
from disputatio.cli.screen import ProgressBar, Waiting, show_summary, write_json
from disputatio.errors import IngestError, InputError, StoreError
from disputatio.protocols import interruptible
from disputatio.store.ingesting.description import check_fields
from disputatio.store.ingesting.files import find_files, is_gone
from disputatio.store.ingesting.ingest import IngestSummary
from disputatio.store.ingesting.options import ReadOptions, check_options, read_columns

if TYPE_CHECKING:
    from disputatio.config import Settings
    from disputatio.store.contract import Index
    from disputatio.store.ingesting.ingest import Refusal


def ingest(
    paths: Annotated[
        list[str], typer.Argument(help="Files, folders, patterns; - reads standard input.", metavar="PATH...")
    ],
    index: IndexFolder = None,
    source_by: Annotated[
        str | None,
        typer.Option(metavar="HOW", help="How sources are recognised: domain, folder, field:NAME or file."),
    ] = None,
    text_column: TextColumn = None,
    mapping: Columns = None,
    exclude: Annotated[
        list[str] | None,
        typer.Option(
            help="Leave out files and folders that match, such as '*.log' or 'old/*'; may be repeated.",
            metavar="PATTERN",
        ),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with 1 when a file or row was refused.")
    ] = False,
    embedder: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Embedding model, or none.  [default: multilingual-e5-small]"),
    ] = None,
    language: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Language of stemming in a new index: german, ..., none.  [default: english]"
        ),
    ] = None,
    unverified: Annotated[
        bool,
        typer.Option(
            "--unverified",
            help="Do not trust the files: keep the sources that they state apart; count one owner.",
        ),
    ] = False,
    date: StatedDate = None,
    owner: StatedOwner = None,
    source: StatedSource = None,
    authority: StatedAuthority = None,
    replaces: StatedReplaces = None,
    sidecar: Sidecar = None,
    urls: Annotated[bool, typer.Option("--urls", help="Fetch paths that are http(s) addresses.")] = False,
    watch: Annotated[bool, typer.Option("--watch", help="Keep running and ingest what changes.")] = False,
    ray: Annotated[
        str | None,
        typer.Option(help="Read and embed on a Ray cluster: its address, or local.", metavar="ADDRESS"),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Workers of --ray; without it as many as there are cores for."),
    ] = None,
    threads: Annotated[int, typer.Option(metavar="N", min=1, help="Cores of each worker of --ray.")] = 1,
    as_json: Json = False,
) -> None:
    """Read documents into an index.

    Formats: text, Markdown, reStructuredText, HTML, PDF, DOCX, PPTX, EPUB, e-mail, CSV, JSON, XLSX, ODS,
    Parquet, and zip files. Code and configuration files in folders are left out; name them, alone or by a
    pattern, to read them. What cannot be read is listed with its reason and does not stop the rest. Exit
    status: 0 when documents were read, 1 when none were. An ingest can be stopped and run again.
    """
    from disputatio.config import read_settings
    from disputatio.parts import embedder_for
    from disputatio.store.addresses import is_served, require_one
    from disputatio.store.opening import open_index

    settings = read_settings(index=index, journal="none", replay=False)
    require_one(settings.index)
    if is_served(settings.index) and ray:
        raise InputError("--ray writes to an index in a folder, not to one on a server")
    options = ReadOptions(
        source_by=source_by,
        columns=read_columns(mapping or [], text_column),
        exclude=tuple(exclude or ()),
        unverified=unverified,
        stated=check_fields({
            "date": date, "owner": owner, "source": source, "authority": authority, "replaces": replaces,
        }),
        sidecar=sidecar,
    )  # fmt: skip
    check_options(options)
    addresses = [path for path in paths if _is_address(path)]
    files = [path for path in paths if path not in addresses]
    _check(addresses, files, urls=urls, watch=watch, ray=ray)
    if ray is None and (workers is not None or threads != 1):
        raise InputError("--workers and --threads need --ray")
    with Waiting() as waiting:
        part = embedder_for(
            settings,
            settings.index,
            named=embedder,
            create=True,
            say=waiting.say,
            progress=waiting.show_download,
        )
    opened = open_index(settings.index, embedder=part, language=language, merge_gb=settings.merge_gb)
    if watch:
        _watch(opened, files, options, settings, as_json=as_json)
        return
    cluster = None if ray is None else Cluster(ray, workers, threads)
    summary = _ingest(opened, files, addresses, options, cluster)
    summary = replace(summary, notices=(*summary.notices, *_find_gone(opened, files)))
    show_summary(summary, opened.shown, as_json=as_json)
    _record_refused(summary.refused, paths, settings)
    raise typer.Exit(_exit_code(summary, strict=strict))


def _find_gone(opened: Index, paths: Sequence[str]) -> list[str]:
    """Return a line about files of the folders that were read that are gone, and still in the index."""
    folders = [Path(path).resolve() for path in paths if Path(path).is_dir()]
    places = opened.places() if folders else ()
    known = {file for file, *_ in places if "\\x" not in file}  # else its name is kept escaped
    below = (path for path in map(Path, known) if any(path.is_relative_to(folder) for folder in folders))
    gone = sorted(str(path) for path in below if is_gone(path))
    more = f" and {len(gone) - 1:,} more" if len(gone) > 1 else ""
    remedy = "answers still use them; take each out with: disputatio index delete --path FILE"
    return [f"no longer there, but in the index: {gone[0]}{more}; {remedy}"] if gone else []


def _record_refused(every: Sequence[Refusal], paths: Sequence[str], settings: Settings) -> None:
    """Put all that was refused of some paths on record beside the index, where the page shows it."""
    from disputatio.server.changes import ChangeLog

    file = path_beside(settings, "changes.sqlite")
    if not every and not file.exists():
        return
    roots = _roots(paths)
    found = [(refusal, *_place(refusal.path, roots)) for refusal in every]
    names = {place: name for _, place, name in found}
    try:
        with contextlib.closing(ChangeLog(file)) as changes:
            changes.note_refused(
                [refusal._replace(path=place) for refusal, place, _ in found],
                read=roots.values(),
                by="command line",
                shown=lambda place: names[place],
            )
    except StoreError as error:
        typer.echo(f"what was refused is not on record: {error}", err=True)


def _is_address(path: str) -> bool:
    return path.lower().startswith(("http://", "https://"))


def _roots(paths: Sequence[str]) -> dict[str, str]:
    """Return where each file, folder and address lies that was named; a pattern names what it fits."""
    roots: dict[str, str] = {}
    for path in paths:
        if _is_address(path):
            roots[path] = path
        elif Path(path).exists():
            roots["" if path == "." else str(Path(path))] = str(Path(path).resolve())
        elif path != "-":
            with contextlib.suppress(IngestError):  # no file matches, which the summary tells
                roots |= {str(file): str(file.resolve()) for file, _ in find_files(Path(path), [])}
    return roots


def _place(path: str, roots: Mapping[str, str]) -> tuple[str, str]:
    """Return where a refused file lies, and its name from the file or folder on that was named.

    >>> _place("docs/a.csv:3", {"docs": "/data/docs"})
    ('/data/docs/a.csv:3', 'docs/a.csv:3')
    >>> _place("https://x.example/a", {"https://x.example/a": "https://x.example/a"})
    ('https://x.example/a', 'https://x.example/a')
    """
    for given in sorted(roots, key=len, reverse=True):
        rest = path.removeprefix(given) if given else f"/{path}"
        if path == given or (rest != path and rest.startswith(("/", ":"))):
            root = roots[given]
            return f"{root}{rest}", path if _is_address(root) else f"{PurePath(root).name}{rest}"
    return path, path


def _exit_code(summary: IngestSummary, *, strict: bool) -> int:
    """Return the exit status of an ingest, and print its defects on stderr."""
    if not (summary.added or summary.unchanged or summary.replaced):
        typer.echo("nothing was ingested: no document was found that could be read", err=True)
        return 1
    if not summary.refused:
        return 0
    more = "" if strict else "; the rest was ingested (--strict makes this an error)"
    number = len(summary.refused)
    refused = "1 file or row was" if number == 1 else f"{number:,} files or rows were"
    typer.echo(f"{refused} refused{more}", err=True)
    return 1 if strict else 0


def _check(addresses: list[str], files: list[str], *, urls: bool, watch: bool, ray: str | None) -> None:
    """Reject options that do not go together, before anything is opened or fetched."""
    if addresses and not urls:
        raise InputError(f"{addresses[0]}: add --urls to have addresses fetched")
    if watch and (addresses or ray or "-" in files):
        raise InputError("--watch takes only files and folders on this machine")
    if ray == "":
        raise InputError("--ray needs the address of a cluster, or local")
    if ray and (addresses or "-" in files):
        raise InputError("--ray takes only files and folders that its workers can read")
    for path in files:
        if path != "-" and not any(sign in path for sign in "*?[") and not Path(path).exists():
            raise InputError(f"{path}: no such file or folder")


class Cluster(NamedTuple):
    """The cluster that reads and embeds: its address, workers, and cores for each."""

    address: str
    workers: int | None
    threads: int


def _ingest(
    opened: Index, files: list[str], addresses: list[str], options: ReadOptions, cluster: Cluster | None
) -> IngestSummary:
    with ProgressBar("reading") as meter:

        def show_progress(done: int, total: int, passages: int = 0) -> None:
            meter.update(done, total, f"reading, {passages:,} passages" if passages else "reading")

        if cluster is not None:
            from disputatio.store.ingesting.ray_ingest import ingest_with_ray
            from disputatio.store.opening import require_folder

            return ingest_with_ray(
                require_folder(opened, "ingest with workers"),
                files,
                address=cluster.address,
                workers=cluster.workers,
                threads=cluster.threads,
                options=options,
                progress=show_progress,
            )
        read = opened.ingest_as(files, options, show_progress) if files else None
        fetched = _fetch(opened, addresses, options) if addresses else None
    summaries = [summary for summary in (read, fetched) if summary is not None]
    return summaries[0] if len(summaries) == 1 else _sum(summaries)


def _fetch(opened: Index, addresses: list[str], options: ReadOptions) -> IngestSummary:
    """Fetch addresses and add each document to the index as it comes."""
    from disputatio.store.ingesting.fetch import ingest_urls

    with ProgressBar("fetching") as meter:
        return ingest_urls(
            opened,
            addresses,
            options=options,
            progress=lambda done, total: meter.update(done, total, "fetching"),
        )


def _sum(summaries: list[IngestSummary]) -> IngestSummary:
    first, second = summaries
    left_out = Counter(first.left_out) + Counter(second.left_out)
    numbers = [field.name for field in fields(first) if field.name != "left_out"]
    both = {name: getattr(first, name) + getattr(second, name) for name in numbers}
    return replace(first, **both, left_out=dict(left_out))


def _watch(
    opened: Index, files: list[str], options: ReadOptions, settings: Settings, *, as_json: bool
) -> None:
    """Ingest, then ingest changed files until stopped; print a summary of all at the end.

    An ingest that is under way is finished, unless it is asked to stop again.
    """
    from disputatio.store.ingesting.watch import watch

    whole = IngestSummary()

    def show(summary: IngestSummary) -> None:
        nonlocal whole
        whole = _sum([whole, summary])
        show_summary(summary, opened.shown, as_json=as_json)

    def record(every: Sequence[Refusal], roots: Sequence[Path]) -> None:
        _record_refused(every, [str(root) for root in roots], settings)

    with interruptible() as stop:
        watch(opened, files, options=options, on_summary=show, on_refused=record, stop=stop)
    if as_json:
        write_json({"watched": {**asdict(whole), "refused": len(whole.refused)}})
    else:
        typer.echo("stopped; in all:", err=True)
        show_summary(replace(whole, refused=()), opened.shown, as_json=False)
