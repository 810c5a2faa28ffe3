"""Rewrites GGUF files: tensors that the embedded engine cannot read, and those that an adapter changes.

The engine's reader knows Q4_0, Q4_1, Q4_K, Q6_K and Q8_0, but not Q5_0, which small models with odd
widths hold in their Q4_K_M files. A Q5_0 block is 32 integers of 5 bits under one 16-bit scale; as
Q8_0 the same integers and the same scale take a byte each, so every weight stays what it was.
Weights to which an adapter is added (`add_adapter`) are summed in 32-bit floats and written as Q8_0.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import IO, TYPE_CHECKING, Any

from disputatio.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Added = Callable[[tuple[int, ...]], "NDArray[np.float32]"]
"""The sum for a tensor, by its shape as the file has it: the length of a row, then how many there are."""
_Q5_0, _Q8_0, _Q4_K, _Q6_K = 6, 8, 12, 14
_Q5_BYTES, _Q8_BYTES, _BLOCK = 22, 34, 32
# The weights and the bytes of a block of each kind that an adapter may be added to.
_BLOCKS = {_Q5_0: (32, 22), _Q8_0: (32, 34), _Q4_K: (256, 144), _Q6_K: (256, 210)}
_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9
_AT_A_TIME = 1 << 16  # blocks
_WIDEST = 1 << 16  # bytes to which tensors are aligned


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tensor:
    name: bytes
    shape: tuple[int, ...]
    kind: int
    start: int
    size: int

    @property
    def count(self) -> int:
        return math.prod(self.shape)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Layout:
    """The parts of a file: `head` is the end of the metadata, `data` where the tensors begin."""

    head: int
    data: int
    alignment: int
    tensors: tuple[_Tensor, ...]


def holds_unreadable(path: Path) -> bool:
    """Return True if a GGUF file has tensors in Q5_0; raises `InputError` for a file that is not GGUF."""
    with path.open("rb") as file:
        return any(tensor.kind == _Q5_0 for tensor in _layout(file, path).tensors)


def rewrite(path: Path, target: Path, added: Mapping[str, Added] = MappingProxyType({})) -> set[str]:
    """Write the GGUF file to `target` with every Q5_0 tensor in Q8_0, and so the sums of those with a value
    in `added`, whose names are returned if found. Raises `InputError` for a broken file, or weights that
    nothing can be added to.
    """
    with path.open("rb") as file, target.open("wb") as out:
        layout = _layout(file, path)
        file.seek(0)
        out.write(file.read(layout.head))
        start = 0
        for tensor in layout.tensors:
            new = _plan_tensor(path, tensor, merged=tensor.name.decode() in added)
            out.write(struct.pack("<Q", len(new.name)) + new.name)
            out.write(struct.pack(f"<I{len(new.shape)}QIQ", len(new.shape), *new.shape, new.kind, start))
            start += _round_up(new.size, layout.alignment)
        out.write(b"\0" * (_round_up(out.tell(), layout.alignment) - out.tell()))
        for tensor in layout.tensors:
            file.seek(layout.data + tensor.start)
            begun, addition = out.tell(), added.get(tensor.name.decode())
            if addition is not None:
                values = floats(_read(file, path, _bytes_of(tensor)), tensor.kind)
                out.write(as_q8_0(values + addition(tensor.shape).reshape(-1)))
            else:
                step = _AT_A_TIME * _Q5_BYTES
                for at in range(0, tensor.size, step):
                    piece = _read(file, path, min(step, tensor.size - at))
                    out.write(q8_0(piece) if tensor.kind == _Q5_0 else piece)
            written = out.tell() - begun
            out.write(b"\0" * (_round_up(written, layout.alignment) - written))
    return {tensor.name.decode() for tensor in layout.tensors} & set(added)


def _read(file: IO[bytes], path: Path, size: int) -> bytes:
    piece = file.read(size)
    if len(piece) < size:
        raise InputError(f"{path}: a GGUF file that breaks off in its tensors")
    return piece


def floats(blocks: bytes, kind: int) -> NDArray[np.float32]:
    """Return the weights of blocks of a kind: Q5_0, Q8_0, Q4_K or Q6_K, as their authors define them."""
    import numpy as np

    if kind == _Q5_0:
        blocks, kind = q8_0(blocks), _Q8_0
    rows: NDArray[np.uint8] = np.frombuffer(blocks, np.uint8).reshape(-1, _BLOCKS[kind][1])
    weights: NDArray[np.float32]

    def halves(first: int) -> NDArray[np.float32]:
        return np.ascontiguousarray(rows[:, first : first + 2]).view("<f2").astype(np.float32)

    if kind == _Q8_0:
        return (halves(0) * rows[:, 2:].view(np.int8)).reshape(-1)
    if kind == _Q4_K:
        packed = rows[:, 4:16]
        low, middle, high = packed[:, 0:4], packed[:, 4:8], packed[:, 8:12]
        scales = np.concatenate([low & 63, (high & 15) | ((low >> 6) << 4)], axis=1)
        least = np.concatenate([middle & 63, (high >> 4) | ((middle >> 6) << 4)], axis=1)
        quants = rows[:, 16:].reshape(-1, 4, 1, 32) >> np.array([0, 4], np.uint8).reshape(1, 1, 2, 1) & 15
        steps = (halves(0) * scales)[:, :, None]
        weights = (steps * quants.reshape(-1, 8, 32) - (halves(2) * least)[:, :, None]).reshape(-1)
        return weights
    lower = rows[:, :128].reshape(-1, 2, 1, 64) >> np.array([0, 4], np.uint8).reshape(1, 1, 2, 1) & 15
    upper = rows[:, 128:192].reshape(-1, 2, 1, 32) >> np.array([0, 2, 4, 6], np.uint8).reshape(1, 1, 4, 1) & 3
    numbers = (lower.reshape(-1, 256) | upper.reshape(-1, 256) << 4).astype(np.int8) - 32
    factors = rows[:, 192:208].view(np.int8).astype(np.float32) * halves(208)
    weights = (factors[:, :, None] * numbers.reshape(-1, 16, 16)).reshape(-1)
    return weights


def as_q8_0(values: NDArray[np.float32]) -> bytes:
    """Return weights as blocks of Q8_0, the nearest to them.

    >>> import numpy as np
    >>> block = as_q8_0(np.arange(32, dtype=np.float32) * 127 / 31)
    >>> round(float(floats(block, 8)[-1]), 3), len(block)
    (127.0, 34)
    """
    import numpy as np

    blocks = values.reshape(-1, _BLOCK)
    scales = (np.abs(blocks).max(axis=1, keepdims=True) / 127).astype("<f2")
    steps = scales.astype(np.float32)
    numbers = np.rint(np.divide(blocks, steps, out=np.zeros_like(blocks), where=steps > 0))
    whole = np.empty((len(blocks), _Q8_BYTES), np.uint8)
    whole[:, :2] = scales.view(np.uint8)
    whole[:, 2:] = np.clip(numbers, -127, 127).astype(np.int8).view(np.uint8)
    return whole.tobytes()


def q8_0(blocks: bytes) -> bytes:
    r"""Convert Q5_0 blocks to Q8_0 blocks of the same values.

    >>> block = b"\x00\x3c" + b"\x01\x00\x00\x80" + bytes([0x0F] + [0x00] * 14 + [0xF0])
    >>> struct.unpack("<2s32b", q8_0(block))[1:4], struct.unpack("<2s32b", q8_0(block))[-1]
    ((15, -16, -16), 15)
    """
    import numpy as np

    rows: NDArray[np.uint8] = np.frombuffer(blocks, np.uint8).reshape(-1, _Q5_BYTES)
    fifth = np.unpackbits(rows[:, 2:6], axis=1, bitorder="little")
    low = rows[:, 6:] & 0x0F
    high = rows[:, 6:] >> 4
    values = np.concatenate([low, high], axis=1) | (fifth << 4)
    whole = np.empty((len(rows), _Q8_BYTES), np.uint8)
    whole[:, :2] = rows[:, :2]
    whole[:, 2:] = (values.astype(np.int8) - 16).view(np.uint8)
    return whole.tobytes()


def _plan_tensor(path: Path, tensor: _Tensor, *, merged: bool) -> _Tensor:
    if merged and (tensor.kind not in _BLOCKS or tensor.count % _BLOCKS[tensor.kind][0]):
        raise InputError(f"{path}: {tensor.name.decode()} is of a kind that no adapter can be added to")
    if not merged and tensor.kind != _Q5_0:
        return tensor
    return replace(tensor, kind=_Q8_0, size=tensor.count // _BLOCK * _Q8_BYTES)


def _bytes_of(tensor: _Tensor) -> int:
    weights, size = _BLOCKS[tensor.kind]
    return tensor.count // weights * size


def _round_up(size: int, alignment: int) -> int:
    return -(-size // alignment) * alignment


def _layout(file: IO[bytes], path: Path) -> _Layout:
    """Read the layout of a file; raises `InputError` for one that is not GGUF of version 2 or 3."""
    end = path.stat().st_size
    try:
        magic, version, tensors, pairs = _unpack(file, "4sIQQ")
        if magic != b"GGUF" or version not in (2, 3):
            raise InputError(f"{path}: not a GGUF file of version 2 or 3")
        alignment = 32
        for _ in range(pairs):
            key = _text(file, end)
            (kind,) = _unpack(file, "I")
            value = _value(file, kind, end)
            if key == b"general.alignment" and isinstance(value, int):
                alignment = max(1, value)
                if alignment > _WIDEST:
                    raise InputError(f"{path}: a GGUF file with tensors {alignment:,} bytes apart")
        head = file.tell()
        headers = []
        for _ in range(tensors):
            name = _text(file, end)
            (dimensions,) = _unpack(file, "I")
            numbers = _unpack(file, f"{min(dimensions, 8)}QIQ")
            headers.append((name, numbers[:-2], numbers[-2], numbers[-1]))
        data = _round_up(file.tell(), alignment)
    except (struct.error, RecursionError, OverflowError, ValueError) as error:
        raise InputError(f"{path}: a GGUF file that breaks off in its header") from error
    ends = sorted({start for _, _, _, start in headers} | {end - data})
    described = []
    for name, shape, kind, start in headers:
        if start > end:
            raise InputError(f"{path}: a GGUF file that breaks off before its tensors")
        size = next((after for after in ends if after > start), start) - start
        if kind == _Q5_0:
            count = math.prod(shape)
            if size < count // _BLOCK * _Q5_BYTES or count % _BLOCK:
                raise InputError(f"{path}: a GGUF file that breaks off, or whose tensors overlap")
            size = count // _BLOCK * _Q5_BYTES
        described.append(_Tensor(name=name, shape=shape, kind=kind, start=start, size=size))
    return _Layout(head=head, data=data, alignment=alignment, tensors=tuple(described))


def _unpack(file: IO[bytes], form: str) -> tuple[Any, ...]:
    return struct.unpack("<" + form, file.read(struct.calcsize("<" + form)))


def _text(file: IO[bytes], end: int) -> bytes:
    (length,) = _unpack(file, "Q")
    if length > end:
        raise struct.error("a text longer than the file")
    return file.read(length)


def _value(file: IO[bytes], kind: int, end: int) -> object:
    if kind in _SCALARS:
        return _unpack(file, _SCALARS[kind])[0]
    if kind == _STRING:
        return _text(file, end)
    if kind != _ARRAY:
        raise struct.error("a value of an unknown kind")
    inner, count = _unpack(file, "IQ")
    if inner in _SCALARS:
        file.seek(struct.calcsize("<" + _SCALARS[inner]) * min(count, end), 1)
        return None
    if count > end:
        raise struct.error("an array longer than the file")
    for _ in range(count):
        _value(file, inner, end)
    return None


# --- adapters -----------------------------------------------------------------------------------------
_LARGEST_HEADER = 1 << 22  # bytes


def add_adapter(path: Path, adapter: Path, target: Path) -> None:
    """Write the GGUF file with the adapter added to its weights; raises `InputError` for no such adapter."""
    import numpy as np

    weights, scale = read_adapter(adapter)

    def sum_for(name: str) -> Added:
        down, up = weights[f"{name}.down"], weights[f"{name}.up"]

        def product(shape: tuple[int, ...]) -> NDArray[np.float32]:
            if (down.shape[1], up.shape[0]) != shape:
                raise InputError(f"{adapter}: {name} has another size than in {path.name}")
            found: NDArray[np.float32] = np.float32(scale) * (up @ down)
            return found

        return product

    wanted = {f"{name.rpartition('.')[0]}.weight": sum_for(name.rpartition(".")[0]) for name in weights}
    if missing := wanted.keys() - rewrite(path, target, wanted):
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
