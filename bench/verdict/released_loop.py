"""MADAM-RAG's loop as its authors released it, in words of our own, to be asked beside others (`bench.verdict.readers`).

Nothing is measured here. What the release does and the paper does not say: every agent and the aggregator are asked in a
call of their own, one after the other, greedily, for at most 128 new tokens of free text; agents are sent the other
agents' last replies as they stand; an agent keeps its answer where the old one is in the new one or the new in the old,
an empty one too; once all keep theirs, the aggregate of the round before is the answer. Its list of answers is read
tolerantly here, so that no form costs it a point. Its engine keeps no prefixes from call to call: each prompt begins
with a number of its own, so that ours finds none.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from zlib import crc32

from disputatio.kit import Kit
from disputatio.text import is_unknown, squad_normalise
from disputatio.types import Answer, Message, Passage, Prompt, Sampling

ROUNDS, NEW_TOKENS = 3, 128

AGENT = """\
You are an agent. You read one document to answer a question.

Question: {question}
Document: {document}
{peers}
Answer the question {basis}. Give your answer, and explain your reasoning step by step.
Keep to this form: 'Answer: {{}}. Explanation: {{}}.'"""
PEERS = "\nFor your information, this is what the other agents replied.\n{replies}\n"
ALONE, TOGETHER = "from this document alone", "from the document and from what the other agents replied"

AGGREGATOR = """\
You are an aggregator. You read the answers of several agents.

Where there are several answers, give all that may be correct, and explain your reasoning step by step. Where none is correct, reply \
'unknown'.
Keep to this form: 'All Correct Answers: []. Explanation: {{}}.'

An example:
Question: When was the Elm Street Bridge opened?
Agent responses:
Agent 1: Answer: 1921. Explanation: The document says clearly that the Elm Street Bridge in Dunmore was opened in May 1921.
Agent 2: Answer: 1948. Explanation: The document says that the Elm Street Bridge in Carrow was opened in 1948. This seems to be another \
bridge of that name, since the other agents speak of the one in Dunmore. What they reply does not fit this document.
Agent 3: Answer: 1975. Explanation: According to the document, the Elm Street Bridge in Dunmore was opened in 1975.
Agent 4: Answer: Unknown. Explanation: The document describes the fish of the river at Dunmore and the anglers who come for them in \
spring, but it does not say when a bridge was opened.
All Correct Answers: ["1921", "1948"]. Explanation: Agent 1 speaks of the bridge in Dunmore, opened in May 1921, so 1921 is correct. \
Agent 2 speaks of another bridge of that name, in Carrow, opened in 1948, so 1948 is correct as well. Agent 3 gives 1975 for the bridge \
in Dunmore, which is an error by what Agent 1 found. Agent 4 has nothing of use.

Question: {question}
Agent responses:
{replies}
"""


def released_loop(question: str, kit: Kit) -> Answer:
    """Debate as the released script does, one call at a time."""
    passages = kit.passages(question)
    replies = [_ask(question, passage, "", kit) for passage in passages]
    aggregate = _aggregate(question, replies, kit)
    turn, kept = 1, False
    while turn < ROUNDS and not kept:
        turn += 1
        before, replies = replies, []
        for agent, passage in enumerate(passages):
            replies.append(_ask(question, passage, _listed(before, but=agent), kit))
        kept = all(_keeps(old, new) for old, new in zip(before, replies, strict=True))
        if not kept:
            aggregate = _aggregate(question, replies, kit)
    answers = answers_in(aggregate)
    return Answer(
        question=question,
        answers=answers,
        abstained=None if answers else "no_evidence",
        explanation=aggregate,
        passages=tuple(passages),
        rounds=turn,
    )


def _ask(question: str, passage: Passage, peers: str, kit: Kit) -> str:
    text = AGENT.format(
        question=question,
        document=passage.text,
        peers=PEERS.format(replies=peers) if peers else "",
        basis=TOGETHER if peers else ALONE,
    )
    return _call("reader", text, kit)


def _aggregate(question: str, replies: Sequence[str], kit: Kit) -> str:
    text = AGGREGATOR.format(question=question, replies=_listed(replies))
    return _call("aggregator", text, kit)


def _call(role: str, text: str, kit: Kit) -> str:
    numbered = f"[{crc32(text.encode())}] {text}"
    prompt = Prompt(messages=(Message(role="user", content=numbered),))
    (reply,) = kit.complete(role, [prompt], Sampling(max_tokens=NEW_TOKENS))
    return reply.text.strip()


def _listed(replies: Sequence[str], but: int = -1) -> str:
    return "\n".join(f"Agent {at + 1}: {reply}" for at, reply in enumerate(replies) if at != but)


def _keeps(old: str, new: str) -> bool:
    """Return whether an agent keeps its answer: one is part of the other, and an empty one of any.

    >>> _keeps("Answer: 1921. Explanation: a", "Answer: In 1921. Explanation: b"), _keeps("Answer: 1", "Answer: 2")
    (True, False)
    """
    one, other = (squad_normalise(_answer(reply)) for reply in (old, new))
    return one in other or other in one


def _answer(reply: str) -> str:
    match = re.search(r"Answer:\s*(.*?)\s*(?:Explanation|$)", reply, re.DOTALL)
    return match[1] if match else ""


def answers_in(aggregate: str) -> tuple[str, ...]:
    """Return the list of answers that an aggregator gives, however it writes it.

    >>> answers_in('All Correct Answers: ["1921", "1948"]. Explanation: two bridges.')
    ('1921', '1948')
    >>> answers_in("All Correct Answers: [1921, 1948]."), answers_in("unknown")
    (('1921', '1948'), ())
    """
    match = re.search(r"Answers?:\s*(.*?)\s*(?:Explanation|$)", aggregate, re.DOTALL)
    listed = (match[1] if match else aggregate).strip(" .[]{}'\n")
    quoted = re.findall(r'"([^"]+)"', listed)
    answers = (part.strip(" .'\"") for part in quoted or re.split(r"\s*[,;]\s+", listed))
    return tuple(dict.fromkeys(answer for answer in answers if answer and not is_unknown(answer)))
