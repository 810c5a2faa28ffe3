"""Families of documents: the name that versions of one document share, and the order of their versions."""

from __future__ import annotations

import re
import unicodedata
from pathlib import PurePath

from disputatio.text import bare_words
from disputatio.types import PASSAGE, Passage, RelationKind
from disputatio.versions.dates import known_day
from disputatio.versions.days import days_in
from disputatio.versions.phrases import EARLIER

UNVERIFIED = "uploads"  # the owner of what strangers uploaded
IN_PART: tuple[RelationKind, ...] = ("amends", "corrects")  # these leave the rest of a document in force
LONGEST = 200  # characters of a name that are looked at
_LABEL = (
    "version|vers|ver|v|revision|révision|rev|release|edition|édition|issue|fassung|ausgabe|auflage|版本|版"
)
_NUMBER = r"(\d{1,4}(?:\.\d{1,4}){0,3})"
# Papers of machines count their revisions by letters; other words before a letter would be any sentence's.
_LETTER = r"(?:revision|révision|rev|indice)[ _.:#-]{1,2}([A-Z])"
_VERSION = re.compile(
    rf"(?<![^\W_])(?:{_LABEL})[ _.:#-]{{0,3}}(?:n[or][ .]{{1,2}}|n°[ ]?)?{_NUMBER}(?![^\W_])"
    rf"|(?<![^\W_]){_LETTER}(?![^\W_])(?![ '’.][^\W_])"
    rf"|第[ ]?{_NUMBER}[ ]?版"
    rf"|(?<![\w.]){_NUMBER}(?:st|nd|rd|th|\.|e|ère|ème)?"
    r"[ ](?:version|revision|edition|édition|fassung|ausgabe|auflage)(?![^\W_])",
    re.IGNORECASE,
)
_BEGINS_DAY = re.compile(r"(?<=(?:19|20)\d\d)[-_.]\d{2}(?!\d)")
_FILE_DAY = re.compile(r"(?<!\d)([12]\d{3})[-_.]?(\d{2})[-_.]?(\d{2})(?!\d)")
_FILE_MONTH = re.compile(r"(?<!\d)([12]\d{3})[-_.](\d{2})(?!\d)")
_FILE_YEAR = re.compile(r"(?<![^\W_])((?:19|20)\d{2})(?![^\W_])")
# Words that tell versions apart, and name nothing.
_STATES = frozenset({
    *("final", "draft", "entwurf", "brouillon", "projet", "old", "new", "neu", "alt", "ancien", "nouveau"),
    *("nouvelle", "copy", "kopie", "copie", "signed", "latest", "current", "aktuell", "actuel", "superseded"),
    *("withdrawn", "archived", "revised", "corrected", "correction", "updated", "update", "the", "a", "an"),
    *("der", "die", "das", "le", "la", "les", "l", "of", "for", "und", "and", "et", "de", "des", "du"),
})  # fmt: skip
_GENERIC = frozenset({
    *("document", "doc", "file", "index", "page", "untitled", "scan", "readme", "stdin", "text", "note"),
    *("notes", "dokument", "seite"),
})  # fmt: skip
# "docs_v2", "v1", "version 3"; or "django-4.2", where no part is a year or a day: such may count anything.
_LABELLED = re.compile(r"(?:(.+)[-_. ])?v(?:ersion[-_. ]?)?", re.IGNORECASE)
_NAMED = re.compile(r"(.{2,})[-_ ]")
_TWO_LETTERS = re.compile(r"[^\W\d_]{2}")
_ANY_NUMBER = re.compile(r"\d{1,4}(?:\.\d{1,4}){0,3}")
_OWN_NUMBER = re.compile(
    r"(?:(?!0\d|(?:19|20)\d\d(?!\d))\d{1,4}(?:\.(?=\d)|$)){2,3}"
    r"|\d(?:\.\d{1,4}){3}"  # an address begins higher
    r"|20\d\d(?=(?:\.\d\d)?\.\d(?![\d]))(?:\.(?!0)\d{1,2}){1,2}"  # a day is written with two figures
)
_BEFORE_RELEASE = re.compile(r"(?<=\d)(?:a|b|rc|alpha|beta|dev)\d{1,3}$", re.IGNORECASE)
_COUNTED = re.compile(
    r"(?:chapter|section|part|unit|lesson|week|day|kapitel|abschnitt|teil|chapitre|partie)s?", re.IGNORECASE
)
FILE = re.compile(r".{1,200}\.(?:pdf|docx?|md|txt|html?|pptx?|xlsx?|csv|odt|rtf|eml)", re.IGNORECASE)
_WORD = re.compile(r"[^\W_]+")


def family_of(name: str) -> str:
    """Return the name that a title, or a file's name without its ending, shares with other versions.

    >>> family_of("Travel policy, version 2 (March 2025)"), family_of("travel_policy-v1-2022-03-01")
    ('travel policy', 'travel policy')
    >>> family_of("Reisekosten_Fassung 3_final"), family_of("2025-01-28"), family_of("document (2)")
    ('reisekosten', '', '')
    """
    text = unicodedata.normalize("NFKC", name[:LONGEST]).casefold()
    for form in (_FILE_DAY, _FILE_MONTH):
        text = form.sub(" ", text)
    for day in reversed(list(days_in(text))):
        text = f"{text[: day.start]} {text[day.end :]}"
    text = _FILE_YEAR.sub(" ", _VERSION.sub(" ", text))
    words = [word for word in _WORD.findall(text) if word not in _STATES]
    letters = [word for word in words if not word.isdigit()]
    if not letters or set(letters) <= _GENERIC or (len(letters) == 1 and len(letters[0]) < 2):
        return ""
    return " ".join(words)


def version_in(text: str) -> tuple[str, int, int]:
    """Return the first version that a text names and where it stands; empty if there is none.

    >>> version_in("Travel policy, version 2.1"), version_in("travel-policy-v2"), version_in("2nd edition")[0]
    (('2.1', 15, 26), ('2', 14, 16), '2')
    >>> [version_in(text)[0] for text in ("manual-rev-c", "Revision D, May 2025", "a revision a day")]
    ['C', 'D', '']
    >>> version_in("an overview of 3 things")[0], version_in("press-release-2026-05-23")[0]
    ('', '')
    """
    for match in _VERSION.finditer(text):
        if _BEGINS_DAY.match(text, match.end()) is None:  # "press-release-2026-05-23"
            found = next(part for part in match.groups() if part)
            return found.upper(), match.start(), match.end()
    return "", 0, 0


def folder_version(name: str) -> tuple[str, str]:
    """Return the name of a folder without the version that it ends in, and that version; empty if in none.

    >>> folder_version("django-4.2"), folder_version("docs_v2"), folder_version("v1")
    (('django', '4.2'), ('docs', '2'), ('', '1'))
    >>> {folder_version(name)[1] for name in ("2024", "01", "chapter-3", "minutes-2024.05", "x-12.05.2024")}
    {''}
    """
    name = _BEFORE_RELEASE.sub("", name[:LONGEST])
    number = name[len(name.rstrip("0123456789.")) :].lstrip(".")
    head = name.removesuffix(number) if number else ""
    match = _LABELLED.fullmatch(head) if _ANY_NUMBER.fullmatch(number) else None
    if match is None and _OWN_NUMBER.fullmatch(number) and _TWO_LETTERS.search(head):
        match = _NAMED.fullmatch(head)
    named = (match[1] or "") if match else ""
    return (named, number) if match and not _COUNTED.fullmatch(named) else ("", "")


def version_by_folder(path: str, folder: str) -> tuple[str, str]:
    """Return the version that the nearest folder of a file with one is named by, and the file's family by it.

    The family is the path below the top `folder` without that version, so that only the same file of folders
    that lie in one folder is a version of it.

    >>> version_by_folder("docs/django/django-4.2/Security.txt", "django")
    ('4.2', 'django/security')
    >>> version_by_folder("docs/v1/faq/install.md", "docs"), version_by_folder("docs/2024/fees.md", "docs")
    (('1', 'docs/faq/install'), ('', ''))
    """
    *folders, file = PurePath(path).parts or ("",)
    at = next((n for n in reversed(range(len(folders))) if folder_version(folders[n])[1]), -1)
    if at < 0 or not folder or "://" in path:
        return "", ""
    name, version = folder_version(folders[at])
    above = folders[folders.index(folder) : at] if folder in folders[:at] else folder.split("/")
    above += [name] if name and above[-1] != name else []
    family = "/".join([*above, *folders[at + 1 :], PurePath(file).stem])
    return version, unicodedata.normalize("NFKC", family).casefold()


def is_higher(first: str, second: str) -> bool:
    """Return whether a version is higher than another; False where one is not known.

    >>> is_higher("2", "1.9"), is_higher("2.0", "2"), is_higher("10", "9"), is_higher("2", "")
    (True, False, True, False)
    >>> is_higher("D", "C"), is_higher("D", "3")
    (True, False)
    """
    comparable = bool(first and second) and first.isalpha() == second.isalpha()
    return comparable and version_parts(first) > version_parts(second)


def day_of_name(stem: str) -> str:
    """Return the date in the name of a file without its ending, in ISO form; empty if there is none.

    >>> day_of_name("minutes-2025-01-28"), day_of_name("20250128 report"), day_of_name("report_2025-01")
    ('2025-01-28', '2025-01-28', '2025-01')
    >>> day_of_name("budget 2024"), day_of_name("policy March 2025"), day_of_name("form-120045")
    ('2024', '2025-03', '')
    """
    stem = stem[:LONGEST]
    for form in (_FILE_DAY, _FILE_MONTH):
        for match in form.finditer(stem):
            if day := next(days_in("-".join(match.groups())), None):
                return day.iso
    named = next(days_in(stem.replace("_", " ").replace("-", " ")), None)
    if named is not None and len(named.iso) > 4:
        return named.iso
    years = _FILE_YEAR.findall(stem)
    return str(years[0]) if len(set(years)) == 1 else ""


def stem_of(path: str, url: str = "") -> str:
    """Return the name of a document's file without its ending, or the last part of its address."""
    name = path or url.partition("?")[0].partition("#")[0].rstrip("/")
    return PurePath(name).stem if name and not name.startswith(PASSAGE) else ""


def family_names(passage: Passage) -> frozenset[str]:
    """Return the names of the families that a passage's document may belong to: by its file, by its title.

    A number in a name that begins the version which the document states tells versions apart, too.

    The place in a folder that names the version stands alone: other files there may have the same title.

    >>> sorted(family_names(Passage(text="x", family="guide 5", version="5.1")))
    ['guide', 'guide 5']
    >>> sorted(family_names(Passage(text="x", family="borg/faq", version="1.4", title="Questions")))
    ['borg/faq']
    """
    if "/" in passage.family:
        return frozenset({passage.family})
    names = {passage.family, family_of(passage.title)}
    number = passage.version.partition(".")[0]
    without = {" ".join(word for word in name.split() if word != number) for name in names}
    return frozenset(names | {name for name in without if name not in _GENERIC} - {""}) - {""}


def is_named(target: str, passage: Passage, *, related: bool = False) -> bool:
    """Return whether words such as "version 1", "the travel policy of 2019" stand for a passage's document.

    Numbers, dates and "the previous version" stand for documents that are `related` only.

    >>> policy = Passage(text="x", title="Travel policy", version="1", date="2019-03", date_origin="stated")
    >>> is_named("the travel policy of 2019", policy), is_named("version 1", policy, related=True)
    (True, True)
    >>> is_named("version 3", policy, related=True), is_named("the leave policy", policy, related=True)
    (False, False)
    >>> is_named("old.md", Passage(text="x", source="old"))  # a name of no family
    True
    """
    if target and target in (passage.id, passage.document, passage.title, passage.url):
        return True
    if FILE.fullmatch(target):
        target = PurePath(target).stem
        if target == passage.title or (target == passage.source and not family_of(target)):
            return True
    number, _, _ = version_in(target)
    day = next((day.iso for day in days_in(target) if day.iso != number), "")
    if number and passage.version and number != passage.version:
        return False
    own_day = known_day(passage)
    if day and own_day and not (own_day.startswith(day) or day.startswith(own_day)):
        return False
    named = set(bare_words(target))
    families = family_names(passage)
    if "/" in passage.family:
        families |= {family_of(passage.title), family_of(PurePath(passage.family).name)} - {""}
    names = [set(name.split()) for name in families]
    if any(len(name) > 1 and name <= named for name in names) or family_of(target) in families:
        return True
    if not related:
        return False
    matches = bool((number and passage.version) or (day and own_day))
    return matches or not target or EARLIER.search(target) is not None


def is_version(asked: str, version: str) -> bool:
    """Return whether a version is the one that is asked for, be it by its first numbers alone.

    >>> is_version("5", "5.0"), is_version("5", "5"), is_version("5", "50"), is_version("5.1", "5")
    (True, True, False, False)
    """
    return f"{version}.".startswith(f"{asked}.")


def are_versions(first: Passage, second: Passage) -> bool:
    """Return whether two passages are of different documents that are versions of one."""
    return first.document != second.document and bool(family_names(first) & family_names(second))


def changes_in_part(passage: Passage) -> bool:
    """Return whether a document amends or corrects another one."""
    return any(relation.kind in IN_PART for relation in passage.relations)


def one_publisher(first: Passage, second: Passage) -> bool:
    """Return whether two passages are of one source or owner; uploads of strangers are of none.

    A name that people gave to one of them is shared by those alone whom people gave it, not by one that
    states it itself. A file of a folder without a publisher is its own source, by its name: two of them are
    of one where they are named as versions of one document.

    >>> one, two = (Passage(text="x", source=f"fees-v{n}", family="fees") for n in (1, 2))
    >>> one_publisher(one, two), one_publisher(one, Passage(text="x", source="note", family="note"))
    (True, False)
    """
    if UNVERIFIED in (first.owner, second.owner):
        return False
    for field, mine, other in (("owner", first.owner, second.owner), ("source", first.source, second.source)):
        if mine and mine == other and (field in first.by_people) == (field in second.by_people):
            return True
    file, other_file = file_family(first), file_family(second)
    return bool(file) and file == other_file


def file_family(passage: Passage) -> str:
    """Return the family by the file's name, where that is all that is known of a passage's source."""
    if passage.owner or passage.url:
        return ""
    if FILE.fullmatch(passage.source):
        return family_of(PurePath(passage.source).stem)
    return passage.family if passage.family == family_of(passage.source) else ""


def version_parts(version: str) -> tuple[int, ...]:
    """Return the numbers of a version, by which it is compared; a letter counts by its place."""
    parts = [int(part) if part.isdigit() else ord(part) - ord("A") + 1 for part in version.split(".")]
    while len(parts) > 1 and not parts[-1]:
        parts.pop()
    return tuple(parts)
