"""Words that tell statements apart or together: synonyms, opposites, scopes, units; from vocabulary.toml."""

from __future__ import annotations

import re
import tomllib
from functools import lru_cache
from pathlib import Path
from typing import Any

_LISTS: dict[str, Any] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


def _words(name: str) -> frozenset[str]:
    return frozenset(_LISTS[name].split())


def _lines(name: str) -> list[list[str]]:
    return [line.split() for line in _LISTS[name].strip().splitlines()]


def _read_keyed(name: str) -> dict[str, str]:
    """Return each word of the lines "key: words" with the key of its line."""
    rows = (line.partition(": ") for line in _LISTS[name].strip().splitlines())
    return {word: key for key, _, words in rows for word in words.split()}


def _any_of(name: str, form: str = r"\b(?:{})\b") -> str:
    return form.format("|".join(_LISTS["patterns"][name]))


STOP = _words("stop")
SAME = {word: line[0] for line in _lines("same") for word in line}
CONTRAST_OF: dict[str, tuple[int, ...]] = {}
for _number, _line in enumerate(_lines("contrasts")):
    for _word in _line:
        CONTRAST_OF[_word] = (*CONTRAST_OF.get(_word, ()), _number)
NEGATIONS, CONTRARY, POLAR = _words("negations"), _read_keyed("contrary"), _read_keyed("polar")
YES, NO = _words("yes"), _words("no")
LABELS, SCOPING, PRONOUNS = _words("labels"), _words("scoping"), _words("pronouns")
WEEKDAYS = {name: number for line in _lines("weekdays") for number, name in enumerate(line)}
WORKING = _words("working")
ARTICLES, BOUNDING = _words("articles"), _words("bounding")
EVERY = {word: int(days) for word, days in _read_keyed("every").items()}
CYCLES = {word: int(days) for word, days in _read_keyed("cycles").items()}
TIMES = {word: int(times) for word, times in _read_keyed("times").items()}
BOUND = re.compile(
    r"(?:^|(?<=[\s(:]))(?:"
    + "|".join(
        f"(?P<{kind}>{'|'.join(re.escape(form) for form in sorted(forms, key=len, reverse=True))})"
        for kind, forms in _LISTS["bounds"].items()
    )
    + r")\s{0,3}(?:(?:of|the|a|an|von|de|du)\s)?$",
    re.IGNORECASE,
)
PAST = re.compile(_any_of("past"), re.IGNORECASE)
UNREAL = re.compile(_any_of("unreal"), re.IGNORECASE)
CONDITION = re.compile(_any_of("condition"), re.IGNORECASE)
REPORTS = re.compile(_any_of("reports"), re.IGNORECASE)
STUDY = re.compile(_any_of("study"), re.IGNORECASE)
_ABOUT = (
    r"^\W*(?:this (?:document|policy|version|edition|page|price list|notice|manual|guide)\b.{{0,40}}\b)?"
    r"(?:{})\b\W"
)
ABOUT_DOCUMENT = re.compile(_any_of("about_document", _ABOUT), re.IGNORECASE)
_LANGUAGES: dict[str, set[str]] = {}
for _row in _lines("languages"):
    _LANGUAGES[_row[0].rstrip(":")] = set(_row[1:])


def language_of(text: str) -> str:
    """Return the language that most of a text's short words are of; empty where it has none.

    >>> language_of("Die Frist beträgt drei Monate und ist für alle gleich."), language_of("3,559")
    ('german', '')
    """
    words = text[:4000].casefold().split()
    counts = {name: sum(word in stops for word in words) for name, stops in _LANGUAGES.items()}
    best = max(counts, key=lambda name: counts[name])
    if not counts[best]:
        return ""
    return best if counts[best] > counts["english"] else "english"


@lru_cache(maxsize=8)
def _stemmer(language: str) -> Any:
    from Stemmer import Stemmer

    return Stemmer(language, maxCacheSize=50_000)


@lru_cache(maxsize=200_000)
def root(word: str, language: str = "english") -> str:
    """Return the form under which words count as one: of a set of synonyms its first word, stemmed.

    >>> root("staff") == root("employees"), root("weighs") == root("weight"), root("bridges")
    (True, True, 'bridg')
    """
    return str(_stemmer(language).stemWord(SAME.get(word, word)))


def _roots(name: str, *languages: str) -> frozenset[str]:
    return frozenset(root(word, language) for word in _words(name) for language in languages)


GENERIC_ROOTS = _roots("generic", "english", "german", "french")
EVERYONE_ROOTS = _roots("everyone", "english", "german", "french")
TITLES = _roots("titles", "english", "german", "french")
FREE_KEYS, VALUE_COLUMNS = _roots("free_keys", "english"), _roots("value_columns", "english")
KEY_COLUMNS = _roots("key_columns", "english", "german")
ACTS = _roots("acts", "english")
ANAPHORIC = _roots("anaphoric", "english")
ATTRIBUTES = _roots("attributes", "english", "german", "french")
