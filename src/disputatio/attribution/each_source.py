"""The answer of each source, and its relation to what was accepted, read from an answer's positions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import get_args

from disputatio.attribution.citations import escape_marks, quote_span
from disputatio.attribution.positions import last_replies
from disputatio.types import Answer, Passage, Position, Reply, SourceAnswer, Standing
from disputatio.values import same_answer

_ORDER: tuple[Standing, ...] = get_args(Standing)
_BY_CAUSE: Mapping[str, Standing] = {
    "superseded": "superseded",
    "older": "older",
    "later": "later",
    "retracted": "retracted",
    "unsupported": "no_answer",
    "unsure": "unresolved",
}
_UNBACKED = ("votes", "kinship", "resemblance")  # features by which an answer lacks support, not sense
_NOTHING: tuple[Standing, ...] = ("failed", "silent")


def with_each_source(answer: Answer, *, unread: int) -> Answer:
    """Return the answer with what each source answers; `unread` sources match and were not read."""
    details = {**answer.details, "unread_sources": unread} if unread else answer.details
    return replace(answer, each_source=each_source(answer), details=details)


def each_source(answer: Answer) -> tuple[SourceAnswer, ...]:
    """Return a row for each source and answer of it, those that agree first; sources keep together.

    The strategy must have put passages to agents one by one: one without a reply of its own gives no row.
    """
    replies: dict[str, list[Reply]] = {}
    for reply in last_replies(answer.replies):
        if len(reply.passages) == 1:
            replies.setdefault(reply.passages[0], []).append(reply)
    # Without a position is what has the answer of others: a later version, or a text of another thing.
    is_past = answer.details.get("today") or any(p.cause.kind == "later" for p in answer.conflict.positions)
    left_out: Standing = "later" if is_past else "no_answer"
    sources: dict[tuple[bool, str], dict[tuple[Standing, str], SourceAnswer]] = {}
    for passage in answer.passages:
        rows = sources.setdefault((bool(passage.source), passage.source or passage.id), {})
        for stated, row in _rows(passage, replies.get(passage.id, []), answer.conflict.positions, left_out):
            if not rows.get((row.relation, stated), SourceAnswer(source="", relation="silent")).quote:
                rows[row.relation, stated] = row
    ordered = [sorted(rows.values(), key=_rank) for rows in sources.values() if rows]
    ordered = [_without_nothing(rows) for rows in ordered]
    ordered.sort(key=lambda rows: _rank(rows[0]))
    return tuple(row for rows in ordered for row in rows)


def _rank(row: SourceAnswer) -> int:
    return _ORDER.index(row.relation)


def _without_nothing(rows: Sequence[SourceAnswer]) -> list[SourceAnswer]:
    """Return the rows with answers, or of those without the first: what failed may have said something."""
    return [row for row in rows if row.relation not in _NOTHING] or [rows[0]]


def _rows(
    passage: Passage, replies: Sequence[Reply], positions: Sequence[Position], left_out: Standing
) -> Iterator[tuple[str, SourceAnswer]]:
    """Yield what a passage answers, each with the answer of its position."""
    bare = SourceAnswer(source=passage.source or passage.id, relation="silent", passage=passage.id)
    positions = [each for each in positions if passage.id in each.passages and each.cause.kind != "compared"]
    for position in positions:
        reply = _reply_of(position, replies)
        stated = position.answer if reply is None else reply.answer
        yield position.answer, _add_quote(bare, _relation_of(position), stated, passage, reply)
    if positions:
        return
    answered = [reply for reply in replies if reply.answer]
    for reply in answered:
        yield reply.answer, _add_quote(bare, left_out, reply.answer, passage, reply)
    if replies and not answered:
        failed = all(reply.fault for reply in replies)
        yield "", replace(bare, relation="failed" if failed else "silent")


def _reply_of(position: Position, replies: Sequence[Reply]) -> Reply | None:
    """Return the reply that put a passage into a position: the one with its answer, or the only one."""
    answered = [reply for reply in replies if reply.answer]
    same = [reply for reply in answered if same_answer(reply.answer, position.answer)]
    return next(iter(same or (answered if len(answered) == 1 else [])), None)


def _add_quote(
    bare: SourceAnswer, relation: Standing, stated: str, passage: Passage, reply: Reply | None
) -> SourceAnswer:
    start, end = quote_span(passage, stated, reply) or (0, 0)
    return replace(
        bare,
        relation=relation,
        answer=escape_marks(stated),
        passage=passage.id,
        quote=passage.text[start:end],
        start=start,
        end=end,
        title=passage.title,
        date="" if passage.date_origin == "file" else passage.date,
    )


def _relation_of(position: Position) -> Standing:
    """Return how a position stands to what was accepted."""
    if position.verdict != "rejected":
        return "agrees" if position.verdict == "accepted" else "unresolved"
    if position.cause.kind == "off_topic":
        return "contradicts" if position.cause.feature in _UNBACKED else "no_answer"
    return _BY_CAUSE.get(position.cause.kind, "contradicts")
