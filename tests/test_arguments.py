"""Values of a wrong type for public functions: one line of ours that names the argument."""

from __future__ import annotations

import asyncio
import datetime
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import disputatio as d
from disputatio.arguments import check_arguments
from disputatio.store.ingesting.options import DEFAULT

QUESTION = "Who designed the lighthouse?"
PASSAGE = d.Passage(text="Ingrid Vasmer designed the lighthouse.", source="museum.example")
ANY = {"options", "arguments", "taken"}  # keywords of another function, and a state that is given back
METHODS = [
    name
    for name in dir(d.Index)
    if not name.startswith("_") and inspect.isfunction(inspect.getattr_static(d.Index, name))
]


@pytest.fixture(autouse=True)
def _no_model(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DISPUTATIO_MODEL", "none")
    monkeypatch.setenv("DISPUTATIO_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def index(tmp_path: Path) -> d.Index:
    index = d.Index.open(tmp_path / "index", embedder="none")
    index.add([PASSAGE])
    return index


def _assert_refused(function: Callable[..., Any], **right: Any) -> None:
    """Give each argument an object of no kind, the others as they ought to be."""
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name in ANY:
            continue
        given = {name: value for name, value in right.items() if name != parameter.name}
        with pytest.raises(d.DisputatioError) as raised:
            if parameter.kind is parameter.VAR_POSITIONAL:
                function(object(), **given)
            else:
                function(**given, **{parameter.name: object()})
        assert "\n" not in str(raised.value)
        assert parameter.name in str(raised.value) or "object" in str(raised.value)


@pytest.mark.long
def test_functions_refuse_what_is_of_another_type(index: d.Index) -> None:
    asked: dict[str, Any] = {"question": QUESTION, "passages": [PASSAGE]}
    example = d.Example(id="1", row=0, question=QUESTION, gold=(), passages=(PASSAGE,))
    answer = d.ask(**asked)
    calls: list[tuple[Callable[..., Any], dict[str, Any]]] = [
        (d.stream, asked),
        (d.ask_many, {"questions": [QUESTION], "passages": [PASSAGE]}),
        (d.check, {"what": [PASSAGE]}),
        (d.calibrate, {"index": index}),
        (d.evaluate, {"dataset": [example]}),
        (d.without, {"answer": answer}),
        (answer.without, {}),
        (d.Index.open, {"path": index.path}),
    ]
    for function, right in calls:
        _assert_refused(function, **right)
    # An index and passages are not given both.
    for name in set(inspect.signature(d.ask).parameters) - ANY - {"question", "index"}:
        given: dict[str, Any] = {"passages": [PASSAGE], name: object()}
        with pytest.raises(d.DisputatioError):
            d.ask(QUESTION, **given)
        with pytest.raises(d.DisputatioError):
            asyncio.run(d.aask(QUESTION, **given))


@pytest.mark.long
@pytest.mark.parametrize("method", METHODS)
def test_methods_of_an_index_refuse_what_is_of_another_type(index: d.Index, method: str) -> None:
    right: dict[str, Any] = {
        "items": [PASSAGE], "passage": PASSAGE, "count": 1, "document": "d1", "documents": ["d1"],
        "stated": [], "query": QUESTION, "passage_id": "p1", "key": 1, "paths": ["a.md"], "options": DEFAULT,
        "estimates": {}, "embedder": None, "by": "me",
    }  # fmt: skip
    function = getattr(index, method)
    required = inspect.signature(function).parameters.values()
    names = {
        each.name for each in required if each.default is each.empty and each.kind is not each.VAR_KEYWORD
    }
    given = {name: value for name, value in right.items() if name in names}
    _assert_refused(function, **({} if method == "ingest" else given))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"sources": "museum"}, r"sources is a list of texts, not one: write \['museum'\]"),
        ({"sources": [1]}, "sources is a list of texts or None: int is among its items"),
        ({"before": datetime.date(2024, 5, 1)}, "before is a text or None, not date: write '2024-05-01'"),
        ({"question": Path("a.md")}, "question is a text, not PosixPath: write 'a.md'"),
        ({"verify": "no"}, "verify is True or False, not str"),
        ({"min_confidence": "high"}, "min_confidence is a number or None, not str"),
        ({"role": {1: "none"}}, "role is a mapping or None: int is among its items"),
        ({"settings": ["journal"]}, "settings is a mapping or None, not list"),
        ({"cancel": 7}, "cancel is a Cancel or None, not int"),
        ({"strategy": "\ud800"}, "strategy is not UTF-8 text"),
        ({"index": "a\0b"}, r"index is no path: 'a\\x00b' has a null character"),
    ],
)
def test_the_message_says_what_to_give(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(d.InputError, match=f"^{message}$"):
        check_arguments(d.ask, arguments)


def test_what_may_be_given_is_taken(index: d.Index, tmp_path: Path) -> None:
    check_arguments(d.ask, {"min_confidence": np.float32(0.5), "sources": {"a"}, "index": index, "within": 5})
    check_arguments(d.Search, {"k": np.int64(3), "sources": ("a",), "exclude": {"p1": 1}.keys()})
    check_arguments(d.ask, {"model": lambda prompt: prompt, "index": tmp_path, "k": object()})
    check_arguments(d.ask_many, {"questions": iter([QUESTION, 7])})  # read once, and a fault of its question
