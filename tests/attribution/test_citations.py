"""Citations: verbatim quotes of the passage they name, with numbers that only our code sets."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from disputatio.attribution.citations import cite, escape_marks, quote_span, render, renumber
from disputatio.text import nearest_sentence
from disputatio.types import Citation, Claim, Passage, Reply

FERRY = Passage(
    id="p1",
    source="museum.example",
    text="There was a brass band. The ferry first crossed in 1887. It sank in 1901, after the 1887 crossing.",
)
WORDS = st.lists(
    st.sampled_from(
        ["The", "ferry", "1887", "3,559", "İ", "groß", "ﬁrst", "🚢", "e\u0301", "in", "A", "[3]"]
    ),
    max_size=12,
)
TEXTS = st.builds(
    lambda words, ends: "".join(map("".join, zip(words, ends, strict=False))),
    WORDS,
    st.lists(st.sampled_from([" ", ". ", "  ", "\n", "… "]), min_size=12),
)


def quoted(passage: Passage, answer: str, quote: str | None = None) -> str | None:
    reply = None if quote is None else Reply(passages=(passage.id,), answer=answer, quote=quote)
    span = quote_span(passage, answer, reply)
    return None if span is None else passage.text[slice(*span)]


def citation(start: int, end: int, passage: str = "p1", n: int = 1) -> Citation:
    return Citation(n=n, passage=passage, source="", quote="", start=start, end=end)


# --- where a passage says an answer -------------------------------------------------------------
def test_an_agents_quote_counts_if_it_is_verbatim_and_states_the_answer() -> None:
    assert quoted(FERRY, "1887", "ferry FIRST crossed in 1887") == "ferry first crossed in 1887"


@pytest.mark.parametrize("quote", ["the ferry began in 1887", "There was a brass band", "", "[1]", "1887x"])
def test_a_quote_that_is_not_verbatim_or_does_not_state_the_answer_is_ignored(quote: str) -> None:
    assert quoted(FERRY, "1887", quote) == "The ferry first crossed in 1887."


def test_without_a_quote_the_first_sentence_that_states_the_answer_is_cited() -> None:
    assert quoted(FERRY, "1901") == "It sank in 1901, after the 1887 crossing."


@pytest.mark.parametrize(
    ("text", "answer", "quote"),
    [
        ("Fees\n\nA boat is 9 EUR a day\n\nA tent is 4 EUR a day", "9 EUR", "A boat is 9 EUR a day"),
        ("Needs:\n- any Python 3.8 or later\n- libxml2 2.9", "Python 3.8", "any Python 3.8 or later"),
        ("Needs:\n- Python 3.8\n- libxml2 2.9", "Python 3.8", "Needs:\n- Python 3.8\n- libxml2 2.9"),
        ("A boat\nis 9 EUR a day", "9 EUR", "A boat\nis 9 EUR a day"),
    ],
)
def test_of_paragraphs_and_items_without_full_stops_the_one_that_answers_is_cited(
    text: str, answer: str, quote: str
) -> None:
    start, end = quote_span(Passage(text=text), answer) or (0, 0)
    assert text[start:end] == quote


def test_an_answer_over_two_sentences_is_found() -> None:
    assert quoted(FERRY, "band. The ferry") == "band. The ferry"


@pytest.mark.parametrize("answer", ["1888", "188", "", "first crossed in 1901", "?"])
def test_an_answer_that_the_passage_does_not_state_is_not_cited(answer: str) -> None:
    assert quoted(FERRY, answer) is None


@pytest.mark.parametrize(("text", "answer"), [("It has 3,559 people.", "559"), ("It is 3.5 km long.", "3")])
def test_a_part_of_a_figure_is_not_the_answer(text: str, answer: str) -> None:
    assert quoted(Passage(text=text), answer) is None


def test_a_quote_in_other_words_of_the_answer_is_kept() -> None:
    passage = Passage(text="They are an American death metal band from Tampa.")
    assert quoted(passage, "death metal group", "an American death metal band") == (
        "an American death metal band"
    )
    assert quoted(passage, "death metal group") is None


def test_yes_and_no_rest_on_what_the_agent_quotes() -> None:
    assert quoted(FERRY, "yes", "The ferry first crossed in 1887") == "The ferry first crossed in 1887"
    assert quoted(FERRY, "yes", "The ferry never crossed") is None
    elsewhere = Passage(text="No more than ten may enter. Dogs are barred from the hall.")
    assert quoted(elsewhere, "no", "Dogs are barred from the hall") == "Dogs are barred from the hall"


def test_the_nearest_sentence_is_cut_after_a_word_and_can_be_cited() -> None:
    passage = Passage(text="options --export file, --no-color, --quiet " * 20)
    start, end = nearest_sentence(passage.text, "Is there an option?")
    reply = Reply(passages=(passage.id,), answer="no", quote=passage.text[start:end])
    assert 250 < end - start < 300
    assert quote_span(passage, "no", reply) == (start, end)


@given(TEXTS, WORDS, WORDS)
def test_every_citation_is_verbatim_in_its_passage(text: str, answer: list[str], quote: list[str]) -> None:
    passage = Passage(id="p", source="s", text=text)
    reply = Reply(passages=("p",), quote=" ".join(quote))
    for citation in cite(" ".join(answer), [passage], {"p": reply}):
        assert citation.quote == text[citation.start : citation.end]
        assert citation.quote.strip()
        assert citation.verdict == "unchecked"


def test_each_passage_that_states_the_answer_is_cited_once_in_order() -> None:
    passages = [FERRY, Passage(id="p2", text="Nothing."), Passage(id="p3", source="x", text="In 1887.")]
    citations = cite("1887", passages, {})
    assert [(citation.n, citation.passage, citation.source) for citation in citations] == [
        (1, "p1", "museum.example"),
        (2, "p3", "x"),
    ]


# --- numbers ------------------------------------------------------------------------------------
def test_citations_of_one_span_share_a_number_counted_as_they_appear() -> None:
    claims = [
        Claim(text="a", citations=(citation(5, 9, "p2", n=7), citation(0, 4))),
        Claim(text="b", citations=(citation(0, 4), citation(0, 5), citation(5, 9, "p2"))),
        Claim(text="c"),
    ]
    assert [[citation.n for citation in claim.citations] for claim in renumber(claims)] == [
        [1, 2],
        [2, 3, 1],
        [],
    ]


@given(st.lists(st.lists(st.tuples(st.integers(0, 3), st.integers(4, 6), st.sampled_from("pq"))), max_size=5))
def test_numbers_have_no_gaps_and_name_one_span_each(spans: list[list[tuple[int, int, str]]]) -> None:
    claims = renumber([Claim(text="x", citations=tuple(citation(*span) for span in part)) for part in spans])
    cited = [citation for claim in claims for citation in claim.citations]
    named = {(each.n, each.passage, each.start, each.end) for each in cited}
    assert len({key[0] for key in named}) == len({key[1:] for key in named}) == len(named)
    assert {key[0] for key in named} == set(range(1, len(named) + 1))


# --- text ---------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("so [3]", "so (3)"),
        ("so [ 3 ], [4, 5] [1–2][6]", "so (3), (4, 5) (1–2)(6)"),
        ("[[3]]", "[(3)]"),
        ("[a] [x1] []", "[a] [x1] []"),
    ],
)
def test_marks_of_a_document_are_not_ours(text: str, escaped: str) -> None:
    assert escape_marks(text) == escaped


@given(st.text("[]0123 ,;-a", max_size=30))
def test_only_our_marks_are_left_in_the_text(text: str) -> None:
    rendered = render([Claim(text=text, citations=(citation(0, 4, n=9),))])
    assert re.findall(r"\[ *\d+ *\]", rendered.removesuffix("[9].")) == []


def test_claims_are_rendered_with_their_marks_after_them() -> None:
    claims = [
        Claim(text="It opened in 1887.", citations=(citation(0, 4, n=1), citation(5, 9, n=2))),
        Claim(text=" It closed "),
    ]
    assert render(claims) == "It opened in 1887 [1][2]. It closed."
    assert render([]) == ""
