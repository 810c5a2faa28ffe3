"""Sources that each say one thing about the lighthouse, and a model that reads them."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence

from disputatio.agents.source_reader import SOURCE_SYSTEM
from disputatio.kit import Kit
from disputatio.llm.scripted import Scripted
from disputatio.store.in_memory import InMemory
from disputatio.types import Completion, Passage, Prompt, Sampling, Source

QUESTION = "Who designed the Quillhaven lighthouse?"
_NAMED = re.compile(r"designed by (\w+ \w+)")


class Reader(Scripted):
    """Answers what the passages say after "designed by", else that it does not know.

    A judge's statement holds when its first word stands in what it is held against, unless that is one of
    `doubted`. `asked` has the sources of each batch of answers, by the passages in the prompts.
    """

    def __init__(self, *, doubted: Collection[str] = ()) -> None:
        super().__init__(self._answer, choices=self._judge, name="reader")
        self.doubted = set(doubted)
        self.batches: list[int] = []

    def complete(self, prompts: Sequence[Prompt], sampling: Sampling, **_: object) -> list[Completion]:
        """Note the batch, then reply."""
        self.batches.append(len(prompts))
        return super().complete(prompts, sampling)

    def sources_asked(self) -> list[str]:
        """Return the names of the sources that were asked, as their passages give them."""
        told = [call.prompt.messages[-1].content for call in self.calls if call.sampling]
        return [name for text in told for name in re.findall(r"Log of (\S+)\.", text)[:1]]

    def _answer(self, text: str) -> str:
        assert text.startswith(SOURCE_SYSTEM)
        found = _NAMED.search(text.removeprefix(SOURCE_SYSTEM))
        told = {"answered": "no", "answer": "I don't know", "quote": ""}
        if found:
            told = {"answered": "yes", "answer": found[1], "quote": found[0]}
        return json.dumps(told)

    def _judge(self, text: str) -> Mapping[str, float]:
        premise, _, statement = text.rpartition("Statement: ")
        word = statement.split()[0]
        held = word in premise and word not in self.doubted
        return {"Yes": 0.95, "No": 0.05} if held else {"Yes": 0.01, "No": 0.99}


def source(
    name: str, designer: str = "", *, owner: str = "", metadata: Mapping[str, str] | None = None
) -> list[Passage]:
    """Two passages of a source: one that names a designer, or is about the lighthouse alone, and one more."""
    told = f"it was designed by {designer}" if designer else "it still stands"
    texts = (f"Of the Quillhaven lighthouse: {told}.", "The Quillhaven lighthouse is white.")
    return [
        Passage(id=one, source=name, owner=owner, text=f"Log of {name}. {text}", metadata=metadata or {})
        for one, text in zip((name, f"{name}-2"), texts, strict=True)
    ]


def rated(**reliabilities: float) -> dict[str, Source]:
    """Estimates of sources, with an interval of 0.1 to either side."""
    return {
        name: Source(name=name, reliability=one, low=max(one - 0.1, 0.0), high=min(one + 0.1, 1.0))
        for name, one in reliabilities.items()
    }


def kit(
    model: Scripted, shelves: Sequence[Sequence[Passage]], sources: Mapping[str, Source] | None = None
) -> Kit:
    """Return a kit of a model, passages in hand and what is known of their sources."""
    return Kit(
        model=model, retriever=InMemory([one for shelf in shelves for one in shelf]), sources=sources or {}
    )
