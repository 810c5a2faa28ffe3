"""The thing that a question asks about: whether a passage speaks of it, or of another of its kind.

A thing is a model or serial number ("X200"), a numbered one ("version 2", "room 14"), a year, or a name. A passage
that names another one and not this one gives no answer; where nothing is told, no answer is refused.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from disputatio.reliability.similarity import content_stems
from disputatio.strategies.disputation.kinds import of_organisations
from disputatio.strategies.disputation.reading import PassageReading
from disputatio.strategies.disputation.rows import find_marked_rows, is_about_another, is_row
from disputatio.text import sentences, stem
from disputatio.types import Passage
from disputatio.values import is_yes_or_no, states
from disputatio.values.units import UNIT
from disputatio.versions.asked import find_asked, of_today
from disputatio.versions.families import is_version

# Letters and digits in one word or joined by a hyphen: X200, GT-40, 3b; and what may stand after it.
_CODE = re.compile(r"(?<![\w-])(?=[\w-]{0,12}\d)(?=[\w-]{0,12}[^\W\d_])[^\W_][\w-]{1,23}(?![\w-])")
_VARIANT = r"(?:pro|plus|max|mini|lite|ultra|air|xl|xs|se|gt|neo|ii|iii)"
_SUFFIX = re.compile(rf"\s{_VARIANT}\b", re.IGNORECASE)
_ORDINAL = re.compile(r"\d+(?:st|nd|rd|th|s|er|e|ème)|\d+(?:am|pm|h|k|m|bn|x|d)", re.IGNORECASE)
_NUMBERED = re.compile(
    r"(?<!\w)(?P<of>version|release|revision|edition|room|article|section|clause|chapter|phase|line|class|type|model"
    r"|series|level|grade|unit|building|gate|platform|terminal|annex|tier|stage|zone|group|batch|lot|site|plant|no|nr"
    r"|fassung|ausgabe|artikel|abschnitt|kapitel|linie|klasse|raum|stufe|§)\.?\s*"
    r"(?P<number>\d{1,6}(?:\.\d{1,4}){0,3}|(?<=[\s.])(?-i:[A-Z]))(?![\w.]?\w)",
    re.IGNORECASE,
)
_VERSION = re.compile(r"(?<![\w.])v\.?\s?(?P<number>\d{1,4}(?:\.\d{1,4}){0,3})(?![\w.]?\w)", re.IGNORECASE)
_SAME_WORD = {"release": "version", "revision": "version", "fassung": "version", "artikel": "article", "nr": "no",
              "abschnitt": "section", "kapitel": "chapter", "linie": "line", "klasse": "class", "raum": "room"}  # fmt: skip
_NAMED_NUMBER = re.compile(
    r"(?<!\w)(?P<of>[A-ZÄÖÜ][\w’'-]{1,30})\s(?P<number>\d{1,5}(?:\.\d{1,4}){0,3}[A-Za-z]{0,2})(?![\w%€$.,:/-]?\w|\s?[%€$£])"
)
_YEAR = re.compile(r"(?<![\w.,/-])(?:19|20)\d\d(?![\w/-]|[.,]\d)")
_IN_YEAR = re.compile(r"\b(?:in|for|of|during|im\s+jahr|für)\s+(?:the\s+(?:financial\s+|fiscal\s+)?year\s+|fy\s?)?(?P<year>(?:19|20)\d\d)(?![\w/-])",
                      re.IGNORECASE)  # fmt: skip
_LASTING = re.compile(
    r"\b(?:since|from|effective|force|until|till|between|to|as\s+of|valid|ab|seit|bis|gültig|gilt)\b|[-–—]\s?(?:19|20)\d\d"
    r"|(?:19|20)\d\ds|起",
    re.IGNORECASE,
)
_MONTHS_WORDS = """
january february march april may june july august september october november december jan feb mar apr jun
jul aug sep sept oct nov dec januar februar märz mai juni juli oktober dezember q
"""
_MONTHS = frozenset(_MONTHS_WORDS.split())
_CAPITAL = r"[A-ZÀ-ÖØ-Þ][\w’'-]{0,30}[^\W\d_]"
_NAME = re.compile(rf"(?<![\w-]){_CAPITAL}(?:\s{_CAPITAL}){{0,4}}")
_TITLES = ("Dr.", "Mr.", "Mrs.", "Ms.", "St.", "Prof.", "No.")  # before names, and no ends of sentences
_NOUN = re.compile(r"\s([a-zß-ÿ]{3,30})\b")
_NO_NAMES_WORDS = """
the a an in on of and or but at by for from to with as is was were are its his her their our this that new old mr mrs
ms dr prof sir saint st
"""
_NO_NAMES = frozenset(_NO_NAMES_WORDS.split())
_NO_NOUNS_WORDS = """
and are but can cost did does for from had has have how into its located made may must not now off open opened over
per play plays released say says set that the their there they this was were what when where which while who will
with work works would year years
"""
_NO_NOUNS = frozenset(_NO_NOUNS_WORDS.split())
# Attributes and groups that have few names, as questions and as texts name them: what never mentions one does not
# speak of it.
_MENTIONED = tuple(
    (re.compile(asked, re.IGNORECASE), re.compile(f"{asked}|{also}", re.IGNORECASE))
    for asked, also in (
        (
            r"salary|salaries|\bwages?\b|gehalt|工资|薪",
            r"\bpaid\b|\bpays?\b|\bearns?\b|remunerat|compensat|lohn|verdien",
        ),
        (
            r"\b(?:tele)?phone\s+(?:number|extension)|telefonnummer|电话",
            r"phone|\btel\b|\bcall|extension|telefon|durchwahl",
        ),
        (r"\be-?mail\s+address|邮箱", r"e-?mail|\S@\S"),
        (r"\bbatter(?:y|ies)\b|\bakku|电池", r"charg|\bcells?\b|batterie"),
        (
            r"\bwarranty\b|(?<!p[oô]t\sde\s)(?<!p[oô]ts\sde\s)\bgarantie|保修",
            r"warrant|guarantee|gewährleistung",
        ),
        (r"\bd[ée]p[oô]ts?\sde\sgarantie", r"\bgarantie|\bcaution|\bconsign|\bd[ée]p[oô]t"),
        (r"\bapprentices?\b|auszubildende|学徒", r"apprentic|trainee|auszubild|\bazubi"),
        (r"\binterns?\b|praktikant|实习", r"\bintern(?:s|ships?)?\b|praktik"),
        (r"\bcontractors?\b|\bfreelancers?\b", r"contractor|freelanc|self-employed"),
        (r"\bpart-?time(?:rs?)?\b|teilzeit|兼职", r"part-?time"),
    )
)
# What follows, to the end of the mark, is what something else is compared with.
_RELATED = re.compile(
    r"\b(?:sister|brother|sibling|twin|successor|predecessor|than|unlike|compared|replac\w{1,5}|instead|alternative"
    r"|companion|schwester|bruder|nachfolger\w{0,2}|vorgänger\w{0,2}|(?<=er\s)als|s[œo]eur|successeur|prédécesseur)\b"
    r"(?:\s(?:of|to|for|with|von|zu|de|du))?(?:\s(?:the|its|our|der|des|die|das|la|le))?"
    r"\s[^\W\d_][\w’'-]{0,30}(?:\s\d{1,5}[A-Za-z]{0,2}|(?<=\d)|(?=\W))",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W_]+")
_PLUS = re.compile(r"(?<=\w)\+")
_FOLDED = re.compile(r"[\W_]+")
_GERMAN = re.compile(
    r"\b(?:der|die|das|ist|wie|wer|wann|wo|welche[rs]?|und|für|im|den|dem|des|ein|eine)\b", re.IGNORECASE
)
_BEGINNING = 200  # characters of a passage in which it names what it is about
_LOWER_WORDS = 2  # words in small letters from which capitals are taken for names


@dataclass(frozen=True, slots=True)
class Thing:
    """A thing by its mark: `of` is the kind of mark by which others of its kind are known."""

    of: str
    mark: str


def things_of(text: str) -> frozenset[Thing]:
    """Return the things that a text marks by codes and numbers.

    >>> sorted((thing.of, thing.mark) for thing in things_of("Does the X200 Pro fit version 2 of the Kestrel 900?"))
    [('kestrel', '900'), ('version', '2'), ('x9', 'x200 pro')]
    """
    return frozenset(_things(text))


def sources_named(question: str, sources: Iterable[str]) -> frozenset[str]:
    """Return the sources whose name a question has as a name, with a capital; with or without accents.

    >>> sorted(sources_named("What is Arvène's fee for the canteen of Oak Ltd?", ["arvene", "canteen", "Oak Ltd", "Oak Hill"]))
    ['Oak Ltd', 'arvene']
    >>> sources_named("Does Oak+ still run?", ["oak-plus"])
    frozenset({'oak-plus'})
    """
    question = _PLUS.sub(" plus", question)
    words = [(_space_words(each[0]), each.start()) for each in _WORD.finditer(question)]
    capital = [question[at].isupper() and not _begins_sentence(question, at) for _, at in words]
    asked = [word for word, _ in words]

    def is_named(name: list[str]) -> bool:
        return any(
            asked[at : at + len(name)] == name and any(capital[at : at + len(name)])
            for at in range(len(asked))
        )

    return frozenset(each for each in sources if content_stems(each) and is_named(_space_words(each).split()))


def speaks_of_asked(
    question: str, answer: str, passage: Passage, named: frozenset[str] = frozenset()
) -> bool | None:
    """Return whether a passage gives an answer of the thing that a question asks about.

    False where what states the answer, or the passage about it, names another thing of the kind and not this one,
    or the question has `named` sources and the passage is of none and has no word of their names; None where it names none.

    >>> row = Passage(text="Pump: X210; Weight: 14 kg.")
    >>> speaks_of_asked("What does the X200 weigh?", "14 kg", row)
    False
    >>> speaks_of_asked("What does the X210 weigh?", "14 kg", row), speaks_of_asked("Who?", "14 kg", Passage(text="No."))
    (True, None)
    """
    if find_asked(question).previous:  # "before version 2" asks about no thing of that number
        question = of_today(question)
    verdicts = [
        *(_tells(thing, answer, passage) for thing in _find_asked(question)),
        _tells_year(question, answer, passage),
        _tells_name(question, passage),
        False if is_about_another(question, passage.text) else None,
        _tells_attribute(question, passage),
        False if named and _is_of_another_source(passage, named) else None,
    ]
    if False in verdicts:
        return False
    return True if True in verdicts else None


def of_what_is_asked(
    question: str, readings: Sequence[PassageReading], named: frozenset[str], talk: frozenset[str]
) -> tuple[PassageReading, ...]:
    """Return the readings of one answer without documents of another thing, where others are of what is asked.

    The same value of another thing ("the X210 weighs 14 kg, too") bears nothing out. `talk` counts for itself.
    """
    others = {
        each.passage.id
        for each in readings
        if each.passage.id not in talk
        and speaks_of_asked(question, each.answer, each.passage, named) is False
    }
    kept = tuple(each for each in readings if each.passage.id not in others)
    return kept if any(each.passage.id not in talk for each in kept) else tuple(readings)


def _is_of_another_source(passage: Passage, named: frozenset[str]) -> bool:
    """Return whether a passage is of no source that was named and has no word of their names."""
    told, own = _fold_passage(passage), set(_space_words(passage.source).split())
    names = [{word for word in _space_words(name).split() if content_stems(word)} for name in named]
    is_mentioned = any(words <= own or any(word in told for word in words - own) for words in names)
    return bool(passage.source) and not is_mentioned


@lru_cache(maxsize=512)
def _find_asked(question: str) -> frozenset[Thing]:
    return things_of(question)


def _tells(asked: Thing, answer: str, passage: Passage) -> bool | None:
    """Return whether the nearest mark of the asked kind is the asked one, over all places that state the answer."""
    before: bool | None = None
    verdicts: list[bool | None] = []
    whole = f"{_head(passage)} {passage.text} {passage.source} {passage.family}".casefold()
    if asked.of.isalpha() and not _NUMBERED.match(f"{asked.of} 1") and asked.of not in whole:
        return False  # the name before the number stands nowhere
    if is_yes_or_no(answer) and _is_in_order(asked, passage.text) and not find_marked_rows(passage.text):
        return _verdict(asked, passage.title)  # "Python 3.8 or later" says no of Python 3.7
    head = _verdict(asked, _head(passage))
    for sentence in _lines(passage.text):
        here = _verdict(asked, sentence)
        before = here if here is not None else before
        if states(sentence, answer):
            verdicts.append(before if before is not None else head)
    if not verdicts:
        verdicts = [head if head is not None else _verdict(asked, passage.text)]
    if True in verdicts:
        return True
    return False if False in verdicts else None


def _is_in_order(asked: Thing, text: str) -> bool:
    """Return whether the numbers of this kind are versions, which follow each other, and no names as of rooms."""
    marks = [asked.mark, *(thing.mark for thing in things_of(text) if thing.of == asked.of)]
    return asked.of == "version" or any("." in mark for mark in marks)


def _lines(text: str) -> Iterator[str]:
    """Yield the sentences of a text, those of lists line by line."""
    for first, last in sentences(text):
        yield from filter(None, map(str.strip, text[first:last].split("\n")))


def _verdict(asked: Thing, text: str) -> bool | None:
    """Return whether a text marks the asked thing; None where it marks nothing of the kind.

    What another thing is compared with is not what the text is about: "the larger sister of the Auk 40".
    """
    marks = {thing.mark for thing in things_of(_RELATED.sub(" ", text)) if thing.of == asked.of}
    return any(is_version(asked.mark, mark) for mark in marks) if marks else None


def _head(passage: Passage) -> str:
    return " ".join((passage.title, passage.metadata.get("heading", ""), passage.url))


def _things(text: str) -> Iterator[Thing]:
    for match in _CODE.finditer(text):
        code = match[0]
        if _ORDINAL.fullmatch(code) or (UNIT.match(code.lstrip("0123456789.,")) and code[0].isdigit()):
            continue
        suffix = _SUFFIX.match(text, match.end())
        bare = _FOLDED.sub("", code).casefold()
        shape = re.sub(r"\d+", "9", bare)
        yield Thing(shape, f"{bare}{suffix[0].casefold() if suffix else ''}")
    for match in _NUMBERED.finditer(text):
        of = match["of"].casefold()
        yield Thing(_SAME_WORD.get(of, of), match["number"].casefold())
    for match in _VERSION.finditer(text):
        yield Thing("version", match["number"])
    for match in _NAMED_NUMBER.finditer(text):
        of = match["of"].casefold()
        if (
            of not in _MONTHS
            and not UNIT.match(text, match.end() + 1)
            and not _YEAR.fullmatch(match["number"])
            and not match["number"].endswith(("st", "nd", "rd", "th"))
        ):
            yield Thing(of, match["number"].casefold())


def _tells_year(question: str, answer: str, passage: Passage) -> bool | None:
    """Return whether what states the answer is of the year that is asked about.

    None where the passage gives no year, gives it elsewhere, or says since when something holds.
    """
    asked = {match["year"] for match in _IN_YEAR.finditer(question)}
    if len(asked) != 1 or len(set(_YEAR.findall(question))) != 1:
        return None
    [year] = asked
    if year in f"{passage.title} {passage.text} {passage.date}":
        return None
    stating = [
        passage.text[first:last]
        for first, last in sentences(passage.text)
        if states(passage.text[first:last], answer)
    ]
    others = [sentence for sentence in stating if _YEAR.search(sentence) and not _LASTING.search(sentence)]
    return False if stating and len(others) == len(stating) else None


def _tells_name(question: str, passage: Passage) -> bool | None:
    """Return False where a passage names another than the question: of the same noun or family name, in a row
    of a table, or as what the whole passage is about; None elsewhere.
    """
    names = _names(question)
    if not names:
        return None
    folded = _fold_passage(passage)
    organisations = of_organisations(question)
    if _names_another(passage) and any(
        all(word[0].isupper() and stem(_fold(word)) not in folded for word in name)
        and not organisations & set(map(stem, map(_fold, name)))
        for name in names
        if len(name) > 1
    ):
        return False
    if any(stem(_fold(word)) in folded for name in names for word in name[:1]):
        return None
    if is_row(passage.text):
        every = {_fold(word) for name in names for word in name if word[0].isupper()}
        return None if any(stem(word) in folded for word in every) else False
    text = f"{passage.title}. {passage.text}"
    return False if any(_has_rival(name, text) for name in names) else None


def _names_another(passage: Passage) -> bool:
    """Return whether a passage begins with a name of several words, or its title does and the text has it, too."""
    beginning = passage.text[:_BEGINNING].lstrip()
    match = _NAME.match(passage.title or beginning)
    return match is not None and " " in match[0] and match[0] in beginning


def _tells_attribute(question: str, passage: Passage) -> bool | None:
    """Return False where a question asks for an attribute, or of a group, that a passage never mentions."""
    text = f"{_head(passage)} {passage.text}"
    missing = any(asked.search(question) and not named.search(text) for asked, named in _MENTIONED)
    return False if missing else None


def _has_rival(name: tuple[str, ...], text: str) -> bool:
    """Return whether a text has the last word of a name after another capital word, and never after the first."""
    if len(name) != 2 or name[1].isupper():
        return False
    before = re.findall(rf"(?<![\w’'-])(\w[\w’'-]*+)\s++{re.escape(name[-1])}\b", text)
    others = [word for word in before if word[0].isupper() and word.casefold() not in _NO_NAMES]
    return bool(others) and len(others) == len(before)


def _fold_passage(passage: Passage) -> str:
    told = (passage.title, passage.text, passage.source, passage.owner, passage.url)
    return _fold(" ".join((*told, *passage.metadata.values())))


def _fold(word: str) -> str:
    return _space_words(word.removesuffix("'s").removesuffix("’s")).replace(" ", "")


def _space_words(text: str) -> str:
    """Return the words of a text in small letters without accents, with a space between them."""
    plain = unicodedata.normalize("NFKD", text.casefold())
    return _FOLDED.sub(" ", "".join(filter(lambda char: not unicodedata.combining(char), plain))).strip()


def _begins_sentence(text: str, start: int) -> bool:
    """Return whether a sentence of a text begins at a place, after whatever marks open it.

    >>> _begins_sentence("We met. How?", 8), _begins_sentence("Is Dr. Lund in?", 7)
    (True, False)
    """
    before = text[max(0, start - 12) : start].rstrip(" \t\n\"'“«(¿¡")
    return not before or (before[-1] in ".!?:" and not before.endswith(_TITLES))


@lru_cache(maxsize=512)
def _names(question: str) -> frozenset[tuple[str, ...]]:
    """Return the names in a question by their capitals, each with the noun after it where it is one word.

    None where the language or the writing does not tell them.

    >>> sorted(_names("How large is the Elbe warehouse of Ada Lund that burnt down?"))
    [('Ada', 'Lund'), ('Elbe', 'warehouse')]
    """
    words = question.split()
    lower = sum(word.strip("?,.").isalpha() and word.islower() for word in words)
    if lower < _LOWER_WORDS or len(_GERMAN.findall(question)) > 1:
        return frozenset()
    found = []
    for match in _NAME.finditer(question):
        parts = match[0].split()
        if _begins_sentence(question, match.start()) or (
            len(parts) == 1 and parts[0].isupper() and len(parts[0]) <= 5
        ):
            continue
        after = _NOUN.match(question, match.end())
        if len(parts) == 1 and after and after[1] not in _NO_NOUNS:
            parts.append(after[1])
        if _fold(parts[0]) not in _MONTHS and len(_fold(parts[0])) > 2:
            found.append(tuple(parts))
    return frozenset(found)
