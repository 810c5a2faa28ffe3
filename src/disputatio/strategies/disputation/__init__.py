"""Read passages apart, weigh answers in code, debate the rest.

1. Heard: a witness a passage, all in one batch (MADAM-RAG, Wang et al. 2025; RobustRAG, Xiang et al. 2024): `hearing`,
   `extracting`.
2. Grouped: answers become sides, each weighed by independent accounts and reliability (RA-RAG, Hwang et al. 2024), by how
   its passages read, and by whether they look like altered copies: `standing`.
3. Ruled: contradictions are told from namesakes, and the side with more independent accounts stays: `resolve`. "Debate or
   Vote" (2508.17536) finds that votes over isolated answers do most of the work of a debate, so that is where it begins.
4. Looked wider: where a contradiction is open or its lead short, passages not read yet are searched for with the question
   and with every answer alike; what no side answers is looked for with an explanation as query (AC-RAG, Zhang et al. 2025):
   `looking`.
5. Asked: where the lead is short, the model's own belief is a weak vote, also on sides that read too badly to stand (what is
   planted reads better than what is true); what is open then goes to the sides' advocates, who plead with verified quotes:
   `asking`.
6. Answered: cited claims, one an accepted side, named by its subject; what was rejected, and why; how many liars it
   survives: `answering`.

A question that asks for several things is divided first, and each is disputed alone (RAGentA's components, Besrour et al.
2025). Every step is an option, so that what each is worth can be measured: `python -m bench.papers.tables run disputation_ramdocs`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Annotated, Any, Literal

from disputatio.agents.choice import choose
from disputatio.agents.options import MaxTokens, PassageCount
from disputatio.agents.replies import parse_object
from disputatio.agents.single_prompt import recalled
from disputatio.errors import InputError, NoLogprobs, ReplyError
from disputatio.events import AgentFault, LookedWider, NoPrecheck, PreCheck, SideFormed, SidesWeighed
from disputatio.kit import Kit, chat
from disputatio.reliability.source_weights import earned
from disputatio.strategies.disputation.answering import SubQuestion, answered
from disputatio.strategies.disputation.asking import believed, debated
from disputatio.strategies.disputation.details import Record, Similarity, WiderSearch
from disputatio.strategies.disputation.extracting import Reader, read
from disputatio.strategies.disputation.hearing import MAX_TOKENS
from disputatio.strategies.disputation.looking import disputed, look_wider, unread
from disputatio.strategies.disputation.resolve import Expectation, Ruling, expected, resolve, subject_of
from disputatio.strategies.disputation.standing import weigh
from disputatio.strategies.disputation.testimony import Testimony
from disputatio.text import one_line
from disputatio.types import Answer, Basis, Passage, Sampling
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
    wider: int
    max_tokens: int
    similarity: Similarity


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
    belief: Annotated[
        bool, "where no answer clearly leads, weigh which the model itself holds likely"
    ] = True,
    debate: Annotated[int, "maximum rounds of debate over answers that the weights leave open"] = 1,
    complete: Annotated[int, "maximum rounds of looking for what is missing in passages not read yet"] = 1,
    wider: Annotated[
        int, "maximum passages to read beyond those where a contradiction is open or narrow"
    ] = 10,
    precheck: Annotated[bool, "answer without retrieval what the model is sure to know"] = False,
    max_tokens: MaxTokens = MAX_TOKENS,
) -> Answer:
    """Read every passage alone, resolve the answers in code, debate what is left open, and look for what is missing.

    `reader`: `llm` asks the language model, `encoder` a trained reader of the kit, `both` the language model
    only where the encoder is not sure; `auto` is `encoder` where there is no language model, else `llm`.
    `copies` reads likeness to passages with other answers as a sign of alteration, `order` takes the better-ranked of
    two for the original; `standing` weighs how passages read, `certainty` how sure their readers
    were; `expect` says whether one answer is right or several may be, `auto` goes by what shows; `belief` asks the model's own where answers
    contradict each other and neither a lead of two accounts, nor known sources, nor dates decide. `debate` is the most rounds of pleading, `complete` of looking further (0 also leaves a question of several
    parts undivided), `wider` the most passages to read beyond the first where answers contradict each other and none
    leads by two independent accounts; `precheck` answers without retrieval what the model is sure to know. Without a language
    model these steps, belief and debate are left out. Raises `LLMError` for
    faults, `InputError` for rounds below 0, `MissingPart` without the reader that is asked for.
    """
    if debate < 0 or complete < 0 or wider < 0:
        raise InputError(
            "disputation: debate and complete are numbers of rounds, wider of passages, 0 or more"
        )
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
        wider=wider,
        max_tokens=max_tokens,
        similarity=Similarity(kit),
    )
    asks_several = complete and _SEVERAL.search(_QUOTED.sub("", question))
    sub_questions = _parts(question, kit) if asks_several else [question]
    passages = {passage.id: passage for passage in kit.passages(question, k=k)}
    parts: list[SubQuestion] = []
    for sub_question in sub_questions:
        part = _disputed(sub_question, list(passages.values()), kit, plan)
        passages |= {testimony.passage.id: testimony.passage for testimony in part.testimonies}
        parts.append(part)
    record = Record(
        beliefs={part.question: part.beliefs for part in parts if part.beliefs},
        similarities=plan.similarity.cosines,
    )
    answer = answered(question, parts, plan.reliabilities)
    return replace(answer, basis=Basis(details=record.to_details()))


def _disputed(question: str, passages: Sequence[Passage], kit: Kit, plan: Options) -> SubQuestion:
    """Return one thing that is asked for: heard, grouped, ruled, looked for further, and asked on where it is
    open.
    """
    testimonies = read(question, passages, kit, plan.reader, max_tokens=plan.max_tokens)
    rulings = _ruled(question, testimonies, kit, plan)
    turn = 1
    while turn <= plan.complete and all(ruling.verdict == "rejected" for ruling in rulings):
        more = unread(question, _ids(testimonies), kit)
        if not more:
            break
        turn += 1
        testimonies += read(question, more, kit, plan.reader, turn=turn, max_tokens=plan.max_tokens)
        rulings = _ruled(question, testimonies, kit, plan)
    looked = None
    if plan.wider and (doubtful := disputed(rulings)):
        more, searches = look_wider(question, doubtful, _ids(testimonies), kit, plan.wider)
        looked = WiderSearch(searches=searches, read=len(more), answered=0)
        if more:
            turn += 1
            added = read(question, more, kit, plan.reader, turn=turn, max_tokens=plan.max_tokens)
            testimonies += added
            before, rulings = _accepted(rulings), _ruled(question, testimonies, kit, plan)
            looked = replace(
                looked,
                answered=sum(bool(testimony.answer) for testimony in added),
                changed=_accepted(rulings) != before,
            )
        kit.emit(LookedWider(question=question, passages=[passage.id for passage in more], **asdict(looked)))
    rulings, beliefs = _asked(question, rulings, kit, plan)
    return SubQuestion(
        question=question,
        testimonies=tuple(testimonies),
        rulings=tuple(rulings),
        settles=plan.expect != "auto",
        rounds=turn,
        looked=looked,
        beliefs=beliefs,
    )


def _ids(testimonies: Sequence[Testimony]) -> list[str]:
    return [testimony.passage.id for testimony in testimonies]


def _accepted(rulings: Sequence[Ruling]) -> list[str]:
    return sorted(ruling.side.answer for ruling in rulings if ruling.verdict == "accepted")


def _ruled(question: str, testimonies: Sequence[Testimony], kit: Kit, plan: Options) -> list[Ruling]:
    """Return the rulings on the sides of the testimonies, by what was read alone."""
    sides = weigh(
        question,
        testimonies,
        plan.reliabilities,
        without=plan.without,
        ranked=plan.order,
        alike=plan.similarity,
    )
    rulings = resolve(question, sides, expect=expected(question, plan.expect))
    for ruling in rulings:
        kit.emit(_side_formed(ruling))
    return rulings


def _asked(
    question: str, rulings: list[Ruling], kit: Kit, plan: Options
) -> tuple[list[Ruling], dict[str, float]]:
    """Return the rulings after belief and debate over what is open, and the nats of the belief by answer."""
    beliefs: dict[str, float] = {}
    sides, expect = [ruling.side for ruling in rulings], expected(question, plan.expect)
    if plan.belief and (beliefs := believed(question, rulings, kit, expect)):
        rulings = resolve(question, sides, expect=expect)
    for turn in range(plan.debate):
        if not debated(question, rulings, kit, turn):
            break
        rulings = resolve(question, sides, expect=expect)
    formed = [_side_formed(ruling) for ruling in rulings]
    for side in formed:
        kit.emit(side)
    weighed = [
        {
            **asdict(side),
            "votes": ruling.side.votes,
            "accounts": ruling.side.accounts,
            "merit": ruling.side.merit,
            "features": ruling.side.features,
            "moved": dict(ruling.side.moved),
        }
        for side, ruling in zip(formed, rulings, strict=True)
    ]
    kit.emit(SidesWeighed(question=question, sides=weighed, verdicts=[ruling.verdict for ruling in rulings]))
    return rulings, beliefs


def _side_formed(ruling: Ruling) -> SideFormed:
    """Report a side with its verdict so far."""
    side = ruling.side
    return SideFormed(
        answer=side.answer,
        verdict=ruling.verdict,
        subject=subject_of(side),
        passages=tuple(passage.id for passage in side.passages),
        sources=tuple(dict.fromkeys(passage.source for passage in side.passages if passage.source)),
        log_odds=round(side.log_odds, 3),
    )


# --- before it is heard --------------------------------------------------------------------------
def _parts(question: str, kit: Kit) -> list[str]:
    """Return the things that a question asks for, each as a question; itself where it is one, or the reply
    cannot be used.
    """
    prompt = chat(PARTS_SYSTEM, f"Question: {one_line(question)}")
    (completion,) = kit.complete("detector", [prompt], Sampling(max_tokens=128, schema=PARTS_SCHEMA))
    try:
        parts = [one_line(part) for part in parse_object(completion, PARTS_SCHEMA)["parts"]]
    except ReplyError as error:
        kit.emit(AgentFault(role="detector", reason=error.reason))
        return [question]
    distinct = [part for part in dict.fromkeys(parts) if part and not same_answer(part, question)]
    return distinct if len(distinct) > 1 else [question]


def _known(question: str, kit: Kit) -> Answer | None:
    """Return what the model answers without retrieval where it is sure to know; None where it is not, or
    tells no odds.
    """
    prompt = chat(KNOWN_SYSTEM, f"Question: {one_line(question)}")
    try:
        (choice,) = choose("detector", [prompt], ("Yes", "No"), kit)
    except NoLogprobs as error:
        kit.emit(NoPrecheck(reason=str(error)))
        return None
    kit.emit(PreCheck(logprobs=choice.logprobs, threshold=SURE))
    if choice.logprobs[0] < SURE:
        return None
    answers, explanation = recalled(question, kit)
    if not answers:
        return None
    return Answer(question=question, answers=answers, explanation=explanation, retrievals=0)
