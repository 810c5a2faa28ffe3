"""Grounds: which words of a question a passage names where it gives its answer.

A value is of what the title, the heading, the beginning and the sentence about it speak of. Of two values the one whose
passage names what is asked for, where the other names a part of it, is the answer; no date and no vote makes up for it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType

from disputatio.reliability.similarity import content_stems
from disputatio.strategies.disputation.kinds import OF_KINDS, of_organisations
from disputatio.strategies.disputation.reading import SURE, PassageReading
from disputatio.text import bare_words, sentences, stem
from disputatio.values import is_yes_or_no, states

OPENING = 200  # characters of a passage in which it names its subject
CLEARLY = 2  # words of a question by which a passage must name more than another one
HARDLY = (
    1 / 3
)  # share of a question's words up to which a passage is of something else, whatever votes it has
DOUBTFUL = 0.62  # the probability below which a reader hardly takes a passage for an answer
# Words of questions that no text has to have which answers them: persons that ask, needs, measures of how often.
_UNTELLING = content_stems(
    "i me my we us our you your they he she one any anyone anybody someone people per at up out if too through most "
    "least need needs needed come comes came got ever every often once new happen happens possible allowed"
)
# A name with the noun before it, or what is said of it after: "the geologist Anna Lund", "Jon Berg of the fire brigade".
_CAPITAL = r"[A-ZÀ-ÖØ-Þ][\w’'-]{1,30}"
_DESCRIBED = re.compile(
    rf"\b(?:the\s+)?(?P<noun>[a-zß-ÿ]{{4,30}})\s(?P<name>{_CAPITAL}(?:\s{_CAPITAL}){{1,3}})"
    rf"|(?P<owner>{_CAPITAL}(?:\s{_CAPITAL}){{1,3}})\s(?:of|from|in|at)\s(?:the\s+)?(?P<place>{_CAPITAL}|[a-z]{{3,30}}(?:\s[a-z]{{4,30}})?)"
)
_NO_NOUNS = frozenset({
    *("does", "have", "were", "will", "when", "what", "that", "with", "from", "which", "whom", "into", "said", "than"),
    *("about", "after", "before", "between", "must", "should", "would", "could", "near", "under", "over", "than"),
    *("called", "named", "born", "made", "than", "says", "join", "leave", "live", "work", "play"),
})  # fmt: skip


def share_named(question: str, reading: PassageReading) -> float:
    """Return the share of a question's content words that a passage begins with, or that stand about its answer:
    in the heading above, the sentence before and its own.
    """
    stems = content_stems(question)
    if not stems:
        return 1.0
    return max(len(stems & _stems(text)) for text in (_get_beginning(reading), _around(reading))) / len(stems)


def stems_named(question: str, readings: Sequence[PassageReading]) -> frozenset[str]:
    """Return the stems of a question's content words that the best of some passages names."""
    stems = content_stems(question)
    named = [
        stems
        & (
            _stems(_get_beginning(each))
            | _stems(_around(each))
            | _stems(f"{each.passage.owner} {each.passage.source}")
        )
        for each in readings
    ]
    return max(named, key=len, default=frozenset())


def says_more(question: str, named: Collection[str], rival: Collection[str]) -> bool:
    """Return whether a passage names all that a rival's names of a question, and clearly more of it.

    Words that tell no more than the kind of value count for neither, nor do names of organisations. One word more is enough where it tells the one of
    two things of the same name that is asked about, or is all that the question asks of what both name.

    >>> question = "When was the geologist Anna Lund born?"
    >>> says_more(question, {"anna", "lund", "geolo"}, {"anna", "lund", "born"})
    True
    >>> says_more("How deep is Lake Orre?", {"deep", "lake", "orre"}, {"lake", "orre"})
    False
    >>> says_more("How long does it take to charge the Corrie?", {"charg", "corri"}, {"corri"})
    True
    """
    unsaid = OF_KINDS | of_organisations(question)
    mine, other = set(named) - unsaid, set(rival) - unsaid
    names = stems_of_names(question) - unsaid
    if has_the_name(question, named, rival):
        return True
    if not other < mine:
        return False
    asked = content_stems(question) - unsaid - names
    is_property = bool(asked) and bool(names & other) and asked <= mine and not asked & other
    return len(mine - other) >= CLEARLY or is_property


def has_the_name(question: str, named: Collection[str], rival: Collection[str]) -> bool:
    """Return whether a passage has the name that is asked about, where a rival's has none of it or is of a namesake.

    Papers of an organisation need not name it.
    """
    unsaid = OF_KINDS | of_organisations(question)
    mine, other = set(named) - unsaid, set(rival) - unsaid
    names = stems_of_names(question) - unsaid
    if len(names & mine) >= CLEARLY and not names & other and len(mine) > len(other):
        return True
    return _is_told_apart(question, mine - other, other)


def stems_of_names(question: str) -> frozenset[str]:
    """Return the stems of the names in a question, and of its figures: what others cannot say in other words."""
    words = question.split()[1:]
    named = [word for word in words if word[:1].isupper() or any(map(str.isdigit, word))]
    return frozenset(map(stem, bare_words(" ".join(named)))) & content_stems(question)


def _is_told_apart(question: str, more: Collection[str], rival: Collection[str]) -> bool:
    """Return whether one passage names which bearer of a name is asked about, and a namesake does not."""
    for match in _DESCRIBED.finditer(question):
        if match["noun"] in _NO_NOUNS:
            continue
        name = {stem(word) for word in bare_words(match["name"] or match["owner"])}
        told = {stem(word) for word in bare_words(match["noun"] or match["place"])}
        if name <= set(rival) and told <= set(more):
            return True
    return False


def find_answer_lines(reading: PassageReading) -> list[str]:
    """Return the sentences, or lines, in which a passage gives its answer.

    >>> from disputatio.types import Passage, Reply
    >>> passage = Passage(text="Range: 15 m. Weight: 2 kg.\\nSupply: 7 V")
    >>> find_answer_lines(PassageReading(passage=passage, reply=Reply(passages=(), answer="2 kg")))
    ['Weight: 2 kg.']
    """
    text = reading.passage.text
    lines = [line for first, last in sentences(text) for line in text[first:last].split("\n")]
    return [line for line in lines if states(line, reading.answer)]


def find_openings(readings: Sequence[PassageReading]) -> dict[str, str]:
    """Return, by document, the words with which each begins, as far as that was read: it names its subject there,
    and no section need name it again.
    """
    first: dict[str, PassageReading] = {}
    for reading in readings:
        known = first.get(reading.passage.document)
        if reading.passage.document and (known is None or reading.passage.start < known.passage.start):
            first[reading.passage.document] = reading
    return {
        document: _get_beginning(reading) for document, reading in first.items() if not reading.passage.start
    }


def is_of_nothing_asked(
    question: str, reading: PassageReading, openings: Mapping[str, str] = MappingProxyType({})
) -> bool:
    """Return whether a passage names nothing of what a question asks, be it of the thing or the property.

    None of the words of the question stands in it. Or it names the thing and not the one property, and its reader was not
    sure; or it and the opening of its document lack several of the words, and its reader hardly took it for an answer.
    """
    stems = content_stems(question) - OF_KINDS - _UNTELLING
    passage = reading.passage
    whole = _stems(f"{passage.text} {_around(reading)} {passage.owner} {passage.source}")
    if not question.isascii() or not stems or (reading.answered is not None and reading.answered > SURE):
        return False
    if not stems & stems_named(question, [reading]):
        return True
    if is_yes_or_no(reading.answer):  # a sentence that denies something says it in words of its own
        names = [word for word in question.split()[1:] if word.istitle()]  # "POP3" is a thing
        things = stems - _stems(f"{passage.title} {' '.join(names)}")
        return len(things) >= CLEARLY and not things & _stems(passage.text)
    asked = stems - stems_of_names(question)
    is_doubtful = reading.answered is not None and reading.answered < DOUBTFUL
    unsaid = stems - of_organisations(question) - whole - _stems(openings.get(passage.document, ""))
    return (len(asked) == 1 and not asked & whole) or (is_doubtful and len(unsaid) >= CLEARLY)


def _stems(text: str) -> frozenset[str]:
    return frozenset(map(stem, bare_words(text)))


def _get_beginning(reading: PassageReading) -> str:
    passage = reading.passage
    return f"{passage.title} {passage.text}"[: OPENING + len(passage.title)]


def _around(reading: PassageReading) -> str:
    """Return the title, the heading, and the sentences in which a passage gives its answer."""
    passage, before = reading.passage, ""
    stating: list[str] = []
    for first, last in sentences(passage.text):
        sentence = passage.text[first:last]
        if states(sentence, reading.answer):
            stating = [before, sentence]
            break
        before = sentence
    return " ".join([passage.title, passage.metadata.get("heading", ""), *stating])
