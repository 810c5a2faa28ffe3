"""Answer from all passages, then review and refine.

The "single agent with self-reflection" baseline of MADAM-RAG (Wang et al. 2025, arXiv 2504.13079), after Self-Refine
(Madaan et al. 2023, arXiv 2303.17651) and Huang et al. 2024 (arXiv 2310.01798): an answer, then two rounds of review and
refinement, five calls a question. Differences from the authors' code:

* the first answer is asked for in the words of `concat`, so that what differs from it is the reflection alone;
* a review is a list of problems, and an answer one JSON object, both against a schema; passages are fenced;
* a round goes on in the conversation that read the passages and sees the last answer alone, so that passages are read once
  and prompts do not grow;
* a round that leaves the answer as it was is the last one: the next would ask the same again, word for word;
* a review that breaks its contract ends the reflection, and the answer before it stands.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from disputatio.agents.options import MaxTokens, PassageCount
from disputatio.agents.replies import TEXT, list_of, object_of, parse_object
from disputatio.agents.single_prompt import ask_answers, together_prompt
from disputatio.errors import InputError, ReplyError
from disputatio.events import AgentFault, Reflected
from disputatio.kit import Kit
from disputatio.text import neutralise, one_line
from disputatio.types import Answer, Message, Prompt, Reply, Sampling
from disputatio.values import groups

REVIEW_TASK = """\
Now review your reply against the passages. Does each answer stand in a passage that is about what the question asks? Do passages \
contradict it? Is a correct answer missing, of another person, place or thing of the same name? Reply with one JSON object: \
"problems": a list of what is wrong or missing, each in one short sentence; an empty list when nothing is."""

REFINE_TASK = """\
Now answer the question again from the passages, without these problems; what was right stays. Reply with one JSON object as before: \
"answers" and "explanation"."""

REVIEW_SCHEMA: Mapping[str, Any] = object_of(problems=list_of(TEXT, most=4))


def self_reflection(
    question: str,
    kit: Kit,
    *,
    rounds: Annotated[int, "rounds of review and refinement"] = 2,
    stop: Annotated[bool, "stop at a review that finds no problem"] = False,
    k: PassageCount = None,
    max_tokens: MaxTokens = 256,
) -> Answer:
    """Answer from `k` passages in one prompt, then review and refine the answer for `rounds` rounds.

    `stop` ends the reflection at a review that finds no problem, which the paper's baseline does not. The model
    of the role `critic` reviews, that of `answerer` answers. Raises `InputError` for fewer than 0 rounds,
    `ReplyError` when an answer is unusable.
    """
    if rounds < 0:
        raise InputError("self_reflection: rounds is at least 0")
    passages = kit.passages(question, k=k)
    if not passages:
        return Answer(question=question, abstained="no_evidence")
    prompt = together_prompt(question, passages)
    reply = ask_answers("answerer", prompt, kit, max_tokens=max_tokens)
    answers_by_round = [reply[0]]
    for turn in range(1, rounds + 1):
        answered = _gone_on(prompt, {"answers": reply[0], "explanation": reply[1]}, REVIEW_TASK)
        problems = _review(answered, kit)
        if problems is None or (stop and not problems):
            break
        refining = _gone_on(answered, {"problems": problems}, REFINE_TASK)
        before, reply = reply, ask_answers("answerer", refining, kit, max_tokens=max_tokens)
        answers_by_round.append(reply[0])
        kit.emit(Reflected(round=turn, problems=len(problems), changed=reply != before))
        if reply == before:
            break
    answers, explanation = reply
    return Answer(
        question=question,
        answers=answers,
        abstained=None if answers else "no_evidence",
        explanation=explanation,
        passages=tuple(passages),
        replies=_replies(answers_by_round, tuple(passage.id for passage in passages)),
        rounds=len(answers_by_round) - 1,
    )


def _gone_on(prompt: Prompt, fields: Mapping[str, Sequence[str] | str], task: str) -> Prompt:
    """Return the conversation with what the agent said, and what it is asked next."""
    word = neutralise(json.dumps(fields, ensure_ascii=False))
    turns = (Message(role="assistant", content=word), Message(role="user", content=task))
    return Prompt(messages=(*prompt.messages, *turns))


def _review(prompt: Prompt, kit: Kit) -> tuple[str, ...] | None:
    """Return the problems that a review finds; None where it breaks its contract, which the trace says."""
    (word,) = kit.complete("critic", [prompt], Sampling(max_tokens=192, schema=REVIEW_SCHEMA))
    try:
        problems = parse_object(word, REVIEW_SCHEMA)["problems"]
    except ReplyError as error:
        kit.emit(AgentFault(role="critic", reason=error.reason))
        return None
    return tuple(text for problem in problems if (text := one_line(problem)))


def _replies(answers_by_round: Sequence[Sequence[str]], passages: tuple[str, ...]) -> tuple[Reply, ...]:
    """Return each answer of any round, with the last round that gave it."""
    rounds = [(answer, turn) for turn, answers in enumerate(answers_by_round, 1) for answer in answers]
    same = groups([answer for answer, _ in rounds])
    last = {
        group: Reply(passages=passages, answer=answer, round=turn)
        for group, (answer, turn) in zip(same, rounds, strict=True)
    }
    return tuple(sorted(last.values(), key=lambda reply: reply.round))
