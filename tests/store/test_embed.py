"""The embedder on a model of one layer, written here byte by byte: a table of word vectors."""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace

from disputatio.errors import ConfigError
from disputatio.protocols import Embedder
from disputatio.store.embed import OnnxEmbedder

_VOCABULARY = {"[UNK]": 0, "red": 1, "green": 2, "apple": 3, "query:": 4}
_TABLE = np.array([[0, 0, 0, 1], [3, 0, 0, 0], [0, 3, 0, 0], [0, 0, 4, 0], [0, 0, 0, 5]], dtype=np.float32)


def _number(field: int, value: int) -> bytes:
    return bytes([field << 3]) + _varint(value)


def _varint(value: int) -> bytes:
    out = b""
    while value > 127:
        out, value = out + bytes([value & 127 | 128]), value >> 7
    return out + bytes([value])


def _bytes(field: int, value: bytes | str) -> bytes:
    raw = value.encode() if isinstance(value, str) else value
    return bytes([field << 3 | 2]) + _varint(len(raw)) + raw


def _port(name: str, kind: int, shape: Sequence[int | str]) -> bytes:
    dims = b"".join(_bytes(1, _number(1, d) if isinstance(d, int) else _bytes(2, d)) for d in shape)
    return _bytes(1, name) + _bytes(2, _bytes(1, _number(1, kind) + _bytes(2, dims)))


def _onnx(table: NDArray[np.float32]) -> bytes:
    """An ONNX model: last_hidden_state = table[input_ids]; float is type 1, int64 type 7."""
    node = _bytes(1, "table") + _bytes(1, "input_ids") + _bytes(2, "last_hidden_state") + _bytes(4, "Gather")
    values = b"".join(struct.pack("<f", value) for value in table.ravel().tolist())
    dims = b"".join(_number(1, size) for size in table.shape)
    tensor = dims + _number(2, 1) + _bytes(8, "table") + _bytes(9, values)
    given = _port("input_ids", 7, ["batch", "length"])
    result = _port("last_hidden_state", 1, ["batch", "length", table.shape[1]])
    graph = _bytes(1, node) + _bytes(2, "g") + _bytes(5, tensor) + _bytes(11, given) + _bytes(12, result)
    return _number(1, 8) + _bytes(7, graph) + _bytes(8, _bytes(1, "") + _number(2, 13))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder that holds the model and its tokenizer."""
    place = tmp_path / "tiny"
    place.mkdir()
    (place / "model.onnx").write_bytes(_onnx(_TABLE))
    tokenizer = Tokenizer(WordLevel(_VOCABULARY, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.enable_padding(length=9)  # as shipped files often have it: not to be used
    tokenizer.save(str(place / "tokenizer.json"))
    return place


def test_vectors_are_means_over_the_words_and_of_unit_length(folder: Path) -> None:
    embedder = OnnxEmbedder(folder)
    vectors = embedder.embed(["red green", "apple", "red red green apple"])
    assert isinstance(embedder, Embedder)
    assert embedder.dimension == 4
    assert vectors.dtype == np.float32
    expected = np.array([[1, 1, 0, 0], [0, 0, 1, 0], [6, 3, 4, 0]], dtype=np.float32)
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    assert vectors == pytest.approx(expected, abs=1e-6)


def test_order_is_kept_whatever_the_lengths(folder: Path) -> None:
    texts = ["apple " * (n % 7 + 1) + ("red" if n % 2 else "green") for n in range(40)]
    together = OnnxEmbedder(folder).embed(texts)
    alone = np.concatenate([OnnxEmbedder(folder).embed([text]) for text in texts[:8]])
    assert together[:8] == pytest.approx(alone, abs=1e-6)


def test_nothing_to_embed_and_an_empty_text_do_not_fail(folder: Path) -> None:
    embedder = OnnxEmbedder(folder)
    assert embedder.embed([]).shape == (0, 4)
    assert np.isfinite(embedder.embed(["", "red"])).all()


def test_the_folder_says_how_the_model_wants_to_be_used(folder: Path) -> None:
    settings = {"name": "own", "pooling": "cls", "max_tokens": 2, "query_prefix": "query: "}
    settings |= {"format": 1, "files": {"model.onnx": {"size": 1}}}  # what others keep there is left to them
    (folder / "disputatio.json").write_text(json.dumps(settings))
    embedder = OnnxEmbedder(folder)
    assert embedder.name.startswith("own@")
    assert embedder.embed(["red apple"]).tolist() == [[1, 0, 0, 0]]
    assert embedder.embed(["red apple"], query=True).tolist() == [[0, 0, 0, 1]]


def test_the_name_tells_other_weights_apart(folder: Path) -> None:
    name = OnnxEmbedder(folder).name
    assert name.startswith("tiny@")
    (folder / "model.onnx").write_bytes(_onnx(_TABLE * 2))
    assert OnnxEmbedder(folder).name != name


def test_a_compiled_model_is_kept_in_the_cache(folder: Path, tmp_path: Path) -> None:
    OnnxEmbedder(folder, cache=tmp_path / "cache", threads=1).embed(["red"])
    assert list((tmp_path / "cache").iterdir())


def test_a_folder_without_a_model_is_a_config_error(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="this has 0"):
        OnnxEmbedder(tmp_path)
    (folder / "disputatio.json").write_text('{"pooling": "max"}')
    with pytest.raises(ConfigError, match=r"disputatio\.json"):
        OnnxEmbedder(folder)
    (folder / "disputatio.json").unlink()
    (folder / "model.onnx").write_bytes(b"not a model")
    with pytest.raises(ConfigError, match="not a model that OpenVINO reads"):
        OnnxEmbedder(folder).embed(["x"])
    (folder / "model.onnx").write_bytes(_onnx(_TABLE))
    (folder / "tokenizer.json").write_text("{")
    with pytest.raises(ConfigError, match="is not a tokenizer"):
        OnnxEmbedder(folder).embed(["x"])
    (folder / "tokenizer.json").unlink()
    with pytest.raises(ConfigError, match="holds tokenizer"):
        OnnxEmbedder(folder)
