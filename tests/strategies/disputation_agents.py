"""Scripted agents of the disputation: readers, debaters, a belief; and a town to ask about."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Unpack

from disputatio.errors import NoLogprobs
from disputatio.kit import Kit
from disputatio.llm.scripted import Line, Odds, Scripted
from disputatio.pipeline import ask
from disputatio.protocols import Embedder, Search, SearchOptions
from disputatio.store.in_memory import InMemory
from disputatio.strategies.disputation import KNOWN_SYSTEM, PARTS_SYSTEM
from disputatio.strategies.disputation.debate import DEBATE_SYSTEM
from disputatio.strategies.disputation.joint_look import SYSTEM as LOOK_SYSTEM
from disputatio.strategies.disputation.reading import SYSTEM
from disputatio.trace import Trace
from disputatio.types import Answer, Choice, Completion, Hit, Passage, Prompt, Sampling, Token, Usage
from tests.strategies.sources import rated

# A word of the question, and how a passage of the town states the answer.
_TOLD = {"design": r"by (\w+ \w+)", "open": r"(?:in|on) ((?:\d+ \w+ )?\d{4})"}
_BELIEF = "You know many things."
_EXPLAIN = "You explain"
_TRANSLATE = "Translate the question into "


def word(answer: str, subject: str = "") -> str:
    """Return a reader's reply."""
    return json.dumps({"subject": subject, "answer": answer})


def sure(answer: str, logprob: float) -> Completion:
    """Return a reader's reply with one token of this log-probability for its answer, and others without
    doubt.
    """
    head = '{"subject": "", "answer": "'
    tokens = (Token(text=head, logprob=0.0), Token(text=answer + '"}', logprob=logprob))
    return Completion(text=f'{head}{answer}"}}', finish_reason="stop", usage=Usage(calls=1), tokens=tokens)


def reads(question: str, passage: str) -> Line:
    """Return what a passage says after the words that tell what the question asks for, else "unknown"."""
    for asked, pattern in _TOLD.items():
        if asked in question and (found := re.search(pattern, passage)):
            return word(found[1])
    return word("unknown")


class Agents(Scripted):
    """`reads` gives a reader's reply of question and passage.

    `parts` are those the question is divided into. `believed` has how likely the model itself holds answers,
    `kept` how likely its agent is to keep one; 0.5 where they are silent. `knows` is P(it knows the
    answer), which is then `known`. `batches` has the role and size of every batch.
    """

    def __init__(
        self,
        *,
        reads: Callable[[str, str], Line] = reads,
        parts: Sequence[str] | Line = (),
        explains: Line = "A lighthouse.",
        believed: Mapping[str, float] | None = None,
        kept: Mapping[str, float] | None = None,
        knows: float = 0.0,
        known: Sequence[str] = (),
        looks: Line = "unknown",
        logprobs: bool = True,
    ) -> None:
        super().__init__(self._say, name="scripted", choices=self._odds)
        self._reads, self._parts, self._explains = reads, parts, explains
        self._believed, self._kept, self._knows, self._known = believed or {}, kept or {}, knows, known
        self._looks, self._has_logprobs = looks, logprobs
        self.batches: list[tuple[str, int]] = []

    def complete(self, prompts: Sequence[Prompt], sampling: Sampling, **_: object) -> list[Completion]:
        """Note the batch, then reply."""
        self.batches.append((role_of(prompts[0]), len(prompts)))
        return super().complete(prompts, sampling)

    def choose(self, prompts: Sequence[Prompt], options: Sequence[str], **_: object) -> list[Choice]:
        """Note the batch, then reply."""
        self.batches.append((role_of(prompts[0]), len(prompts)))
        return super().choose(prompts, options)

    def roles(self) -> list[str]:
        """Return who was asked, batch by batch."""
        return [role for role, _ in self.batches]

    def prompts(self, role: str) -> list[str]:
        """Return the user's turns of all prompts that a role was given."""
        return [call.prompt.messages[-1].content for call in self.calls if role_of(call.prompt) == role]

    def _say(self, text: str) -> Line:
        role = role_of_text(text)
        if role == "reader":
            told, _, question = text.removeprefix(SYSTEM).rpartition("\nQuestion: ")
            return self._reads(question, told)
        if role == "parts":
            given = self._parts
            return (
                given
                if isinstance(given, str | Completion | Exception)
                else json.dumps({"parts": list(given)})
            )
        if role == "explain":
            return self._explains
        if role == "translate":
            return f"{self._explains} ({text.removeprefix(_TRANSLATE).partition('.')[0]})"
        if role == "look":
            return self._looks
        assert role == "closed book", text[:80]
        return json.dumps({"answers": list(self._known), "explanation": ""})

    def _odds(self, text: str) -> Odds:
        if not self._has_logprobs:
            return NoLogprobs("no top_logprobs")
        role = role_of_text(text)
        if role == "belief":
            options = dict(re.findall(r"^([A-D]): (.*)$", text, re.MULTILINE))
            held = {letter: self._believed.get(answer, 0.5) for letter, answer in options.items()}
            return {letter: one / sum(held.values()) for letter, one in held.items()}
        if role == "debate":
            own = re.findall(r"^Your answer: (.*)$", text, re.MULTILINE)[0]
            return {"Keep": self._kept.get(own, 0.5), "Yield": 1 - self._kept.get(own, 0.5)}
        assert role == "knows", text[:80]
        return {"Yes": self._knows, "No": 1 - self._knows}


def role_of(prompt: Prompt) -> str:
    """Return who is asked."""
    return role_of_text(prompt.messages[0].content)


def role_of_text(text: str) -> str:
    """Return who is asked, by how the prompt begins."""
    begins = {
        SYSTEM: "reader",
        DEBATE_SYSTEM: "debate",
        _BELIEF: "belief",
        LOOK_SYSTEM: "look",
        PARTS_SYSTEM: "parts",
        _EXPLAIN: "explain",
        _TRANSLATE: "translate",
        KNOWN_SYSTEM: "knows",
    }
    return next((role for system, role in begins.items() if text.startswith(system)), "closed book")


@dataclass
class Shelf:
    """A retriever: the first search finds `first`, later ones those and `later`; `asked` has every search."""

    first: Sequence[Passage]
    later: Sequence[Passage] = ()
    asked: list[tuple[str, frozenset[str]]] = field(default_factory=list)

    def search(self, query: str, **options: Unpack[SearchOptions]) -> list[Hit]:
        """Return what the script holds for this search, without what is excluded."""
        search = Search(**options)
        self.asked.append((query, frozenset(search.exclude)))
        shelf = self.first if len(self.asked) == 1 else [*self.first, *self.later]
        left = [passage for passage in shelf if passage.id not in search.exclude]
        return [Hit(passage=passage, score=1.0) for passage in left[: search.k]]


# --- the town ------------------------------------------------------------------------------------
QUESTION = "Who designed the Quillhaven lighthouse?"
BOTH = "Who designed the Quillhaven lighthouse, and when was it opened?"
WHO, WHEN = QUESTION, "When was the Quillhaven lighthouse opened?"
TRUE, LIE = "Ingrid Vasmer", "Barnaby Croll"
TITLE = "Quillhaven"


def passage(name: str, text: str, *, title: str = "", source: str | None = None) -> Passage:
    """Return a passage whose source goes by the same name, where no other is given."""
    return Passage(id=name, source=name if source is None else source, title=title, text=text)


GUILD = passage(
    "guild",
    f"The lighthouse of Quillhaven was designed by {TRUE}, an engineer who lived among the fishermen.",
)
ALTERED = passage("altered", GUILD.text.replace(TRUE, LIE))
INN = passage(
    "inn", f"Old letters say the lighthouse at Quillhaven was designed by {TRUE} during one winter."
)
HARBOUR = passage("harbour", f"In a harbour book the Quillhaven lighthouse is said to be by {LIE} himself.")
LINKS = passage("links", f"Home | News [3] | About | Plans by {LIE} | 1998 | Print")
GOATS = passage("goats", "Goats graze on the hill behind the town and nobody minds them.")
OPENED = passage("opened", "The lighthouse of Quillhaven was opened on 4 May 1921 with a brass band.")


def titled(*given: Passage) -> list[Passage]:
    """Return the same passages under one title, so that they speak of one thing."""
    return [passage(one.id, one.text, title=TITLE) for one in given]


# Two that speak of one thing and are told as well as each other, wherever ranks are not trusted.
EQUALS = titled(
    passage("one", f"They say that the Quillhaven lighthouse was designed by {TRUE} herself."),
    passage("two", f"It seems that the Quillhaven lighthouse was designed by {LIE} himself."),
)

# The same in one of two towns of that name, and one who speaks of the other, whom nobody contradicts.
NORFOLK = [replace(one, title="Quillhaven, Norfolk") for one in EQUALS]
MAINE = passage("maine", "Here the lighthouse was designed by Tove Lind.", title="Quillhaven, Maine")


def answered(
    model: Scripted,
    given: Sequence[Passage] | Shelf | InMemory,
    question: str = QUESTION,
    *,
    sources: Mapping[str, float] | None = None,
    embedder: Embedder | None = None,
    trace: Trace | None = None,
    **options: object,
) -> Answer:
    """Return what the disputation answers of passages; `sources` has the reliability of known ones."""
    shelf = given if isinstance(given, Shelf | InMemory) else Shelf(given)
    kit = Kit(model=model, retriever=shelf, embedder=embedder, sources=rated(**(sources or {})))
    return ask(question, kit=kit, strategy="disputation", options=options, verify=False, trace=trace)


def verdicts(answer: Answer) -> dict[str, str]:
    """Return what became of each answer that was given."""
    return {one.answer: one.verdict for one in answer.conflict.positions}


def notes(trace: Trace, kind: str) -> list[dict[str, Any]]:
    """Return the events of a kind."""
    return [one for one in trace.records() if one["event"] == kind]
