"""The cross-encoder names a missing file before it loads anything."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from disputatio.config import read_settings
from disputatio.encoder.cross_encoder import CrossEncoder, OnnxReranker
from disputatio.errors import ConfigError, InputError, MissingDependency
from disputatio.parts import build_kit
from disputatio.protocols import Contradiction, Reranker
from disputatio.store.in_memory import InMemory
from disputatio.types import Passage
from tests.store.damaged_models import onnx_file, reranker_file, tokenizer_file

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


class Rows:
    """A model that gives one row of logits for every pair."""

    def __init__(self, *logits: float) -> None:
        self.row = np.array([logits], dtype=np.float32)

    def logits(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float32]:
        return np.repeat(self.row, len(pairs), axis=0)


def made(path: Path, config: str, logits: Sequence[float], monkeypatch: pytest.MonkeyPatch) -> CrossEncoder:
    """Return a cross-encoder whose engine gives these logits for any pair."""
    monkeypatch.setattr("disputatio.encoder.cross_encoder._PairModel", lambda _: Rows(*logits))
    return CrossEncoder(folder(path, config))


def test_contradiction_is_a_class_of_the_model_where_it_has_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge = made(tmp_path, json.dumps(LABELS), [2.0, 0.0, 0.0], monkeypatch)
    assert isinstance(judge, Contradiction)
    assert judge.contradicts([("a", "b")] * 2) == [pytest.approx(0.787, abs=1e-3)] * 2
    assert judge.entails([("a", "b")]) == [pytest.approx(0.1065, abs=1e-3)]
    assert judge.entails([]) == judge.contradicts([]) == []


def test_a_model_of_two_classes_detects_no_contradictions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    labels = json.dumps({"id2label": {"0": "entailment", "1": "not_entailment"}})
    judge = made(tmp_path, labels, [0.0, 0.0], monkeypatch)
    assert judge.contradicts([("a", "b")]) == [0.0]
    assert judge.entails([("a", "b")]) == [0.5]


# --- the reranker ----------------------------------------------------------------------------------
PASSAGES = [
    Passage(id=f"p{at}", text=text, source="port.example")
    for at, text in enumerate(("The ferry", "It crossed the ferry in 1887", "The mill", "In 1887 a mill"))
]


@pytest.fixture
def reranker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder, laid out as hubs do, of a model whose score is the highest number of a token."""
    monkeypatch.setenv("DISPUTATIO_CACHE", str(tmp_path / "cache"))
    (tmp_path / "own/onnx").mkdir(parents=True)
    (tmp_path / "own/onnx/model.onnx").write_bytes(reranker_file())
    (tmp_path / "own/tokenizer.json").write_bytes(tokenizer_file())
    return tmp_path / "own"


@pytest.mark.long
def test_a_reranker_of_a_folder_orders_what_a_search_finds(reranker: Path) -> None:
    settings = read_settings(model="none", journal="none", reranker=str(reranker))
    kit = build_kit(settings, retriever=InMemory(PASSAGES))
    assert isinstance(kit.reranker, Reranker)
    many = PASSAGES * 5  # more than one batch, and of several lengths
    assert kit.rerank("ferry", many) == [2.0, 6.0, 2.0, 6.0] * 5
    assert kit.rerank("ferry", []) == []
    hits = kit.search("ferry mill", k=1)
    assert [hit.passage.id for hit in hits] in (["p1"], ["p3"])
    assert hits[0].score == 6.0


@pytest.mark.long
def test_a_folder_that_holds_no_reranker_is_one_line(reranker: Path) -> None:
    (reranker / "onnx/model.onnx").write_bytes(onnx_file())
    with pytest.raises(InputError, match="one or two numbers a pair"):
        OnnxReranker(reranker).rerank("ferry", PASSAGES)
    settings = read_settings(model="none", journal="none", reranker=str(reranker))
    with pytest.raises(ConfigError, match="is no model that can be loaded"):
        build_kit(settings)
    (reranker / "onnx/model.onnx").unlink()
    with pytest.raises(InputError, match=r"needs model\.onnx there"):
        OnnxReranker(reranker)


def test_the_second_of_two_numbers_says_that_a_passage_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("disputatio.encoder.cross_encoder._PairModel", lambda _: Rows(1.0, 3.0))
    assert OnnxReranker(Path("any")).rerank("ferry", PASSAGES[:1]) == [2.0]
