"""Answers for the tests of what people see: one as it should be, and any that a strategy might make."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Mapping
from typing import Any, get_args, get_origin

from hypothesis import strategies as st

from disputatio import types
from disputatio.causes import Cause, Support
from disputatio.types import Answer, Certificate, Citation, Claim, Conflict, Passage, Position, Reply, Usage

TEXT = "The ferry first crossed in 1887, as the museum says."
OTHER = "They say that the ferry first crossed in 1901."

FERRY = Answer(
    question="When did the ferry first cross?",
    answers=("1887",),
    text="The ferry first crossed in 1887 [1].",
    claims=(
        Claim(
            text="The ferry first crossed in 1887.",
            citations=(
                Citation(
                    n=1,
                    passage="p1",
                    source="museum.example",
                    quote=TEXT[4:31],
                    start=4,
                    end=31,
                    verdict="supported",
                ),
            ),
            verdict="supported",
        ),
        Claim(text="It is red.", verdict="unsupported"),
    ),
    conflict=Conflict(
        kind="misinformation",
        positions=(
            Position(
                answer="1887",
                verdict="accepted",
                cause=Cause(kind="kept", support=Support(passages=1)),
                subject="The ferry",
                passages=("p1",),
                sources=("museum.example",),
                weight=1.5,
            ),
            Position(
                answer="1901",
                verdict="rejected",
                cause=Cause(kind="yielded", support=Support(passages=1)),
                passages=("p2",),
            ),
        ),
    ),
    confidence=0.86,
    certificate=Certificate(owners=1, voters=2, names=("museum.example",)),
    usage=Usage(calls=3, prompt_tokens=1200, completion_tokens=50, seconds=2.5),
    strategy="disputation",
    model="local:m",
    passages=(
        Passage(
            text=TEXT,
            id="p1",
            source="museum.example",
            title="The ferry",
            url="https://museum.example/ferry",
            metadata={"page": "4"},
        ),
        Passage(text=OTHER, id="p2"),
    ),
    replies=(Reply(passages=("p2",), answer="1901", quote="first crossed in 1901"),),
)


def any_of(kind: Any) -> st.SearchStrategy[Any]:
    """Any value of an annotation of our nouns, with text of every kind."""
    if kind is str:
        return st.text(st.characters(codec=None), max_size=8)
    if kind is int:
        return st.integers(0, 10**6)
    if kind is float:
        return st.floats(allow_nan=False, allow_infinity=False)
    if kind in (bool, type(None)):
        return st.none() if kind is type(None) else st.booleans()
    if dataclasses.is_dataclass(kind):
        hints = typing.get_type_hints(kind)
        fields = {field.name: any_of(hints[field.name]) for field in dataclasses.fields(kind)}
        return st.builds(typing.cast("Any", kind), **fields)
    arguments = get_args(kind)
    if get_origin(kind) is typing.Literal:
        return st.sampled_from(arguments)
    if get_origin(kind) is tuple:
        if arguments[-1] is ...:
            return st.lists(any_of(arguments[0]), max_size=2).map(tuple)
        return st.tuples(*map(any_of, arguments))
    if get_origin(kind) is Mapping:
        return st.dictionaries(any_of(arguments[0]), any_of(arguments[1]), max_size=2)
    return st.one_of(*map(any_of, arguments))


ANSWERS = any_of(types.Answer)
