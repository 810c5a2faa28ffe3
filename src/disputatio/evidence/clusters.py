"""Answers in semantic clusters: two are one when each entails the other, with the question.

Greedy, as in RA-RAG (Hwang et al. 2024, after semantic entropy, Kuhn et al. 2023): an answer joins the first
cluster whose spokesman, its first answer, it equals in meaning. What normalisation shows to be equal, and
figures that differ, take no call.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from disputatio.errors import NoLogprobs
from disputatio.evidence.alignment import judged, statement
from disputatio.evidence.positions import matches
from disputatio.kit import Kit
from disputatio.text import normalise

SAME = 0.5  # the probability from which one statement is taken to entail another


@dataclass(frozen=True, slots=True, kw_only=True)
class Clusters:
    """Clusters of answers: `votes[i]` is the number of the cluster of answer i, -1 for none ("I don't know").

    They are numbered from 0 in the order met; `answers[n]` speaks for cluster n. `calls` entailments
    were judged.
    """

    votes: tuple[int, ...]
    answers: tuple[str, ...]
    calls: int = 0


def cluster(question: str, answers: Sequence[str], kit: Kit) -> Clusters:
    """Group answers by mutual entailment, an empty one in no cluster; notes the calls in the trace.

    Each cluster's spokesman is compared with all that are still free in one batch, and what he entails
    with him in a second: the calls that one after the other would take, in few rounds. Where the judge's
    model gives no log-probabilities (the trace says so), the words of one within the other make them one.
    Raises `LLMError`.
    """
    worded: dict[str, str] = {}  # normal form -> the answer as first worded
    keys = [normalise(one) or one.strip() for one in answers]
    for key, one in zip(keys, answers, strict=True):
        if key:
            worded.setdefault(key, one)
    free = list(worded)
    number: dict[str, int] = {}
    spokesmen: list[str] = []
    calls = 0
    while free:
        first, *others = free
        n = len(spokesmen)
        number[first] = n
        spokesmen.append(worded[first])
        near = [one for one in others if not _is_other_figure(first, one)]
        try:
            near, made = _equal(question, worded, first, near, kit)
            calls += made
        except NoLogprobs as error:
            kit.trace.note("unchecked", reason=str(error))
            near = [one for one in near if matches(first, one)]
        number.update(dict.fromkeys(near, n))
        free = [one for one in others if one not in number]
    kit.trace.note("clusters", answers=len(worded), clusters=len(spokesmen), entailments=calls)
    return Clusters(
        votes=tuple(number[key] if key else -1 for key in keys), answers=tuple(spokesmen), calls=calls
    )


def _equal(
    question: str, worded: Mapping[str, str], first: str, others: Sequence[str], kit: Kit
) -> tuple[list[str], int]:
    """Those of the others that `first` entails and that entail it, and how many entailments were judged."""
    near, calls = list(others), 0
    for turned in (False, True):
        ways = [(one, first) if turned else (first, one) for one in near]
        pairs = [(statement(question, worded[a]), statement(question, worded[b])) for a, b in ways]
        calls += len(pairs)
        scores = judged(pairs, kit)
        near = [one for one, score in zip(near, scores, strict=True) if score >= SAME]
    return near, calls


def _is_other_figure(one: str, other: str) -> bool:
    """Whether two normalised answers can be told apart without a judge: both figures alone, or yes and no.

    >>> _is_other_figure("1921", "1948"), _is_other_figure("may 1921", "1921")
    (True, False)
    """
    return (_is_figure(one) and _is_figure(other)) or {one, other} == {"yes", "no"}


def _is_figure(words: str) -> bool:
    return bool(words) and all(char.isdigit() or char in " $€£%°" for char in words)
