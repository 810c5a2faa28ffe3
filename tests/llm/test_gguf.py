"""GGUF files with tensors that the engine cannot read are rewritten without loss."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest

from disputatio.errors import InputError
from disputatio.llm.gguf import holds_unreadable, q8_0, rewrite

Q5_0, Q8_0, F32 = 6, 8, 0


def text(value: bytes) -> bytes:
    return struct.pack("<Q", len(value)) + value


def padded(data: bytes) -> bytes:
    return data + b"\0" * (-len(data) % 32)


def file_of(tensors: list[tuple[bytes, tuple[int, ...], int, bytes]]) -> bytes:
    """Return a GGUF file with a few metadata of each sort and these tensors."""
    pairs = [
        text(b"general.architecture") + struct.pack("<I", 8) + text(b"qwen2"),
        text(b"general.alignment") + struct.pack("<II", 4, 32),
        text(b"tokenizer.ggml.tokens") + struct.pack("<IIQ", 9, 8, 2) + text(b"a") + text(b"b"),
        text(b"tokenizer.ggml.scores") + struct.pack("<IIQ2f", 9, 6, 2, 0.5, 1.5),
    ]
    head = struct.pack("<4sIQQ", b"GGUF", 3, len(tensors), len(pairs)) + b"".join(pairs)
    data = b""
    for name, shape, kind, body in tensors:
        head += text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, kind, len(data))
        data += padded(body)
    return padded(head) + data


def q5_values(blocks: bytes) -> list[float]:
    """Return the values of Q5_0 blocks, worked out one by one as the format's authors write them."""
    values = []
    for at in range(0, len(blocks), 22):
        (scale, high) = struct.unpack("<eI", blocks[at : at + 6])
        body = blocks[at + 6 : at + 22]
        first = [((byte & 0xF) | (((high >> j) << 4) & 0x10)) - 16 for j, byte in enumerate(body)]
        second = [((byte >> 4) | ((high >> (j + 12)) & 0x10)) - 16 for j, byte in enumerate(body)]
        values += [scale * number for number in first + second]
    return values


def q8_values(blocks: bytes) -> list[float]:
    values = []
    for at in range(0, len(blocks), 34):
        scale, *numbers = struct.unpack("<e32b", blocks[at : at + 34])
        values += [scale * number for number in numbers]
    return values


@pytest.fixture
def blocks() -> bytes:
    generator = np.random.default_rng(3)
    scales = generator.normal(size=8).astype(np.float16)
    return b"".join(scale.tobytes() + generator.bytes(20) for scale in scales)


def test_every_weight_stays_what_it_was(blocks: bytes) -> None:
    assert q8_values(q8_0(blocks)) == q5_values(blocks)


def test_a_rewritten_file_has_no_unreadable_tensor_and_the_rest_byte_for_byte(
    blocks: bytes, tmp_path: Path
) -> None:
    plain = np.arange(5, dtype=np.float32).tobytes()
    tail = np.arange(3, dtype=np.float32).tobytes()
    path, target = tmp_path / "in.gguf", tmp_path / "out.gguf"
    path.write_bytes(
        file_of([(b"norm", (5,), F32, plain), (b"weight", (64, 4), Q5_0, blocks), (b"bias", (3,), F32, tail)])
    )
    assert holds_unreadable(path)
    rewrite(path, target)
    assert not holds_unreadable(target)
    wanted = file_of(
        [(b"norm", (5,), F32, plain), (b"weight", (64, 4), Q8_0, q8_0(blocks)), (b"bias", (3,), F32, tail)]
    )
    assert target.read_bytes() == wanted


def test_a_file_without_such_tensors_is_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "in.gguf"
    path.write_bytes(file_of([(b"norm", (2,), F32, b"\0" * 8)]))
    assert not holds_unreadable(path)


def test_what_is_not_gguf_or_breaks_off_is_said_in_one_line(blocks: bytes, tmp_path: Path) -> None:
    whole = file_of([(b"weight", (64, 4), Q5_0, blocks)])
    path = tmp_path / "bad.gguf"
    for length in (0, 3, 20, 60, 150, len(whole) - 40):
        path.write_bytes(whole[:length])
        with pytest.raises(InputError, match=r"bad\.gguf: (not a GGUF|a GGUF file that breaks off)"):
            holds_unreadable(path)
    path.write_bytes(b"<html>" + whole)
    with pytest.raises(InputError, match="not a GGUF"):
        holds_unreadable(path)


def test_lengths_beyond_the_file_do_not_take_memory(tmp_path: Path) -> None:
    path = tmp_path / "bad.gguf"
    path.write_bytes(struct.pack("<4sIQQ", b"GGUF", 3, 2**60, 2**60) + struct.pack("<Q", 2**62))
    with pytest.raises(InputError, match="breaks off"):
        holds_unreadable(path)
