"""The audit that every strategy's answer passes: claims, citations, verdicts, positions, conflict.

It stands outside the strategies, so that a baseline gets the same report as a debate.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from disputatio.attribution.citations import cite, render, renumber
from disputatio.attribution.positions import conflict_of, last_words
from disputatio.attribution.statements import statements
from disputatio.attribution.verification import FAILED, resolved, strictly, verified
from disputatio.errors import NoLogprobs
from disputatio.kit import Kit
from disputatio.text import bare_words, find_quote, sentences
from disputatio.types import Answer, Claim, Conflict, Position, Reading, Reply
from disputatio.values import states

_REPORTED = re.compile(
    r"^(?:according to the passage,?|the passage (?:\w+ly )?(?:states|says|mentions|reports|shows) that)\s+",
    re.IGNORECASE,
)

_OF_PASSAGES = re.compile(r"\bpassages?\b", re.IGNORECASE)  # what is said about the reading, not the subject


def audit(answer: Answer, kit: Kit, *, verify: bool = True, strict: bool = False) -> Answer:
    """The answer with its claims cited and checked, its positions weighed and its conflict named.

    Claims that a strategy made and positions that it resolved are kept; every citation must stand in a
    passage of the answer. With `verify` each claim is put to the entailment judge with its quotes; without,
    or where the judge's model gives no log-probabilities (the trace says so), verdicts stay `unchecked`.
    `strict` drops what fails, and raises `NoLogprobs` where nothing can be checked.
    """
    conflict = answer.conflict if answer.conflict.positions else conflict_of(answer, kit.reliabilities)
    if answer.claims:
        claims = resolved(divided(answer.claims), answer.passages, kit)
    else:
        accepted = [
            one for one in conflict.positions if one.verdict == "accepted" or one.answer in answer.answers
        ]
        claims = tuple(claim for position in accepted for claim in _claims(answer, position))
    claims = renumber(claims)
    if verify:
        try:
            claims = renumber(_pruned(verified(claims, answer.passages, kit)))
        except NoLogprobs as error:
            if strict:
                raise NoLogprobs(
                    f"{error}; strict answers need verdicts: cast another judge (--role judge=MODEL)"
                ) from error
            kit.trace.note("unchecked", reason=str(error))
    audited = replace(
        answer,
        claims=claims,
        conflict=conflict,
        text=render(claims) if claims else "",
        confidence=_confidence(conflict) if answer.confidence is None else answer.confidence,
    )
    return strictly(audited) if strict else audited


def reading_of(answer: Answer, found: Iterable[str]) -> Reading:
    """What became of the passages (their ids) that an answer's searches found.

    A passage is read when the answer names it and not every reply on it is a fault.

    >>> from disputatio.types import Passage
    >>> broken, good = Reply(passages=("a",), fault="cut off"), Reply(passages=("b",), answer="7")
    >>> passages = (Passage(id="a", text="A"), Passage(id="b", text="B"))
    >>> reading_of(Answer(question="?", passages=passages, replies=(broken, good)), ["a", "b", "c"])
    Reading(found=3, read=1, failed=1, set_aside=1)
    """
    named = {passage.id for passage in answer.passages}
    replied = {name for reply in answer.replies if not reply.fault for name in reply.passages}
    broken = {name for reply in answer.replies if reply.fault for name in reply.passages}
    failed = broken - replied
    every = named | set(found) | failed
    read = len(named - failed)
    return Reading(found=len(every), read=read, failed=len(failed), set_aside=len(every) - read - len(failed))


def divided(claims: Sequence[Claim]) -> tuple[Claim, ...]:
    """Each claim as one statement; the parts of one that made several have all of its citations."""
    return tuple(
        replace(claim, text=part) for claim in claims for part in statements(claim.text) or [claim.text]
    )


def _claims(answer: Answer, position: Position) -> list[Claim]:
    """What an accepted position states, with a citation for each passage that says it."""
    replies = _words_on(answer)
    own = [replies[one] for one in position.passages if one in replies]
    told = [one.explanation for one in own if states(one.explanation, position.answer)]
    told += [one for one in _sentences(answer.explanation) if states(one, position.answer)]
    passages = [one for one in answer.passages if one.id in position.passages]
    citations = tuple(cite(position.answer, passages, replies))
    subject = set(bare_words(position.subject))
    bare = [as_statement(one) for one in told]
    if not bare:
        return [Claim(text=f"{answer.question.strip()} {position.answer}", citations=citations)]
    # Of what was said, that which names the subject best, and of those the shortest.
    text = max(bare, key=lambda one: (len(subject & set(bare_words(one))), -len(one)))
    parts = [one for one in statements(text) if not _OF_PASSAGES.search(one)]
    return [Claim(text=one, citations=citations) for one in parts or [text]]


def _pruned(claims: Sequence[Claim]) -> list[Claim]:
    """The claims without shared quotes that fail beside one that supports: those belong to another part."""
    shared = Counter((one.passage, one.start, one.end) for claim in claims for one in claim.citations)
    whole = []
    for claim in claims:
        good = any(one.verdict == "supported" for one in claim.citations)
        kept = [
            one
            for one in claim.citations
            if not (good and one.verdict in FAILED and shared[one.passage, one.start, one.end] > 1)
        ]
        whole.append(replace(claim, citations=tuple(kept)))
    return whole


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


def _confidence(conflict: Conflict) -> float | None:
    """The share of the votes that went to accepted positions; None where nothing was cast."""
    cast = sum(one.weight for one in conflict.positions)
    kept = sum(one.weight for one in conflict.positions if one.verdict == "accepted")
    return round(kept / cast, 4) if cast else None


def _sentences(text: str) -> list[str]:
    return [text[start:end] for start, end in sentences(text)]
