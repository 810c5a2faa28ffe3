"""No language model: what needs one says so."""

from __future__ import annotations

from typing import NoReturn

from disputatio.errors import MissingPart, NoLogprobs
from disputatio.types import Capabilities


class NoModel:
    """The model (`LLM`) named `none`, for answers that need no language model."""

    name = "none"

    def capabilities(self) -> Capabilities:
        """None at all."""
        return Capabilities(engine="none", logprobs=False, max_options=0, schema=False)

    def complete(self, *_: object, **__: object) -> NoReturn:
        """Raise `MissingPart`: nothing can be written."""
        raise MissingPart("this needs a language model: give --model, or a strategy that reads without one")

    def choose(self, *_: object, **__: object) -> NoReturn:
        """Raise `NoLogprobs`: nothing can be weighed."""
        raise NoLogprobs("there is no language model to ask")
