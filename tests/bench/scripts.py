"""Finds the measurements of `bench/` for tests, whatever their room."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType

BENCH = Path(__file__).resolve().parents[2] / "bench"


def script(name: str) -> ModuleType:
    """Return the module of a measurement, by its bare name."""
    [path] = BENCH.glob(f"*/{name}.py")
    return importlib.import_module(f"bench.{path.parent.name}.{name}")
