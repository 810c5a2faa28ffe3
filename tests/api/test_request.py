"""Every door's question is checked and prepared in one place, with one wording."""

from __future__ import annotations

import datetime
from dataclasses import replace
from typing import Any

import pytest

from disputatio.api.request import Request, prepare
from disputatio.config import read_settings
from disputatio.errors import ConfigError, DisputatioError, InputError, UnknownName
from disputatio.kit import Kit
from disputatio.llm.scripted import Scripted
from disputatio.protocols import Retriever
from disputatio.store.in_memory import InMemory
from disputatio.types import Passage

SETTINGS = read_settings(strategy="disputation", expect="several", min_confidence=0.25)


def unneeded() -> Any:
    raise AssertionError("opened before the request was checked")


@pytest.mark.parametrize(
    ("wrong", "kind", "message"),
    [
        (Request(question=" "), InputError, "the question is empty"),
        (Request(question="why " * 10_000), InputError, "has 40,000 characters, more than 32,000"),
        (Request(question="caf\ud800"), InputError, "not UTF-8 text"),
        (Request(strict=True, verify=False), InputError, "strict .* needs verify"),
        (Request(min_confidence=1.5), InputError, "between 0 and 1, not 1.5"),
        (Request(index="a", passages=[]), ConfigError, "give an index or passages, not both"),
        (Request(after="spring"), InputError, "after: 'spring' is not a date"),
        (Request(as_of=datetime.date(2024, 5, 1)), InputError, "as_of is a text or None, not "),  # type: ignore[arg-type]
        (Request(sources="museum"), InputError, r"sources is a list of texts, not one: write \['museum'\]"),
        (Request(mute="museum"), InputError, "mute is a list of texts"),
        (Request(after="2024", before="2021-06"), InputError, "no day is both after 2024 and before 2021-06"),
        (Request(strategy="ra_rag", k=3), InputError, "k: ra_rag has no option k"),
        (Request(expect="one", options={"expect": "several"}), InputError, "expect is given twice"),
        (Request(options={"rnds": 1}), ConfigError, "unknown option 'rnds'"),
    ],
)
def test_what_is_wrong_is_named_before_anything_is_opened(
    wrong: Request, kind: type[DisputatioError], message: str
) -> None:
    with pytest.raises(kind, match=message):
        prepare(wrong, SETTINGS, unneeded, search=unneeded)


def test_settings_fill_what_a_request_leaves_open() -> None:
    searched: Retriever = InMemory([Passage(id="p", text="It rained.", source="a")])
    kit = Kit(model=Scripted([]))
    prepared = prepare(Request(), SETTINGS, lambda: kit, search=lambda: searched)
    assert (prepared.strategy, prepared.options, prepared.min_confidence) == (
        "disputation",
        {"expect": "several"},
        0.25,
    )
    assert prepared.kit.retriever is searched
    limited = prepare(Request(sources=["a"], after="2001"), SETTINGS, lambda: kit, search=lambda: searched)
    assert limited.searched is searched
    assert limited.kit == replace(prepared.kit, retriever=limited.kit.retriever)
    assert limited.kit.passages("rain") == []


def test_a_source_that_is_not_there_is_refused_with_the_nearest_name() -> None:
    searched: Retriever = InMemory([Passage(id="p", text="It rained.", source="weather.example")])
    with pytest.raises(UnknownName, match=r"'wether\.example': did you mean 'weather\.example'"):
        prepare(
            Request(sources=["wether.example"]),
            SETTINGS,
            lambda: Kit(model=Scripted([])),
            search=lambda: searched,
        )
