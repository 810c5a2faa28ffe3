"""Keywords that enough isolated answers share, and how many corrupted passages that provably survives.

The secure keyword aggregation of RobustRAG (Xiang et al. 2024, arXiv 2405.15556): each passage's answer is a
set of keywords; those counted at least mu times are kept, and only they reach the final answer. mu is
max(alpha n, beta) over the n passages that answered; the authors' released code takes the smaller of the
two (`least`), which keeps more words and certifies fewer answers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import Literal

from disputatio.values import canonical

Mark = Literal["max", "min"]
# Words between keywords, which say nothing themselves.
_LINKS = frozenset(
    [
    "a", "an", "and", "are", "as", "at", "be", "been", "by", "for", "from", "had", "has", "have", "he", "in", "is", "it",
    "its", "of", "on", "or", "she", "that", "the", "their", "there", "they", "this", "to", "was", "were", "which",
    "who", "with",
]
)  # fmt: skip
_SLACK = 1e-9


def keywords(answer: str) -> frozenset[str]:
    """Return an answer's keywords in canonical form: the whole, its phrases and its words.

    >>> sorted(keywords("Mayor of Quillhaven"))
    ['mayor', 'mayor of quillhaven', 'quillhaven']
    """
    words = [str(item) for item in canonical(answer).items]
    phrases = {" ".join(words)} if any(word not in _LINKS for word in words) else set()
    run: list[str] = []
    for word in [*words, ""]:
        if word and word not in _LINKS:
            run.append(word)
            phrases.add(word)
        elif run:
            phrases.add(" ".join(run))
            run = []
    return frozenset(phrases)


def threshold(n: int, alpha: float, beta: int, mark: Mark = "max") -> float:
    """mu: how often a keyword must be given where `n` passages answered."""
    return max(alpha * n, beta) if mark == "max" else min(alpha * n, beta)


def kept(replies: Iterable[Collection[str]], alpha: float, beta: int, mark: Mark = "max") -> frozenset[str]:
    """Return the keywords that enough of the passages tell; an empty set is a passage that did not answer.

    >>> sorted(kept([{"1887"}, {"1887"}, {"1921"}, set()], 0.3, 2))
    ['1887']
    """
    spoken = [reply for reply in replies if reply]
    counts = Counter(word for reply in spoken for word in set(reply))
    least = threshold(len(spoken), alpha, beta, mark) - _SLACK
    return frozenset(word for word, count in counts.items() if count >= least)


def survives(replies: Sequence[Collection[str]], alpha: float, beta: int, mark: Mark = "max") -> int:
    """Return the largest k such that the kept keywords stay the same whichever k passages are corrupted.

    Exact: a corrupted passage can withhold a keyword, add any, answer where it did not, or fall silent,
    which moves mu; each kept word and each other one is tried against all ways to divide k among these. As
    the final answer is made of the kept keywords alone, it survives as many. -1 where nothing is kept.
    `alpha` lies in [0, 1] and `beta` is at least 1.
    """
    words = kept(replies, alpha, beta, mark)
    if not words:
        return -1
    k = 0
    while k < len(replies) and not _breakable(replies, words, k + 1, alpha, beta, mark):
        k += 1
    return k


def _breakable(
    replies: Sequence[Collection[str]], words: frozenset[str], k: int, alpha: float, beta: int, mark: Mark
) -> bool:
    """Return whether some corruption of at most `k` passages drops a kept keyword or lifts another one."""
    spoken = [set(reply) for reply in replies if reply]
    silent = len(replies) - len(spoken)
    counts = Counter(word for reply in spoken for word in reply)
    n = len(spoken)

    def least(answering: int) -> float:
        return threshold(answering, alpha, beta, mark) - _SLACK

    for word in words:
        for withheld in range(min(k, counts[word]) + 1):
            # What is left wakes silent passages, which raises mu; or silences the withheld, which lowers it.
            woken = min(k - withheld, silent)
            if counts[word] - withheld < least(n + woken):
                return True
    # A word that is not kept: of each count one, and one that no passage has given so far.
    for count in {0, *(counts[word] for word in counts if word not in words)}:
        for added in range(min(k, len(replies) - count) + 1):
            # Given by passages that answered otherwise, so that mu stays; then by silent ones: it rises.
            # What is left of k silences others: it falls.
            turned = min(added, n - count)
            fallen = min(k - added, n - count - turned)
            if count + added and count + added >= least(n + (added - turned) - fallen):
                return True
    return False
