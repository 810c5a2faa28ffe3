"""Whether an evaluation may go on where it was begun: what differs, named.

Records that were made by other prompts, models, data, options or code do not belong into one table.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from disputatio.errors import InputError

_SHOWN = 4  # differences of one mapping that are spelt out


def differences(before: Mapping[str, Any], now: Mapping[str, Any], lead: str) -> list[str]:
    """Return what is not as it was, one clause a field; both are JSON values. What was not recorded is not
    compared.

    >>> differences({"model": "a", "seed": 1}, {"model": "b", "seed": 1}, "begun with")
    ['begun with model "a", now it is "b"']
    >>> differences({"options": {"k": 1, "n": 2}}, {"options": {"k": 3, "n": 2}}, "begun with")
    ['begun with options k=1, now it is k=3']
    >>> differences({"code": {"x": "1"}}, {"code": {"x": "2"}}, "begun with")
    ['begun with other code, changed since in x']
    """
    clauses = []
    for key, was in before.items():
        new = now[key]
        if was == new:
            continue
        name = key.replace("_", " ")
        if key == "code":
            if was:  # a journal from before code was recorded says nothing of it
                clauses.append(f"{lead} other code, changed since in {_names(was, new)}")
        elif isinstance(was, Mapping):
            clauses.append(f"{lead} {name} {_pairs(was, new)}, now it is {_pairs(new, was)}")
        else:
            clauses.append(f"{lead} {name} {_dump(was)}, now it is {_dump(new)}")
    return clauses


def refuse(out: Path, clauses: list[str]) -> None:
    """Raise `InputError` that names the differences and a folder for a new run; nothing without any."""
    if clauses:
        raise InputError(
            f"{out}: {'; '.join(clauses)}: begin a new run with --out {free(out)}, or ask as before"
        )


def free(out: Path) -> Path:
    """Return the first folder beside this one that is not there yet: `runs-2`, `runs-3`, ..."""
    stem, _, number = out.name.rpartition("-")
    name, start = (stem, int(number) + 1) if stem and number.isdecimal() else (out.name, 2)
    while (folder := out.with_name(f"{name}-{start}")).exists():
        start += 1
    return folder


def _names(was: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    return _some(sorted(key for key in {*was, *new} if was.get(key) != new.get(key)))


def _pairs(mapping: Mapping[str, Any], other: Mapping[str, Any]) -> str:
    """Return what a mapping says where another says something else."""
    gone = object()
    pairs = [
        f"{key}={_dump(value)}" for key, value in sorted(mapping.items()) if other.get(key, gone) != value
    ]
    return _some(pairs) if pairs else "nothing more"


def _some(parts: list[str]) -> str:
    more = len(parts) - _SHOWN
    return ", ".join(parts[:_SHOWN]) + (f" and {more} more" if more > 0 else "")


def _dump(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False)
