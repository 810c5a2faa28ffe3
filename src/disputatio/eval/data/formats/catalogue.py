"""Every data-set format, by name."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from disputatio.eval.data.formats import (
    attributed,
    claims,
    conflicting,
    exams,
    faithful,
    medical,
    open_domain,
    own,
    poisoned,
    retrieving,
)
from disputatio.eval.data.formats.format import Format

_ROOMS = (
    attributed,
    claims,
    conflicting,
    exams,
    faithful,
    medical,
    open_domain,
    own,
    poisoned,
    retrieving,
)
FORMATS: Mapping[str, Format] = MappingProxyType(
    {
        form.name: form
        for form in sorted((form for room in _ROOMS for form in room.FORMATS), key=lambda f: f.name)
    }
)
