"""Read passages apart, weigh answers in code, debate the rest.

1. Isolate: a witness a passage, all in one batch (MADAM-RAG, Wang et al. 2025; RobustRAG, Xiang et al. 2024).
2. Resolve: answers become sides, each weighed by independent votes and reliability (RA-RAG, Hwang et al. 2024), by how
   its passages read, and by whether they look like altered copies (`evidence.standing`); then
   contradictions are told from namesakes (`evidence.resolve`). "Debate or Vote" (2508.17536) finds that votes over isolated
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
from typing import Annotated, Any

from disputatio.agents.choice import choose
from disputatio.agents.explainer import explained
from disputatio.agents.options import MaxTokens, PassageCount
from disputatio.agents.replies import parse_object, why_none
from disputatio.agents.single_prompt import recalled
from disputatio.attribution.alignment import statement, turned
from disputatio.attribution.citations import cite
from disputatio.errors import InputError, NoLogprobs, ReplyError
from disputatio.kit import Kit, chat
from disputatio.reliability.certificate import certify
from disputatio.reliability.source_weights import earned
from disputatio.strategies.disputation.hearing import MAX_TOKENS, believe, plead, testify
from disputatio.strategies.disputation.resolve import (
    Ruling,
    conflict_of_rulings,
    contested,
    joined_conflict,
    resolve,
    subject_of,
)
from disputatio.strategies.disputation.standing import Side, voices, weigh
from disputatio.strategies.disputation.testimony import Testimony
from disputatio.text import one_line
from disputatio.types import Answer, Certificate, Claim, Passage, Sampling
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

    reliabilities: Mapping[str, float]
    without: tuple[str, ...]
    order: bool
    namesakes: bool
    belief: bool
    debate: int
    complete: int
    max_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SubQuestion:
    """One thing that is asked for: what was heard on it, and the rulings on its sides."""

    question: str
    heard: tuple[Testimony, ...]
    rulings: tuple[Ruling, ...]
    rounds: int = 1

    @property
    def given(self) -> list[Side]:
        """The sides whose answers are given."""
        return [one.side for one in self.rulings if one.verdict != "rejected"]


def disputation(
    question: str,
    kit: Kit,
    *,
    k: PassageCount = None,
    copies: Annotated[bool, "take similarity to passages with other answers for a sign of alteration"] = True,
    order: Annotated[bool, "take the better-ranked of two similar passages for the original"] = True,
    standing: Annotated[bool, "weigh how the passages of an answer read, besides their votes"] = True,
    certainty: Annotated[bool, "weigh how certain the readers were, where the model tells"] = True,
    namesakes: Annotated[bool, "let different things of the same name have answers of their own"] = True,
    belief: Annotated[bool, "where several answers stand, weigh which the model itself holds likely"] = True,
    debate: Annotated[int, "maximum rounds of debate over answers that the weights leave open"] = 1,
    complete: Annotated[int, "maximum rounds of looking for what is missing in passages not read yet"] = 1,
    precheck: Annotated[bool, "answer without retrieval what the model is sure to know"] = False,
    max_tokens: MaxTokens = MAX_TOKENS,
) -> Answer:
    """Hear every passage alone, resolve their answers in code, debate what is left open, and look for what is missing.

    `copies` reads likeness to passages with other answers as a sign of alteration, `order` takes the better-ranked of
    two for the original; `standing` weighs how passages read, `certainty` how sure their readers
    were; `namesakes` lets different things have their own answers; `belief` asks the model's own where several answers
    stand. `debate` is the most rounds of pleading, `complete` of looking further (0 also leaves a question of several
    parts undivided); `precheck` answers without retrieval what the model is sure to know. Raises `LLMError` for
    faults, `InputError` for rounds below 0.
    """
    if debate < 0 or complete < 0:
        raise InputError("disputation: debate and complete are numbers of rounds, 0 or more")
    if precheck and (known := _known(question, kit)) is not None:
        return known
    off = [] if copies else ["kinship", "resemblance"]
    off += [] if certainty and standing else ["certainty"]
    off += [] if standing else ["lead", "prose"]
    plan = Options(
        reliabilities=earned(kit.sources),
        without=tuple(off),
        order=order,
        namesakes=namesakes,
        belief=belief,
        debate=debate,
        complete=complete,
        max_tokens=max_tokens,
    )
    asked = _parts(question, kit) if complete and _SEVERAL.search(_QUOTED.sub("", question)) else [question]
    passages = kit.passages(question, k=k)
    parts: list[SubQuestion] = []
    for one in asked:
        seen = {each.passage.id: each.passage for part in parts for each in part.heard}
        parts.append(_disputed(one, list(({each.id: each for each in passages} | seen).values()), kit, plan))
    return _answer(question, parts, plan)


def _disputed(question: str, passages: Sequence[Passage], kit: Kit, plan: Options) -> SubQuestion:
    """One thing that is asked for: heard, ruled on, and looked for further where no side stands."""
    heard = testify(question, passages, kit, max_tokens=plan.max_tokens)
    rulings = _ruled(question, heard, kit, plan)
    turn = 1
    while turn <= plan.complete and all(one.verdict == "rejected" for one in rulings):
        new = _unread(question, [one.passage for one in heard], kit)
        if not new:
            break
        turn += 1
        heard += testify(question, new, kit, turn=turn, max_tokens=plan.max_tokens)
        rulings = _ruled(question, heard, kit, plan)
    return SubQuestion(question=question, heard=tuple(heard), rulings=tuple(rulings), rounds=turn)


def _ruled(question: str, heard: Sequence[Testimony], kit: Kit, plan: Options) -> list[Ruling]:
    """The rulings on what was testified, after belief and debate."""
    sides = weigh(question, heard, plan.reliabilities, without=plan.without, ranked=plan.order)
    rulings = resolve(question, sides, namesakes=plan.namesakes)
    for ruling in rulings:
        kit.trace.note("side", **_standing(ruling))
    if plan.belief and _believed(question, rulings, kit):
        rulings = resolve(question, sides, namesakes=plan.namesakes)
    for turn in range(plan.debate):
        if not contested(rulings) or not _debated(question, contested(rulings), kit, turn):
            break
        rulings = resolve(question, sides, namesakes=plan.namesakes)
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
    stand = [one.side for one in rulings if one.verdict != "rejected"]
    if len(stand) < 2:
        return False
    stand.sort(key=lambda one: one.log_odds, reverse=True)
    try:
        preferred = believe(question, [one.answer for one in stand], kit)
    except NoLogprobs as error:
        kit.trace.note("no_belief", reason=str(error))
        known = kit.beliefs.get(question, {})
        if any(side.answer not in known for side in stand):
            return False
        mean = sum(known[side.answer] for side in stand) / len(stand)
        preferred = [known[side.answer] - mean for side in stand]  # as if the others did not matter
    doubt = DOUBT * (len(stand) - 1)  # among more answers it strays further from their mean by chance
    for side, nats in zip(stand, preferred, strict=True):
        side.moved["belief"] = BELIEF * math.copysign(max(abs(nats) - doubt, 0.0), nats)
    kit.trace.note(
        "belief",
        question=question,
        nats={one.answer: round(nats, 3) for one, nats in zip(stand, preferred, strict=True)},
    )
    return True


def _debated(question: str, open_ones: Sequence[Ruling], kit: Kit, turn: int) -> bool:
    """One round: the advocates of the open sides plead, and a side moves by what its own says on the quotes."""
    speaking = [one.side for one in open_ones]
    try:
        kept = plead(question, speaking, [one.rivals for one in open_ones], kit)
    except NoLogprobs as error:
        kit.trace.note("no_debate", reason=str(error))
        return False
    mean = sum(kept) / len(kept)
    for side, nats in zip(speaking, kept, strict=True):
        side.moved["debate"] = side.moved.get("debate", 0.0) + nats - mean
    kit.trace.note(
        "debate",
        round=turn + 1,
        kept={one.answer: round(nats, 3) for one, nats in zip(speaking, kept, strict=True)},
    )
    return True


# --- what is missing -----------------------------------------------------------------------------
def _unread(question: str, seen: Sequence[Passage], kit: Kit) -> list[Passage]:
    """Passages that an explanation of the question finds and nobody has read; nothing is asked where none is left."""
    read = tuple(sorted({one.id for one in seen}))
    if not kit.search(question, k=1, exclude=read):
        return []
    query = explained(one_line(question), kit, "resolver")
    new = [hit.passage for hit in kit.search(query, k=FOLLOW_K, exclude=read)]
    kit.trace.note("follow_up", question=question, query=query, passages=[one.id for one in new])
    return new


def _parts(question: str, kit: Kit) -> list[str]:
    """The things that a question asks for, each as a question; itself where it is one, or the reply cannot be used."""
    prompt = chat(PARTS_SYSTEM, f"Question: {one_line(question)}")
    (word,) = kit.complete("detector", [prompt], Sampling(max_tokens=128, schema=PARTS_SCHEMA))
    try:
        parts = [one_line(one) for one in parse_object(word, PARTS_SCHEMA)["parts"]]
    except ReplyError as error:
        kit.trace.note("fault", role="detector", reason=error.reason)
        return [question]
    kept = [one for one in dict.fromkeys(parts) if one and not same_answer(one, question)]
    return kept if len(kept) > 1 else [question]


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
    answers, told = recalled(question, kit)
    if not answers:
        return None
    return Answer(question=question, answers=answers, explanation=told, retrievals=0)


# --- the answer ----------------------------------------------------------------------------------
def _answer(question: str, parts: Sequence[SubQuestion], plan: Options) -> Answer:
    given = [(part, side) for part in parts for side in part.given]
    heard = [one for part in parts for one in part.heard]
    replies = tuple(one.reply for one in heard)
    kept = [side.probability for _, side in given]
    return Answer(
        question=question,
        answers=tuple(dict.fromkeys(side.answer for _, side in given)),
        abstained=None if given else why_none(replies),
        claims=tuple(_claim(part.question, side, alone=len(part.given) == 1) for part, side in given),
        conflict=joined_conflict([conflict_of_rulings(part.rulings) for part in parts]),
        confidence=round(sum(kept) / len(kept), 4) if kept else None,
        certificate=_certificate(parts[0].rulings, plan) if len(parts) == 1 else None,
        passages=tuple({one.passage.id: one.passage for one in heard}.values()),
        replies=replies,
        rounds=max(part.rounds for part in parts),
    )


def _claim(question: str, side: Side, *, alone: bool) -> Claim:
    """A side as a cited claim that names what it is about."""
    replies = {one.passage.id: one.reply for one in side.testimonies}
    subject = subject_of(side)
    text = turned(question, side.answer) if alone else None
    if text is None:
        text = f"{subject}: {side.answer}" if subject else statement(question, side.answer)
    return Claim(text=one_line(text), citations=tuple(cite(side.answer, side.passages, replies)))


def _certificate(rulings: Sequence[Ruling], plan: Options) -> Certificate | None:
    """How many liars the one answer survives against those that contradict it; None where votes did not decide.

    That is where several answers or none are given, where passages name no source, or where votes were equal.
    """
    given = [one for one in rulings if one.verdict == "accepted"]
    if len(given) != 1 or any(one.verdict == "unresolved" for one in rulings):
        return None
    sides = [given[0].side, *given[0].rivals]
    named = all(one.source for side in sides for one in side.passages)
    if not named or any(side.votes >= given[0].side.votes for side in sides[1:]):
        return None
    cast = [
        (at, *voice) for at, side in enumerate(sides) for voice in voices(side.passages, plan.reliabilities)
    ]
    return certify(
        [at for at, _, _ in cast], [weight for _, _, weight in cast], [name for _, name, _ in cast]
    )
