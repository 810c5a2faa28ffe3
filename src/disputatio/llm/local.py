"""The embedded engine: a child process that holds the model (`disputatio.llm.embedded`), and its client."""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import asdict
from itertools import count
from pathlib import Path
from queue import SimpleQueue
from typing import IO, Any, TypeVar, cast

from disputatio import errors
from disputatio.errors import LLMError, MissingDependency
from disputatio.llm.batch import Batch
from disputatio.protocols import Cancel
from disputatio.types import Capabilities, Choice, Completion, Prompt, Sampling, Token, Usage

_COMMAND = ("-P", "-m", "disputatio.llm.embedded")
_LOADING = 0  # the number under which the process reports that it is ready
_ENGINES: dict[tuple[Path, Path, int, int], _Process] = {}
_ENGINES_LOCK = threading.Lock()

Message = Mapping[str, Any]
Reply = Mapping[str, Any]
_Result = TypeVar("_Result", Completion, Choice)


class Local:
    """A model in a child process, by the path of a GGUF file or of a converted folder; loaded at the first
    call, once for all of the name. `cache_gb` bounds the key-value cache; `say` hears what it does, and an
    empty text once it is loaded.
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
        return f"local:{self._name}"

    @property
    def engine(self) -> str:
        return engine_name()

    def capabilities(self) -> Capabilities:
        return Capabilities(
            engine=self.engine,
            logprobs=True,
            max_options=1_000,
            schema=True,
            context_tokens=self._context,
        )

    def complete(
        self,
        prompts: Sequence[Prompt],
        sampling: Sampling,
        *,
        on_done: Callable[[int, Completion], None] | None = None,
        cancel: Cancel | None = None,
    ) -> list[Completion]:
        """Complete the prompts in one running batch; raises `ContextTooLong`, `Malformed`, `LLMError`."""

        def read(reply: Reply) -> Completion:
            return Completion(
                text=reply["text"],
                finish_reason=reply["finish_reason"],
                tokens=tuple(Token(text=text, logprob=logprob) for text, logprob in reply["tokens"]),
                usage=_usage(reply),
            )

        request = {"do": "complete", "sampling": asdict(sampling)}
        return self._results(request, prompts, read, on_done, cancel)

    def choose(
        self,
        prompts: Sequence[Prompt],
        options: Sequence[str],
        *,
        on_done: Callable[[int, Choice], None] | None = None,
        cancel: Cancel | None = None,
    ) -> list[Choice]:
        """Score the options by log P of the first token of each; options must differ in it."""

        def read(reply: Reply) -> Choice:
            return Choice(
                options=tuple(options),
                logprobs=tuple(reply["logprobs"]),
                bounded=(False,) * len(options),
                usage=_usage(reply),
            )

        return self._results({"do": "choose", "options": list(options)}, prompts, read, on_done, cancel)

    def _results(
        self,
        request: Mapping[str, Any],
        prompts: Sequence[Prompt],
        read: Callable[[Reply], _Result],
        on_done: Callable[[int, _Result], None] | None,
        cancel: Cancel | None,
    ) -> list[_Result]:
        engine = self._load()
        chats = [[(turn.role, turn.content) for turn in prompt.messages] for prompt in prompts]
        batch = Batch(on_done)
        with closing(engine.replies({**request, "prompts": chats}, cancel or Cancel())) as replies:
            for index, reply in replies:
                batch.add(index, read(reply))
        return batch.results(len(prompts))

    def _load(self) -> _Process:
        """Return the process, started if it is not running; raises `LLMError` for a broken model."""
        engine_name()  # says how to install it
        with _ENGINES_LOCK:
            path = self._find()
            key = (path, self._cache, self._cache_gb, self._context)
            if key not in _ENGINES or _ENGINES[key].ended:
                engine = _Process([str(part) for part in key], self._say)
                engine.ready()
                _ENGINES[key] = engine
            return _ENGINES[key]


def _usage(reply: Reply) -> Usage:
    return Usage(
        calls=1,
        prompt_tokens=reply["prompt_tokens"],
        cached_tokens=reply["cached_tokens"],
        completion_tokens=len(reply["tokens"]),
        core_seconds=reply["core_seconds"],
    )


def engine_name() -> str:
    """Return the engine's name and version, from the installed package's metadata."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return f"openvino-genai {version('openvino-genai')}"
    except PackageNotFoundError as absent:
        raise MissingDependency("openvino-genai", "local") from absent


class _Process:
    """The engine's process, with a queue for each request whose reply is pending."""

    def __init__(self, arguments: Sequence[str], say: Callable[[str], None]) -> None:
        self._say = say
        self._numbers = count(_LOADING + 1)
        self._loaded: SimpleQueue[Message] = SimpleQueue()
        self._waiting: dict[int, SimpleQueue[Message]] = {_LOADING: self._loaded}
        self._lock = threading.Lock()  # of the pipe, and of who waits
        self.ended = False
        root = Path(__file__).resolve().parents[2]  # so that the same code runs there
        paths = os.pathsep.join([str(root), *filter(None, [os.environ.get("PYTHONPATH")])])
        self._process = subprocess.Popen(
            [sys.executable, *_COMMAND, *arguments],
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
        try:
            _raise_fault(self._loaded.get())
        except BaseException:
            self.end()
            raise
        finally:
            self._say("")

    def replies(self, request: Mapping[str, Any], cancel: Cancel) -> Generator[tuple[int, Reply], None, None]:
        """Send a request and yield (index, reply) as they come; to close it cancels what is pending."""
        messages: SimpleQueue[Message] = SimpleQueue()
        with self._lock:
            number = next(self._numbers)
            self._waiting[number] = messages
        self._send({"id": number, **request})
        try:
            with cancel.calling(lambda: messages.put({})):
                while not (message := _raise_fault(messages.get())).get("done"):
                    cancel.check()
                    yield message["index"], message["reply"]
        finally:
            with self._lock:
                pending = self._waiting.pop(number, None) is not None
            if pending:
                self._send({"id": number, "do": "cancel"})

    def end(self) -> None:
        self._process.kill()
        self._listener.join()

    def _send(self, message: Message) -> None:
        with self._lock:
            try:
                if not self.ended:
                    pipe = cast("IO[str]", self._process.stdin)
                    pipe.write(json.dumps(message) + "\n")
                    pipe.flush()
            except OSError:
                self.ended = True
        if self.ended:
            self._give_up()

    def _listen(self) -> None:
        """Pass on the messages of the process until it exits, then fail all pending calls."""
        with cast("IO[str]", self._process.stdout) as lines:
            for line in lines:
                message = json.loads(line)
                if "say" in message:
                    self._say(message["say"])
                    continue
                number = message["id"]
                with self._lock:
                    last = "reply" not in message
                    waiting = self._waiting.pop(number, None) if last else self._waiting.get(number)
                if waiting is not None:  # None: it was cancelled
                    waiting.put(message)
        with self._lock:
            self.ended = True
            with suppress(OSError):  # unsent requests fail anyway
                cast("IO[str]", self._process.stdin).close()
        self._give_up()

    def _give_up(self) -> None:
        atexit.unregister(self.end)
        code = self._process.wait()
        how = f"by signal {-code}, perhaps for want of memory" if code < 0 else f"with status {code}"
        with self._lock:
            waiting, self._waiting = self._waiting, {}
        for messages in waiting.values():
            text = f"the embedded engine ended {how}; the next call starts it anew"
            messages.put({"fault": LLMError.__name__, "message": text})


def _raise_fault(message: Message) -> Message:
    if "fault" in message:
        raise getattr(errors, message["fault"])(message["message"])
    return message
