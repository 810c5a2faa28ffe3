"""The index: what goes in comes out, once, with exact offsets; search by keyword and meaning."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from disputatio.errors import InputError
from disputatio.protocols import Retriever
from disputatio.store.contract import SourceCount
from disputatio.store.folder_index import FolderIndex
from disputatio.store.ingesting.documents import Document
from disputatio.store.record.database import RecordFile
from disputatio.types import Passage
from tests.store.hashing import HashEmbedder

_SENTENCE = (
    "The town counted three thousand five hundred and fifty-nine people 🎉 in the census of that year. "
)


def write_docs(folder: Path) -> Path:
    """Make a folder with two sources and a long document."""
    (folder / "wiki").mkdir(parents=True)
    (folder / "press").mkdir()
    (folder / "wiki" / "long.md").write_text("# Broken Bow\n\n" + _SENTENCE * 40)
    (folder / "wiki" / "bridge.txt").write_text("The bridge did collapse in 1990.")
    (folder / "press" / "bridge.txt").write_text("The bridge did not collapse in 1990.")
    (folder / "press" / "apples.txt").write_text("Apples are red, and pears are green.")
    return folder


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    return write_docs(tmp_path / "docs")


@pytest.fixture(scope="module")
def hybrid(tmp_path_factory: pytest.TempPathFactory) -> FolderIndex:
    """An index of the folder with vectors, which no test writes to."""
    folder = tmp_path_factory.mktemp("hybrid")
    index = FolderIndex.open(folder / "ix", embedder=HashEmbedder())
    index.ingest(write_docs(folder / "docs"))
    return index


@pytest.fixture(scope="module")
def by_words(hybrid: FolderIndex) -> FolderIndex:
    """The same passages, searched by keyword alone."""
    return FolderIndex.open(hybrid.path)


def test_a_new_index_is_empty_and_makes_nothing_until_it_is_written_to(tmp_path: Path) -> None:
    index = FolderIndex.open(tmp_path / "new")
    assert isinstance(index, Retriever)
    assert (index.search("x"), index.documents(), index.sources()) == ([], [], [])
    assert index.info().passages == 0
    assert not (tmp_path / "new").exists()


def test_offsets_of_every_passage_point_into_the_stored_text(hybrid: FolderIndex) -> None:
    texts = {document.id: document.text for document in hybrid.documents()}
    hits = hybrid.search("town census bridge apples", per_source=100)
    assert len(hits) == hybrid.info().passages > 6
    for hit in hits:
        passage = hit.passage
        assert texts[passage.document][passage.start : passage.end] == passage.text
        assert hybrid.passage(passage.id) == passage


@pytest.mark.long
def test_the_same_files_again_change_nothing(docs: Path, tmp_path: Path) -> None:
    embedder = HashEmbedder()
    index = FolderIndex.open(tmp_path / "ix", embedder=embedder)
    index.ingest(docs)
    before, calls = index.search("bridge", per_source=100), embedder.calls
    again = FolderIndex.open(tmp_path / "ix", embedder=embedder).ingest(docs)
    assert (again.added, again.unchanged, again.replaced, again.passages) == (0, 4, 0, 0)
    assert embedder.calls == calls
    assert index.search("bridge", per_source=100) == before


@pytest.mark.long
def test_a_changed_file_replaces_its_own_passages_only(docs: Path, tmp_path: Path) -> None:
    index = FolderIndex.open(tmp_path / "ix")
    index.ingest(docs)
    (docs / "wiki" / "long.md").write_text("# Broken Bow\n\nA zebra walked in.")
    summary = index.ingest(docs)
    assert (summary.added, summary.unchanged, summary.replaced, summary.passages) == (0, 3, 1, 1)
    assert index.search("census") == []
    assert len(index.search("zebra")) == 1
    assert len(index.search("bridge collapse")) == 2
    assert len(index.documents()) == 4


def test_a_changed_row_replaces_that_row_and_a_lost_row_goes(tmp_path: Path) -> None:
    file = tmp_path / "r.jsonl"
    rows = [{"text": f"number {n} cat", "source": "s"} for n in range(5)]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    index = FolderIndex.open(tmp_path / "ix")
    assert index.ingest(file).added == 5
    rows = [{"text": "new dog", "source": "s"}, *rows[:3]]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    summary = index.ingest(file)
    assert (summary.replaced, summary.unchanged, summary.removed) == (1, 3, 1)
    assert sorted(document.text for document in index.documents()) == [
        "new dog",
        "number 0 cat",
        "number 1 cat",
        "number 2 cat",
    ]
    assert len(index.search("cat", k=10)) == 3


@pytest.mark.long
def test_two_files_of_one_content_keep_it_until_both_have_changed(tmp_path: Path) -> None:
    for name in ("a.jsonl", "b.jsonl"):
        (tmp_path / name).write_text('{"text": "shared words", "source": "s"}\n')
    index = FolderIndex.open(tmp_path / "ix")
    index.ingest(tmp_path / "a.jsonl", tmp_path / "b.jsonl")
    assert len(index.documents()) == 2
    assert len(index.search("shared")) == 1
    (tmp_path / "a.jsonl").write_text('{"text": "other words", "source": "s"}\n')
    index.ingest(tmp_path / "a.jsonl")
    assert len(index.search("shared")) == 1
    (tmp_path / "b.jsonl").write_text('{"text": "other words", "source": "s"}\n')
    index.ingest(tmp_path / "b.jsonl")
    assert index.search("shared") == []
    assert len(index.search("other")) == 1


def test_bad_files_are_listed_and_good_ones_go_in(docs: Path, tmp_path: Path) -> None:
    (docs / "empty.txt").write_text("")
    (docs / "rows.jsonl").write_text('{"text": "a good row"}\n{"title": "bad"}\n')
    reported: list[tuple[int, int, int]] = []
    index = FolderIndex.open(tmp_path / "ix")
    summary = index.ingest(docs, tmp_path / "none", progress=lambda *told: reported.append(told))
    assert summary.added == 5
    reasons = {Path(path).name: reason for path, reason, *_ in summary.refused}
    assert reasons == {
        "none": "there is no such file or folder",
        "empty.txt": "is empty",
        "rows.jsonl:2": "has no field 'text' (its fields: title); name the one that holds the text by "
        "--text-column, others by --map",
    }
    assert reported == sorted(reported)  # each file done, and each batch committed, in their order
    assert {told[:2] for told in reported} >= {(n, 6) for n in range(1, 7)}
    assert reported[-1] == (6, 6, summary.passages)


def test_a_question_with_not_finds_the_denial_first(by_words: FolderIndex) -> None:
    first, *_ = by_words.search("did the bridge not collapse?")
    assert first.passage.source == "press"
    assert [hit.passage.text for hit in by_words.search("not")] == ["The bridge did not collapse in 1990."]


def test_scores_are_the_weighted_sum_of_both_scorers_in_the_unit_interval(hybrid: FolderIndex) -> None:
    hits = hybrid.search("bridge collapse", k=20)
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    for hit in hits:
        assert 0 <= hit.scores["sparse"] <= 1
        assert 0 <= hit.scores["dense"] <= 1
        assert hit.score == pytest.approx(0.35 * hit.scores["sparse"] + 0.65 * hit.scores["dense"], abs=1e-6)
    assert max(hit.scores["sparse"] for hit in hits) == max(hit.scores["dense"] for hit in hits) == 1.0
    assert hybrid.search("bridge", alpha=1.0)[0].score == 1.0


def test_per_source_gives_the_best_of_every_source_that_matches(by_words: FolderIndex) -> None:
    hits = by_words.search("bridge census apples", k=1, per_source=1)
    assert sorted(hit.passage.source for hit in hits) == ["press", "wiki"]
    assert [hit.passage.source for hit in by_words.search("pears", per_source=2)] == ["press"]


def test_sources_and_excluded_passages_narrow_the_search(hybrid: FolderIndex) -> None:
    assert {hit.passage.source for hit in hybrid.search("bridge", sources=["wiki"])} == {"wiki"}
    first = hybrid.search("bridge collapse")[0].passage.id
    assert first not in {hit.passage.id for hit in hybrid.search("bridge collapse", k=20, exclude={first})}
    assert hybrid.search("bridge", sources=["absent"]) == []


def test_no_question_makes_the_search_fail(hybrid: FolderIndex) -> None:
    signs = ("?!", "🎉", "\\", "ß ﬁ", "x" * 5000)
    for query in ("the", '"unclosed (quote', "a OR b AND NOT c*", "text:bridge~2", "'; DROP", *signs):
        hybrid.search(query)


def test_other_scripts_are_found_by_their_words(tmp_path: Path) -> None:
    index = FolderIndex.open(tmp_path / "ix")
    texts = [
        "人口在2010年是三千五百五十九人。",
        "Население города выросло.",
        "Un café très fréquenté.",
        "สวัสดีชาวโลก",
    ]
    index.add([Passage(text=text, source="s") for text in texts])
    found = [index.search(query)[0].passage.text for query in ("人口", "НАСЕЛЕНИЕ", "CAFE frequente", "โลก")]
    assert found == texts


def test_an_unknown_way_to_name_sources_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="field:NAME"):
        FolderIndex.open(tmp_path / "ix").ingest(tmp_path, source_by="nonsense")


def test_passages_are_added_under_their_own_ids_and_replaced_under_them(tmp_path: Path) -> None:
    index = FolderIndex.open(tmp_path / "ix")
    first = Passage(text="A quoted 'word'.", id="it's-1", source="o'hara", owner="o", metadata={"a": "b"})
    assert index.add([first, first]).added == 1
    stored = index.passage("it's-1")
    assert (stored.text, stored.source, stored.owner, stored.metadata) == (
        first.text,
        "o'hara",
        "o",
        {"a": "b"},
    )
    assert index.add([Passage(text="Another.", id="it's-1", source="o'hara")]).replaced == 1
    assert index.passage("it's-1").text == "Another."
    assert index.search("quoted") == []
    with pytest.raises(InputError, match="no passage"):
        index.passage("p0")


def test_a_long_passage_is_divided_on_the_way_in(tmp_path: Path) -> None:
    index = FolderIndex.open(tmp_path / "ix")
    summary = index.add([Passage(text="x" * 100_000, id="long"), Document(text="short", source="s")])
    assert summary.added == 2
    assert summary.passages > 20


def test_sources_are_counted_with_their_owners(tmp_path: Path) -> None:
    index = FolderIndex.open(tmp_path / "ix")
    index.add([Passage(text=f"t{n}", source="b" if n else "a", owner="o" if n else "") for n in range(3)])
    assert [(source.name, source.owner, source.documents, source.passages) for source in index.sources()] == [
        ("a", "", 1, 1),
        ("b", "o", 2, 2),
    ]


def test_a_title_helps_to_find_the_passages_of_its_document(tmp_path: Path) -> None:
    index = FolderIndex.open(tmp_path / "ix")
    index.add([Passage(text="It has 3,559 people.", title="Broken Bow"), Passage(text="Bow and arrow. " * 3)])
    hit = index.search("broken bow population")[0]
    assert hit.passage.text == "It has 3,559 people."


def test_documents_carry_what_was_read(docs: Path, tmp_path: Path) -> None:
    (docs / "wiki" / "a.md").write_text(
        "---\nurl: http://x.example/1\ndate: 2020\nowner: me\nplace: north\n---\nText."
    )
    index = FolderIndex.open(tmp_path / "ix")
    index.ingest(docs / "wiki" / "a.md")
    (document,) = index.documents()
    assert (document.source, document.date, document.owner, document.metadata) == (
        "x.example",
        "2020",
        "me",
        {"place": "north"},
    )
    assert Path(document.path).name == "a.md"
    assert index.documents(text=False)[0].text == ""
    passage = index.search("text")[0].passage
    assert (passage.url, passage.date, passage.metadata) == ("http://x.example/1", "2020", {"place": "north"})


def test_another_reader_sees_new_documents_at_its_next_search(docs: Path, tmp_path: Path) -> None:
    early = FolderIndex.open(tmp_path / "ix")
    assert early.search("zebra") == []
    writer = FolderIndex.open(tmp_path / "ix")
    writer.ingest(docs)
    assert len(early.search("bridge")) == 2
    writer.add([Passage(text="A zebra.", source="zoo")])
    assert len(early.search("zebra")) == 1


def test_the_dense_scorer_is_exact(tmp_path: Path) -> None:
    class Fixed(HashEmbedder):
        def embed(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:
            angles = np.array([float(text.split()[-1]) for text in texts])
            return np.stack([np.cos(angles), np.sin(angles), *[angles * 0] * 30], axis=1).astype(np.float32)

    index = FolderIndex.open(tmp_path / "ix", embedder=Fixed())
    index.add([Passage(text=f"angle {angle}") for angle in (0.0, 0.5, 1.0)])
    hits = index.search("nothing in common 0.0", alpha=0.0)
    cosines = np.cos([0.0, 0.5, 1.0])
    expected = (cosines - cosines.min()) / (cosines.max() - cosines.min())
    assert [hit.scores["dense"] for hit in hits] == pytest.approx(expected.tolist(), abs=1e-5)


def test_an_index_among_the_documents_is_not_read_as_documents(docs: Path) -> None:
    index = FolderIndex.open(docs / "index")
    assert index.ingest(docs).added == 4
    again = index.ingest(docs)
    assert (again.added, again.unchanged, again.refused) == (0, 4, ())


@pytest.mark.parametrize("migrated", [True, False])
def test_a_page_of_documents_is_a_part_of_all_in_their_order(tmp_path: Path, *, migrated: bool) -> None:
    table = tmp_path / "b.csv"
    rows = [f"the text of row {number},Paper {number % 3}" for number in range(40)]
    table.write_text("text,source\n" + "\n".join(rows))
    (tmp_path / "a.txt").write_text("A file of its own.")
    index = FolderIndex.open(tmp_path / "ix")
    index.ingest(table, tmp_path / "a.txt")
    if not migrated:  # as a version without these indexes left it
        with closing(sqlite3.connect(tmp_path / "ix" / "record.sqlite")) as database:
            for part in ("INDEX entries_by_path", "INDEX documents_by_source", "TABLE descriptions"):
                database.execute(f"DROP {part}")
            database.execute("PRAGMA user_version = 1")
    everything = index.documents(text=False)
    assert [document.path.rpartition("/")[2] for document in everything] == ["a.txt"] + ["b.csv"] * 40
    paged = [index.list_documents(offset=offset, limit=7) for offset in range(0, 49, 7)]
    assert [each for page in paged for each in page.documents] == everything
    assert {page.total for page in paged} == {41}
    of_one = index.list_documents(offset=2, limit=5, source="Paper 1")
    wanted = [document for document in everything if document.source == "Paper 1"]
    assert (of_one.total, of_one.documents) == (13, wanted[2:7])
    assert index.list_documents(source="none") == (0, [])


def test_a_page_of_documents_of_several_folders_is_in_one_order(tmp_path: Path) -> None:
    for name, letters in (("one", "ac"), ("two", "bd")):
        for letter in letters:
            (tmp_path / f"{letter}.txt").write_text(f"The letter {letter}.")
        FolderIndex.open(tmp_path / name).ingest(*(tmp_path / f"{letter}.txt" for letter in letters))
    index = FolderIndex.open(f"{tmp_path / 'one'},{tmp_path / 'two'}")
    page = index.list_documents(offset=1, limit=2)
    assert (page.total, [Path(each.path).name for each in page.documents]) == (4, ["b.txt", "c.txt"])


def test_a_page_of_documents_is_read_by_an_index_and_not_sorted(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("A file.")
    index = FolderIndex.open(tmp_path / "ix")
    index.ingest(tmp_path / "a.txt")
    asked: list[str] = []
    with index.open_record() as record:
        record._database.set_trace_callback(asked.append)
        record.page(0, 10, None)
        record._database.set_trace_callback(None)
        plan = record._database.execute(f"EXPLAIN QUERY PLAN {asked[-1]}").fetchall()
    assert "USING INDEX entries_by_path" in str(plan)
    # Only the rows of the page are sorted, after the join; later versions of SQLite sort nothing.
    assert str(plan).count("TEMP B-TREE") <= 1


def test_sources_are_counted_once_for_each_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[RecordFile] = []
    count = RecordFile.source_counts

    def counting(self: RecordFile) -> Iterator[tuple[str, str, int, int]]:
        counted.append(self)
        return count(self)

    monkeypatch.setattr(RecordFile, "source_counts", counting)
    index = FolderIndex.open(tmp_path / "ix")
    table = tmp_path / "t.csv"
    table.write_text(
        "text,source,owner\none fact,A,\ntwo facts,A,first\nthree facts,A,second\nfour facts,B,\n"
    )
    index.ingest(table)
    assert [index.sources() for _ in range(3)] == [
        [
            SourceCount(name="A", owner="first", documents=3, passages=3),
            SourceCount(name="B", owner="", documents=1, passages=1),
        ]
    ] * 3
    assert len(counted) == 1
    index.delete(sources=["B"])
    assert [source.name for source in index.sources()] == ["A"]
    shutil.rmtree(tmp_path / "ix")
    index.ingest(table)
    assert [source.name for source in index.sources()] == ["A", "B"]
