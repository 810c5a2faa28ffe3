"""Verification: each claim against the quotes that it cites, and what follows where they do not bear it out.

A quote that supports its claim alone is enough; else all quotes of a claim are read together, as a comparison
needs both sides; and a quote that supports nothing is asked whether it contradicts, a question of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from disputatio.attribution.citations import render, renumber
from disputatio.attribution.entailment import CONTRADICTED, SUPPORTED, ModelJudge, verdict_of
from disputatio.attribution.statements import spelled_out
from disputatio.errors import BatchFault, ConfigError, NoLogprobs
from disputatio.kit import Kit
from disputatio.protocols import Contradiction
from disputatio.text import find_quote, sentences
from disputatio.types import Answer, Citation, Claim, Conflict, Passage, Position
from disputatio.values import states

Ask = Callable[[Sequence[tuple[str, str]]], list[float]]

FAILED = ("unsupported", "contradicted")


def resolved(claims: Sequence[Claim], passages: Sequence[Passage], kit: Kit) -> tuple[Claim, ...]:
    """The claims with those citations that stand in a stored passage, verbatim at their offsets.

    A quote that stands elsewhere in its passage gets the offsets of that place; one that stands nowhere in
    it is dropped, and the trace says so. So every citation that an answer shows can be looked up.
    """
    known = {one.id: one for one in passages}
    whole = []
    for claim in claims:
        found = [_placed(one, known) for one in claim.citations]
        for given, one in zip(claim.citations, found, strict=True):
            if one is None:
                kit.trace.note("unresolved", passage=given.passage, start=given.start, end=given.end)
        whole.append(replace(claim, citations=tuple(one for one in found if one is not None)))
    return tuple(whole)


def verified(claims: Sequence[Claim], passages: Sequence[Passage], kit: Kit) -> tuple[Claim, ...]:
    """The claims with a verdict and a score, each and for each of their citations; at most three batches.

    A claim without citations is unsupported. Raises `NoLogprobs` where the judge's model gives none, other
    `LLMError` for its faults, `ConfigError` for a judge that leaves pairs out.
    """
    judge = kit.entailment or ModelJudge(kit)
    known = {one.id: one for one in passages}
    texts = [one.text for one in claims]
    stated = [spelled_out(one, before) for one, before in zip(texts, ["", *texts], strict=False)]
    places = [(at, one) for at, claim in enumerate(claims) for one in claim.citations]
    premises = [_premise(known[one.passage], one) for _, one in places]
    pairs = [(premise, stated[at]) for premise, (at, _) in zip(premises, places, strict=True)]
    scores = _scored(judge.entails, pairs)
    best = {at: 0.0 for at, claim in enumerate(claims) if claim.citations}
    for (at, _), score in zip(places, scores, strict=True):
        best[at] = max(best[at], score)
    split = [at for at, claim in enumerate(claims) if len(claim.citations) > 1 and best[at] < SUPPORTED]
    whole = [
        (
            " ".join(premise for premise, (own, _) in zip(premises, places, strict=True) if own == at),
            stated[at],
        )
        for at in split
    ]
    for at, score in zip(split, _scored(judge.entails, whole), strict=True):
        best[at] = max(best[at], score)
    denied = _denials(judge, pairs, [n for n, (at, _) in enumerate(places) if best[at] < SUPPORTED])
    checked = []
    for at, claim in enumerate(claims):
        own = [n for n, (owner, _) in enumerate(places) if owner == at]
        citations = tuple(_judged(places[n][1], scores[n], n in denied) for n in own)
        if not own:
            checked.append(replace(claim, verdict="unsupported"))
            continue
        verdict = "contradicted" if any(n in denied for n in own) else verdict_of(best[at])
        checked.append(replace(claim, citations=citations, verdict=verdict, score=round(best[at], 4)))
    return tuple(checked)


def strictly(answer: Answer) -> Answer:
    """The answer without the claims that failed verification; an abstention when nothing is left.

    An answer goes with the last claim that states it, and its position is unresolved.
    """
    claims = renumber([one for one in answer.claims if one.verdict not in FAILED])
    if len(claims) == len(answer.claims):
        return answer
    lost = [one for one in answer.claims if one.verdict in FAILED]
    answers = tuple(
        one for one in answer.answers if _is_stated(one, claims) or (claims and not _is_stated(one, lost))
    )
    conflict = Conflict(
        kind=answer.conflict.kind,
        positions=tuple(_unresolved(one, answer, answers) for one in answer.conflict.positions),
    )
    if claims and not answers:  # what is left states no answer in brief: it is the answer
        answers = tuple(one.text.rstrip(".") for one in claims)
    return replace(
        answer,
        answers=answers,
        abstained=None if answers else "no_evidence",
        claims=claims,
        conflict=conflict,
        text=render(claims) if claims else "",
        confidence=answer.confidence if answers else None,
        certificate=answer.certificate if answers == answer.answers else None,
    )


def _placed(one: Citation, known: Mapping[str, Passage]) -> Citation | None:
    passage = known.get(one.passage)
    if passage is None or not one.quote.strip():
        return None
    if 0 <= one.start < one.end and passage.text[one.start : one.end] == one.quote:
        return one
    span = find_quote(passage.text, one.quote)
    if span is None:
        return None
    start, end = span
    return replace(one, quote=passage.text[start:end], start=start, end=end)


def _scored(ask: Ask, pairs: Sequence[tuple[str, str]]) -> list[float]:
    """A judge's scores of the pairs, as many as there are; nobody is asked about none."""
    if not pairs:
        return []
    try:
        given = ask(pairs)
    except BatchFault as error:
        if all(isinstance(one, NoLogprobs) for one in error.errors):
            raise NoLogprobs(str(error.errors[0])) from error
        raise
    if len(given) != len(pairs):
        raise ConfigError(f"the entailment judge scored {len(given)} of {len(pairs)} citations")
    return list(given)


def _denials(judge: object, pairs: Sequence[tuple[str, str]], asked: Sequence[int]) -> set[int]:
    """Which of the pairs asked about are contradictions; none where the judge cannot tell."""
    if not isinstance(judge, Contradiction):
        return set()
    scores = _scored(judge.contradicts, [pairs[n] for n in asked])
    return {n for n, score in zip(asked, scores, strict=True) if score > CONTRADICTED}


def _judged(one: Citation, score: float, denied: bool) -> Citation:
    return replace(one, score=round(score, 4), verdict="contradicted" if denied else verdict_of(score))


def _premise(passage: Passage, citation: Citation) -> str:
    """The quote within its sentences, under the passage's title, so that "it" has a referent."""
    around = [
        passage.text[start:end]
        for start, end in sentences(passage.text)
        if start < citation.end and end > citation.start
    ]
    head = f"{passage.title}. " if passage.title else ""
    return head + " ".join(around)


def _is_stated(answer: str, claims: Sequence[Claim]) -> bool:
    return any(states(one.text, answer) for one in claims)


def _unresolved(position: Position, answer: Answer, kept: Sequence[str]) -> Position:
    if position.verdict != "accepted" or position.answer in kept or position.answer not in answer.answers:
        return position
    return replace(position, verdict="unresolved", cause=replace(position.cause, kind="unsupported"))
