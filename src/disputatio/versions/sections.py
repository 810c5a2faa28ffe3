"""Sections of other documents that a text names by number: "section 6 of the terms", "Ziffer 10"."""

from __future__ import annotations

import itertools
import re

from disputatio.text import bare_words, sentences, stem

MOST_OF_A_TEXT = 20  # a hostile text is a list of them
PLAIN = 4  # letters up to which a word of a title names no document
_KINDS = (
    r"sections?|chapters?|paragraphs?|articles?|clauses?|points?|rules?|conditions?|items?|abschnitte?|kapitel"
    r"|ziffern?|absatz|artikel|nummer|punkte?|regel|chapitres?|paragraphes?|règles?|§{1,2}"
)
_NUMBER = r"(\d{1,3}(?:\.\d{1,3}){0,2})(?![\d/])(?!\.\d)"
_CITED = re.compile(rf"(?<!\w)(?:{_KINDS})[ \t]?:?[ \t]?{_NUMBER}", re.IGNORECASE)
# What goes on after a number: "sections 3, 5 and 7", or "sections 3 to 7".
_MORE = re.compile(
    rf"(?:,|\s(?:and|or|und|oder|et|ou)|(?P<range>\s(?:to|bis|à)|\s?[-–]))\s?{_NUMBER}", re.IGNORECASE
)
_ENTRY = re.compile(
    rf"(?:(?:version|release|v)[ ]?|[^\W\d][\w.-]{{0,20}}[ ])?{_NUMBER.replace('0,2', '1,3')}"
    r"[ ,:/–—-]{0,4}[(\[]?(?:(?:released(?: on)? |rel\. )?[^()\[\]]{0,20}\d{4}[^()\[\]]{0,8})?[)\]]?",
    re.IGNORECASE,
)
_HEADING = re.compile(rf"\W{{0,3}}(?:(?:{_KINDS})[ \t]?)?{_NUMBER}", re.IGNORECASE)


def number_of(heading: str) -> str:
    """Return the number that a heading begins with, by the last of its path that has one.

    >>> number_of("Terms › 6 Groups of children"), number_of("§ 5 Kündigung"), number_of("In 2024")
    ('6', '5', '')
    """
    numbers = (match[1] for part in heading.split(" › ") if (match := _HEADING.match(part)))
    return next(reversed(list(numbers)), "")


def version_of_entry(heading: str) -> str:
    """Return the version that the last heading of a path is an entry for, as logs of changes have them.

    >>> version_of_entry("LOG › Version 4.0.0 (2020 June 12)"), version_of_entry("3.1 › 0.10.0 / 2019-03-05")
    ('4.0.0', '0.10.0')
    >>> version_of_entry("3.1 Who pays"), version_of_entry("Version 2 › Fees")
    ('', '')
    """
    match = _ENTRY.fullmatch(heading.rpartition(" › ")[2].strip())
    return match[1] if match else ""


def sentence_citing(text: str, number: str) -> str:
    """Return the first sentence or line of a text that names a section of this number; empty without one.

    >>> sentence_citing("Dear all. From May section 6 of the terms has another figure: 4.", "6")
    'From May section 6 of the terms has another figure: 4.'
    >>> sentence_citing("Section 16 stays. We have 6 dogs.", "6")
    ''
    """
    for count, match in enumerate(_CITED.finditer(text)):
        if count == MOST_OF_A_TEXT:
            break
        if match[1] == number:
            return next(
                (text[start:end] for start, end in sentences(text) if start <= match.start() < end), ""
            )
    return ""


def leaves_alone(target: str, heading: str) -> bool:
    """Return whether words such as "section 3 of the terms" name other sections than that of a heading.

    >>> [leaves_alone("section 3 of the terms", each) for each in ("4 Returns", "3.1 Delivery", "Returns")]
    [True, False, False]
    >>> [leaves_alone(each, "4 Returns") for each in ("articles 2, 3 et 4", "§§ 2 bis 9", "the terms")]
    [False, False, False]
    """
    own, cited = number_of(heading), set[str]()
    for match in itertools.islice(_CITED.finditer(target), MOST_OF_A_TEXT):
        cited.add(match[1])
        end = match.end()
        while more := _MORE.match(target, end):
            if more["range"]:
                return False
            cited.add(more[2])
            end = more.end()
    parts = {f"{number}." for number in cited}
    return bool(own and parts) and not any(
        part.startswith(f"{own}.") or f"{own}.".startswith(part) for part in parts
    )


def names_title(text: str, title: str) -> bool:
    """Return whether a text has a telling word of a document's title.

    >>> names_title("Section 6 in the terms.", "Terms of the centre"), names_title("All stay.", "Rules")
    (True, False)
    """
    told = {stem(word) for word in bare_words(title) if len(word) > PLAIN}
    return bool(told & set(map(stem, bare_words(text))))
