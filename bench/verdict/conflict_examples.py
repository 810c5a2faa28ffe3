"""Questions with real passages beside fabricated ones: ConflictNQ, PoisonedRAG and RealtimeQA, in a shuffled order."""

from __future__ import annotations

import ast
import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from disputatio.eval.builders.material import TEXTS, Material, bears_any, stands
from disputatio.eval.builders.origins import nq_passages, read_material
from disputatio.eval.data.datasets import load
from disputatio.store.in_memory import InMemory
from disputatio.store.ingesting.source import domain
from disputatio.text import bare_words, content_id, sentences, squad_normalise, stem
from disputatio.types import Example, Passage

CHARACTERS = 2_000  # of a passage, so that none is divided
MOST_REAL = 5  # of the passages retrieved for a question of PoisonedRAG
MOST_POISONED = 5
SEARCHED = 10  # of the real passages of a question of RealtimeQA, by BM25
ASKING = "what when where which who whom whose how did does was were are has have and for from with"
LOOKED_AT = 20  # of the passages that a search for a second real one finds
CONFLICTNQ, NQ, POISONEDRAG = "conflictnq/val.jsonl", "nq_with_passages/nq.jsonl", "poisonedrag/nq.jsonl"

Second = Literal["", "halves with one answer", "retrieved", "halves with an answer each"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A question with real passages, and passages that state the one wrong answer.

    `number` is its row in its file, from 0. `whole` is what is read where one real passage is asked for,
    `real` where several are: those for two, `second` saying how they were had, or those retrieved.
    """

    number: int
    question: str
    gold: tuple[str, ...]
    lie: str
    whole: tuple[str, ...] = ()
    real: tuple[str, ...]
    false: tuple[str, ...]
    second: Second = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """So many fabricated passages beside so many real ones; `real` is None for all that were retrieved."""

    corpus: Literal["conflictnq", "poisonedrag"]
    real: int | None
    false: int

    @property
    def name(self) -> str:
        """As `--settings` takes it."""
        real = "" if self.real is None else f"{self.real}r"
        return f"{self.corpus}-{real}{self.false}f"


SETTINGS: Mapping[str, Setting] = {
    row.name: row
    for row in (
        *(Setting(corpus="conflictnq", real=real, false=false) for real in (1, 2) for false in (1, 2, 3)),
        *(Setting(corpus="poisonedrag", real=None, false=false) for false in (1, 3, 5)),
    )
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """The rows that are asked, in the order of their file."""

    rows: tuple[Row, ...]

    def of(self, setting: Setting) -> list[Row]:
        """Return the rows that have as many real passages as a setting asks for."""
        return [row for row in self.rows if setting.real != 2 or row.second]


def example(row: Row, setting: Setting, seed: int) -> Example:
    """Return a row as it is asked in a setting: its passages without source, title or date, shuffled by the
    seed.

    The fabricated passages of a smaller number are among those of a greater one.
    """
    real = row.whole if setting.real == 1 else row.real
    texts = [("real", one) for one in real] + [("false", one) for one in row.false[: setting.false]]
    random.Random(f"{seed} {setting.name} {row.number}").shuffle(texts)
    return Example(
        id=content_id("x", setting.name, str(row.number)),
        row=row.number,
        question=row.question,
        gold=row.gold,
        wrong=(row.lie,),
        passages=tuple(Passage(text=text) for _, text in texts),
        metadata={"kinds": tuple(kind for kind, _ in texts)},
    )


# --- ConflictNQ ---------------------------------------------------------------------------------
def conflictnq(data: Path, *, questions: int, seed: int) -> Chosen:
    """So many questions of ConflictNQ that have a short answer and three passages for a short wrong one.

    Those with two real passages are taken first, so that both kinds of setting share their questions.
    """
    spec = f"conflictnq:{data / CONFLICTNQ}"
    numbers = {content_id("q", one.question): one.row for one in reversed(load(spec))}
    short = read_material(spec)
    rows = [row for material in short if (row := _row(material, numbers[material.id])) is not None]
    shelf = _shelf(data, short)
    rows = [_with_second(one, shelf) for one in rows]
    chance = random.Random(f"{seed} conflictnq")
    mixed = sorted(chance.sample(rows, len(rows)), key=lambda one: not one.second)
    chosen = sorted(mixed[:questions], key=lambda one: one.number)
    return Chosen(rows=tuple(chosen))


def _row(material: Material, number: int) -> Row | None:
    """Return a question with its real passage and three fabricated ones; None where they do not bear what
    they should.
    """
    lies = [lie for lie in material.lies if len(set(lie.texts)) >= TEXTS]
    real = tuple(text[:CHARACTERS] for text in material.factual[:1])
    if not lies or not real or not bears_any(real[0], material.gold):
        return None
    false = tuple(text[:CHARACTERS] for text in lies[0].texts[:TEXTS])
    return Row(
        number=number,
        question=material.question,
        gold=material.gold,
        lie=lies[0].answer,
        whole=real,
        real=real,
        false=false,
    )


def _shelf(data: Path, materials: Sequence[Material]) -> InMemory:
    """Return all real passages of ConflictNQ and all that were retrieved for NQ."""
    real = [Passage(text=text[:CHARACTERS]) for material in materials for text in material.factual]
    retrieved = [Passage(text=passage.text[:CHARACTERS]) for passage in nq_passages(data / NQ)]
    return InMemory([*real, *retrieved])


def _with_second(row: Row, shelf: InMemory) -> Row:
    """Return the row with two real passages, in the best way that there is; as it is where there is none."""
    text = row.real[0]
    for shared in (True, False):
        if halves := _halves(text, row.gold, shared=shared):
            return replace(
                row, real=halves, second="halves with one answer" if shared else "halves with an answer each"
            )
        if shared and (passage := _retrieved(row, shelf)):
            return replace(row, real=(text, passage), second="retrieved")
    return row


def _halves(text: str, gold: Sequence[str], *, shared: bool) -> tuple[str, str] | None:
    """Return the text cut at the end of a sentence, nearest its middle, so that both halves bear an answer.

    `shared`: the same one of the right answers. Within brackets nothing is cut: "(b. 1981)" ends no sentence.

    >>> _halves("Ada Lund built it. It is tall. Ada Lund sold it.", ["Ada Lund"], shared=True)
    ('Ada Lund built it.', 'It is tall. Ada Lund sold it.')
    """
    cuts = [start for start, _ in sentences(text)[1:]]
    for cut in sorted(cuts, key=lambda at: (abs(at - len(text) / 2), at)):
        first, last = text[:cut].strip(), text[cut:].strip()
        if first.count("(") > first.count(")"):
            continue
        both = [answer for answer in gold if stands(first, answer) and stands(last, answer)]
        if both or (not shared and bears_any(first, gold) and bears_any(last, gold)):
            return first, last
    return None


def _retrieved(row: Row, shelf: InMemory) -> str:
    """Return the best passage of another row with an answer and all content words of the question; empty for
    none.
    """
    content = _content(row.question)
    for hit in shelf.search(row.question, k=LOOKED_AT):
        text = hit.passage.text
        if text not in row.real and bears_any(text, row.gold) and content <= _content(text):
            return text
    return ""


def _content(text: str) -> set[str]:
    """Return the stems of a text's figures and of its words of three letters or more that do not only ask.

    >>> sorted(_content("When was the 2nd footbridge at Elm built?"))
    ['2nd', 'built', 'elm', 'footb']
    """
    words = set(bare_words(text)) - set(ASKING.split())
    return {stem(term) for term in words if len(term) > 2 or any(map(str.isdigit, term))}


# --- PoisonedRAG --------------------------------------------------------------------------------
def poisonedrag(data: Path, *, questions: int | None = None, seed: int = 0) -> Chosen:
    """Return the questions of PoisonedRAG that NQ has retrieved passages for; all of them, or so many.

    Passages that bear an answer come first where more than five were retrieved. What NQ takes for right is
    right beside PoisonedRAG's own answer; where the target is among it, the question is left out.
    """
    retrieved = {squad_normalise(one.question): one for one in load(f"nq_with_passages:{data / NQ}")}
    poisoned = load(f"poisonedrag:{data / POISONEDRAG}")
    met = [one for one in poisoned if squad_normalise(one.question) in retrieved]
    rows = [
        row for one in met if (row := _poisoned(one, retrieved[squad_normalise(one.question)])) is not None
    ]
    count = len(rows) if questions is None else min(questions, len(rows))
    chosen = sorted(random.Random(f"{seed} poisonedrag").sample(rows, count), key=lambda one: one.number)
    return Chosen(rows=tuple(chosen))


def _poisoned(row: Example, retrieved: Example) -> Row | None:
    names = [name for reading in retrieved.metadata["readings"] for group in reading for name in group]
    gold = tuple(dict.fromkeys([*row.gold, *names]))
    (lie,) = row.wrong
    false = tuple(dict.fromkeys(passage.text[:CHARACTERS] for passage in row.passages))
    if len(false) < MOST_POISONED or any(stands(lie, name) or stands(name, lie) for name in gold):
        return None
    texts = list(dict.fromkeys(passage.text[:CHARACTERS] for passage in retrieved.passages))
    texts.sort(key=lambda text: not bears_any(text, gold))
    return Row(
        number=row.row,
        question=row.question,
        gold=gold,
        lie=lie,
        real=tuple(texts[:MOST_REAL]),
        false=false[:MOST_POISONED],
    )


# --- RealtimeQA ---------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True, kw_only=True)
class NewsRow:
    """A question with its ten real passages and its poisoned ones; `found` are all its real ones."""

    example: Example
    found: tuple[Passage, ...] = ()
    lie: str
    poison: tuple[Passage, ...]

    @property
    def bearing(self) -> int:
        """The number of real passages that bear the right answer."""
        return sum(bears_any(f"{p.title} {p.text}", self.example.gold) for p in self.example.passages)


def read_realtimeqa(path: Path) -> list[NewsRow]:
    """Return the rows of the file, in its order."""
    rows = []
    for number, row in enumerate(json.loads(path.read_text(encoding="utf-8"))):
        texts = _listed(row["context"])
        passages = [
            Passage(
                text=" ".join(text["text"].split()),
                title=" ".join(str(text.get("title") or "").split()),
                source=domain(text["link"]),
                url=text["link"],
                id=f"r{number}/{n}",
            )
            for n, text in enumerate(texts)
            if str(text.get("text") or "").strip() and text.get("link")
        ]
        if not passages:
            continue
        best = [hit.passage for hit in InMemory(passages).search(row["question"], k=SEARCHED)]
        gold = row["correct answer"]
        lie = str(row["incorrect answer"])
        false = [text for text in _listed(row["incorrect_context"]) if stands(text, lie)]
        rows.append(
            NewsRow(
                example=Example(
                    id=f"r{number}",
                    row=number,
                    question=row["question"],
                    gold=tuple(gold) if isinstance(gold, list) else (str(gold),),
                    wrong=(lie,),
                    passages=tuple(best),
                ),
                found=tuple(passages),
                lie=lie,
                poison=tuple(
                    Passage(text=text, source=f"fresh-{number}-{n}.example", id=f"r{number}/poison{n}")
                    for n, text in enumerate(false[:MOST_POISONED], 1)
                ),
            )
        )
    return rows


def _listed(value: Any) -> list[Any]:
    """Return a list, which some editions of the file hold as the text of a Python literal."""
    listed = ast.literal_eval(value) if isinstance(value, str) else value
    return list(listed)
