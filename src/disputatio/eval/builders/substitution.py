"""Nine wordings of a truth and nine lies of three texts each, made in code from a few factual texts.

Windows of the factual texts, in which another answer of the same type takes the place of the right one
(entity substitution, Longpre et al. 2021). Cheap, and the same for a seed; what a model can do better is
in `fabrication`.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping, Sequence

from disputatio.eval.builders.material import FACTUAL, LIES, TEXTS, Lie, Material, bears_any, stands
from disputatio.text import sentences, squad_normalise
from disputatio.values import figures

LONG, FEW = 50, 12  # words of a text, at most and as good as too few
MONTHS = tuple(name.title() for name in figures.MONTHS)
DATE = re.compile(
    rf"(?:(?:{'|'.join(MONTHS)})(?:\s+\d{{1,2}})?,?\s+)?\b(?:1\d|20)\d\d\b|\b(?:{'|'.join(MONTHS)})\s+\d{{1,2}}\b"
)
NUMBER = re.compile(r"(?<![\w.,])\d[\d,.]*\d(?![\w])|(?<![\w.,])\d(?![\w])")
_CAPITAL = r"[A-ZÀ-Þ][\w.'’-]*"
NAME = re.compile(rf"{_CAPITAL}(?:\s+(?:(?:of|the|de|la|von|van|al|upon)\s+)?{_CAPITAL})*")


def kind_of(question: str, answer: str) -> str:
    """Return the type within which answers are exchanged: date, number, person, place, name or phrase.

    >>> kind_of("When was it built?", "May 1921"), kind_of("Who built it?", "Ada Lund"), kind_of("", "3,559")
    ('date', 'person', 'number')
    >>> kind_of("What lives there?", "a fox"), kind_of("Where is it?", "Oslo")
    ('phrase', 'place')
    """
    lowered = question.casefold().lstrip()
    if DATE.search(answer):
        return "date"
    if any(map(str.isdigit, answer)):
        return "number"
    if not any(word[:1].isupper() for word in answer.split()):
        return "phrase"
    if re.match(r"(?:who|whom|whose)\b", lowered):
        return "person"
    return "place" if re.match(r"(?:\w+ )?where\b", lowered) else "name"


def replace_answer(text: str, old: str, new: str) -> str:
    """Return the text with every mention of an answer replaced, however its words are spaced and spelled.

    >>> replace_answer("On August 8 , 2014 it came out.", "August 8, 2014", "May 1998")
    'On May 1998 it came out.'
    """
    return mentions(old).sub(lambda _: new, text)


def mentions(answer: str) -> re.Pattern[str]:
    """Compile a pattern for every mention of an answer, however spaced and spelled."""
    words = [word for word in re.split(r"[^\w]+", answer) if word]
    pattern = r"[\W_]{1,4}".join(map(re.escape, words))
    return re.compile(rf"(?<!\w){pattern}(?!\w)" if words else r"(?!)", re.IGNORECASE)


def windows(texts: Sequence[str], gold: Sequence[str]) -> list[str]:
    """Return stretches of the texts that bear a right answer, each another cut of at most about 50 words.

    From each sentence that bears one: alone, with those before it, with those after it.
    """
    distinct_cuts: dict[str, str] = {}
    cuts = [(0, 0), (0, 1), (1, 0), (1, 1), (0, 2), (2, 0), (2, 1), (1, 2), (0, 3), (3, 0)]
    for before, after in cuts:
        for text in texts:
            spans = sentences(text)
            for n, (start, end) in enumerate(spans):
                if not bears_any(text[start:end], gold):
                    continue
                first, last = spans[max(n - before, 0)][0], spans[min(n + after, len(spans) - 1)][1]
                cut = _around(text[first:last], text[start:end], gold)
                if bears_any(cut, gold):
                    distinct_cuts.setdefault(squad_normalise(cut), cut)
    # What says little, or names several right answers, comes last.
    return sorted(
        distinct_cuts.values(),
        key=lambda cut: (len(cut.split()) < FEW, sum(stands(cut, answer) for answer in gold) > 1),
    )


def _around(cut: str, core: str, gold: Sequence[str]) -> str:
    """Return about 50 words: the stretch, its core sentence, or the words about the answer."""
    if len(cut.split()) <= LONG:
        return cut
    words = core.split()
    if len(words) <= LONG:
        return core
    at = next((n for n in range(len(words)) if bears_any(" ".join(words[n : n + 8]), gold)), 0)
    return " ".join(words[max(at - LONG // 2, 0) : at + LONG // 2])


_OPENINGS = (
    "",
    "It is on record: ",
    "One account says: ",
    "From a reference work: ",
    "As was noted at the time: ",
    "A short summary: ",
    "From an article on the subject: ",
    "Readers have asked about this. ",
    "In brief: ",
)


def _variants(texts: Sequence[str], wanted: int) -> list[str]:
    """Return so many texts that differ: the texts, then the same under other openings."""
    wordings: dict[str, None] = {}
    for opening in _OPENINGS:
        for text in texts:
            if len(wordings) < wanted:
                wordings.setdefault(f"{opening}{text}")
    return list(wordings)


def substitute(materials: Sequence[Material], *, seed: int = 0) -> list[Material]:
    """Return every question with nine factual texts and nine lies of three texts, made in code.

    Wrong answers are right and wrong answers of other questions of the same type, and figures near the
    right one where there are too few. A question for which no nine lies can be made is left out.
    """
    pools: dict[str, dict[str, str]] = {}
    for material in materials:
        for answer in (*material.gold[:1], *(lie.answer for lie in material.lies)):
            pools.setdefault(kind_of(material.question, answer), {}).setdefault(
                squad_normalise(answer), answer
            )
    done = (_substitute(material, pools, random.Random(f"{seed}/{material.id}")) for material in materials)
    return [material for material in done if material is not None and not material.faults()]


def _substitute(
    material: Material, pools: Mapping[str, Mapping[str, str]], chance: random.Random
) -> Material | None:
    cuts = windows(material.factual, material.gold)
    title = "" if bears_any(material.title, material.gold) else material.title
    fitting = [
        lie
        for lie in material.lies
        if not bears_any(" ".join([material.question, title, *cuts]), [lie.answer])
    ]
    chosen = [*fitting]
    rivals = [
        answer
        for answer in _rivals(material, pools, chance)
        if not any(
            stands(text, answer) or stands(answer, text)
            for text in (material.question, title, *cuts, *material.gold)
        )
    ]
    for answer in rivals:
        if len(chosen) == LIES:
            break
        if any(stands(lie.answer, answer) or stands(answer, lie.answer) for lie in chosen):
            continue
        texts = _variants(_false(cuts, material.gold, answer), TEXTS)
        if len(texts) == TEXTS:
            chosen.append(Lie(answer=answer, texts=tuple(texts)))
    factual = _variants(cuts, FACTUAL)
    if len(chosen) < LIES or len(factual) < FACTUAL:
        return None
    return Material(
        id=material.id,
        question=material.question,
        gold=material.gold,
        title=title,
        factual=tuple(factual),
        lies=tuple(chosen[:LIES]),
        made={"given": TEXTS * len(fitting), "substituted": FACTUAL + TEXTS * (LIES - len(fitting))},
    )


def _rivals(
    material: Material, pools: Mapping[str, Mapping[str, str]], chance: random.Random
) -> Iterator[str]:
    """Yield wrong answers of the right one's type: other answers, figures near it, then any name."""
    kind = kind_of(material.question, material.gold[0])
    if kind in ("date", "number"):
        figures = (near_figure(material.gold[0], kind, chance) for _ in range(60))
        near = [figure for figure in figures if figure != material.gold[0]]
        yield from dict.fromkeys(near)
    yield from _shuffle_short(pools.get(kind, {}), chance)
    if kind in ("person", "place", "name"):
        for other in ("name", "place", "person"):
            yield from _shuffle_short(pools.get(other, {}) if other != kind else {}, chance)


def _shuffle_short(pool: Mapping[str, str], chance: random.Random) -> list[str]:
    short = [pool[key] for key in sorted(pool) if len(key.split()) <= 4]
    return chance.sample(short, len(short))


def near_figure(figure: str, kind: str, chance: random.Random) -> str:
    """Return another date or number of the same form.

    >>> near_figure("May 1921", "date", random.Random(1)) != "May 1921"
    True
    """

    def year(match: re.Match[str]) -> str:
        return str(int(match[0]) + chance.choice([-1, 1]) * chance.randint(1, 15))

    def digits(match: re.Match[str]) -> str:
        value = int(match[0])
        return str(max(1, value + chance.choice([-1, 1]) * chance.randint(1, max(2, min(value, 900) // 2))))

    if kind == "date":
        shifted = re.sub(r"\b(?:1\d|20)\d\d\b", year, figure)
        shifted = re.sub("|".join(MONTHS), lambda _: chance.choice(MONTHS), shifted)
        return re.sub(r"\b\d{1,2}\b", lambda _: str(chance.randint(1, 28)), shifted)
    return re.sub(r"\d+", digits, figure, count=1)


def _false(cuts: Sequence[str], gold: Sequence[str], answer: str) -> list[str]:
    """Return the cuts with a wrong answer in the place of every right one.

    >>> _false(["By Ada, Bo and Cy."], ["Ada", "Bo", "Cy"], "Di")
    ['By Di.']
    """
    changed = []
    for cut in cuts:
        text = cut
        for right in sorted(gold, key=len, reverse=True):
            text = surnames(replace_answer(text, right, answer), right, answer)
        again = rf"(?:,? and |, (?:and )?| or ){re.escape(answer)}(?!\w)"
        changed.append(re.sub(rf"(?<!\w)({re.escape(answer)})(?:{again})+", r"\1", text))
    return [text for text in changed if stands(text, answer) and not bears_any(text, gold)]


def surnames(text: str, old: str, new: str) -> str:
    """Return the text with the last name of a name of several words replaced as well.

    >>> surnames("Then Vasmer left.", "Ingrid Vasmer", "Ada Lund")
    'Then Lund left.'
    """
    before, after = old.split(), new.split()
    if len(before) < 2 or len(after) < 2 or not all(word[:1].isupper() for word in (*before, *after)):
        return text
    return re.sub(rf"\b{re.escape(before[-1])}\b", lambda _: after[-1], text)
