"""The audit that every strategy's answer passes: claims, citations, verdicts, positions, conflict.

It stands outside the strategies, so that a baseline gets the same report as a debate.
"""

from __future__ import annotations

import re
from dataclasses import replace

from disputatio.errors import BatchFault, ConfigError, NoLogprobs
from disputatio.evidence.citations import cite, render, renumber
from disputatio.evidence.entailment import ModelJudge, verdict_of
from disputatio.evidence.positions import conflict_of, last_words
from disputatio.kit import Kit
from disputatio.text import contains_words, find_quote, normalise, sentences
from disputatio.types import Answer, Citation, Claim, Conflict, Passage, Position, Reply

_REPORTED = re.compile(
    r"^(?:according to the passage,?|the passage (?:\w+ly )?(?:states|says|mentions|reports|shows) that)\s+",
    re.IGNORECASE,
)


def audit(answer: Answer, kit: Kit, *, verify: bool = True) -> Answer:
    """The answer with its claims cited, its positions weighed and its conflict named.

    Positions that a strategy has resolved itself are kept as they are. With `verify` each citation
    is put to the entailment judge; without, or where the judge's model gives no log-probabilities
    (the trace says so), verdicts stay `unchecked`.
    """
    conflict = answer.conflict if answer.conflict.positions else conflict_of(answer, kit.reliabilities)
    accepted = [
        one for one in conflict.positions if one.verdict == "accepted" or one.answer in answer.answers
    ]
    claims = renumber([_claim(answer, position) for position in accepted])
    if verify:
        claims = _verified(claims, answer, kit)
    return replace(
        answer,
        claims=claims,
        conflict=conflict,
        text=render(claims) if claims else "",
        confidence=_confidence(conflict) if answer.confidence is None else answer.confidence,
    )


def _claim(answer: Answer, position: Position) -> Claim:
    """One statement for an accepted position, with a citation for each passage that says it."""
    replies = _words_on(answer)
    own = [replies[one] for one in position.passages if one in replies]
    told = [one.explanation for one in own if contains_words(one.explanation, position.answer)]
    told += [one for one in _sentences(answer.explanation) if contains_words(one, position.answer)]
    passages = [one for one in answer.passages if one.id in position.passages]
    subject = set(normalise(position.subject).split())
    bare = [as_statement(one) for one in told] or [f"{answer.question.strip()} {position.answer}"]
    # Of what was said, that which names the subject best, and of those the shortest.
    text = max(bare, key=lambda one: (len(subject & set(normalise(one).split())), -len(one)))
    return Claim(text=text, citations=tuple(cite(position.answer, passages, replies)))


def _words_on(answer: Answer) -> dict[str, Reply]:
    """The reply on each passage: of the agent that read it alone, or that quotes it among those it read."""
    passages = {one.id: one for one in answer.passages}
    words: dict[str, Reply] = {}
    for reply in last_words(answer.replies):
        if len(reply.passages) == 1:
            words[reply.passages[0]] = reply
        elif reply.quote:
            read = (passages[one] for one in reply.passages if one in passages)
            quoted = next((one for one in read if find_quote(one.text, reply.quote)), None)
            if quoted is not None:
                words.setdefault(quoted.id, reply)
    return words


def as_statement(told: str) -> str:
    """What an agent reports, without its saying that the passage says so.

    >>> as_statement("The passage clearly states that the pier was built in 1901.")
    'The pier was built in 1901.'
    """
    bare = _REPORTED.sub("", told, count=1)
    return bare[:1].upper() + bare[1:]


def _verified(claims: tuple[Claim, ...], answer: Answer, kit: Kit) -> tuple[Claim, ...]:
    """The claims with a verdict on each citation; all pairs are one batch."""
    judge = kit.entailment or ModelJudge(kit)
    passages = {one.id: one for one in answer.passages}
    pairs = [
        (_premise(passages[one.passage], one), claim.text) for claim in claims for one in claim.citations
    ]
    try:
        given = judge.entails(pairs) if pairs else []
    except (NoLogprobs, BatchFault) as error:
        if isinstance(error, BatchFault) and not all(isinstance(one, NoLogprobs) for one in error.errors):
            raise
        kit.trace.note("unchecked", reason=str(error))
        return claims
    if len(given) != len(pairs):
        raise ConfigError(f"the entailment judge scored {len(given)} of {len(pairs)} citations")
    scores = iter(given)
    return tuple(
        replace(
            claim,
            citations=tuple(
                replace(one, score=round(score, 4), verdict=verdict_of(score))
                for one, score in zip(claim.citations, scores, strict=False)
            ),
        )
        for claim in claims
    )


def _premise(passage: Passage, citation: Citation) -> str:
    """The quote within its sentences, under the passage's title, so that "it" has a referent."""
    around = [
        passage.text[start:end]
        for start, end in sentences(passage.text)
        if start < citation.end and end > citation.start
    ]
    head = f"{passage.title}. " if passage.title else ""
    return head + " ".join(around)


def _confidence(conflict: Conflict) -> float | None:
    """The share of the votes that went to accepted positions; None where nothing was cast."""
    cast = sum(one.weight for one in conflict.positions)
    kept = sum(one.weight for one in conflict.positions if one.verdict == "accepted")
    return round(kept / cast, 4) if cast else None


def _sentences(text: str) -> list[str]:
    return [text[start:end] for start, end in sentences(text)]
