"""Hearsay: what a sentence gives as told by somebody whom its writer knows, in English, German and French.

Whoever writes so does not say that it is true; where nothing else answers, nothing does.
"""

from __future__ import annotations

import re

_RELATIVES = (
    "(?:sister|brother|mother|father|uncle|aunt|cousin|neighbou?r|friend|mate|boss|colleague|wife|husband|son|daughter"
    "|nephew|niece|landlord|driver|hairdresser|mum|mom|dad)(?:-in-law)?"
)
_FRENCH = (
    "(?:chauffeur|voisine?|beau-frère|belle-sœur|boulang(?:er|ère)|facteur|coiffeu(?:r|se)|cousine?|copine?"
    "|amie?|collègue|concierge)"
)
_HEARSAY = re.compile(
    "|".join(
        (
            rf"\b(?:my|our|his|her|their|a|some)\s{_RELATIVES}\s(?:says?|said|reckons?|thinks?|told|heard|swears?)\b",
            rf"\baccording\sto\s(?:my|our|a|some)\s{_RELATIVES}\b",
            r"\b(?:i|we)(?:'ve|’ve|\shave)?\s(?:heard|was\stold|were\stold)\b|\btold\sme\b",
            rf"\bmate\s(?:says?|said|reckons?)\b|\b(?:says|said|reckons)\s(?:my|our)\s{_RELATIVES}\b",
            r"\bit\sis\s(?:said|rumou?red)\b|,\s(?:hört|munkelt|sagt)\sman\b|\bman\smunkelt\b",
            r"\bdit-on\b|\ble\sbruit\scourt\b|\bà\sce\squ['’]on\sdit\b",
            r"\b(?:someone|somebody)\s(?:says?|said|told)\b|\brumou?r\s(?:has\sit|says)\b|\bword\sis\b",
            r"\b(?:sagt|sagte|meint|meinte|behauptet|laut)\s(?:mein|unser)(?:e|er|em|en)?\s\w+",
            r"\bhat\s(?:mir|uns)\b.{0,40}\b(?:gesagt|erzählt)\b|\bhab(?:e|en)?\s(?:ich\s|wir\s)?gehört\b|\bangeblich",
            rf"\b(?:d['’]après|selon)\s(?:(?:mon|ma|mes|notre)\s\w+|(?:le\s|la\s|l['’]|un\s|une\s){_FRENCH}\b)",
            r"\b(?:il\s)?paraît(?:\sque\b|-il\b)|\bon\s(?:m|nous)['’\s]?a\sdit\b|\bj['’]ai\sentendu\b",
        )
    ),
    re.IGNORECASE,
)


def is_hearsay(sentence: str) -> bool:
    """Return whether a sentence tells what its writer has from somebody.

    >>> is_hearsay("lorry licence there is about £1,900 my uncle reckons"), is_hearsay("The bank says it is £1,900.")
    (True, False)
    """
    return _HEARSAY.search(sentence) is not None
