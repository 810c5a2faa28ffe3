"""A later conversion removes what a killed one left in the cache, and lets a running one alone."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from disputatio.errors import InputError
from disputatio.llm.converted import ABANDONED, converted_folder


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
        converted_folder(broken, tmp_path, lambda _: None)
    assert [each.name for each in (tmp_path / "converted").iterdir()] == [".making-running"]
