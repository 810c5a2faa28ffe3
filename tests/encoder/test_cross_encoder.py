"""The cross-encoder names a missing file before it loads anything."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from disputatio.encoder.cross_encoder import CrossEncoder, _classes
from disputatio.errors import InputError, MissingDependency
from disputatio.protocols import Contradiction

LABELS = {"id2label": {"0": "contradiction", "1": "ENTAILMENT", "2": "neutral"}}


def folder(path: Path, config: str | None, *names: str) -> Path:
    if config is not None:
        (path / "config.json").write_text(config, encoding="utf-8")
    for name in names:
        (path / name).write_bytes(b"x")
    return path


@pytest.mark.parametrize(
    "config",
    [
        None,
        "",
        "{",
        "[]",
        "null",
        "7",
        "{}",
        '{"id2label": null}',
        '{"id2label": ["entailment"]}',
        '{"id2label": {}}',
        '{"id2label": {"0": "LABEL_0", "1": "not_entailment"}}',
        '{"id2label": {"zero": "entailment"}}',
    ],
)
def test_a_folder_whose_config_names_no_entailment_class_is_refused(
    tmp_path: Path, config: str | None
) -> None:
    with pytest.raises(InputError, match=r"config\.json: names no entailment class"):
        CrossEncoder(folder(tmp_path, config, "model.onnx", "tokenizer.json"))


def test_a_config_that_is_not_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="config"):
        CrossEncoder(tmp_path)


@pytest.mark.parametrize(
    ("names", "missing"),
    [
        ((), "model.onnx"),
        (("tokenizer.json",), "model.onnx"),
        (("model.onnx",), "tokenizer.json"),
    ],
)
def test_a_missing_file_is_named(tmp_path: Path, names: tuple[str, ...], missing: str) -> None:
    with pytest.raises(InputError, match=f"needs {missing}"):
        CrossEncoder(folder(tmp_path, json.dumps(LABELS), *names))


def test_a_folder_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nowhere"):
        CrossEncoder(tmp_path / "nowhere")


def test_a_folder_in_the_place_of_a_file_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "model.onnx").mkdir()
    with pytest.raises(InputError, match=r"needs model\.onnx"):
        CrossEncoder(folder(tmp_path, json.dumps(LABELS), "tokenizer.json"))


def test_an_engine_that_is_not_installed_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openvino", None)
    with pytest.raises(MissingDependency, match=r"pip install 'disputatio\[local\]'"):
        CrossEncoder(folder(tmp_path, json.dumps(LABELS), "model.onnx", "tokenizer.json"))


class Encoded:
    ids = attention_mask = type_ids = (1, 2)


class Tokens:
    """A tokenizer that makes two tokens of anything."""

    def encode_batch(self, pairs: Sequence[tuple[str, str]]) -> list[Encoded]:
        return [Encoded() for _ in pairs]


def made(path: Path, config: str, logits: Sequence[float]) -> CrossEncoder:
    """Return a cross-encoder whose engine gives these logits for any pair."""
    folder(path, config)
    judge = CrossEncoder.__new__(CrossEncoder)
    judge._class, judge._opposite = _classes(path)
    judge._tokenizer, judge._inputs = Tokens(), {"input_ids"}  # type: ignore[assignment]
    judge._model = lambda fields: [np.array([logits] * len(fields["input_ids"]), dtype=np.float32)]
    return judge


def test_contradiction_is_a_class_of_the_model_where_it_has_one(tmp_path: Path) -> None:
    judge = made(tmp_path, json.dumps(LABELS), [2.0, 0.0, 0.0])
    assert isinstance(judge, Contradiction)
    assert judge.contradicts([("a", "b")] * 2) == [pytest.approx(0.787, abs=1e-3)] * 2
    assert judge.entails([("a", "b")]) == [pytest.approx(0.1065, abs=1e-3)]
    assert judge.entails([]) == judge.contradicts([]) == []


def test_a_model_of_two_classes_detects_no_contradictions(tmp_path: Path) -> None:
    judge = made(tmp_path, json.dumps({"id2label": {"0": "entailment", "1": "not_entailment"}}), [0.0, 0.0])
    assert judge.contradicts([("a", "b")]) == [0.0]
    assert judge.entails([("a", "b")]) == [0.5]
