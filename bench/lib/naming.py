"""How pages name who was run: the strategy and the options in which it differs from its defaults."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from disputatio.errors import ConfigError
from disputatio.eval.running.entrants import defaults
from disputatio.eval.running.run_log import Entrant
from disputatio.pipeline import load_strategy

_NOT_NAMED = ("expect", "seed", "shuffle_seed")  # the data set's, and the evaluation's


def shown(entrant: Entrant) -> str:
    """Return a strategy as it is asked for on the command line, with the options that are not its defaults.

    >>> shown(Entrant(label="debate", strategy="madam_rag", options={"rounds": 1, "bound": True}))
    'madam_rag --set rounds=1 --set bound=true'
    >>> shown(Entrant(label="concat", strategy="concat"))
    'concat'
    """
    try:
        usual: Mapping[str, Any] = defaults(load_strategy(entrant.strategy), 0)
    except ConfigError:
        usual = {}
    options = [
        f"--set {name}={_written(value)}"
        for name, value in entrant.options.items()
        if name not in _NOT_NAMED and _written(value) != _written(usual.get(name))
    ]
    return " ".join([entrant.strategy, *options])


def _written(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) or value is None else str(value)
