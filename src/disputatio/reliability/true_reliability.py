"""How reliable a source truly is, where a benchmark knows it and its passages carry it.

Only the Oracle of RA-RAG's tables (Hwang et al. 2024) reads this: the ideal that estimates are compared with.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from disputatio.errors import InputError
from disputatio.types import Passage

TRUE = "true_reliability"  # the field of a passage's metadata


def true_reliabilities(
    held: Mapping[str, Sequence[Passage]], field: str = TRUE, *, asker: str
) -> dict[str, float]:
    """The true reliability of each source by its name, as its first passage carries it, in [0, 1].

    `field` is where in the metadata, and `asker` who needs it, as the message of the `InputError` says where
    one is missing or no share.

    >>> true_reliabilities({"a": [Passage(text="t", metadata={"true_reliability": "0.9"})]}, asker="oracle")
    {'a': 0.9}
    """
    return {source: _truth(source, passages[0], field, asker) for source, passages in held.items()}


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
