"""Semantic clusters of answers: two answers are equal if, with the question, each entails the other.

Clustering is greedy, as in RA-RAG (Hwang et al. 2024, after semantic entropy, Kuhn et al. 2023): an answer
joins the first cluster whose representative, its first answer, it equals. Answers that code finds equal, or
that have different values, need no call. Two answers that contradict each other never share a cluster.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from disputatio.attribution.alignment import judge_entailment, statement
from disputatio.errors import NoLogprobs
from disputatio.events import AnswersClustered, Unchecked
from disputatio.kit import Kit
from disputatio.values import are_other_values, contradicts, groups, is_yes_or_no, matches, same_answer

SAME = 0.5  # the probability from which one statement is taken to entail another


@dataclass(frozen=True, slots=True, kw_only=True)
class Clusters:
    """Clusters of answers: `votes[i]` is the cluster of answer i, -1 for none ("I don't know").

    Clusters are numbered from 0 in the order met; `answers[n]` represents cluster n. `calls` counts the
    entailments that were judged.
    """

    votes: tuple[int, ...]
    answers: tuple[str, ...]
    calls: int = 0


def cluster(question: str, answers: Sequence[str], kit: Kit) -> Clusters:
    """Group answers by mutual entailment, an empty one in no cluster; notes the calls in the trace.

    One batch asks which unclustered answers a cluster's representative entails, a second which of those
    entail it. If the judge's model gives no log-probabilities (the trace notes it), two answers are equal
    when one contains the words of the other. Raises `LLMError`.
    """
    wordings: dict[int, list[str]] = {}  # group of answers that say the same -> its wordings, as met
    same = groups(answers)
    for group, answer in zip(same, answers, strict=True):
        if group >= 0 and answer not in wordings.setdefault(group, []):
            wordings[group].append(answer)
    worded = {group: spellings[0] for group, spellings in wordings.items()}
    unclustered = list(wordings)
    number: dict[int, int] = {}
    representatives: list[str] = []
    calls = 0
    while unclustered:
        first, *others = unclustered
        n = len(representatives)
        number[first] = n
        representatives.append(worded[first])
        near = [other for other in others if not _exclude(wordings[first], wordings[other])]
        try:
            near, judged_pairs = _equal(question, worded, first, near, kit)
            calls += judged_pairs
        except NoLogprobs as error:
            kit.emit(Unchecked(reason=str(error)))
            near = [other for other in near if matches(worded[first], worded[other])]
        joined: list[str] = []
        for other in near:
            if not any(contradicts(left, right) for left in joined for right in wordings[other]):
                joined += wordings[other]
                number[other] = n
        unclustered = [other for other in others if other not in number]
    kit.emit(AnswersClustered(answers=len(wordings), clusters=len(representatives), entailments=calls))
    return Clusters(
        votes=tuple(number[group] if group >= 0 else -1 for group in same),
        answers=tuple(representatives),
        calls=calls,
    )


def _equal(
    question: str, worded: Mapping[int, str], first: int, others: Sequence[int], kit: Kit
) -> tuple[list[int], int]:
    """Return the others that `first` entails and that entail it, and how many entailments were judged."""
    near, calls = list(others), 0
    for turned in (False, True):
        ways = [(other, first) if turned else (first, other) for other in near]
        pairs = [(statement(question, worded[a]), statement(question, worded[b])) for a, b in ways]
        calls += len(pairs)
        scores = judge_entailment(pairs, kit)
        near = [other for other, score in zip(near, scores, strict=True) if score >= SAME]
    return near, calls


def _exclude(ours: Sequence[str], theirs: Sequence[str]) -> bool:
    """Return whether two answers differ without asking a judge: different values, or yes and no.

    >>> _exclude(["1921"], ["1948"]), _exclude(["10", "$10"], ["€10"]), _exclude(["May 1921"], ["1921"])
    (True, True, False)
    """
    if all(map(is_yes_or_no, (*ours, *theirs))):
        return not same_answer(ours[0], theirs[0])
    return any(are_other_values(left, right) for left in ours for right in theirs)
