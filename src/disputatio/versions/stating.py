"""Statements of a document on itself: its date, its version, and what it does to other documents.

They are looked for where documents state such things: the first and the last characters of the text, the
title and the name of the file; in English, German, French and, for the commonest, Chinese. What is read is
data with the words that say so, and decides nothing by itself (`succession`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from disputatio.types import DateOrigin, Relation
from disputatio.versions.dates import is_later
from disputatio.versions.days import Day, day_at, days_in
from disputatio.versions.families import day_of_name, family_of, is_version, version_in
from disputatio.versions.phrases import (
    ACTS,
    AND,
    BY,
    DATED,
    DRAFT,
    DRAFT_LINE,
    EARLIER,
    EFFECTIVE,
    EXPIRES,
    FROM,
    GOES_ON,
    GONE,
    GONE_ON,
    GONE_TITLE,
    IS_DRAFT,
    ITSELF,
    NEEDED,
    OF_DAY,
    OF_THIS,
    OTHER_DAY,
    SENTENCE_END,
    STATE_BEFORE,
    STATE_LINE,
    STATED_BY,
    STEMS,
    THIS,
    TO_WHAT,
    UNTIL,
)  # fmt: skip
from disputatio.versions.revisions import newest_revision

HEAD, FOOT = 3_000, 1_000  # characters of a text in which it speaks of itself
AT_HEAD = 1_500  # characters in which its date stands
SHORT = 80  # characters of a line that may be a date or a version
LINES = 12  # lines at the head of which one may be a date alone
LONGEST = 400  # characters of a sentence that is looked at
MOST = 8  # relations of one document
MOST_WORDS = 8  # beside the date in a sentence that does no more than state it
STATED = 4  # beside the version in a line that states another one than its folder
OPENING = 600  # characters in which a day may say which of its year it is
PLAIN_SENTENCE = 20  # words of a sentence that states it
AS_OF = ("as of", "as at", "stand")  # said of what is told, in a sentence of any length
_NEAR = 24  # characters between words such as "in force from" and their date


@dataclass(frozen=True, slots=True, kw_only=True)
class Statements:
    """The statements of a document on itself: `date` in ISO form with its origin and the words around it."""

    date: str = ""
    date_origin: DateOrigin = ""
    date_quote: str = ""
    version: str = ""
    family: str = ""
    relations: tuple[Relation, ...] = ()


def read_statements(
    text: str,
    *,
    title: str = "",
    stem: str = "",
    version: str = "",
    by_folder: tuple[str, str] = ("", ""),
) -> Statements:
    """Return what a document states of itself; `stem` is its file's name, `version` what its record gives.

    `by_folder` is the version and the family that its folder gives it, where it states no other version.

    >>> made = read_statements("Version 2\\nIn force from 1 March 2025. This policy replaces version 1.")
    >>> made.date, made.date_quote, made.version
    ('2025-03-01', 'In force from 1 March 2025.', '2')
    >>> [(relation.kind, relation.target) for relation in made.relations]
    [('effective', '2025-03-01'), ('replaces', 'version 1')]
    >>> read_statements("The ferry is withdrawn in winter.", stem="minutes-2025-01-28").date
    '2025-01-28'
    """
    pieces = list(_pieces(text))
    most = STATED if by_folder[0] else SHORT
    revision, rest = newest_revision(text)
    version = _own_version(rest, title, stem, version, most, revision.version if revision else "")
    family = family_of(stem)
    if by_folder[0] and not version_in(stem)[0] and (not version or is_version(version, by_folder[0])):
        version, family = by_folder
    relations: list[Relation] = []
    for piece in pieces:
        relations += (relation for relation in _relations(piece, version) if relation not in relations)
    if (DRAFT.search(title) or DRAFT.search(stem)) and all(each.kind != "draft" for each in relations):
        relations.append(Relation(kind="draft", quote=title if DRAFT.search(title) else stem))
    named = next((words for words in (title, stem) if GONE_TITLE.match(words[:LONGEST])), "")
    if named and not _is_row(text) and all(each.kind != "withdrawn" for each in relations):
        relations.append(Relation(kind="withdrawn", quote=named))
    own = pieces if revision is None else list(_pieces(rest))
    date, quote = ("", "") if _is_row(text) else _date_of(rest, own, relations)
    if revision and (not date or is_later(revision.day, date)):
        date, quote = revision.day, revision.row
    origin: DateOrigin = "text" if date else ""
    if not date and (date := day_of_name(stem) or _day_of_title(title)):
        origin, quote = "name", stem if day_of_name(stem) else title
        if (exact := _day_within(date, text)) is not None:
            date, quote, origin = *exact, "text"
    return Statements(
        date=date,
        date_origin=origin,
        date_quote=quote,
        version=version,
        family=family,
        relations=tuple(relations[:MOST]),
    )


def _is_row(text: str) -> bool:
    """Return whether a text is a row of a table: the days in its columns are of what it tells."""
    cells = text.strip().split("; ")
    return len(cells) > 1 and "\n" not in text.strip() and all(": " in cell for cell in cells)


def _day_of_title(title: str) -> str:
    """Return the month or day that a title ends with: "Minutes, 28 January 2025"; no bare year."""
    days = [day for day in days_in(title[:LONGEST]) if len(day.iso) > 4]
    return days[0].iso if len(days) == 1 else ""


def _pieces(text: str) -> Iterator[str]:
    """Yield the sentences and lines at the head and the foot of a text that may state something."""
    parts = [text] if len(text) <= HEAD + FOOT else [text[:HEAD], text[-FOOT:]]
    for part in parts:
        lower = part.lower()
        stems = [stem for stem in STEMS if stem in lower]
        for piece in SENTENCE_END.split(part) if stems else ():
            short = (piece or "").strip()[:LONGEST]
            if short and any(stem in short.lower() for stem in stems):
                yield short


def _own_version(text: str, title: str, stem: str, version: str, most: int, revised: str) -> str:
    """Return the version that a record, the title, the file's name, a table of revisions or a short line at
    the head gives.

    A line has at `most` so many words beside it: "Since version 1.0, releases are numbered so" has more.
    """
    for words in (f"revision {version}" if version else "", title, stem):
        if found := version_in(words[:LONGEST])[0]:
            return found
    if revised:
        return revised
    for line in _head_lines(text):
        found, start, end = version_in(line)
        if len(f"{line[:start]} {line[end:]}".split()) > most:
            continue
        before = line[:start]
        names_another = any(form.search(before) for form in (BY, EARLIER, *(form for _, form in ACTS)))
        if found and not names_another and not GONE.search(line):
            return found
    return ""


def _first_lines(text: str) -> list[str]:
    lines = (line.strip() for line in text[:AT_HEAD].split("\n"))
    return [line for line in lines if line][:LINES]


def _head_lines(text: str) -> list[str]:
    """Return the short ones of the first lines."""
    return [line for line in _first_lines(text) if len(line) <= SHORT]


# --- relations ------------------------------------------------------------------------------------
def _relations(piece: str, version: str) -> Iterator[Relation]:
    """Yield what a sentence of a document says of others, or of the document itself."""
    if (day := _day_after(piece, EFFECTIVE) or _day_of_act(piece)) is not None:
        yield Relation(kind="effective", target=day.iso, quote=piece)
    until = UNTIL.match(piece, day.end) if day else None
    last = day_at(piece, until.end(), 0) if until else _day_after(piece, EXPIRES)
    if last is not None:
        yield Relation(kind="expires", target=last.iso, quote=piece)
    if (DRAFT_LINE.match(piece) and len(piece) <= 80) or (IS_DRAFT.search(piece) and THIS.search(piece)):
        yield Relation(kind="draft", quote=piece)
    if (by := BY.search(piece)) is not None and _speaks_of_itself(piece[: by.start()], version):
        yield Relation(kind="withdrawn", target=_target(piece[by.end() :]), quote=piece)
        return
    acted = False
    if (earlier := OF_THIS.search(piece)) and not ACTS[0][1].search(piece) and not GONE.search(piece):
        acted = True
        yield Relation(kind="corrects", target=earlier[0], quote=piece)
    for kind, form in ACTS:
        match = form.search(piece)
        if match is None or acted:
            continue
        target = _target(_words_after(piece, match.end()))
        acts = _speaks_of_itself(piece[: match.start()], version)
        if kind == "corrects":
            acts = acts or EARLIER.search(piece[: match.start()]) is not None
        if acts and (target or kind == "corrects"):
            acted = True
            yield Relation(kind=kind, target=target, quote=piece)
    gone = None if acted else GONE.search(piece)
    if gone is None:
        return
    subject = piece[: gone.start()]
    named = version_in(subject)[0]
    dated = None if THIS.search(subject) else next(days_in(subject), None)
    if (named and named != version) or dated or (EARLIER.search(subject) and not THIS.match(subject.strip())):
        yield Relation(
            kind="replaces", target=_target(subject[: dated.end] if dated else subject), quote=piece
        )
    elif (
        STATE_LINE.match(piece)
        or THIS.search(subject)
        or (named and named == version)
        or _is_stamp(piece, gone.start(), gone.end())
    ):
        yield Relation(kind="withdrawn", quote=piece)


def _words_after(piece: str, start: int) -> str:
    """Return the words after an act, without the paper's own day: "Correction of 3 May 2024 to the fees"."""
    day = day_at(piece, start, _NEAR)
    if day is None or OF_DAY.fullmatch(piece[: day.start].rstrip()) is None:
        return piece[start:]
    rest = piece[day.end :].lstrip()
    what = TO_WHAT.match(rest)
    return rest[what.end() :] if what else rest


def _day_of_act(piece: str) -> Day | None:
    """Return the day from which a document does something to another one: "From 1 May this amends"."""
    day = next(days_in(piece[:SHORT]), None)
    begins = day is not None and FROM.match(piece[: day.start])
    return day if begins and THIS.search(piece) and any(form.search(piece) for _, form in ACTS) else None


def _is_stamp(piece: str, start: int, end: int) -> bool:
    """Return whether a sentence is a stamp: "WITHDRAWN on 8 October 2020 because of an error"."""
    day = next(days_in(piece[end:]), None)
    rest = piece[end:] if day is None else f"{piece[end : end + day.start]}{piece[end + day.end :]}"
    is_all = GONE_ON.match(rest) if day or piece[start:end].isupper() else None
    return STATE_BEFORE.fullmatch(piece[:start]) is not None and is_all is not None


def _speaks_of_itself(before: str, version: str) -> bool:
    """Return whether the words before a verb stand for the document: "this policy", "version 2", nothing."""
    if len(before) > 120:
        return False
    named = version_in(before)[0]
    is_named = ITSELF.match(before) is not None or bool(named and named == version)
    goes_on = GOES_ON.match(before) or (EFFECTIVE.match(before.lstrip()) and AND.search(before))
    return is_named or bool(THIS.search(before) or goes_on)


def _target(words: str) -> str:
    """Return the other document as a sentence names it, without the day from which this is in force."""
    starts = EFFECTIVE.search(words)
    words = words[: starts.start()] if starts and words[: starts.start()].endswith(", ") else words
    return SENTENCE_END.split(words, maxsplit=1)[0].strip(" \t:：,.。-–—").partition("\n")[0][:120].strip()


# --- dates ----------------------------------------------------------------------------------------
def _day_after(piece: str, form: re.Pattern[str]) -> Day | None:
    """Return the date that follows words such as "in force from"; None where they or it are missing."""
    for match in form.finditer(piece):
        before = piece[: match.start()]
        if (day := day_at(piece, match.end(), _NEAR)) is None or EARLIER.search(before):
            continue
        if form is DATED and (_is_of_another(before) or OTHER_DAY.search(piece, 0, day.start)):
            continue
        between, after = piece[match.end() : day.start], piece[day.end :].casefold()
        starts = match[0].casefold().startswith
        ends = next((ends for start, ends in NEEDED.items() if starts(start)), ("",))
        is_near = not any(mark in between for mark in ".;(") and len(between.split()) <= 3
        if is_near and any(end in after for end in ends):
            return day
    return None


def _is_of_another(before: str) -> bool:
    """Return whether words before a date name another document: "replaces the version of"."""
    acts = (match for form in (BY, ACTS[0][1]) for match in form.finditer(before))
    return any(not any(mark in before[match.end() :] for mark in ",;–—") for match in acts)


def _date_of(text: str, pieces: list[str], relations: list[Relation]) -> tuple[str, str]:
    """Return the date that a text states of itself, and the words that state it.

    From when it is in force comes first, then a line at its head that is a date or a version with one, then
    words such as "updated".
    """
    for relation in relations:
        if relation.kind == "effective":
            return relation.target, relation.quote
    for number, line in enumerate(_head_lines(text)):
        if (day := date_line(line, is_first=not number)) is not None:
            return day.iso, line
    for line in _first_lines(text):
        if (day := _find_signed_day(line)) is not None:
            return day.iso, line[: day.end]
    head = text[:AT_HEAD]
    for piece in pieces:
        day = _day_after(piece, DATED) if piece in head else None
        if day is None:
            continue
        label = DATED.search(piece)
        words = f"{piece[: day.start]} {piece[day.end :]}".split()
        if (label and label[0].casefold() in AS_OF) or (len(day.iso) > 4 and len(words) <= MOST_WORDS):
            return day.iso, piece
    return "", ""


def date_line(line: str, *, is_first: bool = False) -> Day | None:
    """Return the date of a line that is one, after a place, a version or words such as "dated", or of a first
    line that ends with a day after a comma.
    """
    if not any(map(str.isdigit, line)):
        return None
    days = list(days_in(line))
    if days and _acts_on_day(line, days[0]):
        return days[0]
    if len(days) != 1:
        return None
    [day] = days
    before, after = line[: day.start].strip(" ,(–—-"), line[day.end :].strip(" .)")
    has_version = bool(version_in(line)[0])
    if _is_of_another(before) or OTHER_DAY.search(before):
        return None
    if len(day.iso) == 4 and not has_version:
        return None
    labelled = (
        not before
        or has_version
        or DATED.search(before)
        or OF_DAY.fullmatch(before)
        or _place(before, line[: day.start])
    )
    if not after and (
        STATED_BY.search(before) or (is_first and len(day.iso) > 7 and _ends_name(line[: day.start]))
    ):
        return day
    follows = not after or (not before and after[0] in ",:–—|-") or has_version
    return day if labelled and follows and len(f"{before} {after}".split()) <= 6 else None


def _acts_on_day(line: str, day: Day) -> bool:
    """Return whether a line is of a day and of what it changes: "Correction of 3 May to the fees of 2023"."""
    named = OF_DAY.fullmatch(line[: day.start].rstrip()) and TO_WHAT.match(line[day.end :].lstrip())
    return len(day.iso) > 4 and named is not None


def _find_signed_day(line: str) -> Day | None:
    """Return the day that a line begins with, alone or after who writes: "Oak Ltd, Tarn, 7 May 2025. We".

    After a version, a month is enough: "Revision D, October 2025. It replaces revision C." What a paper is
    may stand before a day, too:

    >>> day = _find_signed_day("Correction of 3 May 2024. A step is 20 cm wide and not 30.")
    >>> day and day.iso, _find_signed_day("The wall fell on 3 May 2024. It rained.")
    ('2024-05-03', None)
    """
    day = next(days_in(line[:LONGEST]), None)
    if day and _acts_on_day(line, day):
        return day
    if day is None or len(day.iso) < len("2025-05") or line[day.end : day.end + 2] not in (". ", "."):
        return None
    before = line[: day.start].strip()
    if len(day.iso) == len("2025-05"):
        return day if version_in(before)[0] and len(before.split()) <= STATED else None
    parts = [part.split() for part in before.removesuffix(",").split(",")]
    named = before.endswith(",") and not any(mark in before for mark in ".;:!?")
    named = named and all(part and (part[0][0].isupper() or len(part) <= 2) for part in parts)
    return day if not before or named or OF_DAY.fullmatch(before) else None


def _day_within(date: str, text: str) -> tuple[str, str] | None:
    """Return the day of a year or month that a text opens with, and its sentence; no time and no span."""
    for piece in SENTENCE_END.split(text[:OPENING]) if len(date) < len("2025-05-07") else ():
        for part in (piece or "").split(";"):
            days = list(days_in(part))
            if len(days) != 1 or not days[0].iso.startswith(f"{date}-") or len(days[0].iso) == len("2025-05"):
                continue
            beside = f"{part[: days[0].start]} {part[days[0].end :]}"
            if not any(map(str.isdigit, beside)) and len(beside.split()) <= PLAIN_SENTENCE:
                return days[0].iso, part.strip()
    return None


def _ends_name(before: str) -> bool:
    """Return whether words before a day name a document, as in "Notes of a gardener, 14 March 2025"."""
    return before.rstrip()[-1:] in ",(–—|" and not any(mark in before for mark in ".;!?")


def _place(before: str, whole: str) -> bool:
    """Return whether the words before a date are a place, as in a letter: "Tarnwick, 12 March"."""
    return whole.rstrip().endswith((",", ", le", ", den")) and before[:1].isupper() and ":" not in before
