"""The standing of two documents to each other: versions of one, which is newer, higher, more reliable.

Only dates that documents or people state say which is newer; that of a file says nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePath

from disputatio.types import Passage, Remedy, Side, Source
from disputatio.versions.dates import is_later, known_day
from disputatio.versions.families import changes_in_part, is_higher, is_named, one_publisher

_SIDES: tuple[Side, Side] = ("first", "second")
_FIRST_LINE = 120  # characters of a first line that may be a title
_STEM_CODE = re.compile(r"(?<![^\W_])([A-Za-z]{1,5})[-_ ]?(\d{1,5}[A-Za-z]?)(?![^\W_])")
_STEM_YEAR = re.compile(r"(?<!\d)(?:19|20)\d{2}(?:-\d{2}){0,2}(?!\d)")
_VERSIONS = ("v", "ver", "rev", "r", "no", "nr", "q", "h", "kw")
_MEETING = re.compile(
    r"\b(?:minutes|meeting|log|diary|journal|weekly|monthly|protokoll|sitzung|compte rendu|acta)\b",
    re.IGNORECASE,
)
_RELIABLE = 0.1  # the least difference of two reliabilities that is worth naming

REMEDIES: Mapping[Remedy, str] = {
    "find_writer": "the {side} gives instructions to its reader: find out who wrote it before it counts",
    "state_scope": "say in both documents what each statement applies to",
    "correct_other": "the {side} is in force: withdraw or correct the other",
    "correct_both": "another version is in force: withdraw or correct both",
    "state_version": "say in one of the two versions that it replaces the other, or date both",
    "correct_lower": "the {side} has the higher authority: correct the other",
    "renew_higher": "the higher authority is the older: have its owner confirm or renew it",
    "confirm_older": "the {side} is newer: have the owner of the other confirm or correct it",
    "check_record": "the source of the {side} has proved more reliable: check the other against a record",
    "ask_owner": "two publishers, so no date decides: ask the owner of the fact, "
    "or declare an authority, or one owner of both",
    "date_both": "neither is known to be newer or higher: date both, or ask the owner of the fact",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """A document as a check reads it: `passage` has its whole text and all that is known of it."""

    passage: Passage
    path: str = ""
    row: int = 0
    pages: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Return how a message names it: file and row, else its title or source."""
        place = f"{self.path}:{self.row}" if self.row else self.path
        return place or self.passage.url or self.passage.title or self.passage.source


def titles_of(text: Text) -> str:
    """Return the title of a document, else its first line, with the codes and years in its file's name.

    >>> titles_of(Text(passage=Passage(text="Radar gauge\\n\\nIt is grey."), path="x/rg-310-2024.pdf"))
    'Radar gauge / rg310 2024'
    """
    title = text.passage.title
    if not title:
        line, below, _ = text.passage.text.strip()[: _FIRST_LINE + 2].partition("\n")
        title = line.strip() if below and not line.endswith(".") else ""
    if not text.path or text.row:
        return title
    stem = PurePath(text.path).stem
    if not title:
        return stem.replace("_", " ").replace("-", " ")
    codes = [
        f"{name}{number}" for name, number in _STEM_CODE.findall(stem) if name.casefold() not in _VERSIONS
    ]
    return " / ".join(part for part in (title, " ".join([*codes, *_STEM_YEAR.findall(stem)])) if part)


def side_of(first: bool, second: bool) -> Side:
    """Return the side that alone is true; empty if both are, or neither."""
    return "" if first == second else _SIDES[second]


def belong_together(first: Passage, second: Passage) -> bool:
    """Return whether a date or a version of one document says something of the other.

    They are of one source or owner, or a person stated that one takes the place of the other.
    """
    return one_publisher(first, second) or any(
        relation.by_person and relation.kind in ("replaces", "amends", "corrects")
        for relation in (*first.relations, *second.relations)
    )


def newer(first: Passage, second: Passage) -> Side:
    """Return the side whose date is later, by what it states or the name of its file.

    Only of documents that belong together: anybody can write a date into a page.
    """
    if not belong_together(first, second):
        return ""
    ours, theirs = known_day(first), known_day(second)
    if not ours or not theirs:
        return ""
    return side_of(is_later(ours, theirs), is_later(theirs, ours))


def higher(first: Passage, second: Passage, tiers: Mapping[str, float]) -> Side:
    """Return the side whose declared authority is the higher; a document without one is below none."""
    ours, theirs = tiers.get(first.authority), tiers.get(second.authority)
    return "" if ours is None or theirs is None else side_of(ours > theirs, theirs > ours)


def more_reliable(first: Passage, second: Passage, sources: Mapping[str, Source]) -> Side:
    """Return the side whose source was estimated to be clearly more reliable."""
    ours, theirs = (
        source.reliability if (source := sources.get(passage.source)) else None for passage in (first, second)
    )
    if ours is None or theirs is None or abs(ours - theirs) < _RELIABLE:
        return ""
    return side_of(ours > theirs, theirs > ours)


def settle(
    newer: Side,
    higher: Side,
    reliable: Side,
    holds: Side,
    *,
    family: bool,
    scope: bool,
    apart: bool,
    orders: Side = "",
) -> tuple[Remedy, Side]:
    """Return what would settle a contradiction, or settles it already, and the side that this is about.

    Documents that are `apart`, of two publishers, are not told by their dates. `orders` is the side that
    alone gives instructions to its reader.
    """
    if orders:
        return "find_writer", orders
    if scope:
        return "state_scope", ""
    if holds:
        return "correct_other", holds
    if family:
        return "state_version", ""
    if higher and higher == (newer or higher):
        return "correct_lower", higher
    if higher and newer:
        return "renew_higher", higher
    if newer:
        return "confirm_older", newer
    if reliable:
        return "check_record", reliable
    return ("ask_owner" if apart else "date_both"), ""


def is_meeting(text: Text) -> bool:
    """Return whether a document is minutes or a log, each of which stands beside the others."""
    return _MEETING.search(f"{text.passage.title} {re.sub('[^a-z]+', ' ', text.path.casefold())}") is not None


def side_in_force(first: Passage, second: Passage, newer: Side, day: str, *, family: bool) -> Side:
    """Return the side that is in force on a day: no draft, not withdrawn, neither expired nor still to come;
    the one that replaces, amends or corrects the other by name; of two versions also the one that replaces
    some other, else the higher, else the newer, unless that is of a later day.
    """
    if not belong_together(first, second):
        return ""
    void = [_is_void(passage, day) for passage in (first, second)]
    if any(void):
        return side_of(not void[0], not void[1])
    if named := side_of(_names(first, second), _names(second, first)):
        return named
    if not family:
        return ""
    replaces = side_of(_states(first, "replaces", "corrects"), _states(second, "replaces", "corrects"))
    by_version = side_of(is_higher(first.version, second.version), is_higher(second.version, first.version))
    to_come = any(is_later(known_day(passage), day) for passage in (first, second))
    return replaces or by_version or ("" if to_come else newer)


def words_to_come(passage: Passage, day: str) -> str:
    """Return the words that say that a document is in force only from a later day; empty if none do."""
    return next(
        (
            relation.quote or relation.target
            for relation in passage.relations
            if relation.kind == "effective" and is_later(relation.target, day)
        ),
        "",
    )


def _is_void(passage: Passage, day: str) -> bool:
    """Return whether a document is not in force on a day, by what it says of itself."""
    has_expired = any(
        relation.kind == "expires" and is_later(day, relation.target) for relation in passage.relations
    )
    return has_expired or _states(passage, "draft", "withdrawn") or bool(words_to_come(passage, day))


def _names(newer: Passage, older: Passage) -> bool:
    """Return whether a document, not the older one, says that it takes the place of another or of a part."""
    if is_later(known_day(older), known_day(newer)):
        return False
    return any(
        is_named(r.target, older) for r in newer.relations if r.kind in ("replaces", "amends", "corrects")
    )


def only_changes_in_part(passage: Passage) -> bool:
    """Return whether a document does no more to others than amend or correct them."""
    return changes_in_part(passage) and not passage.version and not _states(passage, "replaces")


def _states(passage: Passage, *kinds: str) -> bool:
    return any(relation.kind in kinds for relation in passage.relations)
