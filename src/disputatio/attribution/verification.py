"""Verification checks each claim against the quotes that it cites.

One quote that supports its claim is enough. If none does, all quotes of the claim are read together, because
a comparison needs both sides. Only then the judge is asked, in a separate question, whether a quote
contradicts the claim.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from disputatio.attribution.alignment import to_statement
from disputatio.attribution.citations import render, renumber
from disputatio.attribution.entailment import (
    CONTRADICTED,
    SUPPORTED,
    Judgement,
    judge_of,
    scores_of,
    verdict_of,
)
from disputatio.attribution.statements import spell_out
from disputatio.events import CitationDropped
from disputatio.kit import Kit
from disputatio.text import find_quote, one_line, sentences
from disputatio.types import Answer, Citation, Claim, Conflict, Passage, Position
from disputatio.values import states
from disputatio.versions.asked import find_asked, of_today

FAILED = ("unsupported", "contradicted")
# Before the sentence that says so: it denies nothing of it.
_YES_OR_NO = re.compile(r"^(?:yes|no): ", re.IGNORECASE)
_SAYING_SO = ("supported", "partly")


def resolve_citations(claims: Sequence[Claim], passages: Sequence[Passage], kit: Kit) -> tuple[Claim, ...]:
    """Return the claims with only those citations that are verbatim in a stored passage.

    If a quote is elsewhere in its passage, its offsets are corrected. If it is not in the passage, it is
    dropped and the trace notes it. So every citation that an answer shows can be looked up.
    """
    known = {passage.id: passage for passage in passages}
    resolved_claims = []
    for claim in claims:
        citations = [_locate(citation, known) for citation in claim.citations]
        for cited, citation in zip(claim.citations, citations, strict=True):
            if citation is None:
                kit.emit(CitationDropped(passage=cited.passage, start=cited.start, end=cited.end))
        resolved_claims.append(
            replace(claim, citations=tuple(citation for citation in citations if citation is not None))
        )
    return tuple(resolved_claims)


def verify_claims(claims: Sequence[Claim], passages: Sequence[Passage], kit: Kit) -> tuple[Claim, ...]:
    """Return the claims and their citations with a verdict and a score each; at most three batches.

    A claim without citations is unsupported; one that code made of its quotes alone has its verdict already,
    and keeps it. Raises `NoLogprobs` if the judge's model gives no log-probabilities, `LLMError` for other
    faults of it, `ConfigError` if the judge leaves out pairs.
    """
    if any(claim.verdict != "unchecked" for claim in claims):
        judged = iter(
            verify_claims([claim for claim in claims if claim.verdict == "unchecked"], passages, kit)
        )
        return tuple(next(judged) if claim.verdict == "unchecked" else claim for claim in claims)
    judge = judge_of(kit)
    known = {passage.id: passage for passage in passages}
    texts = [_YES_OR_NO.sub("", claim.text) for claim in claims]
    if kit.entailment is not None:  # small judges ask each passage for the title
        texts = [_as_passages_say(text, claim, known) for text, claim in zip(texts, claims, strict=True)]
    stated = [spell_out(text, before) for text, before in zip(texts, ["", *texts], strict=False)]
    cited = [(at, citation) for at, claim in enumerate(claims) for citation in claim.citations]
    premises = [_premise(known[citation.passage], citation) for _, citation in cited]
    pairs = [(premise, stated[at]) for premise, (at, _) in zip(premises, cited, strict=True)]
    scores = scores_of(judge.entails, pairs)
    if kit.entailment is not None:  # small judges overlook a negation
        denied = {n for n, (at, citation) in enumerate(cited) if _is_denied(known, citation, stated[at])}
        scores = [0.0 if n in denied else score for n, score in enumerate(scores)]
    else:
        denied = set()
    best = {at: 0.0 for at, claim in enumerate(claims) if claim.citations}
    for (at, _), score in zip(cited, scores, strict=True):
        best[at] = max(best[at], score)
    of_denied = {cited[n][0] for n in denied}
    uncertain = [
        at
        for at, claim in enumerate(claims)
        if len(claim.citations) > 1 and best[at] < SUPPORTED and at not in of_denied
    ]
    joint_pairs = [
        (
            " ".join(premise for premise, (owner, _) in zip(premises, cited, strict=True) if owner == at),
            stated[at],
        )
        for at in uncertain
    ]
    for at, score in zip(uncertain, scores_of(judge.entails, joint_pairs), strict=True):
        best[at] = max(best[at], score)
    uncertain_pairs = [n for n, (at, _) in enumerate(cited) if best[at] < SUPPORTED]
    contradicting = _find_contradicting(judge.contradicts, pairs, uncertain_pairs)
    checked = []
    for at, claim in enumerate(claims):
        numbers = [n for n, (owner, _) in enumerate(cited) if owner == at]
        citations = tuple(_with_verdict(cited[n][1], scores[n], n in contradicting) for n in numbers)
        if not numbers:
            checked.append(replace(claim, verdict="unsupported"))
            continue
        verdict = "contradicted" if any(n in contradicting for n in numbers) else verdict_of(best[at])
        checked.append(replace(claim, citations=citations, verdict=verdict, score=round(best[at], 4)))
    return tuple(checked)


def strictly(answer: Answer) -> Answer:
    """Return the answer without the claims that failed verification; an abstention if no claim remains.

    An answer is dropped with the last claim that states it, and its position becomes unresolved.
    """
    return _without(answer, [claim for claim in answer.claims if claim.verdict in FAILED])


def withdraw_failed(answer: Answer) -> Answer:
    """Return the answer without what is stated by nothing but claims of which no citation says so.

    These claims stay beside it, with their verdict; an abstention if no other remains. A claim that one
    citation contradicts and another supports is disputed, and counts. Claims without citations count as
    before: a strategy may answer from memory.
    """
    failed = [
        claim
        for claim in answer.claims
        if claim.citations
        and claim.verdict in FAILED
        and not any(citation.verdict in _SAYING_SO for citation in claim.citations)
    ]
    return replace(_without(answer, failed), claims=answer.claims)


def _without(answer: Answer, failed: Sequence[Claim]) -> Answer:
    """Return the answer without some of its claims, and what they alone state."""
    if not failed:
        return answer
    claims = renumber([claim for claim in answer.claims if not any(claim is other for other in failed)])
    answers = tuple(
        answer_text
        for answer_text in answer.answers
        if _is_stated(answer_text, claims) or (claims and not _is_stated(answer_text, failed))
    )
    conflict = Conflict(
        kind=answer.conflict.kind,
        positions=tuple(
            _mark_unresolved(position, answer, answers) for position in answer.conflict.positions
        ),
    )
    # The remaining claims state no short answer, so they are the answer, but for what holds on another day.
    if claims and not answers and not answer.details.get("today"):
        answers = tuple(claim.text.rstrip(".") for claim in claims)
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


def _locate(citation: Citation, known: Mapping[str, Passage]) -> Citation | None:
    passage = known.get(citation.passage)
    if passage is None or not citation.quote.strip():
        return None
    if 0 <= citation.start < citation.end and passage.text[citation.start : citation.end] == citation.quote:
        return citation
    span = find_quote(passage.text, citation.quote)
    if span is None:
        return None
    start, end = span
    return replace(citation, quote=passage.text[start:end], start=start, end=end)


def _as_passages_say(text: str, claim: Claim, known: Mapping[str, Passage]) -> str:
    """Return a claim without the title in brackets at its end, and without the version that it is about.

    The title is that of one passage, and tells the claim from namesakes; other passages have others.
    A document does not say "before version 2" of what it says.
    """
    endings = [f" ({one_line(known[citation.passage].title)})." for citation in claim.citations]
    ending = next((each for each in endings if text.endswith(each)), "")
    bare = f"{text.removesuffix(ending)}." if ending else text
    asked = find_asked(bare)
    if asked.version and any(states(citation.quote, asked.version) for citation in claim.citations):
        return bare
    return of_today(bare) if asked.version or asked.previous else bare


def _find_contradicting(
    judgement: Judgement, pairs: Sequence[tuple[str, str]], numbers: Sequence[int]
) -> set[int]:
    """Return the numbers of those pairs that contradict."""
    scores = scores_of(judgement, [pairs[n] for n in numbers])
    return {n for n, score in zip(numbers, scores, strict=True) if score > CONTRADICTED}


def _with_verdict(citation: Citation, score: float, contradicts: bool) -> Citation:
    verdict = "contradicted" if contradicts else verdict_of(score)
    return replace(citation, score=round(score, 4), verdict=verdict)


def _premise(passage: Passage, citation: Citation) -> str:
    """Return the quote within its sentences, after the sentence before them and the passage's title.

    What a sentence says of "it" or under which condition is often said in the one before.
    """
    spans, of_quote = _sentences_of(passage, citation)
    around = spans[max(0, of_quote[0] - 1) : of_quote[-1] + 1] if of_quote else []
    head = f"{passage.title}. " if passage.title else ""
    return head + " ".join(passage.text[start:end] for start, end in around)


def _is_denied(known: Mapping[str, Passage], citation: Citation, statement: str) -> bool:
    """Return whether the sentences of a quote say a statement but for a negation."""
    from disputatio.contradictions.comparing import denies

    passage = known[citation.passage]
    spans, of_quote = _sentences_of(passage, citation)
    return any(denies(passage.text[slice(*spans[at])], to_statement(statement)) for at in of_quote)


def _sentences_of(passage: Passage, citation: Citation) -> tuple[Sequence[tuple[int, int]], list[int]]:
    spans = sentences(passage.text)
    return spans, [
        at for at, (start, end) in enumerate(spans) if start < citation.end and end > citation.start
    ]


def _is_stated(answer: str, claims: Sequence[Claim]) -> bool:
    return any(states(claim.text, answer) for claim in claims)


def _mark_unresolved(position: Position, answer: Answer, remaining: Sequence[str]) -> Position:
    if (
        position.verdict != "accepted"
        or position.answer in remaining
        or position.answer not in answer.answers
    ):
        return position
    return replace(position, verdict="unresolved", cause=replace(position.cause, kind="unsupported"))
