"""The vectors of merged segments, in blocks: copied, and their signs coded about the common centre."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from disputatio.store.segments.array_files import ArrayFile
from disputatio.store.segments.quantised import BLOCK, code_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Blocks = Callable[[str], Iterator[NDArray[Any]]]

_TEMPORARY = "vector_codes.part"


def merge_vectors(
    folder: Path, parts: Sequence[Blocks], *, rows: int, dimension: int, sources: int, memory: int
) -> dict[str, str]:
    """Write the arrays of the vectors into a folder that has `sources.npy`; each file's BLAKE2b-128.

    Each of `parts` gives the live rows of an array by its name; `memory` bounds what is held at a time.
    """
    numbers, scales = folder / "vector_numbers.npy", folder / "vector_scales.npy"
    total = np.zeros(dimension, dtype=np.float64)
    with (
        ArrayFile(numbers, "int16", (dimension,), length=rows) as number_file,
        ArrayFile(scales, "float32", length=rows) as scale_file,
    ):
        both = zip(_joined(parts, "vector_numbers"), _joined(parts, "vector_scales"), strict=True)
        for number, scale in both:
            number_file.write(number)
            scale_file.write(scale)
            # Added up block by block as `quantised` does, so that the centre is the same to the last bit.
            total += scale.astype(np.float64) @ number.astype(np.float64)
    centre = (total / max(rows, 1)).astype(np.float32)
    with ArrayFile(folder / "vector_centre.npy", "float32", length=dimension) as centre_file:
        centre_file.write(centre)
    words = -(-dimension // 64)
    temporary = folder / _TEMPORARY
    with temporary.open("wb") as out:
        both = zip(
            _read(numbers, "int16", number_file.begin, rows, dimension),
            _read(scales, "float32", scale_file.begin, rows, 1),
            strict=True,
        )
        for number, scale in both:
            out.write(np.ascontiguousarray(code_of(number * scale - centre).T).data.cast("B"))
    files = [number_file, scale_file, centre_file]
    with (
        ArrayFile(folder / "vector_order.npy", "int32", length=rows) as order_file,
        ArrayFile(folder / "vector_codes.npy", "uint64", (rows,), length=words) as code_file,
    ):
        starts = _starts(folder / "sources.npy", rows, sources)
        room = max(memory // (8 * words + 16), BLOCK)
        for begin in range(0, rows, room):
            end = min(begin + room, rows)
            order = np.zeros(end - begin, dtype=np.int32)
            codes = np.zeros((words, end - begin), dtype=np.uint64)
            coded = _read(temporary, "uint64", 0, rows, words)
            for row, columns, code in zip(
                range(0, rows, BLOCK), _columns(folder / "sources.npy", rows, starts), coded, strict=True
            ):
                inside = (columns >= begin) & (columns < end)
                places = columns[inside] - begin
                order[places] = (row + np.flatnonzero(inside)).astype(np.int32)
                codes[:, places] = code[inside].T
            order_file.write(order)
            for word in range(words):
                code_file.put(word * rows + begin, codes[word])
    temporary.unlink()
    return {file.path.name: file.hexdigest for file in (*files, order_file, code_file)}


def _joined(parts: Sequence[Blocks], name: str) -> Iterator[NDArray[Any]]:
    """Yield the live rows of all parts, in blocks of `BLOCK` rows, the last one apart."""
    waiting: list[NDArray[Any]] = []
    size = 0
    for blocks in parts:
        for block in blocks(name):
            at = 0
            while size + len(block) - at >= BLOCK:
                taken = BLOCK - size
                waiting.append(block[at : at + taken])
                yield np.concatenate(waiting)
                waiting, size, at = [], 0, at + taken
            if at < len(block):
                waiting.append(np.array(block[at:]))
                size += len(block) - at
    if size:
        yield np.concatenate(waiting)


def _read(path: Path, kind: str, begin: int, rows: int, width: int) -> Iterator[NDArray[Any]]:
    """Yield the rows of a file, (rows, width), in blocks of `BLOCK`."""
    with path.open("rb") as file:
        file.seek(begin)
        for first in range(0, rows, BLOCK):
            size = min(BLOCK, rows - first)
            yield np.fromfile(file, dtype=kind, count=size * width).reshape(size, width)


def _sources(path: Path, rows: int) -> Iterator[NDArray[np.int32]]:
    with path.open("rb") as file:
        np.lib.format.read_magic(file)
        np.lib.format.read_array_header_1_0(file)
        begin = file.tell()
    for block in _read(path, "int32", begin, rows, 1):
        yield block[:, 0]


def _starts(path: Path, rows: int, sources: int) -> NDArray[np.int64]:
    """Return the first position of each source when rows are put source by source."""
    sizes = np.zeros(sources, dtype=np.int64)
    for block in _sources(path, rows):
        sizes += np.bincount(block, minlength=sources)
    return np.cumsum(sizes) - sizes


def _columns(path: Path, rows: int, starts: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    """Yield the position of each row when rows are put source by source, those of a source in their order."""
    following = starts.copy()
    for block in _sources(path, rows):
        order = np.argsort(block, kind="stable")
        ordered = block[order]
        firsts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
        sizes = np.diff(np.r_[firsts, ordered.size])
        within = np.arange(ordered.size) - np.repeat(firsts, sizes)
        columns = np.empty(block.size, dtype=np.int64)
        columns[order] = following[ordered] + within
        following[ordered[firsts]] += sizes
        yield columns
