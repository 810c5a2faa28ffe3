"""The embedder on a model of one layer, written here byte by byte: a table of word vectors."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace

from disputatio.errors import ConfigError
from disputatio.protocols import Embedder
from disputatio.store.embed import OnnxEmbedder, batches_of, read_folder
from tests.store.damaged_models import onnx_file

_VOCABULARY = {"[UNK]": 0, "red": 1, "green": 2, "apple": 3, "query:": 4}
_TABLE = np.array([[0, 0, 0, 1], [3, 0, 0, 0], [0, 3, 0, 0], [0, 0, 4, 0], [0, 0, 0, 5]], dtype=np.float32)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder that holds the model and its tokenizer."""
    place = tmp_path / "tiny"
    place.mkdir()
    (place / "model.onnx").write_bytes(onnx_file(_TABLE))
    tokenizer = Tokenizer(WordLevel(_VOCABULARY, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.enable_padding(length=9)  # as shipped files often have it: not to be used
    tokenizer.save(str(place / "tokenizer.json"))
    return place


@pytest.mark.long
def test_vectors_are_means_over_the_words_and_of_unit_length(folder: Path) -> None:
    embedder = OnnxEmbedder(folder)
    vectors = embedder.embed(["red green", "apple", "red red green apple"])
    assert isinstance(embedder, Embedder)
    assert embedder.dimension == 4
    assert vectors.dtype == np.float32
    expected = np.array([[1, 1, 0, 0], [0, 0, 1, 0], [6, 3, 4, 0]], dtype=np.float32)
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    assert vectors == pytest.approx(expected, abs=1e-6)


@pytest.mark.long
def test_order_is_kept_whatever_the_lengths(folder: Path) -> None:
    texts = ["apple " * (n % 7 + 1) + ("red" if n % 2 else "green") for n in range(40)]
    together = OnnxEmbedder(folder).embed(texts)
    alone = np.concatenate([OnnxEmbedder(folder).embed([text]) for text in texts[:8]])
    assert together[:8] == pytest.approx(alone, abs=1e-6)


@pytest.mark.long
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
    (folder / "model.onnx").write_bytes(onnx_file(_TABLE * 2))
    assert OnnxEmbedder(folder).name != name


def test_a_compiled_model_is_kept_in_the_cache(folder: Path, tmp_path: Path) -> None:
    OnnxEmbedder(folder, cache=tmp_path / "cache", threads=1).embed(["red"])
    assert list((tmp_path / "cache").iterdir())


@pytest.mark.long
def test_few_threads_are_not_tied_to_the_cores_that_every_other_process_takes(folder: Path) -> None:
    embedder = OnnxEmbedder(folder, threads=1)
    model = embedder._load().request.get_compiled_model()
    assert model.get_property("INFERENCE_NUM_THREADS") == 1
    assert model.get_property("ENABLE_CPU_PINNING") is False


def test_a_folder_without_a_model_is_a_config_error(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="this has 0"):
        OnnxEmbedder(tmp_path)
    (folder / "disputatio.json").write_text('{"pooling": "median"}')
    with pytest.raises(ConfigError, match=r"disputatio\.json: pooling: Input should be 'mean'"):
        OnnxEmbedder(folder)
    (folder / "disputatio.json").write_text('{"max_tokens": 0}')
    with pytest.raises(ConfigError, match="max_tokens must be at least 1"):
        OnnxEmbedder(folder)
    (folder / "disputatio.json").unlink()
    (folder / "model.onnx").write_bytes(b"not a model")
    with pytest.raises(ConfigError, match="not a model that OpenVINO reads"):
        OnnxEmbedder(folder).embed(["x"])
    (folder / "model.onnx").write_bytes(onnx_file(_TABLE))
    (folder / "tokenizer.json").write_text("{")
    with pytest.raises(ConfigError, match="is not a tokenizer"):
        OnnxEmbedder(folder).embed(["x"])
    (folder / "tokenizer.json").unlink()
    with pytest.raises(ConfigError, match="holds tokenizer"):
        OnnxEmbedder(folder)


# --- folders as they come from a hub -------------------------------------------------------------
def _write(folder: Path, files: Mapping[str, object]) -> None:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content))


def _modules(*kinds: str) -> list[dict[str, str]]:
    places = {"Transformer": "", "Pooling": "1_Pooling", "Normalize": "2_Normalize", "Dense": "3_Dense"}
    return [{"type": f"sentence_transformers.models.{kind}", "path": places[kind]} for kind in kinds]


def test_the_files_of_sentence_transformers_are_followed(folder: Path) -> None:
    (folder / "onnx").mkdir()
    (folder / "model.onnx").rename(folder / "onnx" / "model.onnx")
    _write(
        folder,
        {
            "modules.json": _modules("Transformer", "Pooling", "Normalize"),
            "1_Pooling/config.json": {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False},
            "sentence_bert_config.json": {"max_seq_length": 3, "do_lower_case": True},
            "config_sentence_transformers.json": {"prompts": {"query": "query: ", "document": ""}},
        },
    )
    embedder = OnnxEmbedder(folder)
    assert embedder.settings.max_tokens == 3
    assert embedder.embed(["RED apple"]).tolist() == [[1, 0, 0, 0]]
    assert embedder.embed(["red apple"], query=True).tolist() == [[0, 0, 0, 1]]


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({"pooling_mode_mean_tokens": True}, [9, 0, 4, 0]),
        ({"pooling_mode_mean_sqrt_len_tokens": True}, [9, 0, 4, 0]),
        ({"pooling_mode_max_tokens": True}, [3, 0, 4, 0]),
        ({"pooling_mode_lasttoken": True}, [0, 0, 4, 0]),
        ({"pooling_mode": "cls"}, [3, 0, 0, 0]),
    ],
    ids=["mean", "mean by the root of the length", "max", "last token", "cls, in the newer form"],
)
def test_tokens_are_pooled_as_the_folder_says_and_padding_has_no_part(
    folder: Path, config: dict[str, object], expected: list[float]
) -> None:
    _write(folder, {"1_Pooling/config.json": config})
    # The second text makes the batch longer, so that the first one is padded.
    found = OnnxEmbedder(folder).embed(["red red red apple", "green green green green green green"])
    assert found[0] == pytest.approx(np.array(expected) / np.linalg.norm(expected), abs=1e-6)


@pytest.mark.parametrize(
    ("name", "query", "passage"),
    [
        ("intfloat--multilingual-e5-small", "query: ", "passage: "),
        ("e5-base-v2", "query: ", "passage: "),
        ("nomic-embed-text-v1.5", "search_query: ", "search_document: "),
        ("multilingual-e5-large-instruct", "", ""),
        ("some5-small", "", ""),
    ],
)
def test_models_that_were_trained_with_prefixes_get_them(
    folder: Path, name: str, query: str, passage: str
) -> None:
    settings = read_folder(folder.rename(folder.parent / name)).settings
    assert (settings.query_prefix, settings.passage_prefix) == (query, passage)


def test_the_own_file_overrides_what_the_others_say(folder: Path) -> None:
    _write(
        folder,
        {
            "1_Pooling/config.json": {"pooling_mode_cls_token": True},
            "config_sentence_transformers.json": {"prompts": {"query": "query: "}},
            "disputatio.json": {"pooling": "mean", "query_prefix": ""},
        },
    )
    embedder = OnnxEmbedder(folder)
    assert embedder.embed(["red red red apple"], query=True)[0, 2] > 0
    assert embedder.name == f"tiny@{hashlib.sha256(onnx_file(_TABLE)).hexdigest()[:8]}"


def test_another_use_of_the_same_weights_is_another_embedder(folder: Path) -> None:
    names = {OnnxEmbedder(folder).name}
    for settings in ({"pooling": "cls"}, {"query_prefix": "query: "}, {"max_tokens": 9}):
        _write(folder, {"disputatio.json": settings})
        names.add(OnnxEmbedder(folder).name)
    assert len(names) == 4
    _write(folder, {"disputatio.json": {"file": "model.onnx"}})
    assert OnnxEmbedder(folder).name in names
    (folder / "model.onnx_data").write_bytes(b"weights that lie beside the model")
    assert OnnxEmbedder(folder).name not in names


def test_of_several_models_the_usual_one_is_run_and_else_one_has_to_be_named(folder: Path) -> None:
    (folder / "onnx").mkdir()
    for name in ("model_O2.onnx", "model_quantized.onnx"):
        (folder / "onnx" / name).write_bytes((folder / "model.onnx").read_bytes())
    assert read_folder(folder).model == folder / "model.onnx"
    (folder / "model.onnx").unlink()
    assert read_folder(folder).model == folder / "onnx" / "model_quantized.onnx"
    (folder / "onnx" / "model_quantized.onnx").rename(folder / "onnx" / "model_O4.onnx")
    with pytest.raises(
        ConfigError, match=r'this has 2 \(onnx/model_O2.onnx, onnx/model_O4.onnx\): name one as "file"'
    ):
        read_folder(folder)
    _write(folder, {"disputatio.json": {"file": "onnx/model_O4.onnx"}})
    assert read_folder(folder).model == folder / "onnx" / "model_O4.onnx"
    for wrong in ("onnx/none.onnx", "../tiny/onnx/model_O4.onnx", str(folder / "onnx" / "model_O4.onnx")):
        _write(folder, {"disputatio.json": {"file": wrong}})
        with pytest.raises(ConfigError, match="which is not in the folder"):
            read_folder(folder)


def test_a_folder_of_a_hubs_cache_is_named_by_its_repository(folder: Path) -> None:
    place = folder.parent / "models--own--tiny" / "snapshots" / "0a1b2c"
    place.parent.mkdir(parents=True)
    assert OnnxEmbedder(folder.rename(place)).name.startswith("own/tiny@")


def test_without_a_stated_length_the_tokenizer_and_the_positions_bound_a_text(folder: Path) -> None:
    _write(
        folder,
        {"modules.json": _modules("Transformer"), "tokenizer_config.json": {"model_max_length": 10**30}},
    )
    assert read_folder(folder).settings.max_tokens == 256
    _write(folder, {"config.json": {"max_position_embeddings": 514, "model_type": "xlm-roberta"}})
    assert read_folder(folder).settings.max_tokens == 512
    _write(folder, {"tokenizer_config.json": {"model_max_length": 128}})
    assert read_folder(folder).settings.max_tokens == 128


def test_what_cannot_be_followed_is_told_and_not_passed_over(folder: Path) -> None:
    pooling = folder / "1_Pooling" / "config.json"
    for config in (
        {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": True},
        {"pooling_mode": "weightedmean"},
    ):
        _write(folder, {"1_Pooling/config.json": config})
        with pytest.raises(ConfigError, match=r"1_Pooling/config\.json: pools by .*not supported"):
            OnnxEmbedder(folder)
    _write(folder, {"1_Pooling/config.json": {"pooling_mode_mean_tokens": True, "include_prompt": False}})
    assert OnnxEmbedder(folder).name
    _write(folder, {"config_sentence_transformers.json": {"prompts": {"query": "query: "}}})
    with pytest.raises(ConfigError, match="pooling without the prompt"):
        OnnxEmbedder(folder)
    pooling.unlink()
    _write(folder, {"config_sentence_transformers.json": {"similarity_fn_name": "dot"}})
    with pytest.raises(ConfigError, match=r'put \{"normalize": true\}'):
        OnnxEmbedder(folder)
    _write(folder, {"disputatio.json": {"normalize": True}})
    assert OnnxEmbedder(folder).name
    for modules in ({"0": "Transformer"}, [{"path": ""}], [{"type": "a.Pooling", "path": "../1_Pooling"}]):
        _write(folder, {"modules.json": modules})
        with pytest.raises(ConfigError, match=r"modules\.json: is not a list of modules"):
            OnnxEmbedder(folder)
    _write(folder, {"modules.json": _modules("Transformer", "Dense")})
    with pytest.raises(ConfigError, match=r"lacks the module Dense that follows it in modules\.json"):
        OnnxEmbedder(folder).embed(["red"])
    (folder / "modules.json").write_text("[")
    with pytest.raises(ConfigError, match=r"modules\.json: is not a JSON file"):
        OnnxEmbedder(folder)


def test_a_vector_that_is_not_of_numbers_is_a_fault(folder: Path) -> None:
    table = _TABLE.copy()
    table[1, 0] = np.nan
    (folder / "model.onnx").write_bytes(onnx_file(table))
    assert OnnxEmbedder(folder).embed(["green"]).tolist() == [[0, 1, 0, 0]]
    with pytest.raises(ConfigError, match="not of numbers"):
        OnnxEmbedder(folder).embed(["red"])


@given(st.lists(st.integers(0, 300), max_size=60), st.integers(1, 1024))
def test_batches_hold_every_row_once_and_stay_within_their_tokens(lengths: list[int], tokens: int) -> None:
    batches = batches_of(lengths, tokens)
    assert sorted(row for batch in batches for row in batch) == list(range(len(lengths)))
    for batch in batches:
        assert len(batch) == 1 or len(batch) * max(lengths[row] for row in batch) <= tokens


@pytest.mark.long
def test_threads_may_share_an_embedder(folder: Path) -> None:
    embedder = OnnxEmbedder(folder)
    many = ["red " * (n % 50 + 1) for n in range(300)]

    def work(number: int) -> bool:
        if number % 2:
            return bool((embedder.embed(["apple"], query=True) == [[0, 0, 1, 0]]).all())
        return bool((embedder.embed(many) == [[1, 0, 0, 0]]).all())

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(24)))
