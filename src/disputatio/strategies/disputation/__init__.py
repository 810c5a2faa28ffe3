"""Read passages apart, weigh answers in code, debate the rest.

1. Isolate: a witness a passage, all in one batch (MADAM-RAG, Wang et al. 2025; RobustRAG, Xiang et al. 2024).
2. Resolve: answers become sides, each weighed by independent votes and reliability (RA-RAG, Hwang et al. 2024), by how
   its passages read, and by whether they look like altered copies (`standing`); then
   contradictions are told from namesakes (`resolve`). "Debate or Vote" (2508.17536) finds that votes over isolated
   answers do most of the work of a debate, so that is where it begins.
3. Believe: where several sides stand, what the model itself holds likely moves them, a little.
4. Debate: contradictions that this leaves open go to the sides' advocates, who plead with verified quotes.
5. Complete: a question that asks for several things is divided and each is disputed alone (RAGentA's components, Besrour et al.
   2025); what no side answers is looked for among passages not read yet, with an explanation as query (AC-RAG, Zhang et al. 2025).
6. Answer: cited claims, one an accepted side, named by its subject; what was rejected, and why; how many liars it survives.

Every step is an option, so that what each is worth can be measured: `bench/papers/disputation_ramdocs.py`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from disputatio.agents.choice import choose
from disputatio.agents.explainer import explained
from disputatio.agents.options import MaxTokens, PassageCount
from disputatio.agents.replies import parse_object, why_none
from disputatio.agents.single_prompt import recalled
from disputatio.attribution.alignment import statement, turned
from disputatio.attribution.citations import cite
from disputatio.counts import Certificate
from disputatio.errors import InputError, NoLogprobs, ReplyError
from disputatio.kit import Kit, chat
from disputatio.reliability.certificate import certify
from disputatio.reliability.source_weights import earned
from disputatio.strategies.disputation.extracting import Reader, read
from disputatio.strategies.disputation.hearing import MAX_TOKENS, believe, plead
from disputatio.strategies.disputation.resolve import (
    Expectation,
    Ruling,
    conflict_of_rulings,
    contested,
    expected,
    joined_conflict,
    resolve,
    subject_of,
)
from disputatio.strategies.disputation.standing import Side, voices, weigh
from disputatio.strategies.disputation.testimony import Testimony
from disputatio.text import one_line
from disputatio.types import Answer, Claim, Passage, Sampling
from disputatio.values import same_answer

PARTS_SYSTEM = """\
You divide a question into what it asks for. Reply with one JSON object: "parts": a list of short questions, one for each thing \
that is asked for, each of which can be understood alone; a single question when one thing is asked for.

Example. Question: When was the Elm Street Bridge in Dunmore opened, and who built it?
Reply: {"parts": ["When was the Elm Street Bridge in Dunmore opened?", "Who built the Elm Street Bridge in Dunmore?"]}"""

PARTS_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {"parts": {"type": "array", "items": {"type": "string"}, "maxItems": 4}},
    "required": ["parts"],
    "additionalProperties": False,
}

KNOWN_SYSTEM = """\
You judge what you know yourself. Reply with one word: Yes when you know the answer to the question for certain, No when you do not."""

SURE = -0.1  # log P(yes) from which the model is taken to know an answer: nine in ten
BELIEF = 40.0  # log-odds a nat by which the model prefers an answer,
DOUBT = 0.08  # beyond so many a rival: where it knows nothing of the matter, it prefers by as much as that
FOLLOW_K = 5  # passages that one follow-up brings
# A question that may ask for several things: a second question word after "and", or a second sentence.
_SEVERAL = re.compile(
    r"(?:\b(?:and|or)\b,?|;)\s+(?:\w+\s+){0,2}(?:who|whom|whose|what|when|where|which|why|how)\b|\?\s*\w",
    re.IGNORECASE,
)
_QUOTED = re.compile(r"[\"“][^\"”]*[\"”]")  # a title may ask what it likes


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the resolution goes by, and what is asked after it: the options, and what sources' votes weigh."""

    reader: Reader
    reliabilities: Mapping[str, float]
    without: tuple[str, ...]
    order: bool
    expect: Expectation
    belief: bool
    debate: int
    complete: int
    max_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SubQuestion:
    """One thing that is asked for: the testimonies on it, and the rulings on its sides."""

    question: str
    testimonies: tuple[Testimony, ...]
    rulings: tuple[Ruling, ...]
    rounds: int = 1

    @property
    def kept_sides(self) -> list[Side]:
        """The sides that were not rejected: their answers are part of the answer."""
        return [ruling.side for ruling in self.rulings if ruling.verdict != "rejected"]


def disputation(
    question: str,
    kit: Kit,
    *,
    k: PassageCount = None,
    reader: Annotated[
        Literal["auto", "llm", "encoder", "both"],
        "who reads passages: the language model, a trained encoder, or both",
    ] = "auto",
    copies: Annotated[bool, "take similarity to passages with other answers for a sign of alteration"] = True,
    order: Annotated[bool, "take the better-ranked of two similar passages for the original"] = False,
    standing: Annotated[bool, "weigh how the passages of an answer read, besides their votes"] = True,
    certainty: Annotated[bool, "weigh how certain the readers were, where the model tells"] = True,
    expect: Annotated[
        Expectation, "how many answers are right: one, several (of namesakes, of a list), or what shows"
    ] = "auto",
    belief: Annotated[bool, "where several answers stand, weigh which the model itself holds likely"] = True,
    debate: Annotated[int, "maximum rounds of debate over answers that the weights leave open"] = 1,
    complete: Annotated[int, "maximum rounds of looking for what is missing in passages not read yet"] = 1,
    precheck: Annotated[bool, "answer without retrieval what the model is sure to know"] = False,
    max_tokens: MaxTokens = MAX_TOKENS,
) -> Answer:
    """Read every passage alone, resolve the answers in code, debate what is left open, and look for what is missing.

    `reader`: `llm` asks the language model, `encoder` a trained reader of the kit, `both` the language model
    only where the encoder is not sure; `auto` is `encoder` where there is no language model, else `llm`.
    `copies` reads likeness to passages with other answers as a sign of alteration, `order` takes the better-ranked of
    two for the original; `standing` weighs how passages read, `certainty` how sure their readers
    were; `expect` says whether one answer is right or several may be, `auto` goes by what shows; `belief` asks the model's own where several answers
    stand. `debate` is the most rounds of pleading, `complete` of looking further (0 also leaves a question of several
    parts undivided); `precheck` answers without retrieval what the model is sure to know. Without a language
    model these steps, belief and debate are left out. Raises `LLMError` for
    faults, `InputError` for rounds below 0, `MissingPart` without the reader that is asked for.
    """
    if debate < 0 or complete < 0:
        raise InputError("disputation: debate and complete are numbers of rounds, 0 or more")
    if precheck and (known := _known(question, kit)) is not None:
        return known
    off = [] if copies else ["kinship", "resemblance"]
    off += [] if certainty and standing else ["certainty", "answered"]
    off += [] if standing else ["lead", "prose"]
    if not kit.has_model:
        complete = 0
    plan = Options(
        reader=reader if reader != "auto" else "llm" if kit.has_model else "encoder",
        reliabilities=earned(kit.sources),
        without=tuple(off),
        order=order,
        expect=expect,
        belief=belief,
        debate=debate,
        complete=complete,
        max_tokens=max_tokens,
    )
    asks_several = complete and _SEVERAL.search(_QUOTED.sub("", question))
    sub_questions = _parts(question, kit) if asks_several else [question]
    passages = {passage.id: passage for passage in kit.passages(question, k=k)}
    parts: list[SubQuestion] = []
    for sub_question in sub_questions:
        part = _disputed(sub_question, list(passages.values()), kit, plan)
        passages |= {testimony.passage.id: testimony.passage for testimony in part.testimonies}
        parts.append(part)
    return _answer(question, parts, plan)


def _disputed(question: str, passages: Sequence[Passage], kit: Kit, plan: Options) -> SubQuestion:
    """One thing that is asked for: read, ruled on, and looked for further where no side stands."""
    testimonies = read(question, passages, kit, plan.reader, max_tokens=plan.max_tokens)
    rulings = _ruled(question, testimonies, kit, plan)
    turn = 1
    while turn <= plan.complete and all(ruling.verdict == "rejected" for ruling in rulings):
        unread = _unread(question, [testimony.passage for testimony in testimonies], kit)
        if not unread:
            break
        turn += 1
        testimonies += read(question, unread, kit, plan.reader, turn=turn, max_tokens=plan.max_tokens)
        rulings = _ruled(question, testimonies, kit, plan)
    return SubQuestion(question=question, testimonies=tuple(testimonies), rulings=tuple(rulings), rounds=turn)


def _ruled(question: str, testimonies: Sequence[Testimony], kit: Kit, plan: Options) -> list[Ruling]:
    """The rulings on the sides of the testimonies, after belief and debate."""
    sides = weigh(question, testimonies, plan.reliabilities, without=plan.without, ranked=plan.order)
    expect = expected(question, plan.expect)
    rulings = resolve(question, sides, expect=expect)
    for ruling in rulings:
        kit.trace.note("side", **_standing(ruling))
    if plan.belief and _believed(question, rulings, kit):
        rulings = resolve(question, sides, expect=expect)
    for turn in range(plan.debate):
        if not contested(rulings) or not _debated(question, contested(rulings), kit, turn):
            break
        rulings = resolve(question, sides, expect=expect)
    kit.trace.note(
        "sides",
        question=question,
        sides=[
            {
                **_standing(ruling),
                "votes": ruling.side.votes,
                "features": ruling.side.features,
                "moved": ruling.side.moved,
            }
            for ruling in rulings
        ],
        verdicts=[ruling.verdict for ruling in rulings],
    )
    return rulings


def _standing(ruling: Ruling) -> dict[str, Any]:
    """How a side stands by now, for the trace."""
    side = ruling.side
    return {
        "answer": side.answer,
        "verdict": ruling.verdict,
        "subject": subject_of(side),
        "passages": [passage.id for passage in side.passages],
        "sources": list(dict.fromkeys(passage.source for passage in side.passages if passage.source)),
        "log_odds": round(side.log_odds, 3),
    }


def _believed(question: str, rulings: Sequence[Ruling], kit: Kit) -> bool:
    """Whether the sides that stand were moved by what the model itself prefers."""
    standing = [ruling.side for ruling in rulings if ruling.verdict != "rejected"]
    if len(standing) < 2:
        return False
    standing.sort(key=lambda side: side.log_odds, reverse=True)
    try:
        preferences = believe(question, [side.answer for side in standing], kit)
    except NoLogprobs as error:
        kit.trace.note("no_belief", reason=str(error))
        known = kit.beliefs.get(question, {})
        if any(side.answer not in known for side in standing):
            return False
        mean = sum(known[side.answer] for side in standing) / len(standing)
        preferences = [known[side.answer] - mean for side in standing]  # as if the others did not matter
    doubt = DOUBT * (len(standing) - 1)  # among more answers it strays further from their mean by chance
    for side, nats in zip(standing, preferences, strict=True):
        side.moved["belief"] = BELIEF * math.copysign(max(abs(nats) - doubt, 0.0), nats)
    kit.trace.note(
        "belief",
        question=question,
        nats={side.answer: round(nats, 3) for side, nats in zip(standing, preferences, strict=True)},
    )
    return True


def _debated(question: str, unsettled: Sequence[Ruling], kit: Kit, turn: int) -> bool:
    """One round: the advocates of the open sides read the quotes, and move their sides by keeping or yielding."""
    sides = [ruling.side for ruling in unsettled]
    try:
        pleas = plead(question, sides, [ruling.rivals for ruling in unsettled], kit)
    except NoLogprobs as error:
        kit.trace.note("no_debate", reason=str(error))
        return False
    mean = sum(pleas) / len(pleas)
    for side, nats in zip(sides, pleas, strict=True):
        side.moved["debate"] = side.moved.get("debate", 0.0) + nats - mean
    kit.trace.note(
        "debate",
        round=turn + 1,
        kept={side.answer: round(nats, 3) for side, nats in zip(sides, pleas, strict=True)},
    )
    return True


# --- what is missing -----------------------------------------------------------------------------
def _unread(question: str, read: Sequence[Passage], kit: Kit) -> list[Passage]:
    """Passages that an explanation of the question finds and that are not `read` yet; no call where none is left."""
    read_ids = tuple(sorted({passage.id for passage in read}))
    if not kit.search(question, k=1, exclude=read_ids):
        return []
    query = explained(one_line(question), kit, "resolver")
    unread = [hit.passage for hit in kit.search(query, k=FOLLOW_K, exclude=read_ids)]
    kit.trace.note("follow_up", question=question, query=query, passages=[passage.id for passage in unread])
    return unread


def _parts(question: str, kit: Kit) -> list[str]:
    """The things that a question asks for, each as a question; itself where it is one, or the reply cannot be used."""
    prompt = chat(PARTS_SYSTEM, f"Question: {one_line(question)}")
    (completion,) = kit.complete("detector", [prompt], Sampling(max_tokens=128, schema=PARTS_SCHEMA))
    try:
        parts = [one_line(part) for part in parse_object(completion, PARTS_SCHEMA)["parts"]]
    except ReplyError as error:
        kit.trace.note("fault", role="detector", reason=error.reason)
        return [question]
    distinct = [part for part in dict.fromkeys(parts) if part and not same_answer(part, question)]
    return distinct if len(distinct) > 1 else [question]


def _known(question: str, kit: Kit) -> Answer | None:
    """What the model answers without retrieval where it is sure to know; None where it is not, or tells no odds."""
    prompt = chat(KNOWN_SYSTEM, f"Question: {one_line(question)}")
    try:
        (choice,) = choose("detector", [prompt], ("Yes", "No"), kit)
    except NoLogprobs as error:
        kit.trace.note("no_precheck", reason=str(error))
        return None
    kit.trace.note("pre_check", logprobs=list(choice.logprobs), threshold=SURE)
    if choice.logprobs[0] < SURE:
        return None
    answers, explanation = recalled(question, kit)
    if not answers:
        return None
    return Answer(question=question, answers=answers, explanation=explanation, retrievals=0)


# --- the answer ----------------------------------------------------------------------------------
def _answer(question: str, parts: Sequence[SubQuestion], plan: Options) -> Answer:
    kept = [(part, side) for part in parts for side in part.kept_sides]
    testimonies = [testimony for part in parts for testimony in part.testimonies]
    replies = tuple(testimony.reply for testimony in testimonies)
    probabilities = [side.probability for _, side in kept]
    return Answer(
        question=question,
        answers=tuple(dict.fromkeys(side.answer for _, side in kept)),
        abstained=None if kept else why_none(replies),
        claims=tuple(_claim(part.question, side, alone=len(part.kept_sides) == 1) for part, side in kept),
        conflict=joined_conflict([conflict_of_rulings(part.rulings) for part in parts]),
        confidence=round(sum(probabilities) / len(kept), 4) if kept else None,
        certificate=_certificate(parts[0], plan) if len(parts) == 1 else None,
        passages=tuple({testimony.passage.id: testimony.passage for testimony in testimonies}.values()),
        replies=replies,
        rounds=max(part.rounds for part in parts),
    )


def _claim(question: str, side: Side, *, alone: bool) -> Claim:
    """A side as a cited claim that names what it is about."""
    replies = {testimony.passage.id: testimony.reply for testimony in side.testimonies}
    subject = subject_of(side)
    text = turned(question, side.answer) if alone else None
    if text is None:
        text = f"{subject}: {side.answer}" if subject else statement(question, side.answer)
    return Claim(text=one_line(text), citations=tuple(cite(side.answer, side.passages, replies)))


def _certificate(part: SubQuestion, plan: Options) -> Certificate | None:
    """How many liars the one answer survives against those that contradict it; None where votes did not decide.

    Passages that could not be read count against it. Votes did not decide where several answers or none are given, where passages name no source, or where votes were equal.
    """
    rulings = part.rulings
    unread = [testimony.passage for testimony in part.testimonies if testimony.reply.fault]
    accepted = [ruling for ruling in rulings if ruling.verdict == "accepted"]
    if len(accepted) != 1 or any(ruling.verdict == "unresolved" for ruling in rulings):
        return None
    winner, rivals = accepted[0].side, accepted[0].rivals
    named = all(passage.source for side in (winner, *rivals) for passage in side.passages)
    if not named or any(rival.votes >= winner.votes for rival in rivals):
        return None
    votes = [
        (choice, name, weight)
        for choice, side in enumerate((winner, *rivals))
        for name, weight in voices(side.passages, plan.reliabilities)
    ]
    choices, names, weights = zip(*votes, strict=True)
    opponents = [weight for _, weight in voices(unread, plan.reliabilities)]
    return certify(choices, weights, names, unread=opponents)
