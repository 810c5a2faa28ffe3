"""A scripted panel: agents that are told apart by a word of their passage, and an aggregator."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

from disputatio.agents.reader import READER_SYSTEM
from disputatio.kit import Kit
from disputatio.llm.scripted import Line, Scripted
from disputatio.store.in_memory import InMemory
from disputatio.strategies.madam_rag import AGENT_SYSTEM
from disputatio.types import Completion, Passage, Prompt, Sampling, Usage


def said(answer: str, explanation: str = "so it says", quote: str = "") -> str:
    """Return a reader's reply."""
    return json.dumps({"answer": answer, "explanation": explanation, "quote": quote})


def concluded(*answers: str, explanation: str = "Weighed.") -> str:
    """Return the reply of an agent that gives all answers."""
    return json.dumps({"answers": answers, "explanation": explanation})


def cut(text: str) -> Completion:
    """Return a reply that was cut off."""
    return Completion(text=text, finish_reason="length", usage=Usage(calls=1))


class Panel(Scripted):
    """Each agent says its lines one after the other, the last one from then on; so does the aggregator.

    An agent is found by a word that stands in its prompt before anything that it heard. `batches` has
    who was asked and how many prompts, call by call of the engine.
    """

    def __init__(self, agents: Mapping[str, Sequence[Line]], aggregates: Sequence[Line] = ()) -> None:
        super().__init__(self._say, name="panel")
        self.batches: list[tuple[str, int]] = []
        self.heard: list[str] = []
        self._lines = {**agents, "": aggregates}
        self._times = dict.fromkeys(self._lines, 0)

    def complete(self, prompts: Sequence[Prompt], sampling: Sampling, **_: object) -> list[Completion]:
        """Note the batch, then reply."""
        roles = {"reader" if is_reader(prompt) else "aggregator" for prompt in prompts}
        self.batches.append(("+".join(sorted(roles)), len(prompts)))
        return super().complete(prompts, sampling)

    def prompts(self, role: str) -> list[str]:
        """Return the user's turns of all prompts to the readers or to the aggregator."""
        wanted = role == "reader"
        return [call.prompt.messages[-1].content for call in self.calls if is_reader(call.prompt) == wanted]

    def _say(self, text: str) -> Line:
        who = ""
        system = next((known for known in (READER_SYSTEM, AGENT_SYSTEM) if text.startswith(known)), "")
        if system:
            own = text.removeprefix(system).split("Other agents have read")[0]
            who = next(word for word in self._lines if word and re.search(rf"\b{word}\b", own))
        lines = self._lines[who]
        self._times[who] += 1
        line = lines[min(self._times[who], len(lines)) - 1]
        return _without_quote(line) if system == AGENT_SYSTEM else line


def is_reader(prompt: Prompt) -> bool:
    """Return whether a prompt is that of an agent that reads one passage."""
    return prompt.messages[0].content in (READER_SYSTEM, AGENT_SYSTEM)


def _without_quote(line: Line) -> Line:
    """Return a line as the paper's agents write it: they reason and copy nothing."""
    try:
        fields = json.loads(line) if isinstance(line, str) else None
    except ValueError:
        return line
    if not isinstance(fields, dict):
        return line
    return json.dumps({name: value for name, value in fields.items() if name != "quote"})


def kit(model: Scripted, passages: Sequence[Passage]) -> Kit:
    """Return a kit of a model and passages in hand."""
    return Kit(model=model, retriever=InMemory(passages))
