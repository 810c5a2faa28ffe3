"""Statements: a claim divided so that each part says one thing and has its own citations.

An answer is judged statement by statement: a sentence that joins two facts under two citations would
otherwise be right or wrong as a whole. Everything here is code on strings; no model is asked.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from disputatio.text import sentences

# One or several citation marks in a row: `[e1][e2]`, `[1, 2]`; and the full stop before them, if any.
_MARK = r"\[\s*[\w-]+(?:\s*[,;]\s*[\w-]+)*\s*\]"
_GROUP = re.compile(rf"(?:(?P<stop>[.!?])|(?<!\s))(?P<marks>\s*+{_MARK}(?:\s*+(?:[,;]\s*+)?{_MARK})*)\s*+")
_FIRST, _LAST = 0xE000, 0xF8FF  # private-use characters, one for each group of marks
_PLACES = re.compile(f"[{chr(_FIRST)}-{chr(_LAST)}]")
_NAME = re.compile(r"[\w-]+")
# What may join two clauses; the words on both sides decide whether it does.
_JOINT = re.compile(
    r"(?<!\s)\s*+;\s+(?:and\s+|but\s+)?"
    r"|(?:,|(?<![\s,]))\s++(?:and|but|while|whereas)\s++(?=\S)|,\s++(?:and|but)\s++"
)
_ABBREVIATION = re.compile(r"(?:^|\s)(?:[A-Z]|Dr|Mr|Mrs|Ms|Prof|St|Mt|No|vs|approx|Inc|Jr|Sr)\.$")
_VERB_WORDS = """
is are was were has have had does do did can could will would may might must should became become becomes
began begins came comes contains cost costs died held holds includes keeps kept lies lived made makes means
needs ran rose said says shows stands stood takes took went won works wrote gave gives grew left led lost met
sold sent built
"""
_PRONOUN_WORDS = "it its he she they his her their this these both"
_STANDING_FOR = frozenset(("it", "its", "he", "she", "they", "his", "her", "their"))
_MOST_SUBJECT = 8  # words
_LONGEST_SENTENCE = 400  # characters, from which an open bracket does not hold it together
_SUBJECT_WORDS = """
a an the that those there each some many most no one two three all other others another every several
"""
_VERBS = frozenset(_VERB_WORDS.split())
_PRONOUNS = frozenset(_PRONOUN_WORDS.split())
_SUBJECTS = _PRONOUNS | frozenset(_SUBJECT_WORDS.split())


def split_marked(text: str, names: Collection[str]) -> list[tuple[str, tuple[str, ...]]]:
    """Return each statement of a text with the citations in it or after it that are among `names`.

    Every mark of a group counts; brackets without such a name stay in the text.

    >>> split_marked("It is 8,848 m high [a][b], and it lies in Nepal [c]. It is old.", {"a", "b", "c"})
    [('It is 8,848 m high.', ('a', 'b')), ('It lies in Nepal.', ('c',)), ('It is old.', ())]
    """
    groups: list[list[str]] = []

    def place_marks(match: re.Match[str]) -> str:
        """Return a group of marks as one character, moved before the full stop that it follows."""
        cited = [name for name in _NAME.findall(match["marks"]) if name in names]
        if not cited or len(groups) > _LAST - _FIRST:
            return match[0]
        groups.append(cited)
        placeholder = f" {chr(_FIRST + len(groups) - 1)}"
        rest = text[match.end() :].lstrip()
        ends = match["stop"] or ("." if rest[:1].isupper() and _stands_alone(rest) else "")
        return placeholder + ends + (" " if rest else "")

    marked_statements: list[tuple[str, tuple[str, ...]]] = []
    for statement in statements(_GROUP.sub(place_marks, _PLACES.sub("", text))):
        cited = [name for mark in _PLACES.findall(statement) for name in groups[ord(mark) - _FIRST]]
        bare = re.sub(r" (?=[.,;:!?])", "", " ".join(_PLACES.sub(" ", statement).split()))
        if tidy(bare):
            marked_statements.append((bare, tuple(dict.fromkeys(cited))))
        elif marked_statements:  # marks alone belong to the statement before them
            previous, names_before = marked_statements[-1]
            marked_statements[-1] = (previous, tuple(dict.fromkeys((*names_before, *cited))))
    return marked_statements


def _stands_alone(rest: str) -> bool:
    """Return whether the sentence after a mark has a subject and a verb."""
    first, last = (sentences(rest) or [(0, 0)])[0]
    return _is_clause(rest[first:last]) and _has_subject(rest[first:last])


def statements(text: str) -> list[str]:
    """Return the statements of a text: its sentences, divided into independent clauses.

    A sentence is divided only where both parts have a verb and the second has a subject; doubtful cases stay
    together.

    >>> statements("The tower was built in 1890, and the bridge was opened in 1901. Salt and oil are cheap.")
    ['The tower was built in 1890.', 'The bridge was opened in 1901.', 'Salt and oil are cheap.']
    """
    spans: list[tuple[int, int]] = []
    for first, last in sentences(text):
        before = text[slice(*spans[-1])] if spans else ""
        is_open = before.count("(") > before.count(")") and len(before) < _LONGEST_SENTENCE
        if is_open or _ABBREVIATION.search(before):
            spans[-1] = (spans[-1][0], last)  # a title, an initial or an open bracket ends no sentence
        else:
            spans.append((first, last))
    return [tidy(part) for first, last in spans for part in _clauses(text[first:last]) if tidy(part)]


def spell_out(statement: str, before: str) -> str:
    """Return a statement with its leading pronoun replaced by the subject of the statement before.

    The subject is what precedes the first verb. Only the subject is given to the judge, because the whole
    statement before would let its quotes support this statement too.

    >>> spell_out("It lies in Nepal.", "Mount Everest is 8,849 m high.")
    'Mount Everest lies in Nepal.'
    >>> spell_out("The town lies there.", "It rained.")
    'The town lies there.'
    """
    pronoun, _, rest = statement.partition(" ")
    pronoun_key = pronoun.casefold()
    words = before.split()
    verb = next((at for at, word in enumerate(words) if at and _is_verb(word)), 0)
    subject = " ".join(words[:verb]).rstrip(",")
    if pronoun_key not in _STANDING_FOR or not 0 < verb <= _MOST_SUBJECT or words[0].casefold() in _PRONOUNS:
        return statement
    return f"{subject}{'’s' if pronoun_key in ('its', 'his', 'her', 'their') else ''} {rest}"


def tidy(part: str) -> str:
    """Return a clause as a sentence: without its conjunction, with a capital letter and a full stop."""
    bare = re.sub(r"^[\s,;.:]*(?:(?:and|but|while|whereas)\s+)?", "", part, flags=re.IGNORECASE).strip()
    bare = bare.rstrip(" ,;:")
    if not any(map(str.isalnum, bare)):
        return ""
    return bare[:1].upper() + bare[1:] + ("" if bare[-1] in '.!?。！？…"”’)' else ".")


def _clauses(sentence: str) -> list[str]:
    parts, start = [], 0
    for match in _JOINT.finditer(sentence):
        left, right = sentence[start : match.start()], sentence[match.end() :]
        if _is_clause(left) and _is_clause(right) and _has_subject(right):
            parts.append(left)
            start = match.end()
    return [*parts, sentence[start:]]


def _is_clause(part: str) -> bool:
    """Return whether a part of a sentence has at least three words and a verb after the first."""
    words = part.split()
    return len(words) >= 3 and any(map(_is_verb, words[1:]))


def _is_verb(word: str) -> bool:
    bare = word.strip(".,;:!?()[]\"'“”").casefold()
    return bare in _VERBS or (len(bare) > 4 and bare.endswith("ed"))


def _has_subject(part: str) -> bool:
    """Return whether it begins like a subject with a verb near: "the bridge was", not "pepper are"."""
    words = [word.strip(".,;:!?()[]\"'“”") for word in part.split()[:7]]
    begins = words[0].casefold() in _SUBJECTS or words[0][:1].isupper() or words[0][:1].isdigit()
    return begins and any(word.casefold() in _VERBS or word.endswith("ed") for word in words[1:])
