"""`disputatio serve`: one address that pages, chat clients and agents ask."""

from __future__ import annotations

import importlib.util
from typing import Annotated

import typer

from disputatio.cli.messages import say
from disputatio.cli.options import IndexFolder, Journal, Model, Roles, read_roles
from disputatio.errors import InputError, MissingDependency

_NEEDED = ("fastapi", "uvicorn", "prometheus_client", "multipart")


def serve(
    index: IndexFolder = None,
    host: Annotated[str, typer.Option(metavar="ADDRESS", help="Address to listen at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(metavar="N", help="Port to listen at.")] = 8377,
    strategy: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="How to answer; `disputatio strategies` lists them.  [default: disputation]"
        ),
    ] = None,
    model: Model = None,
    role: Roles = None,
    journal: Journal = None,
) -> None:
    """Serve the API at /api over an index, and the page at /."""
    for package in _NEEDED:
        if importlib.util.find_spec(package) is None:
            raise MissingDependency(package, "serve")
    if not 0 <= port <= 65_535:
        raise InputError(f"--port {port}: choose from 0 to 65535")
    import uvicorn

    from disputatio.config import read_settings
    from disputatio.server.app import create_app
    from disputatio.server.service import Service

    settings = read_settings(
        index=index, strategy=strategy, model=model, role=read_roles(role), journal=journal
    )
    app = create_app(Service.open(settings))
    say(f"serving {settings.index} at http://{host}:{port}")
    uvicorn.run(app, host=host, port=port, log_level="warning", server_header=False)
