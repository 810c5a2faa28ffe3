"""Whose rows these are: which loader would read a row that another could not."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from disputatio.errors import InputError
from disputatio.eval.data.formats.catalogue import FORMATS
from disputatio.eval.data.formats.format import Format
from disputatio.eval.data.rows import Place


def hint(found: object, path: Path, form: Format, *, above: int = 0) -> str:
    """Which other loader would read a row, or a file that is one JSON object, in words behind an error.

    Empty where none would that knows more of its fields than `above`.
    """
    if not isinstance(found, Mapping):
        return ""
    fits = [one for one in fitting(found, path) if one is not form and _known(one, found, path) > above]
    if not fits:
        return ""
    known = max(_known(one, found, path) for one in fits)
    best = [one for one in fits if _known(one, found, path) == known]
    tried = " or ".join(f"{one.name}:{path}" for one in best[:3])
    return f"; its fields are those of {' and '.join(one.name for one in best[:3])}: try {tried}"


def fitting(found: object, path: Path) -> list[Format]:
    """The formats that read a row, or the first row of a whole file, without an error.

    Where none does, those that have its fields.
    """
    if not isinstance(found, Mapping):
        return []
    known = [form for form in FORMATS.values() if _known(form, found, path)]
    return [form for form in known if _reads(form, found, path)] or known


def _known(form: Format, found: Mapping[str, Any], path: Path) -> int:
    row = _row(form, found, path)
    return 0 if row is None else form.knows(row)


def _row(form: Format, found: Mapping[str, Any], path: Path) -> Mapping[str, Any] | None:
    """What a format would take for its row: the object itself, its first row, or its cells by column."""
    if form.knows(found):
        return found
    if form.columns and list(found) == [str(number) for number in range(len(form.columns))]:
        return dict(zip(form.columns, found.values(), strict=True))
    if form.whole is not None:
        try:
            return next((row for _, row in form.whole(found, path)), None)
        except InputError:
            return None
    return None


def _reads(form: Format, found: Mapping[str, Any], path: Path) -> bool:
    row = _row(form, found, path)
    if row is None:
        return False
    facts = {} if form.gather is None else form.gather([row], path)
    try:
        form.loader(row, Place(dataset=form.name, path=path, row=0, facts=facts))
    except InputError:
        return False
    return True
