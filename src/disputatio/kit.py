"""What a strategy is handed: models by role, a retriever, a judge of entailment, and a trace.

Every model call goes through `Kit.complete` or `Kit.choose`: one place that casts a model for a
role, batches, counts and traces.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import TypeVar

from disputatio.errors import InputError, MissingPart
from disputatio.protocols import LLM, Embedder, Entailment, Reranker, Retriever
from disputatio.text import content_id
from disputatio.trace import Trace, prompt_hash
from disputatio.types import Choice, Completion, Hit, Message, Passage, Prompt, Sampling, Source

_Word = TypeVar("_Word", Completion, Choice)

Elsewhere = Callable[[str, int], Sequence[Passage]]
"""(query, how many) -> passages: a search of the user's own, the web for one."""
_WANTED = 8  # passages from elsewhere, where it is not said how many
_AT_ONCE = 32  # calls of one question that wait in threads of their own


@dataclass(frozen=True, slots=True, kw_only=True)
class Kit:
    """The parts that one question is answered with.

    `model` serves every role that `roles` does not name. `sources` has what is known of
    the sources by name. `entailment` is None where the judge's model is to be asked, `reranker` where
    the model is to say how well a passage fits, `embedder` where passages are compared by their words.
    `elsewhere` is a second place to search, as a function of a query and how many passages are wanted;
    without one that is `retriever` again.
    """

    model: LLM
    roles: Mapping[str, LLM] = field(default_factory=dict)
    retriever: Retriever | None = None
    entailment: Entailment | None = None
    reranker: Reranker | None = None
    embedder: Embedder | None = None
    elsewhere: Elsewhere | None = None
    sources: Mapping[str, Source] = field(default_factory=dict)
    trace: Trace = field(default_factory=Trace)

    @property
    def reliabilities(self) -> dict[str, float]:
        """The probability of being right of each source that has an estimate."""
        return {name: one.reliability for name, one in self.sources.items() if one.reliability is not None}

    def cast(self, role: str) -> LLM:
        """The model that plays a role."""
        return self.roles.get(role, self.model)

    def with_trace(self, trace: Trace) -> Kit:
        """The same parts with another trace, for another question."""
        return replace(self, trace=trace)

    def complete(
        self, role: str, prompts: Sequence[Prompt], sampling: Sampling | None = None
    ) -> list[Completion]:
        """One completion a prompt, all in one batch; raises `LLMError`."""
        if not prompts:
            return []
        done = self.cast(role).complete(prompts, sampling or Sampling())
        self._log("complete", role, prompts, done, lambda one: one.text)
        return done

    def complete_each(self, role: str, asked: Sequence[tuple[Prompt, Sampling]]) -> list[Completion]:
        """As `complete`, where every prompt is answered in a way of its own (a schema, a temperature).

        An engine takes one way a batch, so these are calls of their own from as many threads, which it
        answers together; the time that they share is shared among them.
        """
        if not asked:
            return []
        model, at_once = self.cast(role), min(len(asked), _AT_ONCE)
        with ThreadPoolExecutor(max_workers=at_once) as pool:
            words = list(pool.map(lambda one: model.complete([one[0]], one[1])[0], asked))
        done = [replace(one, usage=replace(one.usage, seconds=one.usage.seconds / at_once)) for one in words]
        self._log("complete", role, [prompt for prompt, _ in asked], done, lambda one: one.text)
        return done

    def choose(self, role: str, prompts: Sequence[Prompt], options: Sequence[str]) -> list[Choice]:
        """log P of each option for each prompt, all in one batch; raises `LLMError`."""
        if not prompts:
            return []
        done = self.cast(role).choose(prompts, options)
        self._log(
            "choose", role, prompts, done, lambda one: dict(zip(one.options, one.logprobs, strict=True))
        )
        return done

    def search(
        self,
        query: str,
        *,
        k: int | None = None,
        per_source: int | None = None,
        sources: Collection[str] | None = None,
        exclude: Collection[str] = (),
    ) -> list[Hit]:
        """Hits for a query; raises `MissingPart` where there is nothing to search."""
        if self.retriever is None:
            raise MissingPart("there is nothing to search: give --index DIR or --passages FILE")
        hits = self.retriever.search(query, k=k, per_source=per_source, sources=sources, exclude=exclude)
        self.trace.note("search", query=query, hits=[hit.passage.id for hit in hits])
        return hits

    def passages(self, question: str, *, k: int | None = None) -> list[Passage]:
        """The passages to read for a question, best first (in hand: as they were given)."""
        return [hit.passage for hit in self.search(question, k=k)]

    def search_elsewhere(
        self, query: str, *, k: int | None = None, exclude: Collection[str] = ()
    ) -> list[Passage]:
        """Passages from the second place to search, or from the first where there is no other.

        A passage without an id gets one from its content. Raises `InputError` for one without text.
        """
        if self.elsewhere is None:
            return [hit.passage for hit in self.search(query, k=k, exclude=exclude)]
        found: dict[str, Passage] = {}
        for one in self.elsewhere(query, k or _WANTED):
            if not one.text.strip():
                raise InputError("the search function returned a passage without text")
            name = one.id or content_id("p", one.source, one.text)
            if name not in exclude:
                found.setdefault(name, replace(one, id=name))
        self.trace.note("search", query=query, hits=list(found), elsewhere=True)
        return list(found.values())

    def _log(
        self,
        kind: str,
        role: str,
        prompts: Sequence[Prompt],
        done: Sequence[_Word],
        word: Callable[[_Word], object],
    ) -> None:
        self.trace.spend(one.usage for one in done)
        for prompt, one in zip(prompts, done, strict=True):
            text = {}
            if self.trace.keep_text:
                text = {
                    "prompt": [{"role": m.role, "content": m.content} for m in prompt.messages],
                    "reply": word(one),
                }
            self.trace.note(
                kind,
                role=role,
                model=self.cast(role).name,
                prompt_hash=prompt_hash(prompt),
                prompt_tokens=one.usage.prompt_tokens,
                cached_tokens=one.usage.cached_tokens,
                completion_tokens=one.usage.completion_tokens,
                seconds=round(one.usage.seconds, 4),
                journalled=one.journalled,
                **text,
            )


def chat(system: str, user: str) -> Prompt:
    """A prompt of two turns; what stays the same from call to call belongs into the first."""
    return Prompt(messages=(Message(role="system", content=system), Message(role="user", content=user)))
