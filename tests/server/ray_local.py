"""The deployment of `deploy/ray_serve.py` in Ray Serve's local mode, asked as its proxy asks it.

In a process of its own, for Ray's modules warn of other libraries when they are imported.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

QUESTION = json.dumps({"question": "When did the ferry first sail?"}).encode()
UNREAD: list[bytes] = []
SENT: list[Any] = []
"""What the application sent. Ray pickles what it is called with, and a function of a module by its name."""


async def receive() -> dict[str, Any]:
    """Return the body of the question; after it the client stays and says nothing."""
    if not UNREAD:
        await asyncio.sleep(600)
        return {"type": "http.disconnect"}
    return {"type": "http.request", "body": UNREAD.pop(), "more_body": False}


async def send(message: dict[str, Any]) -> None:
    """Keep a piece of the response."""
    SENT.append(message)


def scope(token: str, host: str) -> dict[str, Any]:
    """Return a question as ASGI has it."""
    headers = {"host": host, "authorization": f"Bearer {token}", "content-type": "application/json"}
    return {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "POST", "scheme": "http",
        "path": "/api/ask", "raw_path": b"/api/ask", "query_string": b"", "root_path": "",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 80),
    }  # fmt: skip


async def asked(handle: Any, token: str, host: str) -> tuple[int, Any]:
    """Return the status and the body of a response."""
    SENT.clear()
    UNREAD[:] = [QUESTION]
    await handle.remote(scope(token, host), receive, send)
    body = b"".join(message.get("body", b"") for message in SENT)
    return SENT[0]["status"], json.loads(body)


def main() -> None:
    """Print what is answered with the token and the name, and without either."""
    import os

    from ray import serve

    from deploy.ray_serve import app

    token = os.environ["DISPUTATIO_TOKEN"]
    handle = serve.run(app, _local_testing_mode=True)
    cases = ((token, "ask.example"), ("another", "ask.example"), (token, "evil.example"))
    found = [asyncio.run(asked(handle, *case)) for case in cases]
    print(json.dumps(found), flush=True)
    os._exit(0)  # Ray's local mode has no way to end its thread
