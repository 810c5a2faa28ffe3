"""Changed files of a folder are ingested, deleted ones removed, and no event is lost."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import pytest

from disputatio.errors import IndexBusy, InputError, StoreError
from disputatio.store.folder_index import FolderIndex
from disputatio.store.ingesting.files import find_files
from disputatio.store.ingesting.ingest import IngestSummary, Refusal
from disputatio.store.ingesting.watch import watch
from disputatio.store.record.manifest import lock_index

pytestmark = pytest.mark.slow  # each waits for the file system to tell of a change


class Recorder:
    """Stands in for an index: notes what it is told to ingest and to delete."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.ingested: list[dict[str, str]] = []
        self.deleted: list[str] = []
        self.refused: tuple[Refusal, ...] = ()
        self.before: Callable[[], None] = lambda: None

    def ingest_as(self, paths: Sequence[Path], *_: object) -> IngestSummary:
        """Read the files, as an index would."""
        found = [file for path in paths if path.exists() for file, _ in find_files(path)]
        texts = {str(file): file.read_text() for file in found}
        self.before()
        new = not self.ingested or texts != self.ingested[-1]
        self.ingested.append(texts)
        return IngestSummary(added=int(new), refused=self.refused)

    def delete(self, *, paths: Sequence[str]) -> int:
        """Note the paths."""
        self.deleted += paths
        return len(paths)


@contextmanager
def watching(index: Any, *paths: Path, **options: Any) -> Iterator[list[IngestSummary]]:
    """Watch in a thread until the block ends; what went wrong in it is raised here."""
    stop, begun = threading.Event(), threading.Event()
    summaries: list[IngestSummary] = []
    errors: list[BaseException] = []

    def add(summary: IngestSummary) -> None:
        summaries.append(summary)
        begun.set()

    def run() -> None:
        try:
            watch(
                cast(FolderIndex, index),
                paths,
                **{"debounce": 0.1, "retry": 0.1, **options},
                on_summary=add,
                stop=stop,
            )
        except BaseException as error:  # noqa: BLE001  (raised again below)
            errors.append(error)
        finally:
            begun.set()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        assert begun.wait(30)
        if not errors:
            yield summaries
    finally:
        stop.set()
        thread.join(30)
    assert not thread.is_alive()
    if errors:
        raise errors[0]


def until(test: Callable[[], object]) -> None:
    """Wait for something to come true; fails after long enough."""
    end = time.monotonic() + 30
    while not test():
        assert time.monotonic() < end, "nothing happened"
        time.sleep(0.02)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "docs"
    made.mkdir()
    (made / "a.txt").write_text("one")
    return made


@pytest.fixture
def index(tmp_path: Path) -> Recorder:
    return Recorder(tmp_path / "index")


def test_a_folder_is_ingested_first_and_again_when_a_file_changes(folder: Path, index: Recorder) -> None:
    with watching(index, folder):
        assert index.ingested == [{str(folder / "a.txt"): "one"}]
        (folder / "a.txt").write_text("two")
        until(lambda: index.ingested[-1] == {str(folder / "a.txt"): "two"})
        (folder / "sub").mkdir()
        (folder / "sub" / "b.txt").write_text("new")
        until(lambda: index.ingested[-1].get(str(folder / "sub" / "b.txt")) == "new")


def test_a_file_that_changes_during_an_ingest_is_ingested_again(folder: Path, index: Recorder) -> None:
    def change() -> None:
        (folder / "a.txt").write_text("changed meanwhile")
        index.before = lambda: None

    index.before = change
    with watching(index, folder):
        assert index.ingested[0] == {str(folder / "a.txt"): "one"}
        until(lambda: index.ingested[-1] == {str(folder / "a.txt"): "changed meanwhile"})


def test_a_file_that_goes_is_removed_and_one_that_moves_is_removed_at_its_old_place(
    folder: Path, index: Recorder
) -> None:
    (folder / "b.txt").write_text("b")
    with watching(index, folder):
        (folder / "a.txt").unlink()
        until(lambda: index.deleted == [str(folder / "a.txt")])
        (folder / "b.txt").rename(folder / "c.txt")
        until(lambda: index.deleted == [str(folder / "a.txt"), str(folder / "b.txt")])
        assert list(index.ingested[-1]) == [str(folder / "c.txt")]


def test_files_of_a_folder_that_is_moved_away_are_removed(
    folder: Path, index: Recorder, tmp_path: Path
) -> None:
    (folder / "sub").mkdir()
    (folder / "sub" / "b.txt").write_text("b")
    with watching(index, folder):
        (folder / "sub").rename(tmp_path / "elsewhere")
        until(lambda: index.deleted == [str(folder / "sub" / "b.txt")])


def test_nothing_is_removed_when_the_whole_folder_goes(folder: Path, index: Recorder, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "x.txt").write_text("x")
    index.ingest_as = lambda *_: IngestSummary(added=1)  # type: ignore[method-assign]
    with watching(index, folder, other) as summaries:
        folder.rename(tmp_path / "unplugged")
        (other / "x.txt").unlink()
        until(lambda: len(summaries) > 1)
        until(lambda: index.deleted)
        assert index.deleted == [str(other / "x.txt")]


def test_a_single_file_is_still_seen_after_an_editor_has_replaced_it(folder: Path, index: Recorder) -> None:
    file = folder / "a.txt"
    with watching(index, file):
        for text in ("two", "three"):
            (folder / "new").write_text(text)
            (folder / "new").replace(file)
            until(lambda: index.ingested[-1] == {str(file): text})  # noqa: B023
        assert index.deleted == []
        (folder / "neighbour.txt").write_text("not mine")
        file.unlink()
        until(lambda: index.deleted == [str(file)])


def test_hidden_files_and_the_index_itself_start_nothing(folder: Path) -> None:
    inside = Recorder(folder / "index")
    inside.path.mkdir()
    with watching(inside, folder):
        (inside.path / "segment").write_text("x")
        (folder / ".a.txt.swp").write_text("x")
        (folder / ".git").mkdir()
        (folder / ".git" / "HEAD").write_text("x")
        time.sleep(0.5)
        assert len(inside.ingested) == 1
        (folder / "a.txt").write_text("two")
        until(lambda: len(inside.ingested) > 1)


def test_an_ingest_that_did_nothing_is_not_told_and_a_refusal_is_told_once(
    folder: Path, index: Recorder
) -> None:
    bad = Refusal(str(folder / "bad.pdf"), "is not a readable PDF file", "unreadable", {})
    index.refused = (bad,)
    every: list[tuple[Refusal, ...]] = []
    with watching(index, folder, on_refused=lambda refused, _: every.append(tuple(refused))) as summaries:
        assert summaries[0].refused == (bad,)
        (folder / "a.txt").write_text("two")
        until(lambda: len(summaries) == 2)
        assert summaries[1].refused == ()
        (folder / "bad.pdf").write_text("still bad")
        until(lambda: len(summaries) == 3)
        assert summaries[2].refused == (bad,)
        assert every == [(bad,)]
        index.refused = ()
        (folder / "bad.pdf").write_text("good")
        until(lambda: len(every) == 2)
        assert every[1] == ()


@pytest.mark.slow
def test_a_busy_writer_is_waited_for_and_nothing_is_lost(folder: Path, index: Recorder) -> None:
    turns = iter(range(100))

    def busy() -> None:
        if next(turns) % 3:
            raise IndexBusy(f"{index.path}: another process is writing to this index; try again later")

    index.before = busy
    with watching(index, folder):
        until(lambda: len(index.ingested) == 1)
        (folder / "a.txt").write_text("two")
        until(lambda: index.ingested[-1] == {str(folder / "a.txt"): "two"})
        (folder / "a.txt").unlink()
        until(lambda: index.deleted == [str(folder / "a.txt")])


def test_other_faults_of_the_index_end_the_watch(folder: Path, index: Recorder) -> None:
    def fail() -> None:
        raise StoreError("index: the disk is full")

    index.before = fail
    with pytest.raises(StoreError, match="full"), watching(index, folder):
        pass


def test_a_path_that_is_not_there_is_named(tmp_path: Path, index: Recorder) -> None:
    with pytest.raises(InputError, match="nowhere: no such file"), watching(index, tmp_path / "nowhere"):
        pass
    with pytest.raises(InputError, match="name a file"), watching(index):
        pass


def test_a_stop_is_heard_while_the_writer_is_busy(folder: Path, index: Recorder) -> None:
    def busy() -> None:
        raise IndexBusy(f"{index.path}: another process is writing to this index; try again later")

    index.before = busy
    stop = threading.Event()
    threading.Timer(0.3, stop.set).start()
    watch(cast(FolderIndex, index), [folder], retry=60, stop=stop)


# --- with a real index --------------------------------------------------------------------------------
@pytest.mark.slow
def test_an_index_follows_its_folder(folder: Path, tmp_path: Path) -> None:
    index = FolderIndex.open(tmp_path / "index")
    (folder / "zoo").mkdir()
    (folder / "zoo" / "bad.pdf").write_bytes(b"%PDF-1.4 broken")
    with watching(index, folder) as summaries:
        assert (summaries[0].added, len(summaries[0].refused)) == (1, 1)
        (folder / "zoo" / "b.txt").write_text("A zebra has stripes.")
        until(lambda: index.search("zebra"))
        assert index.search("zebra")[0].passage.source == "zoo"
        until(lambda: sum(one.added for one in summaries) == 2)  # its ingest is over, and the lock free
        with lock_index(tmp_path / "index"):  # another writer
            (folder / "a.txt").write_text("A giraffe is tall.")
            time.sleep(0.5)
        until(lambda: index.search("giraffe"))
        (folder / "zoo" / "b.txt").unlink()
        until(lambda: not index.search("zebra"))
        assert index.search("giraffe")
    assert sum(one.removed for one in summaries) == 1
