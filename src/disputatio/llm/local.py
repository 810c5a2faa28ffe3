"""The embedded engine: OpenVINO GenAI in process, with continuous batching and prefix caching.

One thread owns the pipeline and steps it; questions from any number of threads join the batch that
is running. Log-probabilities are taken by the engine before its constraint mask (checked by
`bench/choose_check.py`), so `choose` generates one constrained token an option, over a prefix that
is computed once, and reads the model's own P(option).

The first load of a GGUF file writes the converted model into the user's cache; later loads read it.
"""

from __future__ import annotations

import json
import queue
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, cast

from disputatio.errors import ConfigError, ContextTooLong, LLMError, Malformed, MissingDependency
from disputatio.llm.converted import converted_folder, open_pipeline
from disputatio.llm.grammar import schema_regex
from disputatio.types import Capabilities, Choice, Completion, Prompt, Sampling, Token, Usage

_BLOCK = 32  # tokens in a block of the engine's prefix cache on a CPU
_KV_BYTES_A_TOKEN = 16_384  # what the 1.5B model takes, rounded up; larger models take more
_ENGINES: dict[Path, _Engine] = {}
_ENGINES_LOCK = threading.Lock()


class Local:
    """A model in process, by the path of a GGUF file or of a converted folder.

    It is loaded at the first call, once per process and path. `cache_gb` bounds the key-value
    cache; `say` hears what is happening while the user waits.
    """

    def __init__(
        self,
        name: str,
        find: Callable[[], Path],
        *,
        cache: Path,
        cache_gb: int = 2,
        context_tokens: int = 32_768,
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._name, self._find, self._cache, self._say = name, find, cache, say
        self._cache_gb, self._context = cache_gb, context_tokens
        self._lock = threading.Lock()
        self._engine: _Engine | None = None

    @property
    def name(self) -> str:
        """`local:` and the model's name."""
        return f"local:{self._name}"

    @property
    def engine(self) -> str:
        """The engine and its version, known without loading it."""
        return engine_name()

    def capabilities(self) -> Capabilities:
        """Log-probabilities, schemas, and as many options as are asked for."""
        return Capabilities(
            engine=self.engine,
            logprobs=True,
            max_options=1_000,
            schema=True,
            context_tokens=self._context,
        )

    def complete(self, prompts: Sequence[Prompt], sampling: Sampling) -> list[Completion]:
        """One completion a prompt, in one running batch; raises `ContextTooLong`, `Malformed`."""
        engine = self._load()
        config = engine.config(sampling)
        began = time.perf_counter()
        encoded = [self._encode(engine, one, sampling.max_tokens) for one in prompts]
        done = [job.result() for job in engine.submit(encoded, config)]
        share = (time.perf_counter() - began) / max(len(done), 1)
        return [
            Completion(
                text=one.text,
                finish_reason=one.finish_reason,
                tokens=one.tokens,
                usage=Usage(
                    calls=1,
                    prompt_tokens=one.prompt_tokens,
                    cached_tokens=one.cached_tokens,
                    completion_tokens=len(one.ids),
                    seconds=share,
                ),
            )
            for one in done
        ]

    def choose(self, prompts: Sequence[Prompt], options: Sequence[str]) -> list[Choice]:
        """log P of each option's first token; options must differ in it."""
        engine = self._load()
        engine.check_options(options)
        began = time.perf_counter()
        # One option first: it computes the prefix, which the other options then find in the cache.
        encoded = [self._encode(engine, one, 1) for one in prompts]
        columns: list[list[_Generated]] = []
        for option in options:
            config = engine.config(Sampling(max_tokens=1), only=option)
            columns.append([job.result() for job in engine.submit(encoded, config)])
        share = (time.perf_counter() - began) / max(len(encoded), 1)
        choices = []
        for row in zip(*columns, strict=True):
            logprobs = tuple(one.tokens[0].logprob for one in row)
            usage = Usage(
                calls=1,
                prompt_tokens=row[0].prompt_tokens,
                cached_tokens=row[0].cached_tokens,
                completion_tokens=1,
                seconds=share,
            )
            choices.append(
                Choice(
                    options=tuple(options),
                    logprobs=logprobs,
                    bounded=(False,) * len(logprobs),
                    usage=usage,
                )
            )
        return choices

    def _encode(self, engine: _Engine, prompt: Prompt, new_tokens: int) -> Any:
        ids = engine.encode(prompt)
        limit = min(self._context, engine.capacity)
        if ids.shape[1] + new_tokens > limit:
            raise ContextTooLong(
                f"{self.name}: the prompt has {ids.shape[1]} tokens and {new_tokens} are to be written; "
                f"{limit} fit: read fewer or shorter passages"
            )
        return ids

    def _load(self) -> _Engine:
        with self._lock:
            if self._engine is None:
                path = self._find()
                with _ENGINES_LOCK:
                    if path not in _ENGINES:
                        _ENGINES[path] = _Engine(path, self._cache, self._cache_gb, self._say)
                    self._engine = _ENGINES[path]
            return self._engine


def engine_name() -> str:
    """The engine's name and version, from the installed package's metadata."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return f"openvino-genai {version('openvino-genai')}"
    except PackageNotFoundError as absent:
        raise MissingDependency("openvino-genai", "local") from absent


@dataclass(frozen=True, slots=True)
class _Generated:
    text: str
    ids: tuple[int, ...]
    tokens: tuple[Token, ...]
    finish_reason: Any
    prompt_tokens: int
    cached_tokens: int


@dataclass(slots=True)
class _Job:
    """A request; `read` once its prompt is computed, or will not be. It waits until `after` is read."""

    ids: Any
    config: Any
    after: _Job | None = None
    read: bool = False
    future: Future[_Generated] = field(default_factory=Future)
    handle: Any = None
    cached: int = 0


class _Engine:
    """One pipeline, its tokenizer, and the thread that steps it."""

    def __init__(self, path: Path, cache: Path, cache_gb: int, say: Callable[[str], None]) -> None:
        try:
            cast("dict[str, Any]", sys.modules).setdefault("openvino_telemetry", None)  # else use is reported
            import openvino_genai
        except ImportError as absent:
            raise MissingDependency("openvino-genai", "local") from absent
        self._genai = openvino_genai
        self.capacity = cache_gb * 2**30 // _KV_BYTES_A_TOKEN
        folder = converted_folder(path, cache, say)
        self._pipeline, self._tokenizer = open_pipeline(folder, cache_gb, say)
        self._seen = _SeenBlocks(self.capacity // _BLOCK)
        self._numbers = count()
        # Several threads in the tokenizer's binding at once were seen to stand still for good, each
        # waiting for what another held; so they take turns.
        self._spelling = threading.Lock()
        self._inbox: queue.SimpleQueue[_Job] = queue.SimpleQueue()
        threading.Thread(target=self._serve, name="disputatio-engine", daemon=True).start()

    def encode(self, prompt: Prompt) -> Any:
        """Token ids of a chat, an integer tensor (1, n), by the model's own template."""
        turns = [{"role": m.role, "content": m.content} for m in prompt.messages]
        with self._spelling:
            text = self._tokenizer.apply_chat_template(turns, add_generation_prompt=True)
            return self._tokenizer.encode(text, add_special_tokens=False).input_ids

    def config(self, sampling: Sampling, *, only: str | None = None) -> Any:
        """The engine's own form of how to generate; `only` admits one literal text."""
        config = self._genai.GenerationConfig()
        config.max_new_tokens = sampling.max_tokens
        config.do_sample = sampling.temperature > 0
        if config.do_sample:
            config.temperature, config.top_p = sampling.temperature, sampling.top_p
            config.rng_seed = sampling.seed
        config.logprobs = 1
        config.apply_chat_template = False
        if only is not None or sampling.schema is not None:
            shape = self._genai.StructuredOutputConfig()
            if only is not None:
                shape.regex = only
            elif (pattern := schema_regex(sampling.schema or {})) is not None:
                shape.regex = pattern
            else:
                shape.json_schema = json.dumps(sampling.schema)
            config.structured_output_config = shape
        return config

    def check_options(self, options: Sequence[str]) -> None:
        """Options are told apart by their first token; raises `ConfigError` where they are not."""
        with self._spelling:
            spelt = [self._tokenizer.encode(one, add_special_tokens=False).input_ids for one in options]
        firsts = [int(one.data[0][0]) for one in spelt]
        if len(set(firsts)) != len(firsts) or not all(one.isalnum() for one in options):
            raise ConfigError(f"options must be words that differ in their first token: {options}")

    def submit(self, prompts: Sequence[Any], config: Any) -> list[Future[_Generated]]:
        """Queue prompts for the running batch.

        Requests added together do not find each other's prefix in the cache, so where they share one
        that is long enough the first goes ahead until it is read.
        """
        jobs = [_Job(ids, config) for ids in prompts]
        if len(jobs) > 1 and _shared([ids.data[0] for ids in prompts]) >= _BLOCK:
            for job in jobs[1:]:
                job.after = jobs[0]
        for job in jobs:
            self._inbox.put(job)
        return [job.future for job in jobs]

    def _serve(self) -> None:
        active: list[_Job] = []
        held: list[_Job] = []
        while True:
            self._admit(active, held)
            if not active:
                continue
            try:
                self._pipeline.step()
            except RuntimeError as fault:
                for job in active:
                    job.read = True
                    job.future.set_exception(LLMError(f"the embedded engine failed: {fault}"))
                active.clear()
                continue
            for job in active:
                if not job.read and (job.handle.can_read() or self._is_over(job)):
                    job.read = True
                    self._seen.add(job.ids.data[0].tolist())
            active = [job for job in active if not self._settle(job)]

    def _admit(self, active: list[_Job], held: list[_Job]) -> None:
        """Take what waits; sleep only when nothing is running."""
        ready = [job for job in held if job.after is None or job.after.read]
        held[:] = [job for job in held if job not in ready]
        for job in ready:
            self._add(job, active)
        while True:
            try:
                job = self._inbox.get(block=not active and not held)
            except queue.Empty:
                return
            if job.after is None or job.after.read:
                self._add(job, active)
            else:
                held.append(job)
            if self._inbox.empty():
                return

    def _add(self, job: _Job, active: list[_Job]) -> None:
        job.cached = self._seen.match(job.ids.data[0].tolist())
        try:
            job.handle = self._pipeline.add_request(next(self._numbers), job.ids, job.config)
        except RuntimeError as fault:
            job.read = True
            job.future.set_exception(Malformed(f"the embedded engine refused the request: {fault}"))
            return
        active.append(job)

    def _is_over(self, job: _Job) -> bool:
        return bool(job.handle.get_status() != self._genai.GenerationStatus.RUNNING)

    def _settle(self, job: _Job) -> bool:
        if not self._is_over(job):
            return False
        outputs = job.handle.read_all()
        if not outputs or job.handle.get_status() == self._genai.GenerationStatus.IGNORED:
            job.future.set_exception(ContextTooLong("the embedded engine had no room for the prompt"))
            return True
        output = outputs[0]
        ids = tuple(int(one) for one in output.generated_ids)
        prompt = job.ids.data[0].tolist()
        self._seen.add([*prompt, *ids])
        reason = output.finish_reason == self._genai.GenerationFinishReason.LENGTH
        with self._spelling:
            pieces = self._tokenizer.decode([[one] for one in ids]) if ids else []
            text = self._tokenizer.decode(list(ids)) if ids else ""
        tokens = tuple(
            Token(text=piece, logprob=float(logprob))
            for piece, logprob in zip(pieces, output.generated_log_probs, strict=True)
        )
        job.future.set_result(
            _Generated(
                text=text,
                ids=ids,
                tokens=tokens,
                finish_reason="length" if reason else "stop",
                prompt_tokens=len(prompt),
                cached_tokens=job.cached,
            )
        )
        return True


def _shared(prompts: Sequence[Any]) -> int:
    """How many leading tokens all prompts share.

    >>> _shared([[1, 2, 3], [1, 2, 4, 5], [1, 2]])
    2
    """
    same = 0
    for column in zip(*prompts, strict=False):
        if any(one != column[0] for one in column):
            break
        same += 1
    return same


class _SeenBlocks:
    """Which prefixes the engine holds, by the rule it follows: whole blocks, least used first out.

    The engine does not report how many prompt tokens its prefix cache spared, so they are counted
    here from the same token ids.

    >>> seen = _SeenBlocks(capacity=10)
    >>> seen.add(list(range(70)))
    >>> seen.match(list(range(70))), seen.match([5] * 70)
    (64, 0)
    """

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._blocks: OrderedDict[int, None] = OrderedDict()

    def match(self, ids: list[int]) -> int:
        """How many leading tokens are held; at least one is always left to compute."""
        held = 0
        for held_to, key in self._keys(ids):
            if key not in self._blocks or held_to >= len(ids):
                break
            self._blocks.move_to_end(key)
            held = held_to
        return held

    def add(self, ids: list[int]) -> None:
        """Hold the whole blocks of a finished sequence."""
        for _, key in self._keys(ids):
            self._blocks[key] = None
            self._blocks.move_to_end(key)
        while len(self._blocks) > self._capacity:
            self._blocks.popitem(last=False)

    @staticmethod
    def _keys(ids: list[int]) -> list[tuple[int, int]]:
        keys, parent = [], 0
        for start in range(0, len(ids) - _BLOCK + 1, _BLOCK):
            parent = hash((parent, *ids[start : start + _BLOCK]))
            keys.append((start + _BLOCK, parent))
        return keys
