"""Candidate sentences for questions: other sources write about them too, and they vary in source and topic.

A question that only one source can answer cross-checks nothing. So each drawn passage is searched for among
the sources of other owners. Its sentences are ranked by how many of their words these neighbours have;
neighbours that are copies of the passage do not count.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING

from disputatio.reliability.similarity import COPY, content_stems, likeness
from disputatio.text import sentences
from disputatio.types import Hit, Passage

if TYPE_CHECKING:
    from disputatio.store.contract import Index, SourcePassages

LEAST = 0.25  # share of a sentence's content words that another owner must use
SAME = 0.6  # share of common content words from which two sentences have one topic
NEIGHBOURS = 12
_QUERY = 600  # characters of a passage that are searched for
_SHORT, _LONG = 5, 60  # words of a sentence
_FIGURE = re.compile(r"\d")
_NAMED = re.compile(
    r"\d|(?<=[^.!?\s]\s)[^\W\d_a-z]"
)  # a figure, or a capital (or a letter without case) within


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateSentence:
    """A sentence of a passage to ask about: `passage.text[start:end]`.

    `shared` is the share of its content words that other owners use, in [0, 1]: the mean of the two greatest,
    with rare words weighing more. `factual`: it has a name or a figure to ask for.
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


def find_candidates(
    index: Index, count: int, *, owners: Mapping[str, str], seed: int = 0
) -> Iterator[CandidateSentence]:
    """Candidates for `count` questions and more, in the order in which to ask about them.

    The source with the fewest candidates so far comes next, with the sentence that others share most. A topic
    that was used waits until all others were, and sentences without a name or a figure come last. The same
    index, `count` and seed give the same candidates. `owners` maps a source to its owner; a source without
    one owns itself.
    """
    held = index.source_passages()
    if held is None:
        return
    names = sorted(name for name in held.counts() if name)
    pool = _drawn(held, names, count, seed)
    weight = _Rarity(pool)
    shelves: dict[str, list[CandidateSentence]] = {}
    for passage in pool:
        owner = owners.get(passage.source, passage.source)
        others = [name for name in names if owners.get(name, name) != owner]
        if others:
            query = f"{passage.title}. {passage.text}"[:_QUERY]
            hits = index.search(query, k=NEIGHBOURS, sources=others)
            shelves.setdefault(passage.source, []).extend(_candidates_of(passage, hits, owners, weight))
    order = sorted(shelves, key=lambda name: _draw(seed, name))
    for factual in (True, False):
        yield from _in_turn(
            {
                name: [candidate for candidate in shelves[name] if candidate.factual is factual]
                for name in order
            },
            weight,
        )


def _drawn(held: SourcePassages, names: list[str], count: int, seed: int) -> list[Passage]:
    """Return passages drawn at random, equally many from each source."""
    per_source = max(2, math.ceil(3 * count / max(len(names), 1)))
    most = max(4 * count, 64) // per_source
    chosen = sorted(names, key=lambda name: _draw(seed, name))[: max(most, 1)]
    return held.drawn(chosen, per_source, _draw(seed, "") | 1)


def _draw(seed: int, name: str) -> int:
    """Return a random number for a name."""
    return int.from_bytes(blake2b(f"{seed}\0{name}".encode("utf-8", "replace"), digest_size=8).digest())


class _Rarity:
    """Weights of words: a word weighs more if fewer of the drawn passages have it."""

    def __init__(self, pool: Sequence[Passage]) -> None:
        self._rows = len(pool)
        self._passages_with = Counter(
            stem for passage in pool for stem in content_stems(f"{passage.title} {passage.text}")
        )

    def of(self, stems: frozenset[str]) -> float:
        """Return the sum of the weights of some words."""
        return math.fsum(math.log1p(self._rows / max(self._passages_with[stem], 1)) for stem in sorted(stems))


def _candidates_of(
    passage: Passage, hits: list[Hit], owners: Mapping[str, str], weight: _Rarity
) -> list[CandidateSentence]:
    """Return the sentences of a passage whose content words the found passages share."""
    neighbours: dict[str, list[frozenset[str]]] = {}
    for hit in hits:
        near = hit.passage
        if likeness(near.text, passage.text) < COPY:
            owner = owners.get(near.source, near.source)
            neighbours.setdefault(owner, []).append(content_stems(f"{near.title} {near.text}"))
    candidates = []
    for start, end in sentences(passage.text):
        sentence = passage.text[start:end]
        stems = frozenset(stem for stem in content_stems(sentence) if not _FIGURE.search(stem))
        if not _SHORT <= len(sentence.split()) <= _LONG or len(stems) < 3 or sentence.endswith("?"):
            continue
        whole_weight = weight.of(stems)
        shares = sorted(
            (max(weight.of(stems & stems_near) for stems_near in texts) for texts in neighbours.values()),
            reverse=True,
        )
        if shares and shares[0] >= LEAST * whole_weight:
            candidates.append(
                CandidateSentence(
                    passage=passage,
                    start=start,
                    end=end,
                    shared=sum(shares[:2]) / (2 * whole_weight),
                    factual=_NAMED.search(sentence) is not None,
                    stems=stems,
                )
            )
    return candidates


def _in_turn(shelves: Mapping[str, list[CandidateSentence]], weight: _Rarity) -> Iterator[CandidateSentence]:
    """Yield the candidates of the sources in turn, each topic once; then those with a used topic."""
    order = list(shelves)
    remaining = {name: sorted(shelves[name], key=lambda candidate: -candidate.shared) for name in order}
    count_of = dict.fromkeys(order, 0)
    topics: list[frozenset[str]] = []
    waiting: list[CandidateSentence] = []
    while True:
        open_sources = [name for name in order if remaining[name]]
        if not open_sources:
            break
        name = min(open_sources, key=lambda source: count_of[source])
        candidate = remaining[name].pop(0)
        candidate_weight = weight.of(candidate.stems)
        if any(
            weight.of(candidate.stems & topic) >= SAME * min(candidate_weight, weight.of(topic))
            for topic in topics
        ):
            waiting.append(candidate)
            continue
        topics.append(candidate.stems)
        count_of[name] += 1
        yield candidate
    yield from waiting
