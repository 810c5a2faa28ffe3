"""A set of RAMDocs' kind: ambiguity, misinformation and noise at once, of ambiguous questions and a search.

Section 3 of MADAM-RAG (Wang et al. 2025): of a question 1-3 of its answers, for each 1-3 passages that bear
it word for word, 0-2 of misinformation, copies of such passages with a wrong answer of the same type in the
place of the right one, and 0-2 of noise, found by the search and without any answer. Rows have the
published format. *Differences from the paper:* misinformation is a copy of a passage that is not used, and
only where there is none of one that is; `disambig_entity` holds each reading's question where the origin
tells no entity; a wrong answer stands in the row only if a passage states it.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from statistics import fmean
from typing import Any, TypeVar

from disputatio.errors import InputError
from disputatio.eval.builders.ambiguity import Ambiguous, Borne, borne, look_up, noise
from disputatio.eval.builders.bearing import distinct, rarities
from disputatio.eval.builders.material import stands
from disputatio.eval.builders.rivals import Rivals, rivals, swap_answers
from disputatio.protocols import Retriever
from disputatio.values import bears, same_answer

# --- the make-up of RAMDocs (figure 5): targets and measurement -----------------------------------
# The paper prints the means; its bars cannot be read off. The shares of right answers and of misinformation
# are those of its released 500 rows. The others are ours: within the ranges of section 3 (1-3 passages an
# answer, 0-2 of noise) and with the means of the figure.
Shares = Mapping[int, float]
ANSWERS: Shares = {1: 0.20, 2: 0.40, 3: 0.40}  # right answers of a question: 2.20
SUPPORTS: Shares = {1: 0.48, 2: 0.29, 3: 0.23}  # passages of a right answer: 1.75, and 3.84 of a question
MISINFORMATION: Shares = {0: 0.51, 1: 0.36, 2: 0.13}  # passages of a question: 0.61
NOISE: Shares = {0: 0.30, 1: 0.32, 2: 0.38}  # passages of a question: 1.08
CORRECT, MISINFO, NOISY = "correct", "misinfo", "noise"


@dataclass(frozen=True, slots=True, kw_only=True)
class Statistic:
    """A mean with the paper's beside it, and how often each number occurs."""

    name: str
    target: float
    numbers: tuple[int, ...]

    @property
    def mean(self) -> float:
        """The mean; 0.0 where there is nothing to count."""
        return fmean(self.numbers) if self.numbers else 0.0

    @property
    def counts(self) -> dict[int, int]:
        """Count how often each number occurs, rising."""
        return dict(sorted(Counter(self.numbers).items()))


class Quota:
    """Numbers to be drawn so that their shares come out as they should: what is still owed is likelier."""

    def __init__(self, shares: Shares, chance: random.Random) -> None:
        """Owe nothing yet; shares need not add up to 1. Raises `InputError` for shares that cannot be."""
        total = sum(shares.values())
        if not shares or total <= 0 or min(shares.values()) < 0:
            raise InputError(f"shares {dict(shares)}: numbers from 0, of which one is above it")
        self._shares = {level: share / total for level, share in shares.items()}
        self._drawn: Counter[int] = Counter()
        self._chance = chance

    def draw(self, most: int | None = None) -> int:
        """Return a drawn number not above `most`; the least where all are above it.

        `add` is then told what came of it.
        """
        count = self._drawn.total() + 1
        levels = [level for level in sorted(self._shares) if most is None or level <= most] or [
            min(self._shares)
        ]
        owed = [max(self._shares.get(level, 0.0) * count - self._drawn[level], 0.0) for level in levels]
        if not any(owed):
            # Nothing of what can be had is owed: take what is least in excess.
            excess = [self._drawn[level] - self._shares.get(level, 0.0) * count for level in levels]
            return levels[excess.index(min(excess))]
        return self._chance.choices(levels, owed)[0]

    def add(self, level: int) -> None:
        self._drawn[level] += 1


def counts_of_shares(shares: Shares, total: int) -> dict[int, int]:
    """Return so many of each as the shares give of a total, the largest remainders rounded up.

    >>> counts_of_shares({1: 0.23, 2: 0.34, 3: 0.43}, 10)
    {1: 2, 2: 4, 3: 4}
    """
    exact = {level: share / sum(shares.values()) * total for level, share in shares.items()}
    counts = {level: int(number) for level, number in exact.items()}
    rest = sorted(exact, key=lambda level: counts[level] - exact[level])
    for level in rest[: total - sum(counts.values())]:
        counts[level] += 1
    return counts


def statistics(rows: Sequence[Mapping[str, Any]]) -> tuple[Statistic, ...]:
    """Return the eight figures of a set of RAMDocs' format, each beside the paper's."""

    def each(kind: str) -> list[int]:
        return [sum(document["type"] == kind for document in row["documents"]) for row in rows]

    def borne(key: str, kind: str) -> Iterable[int]:
        for row in rows:
            answers = [document["answer"] for document in row["documents"] if document["type"] == kind]
            yield from (sum(same_answer(answer, other) for other in answers) for answer in row[key])

    measures = (
        ("passages a question", 5.53, [len(row["documents"]) for row in rows]),
        ("of them correct", 3.84, each(CORRECT)),
        ("of them misinformation", 0.61, each(MISINFO)),
        ("of them noise", 1.08, each(NOISY)),
        ("right answers a question", 2.20, [len(row["gold_answers"]) for row in rows]),
        ("wrong answers a question", 0.86, [len(row["wrong_answers"]) for row in rows]),
        ("passages a right answer", 1.77, borne("gold_answers", CORRECT)),
        ("passages a wrong answer", 0.73, borne("wrong_answers", MISINFO)),
    )
    return tuple(
        Statistic(name=name, target=target, numbers=tuple(numbers)) for name, target, numbers in measures
    )


def table(measures: Sequence[Statistic]) -> list[str]:
    """Return lines for a reader: the mean, the target, and how often each number occurs."""
    lines = [f"{'':26} {'built':>6} {'target':>6}   how often each number occurs"]
    for measure in measures:
        often = "  ".join(f"{number}: {count}" for number, count in measure.counts.items())
        lines.append(f"{measure.name:26} {measure.mean:6.2f} {measure.target:6.2f}   {often}")
    return lines


T = TypeVar("T")

DEPTH = 20  # passages looked at for each question
RIVALS = 20  # wrong answers tried for one passage
AGAIN = 0.5  # how often a second passage of misinformation states the first one's wrong answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Mixture:
    """Built rows in RAMDocs' format, and what could not be built.

    `left_out` has the rows of the origin by reason, `short` how many passages or answers are missing of
    what was to be drawn, by kind. `twins` are misinformation passages beside the very passage that they copy.
    """

    rows: tuple[Mapping[str, Any], ...]
    left_out: Mapping[str, Sequence[int]] = field(default_factory=dict)
    short: Mapping[str, int] = field(default_factory=dict)
    twins: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Buildable:
    """A question with its readings that passages bear, and texts without any answer."""

    origin: Ambiguous
    bearing: tuple[Borne, ...]
    noise: tuple[str, ...]


def mix(
    ambiguous: Sequence[Ambiguous],
    search: Callable[[Ambiguous], Retriever],
    *,
    questions: int | None = None,
    answers: Shares = ANSWERS,
    supports: Shares = SUPPORTS,
    misinformation: Shares = MISINFORMATION,
    noisy: Shares = NOISE,
    depth: int = DEPTH,
    seed: int = 0,
) -> Mixture:
    """Return so many questions (None: all that have an answer with a passage), drawn towards the shares.

    `search` gives what is searched for a question; shares map a number to how often it should occur. The
    same for a seed and a search. Raises `InputError` where nothing can be built.
    """
    left_out: dict[str, list[int]] = {}
    able = []
    rarity = rarities([question.question for question in ambiguous])
    for question in ambiguous:
        buildable = (
            _find(question, search, depth, rarity)
            if question.senses
            else "no short answer that a text could show"
        )
        if isinstance(buildable, str):
            left_out.setdefault(buildable, []).append(question.row)
        else:
            able.append(buildable)
    if not able:
        reasons = "; ".join(f"{reason} ({len(rows)})" for reason, rows in left_out.items())
        raise InputError(f"nothing can be built: {reasons or 'no questions'}")
    chance = random.Random(f"{seed}/mixture")
    chosen, short = _choose(able, len(able) if questions is None else questions, answers, chance)
    quotas = {
        CORRECT: Quota(supports, chance),
        MISINFO: Quota(misinformation, chance),
        NOISY: Quota(noisy, chance),
    }
    known = [(sense.question, sense.answers[0]) for question in ambiguous for sense in question.senses]
    rivals_of = partial(rivals, known=known, rarity=rarity, seed=seed)
    rows, twins = [], 0
    for item, number in chosen:
        row, copied = _row(item, number, quotas, rivals_of, chance)
        rows.append(row)
        twins += copied
    for kind, shares in ((MISINFO, misinformation), (NOISY, noisy)):
        document_count = sum(document["type"] == kind for row in rows for document in row["documents"])
        owed = (
            round(sum(level * count for level, count in counts_of_shares(shares, len(rows)).items()))
            - document_count
        )
        if owed > 0:
            short[f"passages of type {kind}"] = owed
    return Mixture(rows=tuple(rows), left_out=left_out, short=short, twins=twins)


def _find(
    question: Ambiguous, search: Callable[[Ambiguous], Retriever], depth: int, rarity: Mapping[str, float]
) -> _Buildable | str:
    """Search for a question's passages, or return the reason why nothing can be built of them."""
    hits = look_up(question, search(question), depth)
    bearing = borne(question, hits, rarity)
    if not bearing:
        return "no passage found that bears one of its answers alone"
    return _Buildable(origin=question, bearing=tuple(bearing), noise=tuple(distinct(noise(question, hits))))


def _choose(
    able: Sequence[_Buildable], total: int, shares: Shares, chance: random.Random
) -> tuple[list[tuple[_Buildable, int]], dict[str, int]]:
    """Return questions with how many answers each gets, and what there is too little of.

    Those with most answers are used up for most answers first; what then is missing is filled with fewer.
    """
    line = chance.sample(able, len(able))
    wish = counts_of_shares(shares, min(total, len(able)))
    chosen: dict[int, tuple[_Buildable, int]] = {}
    short: dict[str, int] = {}
    for level in sorted(wish, reverse=True):
        fit = [
            buildable
            for buildable in line
            if buildable.origin.row not in chosen and len(buildable.bearing) >= level
        ]
        for buildable in fit[: wish[level]]:
            chosen[buildable.origin.row] = (buildable, level)
        if len(fit) < wish[level]:
            short[f"questions with {level} answers"] = wish[level] - len(fit)
    for buildable in line:
        if len(chosen) >= min(total, len(able)):
            break
        if buildable.origin.row not in chosen:
            chosen[buildable.origin.row] = (buildable, min(len(buildable.bearing), max(wish)))
    if total > len(able):
        short["questions"] = total - len(able)
    return [chosen[row] for row in sorted(chosen)], short


def _row(
    buildable: _Buildable,
    number: int,
    quotas: Mapping[str, Quota],
    rivals_of: Rivals,
    chance: random.Random,
) -> tuple[Mapping[str, Any], int]:
    """Return a row, and how many of its copies stand beside what they are a copy of."""
    right = chance.sample(buildable.bearing, number)
    documents: list[dict[str, str]] = []
    spare: list[tuple[Borne, str]] = []
    lying = reserve = quotas[MISINFO].draw()
    for bearing in right:
        texts = distinct(bearing.texts)
        reserved = int(reserve > 0 and len(texts) > 2)  # for misinformation, which is a further passage
        reserve -= reserved
        count = quotas[CORRECT].draw(len(texts) - reserved)
        quotas[CORRECT].add(count)
        documents += [{"text": text, "type": CORRECT, "answer": bearing.answer} for text in texts[:count]]
        spare += [(bearing, text) for text in texts[count:]]
    spare += [
        (other, text) for other in buildable.bearing if other not in right for text in distinct(other.texts)
    ]
    used = [(bearing, bearing.texts[0]) for bearing in right]
    originals = [*_shuffle(spare, chance)[: 3 * lying], *_shuffle(used, chance)]
    lies = _lies(buildable, originals, lying, rivals_of, chance)
    quotas[MISINFO].add(len(lies))
    copied = {text for _, text in used}
    wrong = [*dict.fromkeys(lie["answer"] for lie, _ in lies)]
    count = quotas[NOISY].draw()
    clean = [text for text in buildable.noise if not any(bears(text, answer) for answer in wrong)]
    # What the search ranks first is nearest to the question, and so the harder noise.
    texts = chance.sample(clean[: 3 * count], min(count, len(clean)))
    quotas[NOISY].add(len(texts))
    documents += [lie for lie, _ in lies]
    documents += [{"text": text, "type": NOISY, "answer": "unknown"} for text in texts]
    row = {
        "question": buildable.origin.question,
        "documents": _shuffle(documents, chance),
        "disambig_entity": [bearing.sense.entity or bearing.sense.question for bearing in right],
        "gold_answers": [bearing.answer for bearing in right],
        "wrong_answers": wrong,
    }
    return row, sum(text in copied for _, text in lies)


def _lies(
    buildable: _Buildable,
    originals: Sequence[tuple[Borne, str]],
    count: int,
    rivals_of: Rivals,
    chance: random.Random,
) -> list[tuple[dict[str, str], str]]:
    """Return up to `count` copies of the originals with wrong answers, each with its original."""
    lies: list[tuple[dict[str, str], str]] = []
    for bearing, text in originals:
        if len(lies) == count:
            break
        answers = [lie["answer"] for lie, _ in lies]
        again = answers[:1] if chance.random() < AGAIN else []
        others = rivals_of(bearing.sense.question, bearing.answer, avoid=buildable.origin.answers)
        for wrong in (*again, *islice(others, RIVALS)):
            copy = swap_answers(text, buildable.origin.answers, wrong, question=buildable.origin.question)
            if copy is not None and not any(stands(other, wrong) for other in _texts(buildable)):
                lies.append(({"text": copy, "type": MISINFO, "answer": wrong}, text))
                break
    return lies


def _texts(buildable: _Buildable) -> list[str]:
    return [text for bearing in buildable.bearing for text in bearing.texts]


def _shuffle(those: Sequence[T], chance: random.Random) -> list[T]:
    return chance.sample(those, len(those))
