"""Ambiguous questions with their readings, and passages that bear an answer to one of them.

From AmbigNQ's light file, whose rows tell a question for each reading, or from any data set whose rows have
several right answers; passages from an index, or from passages in hand.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from disputatio.errors import InputError
from disputatio.eval.builders.bearing import content_words, is_about, is_one_answer, measure_coverage
from disputatio.eval.builders.material import bears_any, stands
from disputatio.eval.builders.origins import nq_passages
from disputatio.eval.builders.substitution import MONTHS
from disputatio.eval.data.datasets import load
from disputatio.eval.data.rows import Place, list_field, read_text, string
from disputatio.protocols import Retriever
from disputatio.store.passage_files import load_passages
from disputatio.text import bare_words, sentences, squad_normalise, stem
from disputatio.types import Hit, Passage
from disputatio.values import bears

AMBIGNQ, NQ = "ambignq", "nq_with_passages"
WORDS = 100  # of a passage, at most (section 3 of the paper)
ABOUT = 0.65  # of the weighed words of a reading's question, from which a passage is about it
NEAR = 0.3  # of the same, in the sentence that bears the answer and the one before it
BESIDE = 4  # words on each side of a bare figure, among which one of the question's must be
SCRAP = 8  # words below which a text is no passage, but a scrap
LONGEST = 6  # words of an answer that may be found word for word
_FIGURE = re.compile(r"\W*\d{1,3}\W*")  # such a one stands in most passages by chance
_DATED = frozenset(month.casefold() for month in MONTHS)
_HONEST = frozenset({"", "correct", "noise", "factual", "irrelevant", "clean", "gold"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Sense:
    """One reading: the question that it alone answers, the names of its answer, and of what it is about.

    The data set may tell only some of them: `question` is then the ambiguous one, `entity` empty.
    """

    question: str
    answers: tuple[str, ...]
    entity: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ambiguous:
    """A question with the readings that it has; `passages` are those of its own row, if it has any."""

    question: str
    row: int
    senses: tuple[Sense, ...]
    passages: tuple[Passage, ...] = ()

    @property
    def answers(self) -> list[str]:
        """All names of all answers."""
        return [answer for sense in self.senses for answer in sense.answers]


@dataclass(frozen=True, slots=True, kw_only=True)
class Borne:
    """A reading with the name of its answer that most passages bear, and their texts, the best first."""

    sense: Sense
    answer: str
    texts: tuple[str, ...]


# --- questions ----------------------------------------------------------------------------------
def read_ambiguous(spec: str) -> list[Ambiguous]:
    """Return the questions of `ambignq:PATH` or another `NAME:PATH`, each right answer a reading.

    Raises `InputError` naming file and row, and `UnknownName`.
    """
    name, colon, path = spec.partition(":")
    if name == AMBIGNQ and colon and path:
        return _ambignq(Path(path))
    return [
        Ambiguous(
            question=example.question,
            row=example.row,
            senses=_apart(_readings(example.question, example.gold, example.metadata), example.question),
            passages=honest(example.passages, example.metadata),
        )
        for example in load(spec)
    ]


def _ambignq(path: Path) -> list[Ambiguous]:
    text = read_text(path)
    try:
        rows = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: not one JSON value: {error}") from error
    if not isinstance(rows, list) or not rows:
        raise InputError(f"{path}: not what {AMBIGNQ} reads: a JSON list of questions with annotations")
    return [_ambignq_row(row, Place(dataset=AMBIGNQ, path=path, row=n)) for n, row in enumerate(rows)]


def _ambignq_row(row: Any, place: Place) -> Ambiguous:
    """Return a row of the light file; of several annotations that with the most readings counts."""
    if not isinstance(row, dict):
        raise place.wrong("not a JSON object")
    question = string(row, "question", place)
    senses: list[Sense] = []
    single: list[str] = []
    for number, annotation in enumerate(list_field(row, "annotations", dict, place)):
        at = f"annotations[{number}]."
        if string(annotation, "type", place, at) == "multipleQAs":
            several = [
                Sense(
                    question=string(pair, "question", place, f"{at}qaPairs[{n}].").split("|")[0],
                    answers=tuple(list_field(pair, "answer", str, place)),
                )
                for n, pair in enumerate(list_field(annotation, "qaPairs", dict, place))
            ]
            senses = max(senses, several, key=len)
        else:
            single += list_field(annotation, "answer", str, place)
    alone = [Sense(question=question, answers=tuple(single))] if single else []
    return Ambiguous(question=question, row=place.row, senses=_apart(senses or alone, question))


def _readings(question: str, gold: Sequence[str], metadata: Mapping[str, Any]) -> list[Sense]:
    """Return a row's right answers as readings: with all their names, where the data set tells them."""
    reading = max(metadata.get("readings") or ((),), key=len)
    names = [tuple(aliases) for aliases in reading] or [(answer,) for answer in gold]
    about = metadata.get("entities") or ()
    entities = about if len(about) == len(names) else ("",) * len(names)
    return [
        Sense(question=question, answers=answers, entity=entity)
        for answers, entity in zip(names, entities, strict=True)
    ]


def _apart(senses: Iterable[Sense], question: str) -> tuple[Sense, ...]:
    """Return readings whose answers differ; those with one answer are made one.

    That is yes and no, what the question names itself, and whole sentences.
    """
    kept: list[Sense] = []
    for sense in senses:
        answers = tuple(
            dict.fromkeys(
                answer.strip()
                for answer in sense.answers
                if 0 < len(bare_words(answer)) <= LONGEST
                and squad_normalise(answer) not in ("yes", "no")
                and not stands(question, answer)
            )
        )
        if not answers:
            continue
        twin = next(
            (
                n
                for n, other in enumerate(kept)
                if any(is_one_answer(a, b) for a in answers for b in other.answers)
            ),
            None,
        )
        if twin is None:
            kept.append(replace(sense, answers=answers))
        else:
            both = tuple(dict.fromkeys((*kept[twin].answers, *answers)))
            kept[twin] = replace(kept[twin], answers=both)
    return tuple(kept)


# --- passages -----------------------------------------------------------------------------------
def pool(specs: Sequence[str]) -> list[Passage]:
    """Return the passages of files (JSON lines of passages) and of data sets `NAME:PATH`, each text once.

    What a data set marks as misinformation is left out. Raises `InputError` and `UnknownName`.
    """
    passages: dict[str, Passage] = {}
    for spec in specs:
        name, colon, path = spec.partition(":")
        if not colon or Path(spec).exists():
            more = load_passages(spec)
        elif name == NQ:
            more = nq_passages(Path(path))
        else:
            more = [
                passage for example in load(spec) for passage in honest(example.passages, example.metadata)
            ]
        for passage in more:
            passages.setdefault(passage.text, replace(passage, id=""))
    if not passages:
        raise InputError(f"{', '.join(specs)}: no passages")
    return list(passages.values())


def honest(passages: Sequence[Passage], metadata: Mapping[str, Any]) -> tuple[Passage, ...]:
    """Return those of a row's passages that are not marked as misinformation."""
    types = metadata.get("types") or ("",) * len(passages)
    return tuple(passage for passage, kind in zip(passages, types, strict=True) if kind in _HONEST)


def look_up(ambiguous: Ambiguous, retriever: Retriever, depth: int) -> dict[str, list[Hit]]:
    """Search for the question, and for that of each reading: the best `depth` passages."""
    queries = dict.fromkeys((ambiguous.question, *(sense.question for sense in ambiguous.senses)))
    return {question: retriever.search(question, k=depth) for question in queries}


def borne(
    ambiguous: Ambiguous, hits_by_query: Mapping[str, Sequence[Hit]], rarity: Mapping[str, float]
) -> list[Borne]:
    """Return the readings whose answer passages state word for word, about no other reading.

    A passage is cut to 100 words about the answer. No text stands under two readings. `rarity` is that of
    words among all questions (`bearing.rarities`).
    """
    taken: set[str] = set()
    bearing = []
    for sense in ambiguous.senses:
        others = [answer for answer in ambiguous.answers if answer not in sense.answers]
        texts: dict[str, list[str]] = {answer: [] for answer in sense.answers}
        for hit in hits_by_query[sense.question]:
            for answer in sense.answers:
                if not stands(hit.passage.text, answer):
                    continue
                text = cut(hit.passage, answer)
                if text in taken or bears_any(text, others) or not is_about(text, ambiguous.question, rarity):
                    continue
                if seems_to_answer(text, answer, sense.question, rarity):
                    texts[answer].append(text)
        answer = max(sense.answers, key=lambda name: len(texts[name]))
        if texts[answer]:
            kept = tuple(dict.fromkeys(texts[answer]))
            taken.update(kept)
            bearing.append(Borne(sense=sense, answer=answer, texts=kept))
    return bearing


def seems_to_answer(text: str, answer: str, question: str, rarity: Mapping[str, float]) -> bool:
    """Return True if a text has the answer, and the question's words, some of them near it."""
    if measure_coverage(text, question, rarity) < ABOUT:
        return False
    spans = [text[start:end] for start, end in sentences(text)]
    near = (
        " ".join(spans[max(n - 1, 0) : n + 1]) for n, sentence in enumerate(spans) if stands(sentence, answer)
    )
    if not any(measure_coverage(span, question, rarity) >= NEAR for span in near):
        return False
    return not _FIGURE.fullmatch(answer) or _is_counted(text, answer, question)


def _is_counted(text: str, figure: str, question: str) -> bool:
    """Return True if a bare figure stands beside a word of the question, and not in a date.

    >>> _is_counted("It has 10 episodes.", "10", "How many episodes?")
    True
    >>> _is_counted("The episodes came on March 10.", "10", "How many episodes?")
    False
    """
    question_words = content_words(question)
    words = bare_words(text)
    for at in (n for n, word in enumerate(words) if word == squad_normalise(figure)):
        close = words[max(at - BESIDE, 0) : at + BESIDE + 1]
        if not _DATED & {*words[max(at - 3, 0) : at + 4]} and question_words & {stem(word) for word in close}:
            return True
    return False


def cut(passage: Passage, answer: str) -> str:
    """Return the passage's text with its title in front, or the up to 100 words of it about an answer.

    >>> cut(Passage(text="It was built in 1921.", title="The mill"), "1921")
    'The mill It was built in 1921.'
    """
    text = " ".join(passage.text.split())
    title = " ".join(passage.title.strip('" ').split())
    head = "" if not title or text.startswith(title) else f"{title} "
    room = max(WORDS - len(head.split()), WORDS // 2)
    words = text.split()
    if len(words) <= room:
        return head + text
    size = len(answer.split())
    at = next((n for n in range(len(words)) if stands(" ".join(words[n : n + size + 1]), answer)), 0)
    first = max(0, min(at - room // 2, len(words) - room))
    return head + " ".join(words[first : first + room])


def noise(ambiguous: Ambiguous, hits_by_query: Mapping[str, Sequence[Hit]]) -> list[str]:
    """Return found texts without an answer, not even half of one, the best first."""
    hits = sorted((hit for hits in hits_by_query.values() for hit in hits), key=lambda hit: -hit.score)
    texts = dict.fromkeys(cut(hit.passage, "") for hit in hits if len(hit.passage.text.split()) >= SCRAP)
    return [text for text in texts if not any(bears(text, answer) for answer in ambiguous.answers)]
