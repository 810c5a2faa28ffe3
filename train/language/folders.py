"""Folders of documents written for training, with questions in other words: passages as a search finds them.

Beside a folder stands a file with one question a line:

    FILE | QUESTION | QUOTE WITH [[ANSWER]] | ABOUT
    - | QUESTION | WHY

The second form is a question that no file answers. A question that several files answer has a line for each, so that
every other passage that the search finds for it is one to be declined: the nearest there are.
"""

from __future__ import annotations

import gzip
import json
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.documents.build import build
from bench.documents.questions import HERE, Part, read_questions
from disputatio.agents.replies import shown
from disputatio.agents.trained_reader import quotes_text
from disputatio.protocols import Embedder
from disputatio.store.folder_index import FolderIndex
from disputatio.text import bare_words, one_line, sentence_at
from disputatio.types import Passage
from train.claims import shape_of
from train.examples import occurrences, seeded
from train.language.tasks import named_in, question_leaf
from train.language.trees import Branch, Leaf

SPENT: tuple[Part, ...] = ("aside3", "aside4", "aside5", "aside6")
DOCUMENTS = Path(__file__).resolve().parents[1] / "documents"
WEB = "web"  # questions on pages of ../datamorgana, by the numbers of the pages
BEARS = (
    0.8  # the share of a quote's words that a passage must have to bear it: a row of a table is written out
)
FOUND, NEAREST = 8, 2  # passages that are found for a question, and those of them that are to be declined
MOST_LEAVES = 5  # of one branch
QUOTE, NAME = 300, 100  # characters of a quote and of the title and heading before it, as at work
_MARKED = re.compile(r"\[\[(.+?)\]\]")


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with a file that answers it: `file` is empty where none does."""

    question: str
    file: str = ""
    quote: str = ""
    answer: str = ""
    about: str = ""
    others: tuple[
        str, ...
    ] = ()  # answers of passages that are neither right nor to be declined, as old versions have


@dataclass(frozen=True, slots=True)
class Borne:
    """A question with a passage that answers it."""

    asked: Asked
    passage: Passage
    answer: str  # as it stands in the passage


def read_asked(path: Path) -> list[Asked]:
    """Return the questions of a file; raises `ValueError` that names a line of another form."""
    found = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        parts = [part.strip(" |") for part in line.split(" | ")]
        if not line.strip():
            continue
        if parts[0] == "-" and len(parts) >= 2:
            found.append(Asked(parts[1]))
            continue
        marked = _MARKED.findall(line)
        if len(parts) not in (3, 4) or len(marked) != 1:
            raise ValueError(f"{path}:{number}: not FILE | QUESTION | QUOTE WITH [[ANSWER]] | ABOUT")
        quote = parts[2].replace("[[", "").replace("]]", "")
        found.append(Asked(parts[1], parts[0], quote, marked[0], parts[3] if len(parts) == 4 else ""))
    return found


def bearing(passages: Sequence[Passage], asked: Asked) -> list[Borne]:
    """Return those of a file's passages that bear a quote with its answer.

    >>> rows = [Passage(text="Item: bulb; Price: 4 euros"), Passage(text="Item: belt; Price: 9 euros")]
    >>> [each.answer for each in bearing(rows, Asked("Cost of a belt?", "a.csv", "belt,9 Euros", "9 Euros"))]
    ['9 euros']
    """
    wanted = set(bare_words(asked.quote.replace(",", " ")))
    near: list[tuple[float, Passage, str]] = []
    for each in passages:
        answer = stated(each.text, asked.answer)
        share = len(wanted & set(bare_words(each.text.replace(",", " ")))) / max(1, len(wanted))
        if answer and share >= BEARS:
            near.append((share + bool(occurrences(each.text, asked.quote)), each, answer))
    best = max((share for share, _, _ in near), default=0.0)
    return [Borne(asked, passage, answer) for share, passage, answer in near if share == best]


def stated(text: str, answer: str) -> str:
    """Return an answer as a text has it, with the marks of its unit; empty if it has not.

    >>> stated("It costs £156 a year.", "£156"), stated("It costs £156.", "156"), stated("Up to 80 %", "90 %")
    ('£156', '156', '')
    """
    if answer in text and occurrences(text, answer):
        return answer
    spans = occurrences(text, answer)
    return text[slice(*spans[0])] if spans else ""


class Folder:
    """A folder as it is searched: the passages of each file, and those that bear the answers to each question."""

    def __init__(self, name: str, index: FolderIndex, every: Sequence[Asked]) -> None:
        self.name, self.index = name, index
        of_file = {
            each.path: [index.passage(name) for name, _, _ in index.spans(each.id)]
            for each in index.documents(text=False)
        }
        self.borne: dict[str, list[Borne]] = {}
        self.lost = 0
        for asked in every:
            own = self.borne.setdefault(asked.question, [])
            if asked.file:
                passages = [
                    each
                    for path, some in of_file.items()
                    if f"/{path}".endswith(f"/{asked.file}")
                    for each in some
                ]
                found = bearing(passages, asked)
                own += found
                self.lost += not found
            # Of several ways to write an answer the longest that a passage has.
            longest = {each.passage.id: each for each in sorted(own, key=lambda each: len(each.answer))}
            self.borne[asked.question] = list(longest.values())
        # A question of which no line could be found is asked of nothing.
        lost = {asked.question for asked in every if asked.file and not self.borne[asked.question]}
        for question in lost:
            del self.borne[question]
        self.of_passage: dict[str, list[Borne]] = {}
        for some in self.borne.values():
            for each in some:
                self.of_passage.setdefault(each.passage.id, []).append(each)

    def declined(self, question: str) -> list[Passage]:
        """Return the passages that a search finds for a question and that do not answer it, the nearest first."""
        answers = {
            answer for each in self.borne[question] for answer in (each.asked.answer, *each.asked.others)
        }
        return [
            hit.passage
            for hit in self.index.search(question, k=FOUND)
            if not any(occurrences(hit.passage.text, answer) for answer in answers)
        ]

    def branches(self, seed: int) -> Iterator[tuple[str, Branch]]:
        """Yield the branches of *read* and of *look* with the document that each is of, by which they are split."""
        leaves: dict[str, list[Leaf]] = {}
        passages: dict[str, Passage] = {}
        for question, borne in self.borne.items():
            chance = seeded(seed, self.name, question)
            declined = self.declined(question)
            for each in borne:
                about = named_in(each.asked.about, f"{each.passage.title} {each.passage.text}")
                passages[each.passage.id] = each.passage
                leaves.setdefault(each.passage.id, []).append(
                    question_leaf(question, each.answer, "folder", about)
                )
            for passage in declined[:NEAREST]:
                passages[passage.id] = passage
                leaves.setdefault(passage.id, []).append(question_leaf(question, "", "folder/unknown"))
            if look := self._look(question, borne, declined, chance):
                yield (borne[0].passage if borne else declined[0]).document, look
        for key, own in leaves.items():
            seeded(seed, self.name, key).shuffle(own)
            for first in range(0, len(own), MOST_LEAVES):
                branch = Branch(shown(passages[key]), tuple(own[first : first + MOST_LEAVES]))
                yield passages[key].document, branch

    def _look(
        self, question: str, borne: Sequence[Borne], declined: Sequence[Passage], chance: random.Random
    ) -> Branch | None:
        """Return quotes of the passages that are found, as sides of a question are shown, its own at times left out."""
        shape = shape_of(borne[0].answer) if borne else ""
        others = []
        for passage in declined:
            own = self.of_passage.get(passage.id, [])
            alike = [each for each in own if shape_of(each.answer) == shape]
            if own:
                others.append(chance.choice(alike or own))
        others = others[: chance.randint(2, 5)]
        right = [] if chance.random() < 0.3 else borne[:1]
        if len(others) + len(right) < 2:
            return None
        quotes = list(dict.fromkeys(quote_of(each) for each in (*right, *others)))
        chance.shuffle(quotes)
        answer = right[0].answer if right else ""
        kind = "folder_look" if right else "folder_look/unknown"
        return Branch(quotes_text(quotes), (question_leaf(question, answer, kind),))


def quote_of(borne: Borne) -> str:
    """Return the sentence that bears an answer after title and heading, as sides are shown side by side."""
    passage = borne.passage
    span = occurrences(passage.text, borne.answer)[0]
    parts = (
        passage.title[:NAME],
        passage.metadata.get("heading", "")[:NAME],
        passage.text[slice(*sentence_at(passage.text, *span))][:QUOTE],
    )
    return " | ".join(filter(None, map(one_line, parts)))


def folders(data: Path) -> Iterator[Folder]:
    """Yield each folder that is trained on as an index: those written for it, the web pages that are asked about, and
    those parts of bench/documents of which nothing is reported any more.
    """
    from disputatio.parts import open_embedder

    embedder = open_embedder("minilm-l6-v2")
    for questions in sorted(DOCUMENTS.glob("*.txt")):
        with TemporaryDirectory() as place:
            source = DOCUMENTS / questions.stem
            every = read_asked(questions)
            if questions.stem == WEB:
                source = Path(place) / "documents"
                write_pages(data, {each.file for each in every if each.file}, source)
            index = FolderIndex.open(Path(place) / "index", embedder=embedder)
            index.ingest(source)
            yield Folder(questions.stem, index, every)
    for part in SPENT:
        with TemporaryDirectory() as place:
            yield part_folder(part, Path(place), embedder)


def part_folder(part: Part, place: Path, embedder: Embedder | None) -> Folder:
    """Return a part of bench/documents, each question with one value asked of the files that are its evidence."""
    rows = map(json.loads, (HERE / "evidence.jsonl").read_text(encoding="utf-8").splitlines())
    evidence = {row["question"]: row["evidence"] for row in rows if row["part"] == part}
    every = []
    for each in read_questions(part):
        if not each.accept:
            every.append(Asked(each.question))
        elif len(each.accept) == 1 and not each.yes_no:
            others = (*each.accept[0], *each.wrong)
            every += [
                Asked(each.question, file, words, answer, others=others)
                for file, words in evidence[each.id]
                for answer in each.accept[0]
            ]
    build(place / "documents", part=part)
    index = FolderIndex.open(place / "index", embedder=embedder)
    index.ingest(place / "documents")
    return Folder(part, index, every)


def write_pages(data: Path, files: set[str], to: Path) -> None:
    """Write the web pages that are asked about as files of their numbers."""
    to.mkdir()
    with gzip.open(data / "datamorgana" / "corpus.jsonl.gz", "rt", encoding="utf-8") as lines:
        for number, line in enumerate(lines):
            name = f"{number}.txt"
            if name in files:
                (to / name).write_text(json.loads(line)["text"], encoding="utf-8")
