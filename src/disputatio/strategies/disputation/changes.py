"""Changes between two versions of a document, and those that amendments in files of their own state, all quoted.

No model is asked: the versions are found by their names, told apart by succession, and compared sentence by
sentence; an amendment names what it amends.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher

from disputatio.authority import is_outranked
from disputatio.causes import Cause
from disputatio.kit import Kit
from disputatio.reliability.similarity import content_similarity, content_stems
from disputatio.reliability.succession import Succession, are_versions, best_claim, in_force, succession
from disputatio.strategies.disputation.grounding import stems_of_names
from disputatio.strategies.disputation.reading import PassageReading
from disputatio.strategies.disputation.rows import cells_of
from disputatio.text import bare_words, is_heading, one_line, sentences, stem
from disputatio.types import Answer, Citation, Claim, Conflict, Passage, Position, Relation
from disputatio.versions.asked import (
    OF_PAST,
    asks_for_changes,
    days_compared,
    find_asked,
    language_of_change,
    product_version,
    versions_asked,
)
from disputatio.versions.dates import is_later, known_day
from disputatio.versions.days import days_in
from disputatio.versions.families import (
    IN_PART,
    changes_in_part,
    family_names,
    file_family,
    is_higher,
    is_version,
    one_publisher,
    version_parts,
)
from disputatio.versions.phrases import STEMS
from disputatio.versions.stating import date_line

FOUND = 50  # passages of the two versions that are compared at most
SAME_THING = 0.5  # similarity from which a sentence of the new version is that of the old one, changed
MOST = 12  # changes that are told
FULL, WIDE = 0.6, 40  # share of the longest line, and characters, from which a line may go on in the next
MARKS = ("- ", "* ", "• ", "| ", "#")  # begin a line of their own
LONGEST = 400  # characters of a sentence that is compared
# What is new, what is gone, and what was there before, by the language of the question.
_WORDS = {
    "en": ("New: ", "No longer there: ", "before: "),
    "de": ("Neu: ", "Nicht mehr da: ", "vorher: "),
    "fr": ("Nouveau : ", "Supprimé : ", "avant : "),
}
# Stems of words by which a question asks for changes, and that name no document.
_PLAIN = content_stems(
    "changed change changes between version versions edition revision new old difference differences differ "
    "different policy rules terms previous current latest last two first since compared fassung fassungen "
    "geändert änderungen unterschied unterschiede zwischen hat haben sich und alte neue version wie ist der die das "
    "den dem des seit von vom zur zum changé entre est ont les la le de du ce qui que quoi dans aux au quest quelles sont"
)
# What in an amendment states no change: what it leaves alone, and what comes before the change.
_KEPT = re.compile(
    r"\b(?:unchanged|nothing else|all other|stays? as|as follows|unverändert|inchangé)|:$", re.I
)
_ENDS = (*'.!?"”»“', ".)")  # of a sentence; a line with another end may be a signature or a date
_LINE = re.compile(r"[^\n]+")


Cells = Sequence[tuple[str, str]]  # names and values of a row


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of a passage, at `start:end` of its text."""

    passage: Passage
    start: int
    end: int

    @property
    def text(self) -> str:
        """Its words, as they are written."""
        return self.passage.text[self.start : self.end]


@dataclass(frozen=True, slots=True)
class Change:
    """A sentence that one version has and the other has not, or both that differ; a row has `keys` first cells
    by which it is known.
    """

    old: Sentence | None
    new: Sentence | None
    keys: int = 1


def answer_changes(question: str, kit: Kit) -> Answer | None:
    """Return the changes between the two versions that a question compares, and those that amendments state.

    None if it asks for no such thing, or where neither two versions of one publisher nor an amendment are found.
    """
    if not asks_for_changes(question):
        return None
    hits = [hit.passage for hit in kit.search(one_line(question), k=FOUND)]
    pair = _versions_compared(question, hits)
    new = pair[1] if pair else _find_amended_document(question, hits)
    if new is None:
        return None
    old = pair[0] if pair else new
    names = " ".join(sorted(family_names(old) | family_names(new)))
    more = [hit.passage for hit in kit.search(names, k=FOUND)] if names else []
    passages = {passage.id: passage for passage in (*hits, *more)}.values()
    before = [passage for passage in passages if _same_document(passage, old)]
    after = [passage for passage in passages if _same_document(passage, new)]
    are_named = len(versions_asked(question)) > 1  # then what amends the later one is no change between them
    stated = [
        (each, relation) for each in passages if not are_named and (relation := _amendment_of(each, new))
    ]
    found = [*_find_amendments(after, stated), *(find_changes(before, after) if pair else ())]
    changes = _about(question, names, found)[:MOST]
    told = [_describe_change(change, language_of_change(question)) for change in changes]
    return Answer(
        question=question,
        answers=tuple(dict.fromkeys(told)),
        abstained=None if changes else "no_evidence",
        claims=tuple(map(_claim, changes, told)),
        conflict=Conflict(kind="outdated", positions=tuple(map(_position, changes, told)))
        if changes
        else Conflict(),
        passages=tuple({each.id: each for each in (*before, *after, *(each for each, _ in stated))}.values()),
        retrievals=2,
    )


def _amendment_of(passage: Passage, amended: Passage) -> Succession | None:
    """Return how a passage's document amends or corrects another one of its publisher, or file of its folder."""
    whole = replace(amended, metadata={})  # an amendment of any section of it is one of the document
    claim = succession(passage, whole) or succession(passage, amended)
    files = file_family(passage) and file_family(amended) and not is_outranked(passage, amended)
    return claim if claim and claim.kind in IN_PART and (claim.believed or files) else None


def _find_amended_document(question: str, passages: Sequence[Passage]) -> Passage | None:
    """Return a passage of the document that an amendment names, and whose name has most words of a question."""
    stems = content_stems(question) - _PLAIN
    amending = [each for each in passages if changes_in_part(each)]
    amended = [each for each in passages if any(_amendment_of(other, each) for other in amending)]
    named = [(len(stems & content_stems(" ".join(family_names(each)))), each) for each in amended]
    most, best = max(named, key=lambda each: each[0], default=(0, None))
    return best if most and not versions_asked(question) else None


def _find_amendments(
    document: Sequence[Passage], stated: Sequence[tuple[Passage, Succession]]
) -> list[Change]:
    """Return the changes that amendments of a document state; of one in a single sentence that sentence."""
    changes: list[Change] = []
    for claim in {passage.document or passage.id: claim for passage, claim in stated}.values():
        own = [passage for passage, _ in stated if _same_document(passage, claim.newer)]
        lines = [each for each in find_changes(document, own) if each.new and not _KEPT.search(each.new.text)]
        told = [each for each in lines if each.new and each.new.text.endswith(_ENDS)] or lines
        whole = [(passage, passage.text.find(claim.quote)) for passage in own if claim.quote]
        changes += told or [
            Change(None, Sentence(each, at, at + len(claim.quote))) for each, at in whole if at >= 0
        ]
    return changes


def _versions_compared(question: str, passages: Sequence[Passage]) -> tuple[Passage, Passage] | None:
    """Return a passage of the older and one of the newer version that a question compares.

    They are those of the numbers that it names, else those in force on the days that it names, else the one in
    force and the one before it, of the family whose name has most words of the question.
    """
    documents = list({passage.document or passage.id: passage for passage in reversed(passages)}.values())
    numbers, days = versions_asked(question), days_compared(question)
    documents = [
        passage
        for passage in documents
        if in_force(passage) or (passage.version and not _is_draft(passage)) or _is_named(passage, numbers)
    ]
    stems = content_stems(question) - _PLAIN - set(numbers)
    best: tuple[float, Passage, Passage] | None = None
    for new in documents:
        for old in documents:
            if old is new or not (one_publisher(old, new) and are_versions(old, new)):
                continue
            if not (_has_versions(numbers, old, new) if numbers else _held_on(days, old, new)):
                continue
            words = {stem(word) for name in family_names(new) | family_names(old) for word in name.split()}
            if not _comes_after(new, old) or (stems and words and not words & stems):
                continue
            latest = int((known_day(new) or "0").replace("-", "").ljust(8, "0")) / 1e9
            before = int((known_day(old) or "0").replace("-", "").ljust(8, "0")) / 1e10
            score = len(words & stems) / max(len(words), 1) + latest + before
            if best is None or score > best[0]:
                best = score, old, new
    return None if best is None else best[1:]


def _comes_after(new: Passage, old: Passage) -> bool:
    """Return whether a document succeeds another one, or is a draft of a later version of it."""
    if _is_draft(new) or _is_draft(old):
        return is_higher(new.version, old.version)
    return succession(new, old) is not None


def _is_draft(passage: Passage) -> bool:
    return any(relation.kind == "draft" for relation in passage.relations)


def _is_named(passage: Passage, numbers: Sequence[str]) -> bool:
    return any(is_version(number, passage.version) for number in numbers)


def _held_on(days: tuple[str, str], old: Passage, new: Passage) -> bool:
    """Return whether two documents are not later than the two days that are compared, as far as these are named."""
    return not any(day and is_later(known_day(each), day) for day, each in zip(days, (old, new), strict=True))


def _has_versions(numbers: Sequence[str], old: Passage, new: Passage) -> bool:
    """Return whether two documents have the versions of these numbers; of one, where only one is named."""
    named = [any(is_version(number, each.version) for each in (old, new)) for number in numbers[:2]]
    both = all(any(is_version(number, each.version) for number in numbers[:2]) for each in (old, new))
    return all(named) and (both or len(numbers) == 1)


def _about(question: str, names: str, changes: Sequence[Change]) -> Sequence[Change]:
    """Return the changes of sentences that speak of what a question asks for, all if none does or it asks for all."""
    topic = content_stems(question) - stems_of_names(question) - _PLAIN - content_stems(names)
    about = [
        change
        for change in changes
        if any(each and topic & content_stems(each.text) for each in (change.old, change.new))
    ]
    return about or changes


def _same_document(passage: Passage, other: Passage) -> bool:
    return passage.id == other.id or bool(passage.document and passage.document == other.document)


def find_changes(before: Sequence[Passage], after: Sequence[Passage]) -> list[Change]:
    """Return the changes from one version to another: first what changed, then what is new, then what is gone."""
    old, new = _sentences(before), _sentences(after)
    known = {_bare(sentence) for sentence in old}
    fresh = [sentence for sentence in new if _bare(sentence) not in known]
    kept = {_bare(sentence) for sentence in new}
    left = [sentence for sentence in old if _bare(sentence) not in kept]
    scored = sorted(
        ((content_similarity(_words(a), _words(b)), a, b) for a in left for b in fresh),
        key=lambda each: -each[0],
    )
    pairs = [each for each in _same_rows(old, new) if each.old in left and each.new in fresh]
    left = [each for each in left if all(each is not pair.old for pair in pairs)]
    fresh = [each for each in fresh if all(each is not pair.new for pair in pairs)]
    for score, first, second in scored:
        of_a_table = cells_of(first.text) and cells_of(second.text)  # whose keys differ
        if score >= SAME_THING and first in left and second in fresh and not of_a_table:
            pairs.append(Change(first, second))
            left.remove(first)
            fresh.remove(second)
    pairs.sort(key=lambda change: new.index(change.new) if change.new else 0)
    return [*pairs, *(Change(None, each) for each in fresh), *(Change(each, None) for each in left)]


def _same_rows(old: Sequence[Sentence], new: Sequence[Sentence]) -> list[Change]:
    """Return the rows of tables of two versions that are of one thing: their first cells are the same.

    Where that is so of several rows of a table, the next cell tells them apart, too.
    """
    found: list[Change] = []
    tables: dict[tuple[str, ...], list[list[Sentence]]] = {}
    for at, sentences_ in enumerate((old, new)):
        for each in sentences_:
            if names := tuple(name for name, _ in cells_of(each.text)):
                tables.setdefault(names, [[], []])[at].append(each)
    for names, (before, after) in tables.items():
        for most in range(1, len(names)):
            keyed = [{cells_of(each.text)[:most]: each for each in rows} for rows in (before, after)]
            if [len(each) for each in keyed] == [len(before), len(after)]:
                both = ((first, keyed[1][key]) for key, first in keyed[0].items() if key in keyed[1])
                found += [Change(*pair, keys=most) for pair in both]
                break
    return found


def _sentences(passages: Sequence[Passage]) -> list[Sentence]:
    """Return the sentences of a document, without those that give its own version, date and relations."""
    found = []
    for passage in sorted(passages, key=lambda passage: passage.start):
        own = {relation.quote for relation in passage.relations} | {passage.date_quote, passage.title}
        names = set(bare_words(f"{passage.title} {passage.metadata.get('heading', '')}"))  # of headings alone
        for first, last in _paragraphs(passage.text):
            line = passage.text[first:last]
            for start, end in sentences(line):
                text = line[start:end].strip()
                states = text in own or (len(text) < 60 and any(stem in text.lower() for stem in STEMS[:18]))
                states = states or set(bare_words(text)) <= names or date_line(text) is not None
                if len(bare_words(text)) >= 3 and len(text) <= LONGEST and not states:
                    begin = first + line.index(text, start)
                    found.append(Sentence(passage, begin, begin + len(text)))
    return found


def _paragraphs(text: str) -> list[tuple[int, int]]:
    """Return the spans of the lines of a text, but for headings; what a page breaks into lines is one.

    >>> text = "Opening hours\\nThe gate of the lower deck opens on all working days at\\n5:30."
    >>> [text[start:end] for start, end in _paragraphs(text)]
    ['The gate of the lower deck opens on all working days at\\n5:30.']
    """
    lines = [match.span() for match in _LINE.finditer(text) if match[0].strip()]
    full = max((end - start for start, end in lines), default=0) * FULL
    merged: list[tuple[int, int]] = []
    width = 0  # of the line before
    for start, end in lines:
        goes_on = (
            width >= max(full, WIDE) and text[merged[-1][1] - 1] not in ".!?:;。！？" if merged else False
        )
        if goes_on and text[merged[-1][1] : start] == "\n" and not text[start:].startswith(MARKS):
            merged[-1] = merged[-1][0], end
        else:
            merged.append((start, end))
        width = end - start
    bodies = [text[start:end].strip() for start, end in merged]
    titles = [is_heading(each) and ":" not in each and not any(map(str.isdigit, each)) for each in bodies]
    return [
        span
        for span, is_title, below in zip(merged, titles, [*titles[1:], True], strict=True)
        if below or not is_title
    ]


def _bare(sentence: Sentence) -> str:
    return " ".join(bare_words(sentence.text))


def _words(sentence: Sentence) -> str:
    """Return the words of a sentence without its figures, which are what changes."""
    return " ".join(word for word in bare_words(sentence.text) if not any(map(str.isdigit, word)))


def _describe_change(change: Change, language: str) -> str:
    """Return a change in one line: the new sentence with what stood in its place before."""
    added, gone, before = _WORDS[language]
    if change.old is None or change.new is None:
        only = change.new or change.old
        text = one_line(only.text) if only else ""
        return f"{added}{text}" if change.new else f"{gone}{text}"
    row, row_before = cells_of(change.new.text), cells_of(change.old.text)
    if row and row_before:
        return _describe_cells(row_before, row, change.keys, before)
    old, new = (each.text.rstrip(".。").split() for each in (change.old, change.new))
    steps = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    changed = [(old[a:b], new[c:d]) for tag, a, b, c, d in steps if tag != "equal"]
    before_words, after_words = changed[0] if changed else ([], [])
    # "8" for "11" says enough; "not", or "is" for "and the boats are", says nothing.
    is_alone = len(changed) == 1 and before_words and 0 < len(after_words) <= len(before_words) + 1
    was = " ".join(before_words) if is_alone else change.old.text
    return f"{one_line(change.new.text).rstrip('.。')} ({before}{one_line(was).rstrip('.。')})"


def _describe_cells(old: Cells, new: Cells, keys: int, before: str) -> str:
    """Return the values of a row that differ from those of the same row in another version.

    >>> rows = [(("Boat", "Yacht"), ("Night", night), ("Week", "100")) for night in ("20", "24")]
    >>> _describe_cells(*rows, 1, "before: ")
    'Yacht, Night: 24 (before: 20)'
    """
    pairs = zip(old, new, strict=True)
    told = [f"{name}: {value} ({before}{was})" for (_, was), (name, value) in pairs if was != value]
    return one_line(f"{', '.join(value for _, value in new[:keys])}, {'; '.join(told)}")


def _claim(change: Change, text: str) -> Claim:
    cited = [sentence for sentence in (change.new, change.old) if sentence is not None]
    return Claim(text=text, citations=tuple(map(_citation, cited)), verdict="supported", score=1.0)


def _citation(sentence: Sentence) -> Citation:
    passage = sentence.passage
    return Citation(
        n=0,
        verdict="supported",
        passage=passage.id,
        source=passage.source,
        quote=sentence.text,
        start=sentence.start,
        end=sentence.end,
    )


def _position(change: Change, text: str) -> Position:
    cited = [sentence.passage for sentence in (change.new, change.old) if sentence is not None]
    return Position(
        answer=text,
        verdict="accepted",
        cause=Cause(kind="compared"),
        passages=tuple(dict.fromkeys(passage.id for passage in cited)),
        sources=tuple(dict.fromkeys(passage.source for passage in cited if passage.source)),
    )


# --- as of a day or a version -------------------------------------------------------------------------
def split_off_later(
    question: str, readings: Sequence[PassageReading], as_of: str
) -> tuple[list[PassageReading], list[PassageReading]]:
    """Return the readings that count for what is asked, and those of documents that are later.

    What says today that it is withdrawn may have been in force on another day.
    """
    if as_of or find_asked(question):
        day = as_of or find_asked(question).day
        readings = [replace(each, passage=_before_withdrawal(each.passage, day)) for each in readings]
    if as_of:
        passages = [reading.passage for reading in readings]
        later = {passage.id for passage in passages if _is_after(passage, as_of)}
        later |= _higher_undated(passages, later)
    else:
        later = _later_versions(question, readings)
    kept = [reading for reading in readings if reading.passage.id not in later]
    return kept, [reading for reading in readings if reading.passage.id in later]


def _is_after(passage: Passage, day: str) -> bool:
    return is_later(known_day(passage), day)


def _before_withdrawal(passage: Passage, day: str) -> Passage:
    """Return a passage as it was on a day, before it was withdrawn, unless its words say that it was by then."""

    def stays(relation: Relation) -> bool:
        since = next(days_in(relation.quote), None) if day else None
        return relation.by_person or (since is not None and not is_later(since.iso, day))

    kept = tuple(each for each in passage.relations if each.kind != "withdrawn" or stays(each))
    return passage if kept == passage.relations else replace(passage, relations=kept)


def _higher_undated(passages: Sequence[Passage], later: Collection[str]) -> set[str]:
    """Return the ids of passages without a date whose version is higher than a later one of the same document."""
    return {
        passage.id
        for passage in passages
        if not known_day(passage)
        for other in passages
        if other.id in later and is_higher(passage.version, other.version)
        if are_versions(passage, other) and one_publisher(passage, other)
    }


def _later_versions(question: str, readings: Sequence[PassageReading]) -> set[str]:
    """Return the ids of the passages of other versions than the one that the words of a question choose."""
    asked = find_asked(question)
    answering = [reading.passage for reading in readings if reading.answer]
    number = "" if asked else product_version(question, answering)
    if not asked and not number:
        return set()
    older: dict[str, list[Passage]] = {}  # by id, what it takes the place of
    newer: set[str] = set()
    for passage in answering:
        for other in answering:
            claim = best_claim(other, [passage]) if other is not passage else None
            if claim is not None and claim.believed:
                older.setdefault(passage.id, []).append(other)
                newer.add(other.id)
    if asked.day:
        after = {passage.id for passage in answering if _is_after(passage, asked.day)}
        after |= _higher_undated(answering, after)
        if not any(each.id not in after and in_force(each, asked.day) for each in answering):
            return set()  # the day is that of an event, of which what was written later tells
        # A report may tell of a day before it; rules that were in force only later tell nothing of it.
        return {
            passage.id
            for passage in answering
            if passage.id in after
            if any(other.id not in after for other in older.get(passage.id, ()))
            or (not in_force(passage, asked.day) and asked.day not in passage.text)
        }
    family = {passage.id for passage in answering if passage.id in older or passage.id in newer}
    if number:  # what is later may tell of it by its number, as a table of versions does
        chosen = [passage for passage in answering if is_version(number, passage.version)]
        names = frozenset[str]().union(*map(family_names, chosen))
        others = [each for each in answering if each not in chosen and family_names(each) & names]
        tells = re.compile(rf"(?<![\d.]){re.escape(number)}(?!\d)" if "." in number else r"(?!)")
        return family & {each.id for each in others if not tells.search(each.text)}
    if asked.version:
        versions = [passage.version for passage in answering if is_higher(asked.version, passage.version)]
        highest = max(versions, key=version_parts, default="") if asked.previous else asked.version
        named = {passage.id for passage in answering if highest and is_version(highest, passage.version)}
        return family - named if named & family else set()
    latest = [passage for passage in answering if passage.id in older and passage.id not in newer]
    # What others wrote after the change tells of what was before it only where it says so.
    change = min(filter(None, map(known_day, latest)), default="")
    others = [each for each in answering if each.id not in family and change and known_day(each)]
    since = [
        each for each in others if not is_later(change, known_day(each)) and not OF_PAST.search(each.text)
    ]
    return {passage.id for passage in (*latest, *since)}
