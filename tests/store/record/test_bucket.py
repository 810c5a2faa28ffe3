"""An index through an object store: faults leave a whole state, and one writer at a time has the lease."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from disputatio.errors import BucketFault, LeaseHeld
from disputatio.store.folder_index import FolderIndex
from disputatio.store.record import lease as leases
from disputatio.store.record.lease import leased
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
        patch.setattr(leases, "_SETTLING", 0.05)
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
    assert told.lease == "conditional" and told.files > 0
    readers = [tmp_path / "one", tmp_path / "two"]
    for reader in readers:
        sync(bucket, reader)
    fill(source, 30, 40)
    source.compact(keep=1)
    sync(source.path, bucket)
    assert sync(source.path, bucket).files == 0
    sync(bucket, readers[0])
    assert [found(reader) for reader in readers] == [names(0, 40), names(0, 30)]
    assert index_at(readers[0]).documents() == source.documents()
    sync(bucket, readers[1], tables=False)
    assert found(readers[1]) == names(0, 40)
    assert not any(path.endswith("lease.json") for method, path in store.requests[-5:] if method == "PUT")


def test_a_full_bucket_is_one_line_and_the_next_sync_takes_up(
    source: FolderIndex, tmp_path: Path, store: ObjectStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    bucket = store.url("full/index")
    sync(source.path, bucket)
    fill(source, 30, 40)
    puts = 0

    def full(method: str, path: str) -> str:
        nonlocal puts
        puts += method == "PUT" and "lease" not in path
        return "full" if method == "PUT" and puts > 3 and "lease" not in path else ""

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
        if "lease" in path or "/segments/" not in path or method in done or method not in ("GET", "PUT"):
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


@pytest.mark.parametrize("kind", ["s3", "file", "advisory"])
def test_a_second_writer_is_refused_by_name_and_comes_in_when_the_lease_ends(
    source: FolderIndex, tmp_path: Path, store: ObjectStore, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    bucket = f"file://{tmp_path}/bucket" if kind == "file" else store.url(f"lease-{kind}")
    if kind == "advisory":
        monkeypatch.setattr(leases, "_slot", leases._AdvisorySlot)
    with leased(bucket, seconds=1.0) as first:
        assert first.kind == ("advisory" if kind == "advisory" else "conditional")
        time.sleep(1.3)  # it is renewed meanwhile
        with pytest.raises(LeaseHeld, match=r"process \d+ is writing there, until 20\d\d-") as caught:
            sync(source.path, bucket)
        assert "\n" not in str(caught.value) and "endpoint_override" not in str(caught.value)
        first.check()
    assert sync(source.path, bucket).files > 0  # it was let go
    slot = leases._slot(bucket)
    dead = {"holder": "someone who died", "until": time.time() + 0.5, "token": "x"}
    slot.write(json.dumps(dead).encode(), slot.read()[1])
    with pytest.raises(LeaseHeld, match="someone who died is writing there"), leased(bucket):
        pass
    time.sleep(0.6)
    with leased(bucket) as third:
        slot.write(b"{}", slot.read()[1])  # another writer, against the rules
        third._write(slot.read()[1])
        third.check()


def test_a_writer_that_lost_its_lease_switches_nothing(
    source: FolderIndex, tmp_path: Path, store: ObjectStore
) -> None:
    bucket = store.url("lost")
    with leased(bucket, seconds=0.3) as lease:
        slot = leases._slot(bucket)
        slot.write(
            json.dumps({"holder": "b", "until": time.time() + 9, "token": "y"}).encode(), slot.read()[1]
        )
        time.sleep(0.4)
        with pytest.raises(LeaseHeld, match=r"another writer took the lease over|ran out"):
            lease.check()
    assert json.loads(slot.read()[0])["holder"] == "b"  # letting go took nothing of another's


def test_a_store_that_is_not_there_is_one_line(source: FolderIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "someone")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "nothing")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    url = "s3://bucket/index?scheme=http&endpoint_override=127.0.0.1:9&region=us-east-1"
    with pytest.raises(BucketFault) as caught:
        sync(source.path, url)
    assert "\n" not in str(caught.value) and caught.value.exit_code == 3
