"""A scripted desk of RAGentA: predictors told apart by their passage, a judge, an answerer, a reviser."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence

from disputatio.agents.passage_judge import PREDICTOR_SYSTEM
from disputatio.errors import NoLogprobs
from disputatio.llm.scripted import Line, Odds, Scripted
from disputatio.strategies.ragenta import REVISER_SYSTEM, SYSTEM
from disputatio.types import Choice, Completion, Prompt, Sampling

Evidence = Mapping[str, str]  # id -> quote


def found(answer: str) -> str:
    """Return a predictor's reply."""
    return json.dumps({"answer": answer})


NOTHING = json.dumps({"answer": "unknown"})


def stated(*claims: tuple[str, Sequence[str]], answers: Sequence[str] = ()) -> str:
    """Return the final agent's reply: statements with the ids of their evidence."""
    told = [{"statement": text, "evidence": list(ids)} for text, ids in claims]
    return json.dumps({"answers": list(answers), "claims": told})


def part(name: str, *claims: str, coverage: str = "full", follow_up: str = "") -> dict[str, object]:
    """Return one component as the reviser tells it."""
    return {"component": name, "claims": list(claims), "coverage": coverage, "follow_up": follow_up}


def revised(*parts: Mapping[str, object]) -> str:
    """Return the reviser's reply."""
    return json.dumps({"components": list(parts)})


def citing_all(evidence: Evidence) -> str:
    """Return a final agent that states each quote with its id."""
    return stated(*[(quote, [name]) for name, quote in evidence.items()])


class Desk(Scripted):
    """Predictors say the line of the first word that stands in their passage, else that it is unknown.

    `relevant` gives P(Yes) by a word of the passage, 0.9 where no word stands there. `final` makes the
    final reply of the evidence that it was given. `batches` has the role and size of every batch.
    """

    def __init__(
        self,
        lines: Mapping[str, Line],
        *,
        final: Callable[[Evidence], Line] = citing_all,
        relevant: Mapping[str, float] | None = None,
        revisions: Sequence[Line] = (),
        logprobs: bool = True,
    ) -> None:
        super().__init__(self._say, name="desk", choices=self._odds)
        self._lines, self._final, self._relevant = lines, final, relevant or {}
        self._revisions, self._has_logprobs = list(revisions), logprobs
        self.batches: list[tuple[str, int]] = []
        self.evidence: list[Evidence] = []

    def complete(self, prompts: Sequence[Prompt], sampling: Sampling, **_: object) -> list[Completion]:
        self.batches.append((role_of(prompts[0]), len(prompts)))
        return super().complete(prompts, sampling)

    def choose(self, prompts: Sequence[Prompt], options: Sequence[str], **_: object) -> list[Choice]:
        self.batches.append((role_of(prompts[0]), len(prompts)))
        return super().choose(prompts, options)

    def prompts(self, role: str) -> list[Prompt]:
        """Return all prompts that a role was given."""
        return [call.prompt for call in self.calls if role_of(call.prompt) == role]

    def _say(self, text: str) -> Line:
        if text.startswith(PREDICTOR_SYSTEM):
            body = passage_of(text)
            return next((line for word, line in self._lines.items() if word in body), NOTHING)
        if text.startswith(SYSTEM):
            rows = [json.loads(line) for line in body_of(text, "evidence").splitlines()]
            self.evidence.append({row["id"]: row["quote"] for row in rows})
            return self._final(self.evidence[-1])
        if text.startswith(REVISER_SYSTEM):
            return self._revisions.pop(0) if self._revisions else revised()
        raise AssertionError(text[:80])

    def _odds(self, text: str) -> Odds:
        if not self._has_logprobs:
            return NoLogprobs("no top_logprobs")
        if not text.startswith(PREDICTOR_SYSTEM):  # the audit's judge
            return {"Yes": 0.9, "No": 0.1}
        body = passage_of(text)
        yes = next((odds for word, odds in self._relevant.items() if word in body), 0.9)
        return {"Yes": yes, "No": 1 - yes}


def role_of(prompt: Prompt) -> str:
    """Return who is asked."""
    system, *turns = prompt.messages
    if system.content == PREDICTOR_SYSTEM:
        return "judge" if len(turns) > 1 else "predictor"
    return {SYSTEM: "answerer", REVISER_SYSTEM: "reviser"}.get(system.content, "audit")


def passage_of(text: str) -> str:
    """Return the passage in a predictor's or judge's prompt."""
    return body_of(text.removeprefix(PREDICTOR_SYSTEM), "passage")


def body_of(text: str, label: str) -> str:
    """Return what stands between the marks of a fence."""
    match = re.search(rf"<{label} (\w{{6}})>\n(.*?)\n</{label} \1>", text, re.DOTALL)
    assert match, f"no {label} in {text[:200]!r}"
    return match[2]
