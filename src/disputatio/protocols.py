"""The seams: what a model, an embedder, a retriever and a judge must be able to do.

Each has one or two members, so that a user's own part is a small class. None needs to inherit
from anything here.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from disputatio.types import Capabilities, Choice, Completion, Hit, Passage, Prompt, Sampling

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@runtime_checkable
class LLM(Protocol):
    """Who generates. A list goes in and a list comes out, so that an engine can batch."""

    @property
    def name(self) -> str:
        """The name that users give, `local:...` or `openai:...`."""

    def capabilities(self) -> Capabilities:
        """What the engine can do; may probe it at the first call."""

    def complete(self, prompts: Sequence[Prompt], sampling: Sampling) -> list[Completion]:
        """One completion a prompt, in order.

        Raises `LLMError`; `BatchFault` when some calls of the batch succeeded.
        """

    def choose(self, prompts: Sequence[Prompt], options: Sequence[str]) -> list[Choice]:
        """log P of each option as the first word of the reply, from one generated token.

        Raises `LLMError`; `NoLogprobs` when the engine cannot tell.
        """


@runtime_checkable
class Embedder(Protocol):
    """Text to unit vectors. `name` is the model's identity, kept in the index."""

    @property
    def name(self) -> str: ...

    @property
    def dimension(self) -> int: ...

    def embed(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:
        """An array (len(texts), dimension) of unit rows; `query` picks the query's prefix."""


@runtime_checkable
class Retriever(Protocol):
    """Where passages come from: an index on disk, or passages in hand."""

    def search(
        self,
        query: str,
        *,
        k: int | None = None,
        alpha: float = 0.35,
        per_source: int | None = None,
        sources: Collection[str] | None = None,
        exclude: Collection[str] = (),
    ) -> list[Hit]:
        """The best `k` passages, best first; `k=None` takes the retriever's own default.

        `alpha` weighs the sparse score against the dense one (RAGentA). `per_source=n` gives the
        best n of every source instead. `exclude` holds passage ids not to return.
        """


@runtime_checkable
class Reranker(Protocol):
    """A second look at what was retrieved."""

    def rerank(self, query: str, passages: Sequence[Passage]) -> list[float]:
        """One score a passage, higher is better."""


@runtime_checkable
class Entailment(Protocol):
    """Whether premises say what hypotheses state."""

    def entails(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """For each (premise, hypothesis) the probability in [0, 1] that the first entails it."""


@runtime_checkable
class Contradiction(Protocol):
    """Whether premises rule hypotheses out; a judge of entailment may be able to tell this too."""

    def contradicts(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """For each (premise, hypothesis) the probability in [0, 1] that the first contradicts it."""
