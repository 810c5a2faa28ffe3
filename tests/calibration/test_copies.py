"""Sources that copy each other's texts are tied; others are not tied by chance."""

from __future__ import annotations

from pathlib import Path

from disputatio.calibration.estimates import group_by_text
from disputatio.parts import with_retriever
from disputatio.store.folder_index import FolderIndex
from disputatio.store.in_memory import InMemory
from disputatio.types import Passage, Source
from tests.calibration.towns import index_of, kit

POST = (
    "You will not believe this one! The lighthouse was designed by Barnaby Croll, the famous pirate. "
    "Yes, really: a pirate! Legend says that he sketched the whole tower on a tavern napkin to win a bet, "
    "and that the town was too frightened to refuse him. Share it with a friend who loves {what} and see "
    "how long they laugh."
)


def test_a_reworded_copy_ties_two_sources_and_no_other(tmp_path: Path) -> None:
    index = index_of(tmp_path / "x", {"archive": 0, "museum": 0})
    index.add([Passage(text=POST.format(what="the sea"), source="buzz")])
    index.add([Passage(text=POST.format(what="old towers"), source="wonder")])
    view = index.source_passages()
    assert view is not None
    groups = group_by_text(view, ["archive", "buzz", "museum", "wonder"])
    assert groups is not None
    assert groups.tolist() == [0, 1, 2, 1]


def test_a_deleted_copy_ties_no_sources(tmp_path: Path) -> None:
    index = FolderIndex.open(tmp_path / "x")
    index.add(
        [Passage(text=POST.format(what=source), source=source) for source in ("buzz", "wonder", "viral")]
    )
    index.delete(sources=["wonder"])
    view = index.source_passages()
    assert view is not None
    groups = group_by_text(view, ["buzz", "viral", "wonder"])
    assert groups is not None
    assert groups[0] == groups[1] != groups[2]


def test_a_kit_over_an_index_knows_its_estimates_and_over_passages_in_hand_none(tmp_path: Path) -> None:
    index = index_of(tmp_path / "x", {"archive": 0, "buzz": 3})
    index.set_estimates({"buzz": Source(name="buzz", reliability=0.1, low=0.0, high=0.3)})
    assert with_retriever(kit(), index).reliabilities == {"buzz": 0.1}
    assert with_retriever(kit(), index).sources["archive"] == Source(name="archive")
    assert with_retriever(kit(), InMemory([Passage(text="It rained.")])).sources == {}
    assert with_retriever(kit(), None).sources == {}
