"""A chat's last question made to stand alone: a turn, a budget and a way out for the call that takes."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from typing import Literal

from disputatio.agents.follow_up import standing_alone
from disputatio.api.asking import in_thread
from disputatio.cancel import Cancel
from disputatio.errors import BudgetSpent, ReplyError
from disputatio.server.chat.requests import Conversation
from disputatio.server.service import Service
from disputatio.trace import Trace
from disputatio.types import Usage

Rewriting = Literal["first", "done", "no_model", "unusable"]
_NOTES = {
    "no_model": "there is no language model here that could put what was said before into the question",
    "unusable": "the language model could not put what was said before into the question",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Standalone:
    """The question that is asked: `rewriting` says what was done to the chat's last one.

    `first` questions need nothing done. With `no_model`, or where its reply was `unusable`, the question is
    asked as it stands, and the reply says so.
    """

    question: str
    rewriting: Rewriting
    usage: Usage = field(default_factory=Usage)

    @property
    def note(self) -> str:
        """What the reader is told of it; empty where all is well."""
        why = _NOTES.get(self.rewriting)
        return f"This was asked as it stands: {why}. Name what you mean in the question." if why else ""


async def standalone(
    conversation: Conversation, service: Service, *, model: str | None, client: str
) -> Standalone:
    """Return the question of a conversation so that it stands alone; raises `Full`, `LLMError`,
    `BudgetSpent`.
    """
    question, earlier = conversation.question, conversation.earlier
    if not earlier:
        return Standalone(question=question, rewriting="first")
    kit = service.kit_of(model)
    if not kit.has_model:
        return Standalone(question=question, rewriting="no_model")
    cancel, trace, limits = Cancel(), Trace(), service.limits
    kit = replace(limits.meter().wrap(kit.with_trace(trace)), cancel=cancel)
    async with service.turns.turn(client):
        work = in_thread(lambda: standing_alone(question, earlier, kit), "disputatio follow-up")
        try:
            async with asyncio.timeout(limits.seconds):
                rewritten = await asyncio.wrap_future(work)
        except TimeoutError as error:
            raise BudgetSpent(f"the question was not understood within {limits.seconds:g} s") from error
        except ReplyError:
            return Standalone(question=question, rewriting="unusable", usage=trace.usage())
        finally:
            cancel.cancel()
    return Standalone(question=rewritten, rewriting="done", usage=trace.usage())
