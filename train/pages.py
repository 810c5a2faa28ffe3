"""Pairs for *same* made of pages: two passages of one page, or of two pages whose subjects are given one name."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass

from disputatio.encoder.model import head_of
from train.examples import Example, seeded, shown_title, side, window
from train.pairs import Pair
from train.sameness import about

# Sets whose titles name a page; those of newspapers are addresses, and name nothing that a text would mention.
SETS = frozenset({"squad11_dev", "squad2_dev", "squadshifts_new_wiki", "squadshifts_nyt"})
CANDIDATES = 16  # pages of which the likest is taken half of the time
_WORD = re.compile(r"\w+")
_BRACKETS = re.compile(r"\s*\([^)]*\)")


@dataclass(frozen=True, slots=True)
class Named:
    """A passage of a page, its words, and the name of what the page is about, empty where none is known."""

    page: str
    name: str
    text: str
    words: frozenset[str]


def name_of(title: str) -> str:
    """Return what a page is about, by its title.

    >>> name_of("Steam_engine"), name_of("Mercury_(planet)")
    ('Steam engine', 'Mercury')
    """
    return _BRACKETS.sub("", shown_title(title)).strip()


def mentions(name: str) -> list[str]:
    """Return how a text may call what it is about: by the whole name, or the last word of a long one.

    >>> mentions("Nikola Tesla"), mentions("Rhine")
    (['Nikola Tesla', 'Tesla'], ['Rhine'])
    """
    last = name.rsplit(maxsplit=1)[-1]
    return [name, last] if last != name and len(last) > 3 and last[0].isupper() else [name]


def renamed(text: str, name: str, other: str) -> str:
    """Return a text with the mentions of a name replaced by those of another.

    >>> renamed("Nikola Tesla came; Tesla stayed.", "Nikola Tesla", "Ada Berg")
    'Ada Berg came; Berg stayed.'
    """
    ours, theirs = mentions(name), mentions(other)
    for number, mention in enumerate(ours):
        instead = theirs[min(number, len(theirs) - 1)].replace("\\", "")  # no group of the pattern
        text = re.sub(rf"(?<!\w){re.escape(mention)}(?!\w)", instead, text)
    return text


def is_named(text: str, name: str) -> bool:
    """Return whether a text mentions a name."""
    return any(re.search(rf"(?<!\w){re.escape(mention)}(?!\w)", text) for mention in mentions(name))


class Pages:
    """Makes pairs of the passages of pages that name what they are about; all pairs of a page are on one side."""

    def __init__(self, examples: Sequence[Example]) -> None:
        self.pages: dict[str, list[Named]] = {}
        seen: set[str] = set()
        for example in examples:
            name = name_of(example.title)
            if example.dataset not in SETS or example.text in seen:
                continue
            seen.add(example.text)
            if not name or is_named(example.text, name):
                words = frozenset(word for word in _WORD.findall(example.text.lower()) if len(word) > 3)
                self.pages.setdefault(example.title, []).append(
                    Named(example.title, name, example.text, words)
                )
        self.pages = {page: passages for page, passages in self.pages.items() if len(passages) > 1}
        self.passages = [passage for passages in self.pages.values() for passage in passages]

    def pair(self, example: Example, chance: random.Random, *, least: int, most: int) -> Pair | None:
        """Return a question's passage beside another of its page, or beside one of another page under its
        page's name.
        """
        name = name_of(example.title)
        own = [passage for passage in self.pages.get(example.title, ()) if passage.text != example.text]
        if not own or (name and not is_named(example.text, name)):
            return None
        label = int(chance.random() < 0.5)
        if label:
            other = chance.choice(own).text
        else:
            found = chance.sample(self.passages, min(CANDIDATES, len(self.passages)))
            # Of the same kind: another style of writing must not tell.
            strangers = [
                passage
                for passage in found
                if passage.page != example.title and bool(passage.name) == bool(name)
            ]
            if not strangers:
                return None
            asked = frozenset(_WORD.findall(example.text.lower()))
            stranger = strangers[0]
            if chance.random() < 0.5:
                stranger = max(strangers, key=lambda passage: (len(asked & passage.words), passage.text))
            other = renamed(stranger.text, stranger.name, name) if name else stranger.text
        texts = [_cut(text, chance, least, most) for text in (example.text, other)]
        title = head_of(name) if name and chance.random() < 0.3 else ""
        chance.shuffle(texts)
        return Pair(
            id=f"pages/{label}/{example.id}",
            dataset="pages",
            group=example.title,
            head="same",
            first=about(example.question, title + texts[0]),
            second=title + texts[1],
            label=label,
        )


def _cut(text: str, chance: random.Random, least: int, most: int) -> str:
    bare = Example(id="", dataset="", group="", question="", title="", text=text, spans=())
    return window(bare, chance, least, most).text


def pages_of(
    examples: Sequence[Example], *, part: str, share: float, seed: int, epoch: int, least: int, most: int
) -> list[Pair]:
    """Return pairs of a share of the questions on pages of one side of the split, the same for the same seed
    and epoch.
    """
    maker = Pages([example for example in examples if side(example.title) == part])
    pairs = []
    for example in examples:
        chance = seeded(seed, epoch, "page", example.id)
        if chance.random() < share:
            pair = maker.pair(example, chance, least=least, most=most)
            pairs += [pair] if pair is not None else []
    return pairs
