"""The embedded engine, as the rest of the program sees it: a process beside this one that holds the model.

`disputatio.llm.embedded` is what runs there and says why. Here calls are written to it as lines of JSON, from
any number of threads, and its answers are handed to those who wait for them.
"""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import asdict
from itertools import count
from pathlib import Path
from typing import IO, Any, cast

from disputatio import errors
from disputatio.errors import LLMError, MissingDependency
from disputatio.types import Capabilities, Choice, Completion, Prompt, Sampling, Token, Usage

_LOADING = 0  # the number under which the process reports that it is ready
_ENGINES: dict[tuple[Path, Path, int, int], _Process] = {}
_ENGINES_LOCK = threading.Lock()

Words = Sequence[Mapping[str, Any]]


class Local:
    """A model in a process of our own, by the path of a GGUF file or of a converted folder.

    It is loaded at the first call, once for all that name it alike. `cache_gb` bounds the key-value
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
        """One completion a prompt, in one running batch; raises `ContextTooLong`, `Malformed`, `LLMError`."""
        words, seconds = self._ask("complete", prompts, sampling=asdict(sampling))
        return [
            Completion(
                text=one["text"],
                finish_reason=one["finish_reason"],
                tokens=tuple(Token(text=text, logprob=logprob) for text, logprob in one["tokens"]),
                usage=_usage(one, seconds),
            )
            for one in words
        ]

    def choose(self, prompts: Sequence[Prompt], options: Sequence[str]) -> list[Choice]:
        """log P of each option's first token; options must differ in it."""
        words, seconds = self._ask("choose", prompts, options=list(options))
        return [
            Choice(
                options=tuple(options),
                logprobs=tuple(one["logprobs"]),
                bounded=(False,) * len(options),
                usage=_usage(one, seconds),
            )
            for one in words
        ]

    def _ask(self, do: str, prompts: Sequence[Prompt], **asked: Any) -> tuple[Words, float]:
        """The engine's words, and the seconds of each: the time of the batch is shared among its calls."""
        engine = self._load()
        chats = [[(turn.role, turn.content) for turn in one.messages] for one in prompts]
        began = time.perf_counter()
        words = engine.ask({"do": do, "prompts": chats, **asked})
        return words, (time.perf_counter() - began) / max(len(words), 1)

    def _load(self) -> _Process:
        """The process, started where it is not running; raises what it could not be loaded for."""
        engine_name()  # says how to install it
        with _ENGINES_LOCK:
            path = self._find()
            key = (path, self._cache, self._cache_gb, self._context)
            if key not in _ENGINES or _ENGINES[key].ended:
                engine = _Process([str(part) for part in key], self._say)
                engine.ready()
                _ENGINES[key] = engine
            return _ENGINES[key]


def _usage(word: Mapping[str, Any], seconds: float) -> Usage:
    return Usage(
        calls=1,
        prompt_tokens=word["prompt_tokens"],
        cached_tokens=word["cached_tokens"],
        completion_tokens=len(word["tokens"]),
        seconds=seconds,
    )


def engine_name() -> str:
    """The engine's name and version, from the installed package's metadata."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return f"openvino-genai {version('openvino-genai')}"
    except PackageNotFoundError as absent:
        raise MissingDependency("openvino-genai", "local") from absent


class _Process:
    """The engine's process, and who waits for which of its answers."""

    def __init__(self, arguments: Sequence[str], say: Callable[[str], None]) -> None:
        self._say = say
        self._numbers = count(_LOADING + 1)
        self._waiting: dict[int, Future[Words]] = {_LOADING: Future()}
        self._lock = threading.Lock()  # of the pipe, and of who waits
        self.ended = False
        here = Path(__file__).resolve().parents[2]  # so that the same code runs there
        paths = os.pathsep.join([str(here), *filter(None, [os.environ.get("PYTHONPATH")])])
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "disputatio.llm.embedded", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": paths},
            text=True,
            encoding="ascii",
        )
        atexit.register(self.end)
        self._listener = threading.Thread(target=self._listen, name="disputatio-engine", daemon=True)
        self._listener.start()

    def ready(self) -> None:
        """Wait until the model is loaded; raises why it cannot be."""
        try:
            self._waiting[_LOADING].result()
        except BaseException:
            self.end()
            raise

    def ask(self, request: Mapping[str, Any]) -> Words:
        """Send a request and wait for its words; raises the fault that came instead."""
        answer: Future[Words] = Future()
        with self._lock:
            number = next(self._numbers)
            self._waiting[number] = answer
            try:
                if not self.ended:
                    pipe = cast("IO[str]", self._process.stdin)
                    pipe.write(json.dumps({"id": number, **request}) + "\n")
                    pipe.flush()
            except OSError:
                self.ended = True
        if self.ended:
            self._give_up()
        return answer.result()

    def end(self) -> None:
        """End the process, whatever it is doing."""
        self._process.kill()
        self._listener.join()

    def _listen(self) -> None:
        """Hand on what the process says until it ends, which fails all that still wait."""
        with cast("IO[str]", self._process.stdout) as lines:
            for line in lines:
                message = json.loads(line)
                if "say" in message:
                    self._say(message["say"])
                    continue
                with self._lock:
                    waiting = self._waiting.pop(message.get("id", _LOADING))
                if "fault" in message:
                    waiting.set_exception(getattr(errors, message["fault"])(message["message"]))
                else:
                    waiting.set_result(message.get("words", ()))
        with self._lock:
            self.ended = True
            with suppress(OSError):  # what was not sent is not missed
                cast("IO[str]", self._process.stdin).close()
        self._give_up()

    def _give_up(self) -> None:
        """Fail whatever is still waited for: the process is gone."""
        atexit.unregister(self.end)
        code = self._process.wait()
        how = f"by signal {-code}, perhaps for want of memory" if code < 0 else f"with status {code}"
        with self._lock:
            waiting, self._waiting = self._waiting, {}
        for one in waiting.values():
            one.set_exception(LLMError(f"the embedded engine ended {how}; the next call starts it anew"))
