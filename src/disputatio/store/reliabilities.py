"""How reliable each source was found to be, kept beside an index as `reliability.json`."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from pathlib import Path

from disputatio.errors import InputError, StoreError
from disputatio.store.manifest import replace_file, reported

NAME = "reliability.json"


def read_reliabilities(path: Path) -> dict[str, float]:
    """The probability of being right of each source that has an estimate.

    Raises `StoreError` when the file is damaged.
    """
    file = path / NAME
    with reported(path, "reading the index"):
        try:
            raw = file.read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return {}
    try:
        told = json.loads(raw)
        return {str(name): checked(str(name), value) for name, value in told.items()}
    except (ValueError, AttributeError, InputError, RecursionError) as error:
        raise StoreError(f"{file}: is damaged; estimate anew with: disputatio calibrate") from error


def write_reliabilities(path: Path, estimates: Mapping[str, float]) -> None:
    """Replace the estimates, whole or not at all.

    Raises `InputError` for one that is no probability, `StoreError` when they cannot be written.
    """
    told = {str(name): checked(str(name), value) for name, value in sorted(estimates.items())}
    with reported(path, "writing to the index"):
        replace_file(path / NAME, json.dumps(told, ensure_ascii=False, indent=1).encode())


def reliable(
    estimates: Mapping[str, float], least: float | None, sources: Collection[str] | None
) -> Collection[str] | None:
    """The sources to search: those named, if any, whose estimate is at least `least`.

    A source without an estimate is not above any minimum. Raises `InputError` for a minimum that is
    no probability.

    >>> sorted(reliable({"a": 0.9, "b": 0.4}, 0.5, None)), reliable({}, None, ["c"])
    (['a'], ['c'])
    """
    if least is None:
        return sources
    if not 0 <= least <= 1:
        raise InputError(f"min_reliability lies between 0 and 1, not at {least:g}")
    able = {name for name, value in estimates.items() if value >= least}
    return able if sources is None else able & set(sources)


def checked(name: str, value: object) -> float:
    """A probability; raises `InputError` for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise InputError(f"the reliability of {name!r} lies between 0 and 1, not at {value!r}")
    return float(value)
