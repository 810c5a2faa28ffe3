"""The weight of a vote: what was learnt of its source, and the tier that people declared of its document."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from disputatio.authority import is_retracted, weigh_by_tier
from disputatio.errors import InputError
from disputatio.types import Passage, Source

UNKNOWN, EQUAL = 0.5, 1.0  # the weight of a source of which nothing is known, where others are, and else


class VoteWeights(dict[str, float]):
    """The weight of each source's vote by name; `answered` has the answers that its estimate rests on."""

    def __init__(self, weights: Mapping[str, float] = {}, answered: Mapping[str, float] = {}) -> None:
        super().__init__(weights)
        self.answered = dict(answered)


def vote_weights(sources: Mapping[str, Source]) -> VoteWeights:
    """Return the weight of each source's vote: its reliability, or one half if chance is not excluded.

    So a source estimated from few questions has no more weight than a new source or a passage without a
    source (""). Empty if no reliability is known: then all votes are equal.

    >>> proved = Source(name="a", reliability=0.9, low=0.7, high=0.98)
    >>> vote_weights({"a": proved, "b": Source(name="b", reliability=0.7, low=0.2, high=0.97)})
    {'': 0.5, 'a': 0.9, 'b': 0.5}
    """
    if all(source.reliability is None for source in sources.values()):
        return VoteWeights()
    weights = {"": UNKNOWN}
    for name, source in sources.items():
        weights[name] = UNKNOWN
        if source.reliability is not None:
            low = source.reliability if source.low is None else source.low
            high = source.reliability if source.high is None else source.high
            if low > 0.5 or high < 0.5:
                weights[name] = source.reliability
    return VoteWeights(weights, {name: source.answered for name, source in sources.items()})


def weight_of(passage: Passage, weights: Mapping[str, float]) -> float:
    """Return the weight of a passage's vote; `weights` are those of `vote_weights`, or of sources by name.

    What is retracted has none.

    >>> law = Passage(text="x", source="a", authority="binding")
    >>> weight_of(law, {}), weight_of(law, VoteWeights({"a": 0.9}, {"a": 30.0}))
    (4.0, 1.175)
    """
    unknown = UNKNOWN if weights else EQUAL
    if is_retracted(passage):
        return 0.0
    answered = weights.answered if isinstance(weights, VoteWeights) else {}
    return weigh_by_tier(
        passage.authority,
        weights.get(passage.source, unknown),
        answered=answered.get(passage.source, 0.0),
        unknown=unknown,
    )


# --- true reliabilities, which benchmarks know --------------------------------------------------------
TRUE = "true_reliability"  # the field of a passage's metadata


def true_reliabilities(
    passages_by_source: Mapping[str, Sequence[Passage]], field: str = TRUE, *, asker: str
) -> dict[str, float]:
    """Return the true reliability of each source by name, in [0, 1], from the metadata of its first passage.

    `field` is the key in the metadata; `asker` is the strategy that the `InputError` names if a value is
    missing or not in [0, 1].

    >>> true_reliabilities({"a": [Passage(text="t", metadata={"true_reliability": "0.9"})]}, asker="oracle")
    {'a': 0.9}
    """
    return {
        source: _truth(source, passages[0], field, asker) for source, passages in passages_by_source.items()
    }


def _truth(source: str, passage: Passage, field: str, asker: str) -> float:
    try:
        truth = float(passage.metadata.get(field, ""))
    except ValueError:
        truth = math.nan
    if not 0 <= truth <= 1:
        raise InputError(
            f"{asker}: passage {passage.id} of {source!r} carries no {field} in [0, 1] in its metadata; "
            "where it is not known, take --strategy ra_rag with weights=estimated"
        )
    return truth
