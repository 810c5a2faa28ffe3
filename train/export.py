"""The trained weights as one int8 file that OpenVINO runs, calibrated on what training did not see."""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np

from disputatio.encoder.reader import ABOUT, MODEL, EncoderReader, tokenizer_of
from disputatio.types import Passage
from train.examples import Example
from train.features import features_of, padded

INPUTS = ("tokens", "segments", "attended")
SEQUENCES = 120  # that the ranges of activations are taken from


def convert(state: dict[str, Any]) -> Any:
    """The model with these weights in OpenVINO's form, in 32-bit floats, any number of rows and tokens."""
    import openvino
    import torch

    from train.encoder import Reader

    model = Reader()
    model.load_state_dict(state)
    model.eval()
    sample = {
        "tokens": torch.ones((2, 16), dtype=torch.long),
        "segments": torch.zeros((2, 16), dtype=torch.long),
        "attended": torch.ones((2, 16), dtype=torch.bool),
    }
    shapes = [openvino.PartialShape([-1, -1])] * 3
    types = [openvino.Type.i64, openvino.Type.i64, openvino.Type.boolean]
    with torch.inference_mode():
        converted = openvino.convert_model(
            model, example_input=tuple(sample.values()), input=list(zip(shapes, types, strict=True))
        )
    for name, port in zip(INPUTS, converted.inputs, strict=True):
        port.get_tensor().set_names({name})
    for name, port in zip(("starts", "ends", "answers"), converted.outputs, strict=True):
        port.get_tensor().set_names({name})
    return converted


def quantise(model: Any, tokenizer: Any, examples: Sequence[Example], *, activations: bool = False) -> Any:
    """The model with 8-bit weights, and 8-bit activations in its products if asked.

    Activations in 8 bits are fast where a processor has instructions for them (AVX512-VNNI, AMX), and cost
    some of the reading; their ranges are taken from a few of the examples.
    """
    cast("dict[str, Any]", sys.modules).setdefault("openvino_telemetry", None)  # else use is reported
    import nncf

    if activations:
        chosen = [examples[place * len(examples) // SEQUENCES] for place in range(SEQUENCES)]
        features = [one for one in features_of(tokenizer, chosen) if one is not None]
        batches = [padded(features[first : first + 4]) for first in range(0, len(features), 4)]
        dataset = nncf.Dataset(batches, lambda batch: {name: batch[name] for name in INPUTS})
        model = nncf.quantize(
            model,
            dataset,
            model_type=nncf.ModelType.TRANSFORMER,
            subset_size=len(batches),
            preset=nncf.QuantizationPreset.MIXED,
        )
    # What is left in floats, the table of words above all.
    return nncf.compress_weights(model, mode=nncf.CompressWeightsMode.INT8_SYM)


def fitted(scores: Any, labels: Any, *, steps: int = 30, ridge: float = 1e-3) -> tuple[float, ...]:
    """The weights and level of a logistic regression of labels on columns of scores (Newton's method).

    >>> slope, level = fitted(np.array([[-2.0], [-1.0], [1.0], [2.0], [-0.5]]), np.array([0, 0, 1, 1, 1]))
    >>> slope > 0
    True
    """
    columns = np.column_stack([scores, np.ones(len(scores))])
    values = np.zeros(columns.shape[1])
    for _ in range(steps):
        chances = 1 / (1 + np.exp(-np.clip(columns @ values, -30, 30)))
        slope = columns.T @ (labels - chances) - ridge * values
        bend = (columns * (chances * (1 - chances))[:, None]).T @ columns + ridge * np.eye(len(values))
        values = values + np.linalg.solve(bend, slope)
    return tuple(float(value) for value in values)


def save(model: Any, folder: Path, name: str, base: Path, about: dict[str, Any]) -> None:
    """Write the model with its tokenizer and what must be known to run it."""
    import openvino

    folder.mkdir(parents=True, exist_ok=True)
    openvino.save_model(model, str(folder / name), compress_to_fp16=False)
    shutil.copyfile(base / "tokenizer.json", folder / "tokenizer.json")
    (folder / ABOUT).write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")


def hashes(folder: Path) -> dict[str, str]:
    """The SHA-256 of each file of a folder by name, the list of hashes itself left out."""
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.iterdir())
        if path.is_file() and path.name != "SHA256SUMS"
    }


def export(run: Path, out: Path, dev: Sequence[Example], *, length: int, precision: str = "weights") -> None:
    """From a run's weights to a folder that `EncoderReader` opens, its probabilities fitted on `dev`.

    `precision` says what is in 8 bits: `weights`, `activations` too, or `none`. A run that has not ended is
    taken as it stands in its checkpoint.
    """
    import torch

    from train.base import base_folder
    from train.fit import CHECKPOINT, WEIGHTS

    base = base_folder(run.parent / "base")
    if (run / WEIGHTS).exists():
        state = torch.load(run / WEIGHTS, map_location="cpu", weights_only=True)
    else:
        state = torch.load(run / CHECKPOINT, map_location="cpu", weights_only=True)["model"]
    about: dict[str, Any] = {"length": length, "calibration": [1.0, 1.0, 0.0], "eight_bits": precision}
    model = convert(state)
    if precision != "none":
        model = quantise(model, tokenizer_of(base, length), dev, activations=precision == "activations")
    save(model, out, MODEL, base, about)
    pairs = [(example.question, Passage(text=example.text, title=example.title)) for example in dev]
    readings = EncoderReader(out, threads=2).read_pairs(pairs)
    scores = np.array([[reading.margin, reading.logit] for reading in readings])
    about["calibration"] = fitted(scores, np.array([bool(one.spans) for one in dev], dtype=float))
    (out / ABOUT).write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")
    sums = "".join(f"{value}  {name}\n" for name, value in hashes(out).items())
    (out / "SHA256SUMS").write_text(sums, encoding="utf-8")
