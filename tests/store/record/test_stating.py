"""Statements of people about documents are put in force, kept, and taken back."""

from __future__ import annotations

from pathlib import Path

import pytest

from disputatio.errors import InputError, UnknownName
from disputatio.store.folder_index import FolderIndex
from disputatio.store.record.check import check
from disputatio.store.record.replicate import sync
from disputatio.types import Passage, Relation

OLD = "---\ndate: 2019-05-01\n---\nThe bridge closes at ten in the evening.\n"
NEW = "The bridge closes at eleven in the evening.\n"


@pytest.fixture(autouse=True)
def own_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "rules"
    folder.mkdir()
    (folder / "old.md").write_text(OLD)
    (folder / "new.md").write_text(NEW)
    return folder


@pytest.fixture
def index(tmp_path: Path, folder: Path) -> FolderIndex:
    index = FolderIndex.open(tmp_path / "index")
    assert index.ingest(folder).added == 2
    return index


def found(index: FolderIndex, words: str = "bridge closes evening") -> dict[str, Passage]:
    return {hit.passage.text.split()[4]: hit.passage for hit in index.search(words)}


def test_what_is_stated_is_found_and_listed_and_no_id_changes(index: FolderIndex) -> None:
    before = found(index)
    stated = {"date": "2024-02-01", "owner": "Harbour office", "source": "notices", "authority": "official"}
    assert index.describe_all([("new.md", {**stated, "replaces": "old.md"})]) == 1
    after = found(index)
    passage = after["eleven"]
    assert (passage.id, passage.document) == (before["eleven"].id, before["eleven"].document)
    assert {name: getattr(passage, name) for name in stated} == stated
    assert passage.date_origin == "stated"
    assert passage.relations == (Relation(kind="replaces", target="old.md", by_person=True),)
    assert passage.by_people == {**stated, "replaces": "old.md"}
    assert index.passage(passage.id) == passage
    [document] = [each for each in index.documents() if each.path.endswith("new.md")]
    assert (document.source, document.authority, document.by_people) == (
        "notices", "official", passage.by_people,
    )  # fmt: skip
    assert {source.name for source in index.sources()} == {"old", "notices"}
    assert [hit.passage.id for hit in index.search("bridge", sources=["notices"])] == [passage.id]
    assert [hit.passage.id for hit in index.search("bridge", after="2024")] == [passage.id]
    assert after["ten"] == before["ten"]


@pytest.mark.long
def test_what_is_taken_back_leaves_what_the_document_states(index: FolderIndex) -> None:
    before = found(index)
    index.describe("old.md", date="2020-01-01", authority="informal")
    index.describe("old.md", date="2021-01-01", owner="nobody", by="http")
    assert found(index)["ten"].date == "2021-01-01"
    first, second = index.descriptions("old.md")
    assert (first.by, second.by, second.fields) == (
        "python",
        "http",
        {"date": "2021-01-01", "owner": "nobody"},
    )
    assert index.take_back(second.key) == 1
    passage = found(index)["ten"]
    assert (passage.date, passage.owner, passage.authority) == ("2020-01-01", "", "informal")
    assert index.describe("old.md", date="", authority="") == 1
    assert found(index) == before
    assert [bool(each.undone) for each in index.descriptions()] == [False, True, False]
    with pytest.raises(InputError, match="no statement"):
        index.take_back(second.key)


@pytest.mark.long
def test_it_outlives_a_change_of_the_text_and_a_copy(
    index: FolderIndex, folder: Path, tmp_path: Path
) -> None:
    index.describe("new.md", authority="binding", source="notices")
    (folder / "new.md").write_text(NEW.replace("eleven", "midnight"))
    assert index.ingest(folder).replaced == 1
    passage = found(index)["midnight"]
    assert (passage.authority, passage.source) == ("binding", "notices")
    sync(index.path, tmp_path / "copy")
    copy = FolderIndex.open(tmp_path / "copy")
    assert found(copy)["midnight"] == passage
    assert [each.fields for each in copy.descriptions()] == [{"authority": "binding", "source": "notices"}]


@pytest.mark.long
def test_a_check_finds_nothing_damaged_and_a_rebuilt_record_keeps_what_was_stated(index: FolderIndex) -> None:
    index.describe("new.md", authority="binding")
    index.describe("old.md", mute=True)
    assert check(index.path).damaged == ()
    segment = next((index.path / "segments").iterdir())
    victim = max(segment.glob("*.npy"), key=lambda file: file.stat().st_size)
    raw = bytearray(victim.read_bytes())
    raw[-1] ^= 1
    victim.write_bytes(raw)
    assert check(index.path).damaged
    again = FolderIndex.open(index.path)
    assert {word: passage.authority for word, passage in found(again).items()} == {"eleven": "binding"}


def test_a_muted_document_is_not_found_until_it_is_heard_again(index: FolderIndex, tmp_path: Path) -> None:
    index.describe("old.md", mute=True)
    assert set(found(index)) == {"eleven"}
    assert set(found(FolderIndex.open(index.path))) == {"eleven"}
    assert len(index.documents()) == 2
    index.describe("old.md", mute=False)
    assert set(found(index)) == {"ten", "eleven"}


def test_a_search_leaves_out_a_document_by_its_id(index: FolderIndex) -> None:
    documents = {word: passage.document for word, passage in found(index).items()}
    hits = index.search("bridge closes", exclude=[documents["ten"]])
    assert [hit.passage.document for hit in hits] == [documents["eleven"]]


def test_a_document_in_hand_is_described_by_its_id(tmp_path: Path) -> None:
    index = FolderIndex.open(tmp_path / "index")
    index.add([Passage(text="A ferry leaves at noon.", id="p1", source="board")])
    [document] = index.documents()
    assert index.describe(document.id, title="Timetable") == 1
    assert index.passage("p1").title == "Timetable"


@pytest.mark.parametrize(
    ("document", "fields", "message"),
    [
        ("nwe.md", {"owner": "x"}, "unknown document 'nwe.md': did you mean 'new.md'"),
        ("new.md", {"date": "soon"}, "date: 'soon' is not a date"),
        ("new.md", {"authority": "offical"}, "did you mean 'official'"),
        ("new.md", {"owner": "x" * 600}, "owner: is longer than 500"),
        ("new.md", {"status": "fine"}, "status: 'fine' is none of"),
        ("new.md", {"date": "31.02.2025"}, "date: '31.02.2025' is not a date"),
        ("new.md", {"replaces": "odl.md"}, "replaces 'odl.md': no document here .*; did you mean 'old.md'"),
        ("new.md", {"replaces": "new.md"}, "replaces 'new.md': a document does not replace itself"),
    ],
)
def test_what_cannot_be_stated_is_refused(
    index: FolderIndex, document: str, fields: dict[str, str], message: str
) -> None:
    with pytest.raises((InputError, UnknownName), match=message):
        index.describe(document, **fields)  # type: ignore[arg-type]  # as of a client
    assert index.descriptions() == []


def test_a_file_name_that_two_folders_have_is_refused(index: FolderIndex, folder: Path) -> None:
    (folder / "more").mkdir()
    (folder / "more" / "new.md").write_text("Another rule about lamps.\n")
    index.ingest(folder)
    with pytest.raises(InputError, match="2 files are called so"):
        index.describe("new.md", owner="x")
    assert index.describe(folder / "more" / "new.md", owner="x") == 1


@pytest.mark.long
def test_a_document_cannot_claim_what_only_people_state(tmp_path: Path) -> None:
    folder = tmp_path / "planted"
    folder.mkdir()
    (folder / "a.md").write_text(
        "---\nauthority: binding\nby_people: x\nstatus: current\n---\nThe bridge is red.\n"
    )
    (folder / "b.jsonl").write_text(
        '{"text": "The bridge is blue.", "authority": "binding", "by_people": "x"}\n'
    )
    (folder / "c.html").write_text('<meta name="authority" content="binding"><p>The bridge is green.</p>')
    index = FolderIndex.open(tmp_path / "index")
    index.ingest(folder)
    passages = [hit.passage for hit in index.search("bridge")]
    assert len(passages) == 3
    assert {passage.authority for passage in passages} == {""}
    assert all(not passage.by_people and not passage.relations for passage in passages)
