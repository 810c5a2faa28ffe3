"""What a source's vote weighs by its estimate of reliability."""

from __future__ import annotations

from collections.abc import Mapping

from disputatio.types import Source


def earned(sources: Mapping[str, Source]) -> dict[str, float]:
    """What a source's vote weighs: its reliability where the interval tells it from chance, else one half.

    So few questions decide nothing, and neither does a newcomer or a passage without a source ("").
    Empty where nothing is known of any source: then all votes are equal.

    >>> proved = Source(name="a", reliability=0.9, low=0.7, high=0.98)
    >>> earned({"a": proved, "b": Source(name="b", reliability=0.7, low=0.2, high=0.97)})
    {'': 0.5, 'a': 0.9, 'b': 0.5}
    """
    if all(one.reliability is None for one in sources.values()):
        return {}
    weights = {"": 0.5}
    for name, one in sources.items():
        weights[name] = 0.5
        if one.reliability is not None:
            low = one.reliability if one.low is None else one.low
            high = one.reliability if one.high is None else one.high
            if low > 0.5 or high < 0.5:
                weights[name] = one.reliability
    return weights
