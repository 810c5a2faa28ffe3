"""The two controlled sets of MADAM-RAG's Figure 4, made from RAMDocs or a set of its format.

**imbalance** (section 6.2): two right answers, one borne by one passage, the other by 1, 2, 3; nothing else.
**misinformation** (6.3): two right answers with a passage each, and 1, 2, 3 passages that tell one and the
same wrong answer. A question stands in the set at every level, and what it has at one level it has, in
the same order, at the next: so levels are compared on the same questions (Wang et al. 2025; the paper samples
200 questions for each, of which only about half are in any half of its data).

Only passages count that are marked as right, have their answer word for word, no other right or wrong
answer of the question, and a name that the question has. Near copies count once: three of them would be
one voice to a strategy that sees through copies, and the level would not be what it says. Misinformation is
the data set's own, then copies of right passages that are not used, and last of the two that are, with the
one wrong answer in the place of every right one.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, combinations, islice, product
from typing import Any, Literal

from disputatio.errors import InputError
from disputatio.eval.builders.bearing import covered, distinct, is_one_answer, names_subject, rarities
from disputatio.eval.builders.material import bears_any, stands
from disputatio.eval.builders.rivals import rivals, swapped
from disputatio.text import content_id, is_same_answer
from disputatio.types import Example

LEVELS = (1, 2, 3)
RIVALS = 30  # wrong answers tried before a question is given up
Kind = Literal["imbalance", "misinformation"]
_CORRECT, _MISINFO = "correct", "misinfo"


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """A passage with its type and the answer that it tells.

    `made` if it is a copy with another answer, and `twin` if what it is a copy of stands beside it.
    """

    text: str
    type: str
    answer: str
    made: bool = False
    twin: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Controlled:
    """A controlled set: rows of our plain format, each question at every level, and what was left out.

    `left_out` has, for each reason, the rows of the data set. Of the misinformation passages at the highest
    level `own` are the data set's, `made` are copies with another answer, and `twins` are those of them of
    which the copied passage stands beside them.
    """

    rows: tuple[Mapping[str, Any], ...]
    questions: int
    left_out: Mapping[str, Sequence[int]] = field(default_factory=dict)
    own: int = 0
    made: int = 0
    twins: int = 0


def controlled(
    examples: Sequence[Example], kind: Kind, *, levels: Sequence[int] = LEVELS, seed: int = 0
) -> Controlled:
    """The set of a kind, in the order of the examples, levels of a question together; the same for a seed.

    Raises `InputError` where the examples are not of RAMDocs' format, where levels cannot be, and where no
    question will do.
    """
    lowest = 1 if kind == "imbalance" else 0
    if not levels or list(levels) != sorted(set(levels)) or levels[0] < lowest:
        raise InputError(f"levels {','.join(map(str, levels))}: rising numbers from {lowest}, as in 1,2,3")
    if not all({"types", "answers"} <= set(one.metadata) for one in examples):
        raise InputError("passages without types and answers: a data set of the format ramdocs is needed")
    known = [(one.question, gold) for one in examples for gold in one.gold]
    rarity = rarities([one.question for one in examples])
    rows: list[Mapping[str, Any]] = []
    left_out: dict[str, list[int]] = {}
    chosen: list[Told] = []
    questions = 0
    for one in examples:
        chance = random.Random(f"{seed}/{kind}/{one.row}")
        if kind == "imbalance":
            found = _imbalanced(one, levels[-1], chance)
        else:
            found = _misinformed(one, levels[-1], known, rarity, chance, seed)
        if isinstance(found, str):
            left_out.setdefault(found, []).append(one.row)
            continue
        questions += 1
        chosen += found
        rows += _rows(one, kind, found, levels, chance)
    if not rows:
        told = "; ".join(f"{reason} ({len(which)})" for reason, which in left_out.items())
        raise InputError(f"no question has what {kind} up to level {levels[-1]} takes: {told or 'no rows'}")
    lies = [told for told in chosen if told.type == _MISINFO]
    made = sum(told.made for told in lies)
    return Controlled(
        rows=tuple(rows),
        questions=questions,
        left_out=left_out,
        own=len(lies) - made,
        made=made,
        twins=sum(told.twin for told in lies),
    )


def supports(one: Example) -> dict[str, list[str]]:
    """For each right answer of a RAMDocs row the texts that bear it, and it alone, no two near copies.

    Those with the most of the question's words come first, so that less telling ones wait for higher levels.
    """
    found: dict[str, list[str]] = {gold: [] for gold in one.gold}
    told = zip(one.passages, one.metadata["types"], one.metadata["answers"], strict=True)
    for passage, kind, answer in told:
        gold = next((gold for gold in one.gold if is_same_answer(gold, answer)), None)
        if kind != _CORRECT or gold is None or not stands(passage.text, gold):
            continue
        others = [other for other in (*one.gold, *one.wrong) if not is_same_answer(other, gold)]
        if not bears_any(passage.text, others) and names_subject(passage.text, one.question):
            found[gold].append(passage.text)
    return {
        gold: distinct(sorted(texts, key=lambda text: -covered(text, one.question)))
        for gold, texts in found.items()
    }


def _pairs(bearing: Mapping[str, Sequence[str]], chance: random.Random) -> list[tuple[str, str]]:
    """The answers that passages bear, two by two, in an order of chance; no two spellings of one."""
    able = chance.sample([*bearing], len(bearing))
    pairs = combinations((answer for answer in able if bearing[answer]), 2)
    return [(one, other) for one, other in pairs if not is_one_answer(one, other)]


def _imbalanced(one: Example, most: int, chance: random.Random) -> list[Told] | str:
    """One passage for one answer and `most` for another; or the reason why there are none."""
    bearing = supports(one)
    pairs = _pairs(bearing, chance)
    if not pairs:
        return "no two right answers that passages bear"
    for minor, major in (*pairs, *((major, minor) for minor, major in pairs)):
        if len(bearing[major]) >= most:
            told = [(minor, bearing[minor][0]), *((major, text) for text in bearing[major][:most])]
            return [Told(text=text, type=_CORRECT, answer=answer) for answer, text in told]
    return f"no right answer with {most} passages of its own"


def _misinformed(
    one: Example,
    most: int,
    known: Sequence[tuple[str, str]],
    rarity: Mapping[str, float],
    chance: random.Random,
    seed: int,
) -> list[Told] | str:
    """A passage for each of two answers and `most` for one wrong answer; or the reason why there are none.

    The data set's own misinformation comes first; more of it is made of right passages that are not used.
    """
    bearing = supports(one)
    pairs = _pairs(bearing, chance)
    if not pairs:
        return "no two right answers that passages bear"
    own: dict[str, list[str]] = {
        wrong: [] for wrong in one.wrong if not any(is_one_answer(wrong, gold) for gold in one.gold)
    }
    told = zip(one.passages, one.metadata["types"], one.metadata["answers"], strict=True)
    for passage, kind, answer in told:
        wrong = next((wrong for wrong in own if is_same_answer(wrong, answer)), None)
        clean = names_subject(passage.text, one.question) and not bears_any(passage.text, one.gold)
        if kind == _MISINFO and wrong and clean and stands(passage.text, wrong):
            own[wrong].append(passage.text)
    listed = sorted(own, key=lambda wrong: -len(own[wrong]))
    for first, second, *used in (
        (*pair, *texts) for pair in pairs for texts in product(bearing[pair[0]][:2], bearing[pair[1]][:2])
    ):
        spare = [text for gold in one.gold for text in bearing[gold] if text not in used]
        others = chain.from_iterable(
            islice(
                rivals(one.question, gold, known, avoid=(*one.gold, *one.wrong), rarity=rarity, seed=seed),
                RIVALS,
            )
            for gold in (first, second)
        )
        for wrong in (*listed, *others):
            if any(stands(text, wrong) for text in used):
                continue
            copies = (swapped(text, one.gold, wrong, question=one.question) for text in (*spare, *used))
            found = [*own.get(wrong, []), *(text for text in copies if text is not None)]
            # What is no copy of a valid passage comes first, and the others where it is not enough.
            apart = distinct(found, beside=used)
            lies = distinct([*apart, *found])[:most]
            if len(lies) == most:
                valid = zip(used, (first, second), strict=True)
                published = own.get(wrong, [])
                return [
                    *(Told(text=text, type=_CORRECT, answer=right) for text, right in valid),
                    *(
                        Told(
                            text=text,
                            type=_MISINFO,
                            answer=wrong,
                            made=text not in published,
                            twin=text not in apart,
                        )
                        for text in lies
                    ),
                ]
    return f"too few passages left to tell one wrong answer {most} times"


def _rows(
    one: Example, kind: Kind, told: Sequence[Told], levels: Sequence[int], chance: random.Random
) -> list[Mapping[str, Any]]:
    """A question at every level: each passage keeps its source and its place among the others."""
    fixed = len(told) - levels[-1]
    order = chance.sample(range(len(told)), len(told))
    name = content_id("q", one.id, kind)
    right = dict.fromkeys(each.answer for each in told if each.type == _CORRECT)
    wrong = dict.fromkeys(each.answer for each in told if each.type == _MISINFO)
    rows: list[Mapping[str, Any]] = []
    for level in levels:
        kept = [n for n in order if n < fixed + level]
        rows.append(
            {
                "id": f"{name}-{level}",
                "question": one.question,
                "gold": [*right],
                "wrong": [*wrong] if level else [],
                "passages": [
                    {
                        "text": told[n].text,
                        "source": f"doc{order.index(n) + 1}",
                        "type": told[n].type,
                        "answer": told[n].answer,
                    }
                    for n in kept
                ],
                "categories": _categories(kind, level),
            }
        )
    return rows


def _categories(kind: Kind, level: int) -> dict[str, str]:
    return {"imbalance": f"1 : {level}"} if kind == "imbalance" else {"misinformation passages": f"{level}"}
