"""Read passages apart, weigh answers in code, debate the rest.

1. Read: an agent a passage, all in one batch (MADAM-RAG, Wang et al. 2025; RobustRAG, Xiang et al. 2024): `reading`.
2. Group: answers become sides, each weighed by independent votes and reliability (RA-RAG, Hwang et al. 2024), by how
   its passages read, and by whether they look like altered copies: `sides`.
3. Resolve: contradictions are told from namesakes, and the side with more independent accounts wins: `resolve`. "Debate
   or Vote" (2508.17536) finds that votes over isolated answers do most of the work of a debate, so they come first.
4. Search wider: where a contradiction is open or its lead short, unread passages are searched for with the question and
   with every answer alike; what no side answers is searched for with an explanation as query (AC-RAG, Zhang et al. 2025).
5. Compare: the model sees the best quote of every side at once, and the one that it answers with gains; what a trained
   reader declined without being sure is read again beside the quotes of what stands: `joint_look`.
6. Ask on: where the lead is short, the model's own belief is a weak vote, also on sides that read too badly to stand (a
   planted text reads better than a true one); then one agent for each open answer debates with verified quotes: `debate`.
7. Answer: a cited claim for each accepted side, the rejected ones with their causes, and how many liars the answer
   survives: `answering`.

A question that asks for several things is divided first, and each is resolved alone (RAGentA's components, Besrour et al.
2025). Every step is an option, so that what each is worth can be measured.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import zip_longest
from typing import Annotated, Any, Literal

from disputatio.agents.choice import choose
from disputatio.agents.explainer import explain_term
from disputatio.agents.options import MaxTokens, PassageCount
from disputatio.agents.replies import TEXT, list_of, object_of, parse_object
from disputatio.agents.single_prompt import recall_answers
from disputatio.agents.translator import other_languages, translate
from disputatio.errors import InputError, NoLogprobs, ReplyError, TooLate
from disputatio.events import (
    AgentFault,
    FollowedUp,
    LookedWider,
    NoDebate,
    NoPrecheck,
    PreCheck,
    SideFormed,
    SidesWeighed,
)
from disputatio.kit import TRAINED_READER, Kit, chat
from disputatio.reliability.source_weights import vote_weights
from disputatio.strategies.disputation.answering import PartResult, compose_answer
from disputatio.strategies.disputation.changes import answer_changes, split_off_later
from disputatio.strategies.disputation.debate import move_by_belief, move_by_debate
from disputatio.strategies.disputation.details import Record, Similarity, WiderSearch
from disputatio.strategies.disputation.joint_look import move_by_look, read_beside
from disputatio.strategies.disputation.reading import HOPELESS, MAX_TOKENS, PassageReading, Reader, read
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
from disputatio.strategies.disputation.sides import Side, sides_so_far, weigh
from disputatio.strategies.disputation.versions import find_versions, search_sections
from disputatio.strategies.disputation.yes_no import asks_yes_or_no
from disputatio.text import one_line
from disputatio.types import Answer, Basis, Passage, Sampling
from disputatio.values import same_answer
from disputatio.versions.asked import of_today
from disputatio.versions.dates import iso_day

NEEDS_MODEL = False  # without one the encoder reads
# An answer that is less likely to be right is withheld. Chosen on 240 questions about three folders, where one in five
# of those below it was right (`bench/results/documents/least_confidence.md`).
LEAST_CONFIDENCE = 0.3
PARTS_SYSTEM = """\
You divide a question into what it asks for. Reply with one JSON object: "parts": a list of short questions, one for each thing \
that is asked for, each of which can be understood alone; a single question when one thing is asked for.

Example. Question: When was the Elm Street Bridge in Dunmore opened, and who built it?
Reply: {"parts": ["When was the Elm Street Bridge in Dunmore opened?", "Who built the Elm Street Bridge in Dunmore?"]}"""

PARTS_SCHEMA: Mapping[str, Any] = object_of(parts=list_of(TEXT, most=4))

KNOWN_SYSTEM = """\
You judge what you know yourself. Reply with one word: Yes when you know the answer to the question for certain, No when you do not."""

FOLLOW_K = 5  # passages that one follow-up brings
DEEP = 100  # passages among which other languages are looked for
OTHERS = 2  # other languages that are searched
WIDE_K = 20  # passages that one search beyond the first ones brings
CANDIDATES = 4  # answers that are searched for with the question
SURE = -0.1  # log P(yes) from which the model is taken to know an answer: nine in ten
# A question that may ask for several things: a second question word after "and", or a second sentence.
_SEVERAL = re.compile(
    r"(?:\b(?:and|or)\b,?|;)\s+(?:\w+\s+){0,2}(?:who|whom|whose|what|when|where|which|why|how)\b|\?\s*\w",
    re.IGNORECASE,
)
_QUOTED = re.compile(r"[\"“][^\"”]*[\"”]")  # a title may ask what it likes


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The options of one question, the weights of sources' votes, and the similarity of passages."""

    reader: Reader
    reliabilities: Mapping[str, float]
    without: tuple[str, ...]
    order: bool
    expect: Expectation
    look: bool
    belief: bool
    debate: int
    complete: int
    wider: int
    max_tokens: int
    similarity: Similarity
    as_of: str
    today: str


def disputation(
    question: str,
    kit: Kit,
    *,
    k: PassageCount = None,
    reader: Annotated[
        Literal["auto", "llm", "trained", "encoder", "both"],
        "who reads passages: the language model, one that was trained to read, an encoder, or both",
    ] = "auto",
    copies: Annotated[bool, "take similarity to passages with other answers for a sign of alteration"] = True,
    order: Annotated[bool, "take the better-ranked of two similar passages for the original"] = False,
    standing: Annotated[bool, "weigh how the passages of an answer read, besides their votes"] = True,
    certainty: Annotated[bool, "weigh how certain the readers were, where the model tells"] = True,
    expect: Annotated[
        Expectation, "how many answers are right: one, several (of namesakes, of a list), or auto"
    ] = "auto",
    look: Annotated[
        bool, "show the model the quotes of all answers at once, and weigh which it gives"
    ] = True,
    belief: Annotated[
        bool, "where no answer clearly leads, weigh which the model itself holds likely"
    ] = True,
    debate: Annotated[int, "maximum rounds of debate over answers that the weights leave open"] = 1,
    complete: Annotated[int, "maximum rounds of looking for what is missing in passages not read yet"] = 1,
    wider: Annotated[
        int, "maximum passages to read beyond those where a contradiction is open or narrow"
    ] = 10,
    precheck: Annotated[bool, "answer without retrieval what the model is sure to know"] = False,
    as_of: Annotated[str, "the day whose answer is asked for, such as 2021 or 2021-05-30"] = "",
    max_tokens: MaxTokens = MAX_TOKENS,
) -> Answer:
    """Read every passage alone, resolve the answers in code, debate what is left open, search for what is missing.

    `reader`: `llm` asks the language model, `trained` that of the role `trained_reader`, with prompts of half the
    length, `encoder` an encoder of the kit, `both` the language model only where the encoder is not
    sure; `auto` is `trained` where that role is cast, as it is for the default model, `encoder` without a language
    model, else `llm`.
    `copies` takes similarity to passages with other answers as a sign of alteration, `order` takes the
    better-ranked of two for the original; `standing` weighs how passages read, `certainty` how sure their
    readers were. `expect` is how many answers are right; `auto` decides from the question and passages. `look` shows the model
    the quotes of all answers at once, and weighs which it gives; unsure refusals of a trained reader are read again so. `belief` asks the model's
    own where answers contradict each other and neither a lead of two accounts, nor known sources, nor dates
    decide. `debate` is the most rounds of debate, `complete` of searching further (0 also leaves a question of
    several parts undivided), `wider` the most passages to read beyond the first where answers contradict each
    other and none leads by two independent accounts; `precheck` answers without retrieval what the model is
    sure to know. `as_of` leaves out what is later than a day, and gives what holds today beside it. Without a language model these steps, belief and debate are left out. Raises `LLMError` for
    faults, `InputError` for rounds below 0, `MissingPart` without the reader that is asked for.
    """
    if debate < 0 or complete < 0 or wider < 0:
        raise InputError(
            "disputation: debate and complete are numbers of rounds, wider of passages, 0 or more"
        )
    if as_of and not iso_day(as_of):
        raise InputError(f"as_of: {as_of[:40]!r} is not a date; write 2021, 2021-05 or 2021-05-31")
    if precheck and (known := _answer_from_memory(question, kit)) is not None:
        return known
    if (changes := answer_changes(question, kit)) is not None:
        return changes
    off = [] if copies else ["kinship", "resemblance"]
    off += [] if certainty and standing else ["certainty", "answered"]
    off += [] if standing else ["lead", "prose"]
    if not kit.has_model:
        complete = 0
    plan = Options(
        reader=_chosen_reader(kit) if reader == "auto" else reader,
        reliabilities=vote_weights(kit.sources),
        without=tuple(off),
        order=order,
        expect=expect,
        look=look and kit.has_model,
        belief=belief,
        debate=debate,
        complete=complete,
        wider=wider,
        max_tokens=max_tokens,
        similarity=Similarity(kit),
        as_of=iso_day(as_of),
        today=str(kit.recorded.get("today") or kit.today),
    )
    sections = search_sections(question, kit, k, as_of=as_of)
    passages = {passage.id: passage for passage in sections.first}
    asks_several = complete and _SEVERAL.search(_QUOTED.sub("", question))
    sub_questions = _divide(question, kit) if asks_several else [question]
    parts: list[PartResult] = []
    for sub_question in sub_questions:
        part = _resolve_part(
            sub_question, list(passages.values()), sections.waiting, kit, _plan_of(sub_question, plan)
        )
        passages |= {reading.passage.id: reading.passage for reading in part.readings}
        parts.append(part)
    record = Record(
        beliefs={part.question: part.beliefs for part in parts if part.beliefs},
        looks={part.question: part.look for part in parts if part.look},
        similarities=plan.similarity.known,
        today=plan.today if any(map(_has_days, passages.values())) else "",
        reader=plan.reader,
        late=[each.passage.id for part in parts for each in part.readings if each.late]
        if kit.is_late
        else None,
        **sections.to_record(),
    )
    answer = compose_answer(question, parts, plan.reliabilities)
    return replace(answer, basis=Basis(details=record.to_details()))


def _plan_of(question: str, plan: Options) -> Options:
    """Return the options for one part of a question: a look copies from quotes, which says neither yes nor no."""
    is_decided = plan.reader == "trained" and asks_yes_or_no(question)
    return replace(plan, look=False) if is_decided else plan


def _chosen_reader(kit: Kit) -> Reader:
    """Return who reads where nobody chose: who read before, for an answer that is decided again."""
    if not kit.has_model:
        return "encoder"
    if kit.recorded:
        return Record.from_details(kit.recorded).reader or "llm"
    return "trained" if TRAINED_READER in kit.roles else "llm"


def _has_days(passage: Passage) -> bool:
    """Return whether a document says from when or until when it is in force."""
    return any(relation.kind in ("effective", "expires") for relation in passage.relations)


def _resolve_part(
    question: str, passages: Sequence[Passage], waiting: Sequence[Passage], kit: Kit, plan: Options
) -> PartResult:
    """Read, weigh and resolve one part of a question, search further, and ask on where it is open.

    Other versions of what is read first are `waiting` for these to answer.
    """
    told: list[PassageReading] = []

    def tell(reading: PassageReading) -> None:
        told.append(reading)
        if kit.trace.is_followed:
            kit.emit(sides_so_far(told))

    read_these = partial(read, question, kit=kit, reader=plan.reader, max_tokens=plan.max_tokens, tell=tell)
    readings: list[PassageReading] = []

    def read_more(passages: Sequence[Passage], turn: int = 1) -> list[PassageReading]:
        """Read passages, and other versions of those documents that answer; return the readings of the former."""
        added = read_these(passages, turn=turn)
        readings.extend(added)
        read_versions(turn)
        return added

    def read_versions(turn: int) -> None:
        if other_versions := find_versions(question, readings, kit):
            readings.extend(read_these(other_versions, turn=turn))

    read_more(passages)
    looks: list[str] = []
    look = partial(_look, question, kit=kit, plan=plan, replies=looks)
    resolved = look(_weigh_and_resolve(question, readings, kit, plan), standing=False)
    turn = 1
    while turn <= plan.complete and not kit.is_late and _is_none_accepted(resolved):
        try:
            more = _follow_up(question, [*_ids(readings), *(each.id for each in waiting)], kit)
        except TooLate:
            break
        if not more:
            break
        turn += 1
        read_more(more, turn)
        resolved = look(_weigh_and_resolve(question, readings, kit, plan), standing=False)
    if plan.look and not kit.is_late and _read_beside(question, resolved, readings, kit):
        read_versions(turn)
        resolved = _weigh_and_resolve(question, readings, kit, plan)
    looked = None
    if plan.wider and not kit.is_late and (disputed := find_disputed(resolved)):
        more, searches = _search_wider(question, disputed, _ids(readings), kit, plan.wider)
        looked = WiderSearch(searches=searches, read=len(more), answered=0)
        if more:
            turn += 1
            added = read_more(more, turn)
            before, resolved = _find_accepted(resolved), _weigh_and_resolve(question, readings, kit, plan)
            looked = replace(
                looked,
                answered=sum(bool(reading.answer) for reading in added),
                changed=_find_accepted(resolved) != before,
            )
        kit.emit(LookedWider(question=question, passages=[passage.id for passage in more], **asdict(looked)))
    if not any(each.side.moved for each in resolved):
        resolved = look(resolved, standing=True)
    resolved, beliefs = _ask_on(question, resolved, kit, plan)
    _tell_sides(question, resolved, kit)
    today, later = _of_today(question, readings, resolved, plan)
    resolved += later
    return PartResult(
        question=question,
        readings=tuple(readings),
        resolved=tuple(resolved),
        decides=plan.expect != "auto",
        rounds=turn,
        looked=looked,
        beliefs=beliefs,
        look=looks[-1] if looks else "",
        today=tuple(today),
    )


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


def _look(
    question: str,
    resolved: list[ResolvedSide],
    kit: Kit,
    plan: Options,
    replies: list[str],
    *,
    standing: bool,
) -> list[ResolvedSide]:
    """Resolve again after a joint look, whose reply is added to `replies`; as before where none was taken.

    It is taken where something stands if `standing`, else where nothing does.
    """
    expect = expectation_of(question, plan.expect)
    if not plan.look or kit.is_late or standing == _is_none_accepted(resolved):
        return resolved
    try:
        sides, reply = move_by_look(question, resolved, kit, expect)
    except TooLate:
        return resolved
    replies.append(reply)
    return resolve(question, sides, expect=expect)


def _read_beside(
    question: str, resolved: Sequence[ResolvedSide], readings: list[PassageReading], kit: Kit
) -> bool:
    """Put one reading in the place of an unsure refusal, where beside what stands there is one; return whether."""
    try:
        again = read_beside(question, resolved, readings, kit)
    except TooLate:
        return False
    before, readings[:] = list(readings), again
    return any(new is not old for new, old in zip(readings, before, strict=True))


def _ids(readings: Sequence[PassageReading]) -> list[str]:
    return [reading.passage.id for reading in readings]


def _find_accepted(resolved: Sequence[ResolvedSide]) -> list[str]:
    return sorted(each.side.answer for each in resolved if each.verdict == "accepted")


def _weigh_and_resolve(
    question: str, readings: Sequence[PassageReading], kit: Kit, plan: Options
) -> list[ResolvedSide]:
    """Group readings into sides, weigh and resolve these, and report each."""
    sides = _weigh(question, readings, plan)
    resolved = resolve(question, sides, expect=expectation_of(question, plan.expect))
    for each in resolved:
        kit.emit(_side_formed(each))
    return resolved


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


def _ask_on(
    question: str, resolved: list[ResolvedSide], kit: Kit, plan: Options
) -> tuple[list[ResolvedSide], dict[str, float]]:
    """Resolve what is open by belief and debate; returns also the nats of the belief by answer.

    What the deadline leaves of these is left out.
    """
    beliefs: dict[str, float] = {}
    expect = expectation_of(question, plan.expect)
    try:
        if plan.belief and not kit.is_late:
            sides, beliefs = move_by_belief(question, resolved, kit, expect)
            resolved = resolve(question, sides, expect=expect) if beliefs else resolved
        for turn in range(0 if kit.is_late else plan.debate):
            moved = move_by_debate(question, resolved, kit, turn)
            if moved is None:
                break
            resolved = resolve(question, moved, expect=expect)
    except TooLate as error:
        kit.emit(NoDebate(reason=str(error)))
    return resolved, beliefs


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


# --- searching further ----------------------------------------------------------------------------
def _follow_up(question: str, read_ids: Collection[str], kit: Kit) -> list[Passage]:
    """Return unread passages that the question finds in the other languages of the index, else its explanation.

    Asks nothing if no passage is left.
    """
    known = tuple(sorted(read_ids))
    nearest = [hit.passage.text for hit in kit.search(question, k=DEEP, exclude=known)]
    if not nearest:
        return []
    queries = [
        translate(question, each, kit, "resolver") for each in other_languages(question, nearest)[:OTHERS]
    ]
    found: dict[str, Passage] = {}
    for query in queries or [explain_term(one_line(question), kit, "resolver")]:
        passages = [hit.passage for hit in kit.search(query, k=FOLLOW_K, exclude=known)]
        kit.emit(FollowedUp(question=question, query=query, passages=[passage.id for passage in passages]))
        found |= {passage.id: passage for passage in passages}
    return list(found.values())


def _search_wider(
    question: str, disputed: Sequence[ResolvedSide], read_ids: Collection[str], kit: Kit, most: int
) -> tuple[list[Passage], int]:
    """Return at most so many unread passages that bear on a contradiction, and the number of searches.

    The question is searched again, and the question with each answer, the same number of passages for every
    one, so that no answer is favoured.
    """
    known = tuple(sorted(read_ids))
    first = [hit.passage for hit in kit.search(question, k=WIDE_K, exclude=known)]
    if not first:
        return [], 1
    strongest = sorted(disputed, key=lambda each: each.side.log_odds, reverse=True)[:CANDIDATES]
    queries = [f"{one_line(question)} {one_line(each.side.answer)}" for each in strongest]
    searches = [
        first,
        *([hit.passage for hit in kit.search(query, k=WIDE_K, exclude=known)] for query in queries),
    ]
    distinct = {
        passage.id: passage for rank in zip_longest(*searches) for passage in rank if passage is not None
    }
    return _drop_hopeless(question, list(distinct.values()), kit)[:most], 1 + len(queries)


def _drop_hopeless(question: str, passages: Sequence[Passage], kit: Kit) -> list[Passage]:
    """Return the passages that may answer by the trained encoder; all if there is none."""
    if kit.reader is None:
        return list(passages)
    extractions = kit.extract(question, passages)
    return [
        passage
        for passage, extraction in zip(passages, extractions, strict=True)
        if extraction.probability >= HOPELESS
    ]


# --- before retrieval -----------------------------------------------------------------------------
def _divide(question: str, kit: Kit) -> list[str]:
    """Divide a question into one for each thing it asks for; itself if it is one, or the reply is unusable."""
    prompt = chat(PARTS_SYSTEM, f"Question: {one_line(question)}")
    try:
        (completion,) = kit.complete("detector", [prompt], Sampling(max_tokens=128, schema=PARTS_SCHEMA))
        parts = [one_line(part) for part in parse_object(completion, PARTS_SCHEMA)["parts"]]
    except ReplyError as error:
        kit.emit(AgentFault(role="detector", reason=error.reason))
        return [question]
    except TooLate:
        return [question]
    distinct = [part for part in dict.fromkeys(parts) if part and not same_answer(part, question)]
    return distinct if len(distinct) > 1 else [question]


def _answer_from_memory(question: str, kit: Kit) -> Answer | None:
    """Answer without retrieval if the model is sure to know; None if it is not, or gives no log-probabilities."""
    prompt = chat(KNOWN_SYSTEM, f"Question: {one_line(question)}")
    try:
        (choice,) = choose("detector", [prompt], ("Yes", "No"), kit)
    except NoLogprobs as error:
        kit.emit(NoPrecheck(reason=str(error)))
        return None
    kit.emit(PreCheck(logprobs=choice.logprobs, threshold=SURE))
    if choice.logprobs[0] < SURE:
        return None
    answers, explanation = recall_answers(question, kit)
    if not answers:
        return None
    return Answer(question=question, answers=answers, explanation=explanation, retrievals=0)
