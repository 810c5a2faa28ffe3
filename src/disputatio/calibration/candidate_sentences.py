"""Where to ask: sentences of passages that other sources speak of too, spread over sources and topics.

A question that one source alone can answer cross-checks nothing. So each passage drawn is searched for
among the sources of other owners, and its sentences are ranked by how much of what they say those
neighbours speak of; neighbours that are copies of the passage do not count.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING

import numpy as np

from disputatio.reliability.similarity import COPY, content_stems, likeness
from disputatio.text import sentences
from disputatio.types import Hit, Passage

if TYPE_CHECKING:
    from disputatio.store.index import Index
    from disputatio.store.segments.view import View

LEAST = 0.25  # share of a sentence's content words of which other owners must speak
SAME = 0.6  # share of common content words from which two sentences count as one topic
NEIGHBOURS = 12
_QUERY = 600  # characters of a passage that are searched for
_SHORT, _LONG = 5, 60  # words of a sentence
_FIGURE = re.compile(r"\d")
_NAMED = re.compile(
    r"\d|(?<=[^.!?\s]\s)[^\W\d_a-z]"
)  # a figure, or a capital (or a letter without case) within


@dataclass(frozen=True, slots=True, kw_only=True)
class Spot:
    """A sentence of a passage to ask about: `passage.text[start:end]`.

    `shared` is how much of it other owners speak of, in [0, 1]: the mean over the two that do most, a word
    weighing as much as it is rare. `factual`: it has a name or a figure to ask for.
    """

    passage: Passage
    start: int
    end: int
    shared: float
    factual: bool
    stems: frozenset[str]

    @property
    def key(self) -> str:
        """Its name: the passage's id and the offset."""
        return f"{self.passage.id}:{self.start}"

    @property
    def sentence(self) -> str:
        """The sentence itself."""
        return self.passage.text[self.start : self.end]


def find_spots(index: Index, count: int, *, owners: Mapping[str, str], seed: int = 0) -> Iterator[Spot]:
    """Spots for `count` questions and more, in the order in which to ask about them.

    In turn a spot of the source that has had fewest, the one that most is said of elsewhere first; a
    topic that has had its turn waits until all others had one, and sentences without a name or a
    figure come last. The same index, `count` and seed give
    the same spots. `owners` maps a source to its owner; a source without one owns itself.
    """
    view = index.view()
    if view is None:
        return
    names = sorted(name for name in view.counts() if name)
    pool = _drawn(view, names, count, seed)
    weight = _Rarity(pool)
    shelves: dict[str, list[Spot]] = {}
    for passage in pool:
        own = owners.get(passage.source, passage.source)
        others = [name for name in names if owners.get(name, name) != own]
        if others:
            query = f"{passage.title}. {passage.text}"[:_QUERY]
            hits = index.search(query, k=NEIGHBOURS, sources=others)
            shelves.setdefault(passage.source, []).extend(_spots(passage, hits, owners, weight))
    order = sorted(shelves, key=lambda name: _draw(seed, name))
    for factual in (True, False):
        yield from _in_turn(
            {name: [one for one in shelves[name] if one.factual is factual] for name in order}, weight
        )


def _drawn(view: View, names: list[str], count: int, seed: int) -> list[Passage]:
    """Passages drawn at random, equally many of each source, whatever segments they are in."""
    each = max(2, math.ceil(3 * count / max(len(names), 1)))
    most = max(4 * count, 64) // each
    chosen = sorted(names, key=lambda name: _draw(seed, name))[: max(most, 1)]
    found: dict[str, list[tuple[int, int, int]]] = {name: [] for name in chosen}
    salt = np.uint64(_draw(seed, "") | 1)
    for place, (segment, dead) in enumerate(zip(view.segments, view.dead, strict=True)):
        hashes = (segment.stored.sums.astype(np.uint64) + np.uint64(1)) * salt
        hashes = (hashes ^ (hashes >> np.uint64(31))) * np.uint64(0x9E3779B97F4A7C15)
        for number, name in enumerate(segment.sources):
            if name in found:
                mine = segment.source_of == number
                rows = np.flatnonzero(mine if dead is None else mine & ~dead)
                best = rows[np.argsort(hashes[rows], kind="stable")[:each]]
                found[name] += [(int(hashes[row]), place, int(row)) for row in best.tolist()]
    return [
        view.segments[place].passage(row) for name in chosen for _, place, row in sorted(found[name])[:each]
    ]


def _draw(seed: int, name: str) -> int:
    """A number at random for a name."""
    return int.from_bytes(blake2b(f"{seed}\0{name}".encode("utf-8", "replace"), digest_size=8).digest())


class _Rarity:
    """What a word weighs: the more, the fewer of the passages drawn have it."""

    def __init__(self, pool: Sequence[Passage]) -> None:
        self._rows = len(pool)
        self._held = Counter(stem for one in pool for stem in content_stems(f"{one.title} {one.text}"))

    def of(self, stems: frozenset[str]) -> float:
        """The sum of the weights of some words."""
        return math.fsum(math.log1p(self._rows / max(self._held[stem], 1)) for stem in sorted(stems))


def _spots(passage: Passage, hits: list[Hit], owners: Mapping[str, str], weight: _Rarity) -> list[Spot]:
    """The sentences of a passage that the passages found speak of."""
    told: dict[str, list[frozenset[str]]] = {}
    for hit in hits:
        near = hit.passage
        if likeness(near.text, passage.text) < COPY:
            own = owners.get(near.source, near.source)
            told.setdefault(own, []).append(content_stems(f"{near.title} {near.text}"))
    spots = []
    for start, end in sentences(passage.text):
        sentence = passage.text[start:end]
        stems = frozenset(one for one in content_stems(sentence) if not _FIGURE.search(one))
        if not _SHORT <= len(sentence.split()) <= _LONG or len(stems) < 3 or sentence.endswith("?"):
            continue
        whole = weight.of(stems)
        shares = sorted(
            (max(weight.of(stems & one) for one in texts) for texts in told.values()), reverse=True
        )
        if shares and shares[0] >= LEAST * whole:
            spots.append(
                Spot(
                    passage=passage,
                    start=start,
                    end=end,
                    shared=sum(shares[:2]) / (2 * whole),
                    factual=_NAMED.search(sentence) is not None,
                    stems=stems,
                )
            )
    return spots


def _in_turn(shelves: Mapping[str, list[Spot]], weight: _Rarity) -> Iterator[Spot]:
    """The spots of the sources in turn, each topic once; then those whose topic had been met."""
    order = list(shelves)
    left = {name: sorted(shelves[name], key=lambda one: -one.shared) for name in order}
    had = dict.fromkeys(order, 0)
    asked: list[frozenset[str]] = []
    waiting: list[Spot] = []
    while True:
        able = [name for name in order if left[name]]
        if not able:
            break
        name = min(able, key=lambda one: had[one])
        spot = left[name].pop(0)
        own = weight.of(spot.stems)
        if any(weight.of(spot.stems & one) >= SAME * min(own, weight.of(one)) for one in asked):
            waiting.append(spot)
            continue
        asked.append(spot.stems)
        had[name] += 1
        yield spot
    yield from waiting
