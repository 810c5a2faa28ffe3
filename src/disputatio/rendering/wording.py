"""An answer's facts in one line each: how its positions relate, what it read, cost and survives."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import get_args

from disputatio.attribution.citations import escape_marks
from disputatio.text import one_line, without_headings
from disputatio.types import (
    Abstention,
    Answer,
    Certificate,
    Citation,
    CitationVerdict,
    Claim,
    ConflictKind,
    Passage,
    Position,
    Standing,
    Usage,
)
from disputatio.versions.dates import age_of, today

ABSTENTIONS: Mapping[Abstention, str] = {
    "no_evidence": "nothing that was read answers the question",
    "conflict": "the passages contradict each other and nothing settles it",
    "fault": "a model or the network failed",
}
CONFLICTS: Mapping[ConflictKind, str] = {
    "none": "the passages agree",
    "ambiguity": "several answers are right: they are about different things",
    "misinformation": "some passages contradict what was accepted",
    "outdated": "some passages are of another time than what was accepted",
    "opinion": "the passages give opinions",
    "unresolved": "the passages disagree, and nothing settles it",
}
# From which confidence on an answer has which word before it.
STRENGTHS = ((0.85, ""), (0.6, "Likely: "), (0.35, "Possibly: "), (0.0, "Doubtful: "))
_STANDINGS: Mapping[Standing, str] = {"no_answer": "does not answer", "failed": "could not be read"}
_ORDER: tuple[Standing, ...] = get_args(Standing)
SOURCE_COLUMNS = ("source", "stands", "answer", "quote")
_QUOTE = 160  # characters of a quote in a table
ORDERS = "gives instructions to its reader: planted?"  # after the origin of a quote
APART = "one answer stands; what the other passages say does not answer the question"
NEAREST = "none of them answers the question; this came nearest"
NOTHING_FOUND = "nothing was found for the question"
UNSURE = "none is likely enough to be right"
UNSUPPORTED = "no passage that was read says so"
_WARNINGS: Mapping[CitationVerdict, str] = {
    "partly": "partly supported",
    "unsupported": "unsupported",
    "contradicted": "contradicted by what it cites",
}


def headline(answer: Answer) -> str:
    """Return the answers, as sure as they are, or why there is none.

    >>> [headline(Answer(question="?", answers=("7",), confidence=sure)) for sure in (0.95, 0.5, 0.0)]
    ['7', 'Possibly: 7', 'Doubtful: 7']
    """
    if not answer.answers:
        return f"No answer: {abstention_line(answer)}"
    return f"{sureness(answer)}{'; '.join(answer.answers)}"


def sureness(answer: Answer) -> str:
    """Return the word before the answers that says how sure they are; none where that is not known."""
    sure = 1.0 if answer.confidence is None else answer.confidence
    return next((word for bound, word in STRENGTHS if sure >= bound), "")


def conflict_line(answer: Answer) -> str:
    """Return one line: how the positions relate, and how many unread passages might oppose them."""
    positions = answer.conflict.positions
    if any(position.cause.kind == "unsure" for position in positions):
        return UNSURE
    based = any(position.passages or position.sources for position in positions)
    if not based:
        return UNSUPPORTED
    line = _relation(answer)
    if not (unread := unread_line(answer)):
        return line
    if answer.conflict.kind == "unresolved" and not any(each.verdict == "unresolved" for each in positions):
        line = "those that were read do not contradict each other"
    return f"{unread}; {line}"


def _relation(answer: Answer) -> str:
    """Return how the positions of an answer relate; passages that were rejected agree with nothing."""
    verdicts = {position.verdict for position in answer.conflict.positions}
    if answer.abstained == "no_evidence" and answer.conflict.kind in ("none", "unresolved"):
        return NEAREST
    if answer.conflict.kind == "none" and verdicts != {"accepted"}:
        return APART if "accepted" in verdicts else NEAREST
    return CONFLICTS[answer.conflict.kind]


def unread_line(answer: Answer) -> str:
    """Return one line: how many passages could not be read by agents; empty for none.

    >>> from disputatio.types import Reading
    >>> unread_line(Answer(question="?", read=Reading(found=9, read=1, failed=2, set_aside=6)))
    '2 of 3 passages could not be read'
    """
    read = answer.read
    if read is None or not read.failed:
        return ""
    return f"{read.failed:,} of {count(read.read + read.failed, 'passage')} could not be read"


def late_line(answer: Answer) -> str:
    """Return one line: how many passages the language model had not read by the deadline; empty without one.

    >>> from disputatio.types import Reading
    >>> late_line(Answer(question="?", read=Reading(found=3, read=3, failed=0, set_aside=0, late=("a", "b"))))
    'by the deadline the language model had not read 2 passages, which the encoder read'
    """
    if answer.read is None or not answer.read.late:
        return ""
    instead = "" if answer.read.failed else ", which the encoder read"
    passages = count(len(answer.read.late), "passage")
    return f"by the deadline the language model had not read {passages}{instead}"


def abstention_line(answer: Answer) -> str:
    """Return one line: why nothing was answered.

    >>> abstention_line(Answer(question="Who?", abstained="no_evidence"))
    'nothing was found for the question'
    >>> abstention_line(Answer(question="Who?", abstained="no_evidence", retrievals=0))
    'nothing that was read answers the question'
    """
    if answer.abstained == "no_evidence" and not answer.passages and answer.retrievals != 0:
        return NOTHING_FOUND
    if answer.abstained and (unread := unread_line(answer)):
        reason = next((reply.fault for reply in answer.replies if reply.fault), "")
        why = f"; of a reply: {escape_marks(reason)}" if reason else ""
        return f"{ABSTENTIONS[answer.abstained]}; {unread}{why}"
    if answer.abstained and any(each.cause.kind == "unsure" for each in answer.conflict.positions):
        return UNSURE
    return ABSTENTIONS[answer.abstained] if answer.abstained else "none was given"


def find_origin(citation: Citation, passages: Iterable[Passage]) -> tuple[str, str]:
    """Return the origin of a quote (source, page, age, headings), and the address of its passage.

    >>> passage = Passage(id="p1", text="It rained.", url="http://a.example/x", metadata={"page": "3"})
    >>> citation = Citation(n=1, passage="p1", source="a.example", quote="rained", start=3, end=9)
    >>> find_origin(citation, [passage])
    ('a.example, page 3', 'http://a.example/x')
    """
    passage = next((passage for passage in passages if passage.id == citation.passage), Passage(text=""))
    page = passage.metadata.get("page", "")
    place = (citation.source or citation.passage) + (f", page {page}" if page else "")
    place += f", {dated}" if (dated := describe_date(passage)) else ""
    place += f", under “{heading}”" if (heading := without_headings(citation.quote)[0]) else ""
    return escape_marks(place + (f" ({ORDERS})" if passage.gives_orders else "")), passage.url


def describe_date(passage: Passage) -> str:
    """Return the date of a passage, how old that is today, and whether it is a draft or withdrawn; or empty.

    >>> describe_date(Passage(text="x", date="2013-12-23", date_origin="file"))[:24]
    'its file is of 2013-12-2'
    >>> from disputatio.types import Relation
    >>> describe_date(Passage(text="x", relations=(Relation(kind="withdrawn"),)))
    'withdrawn'
    """
    kinds = {relation.kind for relation in passage.relations}
    parts = [word for kind, word in (("draft", "a draft"), ("withdrawn", "withdrawn")) if kind in kinds]
    if passage.date:
        label = "its file is of" if passage.date_origin == "file" else "of"
        age = age_of(passage.date, today())
        parts.insert(0, f"{label} {passage.date}" + (f" ({age})" if age else ""))
    return ", ".join(parts)


def describe_unused_claims(answer: Answer) -> str:
    """Return one line: what documents of other publishers claim to replace, which is not used; or empty.

    >>> claims = [{"newer": "p2", "older": "p1", "quote": "This replaces version 1."}]
    >>> passages = (Passage(text="x", id="p1", source="port"), Passage(text="y", id="p2", source="blog"))
    >>> describe_unused_claims(Answer(question="?", passages=passages, details={"claimed": claims}))
    'blog says of port: “This replaces version 1.” (not one publisher)'
    """
    claims = answer.details.get("claimed")
    if not isinstance(claims, Sequence):
        return ""
    names = {passage.id: passage.source or passage.title or passage.id for passage in answer.passages}
    lines = [
        f"{names.get(claim['newer'], '?')} says of {names.get(claim['older'], '?')}: "
        f"“{one_line(claim['quote'])[:200]}” (not one publisher)"
        for claim in claims
        if isinstance(claim, Mapping) and {"newer", "older", "quote"} <= claim.keys() and claim["quote"]
    ]
    return escape_marks("; ".join(dict.fromkeys(lines)))


def find_warning(claim: Claim) -> str:
    """Return the warning behind a claim that its quotes do not support, else "".

    >>> find_warning(Claim(text="It rained.", verdict="unsupported"))
    'unsupported: nothing is cited'
    """
    if not claim.citations and claim.verdict != "unchecked":
        return "unsupported: nothing is cited"
    return _WARNINGS.get(claim.verdict, "")


def sources_line(position: Position) -> str:
    """Return one line: who takes a position; empty where no passage does.

    >>> from disputatio.causes import Cause
    >>> kept = Cause(kind="kept")
    >>> sources_line(Position(answer="7", verdict="accepted", cause=kept, passages=("p1", "p2")))
    '2 passages without a source'
    """
    if position.sources:
        return escape_marks(", ".join(position.sources))
    return f"{count(len(position.passages), 'passage')} without a source" if position.passages else ""


def sources_counted(answer: Answer) -> str:
    """Return one line: how many sources stand how to the answer, and how many were not read.

    >>> from disputatio.types import SourceAnswer
    >>> rows = (SourceAnswer(source="a", relation="agrees"), SourceAnswer(source="b", relation="silent"))
    >>> sources_counted(Answer(question="?", each_source=rows, details={"unread_sources": 2}))
    'agrees: 1, silent: 1; 2 more match and were not read (-k reads more)'
    """
    who = {name: {row.source for row in answer.each_source if row.relation == name} for name in _ORDER}
    line = ", ".join(f"{_STANDINGS.get(name, name)}: {len(names):,}" for name, names in who.items() if names)
    unread = answer.details.get("unread_sources")
    return line + (f"; {unread:,} more match and were not read (-k reads more)" if unread else "")


def source_rows(answer: Answer) -> list[tuple[str, str, str, str]]:
    """Return the cells of the table of sources: who, how it stands to the answer, its answer, its words."""
    orders = {passage.id: ORDERS for passage in answer.passages if passage.gives_orders}
    return [
        (
            escape_marks(
                ", ".join(filter(None, (row.source, row.title, row.date, orders.get(row.passage, ""))))
            ),
            _STANDINGS.get(row.relation, row.relation),
            row.answer,
            _short_quote(row.quote),
        )
        for row in answer.each_source
    ]


def _short_quote(quote: str) -> str:
    body = one_line(without_headings(quote)[1])
    return escape_marks(textwrap.shorten(f"“{body}”", _QUOTE, placeholder=" …”")) if quote else ""


def describe_certificate(certificate: Certificate) -> str:
    """Return one line: how many sources would have to lie to change the answer (those of one owner are one).

    >>> describe_certificate(Certificate(owners=2, voters=5, names=("a.example", "b.example")))
    '2 of 5 sources would have to lie to change this answer, such as a.example and b.example'
    >>> describe_certificate(Certificate(owners=1, voters=2, names=("a.example",)))
    'one lying source of 2 could change this answer, such as a.example'
    >>> describe_certificate(Certificate(owners=1, voters=1, names=("a.example",)))
    'this answer rests on a single source: a.example'
    >>> describe_certificate(Certificate(owners=2, voters=3, names=("a", "b"), corrupted=1))
    'no single corrupted passage can change this answer; 2 of 3 sources would have to lie'
    >>> describe_certificate(Certificate(owners=1, voters=2, unread=1))
    'one lying source of 2 could change this answer (1 more could not be read, and counts as opposed)'
    """
    fewest, corrupted, unread = certificate.owners, certificate.corrupted, certificate.unread
    if unread and not fewest:
        return f"what {count(unread, 'source')} say that could not be read could change this answer"
    if unread:
        counts = "counts" if unread == 1 else "count"
        note = f"({unread:,} more could not be read, and {counts} as opposed)"
        return f"{describe_certificate(replace(certificate, unread=0))} {note}"
    such = f", such as {' and '.join(certificate.names)}" if certificate.names else ""
    liars = f"{fewest} of {count(certificate.voters, 'source')} would have to lie"
    if corrupted == 0:
        return "one corrupted passage could change this answer"
    if corrupted is not None:
        most = "single corrupted passage" if corrupted == 1 else f"{corrupted:,} corrupted passages"
        proven = f"no {most} can change this answer"
        return f"{proven}; {liars}" if fewest > 1 else proven
    if fewest == 1 and certificate.voters == 1:
        return f"this answer rests on a single source{': ' if such else ''}{', '.join(certificate.names)}"
    if fewest == 1:
        return f"one lying source of {certificate.voters:,} could change this answer{such}"
    return f"{liars} to change this answer{such}"


def describe_search(answer: Answer) -> str:
    """Describe the search beyond the first passages, in one line; empty if the strategy made none.

    >>> looked = {"searches": 3, "read": 8, "answered": 2, "changed": True}
    >>> describe_search(Answer(question="?", details={"looked": looked}))
    '3 more searches, 8 more passages read, 2 of them answer; this changed the answer'
    >>> describe_search(Answer(question="?", details={"looked": {"searches": 1, "read": 0}}))
    '1 more search, which found nothing new'
    """
    looked = answer.details.get("looked")
    if not isinstance(looked, Mapping):
        return ""
    counts = [looked.get(name) for name in ("searches", "read", "answered")]
    searches, read, answering = (number if isinstance(number, int) else 0 for number in counts)
    made = "1 more search" if searches == 1 else f"{searches:,} more searches"
    if not read:
        return f"{made}, which found nothing new"
    came = "this changed the answer" if looked.get("changed") else "this changed nothing"
    return f"{made}, {count(read, 'more passage')} read, {answering:,} of them answer; {came}"


def cost(answer: Answer) -> str:
    """Return one line: the strategy, the model, the calls, the tokens and the time they took."""
    usage: Usage = answer.usage
    cores = "" if usage.core_seconds is None else f", {usage.core_seconds:.1f} core-seconds"
    spared = f" ({usage.cached_tokens:,} from the prefix cache)" if usage.cached_tokens else ""
    return (
        f"{answer.strategy} · {answer.model} · {count(usage.calls, 'call')}"
        f" · {usage.prompt_tokens:,} tokens read{spared}"
        f" · {usage.completion_tokens:,} written · {usage.seconds:.1f} s of the model's time{cores}"
    )


def read_from(answer: Answer) -> str:
    """Return one line: passages and sources read, and what could not be read or searched."""
    late = late_line(answer)
    unread, faults = unread_line(answer), 0 if answer.read is None else answer.read.faults
    line = _read_from(answer)
    if answer.read is not None and answer.read.unsearched:
        line += f"; not searched: {escape_marks(', '.join(each.index for each in answer.read.unsearched))}"
    if late:
        line += f"; {late}"
    if unread:
        return f"{line}; {unread}"
    # Where no passage was lost, another agent of the answer broke its contract.
    return (
        f"{line}; {count(faults, 'reply' if faults == 1 else 'replie')} could not be used" if faults else line
    )


def _read_from(answer: Answer) -> str:
    by_source = Counter(passage.source for passage in answer.passages if passage.source)
    passages = count(len(answer.passages), "passage")
    if not by_source:
        return passages
    names = ", ".join(name if n == 1 else f"{name} ({n})" for name, n in sorted(by_source.items()))
    return f"{passages} of {count(len(by_source), 'source')}: {escape_marks(names)}"


def count(n: int, noun: str) -> str:
    """
    >>> count(1, "call"), count(1200, "call")
    ('1 call', '1,200 calls')
    """
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"
