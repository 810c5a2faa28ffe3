"""Rows of a built data set on disk: whole or not at all."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from disputatio.errors import InputError


def write_lines(out: Path, rows: Iterable[Mapping[str, Any]]) -> int:
    """Write rows as JSON lines, under another name first; how many there are.

    Whoever reads `out` finds the file that was there before or the whole new one. Raises `InputError`
    where it cannot be written, and whatever making the rows raises; then no part of them stays.
    """
    part = out.with_name(out.name + ".part")
    count = 0
    try:
        with part.open("w", encoding="utf-8") as file:
            for row in rows:
                file.write(json.dumps(row, ensure_ascii=False) + "\n")
                count += 1
        part.replace(out)
    except OSError as error:
        raise InputError(f"{out}: {error.strerror or error}") from error
    finally:
        part.unlink(missing_ok=True)
    return count
