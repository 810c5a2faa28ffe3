"""The two controlled sets of MADAM-RAG's Figure 4, made from RAMDocs or a set of its format.

**imbalance** (section 6.2): two right answers, one borne by one passage, the other by 1, 2, 3; nothing else.
**misinformation** (6.3): two right answers with a passage each, and 1, 2, 3 passages that tell one and the
same wrong answer. A question stands in the set at every level, and what it has at one level it has, in
the same order, at the next: so levels are compared on the same questions (Wang et al. 2025; the paper samples
200 questions for each, of which only about half are in any half of its data).

Only passages count that are marked as right, have their answer word for word, no other right or wrong
answer of the question, and a name that the question has. Near copies count once: three of them would be
one vote to a strategy that sees through copies, and the level would not be what it says. Misinformation is
the data set's own, then copies of right passages that are not used, and last of the two that are, with the
one wrong answer in the place of every right one.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, combinations, islice, product
from typing import Any, Literal

from disputatio.errors import InputError
from disputatio.eval.builders.bearing import (
    distinct,
    is_one_answer,
    measure_coverage,
    names_subject,
    rarities,
)
from disputatio.eval.builders.material import bears_any, stands
from disputatio.eval.builders.rivals import Rivals, rivals, swap_answers
from disputatio.text import content_id
from disputatio.types import Example
from disputatio.values import same_answer

LEVELS = (1, 2, 3)
RIVALS = 30  # wrong answers tried before a question is given up
Kind = Literal["imbalance", "misinformation"]
_CORRECT, _MISINFO = "correct", "misinfo"


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledText:
    """A passage with its type and the answer that it states.

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
    level `published` are the data set's, `made` are copies with another answer, and `twins` are those copies
    that stand beside the passage they copy.
    """

    rows: tuple[Mapping[str, Any], ...]
    questions: int
    left_out: Mapping[str, Sequence[int]] = field(default_factory=dict)
    published: int = 0
    made: int = 0
    twins: int = 0


def build_controlled(
    examples: Sequence[Example], kind: Kind, *, levels: Sequence[int] = LEVELS, seed: int = 0
) -> Controlled:
    """Return the set of a kind in the order of the examples, levels of a question together.

    Raises `InputError` where the examples are not of RAMDocs' format, where levels cannot be, and where no
    question will do.
    """
    lowest = 1 if kind == "imbalance" else 0
    if not levels or list(levels) != sorted(set(levels)) or levels[0] < lowest:
        raise InputError(f"levels {','.join(map(str, levels))}: rising numbers from {lowest}, as in 1,2,3")
    if not all({"types", "answers"} <= set(example.metadata) for example in examples):
        raise InputError("passages without types and answers: a data set of the format ramdocs is needed")
    known = [(example.question, gold) for example in examples for gold in example.gold]
    rarity = rarities([example.question for example in examples])
    rivals_of = partial(rivals, known=known, rarity=rarity, seed=seed)
    rows: list[Mapping[str, Any]] = []
    left_out: dict[str, list[int]] = {}
    chosen: list[LabelledText] = []
    questions = 0
    for example in examples:
        chance = random.Random(f"{seed}/{kind}/{example.row}")
        if kind == "imbalance":
            texts = _build_imbalance(example, levels[-1], chance)
        else:
            texts = _build_misinformation(example, levels[-1], rivals_of, chance)
        if isinstance(texts, str):
            left_out.setdefault(texts, []).append(example.row)
            continue
        questions += 1
        chosen += texts
        rows += _rows(example, kind, texts, levels, chance)
    if not rows:
        reasons = "; ".join(f"{reason} ({len(which)})" for reason, which in left_out.items())
        raise InputError(
            f"no question has what {kind} up to level {levels[-1]} takes: {reasons or 'no rows'}"
        )
    lies = [labelled for labelled in chosen if labelled.type == _MISINFO]
    lie_count = sum(lie.made for lie in lies)
    return Controlled(
        rows=tuple(rows),
        questions=questions,
        left_out=left_out,
        published=len(lies) - lie_count,
        made=lie_count,
        twins=sum(lie.twin for lie in lies),
    )


def supports(example: Example) -> dict[str, list[str]]:
    """Return, for each right answer of a RAMDocs row, the texts that bear it alone, no two near copies.

    Those with the most of the question's words come first, so that less telling ones wait for higher levels.
    """
    bearing: dict[str, list[str]] = {gold: [] for gold in example.gold}
    labelled = zip(example.passages, example.metadata["types"], example.metadata["answers"], strict=True)
    for passage, kind, answer in labelled:
        gold = next((gold for gold in example.gold if same_answer(gold, answer)), None)
        if kind != _CORRECT or gold is None or not stands(passage.text, gold):
            continue
        others = [other for other in (*example.gold, *example.wrong) if not same_answer(other, gold)]
        if not bears_any(passage.text, others) and names_subject(passage.text, example.question):
            bearing[gold].append(passage.text)
    return {
        gold: distinct(sorted(texts, key=lambda text: -measure_coverage(text, example.question)))
        for gold, texts in bearing.items()
    }


def _pairs(bearing: Mapping[str, Sequence[str]], chance: random.Random) -> list[tuple[str, str]]:
    """Return the answers that passages bear, two by two, in an order of chance; no two spellings of one."""
    able = chance.sample([*bearing], len(bearing))
    pairs = combinations((answer for answer in able if bearing[answer]), 2)
    return [(first, other) for first, other in pairs if not is_one_answer(first, other)]


def _build_imbalance(example: Example, most: int, chance: random.Random) -> list[LabelledText] | str:
    """Return one passage for one answer and `most` for another; or the reason why there are none."""
    bearing = supports(example)
    pairs = _pairs(bearing, chance)
    if not pairs:
        return "no two right answers that passages bear"
    for minor, major in (*pairs, *((major, minor) for minor, major in pairs)):
        if len(bearing[major]) >= most:
            chosen = [(minor, bearing[minor][0]), *((major, text) for text in bearing[major][:most])]
            return [LabelledText(text=text, type=_CORRECT, answer=answer) for answer, text in chosen]
    return f"no right answer with {most} passages of its own"


def _build_misinformation(
    example: Example, most: int, rivals_of: Rivals, chance: random.Random
) -> list[LabelledText] | str:
    """Return passages for two answers and `most` for one wrong answer, or the reason for none.

    The data set's own misinformation comes first; more of it is made of right passages that are not used.
    """
    bearing = supports(example)
    pairs = _pairs(bearing, chance)
    if not pairs:
        return "no two right answers that passages bear"
    misinformation: dict[str, list[str]] = {
        wrong: [] for wrong in example.wrong if not any(is_one_answer(wrong, gold) for gold in example.gold)
    }
    labelled = zip(example.passages, example.metadata["types"], example.metadata["answers"], strict=True)
    for passage, kind, answer in labelled:
        wrong = next((wrong for wrong in misinformation if same_answer(wrong, answer)), None)
        clean = names_subject(passage.text, example.question) and not bears_any(passage.text, example.gold)
        if kind == _MISINFO and wrong and clean and stands(passage.text, wrong):
            misinformation[wrong].append(passage.text)
    listed = sorted(misinformation, key=lambda wrong: -len(misinformation[wrong]))
    for first, second, *used in (
        (*pair, *texts) for pair in pairs for texts in product(bearing[pair[0]][:2], bearing[pair[1]][:2])
    ):
        spare = [text for gold in example.gold for text in bearing[gold] if text not in used]
        others = chain.from_iterable(
            islice(rivals_of(example.question, gold, avoid=(*example.gold, *example.wrong)), RIVALS)
            for gold in (first, second)
        )
        for wrong in (*listed, *others):
            if any(stands(text, wrong) for text in used):
                continue
            copies = (
                swap_answers(text, example.gold, wrong, question=example.question) for text in (*spare, *used)
            )
            candidates = [*misinformation.get(wrong, []), *(text for text in copies if text is not None)]
            # What is no copy of a valid passage comes first, and the others where it is not enough.
            apart = distinct(candidates, beside=used)
            lies = distinct([*apart, *candidates])[:most]
            if len(lies) == most:
                valid = zip(used, (first, second), strict=True)
                published = misinformation.get(wrong, [])
                return [
                    *(LabelledText(text=text, type=_CORRECT, answer=right) for text, right in valid),
                    *(
                        LabelledText(
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
    example: Example, kind: Kind, texts: Sequence[LabelledText], levels: Sequence[int], chance: random.Random
) -> list[Mapping[str, Any]]:
    """Return a question at every level: each passage keeps its source and its place among the others."""
    fixed = len(texts) - levels[-1]
    order = chance.sample(range(len(texts)), len(texts))
    name = content_id("q", example.id, kind)
    right = dict.fromkeys(text.answer for text in texts if text.type == _CORRECT)
    wrong = dict.fromkeys(text.answer for text in texts if text.type == _MISINFO)
    rows: list[Mapping[str, Any]] = []
    for level in levels:
        chosen = [n for n in order if n < fixed + level]
        rows.append(
            {
                "id": f"{name}-{level}",
                "question": example.question,
                "gold": [*right],
                "wrong": [*wrong] if level else [],
                "passages": [
                    {
                        "text": texts[n].text,
                        "source": f"doc{order.index(n) + 1}",
                        "type": texts[n].type,
                        "answer": texts[n].answer,
                    }
                    for n in chosen
                ],
                "categories": _categories(kind, level),
            }
        )
    return rows


def _categories(kind: Kind, level: int) -> dict[str, str]:
    return {"imbalance": f"1 : {level}"} if kind == "imbalance" else {"misinformation passages": f"{level}"}
