"""An ingest by Ray workers gives what a local one gives, and survives workers that do not.

One cluster on this machine serves all tests of the module.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from disputatio.errors import ClusterFault, ConfigError, InputError
from disputatio.store.embed import OnnxEmbedder
from disputatio.store.folder_index import FolderIndex
from disputatio.store.ingesting import ray_ingest
from disputatio.store.ingesting.documents import Document
from disputatio.store.ingesting.options import ReadOptions
from disputatio.store.ingesting.prepare import prepare
from disputatio.store.ingesting.ray_ingest import (
    IngestRecipe,
    IngestWorker,
    blocks_of,
    ingest_with_ray,
    row_of,
    to_prepared,
)
from disputatio.workers.pool import Worker
from tests.store.hashing import HashEmbedder

slow = pytest.mark.slow


class Mortal(HashEmbedder):
    """An embedder whose process dies at a text with the word poison: at every one, or once."""

    def __init__(self, died: str = "") -> None:
        super().__init__()
        self._died = Path(died) if died else None

    def embed(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:
        if any("poison" in text for text in texts) and not (self._died and self._died.exists()):
            if self._died:
                self._died.touch()
            os._exit(1)
        return super().embed(texts, query=query)


class Stillborn(HashEmbedder):
    """An embedder whose process dies as it is made."""

    def __init__(self) -> None:
        os._exit(1)


class Noting(HashEmbedder):
    """An embedder that writes every text down in a file."""

    def __init__(self, noted: str) -> None:
        super().__init__()
        self._noted = Path(noted)

    def embed(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:
        with self._noted.open("a") as out:
            out.writelines(f"{text}\n" for text in texts if text != "ready")
        return super().embed(texts, query=query)


@pytest.fixture
def documents(tmp_path: Path) -> Path:
    """Files of several kinds, some of which are refused in part or whole."""
    root = tmp_path / "documents"
    (root / "zoo").mkdir(parents=True)
    for number in range(12):
        text = f"# Animal {number}\n\n" + f"The zebra number {number} is not at home in a zoo. " * 20 * (
            number % 3 + 1
        )
        (root / "zoo" / f"a{number:02d}.md").write_text(text)
    (root / "copy.md").write_text((root / "zoo" / "a03.md").read_text())
    rows = [{"text": f"row {n} says so", "source": f"s{n % 5}", "year": 2000 + n} for n in range(150)]
    (root / "rows.jsonl").write_text("".join(json.dumps(one) + "\n" for one in rows) + "broken\n")
    (root / "page.html").write_text(
        "<title>Zoo</title><p>Opened\u200b in 1900 for all the people of the town."
    )
    Path(os.fsdecode(os.fsencode(root) + b"/caf\xe9.txt")).write_text("A name that is not UTF-8.")
    (root / "empty.txt").write_text("")
    (root / "noise.bin").write_bytes(b"\0\1\2")
    return root


def assert_same(one: FolderIndex, other: FolderIndex) -> None:
    ours, theirs = (
        [batch for r in index._folders.records() for batch in r.passages()] for index in (one, other)
    )
    assert [batch.passages for batch in ours] == [batch.passages for batch in theirs]
    assert one.documents() == other.documents()
    for first, second in zip(ours, theirs, strict=True):
        if first.vectors is not None:
            assert second.vectors is not None
            assert np.abs(first.vectors - second.vectors).max() <= 1e-6
        assert (first.vectors is None) == (second.vectors is None) == (not one.info().dimension)


@slow
@pytest.mark.parametrize("embedder", [HashEmbedder, None], ids=["hybrid", "keyword"])
def test_an_ingest_by_workers_equals_a_local_one_row_for_row(
    ray_cluster: str, documents: Path, tmp_path: Path, embedder: type[HashEmbedder] | None
) -> None:
    made = embedder() if embedder else None
    local, served = (
        FolderIndex.open(tmp_path / "local", embedder=made),
        FolderIndex.open(tmp_path / "ray", embedder=made),
    )
    expected = local.ingest(documents)
    reported: list[tuple[int, int, int]] = []
    found = ingest_with_ray(
        served,
        [documents],
        address=ray_cluster,
        workers=2,
        embedder=embedder,
        progress=lambda *told: reported.append(told),
    )
    assert_same(local, served)
    assert {**_told(found)} == {**_told(expected)}
    assert len(found.refused) == 3
    assert reported[-1][:2] == (18, 18)
    query = [hit.passage.id for hit in served.search("zebra at home", k=20)]
    assert query == [hit.passage.id for hit in local.search("zebra at home", k=20)]


def _told(summary: Any) -> dict[str, Any]:
    names = ("added", "unchanged", "replaced", "removed", "refused", "passages", "hidden")
    return {name: getattr(summary, name) for name in names}


@slow
def test_only_what_has_changed_is_read_again(ray_cluster: str, documents: Path, tmp_path: Path) -> None:
    index = FolderIndex.open(tmp_path / "ray")
    ingest_with_ray(index, [documents / "zoo"], address=ray_cluster, workers=2)
    (documents / "zoo" / "a05.md").write_text("# New\n\nA giraffe took its place.")
    again = ingest_with_ray(index, [documents / "zoo"], address=ray_cluster, workers=2)
    assert (again.added, again.replaced, again.unchanged) == (0, 1, 11)
    assert [hit.passage.title for hit in index.search("giraffe")] == ["New"]


@slow
def test_an_embedder_that_cannot_travel_is_asked_by_the_writer(
    ray_cluster: str, documents: Path, tmp_path: Path
) -> None:
    embedder = HashEmbedder()
    local, served = (
        FolderIndex.open(tmp_path / "local", embedder=embedder),
        FolderIndex.open(tmp_path / "ray", embedder=embedder),
    )
    local.ingest(documents / "zoo")
    before = embedder.calls
    ingest_with_ray(served, [documents / "zoo"], address=ray_cluster, workers=2)
    assert embedder.calls > before
    assert_same(local, served)


@slow
def test_a_worker_that_dies_costs_a_retry(ray_cluster: str, documents: Path, tmp_path: Path) -> None:
    (documents / "zoo" / "a06.md").write_text("# Poison\n\nThe poison of a snake.")
    embedder = HashEmbedder()
    local, served = (
        FolderIndex.open(tmp_path / "local", embedder=embedder),
        FolderIndex.open(tmp_path / "ray", embedder=embedder),
    )
    local.ingest(documents)
    died = tmp_path / "died"
    ingest_with_ray(served, [documents], address=ray_cluster, workers=2, embedder=partial(Mortal, str(died)))
    assert died.exists()
    assert_same(local, served)


@slow
def test_a_fault_that_persists_is_reported_and_nothing_is_half_written(
    ray_cluster: str, documents: Path, tmp_path: Path
) -> None:
    (documents / "zoo" / "a06.md").write_text("# Poison\n\nThe poison of a snake.")
    index = FolderIndex.open(tmp_path / "ray", embedder=HashEmbedder())
    with pytest.raises(ClusterFault, match=r"3 workers died at it") as caught:
        ingest_with_ray(index, [documents / "zoo"], address=ray_cluster, workers=2, embedder=Mortal)
    assert "\n" not in str(caught.value)
    assert index.search("zebra poison") == []
    index.ingest(documents / "zoo")  # the lock is free and the index sound
    assert index.search("poison")


@slow
def test_workers_that_die_as_they_begin_end_the_ingest(
    ray_cluster: str, documents: Path, tmp_path: Path
) -> None:
    index = FolderIndex.open(tmp_path / "ray", embedder=HashEmbedder())
    with pytest.raises(ClusterFault, match=r"3 workers died as they began") as caught:
        ingest_with_ray(index, [documents / "zoo"], address=ray_cluster, workers=2, embedder=Stillborn)
    assert "\n" not in str(caught.value)
    index.ingest(documents / "zoo")  # the lock is free and the index sound
    assert index.search("zebra")


@slow
def test_a_worker_with_another_embedder_is_refused(ray_cluster: str, documents: Path, tmp_path: Path) -> None:
    index = FolderIndex.open(tmp_path / "ray", embedder=HashEmbedder())
    with pytest.raises(ClusterFault, match="a worker has the embedder other, the index hash-32"):
        ingest_with_ray(
            index, [documents], address=ray_cluster, workers=1, embedder=partial(HashEmbedder, "other")
        )


@pytest.mark.parametrize(
    ("paths", "options", "complaint"),
    [
        (["-"], {}, "standard input is not read by workers"),
        (["x"], {"workers": 0}, "workers are at least 1"),
        (["x"], {"threads": 0}, "workers are at least 1, and so are their threads"),
        (["x"], {"options": ReadOptions(source_by="mood")}, "sources are told by"),
    ],
)
def test_what_workers_cannot_do_is_told_before_a_cluster_is_started(
    tmp_path: Path, paths: list[str], options: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(InputError, match=complaint):
        ingest_with_ray(FolderIndex.open(tmp_path / "ray"), paths, address="local", **options)


@slow
def test_what_is_in_already_is_not_embedded_again(ray_cluster: str, tmp_path: Path) -> None:
    rows = [json.dumps({"text": f"row {n} says so", "source": "s"}) + "\n" for n in range(60)]
    (tmp_path / "rows.jsonl").write_text("".join(rows[:40]))
    index = FolderIndex.open(tmp_path / "ray", embedder=HashEmbedder())
    make = partial(Noting, str(tmp_path / "embedded"))
    ingest_with_ray(index, [tmp_path / "rows.jsonl"], address=ray_cluster, workers=1, embedder=make)
    (tmp_path / "rows.jsonl").write_text("".join(rows))
    (tmp_path / "embedded").unlink()
    again = ingest_with_ray(index, [tmp_path / "rows.jsonl"], address=ray_cluster, workers=1, embedder=make)
    assert (again.added, again.unchanged) == (20, 40)
    lines = (tmp_path / "embedded").read_text().splitlines()
    assert sorted(int(line.split()[1]) for line in lines if line != "s") == list(range(40, 60))
    assert len(index.search("row says", k=60)) == 60


@slow
def test_a_node_that_is_lost_costs_its_blocks_only(tmp_path: Path) -> None:
    """In a process of its own: a driver has one cluster."""
    script = Path(__file__).with_name("lost_node.py")
    done = subprocess.run(
        [sys.executable, "-m", f"tests.store.ingesting.{script.stem}", str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=170,
        check=False,
        cwd=script.parents[3],
    )
    assert done.returncode == 0, done.stderr
    figures: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    assert figures["same"] and figures["lost"], figures
    # A node has two blocks at a time: what it had in hand is embedded again, and no more.
    assert 0 <= figures["again"] <= 2 * 128, figures


def test_a_worker_without_the_model_says_so_before_any_task(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # and back: a worker goes there for good, in a process of its own
    monkeypatch.setenv("RAYON_NUM_THREADS", "1")
    make = partial(OnnxEmbedder, tmp_path / "no-model")
    recipe = IngestRecipe(options=ReadOptions(), make=make, name="m")
    ready = Worker(partial(IngestWorker, recipe), str(tmp_path), {}).ready()
    assert "no-model" in ready.message
    with pytest.raises(ConfigError, match="no-model"):
        ready.get()


@pytest.mark.long
def test_what_comes_with_its_vectors_is_committed_seldom(tmp_path: Path) -> None:
    commits: list[int] = []
    embedder = HashEmbedder()
    index = FolderIndex.open(tmp_path / "index", embedder=embedder)
    with index.open_writer(commits.append) as writer:
        writer._since = time.perf_counter() + 3600  # however slow the machine is
        for number in range(600):
            one = prepare(Document(text=f"row {number}", source="s"))
            vectors = embedder.embed([f"row {number}"])
            writer.put("", [replace(one, vectors=vectors)])
        writer.finish()
    assert commits == [600]


def test_a_block_is_bounded_by_its_passages_and_by_its_rows() -> None:
    one = row_of(0, prepare(Document(text="A zebra.", source="zoo")))
    assert [len(block) for block in blocks_of([one] * 300)] == [128, 128, 44]
    note = replace(one, kind="end", ids=[], starts=[], ends=[])
    assert [len(block) for block in blocks_of([note] * 1500)] == [1024, 476]
    large = replace(one, body="x" * 3_000_000)
    assert [len(block) for block in blocks_of([large] * 3)] == [2, 1]


def test_nothing_to_read_starts_no_cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray_ingest, "cluster", None)
    folder = tmp_path / "none"
    folder.mkdir()
    assert ingest_with_ray(FolderIndex.open(tmp_path / "ray"), [folder], address="local").added == 0
    assert ingest_with_ray(FolderIndex.open(tmp_path / "ray"), [tmp_path / "absent"], address="local").refused


def test_a_document_travels_as_it_was_prepared() -> None:
    pages = Document(text="one\n\ntwo " * 200, path="a.pdf", source="s", metadata={"pages": "0,5,900"})
    for document in (pages, Document(text="A café.", path="b.md", title="T", date="2021", owner="o")):
        one = prepare(document, file="/full/path")
        vectors = np.arange(2 * len(one.passages), dtype=np.float32).reshape(-1, 2)
        row = row_of(3, one)
        again = to_prepared(row, "/full/path")
        assert again == one
        assert to_prepared(row, "/full/path", vectors).vectors is vectors


def test_files_are_read_in_tasks_of_bounded_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = []
    for number, size in enumerate([10, 10, 100, 10, 10, 10]):
        path = tmp_path / str(number)
        path.write_bytes(b"x" * size)
        files.append((path, ""))
    files.append((tmp_path / "gone", ""))
    monkeypatch.setattr(ray_ingest, "_BYTES", 25)
    monkeypatch.setattr(ray_ingest, "_FILES", 3)
    tasks = [[file["number"] for file in task] for task in ray_ingest._tasks(files)]
    assert tasks == [[0, 1], [2], [3, 4], [5, 6]]
