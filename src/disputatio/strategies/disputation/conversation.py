"""Conversations, told by the form of their lines, and hearsay: nobody answers for what is only said (`sides`)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from disputatio.types import Passage

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
            r"\bit\sis\s(?:said|rumou?red)\b|,\sit\sis\sunderstood\b|\bdem\sVernehmen\snach\b",
            r",\s(?:hört|munkelt|sagt)\sman\b|\bman\smunkelt\b",
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
_NAME = r"(?:\+\d|[@~]?[^\W\d])[^\n:<>\[\]()|*,;=\"“„?!/\\]{0,29}?"
_MONTH = r"[^\W\d_]{3,9}\.?"
_DAY = (
    rf"(?:\d{{1,4}}[./-]\d{{1,2}}[./-]\d{{0,4}}|\d{{1,2}}(?:st|nd|rd|th|er|\.)?\s{_MONTH}(?:\s\d{{4}})?"
    rf"|{_MONTH}\s\d{{1,2}}(?:st|nd|rd|th)?,?\s\d{{4}})"
)
_CLOCK = r"\d{1,2}[:h.]\d\d(?::\d\d)?(?:\s?[ap]\.?m\b\.?|\sUhr|Z)?"
_AGO = (
    r"(?:\d{1,3}\s?(?:min(?:ute)?s?|h(?:ou)?rs?|days?|weeks?|months?|years?|[hdwmy])\sago|vor\s\d{1,3}\s[^\W\d_]{3,8}"
    r"|il\sy\sa\s\d{1,3}\s[^\W\d_]{2,8})"
)
_TIME = rf"(?:{_AGO}|(?:[^\W\d_]{{2,9}}\.?,?\s)?(?:{_DAY}(?:(?:,?\s(?:(?:at|um|à)\s)?|T){_CLOCK})?|{_CLOCK}(?:,?\s{_DAY})?))"
_BEFORE = rf"(?:[-*•]\s(?=[\[*\d]))?(?:\[?(?P<before>{_TIME})\]?(?:\s?[-–—]\s|\s))?"
_AFTER = rf"(?:,\s?|\s?[-–—·•]\s|\s?[(\[]|\s)(?P<after>{_TIME})[)\]]?"
_POSTS = (
    re.compile(rf"{_BEFORE}(?P<name>{_NAME})(?:{_AFTER})?\s?:(?:\s(?P<text>.{{1,300}}))?$"),
    re.compile(rf"{_BEFORE}<(?P<name>{_NAME})>\s(?P<after>)(?P<text>.{{1,300}})$"),
    re.compile(
        rf"{_BEFORE}\*\*(?P<name>{_NAME})\s?:?\*\*(?:{_AFTER})?\s?[:,–—-]?(?:\s(?P<text>.{{1,300}}))?$"
    ),
    re.compile(rf"(?P<before>)(?P<name>{_NAME}){_AFTER}(?P<text>)$"),  # above what is said
)
_WRITES = r"(?:wrote|writes|schrieb|a\sécrit)"
_LETTERS = (
    re.compile(rf"(?:on|le)\s.{{2,50}}\d(?:\s?[ap]m)?,?\s(?P<name>[^\W\d].{{1,70}}?)\s{_WRITES}\s?:$", re.I),
    re.compile(r"am\s.{2,50}\d(?:\sUhr)?,?\sschrieb\s(?P<name>.{2,70}?)\s?:$", re.I),
    re.compile(rf"(?P<name>{_NAME})\s{_WRITES}(?:,?\s(?:on|am|le)\s{_TIME})?\s?:$", re.I),
    re.compile(rf"(?:posted\s)?(?:by|von|par)\s(?P<name>{_NAME}),?\s(?:on|am|le|»)\s{_TIME}$", re.I),
)
_FROM = re.compile(r"(?:from|von|de)\s?:\s(?P<name>\S.{1,80})$", re.I)
_REPLY = re.compile(r"(?:subject|betreff|objet)\s?:.{0,40}\b(?:re|aw|antw)\s?:", re.I)
_BROKEN = re.compile(rf"\n[> ]{{0,8}}(?={_WRITES}\s?:)")  # where a mail program broke a line
_TOPIC = re.compile(
    r"#{1,6}\s|>>\s|\[[^\]]{1,80}\]$|[-=_*~]{3}|(?:\[|>>\s|\*\*)?(?:re|aw|topic|thread|thema|sujet)\b", re.I
)
_PLACE = re.compile(
    r"forum\b|\bfor(?:ums|en)\b|chats?\b|\bthread\b|\bmailing[\s-]?list|\bnewsgroup\b|\bliste\sde\sdiffusion\b"
    r"|\bfil\sde\sdiscussion\b|\bboard\b(?!\s(?:minutes|meetings?|of|members?|papers?|decisions?))",
    re.I,
)
_HANDLE = re.compile(r"@?[^\W\dA-ZÄÖÜÉ_]\S{0,30}$|\S{0,30}[\d_]\S{0,30}$")
_SURELY_HANDLE = re.compile(r"\S{0,30}[^\W\d_]\S{0,30}[\d_]")
_NO_NAME = re.compile(r".{1,30}\s\d{1,4}\.?$|[^\W\d_]?[\W\d]*$")  # "Step 2", "v1.2", "Q"
_VOTED = re.compile(
    r"^\[[-–+]\]\s|(?<!\S)u/(?=\w)|(?<=\*)u/(?=\w)|\s\[OP\]|\s-?\d{1,6}\spoints?\s[·•]"
)  # of boards where posts are voted on
_OPEN = (",", ";", "{", "(", "[", "=")  # ends of lines of code, and of no post
LEAST, PIECE = 3, 2  # posts of a conversation, and of a piece of one that its title names, by nicknames
LINES, LONGEST = 400, 300  # lines that are looked at, and their length
WORDS = 3  # words that most posts have: the values of a list have fewer
# Lines below what names a writer alone, and below a post with a time, that are its own.
FOLLOW, AFTER_TIME = 10, 2


class _Post(NamedTuple):
    name: str
    text: str  # empty where it stands below
    times: int  # 1 for a day or a time of day, 2 for both, in brackets, or in a letter's form
    is_letter: bool = False


def is_conversation(passage: Passage) -> bool:
    """Return whether most of a passage are posts of several persons, told from lists of keys and values.

    Times tell them, the word for a place where people talk, and names that come back in no fixed order; keys are
    seldom nicknames and their values no loose sentences.

    >>> talk = "The village board\\nanna_b: 8 pounds I think\\nbo: it was 9 in May\\nanna_b: nobody asked you"
    >>> is_conversation(Passage(text=talk)), is_conversation(Passage(text="Name: Bo\\nFee: 8\\nName: Di\\nFee: 9"))
    (True, False)
    """
    text = _BROKEN.sub(" ", passage.text)
    whole = [stripped[:LONGEST] for line in text.splitlines()[:LINES] if (stripped := line.strip("> \t"))]
    lines = [_VOTED.sub("", line) for line in whole]
    is_digest = any(map(_REPLY.match, lines))
    posts: list[_Post] = []
    told, left = 0, 0  # lines of posts and topics, and those that the last post may still have
    for line in lines:
        post = _post_of(line, is_digest=is_digest)
        if post is not None and (post.times or not (left and posts[-1].is_letter)):
            posts.append(post)
            left = (FOLLOW if not post.text else AFTER_TIME) if post.times else 0
            told += 1
        elif left or _TOPIC.match(line):
            left = max(left - 1, 0)
            told += 1
    names = [post.name.casefold() for post in posts]
    if len(set(names)) < 2 or 2 * told <= len(lines):
        return False
    is_place = any(map(_PLACE.search, (passage.title, passage.family, *lines[:1])))
    are_lower = _are_most([_HANDLE.match(post.name) for post in posts])
    handles = are_lower and any(map(_SURELY_HANDLE.match, names))
    if len(posts) < (PIECE if is_place and handles else LEAST):
        return False
    if _are_most([post.is_letter for post in posts]):
        return True
    if not _are_most([not post.text or len(post.text.split()) >= WORDS for post in posts]):
        return False
    said = " ".join(post.text for post in posts)
    loose = _are_most([post.text[:1].islower() for post in posts])
    again, back = len(set(names)) < len(names), not _are_records(names)
    timed = _are_most([post.times for post in posts])
    if is_place and (back or (handles and _is_lively(said)) or (again and (handles or loose))):
        return True
    if is_place and ((loose and not are_lower) or (timed and (are_lower or loose or "?" in said))):
        return True
    if _are_most([post.times == 2 for post in posts]):
        return handles or loose or again or "?" in said
    if timed:
        return handles or (loose and back)
    return back and (handles or (loose and not are_lower)) and _is_lively(said)


def talk_among(passages: Sequence[Passage]) -> frozenset[str]:
    """Return the passages, by id, that are of conversations and of no declared authority; none if all are."""
    said = {passage.id for passage in passages if not passage.authority and is_conversation(passage)}
    return frozenset(said if any(passage.id not in said for passage in passages) else ())


def _post_of(line: str, *, is_digest: bool) -> _Post | None:
    """Return the post that a line begins; None where it is none."""
    for form in (*_LETTERS, *((_FROM,) if is_digest else ())):
        if (found := form.match(line)) is not None:
            return _Post(found["name"], "", 2, is_letter=True)
    for form in _POSTS:
        if (found := form.match(line)) is None:
            continue
        name, time = found["name"].strip(), found["before"] or found["after"] or ""
        is_phone = name.startswith("+")
        if len(name.split()) > 3 or (not is_phone and (_NO_NAME.match(name) or _is_shouted(name))):
            continue
        if (found["text"] or "").endswith(_OPEN):
            continue
        both = line.startswith(("[", "<")) or (re.search(_DAY, time) and re.search(_CLOCK, time[4:]))
        both = both or re.fullmatch(_AGO, time)  # only pages of posts tell their age
        return _Post(name, found["text"] or "", 2 if both else int(bool(time)))
    return None


def _is_shouted(name: str) -> bool:
    """Return whether a name is written as marks of documents are: NOTE, WARNING."""
    return len(name) > 3 and name.isupper()


def _is_lively(said: str) -> bool:
    """Return whether somebody asks or exclaims, as lists of keys and values do not."""
    return "?" in said or "!" in said


def _are_most(told: Sequence[object]) -> bool:
    return 2 * sum(map(bool, told)) > len(told)


def _are_records(names: Sequence[str]) -> bool:
    """Return whether names come as the keys of records do: none twice in one record, all in one order.

    >>> _are_records(["name", "fee", "name", "fee"]), _are_records(["bo", "di", "di", "bo"])
    (True, False)
    """
    before: set[tuple[str, str]] = set()
    record: list[str] = []
    for name in names:
        if name == names[0]:
            record = []
        if name in record or any((name, other) in before for other in record):
            return False
        before.update((other, name) for other in record)
        record.append(name)
    return True


def is_hearsay(sentence: str) -> bool:
    """Return whether a sentence tells what its writer has from somebody.

    >>> is_hearsay("lorry licence there is about £1,900 my uncle reckons"), is_hearsay("The bank says it is £1,900.")
    (True, False)
    >>> is_hearsay("A second shop opens in May, it is understood."), is_hearsay("It is understood that rent is due.")
    (True, False)
    """
    return _HEARSAY.search(sentence) is not None
