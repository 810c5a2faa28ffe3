"""Compaction: what it takes is said before it starts, refused where it is not there, and finds the same."""

from __future__ import annotations

import errno
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from disputatio.errors import StoreError
from disputatio.store.folder_index import FolderIndex
from disputatio.store.record.transaction import CompactionPlan
from disputatio.store.segments import merging
from tests.store import made
from tests.store.hashing import HashEmbedder
from tests.store.test_folders import facts

pytestmark = pytest.mark.long  # each makes an index of several segments


@pytest.fixture
def index(tmp_path: Path) -> FolderIndex:
    """An index of some segments, some of whose passages are gone."""
    opened = FolderIndex.open(tmp_path / "ix", embedder=HashEmbedder())
    passages, _ = made.passages(400, seed=3)
    for rows in np.array_split(np.arange(400), 5):
        opened.add([passages[row] for row in rows.tolist()])
    opened.delete(sources=["s2"])
    return opened


def test_what_a_compaction_takes_is_said_and_the_same_is_found(index: FolderIndex) -> None:
    queries = ("bobo", "bodo dogo", made.word(3))
    before = [facts(index.search(query, per_source=3)) for query in queries]
    files = [index.path / "record.sqlite", *index.path.glob("segments/*/*")]
    sizes = [file.stat().st_size for file in files]
    plans: list[CompactionPlan] = []

    def planned(plan: CompactionPlan) -> None:
        assert [file.stat().st_size for file in files] == sizes
        plans.append(plan)

    index.compact(planned=planned)
    index.compact(planned=plans.append)
    plan, again = plans
    assert again.disk == 0
    assert (plan.segments, plan.passages) == (5, index.info().passages)
    assert (index.info().segments, index.info().dead) == (1, 0)
    merged = sum(file.stat().st_size for file in (index.path / "segments").rglob("*") if file.is_file())
    assert merged <= plan.disk <= 3 * sum(sizes)
    # Dead rows counted in how rare words are, so that scores may differ; what is found may not.
    after = [facts(index.search(query, per_source=3)) for query in queries]
    assert [{hit[0] for hit in hits} for hits in after] == [{hit[0] for hit in hits} for hits in before]


def test_a_disk_that_has_less_refuses_it_and_nothing_changes(
    index: FolderIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage(index.path)
    monkeypatch.setattr(
        "disputatio.store.record.transaction.shutil.disk_usage", lambda _: usage._replace(free=1000)
    )
    with pytest.raises(StoreError, match="of the disk while it runs, and 1 MB are free"):
        index.compact()
    assert index.info().segments == 5


def test_the_memory_of_merges_is_what_is_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[int] = []
    merge = merging.merge

    def noted(*arguments: Any, memory: int) -> Any:
        given.append(memory)
        return merge(*arguments, memory=memory)

    monkeypatch.setattr(merging, "merge", noted)
    for gigabytes in (None, 0.5):
        opened = FolderIndex.open(tmp_path / str(gigabytes), merge_gb=gigabytes)
        passages, _ = made.passages(9)
        for passage in passages:
            opened.add([passage])  # the eighth fills a tier
        opened.compact()
    assert given == [1 << 30, 1 << 30, 1 << 29, 1 << 29]


def test_a_search_goes_on_while_segments_are_merged(
    index: FolderIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = FolderIndex.open(index.path, embedder=HashEmbedder())
    expected = facts(reader.search("bobo", k=20))
    seen: list[Any] = []
    merge = merging.merge

    def searched(*arguments: Any, **how: Any) -> Any:
        seen.append(facts(reader.search("bobo", k=20)))
        done = merge(*arguments, **how)
        seen.append(facts(reader.search("bobo", k=20)))
        return done

    monkeypatch.setattr(merging, "merge", searched)
    index.compact()
    assert seen == [expected, expected]
    assert {hit[0] for hit in facts(reader.search("bobo", k=20))} == {hit[0] for hit in expected}


def test_a_merge_that_fails_leaves_nothing_behind(
    index: FolderIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    before = sorted(index.path.glob("segments/*"))
    monkeypatch.setattr(merging, "merge_vectors", full)
    with pytest.raises(StoreError, match="the disk is full"):
        index.compact()
    assert sorted(index.path.glob("segments/*")) == before
    assert not list(index.path.glob("*.part"))
