"""An index through an object store: a fault leaves the state before."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from disputatio.errors import BucketFault
from disputatio.store.folder_index import FolderIndex
from disputatio.store.record.replicate import sync
from tests.store.record.object_store import ObjectStore, object_store
from tests.store.record.test_replicate import fill, found, index_at, names

pytestmark = pytest.mark.long  # a server of their own is started


@pytest.fixture(scope="module")
def store() -> Iterator[ObjectStore]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ACCESS_KEY_ID", "someone")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "nothing")
        patch.setenv("AWS_EC2_METADATA_DISABLED", "true")
        patch.setenv("AWS_MAX_ATTEMPTS", "1")
        with object_store() as running:
            yield running


@pytest.fixture
def source(tmp_path: Path) -> FolderIndex:
    index = index_at(tmp_path / "source")
    fill(index, 0, 30)
    return index


def test_an_index_travels_through_an_object_store_to_two_readers(
    source: FolderIndex, tmp_path: Path, store: ObjectStore
) -> None:
    bucket = store.url("travels/index")
    told = sync(source.path, bucket)
    assert told.files > 0
    readers = [tmp_path / "one", tmp_path / "two"]
    for reader in readers:
        sync(bucket, reader)
    fill(source, 30, 40)
    source.compact()
    sync(source.path, bucket)
    assert sync(source.path, bucket).files == 0
    sync(bucket, readers[0])
    assert [found(reader) for reader in readers] == [names(0, 40), names(0, 30)]
    assert index_at(readers[0]).documents() == source.documents()
    sync(bucket, readers[1], tables=False)
    assert found(readers[1]) == names(0, 40)


def test_a_full_bucket_is_one_line_and_the_next_sync_takes_up(
    source: FolderIndex, tmp_path: Path, store: ObjectStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    bucket = store.url("full/index")
    sync(source.path, bucket)
    fill(source, 30, 40)
    puts = 0

    def full(method: str, path: str) -> str:
        nonlocal puts
        puts += method == "PUT"
        return "full" if method == "PUT" and puts > 3 else ""

    with monkeypatch.context() as patch:
        patch.setattr(store, "fault", full)
        with pytest.raises(BucketFault, match=r"^s3://bucket/full/index: .*the bucket is full") as caught:
            sync(source.path, bucket)
    assert "\n" not in str(caught.value) and caught.value.exit_code == 3
    sync(bucket, tmp_path / "reader")
    assert found(tmp_path / "reader") == names(0, 30)
    assert sync(source.path, bucket).files > 0
    sync(bucket, tmp_path / "reader")
    assert found(tmp_path / "reader") == names(0, 40)


def test_a_key_that_is_refused_is_one_line_and_nothing_is_written(
    source: FolderIndex, tmp_path: Path, store: ObjectStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    bucket, reader = store.url("refused/index"), tmp_path / "reader"
    with monkeypatch.context() as patch:
        patch.setattr(store, "fault", lambda *_: "key")
        for places in ((source.path, bucket), (bucket, reader)):
            with pytest.raises(BucketFault, match=r"the key is not known|ACCESS_DENIED") as caught:
                sync(*places)
            assert "\n" not in str(caught.value) and caught.value.exit_code == 3
    assert [path.name for path in reader.glob("*")] in ([], ["writer.lock"])
    assert sync(source.path, bucket).files > 0  # nothing of the first one was there


@pytest.mark.parametrize("fault", ["503", "cut"])
def test_a_moment_of_trouble_is_tried_again(
    source: FolderIndex, tmp_path: Path, store: ObjectStore, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    bucket, done = store.url(f"moment-{fault}/index"), set[str]()

    def once(method: str, path: str) -> str:
        if "/segments/" not in path or method in done or method not in ("GET", "PUT"):
            return ""
        done.add(method)
        return fault

    monkeypatch.setattr(store, "fault", once)
    sync(source.path, bucket)
    sync(bucket, tmp_path / "reader")
    assert done == {"GET", "PUT"}
    assert found(tmp_path / "reader") == names(0, 30)


@pytest.mark.slow
def test_a_connection_that_is_cut_each_time_leaves_the_state_before(
    source: FolderIndex, tmp_path: Path, store: ObjectStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    bucket, reader = store.url("cut/index"), tmp_path / "reader"
    sync(source.path, bucket)
    sync(bucket, reader)
    fill(source, 30, 40)
    sync(source.path, bucket)
    with monkeypatch.context() as patch:
        patch.setattr(
            store, "fault", lambda method, path: "cut" if method == "GET" and "/segments/" in path else ""
        )
        with pytest.raises(BucketFault, match=r"^s3://bucket/cut/index: ") as caught:
            sync(bucket, reader)
    assert "\n" not in str(caught.value)
    assert found(reader) == names(0, 30)
    sync(bucket, reader)
    assert found(reader) == names(0, 40)


def test_a_store_that_is_not_there_is_one_line(source: FolderIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "someone")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "nothing")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    url = "s3://bucket/index?scheme=http&endpoint_override=127.0.0.1:9&region=us-east-1"
    with pytest.raises(BucketFault) as caught:
        sync(source.path, url)
    assert "\n" not in str(caught.value) and caught.value.exit_code == 3
