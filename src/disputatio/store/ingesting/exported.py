"""Rows that an index wrote to a file: what its ingest read of their documents is not read anew."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, get_args

from disputatio.store.ingesting.hidden import clean
from disputatio.types import DateOrigin, Relation, RelationKind

EXPORTED = ("date_quote", "version", "family", "relations")
"""The statements that a row of an export has as columns of their own, beside its metadata."""


def is_nan(value: object) -> bool:
    """Return whether a value is "not a number", which tables in memory have where nothing is."""
    return isinstance(value, float) and math.isnan(value)


def of_export(row: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the date's origin, the statements and the metadata of a row that an index wrote (`EXPORTED`), as
    fields of a noun; None for any other row. What a person stated is not taken: anybody can write a file.

    >>> row = {"date_origin": "text", "date_quote": "", "version": "2", "family": "", "metadata": {"a": "b"}}
    >>> row = {**row, "relations": '[{"kind": "draft"}, {"kind": "replaces", "by_person": true}]'}
    >>> of_export(row)["relations"]
    (Relation(kind='draft', target='', quote='', by_person=False),)
    >>> of_export({"text": "A zebra.", "family": "Equidae"})
    """
    if not {"date_origin", "metadata", *EXPORTED} <= row.keys():
        return None
    texts = {name: _text(row, name) for name in EXPORTED if name != "relations"}
    origin, relations, metadata = (_value(row[name]) for name in ("date_origin", "relations", "metadata"))
    found = [each for each in relations if isinstance(each, Mapping)] if isinstance(relations, list) else []
    return {
        **texts,
        "date_origin": origin if origin in get_args(DateOrigin) else "",
        "metadata": metadata if isinstance(metadata, dict) else {},
        "relations": tuple(
            Relation(kind=each["kind"], target=_text(each, "target"), quote=_text(each, "quote"))
            for each in found
            if each.get("kind") in get_args(RelationKind) and not each.get("by_person")
        ),
    }


def _text(values: Mapping[str, Any], name: str) -> str:
    return clean(str(values.get(name) or ""))


def _value(stored: object) -> object:
    """Return a value of a row; in a column that holds texts alone it is JSON."""
    if not isinstance(stored, str) or stored[:1] not in ("[", "{"):
        return stored
    try:
        return json.loads(stored)
    except (ValueError, RecursionError):
        return None
