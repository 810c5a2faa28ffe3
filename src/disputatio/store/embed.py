"""An embedder from a local folder: an ONNX model and its tokenizer, run by OpenVINO.

How the model is used is read from its folder (`model_folder`). Texts are sorted by length and run in
batches of a bounded number of tokens, several at a time: OpenVINO's throughput mode, one stream of
batches a core or so, was never slower than one batch on all cores, and far faster beside other work.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from disputatio.errors import ConfigError, importing
from disputatio.platforms import block_usage_reports
from disputatio.protocols import Embedder
from disputatio.store.model_folder import EmbedderSettings, ModelFolder, read_folder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["EmbedderSettings", "LazyEmbedder", "OnnxEmbedder"]

_BATCH_TOKENS = 1024  # of a batch, padding included; see bench/results/engine/embed_speed.md
_AT_ONCE = 2048  # texts tokenised at a time: their tokens are held together
_INPUTS = ("input_ids", "attention_mask", "token_type_ids", "position_ids")
_POOLED = "sentence_embedding"  # an output that the whole model made, all its modules included


@dataclass(frozen=True, slots=True, kw_only=True)
class _Loaded:
    """The model in memory: a queue of requests for many batches, one request for a single one."""

    queue: Any
    request: Any
    tokenizer: Any
    output: int
    dimension: int
    ports: dict[str, Any]


class OnnxEmbedder:
    """An embedding model in a folder (`Embedder`); loaded at the first use, once.

    `name` is the model's name with a hash of its weights, so that an index refuses the vectors of another.
    `cache` is a folder where the compiled model is kept between processes. Threads may share it:
    long calls wait for one another, and a query does not wait for them.
    """

    def __init__(self, folder: str | Path, *, cache: str | Path | None = None, threads: int = 0) -> None:
        """Find the files of the model; `threads=0` leaves their number to the engine.

        Raises `ConfigError` when the folder does not hold a model.
        """
        self.folder, self.cache, self._threads = Path(folder), cache, threads
        self._found: ModelFolder = read_folder(self.folder)
        self._name = self._found.identity()
        self._loading, self._many, self._single = threading.Lock(), threading.Lock(), threading.Lock()
        self._loaded: _Loaded | None = None

    @property
    def name(self) -> str:
        """The model's name, the first 8 hex digits of the SHA-256 of its weights, and a mark of its use."""
        return self._name

    @property
    def settings(self) -> EmbedderSettings:
        """The prefixes, pooling and length that the model is used with."""
        return self._found.settings

    @property
    def dimension(self) -> int:
        """The length of a vector."""
        return self._load().dimension

    def embed(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:
        """Return an array (len(texts), dimension) of unit rows; a text beyond `max_tokens` is cut there."""
        import numpy as np

        loaded = self._load()
        prefix = self.settings.query_prefix if query else self.settings.passage_prefix
        vectors = np.zeros((len(texts), loaded.dimension), dtype=np.float32)
        for at in range(0, len(texts), _AT_ONCE):
            prefixed = [prefix + text for text in texts[at : at + _AT_ONCE]]
            if self.settings.lower:
                prefixed = [text.lower() for text in prefixed]
            tokens = [encoding.ids for encoding in loaded.tokenizer.encode_batch(prefixed)]
            batches = batches_of([len(ids) for ids in tokens], _BATCH_TOKENS)
            self._run(loaded, tokens, batches, vectors[at : at + _AT_ONCE])
        if not np.isfinite(vectors).all():
            raise ConfigError(f"{self._found.model}: made a vector that is not of numbers; is it damaged?")
        return vectors

    def _run(
        self,
        loaded: _Loaded,
        tokens: Sequence[Sequence[int]],
        batches: Sequence[list[int]],
        vectors: NDArray[np.float32],
    ) -> None:
        """Fill the rows of `vectors`, one batch at a time or, of several, as many as the engine takes."""

        def keep(request: Any, batch: list[int]) -> None:
            states = request.get_output_tensor(loaded.output).data
            vectors[batch] = _unit(_pool(states, [len(tokens[row]) for row in batch], self.settings.pooling))

        if len(batches) == 1:
            with self._single:
                loaded.request.infer(_feed(loaded, [tokens[row] for row in batches[0]]))
                keep(loaded.request, batches[0])
            return
        with self._many:
            loaded.queue.set_callback(keep)
            try:
                for batch in batches:
                    loaded.queue.start_async(_feed(loaded, [tokens[row] for row in batch]), batch)
            finally:  # also when interrupted: the requests write into arrays of this call
                loaded.queue.wait_all()

    def _load(self) -> _Loaded:
        with self._loading:
            if self._loaded is None:
                self._loaded = self._opened()
            return self._loaded

    def _opened(self) -> _Loaded:
        block_usage_reports()
        with importing("openvino", "local"):
            import openvino
        file = self._found.model
        core = openvino.Core()
        # In float32 a text has the same vector on every machine and beside any other text. What a
        # processor prefers (bfloat16) is at most a tenth faster for an int8 model.
        settings: dict[str, Any] = {"PERFORMANCE_HINT": "THROUGHPUT", "INFERENCE_PRECISION_HINT": "f32"}
        if self._threads:
            settings["INFERENCE_NUM_THREADS"] = self._threads
            # Else the engine binds them to the first cores, those of every other process beside them too.
            settings["ENABLE_CPU_PINNING"] = False
        if self.cache is not None:
            core.set_property({"CACHE_DIR": str(self.cache)})
        try:
            model = core.compile_model(str(file), "CPU", settings)
        except RuntimeError as error:
            raise ConfigError(f"{file}: is not a model that OpenVINO reads") from error
        strange = [port.any_name for port in model.inputs if port.any_name not in _INPUTS]
        if strange:
            raise ConfigError(f"{file}: wants an input {strange[0]!r} that is not known")
        output = _output(model)
        shape = model.outputs[output].get_partial_shape()
        if shape.rank.is_dynamic or shape[-1].is_dynamic:
            raise ConfigError(f"{file}: does not state the length of its vectors")
        if self._found.left_out and len(shape) != 2:
            raise ConfigError(
                f"{file}: lacks the module {self._found.left_out[0]} that follows it in modules.json; "
                f"export the model as a whole, with an output {_POOLED}"
            )
        return _Loaded(
            queue=openvino.AsyncInferQueue(model),
            request=model.create_infer_request(),
            tokenizer=self._tokenizer(),
            output=output,
            dimension=int(shape[-1].get_length()),
            ports={port.any_name: port.get_element_type().to_dtype() for port in model.inputs},
        )

    def _tokenizer(self) -> Any:
        with importing("tokenizers", "local"):
            from tokenizers import Tokenizer
        file = self._found.tokenizer
        try:
            json.loads(file.read_bytes())
        except (OSError, ValueError) as error:
            raise ConfigError(f"{file}: is not a tokenizer") from error
        tokenizer = Tokenizer.from_file(str(file))
        tokenizer.no_padding()
        tokenizer.enable_truncation(self.settings.max_tokens)
        return tokenizer


class LazyEmbedder:
    """An `Embedder` that is opened, and fetched if need be, at its first use; thread-safe, opened once.

    A kit has one for every question, and few strategies use it: the others neither wait nor download.
    """

    def __init__(self, opener: Callable[[], Embedder]) -> None:
        self._open = opener
        self._lock = threading.Lock()
        self._embedder: Embedder | None = None

    @property
    def name(self) -> str:
        """The name of the model."""
        return self._opened().name

    @property
    def dimension(self) -> int:
        """The length of a vector."""
        return self._opened().dimension

    def embed(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:
        """Return an array (len(texts), dimension) of unit rows; raises what opening the model raises."""
        return self._opened().embed(texts, query=query)

    def _opened(self) -> Embedder:
        with self._lock:
            if self._embedder is None:
                self._embedder = self._open()
            return self._embedder


def batches_of(lengths: Sequence[int], tokens: int) -> list[list[int]]:
    """Return the rows in batches of like lengths, none with more than `tokens` when padded to its longest.

    A row that is longer is a batch of its own.

    >>> batches_of([3, 9, 1, 2], 6)
    [[2, 3], [0], [1]]
    """
    batches: list[list[int]] = []
    for row in sorted(range(len(lengths)), key=lengths.__getitem__):
        if batches and (len(batches[-1]) + 1) * lengths[row] <= tokens:
            batches[-1].append(row)
        else:
            batches.append([row])
    return batches


def _feed(loaded: _Loaded, tokens: Sequence[Sequence[int]]) -> dict[str, Any]:
    """Return the inputs of a batch, padded at the end to its longest member."""
    import numpy as np

    ids = np.zeros((len(tokens), max(1, *map(len, tokens))), dtype=np.int64)
    mask = np.zeros_like(ids)
    for row, row_tokens in enumerate(tokens):
        ids[row, : len(row_tokens)] = row_tokens
        mask[row, : len(row_tokens)] = 1
    places = np.broadcast_to(np.arange(ids.shape[1]), ids.shape)
    inputs = dict(zip(_INPUTS, (ids, mask, np.zeros_like(ids), places), strict=True))
    return {name: np.ascontiguousarray(inputs[name], dtype=kind) for name, kind in loaded.ports.items()}


def _pool(states: NDArray[np.float32], lengths: Sequence[int], pooling: str) -> NDArray[np.float32]:
    """Return one vector for each text from its tokens' states, leaving out the padding."""
    import numpy as np

    if states.ndim == 2:  # the model pools by itself
        return states.copy()
    if pooling == "cls":
        return states[:, 0].copy()
    size = np.maximum(np.asarray(lengths), 1)
    if pooling == "last":
        pooled: NDArray[np.float32] = states[np.arange(len(size)), size - 1]
        return pooled
    inside = (np.arange(states.shape[1]) < size[:, None])[:, :, None]
    if pooling == "max":
        return np.asarray(np.where(inside, states, -np.inf).max(axis=1), dtype=np.float32)
    return np.asarray((states * inside).sum(axis=1) / size[:, None], dtype=np.float32)


def _unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    import numpy as np

    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.maximum(norms, 1e-12), dtype=np.float32)


def _output(model: Any) -> int:
    """Return the number of the output with the vectors: that of the whole model, else the first."""
    names = [port.get_names() for port in model.outputs]
    return next((number for number, name in enumerate(names) if _POOLED in name), 0)
