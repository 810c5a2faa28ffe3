"""A row with anything in any of its fields is an example or an error of one line, never a crash."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from disputatio.errors import InputError
from disputatio.eval.data.datasets import check
from disputatio.eval.data.formats.catalogue import FORMATS
from disputatio.eval.data.rows import Place
from disputatio.eval.metrics import score_answer
from tests.eval.data.formats.published import LIAR, TRIVIAQA_COPY
from tests.eval.data.formats.test_shapes import PUBLISHED

JUNK: tuple[Any, ...] = (
    None, True, -1, float("nan"), 10**30, "", "x", "['a']", [], [[]], [None], ["a"], [{"a": 1}], {},
    {"a": [1]},
    {"label": ["A"], "text": ["x", "y"]}, {"title": [], "sentences": []}, "\ud800",
)  # fmt: skip
ROWS = {
    **PUBLISHED,
    "beir": {"_id": "1", "text": "x"},
    "legalbench": {"index": "1", "answer": "a", "text": "t"},
    "legalbench_examples": {"task": "t", "fields": {"text": "x"}, "answer": "a"},
    "liar": dict(zip(FORMATS["liar"].columns, LIAR.split("\t"), strict=True)),
}


def _places(found: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield where something stands in a value, to its depth, of lists the first two."""
    inner = (
        found.items() if isinstance(found, dict) else enumerate(found[:2] if isinstance(found, list) else [])
    )
    for key, one in inner:
        yield (*at, key)
        yield from _places(one, (*at, key))


def _with(found: Any, at: tuple[Any, ...], junk: Any) -> Any:
    if not at:
        return junk
    copy = dict(found) if isinstance(found, dict) else list(found)
    copy[at[0]] = _with(found[at[0]], at[1:], junk)
    return copy


@pytest.mark.long
@pytest.mark.parametrize("name", [*ROWS, "triviaqa copy"])
def test_junk_in_a_field_is_read_or_named(name: str) -> None:
    row = TRIVIAQA_COPY if name == "triviaqa copy" else ROWS[name]
    form, path = FORMATS[name.partition(" ")[0]], Path("folder/rows.jsonl")
    for at in _places(row):
        for junk in JUNK:
            bad = _with(row, at, junk)
            facts = {} if form.gather is None else form.gather([bad], path)
            for part in form.views or ("",):
                place = Place(dataset="d", path=path, row=0, facts=facts, part=part)
                try:
                    example = form.loader(bad, place)
                except InputError as error:
                    assert str(error).startswith("folder/rows.jsonl:1: ")
                    assert "\n" not in str(error)
                    continue
                check([example])
                score_answer(["a"], example, form.metrics)
                texts = [example.question, *example.gold, *example.wrong]
                for passage in example.passages:
                    texts += [passage.text, passage.title, passage.url, passage.date, passage.source]
                assert all(isinstance(text, str) for text in texts), (at, junk)
