"""Drawings are well-formed, escape names, and tell strategies apart."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from disputatio.eval.reporting.plots import Mark, curves, forest, kinds, scatter, shape_of

MARKS = [
    Mark(name="a <b> & c", number=0, value=0.41, span=[0.33, 0.49], x=812, caption="812 tokens", strong=True),
    Mark(name="plain", number=1, value=0.29, span=[0.2, 0.4], x=90, caption="90 tokens"),
    Mark(name="w" * 60, number=2, value=0.4, x=9000, caption="9,000 tokens"),
]


@pytest.mark.parametrize(
    "text",
    [
        forest(MARKS, title="EM <1>", below="EM"),
        scatter(MARKS, ["plain", "a <b> & c"], title="t", below="tokens", beside="EM"),
        curves({"a": [(0.2, 0.1), (0.9, 0.4)]}, {"a": 0}, title="t", below="x", beside="y", diagonal=True),
        kinds(["1", "<2>"], [[MARKS[0], None], [MARKS[1]] * 2], title="t", below="kind", beside="EM"),
        forest([Mark(name="g", number=0, value=0.0)], title="t", below="b", per_cent=False),
    ],
)
def test_a_drawing_is_well_formed_and_has_no_markup_of_names(text: str) -> None:
    ElementTree.fromstring(text)
    assert "<b>" not in text


def test_a_long_name_is_cut_and_stands_whole_in_its_title() -> None:
    text = forest(MARKS, title="t", below="b")
    assert f">{'w' * 19}…<title>{'w' * 60}</title>" in text


def test_of_many_marks_only_the_front_is_named() -> None:
    many = [Mark(name=f"strategy {i}", number=i, value=0.3, x=100 + i) for i in range(9)]
    element = ElementTree.fromstring(scatter(many, ["strategy 0"], title="t", below="b", beside="s"))
    named = [node.text for node in element.iter("text") if (node.text or "").startswith("strategy")]
    assert named == ["strategy 0"]


def test_thirty_two_strategies_look_different() -> None:
    assert len({(shape_of(number), number % 8) for number in range(32)}) == 32
