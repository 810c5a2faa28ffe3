"""The packed model becomes an embedder whose vectors are those of BERT's formulas."""

from __future__ import annotations

import math
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from disputatio.llm.packed_e5 import unpack
from disputatio.store.embed import OnnxEmbedder

WIDTH, HEADS, INNER, LAYERS, POSITIONS = 32, 2, 64, 2, 12
PIECES = [
    "<s>",
    "<pad>",
    "</s>",
    "<unk>",
    "\u2581query",
    "\u2581passage",
    ":",
    "\u2581a",
    "\u2581bridge",
    "\u2581",
]
Floats = NDArray[Any]


def packed() -> tuple[bytes, dict[str, Floats]]:
    """Return the file of a small model, and its tensors as they are unpacked."""
    draw = np.random.default_rng(3)
    shapes = {"emb.word": (len(PIECES), WIDTH), "emb.pos": (POSITIONS * WIDTH,), "emb.type": (2 * WIDTH,),
              "emb.ln.w": (WIDTH,), "emb.ln.b": (WIDTH,)}  # fmt: skip
    for at in range(LAYERS):
        for name in ("q", "k", "v", "ao", "fi", "fo"):
            rows, columns = INNER if name == "fi" else WIDTH, INNER if name == "fo" else WIDTH
            shapes |= {f"l{at}.{name}.w": (rows, columns), f"l{at}.{name}.b": (rows,)}
        shapes |= {f"l{at}.{name}.{part}": (WIDTH,) for name in ("aln", "oln") for part in "wb"}
    tensors: dict[str, Floats] = {}
    stored: dict[str, bytes] = {}
    for name, shape in shapes.items():
        if len(shape) == 1:
            small = 0.05 if name.endswith("ln.b") else 1.0  # else it hides what differs
            tensors[name] = (small * draw.normal(size=shape)).astype(np.float32)
            stored[name] = tensors[name].tobytes()
            continue
        nibbles = draw.integers(0, 16, size=(math.prod(shape) // 32, 32))
        tensors[name] = ((nibbles - 8) * np.float32(0.125)).reshape(shape).astype(np.float32)
        scale = np.float16(0.125).tobytes()
        stored[name] = b"".join(scale + bytes((row[:16] | row[16:] << 4).tolist()) for row in nibbles)
    blob = [piece.encode() for piece in PIECES]
    starts = np.cumsum([0, *map(len, blob)]).tolist()
    head = b"E5S1" + struct.pack(
        "<I7ifi", 1, WIDTH, LAYERS, HEADS, INNER, len(PIECES), POSITIONS, 2, 1e-12, 32
    )
    head += struct.pack("<5iQ", len(PIECES), 0, 2, 1, 3, starts[-1]) + struct.pack(
        f"<{len(starts)}I", *starts
    )
    head += struct.pack(f"<{len(PIECES)}f", *[-1.0] * len(PIECES)) + b"".join(blob) + struct.pack("<iI", 0, 0)
    entries = sum(2 + len(name) + 21 for name in stored)
    offset, listed = len(head) + 4 + entries, struct.pack("<i", len(stored))
    for name, data in stored.items():
        listed += struct.pack("<H", len(name)) + name.encode() + struct.pack("<BIQQ", 0, 0, offset, len(data))
        offset += len(data)
    return head + listed + b"".join(stored.values()), tensors


def vector(tensors: dict[str, Floats], ids: list[int]) -> Floats:
    """Return the unit vector of tokens by the formulas."""

    def norm(states: Floats, name: str) -> Floats:
        centred = states - states.mean(axis=1, keepdims=True)
        scaled: Floats = centred / centred.std(axis=1, keepdims=True)
        return scaled * tensors[f"{name}.w"] + tensors[f"{name}.b"]

    def dense(states: Floats, name: str) -> Floats:
        return states @ tensors[f"{name}.w"].T + tensors[f"{name}.b"]

    places = tensors["emb.pos"].reshape(POSITIONS, WIDTH)[: len(ids)] + tensors["emb.type"][:WIDTH]
    states = norm(tensors["emb.word"][ids] + places, "emb.ln")
    for at in range(LAYERS):
        heads = []
        for first in range(0, WIDTH, WIDTH // HEADS):
            part = slice(first, first + WIDTH // HEADS)
            query, key, value = (dense(states, f"l{at}.{name}")[:, part] for name in "qkv")
            likeness = np.exp(query @ key.T / math.sqrt(WIDTH // HEADS))
            heads.append(likeness / likeness.sum(axis=1, keepdims=True) @ value)
        states = norm(states + dense(np.concatenate(heads, axis=1), f"l{at}.ao"), f"l{at}.aln")
        inner = dense(states, f"l{at}.fi")
        inner *= 0.5 * (1 + np.vectorize(math.erf)(inner / math.sqrt(2)))
        states = norm(states + dense(inner, f"l{at}.fo"), f"l{at}.oln")
    mean: Floats = states.mean(axis=0)
    return np.asarray(mean / np.linalg.norm(mean))


@pytest.mark.long
def test_a_packed_model_becomes_an_embedder_of_the_same_vectors(tmp_path: Path) -> None:
    data, tensors = packed()
    folder = tmp_path / "multilingual-e5-small"
    folder.mkdir()
    for name in ("model.onnx", "tokenizer.json", "sentence_bert_config.json"):
        (folder / name).write_bytes(unpack(data, name))
    made = OnnxEmbedder(folder, threads=1)
    one, other = made.embed(["a bridge", "a"])
    query = made.embed(["a bridge"], query=True)[0]
    assert one @ vector(tensors, [0, 5, 6, 7, 8, 2]) > 0.9996
    assert other @ vector(tensors, [0, 5, 6, 7, 2]) > 0.9996  # beside a longer one
    assert query @ vector(tensors, [0, 4, 6, 7, 8, 2]) > 0.9996
    assert max(one @ other, one @ query) < 0.998
