"""Every data-set format by name: each module beside this one declares its own as `FORMATS`."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator, Mapping
from types import MappingProxyType

from disputatio.eval.data import formats
from disputatio.eval.data.formats.format import Format


def _declared() -> Iterator[Format]:
    for module in pkgutil.iter_modules(formats.__path__):
        if module.name != "catalogue":
            yield from getattr(importlib.import_module(f"{formats.__name__}.{module.name}"), "FORMATS", ())


FORMATS: Mapping[str, Format] = MappingProxyType(
    {form.name: form for form in sorted(_declared(), key=lambda form: form.name)}
)
