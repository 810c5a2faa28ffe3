"""Statements of documents on their date, version and relations, kept with their metadata.

They are one more field of the metadata as it is stored, under a name that no document's own field can have:
indexes that were made before need no change, and a document that states none is stored as it was.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from disputatio.types import Passage, Relation
from disputatio.versions.families import stem_of, version_by_folder
from disputatio.versions.stating import Statements, read_statements

if TYPE_CHECKING:
    from disputatio.store.ingesting.documents import Document

NounT = TypeVar("NounT", "Document", Passage)
KEPT = "\x1e"  # a control, which names of fields are cleaned of
_TEXTS = ("date_quote", "version", "family", "authority")


def with_statements(noun: NounT, path: str = "", folder: str = "") -> NounT:
    """Return a noun with what it states of itself, at its path; a date from a record or a person stays.

    >>> made = with_statements(Passage(text="Updated 3 May 2024. Rain.", date="2013", date_origin="file"))
    >>> made.date, made.date_origin, made.date_quote
    ('2024-05-03', 'text', 'Updated 3 May 2024.')
    """
    stem = stem_of(path, noun.url)
    version = noun.version or noun.metadata.get("version", "")
    stated: Statements = read_statements(
        noun.text,
        title=noun.title,
        stem=stem,
        version=version,
        by_folder=version_by_folder(path, folder),
    )
    about: dict[str, Any] = {
        "version": noun.version or stated.version,
        "family": noun.family or stated.family,
        "relations": tuple(dict.fromkeys((*noun.relations, *stated.relations))),
    }
    if stated.date and noun.date_origin != "stated":
        about |= {"date": stated.date, "date_origin": stated.date_origin, "date_quote": stated.date_quote}
    return replace(noun, **about)


def write_metadata(noun: Document | Passage) -> str:
    """Return the metadata of a document or passage with its statements as one line of JSON.

    >>> write_metadata(Passage(text="x", version="2", metadata={"team": "red"}))
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
    """Return metadata and statements from what `write_metadata` wrote, as fields of a noun.

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
