"""An entailment judge from a local folder: an ONNX cross-encoder for natural language inference.

The folder has `model.onnx`, `tokenizer.json` and `config.json`. The `id2label` of the last names one class
that begins with "entail", as published NLI models do; a class that begins with "contra" detects
contradictions. OpenVINO runs the model.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from disputatio.errors import InputError, importing
from disputatio.platforms import block_usage_reports

_MOST_TOKENS = 512


class CrossEncoder:
    """Entailment by an ONNX model in `folder`; raises `InputError` if a file is missing or wrong."""

    def __init__(self, folder: Path) -> None:
        self._class, self._opposite = _classes(folder)
        for name in ("model.onnx", "tokenizer.json"):
            if not (folder / name).is_file():
                raise InputError(f"{folder}: a cross-encoder needs {name} there")
        with importing("openvino", "local"):
            block_usage_reports()
            import openvino
            from tokenizers import Tokenizer
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.enable_truncation(_MOST_TOKENS)
        self._tokenizer.enable_padding()
        self._model: Any = openvino.Core().compile_model(folder / "model.onnx", "CPU")
        self._inputs = {port.get_any_name() for port in self._model.inputs}

    def entails(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """Return, for each (premise, hypothesis), the model's probability of its entailment class."""
        return self._probabilities(pairs, self._class)

    def contradicts(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """Return the probability of its contradiction class; 0 for a model without one."""
        if self._opposite is None:
            return [0.0] * len(pairs)
        return self._probabilities(pairs, self._opposite)

    def _probabilities(self, pairs: Sequence[tuple[str, str]], which: int) -> list[float]:
        import numpy as np

        if not pairs:
            return []
        encoded = self._tokenizer.encode_batch([*pairs])
        fields = {
            "input_ids": np.array([encoding.ids for encoding in encoded], dtype=np.int64),
            "attention_mask": np.array([encoding.attention_mask for encoding in encoded], dtype=np.int64),
            "token_type_ids": np.array([encoding.type_ids for encoding in encoded], dtype=np.int64),
        }
        logits = self._model({name: fields[name] for name in fields if name in self._inputs})[0]
        powers = np.exp(logits - logits.max(axis=1, keepdims=True))
        return [float(probability) for probability in (powers / powers.sum(axis=1, keepdims=True))[:, which]]


def _classes(folder: Path) -> tuple[int, int | None]:
    """Return the numbers of the entailment class and of the contradiction class, if there is one."""
    try:
        labels = json.loads((folder / "config.json").read_text(encoding="utf-8"))["id2label"]
        named = {str(label).casefold(): int(n) for n, label in labels.items()}
        entails = next(n for label, n in named.items() if label.startswith("entail"))
        return entails, next((n for label, n in named.items() if label.startswith("contra")), None)
    except (OSError, ValueError, LookupError, TypeError, AttributeError, StopIteration) as error:
        raise InputError(f"{folder}/config.json: names no entailment class in id2label") from error
