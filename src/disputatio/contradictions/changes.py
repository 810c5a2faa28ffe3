"""Sentences that two versions of a document have in the same words but for a stretch: a name, a path.

What `statements` reads is compared by value; this finds what has no value: "on IRC" that became "on Zulip".
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from disputatio.contradictions.comparing import Finding, is_other_name
from disputatio.contradictions.facts import Fact
from disputatio.contradictions.units import Unit
from disputatio.contradictions.vocabulary import ABOUT_DOCUMENT, PAST, STOP, UNREAL

KEY = 3  # words at the head or the end of a sentence by which two are looked up
LEAST = 5  # words that both sentences have
ALIKE = 24  # sentences with one head or end, beyond which it finds none: any of them may be the other
MOST = 4  # words of the stretch that differs
_MARKS = "`*_\"'“”‘’()<>,;:.!?"
_SENTENCE = re.compile(r"[^\W\d_].*[.!]$", re.DOTALL)
_MARKUP = re.compile(r"[|<>\[\]{}$=\\]|:\w+:|[`\w]_(?=\s|$)")
_COPYRIGHT = re.compile(r"\(c\)|©|copyright", re.IGNORECASE)
_IDENTIFIER = re.compile(r"\d|[^\W_][_./:][^\W_]|(?<!\w)--?[^\W\d_]|[a-z][A-Z]")
_OCTAL = re.compile(r"(?<=\b0)o(?=\d)")  # 0o777, which is 0777
_SPELT = 8  # letters of a word, from which one or two more within it are a slip of spelling
_CONSTANTS = frozenset({"none", "null", "true", "false", "undefined", "yes", "no", "on", "off"})


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of a document: its `words` without marks, and where each stands in the text."""

    unit: Unit
    place: int
    words: tuple[str, ...]
    spans: tuple[tuple[int, int], ...]


def sentences_of(text: str, units: Iterable[Unit]) -> dict[tuple[str, ...], Sentence]:
    """Return the sentences of a document by their words, without those that it has twice."""
    found: dict[tuple[str, ...], Sentence] = {}
    twice: set[tuple[str, ...]] = set()
    for place, unit in enumerate(units):
        body = text[unit.start : unit.end]
        if unit.form != "sentence" or unit.code or not _SENTENCE.match(body):
            continue
        if any(pattern.search(body) for pattern in (UNREAL, PAST, _COPYRIGHT)) or ABOUT_DOCUMENT.match(body):
            continue
        spans = tuple(
            (unit.start + each.start(), unit.start + each.end()) for each in re.finditer(r"\S+", body)
        )
        words = tuple(text[slice(*span)].casefold().strip(_MARKS) for span in spans)
        if words in found:
            twice.add(words)
        found[words] = Sentence(unit, place, words, spans)
    return {words: sentence for words, sentence in found.items() if words not in twice}


def changes(
    old: tuple[str, dict[tuple[str, ...], Sentence]], new: tuple[str, dict[tuple[str, ...], Sentence]]
) -> Iterator[tuple[int, int, tuple[Fact, Fact], Finding]]:
    """Yield the places of sentences of two texts that differ in one name or identifier, with that as facts.

    A sentence that several of the other text may have become is left out.
    """
    ours = [sentence for words, sentence in old[1].items() if words not in new[1]]
    theirs = [sentence for words, sentence in new[1].items() if words not in old[1]]
    by_ends: dict[tuple[str, ...], list[Sentence]] = defaultdict(list)
    for sentence in theirs:
        for key in _keys(sentence):
            by_ends[key].append(sentence)
    met: list[tuple[Sentence, Sentence]] = []
    for sentence in ours:
        alike = (by_ends.get(key, []) for key in _keys(sentence))
        candidates = {other.place: other for some in alike if len(some) <= ALIKE for other in some}
        met += [(sentence, other) for other in candidates.values() if _find_difference(sentence, other)]
    partners = Counter(place for one, other in met for place in (("old", one.place), ("new", other.place)))
    for sentence, other in met:
        if partners["old", sentence.place] == partners["new", other.place] == 1:
            before, after = _find_difference(sentence, other) or (0, 0)
            stretches = [
                _stretch(text, each, before, after) for (text, _), each in ((old, sentence), (new, other))
            ]
            if _tell_apart(stretches[0][2], stretches[1][2], first=before == 0):
                yield (sentence.place, other.place, *_as_pair(sentence, other, stretches, before, after))


def _keys(sentence: Sentence) -> set[tuple[str, ...]]:
    words = sentence.words
    return {("head", *words[:KEY]), ("end", *words[-KEY:])} if len(words) > LEAST else set()


def _find_difference(one: Sentence, other: Sentence) -> tuple[int, int] | None:
    """Return how many words two sentences share before and after a short stretch; None if there is none."""
    ours, theirs = one.words, other.words
    shorter = min(len(ours), len(theirs))
    before = next((n for n in range(shorter) if ours[n] != theirs[n]), shorter)
    after = next((n for n in range(shorter - before) if ours[-1 - n] != theirs[-1 - n]), shorter - before)
    lengths = len(ours) - before - after, len(theirs) - before - after
    return (before, after) if before + after >= LEAST and 0 < min(lengths) <= max(lengths) <= MOST else None


def _stretch(text: str, sentence: Sentence, before: int, after: int) -> tuple[int, int, str]:
    start, end = sentence.spans[before][0], sentence.spans[-1 - after][1]
    stretch = text[start:end]
    start += len(stretch) - len(stretch.lstrip(_MARKS))
    return start, start + len(stretch.strip(_MARKS)), stretch


def _tell_apart(ours: str, theirs: str, *, first: bool) -> bool:
    """Return whether two stretches name two things, and are no wording or markup of one.

    >>> _tell_apart("IRC.", "Zulip chat.", first=False), _tell_apart("3rd party", "third party", first=False)
    (True, False)
    >>> _tell_apart("CHANGES", "CHANGES.rst", first=False), _tell_apart("`Sphinx`_", "Pelican", first=False)
    (False, False)
    >>> _tell_apart("docs/quay.md", "About the Quay", first=False), _tell_apart("0o7", "07", first=False)
    (False, False)
    """
    if (
        _MARKUP.search(ours)
        or _MARKUP.search(theirs)
        or not is_other_name(ours.strip(_MARKS), theirs.strip(_MARKS))
    ):
        return False
    letters = [re.sub(r"\W", "", _OCTAL.sub("", each)).casefold() for each in (ours, theirs)]
    named = [_find_names(each, first=first) for each in (ours, theirs)]
    return not (
        letters[0] in letters[1]
        or letters[1] in letters[0]
        or named[0] <= named[1]
        or named[1] <= named[0]
        or _is_slip(*named)
        or sorted(map(_is_file, (ours, theirs))) == sorted(map(_is_title, (ours, theirs))) == [False, True]
    )


def _is_slip(ours: set[str], theirs: set[str]) -> bool:
    """Return whether two names are long words, one of which has a letter or two more within it.

    >>> _is_slip({"marquart"}, {"marquardt"}), _is_slip({"container"}, {"containerd"})
    (True, False)
    >>> _is_slip({"boatmaker"}, {"boat_maker"}), _is_slip({"cat"}, {"cart"})
    (False, False)
    >>> _is_slip({"loadable"}, {"unloadable"})
    False
    """
    if len(ours) != 1 or len(theirs) != 1:
        return False
    short, long = sorted((*ours, *theirs), key=len)
    start = next((n for n, (one, other) in enumerate(zip(short, long, strict=False)) if one != other), 0)
    return (
        f"{short}{long}".replace("-", "").isalpha()
        and len(short) >= _SPELT
        and start > 0
        and len(long) <= len(short) + 2
        and long.endswith(short[start:])
    )


def _is_file(stretch: str) -> bool:
    return "/" in stretch and "://" not in stretch and len(stretch.split()) == 1


def _is_title(stretch: str) -> bool:
    """Return whether a stretch may be the title of a page: words with capitals, and short ones between."""
    words = stretch.strip(_MARKS).split()
    return len(words) > 1 and all(
        word.casefold() in STOP or (word[:1].isupper() and not _IDENTIFIER.search(word)) for word in words
    )


def _is_fuller(ours: set[str], theirs: set[str]) -> bool:
    """Return whether one dotted name has all parts of the other: an address of one thing, more or less full.

    >>> _is_fuller({"quay.boats.raft"}, {"quay.raft"}), _is_fuller({"quay.raft"}, {"boats.raft"})
    (True, False)
    >>> _is_fuller({"quay.raft"}, {"quay.raft.oar"})
    False
    """
    if len(ours) != 1 or len(theirs) != 1:
        return False
    short, long = sorted((name.lstrip("~.").split(".") for name in (*ours, *theirs)), key=len)
    rest = iter(long)
    return len(long) > 1 and short[-1] == long[-1] and all(part in rest for part in short)


def _find_names(stretch: str, *, first: bool) -> set[str]:
    """Return the words that are identifiers or names; the capital of a sentence's `first` says nothing."""
    words = [re.sub(r"['’]s?$", "", word.strip(_MARKS)) for word in stretch.split()]
    return {
        word.casefold()
        for number, word in enumerate(words)
        if _IDENTIFIER.search(word)
        or word.casefold() in _CONSTANTS
        or (word[:1].isupper() and (number > 0 or not first))
    }


def _as_pair(
    one: Sentence, other: Sentence, stretches: list[tuple[int, int, str]], before: int, after: int
) -> tuple[tuple[Fact, Fact], Finding]:
    facts = [
        Fact("name", each.unit.start, each.unit.end, start, end, name=stretch.strip(_MARKS))
        for each, (start, end, stretch) in zip((one, other), stretches, strict=True)
    ]
    around = [*reversed(one.words[:before]), *one.words[len(one.words) - after :]]
    about = tuple(word for word in around if word not in STOP and word.isalpha())[:6]
    likeness = (before + after) / max(len(one.words), len(other.words))
    fuller = _is_fuller(*(_find_names(stretch, first=before == 0) for _, _, stretch in stretches))
    return (facts[0], facts[1]), Finding("low" if fuller else "medium", round(likeness, 3), about, ())
