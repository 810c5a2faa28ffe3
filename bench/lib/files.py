"""The files of a measurement: figures as JSON (compressed where the name ends in .gz), the page and charts beside."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any


def beside(path: Path, ending: str) -> Path:
    """Return the file of the same measurement with another ending.

    >>> beside(Path("results/papers/costs.json.gz"), ".md").name
    'costs.md'
    """
    return path.with_name(path.name.partition(".")[0] + ending)


def read_json(path: Path) -> Any:
    """Return the value of a file of figures."""
    data = path.read_bytes()
    return json.loads(gzip.decompress(data) if path.suffix == ".gz" else data)


def read_lines(path: Path) -> list[Any]:
    """Return the values of a file of JSON lines; none where there is no file yet."""
    return (
        [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []
    )


def add_lines(path: Path, values: Iterable[Any]) -> None:
    """Add values to a file of JSON lines."""
    with path.open("a", encoding="utf-8") as file:
        file.writelines(json.dumps(value, ensure_ascii=False) + "\n" for value in values)


def write_json(path: Path, value: Any) -> None:
    """Keep figures as JSON: the same bytes for the same figures, whole or not at all."""
    write_whole(path, json.dumps(value, indent=1, ensure_ascii=False) + "\n")


def write_whole(path: Path, text: str) -> None:
    """Write a file under another name first: who reads it finds the old one or the new one."""
    data = text.encode("utf-8")
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    part.write_bytes(gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)
    part.replace(path)


def write_page(path: Path, text: str) -> None:
    """Write a page of results, and show it."""
    write_whole(path, text)
    print(text)
