"""Values: what answers say, whether two say the same, and whether a text states one."""

from disputatio.values.comparing import (
    are_other_values,
    bears,
    contradicts,
    distinct,
    groups,
    is_yes_or_no,
    matches,
    same_answer,
    same_answers,
    states,
)
from disputatio.values.value import Value, canonical

__all__ = [
    "Value",
    "are_other_values",
    "bears",
    "canonical",
    "contradicts",
    "distinct",
    "groups",
    "is_yes_or_no",
    "matches",
    "same_answer",
    "same_answers",
    "states",
]
