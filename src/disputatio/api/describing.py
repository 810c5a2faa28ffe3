"""What there is to choose from: the strategies, described."""

from __future__ import annotations

from disputatio.described import Description, describe
from disputatio.pipeline import strategy_names


def strategies() -> tuple[Description, ...]:
    """Return every strategy that comes with the package: its paper, its options, what it needs, its measured
    cost.

    >>> [option.name for option in strategies()[0].options][:2]
    ['delta1', 'delta4']
    """
    return tuple(describe(name) for name in strategy_names())
