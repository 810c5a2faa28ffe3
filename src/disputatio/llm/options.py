"""Log P of given options, from the most likely first tokens of a reply."""

from __future__ import annotations

import math
from collections.abc import Sequence

from disputatio.types import Token

# White space as text, and as the vocabularies of byte-level and sentence-piece tokenizers spell it.
_BLANK = " \t\r\n\u0120\u010a\u2581"
_LEAST_REST = 1e-6  # what rounding may hide of the probability that is not listed


def score_options(options: Sequence[str], top: Sequence[Token]) -> tuple[tuple[float, ...], tuple[bool, ...]]:
    """Compute the natural-log probability of each option, and whether it is only an upper bound.

    The tokens that begin an option are added up: case and outer white space aside, a token counts
    for the option that it equals, or else for the only option that it is a prefix of; one that
    begins several options counts for none. An option without a token gets the smaller of the
    least probability listed and all that is not listed.

    >>> top = [Token(text=" Yes", logprob=math.log(0.6)), Token(text="yes", logprob=math.log(0.3)),
    ...        Token(text="Maybe", logprob=math.log(0.06))]
    >>> logprobs, bounded = score_options(["Yes", "No"], top)
    >>> [round(math.exp(one), 3) for one in logprobs], bounded
    ([0.9, 0.04], (False, True))
    >>> tokens = [Token(text="un", logprob=math.log(0.7)), Token(text="s", logprob=math.log(0.2))]
    >>> logprobs, bounded = score_options(["unsupported", "supported", "silent"], tokens)
    >>> [round(math.exp(one), 3) for one in logprobs], bounded
    ([0.7, 0.1, 0.1], (False, True, True))
    """
    words = [option.strip(_BLANK).casefold() for option in options]
    listed = [token for token in top if math.isfinite(token.logprob)]
    collected: list[list[float]] = [[] for _ in options]
    for token in listed:
        owner = _owner(token.text.strip(_BLANK).casefold(), words)
        if owner is not None:
            collected[owner].append(token.logprob)
    rest = 1.0 - math.fsum(math.exp(token.logprob) for token in listed)
    least = min([token.logprob for token in listed], default=0.0)
    bound = min(least, math.log(max(rest, _LEAST_REST)), 0.0)
    logprobs = tuple(min(0.0, _logsumexp(logs)) if logs else bound for logs in collected)
    return logprobs, tuple(not logs for logs in collected)


def _owner(token: str, words: Sequence[str]) -> int | None:
    """Return the index of the one option that a token begins, None when there is none or several."""
    if not token:
        return None
    equal = [index for index, option in enumerate(words) if option == token]
    begun = equal or [index for index, option in enumerate(words) if option.startswith(token)]
    return begun[0] if len(begun) == 1 else None


def _logsumexp(logs: Sequence[float]) -> float:
    """Compute the log of a sum of exponentials.

    >>> round(math.exp(_logsumexp([math.log(0.25), math.log(0.5)])), 6)
    0.75
    """
    top = max(logs)
    return top + math.log(math.fsum(math.exp(log - top) for log in logs))
