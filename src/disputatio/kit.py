"""The parts that a strategy uses: models by role, a retriever, a judge of entailment, and a trace."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextvars import copy_context
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from typing import Any, TypeVar

from disputatio import calling
from disputatio.errors import ConfigError, InputError, MissingPart, TooLate
from disputatio.events import (
    Estimated,
    Event,
    Evidence,
    Excerpt,
    Extracted,
    Found,
    IndexUnsearched,
    ModelCall,
    OutOfTime,
)
from disputatio.protocols import (
    LLM,
    Cancel,
    CountedReranker,
    Deadline,
    Embedder,
    Entailment,
    PartialRetriever,
    PassageReader,
    Reranker,
    Retriever,
)
from disputatio.text import content_id, nearest_sentence, sentence_at
from disputatio.trace import Pace, Speeds, Trace, call_key, prompt_hash
from disputatio.types import (
    Choice,
    Completion,
    Extraction,
    Hit,
    Message,
    Passage,
    PastHit,
    PastSearch,
    Prompt,
    Sampling,
    Source,
)

Elsewhere = Callable[[str, int], Sequence[Passage]]
"""(query, how many) -> passages: a search of the user's own, the web for one."""
_Result = TypeVar("_Result", Completion, Choice)
LATE = "late"  # the detail of an answer that names the passages left unread at its deadline
TRAINED_READER = "trained_reader"  # the role of a model that was trained to read
NO_MODEL = "none"  # the name of the model that stands for none
_DEFAULT_ELSEWHERE = 8  # passages from elsewhere, where no number is given
_MOST_THREADS = 32  # calls of one question that wait in threads of their own
_BATCHES = count()  # numbers of batches: an address may be that of an earlier one
_RERANKED = 50  # passages that a reranker sees at least, where a number is asked for
_EXCERPTS = 5  # passages that are shown before a model has read any


@dataclass(frozen=True, slots=True, kw_only=True)
class Kit:
    """The parts that one question is answered with.

    `model` serves every role that `roles` does not name. `sources` has what is known of the sources by name.
    `reader` reads passages without a language model, `trained` is one that was trained to read them and plays
    the role `trained_reader` where `roles` does not name one. `entailment` is None where the judge's model is
    to be asked, `reranker` where the model is to say how well a passage fits, `embedder` where passages are
    compared by their words. `elsewhere` is a second place to search, as a function of a query and how many
    passages are wanted; without one that is `retriever` again. `recorded` is empty for a new question; for an
    answer that is decided again it has the details that its strategy left in `Basis.details`. `cancel` ends
    the question, and after `deadline` no model is asked. `today` is the day on which it is asked, in ISO
    form, empty where that is not to count; `speeds` are those of the models so far.
    """

    model: LLM
    roles: Mapping[str, LLM] = field(default_factory=dict)
    retriever: Retriever | None = None
    reader: PassageReader | None = None
    trained: LLM | None = None
    entailment: Entailment | None = None
    reranker: Reranker | None = None
    embedder: Embedder | None = None
    elsewhere: Elsewhere | None = None
    recorded: Mapping[str, Any] = field(default_factory=dict)
    sources: Mapping[str, Source] = field(default_factory=dict)
    trace: Trace = field(default_factory=Trace)
    cancel: Cancel = field(default_factory=Cancel)
    deadline: Deadline | None = None
    today: str = ""
    speeds: Speeds = field(default_factory=Speeds)

    @property
    def reliabilities(self) -> dict[str, float]:
        """The probability of being right of each source that has an estimate."""
        known = self.sources.items()
        return {name: source.reliability for name, source in known if source.reliability is not None}

    @property
    def has_model(self) -> bool:
        """True if there is a language model to ask (`--model none` leaves it out)."""
        return self.model.name != NO_MODEL

    @property
    def is_late(self) -> bool:
        """True after the deadline, and for an answer that was given after it: no model is to be asked."""
        return LATE in self.recorded or (self.deadline is not None and self.deadline.passed)

    def cast(self, role: str) -> LLM:
        """Return the model that plays a role."""
        default = self.trained if role == TRAINED_READER and self.trained is not None else self.model
        return self.roles.get(role, default)

    def with_trace(self, trace: Trace) -> Kit:
        """Return the same parts with another trace, for another question."""
        trace.speeds = self.speeds
        return replace(self, trace=trace)

    def emit(self, event: Event) -> None:
        """Report progress: add an event (`disputatio.events`) to the trace and to what is shown."""
        self.trace.emit(event)

    def complete(
        self,
        role: str,
        prompts: Sequence[Prompt],
        sampling: Sampling | None = None,
        *,
        passages: Sequence[Sequence[Passage]] = (),
    ) -> list[Completion]:
        """Return one completion a prompt, all in one batch; raises `LLMError`, `Cancelled`, `TooLate`.

        `passages` has those that each prompt shows, for the trace.
        """
        return self._whole(self._batch(calling.complete, role, prompts, sampling or Sampling(), passages))

    def complete_in_time(
        self,
        role: str,
        prompts: Sequence[Prompt],
        sampling: Sampling,
        passages: Sequence[Passage],
        on_done: Callable[[Passage, Completion], None] = lambda *_: None,
    ) -> list[Completion | None]:
        """Return one completion a prompt on a passage, None for those that the deadline has ended.

        `on_done` is called with each passage and its completion as they come. Raises `LLMError`, `Cancelled`.
        """
        return self._of_each(calling.complete, role, prompts, sampling, passages, on_done)

    def choose_in_time(
        self,
        role: str,
        prompts: Sequence[Prompt],
        options: Sequence[str],
        passages: Sequence[Passage],
        on_done: Callable[[Passage, Choice], None] = lambda *_: None,
    ) -> list[Choice | None]:
        """Return log P of each option for each prompt on a passage, as `complete_in_time` does."""
        return self._of_each(calling.choose, role, prompts, options, passages, on_done)

    def _of_each(
        self,
        call: Callable[..., Sequence[_Result]],
        role: str,
        prompts: Sequence[Prompt],
        setting: Sampling | Sequence[str],
        passages: Sequence[Passage],
        on_done: Callable[[Passage, _Result], None],
    ) -> list[_Result | None]:
        late = set(self.recorded.get(LATE, ()))
        asked = [number for number, passage in enumerate(passages) if passage.id not in late]
        shown = [[passages[number]] for number in asked]

        def tell(index: int, result: _Result) -> None:
            on_done(passages[asked[index]], result)

        made = self._batch(call, role, [prompts[number] for number in asked], setting, shown, tell)
        found = dict(zip(asked, made, strict=True))
        results = [found.get(number) for number in range(len(prompts))]
        unread = [passage.id for passage, each in zip(passages, results, strict=True) if each is None]
        if unread:
            self.emit(OutOfTime(passages=unread))
        return results

    def _batch(
        self,
        call: Callable[..., Sequence[_Result]],
        role: str,
        prompts: Sequence[Prompt],
        setting: Sampling | Sequence[str],
        passages: Sequence[Sequence[Passage]] = (),
        on_done: Callable[[int, _Result], None] = lambda *_: None,
    ) -> Sequence[_Result | None]:
        if not prompts:
            return []
        settings = [setting] * len(prompts)
        pace = self.trace.pace
        log = _Log(kit=self, role=role, prompts=prompts, settings=settings, pace=pace, passages=passages)

        def done(index: int, result: _Result) -> None:
            log.result(index, result)
            on_done(index, result)

        return self._in_time(partial(call, self.cast(role), prompts, setting), done, len(prompts))

    def _in_time(
        self, call: Callable[..., Sequence[_Result]], log: Callable[[int, _Result], None], size: int
    ) -> Sequence[_Result | None]:
        """Make the calls of a batch; those that are not done by the deadline are ended, and are None.

        With a deadline they are made in a thread of their own, for loading a model cannot be ended.
        """
        if self.deadline is None:
            return call(on_done=log, cancel=self.cancel)
        results: dict[int, _Result] = {}
        lock, ends, finished = threading.Lock(), Cancel(), threading.Event()

        def keep(index: int, result: _Result) -> None:
            with lock:
                if not ends.cancelled:
                    results[index] = result
                    log(index, result)

        done: Future[object] = Future()
        done.add_done_callback(lambda _: finished.set())

        def run() -> None:
            try:
                done.set_result(call(on_done=keep, cancel=ends))
            except BaseException as error:  # noqa: BLE001 (raised again by the question, if it still waits)
                done.set_exception(error)

        with self.cancel.calling(finished.set):
            if not self.deadline.passed:
                thread = threading.Thread(target=copy_context().run, args=(run,), daemon=True)
                thread.start()
                self.deadline.wait(finished)
        with lock:
            ends.cancel()
        self.cancel.check()
        if done.done():
            done.result()
        return [results.get(index) for index in range(size)]

    def _whole(self, results: Sequence[_Result | None]) -> list[_Result]:
        """Return the results of a batch; raises `TooLate` where the deadline has ended some."""
        whole = [result for result in results if result is not None]
        if len(whole) < len(results):
            raise TooLate(f"the deadline of {self.deadline.seconds if self.deadline else 0:g} s has passed")
        return whole

    def complete_each(self, role: str, requests: Sequence[tuple[Prompt, Sampling]]) -> list[Completion]:
        """Complete as `complete` does, with a sampling for each prompt (its own schema or temperature).

        An engine takes one sampling a batch, so these are single calls from as many threads, which it answers
        together; the time that they share is divided among them.
        """
        if not requests:
            return []
        model, workers = self.cast(role), min(len(requests), _MOST_THREADS)
        prompts, settings = [prompt for prompt, _ in requests], [sampling for _, sampling in requests]
        log = _Log(kit=self, role=role, prompts=prompts, settings=settings, pace=self.trace.pace)

        def call(prompt: Prompt, sampling: Sampling) -> Completion:
            [completion] = calling.complete(model, [prompt], sampling, lambda *_: None, self.cancel)
            usage = completion.usage
            return replace(completion, usage=replace(usage, seconds=usage.seconds / workers))

        with ThreadPoolExecutor(max_workers=workers) as pool:
            calls = {pool.submit(call, *request): index for index, request in enumerate(requests)}
            for finished in as_completed(calls):
                log.result(calls[finished], finished.result())
        return [finished.result() for finished in calls]

    def choose(self, role: str, prompts: Sequence[Prompt], options: Sequence[str]) -> list[Choice]:
        """Return log P of each option for each prompt, all in one batch; raises as `complete`."""
        return self._whole(self._batch(calling.choose, role, prompts, options))

    def extract(self, question: str, passages: Sequence[Passage]) -> list[Extraction]:
        """Return what the reader finds in each passage; raises `MissingPart` where the kit has no reader."""
        self.cancel.check()
        if not passages:
            return []
        if self.reader is None:
            raise MissingPart(
                "reading without a language model needs the trained encoder: leave encoder at default"
            )
        extractions = [
            replace(extraction, passage=passage.id)
            for passage, extraction in zip(passages, self.reader.read(question, passages), strict=True)
        ]
        self.trace.keep_extractions(question, extractions)
        self.emit(
            Extracted(
                passages=[passage.id for passage in passages],
                probabilities=[round(extraction.probability, 4) for extraction in extractions],
            )
        )
        shown = self.trace.evidence
        if shown is not None and shown.by == "words":
            self.emit(Evidence(query=question, by="encoder", excerpts=_read_excerpts(passages, extractions)))
        return extractions

    def rerank(self, query: str, passages: Sequence[Passage]) -> list[float]:
        """Return one score a passage by the reranker, whose cost is added to the question's."""
        if self.reranker is None:
            raise MissingPart("there is no reranker")
        if isinstance(self.reranker, CountedReranker):
            scores, usage = self.reranker.rerank_counted(query, passages)
            self.trace.spend([usage])
        else:
            scores = self.reranker.rerank(query, passages)
        if len(scores) != len(passages):
            raise ConfigError(f"the reranker scored {len(scores)} of {len(passages)} passages")
        return scores

    def _rerank_hits(self, query: str, hits: Sequence[Hit]) -> list[Hit]:
        """Return hits by the scores of the reranker; `scores["fused"]` is the score before."""
        scores = self.rerank(query, [hit.passage for hit in hits])
        pairs = sorted(zip(scores, hits, strict=True), key=lambda pair: -pair[0])
        return [replace(hit, score=score, scores={**hit.scores, "fused": hit.score}) for score, hit in pairs]

    def search(
        self,
        query: str,
        *,
        k: int | None = None,
        per_source: int | None = None,
        sources: Collection[str] | None = None,
        exclude: Collection[str] = (),
    ) -> list[Hit]:
        """Return hits for a query; raises `MissingPart` where there is nothing to search.

        What a retriever of the user's own returns against `exclude`, `sources` or `per_source` is dropped.
        """
        self.cancel.check()
        if self.retriever is None:
            raise MissingPart("there is nothing to search: give --index DIR or --passages FILE")
        wider = k if k is None or self.reranker is None else max(_RERANKED, 2 * k)
        hits = self.retriever.search(query, k=wider, per_source=per_source, sources=sources, exclude=exclude)
        if isinstance(self.retriever, PartialRetriever):
            for left_out in self.retriever.unsearched():
                self.emit(IndexUnsearched(index=left_out.index, reason=left_out.reason))
        hits = _within(hits, per_source, sources, exclude)
        if self.reranker is not None:
            hits = self._rerank_hits(query, hits)[: k if per_source is None else None]
        search = PastSearch(
            query=query,
            hits=tuple(
                PastHit(passage=hit.passage.id, score=hit.score, scores=dict(hit.scores)) for hit in hits
            ),
            k=k,
            per_source=per_source,
            sources=None if sources is None else tuple(sorted(sources)),
            exclude=tuple(sorted(exclude)),
        )
        self._note_search(search, [hit.passage for hit in hits])
        return hits

    def passages(self, question: str, *, k: int | None = None) -> list[Passage]:
        """Return the passages to read for a question, best first (in hand: as they were given)."""
        return [hit.passage for hit in self.search(question, k=k)]

    def search_elsewhere(
        self, query: str, *, k: int | None = None, exclude: Collection[str] = ()
    ) -> list[Passage]:
        """Return passages from the second place to search, or from the first where there is no other.

        A passage without an id gets one from its content. Raises `InputError` for one without text.
        """
        if self.elsewhere is None:
            return [hit.passage for hit in self.search(query, k=k, exclude=exclude)]
        passages: dict[str, Passage] = {}
        for passage in self.elsewhere(query, k or _DEFAULT_ELSEWHERE):
            if not passage.text.strip():
                raise InputError("the search function returned a passage without text")
            name = passage.id or content_id("p", passage.source, passage.text)
            if name not in exclude:
                passages.setdefault(name, replace(passage, id=name))
        hits = tuple(PastHit(passage=name, score=1.0) for name in passages)
        search = PastSearch(query=query, hits=hits, k=k, exclude=tuple(sorted(exclude)), elsewhere=True)
        self._note_search(search, list(passages.values()))
        return list(passages.values())

    def _note_search(self, search: PastSearch, passages: Sequence[Passage]) -> None:
        is_repeated = any(_is_same(search, earlier) for earlier in self.trace.searches)
        self.trace.keep_search(search, passages)
        if is_repeated:
            return
        self.emit(
            Found(
                query=search.query,
                passages=tuple(passage.id for passage in passages),
                sources=tuple(passage.source for passage in passages),
                elsewhere=search.elsewhere,
            )
        )
        if passages and self.trace.is_followed and self.trace.evidence is None:
            self.emit(Evidence(query=search.query, by="words", excerpts=_excerpts(search.query, passages)))


def _is_same(search: PastSearch, other: PastSearch) -> bool:
    """Return whether two searches asked for the same and found the same passages."""
    asked = search.query == other.query and search.elsewhere == other.elsewhere
    return asked and {hit.passage for hit in search.hits} == {hit.passage for hit in other.hits}


def _excerpts(query: str, passages: Sequence[Passage]) -> tuple[Excerpt, ...]:
    """Return the sentences of the first passages that share most words with a query."""
    return tuple(
        _excerpt(passage, *nearest_sentence(passage.text, query)) for passage in passages[:_EXCERPTS]
    )


def _read_excerpts(passages: Sequence[Passage], extractions: Sequence[Extraction]) -> tuple[Excerpt, ...]:
    """Return the sentences that the encoder takes for answers, the likeliest first."""
    read = sorted(zip(passages, extractions, strict=True), key=lambda pair: -pair[1].probability)
    return tuple(
        _excerpt(passage, *sentence_at(passage.text, each.start, each.end), round(each.probability, 4))
        for passage, each in read[:_EXCERPTS]
    )


def _excerpt(passage: Passage, start: int, end: int, answers: float | None = None) -> Excerpt:
    return Excerpt(
        passage=passage.id,
        title=passage.title,
        source=passage.source,
        sentence=passage.text[start:end],
        start=start,
        end=end,
        answers=answers,
    )


def _within(
    hits: Sequence[Hit], per_source: int | None, sources: Collection[str] | None, exclude: Collection[str]
) -> list[Hit]:
    """Return the hits that a search's options allow; passages without a source are sources of their own."""
    allowed: list[Hit] = []
    counts: Counter[str] = Counter()
    for hit in hits:
        source = hit.passage.source
        if (
            hit.passage.id in exclude
            or hit.passage.document in exclude
            or (sources is not None and source not in sources)
        ):
            continue
        counts[source] += 1
        if per_source is None or not source or counts[source] <= per_source:
            allowed.append(hit)
    return allowed


@dataclass(frozen=True, slots=True, kw_only=True)
class _Log:
    """Counts, keeps and traces the calls of one batch as they finish.

    `settings` has the sampling or the options of each prompt, `passages` those that it shows; `pace` is that
    of the question which began the batch.
    """

    kit: Kit
    role: str
    prompts: Sequence[Prompt]
    settings: Sequence[Sampling | Sequence[str]]
    pace: Pace
    passages: Sequence[Sequence[Passage]] = ()
    batch: int = field(default_factory=lambda: next(_BATCHES))

    def __post_init__(self) -> None:
        """Tell how long the question may take, now that the batch begins."""
        trace, model = self.kit.trace, self.kit.cast(self.role).name
        sizes = [sum(len(turn.content) for turn in prompt.messages) for prompt in self.prompts]
        self.pace.begin(self.batch, model, self.role, sizes)
        left = self.pace.estimate_remaining()
        if left is not None and left >= 1 and trace.is_followed:
            seconds = round(self.pace.seconds, 2)
            trace.emit(Estimated(role=self.role, calls=len(sizes), seconds=seconds, remaining=round(left, 1)))

    def result(self, index: int, result: Completion | Choice) -> None:
        trace, usage, prompt = self.kit.trace, result.usage, self.prompts[index]
        trace.spend([usage])
        shown = self.passages[index] if self.passages else ()
        done = self.pace.note(self.batch, index, usage, journalled=result.journalled)
        left = self.pace.estimate_remaining()
        trace.keep_call(call_key(self.role, prompt, self.settings[index]), result)
        call = ModelCall(
            method="choose" if isinstance(result, Choice) else "complete",
            role=self.role,
            model=self.kit.cast(self.role).name,
            call=index + 1,
            calls=len(self.prompts),
            passages=tuple(passage.id for passage in shown),
            titles=tuple(passage.title for passage in shown),
            usage=replace(usage, calls=1, seconds=round(usage.seconds, 4)),
            journalled=result.journalled,
            done=done,
            tokens=self.pace.tokens,
            seconds=round(self.pace.seconds, 2),
            remaining=None if left is None else round(left, 1),
            prompt_hash=prompt_hash(prompt),
        )
        if trace.keep_text:
            turns = [{"role": turn.role, "content": turn.content} for turn in prompt.messages]
            if isinstance(result, Choice):
                call = replace(call, scores=dict(zip(result.options, result.logprobs, strict=True)))
            else:
                call = replace(call, reply=result.text)
            call = replace(call, prompt=turns)
        trace.emit(call)


def chat(system: str, user: str) -> Prompt:
    """Return a prompt of two turns; what stays the same from call to call belongs into the first."""
    return Prompt(messages=(Message(role="system", content=system), Message(role="user", content=user)))
