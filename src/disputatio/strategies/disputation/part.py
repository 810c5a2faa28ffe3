"""One part of a question: read, weigh and resolve it, search further, and ask on where it is open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace

from disputatio.errors import NoLogprobs, TooLate
from disputatio.events import LookedWider, NoDebate, SideFormed, SidesWeighed
from disputatio.kit import Kit
from disputatio.strategies.disputation.answering import PartResult
from disputatio.strategies.disputation.changes import split_off_later
from disputatio.strategies.disputation.debate import move_by_belief, move_by_debate
from disputatio.strategies.disputation.details import Similarity, WiderSearch
from disputatio.strategies.disputation.joint_look import move_by_look, read_beside
from disputatio.strategies.disputation.namesakes import Sameness, set_apart
from disputatio.strategies.disputation.reading import PassageReading, Reader, read
from disputatio.strategies.disputation.resolve import (
    Expectation,
    ResolvedSide,
    expectation_of,
    find_disputed,
    is_open,
    resolve,
    set_later,
    subject_of,
)
from disputatio.strategies.disputation.searching import search_on, search_wider
from disputatio.strategies.disputation.sides import Side, sides_so_far, weigh
from disputatio.strategies.disputation.versions import find_versions
from disputatio.types import Passage
from disputatio.values import same_answer
from disputatio.versions.asked import of_today


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The options of one question, the weights of sources' votes, the similarity of passages, and which speak of one thing."""

    reader: Reader
    reliabilities: Mapping[str, float]
    without: tuple[str, ...]
    order: bool
    expect: Expectation
    namesakes: bool
    look: bool
    belief: bool
    debate: int
    complete: int
    wider: int
    max_tokens: int
    similarity: Similarity
    sameness: Sameness
    as_of: str
    today: str


def resolve_part(
    question: str, passages: Sequence[Passage], waiting: Sequence[Passage], kit: Kit, plan: Options
) -> PartResult:
    """Read, weigh and resolve one part of a question, search further, and ask on where it is open.

    Other versions of what is read first are `waiting` for these to answer.
    """
    part = _Part(question, waiting, kit, plan)
    part.read(passages)
    part.look(standing=False)
    part.follow_up()
    part.read_beside()
    looked = part.search_wider()
    if not any(each.side.moved for each in part.resolved):
        part.look(standing=True)
    beliefs = part.ask_on()
    _tell_sides(question, part.resolved, kit)
    today, later = _of_today(question, part.readings, part.resolved, plan)
    return PartResult(
        question=question,
        readings=tuple(part.readings),
        resolved=(*part.resolved, *later),
        decides=plan.expect != "auto",
        rounds=part.turn,
        looked=looked,
        beliefs=beliefs,
        look=part.reply,
        today=tuple(today),
    )


class _Part:
    """One part of a question: its readings so far, and the sides that they were resolved to."""

    def __init__(self, question: str, waiting: Sequence[Passage], kit: Kit, plan: Options) -> None:
        self.question, self.waiting, self.kit, self.plan = question, waiting, kit, plan
        self.expect = expectation_of(question, plan.expect)
        self.readings: list[PassageReading] = []
        self.resolved: list[ResolvedSide] = []
        self.told: dict[str, PassageReading] = {}  # by passage, the last of each
        self.turn = 1  # rounds of reading
        self.reply = ""  # to the last joint look

    def read(self, passages: Sequence[Passage]) -> list[PassageReading]:
        """Read passages, and other versions of those documents that answer; return the readings of the former."""
        added = self._read(passages)
        self.readings += added
        self._read_versions()
        self._weigh()
        return added

    def _read(self, passages: Sequence[Passage]) -> list[PassageReading]:
        reader, tokens = self.plan.reader, self.plan.max_tokens
        return read(
            self.question, passages, self.kit, reader, turn=self.turn, max_tokens=tokens, tell=self._tell
        )

    def _tell(self, reading: PassageReading) -> None:
        self.told[reading.passage.id] = reading
        if self.kit.trace.is_followed:
            self.kit.emit(sides_so_far(list(self.told.values())))

    def _read_versions(self) -> None:
        if other_versions := find_versions(self.question, self.readings, self.kit):
            self.readings += self._read(other_versions)

    def _weigh(self) -> None:
        """Group readings into sides, weigh and resolve these, tell namesakes apart, and report each."""
        self._resolve(_weigh(self.question, self.readings, self.plan))
        if self.plan.namesakes and self.plan.reader == "trained" and not self.kit.is_late:
            with suppress(NoLogprobs, TooLate):  # then they contradict each other, as without such a reader
                self._resolve(set_apart(self.question, self.resolved, self.plan.sameness, self.expect))
        for each in self.resolved:
            self.kit.emit(_side_formed(each))

    def _resolve(self, sides: Sequence[Side]) -> None:
        self.resolved = resolve(self.question, sides, expect=self.expect)

    def look(self, *, standing: bool) -> None:
        """Resolve again after a joint look: where something stands if `standing`, else where nothing does."""
        if not self.plan.look or self.kit.is_late or standing == _is_none_accepted(self.resolved):
            return
        try:
            sides, self.reply = move_by_look(self.question, self.resolved, self.kit, self.expect)
        except TooLate:
            return
        self._resolve(sides)

    def follow_up(self) -> None:
        """Read what a search in other words finds, as long as nothing stands."""
        while self.turn <= self.plan.complete and not self.kit.is_late and _is_none_accepted(self.resolved):
            known = [*self._ids(), *(each.id for each in self.waiting)]
            try:
                more = search_on(self.question, known, self.kit)
            except TooLate:
                return
            if not more:
                return
            self.turn += 1
            self.read(more)
            self.look(standing=False)

    def read_beside(self) -> None:
        """Put a reading in the place of an unsure refusal, where beside what stands there is one."""
        if not self.plan.look or self.kit.is_late:
            return
        try:
            again = read_beside(self.question, self.resolved, self.readings, self.kit)
        except TooLate:
            return
        if any(new is not old for new, old in zip(again, self.readings, strict=True)):
            self.readings = again
            self._read_versions()
            self._weigh()

    def search_wider(self) -> WiderSearch | None:
        """Read more that bears on a contradiction; return what was found, None where there is none."""
        disputed = find_disputed(self.resolved)
        if not self.plan.wider or self.kit.is_late or not disputed:
            return None
        more, searches = search_wider(self.question, disputed, self._ids(), self.kit, self.plan.wider)
        looked = WiderSearch(searches=searches, read=len(more), answered=0)
        if more:
            self.turn += 1
            before = _find_accepted(self.resolved)
            added = self.read(more)
            looked = replace(
                looked,
                answered=sum(bool(reading.answer) for reading in added),
                changed=_find_accepted(self.resolved) != before,
            )
        found = [passage.id for passage in more]
        self.kit.emit(LookedWider(question=self.question, passages=found, **asdict(looked)))
        return looked

    def ask_on(self) -> dict[str, float]:
        """Resolve what is open by belief and debate; return the nats of the belief by answer.

        What the deadline leaves of these is left out.
        """
        beliefs: dict[str, float] = {}
        try:
            if self.plan.belief and not self.kit.is_late:
                sides, beliefs = move_by_belief(self.question, self.resolved, self.kit, self.expect)
                if beliefs:
                    self._resolve(sides)
            for turn in range(0 if self.kit.is_late else self.plan.debate):
                moved = move_by_debate(self.question, self.resolved, self.kit, turn)
                if moved is None:
                    break
                self._resolve(moved)
        except TooLate as error:
            self.kit.emit(NoDebate(reason=str(error)))
        return beliefs

    def _ids(self) -> list[str]:
        return [reading.passage.id for reading in self.readings]


def _of_today(
    question: str, readings: Sequence[PassageReading], resolved: Sequence[ResolvedSide], plan: Options
) -> tuple[list[ResolvedSide], list[ResolvedSide]]:
    """Return what holds today where another day is asked for, and the sides that are later than that day."""
    later = split_off_later(question, readings, plan.as_of)[1]
    if not any(reading.answer for reading in later):
        return [], []
    now, new = replace(plan, as_of=""), {reading.passage.id for reading in later}
    asked = of_today(question)
    every = resolve(asked, _weigh(asked, readings, now, of_today=True), expect=plan.expect)
    holding = [each for each in every if each.verdict == "accepted"] or list(filter(is_open, every))
    is_new = any(passage.id in new for each in holding for passage in each.side.passages)
    known = [each.side.answer for each in resolved]
    sides = _weigh(question, later, now, of_today=True)
    return holding if is_new else [], [
        set_later(side) for side in sides if not any(same_answer(side.answer, a) for a in known)
    ]


def _is_none_accepted(resolved: Sequence[ResolvedSide]) -> bool:
    """Return whether no document gives an answer that stands; what a conversation alone says is none."""
    return all(each.verdict == "rejected" or each.side.is_talk for each in resolved)


def _find_accepted(resolved: Sequence[ResolvedSide]) -> list[str]:
    return sorted(each.side.answer for each in resolved if each.verdict == "accepted")


def _weigh(
    question: str, readings: Sequence[PassageReading], plan: Options, *, of_today: bool = False
) -> list[Side]:
    """Weigh the readings that count for the day that is asked for, or all, as of today."""
    kept = list(readings) if of_today else split_off_later(question, readings, plan.as_of)[0]
    is_list = expectation_of(question, plan.expect) == "several"
    return weigh(
        question,
        kept,
        plan.reliabilities,
        without=(*plan.without, *(("ground",) if is_list else ())),
        ranked=plan.order,
        alike=plan.similarity,
        day=plan.as_of or plan.today,
    )


def _tell_sides(question: str, resolved: Sequence[ResolvedSide], kit: Kit) -> None:
    """Report the sides as they stand at the end."""
    formed = [_side_formed(each) for each in resolved]
    for event in formed:
        kit.emit(event)
    weighed = [
        {
            **asdict(event),
            "votes": each.side.votes,
            "accounts": each.side.accounts,
            "contest_score": each.side.contest_score,
            "features": dict(each.side.features),
            "moved": dict(each.side.moved),
        }
        for event, each in zip(formed, resolved, strict=True)
    ]
    kit.emit(SidesWeighed(question=question, sides=weighed, verdicts=[each.verdict for each in resolved]))


def _side_formed(resolved: ResolvedSide) -> SideFormed:
    """Report a side with its verdict so far."""
    side = resolved.side
    return SideFormed(
        answer=side.answer,
        verdict=resolved.verdict,
        subject=subject_of(side),
        passages=tuple(passage.id for passage in side.passages),
        sources=tuple(dict.fromkeys(passage.source for passage in side.passages if passage.source)),
        log_odds=round(side.log_odds, 3),
    )
