"""A model whose calls are kept in a journal: repeated at no cost, replayed with no engine at all."""

from __future__ import annotations

import base64
import hashlib
import json
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from disputatio import calling
from disputatio.errors import UNREADABLE, BatchFault, ConfigError, LLMError, NoLogprobs, NotJournalled
from disputatio.llm.call_cache import (
    FORMAT,
    CallCache,
    canonical,
    choice_key,
    completion_key,
    decode_choice,
    decode_completion,
    encode,
    make_damage_fault,
)
from disputatio.protocols import LLM, Cancel, Embedder
from disputatio.types import Capabilities, Choice, Completion, Prompt, Sampling

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_Result = TypeVar("_Result", Completion, Choice)


class CachedLLM:
    """An `LLM` around another one, whose calls are kept under the names of model and `engine` (asked for if
    None). With `replay` the model is never touched and may be None, and what the journal lacks raises
    `NotJournalled`.
    """

    def __init__(
        self,
        llm: LLM | None,
        journal: CallCache,
        *,
        replay: bool = False,
        engine: str | None = None,
        name: str | None = None,
    ) -> None:
        if llm is None and not replay:
            raise ConfigError("without a model the journal can only be replayed")
        self._llm, self._journal, self._replay = llm, journal, replay
        self._lock = threading.Lock()
        self._engine = engine
        self._capabilities: Capabilities | None = None
        self._noted = False
        self._name = name or (llm.name if llm is not None else _only_name(journal))

    @property
    def name(self) -> str:
        return self._name

    def capabilities(self) -> Capabilities:
        """Return the capabilities of the wrapped model, from the journal if it has them."""
        with self._lock:
            if self._capabilities is None:
                self._capabilities = self._recall() or self._ask_capabilities()
            return self._capabilities

    def complete(
        self,
        prompts: Sequence[Prompt],
        sampling: Sampling,
        *,
        on_done: Callable[[int, Completion], None] | None = None,
        cancel: Cancel | None = None,
    ) -> list[Completion]:
        """Complete the prompts, each asked once and kept as it comes; raises `LLMError`, `StoreError`."""
        engine = self._engine_string()
        keys = [completion_key(self._name, engine, prompt, sampling) for prompt in prompts]

        def call(missing: Sequence[Prompt], keep: Callable[[int, Completion], None]) -> None:
            calling.complete(self._model(), missing, sampling, keep, cancel or Cancel())

        return self._answer("complete", prompts, keys, call, decode_completion, on_done)

    def choose(
        self,
        prompts: Sequence[Prompt],
        options: Sequence[str],
        *,
        on_done: Callable[[int, Choice], None] | None = None,
        cancel: Cancel | None = None,
    ) -> list[Choice]:
        engine = self._engine_string()
        keys = [choice_key(self._name, engine, prompt, options) for prompt in prompts]

        def call(missing: Sequence[Prompt], keep: Callable[[int, Choice], None]) -> None:
            calling.choose(self._model(), missing, options, keep, cancel or Cancel())

        return self._answer("choose", prompts, keys, call, decode_choice, on_done)

    def _answer(
        self,
        kind: str,
        prompts: Sequence[Prompt],
        keys: Sequence[str],
        call: Callable[[Sequence[Prompt], Callable[[int, _Result], None]], None],
        decode: Callable[[str], _Result],
        on_done: Callable[[int, _Result], None] | None,
    ) -> list[_Result]:
        recorded = self._journal.get(keys)
        places: dict[str, list[int]] = {}
        for index, key in enumerate(keys):
            if key not in recorded:
                places.setdefault(key, []).append(index)
        missing = list(places)
        if missing and self._replay:
            raise self._make_fault(kind, prompts[places[missing[0]][0]])
        results: dict[int, _Result] = {}

        def report(index: int, *, journalled: bool) -> None:
            try:
                result = decode(recorded[keys[index]])
            except UNREADABLE as error:
                raise make_damage_fault(self._journal.path, f"call {keys[index][:16]}") from error
            results[index] = replace(result, journalled=journalled)
            if on_done is not None:
                on_done(index, results[index])

        def keep(number: int, result: _Result) -> None:
            key = missing[number]
            self._note()
            self._journal.put(kind, self._name, {key: encode(result)})
            recorded.update(self._journal.get([key]))  # what another process kept first stays
            for nth, index in enumerate(places[key]):
                report(index, journalled=nth > 0)

        for index, key in enumerate(keys):
            if key in recorded:
                report(index, journalled=True)
        if missing:
            try:
                call([prompts[places[key][0]] for key in missing], keep)
            except BatchFault as fault:
                raise BatchFault([results.get(index) for index in range(len(keys))], fault.errors) from fault
        return [results[index] for index in range(len(keys))]

    def _model(self) -> LLM:
        if self._llm is None:
            raise ConfigError("without a model the journal can only be replayed")
        return self._llm

    def _engine_string(self) -> str:
        if self._engine is None:
            self._engine = self.capabilities().engine
        return self._engine

    def _recall(self) -> Capabilities | None:
        """Look this model up in the journal under this engine; on replay, under the last one."""
        for name, capabilities in self._journal.models():
            if name == self._name and (
                capabilities.engine == self._engine or (self._engine is None and self._replay)
            ):
                return capabilities
        return None

    def _ask_capabilities(self) -> Capabilities:
        if self._replay:
            raise NotJournalled(f"the journal {self._journal.path} holds no calls of {self._name}")
        known = self._model().capabilities()
        # As the journal will know it, so that a run that goes on finds the engine that it was begun with.
        return known if self._engine is None else replace(known, engine=self._engine)

    def _note(self) -> None:
        if not self._noted:
            self._journal.note_model(self._name, self._engine_string(), self._model().capabilities())
            self._noted = True

    def _make_fault(self, kind: str, prompt: Prompt) -> LLMError:
        if kind == "choose" and not self.capabilities().logprobs:
            return NoLogprobs(f"{self._name} gave no log-probabilities when its calls were kept")
        contents = [message.content for message in prompt.messages if message.role == "user"]
        text = " ".join((contents[-1] if contents else "").split())
        return NotJournalled(f"the journal holds no such call of {self._name}: {text[:60]!r}")


def _only_name(journal: CallCache) -> str:
    names = {name for name, _ in journal.models()}
    if len(names) == 1:
        return names.pop()
    content = f"calls of several models ({', '.join(sorted(names))})" if names else "no calls"
    raise ConfigError(f"the journal {journal.path} holds {content}: name the model to replay")


# --- vectors ------------------------------------------------------------------------------------------
class CachedEmbedder:
    """An `Embedder` around another one, None on replay: `name` and `dimension` are then to be given."""

    def __init__(
        self,
        embedder: Embedder | None,
        open_journal: Callable[[], CallCache],
        *,
        name: str = "",
        dimension: int = 0,
    ) -> None:
        if embedder is None and not name:
            raise ConfigError("without an embedder its name must be given")
        self._embedder, self._open = embedder, open_journal
        self._name, self._dimension = name, dimension
        self._lock = threading.Lock()
        self._journal: CallCache | None = None

    @property
    def name(self) -> str:
        return self._embedder.name if self._embedder is not None else self._name

    @property
    def dimension(self) -> int:
        return self._embedder.dimension if self._embedder is not None else self._dimension

    def embed(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:
        """Return an array (len(texts), dimension) of unit rows; known queries come from the journal."""
        import numpy as np

        if not query:
            return self._require_embedder(texts).embed(texts)
        if not texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        journal = self._open_journal()
        keys = [_key(self.name, text) for text in texts]
        recorded = journal.get(keys)
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in recorded}
        if missing:
            vectors = self._require_embedder(list(missing.values())).embed(list(missing.values()), query=True)
            made = {key: _encode(vector) for key, vector in zip(missing, vectors, strict=True)}
            journal.put("embed", self.name, made)
            recorded |= journal.get(list(missing))  # what another process kept first is what counts
        return np.stack([_decode(recorded[key], journal) for key in keys])

    def _open_journal(self) -> CallCache:
        with self._lock:
            if self._journal is None:
                self._journal = self._open()
            return self._journal

    def _require_embedder(self, texts: Sequence[str]) -> Embedder:
        if self._embedder is None:
            words = " ".join(" ".join(texts).split())
            raise NotJournalled(
                f"the journal {self._open_journal().path} holds no vector of {self._name}: {words[:60]!r}"
            )
        return self._embedder


def _key(name: str, text: str) -> str:
    return hashlib.sha256(canonical([FORMAT, name, "embed", text]).encode("ascii")).hexdigest()


def _encode(vector: NDArray[np.float32]) -> str:
    raw = vector.astype("<f4").tobytes()
    return canonical({"float32": base64.b64encode(raw).decode("ascii")})


def _decode(value: str, journal: CallCache) -> NDArray[np.float32]:
    import numpy as np

    try:
        raw = base64.b64decode(json.loads(value)["float32"], validate=True)
        return np.frombuffer(raw, dtype="<f4").astype(np.float32)
    except UNREADABLE as error:
        raise make_damage_fault(journal.path, "a vector") from error
