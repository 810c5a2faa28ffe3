"""Segments merged into a new one on disk: read and written in blocks, in bounded memory whatever their size.

Rows keep their order, dead ones go. What is kept by row is copied in blocks; what is kept by term, id or
value of a field is merged range by range of the hashes. The arrays are those of a segment that is built of
the same passages at once.
"""

from __future__ import annotations

import contextlib
import json
import mmap
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from disputatio import platforms
from disputatio.store.segments import postings
from disputatio.store.segments.array_files import ArrayFile, write_hashed
from disputatio.store.segments.postings import Postings
from disputatio.store.segments.quantised import BLOCK, code_of
from disputatio.store.segments.segment import ARRAYS, NOTE, Segment, group_rows, note_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Blocks = Callable[[str], Iterator[NDArray[Any]]]

LEAST_MEMORY = 64 << 20
_ROWS = 16_384  # rows that are copied at a time
_OF_POSTING = 32  # bytes that merging takes for each posting of a range
_OF_VALUE = 96  # and for each row of an id or of a field's value
_KEYS = 2**64


class Merged(NamedTuple):
    """A segment that was written: its rows, and the BLAKE2b-128 of each of its files by name."""

    rows: int
    files: dict[str, str]


class _Part:
    """A segment that is merged: its live rows, and which rows these become."""

    def __init__(self, segment: Segment, dead: NDArray[np.bool_] | None, first: int) -> None:
        self.segment, self.first = segment, first
        self._dead = dead if dead is not None and dead.any() else None
        self.rows = segment.rows
        if self._dead is not None:
            alive = np.zeros(-(-segment.rows // 64) * 64, dtype=np.bool_)
            alive[: segment.rows] = ~self._dead
            self._words = np.packbits(alive, bitorder="little").view(np.uint64)
            counts = np.bitwise_count(self._words).astype(np.int64)
            self._before = np.cumsum(counts) - counts
            self.rows = int(counts.sum())

    @property
    def moved(self) -> Callable[[NDArray[np.integer]], NDArray[np.int64]] | None:
        """The function from old to new rows, -1 for dead ones; None where each only moves by `first`."""
        return None if self._dead is None else self._move

    def targets(self, rows: NDArray[np.integer]) -> NDArray[np.int64]:
        return rows.astype(np.int64) + self.first if self._dead is None else self._move(rows)

    def _move(self, rows: NDArray[np.integer]) -> NDArray[np.int64]:
        wanted = rows.astype(np.int64)
        words, bits = self._words[wanted >> 6], (wanted & 63).astype(np.uint64)
        lower = words & ((np.uint64(1) << bits) - np.uint64(1))
        place = self._before[wanted >> 6] + np.bitwise_count(lower) + self.first
        return np.where((words >> bits) & np.uint64(1), place, -1)

    def alive(self, begin: int, end: int) -> NDArray[np.bool_] | None:
        return None if self._dead is None else ~self._dead[begin:end]

    def blocks(self, name: str) -> Iterator[NDArray[Any]]:
        array = self.segment.array(name)
        for begin in range(0, self.segment.rows, _ROWS):
            end = min(begin + _ROWS, self.segment.rows)
            kept = self.alive(begin, end)
            yield array[begin:end] if kept is None else array[begin:end][kept]
            release(array)


def merge(
    segments: Sequence[Segment],
    dead: Sequence[NDArray[np.bool_] | None],
    folder: Path,
    *,
    memory: int,
) -> Merged:
    """Write one segment of all live rows, in their order, to a new folder, flushed, and `segment.json` last.
    `memory` bounds what is held, but for the rows of one word or value. Raises `ValueError` for segments of
    several kinds, `OSError`.
    """
    kinds = {(segment.dimension, segment.language) for segment in segments if segment.rows} or {
        (segment.dimension, segment.language) for segment in segments[:1]
    }
    if len(kinds) != 1 or len(segments) != len(dead):
        raise ValueError(
            "segments to be merged are of one dimension and one language, each with its dead rows"
        )
    [(dimension, language)] = kinds
    parts: list[_Part] = []
    first = 0
    for segment, gone in zip(segments, dead, strict=True):
        part = _Part(segment, gone, first)
        first += part.rows
        if segment.rows:
            parts.append(part)
    folder.mkdir(parents=True, exist_ok=True)
    merging = _Merging(parts, folder, rows=first, memory=max(memory, LEAST_MEMORY))
    names = merging.copy_sources()
    tokens = merging.copy_rows()
    merging.merge_ids()
    merging.merge_fields()
    merging.merge_postings()
    if dimension:
        files = merge_vectors(
            folder,
            [part.blocks for part in parts],
            rows=first,
            dimension=dimension,
            sources=len(names),
            memory=merging.memory // 2,
        )
        merging.files |= files
    note = note_of(first, dimension, language, tokens, names)
    merging.files[NOTE] = write_hashed(folder / NOTE, json.dumps(note, ensure_ascii=True).encode())
    platforms.sync_folder(folder)
    return Merged(first, merging.files)


def release(array: NDArray[Any]) -> None:
    """Release the pages of a mapped array that were read; they are read again where they are wanted."""
    part: Any = array
    while isinstance(part, np.ndarray):
        mapped = getattr(part, "_mmap", None)
        if isinstance(mapped, mmap.mmap):
            platforms.release_pages(mapped)
            return
        part = part.base


class _Merging:
    """One merge: its parts, its folder, and the hashes of the files that it writes."""

    def __init__(self, parts: Sequence[_Part], folder: Path, *, rows: int, memory: int) -> None:
        self.parts, self.folder, self.rows, self.memory = parts, folder, rows, memory
        self.files: dict[str, str] = {}

    def copy_sources(self) -> list[str]:
        """Number the sources anew, in the order of their first live row, and return their names."""
        names: dict[str, int] = {}
        with self._file("sources", self.rows) as file:
            for part in self.parts:
                table = np.full(len(part.segment.sources), -1, dtype=np.int32)
                for block in part.blocks("sources"):
                    numbers, firsts = np.unique(block, return_index=True)
                    for number in numbers[np.argsort(firsts)].tolist():
                        if table[number] < 0:
                            table[number] = names.setdefault(part.segment.sources[number], len(names))
                    file.write(table[block])
        self._note(file)
        return list(names)

    def copy_rows(self) -> int:
        """Copy the arrays by row and the stored bytes; return the number of words in all rows."""
        tokens = 0
        for name, shape in (("lengths", ()), ("days", ()), ("sketches", (64,)), ("stored_sums", ())):
            with self._file(name, self.rows, shape) as file:
                for part in self.parts:
                    for block in part.blocks(name):
                        file.write(block)
                        tokens += int(block.sum()) if name == "lengths" else 0
            self._note(file)
        end = 0
        with self._file("stored_bytes") as raw, self._file("stored_starts", self.rows + 1) as starts:
            starts.write(np.zeros(1, dtype=np.int64))
            for part in self.parts:
                stored = part.segment.stored
                for begin in range(0, part.segment.rows, _ROWS):
                    last = min(begin + _ROWS, part.segment.rows)
                    places = np.array(stored.starts[begin : last + 1])
                    blob, lengths = stored.bytes[int(places[0]) : int(places[-1])], np.diff(places)
                    kept = part.alive(begin, last)
                    if kept is not None:
                        blob, lengths = blob[np.repeat(kept, lengths)], lengths[kept]
                    raw.write(blob)
                    starts.write(end + np.cumsum(lengths))
                    end += int(lengths.sum())
                    release(stored.bytes)
                release(stored.starts)
        self._note(raw, starts)
        return tokens

    def merge_ids(self) -> None:
        keys = [part.segment.ids[0] for part in self.parts]
        most = self.memory // _OF_VALUE
        with self._file("ids", self.rows) as ids, self._file("id_rows", self.rows) as rows:
            for spans in _ranges(keys, [int] * len(keys), most):
                hashes, targets = [np.zeros(0, np.uint64)], [np.zeros(0, np.int64)]
                for part, (begin, end) in zip(self.parts, spans, strict=True):
                    target = part.targets(part.segment.ids[1][begin:end])
                    hashes.append(part.segment.ids[0][begin:end][target >= 0])
                    targets.append(target[target >= 0])
                    for array in part.segment.ids:
                        release(array)
                both = np.concatenate(hashes)
                order = np.argsort(both, kind="stable")
                ids.write(both[order])
                rows.write(np.concatenate(targets)[order])
        self._note(ids, rows)

    def merge_fields(self) -> None:
        names = ("field_terms", "field_starts", "field_rows")
        arrays = [[part.segment.array(name) for name in names] for part in self.parts]
        keys = [terms for terms, _, _ in arrays]
        weights = [partial(_place, starts) for _, starts, _ in arrays]
        with self._file(names[0]) as terms, self._file(names[1]) as starts, self._file(names[2]) as rows:
            for spans in _ranges(keys, weights, self.memory // _OF_VALUE):
                owners, targets = [np.zeros(0, np.uint64)], [np.zeros(0, np.int64)]
                for part, (begin, end), (own, edges, own_rows) in zip(self.parts, spans, arrays, strict=True):
                    places = np.array(edges[begin : end + 1])
                    target = part.targets(own_rows[int(places[0]) : int(places[-1])])
                    owners.append(np.repeat(own[begin:end], np.diff(places))[target >= 0])
                    targets.append(target[target >= 0])
                    for array in (own, edges, own_rows):
                        release(array)
                some = group_rows(np.concatenate(owners), np.concatenate(targets))
                starts.write(some["field_starts"][:-1] + rows.rows)
                terms.write(some["field_terms"])
                rows.write(some["field_rows"])
            starts.write(np.array([rows.rows]))
        self._note(terms, starts, rows)

    def merge_postings(self) -> None:
        whole = [part.segment.postings for part in self.parts]
        weights = [_weight_of(each, part.segment.rows) for each, part in zip(whole, self.parts, strict=True)]
        maps, firsts = [part.moved for part in self.parts], [part.first for part in self.parts]
        with contextlib.ExitStack() as stack:
            columns = ("terms", "term_frequencies", "term_starts", "term_slots", "term_rows", "term_counts")
            files = [stack.enter_context(self._file(name)) for name in columns]
            terms, frequencies, starts, slots, rows, counts = files
            common = stack.enter_context(self._file("term_common", None, (self.rows,)))
            for spans in _ranges([each.terms for each in whole], weights, self.memory // 2):
                some = postings.merge(
                    [_span(each, *span) for each, span in zip(whole, spans, strict=True)],
                    maps,
                    firsts,
                    self.rows,
                )
                terms.write(some.terms)
                frequencies.write(some.frequencies)
                starts.write(some.starts[:-1] + rows.rows)
                slots.write(np.where(some.slots < 0, -1, some.slots + common.rows))
                rows.write(some.rows)
                counts.write(some.counts)
                common.write(some.common)
                for each in whole:
                    for array in each:
                        release(array)
            starts.write(np.array([rows.rows]))
        self._note(*files, common)

    def _file(self, name: str, length: int | None = None, shape: tuple[int, ...] = ()) -> ArrayFile:
        return ArrayFile(self.folder / f"{name}.npy", ARRAYS[name][0], shape, length=length)

    def _note(self, *files: ArrayFile) -> None:
        self.files |= {file.path.name: file.hexdigest for file in files}


def _place(starts: NDArray[np.int64], at: int) -> int:
    return int(starts[at])


def _span(whole: Postings, begin: int, end: int) -> Postings:
    return whole._replace(
        terms=whole.terms[begin:end],
        frequencies=whole.frequencies[begin:end],
        starts=whole.starts[begin : end + 1],
        slots=whole.slots[begin:end],
    )


def _weight_of(whole: Postings, rows: int) -> Callable[[int], int]:
    common = np.concatenate(
        [np.zeros(0, np.int64)]
        + [
            np.flatnonzero(whole.slots[begin : begin + 1_000_000] >= 0) + begin
            for begin in range(0, whole.slots.size, 1_000_000)
        ]
    )

    def weight(at: int) -> int:
        return int(whole.starts[at]) * _OF_POSTING + int(np.searchsorted(common, at)) * rows * 2

    return weight


def _ranges(
    keys: Sequence[NDArray[np.uint64]], weights: Sequence[Callable[[int], int]], most: int
) -> Iterator[list[tuple[int, int]]]:
    """Yield sorted keys divided at the same values: for each range, where it goes in each array.

    A range weighs at most `most`, or has one key; `weights[i](n)` is what the first n keys of array i weigh.
    """
    at = [0] * len(keys)
    while any(begin < array.size for begin, array in zip(at, keys, strict=True)):
        before = sum(weight(begin) for weight, begin in zip(weights, at, strict=True))

        def ends(limit: int) -> list[int]:
            if limit >= _KEYS:
                return [array.size for array in keys]
            return [int(np.searchsorted(array, np.uint64(limit))) for array in keys]

        least = min(int(array[begin]) for begin, array in zip(at, keys, strict=True) if begin < array.size)
        low, high = least + 1, _KEYS  # the range of one key is taken whatever it weighs
        to = ends(high)
        if sum(weight(end) for weight, end in zip(weights, to, strict=True)) - before > most:
            while high - low > 1:
                middle = (low + high) // 2
                tried = ends(middle)
                if sum(weight(end) for weight, end in zip(weights, tried, strict=True)) - before > most:
                    high = middle
                else:
                    low = middle
            to = ends(low)
        yield list(zip(at, to, strict=True))
        at = to


# --- vectors --------------------------------------------------------------------------------------
# The vectors of merged segments, in blocks: copied, and their signs coded about the common centre.

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
        both = zip(_join_blocks(parts, "vector_numbers"), _join_blocks(parts, "vector_scales"), strict=True)
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


def _join_blocks(parts: Sequence[Blocks], name: str) -> Iterator[NDArray[Any]]:
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
