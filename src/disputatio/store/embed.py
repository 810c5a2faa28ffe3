"""An embedder from a local folder: an ONNX model and its tokenizer, run by OpenVINO.

The folder holds one `*.onnx` file, `tokenizer.json` and, where the defaults do not fit,
`disputatio.json` with any of: `name`, `pooling` (`mean` or `cls`), `max_tokens`, `query_prefix`,
`passage_prefix`. The defaults are those of sentence-transformers' MiniLM.
"""

from __future__ import annotations

import hashlib
import json
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from disputatio.errors import ConfigError, MissingDependency

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_BATCH = 8
_INPUTS = ("input_ids", "attention_mask", "token_type_ids")


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbedderSettings:
    """How a model wants to be used; read from the folder's `disputatio.json`."""

    name: str = ""
    pooling: Literal["mean", "cls"] = "mean"
    max_tokens: int = 256
    query_prefix: str = ""
    passage_prefix: str = ""


class OnnxEmbedder:
    """An embedding model in a folder (`Embedder`); loaded at the first use, once.

    `name` is the model's name with a hash of its weights, so that an index knows its own vectors.
    `cache` is a folder where the compiled model is kept between processes. Calls from several
    threads wait for one another.
    """

    def __init__(self, folder: str | Path, *, cache: str | Path | None = None, threads: int = 0) -> None:
        """Find the files of the model; `threads=0` leaves their number to the engine.

        Raises `ConfigError` when the folder does not hold a model.
        """
        self._folder, self._cache, self._threads = Path(folder), cache, threads
        self._model_file = _only_model(self._folder)
        self._settings = _settings(self._folder / "disputatio.json")
        self._lock = threading.Lock()
        self._loaded: tuple[Any, Any, int] | None = None
        weights = hashlib.sha256(self._model_file.read_bytes()).hexdigest()[:8]
        self._name = f"{self._settings.name or self._folder.name}@{weights}"

    @property
    def name(self) -> str:
        """The model's name and the first 8 hex digits of the SHA-256 of its weights."""
        return self._name

    @property
    def dimension(self) -> int:
        """The length of a vector."""
        with self._lock:
            return self._load()[2]

    def embed(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:
        """An array (len(texts), dimension) of unit rows; a text beyond `max_tokens` is cut there."""
        import numpy as np

        prefix = self._settings.query_prefix if query else self._settings.passage_prefix
        with self._lock:
            request, tokenizer, dimension = self._load()
            vectors = np.zeros((len(texts), dimension), dtype=np.float32)
            tokens = [one.ids for one in tokenizer.encode_batch([prefix + text for text in texts])]
            order = sorted(range(len(texts)), key=lambda i: len(tokens[i]))
            for at in range(0, len(order), _BATCH):
                batch = order[at : at + _BATCH]
                vectors[batch] = self._run(request, [tokens[i] for i in batch])
        return vectors

    def _run(self, request: Any, tokens: Sequence[Sequence[int]]) -> NDArray[np.float32]:
        """Unit vectors of one batch, padded to its longest member."""
        import numpy as np

        ids = np.zeros((len(tokens), max(1, *map(len, tokens))), dtype=np.int64)
        mask = np.zeros_like(ids)
        for row, one in enumerate(tokens):
            ids[row, : len(one)] = one
            mask[row, : len(one)] = 1
        given = dict(zip(_INPUTS, (ids, mask, np.zeros_like(ids)), strict=True))
        request.infer({name: given[name] for name in (port.any_name for port in request.model_inputs)})
        states = request.get_output_tensor(0).data
        if states.ndim == 2:  # the model pools by itself
            pooled = states.copy()
        elif self._settings.pooling == "cls":
            pooled = states[:, 0].copy()
        else:
            weights = mask[:, :, None].astype(np.float32)
            pooled = (states * weights).sum(axis=1) / np.maximum(weights.sum(axis=1), 1)
        norms = np.linalg.norm(pooled, axis=1, keepdims=True)
        unit: NDArray[np.float32] = (pooled / np.maximum(norms, 1e-12)).astype(np.float32)
        return unit

    def _load(self) -> tuple[Any, Any, int]:
        if self._loaded is None:
            sys.modules.setdefault("openvino_telemetry", None)  # type: ignore[arg-type]  # else use is reported
            try:
                import openvino
                from tokenizers import Tokenizer
            except ImportError as error:
                raise MissingDependency(error.name or "openvino", "local") from error
            core = openvino.Core()
            settings: dict[str, Any] = {"PERFORMANCE_HINT": "LATENCY"}
            if self._threads:
                settings["INFERENCE_NUM_THREADS"] = self._threads
            if self._cache is not None:
                core.set_property({"CACHE_DIR": str(self._cache)})
            try:
                model = core.compile_model(str(self._model_file), "CPU", settings)
            except RuntimeError as error:
                raise ConfigError(f"{self._model_file}: is not a model that OpenVINO reads") from error
            dimension = model.output(0).get_partial_shape()[-1]
            if dimension.is_dynamic:
                raise ConfigError(f"{self._model_file}: does not say how long its vectors are")
            strange = [port.any_name for port in model.inputs if port.any_name not in _INPUTS]
            if strange:
                raise ConfigError(f"{self._model_file}: wants an input {strange[0]!r} that is not known")
            file = self._folder / "tokenizer.json"
            try:
                json.loads(file.read_bytes())
            except (OSError, ValueError) as error:
                raise ConfigError(f"{file}: is not a tokenizer") from error
            tokenizer = Tokenizer.from_file(str(file))
            tokenizer.no_padding()
            tokenizer.enable_truncation(self._settings.max_tokens)
            self._loaded = (model.create_infer_request(), tokenizer, int(dimension.get_length()))
        return self._loaded


def _only_model(folder: Path) -> Path:
    found = sorted(folder.glob("*.onnx"))
    chosen = [path for path in found if path.name == "model.onnx"] or found
    if len(chosen) != 1:
        raise ConfigError(f"{folder}: an embedder's folder holds one .onnx file, this has {len(found)}")
    if not (folder / "tokenizer.json").is_file():
        raise ConfigError(f"{folder}: an embedder's folder holds tokenizer.json")
    return chosen[0]


def _settings(path: Path) -> EmbedderSettings:
    if not path.exists():
        return EmbedderSettings()
    from pydantic import TypeAdapter, ValidationError

    try:
        return TypeAdapter(EmbedderSettings).validate_python(json.loads(path.read_text("utf-8")))
    except (ValueError, ValidationError) as error:
        raise ConfigError(f"{path}: {str(error).splitlines()[0]}") from error
