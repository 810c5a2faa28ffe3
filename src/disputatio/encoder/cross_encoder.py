"""Cross-encoders from a local folder, as ONNX: a judge of entailment, and a reranker. OpenVINO runs them.

The folder has `model.onnx` (or `onnx/model.onnx`, as hubs have it) and `tokenizer.json`. A judge has
`config.json` too, whose `id2label` names one class that begins with "entail", as published NLI models do; a
class that begins with "contra" detects contradictions. A reranker gives one number for a query and a passage,
or two, of which the second says that it fits.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from disputatio.errors import InputError, require_package
from disputatio.platforms import block_usage_reports
from disputatio.types import Passage

_GRAPHS = ("model.onnx", "onnx/model.onnx", "onnx/model_quantized.onnx")
_MOST_TOKENS = 512
_AT_ONCE = 8  # pairs of like length


class _PairModel:
    """The model of a folder: rows of logits for pairs of texts. Raises `InputError` if a file is missing."""

    def __init__(self, folder: Path) -> None:
        graph = next((folder / name for name in _GRAPHS if (folder / name).is_file()), None)
        if graph is None or not (folder / "tokenizer.json").is_file():
            missing = "tokenizer.json" if graph else "model.onnx"
            raise InputError(f"{folder}: a cross-encoder needs {missing} there")
        with require_package("openvino", "local"):
            block_usage_reports()
            import openvino
            from tokenizers import Tokenizer
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.enable_truncation(_MOST_TOKENS)
        self._tokenizer.enable_padding()
        self._model: Any = openvino.Core().compile_model(graph, "CPU")
        self._inputs = {port.get_any_name() for port in self._model.inputs}
        self._lock = threading.Lock()  # the engine has one request for all threads

    def logits(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float32]:
        encoded = self._tokenizer.encode_batch([*pairs])
        fields = {
            "input_ids": np.array([encoding.ids for encoding in encoded], dtype=np.int64),
            "attention_mask": np.array([encoding.attention_mask for encoding in encoded], dtype=np.int64),
            "token_type_ids": np.array([encoding.type_ids for encoding in encoded], dtype=np.int64),
        }
        with self._lock:
            rows = self._model({name: fields[name] for name in fields if name in self._inputs})[0]
            return np.array(rows, dtype=np.float32)


class CrossEncoder:
    """Entailment by an ONNX model in `folder`; raises `InputError` if a file is missing or wrong."""

    def __init__(self, folder: Path) -> None:
        self._class, self._opposite = _classes(folder)
        self._model = _PairModel(folder)

    def entails(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """Return, for each (premise, hypothesis), the model's probability of its entailment class."""
        return self._probabilities(pairs, self._class)

    def contradicts(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """Return the probability of its contradiction class; 0 for a model without one."""
        if self._opposite is None:
            return [0.0] * len(pairs)
        return self._probabilities(pairs, self._opposite)

    def _probabilities(self, pairs: Sequence[tuple[str, str]], which: int) -> list[float]:
        if not pairs:
            return []
        logits = self._model.logits(pairs)
        powers = np.exp(logits - logits.max(axis=1, keepdims=True))
        return [float(probability) for probability in (powers / powers.sum(axis=1, keepdims=True))[:, which]]


class OnnxReranker:
    """A `Reranker` by an ONNX model in `folder`; raises `InputError` if a file is missing or it is none."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._model = folder, _PairModel(folder)

    def rerank(self, query: str, passages: Sequence[Passage]) -> list[float]:
        """Return one score a passage, higher is better, on the scale of the model; long texts are cut."""
        scores = [0.0] * len(passages)
        by_length = sorted(range(len(passages)), key=lambda at: len(passages[at].text))
        for first in range(0, len(by_length), _AT_ONCE):
            batch = by_length[first : first + _AT_ONCE]
            rows = self._model.logits([(query, passages[at].text) for at in batch])
            if rows.ndim != 2 or rows.shape[1] not in (1, 2) or not np.isfinite(rows).all():
                raise InputError(
                    f"{self._folder}: a reranker gives one or two numbers a pair, this model {rows.shape[1:]}"
                )
            for at, row in zip(batch, rows, strict=True):
                scores[at] = float(row[-1] - row[0]) if len(row) == 2 else float(row[0])
        return scores


def _classes(folder: Path) -> tuple[int, int | None]:
    """Return the numbers of the entailment class and of the contradiction class, if there is one."""
    try:
        labels = json.loads((folder / "config.json").read_text(encoding="utf-8"))["id2label"]
        named = {str(label).casefold(): int(n) for n, label in labels.items()}
        entails = next(n for label, n in named.items() if label.startswith("entail"))
        return entails, next((n for label, n in named.items() if label.startswith("contra")), None)
    except (OSError, ValueError, LookupError, TypeError, AttributeError, StopIteration) as error:
        raise InputError(f"{folder}/config.json: names no entailment class in id2label") from error
