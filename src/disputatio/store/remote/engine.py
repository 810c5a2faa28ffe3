"""The seam between an index in a vector engine and the engine: rows, conditions, and what is asked of it.

An index is two tables, each a collection of the engine: `PASSAGES`, which are searched, and `DOCUMENTS`,
which has what stands for files, texts and estimates. A row is found again by its id or by its facts.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

from disputatio.errors import IndexServerFault
from disputatio.protocols import Search
from disputatio.store.remote.collection_address import CollectionAddress
from disputatio.store.remote.served import fact
from disputatio.store.segments.days import NO_DAY, bounds

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Table = Literal["passages", "documents"]
Scorer = Literal["sparse", "dense"]
Query = Mapping[int, int] | list[float]  # terms with how often they are asked for, or a vector
PASSAGES: Table = "passages"
DOCUMENTS: Table = "documents"
SPARSE: Scorer = "sparse"
DENSE: Scorer = "dense"
_TERM_BITS = 0x7FFFFFFF


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What is kept under an id; `order` is its place in time, in nanoseconds.

    A row of `PASSAGES` has a source, a day, its terms as hashes, repeated as they are in it, and a vector.
    """

    id: str
    facts: Sequence[str]
    body: str
    order: int
    source: str = ""
    day: int = NO_DAY
    terms: NDArray[np.uint64] | None = None
    vector: list[float] | None = None


class Kept(NamedTuple):
    """A row as it is read back."""

    id: str
    body: str
    order: int


class Scored(NamedTuple):
    """A row that a scorer found: BM25, or the cosine."""

    id: str
    source: str
    order: int
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """What limits a search: facts that all hold, one of some sources, days, and ids that are left out."""

    facts: tuple[str, ...] = ()
    sources: tuple[str, ...] | None = None
    days: tuple[int, int] | None = None
    exclude: tuple[str, ...] = ()


class Engine(Protocol):
    """A vector engine with the two tables of one index; every fault is a `StoreError` of one line."""

    longest: int  # bytes of a body

    def settings(self) -> dict[str, Any] | None:
        """Return what the index was made with, None where there is none.

        Raises `StoreError` for a collection of another program, `IndexServerFault` for a server that is old.
        """

    def make(self, settings: Mapping[str, Any]) -> None:
        """Make the tables, unless another writer has just done so."""

    def put(self, table: Table, rows: Sequence[Row]) -> None:
        """Write rows, each in place of that of its id; they are found by the next call."""

    def fetch(self, table: Table, ids: Sequence[str]) -> dict[str, str]:
        """Return the bodies of those of the ids that are there."""

    def scan(self, table: Table, facts: Sequence[str] = ()) -> Iterator[Kept]:
        """Yield the rows that have one of the facts, or all rows."""

    def erase(self, table: Table, *, ids: Sequence[str] = (), facts: Sequence[str] = ()) -> None:
        """Take out rows by their ids, and those that have one of the facts."""

    def count(self, table: Table) -> int:
        """Return how many rows there are."""

    def best(
        self, scorer: Scorer, query: Query, condition: Condition, most: int, among: Sequence[str] = ()
    ) -> list[Scored]:
        """Return the best passages; those `among` some ids are compared exactly."""

    def best_of_each(
        self, scorer: Scorer, query: Query, condition: Condition, per_source: int
    ) -> list[Scored]:
        """Return the best passages of every source, at least so many of each; raises `InputError` for too
        many.
        """

    def tidy(self) -> None:
        """Let the server clear away what was deleted, where it takes being told."""

    def close(self) -> None:
        """Close the connection."""


def row_id(*names: str) -> str:
    """Return rows are named by UUIDs: one made of a passage's id, or of what else names a row.

    >>> row_id("p1") == row_id("p1") != row_id("p2")
    True
    """
    name = "\x1f".join(names).encode("utf-8", "surrogatepass")
    return str(uuid.UUID(bytes=blake2b(name, digest_size=16).digest()))


def condition_of(search: Search) -> Condition:
    """Return the filters of a search; raises `InputError` for a date that is none.

    >>> condition_of(Search(sources=("a", "b"), where={"source": "b", "team": "red"}))
    Condition(facts=('["team", "red"]',), sources=('b',), days=None, exclude=())
    """
    where = dict(search.where or {})
    sources = None if search.sources is None else set(search.sources)
    if "source" in where:
        named = {where.pop("source")}
        sources = named if sources is None else sources & named
    return Condition(
        facts=tuple(fact(name, value) for name, value in where.items()),
        sources=None if sources is None else tuple(sorted(sources)),
        days=bounds(search.after, search.before),
        exclude=tuple(row_id(passage_id) for passage_id in search.exclude),
    )


def term_weights(terms: NDArray[np.uint64], settings: Mapping[str, Any]) -> dict[int, float]:
    """Return the part of BM25 that depends on the passage: tf / (tf + k1 (1 - b + b length / mean length)).

    A term is a number of 31 bits in a vector engine, of 64 in a segment: a few rare ones are one there. The
    mean length is that of the first passages.
    """
    import numpy as np

    names, counts = np.unique((terms & np.uint64(_TERM_BITS)).astype(np.int64), return_counts=True)
    k1, b = settings["k1"], settings["b"]
    norm = k1 * (1 - b + b * terms.size / settings["mean_length"])
    return dict(zip(names.tolist(), (counts / (counts + norm)).tolist(), strict=True))


def query_weights(terms: Mapping[int, int]) -> dict[int, float]:
    """Return a query's terms (hash -> multiplicity) as a sparse vector.

    >>> query_weights({5: 1, 5 + (1 << 32): 2})
    {5: 3.0}
    """
    found: dict[int, float] = {}
    for key, times in terms.items():
        found[key & _TERM_BITS] = found.get(key & _TERM_BITS, 0.0) + times
    return found


@contextmanager
def reported(address: CollectionAddress, doing: str, *faults: type[Exception]) -> Iterator[None]:
    """Faults of the server, or of the way to it, as an `IndexServerFault` of one line without the secret."""
    try:
        yield
    except Exception as error:
        if not isinstance(error, (OSError, *faults)):
            raise
        reason = address.without_secret(getattr(error, "message", "") or error) or type(error).__name__
        raise IndexServerFault(f"{address.shown}: {doing} failed: {reason}") from None


def check_version(address: CollectionAddress, version: str, oldest: tuple[int, int], name: str) -> None:
    """Raise `IndexServerFault` for a server older than it is to be; one that tells no version is taken."""
    found = re.match(r"v?(\d+)\.(\d+)", version)
    if found is not None and (int(found[1]), int(found[2])) < oldest:
        wanted = ".".join(map(str, oldest))
        raise IndexServerFault(
            f"{address.shown}: the server is {name} {address.without_secret(version)[:40]}, "
            f"it is to be {wanted} or newer"
        )
