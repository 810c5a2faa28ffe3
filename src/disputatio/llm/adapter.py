"""Merges a low-rank adapter into a GGUF file, once, so that the engine runs no slower than without it.

An adapter has two matrices for a tensor, `NAME.down` and `NAME.up`, whose product is added to its weights
(LoRA; Hu et al. 2022, arXiv 2106.09685). They lie in a safetensors file in bfloat16 or 32-bit floats. The sum
is written as Q8_0, blocks of 32 integers of 8 bits under a 16-bit scale; other tensors keep their values.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from disputatio.errors import InputError
from disputatio.llm import gguf

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_LARGEST_HEADER = 1 << 22  # bytes


def merge(path: Path, adapter: Path, target: Path) -> None:
    """Write the GGUF file to `target` with the adapter added to its weights.

    Raises `InputError` for a file that is no adapter, or none of this model.
    """
    import numpy as np

    weights, scale = read_adapter(adapter)

    def sum_for(name: str) -> gguf.Added:
        down, up = weights[f"{name}.down"], weights[f"{name}.up"]

        def product(shape: tuple[int, ...]) -> NDArray[np.float32]:
            if (down.shape[1], up.shape[0]) != shape:
                raise InputError(f"{adapter}: {name} has another size than in {path.name}")
            found: NDArray[np.float32] = np.float32(scale) * (up @ down)
            return found

        return product

    wanted = {f"{name.rpartition('.')[0]}.weight": sum_for(name.rpartition(".")[0]) for name in weights}
    if missing := wanted.keys() - gguf.rewrite(path, target, wanted):
        raise InputError(f"{adapter}: {path.name} has no tensor {min(missing)}")


def read_adapter(path: Path) -> tuple[Mapping[str, NDArray[np.float32]], float]:
    """Return the matrices of an adapter by name, and the scale of their products; raises `InputError`."""
    import numpy as np

    content = path.read_bytes()
    try:
        (length,) = struct.unpack_from("<Q", content)
        if length > _LARGEST_HEADER:
            raise ValueError("header")
        header: dict[str, Any] = json.loads(content[8 : 8 + length])
        scale = float(header.pop("__metadata__")["scale"])
        weights = {}
        for name, about in header.items():
            first, last = about["data_offsets"]
            body = content[8 + length + first : 8 + length + last]
            if about["dtype"] == "BF16":
                flat = (np.frombuffer(body, "<u2").astype(np.uint32) << 16).view(np.float32)
            elif about["dtype"] == "F32":
                flat = np.frombuffer(body, "<f4").astype(np.float32)
            else:
                raise ValueError("type")
            weights[name] = flat.reshape(about["shape"])
        pairs = {name.rpartition(".")[0] for name in weights}
        if set(weights) != {f"{name}.{part}" for name in pairs for part in ("down", "up")}:
            raise ValueError("pairs")
        if any(weights[f"{name}.down"].shape[0] != weights[f"{name}.up"].shape[1] for name in pairs):
            raise ValueError("ranks")
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, struct.error) as error:
        raise InputError(f"{path}: is no adapter ({type(error).__name__})") from error
    return weights, scale
