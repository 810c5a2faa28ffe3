"""Pairs made of pages: two passages of a page are about the same, those under a borrowed name not."""

from __future__ import annotations

from tests.train.material import example
from train.examples import seeded
from train.pages import Pages, pages_of

RHINE = (
    "The Rhine is a river of the north.",
    "Ships sail the Rhine to the sea.",
    "A page that names nothing.",
)
TESLA = ("Nikola Tesla was an engineer.", "Late in life Tesla fed pigeons.")
EXAMPLES = [
    example(text, dataset="squad11_dev", title=title, id=f"{title}/{number}")
    for title, texts in (("Rhine", RHINE), ("Nikola_Tesla", TESLA))
    for number, text in enumerate(texts)
]


def test_a_stranger_s_passage_comes_under_the_name_of_the_page() -> None:
    maker = Pages(EXAMPLES)
    found = [maker.pair(EXAMPLES[0], seeded(number), least=30, most=40) for number in range(40)]
    pairs = [pair for pair in found if pair is not None]
    assert {pair.label for pair in pairs} == {0, 1}
    for pair in pairs:
        texts = pair.first + pair.second
        assert pair.first.startswith("About: Who sang?\n")
        assert "Tesla" not in texts
        assert ("Rhine was an engineer" in texts or "Rhine fed pigeons" in texts) == (pair.label == 0)


def test_a_passage_that_does_not_name_its_page_and_a_lone_page_make_no_pair() -> None:
    assert Pages(EXAMPLES).pair(EXAMPLES[2], seeded(1), least=30, most=40) is None
    lone = Pages(EXAMPLES[:1])
    assert lone.pair(EXAMPLES[0], seeded(1), least=30, most=40) is None


def test_pages_are_on_one_side_whole() -> None:
    many = [
        example(
            f"Town {number} is old. {word}",
            dataset="squad11_dev",
            title=f"Town_{number}",
            id=f"{number}/{word}",
        )
        for number in range(80)
        for word in ("Salt", "Oil")
    ]
    pages = {
        part: {
            pair.group for pair in pages_of(many, part=part, share=1.0, seed=1, epoch=0, least=30, most=40)
        }
        for part in ("train", "dev", "test")
    }
    assert all(pages.values())
    assert not pages["train"] & pages["dev"]
    assert not pages["train"] & pages["test"]
