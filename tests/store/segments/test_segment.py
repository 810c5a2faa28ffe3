"""Segments: built, merged, saved, opened, read back, and refused when damaged."""

from __future__ import annotations

import hashlib
import itertools
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from disputatio.errors import InputError, StoreError
from disputatio.store.segments import merging, stored
from disputatio.store.segments.segment import Segment
from disputatio.types import Passage
from tests.store.made import passages

_ARRAYS = sorted(Segment.build(*passages(1))._arrays)


def _same(one: Segment, other: Segment) -> bool:
    return (one.rows, one.dimension, one.sources, one.tokens) == (
        other.rows,
        other.dimension,
        other.sources,
        other.tokens,
    ) and all(np.array_equal(one._arrays[name], other._arrays[name]) for name in one._arrays)


def _merged(parts: Sequence[Segment], dead: Sequence[NDArray[np.bool_] | None], **how: int) -> Segment:
    """Return the segment that some are merged into, in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        merged = merging.merge(parts, dead, Path(folder) / "merged", **{"memory": 1 << 30, **how})
        files = sorted(path.name for path in (Path(folder) / "merged").iterdir())
        assert files == sorted(merged.files)
        for name, told in merged.files.items():
            raw = (Path(folder) / "merged" / name).read_bytes()
            assert hashlib.blake2b(raw, digest_size=16).hexdigest() == told
        opened = Segment.open(Path(folder) / "merged", merged.files)
        assert opened.rows == merged.rows
        return opened


@pytest.mark.long
@pytest.mark.parametrize("small", [False, True])
@given(sizes=st.lists(st.integers(1, 60), min_size=1, max_size=5), seed=st.integers(0, 99))
@settings(max_examples=20, deadline=None)
def test_merged_segments_are_the_segment_of_what_is_alive(sizes: list[int], seed: int, small: bool) -> None:
    made, vectors = passages(sum(sizes), seed)
    dead = np.random.default_rng(seed).random(len(made)) < 0.3
    edges = np.cumsum([0, *sizes])
    spans = [slice(int(low), int(high)) for low, high in itertools.pairwise(edges)]
    parts = [Segment.build(made[span], vectors[span]) for span in spans]
    with pytest.MonkeyPatch.context() as patch:
        if small:  # so that everything takes many blocks and many ranges
            for name, value in {"LEAST_MEMORY": 4096, "_ROWS": 7}.items():
                patch.setattr(merging, name, value)
            patch.setattr("disputatio.store.segments.merging.BLOCK", 11)
            patch.setattr("disputatio.store.segments.quantised.BLOCK", 11)
            patch.setattr("disputatio.store.segments.postings._BLOCK_ENTRIES", 5)
        merged = _merged(parts, [dead[span] for span in spans], memory=4096)
        alive = [one for one, gone in zip(made, dead, strict=True) if not gone]
        assert _same(merged, Segment.build(alive, vectors[~dead]))


def test_merging_without_dead_rows_keeps_all(tmp_path: Path) -> None:
    made, vectors = passages(50)
    parts = [Segment.build(made[:20], vectors[:20]), Segment.build(made[20:], vectors[20:])]
    parts[0].save(tmp_path / "one")
    merged = _merged([Segment.open(tmp_path / "one"), parts[1]], [None, np.zeros(30, dtype=bool)])
    assert _same(merged, Segment.build(made, vectors))


def test_segments_that_do_not_fit_are_not_merged() -> None:
    made, vectors = passages(4)
    with pytest.raises(ValueError, match="one dimension"):
        _merged([Segment.build(made, vectors), Segment.build(made, None)], [None, None])
    with pytest.raises(ValueError, match="need 4 vectors"):
        Segment.build(made, vectors[:3])


def test_a_saved_segment_is_opened_as_it_was(tmp_path: Path) -> None:
    made, vectors = passages(300)
    built = Segment.build(made, vectors)
    hashes = built.save(tmp_path / "s")
    opened = Segment.open(tmp_path / "s")
    assert _same(built, opened)
    assert [opened.passage(row) for row in range(300)] == made
    assert sorted(hashes) == sorted(path.name for path in (tmp_path / "s").iterdir())
    for name, told in hashes.items():
        raw = (tmp_path / "s" / name).read_bytes()
        assert hashlib.blake2b(raw, digest_size=16).hexdigest() == told


@pytest.mark.long
def test_a_segment_of_nothing_is_one(tmp_path: Path) -> None:
    empty = Segment.build([], None)
    empty.save(tmp_path / "s")
    assert Segment.open(tmp_path / "s").rows == 0
    made, vectors = passages(3)
    whole = Segment.build(made, vectors)
    assert _merged([whole], [np.ones(3, dtype=bool)]).rows == 0
    assert _same(_merged([empty, whole], [None, None]), whole)
    assert empty.find(["p0"]).tolist() == [-1]


def test_every_field_comes_back_whatever_it_holds() -> None:
    hard = "a\x1fb\x1ec\x1e0\x1e1\n\0 \ud800 é 🎉"
    made = [
        Passage(
            text=hard,
            id=hard,
            source=hard,
            owner=hard,
            title=hard,
            url=hard,
            date=hard,
            date_origin="file",
            document=hard,
            start=3,
            end=2**40,
            metadata={hard: hard, "x": ""},
        ),
        Passage(text=""),
    ]
    segment = Segment.build(made, None)
    assert [segment.passage(0), segment.passage(1)] == made
    assert segment.find_by_field(hard, [hard]).tolist() == [0]


def test_a_row_written_before_dates_had_an_origin_is_read_without_one() -> None:
    passage = Passage(text="A zebra.", id="p", date="2021", date_origin="stated", document="d", end=8)
    line = stored._line(passage).split(b"\x1f")
    older = b"\x1f".join(line[:7] + line[8:]).decode()
    assert stored._passage(older) == replace(passage, date_origin="")


def test_rows_are_found_by_id_and_by_document() -> None:
    made, vectors = passages(40)
    segment = Segment.build(made, vectors)
    assert segment.find(["p7", "none", "p39"]).tolist() == [7, -1, 39]
    assert segment.find_by_field("document", ["d2", "d9", "none"]).tolist() == [8, 9, 10, 11, 36, 37, 38, 39]
    assert segment.find_by_field("document", []).tolist() == []


def test_a_language_without_a_stemmer_is_refused() -> None:
    with pytest.raises(InputError, match="no stemmer"):
        Segment.build([Passage(text="a")], None, language="none")


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A segment on disk, to be copied."""
    folder = tmp_path_factory.mktemp("saved") / "s"
    Segment.build(*passages(600)).save(folder)
    return folder


@pytest.mark.long
@pytest.mark.parametrize("name", _ARRAYS)
def test_a_file_that_is_missing_or_cut_short_is_named(saved: Path, tmp_path: Path, name: str) -> None:
    shutil.copytree(saved, tmp_path / "s")
    file = tmp_path / "s" / f"{name}.npy"
    raw = file.read_bytes()
    for damaged in (raw[:-1], raw[:20], b""):
        file.write_bytes(damaged)
        with pytest.raises(StoreError, match=f"{name}.npy"):
            Segment.open(tmp_path / "s")
    file.unlink()
    with pytest.raises(StoreError, match=f"{name}.npy"):
        Segment.open(tmp_path / "s")


@pytest.mark.parametrize("note", [b"", b"[]", b"{}", b'{"format": 99}', b"\xff"])
def test_a_segment_of_another_kind_is_refused(tmp_path: Path, note: bytes) -> None:
    Segment.build(*passages(3)).save(tmp_path / "s")
    (tmp_path / "s" / "segment.json").write_bytes(note)
    with pytest.raises(StoreError, match="segment"):
        Segment.open(tmp_path / "s")


def test_a_flipped_bit_in_a_stored_passage_is_an_error_of_its_row_only(tmp_path: Path) -> None:
    made, _ = passages(3)
    segment = Segment.build(made, None)
    segment.save(tmp_path / "s")
    file = tmp_path / "s" / "stored_bytes.npy"
    raw = bytearray(file.read_bytes())
    raw[-5] ^= 4
    file.write_bytes(raw)
    opened = Segment.open(tmp_path / "s")
    assert opened.passage(0) == made[0]
    with pytest.raises(StoreError, match=r"row 2 is damaged; run: disputatio index check"):
        opened.passage(2)
