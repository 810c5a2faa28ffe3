"""Finding out what an endpoint can do, by two tiny calls.

Endpoints differ in what they accept and, worse, in what they accept and ignore: so the schema is
one that no model keeps by chance, and the log-probabilities are counted in the reply.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

from disputatio.errors import LLMError, Malformed, Refused
from disputatio.llm.request import Request
from disputatio.llm.stream import Received
from disputatio.trace import total_usage
from disputatio.types import Capabilities, Message, Prompt, Sampling, Usage

_TOPS = (20, 5)
_UNSUPPORTED = (400, 422, 501)
_YES_NO = Prompt(messages=(Message(role="user", content="Is water wet? Reply with Yes or No."),))
_HELLO = Prompt(messages=(Message(role="user", content="Say hello to me."),))
_WORD = {"greeting": "disputatio"}
_SCHEMA = {
    "type": "object",
    "properties": {"greeting": {"type": "string", "enum": ["disputatio"]}},
    "required": ["greeting"],
    "additionalProperties": False,
}

Ask = Callable[[Request], "Received | LLMError"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Probed:
    """What was found, and what finding it cost."""

    capabilities: Capabilities
    usage: Usage


def probe(ask: Ask, engine: str) -> Probed:
    """Ask an endpoint what it can do; raises the fault when it answers nothing at all."""
    spent: list[Usage] = []

    def tell(request: Request) -> Received | LLMError:
        outcome = ask(request)
        if isinstance(outcome, Received):
            spent.append(outcome.usage)
        return outcome

    top = _probe_logprobs(tell)
    schema = _probe_schema(tell)
    capabilities = Capabilities(engine=engine, logprobs=top > 0, max_options=top, schema=schema)
    return Probed(capabilities=capabilities, usage=total_usage(spent))


def _probe_logprobs(tell: Ask) -> int:
    """Return how many alternatives of the first token can be had, 0 when none."""
    for top in _TOPS:
        outcome = tell(Request(prompt=_YES_NO, sampling=Sampling(max_tokens=1), top=top, fixed=True))
        if isinstance(outcome, Received):
            return min(top, len(outcome.top))
        if not _is_unsupported(outcome):
            raise outcome
    return 0


def _probe_schema(tell: Ask) -> bool:
    """Return whether a reply is held to a schema."""
    request = Request(prompt=_HELLO, sampling=Sampling(schema=_SCHEMA), logprobs=False, fixed=True)
    outcome = tell(request)
    if isinstance(outcome, Received):
        try:
            return bool(json.loads(outcome.text) == _WORD)
        except ValueError:
            return False
    if isinstance(outcome, Malformed):
        return False
    if not _is_unsupported(outcome):
        raise outcome
    plain = tell(Request(prompt=_HELLO, sampling=Sampling(), logprobs=False))
    if isinstance(plain, LLMError) and not isinstance(plain, Malformed):
        raise plain
    return False


def _is_unsupported(fault: LLMError) -> bool:
    """Return whether a refusal is about what was asked for, rather than about who asks."""
    if not isinstance(fault, Refused):
        return False
    return fault.status in _UNSUPPORTED or "logprobs" in str(fault)
