"""Statements of documents on their date, version and relations, kept with their metadata.

They are one more field of the metadata as it is stored, under a name that no document's own field can have:
indexes that were made before need no change, and a document that states none is stored as it was.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from disputatio.types import Passage, Relation

if TYPE_CHECKING:
    from disputatio.store.ingesting.documents import Document

KEPT = "\x1e"  # a control, which names of fields are cleaned of
_TEXTS = ("date_quote", "version", "family", "authority")


def stored_metadata(noun: Document | Passage) -> str:
    """Return the metadata of a document or passage with its statements as one line of JSON.

    >>> stored_metadata(Passage(text="x", version="2", metadata={"team": "red"}))
    '{"\\\\u001e": {"version": "2"}, "team": "red"}'
    """
    values: dict[str, Any] = {name: value for name, value in noun.metadata.items() if name != KEPT}
    statements: dict[str, Any] = {name: text for name in _TEXTS if (text := getattr(noun, name))}
    if noun.relations:
        statements["relations"] = [_fields(relation) for relation in noun.relations]
    if noun.by_people:
        statements["by_people"] = dict(noun.by_people)
    if statements:
        values[KEPT] = statements
    return json.dumps(values, ensure_ascii=False, sort_keys=True) if values else "{}"


def read_metadata(stored: str) -> dict[str, Any]:
    """Return metadata and statements from what `stored_metadata` wrote, as fields of a noun.

    >>> read_metadata('{"\\\\u001e": {"version": "2"}, "team": "red"}')
    {'version': '2', 'metadata': {'team': 'red'}}
    """
    metadata = dict(json.loads(stored)) if stored else {}
    statements = metadata.pop(KEPT, None)
    return {**(with_relations(statements) if isinstance(statements, dict) else {}), "metadata": metadata}


def with_relations(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a noun that was JSON, its relations as nouns."""
    if not values.get("relations"):
        return {name: value for name, value in values.items() if name != "relations"}
    return {**values, "relations": tuple(Relation(**relation) for relation in values["relations"])}


def _fields(relation: Relation) -> dict[str, Any]:
    every = {name: getattr(relation, name) for name in ("kind", "target", "quote", "by_person")}
    return {name: value for name, value in every.items() if value}
