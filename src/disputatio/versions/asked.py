"""Days and versions that a question asks about: "in 2021", "before the change", "what changed"."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from disputatio.types import Passage
from disputatio.versions.days import days_in
from disputatio.versions.families import is_version, version_in
from disputatio.versions.phrases import whole_words

LONGEST = 1_000  # characters of a question that are looked at
_DAY = re.compile(
    r"(?<![^\W_])(?P<before>before|prior to|vor dem|vor|avant le|avant)[ ]$"
    r"|(?<![^\W_])(?:in|on|as of|as at|during|by|until|at the end of|im jahre?|im|am|seit|bis|en|le|au|dans)"
    r"(?: the)?[ ]$"
    r"|(?:under the old|sous l['’]ancien(?:ne)?|unter der alten|nach der alten) [^\W\d_]{3,20}"
    r" (?:of|de|von)[ ]$",
    re.IGNORECASE,
)
_BEFORE = re.compile(r"(?<![^\W_])(?:before|prior to|vor|avant)(?: the| der| la)?[ ]$", re.IGNORECASE)
_IN_VERSION = re.compile(
    r"(?<![^\W_])(?:in|under|by|per|to|nach|unter|dans|selon) "
    r"((?:the )?(?:version|v|edition|revision|fassung|ausgabe|édition|révision)[ ]?\d[\d.]{0,9} (?:of|de) )",
    re.IGNORECASE,
)
_PRESENT = {"was": "is", "were": "are", "war": "ist", "waren": "sind"}
_DID = re.compile(r"(?<!\w)did (the|an?|one|each|every|this) ([^\W\d_]+)")
# "Wie lange vorher" and "zwei Tage vorher" ask for a time.
_NO_MEASURE = "".join(
    f"(?<!{word} )" for word in ("lange", "weit", "viel", "tage", "tagen", "stunden", "wochen", "monate")
)
_PREVIOUS = re.compile(
    whole_words(
        *(
            "before the (?:change|amendment|revision|new version|update)",
            "previously",
            "formerly",
            "used to be",
        ),
        *(
            "under the (?:old|previous|former)",
            "in the (?:old|previous|former)",
            "(?:vor|bis zu)(?: de)?r (?:änderung|neufassung|neuregelung|umstellung)",
            "vor der neuen (?:fassung|ausgabe|ordnung|satzung)",
        ),
        *(f"{_NO_MEASURE}früher", f"{_NO_MEASURE}vorher", f"{_NO_MEASURE}zuvor", "bisher", "auparavant"),
        *("autrefois", "précédemment", "avant (?:le changement|la (?:modification|révision|réforme))"),
        *("avant la nouvelle (?:version|édition)", "(?:sous|dans|selon) l['’]ancien(?:ne)?"),
        "(?:unter|nach) (?:der|dem) (?:alten|früheren|bisherigen)",
        "in der (?:alten|früheren|bisherigen|vorigen) (?:fassung|ausgabe|version|ordnung|satzung)",
    )
    + "|之前|以前|原来",
    re.IGNORECASE,
)
# Words by which a text tells how things were.
OF_PAST = re.compile(
    whole_words(
        *("was", "were", "had", "used to", "until", "before", "previously", "formerly", "earlier", "old"),
        *("war(?:en)?", "betrug(?:en)?", "kostete[nt]?", "hatten?", "galt(?:en)?", "früher", "vorher"),
        *("bisher(?:ige[nrs]?)?", "zuvor", "alte[nrs]?", "était", "étaient", "coûtait", "coûtaient", "avait"),
        *("avant", "auparavant", "jusqu['’]", "ancien(?:ne)?s?", "précédemment"),
    )
    + "|之前|以前|原来",
    re.IGNORECASE,
)
_ASKS = re.compile(
    r"^\W{0,4}(?:what|which|how|list|name|in what|was|wie|welche|worin|nenne|qu|quel|en quoi|comment|quoi)"
    r"|什么|哪些|有何|怎么|区别",
    re.IGNORECASE,
)
_GERMAN = re.compile(
    r"\W{0,4}(?:was (?!it\b|the\b|there\b|this\b|that\b|an?\b)|wie |welche|worin|nenne)", re.IGNORECASE
)
_FRENCH = re.compile(r"\W{0,4}(?:qu['’]|qu(?:oi|els?|elles?|i|e)\b|en quoi|comment)", re.IGNORECASE)
_CHANGED = re.compile(
    whole_words(
        "changed?", "changes", "differ", "differs", "differences?", "geändert", "ändert", "änderungen"
    )
    + "|unterschied|changé|changement|différence|diffère|变化|不同|区别",
    re.IGNORECASE,
)
# What a version gained or lost, where the question names it: "What is new in version 2?"
_GAINED = re.compile(
    whole_words(
        *("new in", "no longer(?! than)", "(?:added|removed|dropped|missing) (?:in|from)", "neu in"),
        *(
            "nicht mehr(?! als)",
            "anders",
            "weggefallen",
            "entfallen",
            "hinzugekommen",
            "unterscheide[nt]",
            "quoi de neuf",
        ),
        *("de nouveau", "nouveautés?", "n['’][^\\W_]{1,20} plus(?! que)", "ne [^.?]{1,20} plus(?! que)"),
        *("supprimée?s?", "ajoutée?s?"),
    )
    + "|新增|删除",
    re.IGNORECASE,
)
_NEW_VERSION = re.compile(
    r"\b(?:new|latest|neuen?|neuesten?|nouvelle|dernière) (?:version|edition|revision|fassung|ausgabe"
    r"|ordnung|satzung|édition)\b",
    re.IGNORECASE,
)
_VERSIONED = re.compile(
    whole_words(
        *("versions?", "editions?", "revisions?", "fassung(?:en)?", "ausgaben?", "polic(?:y|ies)", "rules"),
        *("amendments?", "conditions", "by-?e?laws?", "ordinances?", "[^\\W_]*satzung(?:en)?"),
        *("handbooks?", "manuals?", "price lists?", "guidelines?", "statutes", "charters?", "handbuchs?"),
        *("agreements?", "contracts?", "procedures?", "rule ?books?", "tariffs?", "timetables?"),
        *("preislisten?", "leitfadens?", "manuel", "barème", "charte", "liste des prix"),
        *("terms", "regulations?", "richtlinien?", "ordnung(?:en)?", "règlements?", "politiques?"),
    )
    + r"|[^\W_]ordnung|richtlinie|政策|规定|版|[vV]\d",
    re.IGNORECASE,
)
_ALSO = re.compile(
    r"\s{0,2}(?:and|und|et|to|bis|vs\.?|和|与|到)\s{0,2}(\d{1,4}(?:\.\d{1,3})?)(?![^\W_])", re.IGNORECASE
)

_SINCE = re.compile(
    r"(?<![^\W_])(?:since|from|after|seit|ab|nach|depuis|après)(?: dem| le)? $", re.IGNORECASE
)
_PRODUCT = re.compile(r"(?<![^\W_])([^\W\d_][\w-]{2,40})[ -]v?(\d{1,4}(?:\.\d{1,4}){0,3})(?!\w|[.,-]\d)")
_SHORTENED = 4  # letters with which the name of a product may begin in a question: "Borg" for "borgbackup"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A day in ISO form, a version or the one before the last that a question is about; empty without any.

    `previous` with a version is the one before that.
    """

    day: str = ""
    version: str = ""
    previous: bool = False

    def __bool__(self) -> bool:
        return bool(self.day or self.version or self.previous)


def find_asked(question: str) -> Asked:
    """Return the day or version that a question asks about.

    >>> find_asked("What was the fee in 2021?"), find_asked("What was it before the change?").previous
    (Asked(day='2021', version='', previous=False), True)
    >>> find_asked("What was the fee before 2021?").day, find_asked("What did version 1 say?").version
    ('2020', '1')
    >>> find_asked("What was the fee before version 2?")
    Asked(day='', version='2', previous=True)
    >>> bool(find_asked("Who wrote 1984?")), bool(find_asked("What is the fee currently?"))
    (False, False)
    """
    return _locate_asked(question[:LONGEST])[0]


def product_version(question: str, passages: Iterable[Passage]) -> str:
    """Return the number that a question sets behind the name of a folder, where a passage is of that version.

    >>> old = Passage(text="x", family="backup/borgbackup/faq", version="1.1.18")
    >>> product_version("How do I mount it in Borg 1.1?", [old]), product_version("In Borg 2?", [old])
    ('1.1', '')
    """
    named = [(match[1].casefold(), match[2]) for match in _PRODUCT.finditer(question[:LONGEST])]
    for passage in passages if named else ():
        for folder in passage.family.split("/")[:-1]:
            for name, number in named:
                is_short = len(name) >= _SHORTENED and folder.startswith(name)
                if (folder == name or is_short) and is_version(number, passage.version):
                    return str(number)
    return ""


def _locate_asked(text: str) -> tuple[Asked, int, int]:
    """Return what a question asks about, and where its words for that stand."""
    version, start, end = version_in(text)
    for day in days_in(text):
        lead = _DAY.search(text[max(day.start - 45, 0) : day.start])
        if lead is not None and not version:
            year = str(int(day.iso) - 1) if lead["before"] and len(day.iso) == 4 else day.iso
            return Asked(day=year), day.start - len(lead[0]), day.end
    if version:
        before = _BEFORE.search(text[max(start - 20, 0) : start])
        return (
            Asked(version=version, previous=before is not None),
            start - len(before[0] if before else ""),
            end,
        )
    previous = _PREVIOUS.search(text)
    return Asked(previous=previous is not None), *(previous.span() if previous else (0, 0))


def of_today(question: str) -> str:
    """Return a question about another day or version as one about today, as far as its words allow.

    >>> of_today("What was the fee in 2021?"), of_today("How high was the fee before version 2?")
    ('What is the fee?', 'How high is the fee?')
    >>> of_today("What does version 1 say of the fee?"), of_today("What was it in version 1 of the rules?")
    ('What does version 1 say of the fee?', 'What is it in the rules?')
    >>> of_today("What did a night cost before the change?"), of_today("What did the tents cost previously?")
    ('What does a night cost?', 'What do the tents cost?')
    """
    asked, start, end = _locate_asked(question[:LONGEST])
    if asked.version and not asked.previous:
        named = _IN_VERSION.search(question[:LONGEST])
        asked, start, end = (asked, *named.span(1)) if named else (Asked(), 0, 0)
    if not asked:
        return question
    words = f"{question[:start].rstrip()} {question[end:].lstrip()}".split(" ")
    at = next((n for n, word in enumerate(words) if word in _PRESENT), len(words))
    words[at : at + 1] = [_PRESENT[word] for word in words[at : at + 1]]
    said = _DID.sub(_does, " ".join(words), count=1)
    return re.sub(r"[ ]([?.,])", r"\1", said).strip()


def _does(match: re.Match[str]) -> str:
    """Return "did" before its subject as it is said of today."""
    is_plural = match[1].casefold() == "the" and match[2].endswith("s") and not match[2].endswith("ss")
    return f"{'do' if is_plural else 'does'} {match[1]} {match[2]}"


def asks_for_changes(question: str) -> bool:
    """Return whether a question asks what differs between versions of a document.

    >>> asks_for_changes("What changed between version 1 and 2 of the policy?")
    True
    >>> asks_for_changes("Was hat sich in der neuen Fassung geändert?"), asks_for_changes("What is the fee?")
    (True, False)
    >>> asks_for_changes("What changed in the timetable between 2023 and 2025?")
    True
    >>> asks_for_changes("Was ist neu in Fassung 2?"), asks_for_changes("Which rules no longer apply?")
    (True, False)
    """
    text = question[:LONGEST]
    names_version = version_in(text)[0] or _NEW_VERSION.search(text)
    changed = _CHANGED.search(text) or (names_version and _GAINED.search(text))
    return bool(changed and _ASKS.search(text) and _VERSIONED.search(text))


def language_of_change(question: str) -> str:
    """Return the language that a question for changes begins in: de, fr, or else en.

    >>> [language_of_change(q) for q in ("Was ist neu?", "Quoi de neuf ?", "What is new?", "Was it new?")]
    ['de', 'fr', 'en', 'en']
    """
    if _GERMAN.match(question):
        return "de"
    return "fr" if _FRENCH.match(question) else "en"


def days_compared(question: str) -> tuple[str, str]:
    """Return the day from which and the day until which a question asks for changes; empty if it names none.

    >>> days_compared("What changed between 2021 and 2025?"), days_compared("What changed since May 2021?")
    (('2021', '2025'), ('2021-05', ''))
    >>> days_compared("Was hat sich 2024 geändert?"), days_compared("What changed?")
    (('', '2024'), ('', ''))
    """
    text = question[:LONGEST]
    days = list(days_in(text))[:2]
    if len(days) == 2:
        first, last = sorted(day.iso for day in days)
        return first, last
    if not days:
        return "", ""
    [day] = days
    return (day.iso, "") if _SINCE.search(text[: day.start]) else ("", day.iso)


def versions_asked(question: str) -> tuple[str, ...]:
    """Return the numbers of the versions that a question compares, as written.

    >>> versions_asked("What changed between version 1 and 2?"), versions_asked("v1.2 vs v2 of the rules")
    (('1', '2'), ('1.2', '2'))
    """
    found: list[str] = []
    text, at = question[:LONGEST], 0
    while True:
        number, _, end = version_in(text[at:])
        if not number:
            return tuple(dict.fromkeys(found))
        found.append(number)
        at += end
        also = _ALSO.match(text, at)
        if also:
            found.append(also[1])
            at += also.end()
