"""The true reliability of sources, if a benchmark knows it and its passages' metadata has it.

Only the Oracle of RA-RAG's tables (Hwang et al. 2024) reads it; estimates are compared with that Oracle.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from disputatio.errors import InputError
from disputatio.types import Passage

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
