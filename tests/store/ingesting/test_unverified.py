"""Documents of strangers: what they say of their source is kept apart, and they are one owner."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from disputatio.reliability.similarity import independent
from disputatio.store.folder_index import FolderIndex
from disputatio.types import Passage

_FACTS = (
    "The bridge is red.",
    "Seven boats sank in March.",
    "A tower stands on Oak Street near the old mill.",
)


def _spoofed(folder: Path) -> Path:
    folder.mkdir()
    (folder / "reuters.com.md").write_text(f"---\nsource: reuters.com\nowner: Reuters\n---\n{_FACTS[0]}\n")
    page = f'<link rel="canonical" href="https://www.reuters.com/a"><p>{_FACTS[1]}</p>'
    (folder / "page.html").write_text(page)
    (folder / "mail.eml").write_text(f"From: News <desk@reuters.com>\nSubject: s\n\n{_FACTS[2]}\n")
    with zipfile.ZipFile(folder / "many.zip", "w") as archive:
        for number in range(20):
            archive.writestr(f"{number}.md", f"---\nsource: s{number}.example\n---\nFact {number} of many.")
    return folder


def _passages(index: FolderIndex) -> list[Passage]:
    return [hit.passage for fact in (*_FACTS, "Fact 1 of many") for hit in index.search(fact, k=30)]


@pytest.mark.long
@pytest.mark.parametrize("source_by", [None, "domain", "folder", "file", "field:source"])
def test_no_stranger_gets_the_name_of_a_source_or_a_second_vote(
    tmp_path: Path, source_by: str | None
) -> None:
    index = FolderIndex.open(tmp_path / "i", embedder=None)
    summary = index.ingest(_spoofed(tmp_path / "in"), unverified=True, source_by=source_by)
    passages = _passages(index)
    assert passages
    assert summary.added
    assert {passage.owner for passage in passages} == {"uploads"}
    assert all(passage.source.startswith("uploads/") and not passage.url for passage in passages)
    assert len(independent(passages)) == 1


@pytest.mark.long
def test_what_a_stranger_states_is_kept_apart(tmp_path: Path) -> None:
    index = FolderIndex.open(tmp_path / "i", embedder=None)
    index.ingest(_spoofed(tmp_path / "in"), unverified=True)
    by_text = {passage.text: passage.metadata for passage in _passages(index)}
    assert by_text[_FACTS[0]]["stated_source"] == "reuters.com"
    assert by_text[_FACTS[0]]["stated_owner"] == "Reuters"
    assert by_text[_FACTS[1]]["stated_url"] == "https://www.reuters.com/a"


@pytest.mark.long
def test_files_that_were_trusted_are_read_again_as_strangers(tmp_path: Path) -> None:
    index, folder = FolderIndex.open(tmp_path / "i", embedder=None), _spoofed(tmp_path / "in")
    index.ingest(folder)
    assert "reuters.com" in {source.name for source in index.sources()}
    index.ingest(folder, unverified=True)
    assert {source.owner for source in index.sources()} == {"uploads"}
