"""The seams: what a model, an embedder, a retriever and a judge of your own must be able to do."""

from __future__ import annotations

import signal
import threading
import time
from abc import abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from types import FrameType
from typing import TYPE_CHECKING, Literal, Protocol, Self, TypeAlias, TypedDict, Unpack, runtime_checkable

from disputatio.errors import Cancelled, InputError, NoLogprobs
from disputatio.types import (
    Capabilities,
    Choice,
    Completion,
    Extraction,
    Hit,
    Passage,
    Prompt,
    Sampling,
    Source,
    Unsearched,
    Usage,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Fusion = Literal["weighted", "rrf"]
NO_LOGPROBS = (
    "{name} gives no log-probabilities: give it a method choose(prompts, options), "
    "or give this role a model that has them (role={{'ROLE': model}}, --role ROLE=MODEL)"
)


@runtime_checkable
class LLM(Protocol):
    """A language model: takes a batch of prompts and returns a batch of results.

    A class that inherits from it needs `complete` alone. A model that is given to `disputatio.ask` needs even
    less (`MinimalLLM`).

    `complete` and `choose` take two optional arguments. `on_done(index, result)` is to be called in the
    caller's thread as each call finishes. A model may ignore it: what it does not report is reported when
    the batch is back. When `cancel.cancel()` is called, the calls are to end and `Cancelled` to be raised.
    """

    @property
    def name(self) -> str:
        """The name that users give, `local:...` or `openai:...`; by default the name of the class."""
        return type(self).__name__

    def capabilities(self) -> Capabilities:
        """Report what the model can do; by default text alone. May probe the model at the first call."""
        kind = type(self)
        return Capabilities(
            engine=f"{kind.__module__}.{kind.__qualname__}", logprobs=False, max_options=0, schema=False
        )

    @abstractmethod
    def complete(
        self,
        prompts: Sequence[Prompt],
        sampling: Sampling,
        *,
        on_done: Callable[[int, Completion], None] | None = None,
        cancel: Cancel | None = None,
    ) -> list[Completion]:
        """Complete each prompt, in order.

        Raises `LLMError`; `BatchFault` when some calls of the batch succeeded.
        """

    def choose(
        self,
        prompts: Sequence[Prompt],
        options: Sequence[str],
        *,
        on_done: Callable[[int, Choice], None] | None = None,
        cancel: Cancel | None = None,
    ) -> list[Choice]:
        """Score each option as the first word of the reply, by log P of one generated token.

        Raises `LLMError`; `NoLogprobs` when the model gives none, which is the default.
        """
        del prompts, options, on_done, cancel
        raise NoLogprobs(NO_LOGPROBS.format(name=self.name))


class MinimalLLM(Protocol):
    """The least that a model of your own needs: one reply a prompt, in order, as text or as a `Completion`.

    A `name`, `capabilities`, `choose`, and the arguments `on_done` and `cancel` are used where it has them.
    Without `capabilities` a JSON schema is stated in the prompt, without `choose` there are no
    log-probabilities (`NoLogprobs`).
    """

    def complete(self, prompts: Sequence[Prompt], sampling: Sampling) -> Sequence[str | Completion]: ...


ModelObject: TypeAlias = MinimalLLM | Callable[[str], str]
"""A model of your own: an object with `complete`, or a function of a prompt's text to that of a reply."""


@runtime_checkable
class Embedder(Protocol):
    """Text to unit vectors. `name` is the model's identity, kept in the index."""

    @property
    def name(self) -> str: ...

    @property
    def dimension(self) -> int: ...

    def embed(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:
        """Return an array (len(texts), dimension) of unit rows; `query` picks the query's prefix."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """The options of a search; a retriever takes them as keywords, an index also as this object.

    `k` is the number of passages (None: the retriever's default). `per_source=n` asks for the best n
    passages of every source that matches instead; `k` then limits nothing. `sources` limits the search to
    these sources (None: all), `exclude` leaves out passages by their id
    or that of their document. `after` and `before` are ISO dates, both
    inclusive. `where` asks for exact values of metadata fields, or of owner, title, url, document, source.
    `min_reliability` leaves out sources whose estimated reliability is lower or unknown.

    `alpha` is the weight of the keyword score; the score of meaning has 1 - alpha. `fusion="rrf"` adds
    reciprocal ranks instead of scores. `k1` and `b` are the parameters of BM25 (None: 1.2 and 0.75, or
    those that a served collection was made with).
    """

    k: int | None = None
    alpha: float = 0.35
    per_source: int | None = None
    sources: Collection[str] | None = None
    exclude: Collection[str] = ()
    after: str | None = None
    before: str | None = None
    where: Mapping[str, str] | None = None
    fusion: Fusion = "weighted"
    k1: float | None = None
    b: float | None = None
    min_reliability: float | None = None

    def __new__(cls, *given: object, **_: object) -> Self:
        """Make the options; raises `InputError` for what is not given as a keyword."""
        if given:
            raise InputError(
                f"Search takes options as keywords, Search(k=5), not {type(given[0]).__name__}; "
                "an index is searched by Index.open(PATH).search(QUERY)"
            )
        return object.__new__(cls)


class SearchOptions(TypedDict, total=False):
    """The fields of `Search` as keyword arguments."""

    k: int | None
    alpha: float
    per_source: int | None
    sources: Collection[str] | None
    exclude: Collection[str]
    after: str | None
    before: str | None
    where: Mapping[str, str] | None
    fusion: Fusion
    k1: float | None
    b: float | None
    min_reliability: float | None


@runtime_checkable
class Retriever(Protocol):
    """A search for passages: an index on disk, passages in memory, or a search of the user's own.

    The shortest one ignores what it does not know: `def search(self, query, *, k=None, **_)`.
    """

    def search(self, query: str, **options: Unpack[SearchOptions]) -> list[Hit]:
        """Return the best passages for a query, best first; the options are the fields of `Search`."""


@runtime_checkable
class PartialRetriever(Retriever, Protocol):
    """A retriever over several indexes, which goes on without those that it cannot read."""

    def unsearched(self) -> tuple[Unsearched, ...]:
        """Return the indexes that the newest search left out, each with the reason."""


@runtime_checkable
class EstimatingRetriever(Retriever, Protocol):
    """A retriever that knows how reliable its sources are."""

    def estimates(self) -> Mapping[str, Source]:
        """Return the sources by name, with their estimated reliabilities."""


@runtime_checkable
class Reranker(Protocol):
    """A second look at what was retrieved."""

    def rerank(self, query: str, passages: Sequence[Passage]) -> list[float]:
        """Return one score a passage, higher is better."""


@runtime_checkable
class CountedReranker(Reranker, Protocol):
    """A reranker whose calls cost tokens."""

    def rerank_counted(self, query: str, passages: Sequence[Passage]) -> tuple[list[float], Usage]:
        """Return one score a passage, and what they cost."""


@runtime_checkable
class PassageReader(Protocol):
    """A reader of answers in passages without a language model. `name` is its identity, for records."""

    @property
    def name(self) -> str: ...

    def read(self, question: str, passages: Sequence[Passage]) -> list[Extraction]:
        """Return what each passage answers to the question, in order."""


@runtime_checkable
class Entailment(Protocol):
    """A judge of whether premises say what hypotheses state."""

    def entails(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """Return, for each (premise, hypothesis), the probability in [0, 1] that the first entails it."""


@runtime_checkable
class Contradiction(Protocol):
    """A judge of whether premises rule hypotheses out; a judge of entailment may be one too."""

    def contradicts(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """Return, for each (premise, hypothesis), the probability in [0, 1] that the first contradicts it."""


# --- cancelling -----------------------------------------------------------------------------------
# A switch that ends a question, and the model calls that it waits for, from any thread.


@contextmanager
def interruptible() -> Iterator[threading.Event]:
    """Let SIGINT and SIGTERM set the event instead of breaking in; a second one breaks in as usual."""
    event = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield event
        return
    before = {
        number: signal.getsignal(number) or signal.SIG_DFL for number in (signal.SIGINT, signal.SIGTERM)
    }

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    def stop(_number: int, _frame: FrameType | None) -> None:
        event.set()
        restore()

    for number in before:
        signal.signal(number, stop)
    try:
        yield event
    finally:
        restore()


_DECIDING = 1.0  # seconds at most that are kept for deciding from what was read
_LOOK = 0.1  # seconds until a wait sees that its deadline was ended


class Cancel:
    """A switch that ends a question from any thread: its pending model calls end, and `Cancelled` is raised.

    It can be given to several questions, and stays on once it was pressed.

    >>> cancel = Cancel()
    >>> cancel.cancel()
    >>> cancel.cancelled
    True
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._numbers = count()
        self._callbacks: dict[int, Callable[[], None]] = {}
        self._cancelled = False

    @property
    def cancelled(self) -> bool:
        """True after `cancel` was called."""
        return self._cancelled

    def cancel(self) -> None:
        """End what waits for this; calling it again does nothing."""
        with self._lock:
            self._cancelled = True
            callbacks, self._callbacks = self._callbacks, {}
        for callback in callbacks.values():
            callback()

    def check(self) -> None:
        """Raise `Cancelled` if `cancel` was called."""
        if self._cancelled:
            raise Cancelled

    @contextmanager
    def calling(self, callback: Callable[[], None]) -> Iterator[None]:
        """Have `cancel` call `callback` within this context, in the thread that cancels.

        It is called at once where `cancel` was called before.
        """
        with self._lock:
            number = next(self._numbers)
            late = self._cancelled
            if not late:
                self._callbacks[number] = callback
        if late:
            callback()
        try:
            yield
        finally:
            with self._lock:
                self._callbacks.pop(number, None)


class Deadline:
    """The time by which an answer is wanted, `seconds` from now: model calls end a little earlier.

    >>> Deadline(60.0).passed, Deadline(0.0).passed
    (False, True)
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        # What is left is for deciding: no model is asked, and the encoder has read before.
        self._ends = time.monotonic() + seconds - min(_DECIDING, seconds / 10)

    @property
    def left(self) -> float:
        """Return the seconds until model calls end."""
        return max(0.0, self._ends - time.monotonic())

    @property
    def passed(self) -> bool:
        """Return whether no model is to be asked any more."""
        return not self.left

    def end(self) -> None:
        """Let the time pass at once, from any thread: what was read by now is all."""
        self._ends = 0.0

    def wait(self, event: threading.Event) -> None:
        """Wait for an event, until model calls end."""
        while not (event.is_set() or self.passed):
            event.wait(min(self.left, _LOOK))
