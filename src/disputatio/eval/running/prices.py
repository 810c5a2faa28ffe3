"""What models cost: a table by name, ours as a starting point or the user's own.

Prices are per million tokens. A model without a price is an error where money is asked for, never free.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from disputatio.errors import InputError
from disputatio.types import Usage

_MILLION = 1_000_000
_OURS = "prices.toml"


class Price(BaseModel):
    """Of a million tokens: read anew, read from the server's prefix cache, written."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    prompt: float = Field(ge=0)
    completion: float = Field(ge=0)
    cached: float | None = Field(None, ge=0)

    def cost(self, usage: Usage) -> float:
        """Return what calls cost.

        >>> Price(prompt=1.0, cached=0.5, completion=4.0).cost(
        ...     Usage(prompt_tokens=2_000_000, cached_tokens=1_000_000, completion_tokens=500_000)
        ... )
        3.5
        """
        cached = self.prompt if self.cached is None else self.cached
        fresh = usage.prompt_tokens - usage.cached_tokens
        sums = fresh * self.prompt + usage.cached_tokens * cached + usage.completion_tokens * self.completion
        return sums / _MILLION


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """A table: `models` by name, where one that ends in `*` stands for all names that begin so.

    `origin` names the file, `as_of` the day that it states.
    """

    origin: str
    currency: str
    models: Mapping[str, Price]
    as_of: str = ""

    def of(self, model: str) -> Price:
        """Return the price of a model; raises `InputError` that says what to write where there is none."""
        if model in self.models:
            return self.models[model]
        fitting = [
            pattern for pattern in self.models if pattern.endswith("*") and model.startswith(pattern[:-1])
        ]
        if not fitting:
            raise InputError(
                f"{self.origin}: no price of {model}: give --prices FILE with "
                f'[models."{model}"] and its prompt and completion, in {self.currency} for a million tokens '
                "(`disputatio eval prices` prints a table to begin with)"
            )
        return self.models[max(fitting, key=len)]


def read_prices(path: Path | None = None) -> Prices:
    """Return the table of a file, or ours; raises `InputError` that names the file and what is
    wrong there.
    """
    try:
        text = our_prices() if path is None else path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: {getattr(error, 'strerror', None) or error}") from error
    origin = "the table of prices" if path is None else str(path)
    try:
        table = tomllib.loads(text)
        file = _File.model_validate({**table, "as_of": str(table.get("as_of", ""))})
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{origin}: is not TOML: {error}") from error
    except ValidationError as error:
        first: Any = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise InputError(f"{origin}: {where}: {first['msg']}") from error
    return Prices(origin=origin, currency=file.currency, models=file.models, as_of=file.as_of)


def our_prices() -> str:
    """Return the table that comes with the package, as its file stands: to be edited."""
    return resources.files("disputatio.eval.running").joinpath(_OURS).read_text(encoding="utf-8")


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    models: dict[str, Price]
    currency: str = "USD"
    as_of: str = ""
