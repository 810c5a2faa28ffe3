"""A server over the ferries with a waiting model: `python -m bench.serve.serving_worker FOLDER DELAY [spread]`."""

from __future__ import annotations

import sys
from pathlib import Path

from bench.lib.waiting import Waiting
from disputatio.api.indexing import Index
from disputatio.config import read_settings
from disputatio.kit import Kit
from disputatio.server.app import create_app
from disputatio.server.connections import open_listener, port_of, server_of
from disputatio.server.options import Access, StorageOptions
from disputatio.server.service import Service


def main(folder: str, delay: str, spread: str = "") -> None:
    """Serve until killed."""
    service = Service(
        kit=Kit(model=Waiting(float(delay), spread=bool(spread))),
        index=Index.open(Path(folder) / "ferries.index", create=False, embedder="none"),
        settings=read_settings(model="scripted:", journal="none", encoder="none", embedder="none"),
        access=Access(writing=True),
        keeping=StorageOptions(answers=Path(folder) / "answers.sqlite", uploads=Path(folder) / "uploads"),
    )
    listener = open_listener("127.0.0.1", 0)
    print(f"http://127.0.0.1:{port_of(listener)}", file=sys.stderr, flush=True)
    server_of(create_app(service), service.limits).run(sockets=[listener])


if __name__ == "__main__":
    main(*sys.argv[1:])
