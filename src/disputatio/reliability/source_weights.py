"""The weight of each source's vote, from its estimated reliability."""

from __future__ import annotations

from collections.abc import Mapping

from disputatio.types import Source


def vote_weights(sources: Mapping[str, Source]) -> dict[str, float]:
    """Return the weight of each source's vote: its reliability if the interval excludes chance, else one
    half.

    So a source estimated from few questions has no more weight than a new source or a passage without a
    source (""). Empty if no reliability is known: then all votes are equal.

    >>> proved = Source(name="a", reliability=0.9, low=0.7, high=0.98)
    >>> vote_weights({"a": proved, "b": Source(name="b", reliability=0.7, low=0.2, high=0.97)})
    {'': 0.5, 'a': 0.9, 'b': 0.5}
    """
    if all(source.reliability is None for source in sources.values()):
        return {}
    weights = {"": 0.5}
    for name, source in sources.items():
        weights[name] = 0.5
        if source.reliability is not None:
            low = source.reliability if source.low is None else source.low
            high = source.reliability if source.high is None else source.high
            if low > 0.5 or high < 0.5:
                weights[name] = source.reliability
    return weights
