"""The process of the embedded engine: OpenVINO GenAI with continuous batching and prefix caching.

`python -m disputatio.llm.embedded MODEL CACHE CACHE_GB CONTEXT`, started by `disputatio.llm.local`. It is a
process of its own because a step of the pipeline holds Python's global lock from beginning to end, a tenth
of a second while replies are written and seconds while prompts are read: in the user's process every other
thread would stand still. And a fault of the native code ends this process, not the user's.

Requests come as lines of JSON on standard input, answers and news go as lines on standard output:

* in: `{"id": 1, "do": "complete", "prompts": [[["user", "..."]]], "sampling": {...}}`,
  `{"id": 2, "do": "choose", "prompts": [...], "options": ["Yes", "No"]}`, `{"id": 1, "do": "cancel"}`;
* out: `{"say": "loading ..."}`, `{"id": 0, "done": true}` (the model is loaded), for each prompt
  `{"id": 1, "index": 0, "reply": {...}}` when its reply is whole, and last `{"id": 1, "done": true}` or
  `{"id": 1, "fault": "ContextTooLong", "message": "..."}` (with id 0: it could not be loaded).

One thread steps the pipeline; requests join the batch that is running. Log-probabilities are taken by the
engine before its constraint mask (`bench/results/engine/choose_check.md`), so `choose` generates one
constrained token an option, over a prefix that is computed once, and reads the model's own P(option).
"""

from __future__ import annotations

import json
import os
import queue
import re
import shutil
import signal
import sys
import tempfile
import threading
import time
import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from itertools import count
from pathlib import Path
from typing import Any

from disputatio import platforms
from disputatio.errors import ConfigError, ContextTooLong, DisputatioError, InputError, LLMError, Malformed
from disputatio.llm import gguf
from disputatio.llm.cores import settings_of, threads_now
from disputatio.platforms import block_usage_reports
from disputatio.text import content_id
from disputatio.types import Sampling

# --- models in the engine's own format ----------------------------------------------------------------
ABANDONED = 86_400.0  # seconds: no conversion takes as long
_MAKING = ".making-"
_FILES = ("openvino_model.xml", "openvino_model.bin", "openvino_tokenizer.xml", "openvino_detokenizer.xml")


def ensure_converted(path: Path, cache: Path, say: Callable[[str], None]) -> Path:
    """Return the folder to load for a path, converted if need be; raises `InputError`, `LLMError`."""
    if path.is_dir():
        if all((path / name).exists() for name in _FILES):
            return path
        weights = sorted(path.glob("*.gguf"))
        if len(weights) != 1:
            raise InputError(f"{path}: holds neither a converted model nor one .gguf file")
        path = weights[0]
    if not path.is_file():
        raise InputError(f"{path}: no such model file")
    stat = path.stat()
    stamp = content_id(
        "", str(path.resolve()), str(stat.st_size), str(stat.st_mtime_ns), version("openvino-genai")
    )
    folder = cache / "converted" / f"{path.stem}-{stamp}"
    if not folder.exists():
        say(f"converting {path.name} once, for faster starts ({folder})")
        _convert(path, folder)
    return folder


def open_pipeline(folder: Path, cache_gb: int, say: Callable[[str], None], threads: int) -> tuple[Any, Any]:
    """Return the pipeline over a converted folder, and its tokenizer; raises `LLMError`."""
    block_usage_reports()
    import openvino_genai

    scheduler = openvino_genai.SchedulerConfig()
    scheduler.enable_prefix_caching = True
    scheduler.cache_size = cache_gb
    scheduler.max_num_batched_tokens = 2048
    say(f"loading {folder.name.rsplit('-', 1)[0]}")
    try:
        tokenizer = openvino_genai.Tokenizer(folder)
        settings = settings_of(threads)
        pipeline = openvino_genai.ContinuousBatchingPipeline(folder, tokenizer, scheduler, "CPU", **settings)
        return pipeline, tokenizer
    except RuntimeError as fault:
        raise LLMError(
            f"{folder}: the engine could not load it; delete the folder to convert anew: {fault}"
        ) from fault


def _convert(path: Path, folder: Path) -> None:
    """Write the engine's own form of a GGUF file; it is visible only when it is whole."""
    block_usage_reports()
    import openvino_genai

    folder.parent.mkdir(parents=True, exist_ok=True)
    _clear_abandoned(folder.parent)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=_MAKING) as making:
        work = Path(making) / "model"
        work.mkdir()
        link = work / path.name
        if gguf.holds_unreadable(path):
            gguf.rewrite(path, link)
        else:
            link.symlink_to(path.resolve())
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)
                tokenizer = openvino_genai.Tokenizer(link, enable_save_ov_model=True)
                scheduler = openvino_genai.SchedulerConfig()
                scheduler.cache_size = 1
                openvino_genai.ContinuousBatchingPipeline(  # makes another tokenizer if it is given none
                    link, tokenizer, scheduler, "CPU", enable_save_ov_model=True
                )
        except RuntimeError as fault:
            raise LLMError(
                f"{path}: the engine cannot read this file: {str(fault).splitlines()[0]}"
            ) from fault
        link.unlink()
        missing = [name for name in _FILES if not (work / name).exists()]
        if missing:
            free = shutil.disk_usage(folder.parent).free // 2**20
            raise LLMError(
                f"{path}: the conversion did not write {missing[0]} ({free} MB free in {folder.parent})"
            )
        try:
            work.rename(folder)  # one atomic step on one file system
        except OSError:
            if not folder.exists():  # another process may have finished first
                raise


def _clear_abandoned(parent: Path) -> None:
    """Remove unfinished conversions older than a day: a gigabyte each."""
    for work in parent.glob(f"{_MAKING}*"):
        if time.time() - work.stat().st_mtime > ABANDONED:
            shutil.rmtree(work, ignore_errors=True)


_BLOCK = 32  # tokens in a block of the engine's prefix cache on a CPU
_KV_BYTES_A_TOKEN = 16_384  # what the 1.5B model takes, rounded up; larger models take more

Send = Callable[[Mapping[str, Any]], None]


def main(model: str, cache: str, cache_gb: str, context: str) -> None:
    """Load the model and answer requests until the parent closes its end."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which then ends this process
    platforms.end_with_parent()
    send = _sender()
    inbox: queue.SimpleQueue[Mapping[str, Any]] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(os.dup(0), inbox), name="requests", daemon=True).start()
    try:
        engine = Engine(Path(model), Path(cache), int(cache_gb), int(context), send)
    except DisputatioError as fault:
        send(_fault(0, fault))
        return
    except Exception as fault:  # noqa: BLE001  (else all that the parent sees is that this process ended)
        send(_fault(0, LLMError(f"{model}: the engine cannot load it: {type(fault).__name__}: {fault}")))
        return
    send({"id": 0, "done": True})
    while True:
        engine.step(inbox)


def _sender() -> Send:
    """Write lines to the parent; send the output of native libraries to standard error instead."""
    out = os.fdopen(os.dup(1), "w", encoding="ascii")
    os.dup2(2, 1)

    def send(message: Mapping[str, Any]) -> None:
        out.write(json.dumps(message) + "\n")
        out.flush()

    return send


def _listen(number: int, inbox: queue.SimpleQueue[Mapping[str, Any]]) -> None:
    """Pass on the parent's requests; exit when the parent has exited."""
    with os.fdopen(number, encoding="ascii") as lines:
        for line in lines:
            inbox.put(json.loads(line))
    os._exit(0)


def _fault(number: int, fault: DisputatioError) -> dict[str, Any]:
    return {"id": number, "fault": type(fault).__name__, "message": str(fault)}


@dataclass(slots=True, eq=False)
class _Job:
    """A prompt in the batch; `read` is set once it is computed or dropped. It waits until `after` is read.

    `cores` is the processor time that it has taken. `reply` is what was generated, `fault` why nothing was.
    """

    ids: Any
    config: Any
    after: _Job | None = None
    read: bool = False
    handle: Any = None
    cached: int = 0
    cores: float = 0.0
    reply: dict[str, Any] | None = None
    fault: DisputatioError | None = None

    @property
    def over(self) -> bool:
        return self.reply is not None or self.fault is not None

    @property
    def work(self) -> int:
        """The tokens that it has still to read at most, or the one that it writes."""
        return 1 if self.read else max(1, len(self.ids.data[0]) - self.cached)

    def fail(self, fault: DisputatioError) -> None:
        self.read, self.fault = True, fault


@dataclass(slots=True, eq=False)
class _Request:
    """A request: rows of jobs, one a prompt (or an option of it); `sent` are those that went back."""

    number: int
    choosing: bool
    rows: list[list[_Job]] = field(default_factory=list)
    sent: set[int] = field(default_factory=set)

    @property
    def jobs(self) -> list[_Job]:
        return [job for row in self.rows for job in row]

    @property
    def over(self) -> bool:
        return all(job.over for job in self.jobs)

    def messages(self) -> Iterator[dict[str, Any]]:
        """Yield the messages to send now: a reply for each whole row, and the outcome at the end."""
        for index, row in enumerate(self.rows):
            if index not in self.sent and all(job.reply is not None for job in row):
                self.sent.add(index)
                reply = dict(row[0].reply or {})
                if self.choosing:
                    reply["logprobs"] = [job.reply["tokens"][0][1] for job in row if job.reply]
                reply["core_seconds"] = round(sum(job.cores for job in row), 4)
                yield {"id": self.number, "index": index, "reply": reply}
        if self.over:
            faults = [job.fault for job in self.jobs if job.fault is not None]
            yield _fault(self.number, faults[0]) if faults else {"id": self.number, "done": True}


class Engine:
    """One pipeline, its tokenizer, and the batch that is running."""

    def __init__(self, path: Path, cache: Path, cache_gb: int, context: int, send: Send) -> None:
        block_usage_reports()
        import openvino_genai

        def say(text: str) -> None:
            send({"say": text})

        self._genai = openvino_genai
        self._send = send
        capacity = cache_gb * 2**30 // _KV_BYTES_A_TOKEN
        self._limit = min(context, capacity)
        self._name = path.stem
        folder = ensure_converted(path, cache, say)
        self._pipeline, self._tokenizer = open_pipeline(folder, cache_gb, say, threads_now(cache))
        self._seen = SeenBlocks(capacity // _BLOCK)
        self._numbers = count()
        self._requests: list[_Request] = []
        self._active: list[_Job] = []
        self._queued: list[_Job] = []
        self._charged = time.process_time()

    def step(self, inbox: queue.SimpleQueue[Mapping[str, Any]]) -> None:
        """Admit waiting requests, compute one token, send finished replies; sleep while nothing runs."""
        while not inbox.empty() or not self._requests:
            self._take(inbox.get())
        self._admit()
        if self._active:
            try:
                self._pipeline.step()
            except RuntimeError as fault:
                for job in self._active:
                    job.fail(LLMError(f"the embedded engine failed: {fault}"))
            self._charge()
            for job in self._active:
                self._settle(job)
            self._active = [job for job in self._active if not job.over]
        for request in self._requests:
            for message in request.messages():
                self._send(message)
        self._requests = [request for request in self._requests if not request.over]

    def _charge(self) -> None:
        """Divide the processor time since the last step among the jobs of the batch by their work."""
        before, self._charged = self._charged, time.process_time()
        share = (self._charged - before) / sum(job.work for job in self._active)
        for job in self._active:
            job.cores += share * job.work

    def _take(self, message: Mapping[str, Any]) -> None:
        """Take a new request or a cancel; a request that cannot be met is answered at once."""
        if message["do"] == "cancel":
            self._cancel(message["id"])
            return
        request = _Request(number=message["id"], choosing=message["do"] == "choose")
        try:
            if request.choosing:
                self._check_options(message["options"])
                configs = [self._config(Sampling(max_tokens=1), only=option) for option in message["options"]]
                prompts = [self._encode(prompt, 1) for prompt in message["prompts"]]
            else:
                sampling = Sampling(**message["sampling"])
                configs = [self._config(sampling)]
                prompts = [self._encode(prompt, sampling.max_tokens) for prompt in message["prompts"]]
        except DisputatioError as fault:
            self._send(_fault(request.number, fault))
            return
        # Prompts that are added together do not find each other's prefix in the cache: where they share one
        # that is long enough the first goes ahead until it is read; the options of a prompt follow its first.
        shared = len(prompts) > 1 and _count_shared([ids.data[0] for ids in prompts]) >= _BLOCK
        for ids in prompts:
            ahead = request.rows[0][0] if shared and request.rows else None
            first = _Job(ids, configs[0], ahead)
            request.rows.append([first, *(_Job(ids, config, first) for config in configs[1:])])
        self._requests.append(request)
        self._queued += request.jobs

    def _cancel(self, number: int) -> None:
        for request in self._requests:
            if request.number == number:
                for job in request.jobs:
                    if job.handle is not None and not job.over:
                        job.handle.cancel()
                self._active = [job for job in self._active if job not in request.jobs]
                self._queued = [job for job in self._queued if job not in request.jobs]
        self._requests = [request for request in self._requests if request.number != number]

    def _admit(self) -> None:
        ready = [job for job in self._queued if job.after is None or job.after.read]
        self._queued = [job for job in self._queued if job not in ready]
        for job in ready:
            job.cached = self._seen.match(job.ids.data[0].tolist())
            try:
                job.handle = self._pipeline.add_request(next(self._numbers), job.ids, job.config)
            except RuntimeError as fault:
                job.fail(Malformed(f"the embedded engine refused the request: {fault}"))
            else:
                self._active.append(job)

    def _settle(self, job: _Job) -> None:
        """Mark a prompt as read, and take its reply when it is complete."""
        if job.over:
            return
        status = job.handle.get_status()
        done = status != self._genai.GenerationStatus.RUNNING
        if not job.read and (done or job.handle.can_read()):
            job.read = True
            self._seen.add(job.ids.data[0].tolist())
        if not done:
            return
        outputs = job.handle.read_all()
        if not outputs or status == self._genai.GenerationStatus.IGNORED:
            job.fail(ContextTooLong("the embedded engine had no room for the prompt"))
            return
        output = outputs[0]
        ids = [int(token) for token in output.generated_ids]
        prompt = job.ids.data[0].tolist()
        self._seen.add([*prompt, *ids])
        pieces = self._tokenizer.decode([[token] for token in ids]) if ids else []
        cut = output.finish_reason == self._genai.GenerationFinishReason.LENGTH
        job.reply = {
            "text": self._tokenizer.decode(ids) if ids else "",
            "finish_reason": "length" if cut else "stop",
            "tokens": [
                (piece, float(logprob))
                for piece, logprob in zip(pieces, output.generated_log_probs, strict=True)
            ],
            "prompt_tokens": len(prompt),
            "cached_tokens": job.cached,
        }

    def _encode(self, turns: Sequence[Sequence[str]], new_tokens: int) -> Any:
        """Return token ids of a chat (1, n) by the model's own template; raises `ContextTooLong`."""
        chat = [{"role": role, "content": content} for role, content in turns]
        text = self._tokenizer.apply_chat_template(chat, add_generation_prompt=True)
        ids = self._tokenizer.encode(text, add_special_tokens=False).input_ids
        if ids.shape[1] + new_tokens > self._limit:
            raise ContextTooLong(
                f"{self._name}: the prompt has {ids.shape[1]} tokens and {new_tokens} are to be written; "
                f"{self._limit} fit: read fewer or shorter passages"
            )
        return ids

    def _config(self, sampling: Sampling, *, only: str | None = None) -> Any:
        """Translate a sampling to the engine's configuration; `only` admits one literal text."""
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

    def _check_options(self, options: Sequence[str]) -> None:
        """Raise `ConfigError` unless the options differ in their first token."""
        spelt = [self._tokenizer.encode(option, add_special_tokens=False).input_ids for option in options]
        firsts = [int(ids.data[0][0]) for ids in spelt]
        if len(set(firsts)) != len(firsts) or not all(option.isalnum() for option in options):
            raise ConfigError(f"options must be words that differ in their first token: {tuple(options)}")


def _count_shared(prompts: Sequence[Any]) -> int:
    """Count the leading tokens that all prompts share.

    >>> _count_shared([[1, 2, 3], [1, 2, 4, 5], [1, 2]])
    2
    """
    same = 0
    for column in zip(*prompts, strict=False):
        if any(token != column[0] for token in column):
            break
        same += 1
    return same


class SeenBlocks:
    """The prefixes that the engine has cached, which it does not tell: blocks, the least used first out.

    >>> seen = SeenBlocks(capacity=10)
    >>> seen.add(list(range(70)))
    >>> seen.match(list(range(70))), seen.match([5] * 70)
    (64, 0)
    """

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._blocks: OrderedDict[int, None] = OrderedDict()

    def match(self, ids: list[int]) -> int:
        """Count the leading tokens that are in the cache; at least one is always left to compute."""
        matched = 0
        for end, key in self._keys(ids):
            if key not in self._blocks or end >= len(ids):
                break
            self._blocks.move_to_end(key)
            matched = end
        return matched

    def add(self, ids: list[int]) -> None:
        """Count the whole blocks of a finished sequence as cached."""
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


# --- schemas as regular expressions -------------------------------------------------------------------
_CHAR = r'([^"\\\x00-\x1f\x7f]|\\["\\/bfnrt])'
_SCALARS = {
    "integer": r"-?(0|[1-9][0-9]{0,17})",
    "number": r"-?(0|[1-9][0-9]{0,17})(\.[0-9]{1,17})?",
    "boolean": r"(true|false)",
    "null": r"null",
}


def schema_regex(schema: Mapping[str, Any]) -> str | None:
    """Translate a schema, whose objects require all properties, to an expression; None if not covered.

    >>> schema_regex({"enum": ["yes", "no"]})
    '("yes"|"no")'
    >>> schema_regex({"type": "object", "properties": {"n": {"type": "null"}}, "required": ["n"]})
    '\\\\{"n": null\\\\}'
    >>> schema_regex({"$ref": "#/x"}) is None
    True
    """
    if "enum" in schema:
        return "(" + "|".join(_literal(value) for value in schema["enum"]) + ")"
    if "anyOf" in schema:
        parts = [schema_regex(option) for option in schema["anyOf"]]
        return None if None in parts else "(" + "|".join(part for part in parts if part) + ")"
    kind = schema.get("type")
    if kind == "object":
        return _object(schema)
    if kind == "array":
        return _array(schema)
    if kind == "string":
        # A bound on the length is left to the parser: the engine takes ten seconds to compile one.
        return f'"{_CHAR}{"+" if schema.get("minLength", 0) > 0 else "*"}"'
    return _SCALARS.get(str(kind))


def _object(schema: Mapping[str, Any]) -> str | None:
    properties: Mapping[str, Any] = schema.get("properties", {})
    if not properties or set(schema.get("required", ())) != set(properties):
        return None
    fields = []
    for name, part in properties.items():
        inner = schema_regex(part)
        if inner is None:
            return None
        fields.append(f"{_literal(name)}: {inner}")
    return r"\{" + ", ".join(fields) + r"\}"


def _array(schema: Mapping[str, Any]) -> str | None:
    inner = schema_regex(schema.get("items", {}))
    if inner is None:
        return None
    least, most = schema.get("minItems", 0), schema.get("maxItems")
    if most == 0:
        return r"\[\]"
    more = _count(max(least - 1, 0), None if most is None else most - 1)
    some = rf"\[{inner}(, {inner}){more}\]"
    return some if least > 0 else rf"(\[\]|{some})"


def _count(least: int, most: int | None) -> str:
    if most is None:
        return "*" if least == 0 else f"{{{least},}}"
    return f"{{{least},{most}}}"


def _literal(value: object) -> str:
    return re.escape(json.dumps(value, ensure_ascii=False)).replace("\\ ", " ")


if __name__ == "__main__":
    main(*sys.argv[1:])
