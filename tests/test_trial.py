"""Tests of models of strangers: each is loaded in a child process first, which may crash."""

from __future__ import annotations

import json
import struct
import sys
from pathlib import Path

import pytest

from disputatio import parts
from disputatio.errors import ConfigError, InputError
from disputatio.llm import catalogue, gguf
from disputatio.parts import open_embedder
from tests.store.damaged_models import gguf_file, kinds, onnx_file, outcome, tokenizer_file


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a sound model."""
    monkeypatch.setenv("DISPUTATIO_CACHE", str(tmp_path / "cache"))
    place = tmp_path / "tiny"
    place.mkdir()
    (place / "model.onnx").write_bytes(onnx_file())
    (place / "tokenizer.json").write_bytes(tokenizer_file())
    return place


@pytest.mark.long
def test_a_sound_model_is_tried_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    embedder = open_embedder(str(folder))
    assert embedder is not None
    assert embedder.embed(["the ferry"]).shape == (1, 8)
    monkeypatch.setattr("subprocess.run", None)  # it is not tried again
    open_embedder(str(folder))


@pytest.mark.long
@pytest.mark.parametrize("content", [b'{"model": {"type": "WordLevel"}}', b'{"version": "9"}', b"[]"])
def test_a_tokenizer_that_its_loader_refuses_is_one_line(folder: Path, content: bytes) -> None:
    (folder / "tokenizer.json").write_bytes(content)
    with pytest.raises(ConfigError) as caught:
        open_embedder(str(folder))
    assert str(folder) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.long
def test_a_judge_that_does_not_load_is_one_line(folder: Path) -> None:
    (folder / "config.json").write_text(json.dumps({"id2label": {"0": "entailment"}}))
    (folder / "model.onnx").write_bytes(b"no model")
    with pytest.raises(ConfigError, match="is no model that can be loaded"):
        parts.check_model("judge", folder, catalogue.cache_folder())


@pytest.mark.parametrize(("ends", "said"), [("kill -SEGV $$", "-11"), ("exit 134", "134")])
def test_an_engine_that_crashes_ends_the_child_alone(
    ends: str, said: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    crashing = folder.parent / "python"
    crashing.write_text(f"#!/bin/sh\n{ends}\n")
    crashing.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(crashing))
    with pytest.raises(ConfigError, match=f"crashed on it, with status {said}"):
        open_embedder(str(folder))


@pytest.mark.long
def test_damaged_models_are_never_a_crash_of_this_process() -> None:
    for _, (sound, load) in kinds().items():
        assert outcome(load, sound) == "loaded"
        assert outcome(load, sound[: len(sound) // 2]) != "loaded"


def test_a_gguf_file_cannot_ask_for_memory_or_depth(tmp_path: Path) -> None:
    file = tmp_path / "model.gguf"
    sound = gguf_file()
    key = b"general.alignment" + (4).to_bytes(4, "little")
    wide = sound.replace(key + (32).to_bytes(4, "little"), key + (1 << 31).to_bytes(4, "little"))
    assert wide != sound
    nested = (9).to_bytes(4, "little") + (1).to_bytes(8, "little")
    at = sound.index(b"nested") + 6 + 4
    deep = sound[:at] + nested * 5_000 + sound[at:]
    of_v = b"v" + struct.pack("<IQI", 1, 8, 0)
    far = sound.replace(of_v + struct.pack("<Q", 192), of_v + b"\xff" * 8)
    assert far != sound
    for raw in (wide, deep, far):
        file.write_bytes(raw)
        with pytest.raises(InputError):
            gguf.holds_unreadable(file)
