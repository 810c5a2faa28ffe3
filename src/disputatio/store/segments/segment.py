"""A segment: passages as arrays, all that a search needs of them, in memory or mapped from a folder.

It never changes. Row r of every array is the same passage; the rows keep the order they came in. The
arrays are derived from the passages and can be made again at any time.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from disputatio import platforms
from disputatio.errors import StoreError
from disputatio.store.segments import minhash, postings, quantised, stored
from disputatio.store.segments.array_files import ArrayFile, Hashed, read_array, read_whole, write_hashed
from disputatio.store.segments.days import first_day
from disputatio.store.segments.terms import count, hash_of, name_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from disputatio.types import Passage


FORMAT = 1
_LARGEST_NOTE = 67_108_864  # bytes
_MOST_ROWS, _WIDEST = 2**31 - 1, 65_536
# File -> type and shape, in rows (R), dimensions (D), words of a code (W); "" is any length.
ARRAYS: dict[str, tuple[str, tuple[str, ...]]] = {
    "lengths": ("int32", ("R",)),
    "sources": ("int32", ("R",)),
    "days": ("int32", ("R",)),
    "sketches": ("uint8", ("R", "64")),
    "ids": ("uint64", ("R",)),
    "id_rows": ("int32", ("R",)),
    "field_terms": ("uint64", ("",)),
    "field_starts": ("int64", ("",)),
    "field_rows": ("int32", ("",)),
    "terms": ("uint64", ("",)),
    "term_frequencies": ("int32", ("",)),
    "term_starts": ("int64", ("",)),
    "term_slots": ("int32", ("",)),
    "term_rows": ("int32", ("",)),
    "term_counts": ("uint8", ("",)),
    "term_common": ("uint8", ("", "R")),
    "stored_bytes": ("uint8", ("",)),
    "stored_starts": ("int64", ("R+1",)),
    "stored_sums": ("uint32", ("R",)),
    "vector_numbers": ("int16", ("R", "D")),
    "vector_scales": ("float32", ("R",)),
    "vector_order": ("int32", ("R",)),
    "vector_codes": ("uint64", ("W", "R")),
    "vector_centre": ("float32", ("D",)),
}
NOTE = "segment.json"
NO_HASHES: Mapping[str, str] = MappingProxyType({})


class Segment:
    """Passages as arrays (see the module), made by `build` or `open`; `source_of` each row is a number in
    `sources`, `tokens` counts words, `unverified` has the files whose hashes are still to be compared.
    """

    def __init__(self, note: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], where: str) -> None:
        self.rows: int = note["rows"]
        self.dimension: int = note["dimension"]
        self.language: str = note["language"]
        self.tokens: int = note["tokens"]
        self.sources: tuple[str, ...] = tuple(note["sources"])
        self.where = where
        self.unverified: tuple[Hashed, ...] = ()
        self._arrays = dict(arrays)
        for array in arrays.values():
            array.flags.writeable = False  # so that a kernel meets one type, mapped or in memory
        self.lengths: NDArray[np.int32] = arrays["lengths"]
        self.source_of: NDArray[np.int32] = arrays["sources"]
        self.days: NDArray[np.int32] = arrays["days"]
        self.sketches: NDArray[np.uint8] = arrays["sketches"]
        self.postings = postings.Postings(*(arrays[f"term{part}"] for part in _TERMS))
        self.stored = stored.Stored(*(arrays[f"stored_{part}"] for part in stored.Stored._fields))
        self.vectors: quantised.Quantised | None = None
        if self.dimension:
            parts = quantised.Quantised._fields
            self.vectors = quantised.Quantised(*(arrays[f"vector_{part}"] for part in parts))

    @classmethod
    def build(
        cls,
        passages: Sequence[Passage],
        vectors: NDArray[np.float32] | None,
        *,
        language: str = "english",
    ) -> Self:
        """Return the segment of passages in their order, with unit vectors; `language` names the stemmer."""
        rows = len(passages)
        if vectors is not None and (vectors.ndim != 2 or len(vectors) != rows or not vectors.shape[1]):
            raise ValueError(f"{rows} passages need {rows} vectors, not an array {vectors.shape}")
        if vectors is not None and not np.isfinite(vectors).all():
            raise ValueError("a vector has a number that is not finite")
        counted = count([*map(name_of, passages)], [passage.text for passage in passages], language)
        names: dict[str, int] = {}
        arrays: dict[str, NDArray[Any]] = {
            "lengths": np.diff(counted.ends, prepend=0).astype(np.int32),
            "sources": np.array(
                [names.setdefault(passage.source, len(names)) for passage in passages], dtype=np.int32
            ),
            "days": np.array([first_day(passage.date) for passage in passages], dtype=np.int32),
            "sketches": minhash.sketch(counted),
            **_by_id(np.array([hash_of(passage.id) for passage in passages], dtype=np.uint64)),
            **_by_field(passages),
            **_name_arrays("term", postings.invert(counted)),
            **_name_arrays("stored", stored.store(passages)),
        }
        if vectors is not None:
            arrays |= _name_arrays(
                "vector", quantised.quantise(np.asarray(vectors, dtype=np.float32), arrays["sources"])
            )
        dimension = 0 if vectors is None else int(vectors.shape[1])
        return cls(
            note_of(rows, dimension, language, counted.tokens.size, names), arrays, "a segment in memory"
        )

    def save(self, folder: Path) -> dict[str, str]:
        """Write the arrays to a folder, `segment.json` last; each file's name with its BLAKE2b-128."""
        folder.mkdir(parents=True, exist_ok=True)
        hashes: dict[str, str] = {}
        for name, array in self._arrays.items():
            path = folder / f"{name}.npy"
            with ArrayFile(path, ARRAYS[name][0], array.shape[1:], length=len(array)) as file:
                file.write(array)
            hashes[path.name] = file.hexdigest
        note = note_of(self.rows, self.dimension, self.language, self.tokens, self.sources)
        hashes[NOTE] = write_hashed(folder / NOTE, json.dumps(note, ensure_ascii=True).encode())
        platforms.sync_folder(folder)
        return hashes

    @classmethod
    def open(cls, folder: Path, hashes: Mapping[str, str] = NO_HASHES) -> Self:
        """Return the segment of a folder, mapped; with `hashes` small files are compared now."""
        note = _read_note(folder / NOTE, hashes.get(NOTE, ""))
        rows, dimension = note["rows"], note["dimension"]
        sizes = {"R": rows, "D": dimension, "W": -(-dimension // 64), "R+1": rows + 1, "64": 64}
        arrays, unverified = {}, []
        for name, (kind, shape) in ARRAYS.items():
            if dimension or not name.startswith("vector_"):
                file = f"{name}.npy"
                lengths = [sizes.get(size) for size in shape]
                arrays[name], hashed = read_array(folder / file, kind, lengths, hashes.get(file, ""))
                unverified += [] if hashed is None else [hashed]
        segment = cls(note, arrays, str(folder))
        segment.unverified = tuple(unverified)
        return segment

    @cached_property
    def source_starts(self) -> NDArray[np.int64]:
        """The first position of each source when rows are put source by source; one more at the end."""
        sizes = np.bincount(self.source_of, minlength=len(self.sources))
        return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)

    def array(self, name: str) -> NDArray[Any]:
        return self._arrays[name]

    @property
    def ids(self) -> tuple[NDArray[np.uint64], NDArray[np.int32]]:
        """The hashes of the passages' ids, rising, and the row of each."""
        return self._arrays["ids"], self._arrays["id_rows"]

    def find(self, passage_ids: Sequence[str]) -> NDArray[np.int64]:
        wanted = np.array([hash_of(passage_id) for passage_id in passage_ids], dtype=np.uint64)
        at = postings.find_terms(self._arrays["ids"], wanted)
        if not self.rows:
            return at
        return np.where(at < 0, -1, self._arrays["id_rows"][np.maximum(at, 0)]).astype(np.int64)

    def find_by_field(self, field: str, values: Collection[str]) -> NDArray[np.int64]:
        """Return the rows, rising, whose field (metadata, owner, title, url, document) is in `values`."""
        wanted = np.array([hash_of(f"{field}\0{value}") for value in values], dtype=np.uint64)
        at = postings.find_terms(self._arrays["field_terms"], wanted)
        starts, rows = self._arrays["field_starts"], self._arrays["field_rows"]
        parts = [rows[int(starts[term]) : int(starts[term + 1])] for term in at[at >= 0].tolist()]
        return np.unique(np.concatenate(parts)).astype(np.int64) if parts else np.zeros(0, dtype=np.int64)

    def passage(self, row: int) -> Passage:
        """Return the passage of a row as it was given; raises `StoreError` when its bytes are damaged."""
        return self.passages(np.array([row]))[0]

    def passages(self, rows: NDArray[np.int64]) -> list[Passage]:
        """Return the passages of some rows; raises `StoreError` when the bytes of one are damaged."""
        return stored.fetch(self.stored, rows, self.where)


_TERMS = ("s", "_frequencies", "_starts", "_slots", "_rows", "_counts", "_common")


def _name_arrays(
    kind: str, arrays: postings.Postings | stored.Stored | quantised.Quantised
) -> dict[str, NDArray[Any]]:
    if isinstance(arrays, postings.Postings):
        names = [f"term{part}" for part in _TERMS]
    else:
        names = [f"{kind}_{part}" for part in arrays._fields]
    parts: list[NDArray[Any]] = list(arrays)
    return dict(zip(names, parts, strict=True))


def note_of(
    rows: int, dimension: int, language: str, tokens: int, sources: Collection[str]
) -> dict[str, Any]:
    fields = {"format": FORMAT, "rows": rows, "dimension": dimension, "language": language}
    return {**fields, "tokens": tokens, "sources": list(sources)}


def _by_id(ids: NDArray[np.uint64]) -> dict[str, NDArray[Any]]:
    order = np.argsort(ids, kind="stable")
    return {"ids": ids[order], "id_rows": order.astype(np.int32)}


def _by_field(passages: Sequence[Passage]) -> dict[str, NDArray[Any]]:
    numbers: dict[tuple[str, str], int] = {}
    terms: list[int] = []
    rows: list[int] = []
    for row, passage in enumerate(passages):
        values = {
            ("owner", passage.owner),
            ("title", passage.title),
            ("url", passage.url),
            ("document", passage.document),
        }
        values |= {(str(name), str(value)) for name, value in passage.metadata.items()}
        for pair in values:
            if pair[1]:
                terms.append(numbers.setdefault(pair, len(numbers)))
                rows.append(row)
    hashes = np.array([hash_of(f"{field}\0{value}") for field, value in numbers], dtype=np.uint64)
    return group_rows(hashes[np.array(terms, dtype=np.int64)], np.array(rows, dtype=np.int64))


def group_rows(terms: NDArray[np.uint64], rows: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
    """Return pairs of a term and a row, rows rising, as the sorted terms with the rows of each."""
    order = np.argsort(terms, kind="stable")
    unique, starts = np.unique(terms[order], return_index=True)
    return {
        "field_terms": unique,
        "field_starts": np.r_[starts, terms.size].astype(np.int64),
        "field_rows": rows[order].astype(np.int32),
    }


def _read_note(file: Path, digest: str) -> dict[str, Any]:
    """Read the description of a segment; raises `StoreError` for unknown or missing fields."""
    try:
        note = json.loads(read_whole(file, digest, _LARGEST_NOTE))
    except (ValueError, RecursionError) as error:
        raise StoreError(f"{file}: cannot be read; run: disputatio index check") from error
    if not isinstance(note, dict) or note.get("format") != FORMAT:
        raise StoreError(f"{file.parent}: is not a segment of this version; run: disputatio index compact")
    bounds = {"rows": _MOST_ROWS, "dimension": _WIDEST, "tokens": 2**62}
    sources = note.get("sources")
    if (
        any(type(note.get(name)) is not int or not 0 <= note[name] <= most for name, most in bounds.items())
        or not isinstance(note.get("language"), str)
        or not isinstance(sources, list)
        or not all(isinstance(name, str) for name in sources)
    ):
        raise StoreError(f"{file}: is no note of a segment; run: disputatio index check")
    return note
