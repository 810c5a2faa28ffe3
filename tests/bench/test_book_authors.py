"""Lists of authors that name the same people are the same, however shops write them."""

from __future__ import annotations

from types import ModuleType

import pytest

from tests.bench.scripts import script


@pytest.fixture(scope="module")
def book_authors() -> ModuleType:
    return script("book_authors")


CLEAR = ["Marsh, Ada P.; Quill, Tom", "Tom Quill", "Bell-Ray, Inga"]


@pytest.mark.parametrize(
    "text",
    [
        "Ada Marsh, Tom Quill",
        "Tom Quill; Ada P. Marsh",
        "Marsh, Ada P., Quill, Tom",
        "MARSH, ADA QUILL, TOM",
        "MARSH, ADAQUILL, TOM (EAST COAST UNIVERSITY)",
        "By (author) Marsh, Ada By (author) Quill, Tom",
        "Marsh, Ada (Author) Quill, Tom (Joint Author)",
        "Marsh &amp; Quill",
        "Marsh/ Quill",
        "M&aacute;rsh, Ada and Quill, Tom",
    ],
)
def test_two_people_are_the_same_two_in_any_form(book_authors: ModuleType, text: str) -> None:
    assert book_authors.authors(text, book_authors.surnames(CLEAR)) == {"marsh", "quill"}


def test_some_of_the_people_are_fewer(book_authors: ModuleType) -> None:
    known = book_authors.surnames(CLEAR)
    assert book_authors.authors("MARSH", known) < book_authors.authors("Ada Marsh, Tom Quill", known)
    assert book_authors.authors("Inga Bell-Ray", known) == {"bellray"}


def test_two_people_of_one_surname_are_told_apart_by_their_initials(book_authors: ModuleType) -> None:
    known = book_authors.surnames(["Reed, Ann; Reed, Bob"])
    assert len(book_authors.authors("Reed, Ann; Reed, Bob", known)) == 2
    assert len(book_authors.authors("Reed, Ann P.; Reed, A.", known)) == 1


@pytest.mark.parametrize("text", ["Not Available", "", " ;, ", "(Author)"])
def test_no_answer_names_nobody(book_authors: ModuleType, text: str) -> None:
    assert book_authors.authors(text, book_authors.surnames(CLEAR)) == frozenset()
