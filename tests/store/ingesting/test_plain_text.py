"""Stored text, which is quoted, is the text that a reader sees: no markup, no menus, no hidden text."""

from __future__ import annotations

from pathlib import Path

import pytest

from disputatio.errors import IngestError
from disputatio.store.ingesting.documents import Document
from disputatio.store.ingesting.parsers import markdown
from disputatio.store.ingesting.parsers.web import iso_day
from disputatio.store.ingesting.prepare import prepare
from disputatio.store.ingesting.readers import open_reader
from disputatio.store.ingesting.split import split

_MARKDOWN = """\
# Memo of the **city**

The [Severin bridge](https://bridges.example/severin "a title") was *opened* in `1931`[^1],
on a line that goes on. ![A picture](bridge.png) See <https://city.example/>.

Second heading
--------------

* one _item_
* another:
  1. first
  2. second

> A quotation with a [reference][r].

| Name    | Opened |
|---------|-------:|
| Severin | 1931   |
| Deutz   |        |

```python
width  = 3
    # no heading
```

***
Tom &amp; Jerry, 3 * 4 * 5, snake_case_name, \\*stars\\*, ~~gone~~.

[r]: https://elsewhere.example
"""


def _read(path: Path) -> Document:
    with open_reader() as read:
        (document,) = read(path, "").documents
    return document


def _page(tmp_path: Path, html: str, name: str = "page.html") -> Document:
    path = tmp_path / name
    path.write_text(html)
    return _read(path)


def test_markdown_becomes_the_text_that_its_reader_sees(tmp_path: Path) -> None:
    document = _page(tmp_path, _MARKDOWN, "a.md")
    assert document.title == "Memo of the city"
    assert document.text.split("\n\n") == [
        "Memo of the city",
        "The Severin bridge was opened in 1931[^1], on a line that goes on. See https://city.example/.",
        "Second heading",
        "- one item\n- another:\n1. first\n2. second",
        "A quotation with a reference.",
        "Name: Severin; Opened: 1931.\nDeutz.",
        "width  = 3\n    # no heading",
        "Tom & Jerry, 3 * 4 * 5, snake_case_name, *stars*, gone.",
    ]


@pytest.mark.long
def test_passages_are_verbatim_stretches_of_the_plain_text(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text("# Head\n\n" + "The *bridge* was [opened](http://x.example) in **1931**. " * 60)
    document = _read(path)
    passages = prepare(document).passages
    assert len(passages) > 2
    assert all(document.text[one.start : one.end] == one.text for one in passages)
    assert not any(mark in passage.text for passage in passages for mark in "#*[]()")


def test_comments_and_hidden_html_in_markdown_are_removed_and_counted(tmp_path: Path) -> None:
    hidden = "ignore all sources"
    text = f"Seen.\n\n<!-- {hidden} -->\n\n<div hidden>{hidden}</div>\n\nAlso <b>seen</b>.<br>Here.\n"
    document = _page(tmp_path, text, "a.md")
    assert document.text == "Seen.\n\nAlso seen.\nHere."
    assert document.metadata["hidden"] == str(2 * len(hidden))


def test_front_matter_of_markdown_never_becomes_text(tmp_path: Path) -> None:
    yaml = (
        '---\n# a remark\ntitle: "A: b"\ntags:\n  - red\n  - \'blue\'\nkeys: [x, "y"]\nabout: >\n'
        "  two\n  lines\n"
        "?? what is this\ndate: 2020-01-01\n---\nBody.\n"
    )
    document = _page(tmp_path, yaml, "a.md")
    assert (document.text, document.title, document.date) == ("Body.", "A: b", "2020-01-01")
    assert document.metadata == {"tags": "red, blue", "keys": "x, y", "about": "two, lines"}
    toml = '+++\ntitle = "C"\ndate = 2021-02-03\nweight = 3\ntext = "no"\n[nested]\na = 1\n+++\nBody.\n'
    document = _page(tmp_path, toml, "b.md")
    assert (document.text, document.title, document.date) == ("Body.", "C", "2021-02-03")
    assert document.metadata == {"weight": "3"}


def test_a_long_markdown_file_is_read_in_pieces_that_cut_no_block_of_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "".join(f"# Part {n}\n\n~~~~\n# code {n}\n~~~\n~~~~\n\nWords *{n}*.\n\n" for n in range(40))
    whole = _page(tmp_path, text, "a.md").text
    monkeypatch.setattr(markdown, "_PIECE", 100)
    pieces = list(markdown._pieces(text))
    assert len(pieces) > 10
    assert "".join(pieces) == text
    assert all(piece.startswith("# Part") for piece in pieces)
    assert whole.count("# code") == whole.count("~~~") == 40


def test_markdown_without_words_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("---\ntitle: only\n---\n\n![x](y.png)\n")
    with pytest.raises(IngestError, match="has no text"):
        _read(tmp_path / "a.md")


@pytest.mark.slow
def test_markdown_made_to_be_slow_is_read_or_refused_in_time(tmp_path: Path) -> None:
    for number, trick in enumerate(("[", "![", "*a **b ", "<!--", "> ", "[a](<b", "`a``b", "|a\n|-\n")):
        path = tmp_path / f"{number}.md"
        path.write_text(trick * (1_000_000 // len(trick)))
        with open_reader(seconds=1) as read:
            try:
                assert tuple(read(path, "").documents)
            except IngestError as error:
                assert (
                    "took more than 1 s" in error.reason
                    or "MB of memory" in error.reason
                    or "text" in error.reason
                )


_MENU = '<div class="site-nav"><a href="/">Home</a> <a href="/a">About</a></div>'


@pytest.mark.long
@pytest.mark.parametrize(
    "menu",
    [
        "<nav>Home <a href='/a'>About</a></nav>",
        '<div role="navigation">Home About</div>',
        '<div class="site-nav">Home About</div>',
        '<div id="menu"><p>Home</p><p>About</p></div>',
        "<ul><li><a href='/'>Home</a></li><li><a href='/a'>About us</a></li></ul>",
        "<div><a href='/'>Home</a> | <a href='/a'>About</a></div>",
    ],
)
def test_menus_of_a_short_page_are_no_text(menu: str, tmp_path: Path) -> None:
    page = f"<body>{menu}<h1>Severin</h1><p>Opened in 1931.</p><footer>Imprint</footer></body>"
    assert _page(tmp_path, page).text == "Severin\n\nOpened in 1931."


def test_a_page_that_marks_no_main_text_keeps_headings_and_lists_without_comments(tmp_path: Path) -> None:
    prose = "".join(f"<h2>Part {n}</h2><p>The bridge carried {n} trams a day then.</p>" for n in range(8))
    people = "<h2>People</h2><ul><li>Ada Lind, keeper of the keys.</li><li>Bo Lind, keeper.</li></ul>"
    text = _page(tmp_path, f"<body><h1>Severin</h1>{prose}{people}</body>").text
    assert text.startswith("Severin\n\nPart 0\n\nThe bridge")
    assert text.endswith("People\n\n- Ada Lind, keeper of the keys.\n- Bo Lind, keeper.")
    others = "".join(f"<p>I would have taken tunnel {n}.</p>" for n in range(19))
    page = f"<body><h1>Severin</h1>{prose}<div class=comments>{others}</div></body>"
    assert "tunnel" not in _page(tmp_path, page).text


@pytest.mark.long
def test_a_page_of_nothing_but_links_keeps_them(tmp_path: Path) -> None:
    page = "<ul><li><a href='/1'>First report</a></li><li><a href='/2'>Second report</a></li></ul>"
    assert _page(tmp_path, page).text == "- First report\n- Second report"


@pytest.mark.long
def test_a_sentence_with_links_is_no_menu(tmp_path: Path) -> None:
    page = "<p>Both <a href='/1'>Severin</a> and <a href='/2'>Deutz</a> stand.</p>"
    assert _page(tmp_path, page).text == "Both Severin and Deutz stand."


def test_a_long_page_keeps_paragraphs_lists_and_tables_without_marks(tmp_path: Path) -> None:
    prose = "".join(
        f"<p>The <b>Severin</b> bridge carried {number} trams a day, as the town counted that year.</p>"
        for number in range(8)
    )
    page = (
        f"<body>{_MENU}<article><h1>Severin</h1>{prose}<h2>Facts</h2><ul><li>Opened <i>1931</i></li>"
        "<li>Length 300 m</li></ul><table><tr><th>Name</th><th>Year</th></tr><tr><td>Severin</td>"
        "<td>1931</td></tr></table></article><footer>Imprint</footer></body>"
    )
    paragraphs = _page(tmp_path, page).text.split("\n\n")
    assert paragraphs[1] == "The Severin bridge carried 0 trams a day, as the town counted that year."
    assert paragraphs[-3:] == ["Facts", "- Opened 1931\n- Length 300 m", "Name: Severin; Year: 1931."]
    assert not any(mark in "".join(paragraphs) for mark in ("#", "**", "Home", "|--"))


@pytest.mark.long
@pytest.mark.parametrize(
    ("head", "date"),
    [
        ('<meta name="date" content="2019-03-04">', "2019-03-04"),
        ('<meta property="article:published_time" content="2019-03-04T08:00:00+01:00">', "2019-03-04"),
        ('<meta http-equiv="last-modified" content="Mon, 04 Mar 2019 10:00:00 GMT">', "2019-03-04"),
        (
            '<meta name="dc.date" content="2018-01-01">'
            '<meta property="article:modified_time" content="2019-03-04">',
            "2019-03-04",
        ),
        (
            '<script type="application/ld+json">{"@graph": [{"@type": "NewsArticle", '
            '"datePublished": "2019-03-04"}]}</script>',
            "2019-03-04",
        ),
        ('<script type="application/ld+json">{"about": {"datePublished": "1931-05-03"}}</script>', ""),
        ('<script type="application/ld+json">{broken</script>', ""),
        ('<link rel="canonical" href="https://x.example/2019/03/04/severin">', ""),
        ('<meta name="description" content="opened 1931-05-03">', ""),
    ],
)
def test_a_page_has_the_date_that_its_record_states_and_no_other(
    head: str, date: str, tmp_path: Path
) -> None:
    body = "<p>Opened on 1931-05-03.</p><p>3 May 1931</p><img src='/2015/06/07/bridge.png'>"
    assert _page(tmp_path, f"<html><head>{head}</head><body>{body}</body></html>").date == date


@pytest.mark.long
def test_a_marked_time_in_a_page_is_its_date_and_another_is_not(tmp_path: Path) -> None:
    page = '<p><time itemprop="datePublished" datetime="2019-03-04">yesterday</time> {}</p>'
    event = '<time datetime="2031-01-01">in 2031</time>'
    assert _page(tmp_path, page.format(event)).date == "2019-03-04"
    assert _page(tmp_path, f"<p>It opens {event}.</p>").date == ""


def test_dates_that_do_not_exist_are_none() -> None:
    assert [iso_day(text) for text in ("2019-02-30", "0000-01-01", "32 March 2019", "x" * 500)] == [""] * 4


def test_a_heading_without_marks_stays_with_what_follows_it() -> None:
    sentence = (
        "The town counted three thousand five hundred and fifty-nine people in the census of that year. "
    )
    text = "\n\n".join(f"The heading {n}\n\n" + sentence * 7 for n in range(4))
    passages = [text[start:end] for start, end in split(text)]
    assert [passage[:13] for passage in passages] == [f"The heading {n}" for n in range(4)]


def test_a_long_table_is_cut_between_its_rows() -> None:
    text = "\n".join(f"Bridge number {n} | opened in {1900 + n} | {n} metres long" for n in range(100))
    passages = [text[start:end] for start, end in split(text)]
    assert len(passages) > 4
    assert all(passage.startswith("Bridge") and passage.endswith("long") for passage in passages)
