"""Questions on passages, and what training makes of them: windows, unanswerable twins, a split by context."""

from __future__ import annotations

import gzip
import hashlib
import json
import random
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

_TOKEN = re.compile(r"\S+")
_WORD = re.compile(r"\w+")
_URL = re.compile(r"^https?://")
_UNTITLED = {"Filtered_Reddit_Comments"}
DEV_SHARE, TEST_SHARE = 5, 7  # per cent of the contexts


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A question on a passage; `spans` are character ranges of right answers in `text`, none if it has none."""

    id: str
    dataset: str
    group: str  # the context or the row: all of a group are on one side of the split
    question: str
    title: str
    text: str
    spans: tuple[tuple[int, int], ...]
    subject: str = ""  # what the passage is about, where the set says it apart from the title

    @property
    def answers(self) -> tuple[str, ...]:
        """The answers as they stand in the text, each once."""
        return tuple(dict.fromkeys(self.text[start:end] for start, end in self.spans))


def seeded(*parts: object) -> random.Random:
    """Return a generator that depends on the parts alone, on every machine.

    >>> seeded(1, "a").random() == seeded(1, "a").random() != seeded(2, "a").random()
    True
    """
    text = "\x1f".join(map(str, parts))
    return random.Random(int(hashlib.sha256(text.encode()).hexdigest()[:16], 16))


def side(group: str) -> str:
    """`train`, `dev` (thresholds, watching) or `test` (reported once) of a context, by its hash.

    >>> sorted({side(str(number)) for number in range(200)})
    ['dev', 'test', 'train']
    """
    place = int(hashlib.sha256(group.encode()).hexdigest()[:8], 16) % 100
    if place < DEV_SHARE:
        return "dev"
    return "test" if place < DEV_SHARE + TEST_SHARE else "train"


def row_side(row: int) -> str:
    """Return the side of a row of a retrieval data set: even rows are for reporting, a quarter of the odd for
    dev.

    >>> [row_side(row) for row in range(9)]
    ['report', 'train', 'report', 'train', 'report', 'train', 'report', 'dev', 'report']
    """
    if row % 2 == 0:
        return "report"
    return "dev" if row % 8 == 7 else "train"


def rows_of(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the objects of a JSON-lines file, gzip or plain."""
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def occurrences(text: str, answer: str) -> tuple[tuple[int, int], ...]:
    """Return where the words of an answer stand in a text, without regard to case and what is between the
    words.

    >>> occurrences("Born 12 May, 1962; 12 may 1962.", "12 May 1962")
    ((5, 17), (19, 30))
    >>> occurrences("The 1962er", "1962")
    ()
    """
    parts = _WORD.findall(answer)
    if not parts or parts[0].lower() not in text.lower():  # most texts, and soon told
        return ()
    pattern = r"(?<!\w)" + r"\W{1,3}".join(re.escape(part) for part in parts) + r"(?!\w)"
    return tuple(match.span() for match in re.finditer(pattern, text, re.IGNORECASE))


def question_form(question: str) -> str:
    """Return a question without case and punctuation, to find the same one in two sets.

    >>> question_form("Who is  she?") == question_form("who is she")
    True
    """
    return " ".join(_WORD.findall(question.lower()))


def shown_title(title: str | None) -> str:
    """Return a title as a reader would see it; addresses and names of whole collections are none.

    >>> shown_title("Super_Bowl_50"), shown_title("https://example.com/a"), shown_title('"The Prodigal"')
    ('Super Bowl 50', '', 'The Prodigal')
    """
    if not title or _URL.match(title) or title in _UNTITLED or title.startswith("Amazon_Reviews"):
        return ""
    return title.replace("_", " ").strip(' "')


def squad_like(folder: Path) -> list[Example]:
    """Return all questions of the `qa_*` files of a folder, joined to their contexts, the same question once.

    Raises `ValueError` where an answer does not stand where its row says.
    """
    contexts = {row["context_id"]: row["context"] for row in rows_of(folder / "qa_contexts.jsonl.gz")}
    examples: dict[tuple[str, str], Example] = {}
    for path in sorted(folder.glob("qa_*.jsonl.gz")):
        if path.name == "qa_contexts.jsonl.gz":
            continue
        dataset = path.name.removeprefix("qa_").removesuffix(".jsonl.gz")
        for row in rows_of(path):
            text = contexts[row["context_id"]]
            spans = []
            for answer in row["answers"]:
                start, end = answer["start"], answer["start"] + len(answer["text"])
                if text[start:end] != answer["text"]:
                    raise ValueError(f"{path.name}: {row['id']}: the answer does not stand at {start}")
                spans.append((start, end))
            example = Example(
                id=f"{dataset}/{row['id']}",
                dataset=dataset,
                group=row["context_id"],
                question=row["question"].strip(),
                title=row.get("title") or "",
                text=text,
                spans=tuple(dict.fromkeys(spans)),
            )
            key = (question_form(example.question), example.group)
            # SQuAD 2.0 repeats questions of 1.1; an unanswerable row never replaces an answer.
            if key not in examples or (example.spans and dataset == "squad2_dev"):
                examples[key] = example
    return list(examples.values())


def ramdocs(path: Path, sides: Iterable[str], *, keep_unread: bool = False) -> list[Example]:
    """Return the passages of RAMDocs rows of some sides, each with the answer that it bears, noise with none.

    A passage marked as bearing an answer that does not stand in it is left out, or kept without a span.
    """
    wanted = set(sides)
    examples = []
    for number, row in enumerate(rows_of(path)):
        if row_side(number) not in wanted:
            continue
        subjects = dict(zip(row.get("gold_answers", ()), row.get("disambig_entity", ()), strict=True))
        for place, document in enumerate(row["documents"]):
            noise = document["type"] == "noise"
            spans = () if noise else occurrences(document["text"], document["answer"])
            if not noise and not spans and not keep_unread:
                continue
            examples.append(
                Example(
                    id=f"ramdocs/{number}/{place}/{document['type']}",
                    dataset="ramdocs",
                    group=f"ramdocs/{number}",
                    question=row["question"],
                    title="",
                    text=document["text"],
                    spans=spans,
                    subject="" if noise else _subject(document, subjects),
                )
            )
    return examples


def _subject(document: Mapping[str, str], subjects: Mapping[str, str]) -> str:
    """Return whom a document is about: by its answer, or for a false one the only one whose words it has."""
    if known := subjects.get(document["answer"]):
        return known
    words = set(_WORD.findall(document["text"].lower()))
    named = [each for each in subjects.values() if set(_WORD.findall(each.lower())) <= words]
    return named[0] if len(named) == 1 else ""


def natural_questions(path: Path, sides: Iterable[str], *, without: Set[str] = frozenset()) -> list[Example]:
    """Retrieved passages for Natural Questions; `without` has the `question_form`s that are left out."""
    wanted = set(sides)
    examples = []
    for number, row in enumerate(rows_of(path)):
        if row_side(number) not in wanted or question_form(row["question"]) in without:
            continue
        for place, passage in enumerate(row["passages"]):
            found = [
                span for answer in row["golden_answers"] for span in occurrences(passage["text"], answer)
            ]
            if bool(found) != passage["has_answer"]:
                continue
            examples.append(
                Example(
                    id=f"nq/{number}/{place}",
                    dataset="nq",
                    group=f"nq/{number}",
                    question=row["question"],
                    title=passage["title"],
                    text=passage["text"],
                    spans=tuple(dict.fromkeys(found)),
                )
            )
    return examples


def questions_elsewhere(data: Path) -> Set[str]:
    """Return the forms of questions of sets that are kept for evaluation, so that none of them is trained on."""
    forms = set()
    for name in ("nq", "hotpotqa", "msmarco"):
        forms |= {question_form(row["question"]) for row in rows_of(data / "poisonedrag" / f"{name}.jsonl")}
    for row in rows_of(data / "conflictnq" / "val.jsonl"):
        forms |= {question_form(row["question"]), question_form(row["cleaned_question"])}
    for number, row in enumerate(rows_of(data / "ramdocs" / "dev.jsonl")):
        if row_side(number) == "report":
            forms.add(question_form(row["question"]))
    return forms


def window(example: Example, random_source: random.Random, least: int, most: int) -> Example:
    """Return the example with a stretch of `least` to `most` words of its passage, one of its answers inside."""
    tokens = [match.span() for match in _TOKEN.finditer(example.text)]
    length = random_source.randint(least, most)
    if len(tokens) <= length:
        return example
    first, last = 0, len(tokens) - length
    if example.spans:
        start, end = random_source.choice(example.spans)
        inside = [place for place, token in enumerate(tokens) if token[0] < end and token[1] > start]
        length = max(length, inside[-1] - inside[0] + 1)
        first, last = max(0, inside[-1] - length + 1), min(inside[0], len(tokens) - length)
    place = random_source.randint(first, last)
    begin, finish = tokens[place][0], tokens[place + length - 1][1]
    spans = tuple((s - begin, e - begin) for s, e in example.spans if begin <= s and e <= finish)
    return replace(example, text=example.text[begin:finish], spans=spans)


class Unanswerable:
    """Makes answerable questions unanswerable, by a part of their own passage or another of the same page."""

    def __init__(self, examples: Sequence[Example]) -> None:
        self._texts: dict[tuple[str, str], list[str]] = {}
        seen: set[tuple[str, str, str]] = set()
        for example in examples:
            key = (example.dataset, example.title)
            if (*key, example.group) not in seen:
                seen.add((*key, example.group))
                self._texts.setdefault(key, []).append(example.text)
        self._words = {text: _vocabulary(text) for texts in self._texts.values() for text in texts}

    def twin(self, example: Example, random_source: random.Random) -> Example | None:
        """Return the question with a passage that bears none of its answers, or None where there is no such
        passage.
        """
        if random_source.random() < 0.35:
            rest = _beside(example, random_source)
            if rest is not None:
                return replace(example, id=example.id + "/beside", text=rest, spans=())
        texts = self._texts.get((example.dataset, example.title), [])
        candidates = random_source.sample(texts, min(len(texts), 24))
        candidates = [
            text for text in candidates if text != example.text and not _bears(text, example.answers)
        ]
        if not candidates:
            return None
        asked = _vocabulary(example.question)
        # The passage that shares most with the question, as a search would find it; half the time any.
        chosen = candidates[0]
        if random_source.random() < 0.6:
            chosen = max(candidates, key=lambda text: (len(asked & self._words[text]), text))
        return replace(example, id=example.id + "/page", text=chosen, spans=())


def _vocabulary(text: str) -> frozenset[str]:
    return frozenset(word for word in _WORD.findall(text.lower()) if len(word) > 3)


def _bears(text: str, answers: Iterable[str]) -> bool:
    return any(occurrences(text, answer) for answer in answers)


def _beside(example: Example, random_source: random.Random) -> str | None:
    """Return what stands before or after all answers, if it has thirty words and bears none of the answers."""
    before = example.text[: min(start for start, _ in example.spans)]
    after = example.text[max(end for _, end in example.spans) :]
    parts = [part.strip() for part in (before, after)]
    parts = [part for part in parts if len(part.split()) >= 30 and not _bears(part, example.answers)]
    return random_source.choice(parts) if parts else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Mix:
    """The mixture of an epoch: the share of a set's questions, how often each is taken, words of a window.

    The rest of the answer styles is kept rare: policies are answered by whole clauses, reviews and comments
    by turns of phrase.
    """

    reviews_share: float = 0.2  # of the questions on reviews and comments
    policies_share: float = 0.07
    ramdocs_times: int = 8
    nq_times: int = 0  # its copy states no licence: left out, and so a corpus to be measured on
    snli_share: float = 0.6  # of pairs about pictures: short, plain and many
    patents_share: float = 0.4
    namesakes_times: int = 6
    claims_share: float = 0.35  # of the questions that a claim is made of
    pages_share: float = 0.5  # of the questions on pages, for pairs of passages
    least_words: int = 40
    most_words: int = 110

    def share_and_times(self, dataset: str) -> tuple[float, int]:
        """Return the share of a set's rows in an epoch, and how often each of them stands there."""
        shares = {
            "squadshifts_reddit": self.reviews_share,
            "squadshifts_amazon_reviews": self.reviews_share,
            "policyqa": self.policies_share,
            "snli_train100k": self.snli_share,
            "patents": self.patents_share,
        }
        times = {"ramdocs": self.ramdocs_times, "nq": self.nq_times, "namesakes": self.namesakes_times}
        return shares.get(dataset, 1.0), times.get(dataset, 1)


UNANSWERABLE_SHARE = 1 / 3
RETRIEVED = {"ramdocs", "nq"}  # sets that bring their own unanswerable passages


def epoch_of(
    examples: Sequence[Example],
    *,
    seed: int,
    epoch: int,
    mix: Mix = Mix(),
) -> list[Example]:
    """Return the examples of one epoch in their order: the mix, windows and unanswerable twins, by seed and
    epoch.
    """
    twins = Unanswerable(examples)
    made = []
    for example in examples:
        share, times = mix.share_and_times(example.dataset)
        for repeat in range(times):
            chance = seeded(seed, epoch, repeat, example.id)
            if chance.random() >= share:
                continue
            made.append(_varied(example, twins, chance, mix))
    seeded(seed, epoch, "order").shuffle(made)
    return made


def _varied(example: Example, twins: Unanswerable, chance: random.Random, mix: Mix) -> Example:
    """Return one turn of an example: perhaps unanswerable, cropped, under its title half the time."""
    turned = example
    if example.spans and example.dataset not in RETRIEVED and chance.random() < UNANSWERABLE_SHARE:
        turned = twins.twin(example, chance) or example
    title = shown_title(turned.title) if chance.random() < 0.5 else ""
    if turned.dataset in RETRIEVED and chance.random() < 0.5:
        return replace(turned, title=title)
    if not turned.spans and turned.id == example.id:
        # An unanswerable question of the set itself: what makes it so may stand anywhere in its passage.
        return replace(turned, title=title)
    return replace(window(turned, chance, mix.least_words, mix.most_words), title=title)
