"""`disputatio mcp`: the tools of the server for an agent on this machine, over standard input and output."""

from __future__ import annotations

import importlib.util

from disputatio.cli.options import Indexes, Journal, Model, Roles, StrategyName, read_roles
from disputatio.errors import MissingDependency


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
