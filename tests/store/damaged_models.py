"""Small models of every kind, made in code, and what becomes of a process that loads one.

Each is loaded and run in a fork, as the trial of a new model does (`disputatio.parts`), GGUF as the child of
the embedded engine reads it.
"""

from __future__ import annotations

import json
import os
import resource
import select
import signal
import struct
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from disputatio.encoder.model import SHIPPED, EncoderModel, tokenizer_of
from disputatio.errors import DisputatioError
from disputatio.store.embed import OnnxEmbedder

TABLE = np.array([n / 7 for n in range(64)], dtype=np.float32).reshape(8, 8)
SECONDS, MEMORY = 20.0, 24 << 30  # of one file: time, and addresses (the engine reserves many)


def varint(value: int) -> bytes:
    out = b""
    while value > 127:
        out, value = out + bytes([value & 127 | 128]), value >> 7
    return out + bytes([value])


def number(field: int, value: int) -> bytes:
    return varint(field << 3) + varint(value)


def part(field: int, value: bytes | str) -> bytes:
    raw = value.encode() if isinstance(value, str) else value
    return bytes([field << 3 | 2]) + varint(len(raw)) + raw


def onnx_file(table: NDArray[np.float32] = TABLE) -> bytes:
    """Return an ONNX model: last_hidden_state = table[input_ids]."""
    return _graph(table, "last_hidden_state", ["batch", "length", table.shape[1]])


def _graph(table: NDArray[np.float32], output: str, shape: list[int | str], *nodes: bytes) -> bytes:
    """Return a model of table[input_ids] and further nodes; float is type 1, int64 type 7."""

    def port(name: str, kind: int, shape: list[int | str]) -> bytes:
        sizes = b"".join(part(1, number(1, n) if isinstance(n, int) else part(2, n)) for n in shape)
        return part(1, name) + part(2, part(1, number(1, kind) + part(2, sizes)))

    node = part(1, "table") + part(1, "input_ids") + part(2, "last_hidden_state") + part(4, "Gather")
    sizes = b"".join(number(1, size) for size in table.shape)
    tensor = sizes + number(2, 1) + part(8, "table") + part(9, table.astype("<f4").tobytes())
    inputs = port("input_ids", 7, ["batch", "length"])
    listed = b"".join(part(1, each) for each in (node, *nodes))
    graph = listed + part(2, "g") + part(5, tensor) + part(11, inputs) + part(12, port(output, 1, shape))
    return number(1, 8) + part(7, graph) + part(8, part(1, "") + number(2, 13))


def reranker_file() -> bytes:
    """Return an ONNX model: logits = the highest of the numbers of a pair's tokens, of shape (batch, 1)."""
    table = np.arange(8, dtype=np.float32).reshape(8, 1)
    gathered, scored = b"last_hidden_state", b"logits"
    axes = part(1, "axes") + number(8, 1) + number(20, 7)
    keep = part(1, "keepdims") + number(3, 0) + number(20, 2)
    highest = part(1, gathered) + part(2, scored) + part(4, "ReduceMax") + part(5, axes) + part(5, keep)
    return _graph(table, "logits", ["batch", 1], highest)


def tokenizer_file() -> bytes:
    words = {"[UNK]": 0, "the": 1, "ferry": 2, "crossed": 3, "in": 4, "a": 5, "1887": 6, ".": 7}
    return json.dumps(
        {
            "version": "1.0",
            "truncation": None,
            "padding": None,
            "added_tokens": [],
            "normalizer": {"type": "Lowercase"},
            "pre_tokenizer": {"type": "Whitespace"},
            "post_processor": None,
            "decoder": None,
            "model": {"type": "WordLevel", "vocab": words, "unk_token": "[UNK]"},
        }
    ).encode()


def gguf_file() -> bytes:
    def text(value: str) -> bytes:
        return struct.pack("<Q", len(value)) + value.encode()

    pairs = text("general.architecture") + struct.pack("<I", 8) + text("llama")
    pairs += text("general.alignment") + struct.pack("<II", 4, 32)
    pairs += text("tokens") + struct.pack("<IIQ", 9, 8, 3) + text("a") + text("b") + text("c")
    pairs += (
        text("nested") + struct.pack("<IIQ", 9, 9, 1) + struct.pack("<IQ", 4, 2) + struct.pack("<II", 1, 2)
    )
    blocks = bytes(range(22)) * 8
    tensors = text("w") + struct.pack("<IQIQ", 1, 256, 6, 0) + text("v") + struct.pack("<IQIQ", 1, 8, 0, 192)
    head = struct.pack("<4sIQQ", b"GGUF", 3, 2, 4) + pairs + tensors
    return head + bytes(-len(head) % 32) + blocks + bytes(-len(blocks) % 32) + bytes(32)


def encoder_files() -> dict[str, bytes]:
    with zipfile.ZipFile(SHIPPED) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def kinds() -> dict[str, tuple[bytes, Callable[[Path, bytes], None]]]:
    """Return a sound file of each kind, and how one that may be damaged is loaded in a folder."""
    encoder = encoder_files()

    def embedder(name: str) -> Callable[[Path, bytes], None]:
        def load(folder: Path, raw: bytes) -> None:
            (folder / "model.onnx").write_bytes(onnx_file())
            (folder / "tokenizer.json").write_bytes(tokenizer_file())
            (folder / name).write_bytes(raw)
            OnnxEmbedder(folder).embed(["The ferry crossed in 1887.", "A ferry."])

        return load

    def tokenizer(_: Path, raw: bytes) -> None:
        tokenizer_of(raw, 64).encode_batch([("The ferry crossed in 1887.", "A ferry.")])

    def ir(folder: Path, raw: bytes) -> None:
        for name, content in encoder.items():
            (folder / name).write_bytes(content)
        (folder / "encoder.xml").write_bytes(raw)
        list(EncoderModel(folder).logits([("The ferry crossed.", "A ferry.")]))

    def gguf(folder: Path, raw: bytes) -> None:
        from disputatio.llm.gguf import holds_unreadable, rewrite

        (folder / "model.gguf").write_bytes(raw)
        if holds_unreadable(folder / "model.gguf"):
            rewrite(folder / "model.gguf", folder / "new.gguf")

    return {
        "ONNX": (onnx_file(), embedder("model.onnx")),
        "tokenizer": (tokenizer_file(), tokenizer),
        "GGUF": (gguf_file(), gguf),
        "IR": (encoder["encoder.xml"], ir),
    }


def outcome(load: Callable[[Path, bytes], None], raw: bytes) -> str:
    """Return what becomes of a fork that loads a file."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        said = "loaded"
        os.close(reading)
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)
        os.dup2(quiet, 2)
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        try:
            with tempfile.TemporaryDirectory(dir=memory()) as folder:
                load(Path(folder), raw)
        except DisputatioError as error:
            said = "refused by us" if "\n" not in str(error) else "several lines"
        except BaseException as error:  # noqa: BLE001 - the trial turns all of them into one line
            said = f"the engine's {type(error).__name__}"
        os.write(writing, said.encode())
        os._exit(0)
    os.close(writing)
    ready = select.select([reading], [], [], SECONDS)[0]
    said = os.read(reading, 200).decode() if ready else "took too long"
    if not ready:
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    os.close(reading)
    if said:
        return said
    return f"ended by {signal.Signals(status & 127).name}" if status & 127 else "ended without a word"


def memory() -> str | None:
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
