"""f_align of RA-RAG: whether the passages that an answer came from bear it out, in [0, 1].

Question and answer become one declarative statement, which is put to the judge of entailment with the
passages as premise; the paper takes AlignScore (Zha et al. 2023) for that. An answer whose consistency is
below tau = 0.1 counts as "I don't know" (Hwang et al. 2024, 4.1).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from disputatio.attribution.entailment import ModelJudge
from disputatio.errors import BatchFault, ConfigError, NoLogprobs
from disputatio.kit import Kit
from disputatio.text import one_line
from disputatio.types import Passage
from disputatio.values import is_yes_or_no, same_answer

TAU = 0.1
_CLAIM = re.compile(r"is it true that (?P<claim>.+?)[\s?]*", re.IGNORECASE | re.DOTALL)
_SUBJECT = re.compile(r"(?:who|what)\s+(?P<rest>(?P<verb>\w+)\s+.+?)[\s?]*", re.IGNORECASE | re.DOTALL)
# After "who" these ask for an object ("who did she marry"); what stands between them is the subject.
_TURNED = frozenset(["do", "does", "did", "have", "has", "had", "can", "could", "will", "would", "should"])
_STATES = frozenset(["is", "was", "are", "were"])
_DANGLING = frozenset(["about", "of", "for", "by", "in", "on", "at", "to", "from", "with", "called", "named"])


def statement(question: str, answer: str) -> str:
    """Question and answer as one declarative sentence, in code.

    Where the form of the question does not allow it, they are reported as question and answer, which no
    turning of words can get wrong.

    >>> statement("Who designed the lighthouse?", "Ingrid Vasmer")
    'Ingrid Vasmer designed the lighthouse.'
    >>> statement("Is it true that the pier is of iron?", "no")
    'It is not true that the pier is of iron.'
    >>> statement("When did the ferry first cross?", "1887")
    'The answer to the question "When did the ferry first cross?" is: 1887.'
    """
    sentence = turned(question, answer)
    said = one_line(answer).rstrip(".")
    return sentence or f'The answer to the question "{one_line(question)}" is: {said}.'


def turned(question: str, answer: str) -> str | None:
    """The sentence that an answer makes of its question: a claim affirmed or denied, a subject put in.

    None where the words of the question would have to change their places.

    >>> turned("what is the capital of Orrin", "Quillhaven"), turned("Who did she marry?", "Ola")
    ('Quillhaven is the capital of Orrin.', None)
    """
    asked, said = one_line(question), one_line(answer).rstrip(".")
    claim = _CLAIM.fullmatch(asked)
    if claim and is_yes_or_no(said):
        return f"It is {'' if same_answer(said, 'yes') else 'not '}true that {claim['claim'].rstrip('.')}."
    found = _SUBJECT.fullmatch(asked)
    if found is None or found["verb"].casefold() in _TURNED:
        return None
    words = found["rest"].rstrip(".").split()
    short = found["verb"].casefold() in _STATES and len(words) <= 2
    if short or words[-1].casefold() in _DANGLING:
        return None
    return f"{said} {' '.join(words)}."


def consistency(question: str, said: Sequence[tuple[str, Sequence[Passage]]], kit: Kit) -> list[float]:
    """How far its own passages bear out each answer, in [0, 1]; all in one batch.

    The judge is the kit's cross-encoder, which reads passages one at a time (it reads little at once;
    the best counts, as in AlignScore), else the model, which reads them together. Raises `LLMError`,
    `NoLogprobs` where the model gives no log-probabilities; `ConfigError` for a judge that leaves any out.
    """
    pairs: list[tuple[str, str]] = []
    owner: list[int] = []
    for n, (answer, passages) in enumerate(said):
        texts = [f"{one.title}. {one.text}" if one.title else one.text for one in passages]
        for premise in texts if kit.entailment is not None else ["\n\n".join(texts)]:
            pairs.append((premise, statement(question, answer)))
            owner.append(n)
    scores = [0.0] * len(said)
    for n, score in zip(owner, judged(pairs, kit), strict=True):
        scores[n] = max(scores[n], score)
    return scores


def judged(pairs: Sequence[tuple[str, str]], kit: Kit) -> list[float]:
    """For each (premise, hypothesis) the probability that the first entails it, by the kit's judge.

    Raises `LLMError`, `NoLogprobs` where the judge's model cannot tell.
    """
    if not pairs:
        return []
    try:
        given = (kit.entailment or ModelJudge(kit)).entails(pairs)
    except BatchFault as error:
        if all(isinstance(one, NoLogprobs) for one in error.errors):
            raise NoLogprobs(str(error.errors[0])) from error
        raise
    if len(given) != len(pairs):
        raise ConfigError(f"the entailment judge scored {len(given)} of {len(pairs)} statements")
    return list(given)
