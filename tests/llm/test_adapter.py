"""An adapter is merged into a GGUF file: the sum of both, whatever the kind of the weights."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import numpy as np
import pytest
from gguf import GGMLQuantizationType as Kind
from gguf.quants import dequantize
from numpy.typing import NDArray

from disputatio.errors import InputError
from disputatio.llm.gguf import add_adapter, floats
from tests.llm.test_gguf import file_of

Q8_0, F32, RANK = 8, 0, 2
Matrices = dict[str, NDArray[np.float32]]


def adapter_of(weights: Matrices, *, kind: str = "F32", scale: str = "2.0") -> bytes:
    """Return an adapter's file."""
    header: dict[str, object] = {"__metadata__": {"rank": str(RANK), "scale": scale}}
    body = b""
    for name, values in weights.items():
        bits = values.astype("<f4").view("<u4")
        part = (bits >> 16).astype("<u2").tobytes() if kind == "BF16" else bits.tobytes()
        ends = [len(body), len(body) + len(part)]
        header[name] = {"dtype": kind, "shape": list(values.shape), "data_offsets": ends}
        body += part
    head = json.dumps(header).encode()
    return struct.pack("<Q", len(head)) + head + body


def blocks_of(kind: Kind, count: int, size: int, seed: int = 5) -> bytes:
    """Return random blocks whose scales, wherever they stand, are small numbers."""
    generator = np.random.default_rng(seed)
    rows = np.frombuffer(generator.bytes(count * size), np.uint8).reshape(count, size).copy()
    for at in {Kind.Q5_0: (0,), Kind.Q8_0: (0,), Kind.Q4_K: (0, 2), Kind.Q6_K: (208,)}[kind]:
        scales = generator.uniform(0.01, 0.02, size=(count, 1)).astype("<f2")
        rows[:, at : at + 2] = scales.view(np.uint8)
    return rows.tobytes()


@pytest.mark.parametrize(
    ("kind", "size"), [(Kind.Q5_0, 22), (Kind.Q8_0, 34), (Kind.Q4_K, 144), (Kind.Q6_K, 210)]
)
def test_weights_of_every_kind_are_those_that_the_authors_of_the_format_read(kind: Kind, size: int) -> None:
    blocks = blocks_of(kind, 6, size)
    wanted = dequantize(np.frombuffer(blocks, np.uint8).reshape(6, size), kind).reshape(-1)
    np.testing.assert_array_equal(floats(blocks, int(kind)), wanted)


@pytest.fixture
def matrices() -> Matrices:
    generator = np.random.default_rng(7)
    return {
        "blk.0.ffn_up.down": generator.normal(size=(RANK, 256)).astype(np.float32),
        "blk.0.ffn_up.up": generator.normal(size=(4, RANK)).astype(np.float32),
    }


@pytest.mark.parametrize("stored", ["F32", "BF16"])
def test_the_merged_file_holds_the_sum_and_the_rest_byte_for_byte(
    matrices: Matrices, stored: str, tmp_path: Path
) -> None:
    if stored == "BF16":
        matrices = {name: (m.view("<u4") & 0xFFFF0000).view("<f4") for name, m in matrices.items()}
    base, out, adapter = tmp_path / "in.gguf", tmp_path / "out.gguf", tmp_path / "a.safetensors"
    blocks, plain = blocks_of(Kind.Q4_K, 4, 144), np.arange(5, dtype=np.float32).tobytes()
    base.write_bytes(file_of([(b"norm", (5,), F32, plain), (b"blk.0.ffn_up.weight", (256, 4), 12, blocks)]))
    adapter.write_bytes(adapter_of(matrices, kind=stored))
    add_adapter(base, adapter, out)
    whole = out.read_bytes()
    size = 4 * 256 // 32 * 34
    product = matrices["blk.0.ffn_up.up"] @ matrices["blk.0.ffn_up.down"]
    wanted = floats(blocks, 12) + 2 * product.reshape(-1)
    merged = floats(whole[-size:], Q8_0)
    assert np.abs(merged - wanted).max() <= np.abs(wanted).max() / 254 * 1.01
    assert whole == file_of(
        [(b"norm", (5,), F32, plain), (b"blk.0.ffn_up.weight", (256, 4), Q8_0, whole[-size:])]
    )


def test_what_is_no_adapter_of_this_model_is_said_in_one_line(matrices: Matrices, tmp_path: Path) -> None:
    base, out, adapter = tmp_path / "in.gguf", tmp_path / "out.gguf", tmp_path / "a.safetensors"

    def refused(content: bytes, tensor: tuple[bytes, tuple[int, ...], int, bytes], match: str) -> None:
        adapter.write_bytes(content)
        base.write_bytes(file_of([tensor]))
        with pytest.raises(InputError, match=match):
            add_adapter(base, adapter, out)

    fits = (b"blk.0.ffn_up.weight", (256, 4), 12, blocks_of(Kind.Q4_K, 4, 144))
    whole = adapter_of(matrices)
    for content in (b"", whole[:40], whole[:-9], b"\xff" * 64, adapter_of(matrices, scale="no")):
        refused(content, fits, r"a\.safetensors: is no adapter")
    lone = {name: values for name, values in matrices.items() if name.endswith("up")}
    refused(adapter_of(lone), fits, "is no adapter")
    refused(whole, (b"blk.0.ffn_down.weight", *fits[1:]), "has no tensor blk.0.ffn_up.weight")
    refused(whole, (b"blk.0.ffn_up.weight", (256, 8), 12, fits[3] * 2), "has another size")
    refused(whole, (b"blk.0.ffn_up.weight", (256, 4), F32, b"\0" * 4096), "of a kind that no adapter")
