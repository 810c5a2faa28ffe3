"""The seam between an index in a vector engine and the engine: addresses, rows, conditions, and its calls.

To add an engine, write one module with a class that implements `Engine`, the `AddressForm` of its addresses,
and a subclass of `VectorIndex` that names both; give its scheme a row in `addresses.SERVERS`.

An index is two tables, each a collection of the engine: `PASSAGES`, which are searched, and `DOCUMENTS`,
which has what stands for files, texts and estimates. A row is found again by its id or by its facts.
"""

from __future__ import annotations

import os
import re
import threading
import uuid
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from disputatio.errors import IndexServerFault, InputError
from disputatio.protocols import Search
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
_COLLECTION = "disputatio"  # where an address names none
_COLLECTION_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,199}\Z")
_SECRETS = ("api_key", "token", "password")


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectionAddress:
    """The address of an index: `server` is a URL or a file, `shown` is the address without its secrets."""

    server: str
    collection: str
    shown: str
    is_file: bool = False
    user: str = ""
    secret: str = ""
    database: str = ""

    def without_secret(self, reason: object) -> str:
        """Return a message of the server in one line, without the key, the token or the password."""
        line = " ".join(str(reason).split())
        for secret in {self.secret, quote(self.secret, safe="")}:
            line = line.replace(secret, "***") if secret else line
        return line[:300]


@dataclass(frozen=True, slots=True, kw_only=True)
class AddressForm:
    """The form of one engine's addresses: the variable of the environment with a `key` that one lacks,
    `options` after `?`, the ending of a path that is a file here, whether a user may be named; and an
    example.
    """

    scheme: str
    engine: str
    port: int
    example: str
    key: str = ""
    options: tuple[str, ...] = ("tls",)
    file_suffix: str = ""
    has_users: bool = False

    def parse(self, path: str | Path) -> CollectionAddress:
        """Return the address that `--index` names, also with a slash lost; raises `InputError`.

        >>> form = AddressForm(scheme="qdrant", engine="Qdrant", port=6333, example="qdrant://host/collection")
        >>> form.parse("qdrant://:secret@db.example/town").shown
        'qdrant://db.example:6333/town'
        """
        given, _, options_given = str(path).removeprefix(f"{self.scheme}:").partition("?")
        options = dict(parse_qsl(options_given, keep_blank_values=True))
        secret = next((options.pop(name) for name in _SECRETS if name in options), "")
        for name in options:
            if name not in self.options:
                raise self._make_refusal(f"{name} is no part of its address")
        shown_options = "&".join(f"{name}={value}" for name, value in options.items())
        suffix = f"?{shown_options}" if shown_options else ""
        if self.file_suffix and given.endswith(self.file_suffix):
            file = str(Path(re.sub(r"\A/+", "/", given)).expanduser())
            collection = options.get("collection", _COLLECTION)
            _check_name(collection, f"{self.scheme}:{file}")
            shown = f"{self.scheme}:{file}{suffix}"
            return CollectionAddress(server=file, collection=collection, shown=shown, is_file=True)
        try:
            parts = urlsplit(f"//{given.lstrip('/')}")
            host, port = parts.hostname or "", parts.port or self.port
        except ValueError:
            parts, host, port = urlsplit(""), "", 0
        if not host:
            raise self._make_refusal("names no host or port")
        user, password = unquote(parts.username or ""), unquote(parts.password or "")
        if not password and not secret:  # a key or a token alone
            user, password = "", user
        server = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        collection = parts.path.strip("/") or options.get("collection", _COLLECTION)
        named = f"{user}@" if user and self.has_users else ""
        shown = f"{self.scheme}://{named}{server}/{collection}{suffix}"
        _check_name(collection, shown)
        return CollectionAddress(
            server=f"{'https' if options.get('tls') in ('yes', 'true', '1') else 'http'}://{server}",
            collection=collection,
            shown=shown,
            user=user,
            secret=secret or password or os.environ.get(self.key, ""),
            database=options.get("database", ""),
        )

    def _make_refusal(self, reason: str) -> InputError:
        return InputError(f"--index: {reason}; an index in {self.engine} is {self.example}")


def _check_name(collection: str, shown: str) -> None:
    if not _COLLECTION_NAME.match(collection):
        raise InputError(f"{shown}: a collection is named by letters, digits and _")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A row of a table, by its id; `order` is its time, in nanoseconds.

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


class StoredRow(NamedTuple):
    """A row as it is read back."""

    id: str
    body: str
    order: int


class ScoredRow(NamedTuple):
    """A row that a scorer found: BM25, or the cosine."""

    id: str
    source: str
    order: int
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """The filters of a search: facts that all hold, one of some sources, days; ids and facts left out."""

    facts: tuple[str, ...] = ()
    sources: tuple[str, ...] | None = None
    days: tuple[int, int] | None = None
    exclude: tuple[str, ...] = ()
    without: tuple[str, ...] = ()


class Engine(ABC):
    """A vector engine with the two tables of one index; every fault is a `StoreError` of one line."""

    longest: int  # bytes of a body
    product: str
    oldest: tuple[int, int]  # version of a server

    def __init__(self, address: CollectionAddress) -> None:
        """Prepare for an address; the first call connects."""
        self._address = address
        self._names = {"passages": address.collection, "documents": f"{address.collection}_documents"}
        self._lock = threading.Lock()
        self._client: Any = None
        self._settings: dict[str, Any] = {}

    def close(self) -> None:
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
            client.close()

    def _get_client(self) -> Any:
        with self._lock:
            if self._client is None:
                client, version = self._connect()
                check_version(self._address, version, self.oldest, self.product)
                self._client = client
            return self._client

    @abstractmethod
    def _connect(self) -> tuple[Any, str]:
        """Return a new connection, and the version of the server."""

    @abstractmethod
    def settings(self) -> dict[str, Any] | None:
        """Return the settings of the index, None without one; raises `StoreError` for a stranger's."""

    @abstractmethod
    def make(self, settings: Mapping[str, Any]) -> None:
        """Make the tables, unless another writer has just done so."""

    @abstractmethod
    def put(self, table: Table, rows: Sequence[Row]) -> None:
        """Write rows, each in place of that of its id; they are found by the next call."""

    @abstractmethod
    def fetch(self, table: Table, ids: Sequence[str]) -> dict[str, str]:
        """Return the bodies of those of the ids that are there."""

    @abstractmethod
    def vectors(self, ids: Sequence[str]) -> dict[str, list[float]]:
        """Return the vectors of those passages of these rows that have one."""

    @abstractmethod
    def scan(self, table: Table, facts: Sequence[str] = ()) -> Iterator[StoredRow]:
        """Yield the rows that have one of the facts, or all rows."""

    @abstractmethod
    def erase(self, table: Table, *, ids: Sequence[str] = (), facts: Sequence[str] = ()) -> None:
        """Delete rows by their ids, and those that have one of the facts."""

    @abstractmethod
    def count(self, table: Table) -> int:
        """Count the rows."""

    @abstractmethod
    def best(
        self, scorer: Scorer, query: Query, condition: Condition, most: int, among: Sequence[str] = ()
    ) -> list[ScoredRow]:
        """Return the best passages; those `among` some ids are compared exactly."""

    @abstractmethod
    def best_of_each(
        self, scorer: Scorer, query: Query, condition: Condition, per_source: int
    ) -> list[ScoredRow]:
        """Return so many best passages of every source, or more; raises `InputError` for too many."""

    @abstractmethod
    def tidy(self) -> None:
        """Ask the server to purge deleted rows, if it needs asking."""


def row_id(*names: str) -> str:
    """Return the UUID of a row, made of a passage's id or of other names.

    >>> row_id("p1") == row_id("p1") != row_id("p2")
    True
    """
    name = "\x1f".join(names).encode("utf-8", "surrogatepass")
    return str(uuid.UUID(bytes=blake2b(name, digest_size=16).digest()))


def condition_of(search: Search) -> Condition:
    """Return the filters of a search; raises `InputError` for what is no date.

    >>> condition_of(Search(sources=("a", "b"), where={"source": "b", "team": "red"}))
    Condition(facts=('["team", "red"]',), sources=('b',), days=None, exclude=(), without=())
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
        without=tuple(fact("document", document) for document in search.exclude),
    )


def term_weights(terms: NDArray[np.uint64], settings: Mapping[str, Any]) -> dict[int, float]:
    """Return the part of BM25 that depends on the passage: tf / (tf + k1 (1 - b + b length / mean length)). A
    term is a number of 31 bits in a vector engine: a few rare ones are one there.
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
def report_faults(address: CollectionAddress, doing: str, *faults: type[Exception]) -> Iterator[None]:
    """Turn faults of the server or the network into an `IndexServerFault` of one line without the secret."""
    try:
        yield
    except Exception as error:
        if not isinstance(error, (OSError, *faults)):
            raise
        reason = address.without_secret(getattr(error, "message", "") or error) or type(error).__name__
        raise IndexServerFault(f"{address.shown}: {doing} failed: {reason}") from None


def check_version(address: CollectionAddress, version: str, oldest: tuple[int, int], name: str) -> None:
    """Raise `IndexServerFault` for a server that is too old; one without a version is accepted."""
    found = re.match(r"v?(\d+)\.(\d+)", version)
    if found is not None and (int(found[1]), int(found[2])) < oldest:
        wanted = ".".join(map(str, oldest))
        raise IndexServerFault(
            f"{address.shown}: the server is {name} {address.without_secret(version)[:40]}, "
            f"it is to be {wanted} or newer"
        )
