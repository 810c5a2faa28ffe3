"""Questions of a multi-source benchmark, from three published data sets."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from disputatio.errors import InputError, UnknownName
from disputatio.eval.builders.material import TEXTS, Lie, Material, bears_any, stands
from disputatio.eval.builders.substitution import DATE, NAME, NUMBER, kind_of, replace_answer
from disputatio.eval.data.rows import read_text
from disputatio.text import bare_words, content_id, squad_normalise
from disputatio.types import Passage

T = TypeVar("T")

# Questions for a story, a list or a comparison have no short answer that could be wrong in one way;
# those for a reason or a meaning have one where a single name carries it.
_OPEN = re.compile(
    r"^(?:how(?! (?:many|much|long|old|far|tall|large)\b)|explain|describe|provide|do|does|did|is|are|can)\b"
    r"|^(?:will|have|has)\b"
    r"|\b(?:differences?|plot|summary|happens?|characteristics|events|mechanism|like|do they do)\b",
    re.IGNORECASE,
)
_LOOSE = re.compile(
    r"^why\b|\b(?:meaning|mean|purpose|damage|impact|reasons?|function|story|consequences|inspired)\b",
    re.IGNORECASE,
)
# What a question asks for, where its first words say so.
_WHEN = re.compile(r"^(?:when|what year|in what year)\b", re.IGNORECASE)
_HOW_MUCH = re.compile(r"^how (?:many|much|old|far|tall|large|long)\b", re.IGNORECASE)
_WHO_OR_WHERE = re.compile(r"^(?:\w+ )?(?:who|whom|whose|where)\b", re.IGNORECASE)
_ASKED = (
    (_WHEN, ("date",)),
    (_HOW_MUCH, ("number", "date", "phrase")),
    (_WHO_OR_WHERE, ("person", "place", "name", "phrase")),
)
_FIRST = re.compile(r"^(?:the|a|an|it|in|by|on|at|from|during|circa|around|since|dr\.)\s+", re.IGNORECASE)


def conflictnq(row: Mapping[str, Any]) -> Material | None:
    """Return a row of ConflictNQ: real and fabricated passages. None where the question has no short answer.

    Its answers are sentences more often than not: the right one is cut to the names, dates and figures
    of it that the real passages bear and the question does not name; the fabricated one likewise.
    """
    question = row["cleaned_question"]
    real = tuple(_plain(passage["passage"]) for passage in row["real_passages"])
    fake = tuple(_plain(passage["passage"]) for passage in row["fake_passages"])
    if _OPEN.search(question):
        return None
    gold = key_answers(row["real_short_answer"], question, " ".join(real))
    if not gold or (_LOOSE.search(question) and (len(gold) > 1 or " " not in gold[0])):
        return None
    lies = []
    false = [text for text in fake if not bears_any(text, gold)]
    for answer in key_answers(row["fake_short_answer"], question, " ".join(fake))[:1]:
        bearing = tuple(text for text in false if stands(text, answer))
        if len(bearing) >= TEXTS and len(bare_words(answer)) <= 4 and not stands(gold[0], answer):
            lies.append(Lie(answer=answer, texts=bearing[:TEXTS]))
    return Material(
        id=content_id("q", question),
        question=question,
        gold=gold,
        title=_plain(row["real_passages"][0].get("summary", "")),
        factual=real,
        lies=tuple(lies),
    )


def nq_with_passages(row: Mapping[str, Any]) -> Material | None:
    """Return a row of NQ with retrieved passages: those that bear a golden answer are the factual ones."""
    gold = tuple(dict.fromkeys(answer.strip() for answer in row["golden_answers"] if squad_normalise(answer)))
    bearing = [
        passage
        for passage in row["passages"]
        if passage.get("has_answer") and bears_any(passage["text"], gold)
    ]
    short = [answer for answer in gold if len(bare_words(answer)) <= 5]
    if not bearing or not short or bears_any(row["question"], gold):
        return None
    return Material(
        id=content_id("q", row["question"]),
        question=row["question"],
        gold=gold,
        title=_plain(bearing[0].get("title", "")).strip('"'),
        factual=tuple(_plain(passage["text"]) for passage in bearing),
    )


def poisonedrag(row: Mapping[str, Any]) -> Material | None:
    """Return a row of PoisonedRAG: its poisoned passages are a lie, and, corrected, factual texts."""
    question, right, target = row["question"], str(row["correct answer"]), str(row["incorrect answer"])
    gold = (right.strip(" ."),)
    if not squad_normalise(right) or len(bare_words(right)) > 5 or bears_any(question, [*gold, target]):
        return None
    if stands(target, right) or stands(right, target):
        return None
    false = [text for adversarial in row["adv_texts"] if stands(text := _plain(adversarial), target)]
    false = [text for text in false if not bears_any(text, gold)]
    if len(false) < TEXTS:
        return None
    return Material(
        id=content_id("q", question),
        question=question,
        gold=gold,
        factual=tuple(replace_answer(text, target, gold[0]) for text in false),
        lies=(Lie(answer=target.strip(" ."), texts=tuple(false[:TEXTS])),),
    )


ORIGINS: Mapping[str, Callable[[Mapping[str, Any]], Material | None]] = {
    reader.__name__: reader for reader in (conflictnq, nq_with_passages, poisonedrag)
}


def nq_passages(path: Path) -> list[Passage]:
    """Return all retrieved passages of an `nq_with_passages` file, with titles."""
    return [
        Passage(text=_plain(passage["text"]), title=_plain(passage.get("title", "")).strip('"'))
        for passages in _rows(path, "nq_with_passages", lambda row: row["passages"])
        for passage in passages
    ]


def read_material(spec: str) -> list[Material]:
    """Read the material of `NAME:PATH` (`ORIGINS`), each question with a short answer once.

    Raises `UnknownName`, and `InputError` naming file and line.
    """
    name, colon, path = spec.partition(":")
    if name not in ORIGINS:
        raise UnknownName("origin", name, ORIGINS)
    if not colon or not path:
        raise InputError(f"{spec}: say which file, as in {name}:PATH")
    if Path(path).is_dir():
        raise InputError(f"{path}: a folder; name the file of rows in it, as in {name}:{Path(path) / 'FILE'}")
    materials: dict[str, Material] = {}
    for row in _rows(Path(path), name, ORIGINS[name]):
        if row is not None:
            materials.setdefault(squad_normalise(row.question), row)
    return list(materials.values())


def _rows(path: Path, name: str, read: Callable[[Any], T]) -> Iterator[T]:
    """Yield the rows of a JSON lines file as `read` reads them; raises `InputError` with the line."""
    for number, line in enumerate(read_text(path).split("\n"), 1):
        if line.strip():
            try:
                yield read(json.loads(line))
            except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
                raise InputError(
                    f"{path}:{number}: not a row of {name} ({type(error).__name__}: {error})"
                ) from error


def key_answers(answer: str, question: str, text: str) -> tuple[str, ...]:
    """Return the short answers within an answer: in the text, and not in the question.

    The whole answer if it is short; else its dates, figures and names, the longest first.

    >>> key_answers("It is named after Reginald C. Punnett.", "Why so?", "By Reginald C. Punnett , 1905.")
    ('Reginald C. Punnett',)
    >>> key_answers("the crew", "Who left?", "Then the crew left.")
    ('the crew',)
    """
    whole = answer.strip(" .")
    if len(bare_words(whole)) <= 5 and stands(text, whole) and not stands(question, whole):
        return (whole,)
    question_words = set(bare_words(question))
    kept: list[str] = []
    for part in _spans(whole):
        bare = _FIRST.sub("", part)
        words = bare_words(bare)
        typed = kind_of("", bare) != "phrase" and _is_asked_for(question, bare)
        if (
            words
            and typed
            and not set(words) <= question_words
            and stands(text, bare)
            and _is_name(bare, text)
        ):
            kept.append(bare)
    kept.sort(key=lambda form: -len(bare_words(form)))
    distinct: list[str] = []
    for form in kept:
        if not any(stands(other, form) for other in distinct):
            distinct.append(form)
    # Names and dates answer different questions: what is not of the type of the longest is left out.
    return tuple(form for form in distinct if kind_of("", form) == kind_of("", distinct[0]))[:4]


def _spans(answer: str) -> Iterator[str]:
    """Yield dates, then figures and names, outside of them."""
    rest = answer
    for pattern in (DATE, NAME, NUMBER):
        yield from (match[0].strip(" .,'’") for match in pattern.finditer(rest))
        rest = pattern.sub(" ; ", rest)


def _is_asked_for(question: str, part: str) -> bool:
    """Return True if a span is of the type that the question's first words ask for."""
    kind = kind_of(question, part)
    return all(kind in kinds for first, kinds in _ASKED if first.search(question))


def _is_name(part: str, text: str) -> bool:
    """Return True if a capitalised span is a name: it also has a capital within a sentence."""
    if part in ("North", "South", "East", "West"):
        return False
    if not part[0].isupper() or " " in part:
        return len(part) > 1
    return re.search(rf"[a-z,\"(]\s+{re.escape(part)}\b", text) is not None


def _plain(text: str) -> str:
    """Return text on one line, without the spaces before punctuation that tokenised text has.

    >>> _plain("on August 8 , 2014 . Later , ``so '' .")
    'on August 8, 2014. Later, "so".'
    """
    joined = re.sub(r" ?''", '"', re.sub(r"`` ?", '"', " ".join(str(text).split())))
    joined = re.sub(r" ([,.;:!?)\]%])", r"\1", joined)
    joined = re.sub(r"([(\[]) ", r"\1", joined)
    return re.sub(r" ('s|n't|'re|'ve)\b", r"\1", re.sub(r"\b - \b", "-", joined))
