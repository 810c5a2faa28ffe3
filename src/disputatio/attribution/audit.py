"""The audit of an answer, outside of all strategies: claims, citations, verdicts, positions, conflict."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Literal

from disputatio.attribution.citations import cite, escape_marks, render, renumber
from disputatio.attribution.positions import conflict_of, find_stating_sentences, last_replies
from disputatio.attribution.statements import statements
from disputatio.attribution.verification import (
    FAILED,
    resolve_citations,
    strictly,
    verify_claims,
    withdraw_failed,
)
from disputatio.errors import NoLogprobs, TooLate
from disputatio.events import Unchecked
from disputatio.kit import Kit
from disputatio.text import bare_words, find_quote
from disputatio.types import Answer, Claim, Conflict, Passage, Position, Reading, Reply
from disputatio.values import states

_REPORTED = re.compile(
    r"^(?:according to the passage,?|the passage (?:[a-z]{0,3}\d[\w-]{0,20} )?(?:\w+ly )?"
    r"(?:states|says|mentions|reports|shows) that)\s+",
    re.IGNORECASE,
)

_OF_PASSAGES = re.compile(r"\bpassages?\b", re.IGNORECASE)  # a remark about the passages, not the subject


ClaimCheck = Callable[[Sequence[Claim], Sequence[Passage], Kit], Sequence[Claim]]
"""(claims, passages, kit) -> the claims with verdicts."""


def audit(
    answer: Answer, kit: Kit, *, verify: bool = True, strict: bool = False, check: ClaimCheck = verify_claims
) -> Answer:
    """Return the answer with cited and checked claims, weighed positions and a conflict of one kind.

    The strategy's claims and resolved positions are kept; every citation must be in a passage of the answer.
    With `verify` the entailment judge reads each claim with its quotes (`check`). Without it, or if the
    judge's model gives no log-probabilities (the trace notes it), verdicts stay `unchecked`. A claim whose
    citations say nothing of it is dropped, with the answer that it alone states; `strict` drops all claims
    that fail, and raises `NoLogprobs` if nothing can be checked.
    """
    conflict = answer.conflict if answer.conflict.positions else conflict_of(answer, kit.reliabilities)
    if answer.claims:
        claims = resolve_citations(split_claims(answer.claims), answer.passages, kit)
    else:
        accepted = [
            position
            for position in conflict.positions
            if position.verdict == "accepted" or position.answer in answer.answers
        ]
        claims = tuple(claim for position in accepted for claim in _claims(answer, position))
    claims = renumber(claims)
    if verify:
        try:
            claims = renumber(prune_quotes(check(claims, answer.passages, kit)))
        except NoLogprobs as error:
            if strict:
                raise NoLogprobs(
                    f"{error}; strict answers need verdicts: cast another judge (--role judge=MODEL)"
                ) from error
            kit.emit(Unchecked(reason=str(error)))
        except TooLate as error:
            kit.emit(Unchecked(reason=str(error)))
    audited = replace(
        answer,
        claims=claims,
        conflict=conflict,
        text=render(claims) if claims else "",
        confidence=_confidence(conflict) if answer.confidence is None else answer.confidence,
        expect=answer.expect or _expectation(conflict),
    )
    return strictly(audited) if strict else withdraw_failed(audited)


def count_read(answer: Answer, found_ids: Iterable[str], *, faults: int = 0) -> Reading:
    """Return how many of the passages that an answer's searches found were read, failed or set aside.

    A passage is read if the answer names it and at least one reply on it is not a fault. `faults` are the
    replies that could not be used and that the answer does not keep.

    >>> from disputatio.types import Passage
    >>> broken, good = Reply(passages=("a",), fault="cut off"), Reply(passages=("b",), answer="7")
    >>> passages = (Passage(id="a", text="A"), Passage(id="b", text="B"))
    >>> count_read(Answer(question="?", passages=passages, replies=(broken, good)), ["a", "b", "c"])
    Reading(found=3, read=1, failed=1, set_aside=1, faults=1, unsearched=(), late=())
    """
    named = {passage.id for passage in answer.passages}
    failed = unread(answer.replies)
    faults += sum(bool(reply.fault) for reply in answer.replies)
    all_ids = named | set(found_ids) | failed
    read = len(named - failed)
    set_aside = len(all_ids) - read - len(failed)
    return Reading(found=len(all_ids), read=read, failed=len(failed), set_aside=set_aside, faults=faults)


def unread(replies: Iterable[Reply]) -> set[str]:
    """Return the passages on which no reply could be used."""
    replied: set[str] = set()
    broken: set[str] = set()
    for reply in replies:
        (broken if reply.fault else replied).update(reply.passages)
    return broken - replied


def add_reading(answer: Answer, read: Reading) -> Answer:
    """Return the answer with what was read of its passages; what could not be read may oppose it.

    Passages of which some could not be read are not said to agree, and a certificate that has not counted
    these as opponents is lowered by one owner and one passage for each.
    """
    conflict, certificate = answer.conflict, answer.certificate
    if read.failed and conflict.kind == "none" and conflict.positions:
        conflict = replace(conflict, kind="unresolved")
    if read.failed and certificate is not None and not certificate.unread:
        corrupted = None if certificate.corrupted is None else max(certificate.corrupted - read.failed, 0)
        certificate = replace(
            certificate,
            owners=max(certificate.owners - read.failed, 0),
            corrupted=corrupted,
            unread=read.failed,
        )
    return escape_answer(replace(answer, read=read, conflict=conflict, certificate=certificate))


def escape_answer(answer: Answer) -> Answer:
    """Return the answer without text that looks like our citation marks `[n]`.

    Quotes stay verbatim, and so do passages and replies, in which nothing is cited.
    """
    positions = tuple(
        replace(position, answer=escape_marks(position.answer), subject=escape_marks(position.subject))
        for position in answer.conflict.positions
    )
    return replace(
        answer,
        answers=tuple(map(escape_marks, answer.answers)),
        explanation=escape_marks(answer.explanation),
        conflict=replace(answer.conflict, positions=positions),
        claims=tuple(replace(claim, text=escape_marks(claim.text)) for claim in answer.claims),
    )


def split_claims(claims: Sequence[Claim]) -> tuple[Claim, ...]:
    """Return the claims split into single statements; each part keeps all citations of its claim."""
    return tuple(
        replace(claim, text=part) for claim in claims for part in statements(claim.text) or [claim.text]
    )


def _claims(answer: Answer, position: Position) -> list[Claim]:
    """Return the claims of an accepted position, with a citation for each passage that states it."""
    replies = _replies_by_passage(answer)
    own_replies = [replies[passage_id] for passage_id in position.passages if passage_id in replies]
    explanations = [reply.explanation for reply in own_replies if states(reply.explanation, position.answer)]
    explanations += find_stating_sentences(answer.explanation, position.answer)
    passages = [passage for passage in answer.passages if passage.id in position.passages]
    citations = tuple(cite(position.answer, passages, replies))
    subject = set(bare_words(position.subject))
    bare = [as_statement(explanation) for explanation in explanations]
    if not bare:
        return [Claim(text=f"{answer.question.strip()} {position.answer}", citations=citations)]
    # The explanation that names most words of the subject; of several, the shortest.
    text = max(bare, key=lambda candidate: (len(subject & set(bare_words(candidate))), -len(candidate)))
    parts = [part for part in statements(text) if not _OF_PASSAGES.search(part)]
    return [Claim(text=part, citations=citations) for part in parts or [text]]


def prune_quotes(claims: Sequence[Claim]) -> list[Claim]:
    """Return the claims without those failed quotes that belong to another part of a divided claim.

    A quote is dropped if several claims cite it, it fails here and another quote supports this claim.
    """
    shared = Counter(
        (citation.passage, citation.start, citation.end) for claim in claims for citation in claim.citations
    )
    kept = []
    for claim in claims:
        is_supported = any(citation.verdict == "supported" for citation in claim.citations)
        citations = [
            citation
            for citation in claim.citations
            if not (
                is_supported
                and citation.verdict in FAILED
                and shared[citation.passage, citation.start, citation.end] > 1
            )
        ]
        kept.append(replace(claim, citations=tuple(citations)))
    return kept


def _replies_by_passage(answer: Answer) -> dict[str, Reply]:
    """Return the reply on each passage, from the agent that read it alone or that quotes it."""
    passages = {passage.id: passage for passage in answer.passages}
    replies: dict[str, Reply] = {}
    for reply in last_replies(answer.replies):
        if len(reply.passages) == 1:
            replies[reply.passages[0]] = reply
        elif reply.quote:
            read = (passages[passage_id] for passage_id in reply.passages if passage_id in passages)
            quoted = next((passage for passage in read if find_quote(passage.text, reply.quote)), None)
            if quoted is not None:
                replies.setdefault(quoted.id, reply)
    return replies


def as_statement(explanation: str) -> str:
    """Return an explanation without its opening "the passage states that".

    >>> as_statement("The passage clearly states that the pier was built in 1901.")
    'The pier was built in 1901.'
    >>> as_statement("The passage a68795 states that it rained.")
    'It rained.'
    """
    bare = _REPORTED.sub("", explanation, count=1)
    return bare[:1].upper() + bare[1:]


def _confidence(conflict: Conflict) -> float | None:
    """Return the share of the votes for accepted positions; None without votes."""
    cast = sum(position.weight for position in conflict.positions)
    accepted = sum(position.weight for position in conflict.positions if position.verdict == "accepted")
    return round(accepted / cast, 4) if cast else None


def _expectation(conflict: Conflict) -> Literal["one", "several"]:
    """Return how many answers stand beside each other; of those that contradict each other one is right."""
    return "several" if sum(each.verdict == "accepted" for each in conflict.positions) > 1 else "one"


# --- confidence -----------------------------------------------------------------------------------
# An answer that is less likely right than was asked for is no answer.


def confidently(answer: Answer, least: float) -> Answer:
    """Return the answer where it is as likely as `least` to be right, else an abstention.

    It is of kind `no_evidence` where nothing contradicts the answer, else of kind `conflict`. `confidence`
    stays, so that one sees what it fell short of; accepted positions become unresolved. An answer of
    unknown confidence is taken for unsure: nothing shows that it is as likely.
    """
    if answer.abstained or (answer.confidence is not None and answer.confidence >= least):
        return answer
    positions = tuple(
        replace(position, verdict="unresolved", cause=replace(position.cause, kind="unsure"))
        if position.verdict == "accepted"
        else position
        for position in answer.conflict.positions
    )
    return replace(
        answer,
        answers=(),
        abstained="no_evidence" if answer.conflict.kind == "none" else "conflict",
        claims=(),
        text="",
        conflict=Conflict(kind="unresolved" if positions else answer.conflict.kind, positions=positions),
        certificate=None,
    )
