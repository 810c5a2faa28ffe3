"""Prints the description of the API, to generate types from: `python -m disputatio.server.openapi`."""

from __future__ import annotations

import json
import sys
from typing import Any


def schema() -> dict[str, Any]:
    """Build the OpenAPI document of the server, without an index or a model."""
    from disputatio.config import read_settings
    from disputatio.parts import build_kit
    from disputatio.server.app import create_app
    from disputatio.server.service import Service

    settings = read_settings(model="scripted:", journal="none", replay=False, encoder="none", embedder="none")
    document: dict[str, Any] = create_app(
        Service(kit=build_kit(settings), index=None, settings=settings)
    ).openapi()
    return document


if __name__ == "__main__":
    sys.stdout.write(json.dumps(schema(), indent=1, ensure_ascii=True) + "\n")
