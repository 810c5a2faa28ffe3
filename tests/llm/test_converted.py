"""A later conversion removes what a killed one left in the cache, and lets a running one alone."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest

from disputatio.errors import InputError
from disputatio.llm.embedded import ABANDONED, ensure_converted, open_pipeline


def test_a_later_conversion_removes_what_a_killed_one_left(tmp_path: Path) -> None:
    old, running = (tmp_path / "converted" / name for name in (".making-old", ".making-running"))
    for work in (old, running):
        (work / "model").mkdir(parents=True)
        (work / "model" / "openvino_model.bin").write_bytes(b"half")
    long_ago = time.time() - ABANDONED - 60
    os.utime(old, (long_ago, long_ago))
    broken = tmp_path / "model.gguf"
    broken.write_bytes(b"GGUF, it says, and is none")
    with pytest.raises(InputError):
        ensure_converted(broken, tmp_path, lambda _: None)
    assert [each.name for each in (tmp_path / "converted").iterdir()] == [".making-running"]


def test_the_engine_gets_its_settings_as_it_takes_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Have the arguments in the form of the engine's own signature: a mapping there is a fault."""
    genai = pytest.importorskip("openvino_genai")
    given: list[Any] = []

    def pipeline(_folder: Path, _tokenizer: object, _scheduler: object, device: str, **settings: Any) -> str:
        given.append((device, settings["INFERENCE_NUM_THREADS"]))
        return "pipeline"

    monkeypatch.setattr(genai, "Tokenizer", lambda _: "tokenizer")
    monkeypatch.setattr(genai, "ContinuousBatchingPipeline", pipeline)
    assert open_pipeline(tmp_path, 1, lambda _: None, threads=2) == ("pipeline", "tokenizer")
    assert given == [("CPU", 2)]
