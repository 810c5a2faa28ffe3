"""Positions: what the passages answer, grouped, and what became of each and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from disputatio.attribution.citations import escape_marks, quote_span
from disputatio.causes import Cause, CauseKind, Rival, Support
from disputatio.dates import stated_day
from disputatio.text import sentences
from disputatio.types import Answer, Conflict, ConflictKind, Passage, Position, PositionVerdict, Reply
from disputatio.values import contradicts, matches, same_answer, states


@dataclass(slots=True)
class _Group:
    answer: str
    accepted: bool
    passages: list[Passage] = field(default_factory=list)
    wordings: list[str] = field(default_factory=list)

    @property
    def sources(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(one.source for one in self.passages if one.source))

    @property
    def newest(self) -> str:
        return max(map(stated_day, self.passages), default="")


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
            cause=_cause(group, accepted, answer, reliabilities),
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
        own = [claim for claim in answer.claims if states(claim.text, one)]
        ids = tuple(dict.fromkeys(cited.passage for claim in own for cited in claim.citations))
        names = tuple(dict.fromkeys(sources[each] for each in ids if sources.get(each)))
        positions.append(
            Position(
                answer=one,
                verdict="accepted",
                cause=Cause(kind="cited", support=Support(passages=len(ids), sources=len(names))),
                passages=ids,
                sources=names,
                weight=float(len(names) + sum(not sources.get(each) for each in ids)),
            )
        )
    return Conflict(positions=tuple(positions))


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
        free = [group for group in groups if not _is_contradicted(group, reply.answer)]
        same = [group for group in free if same_answer(group.answer, reply.answer)]
        near = same or [group for group in free if group.accepted and matches(group.answer, reply.answer)]
        if near:
            group = near[0]
        else:
            group = _Group(answer=reply.answer, accepted=False)
            groups.append(group)
        group.wordings.append(reply.answer)
        group.passages.extend(one for one in readers if one not in group.passages)
    for group in groups:
        if group.accepted and not group.passages:
            group.passages = [one for one in answer.passages if states(one.text, group.answer)]
    return groups


def _is_contradicted(group: _Group, answer: str) -> bool:
    """Whether an answer is another value than one of a group's: "$10" and "€10" both match "10"."""
    return any(contradicts(wording, answer) for wording in group.wordings)


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


def _cause(
    group: _Group, accepted: Sequence[_Group], answer: Answer, reliabilities: Mapping[str, float]
) -> Cause:
    """What the audit can say of a position: whether the strategy kept it, and what speaks for it.

    The sentence of the aggregator that names the position is kept as a remark.
    """
    remark = next((each for each in _sentences(answer.explanation) if states(each, group.answer)), "")
    rivals: list[_Group] = []
    kind: CauseKind = "kept"
    if not group.accepted:
        kind = "unresolved" if answer.abstained == "conflict" else "not_kept"
        if _is_outdated(group, accepted):
            kind = "older"
            rivals = [max(accepted, key=lambda each: each.newest)]
        elif accepted:
            rivals = [max(accepted, key=lambda each: len(each.passages))]
    return Cause(
        kind=kind,
        support=_support(group, reliabilities),
        rivals=tuple(Rival(answer=each.answer, support=_support(each, reliabilities)) for each in rivals),
        strategy=answer.strategy,
        remark=escape_marks(remark).rstrip("."),
    )


def _support(group: _Group, reliabilities: Mapping[str, float]) -> Support:
    return Support(
        passages=len(group.passages),
        sources=len(group.sources),
        weight=_weight(group, reliabilities),
        date=group.newest,
    )


def _is_outdated(group: _Group, accepted: Sequence[_Group]) -> bool:
    """Whether every passage of a rejected position is older than an accepted one's newest."""
    dated = bool(group.passages) and all(map(stated_day, group.passages))
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
