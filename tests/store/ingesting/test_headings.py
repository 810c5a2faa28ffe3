"""Passages stand under the headings that the format of their document marks, and under no other line."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from disputatio.store.folder_index import FolderIndex
from disputatio.store.ingesting.documents import Document
from disputatio.store.ingesting.prepare import prepare
from disputatio.store.ingesting.readers import open_reader
from disputatio.types import Passage

_LONG = "The keeper of the harbour writes it down on any day of the week, and nobody else does so. " * 7

_MARKDOWN = f"""\
# Harbour

{_LONG}

## [berths]

### most_boats

Most boats that may lie here at once

Default: `8`

It counts boats of all lengths and not their crews.

### wait

(since 3.1)

Time until a berth is given away

```ini
# 100 metres

wait = 30
```

    # a comment

    wait = 40

It ends at noon on the day after, whoever comes.

## How do I pay, and what happens where I am late by more than a whole week?

In the office, on any day but Sunday, to its keeper.

**May somebody else pay?**

Yes, whoever knows the number of the boat may do so.

## Closing

**Closed in winter.**

The office opens again in March for whoever has a berth.
"""


def _read(path: Path, text: str | bytes) -> Document:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with open_reader() as read:
        (document,) = read(path, "").documents
    return document


def _passages(path: Path, text: str | bytes) -> tuple[Passage, ...]:
    document = _read(path, text)
    passages = prepare(document).passages
    assert all(document.text[one.start : one.end] == one.text for one in passages)
    assert not any("outline" in one.metadata for one in passages)
    return passages


def _path_of(passages: tuple[Passage, ...], words: str) -> str:
    (found,) = (one for one in passages if words in one.text)
    return found.metadata.get("heading", "")


def _paths(passages: tuple[Passage, ...]) -> list[str]:
    return [*dict.fromkeys(one.metadata.get("heading", one.title) for one in passages)]


@pytest.mark.parametrize(
    ("words", "path"),
    [
        ("Default: 8", "Harbour › [berths] › most_boats"),
        ("of all lengths", "Harbour › [berths] › most_boats"),
        ("# 100 metres", "Harbour › [berths] › wait"),
        ("# a comment", "Harbour › [berths] › wait"),
        ("at noon", "Harbour › [berths] › wait"),
        (
            "In the office",
            "Harbour › How do I pay, and what happens where I am late by more than a whole week?",
        ),
        (
            "number of the boat",
            "Harbour › How do I pay, and what happens where I am late by more than a whole week?"
            " › May somebody else pay?",
        ),
        ("again in March", "Harbour › Closing"),
    ],
)
def test_a_passage_of_markdown_stands_under_its_headings(tmp_path: Path, words: str, path: str) -> None:
    assert _path_of(_passages(tmp_path / "a.md", _MARKDOWN), words) == path


def test_an_option_and_its_short_default_are_one_passage(tmp_path: Path) -> None:
    (found,) = (one for one in _passages(tmp_path / "a.md", _MARKDOWN) if "Default" in one.text)
    assert found.text.startswith("[berths]\n\nmost_boats\n\nMost boats")


def test_code_is_no_heading_where_no_heading_is_marked(tmp_path: Path) -> None:
    passages = _passages(tmp_path / "a.md", f"Opening hours\n\n{_LONG}\n\n```\n# Run it\n```\n\n{_LONG}\n")
    assert {one.metadata.get("heading") for one in passages} == {"Opening hours"}


def test_every_passage_of_a_long_section_has_its_heading(tmp_path: Path) -> None:
    text = f"# Harbour\n\n## Fees\n\nPaid.\n\n## Boats\n\n{_LONG}\n\n{_LONG}\n"
    passages = _passages(tmp_path / "a.md", text)
    assert [one.metadata["heading"] for one in passages][1:] == ["Harbour › Boats"] * (len(passages) - 1)
    assert len(passages) == 2


def test_terms_of_a_page_are_named_until_their_list_ends(tmp_path: Path) -> None:
    page = (
        f"<h1>Harbour</h1><p>{_LONG}</p><h2>Words</h2><dl><dt>Berth</dt>"
        "<dd>Where a boat lies for a night or more."
        "</dd><dt>Keeper</dt><dd>Whoever has the list of boats and writes it down.</dd></dl>"
        f"<p>{_LONG}</p><h2>Fees</h2><p>Each boat pays three euros a metre in that year.</p>"
    )
    passages = _passages(tmp_path / "a.md", page)
    assert _path_of(passages, "a night or") == "Harbour › Words › Berth"
    assert _path_of(passages, "list of boats") == "Harbour › Words › Keeper"
    assert passages[-2].metadata["heading"] == "Harbour › Words"
    assert _path_of(passages, "three euros") == "Harbour › Fees"


@pytest.mark.long
def test_headings_of_a_web_page_nest(tmp_path: Path) -> None:
    page = (
        f"<article><h1>Harbour</h1><p>{_LONG}</p><h2>Fees</h2><p>{_LONG}</p>"
        f"<pre># a comment\n\nrun it\n</pre><h3>Late?</h3><p>{_LONG}</p></article>"
    )
    passages = _passages(tmp_path / "a.html", page)
    assert _path_of(passages, "# a comment") == "Harbour › Fees"
    assert passages[-1].metadata["heading"] == "Harbour › Fees › Late?"


def test_an_item_without_words_takes_no_heading_in(tmp_path: Path) -> None:
    text = _read(tmp_path / "a.md", "# 1.1\n\n## Added\n\n*\n\n## Changed\n\n* Fees.\n").text
    assert text == "1.1\n\nAdded\n\nChanged\n\n- Fees."


def test_levels_of_restructured_text_are_those_of_its_lines(tmp_path: Path) -> None:
    text = (
        f"=======\nHarbour\n=======\n\n{_LONG}\n\nFees\n====\n\n{_LONG}\n\nLate\n----\n\n{_LONG}\n\n"
        f".. confval:: most_boats\n   :default: 8\n\n   {_LONG}\n\nBoats\n=====\n\n{_LONG}\n"
    )
    assert _paths(_passages(tmp_path / "a.rst", text)) == [
        "Harbour",
        "Harbour › Fees",
        "Harbour › Fees › Late",
        "Harbour › Fees › Late › most_boats",
        "Harbour › Boats",
    ]


def test_underlined_lines_of_a_plain_text_are_its_headings(tmp_path: Path) -> None:
    text = (
        f"=======\nHarbour\n=======\n{_LONG}\n\nMay I pay later?\n================\n\nRun this\n\n{_LONG}\n\n"
        f"Late\n~~~~\n{_LONG}\n\n    Indented\n    ========\n\nBoats\n=====\n\n{_LONG}\n"
    )
    passages = _passages(tmp_path / "a.txt", text)
    assert "".join(one.text for one in passages).count("===") == text.count("===")
    assert _paths(passages) == [
        "Harbour",
        "Harbour › May I pay later?",
        "Harbour › May I pay later? › Late",
        "Harbour › Boats",
    ]


def test_below_one_underlined_title_short_lines_are_headings(tmp_path: Path) -> None:
    passages = _passages(tmp_path / "a.txt", f"Harbour\n=======\n\nFees\n\n{_LONG}\n\nBoats\n\n{_LONG}\n")
    assert _paths(passages) == ["Harbour › Fees", "Harbour › Boats"]


def test_styles_of_a_word_file_are_its_headings(tmp_path: Path) -> None:
    import docx

    file, out = docx.Document(), io.BytesIO()
    for words, style in [
        ("Harbour", "Title"),
        (_LONG, "Normal"),
        ("May I pay later, and what happens where I am late by a whole week?", "Heading 1"),
        (_LONG, "Normal"),
        ("Run this", "Normal"),
        (_LONG, "Normal"),
        ("Boats", "Heading 2"),
        (_LONG, "Normal"),
    ]:
        file.add_paragraph(words, style=style)
    file.add_paragraph().add_run("May somebody else?").bold = True
    file.add_paragraph(_LONG)
    file.save(out)
    late = "Harbour › May I pay later, and what happens where I am late by a whole week?"
    passages = _passages(tmp_path / "a.docx", out.getvalue())
    assert _paths(passages) == [
        "Harbour",
        late,
        f"{late} › Boats",
        f"{late} › Boats › May somebody else?",
    ]


def test_headings_are_those_of_the_stored_text_whatever_was_removed_from_it(tmp_path: Path) -> None:
    text = f"# Har&#8203;bour\n\n{_LONG}\n\n## Fe\ufdd2es\ufdef\n\n{_LONG}\n"
    passages = _passages(tmp_path / "a.md", text)
    assert _paths(passages) == ["Harbour", "Harbour › Fees"]


def test_a_field_of_that_name_is_no_outline(tmp_path: Path) -> None:
    document = _read(tmp_path / "a.md", f"---\noutline: 9,1,5\n---\nFees\n\n{_LONG}\n\nBoats\n\n{_LONG}\n")
    assert _paths(prepare(document).passages) == ["Fees", "Boats"]


def test_an_index_keeps_the_headings(tmp_path: Path) -> None:
    (tmp_path / "documents").mkdir()
    (tmp_path / "documents" / "a.md").write_text(_MARKDOWN)
    index = FolderIndex.open(tmp_path / "index")
    index.ingest(tmp_path / "documents")
    assert index.search("Default 8 boats at once", k=1)[0].passage.metadata["heading"].endswith("most_boats")
