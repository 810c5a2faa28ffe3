"""The disputation: every passage is heard alone, code weighs what they say, and models argue only over what is left.

1. Isolate: a witness a passage, all in one batch (MADAM-RAG, Wang et al. 2025; RobustRAG, Xiang et al. 2024).
2. Resolve: answers become sides, each weighed by independent votes and reliability (RA-RAG, Hwang et al. 2024), by how
   its passages read, and by whether they look like altered copies (`evidence.standing`); then
   contradictions are told from namesakes (`evidence.resolve`). "Debate or Vote" (2508.17536) finds that votes over isolated
   answers do most of the work of a debate, so that is where it begins.
3. Believe: where several sides stand, what the model itself holds likely moves them, a little.
4. Debate: contradictions that this leaves open go to the sides' advocates, who plead with verified quotes.
5. Complete: what nothing answers is looked for among passages not read yet, with an explanation as query (AC-RAG, Zhang
   et al. 2025) and by the parts of the question that are open (RAGentA, Besrour et al. 2025).
6. Answer: cited claims, one an accepted side, named by its subject; what was rejected, and why; how many liars it survives.

Every step is an option, so that what each is worth can be measured: `bench/disputation_ramdocs.py`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from disputatio.agents import explained, parse_object, recalled, why_none
from disputatio.errors import NoLogprobs, ReplyError
from disputatio.evidence.alignment import statement, turned
from disputatio.evidence.certificate import certify
from disputatio.evidence.citations import cite
from disputatio.evidence.likeness import content_stems, independent
from disputatio.evidence.resolve import (
    Ruling,
    conflict_of_rulings,
    contested,
    earned,
    resolve,
    strength,
    subject_of,
)
from disputatio.evidence.standing import Side, weigh
from disputatio.evidence.testimony import Testimony
from disputatio.hearing import MAX_TOKENS, believe, plead, testify
from disputatio.kit import Kit, chat
from disputatio.text import normalise, one_line, stem
from disputatio.types import Answer, Certificate, Claim, Passage, Sampling

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
BELIEF = 10.0  # log-odds a nat by which the model prefers an answer,
DOUBT = 0.1  # beyond so many: where it knows nothing of the matter, it prefers by as much as that
FOLLOW_K = 5  # passages that one follow-up question brings
_JOINS = frozenset(["and", "or", "also", "then"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """What the resolution goes by: the sources' votes, and the features that are left out."""

    reliabilities: Mapping[str, float]
    without: tuple[str, ...]
    order: bool
    namesakes: bool


def disputation(
    question: str,
    kit: Kit,
    *,
    k: int | None = None,
    copies: bool = True,
    order: bool = True,
    standing: bool = True,
    certainty: bool = True,
    namesakes: bool = True,
    belief: bool = True,
    debate: int = 1,
    complete: int = 1,
    precheck: bool = False,
    max_tokens: int = MAX_TOKENS,
) -> Answer:
    """Hear every passage alone, resolve their answers in code, debate what is left open, and look for what is missing.

    `copies` reads likeness to passages with other answers as a sign of alteration, `order` takes the better-ranked of
    two for the original; `standing` weighs how passages read, `certainty` how sure their readers
    were; `namesakes` lets different things have their own answers; `belief` asks the model's own where several answers
    stand. `debate` is the most rounds of pleading, `complete` of looking further; `precheck` answers without
    retrieval what the model is sure to know. Raises `LLMError` for faults.
    """
    if precheck and (known := _known(question, kit)) is not None:
        return known
    without = [
        name
        for name, kept in (("kinship", copies), ("resemblance", copies), ("certainty", certainty))
        if not kept
    ]
    without += [] if standing else ["lead", "prose", "certainty"]
    weights = Weights(
        reliabilities=earned(kit.sources), without=tuple(without), order=order, namesakes=namesakes
    )
    passages = kit.passages(question, k=k)
    heard = testify(question, passages, kit, max_tokens=max_tokens)
    rulings = _ruled(question, heard, kit, weights, belief=belief, debate=debate)
    turn = 0
    while turn < complete:
        seen = [one.passage for one in heard]
        gaps = _gaps(question, rulings, seen, kit)
        if not gaps:
            break
        turn += 1
        for gap, found in gaps.items():
            later = testify(gap, found, kit, turn=turn + 1, max_tokens=max_tokens)
            heard += later
            again = later if gap != question else heard
            new = _ruled(gap, again, kit, weights, belief=belief, debate=debate)
            rulings = new if gap == question else [*rulings, *new]
    return _answer(question, rulings, heard, weights, rounds=turn + 1)


def _ruled(
    question: str, heard: Sequence[Testimony], kit: Kit, weights: Weights, *, belief: bool, debate: int
) -> list[Ruling]:
    """The rulings on what was testified, after belief and debate."""
    sides = weigh(question, heard, weights.reliabilities, without=weights.without, ranked=weights.order)
    rulings = resolve(question, sides, namesakes=weights.namesakes)
    if belief:
        rulings = _believed(question, sides, rulings, kit, weights)
    for turn in range(debate):
        open_ones = contested(rulings)
        if not open_ones:
            break
        rulings = _debated(question, sides, open_ones, kit, weights, turn)
    kit.trace.note(
        "sides",
        question=question,
        sides=[
            {"answer": one.answer, "log_odds": round(one.log_odds, 3), "votes": one.votes, **one.features}
            for one in sides
        ],
        verdicts=[one.verdict for one in rulings],
    )
    return rulings


def _believed(
    question: str, sides: Sequence[Side], rulings: list[Ruling], kit: Kit, weights: Weights
) -> list[Ruling]:
    """The rulings after the model's own preference moved the sides that stand; where it tells none, as they were."""
    stand = [one.side for one in rulings if one.verdict != "rejected"]
    if len(stand) < 2:
        return rulings
    stand.sort(key=lambda one: one.log_odds, reverse=True)
    try:
        moved = believe(question, [one.answer for one in stand], kit)
    except NoLogprobs as error:
        kit.trace.note("no_belief", reason=str(error))
        return rulings
    for side, nats in zip(stand, moved, strict=True):
        side.log_odds += BELIEF * math.copysign(max(abs(nats) - DOUBT, 0.0), nats)
    kit.trace.note(
        "belief", nats={one.answer: round(nats, 3) for one, nats in zip(stand, moved, strict=True)}
    )
    return resolve(question, sides, namesakes=weights.namesakes)


def _debated(
    question: str, sides: Sequence[Side], open_ones: Sequence[Ruling], kit: Kit, weights: Weights, turn: int
) -> list[Ruling]:
    """One round: the advocates of the open sides plead, and a side moves by what its own says on the quotes."""
    speaking = [one.side for one in open_ones]
    try:
        kept = plead(question, speaking, [one.rivals for one in open_ones], kit)
    except NoLogprobs as error:
        kit.trace.note("no_debate", reason=str(error))
        return resolve(question, sides, namesakes=weights.namesakes)
    mean = sum(kept) / len(kept)
    for side, nats in zip(speaking, kept, strict=True):
        side.log_odds += nats - mean
    kit.trace.note(
        "debate",
        round=turn + 1,
        kept={one.answer: round(n, 3) for one, n in zip(speaking, kept, strict=True)},
    )
    return resolve(question, sides, namesakes=weights.namesakes)


# --- what is missing -----------------------------------------------------------------------------
def _gaps(
    question: str, rulings: Sequence[Ruling], seen: Sequence[Passage], kit: Kit
) -> dict[str, list[Passage]]:
    """What is still open, with passages on it that were not read: the whole question, or parts of it.

    Nothing is asked where there is nothing left to read.
    """
    read = tuple(one.id for one in seen)
    good = [one for one in rulings if one.verdict != "rejected"]
    parted = bool(_JOINS & set(normalise(question).split())) and len(content_stems(question)) > 3
    if (good and not parted) or not kit.search(question, k=1, exclude=read):
        return {}
    if not good:
        queries = {question: explained(one_line(question), kit, "resolver")}
    else:
        queries = {one: one for one in _parts(question, kit) if not _covered(one, good)}
    found: dict[str, list[Passage]] = {}
    taken = set(read)
    for asked, query in queries.items():
        new = [hit.passage for hit in kit.search(query, k=FOLLOW_K, exclude=tuple(sorted(taken)))]
        taken |= {one.id for one in new}
        if new:
            found[asked] = new
    kit.trace.note(
        "gaps", queries=queries, passages={asked: [one.id for one in new] for asked, new in found.items()}
    )
    return found


def _parts(question: str, kit: Kit) -> list[str]:
    """The parts of a question; none where it has one, or where the reply cannot be used."""
    prompt = chat(PARTS_SYSTEM, f"Question: {one_line(question)}")
    (word,) = kit.complete("detector", [prompt], Sampling(max_tokens=128, schema=PARTS_SCHEMA))
    try:
        parts = [one_line(one) for one in parse_object(word, PARTS_SCHEMA)["parts"]]
    except ReplyError as error:
        kit.trace.note("fault", role="detector", reason=error.reason)
        return []
    kept = [one for one in dict.fromkeys(parts) if one and normalise(one) != normalise(question)]
    return kept if len(kept) > 1 else []


def _covered(part: str, good: Sequence[Ruling]) -> bool:
    """Whether the quotes of an accepted side speak of most of what a part asks for."""
    asked = content_stems(part)
    for one in good:
        quotes = " ".join(f"{each.subject} {each.reply.quote}" for each in one.side.testimonies)
        said = {stem(word) for word in normalise(quotes).split()}
        if len(asked & said) >= 0.75 * len(asked):
            return True
    return not asked


def _known(question: str, kit: Kit) -> Answer | None:
    """What the model answers without retrieval where it is sure to know; None where it is not, or tells no odds."""
    try:
        (choice,) = kit.choose(
            "detector", [chat(KNOWN_SYSTEM, f"Question: {one_line(question)}")], ("Yes", "No")
        )
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
def _answer(
    question: str, rulings: Sequence[Ruling], heard: Sequence[Testimony], weights: Weights, *, rounds: int
) -> Answer:
    given = [one.side for one in rulings if one.verdict != "rejected"]
    passages = tuple({one.passage.id: one.passage for one in heard}.values())
    replies = tuple(one.reply for one in heard)
    kept = [one.probability for one in given]
    return Answer(
        question=question,
        answers=tuple(dict.fromkeys(one.answer for one in given)),
        abstained=None if given else why_none(replies),
        claims=tuple(_claim(question, one, alone=len(given) == 1) for one in given),
        conflict=conflict_of_rulings(rulings),
        confidence=round(sum(kept) / len(kept), 4) if kept else None,
        certificate=_certificate(rulings, weights),
        passages=passages,
        replies=replies,
        rounds=rounds,
    )


def _claim(question: str, side: Side, *, alone: bool) -> Claim:
    """A side as a cited claim that names what it is about."""
    replies = {one.passage.id: one.reply for one in side.testimonies}
    subject = subject_of(side)
    text = turned(question, side.answer) if alone else None
    if text is None:
        text = f"{subject}: {side.answer}" if subject else statement(question, side.answer)
    return Claim(text=one_line(text), citations=tuple(cite(side.answer, side.passages, replies)))


def _certificate(rulings: Sequence[Ruling], weights: Weights) -> Certificate | None:
    """How many liars the answer survives, where one side stands against others about the same thing, and sources are named."""
    given = [one for one in rulings if one.verdict == "accepted"]
    if len(given) != 1 or not all(one.source for ruling in rulings for one in ruling.side.passages):
        return None
    ordered = sorted(
        (one.side for one in rulings), key=lambda one: (one is not given[0].side, *_falling(one))
    )
    choices, powers, names = [], [], []
    for at, side in enumerate(ordered):
        for group in independent(side.passages):
            choices.append(at)
            powers.append(
                max(
                    weights.reliabilities.get(one.source, 0.5 if weights.reliabilities else 1.0)
                    for one in group
                )
            )
            names.append(group[0].owner or group[0].source)
    return certify(choices, powers, names)


def _falling(side: Side) -> tuple[float, float]:
    return -strength(side)[0], -side.log_odds
