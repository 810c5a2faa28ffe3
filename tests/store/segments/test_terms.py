"""Text to terms: scripts, accents, stems, and what the batch makes of them."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from disputatio.errors import InputError, MissingDependency
from disputatio.store.segments.terms import count, hash_of, make_search_text, name_of, query_terms, tokens
from disputatio.types import Passage


def test_negations_and_stop_words_stay() -> None:
    assert tokens("It is NOT so, no.", "english") == ["it", "is", "not", "so", "no"]


def test_accents_are_folded_but_other_letters_stay() -> None:
    assert tokens("Café naïve Ångström Straße") == ["cafe", "naive", "angstrom", "strasse"]
    assert tokens("cafe\u0301") == ["cafe"]
    assert tokens("й и ё") == ["й", "и", "е"]
    assert tokens("مُحَمَّد") == ["محمد"]


def test_vowel_signs_do_not_break_words() -> None:
    assert tokens("हिन्दी भाषा") == ["हिन्दी", "भाषा"]


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("東京都の人口は千万人です", "人口"),
        ("東京都の人口は千万人です", "都"),
        ("ประเทศไทยมีประชากร", "ไทย"),
        ("データベース", "ベース"),
        ("한국어 문서", "문서"),
        ("Население Москвы", "москвы"),
        ("iPhone15を買う", "iphone15"),
    ],
)
def test_words_of_any_script_are_found(text: str, query: str) -> None:
    assert set(tokens(query)) <= set(tokens(text))


def test_a_pair_of_characters_is_a_term_so_that_a_word_ranks_above_its_characters() -> None:
    assert tokens("人口") == ["人", "人口", "口"]
    assert "人口" not in tokens("口人")


def test_words_are_stemmed_in_the_language_that_is_named() -> None:
    assert tokens("collapsing bridges", "english") == tokens("collapsed bridge", "english")
    assert tokens("Häuser", "german") == tokens("Hauser", "german")
    assert tokens("bridges", "") == ["bridges"]


def test_a_language_without_a_stemmer_is_an_input_error() -> None:
    with pytest.raises(InputError, match=r"'klingon'.*known: arabic"):
        tokens("a", "klingon")


def test_without_the_stemmer_the_install_line_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "Stemmer", None)
    with pytest.raises(MissingDependency, match=r"pip install 'disputatio\[store\]'"):
        tokens("a", "english")
    assert tokens("a") == ["a"]


def test_a_passage_is_found_by_its_source_and_by_its_title_once() -> None:
    assert make_search_text(Passage(text="It is old.", title="Rome")) == "Rome\nIt is old."
    assert (
        make_search_text(Passage(text="Rome is old.", title="Rome", source="guide")) == "guide\nRome is old."
    )
    assert make_search_text(Passage(text="Rome")) == "Rome"


def test_repeats_of_a_query_are_counted() -> None:
    assert query_terms("not, NOT x") == {hash_of("not"): 2, hash_of("x"): 1}
    assert query_terms("?! 🎉 _") == {}


@pytest.mark.long
@given(st.lists(st.tuples(st.text(max_size=12), st.text(max_size=60)), max_size=6))
def test_the_batch_gives_the_terms_of_each_text(pairs: list[tuple[str, str]]) -> None:
    passages = [Passage(text=text, title=title, source=title[:2]) for title, text in pairs]
    counted = count([*map(name_of, passages)], [text for _, text in pairs])
    begin = 0
    for passage, body, end in zip(passages, counted.bodies.tolist(), counted.ends.tolist(), strict=True):
        assert [counted.hashes[one] for one in counted.tokens[begin:end]] == [
            hash_of(term) for term in tokens(make_search_text(passage))
        ]
        assert end - body == len(tokens(passage.text))
        begin = end


@given(st.text(max_size=80))
def test_no_text_makes_it_fail_and_no_term_is_empty(text: str) -> None:
    assert all(tokens(text))
    assert tokens(text, "english") is not None
