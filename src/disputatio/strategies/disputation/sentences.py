"""A question with its answer filled in, as a sentence with subject, value and unit; no model is asked.

Where the subject of a question ends and its verb begins ("does the ferry to Holm leave") is read from the quote
that gives the answer: it has the verb as a sentence has it ("leaves").
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from disputatio.text import bare_words, one_line
from disputatio.values import canonical, is_yes_or_no, same_answer
from disputatio.versions.days import days_in

LONGEST = 300  # characters of a question that is turned
MOST_OF_THING = 10  # words of what has a length of time
_WHAT = re.compile(r"what (?P<aux>is|are|was|were) (?P<rest>(?:the|its|their|our) .+)", re.IGNORECASE)
_HOW_MUCH = re.compile(
    r"(?:how much|what) (?P<aux>does|do|did) (?P<rest>.+?) (?P<verb>cost|weigh|pay|earn)"
    r"(?P<after>(?: (?:a|after|an|as|at|before|by|during|each|every|for|from|if|in|next|on|per|this|to|under|when|with|without) .+)?)",
    re.IGNORECASE,
)
_HOW_MANY = re.compile(r"how (?:many|much) (?P<what>.+)", re.IGNORECASE)
_WHEN = re.compile(
    r"(?:when|at what time|on what (?:day|date)|in what year) (?P<aux>\w+) (?P<rest>.+)", re.IGNORECASE
)
_HOW_LONG = re.compile(r"(?:how long|for how long) (?P<aux>\w+) (?P<rest>.+)", re.IGNORECASE)
_HOW_OFTEN = re.compile(r"how often (?P<aux>\w+) (?P<rest>.+)", re.IGNORECASE)
_OFTEN = re.compile(
    r"(?:(?:at least )?(?:once|twice|(?:\w+ )?times)|every|each)(?: [\w-]+){1,4}"
    r"|hourly|daily|weekly|monthly|quarterly|yearly|annually",
    re.IGNORECASE,
)
_HOW_FAST = re.compile(r"how (?:fast|quickly|soon) (?P<aux>\w+) (?P<rest>.+)", re.IGNORECASE)
_SPEED = re.compile(
    r"\d ?[^\W\d]{1,12}/\w|\b(?:knots?|kn|mph|kph)\b|\b(?:an?|per) (?:second|minute|hour)\b", re.IGNORECASE
)
_SPAN = re.compile(r"\b(?:second|minute|hour|day|week|month|year)s?\b|\d ?(?:h|min|s)\b", re.IGNORECASE)
_HOW_SIZED = re.compile(
    r"how (?P<size>high|tall|wide|deep|old|long) (?P<aux>is|are|was|were) (?P<rest>.+)", re.IGNORECASE
)
_LENGTH = re.compile(
    r"\b(?:[ckm]?m|met(?:re|er)s?|kilomet\w+|centimet\w+|millimet\w+|feet|foot|ft|inch(?:es)?|miles?)\b|″|\""
)
_AGE = re.compile(r"^\d+$|\b(?:year|month|week|day)s?\b")
_HOW_OF = re.compile(
    r"how (?P<size>heavy|fast|thick|large|big|hot|expensive) (?P<aux>is|are|was|were) "
    r"(?P<rest>(?:the|a|an|its|their|our|this|that|these) .+)",
    re.IGNORECASE,
)
_COUNTED = re.compile(r".*\d \w{3,}")
_NOUNS = {
    "heavy": "weight", "fast": "speed", "thick": "thickness", "large": "size", "big": "size",
    "hot": "temperature", "expensive": "price",
}  # fmt: skip
# "What weight has the pump?", "Which speed does the boat have?"
_PROPERTY = re.compile(
    r"(?:what|which) (?P<noun>[a-z]+(?: [a-z]+)?) (?:(?P<has>has|have|had) (?P<rest>(?:the|its|our|this) .+)"
    r"|(?P<aux>does|do|did) (?P<holder>(?:the|its|our|this) .+) have)",
    re.IGNORECASE,
)
# "What chlorine level is kept in the pool?"
_IS_DONE = re.compile(
    r"(?:what|which) (?P<noun>[a-z-]+(?: (?!(?:is|are|was|were|do|does|did|has|have|had|can|may|must)\b)[a-z-]+){0,5})"
    r" (?P<aux>is|was) (?P<done>\w+)(?P<after>(?: .+)?)",
    re.IGNORECASE,
)
_YES_OR_NO = re.compile(r"(?P<aux>\w+) (?P<rest>.+)", re.IGNORECASE)
_DO = frozenset({"do", "does", "did"})
_BE = frozenset({"is", "are", "was", "were"})
_MODAL = frozenset(
    {"can", "could", "may", "might", "must", "shall", "should", "will", "would", "has", "have", "had"}
)
# Verbs that need no other word after them.
_BARE = frozenset(
    {"carry", "contain", "cost", "have", "hold", "last", "need", "require", "seat", "take", "use", "weigh"}
)
_AUXILIARIES = frozenset({"be", "been", "being", "get", "getting"})
_STATES = frozenset({"away", "closed", "down", "off", "open", "out", "stuck", "up"})
_AFTER_TIMES = frozenset({"after", "before", "between", "during", "if", "outside", "since", "when", "while"})
_ARTICLES = frozenset({"a", "an", "the"})
_NO_VERBS = frozenset(
    {"a", "an", "and", "as", "at", "by", "for", "from", "in", "of", "on", "or", "the", "to", "with"}
)
_SAID_BY_UNITS = frozenset({"money", "time"})
_FOR = frozenset({"last", "take"})  # verbs of a duration without "for"
_IRREGULAR = {"have": "has", "do": "does", "go": "goes"}
_PASTS = {
    "become": "became", "begin": "began", "build": "built", "buy": "bought", "come": "came", "cost": "cost", "get": "got",
    "give": "gave", "go": "went", "have": "had", "hold": "held", "leave": "left", "lose": "lost", "make": "made", "meet": "met",
    "pay": "paid", "run": "ran", "sell": "sold", "send": "sent", "take": "took", "win": "won", "write": "wrote",
}  # fmt: skip
_DONE = frozenset({
    *_PASTS.values(), "been", "begun", "born", "bred", "brought", "caught", "come", "done", "drunk", "fed", "fought",
    "found", "gone", "grown", "kept", "known", "laid", "led", "let", "put", "read", "run", "seen", "set", "shot",
    "shown", "spent", "stood", "sung", "taught", "thrown", "told",
})  # fmt: skip
_LEADS = re.compile(
    r"(?:at|on|in|from|until|till|by|before|after|since|within|every|each|daily|for|up to|about)\b",
    re.IGNORECASE,
)
_TIME = re.compile(
    r"\d{1,2}[:.]\d{2}\b|\d{1,2}\s?(?:am|pm|a\.m\.|p\.m\.|o'clock|uhr)\b|noon|midnight", re.IGNORECASE
)
_ASKS_ON = re.compile(r"\b(?:and|or) (?:what|how|when|who|where|which|why)\b", re.IGNORECASE)
_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}\.?"
_MONTH_OR_YEAR = re.compile(rf"(?:{_MONTH} )?\d{{4}}|{_MONTH}", re.IGNORECASE)
_DAY = re.compile(
    rf"\d{{1,2}}(?:st|nd|rd|th|\.)? (?:of )?{_MONTH}|{_MONTH} \d{{1,2}}|[a-z]{{3,6}}days?\b", re.IGNORECASE
)
_POSSESSIVES = frozenset(
    {"my", "your", "his", "her", "its", "our", "their", "this", "that", "these", "those"}
)
_BEFORE_PLACE = frozenset(
    {"after", "as", "at", "before", "by", "during", "for", "from", "if", "in", "inside", "near", "on", "outside", "per", "when",
     "while", "with", "without"}
)  # fmt: skip
_PRONOUNS = frozenset({"i", "you", "he", "she", "it", "we", "they", "one"})
_ASKER = re.compile(
    r"(?P<clause>(?:^|(?<=[,;]\s)|\b(?:after|and|as|because|before|if|once|or|than|that|until|what|when|where|which"
    r"|while|whom)\s))(?P<subject>I|we|We)(?P<verb>\s(?:am|was)|['’]m)?(?=\s(?!is\b))"
    r"|\b(?P<other>me|my|My|mine|us|our|Our|ours|myself|ourselves)\b"
)
_ADDRESSED = {"my": "your", "our": "your", "mine": "yours", "ours": "yours", "me": "you", "us": "you",
              "myself": "yourself", "ourselves": "yourselves"}  # fmt: skip
_YOU_ARE = {" am": " are", " was": " were", "'m": "'re", "’m": "’re"}


def value_sentence(question: str, answer: str, quote: str = "") -> str | None:
    """Return a question for a value, a time or yes and no with its answer filled in; None for another form.

    >>> value_sentence("What is the minimum order?", "40 units")
    'The minimum order is 40 units.'
    >>> value_sentence("When does the ferry to Holm leave?", "9:15", "The ferry to Holm leaves at 9:15.")
    'The ferry to Holm leaves at 9:15.'
    >>> value_sentence("In what year did Holm get a school?", "1911", "Holm got a school in 1911.")
    'Holm got a school in 1911.'
    >>> value_sentence("How many beds does the hostel have?", "36"), value_sentence("Who is it?", "40")
    ('The hostel has 36 beds.', None)
    >>> value_sentence("How many seats has the room Gauss?", "24"), value_sentence("How heavy is the pump?", "4 kg")
    ('The room Gauss has 24 seats.', 'The weight of the pump is 4 kg.')
    >>> value_sentence("How many games has the team won?", "3")
    >>> value_sentence("What is the fee and when is it due?", "12 euros")
    >>> value_sentence("How many days a week may one row?", "one", "One may row one day a week.")
    'One may row one day a week.'
    >>> value_sentence("Are dogs allowed on deck?", "no", "Dogs are not allowed on deck.")
    'Dogs are not allowed on deck.'
    """
    asked = one_line(question).rstrip(" ?")
    value = one_line(answer).rstrip(".")
    if len(asked) > LONGEST or not value or _ASKS_ON.search(asked):
        return None
    if is_yes_or_no(value):
        sentence = _affirm(asked, same_answer(value, "yes"), quote)
    elif (often := _how_often(asked, value, quote)) is not None:
        sentence = often
    elif not canonical(value).values and not any(map(str.isdigit, value)):
        return None
    else:
        forms = (_what, _how_much, _how_many, _how_sized, _property, _is_done, _how_fast, _how_long, _when)
        sentence = next((found for form in forms if (found := form(asked, value, quote))), None)
    return f"{sentence[0].upper()}{sentence[1:]}." if sentence else None


def address_asker(sentence: str) -> str:
    """Return a sentence in the words of who asks as one that is said to them.

    >>> address_asker("I pay 4 euros for my boat."), address_asker("The fee that we must pay is 9 euros.")
    ('You pay 4 euros for your boat.', 'The fee that you must pay is 9 euros.')
    >>> address_asker("World War I began in 1914."), address_asker("I am due on the US boat at 9:15.")
    ('World War I began in 1914.', 'You are due on the US boat at 9:15.')
    """

    def address(match: re.Match[str]) -> str:
        if other := match["other"]:
            said = _ADDRESSED[other.lower()]
            return said.capitalize() if other[0].isupper() else said
        subject = "you" if match["clause"] or match.start() else "You"
        return f"{match['clause']}{subject}{_YOU_ARE.get(match['verb'] or '', match['verb'] or '')}"

    return _ASKER.sub(address, sentence)


def _what(asked: str, value: str, _: str) -> str | None:
    match = _WHAT.fullmatch(asked)
    return f"{match['rest']} {match['aux'].lower()} {value}" if match else None


def _how_much(asked: str, value: str, _: str) -> str | None:
    if (match := _HOW_MUCH.fullmatch(asked)) is None:
        return None
    verb, aux = match["verb"].lower(), match["aux"].lower()
    said = _PASTS.get(verb, f"{verb}ed") if aux == "did" else _inflect(verb, aux)
    return f"{match['rest']} {said} {value}{match['after']}"


def _how_many(asked: str, value: str, quote: str) -> str | None:
    """Return what there are how many of: "How many people live here", "How many beds does it have"."""
    if (match := _HOW_MANY.fullmatch(asked)) is None:
        return None
    words = match["what"].replace("per cent", "percent").split()
    if words[0].casefold() in _BE and words[1:3] == ["it", "to"]:
        return f"it {words[0].casefold()} {value} {' '.join(words[2:])}"
    if words[0].casefold() in _BE:
        return f"{' '.join(words[1:])} {words[0].casefold()} {value}"
    if words[0].casefold() in _DO | _MODAL:
        return _place_value(words[1:], words[0].casefold(), value, quote)
    at = next((n for n, word in enumerate(words) if word.casefold() in _DO | _BE | _MODAL), 0)
    noun = words[:at] or words[:1]
    if one := re.search(rf"\b{re.escape(value)} ({re.escape(noun[0][:3])}\w*)", quote, re.IGNORECASE):
        noun = [one[1], *noun[1:]]  # "one day a week", where the question says "days"
    number = _add_noun(value, noun, is_mass=asked[:8].casefold() == "how much")
    if not at:  # "How many people live here": the noun is the subject
        is_plain = number == value or not any(map(str.isalpha, value))
        return f"{number} {' '.join(words[1:])}" if len(words) > 1 and is_plain else None
    aux, rest = words[at].casefold(), words[at + 1 :]
    if rest[:1] == ["there"]:
        return " ".join(["there", aux, number, *rest[1:]])
    if aux in _BE:  # "How many boats are moored here": the noun is the subject
        begins_subject = {"the", "a", "an"} | _POSSESSIVES | _PRONOUNS
        return " ".join([number, aux, *rest]) if rest and rest[0].casefold() not in begins_subject else None
    quote_words = bare_words(quote)
    if aux in _MODAL and rest and (aux, rest[0].casefold()) in pairwise(quote_words):
        return " ".join(
            [number, aux, *rest]
        )  # "How many children may ride in a car": the noun is the subject
    if aux in ("has", "have", "had") and _is_holder(rest):
        return " ".join([*rest, aux, number])
    return _place_value(rest, aux, number, quote)


def _is_holder(words: Sequence[str]) -> bool:
    """Return whether words after "has" are somebody or something, and no verb is among them.

    >>> _is_holder(["the", "room", "Gauss"]), _is_holder(["the", "team", "won"]), _is_holder(["been", "sold"])
    (True, False, False)
    """
    named = [word.casefold() for word in words]
    is_subject = bool(named) and named[0] in ("the", "a", "an", "each", "every", "our", "its", "this", "it")
    return is_subject and not any(word in _DONE or word.endswith(("ed", "en")) for word in named)


def _property(asked: str, value: str, _: str) -> str | None:
    """Return a property by its name: "How heavy is the pump", "What capacity does the room have"."""
    if match := _HOW_OF.fullmatch(asked):
        verb = "was" if match["aux"].lower() in ("was", "were") else "is"
        return f"the {_NOUNS[match['size'].lower()]} of {match['rest']} {verb} {value}"
    match = _PROPERTY.fullmatch(asked)
    if match is None or not _is_holder((match["rest"] or match["holder"]).split()):
        return None
    verb = "was" if "had" in (match["has"] or "").lower() or (match["aux"] or "").lower() == "did" else "is"
    value = value.removesuffix(f" {match['noun'].lower()}")  # "610 mm diameter"
    return f"the {match['noun'].lower()} of {match['rest'] or match['holder']} {verb} {value}"


def _is_done(asked: str, value: str, _: str) -> str | None:
    """Return what is done, by the noun that is asked for.

    >>> _is_done("what level of chlorine is kept in the pool", "0.3 mg/l", "")
    'the level of chlorine kept in the pool is 0.3 mg/l'
    >>> _is_done("which boat is old", "4", "")
    """
    match = _IS_DONE.fullmatch(asked)
    if match is None or not (match["done"].casefold() in _DONE or match["done"].endswith("ed")):
        return None
    return f"the {match['noun']} {match['done']}{match['after']} {match['aux'].lower()} {value}"


def _how_fast(asked: str, value: str, quote: str) -> str | None:
    """Return at what speed something may be done, or within what time.

    >>> _how_fast("how fast may I row in the harbour", "4 knots", "Speed limit: 4 knots.")
    'I may row at 4 knots in the harbour'
    >>> _how_fast("how soon must the crew report a leak", "2 hours", "The crew must report it in 2 hours.")
    'the crew must report a leak within 2 hours'
    """
    match = _HOW_FAST.fullmatch(asked)
    if match is None or match["aux"].casefold() not in _DO | _MODAL:
        return None
    is_speed = _SPEED.search(value) is not None
    if not is_speed and not _SPAN.search(value):
        return None
    said = value if _LEADS.match(value) else f"{'at' if is_speed else 'within'} {value}"
    return _place_value(match["rest"].split(), match["aux"].casefold(), said, quote, adverb=not is_speed)


def _how_sized(asked: str, value: str, _: str) -> str | None:
    """Return how high, wide, deep or old something is; how long only where a length answers."""
    match = _HOW_SIZED.fullmatch(asked)
    unit = _AGE if match and match["size"].lower() == "old" else _LENGTH
    if match is None or not unit.search(value):
        return None
    return f"{match['rest']} {match['aux'].lower()} {value} {match['size'].lower()}"


def _how_long(asked: str, value: str, quote: str) -> str | None:
    """Return how long something lasts, is valid or may be done."""
    if (match := _HOW_LONG.fullmatch(asked)) is None:
        return None
    aux, rest = match["aux"].casefold(), match["rest"].split()
    if aux not in _DO | _BE | _MODAL:  # "How long in advance"
        return None
    if aux in _BE:
        parts = _split_at_predicate(rest, aux, quote)
        if parts is not None:
            return f"{parts[0]} {aux} {parts[1]} for {value}"
        is_thing = rest[0].casefold() in ("the", "a", "an", "our") and len(rest) <= MOST_OF_THING
        return f"{match['rest']} {aux} {value}" if is_thing and not any(map(_is_state, rest)) else None
    lasting = "" if rest[-1].casefold() in _FOR or _LEADS.match(value) else "for "
    return _place_value(rest, aux, f"{lasting}{value}", quote)


def _is_state(word: str) -> bool:
    """Return whether a word tells how something is: "stuck", "closed"."""
    return word.casefold() in _DONE | _STATES or word.endswith("ed")


def _when(asked: str, value: str, quote: str) -> str | None:
    """Return when something is, was or is done."""
    if (match := _WHEN.fullmatch(asked)) is None:
        return None
    aux, rest, time = match["aux"].casefold(), match["rest"].split(), _add_preposition(value)
    if aux not in _DO | _BE | _MODAL or time is None:
        return None
    if aux in _BE:
        parts, is_done = _split_at_predicate(rest, aux, quote), _is_state(rest[-1])
        if parts is None and len(rest) > 2 and is_done and rest[-2] not in _AUXILIARIES:
            parts = " ".join(rest[:-1]), rest[-1]
        if parts is not None:
            return f"{parts[0]} {aux} {parts[1]} {time}"
        return f"{match['rest']} {aux} {time}" if len(rest) <= 6 and not is_done else None
    return _place_value(rest, aux, time, quote, adverb=True)


def _how_often(asked: str, value: str, quote: str) -> str | None:
    """Return how often something is done.

    >>> _how_often("how often does the crew test the horn", "once a week", "It tests the horn once a week.")
    'the crew tests the horn once a week'
    """
    match = _HOW_OFTEN.fullmatch(asked)
    if match is None or not _OFTEN.fullmatch(value):
        return None
    aux, rest = match["aux"].casefold(), match["rest"].split()
    if aux in _BE:
        parts = _split_at_predicate(rest, aux, quote)
        return f"{parts[0]} {aux} {parts[1]} {value}" if parts else None
    return _place_value(rest, aux, value, quote, adverb=True) if aux in _DO | _MODAL else None


def _affirm(asked: str, yes: bool, quote: str) -> str | None:
    """Return what a question asks to affirm or deny."""
    if (match := _YES_OR_NO.fullmatch(asked)) is None:
        return None
    aux, rest = match["aux"].casefold(), match["rest"].split()
    if aux in _BE:
        parts = _split_at_predicate(rest, aux, quote)
        return f"{parts[0]} {aux} {'' if yes else 'not '}{parts[1]}" if parts else None
    if aux not in _DO | _MODAL or (at := _verb_at(rest, aux, quote)) is None:
        return None
    subject, verb, after = " ".join(rest[:at]), rest[at], rest[at + 1 :]
    if aux in _DO and yes:
        return " ".join([subject, _inflect(verb, aux, quote), *after])
    return " ".join([subject, aux, *([] if yes else ["not"]), verb, *after])


def _place_value(
    rest: Sequence[str], aux: str, value: str, quote: str, *, adverb: bool = False
) -> str | None:
    """Return subject, verb, value and what is left; None where it is not known which word is the verb.

    A value that is an `adverb`, a time, stands behind an object: "leaves Holm on Sundays at 9:15".
    """
    at = _verb_at(rest, aux, quote) or _verb_after_pronoun(rest, aux)
    if at is None:
        return None
    verb, after = [_inflect(rest[at], aux, quote)] if aux in _DO else [aux, rest[at]], rest[at + 1 :]
    if rest[at] == "be":  # "must be claimed"
        verb, after = [*verb, *after[:1]], after[1:]
    held = _held(verb[-1].casefold(), after, bare_words(quote))
    if adverb and after[held:] and after[held].casefold() not in _NO_VERBS - _ARTICLES | _AFTER_TIMES:
        held = len(after)
    return " ".join([*rest[:at], *verb, *after[:held], value, *after[held:]])


def _held(verb: str, after: Sequence[str], quote_words: Sequence[str]) -> int:
    """Return how many words a quote has behind the verb as the question has them.

    >>> _held("takes", ["place", "again"], ["it", "takes", "place", "on", "monday"])
    1
    """
    behind = iter(quote_words[quote_words.index(verb) + 1 :] if verb in quote_words else [])
    held = 0
    for at, word in enumerate(map(str.casefold, after), 1):
        if word in _ARTICLES:  # which are no bare words
            continue
        if word != next(behind, ""):
            break
        held = at
    return held


def _verb_at(rest: Sequence[str], aux: str, quote: str) -> int | None:
    """Return which word after a subject is the verb: the one that the quote has as a sentence has it."""
    is_last = len(rest) > 1 and rest[-1].casefold() in _BARE and rest[-2].casefold() not in _NO_VERBS
    if not quote and is_last:
        return len(rest) - 1
    quote_words = bare_words(quote)
    first = 2 if rest and rest[0].casefold() in _ARTICLES else 1
    places = [
        at
        for at in range(first, len(rest))
        for word in [rest[at].casefold()]
        if word not in _NO_VERBS
        and rest[at - 1].casefold() != "to"
        and (
            any(form in quote_words for form in _forms(word, aux))
            or (aux in _DO and ("not", word) in pairwise(quote_words))
        )
    ]
    if aux not in _DO:  # a word after the auxiliary: "may park"
        places = [at for at in places if _follows(quote_words, aux, rest[at].casefold())][:1]
    if len(places) == 1:
        return places[0]
    return len(rest) - 1 if is_last else None


def _verb_after_pronoun(rest: Sequence[str], aux: str) -> int | None:
    """Return which word is the verb where the subject is one word and no object follows: "may I go in the yard"."""
    words = [word.casefold() for word in rest]
    is_subject = words[0] in _PRONOUNS - {"one"} and aux not in ("did", "has", "have", "had")
    is_alone = len(words) == 2 or (len(words) > 2 and words[2] in _BEFORE_PLACE)
    return 1 if is_subject and is_alone and not words[1].endswith(("lly", "only", "still")) else None


def _follows(quote_words: Sequence[str], aux: str, verb: str) -> bool:
    """Return whether a verb stands after its auxiliary, with one word between them at most."""
    return any(word == aux and verb in quote_words[at + 1 : at + 3] for at, word in enumerate(quote_words))


def _forms(verb: str, aux: str) -> Iterator[str]:
    """Yield the forms of a verb that a sentence may have where a question has it after an auxiliary."""
    if aux == "does":
        yield _inflect(verb, "does")
    elif aux == "did":
        yield from (_PASTS.get(verb, ""), f"{verb}ed", f"{verb}d", f"{verb[:-1]}ied", f"{verb}{verb[-1:]}ed")
    else:
        yield verb


def _inflect(verb: str, aux: str, quote: str = "") -> str:
    """Return a verb as a sentence has it where the question has it after "does", "do" or "did".

    >>> _inflect("cost", "does"), _inflect("pass", "does"), _inflect("carry", "does"), _inflect("pay", "do")
    ('costs', 'passes', 'carries', 'pay')
    """
    if aux == "did":
        quote_words = bare_words(quote)
        return next((form for form in _forms(verb.casefold(), aux) if form in quote_words), f"did {verb}")
    if aux != "does":
        return verb
    if verb in _IRREGULAR:
        return _IRREGULAR[verb]
    if verb.endswith("y") and verb[-2:-1] not in "aeiou":
        return f"{verb[:-1]}ies"
    return f"{verb}es" if verb.endswith(("s", "x", "z", "ch", "sh", "o")) else f"{verb}s"


def _split_at_predicate(rest: Sequence[str], aux: str, quote: str) -> tuple[str, str] | None:
    """Return subject and predicate, where the quote has the auxiliary before the predicate's first word."""
    quote_words = bare_words(quote)
    for at in range(1, len(rest)):
        word = rest[at].casefold()
        if any(
            other == aux
            and word
            in (
                quote_words[n + 1 : n + 2]
                if quote_words[n + 1 : n + 2] != ["not"]
                else quote_words[n + 2 : n + 3]
            )
            for n, other in enumerate(quote_words)
        ):
            return " ".join(rest[:at]), " ".join(rest[at:])
    return None


def _add_noun(value: str, noun: Sequence[str], *, is_mass: bool = False) -> str:
    """Return a number with what is counted, which it may name itself, or a measure of something.

    >>> _add_noun("30 days", ["days", "of", "leave"]), _add_noun("36", ["beds"]), _add_noun("36 beds", ["beds"])
    ('30 days of leave', '36 beds', '36 beds')
    >>> _add_noun("200 people", ["visitors"]), _add_noun("8 %", ["percent", "of", "us"])
    ('200 people', '8 % of us')
    >>> _add_noun("8 GB", ["memory"], is_mass=True), _add_noun("90 euros", ["money"], is_mass=True)
    ('8 GB of memory', '90 euros')
    """
    if is_mass and any(map(str.isalpha, value)):
        return value if noun[0].casefold() in _SAID_BY_UNITS else " ".join([value, "of", *noun])
    if value.endswith("%") and noun[:1] == ["percent"]:
        return " ".join([value, *noun[1:]])
    named = [word.casefold()[:4] for word in re.findall(r"[^\W\d_]+", value)]
    at = next((n + 1 for n, word in enumerate(noun) if word.casefold()[:4] in named), 0)
    if not at and _COUNTED.fullmatch(value):  # which has a noun of its own
        return value
    return " ".join([value, *noun[at:]])


def _add_preposition(value: str) -> str | None:
    """Return a time or a date with its preposition; None for what is neither.

    >>> [_add_preposition(value) for value in ("9:15", "3 May 2026", "March 2025", "from 7:00")]
    ['at 9:15', 'on 3 May 2026', 'in March 2025', 'from 7:00']
    >>> [_add_preposition(value) for value in ("May 3, 2026", "2026-05-03", "April", "2027 season", "Easter")]
    ['on May 3, 2026', 'on 2026-05-03', 'in April', None, None]
    """
    if _LEADS.match(value):
        return value
    if _TIME.match(value):
        return f"at {value}"
    if _MONTH_OR_YEAR.fullmatch(value):
        return f"in {value}"
    day = next(days_in(value), None)
    is_day = day is not None and day.start == 0 and len(day.iso) == len("2026-05-03")
    return f"on {value}" if is_day or _DAY.match(value) else None
