"""`disputatio serve`: one address for pages, chat clients and agents."""

from __future__ import annotations

import importlib.util
import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from disputatio.cli.opening import path_beside
from disputatio.cli.options import Indexes, Journal, Model, Roles, StrategyName, read_roles
from disputatio.cli.screen import say
from disputatio.errors import InputError, MissingDependency

if TYPE_CHECKING:
    from disputatio.config import Settings
    from disputatio.server.options import Access, StorageOptions

_NEEDED = ("fastapi", "uvicorn", "prometheus_client", "multipart", "mcp")
_LOOPBACK = ("127.0.0.1", "::1", "localhost")
_SHORTEST_TOKEN = 20  # characters
_VARIABLE = "DISPUTATIO_TOKEN"


def serve(
    index: Indexes = None,
    host: Annotated[
        str, typer.Option(metavar="ADDRESS", help="Address to listen at; beyond loopback it takes a token.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(metavar="N", help="Port to listen at; 0 takes a free one.")] = 8377,
    token: Annotated[
        str | None,
        typer.Option(
            metavar="WORD", help="Token that clients must send. Other users here can see it: prefer a file."
        ),
    ] = None,
    token_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help=f"File of the token; {_VARIABLE} holds it, too.")
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Another host name of this server; may be repeated."),
    ] = None,
    allow_origin: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ORIGIN", help="A site whose pages may ask: https://a.example; may be repeated."
        ),
    ] = None,
    allow_writing: Annotated[
        bool, typer.Option("--allow-writing", help="Let clients upload, set owners and calibrate.")
    ] = False,
    strategy: StrategyName = None,
    model: Model = None,
    role: Roles = None,
    allow_model: Annotated[
        list[str] | None,
        typer.Option(metavar="MODEL", help="Another model that a client may choose; may be repeated."),
    ] = None,
    journal: Journal = None,
    prices: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="TOML table of what models cost, for the page.  [default: that of `disputatio eval prices`]",
        ),
    ] = None,
    runs: Annotated[Path | None, typer.Option(metavar="DIR", help="Folder of evaluations to show.")] = None,
    answers: Annotated[
        str, typer.Option(metavar="FILE", help="Where answers are kept: a file, default or none.")
    ] = "default",
    keep_days: Annotated[float, typer.Option(metavar="DAYS", help="How long answers are kept.")] = 30.0,
    in_flight: Annotated[int, typer.Option(metavar="N", help="Questions answered at a time.")] = 16,
    waiting: Annotated[int, typer.Option(metavar="N", help="Questions that may wait for their turn.")] = 64,
    max_calls: Annotated[int, typer.Option(metavar="N", help="The most model calls of a question.")] = 2_000,
    max_tokens: Annotated[int, typer.Option(metavar="N", help="The most tokens of a question.")] = 2_000_000,
    max_seconds: Annotated[float, typer.Option(metavar="S", help="The most seconds of a question.")] = 600.0,
    upload_mb: Annotated[int, typer.Option(metavar="MB", help="The largest upload.")] = 64,
    upload_gb: Annotated[float, typer.Option(metavar="GB", help="The most that all uploads take.")] = 20.0,
    suggest: Annotated[
        int, typer.Option(metavar="N", help="Questions to begin with that the model writes while it is idle.")
    ] = 5,
    grace: Annotated[
        float, typer.Option(metavar="S", help="Seconds in which answers may end when the server is stopped.")
    ] = 30.0,
    audit: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Log who asked what to a file.  [default: off]")
    ] = None,
) -> None:
    """Serve an index as a page, an API and to chat clients.

    The page is at /, the API at /api, chat clients at /v1, agents at /mcp. It listens at loopback only. To
    open it to others, give a token and its host names.
    """
    for package in _NEEDED:
        if importlib.util.find_spec(package) is None:
            raise MissingDependency(package, "serve")
    from disputatio.config import read_settings
    from disputatio.server.app import UNBUILT, create_app, is_built
    from disputatio.server.connections import open_listener, port_of, server_of
    from disputatio.server.options import Limits
    from disputatio.server.service import Service
    from disputatio.spending import read_prices
    from disputatio.store.addresses import mask_secrets, require_one

    if not 0 <= port <= 65_535:
        raise InputError(f"--port {port}: choose from 0 to 65535")
    numbers = {"--in-flight": in_flight, "--max-calls": max_calls, "--max-tokens": max_tokens}
    numbers |= {"--upload-mb": upload_mb}
    for option, number in numbers.items():
        if number < 1:
            raise InputError(f"{option} {number}: is at least 1")
    if upload_gb <= 0:
        raise InputError("--upload-gb is more than 0")
    if waiting < 0 or grace < 0 or suggest < 0 or keep_days <= 0 or max_seconds <= 0:
        raise InputError(
            "--waiting, --suggest and --grace are at least 0, --keep-days and --max-seconds more than that"
        )
    settings = read_settings(
        index=index, strategy=strategy, model=model, role=read_roles(role), journal=journal
    )
    if allow_writing:
        require_one(settings.index)
    limits = Limits(
        in_flight=in_flight,
        waiting=waiting,
        waiting_each=max(1, waiting // 4),
        calls=max_calls,
        tokens=max_tokens,
        seconds=max_seconds,
        upload=upload_mb << 20,
        grace=grace,
        suggestions=suggest,
    )
    access = _access(host, _token(token, token_file), allow_host, allow_origin, writing=allow_writing)
    listener = open_listener(host, port)
    with listener:
        service = Service.open(
            settings,
            limits=limits,
            access=access,
            keeping=replace(
                _choose_storage(settings, answers, keep_days, runs, audit),
                upload_bytes=int(upload_gb * (1 << 30)),
            ),
            models=tuple(allow_model or ()),
            prices=None if prices is None else read_prices(prices),
        )
        shown = f"[{host}]" if ":" in host else host
        say(f"serving {mask_secrets(settings.index)} at http://{shown}:{port_of(listener)} (Ctrl-C stops)")
        if not is_built():
            say(UNBUILT)
        server_of(create_app(service), limits).run(sockets=[listener])


def _token(word: str | None, file: Path | None) -> str:
    """Read the operator's token; raises `InputError` for one that could be guessed."""
    if word is not None and file is not None:
        raise InputError("give --token or --token-file, not both")
    if file is not None:
        try:
            word = file.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"--token-file {file}: cannot be read") from error
        if not word:
            raise InputError(f"--token-file {file}: is empty")
        if file.stat().st_mode & 0o077:
            say(f"--token-file {file}: others on this machine can read it: chmod 600")
    word = os.environ.get(_VARIABLE, "").strip() if word is None else word.strip()
    if word and (len(word) < _SHORTEST_TOKEN or not word.isascii() or any(map(str.isspace, word))):
        raise InputError(
            f"a token has at least {_SHORTEST_TOKEN} letters and digits, such as: openssl rand -hex 32"
        )
    return word


def _access(
    host: str, token: str, hosts: list[str] | None, origins: list[str] | None, *, writing: bool
) -> Access:
    """Decide who has access; raises `InputError` for a server open to everyone on the network."""
    from disputatio.server.options import Access

    loopback = host in _LOOPBACK
    if not loopback and not token:
        raise InputError(
            f"--host {host} is open to others: give a token by --token-file FILE or {_VARIABLE}, such as: "
            "openssl rand -hex 32"
        )
    for origin in origins or []:
        if origin == "*" or not origin.startswith(("http://", "https://")) or origin.count("/") != 2:
            raise InputError(f"--allow-origin {origin}: write one site, such as https://a.example")
    for name in hosts or []:
        if not name or any(letter in "*/:@ " for letter in name.strip("[]").replace(":", "")):
            raise InputError(f"--allow-host {name}: write a name without a port, such as ask.example")
    own = () if loopback or host in ("0.0.0.0", "::") else (f"[{host}]" if ":" in host else host,)
    return Access(token=token, hosts=(*own, *(hosts or ())), origins=tuple(origins or ()), writing=writing)


def _choose_storage(
    settings: Settings, answers: str, days: float, runs: Path | None, audit: Path | None
) -> StorageOptions:
    """Choose where the server stores answers and uploads."""
    from disputatio.eval.reporting.run_folders import RunFolders
    from disputatio.parts import cache_folder
    from disputatio.server.options import StorageOptions

    if runs is not None and not runs.is_dir():
        raise InputError(f"--runs {runs}: no such folder")
    kept = {"default": cache_folder(settings) / "answers.sqlite", "none": None}
    return StorageOptions(
        answers=kept[answers] if answers in kept else Path(answers),
        days=days,
        uploads=path_beside(settings, "uploads"),
        runs=None if runs is None else RunFolders(runs),
        audit=audit,
        changes=path_beside(settings, "changes.sqlite"),
        baseline=path_beside(settings, "accepted.json"),
    )


def mcp(
    index: Indexes = None,
    strategy: StrategyName = None,
    model: Model = None,
    role: Roles = None,
    journal: Journal = None,
) -> None:
    """Serve an index to an agent (MCP, over stdio). The tools: ask, search, fetch, sources, check."""
    for package in ("mcp", "fastapi"):
        if importlib.util.find_spec(package) is None:
            raise MissingDependency(package, "serve")
    import asyncio

    from disputatio.config import read_settings
    from disputatio.server.mcp.tools import serve_stdio
    from disputatio.server.service import Service

    settings = read_settings(
        index=index, strategy=strategy, model=model, role=read_roles(role), journal=journal
    )
    asyncio.run(serve_stdio(Service.open(settings)))
