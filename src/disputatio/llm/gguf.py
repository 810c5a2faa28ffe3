"""Rewrites GGUF files whose tensors the embedded engine cannot read, without loss.

The engine's reader knows Q4_0, Q4_1, Q4_K, Q6_K and Q8_0, but not Q5_0, which small models with odd
widths hold in their Q4_K_M files. A Q5_0 block is 32 integers of 5 bits under one 16-bit scale; as
Q8_0 the same integers and the same scale take a byte each, so every weight stays what it was.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from disputatio.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_Q5_0, _Q8_0 = 6, 8
_Q5_BYTES, _Q8_BYTES, _BLOCK = 22, 34, 32
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


def rewrite(path: Path, target: Path) -> None:
    """Write the GGUF file to `target` with every Q5_0 tensor in Q8_0, the rest byte for byte."""
    with path.open("rb") as file, target.open("wb") as out:
        layout = _layout(file, path)
        file.seek(0)
        out.write(file.read(layout.head))
        start = 0
        for tensor in layout.tensors:
            new = _renewed(tensor)
            out.write(struct.pack("<Q", len(new.name)) + new.name)
            out.write(struct.pack(f"<I{len(new.shape)}QIQ", len(new.shape), *new.shape, new.kind, start))
            start += _padded(new.size, layout.alignment)
        out.write(b"\0" * (_padded(out.tell(), layout.alignment) - out.tell()))
        for tensor in layout.tensors:
            file.seek(layout.data + tensor.start)
            begun = out.tell()
            step = _AT_A_TIME * _Q5_BYTES
            for at in range(0, tensor.size, step):
                piece = file.read(min(step, tensor.size - at))
                if len(piece) < min(step, tensor.size - at):
                    raise InputError(f"{path}: a GGUF file that breaks off in its tensors")
                out.write(q8_0(piece) if tensor.kind == _Q5_0 else piece)
            written = out.tell() - begun
            out.write(b"\0" * (_padded(written, layout.alignment) - written))


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


def _renewed(tensor: _Tensor) -> _Tensor:
    if tensor.kind != _Q5_0:
        return tensor
    return replace(tensor, kind=_Q8_0, size=tensor.size // _Q5_BYTES * _Q8_BYTES)


def _padded(size: int, alignment: int) -> int:
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
        data = _padded(file.tell(), alignment)
    except (struct.error, RecursionError, OverflowError, ValueError) as error:
        raise InputError(f"{path}: a GGUF file that breaks off in its header") from error
    ends = sorted({start for _, _, _, start in headers} | {end - data})
    described = []
    for name, shape, kind, start in headers:
        if start > end:
            raise InputError(f"{path}: a GGUF file that breaks off before its tensors")
        size = next((after for after in ends if after > start), start) - start
        if kind == _Q5_0:
            count = 1
            for length in shape:
                count *= length
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
    """Read a metadata value; arrays are skipped and give None."""
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
