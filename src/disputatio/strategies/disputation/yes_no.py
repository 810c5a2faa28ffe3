"""Questions that yes or no answers: which of the two a passage says, told from its sentences.

A reader copies a word of the passage ("false", "forbidden", "again"); code turns the sentence about it into yes or no.
English alone, and no answer where no sentence says it.
"""

from __future__ import annotations

import re

from disputatio.reliability.similarity import content_stems
from disputatio.strategies.disputation.kinds import OF_KINDS, of_organisations
from disputatio.strategies.disputation.rows import cell_with_mark, find_marked_rows, is_mark
from disputatio.text import bare_words, find_asking_part, sentences, stem
from disputatio.types import Passage
from disputatio.values import states

# The share of a question's words that a sentence and its heading name between them: to deny it, to say that it is so,
# and to say anything where the reader took the passage for no answer.
DENIES, AFFIRMS, MOST = 0.5, 0.6, 0.75
_ASKS = re.compile(
    r"\W*(?:am|is|are|was|were|do|does|did|has|have|had|will|would|can|could|may|must|should|shall)\b(?![’']t)(?!\s+(?:been|known|born|built|made|held|\w+ed)\b)(?!.{0,400}"
    r"\b(?:or|who|whom|whose|when|where|what|which|how|why)\b)",
    re.IGNORECASE | re.DOTALL,
)
_DENIED = re.compile(
    r"\W{0,4}(?:is|are|was|were|do|does|did|has|have|had|would|could|must|should|ca|wo)n[’']t\b",
    re.IGNORECASE,
)
_GERMAN = re.compile(
    r"\W*was\s+(?:kost|ist|sind|war|wird|muss|darf|gilt|hat|macht|bedeut|heiß|passier"
    r"|\w{2,20}\s+(?:ich|man|wir|ihr|er|es|sie|eine?[rmns]?|de[rmns]|die|das|für|uns|mir|beim|zum|zur)\b)",
    re.IGNORECASE,
)
_ASKS_GERMAN = re.compile(
    r"\W*(?:ist|sind|bin|hat|haben|habe|kann|können|könnte|darf|dürfen|muss|müssen|soll|sollte|sollen|wird|werden|gibt"
    r"|gilt|gelten|bekomm\w{1,4}|brauch\w{1,4}|bietet|nimmt|nehmen|läuft|reicht|geht|gehört|zählt|zahlt|kommt|kostet"
    r"|stimmt|bleibt|hält|lässt|funktionier\w{1,3}|akzeptier\w{1,3}|unterstütz\w{1,3})\b(?!.{0,400}"
    r"\b(?:oder|wer|wen|wem|wann|wo|wohin|was|welche[mnrs]?|wie|wieso|warum|weshalb|or)\b).{0,400}\?",
    re.IGNORECASE | re.DOTALL,
)
_PRONOUN = r"(?:je|tu|on|ils?|elles?|ce|nous|vous)\b"
_ASKS_FRENCH = re.compile(
    r"(?!.{0,400}\b(?:ou|où|qui|quoi|quell?e?s?|quand|comment|combien|pourquoi|l[ae]quelle?|qu['’]est)\b)(?!\W*qu[e'’])"
    rf"(?:\W*est-ce qu|.{{0,200}}?\w-t-{_PRONOUN}"
    r"|.{0,200}?\b(?:est|sont|ont|peut|peuvent|puis|peux|pouvons|pouvez|faut|doit|dois|doivent|devons|devez|suis|êtes|fait"
    rf"|font|prend|prennent|acceptent|admet|reçoit|avez|avons|était|étaient|serait|fallait)-{_PRONOUN}).{{0,400}}\?",
    re.IGNORECASE | re.DOTALL,
)
_NEGATION = re.compile(
    r"\b(?:not|no(?!\s(?:later|more|less|fewer|sooner)\sthan)|never|neither|nor|none|nobody|cannot|false|wrong|untrue|incorrect|unfounded|invented"
    r"|den(?:y|ies|ied)|mistaken|removed|abolished|discontinued|cancelled|canceled)\b|n[’']t\b",
    re.IGNORECASE,
)
_FORBIDS = re.compile(
    r"\b(?:forbidden|prohibit\w{0,6}|bans?|banned|barred|illegal|unlawful)\b", re.IGNORECASE
)
_LIFTS = re.compile(r"\b(?:withdrawn|withdraws|lifted|repealed|revoked|ended)\b", re.IGNORECASE)
_TAKEN_BACK = re.compile(
    r"\s*(?:this|that|it|they|both|the (?:report|rumou?r|news|claim|story)s?)\b.{0,80}"
    r"\b(?:false|wrong|untrue|incorrect|mistaken|unfounded|invented|not (?:true|so|correct))\b",
    re.IGNORECASE | re.DOTALL,
)
_CORRECTS = re.compile(r"\W*(?:correction|corrected|denial|we were wrong)\b", re.IGNORECASE)
# Of two words of a row, the one denies what the other says.
_OPPOSED = tuple(
    (re.compile(rf"\b(?:{one})\b", re.IGNORECASE), re.compile(rf"\b(?:{other})\b", re.IGNORECASE))
    for one, other in (
        (r"open(?:s|ed|ing)?", r"clos(?:es?|ed|ing|ure)|shut"),
        (
            r"keeps?|kept|remains?|remained|stays?|stayed|continues?|continued",
            r"ends?|ended|stops?|stopped|leaves?|left",
        ),
        (r"mandatory|compulsory|required|obligatory", r"optional|voluntary"),
        (r"free|gratis", r"charged|paid"),
        (r"supported|maintained", r"unsupported|unmaintained|deprecated"),
    )
)
_ALLOWED = content_stems(
    "allowed allow permitted permit prohibited forbidden possible required mandatory optional available"
)
_REPORTED = re.compile(r"\b(?:we|had)\s(?:reported|wrote|written|said)\b", re.IGNORECASE)


def asks_yes_or_no(question: str) -> bool:
    """Return whether yes or no answers a question.

    >>> asks_yes_or_no("Is the pier open?"), asks_yes_or_no("Is it red or blue?"), asks_yes_or_no("Who is it?")
    (True, False, False)
    >>> asks_yes_or_no("I have Borg 1.1. Do they mend it?"), asks_yes_or_no("If I pray, have I lost?")
    (True, True)
    >>> [asks_yes_or_no(q) for q in ("Darf mein Hund hinein?", "Puis-je payer demain ?", "Ist es rot oder blau?")]
    [True, True, False]
    """
    asked = find_asking_part(question)
    if is_told_by_words(question) or (
        _DENIED.match(asked) and _ASKS.match(_DENIED.sub("is", asked, count=1))
    ):
        return (
            True  # "Isn't it open?" asks what "Is it open?" asks, but has a word that code takes for a denial
        )
    return bool(_ASKS_GERMAN.match(asked) or _ASKS_FRENCH.match(asked))


def is_told_by_words(question: str) -> bool:
    """Return whether a question asks for yes or no in the language of which `yes_or_no` knows the words, English."""
    asked = find_asking_part(question)
    return _ASKS.match(asked) is not None and not _GERMAN.match(asked)


def yes_or_no(question: str, passage: Passage, answer: str, *, answers: bool = True) -> tuple[str, str]:
    """Return "yes" or "no" with the sentence of a passage that says so; two empty texts where none does.

    `answer` is what a reader copied: where no sentence names enough of the question, the one about it counts. More must be
    named where the reader took it for no answer.

    >>> passage = Passage(text="We reported that the Orrin mill will be sold. That was wrong.")
    >>> yes_or_no("Will the Orrin mill be sold?", passage, "wrong")[0]
    'no'
    """
    if answers and (cell := cell_with_mark(question, passage.text, answer)) is not None:
        row, column, is_yes = cell
        denied = bool(_NEGATION.search(column)) != bool(_NEGATION.search(question))
        return ("no" if is_yes == (denied != _is_opposite(question, column)) else "yes"), row
    if is_mark(answer, passage.text):
        return "", ""  # whose it is, is not known
    signs = {
        row.text
        for row in find_marked_rows(passage.text)
        if not {mark for _, mark in row.marks} <= {"yes", "no"}
    }
    told, question = content_stems(question), find_asking_part(question)
    wanted = content_stems(question) - OF_KINDS - of_organisations(question)
    lines = [line for a, b in sentences(passage.text) for line in passage.text[a:b].split("\n")]
    texts = [line.strip() for line in lines if line.strip() not in signs]  # they have no words
    head = _stems(f"{passage.title} {passage.metadata.get('heading', '')}")
    # What the title says already, every sentence below is about: one that answers says more of the question.
    more = wanted - head or wanted
    # That something is allowed says nothing of a thing that the passage never names.
    things, whole = wanted - _ALLOWED, head | _stems(passage.text)
    is_named = bool(things & whole) or not things
    own = [len(wanted & _stems(text)) if is_named and more & _stems(text) else 0 for text in texts]
    fit = [
        number
        for number, text in enumerate(texts)
        if own[number]
        and len(wanted & (_stems(text) | head))
        >= len(wanted) * (MOST if not answers else AFFIRMS if _is_affirmed(question, text) else DENIES)
    ]
    if not fit:
        fit = [number for number, text in enumerate(texts) if own[number] and answer and states(text, answer)]
    if not fit:
        return "", ""
    best = max(
        fit,
        key=lambda number: (
            bool(answer) and states(texts[number], answer),
            own[number],
            len(told & _stems(texts[number])),
            number,
        ),
    )
    after = texts[best + 1] if best + 1 < len(texts) else ""
    is_affirmed = _is_affirmed(question, texts[best])
    taken_back = _TAKEN_BACK.match(after) or (
        _REPORTED.search(texts[best]) and _CORRECTS.match(passage.title or passage.text)
    )
    return ("yes" if is_affirmed and not taken_back else "no"), texts[best]


def _is_affirmed(question: str, sentence: str) -> bool:
    """Return whether a sentence says of what a question asks that it is so."""
    is_lifted, forbids = bool(_LIFTS.search(sentence)), bool(_FORBIDS.search(sentence))
    denied = bool(_NEGATION.search(sentence)) != bool(_NEGATION.search(question))
    denied ^= forbids != bool(_FORBIDS.search(question))
    denied ^= _is_opposite(question, sentence)
    return not (denied ^ is_lifted)


def _is_opposite(question: str, sentence: str) -> bool:
    """Return whether a sentence has a word that denies one of the question, and not that word itself."""
    return any(
        asked.search(question) and denies.search(sentence) and not asked.search(sentence)
        for pair in _OPPOSED
        for asked, denies in (pair, pair[::-1])
    )


def _stems(text: str) -> frozenset[str]:
    return frozenset(map(stem, bare_words(text)))
