"""The trained weights as one file that OpenVINO runs, in 8 bits, calibrated on what training did not see."""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from disputatio.encoder.model import ABOUT, FILES, GRAPH, TOKENIZER, EncoderModel, tokenizer_of
from disputatio.encoder.reader import CONTRADICTS, SUPPORTS, EncoderReader, against_rest
from disputatio.platforms import block_usage_reports
from disputatio.types import Passage
from train.examples import Example
from train.features import features_of, padded
from train.pairs import Pair

Numbers = tuple[float, ...]
INPUTS = ("tokens", "segments", "attended")
OUTPUTS = ("starts", "ends", "answers", "entail", "same")
SEQUENCES = 120  # that the ranges of activations are taken from


def convert(state: dict[str, Any]) -> Any:
    """Return the model with these weights in OpenVINO's form, in 32-bit floats, any number of rows and
    tokens.
    """
    import openvino
    import torch

    from train.encoder import HeadedEncoder

    model = HeadedEncoder()
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
    for name, port in zip(OUTPUTS, converted.outputs, strict=True):
        port.get_tensor().set_names({name})
    return converted


def quantise(model: Any, tokenizer: Any, examples: Sequence[Example], *, activations: bool = False) -> Any:
    """Return the model with 8-bit weights, and 8-bit activations in its products if asked.

    Activations in 8 bits are fast where a processor has instructions for them (AVX512-VNNI, AMX), and cost
    some of the reading; their ranges are taken from a few of the examples.
    """
    block_usage_reports()
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
    """Return the weights and level of a logistic regression of labels on columns of scores (Newton's method).

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


def export(
    run: Path,
    out: Path,
    dev: Sequence[Example],
    pairs: Sequence[Pair],
    *,
    length: int,
    precision: str = "weights",
) -> None:
    """From a run's weights to a folder and a zip file that `EncoderModel` opens, calibrated on `dev` and `pairs`.

    `precision` says what is in 8 bits: `weights`, `activations` too, or `none`. A run that has not ended is
    taken as it stands in its checkpoint.
    """
    import openvino

    from train.base import base_folder
    from train.fit import weights_of

    tokenizer = (base_folder(run.parent / "base") / TOKENIZER).read_bytes()
    model = convert(weights_of(run))
    if precision != "none":
        activations = precision == "activations"
        model = quantise(model, tokenizer_of(tokenizer, length), dev, activations=activations)
    out.mkdir(parents=True, exist_ok=True)
    openvino.save_model(model, str(out / GRAPH), compress_to_fp16=False)
    (out / TOKENIZER).write_bytes(tokenizer)
    about: dict[str, Any] = {"length": length, "eight_bits": precision}
    about |= {name: [1, 0] for name in ("read", "supports", "contradicts", "same")}
    write_about(out, about)
    write_about(out, about | calibrated(EncoderModel(out, threads=2), dev, pairs))
    zipped(out, out.with_suffix(".zip"))


def calibrated(model: EncoderModel, dev: Sequence[Example], pairs: Sequence[Pair]) -> dict[str, Numbers]:
    """Return the weights of the logits of each head in the log-odds of what it says, fitted on kept examples."""
    asked = [(example.question, Passage(text=example.text, title=example.title)) for example in dev]
    scores = [(score,) for _, score in EncoderReader(model).extract_with_scores(asked)]
    weights = {"read": _weights(scores, [bool(example.spans) for example in dev])}
    logits = {
        sequence.pair: out for sequence, out in model.logits([(one.first, one.second) for one in pairs])
    }
    entail = [number for number, pair in enumerate(pairs) if pair.head == "entail"]
    for name, label in (("supports", SUPPORTS), ("contradicts", CONTRADICTS)):
        # A set that tells only support from the rest says nothing about contradiction.
        told = [number for number in entail if label == SUPPORTS or pairs[number].label <= 2]
        column = [(against_rest(logits[number].entail, label),) for number in told]
        weights[name] = _weights(column, [pairs[number].label == label for number in told])
    same = [number for number, pair in enumerate(pairs) if pair.head == "same"]
    weights["same"] = _weights([(logits[n].same,) for n in same], [pairs[n].label == 1 for n in same])
    return weights


def _weights(scores: Sequence[Numbers], labels: Sequence[bool]) -> Numbers:
    return tuple(round(value, 5) for value in fitted(np.array(scores), np.array(labels, dtype=float)))


def write_about(folder: Path, about: dict[str, Any]) -> None:
    """Write how a model was trained and calibrated."""
    (folder / ABOUT).write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")


def zipped(folder: Path, path: Path) -> str:
    """Write a model's files as one zip file, the same bytes for the same files; its SHA-256, written beside it."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name in FILES:
            entry = zipfile.ZipInfo(name)  # with a date that is always the same
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, (folder / name).read_bytes())
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    path.with_suffix(".sha256").write_text(f"{digest}  {path.name}\n", encoding="utf-8")
    return digest
