"""Read passages apart, weigh answers in code, debate the rest.

1. Read: an agent a passage, all in one batch (MADAM-RAG, Wang et al. 2025; RobustRAG, Xiang et al. 2024): `reading`.
2. Group: answers become sides, each weighed by independent votes and reliability (RA-RAG, Hwang et al. 2024), by how
   its passages read, and by whether they look like altered copies: `sides`.
3. Resolve: contradictions are told from namesakes by names and by a trained reader (`namesakes`), and the side with more
   independent accounts wins: `resolve`. "Debate
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
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, Literal

from disputatio.agents.choice import choose
from disputatio.agents.options import MaxTokens, PassageCount
from disputatio.agents.replies import TEXT, list_of, object_of, parse_object
from disputatio.agents.single_prompt import recall_answers
from disputatio.errors import InputError, NoLogprobs, ReplyError, TooLate
from disputatio.events import AgentFault, NoPrecheck, PreCheck
from disputatio.kit import TRAINED_READER, Kit, chat
from disputatio.reliability.source_weights import vote_weights
from disputatio.strategies.disputation.answering import PartResult, compose_answer
from disputatio.strategies.disputation.changes import answer_changes
from disputatio.strategies.disputation.details import Record, Similarity
from disputatio.strategies.disputation.namesakes import Sameness
from disputatio.strategies.disputation.part import Options, resolve_part
from disputatio.strategies.disputation.reading import MAX_TOKENS, Reader
from disputatio.strategies.disputation.resolve import Expectation, expectation_of
from disputatio.strategies.disputation.versions import search_sections
from disputatio.strategies.disputation.yes_no import asks_yes_or_no
from disputatio.text import one_line
from disputatio.types import Answer, Basis, Passage, Sampling
from disputatio.values import same_answer
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

SURE = -0.1  # log P(yes) from which the model is taken to know an answer: nine in ten
# A question that may ask for several things: a second question word after "and", or a second sentence.
_SEVERAL = re.compile(
    r"(?:\b(?:and|or)\b,?|;)\s+(?:\w+\s+){0,2}(?:who|whom|whose|what|when|where|which|why|how)\b|\?\s*\w",
    re.IGNORECASE,
)
_QUOTED = re.compile(r"[\"“][^\"”]*[\"”]")  # a title may ask what it likes


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
    namesakes: Annotated[
        bool, "let a trained reader tell whether passages without titles speak of one thing"
    ] = True,
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
    model, else `llm`. What a trained reader declines unsurely the language model reads, too, where the passage is of no
    document.
    `copies` takes similarity to passages with other answers as a sign of alteration, `order` takes the
    better-ranked of two for the original; `standing` weighs how passages read, `certainty` how sure their
    readers were. `expect` is how many answers are right; `auto` decides from the question and passages,
    with `namesakes` also by a trained reader that read them. `look` shows the model
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
        namesakes=namesakes,
        look=look and kit.has_model,
        belief=belief,
        debate=debate,
        complete=complete,
        wider=wider,
        max_tokens=max_tokens,
        similarity=Similarity(kit),
        sameness=Sameness(kit),
        as_of=iso_day(as_of),
        today=str(kit.recorded.get("today") or kit.today),
    )
    sections = search_sections(question, kit, k, as_of=as_of)
    passages = {passage.id: passage for passage in sections.first}
    asks_several = complete and _SEVERAL.search(_QUOTED.sub("", question))
    sub_questions = _divide(question, kit) if asks_several else [question]
    parts: list[PartResult] = []
    for sub_question in sub_questions:
        part = resolve_part(
            sub_question, list(passages.values()), sections.waiting, kit, _plan_of(sub_question, plan)
        )
        passages |= {reading.passage.id: reading.passage for reading in part.readings}
        parts.append(part)
    record = Record(
        beliefs={part.question: part.beliefs for part in parts if part.beliefs},
        looks={part.question: part.look for part in parts if part.look},
        similarities=plan.similarity.known,
        sameness=plan.sameness.known,
        today=plan.today if any(map(_has_days, passages.values())) else "",
        reader=plan.reader,
        late=[each.passage.id for part in parts for each in part.readings if each.late]
        if kit.is_late
        else None,
        **sections.to_record(),
    )
    expected = {expectation_of(part.question, plan.expect) for part in parts}
    return replace(
        compose_answer(question, parts, plan.reliabilities),
        expect="several" if "several" in expected else "one" if "one" in expected else None,
        basis=Basis(details=record.to_details()),
    )


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
