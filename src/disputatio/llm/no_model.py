"""The stand-in for `--model none`: every call raises `MissingPart` or `NoLogprobs`."""

from __future__ import annotations

from typing import NoReturn

from disputatio.errors import MissingPart, NoLogprobs
from disputatio.types import Capabilities


class NoModel:
    """The model (`LLM`) named `none`, for answers that need no language model."""

    name = "none"

    def capabilities(self) -> Capabilities:
        """Report no capabilities."""
        return Capabilities(engine="none", logprobs=False, max_options=0, schema=False)

    def complete(self, *_: object, **__: object) -> NoReturn:
        """Raise `MissingPart`."""
        raise MissingPart("this needs a language model: give --model, or a strategy that reads without one")

    def choose(self, *_: object, **__: object) -> NoReturn:
        """Raise `NoLogprobs`."""
        raise NoLogprobs("there is no language model to ask")
