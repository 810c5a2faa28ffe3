"""Succession of documents: which of two takes the place of the other, by what they state.

A document may say that it replaces, amends or corrects another one, or that it is withdrawn or a draft;
versions of one document have numbers and dates. Anybody can write such words. So a succession is believed
where both documents are of one publisher (source or owner, if that is no stranger's upload) and people did
not declare a higher authority of the older one, or where a person stated it; else it is shown and not used.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, cast

from disputatio.authority import is_outranked
from disputatio.reliability.similarity import content_similarity, content_stems, likeness
from disputatio.text import bare_words, stem
from disputatio.types import Passage, Relation
from disputatio.versions.dates import is_later, known_day
from disputatio.versions.denials import sentence_denying
from disputatio.versions.families import family_names, is_higher, is_named, one_publisher, version_in
from disputatio.versions.sections import (
    leaves_alone,
    names_title,
    number_of,
    sentence_citing,
    version_of_entry,
)

SuccessionKind = Literal[
    "replaces", "amends", "corrects", "withdrawn", "draft", "version", "date", "expired", "not_in_force"
]
VERSIONS_ALIKE = 0.5  # share of word triples from which two texts of one publisher are versions of one text
TOLD_AGAIN = 0.25  # likeness in content words from which a correction and another text are about the same
_ACTS = ("replaces", "amends", "corrects")


@dataclass(frozen=True, slots=True, kw_only=True)
class Succession:
    """One document, by a passage of it, takes the place of another one.

    `quote` has the words that say so, of either document; empty where their numbers or dates tell. `believed`
    is false for documents of different publishers: then it is shown and not used.
    """

    kind: SuccessionKind
    newer: Passage
    older: Passage
    quote: str = ""
    believed: bool = True


def succession(newer: Passage, older: Passage, day: str = "") -> Succession | None:
    """Return how the document of one passage takes the place of another's on a day; None if it does not.

    Without a `day` everything that is stated is in force. Two that claim to replace each other do not.

    >>> old = Passage(text="The fee is 5.", source="port", family="harbour fees", version="1")
    >>> new = Passage(text="The fee is 7.", source="port", family="harbour fees", version="2")
    >>> made = succession(new, old)
    >>> (made.kind, made.believed) if made else None, succession(old, new)
    (('version', True), None)
    """
    forward, back = _find_claim(newer, older, day), _find_claim(older, newer, day)
    if forward is None or (back is not None and back.believed >= forward.believed):
        return None
    return forward


def are_versions(first: Passage, second: Passage) -> bool:
    """Return whether two documents are versions of one: by their names, or if one has none by their texts."""
    names, others = family_names(first), family_names(second)
    if names and others:
        return bool(names & others)
    return one_publisher(first, second) and likeness(first.text, second.text) >= VERSIONS_ALIKE


def in_force(passage: Passage, day: str = "") -> bool:
    """Return whether a passage's document is in force on a day, by what it says of itself."""
    return not why_not_in_force(passage, day)


def why_not_in_force(passage: Passage, day: str) -> tuple[SuccessionKind, str] | None:
    """Return why a document is not in force on a day, and the words that say so; None if it is."""
    for relation in passage.relations:
        if relation.kind == "draft":
            return "draft", relation.quote
        if relation.kind == "withdrawn":
            return "withdrawn", relation.quote
        if relation.kind == "effective" and day and is_later(relation.target, day):
            return "not_in_force", relation.quote
        if relation.kind == "expires" and day and is_later(day, relation.target):
            return "expired", relation.quote
    return None


def _find_claim(newer: Passage, older: Passage, day: str) -> Succession | None:
    """Return what makes one document take the place of another, as far as its own side goes."""
    if newer.document and newer.document == older.document:
        return None
    stated = next(
        (
            relation
            for relation in newer.relations
            if relation.by_person and relation.kind in _ACTS and is_named(relation.target, older)
        ),
        None,
    )
    if stated is not None:
        return Succession(kind=cast("SuccessionKind", stated.kind), newer=newer, older=older)
    if not in_force(newer, day):
        return None
    believed, related = one_publisher(newer, older), are_versions(newer, older)
    believed = believed and not is_outranked(newer, older)
    to_come = bool(day) and is_later(known_day(newer), day)
    later = is_later(known_day(newer), known_day(older)) and not to_come
    earlier = is_later(known_day(older), known_day(newer))

    def made(kind: SuccessionKind, quote: str) -> Succession:
        return Succession(kind=kind, newer=newer, older=older, quote=quote, believed=believed)

    for relation in newer.relations:
        # What is amended was there first, and is what stands in the sections that are named.
        is_out = (relation.kind == "amends" and earlier) or _is_elsewhere(relation, newer, older)
        if relation.kind not in _ACTS or is_out:
            continue
        corrects = relation.kind == "corrects" and believed and not earlier
        if (corrects and _bears_on(relation, newer, older)) or is_named(
            relation.target, older, related=related
        ):
            return made(cast("SuccessionKind", relation.kind), relation.quote)
    if not earlier and not to_come and (by_section := _by_section(newer, older, believed)) is not None:
        return made(*by_section)
    if not related or not believed:
        return None  # a date, a number or what the other says of itself claims nothing for another publisher
    if (reason := why_not_in_force(older, day)) is not None:
        return made(*reason)
    if is_higher(newer.version, older.version) and not earlier:
        return made("version", _words_of(newer))
    if later and not is_higher(older.version, newer.version):
        return made("date", newer.date_quote)
    return None


def _is_elsewhere(relation: Relation, newer: Passage, older: Passage) -> bool:
    """Return whether a document changes other sections of another one than that which a passage stands in."""
    cited = f"{relation.target} {newer.text}" if relation.kind == "amends" else relation.target
    return relation.kind in _ACTS and leaves_alone(cited, older.metadata.get("heading", ""))


def _bears_on(correction: Relation, newer: Passage, older: Passage) -> bool:
    """Return whether a correction is of what an older passage says: it names that, or says much the same."""
    target = content_stems(correction.target)
    told = set(map(stem, bare_words(f"{older.title} {older.text}")))
    if target and len(target & told) > len(target) / 2:
        return True
    return content_similarity(newer.text, older.text) >= TOLD_AGAIN


def _by_section(newer: Passage, older: Passage, believed: bool) -> tuple[SuccessionKind, str] | None:
    """Return how a passage takes the place of another by the heading under which that stands; None if not.

    A notice that is dated says in whatever words that section 6 of the terms now reads otherwise: it names
    that document, too, or has no numbered sections that it could mean. A log tells how things were.
    """
    heading, own = (passage.metadata.get("heading", "") for passage in (older, newer))
    named = newer.version or version_in(newer.text)[0]  # "put this into revision B"
    number = number_of(heading) if known_day(newer) and not is_higher(older.version, named) else ""
    quote = sentence_citing(newer.text, number) if number else ""
    if quote and (names_title(newer.text, older.title) or (believed and not number_of(own))):
        return "amends", quote
    logged = believed and is_higher(newer.version, version_of_entry(heading)) and not version_of_entry(own)
    return ("version", "") if logged else None


def _words_of(passage: Passage) -> str:
    """Return the words that give a document's version: its title, if that is it."""
    return passage.title if version_in(passage.title)[0] == passage.version else ""


def is_later_published(first: Passage, second: Passage) -> bool:
    """Return whether the later of two documents of one publisher is the first, where both have a date.

    What amends another section than the one that the second stands in is no later word on it.
    """
    later = one_publisher(first, second) and is_later(known_day(first), known_day(second))
    return later and not changes_elsewhere(first, second)


def changes_elsewhere(newer: Passage, older: Passage) -> bool:
    """Return whether a document changes another section of one than that which a passage of it stands in."""
    return any(_is_elsewhere(relation, newer, older) for relation in newer.relations)


def denial(newer: Passage, older: Passage, said: str, denied: str, day: str = "") -> Succession | None:
    """Return how a passage takes back an older one's value for its own in so many words; None if it does not.

    >>> list_, mail = (Passage(text=t, source="port") for t in ("Fee: 34.", "The fee is 43 and not 34."))
    >>> made = denial(mail, list_, "43", "34")
    >>> (made.kind, made.believed) if made else None, denial(list_, mail, "34", "43")
    (('corrects', True), None)
    """
    if newer.document and newer.document == older.document:
        return None
    if not in_force(newer, day) or is_later(known_day(older), known_day(newer)):
        return None
    believed = one_publisher(newer, older) and not is_outranked(newer, older)
    quote = sentence_denying(newer.text, said, denied)
    made = Succession(kind="corrects", newer=newer, older=older, quote=quote, believed=believed)
    return made if quote else None


def best_claim(passage: Passage, rivals: Sequence[Passage], day: str = "") -> Succession | None:
    """Return the best succession of a rival over a passage, a believed one first; None without any."""
    return max(
        claims_over(passage, rivals, day), key=lambda claim: (claim.believed, bool(claim.quote)), default=None
    )


def claims_over(passage: Passage, rivals: Sequence[Passage], day: str = "") -> list[Succession]:
    """Return how rivals take the place of a passage, in their order."""
    return [claim for rival in rivals if (claim := succession(rival, passage, day)) is not None]
