"""Of a section in several versions one is read first, and the others where that one answers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import pytest

from disputatio.errors import MustAskAgain
from disputatio.kit import Kit
from disputatio.llm.scripted import NoModel
from disputatio.pipeline import ask
from disputatio.store.in_memory import InMemory
from disputatio.strategies.disputation.versions import MOST_FIRST, search_sections
from disputatio.types import Answer, Extraction, Passage, Relation

QUESTION = "What is the mooring fee at Corle for a night?"


def _fee(version: str, text: str = "", *, owner: str = "port", heading: str = "Fees") -> Passage:
    return Passage(
        id=f"fee {version}{owner}{heading}",
        document=f"rules {version}{owner}",
        text=text or f"The mooring fee at Corle is {version} crowns a night for every boat.",
        source=owner,
        version=version,
        family="rules",
        metadata={"heading": heading},
    )


OTHERS = [
    Passage(
        id=f"other {n}", document=f"other {n}", text=f"The mooring at Corle has {n} rings.", source=f"s{n}"
    )
    for n in range(4)
]


def _search(
    passages: Sequence[Passage], question: str = QUESTION, k: int | None = 4
) -> tuple[list[str], list[str]]:
    kit = Kit(model=NoModel(), retriever=InMemory([*passages, *OTHERS]))
    sections = search_sections(question, kit, k)
    return [each.id for each in sections.first], [each.id for each in sections.waiting]


OLD, NEWER, NEWEST = _fee("1"), _fee("2"), _fee("3")


def test_the_newest_is_read_and_what_is_found_next_takes_the_places_of_the_others() -> None:
    first, waiting = _search([OLD, NEWEST, NEWER])
    assert (first[0], len(first)) == (NEWEST.id, 4)
    assert sorted(waiting) == [OLD.id, NEWER.id]
    assert set(first[1:]) < {each.id for each in OTHERS}


@pytest.mark.parametrize(
    ("question", "read"),
    [
        ("What is the mooring fee at Corle a night in version 1?", [OLD.id]),
        ("What is the mooring fee at Corle a night in version 4?", [NEWEST.id]),
        ("What was the mooring fee at Corle a night in 2021?", [OLD.id, NEWEST.id]),
        ("What was the mooring fee at Corle a night before the change?", [OLD.id, NEWEST.id]),
    ],
)
def test_the_version_that_is_asked_for_is_read_and_all_of_the_past(question: str, read: list[str]) -> None:
    assert sorted(each for each in _search([OLD, NEWEST], question)[0] if each.startswith("fee")) == read


@pytest.mark.parametrize(
    "other",
    [
        _fee("1", owner="stranger"),
        replace(_fee("4", owner="stranger"), relations=(Relation(kind="replaces", target="rules"),)),
        _fee("1", heading="Berths"),
        _fee(
            "1", "Whoever is late with a mooring fee pays twice what it was, and a boat may be sold for it."
        ),
        replace(_fee("4"), family="notice", relations=(Relation(kind="replaces", target="rules"),)),
        replace(OLD, document=NEWEST.document),
    ],
)
def test_what_is_no_version_of_the_section_does_not_wait(other: Passage) -> None:
    assert {NEWEST.id, other.id} <= set(_search([NEWEST, other])[0])


def test_where_nothing_else_is_left_all_are_read() -> None:
    shelf = InMemory([OLD, NEWEST, *OTHERS])
    assert _search([OLD, NEWEST], k=None)[0] == [hit.passage.id for hit in shelf.search(QUESTION)]
    assert _search([OLD, NEWEST], k=6) == (_search([OLD, NEWEST], k=None)[0], [])
    few, waiting = _search([OLD, NEWER, NEWEST], k=6)
    assert len(few) == 6 and len(waiting) == 1


def test_of_very_many_all_are_read() -> None:
    many = [replace(OTHERS[0], id=f"many {n}", document=f"many {n}") for n in range(60)]
    first, waiting = _search([OLD, NEWEST, *many], k=MOST_FIRST + 1)
    assert {OLD.id, NEWEST.id} <= set(first) and waiting == []


class _Encoder:
    """A reader that finds a number of crowns, and refuses texts without one."""

    name = "crowns"

    def read(self, question: str, passages: Sequence[Passage]) -> list[Extraction]:
        return [self._read(passage) for passage in passages]

    def _read(self, passage: Passage) -> Extraction:
        found = re.search(r"\d+ crowns", passage.text)
        start, end = found.span() if found else (0, 0)
        sure = 0.9 if found else 0.1
        return Extraction(
            passage=passage.id, answer=passage.text[start:end], start=start, end=end, probability=sure
        )


def _ask(*passages: Passage) -> Answer:
    shelf = InMemory([*passages, *OTHERS])
    kit = Kit(model=NoModel(), retriever=shelf, reader=_Encoder())
    return ask(QUESTION, kit=kit, options={"k": 4, "reader": "encoder"})


def _say_fees(answer: Answer) -> list[str]:
    return [*answer.answers, *(each.answer for each in answer.conflict.positions)]


@pytest.mark.long
def test_an_answer_is_decided_again_from_what_was_read() -> None:
    answer = _ask(OLD, NEWER, NEWEST)
    assert answer.answers == ("3 crowns",)
    assert answer.without().answers == answer.answers
    assert [each.id for each in answer.without().passages] == [each.id for each in answer.passages]
    for other in OTHERS:
        assert answer.without(passages=other.id).answers == answer.answers
    assert answer.without(passages=NEWEST.id).answers == ("2 crowns",)


def test_a_version_that_waited_is_not_decided_upon_unread() -> None:
    silent = replace(NEWEST, text="The mooring fee at Corle for a night is told by the harbour master.")
    answer = _ask(OLD, silent)
    assert OLD.id not in {each.id for each in answer.passages} and not answer.answers
    assert answer.without(passages=OTHERS[0].id).answers == ()
    with pytest.raises(MustAskAgain):
        answer.without(passages=silent.id)
