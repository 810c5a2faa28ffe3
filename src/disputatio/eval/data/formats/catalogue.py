"""Every data-set format by name: each module beside this one declares its own as `FORMATS`."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from disputatio.errors import InputError
from disputatio.eval.data import formats
from disputatio.eval.data.formats.format import DatasetFormat
from disputatio.eval.data.rows import Place


def _load_declared() -> Iterator[DatasetFormat]:
    for module in pkgutil.iter_modules(formats.__path__):
        if module.name != "catalogue":
            yield from getattr(importlib.import_module(f"{formats.__name__}.{module.name}"), "FORMATS", ())


FORMATS: Mapping[str, DatasetFormat] = MappingProxyType(
    {form.name: form for form in sorted(_load_declared(), key=lambda form: form.name)}
)


# --- hints ----------------------------------------------------------------------------------------
# Suggestions of the loader that would read a row that another could not.


def hint(row: object, path: Path, form: DatasetFormat, *, above: int = 0) -> str:
    """Suggest the loader that would read a row, or a file that is one JSON object, for an error message.

    Empty where none would that knows more of its fields than `above`.
    """
    if not isinstance(row, Mapping):
        return ""
    fits = [
        other for other in find_fitting(row, path) if other is not form and _known(other, row, path) > above
    ]
    if not fits:
        return ""
    known = max(_known(fit, row, path) for fit in fits)
    best = [fit for fit in fits if _known(fit, row, path) == known]
    tried = " or ".join(f"{fit.name}:{path}" for fit in best[:3])
    return f"; its fields are those of {' and '.join(fit.name for fit in best[:3])}: try {tried}"


def find_fitting(row: object, path: Path) -> list[DatasetFormat]:
    """Return the formats that read a row, or the first row of a whole file, without an error.

    Where none does, those that have its fields.
    """
    if not isinstance(row, Mapping):
        return []
    known = [form for form in FORMATS.values() if _known(form, row, path)]
    return [form for form in known if _reads(form, row, path)] or known


def _known(form: DatasetFormat, source: Mapping[str, Any], path: Path) -> int:
    row = _row(form, source, path)
    return 0 if row is None else form.knows(row)


def _row(form: DatasetFormat, source: Mapping[str, Any], path: Path) -> Mapping[str, Any] | None:
    """Return the row that a format would take: the object itself, its first row, or its cells by column."""
    if form.knows(source):
        return source
    if form.columns and list(source) == [str(number) for number in range(len(form.columns))]:
        return dict(zip(form.columns, source.values(), strict=True))
    if form.whole is not None:
        try:
            return next((row for _, row in form.whole(source, path)), None)
        except InputError:
            return None
    return None


def _reads(form: DatasetFormat, source: Mapping[str, Any], path: Path) -> bool:
    row = _row(form, source, path)
    if row is None:
        return False
    facts = {} if form.gather is None else form.gather([row], path)
    try:
        form.loader(row, Place(dataset=form.name, path=path, row=0, facts=facts))
    except InputError:
        return False
    return True
