"""A schema as an expression: what a valid object is written as matches, and nothing else does."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from disputatio.agents.reader import READER_SCHEMA
from disputatio.agents.single_prompt import ANSWERS_ALONE, ANSWERS_SCHEMA
from disputatio.llm.embedded import schema_regex

STRING: Mapping[str, Any] = {"type": "string"}
# What JSON writes with \u: the expression leaves these characters out.
WORDS = st.text(
    st.characters(exclude_categories=["Cs", "Cc"]) | st.sampled_from('"\\/\b\f\n\r\t{}[],:'), max_size=30
)


def written(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def expression(schema: Mapping[str, Any]) -> re.Pattern[str]:
    pattern = schema_regex(schema)
    assert pattern is not None
    return re.compile(pattern)


def record(**properties: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties)}


@given(WORDS, WORDS, WORDS)
def test_every_reply_of_a_reader_can_be_written(answer: str, explanation: str, quote: str) -> None:
    value = {"answer": answer, "explanation": explanation, "quote": quote}
    assert expression(READER_SCHEMA).fullmatch(written(value))


@given(st.lists(WORDS, max_size=10), WORDS)
def test_every_list_of_answers_can_be_written_up_to_its_bound(answers: list[str], explanation: str) -> None:
    whole = written({"answers": answers, "explanation": explanation})
    alone = written({"answers": answers})
    assert bool(expression(ANSWERS_SCHEMA).fullmatch(whole)) == (len(answers) <= 8)
    assert bool(expression(ANSWERS_ALONE).fullmatch(alone)) == (len(answers) <= 8)


@given(WORDS, st.data())
def test_a_reply_that_was_cut_off_does_not_match(answer: str, data: st.DataObject) -> None:
    raw = written({"answer": answer, "explanation": "e", "quote": "q"})
    cut = data.draw(st.integers(0, len(raw) - 1))
    assert not expression(READER_SCHEMA).fullmatch(raw[:cut])


@given(st.text(max_size=40).map(lambda text: f'"{text}"'))
def test_what_matches_a_string_is_one(raw: str) -> None:
    if expression(STRING).fullmatch(raw):
        assert isinstance(json.loads(raw), str)


@pytest.mark.parametrize(
    "raw",
    [
        "",
        "null",
        '{"answers": ["1"], "explanation": ""} ',
        '{"answers": ["1"],\n"explanation": ""}',
        '{"answers":["1"],"explanation":""}',
        '{"explanation": "", "answers": ["1"]}',
        '{"answers": ["1"]}',
        '{"answers": ["1"], "explanation": "", "more": ""}',
        '{"answers": ["1",], "explanation": ""}',
        '{"answers": ["1" "2"], "explanation": ""}',
        '{"answers": [1], "explanation": ""}',
        '{"answers": "1", "explanation": ""}',
        '{"answers": ["1"], "explanation": "a "b""}',
        '{"answers": ["1"], "explanation": "a\nb"}',
        '{"answers": ["1"], "explanation": "a\\x"}',
        '{"answers": ["1"], "explanation": "a\\"}',
    ],
)
def test_another_layout_or_a_broken_reply_does_not_match(raw: str) -> None:
    assert not expression(ANSWERS_SCHEMA).fullmatch(raw)


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        ({"type": "integer"}, [0, -7, 10**17], ["01", "-", "1.0", "+1", "1e3", ""]),
        ({"type": "number"}, [0, -7, 0.25, -3.5], [".5", "1.", "01.5", "NaN", "1,5"]),
        ({"type": "boolean"}, [True, False], ["True", "0", "truefalse"]),
        ({"type": "null"}, [None], ["None", '""']),
        (STRING, ["", "x", "3,559 人口 🚢"], ["x", '"', "'x'", '"\x7f"', '"\x00"']),
        ({"type": "string", "minLength": 1}, ["x", "xy"], ['""']),
        ({"enum": ["yes", "no"]}, ["yes", "no"], ["yes", '"yesno"', '"y"', '""']),
        ({"enum": [1, None, True, "a.b"]}, [1, None, True, "a.b"], ['"axb"', "11", "False"]),
        ({"enum": ['say "hi"', "back\\slash", "two\nlines"]}, ['say "hi"', "back\\slash", "two\nlines"], []),
        ({"enum": ["é", "a b", "(x|y)"]}, ["é", "a b", "(x|y)"], ['"x"', '"(x"', '"ab"']),
        ({"enum": [["a", 1]]}, [["a", 1]], ['["a"]']),
        ({"anyOf": [STRING, {"type": "null"}]}, ["x", None], ["1"]),
        ({"type": "array", "items": STRING}, [[], ["a"], ["a"] * 20], ["[,]", '["a"', "[[]]"]),
        ({"type": "array", "items": STRING, "minItems": 1}, [["a"], ["a", "b"]], ["[]"]),
        (
            {"type": "array", "items": STRING, "minItems": 2, "maxItems": 3},
            [["a", "b"], ["a"] * 3],
            ["[]", '["a"]', '["a", "a", "a", "a"]'],
        ),
        ({"type": "array", "items": STRING, "maxItems": 1}, [[], ["a"]], ['["a", "b"]']),
        ({"type": "array", "items": STRING, "maxItems": 0}, [[]], ['["a"]', '["a", "a"{0,-1}]']),
        (
            {"type": "array", "items": record(n={"type": "integer"})},
            [[{"n": 1}, {"n": 2}]],
            ['[{"n": 1}, {"n": "2"}]'],
        ),
        (record(**{'a "b" c': STRING}), [{'a "b" c': "x"}], ['{"a": "x"}', '{"a "b" c": "x"}']),
    ],
)
def test_each_kind_of_schema_admits_its_values_alone(
    schema: dict[str, Any], good: list[Any], bad: list[str]
) -> None:
    pattern = expression(schema)
    for value in good:
        assert pattern.fullmatch(written(value)), value
    for raw in bad:
        assert not pattern.fullmatch(raw), raw


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"$ref": "#/x"},
        {"const": 1},
        {"type": ["string", "null"]},
        {"type": "array"},
        {"type": "array", "items": {"$ref": "#/x"}},
        {"type": "object"},
        {"type": "object", "properties": {"a": STRING}},
        {"type": "object", "properties": {"a": STRING, "b": STRING}, "required": ["a"]},
        record(a={"$ref": "#/x"}),
        {"anyOf": [STRING, {"$ref": "#/x"}]},
    ],
)
def test_a_schema_that_says_more_than_is_covered_has_no_expression(schema: dict[str, Any]) -> None:
    assert schema_regex(schema) is None
