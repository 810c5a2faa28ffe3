"""The cross-encoder names the file that it misses, before it loads anything."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from disputatio.errors import InputError, MissingDependency
from disputatio.evidence.cross_encoder import CrossEncoder

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
