"""Descriptions: what people state about documents, apart from what the documents state themselves.

A person states a date, a source, an owner or an authority on the command line, in a sidecar file beside the
documents, in a table, or for one document by Python or HTTP. Nothing of this is ever read from a document.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Any

from disputatio.authority import TIERS
from disputatio.errors import InputError, UnknownName
from disputatio.store.ingesting.documents import LONGEST
from disputatio.store.ingesting.hidden import clean_and_count
from disputatio.store.ingesting.statements import NounT
from disputatio.store.segments.days import NO_DAY, first_day
from disputatio.types import PASSAGE, Relation

FIELDS = ("date", "owner", "source", "title", "authority", "replaces", "status", "mute")
"""The fields of a description, in the order in which they are shown."""
SIDECAR = "sidecar:"
STATUSES = ("current", "corrected", "concern", "retracted")
_LONGEST: Mapping[str, int] = {**LONGEST, "replaces": 2_000}
_STATUS_WORDS = (
    ("retract", "retracted"), ("withdraw", "retracted"), ("concern", "concern"), ("correct", "corrected"),
    ("errat", "corrected"), ("reinstat", "current"), ("current", "current"), ("none", "current"),
)  # fmt: skip
_YES, _NO = ("true", "yes", "1"), ("false", "no", "0")
DOI = re.compile(r"\b10\.\d{4,9}/[^\s\"'<>(){}\[\],;|]{1,200}")


def check_fields(fields: Mapping[str, object]) -> dict[str, str]:
    """Return the fields of a description as they are kept, without those that are None; raises `InputError`.

    >>> check_fields({"date": "2024-05", "mute": True, "owner": None, "title": ""})
    {'date': '2024-05', 'mute': 'yes', 'title': ''}
    """
    checked: dict[str, str] = {}
    for name, value in fields.items():
        if name not in FIELDS:
            raise InputError(f"{name[:40]!r} is no field of a description: choose {', '.join(FIELDS)}")
        if value is not None:
            checked[name] = _field(name, value)
    return checked


def _field(name: str, value: object) -> str:
    if isinstance(value, bool) and name == "mute":
        return "yes" if value else "no"
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise InputError(f"{name}: is not text")
    words = " ".join(clean_and_count(str(value))[0].split())
    if not words:
        return ""
    if len(words) > _LONGEST.get(name, 100):
        raise InputError(f"{name}: is longer than {_LONGEST.get(name, 100):,} characters")
    if name == "date" and first_day(words) == NO_DAY:
        raise InputError(f"date: {words[:40]!r} is not a date; write 2021, 2021-05 or 2021-05-31")
    if name == "authority" and words not in TIERS:
        raise InputError(str(UnknownName("authority", words, TIERS)))
    if name == "mute":
        if words.lower() not in (*_YES, *_NO):
            raise InputError(f"mute: {words[:40]!r} is neither yes nor no")
        return "yes" if words.lower() in _YES else "no"
    return status_of(words) if name == "status" else words


def status_of(words: str) -> str:
    """Return the status of a paper from the words of a table; raises `InputError` for others.

    >>> status_of("Retraction"), status_of("Expression of concern"), status_of("erratum")
    ('retracted', 'concern', 'corrected')
    """
    lower = words.lower()
    for part, status in _STATUS_WORDS:
        if part in lower:
            return status
    raise InputError(f"status: {words[:40]!r} is none of {', '.join(STATUSES)}")


# --- on a document ------------------------------------------------------------------------------------
def apply_description(noun: NounT, stated: Mapping[str, str]) -> NounT:
    """Return a document or a passage as people describe it; `by_people` says what they stated.

    >>> from disputatio.types import Passage
    >>> apply_description(Passage(text="x", date="1931", source="a"), {"source": "b"}).source
    'b'
    """
    kept = {name: value for name, value in stated.items() if value}
    fields: dict[str, Any] = {
        name: kept[name] for name in ("owner", "source", "title", "authority") if name in kept
    }
    if "date" in kept:
        fields |= {"date": kept["date"], "date_origin": "stated", "date_quote": ""}
    relations = list(noun.relations)
    if "replaces" in kept:
        relations.append(Relation(kind="replaces", target=kept["replaces"], by_person=True))
    if kept.get("status") == "retracted":
        relations.append(Relation(kind="withdrawn", target="retracted", by_person=True))
    return replace(noun, **fields, relations=tuple(relations), by_people=kept)


def member_of(file: str, path: str) -> str:
    """Return the place of a document within its file, empty where the file is the document.

    >>> member_of("/data/a.zip", "docs/a.zip/inner/b.txt"), member_of("/data/c.md", "c.md")
    ('inner/b.txt', '')
    """
    name, parts = PurePath(file).name, PurePath(path).parts
    if name not in parts or parts[-1] == name:
        return ""
    return "/".join(parts[parts.index(name) + 1 :])


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The document that a description is of: by its place (`file`, `member` and `row`), or by its `id`."""

    file: str = ""
    member: str = ""
    row: int = 0
    id: str = ""


def target_of(file: str, path: str, row: int, document: str) -> Target:
    """Return how a document is named so that a description outlives a change of its text."""
    if not file or file.startswith(PASSAGE):
        return Target(id=document)
    return Target(file=file, member=member_of(file, path), row=row)


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """One statement of a person: the `fields` that were stated of a target, `by` what way, and when.

    `by` is a word, or `sidecar:` and the file. `key` is its number. `undone` is the moment at which it was
    taken back, empty while it counts.
    """

    target: Target
    fields: Mapping[str, str]
    by: str
    at: str = ""
    key: int = 0
    undone: str = ""

    @property
    def is_of_a_sidecar(self) -> bool:
        """True if a file beside the documents states it, and takes it back by not stating it."""
        return self.by.startswith(SIDECAR)


def merge_descriptions(descriptions: Sequence[Description]) -> dict[str, str]:
    """Return what descriptions of a target, the oldest first, come to: people's above a sidecar's."""
    counted = [each for each in descriptions if not each.undone]
    fields: dict[str, str] = {}
    for each in {each.by: each for each in counted if each.is_of_a_sidecar}.values():
        fields |= each.fields
    for each in counted:
        fields |= {} if each.is_of_a_sidecar else each.fields
    return {name: value for name, value in fields.items() if value and (name, value) != ("mute", "no")}
