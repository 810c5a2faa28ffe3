"""Positions: the answers that passages give, each with its verdict and the cause of that verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from disputatio.attribution.citations import escape_marks, quote_span
from disputatio.causes import Cause, Rival, Support
from disputatio.reliability.source_weights import weight_of
from disputatio.text import sentences
from disputatio.types import Answer, Conflict, ConflictKind, Passage, Position, PositionVerdict, Reply
from disputatio.values import contradicts, matches, same_answer, states
from disputatio.versions.dates import is_later, known_day


@dataclass(slots=True)
class _Group:
    answer: str
    accepted: bool
    passages: list[Passage] = field(default_factory=list)
    wordings: list[str] = field(default_factory=list)

    @property
    def sources(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(passage.source for passage in self.passages if passage.source))

    @property
    def newest(self) -> str:
        return max(map(known_day, self.passages), default="")


def conflict_of(answer: Answer, reliabilities: Mapping[str, float]) -> Conflict:
    """Return the positions behind an answer and the kind of conflict between them.

    A passage supports a position only if our code finds the answer in its text, whatever the agent replied.
    """
    groups = _group_replies(answer)
    accepted = [group for group in groups if group.accepted]
    positions = tuple(
        Position(
            answer=group.answer,
            subject=_subject(group.passages),
            verdict=_verdict(group, answer),
            cause=_cause(group, accepted, answer, reliabilities),
            passages=tuple(passage.id for passage in group.passages),
            sources=group.sources,
            weight=_weight(group, reliabilities),
        )
        for group in groups
    )
    return Conflict(kind=_kind(groups, answer), positions=positions)


def find_cited_positions(answer: Answer) -> Conflict:
    """Return one accepted position for each answer, supported by the passages that its claims cite."""
    sources = {passage.id: passage.source for passage in answer.passages}
    positions = []
    for text in answer.answers:
        stating = [claim for claim in answer.claims if states(claim.text, text)]
        ids = tuple(dict.fromkeys(cited.passage for claim in stating for cited in claim.citations))
        names = tuple(dict.fromkeys(sources[passage_id] for passage_id in ids if sources.get(passage_id)))
        positions.append(
            Position(
                answer=text,
                verdict="accepted",
                cause=Cause(kind="cited", support=Support(passages=len(ids), sources=len(names))),
                passages=ids,
                sources=names,
                weight=float(len(names) + sum(not sources.get(passage_id) for passage_id in ids)),
            )
        )
    return Conflict(positions=tuple(positions))


def last_replies(replies: Sequence[Reply]) -> list[Reply]:
    """Return each agent's last reply, in the order of their first replies."""
    last: dict[tuple[str, tuple[str, ...], str], Reply] = {}
    for reply in replies:
        # An agent that read several passages may give several answers; all of them count.
        key = (
            ("all", reply.passages, reply.answer) if len(reply.passages) > 1 else ("one", reply.passages, "")
        )
        last[key] = reply
    return list(last.values())


def _group_replies(answer: Answer) -> list[_Group]:
    groups = [_Group(answer=text, accepted=True) for text in answer.answers]
    by_id = {passage.id: passage for passage in answer.passages}
    for reply in last_replies(answer.replies):
        readers = [by_id[passage_id] for passage_id in reply.passages if passage_id in by_id]
        if not reply.answer or (reply.passages and not readers):
            continue
        quoting = reply if len(reply.passages) == 1 else None  # else its quote may be of another passage
        readers = [each for each in readers if quote_span(each, reply.answer, quoting) is not None]
        free = [group for group in groups if not _is_contradicted(group, reply.answer)]
        same = [group for group in free if same_answer(group.answer, reply.answer)]
        near = same or [group for group in free if group.accepted and matches(group.answer, reply.answer)]
        if near:
            group = near[0]
        else:
            group = _Group(answer=reply.answer, accepted=False)
            groups.append(group)
        group.wordings.append(reply.answer)
        group.passages.extend(passage for passage in readers if passage not in group.passages)
    for group in groups:
        if group.accepted and not group.passages:
            group.passages = [passage for passage in answer.passages if states(passage.text, group.answer)]
    return groups


def _is_contradicted(group: _Group, answer: str) -> bool:
    """Return whether an answer contradicts a wording of the group: "10" matches "$10" and "€10"."""
    return any(contradicts(wording, answer) for wording in group.wordings)


def _verdict(group: _Group, answer: Answer) -> PositionVerdict:
    if group.accepted:
        return "accepted"
    return "unresolved" if answer.abstained == "conflict" else "rejected"


def _subject(passages: Sequence[Passage]) -> str:
    titles = [passage.title for passage in passages if passage.title]
    return max(titles, key=titles.count) if titles else ""


def _cause(
    group: _Group, accepted: Sequence[_Group], answer: Answer, reliabilities: Mapping[str, float]
) -> Cause:
    """Return the cause of a position's verdict as far as the audit knows it: kept or not, and its support.

    The remark is the sentence of the strategy's explanation that states the position.
    """
    remark = next(iter(find_stating_sentences(answer.explanation, group.answer)), "")
    rivals: list[_Group] = []
    kind: str = "kept"
    if not group.accepted:
        kind = "unresolved" if answer.abstained == "conflict" else "not_kept"
        if _is_outdated(group, accepted):
            kind = "older"
            rivals = [max(accepted, key=lambda rival: rival.newest)]
        elif accepted:
            rivals = [max(accepted, key=lambda rival: len(rival.passages))]
    return Cause(
        kind=kind,
        support=_support(group, reliabilities),
        rivals=tuple(Rival(answer=rival.answer, support=_support(rival, reliabilities)) for rival in rivals),
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
    """Return whether all passages of a rejected position are older than the newest accepted one."""
    dated = bool(group.passages) and all(map(known_day, group.passages))
    return dated and any(is_later(other.newest, group.newest) for other in accepted)


def _kind(groups: Sequence[_Group], answer: Answer) -> ConflictKind:
    supported = [group for group in groups if group.passages]
    accepted = [group for group in supported if group.accepted]
    rejected = [group for group in supported if not group.accepted]
    if answer.abstained == "conflict":
        return "unresolved"
    if accepted and rejected:
        return "outdated" if all(_is_outdated(group, accepted) for group in rejected) else "misinformation"
    if len(accepted) > 1:
        return "ambiguity"
    return "unresolved" if len(rejected) > 1 else "none"


def _weight(group: _Group, reliabilities: Mapping[str, float]) -> float:
    """Return the votes for a group, weighted by reliability and declared authority."""
    heaviest: dict[str, float] = {}
    for passage in group.passages:
        vote = passage.source or passage.id
        heaviest[vote] = max(heaviest.get(vote, 0.0), weight_of(passage, reliabilities))
    return round(sum(heaviest.values()), 4)


def find_stating_sentences(text: str, answer: str) -> list[str]:
    """Return the sentences of a text that state an answer."""
    return [text[start:end] for start, end in sentences(text) if states(text[start:end], answer)]
