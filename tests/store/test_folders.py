"""Several indexes as one: the hits of one index that holds all, and what is told of a part that fails."""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from disputatio.errors import InputError, StoreError
from disputatio.store.addresses import split_paths
from disputatio.store.contract import Index
from disputatio.store.opening import open_index, require_folder
from disputatio.types import Hit, Passage, Source
from tests.store import made
from tests.store.hashing import HashEmbedder


class MadeEmbedder:
    """The vectors of `made`, and for a query that of some passage."""

    name, dimension = "made-32", made.DIMENSION

    def __init__(self, passages: Sequence[Passage], vectors: NDArray[np.float32]) -> None:
        self._rows = {passage.text: row for row, passage in enumerate(passages)}
        self._vectors = vectors

    def embed(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:
        if query:
            return self._vectors[[len(texts[0]) % len(self._vectors)]]
        return self._vectors[[self._rows[text.rpartition("\n")[2]] for text in texts]]


def facts(hits: Sequence[Hit]) -> list[tuple[Any, ...]]:
    """Return all of a hit, document apart: it is made of where a passage came from."""
    return [(hit.passage.id, hit.score, dict(hit.scores), hit.duplicate_of, hit.passage.text) for hit in hits]


def opened(path: str | Path, embedder: Any = None) -> Index:
    return open_index(path, embedder=embedder)


def built(folder: Path, passages: Sequence[Passage], embedder: Any = None, commits: int = 2) -> Path:
    """Return an index of passages, put in with some commits."""
    index = opened(folder, embedder)
    for rows in np.array_split(np.arange(len(passages)), commits):
        index.add([passages[row] for row in rows.tolist()])
    return folder


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Passage], MadeEmbedder]:
    """One index of everything, and three that its passages are divided among, by source."""
    folder = tmp_path_factory.mktemp("several")
    passages, vectors = made.passages(6000, seed=5, sources=9)
    embedder = MadeEmbedder(passages, vectors)
    ordered = sorted(passages, key=lambda passage: int(passage.source[1:]) % 3)
    built(folder / "whole", ordered, embedder)
    for part in range(3):
        own = [passage for passage in ordered if int(passage.source[1:]) % 3 == part]
        built(folder / f"part{part}", own, embedder, commits=part + 1)
    return folder, ordered, embedder


OPTIONS: list[dict[str, Any]] = [
    {},
    {"k": 40, "alpha": 1.0},
    {"k": 40, "alpha": 0.0},
    {"per_source": 3},
    {"per_source": 2, "sources": ["s1", "s2", "s7"]},
    {"k": 12, "after": "2013", "before": "2017-06"},
    {"k": 12, "where": {"kind": "k1"}},
    {"k": 12, "where": {"source": "s3"}, "fusion": "rrf"},
    {"k": 12, "exclude": ["p3", "p40", "p41", "p500"]},
    {"k": 5, "sources": ["nobody"]},
    {"k": 12, "k1": 0.9, "b": 0.4},
]


@pytest.mark.long
@pytest.mark.parametrize("keywords", [False, True])
@pytest.mark.parametrize("options", OPTIONS)
def test_several_indexes_find_what_one_of_all_passages_finds(
    corpus: tuple[Path, list[Passage], MadeEmbedder], options: dict[str, Any], keywords: bool
) -> None:
    folder, passages, made_embedder = corpus
    embedder = None if keywords else made_embedder
    whole = opened(folder / "whole", embedder)
    several = opened(",".join(str(folder / f"part{part}") for part in range(3)), embedder)
    for query in (passages[7].text, "bobo bodo dogo", made.word(140), "zzz"):
        expected = whole.search(query, **options)
        found = several.search(query, **options)
        assert facts(found) == facts(expected)
        assert [hit.passage for hit in found] == [hit.passage for hit in expected]
    assert several.info().passages == whole.info().passages == 6000
    assert several.sources() == whole.sources()


@pytest.mark.long
def test_compiled_and_plain_search_agree_over_several(
    corpus: tuple[Path, list[Passage], MadeEmbedder], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, passages, embedder = corpus
    several = opened(",".join(str(folder / f"part{part}") for part in (2, 0)), embedder)
    fast = several.search(passages[7].text, per_source=2)
    monkeypatch.setattr("disputatio.store.segments.candidates.has_numba", lambda: False)
    slow = several.search(passages[7].text, per_source=2)
    assert [hit.passage.id for hit in fast] == [hit.passage.id for hit in slow]


@pytest.mark.long
def test_a_source_that_is_divided_by_date_is_one_source(tmp_path: Path) -> None:
    rows = [Passage(text=f"The ferry crossed {n} times.", source="a", date=f"20{n}") for n in range(10, 30)]
    built(tmp_path / "old", rows[:10])
    built(tmp_path / "new", rows[10:])
    built(tmp_path / "all", rows)
    both, whole = opened(f"{tmp_path}/old,{tmp_path}/new"), opened(tmp_path / "all")
    assert facts(both.search("ferry", per_source=3)) == facts(whole.search("ferry", per_source=3))
    assert [(one.name, one.passages) for one in both.sources()] == [("a", 20)]
    assert len(both.search("ferry", k=30, after="2025")) == 5


@pytest.mark.long
def test_a_passage_that_two_indexes_hold_is_found_once(tmp_path: Path) -> None:
    rows = [Passage(id=f"p{n}", text=f"The ferry crossed {n} times.", source="a") for n in range(8)]
    built(tmp_path / "x", rows[:5])
    built(tmp_path / "y", rows[3:])
    both = opened(f"{tmp_path}/x,{tmp_path}/y")
    assert sorted(hit.passage.id for hit in both.search("ferry", k=20)) == [f"p{n}" for n in range(8)]
    both_ways = opened(f"{tmp_path}/y,{tmp_path}/x").search("ferry", per_source=20)
    assert sorted(hit.passage.id for hit in both_ways) == [f"p{n}" for n in range(8)]
    opened(tmp_path / "x").delete(documents=[rows[4].document or both.passage("p4").document])
    assert "p4" in {hit.passage.id for hit in both.search("ferry", k=20)}


@pytest.mark.long
def test_a_part_that_is_not_there_is_told_and_the_others_are_searched(tmp_path: Path) -> None:
    built(tmp_path / "x", [Passage(text="The ferry crossed.", source="a")])
    both = opened(f"{tmp_path}/x,{tmp_path}/gone")
    found = both.search("ferry")
    assert [hit.passage.source for hit in found] == ["a"]
    [left_out] = both.unsearched()
    assert (left_out.index, "no index here" in left_out.reason) == (f"{tmp_path}/gone", True)
    assert both.info().unsearched == (left_out,)
    assert both.search("ferry", sources=["b"]) == []
    assert both.unsearched() == (left_out,)
    built(tmp_path / "gone", [Passage(text="The ferry sank.", source="b")])
    again = both.search("ferry")
    assert {hit.passage.source for hit in again} == {"a", "b"}
    assert both.unsearched() == ()


@pytest.mark.long
def test_a_part_that_is_damaged_or_goes_away_meanwhile_is_told(tmp_path: Path) -> None:
    for name in "xyz":
        built(tmp_path / name, [Passage(text=f"The ferry {name} crossed.", source=name)])
    several = opened(",".join(f"{tmp_path}/{name}" for name in "xyz"))
    assert len(several.search("ferry")) == 3
    manifest = tmp_path / "y" / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"rows"', '"cows"', 1))
    several.search("ferry")
    assert [each.index for each in several.unsearched()] == [f"{tmp_path}/y"]
    shutil.rmtree(tmp_path / "z")
    found = several.search("ferry")
    assert [hit.passage.source for hit in found] == ["x"]
    assert len(several.unsearched()) == 2
    shutil.rmtree(tmp_path / "x")
    with pytest.raises(StoreError, match="none of these 3 indexes can be searched"):
        several.search("ferry")


@pytest.mark.long
def test_bytes_that_changed_in_one_part_leave_it_out(tmp_path: Path) -> None:
    rows = [Passage(text=f"The ferry crossed {n} times. " * 20, source="a") for n in range(600)]
    built(tmp_path / "x", [Passage(text="The ferry sank.", source="b")])
    built(tmp_path / "y", rows, commits=1)
    blob, *_ = (tmp_path / "y").glob("segments/*/stored_bytes.npy")  # a slow machine makes two
    raw = bytearray(blob.read_bytes())
    raw[-40] ^= 1
    blob.write_bytes(raw)
    both = opened(f"{tmp_path}/x,{tmp_path}/y")
    assert [hit.passage.source for hit in both.search("ferry")] == ["b"]
    assert [each.index for each in both.unsearched()] == [f"{tmp_path}/y"]


@pytest.mark.long
def test_reliabilities_are_read_from_all_parts(tmp_path: Path) -> None:
    for name, sources in (("x", "ab"), ("y", "bc"), ("z", "d")):
        built(tmp_path / name, [Passage(text=f"{name} {each} ferry", source=each) for each in sources])
    opened(tmp_path / "x").set_estimates(
        {
            "a": Source(name="a", reliability=0.9, low=0.8, high=0.95, answered=20, questions=20),
            "b": Source(name="b", reliability=0.8, low=0.7, high=0.9, answered=30, questions=40),
        }
    )
    opened(tmp_path / "y").set_estimates(
        {"b": Source(name="b", reliability=0.4, low=0.2, high=0.6, answered=10, questions=10)}
    )
    several = opened(",".join(f"{tmp_path}/{name}" for name in "xyz"))
    known = several.estimates()
    assert (known["a"].reliability, known["c"].reliability) == (0.9, None)
    b = known["b"]
    assert b.reliability == pytest.approx(0.7)
    assert (b.answered, b.questions, b.stale) == (40, 50, False)
    assert b.low == pytest.approx(0.7 - 0.0901, abs=1e-3)
    assert b.high == pytest.approx(0.7 + 0.0901, abs=1e-3)
    assert several.reliabilities() == pytest.approx({"a": 0.9, "b": 0.7})
    assert {hit.passage.source for hit in several.search("ferry", min_reliability=0.6)} == {"a", "b"}
    (tmp_path / "y" / "reliability.json").write_text("{")
    assert several.estimates()["b"].reliability == 0.8
    several.search("ferry")
    assert [each.index for each in several.unsearched()] == [f"{tmp_path}/y"]
    opened(tmp_path / "y").set_estimates({"c": Source(name="c", reliability=0.5)})
    several.search("ferry")
    assert several.unsearched() == ()


def test_neighbours_and_documents_come_from_their_own_part(tmp_path: Path) -> None:
    long = "The ferry crossed the sound once more on that day, as it had for years. " * 200
    for name in "xy":
        (tmp_path / f"{name}.txt").write_text(f"{name}. {long}")
        opened(tmp_path / f"{name}.index").ingest(tmp_path / f"{name}.txt")
    both = opened(f"{tmp_path}/x.index,{tmp_path}/y.index")
    assert [Path(each.path).name for each in both.documents()] == ["x.txt", "y.txt"]
    second = sorted(both.search("ferry", per_source=99), key=lambda hit: hit.passage.start)[2].passage
    before, after = both.around(second, 1)
    assert {each.document for each in (*before, *after)} == {second.document}


def test_what_writes_takes_one_index_and_makes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in "xy":
        built(tmp_path / name, [Passage(text="The ferry crossed.", source=name)])
    both = opened("x,y")
    rows = [Passage(text="new")]
    for write in (
        lambda: both.add(rows),
        lambda: both.ingest("x.txt"),
        lambda: both.delete(sources=["x"]),
        both.compact,
        lambda: require_folder(both, "give new vectors").reembed(None),
        lambda: both.set_estimates({}),
    ):
        with pytest.raises(InputError, match="x,y: names 2 indexes"):
            write()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x", "y"]


def test_parts_of_different_embedders_are_refused(tmp_path: Path) -> None:
    built(tmp_path / "x", [Passage(text="The ferry crossed.", source="a")])
    built(tmp_path / "y", [Passage(text="The ferry crossed.", source="b")], HashEmbedder())
    with pytest.raises(InputError, match="the embedder of one is none, of the other hash-32"):
        opened(f"{tmp_path}/x,{tmp_path}/y")


def test_names_are_divided_at_commas_unless_a_folder_has_one(tmp_path: Path) -> None:
    assert split_paths("a, ~/b") == (Path("a"), Path("~/b").expanduser())
    assert split_paths(tmp_path / "a") == (tmp_path / "a",)
    (tmp_path / "a,b").mkdir()
    assert split_paths(tmp_path / "a,b") == (tmp_path / "a,b",)
    assert split_paths("postgresql://one,two/db") == (Path("postgresql://one,two/db"),)
    for wrong in ("a,,b", "a,", ",", "a,a"):
        with pytest.raises(InputError):
            split_paths(wrong)
    with pytest.raises(StoreError, match="none of these 2 indexes"):
        open_index(f"{tmp_path}/p,{tmp_path}/q")


@pytest.mark.parametrize(
    ("named", "reason"),
    [
        ("s3://our-bucket/town", "s3://our-bucket/town: an index is read and written in a folder"),
        (Path("s3://our-bucket/town"), "index sync s3://our-bucket/town FOLDER"),
        ("town.index,file:///srv/town", "index sync file:///srv/town FOLDER"),
        ("https://host/town", "https://host/town: no index is read from there"),
        (Path("ftp://host/town"), "ftp://host/town: no index is read from there"),
        (
            "town.index,postgresql://ada:secret@db.example/town",
            "town.index,postgresql://…: what is on a server is searched alone",
        ),
    ],
)
def test_what_is_no_folder_is_refused_by_its_address(named: str | Path, reason: str) -> None:
    with pytest.raises(InputError, match=re.escape(reason)) as caught:
        open_index(named)
    assert "secret" not in str(caught.value)
