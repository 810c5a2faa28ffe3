"""Positions: what the passages answer, grouped, and what became of each and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from disputatio.evidence.citations import escape_marks, quote_span
from disputatio.text import contains_words, is_same_answer, sentences
from disputatio.types import Answer, Conflict, ConflictKind, Passage, Position, PositionVerdict, Reply


@dataclass(slots=True)
class _Group:
    answer: str
    accepted: bool
    passages: list[Passage] = field(default_factory=list)

    @property
    def sources(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(one.source for one in self.passages if one.source))

    @property
    def newest(self) -> str:
        return max((one.date for one in self.passages), default="")


def conflict_of(answer: Answer, reliabilities: Mapping[str, float]) -> Conflict:
    """The positions behind an answer and the kind of conflict between them.

    A passage holds a position only when our code finds the answer in it, whatever its agent said.
    """
    groups = _grouped(answer)
    accepted = [group for group in groups if group.accepted]
    positions = tuple(
        Position(
            answer=group.answer,
            subject=_subject(group.passages),
            verdict=_verdict(group, answer),
            reason=_reason(group, accepted, answer),
            passages=tuple(one.id for one in group.passages),
            sources=group.sources,
            weight=_weight(group, reliabilities),
        )
        for group in groups
    )
    return Conflict(kind=_kind(groups, answer), positions=positions)


def cited_positions(answer: Answer) -> Conflict:
    """Each answer as an accepted position of the passages that the claims which state it cite."""
    sources = {one.id: one.source for one in answer.passages}
    positions = []
    for one in answer.answers:
        own = [claim for claim in answer.claims if contains_words(claim.text, one)]
        ids = tuple(dict.fromkeys(cited.passage for claim in own for cited in claim.citations))
        names = tuple(dict.fromkeys(sources[each] for each in ids if sources.get(each)))
        positions.append(
            Position(
                answer=one,
                verdict="accepted",
                reason=f"{_count(len(ids), 'passage')} cited for it",
                passages=ids,
                sources=names,
                weight=float(len(names) + sum(not sources.get(each) for each in ids)),
            )
        )
    return Conflict(positions=tuple(positions))


def matches(one: str, other: str) -> bool:
    """Whether two wordings are taken for one answer: equal, or one within the other, word for word.

    >>> matches("about 1898", "1898"), matches("1898", "1899")
    (True, False)
    """
    return is_same_answer(one, other) or contains_words(one, other) or contains_words(other, one)


def last_words(replies: Sequence[Reply]) -> list[Reply]:
    """Each agent's last reply, in the order in which agents first spoke."""
    last: dict[tuple[str, tuple[str, ...], str], Reply] = {}
    for reply in replies:
        # Several answers of one agent that read all passages stand side by side.
        key = (
            ("all", reply.passages, reply.answer) if len(reply.passages) > 1 else ("one", reply.passages, "")
        )
        last[key] = reply
    return list(last.values())


def _grouped(answer: Answer) -> list[_Group]:
    groups = [_Group(answer=one, accepted=True) for one in answer.answers]
    by_id = {one.id: one for one in answer.passages}
    for reply in last_words(answer.replies):
        readers = [by_id[one] for one in reply.passages if one in by_id]
        if not reply.answer or (reply.passages and not readers):
            continue
        readers = [one for one in readers if quote_span(one, reply.answer, _own(reply)) is not None]
        same = [group for group in groups if is_same_answer(group.answer, reply.answer)]
        near = same or [group for group in groups if group.accepted and matches(group.answer, reply.answer)]
        if near:
            group = near[0]
        else:
            group = _Group(answer=reply.answer, accepted=False)
            groups.append(group)
        group.passages.extend(one for one in readers if one not in group.passages)
    for group in groups:
        if group.accepted and not group.passages:
            group.passages = [one for one in answer.passages if contains_words(one.text, group.answer)]
    return groups


def _own(reply: Reply) -> Reply | None:
    """A reply whose quote can only be from one passage."""
    return reply if len(reply.passages) == 1 else None


def _verdict(group: _Group, answer: Answer) -> PositionVerdict:
    if group.accepted:
        return "accepted"
    return "unresolved" if answer.abstained == "conflict" else "rejected"


def _subject(passages: Sequence[Passage]) -> str:
    """What the passages are about, by their title, where they agree on one."""
    titles = [one.title for one in passages if one.title]
    return max(titles, key=titles.count) if titles else ""


def _reason(group: _Group, accepted: Sequence[_Group], answer: Answer) -> str:
    """Facts first, by our code; then the aggregator's own sentence where it speaks of the position."""
    facts = [_support(group)]
    if not group.accepted:
        if _is_outdated(group, accepted):
            newest = max(one.newest for one in accepted)
            facts.append(f"its latest date is {group.newest}, that of an accepted position {newest}")
        elif accepted:
            strongest = max(accepted, key=lambda one: len(one.passages))
            facts.append(f"against {_count(len(strongest.passages), 'passage')} for {strongest.answer}")
        facts.append(f"not among the answers that {answer.strategy or 'the strategy'} kept")
    said = next((one for one in _sentences(answer.explanation) if contains_words(one, group.answer)), "")
    return "; ".join(facts) + (f" ({escape_marks(said).rstrip('.')})" if said else "")


def _support(group: _Group) -> str:
    if not group.passages:
        return "no passage read says so in these words"
    told = f"told by {_count(len(group.passages), 'passage')}"
    return f"{told} of {_count(len(group.sources), 'source')}" if group.sources else told


def _is_outdated(group: _Group, accepted: Sequence[_Group]) -> bool:
    """Whether every passage of a rejected position is older than an accepted one's newest."""
    dated = bool(group.passages) and all(one.date for one in group.passages)
    return dated and any(one.newest > group.newest for one in accepted if one.newest)


def _kind(groups: Sequence[_Group], answer: Answer) -> ConflictKind:
    held = [group for group in groups if group.passages]
    accepted = [group for group in held if group.accepted]
    rejected = [group for group in held if not group.accepted]
    if answer.abstained == "conflict":
        return "unresolved"
    if accepted and rejected:
        return "outdated" if all(_is_outdated(one, accepted) for one in rejected) else "misinformation"
    if len(accepted) > 1:
        return "ambiguity"
    return "unresolved" if len(rejected) > 1 else "none"


def _weight(group: _Group, reliabilities: Mapping[str, float]) -> float:
    """One vote a source, or a passage without one, by reliability; at chance where only others are known."""
    unknown = 0.5 if reliabilities else 1.0
    known = sum(reliabilities.get(one, unknown) for one in group.sources)
    return round(known + unknown * sum(not one.source for one in group.passages), 4)


def _sentences(text: str) -> list[str]:
    return [text[start:end] for start, end in sentences(text)]


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"
