"""The data of the reader's tasks as branches with leaves, and the order in which trees are trained on."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from disputatio.agents.trained_reader import about_of, quotes_text
from disputatio.text import sentence_at
from train.claims import Claims, shape_of
from train.examples import RETRIEVED, Example, Unanswerable, occurrences, seeded, shown_title, side, window
from train.language import made
from train.language.folders import folders
from train.language.passages import written_passages
from train.language.tasks import (
    claim_leaf,
    named_in,
    passage_text,
    question_leaf,
    same_leaf,
    support_leaf,
)
from train.language.trees import Branch, Leaf, Tree
from train.pairs import CONTRADICTS, NOT_SUPPORTS, SILENT, SUPPORTS, Pair, all_pairs, side_of
from train.split import training_examples

_LABELS = {SUPPORTS: "supports", CONTRADICTS: "contradicts", SILENT: "silent"}
_YEAR = re.compile(r"\b(1[6-9]\d\d|20\d\d)\b")
_NAME = re.compile(r"(?<=[a-z] )[A-Z][a-z]+(?: [A-Z][a-z]+)+")
LONGEST_ANSWER = 9  # words; longer answers are clauses that no one would give
WRITTEN_LOOKS = 0.6  # of the branches of *look*
WHOLE = 260  # words up to which a passage is shown whole, half of the time
# The share of a set's contexts in an epoch.
SHARES = {"squadshifts_reddit": 0.15, "squadshifts_amazon_reviews": 0.15, "policyqa": 0.1}


@dataclass(frozen=True, slots=True, kw_only=True)
class Shares:
    """The tasks of a round of trees, and the branches of a tree of *read*."""

    read: int = 12
    support: int = 3
    entail: int = 3
    same: int = 2
    look: int = 6
    decide: int = 3
    pages: int = 4
    retrieved: float = 0.6
    made: int = 1
    folders: int = 4


def shortest(example: Example) -> str:
    """Return the shortest of an example's answers, without marks around it."""
    return min((answer.strip(" .,;:\"'“”") for answer in example.answers), key=len, default="")


def quote_of(example: Example) -> str:
    """Return the sentence that bears an example's first answer, as a quote of it is shown."""
    return example.text[slice(*sentence_at(example.text, *example.spans[0]))]


def with_other_year(question: str, text: str, chance: random.Random) -> str:
    """Return a question about another year than the passage's, empty if it names none that the passage has."""
    years = [year for year in _YEAR.findall(question) if year in text]
    if not years:
        return ""
    other = str(int(years[0]) + chance.choice((-7, -4, -2, -1, 1, 2, 3, 5)))
    return "" if other in text else question.replace(years[0], other)


def with_other_name(question: str, text: str, names: Sequence[str], chance: random.Random) -> str:
    """Return a question about another name than the passage's, empty if it has none that the passage has."""
    own = [name for name in _NAME.findall(question) if name in text]
    if not own:
        return ""
    other = chance.choice(names)
    return "" if other in text else question.replace(own[0], other)


def pair_branch(pairs: Sequence[Pair]) -> Branch:
    """Return pairs of *same* that have their first passage in common."""
    about, _, first = pairs[0].first.removeprefix("About: ").partition("\n")
    leaves = [
        same_leaf(passage_text(pair.second), same=bool(pair.label), kind=f"same/{pair.label}")
        for pair in pairs
    ]
    return Branch(about_of(about, passage_text(first)), tuple(leaves))


class Data:
    """Everything that is trained on, or what is watched: the same code for both sides of the split."""

    def __init__(
        self,
        examples: Sequence[Example],
        pairs: Sequence[Pair],
        seed: int,
        written: Mapping[str, Sequence[Branch]] | None = None,
    ) -> None:
        self.seed = seed
        self.written = written or {}  # branches of documents written for training, by task
        self.twins = Unanswerable(examples)
        self.claims = Claims(examples)
        self.contexts: dict[str, list[Example]] = {}
        self.retrieved = [example for example in examples if example.dataset == "ramdocs"]
        for example in examples:
            if example.dataset not in RETRIEVED:
                self.contexts.setdefault(example.group, []).append(example)
        self.groups = list(self.contexts)
        self.of_page: dict[tuple[str, str], list[Example]] = {}
        for example in examples:
            if example.spans and example.dataset not in RETRIEVED:
                self.of_page.setdefault((example.dataset, example.title), []).append(example)
        self.names = sorted({name for example in examples for name in _NAME.findall(example.question)})
        self.questions = [example.question for example in self.retrieved]
        self.answers: dict[tuple[str, str], list[str]] = {}
        for example in examples:
            if example.spans:
                self.answers.setdefault((example.dataset, example.title), []).append(shortest(example))
        # A set that tells support from the rest alone would teach that its style supports.
        coarse = {pair.dataset for pair in pairs if pair.label == NOT_SUPPORTS}
        self.entail: dict[str, list[Pair]] = {}
        for pair in pairs:
            if pair.head == "entail" and pair.dataset not in coarse:
                self.entail.setdefault(pair.dataset, []).append(pair)
        self.same = [pair for pair in pairs if pair.head == "same"]
        self.seconds: dict[str, list[Pair]] = {}
        for pair in self.same:
            self.seconds.setdefault(pair.first, []).append(pair)

    # --- branches -----------------------------------------------------------------------------
    def page(self, context: Sequence[Example], chance: random.Random) -> Branch | None:
        """Return a passage of a page with questions that it answers, and some that it does not."""
        answered = [each for each in context if each.spans and len(shortest(each).split()) <= LONGEST_ANSWER]
        declined = [each for each in context if not each.spans]
        if not answered:
            return None
        first = chance.choice(answered)
        shown = first
        if len(first.text.split()) > WHOLE or chance.random() < 0.5:
            shown = window(first, chance, 50, 160)
        text = shown.text
        about = shown_title(first.title)
        title = about if chance.random() < 0.4 else ""
        start = first.text.find(text)
        leaves: list[Leaf] = []
        for each in chance.sample(answered, len(answered)):
            inside = [
                first.text[begin:end]
                for begin, end in each.spans
                if start <= begin and end <= start + len(text)
            ]
            if inside and len(leaves) < 3:
                answer = min((part.strip(" .,;:\"'“”") for part in inside), key=len)
                subject = named_in(about, f"{title} {text}")
                leaves.append(question_leaf(each.question, answer, "page", subject))
        unknown = [each.question for each in declined]
        unknown += [
            each.question for each in answered if not any(occurrences(text, own) for own in each.answers)
        ]
        unknown += [changed for each in answered if (changed := with_other_year(each.question, text, chance))]
        unknown += [
            changed
            for each in answered
            if (changed := with_other_name(each.question, text, self.names, chance))
        ]
        if unknown and chance.random() < 0.75:
            leaves.append(question_leaf(chance.choice(unknown), "", "page/unknown"))
        elif chance.random() < 0.5:
            twin = self.twins.twin(first, chance)
            if twin is not None:
                text = " ".join(twin.text.split()[:160])
                leaves = [question_leaf(first.question, "", "page/unknown")]
        return Branch(passage_text(text, title), tuple(leaves)) if leaves else None

    def retrieved_branch(self, example: Example, chance: random.Random) -> Branch:
        """Return a retrieved passage with its question, and at times a question of another row."""
        shown = example if chance.random() < 0.6 else window(example, chance, 50, 160)
        kind = "retrieved" if shown.spans else "retrieved/unknown"
        subject = named_in(example.subject, f"{example.question} {shown.text}")
        leaves = [question_leaf(example.question, shortest(shown), kind, subject)]
        if chance.random() < 0.2:
            other = chance.choice(self.questions)
            if other != example.question:
                leaves.append(question_leaf(other, "", "retrieved/unknown"))
        return Branch(passage_text(shown.text), tuple(leaves))

    def support_branch(self, example: Example, chance: random.Random) -> Branch | None:
        """Return a passage with answers to a question that it supports and others that it does not."""
        answer = shortest(example)
        if not answer or len(answer.split()) > LONGEST_ANSWER:
            return None
        shown = example if chance.random() < 0.4 else window(example, chance, 50, 160)
        leaves = [support_leaf(example.question, answer, supported=True, kind="support/yes")]
        others = [
            other
            for other in self.answers.get((example.dataset, example.title), ())
            if shape_of(other) == shape_of(answer)
            and not any(
                other.casefold() in own.casefold() or own.casefold() in other.casefold()
                for own in example.answers
            )
        ]
        inside = [other for other in others if occurrences(shown.text, other)]
        if inside or others:
            other = chance.choice(inside or others)
            leaves.append(support_leaf(example.question, other, supported=False, kind="support/no"))
        changed = with_other_year(example.question, shown.text, chance) or with_other_name(
            example.question, shown.text, self.names, chance
        )
        if changed and chance.random() < 0.6:
            leaves.append(support_leaf(changed, answer, supported=False, kind="support/no"))
        return Branch(passage_text(shown.text), tuple(leaves))

    def look_branch(self, chance: random.Random) -> Branch | None:
        """Return quotes that answer questions of one page and others, and a question that none of them answers.

        Half of them bear answers of one shape, as the sides of a question do.
        """
        first = self._any_page(chance)
        page = self.of_page[first.dataset, first.title]
        others = chance.sample(page, min(len(page), 24))
        others += [self._any_page(chance) for _ in range(4)]
        shape = shape_of(shortest(first))
        if chance.random() < 0.7:
            others.sort(key=lambda each: shape_of(shortest(each)) != shape)
        chosen: list[Example] = []
        for each in (first, *others):
            if each.spans and len(shortest(each).split()) <= LONGEST_ANSWER:
                known = [answer.casefold() for own in chosen for answer in own.answers]
                if not any(answer.casefold() in quote_of(each).casefold() for answer in known):
                    chosen.append(each)
        chosen = chosen[: chance.randint(2, 7)]
        if not chosen:
            return None
        absent = chosen.pop(chance.randrange(1, len(chosen))) if len(chosen) > 2 else None
        titled = chance.random() < 0.6
        quotes = [
            " | ".join(filter(None, (shown_title(each.title) if titled else "", quote_of(each))))
            for each in chosen
        ]
        leaves = [
            question_leaf(each.question, shortest(each), "look")
            for each in chance.sample(chosen, min(len(chosen), 2))
        ]
        text = " ".join(quotes)
        if absent is not None and not any(occurrences(text, answer) for answer in absent.answers):
            leaves.append(question_leaf(absent.question, "", "look/unknown"))
        chance.shuffle(quotes)
        return Branch(quotes_text(quotes), tuple(leaves))

    def claim_branch(self, chance: random.Random) -> Branch | None:
        """Return a passage with a claim, published or made of a question."""
        if chance.random() < 0.5:
            pair = self.claims.pair(self._any_page(chance), chance, least=50, most=140)
            if pair is None:
                return None
        else:
            pair = chance.choice(self.entail[chance.choice(tuple(self.entail))])
        return Branch(
            passage_text(pair.second),
            (claim_leaf(pair.first, _LABELS[pair.label], f"entail/{_LABELS[pair.label]}"),),
        )

    def same_branch(self, chance: random.Random) -> Branch:
        """Return a passage, and some others that are about the same thing or another."""
        pair = chance.choice(self.same)
        if chance.random() < 0.5:
            namesakes = [each for each in self.same if each.dataset == "namesakes"]
            pair = chance.choice(namesakes or self.same)
        pairs = self.seconds[pair.first]
        return pair_branch(chance.sample(pairs, min(len(pairs), 3)))

    def _any_page(self, chance: random.Random) -> Example:
        while True:
            example = chance.choice(self.contexts[chance.choice(self.groups)])
            if chance.random() < SHARES.get(example.dataset, 1.0):
                return example

    # --- trees --------------------------------------------------------------------------------
    def trees(self, shares: Shares = Shares()) -> Iterator[Tree]:
        """Yield trees without end, by the seed: rounds in which every task has its share."""
        pages, retrieved = self._pages(), self._retrieved()
        written = {task: self._written(task) for task, some in self.written.items() if some}
        number = 0
        while True:
            order = ["read"] * shares.read + ["support"] * shares.support
            order += ["entail"] * shares.entail + ["same"] * shares.same + ["look"] * shares.look
            order += ["decide"] * (shares.decide if "decide" in written else 0)
            seeded(self.seed, "round", number).shuffle(order)
            for place, task in enumerate(order):
                chance = seeded(self.seed, "tree", number, place)
                yield Tree(task, tuple(self._branches(task, shares, pages, retrieved, written, chance)))
            number += 1

    def _branches(
        self,
        task: str,
        shares: Shares,
        pages: Iterator[Branch],
        retrieved: Iterator[Example],
        written: Mapping[str, Iterator[Branch]],
        chance: random.Random,
    ) -> list[Branch]:
        if task == "read":
            found = [next(pages) for _ in range(shares.pages)]
            if self.retrieved:
                count = int(shares.retrieved + chance.random())
                found += [self.retrieved_branch(next(retrieved), chance) for _ in range(count)]
            found += made.branches(chance, shares.made)
            if "read" in written:
                found += [next(written["read"]) for _ in range(shares.folders)]
            chance.shuffle(found)
            return found
        branches: list[Branch] = []
        wanted = {"support": 4, "entail": 6, "same": 3, "look": 4, "decide": 3}[task]
        while len(branches) < wanted:
            if task == "support":
                from_rows = self.retrieved and chance.random() < 0.4
                example = chance.choice(self.retrieved) if from_rows else self._any_page(chance)
                branch = self.support_branch(example, chance)
            elif task == "decide":
                branch = next(written["decide"])
            elif task == "look" and "look" in written and chance.random() < WRITTEN_LOOKS:
                branch = next(written["look"])
            elif task == "look":
                branch = made.same_topic(chance) if chance.random() < 0.25 else self.look_branch(chance)
            else:
                branch = self.claim_branch(chance) if task == "entail" else self.same_branch(chance)
            if branch is not None:
                branches.append(branch)
        return branches

    def _pages(self) -> Iterator[Branch]:
        epoch = 0
        while True:
            groups = list(self.groups)
            seeded(self.seed, "pages", epoch).shuffle(groups)
            for group in groups:
                chance = seeded(self.seed, epoch, group)
                context = self.contexts[group]
                if chance.random() < SHARES.get(context[0].dataset, 1.0):
                    branch = self.page(context, chance)
                    if branch is not None:
                        yield branch
            epoch += 1

    def _written(self, task: str) -> Iterator[Branch]:
        epoch = 0
        while True:
            order = list(self.written[task])
            seeded(self.seed, "written", task, epoch).shuffle(order)
            yield from order
            epoch += 1

    def _retrieved(self) -> Iterator[Example]:
        epoch = 0
        while True:
            order = list(self.retrieved)
            seeded(self.seed, "retrieved", epoch).shuffle(order)
            yield from order
            epoch += 1


def load_data(data: Path, *, seed: int) -> tuple[Data, Data]:
    """Return what is trained on and what is watched."""
    train, dev = training_examples(data)
    pairs = all_pairs(data)
    written: dict[str, dict[str, list[Branch]]] = {"train": {}, "dev": {}}
    for folder in folders(data):
        for document, branch in folder.branches(seed):
            task = "look" if branch.leaves[0].kind.startswith("folder_look") else "read"
            part = "dev" if side(f"{folder.name} {document}") == "dev" else "train"
            written[part].setdefault(task, []).append(branch)
    for name, task, branch in written_passages():
        part = "dev" if side(name) == "dev" else "train"
        written[part].setdefault(task, []).append(branch)
    return (
        Data(train, [pair for pair in pairs if side_of(pair) == "train"], seed, written["train"]),
        Data(dev, [pair for pair in pairs if side_of(pair) == "dev"], seed + 1, written["dev"]),
    )
