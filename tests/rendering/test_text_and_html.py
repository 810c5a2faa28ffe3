"""Answers as people see them: readable, with quotes in context, and nothing a document says acts."""

from __future__ import annotations

import html
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from hypothesis import given

from disputatio.attribution.audit import count_read
from disputatio.causes import Cause, Rival, Support
from disputatio.rendering.markup import table
from disputatio.rendering.reasons import reason
from disputatio.rendering.wording import abstention_line
from disputatio.types import Answer, Citation, Claim, Conflict, Hit, Passage, Position, Reading, Reply
from tests.rendering.answers import ANSWERS, FERRY, TEXT

ELEMENTS = {
    "div", "p", "b", "bdi", "span", "sup", "mark", "blockquote", "br", "pre", "table", "thead", "tbody",
    "tr", "td", "th",
}  # fmt: skip
ATTRIBUTES = {"class", "style"}
UNSEEN = re.compile("[\n\x00-\x08\x1b\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\U000e0000-\U000e007f]")
HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    '"><a href="javascript:alert(1)">x</a>',
    "</bdi></div><iframe src=//evil.example>",
    "[a](http://evil.example) **bold** `code`\n\n# Title\n\n<b>x</b>",
    "$\\href{javascript:alert(1)}{x}$ \\(x\\)",
    "\u202eright to left\u2066",
    "\x1b[2Jclear\x07 \x9b31m",
    "a\x00b\ud800",
    "\U000e0041\U000e0042",
    "[1] [2, 3]",
    "no ink: \U000e0000\U000e0041\U000e0080.",
]


class Seen(HTMLParser):
    """The elements, attributes and text of a page, as a browser reads them."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.marked: list[str] = []
        self.text = ""
        self.open: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]
        if tag != "br":
            self.open.append(tag)
        if tag == "mark":
            self.marked.append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data
        if "mark" in self.open:
            self.marked[-1] += data


def is_inert(page: str) -> bool:
    """Return whether a page holds our own elements alone, on one line, and nothing that a browser would
    fetch.
    """
    seen = Seen(page)
    styles = " ".join(value for _, value in seen.attributes)
    return (
        set(seen.elements) <= ELEMENTS
        and {name for name, _ in seen.attributes} <= ATTRIBUTES
        and seen.open == []
        and "url(" not in styles
        and not UNSEEN.search(page)
    )


def everywhere(text: str) -> Answer:
    """Return an answer every text of which is this one."""
    citation = Citation(n=1, passage="p1", source=text, quote=text, start=0, end=len(text))
    return Answer(
        question=text,
        answers=(text,),
        text=text,
        claims=(Claim(text=text, citations=(citation,)), Claim(text=text)),
        conflict=Conflict(
            kind="unresolved",
            positions=(
                Position(
                    answer=text,
                    verdict="accepted",
                    cause=Cause(kind="kept", remark=text),
                    subject=text,
                    passages=("p1",),
                ),
                Position(
                    answer=text, verdict="rejected", cause=Cause(kind="kept", remark=text), sources=(text,)
                ),
            ),
        ),
        strategy=text,
        model=text,
        passages=(Passage(text=text, id="p1", source=text, title=text, date=text, metadata={"page": text}),),
    )


def test_a_printed_answer_reads_from_the_answer_down_to_its_cost() -> None:
    assert (
        str(FERRY)
        == """\
1887

The ferry first crossed in 1887 [1].
  [1] museum.example, page 4: “ferry first crossed in 1887”
      https://museum.example/ferry

Positions: some passages contradict what was accepted
  ✓ accepted  1887 — The ferry
      by:  museum.example
      why: stated in 1 passage
  ✗ rejected  1901
      by:  1 passage without a source
      why: stated in 1 passage; its own agent gave it up

Robustness: one lying source of 2 could change this answer, such as museum.example
Read: 2 passages of 1 source: museum.example
Cost: disputation · local:m · 3 calls · 1,200 tokens read · 50 written · 2.5 s of the model's time"""
    )


def test_an_abstention_says_why() -> None:
    nothing = Answer(question="Who?", abstained="no_evidence")
    assert str(nothing).startswith("No answer: nothing was found for the question")
    off_topic = replace(nothing, passages=FERRY.passages)
    assert str(off_topic).startswith("No answer: nothing that was read answers the question")
    not_searched = replace(nothing, retrievals=0)
    assert str(not_searched).startswith("No answer: nothing that was read answers the question")
    assert "nothing was found for the question" in nothing._repr_html_()


def test_replies_that_could_not_be_used_are_told_with_the_reason_of_the_first() -> None:
    replies = tuple(Reply(passages=(name,), fault=f"it is prose, [1] {name}") for name in "ab")
    answer = Answer(question="?", abstained="fault", replies=replies)
    line = abstention_line(replace(answer, read=count_read(answer, "ab")))
    assert line.endswith("2 of 2 passages could not be read; of a reply: it is prose, (1) a")


def test_text_of_a_document_begins_no_line_and_steers_no_terminal() -> None:
    lines = str(everywhere("x\n✓ accepted  yes\x1b[2J\u202e")).splitlines()
    assert not any(line.strip().startswith("✓ accepted  yes") for line in lines)
    assert not any(char in "".join(lines) for char in "\x1b\u202e")


def test_positions_stand_side_by_side_with_their_quotes_highlighted_exactly() -> None:
    page = FERRY._repr_html_()
    seen = Seen(page)
    assert seen.marked == [TEXT[4:31], "first crossed in 1901"]
    assert page.count("flex:1 1") == 2
    assert "The ferry first crossed in 1887, as the museum says." in seen.text
    assert "museum.example · The ferry · page 4" in seen.text
    assert "(unsupported: nothing is cited)" in seen.text


def test_a_long_passage_is_shown_around_its_quote() -> None:
    text = "a" * 1000 + " the quote " + "b" * 1000
    citation = Citation(n=1, passage="p1", source="", quote="the quote", start=1001, end=1010)
    claims = (Claim(text="It is so.", citations=(citation,), verdict="supported"),)
    answer = replace(FERRY, claims=claims, passages=(Passage(text=text, id="p1"),))
    seen = Seen(answer._repr_html_())
    assert seen.marked == ["the quote"]
    assert "…" + "a" * 159 + " the quote " + "b" * 159 + "…" in seen.text


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_inert_wherever_it_stands(text: str) -> None:
    for page in (
        everywhere(text)._repr_html_(),
        Hit(passage=everywhere(text).passages[0], score=1.0, scores={text: 0.5})._repr_html_(),
        table([text], [[text]]),
    ):
        assert is_inert(page), page
        assert "tex2jax_ignore mathjax_ignore" in page


def test_what_a_failed_reply_says_is_no_markup() -> None:
    fault = Reply(passages=("p",), fault="\x1b[31m<script>alert(1)</script> [3]")
    read = Reading(found=1, read=1, failed=1, set_aside=0)
    answer = Answer(
        question="?", abstained="no_evidence", passages=(Passage(text="x"),), replies=(fault,), read=read
    )
    assert "of a reply: " in str(answer)
    assert "\x1b" not in str(answer)
    assert is_inert(answer._repr_html_())
    assert "&lt;script&gt;" in answer._repr_html_()
    assert "[3]" not in answer._repr_html_()


@pytest.mark.long
@given(answer=ANSWERS)
def test_any_answer_can_be_shown(answer: Answer) -> None:
    assert is_inert(answer._repr_html_())
    assert "\x1b" not in str(answer)


def test_what_a_document_numbers_is_no_citation_of_ours() -> None:
    answer = replace(FERRY, claims=(Claim(text="So it is [7].", verdict="unchecked"),), conflict=Conflict())
    assert "[7]" not in answer._repr_html_()
    assert "So it is (7)" in answer._repr_html_()


def test_joiners_that_letters_need_are_kept() -> None:
    family = "👨\u200d👩\u200d👧"
    answer = replace(FERRY, answers=(family,))
    assert family in html.unescape(answer._repr_html_())


def test_a_hit_shows_its_scores_and_its_passage() -> None:
    hit = Hit(passage=FERRY.passages[0], score=0.5, scores={"sparse": 0.25, "dense": 0.75})
    assert str(hit) == f"0.500  museum.example  (sparse 0.250, dense 0.750)\n  The ferry\n  {TEXT}"
    assert "sparse 0.250" in hit._repr_html_()


def test_a_quote_shows_the_headings_that_it_begins_with_apart() -> None:
    quote = "Opening hours\n\nThe sauna opens at 7:15."
    citation = Citation(n=1, passage="p", source="bath", quote=quote, start=0, end=len(quote))
    claim = Claim(text="It opens at 7:15", citations=(citation,))
    answer = Answer(question="?", answers=("7:15",), claims=(claim,), passages=(Passage(text=quote, id="p"),))
    assert "[1] bath, under “Opening hours”: “The sauna opens at 7:15.”" in str(answer)


def test_a_reason_names_several_answers_as_a_list() -> None:
    rivals = tuple(Rival(answer=answer) for answer in ("8 florins", "14 florins", "9 florins"))
    cause = Cause(kind="in_force", support=Support(passages=1), rivals=rivals)
    text = reason(Position(answer="11 florins", verdict="accepted", cause=cause))
    assert text.endswith("it is in force, which 8 florins, 14 florins and 9 florins are not")
