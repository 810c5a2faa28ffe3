"""Where agents come in: `/mcp` of the server, and the standard input of a process."""

from __future__ import annotations

from typing import Any

from mcp.server.mcpserver import MCPServer
from mcp.server.transport_security import TransportSecuritySettings
from starlette.routing import BaseRoute

from disputatio.server.mcp.tools import agents_door
from disputatio.server.options import Access
from disputatio.server.service import Service

_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


def http_routes(door: MCPServer[Any], access: Access, *, body: int) -> list[BaseRoute]:
    """Return the routes at `/mcp`, while `door.session_manager.run()` is entered.

    Each request stands alone, so that any worker can answer it. Hosts and origins are checked here once more.
    """
    hosts = [*_LOOPBACK, *access.hosts]
    checks = TransportSecuritySettings(
        allowed_hosts=[*hosts, *(f"{host}:*" for host in hosts)],
        allowed_origins=[*(f"http://{host}:*" for host in _LOOPBACK), *access.origins],
    )
    app = door.streamable_http_app(
        streamable_http_path="/mcp",
        stateless_http=True,
        max_request_body_size=body,
        transport_security=checks,
    )
    return list(app.routes)


async def serve_stdio(service: Service) -> None:
    """Serve the client at standard input and output until it closes them."""
    try:
        await agents_door(service).run_stdio_async()
    finally:
        await service.close()
